"""First and second derivatives of every operation against finite differences, in float64 and complex128.

Why it exists: the oracle may be wrong where we are, finite differences are not. Samples at kinks and special values are
left out here (`unchecked`); `test_oracle.py` compares those.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from types import ModuleType

import pytest
import torch
from support import AnyTensor, is_tensor, outcome

import cygrad
from cygrad.autograd import forward_ad
from cygrad.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from ops.samples import TABLE
from ops.spec import Call, Entry, Sample
from ops.test_oracle import gradients, parts, recorded

DIFFERENTIABLE = [entry for entry in TABLE if entry.grad]


def reverse_over_forward(function: Callable[..., list[AnyTensor]], inputs: list[cygrad.Tensor]) -> bool:
    """The tangents of the results, as a function of inputs and their tangents, against finite differences."""
    count = len(inputs)
    tangents = [(value.detach() * 0.5 + 0.25).requires_grad_() for value in inputs]

    def pushed(*tensors: cygrad.Tensor) -> list[cygrad.Tensor]:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(*pair) for pair in zip(tensors[:count], tensors[count:], strict=True)]
            results = [result for result in function(*duals) if isinstance(result, cygrad.Tensor)]
            found = [forward_ad.unpack_dual(result).tangent for result in results]
        return [tangent for tangent in found if tangent is not None]

    return gradcheck(pushed, (*inputs, *tangents))


CHECKS: dict[str, Callable[..., bool]] = {
    "first": partial(gradcheck, check_forward_ad=True, check_batched_forward_grad=True),
    "second": partial(gradgradcheck, check_fwd_over_rev=True),
    "second through forward": reverse_over_forward,
}


def differentiable(call: Call, sample: Sample, dtype: str) -> bool:
    """Whether the operation has a derivative at this sample in this dtype: the oracle says so."""
    args, result = recorded(torch, call, sample, dtype)
    if not result.ok or not any(tensor.requires_grad for tensor in parts(result.value)):
        return False
    return outcome(lambda: gradients(torch, args, result.value)).ok


def function_of_tensors(
    call: Call, sample: Sample, dtype: str
) -> tuple[Callable[..., list[AnyTensor]], list[cygrad.Tensor]]:
    """The call as a function of those arguments that require grad alone, and these arguments."""
    args, kwargs = sample.build(cygrad, dtype, True)
    inputs = [value for value in _flat(args) if isinstance(value, cygrad.Tensor) and value.requires_grad]

    def function(*tensors: cygrad.Tensor) -> list[AnyTensor]:
        queue = list(tensors)

        def filled(value: object) -> object:
            if isinstance(value, list | tuple):
                return type(value)(filled(part) for part in value)
            return queue.pop(0) if is_tensor(value) and value.requires_grad else value

        return parts(call(cygrad, *[filled(value) for value in args], **kwargs))

    return function, inputs


def _flat(args: list[object]) -> list[object]:
    return [item for value in args for item in (value if isinstance(value, list | tuple) else [value])]


@pytest.mark.parametrize("order", CHECKS)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda entry: entry.name)
def test_derivatives(entry: Entry, dtype: str, order: str) -> None:
    """Every sample: the Jacobian of the backward (or of the backward's backward) is that of finite differences."""
    check = CHECKS[order]
    failures = []
    for sample in entry.samples:
        if not (sample.check and sample.usable(dtype) and (sample.second or order == "first")):
            continue
        for label, call in entry.forms_of(sample)[:1]:
            if not differentiable(call, sample, dtype):
                continue
            function, inputs = function_of_tensors(call, sample, dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = outcome(lambda: check(function, inputs))  # noqa: B023
            if not result.ok:
                failures.append(f"{label}({sample.label}): {result.error!s}")
    assert not failures, f"{len(failures)} samples are wrong\n" + "\n".join(failures)


def wrong(m: ModuleType, x: cygrad.Tensor) -> cygrad.Tensor:
    """Twice x, of which the graph sees half."""
    return x + x.detach()


def test_a_wrong_gradient_is_noticed() -> None:
    """The check that all rows rely on can fail."""
    x = cygrad.tensor([1.0, 2.0], dtype=cygrad.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(lambda x: wrong(cygrad, x), (x,))
