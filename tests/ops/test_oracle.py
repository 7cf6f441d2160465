"""Every operation against the oracle: value, dtype, shape, strides, node name, saved tensors, gradients and refusals.

Why it exists: cygrad promises torch's semantics. Each row of the table runs through both libraries with the same bits.
"""

from __future__ import annotations

import math
import warnings
from types import ModuleType

import numpy as np
import pytest
import torch
from support import (
    AnyTensor,
    Outcome,
    difference,
    dtype_name,
    is_tensor,
    node_name,
    outcome,
    refusal_difference,
)

import cygrad
from ops.samples import TABLE
from ops.spec import Call, Entry, Sample


def run(m: ModuleType, call: Call, sample: Sample, dtype: str, requires_grad: bool = False) -> Outcome:
    """Builds the arguments with `m` and makes the call; warnings about torch's future are not ours."""
    args, kwargs = sample.build(m, dtype, requires_grad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcome(lambda: call(m, *args, **kwargs))


def unsupported(oracle: Outcome) -> bool:
    """Whether there is nothing to compare: the oracle lacks the dtype, or gives one that cygrad lacks (complex32)."""
    if oracle.ok:
        return any(dtype_name(tensor.dtype) == "complex32" for tensor in parts(oracle.value))
    text = str(oracle.error)
    return (
        "not implemented for" in text
        or "not supported for" in text
        or "does not support" in text
        or "not support" in text
    )


def parts(value: object) -> list[AnyTensor]:
    """The tensors of a result, which may be nested."""
    if is_tensor(value):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in parts(item)]
    return []


def in_single_precision(call: Call, sample: Sample) -> object:
    """What the oracle gives for float16 when it computes in float32: some of its loops round after every step."""
    args, kwargs = sample.build(torch, "float16", False)

    def cast(value: object, wanted: torch.dtype, other: torch.dtype) -> object:
        if isinstance(value, list | tuple):
            return [cast(part, wanted, other) for part in value]
        return value.to(other) if isinstance(value, torch.Tensor) and value.dtype == wanted else value

    result = call(torch, *[cast(value, torch.float16, torch.float32) for value in args], **kwargs)
    return cast(result, torch.float32, torch.float16)


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry.name)
@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "complex128", "complex64", "int64", "int32", "int8", "uint8", "bool"]
)
def test_forward(entry: Entry, dtype: str) -> None:
    """Every sample in this dtype: the same value, dtype and shape, or a refusal of the same type."""
    if dtype in entry.skip_dtypes:
        return
    failures = []
    with np.errstate(all="ignore"):
        for sample in entry.samples:
            if not sample.usable(dtype):
                continue
            for label, call in entry.forms_of(sample):
                oracle = run(torch, call, sample, dtype)
                if unsupported(oracle):
                    continue
                ours = run(cygrad, call, sample, dtype)
                both_gave = ours.ok and oracle.ok
                found = difference(ours.value, oracle.value) if both_gave else refusal_difference(ours, oracle)
                if found and both_gave and dtype == "float16":
                    found = difference(ours.value, in_single_precision(call, sample))
                if found:
                    failures.append(f"{label}({sample.label}): {found}")
    assert not failures, f"{len(failures)} samples differ\n" + "\n".join(failures)


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry.name)
def test_layout(entry: Entry) -> None:
    """Views have torch's strides and offset; results of contiguous inputs are laid out as torch's."""
    failures = []
    for sample in entry.samples:
        for label, call in entry.forms_of(sample):
            oracle = run(torch, call, sample, entry.primary)
            if not oracle.ok:
                failures.append(f"{label}({sample.label}): must work in {entry.primary}: {oracle.error!r}")
                continue
            args, kwargs = sample.build(cygrad, entry.primary, False)
            ours = outcome(lambda: call(cygrad, *args, **kwargs))  # noqa: B023
            found = layout_difference(entry, args, ours, oracle)
            if found:
                failures.append(f"{label}({sample.label}): {found}")
    assert not failures, f"{len(failures)} samples differ\n" + "\n".join(failures)


def layout_difference(entry: Entry, args: list[object], ours: Outcome, oracle: Outcome) -> str | None:
    """What differs between the strides and offsets of the results, where torch promises them."""
    if not ours.ok or len(parts(ours.value)) != len(parts(oracle.value)):
        return f"gives {ours}, the oracle {oracle}"
    contiguous = all(tensor.is_contiguous() for tensor in _tensors(args))
    for mine, other in zip(parts(ours.value), parts(oracle.value), strict=True):
        if (entry.view or (contiguous and other.is_contiguous())) and _strides(mine) != _strides(other):
            return f"strides {mine.stride()} instead of {other.stride()}, shape {tuple(mine.shape)}"
        if entry.view and mine.storage_offset() != other.storage_offset():
            return f"offset {mine.storage_offset()} instead of {other.storage_offset()}"
    return None


def _tensors(args: list[object]) -> list[cygrad.Tensor]:
    flat = [item for value in args for item in (value if isinstance(value, list | tuple) else [value])]
    return [value for value in flat if isinstance(value, cygrad.Tensor)]


def _strides(tensor: AnyTensor) -> list[int]:
    """Strides of the dimensions along which one can move."""
    if math.prod(tensor.shape) == 0:
        return []
    return [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("entry", [entry for entry in TABLE if entry.grad], ids=lambda entry: entry.name)
def test_backward(entry: Entry, dtype: str) -> None:
    """Node names, the names and values of saved attributes, and the gradients for a random cotangent."""
    failures = []
    compared = 0
    for sample in entry.samples:
        if not sample.usable(dtype):
            continue
        for label, call in entry.forms_of(sample):
            oracle = recorded(torch, call, sample, dtype)
            if not oracle[1].ok:
                if dtype == entry.primary:
                    failures.append(f"{label}({sample.label}): must work in {dtype}: {oracle[1].error!r}")
                continue
            compared += 1
            found = backward_difference(entry, recorded(cygrad, call, sample, dtype), oracle)
            if found:
                failures.append(f"{label}({sample.label}): {found}")
    assert compared or dtype != entry.primary
    assert not failures, f"{len(failures)} samples differ\n" + "\n".join(failures)


def recorded(m: ModuleType, call: Call, sample: Sample, dtype: str) -> tuple[list[object], Outcome]:
    """The arguments, which require grad where they can, and what the call made of them."""
    args, kwargs = sample.build(m, dtype, True)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return args, outcome(lambda: call(m, *args, **kwargs))


def backward_difference(
    entry: Entry, ours: tuple[list[object], Outcome], oracle: tuple[list[object], Outcome]
) -> str | None:
    """What differs between the two recorded calls and their backwards."""
    if not ours[1].ok or len(parts(ours[1].value)) != len(parts(oracle[1].value)):
        return f"gives {ours[1]}, the oracle {oracle[1]}"
    for mine, other in zip(parts(ours[1].value), parts(oracle[1].value), strict=True):
        if mine.requires_grad != other.requires_grad or mine.is_leaf != other.is_leaf:
            left, right = (mine.requires_grad, mine.is_leaf), (other.requires_grad, other.is_leaf)
            return f"requires_grad, is_leaf: {left} instead of {right}"
        if entry.named and node_name(mine) != node_name(other):
            return f"node {node_name(mine)} instead of {node_name(other)}"
        found = saved_difference(mine, other) if entry.named else None
        if found:
            return found
    slope = outcome(lambda: gradients(cygrad, ours[0], ours[1].value))
    wanted = outcome(lambda: gradients(torch, oracle[0], oracle[1].value))
    found = difference(slope.value, wanted.value) if slope.ok and wanted.ok else refusal_difference(slope, wanted)
    return found and f"gradient of {found}"


def gradients(m: ModuleType, args: list[object], result: object) -> list[object]:
    """Gradients of all differentiable inputs for a cotangent that depends on the shapes alone."""
    flat = [item for value in args for item in (value if isinstance(value, list | tuple) else [value])]
    inputs = [value for value in flat if is_tensor(value) and value.requires_grad]
    outputs = [tensor for tensor in parts(result) if tensor.requires_grad]
    if not inputs or not outputs:
        return []
    random = np.random.default_rng(7)
    cotangents = []
    for out in outputs:
        drawn = random.uniform(-1.0, 1.0, tuple(out.shape))
        if "complex" in dtype_name(out.dtype):
            drawn = drawn + 1j * random.uniform(-1.0, 1.0, tuple(out.shape))
        cotangents.append(m.from_numpy(np.asarray(drawn).astype(dtype_name(out.dtype))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(m.autograd.grad(outputs, inputs, cotangents, allow_unused=True))


# What torch keeps for its own kernels and shows by accident: the scratch of one, a tensor reshaped for another.
WORKSPACES = {
    "LogSigmoidBackward0": {"_saved_buffer", "_raw_saved_buffer"},
    "NllLoss2DBackward0": {"_saved_self", "_saved_target"},
}


def saved_difference(mine: AnyTensor, other: AnyTensor) -> str | None:
    """What differs between the `_saved_*` attributes of the two results' nodes."""
    if other.grad_fn is None:
        return None
    passed_over = WORKSPACES.get(other.grad_fn.name(), set())
    names = [
        [name for name in dir(x.grad_fn) if name.startswith("_saved_") and name not in passed_over]
        for x in (mine, other)
    ]
    if names[0] != names[1]:
        return f"saved names {names[0]} instead of {names[1]}"
    for name in names[1]:
        left, right = _saved(mine, name), _saved(other, name)
        if isinstance(left, int | float) and isinstance(right, int | float) and left == right:
            continue  # 1 and 1.0: which of the two a default is says nothing
        found = difference(left, right)
        if found:
            return f"{name}: {found}"
    raw = [
        [name for name in dir(x.grad_fn) if name.startswith("_raw_saved_") and name not in passed_over]
        for x in (mine, other)
    ]
    return None if raw[0] == raw[1] else f"raw saved names {raw[0]} instead of {raw[1]}"


def _saved(tensor: AnyTensor, name: str) -> object:
    """One saved attribute; torch shows a negative dimension as a huge unsigned number, which is folded back here."""

    def folded(value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
            return value - 2**64
        return tuple(folded(item) for item in value) if isinstance(value, tuple | list) else value

    return folded(getattr(tensor.grad_fn, name))


@pytest.mark.parametrize("entry", [entry for entry in TABLE if entry.bad], ids=lambda entry: entry.name)
def test_refusal(entry: Entry) -> None:
    """Bad arguments: the oracle's type of exception, and a message that says something."""
    failures = []
    for sample in entry.bad:
        for label, call in entry.forms_of(sample):
            oracle = run(torch, call, sample, "float64", requires_grad=True)
            assert not oracle.ok, f"{label}({sample.label}): the oracle takes it: {oracle.value!r}"
            ours = run(cygrad, call, sample, "float64", requires_grad=True)
            found = refusal_difference(ours, oracle)
            if found is None and len(str(ours.error)) < 15:
                found = f"the message says too little: {ours.error!r}"
            if found:
                failures.append(f"{label}({sample.label}): {found}")
    assert not failures, f"{len(failures)} samples differ\n" + "\n".join(failures)
