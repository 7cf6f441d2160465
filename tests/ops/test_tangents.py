"""Forward mode of every operation: tangents against the oracle's, and against those of reverse mode.

Why it exists: a JVP that nobody compares is a JVP nobody knows. Every sample runs with tangents on all inputs that can
have one, and on each of them alone, which is where absent tangents must count as zero; samples at kinks, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import pytest
import torch
from support import AnyTensor, difference, dtype_name, is_tensor, outcome, refusal_difference

import cygrad
from codegen.generate import load_table
from ops.samples import TABLE
from ops.spec import Call, Entry, Sample, T
from ops.test_oracle import parts, recorded, unsupported

DIFFERENTIABLE = [entry for entry in TABLE if entry.grad]


def directed(m: ModuleType, primal: AnyTensor, number: int) -> AnyTensor:
    """The dual tensor of this value whose tangent depends on shape and number alone."""
    random = np.random.default_rng(100 + number)
    drawn = random.uniform(-1.0, 1.0, tuple(primal.shape))
    if "complex" in dtype_name(primal.dtype):
        drawn = drawn + 1j * random.uniform(-1.0, 1.0, tuple(primal.shape))
    tangent = m.from_numpy(np.asarray(drawn).astype(dtype_name(primal.dtype)))
    dual: AnyTensor = m.autograd.forward_ad.make_dual(primal.detach(), tangent)
    return dual


def tangents(m: ModuleType, call: Call, sample: Sample, dtype: str, only: int | None) -> tuple[int, object]:
    """How many inputs can have tangents, and those of the results, where all of them (or one) have."""
    args, kwargs = sample.build(m, dtype, True)
    count = 0

    def lifted(value: object) -> object:
        nonlocal count
        if isinstance(value, list | tuple):
            return type(value)(lifted(part) for part in value)
        if not (is_tensor(value) and value.requires_grad):
            return value
        count += 1
        return directed(m, value, count) if only in (None, count) else value.detach()

    with m.autograd.forward_ad.dual_level(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = call(m, *[lifted(value) for value in args], **{key: lifted(value) for key, value in kwargs.items()})
        found = [m.autograd.forward_ad.unpack_dual(tensor).tangent for tensor in parts(result)]
        return count, [None if tangent is None else tangent.detach() for tangent in found]


def in_place(name: str) -> Call:
    """The method `name_` on a clone of its first argument, which it gives back."""

    def call(m: ModuleType, *args: object, **kwargs: object) -> object:
        written = args[0].clone()  # type: ignore[attr-defined]
        getattr(written, name + "_")(*args[1:], **kwargs)
        return written

    return call


def compare(call: Call, sample: Sample, dtype: str, only: int | None) -> tuple[int, str | None]:
    """How many inputs can have tangents, and what differs."""
    count = 0

    def run(m: ModuleType) -> Callable[[], object]:
        def tangents_alone() -> object:
            nonlocal count
            count, found = tangents(m, call, sample, dtype, only)
            return found

        return tangents_alone

    oracle = outcome(run(torch))
    if not oracle.ok and unsupported(oracle) and "forward AD" not in str(oracle.error):
        return 0, None
    ours = outcome(run(cygrad))
    if ours.ok and oracle.ok:
        return count, difference(ours.value, oracle.value)
    return count, refusal_difference(ours, oracle)


def oracle_is_wrong(entry: Entry, sample: Sample, dtype: str) -> bool:
    """Where torch's tangents are no derivatives, or computed in single precision; finite differences know ours."""
    first, second = (*sample.args, None)[:2]
    if entry.name in ("pow", "operator **"):
        number_to_a_tensor = not isinstance(first, T)  # its log is that of a float
        return number_to_a_tensor or (dtype == "complex128" and isinstance(second, T) and second.dtype is not None)
    return (entry.name, dtype) in {
        ("elu", "float64"),  # alpha is rounded to float32
        ("silu", "complex128"),  # the conjugate is missing
        ("cumprod", "float32"),  # with dtype=float64: single precision inside
        ("kthvalue", "complex128"),  # goes through for one element, of which there is no order
    }


# torch's derivative of it is wrong: tests/test_forward_ad.py compares with finite differences
CHECKED_ELSEWHERE = {"AsStridedScatterBackward0"}
# made by an in-place method alone, which test_tangents_in_place compares
IN_PLACE_ALONE = {"ConjPhysicalBackward1", "PolygammaBackward1"}


def test_every_jvp_is_compared() -> None:
    """The samples make, or take second derivatives through, a node of every entry whose tangent is in the table."""
    wanted = {o.node for o in load_table().operations.values() if o.tangents is not None}
    seen: set[str] = set()
    for entry in DIFFERENTIABLE:
        for sample in entry.samples:
            for dtype in ("float64", "complex128"):
                for _, call in entry.forms_of(sample)[:1]:
                    args, result = recorded(cygrad, call, sample, dtype)
                    if result.ok:
                        collect([tensor.grad_fn for tensor in parts(result.value)], seen)
                        collect([g.grad_fn for g in slopes(args, parts(result.value))], seen)
    assert wanted - seen == CHECKED_ELSEWHERE | IN_PLACE_ALONE


def slopes(args: list[object], results: list[AnyTensor]) -> list[cygrad.Tensor]:
    """Gradients of the results, recorded."""
    flat = [item for value in args for item in (value if isinstance(value, list | tuple) else [value])]
    inputs = [value for value in flat if isinstance(value, cygrad.Tensor) and value.requires_grad]
    outputs = [result for result in results if isinstance(result, cygrad.Tensor) and result.requires_grad]
    if not inputs or not outputs:
        return []
    cotangents = [cygrad.ones_like(out).requires_grad_() for out in outputs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = outcome(lambda: cygrad.autograd.grad(outputs, inputs, cotangents, create_graph=True, allow_unused=True))
    return [g for g in found.value if g is not None] if isinstance(found.value, tuple) else []


def collect(nodes: Sequence[object], seen: set[str]) -> None:
    """The names of all nodes that can be reached."""
    left = [node for node in nodes if isinstance(node, cygrad.autograd.Node)]
    while left:
        node = left.pop()
        seen.add(node.name())
        left += [following for following, _ in node.next_functions if following is not None]


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("entry", DIFFERENTIABLE, ids=lambda entry: entry.name)
def test_tangents(entry: Entry, dtype: str) -> None:
    """The same tangents, of the same dtype and shape, whichever inputs have one."""
    failures = []
    for sample in entry.samples:
        if not sample.usable(dtype) or oracle_is_wrong(entry, sample, dtype):
            continue
        for label, call in entry.forms_of(sample)[:1]:
            count, found = compare(call, sample, dtype, None)
            if found:
                failures.append(f"{label}({sample.label}): {found}")
            for number in range(1, count + 1) if count > 1 else ():
                found = compare(call, sample, dtype, number)[1]
                if found:
                    failures.append(f"{label}({sample.label}), tangent of input {number}: {found}")
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures)


NOT_IN_TORCH = {"asinh", "acosh", "atanh"}  # in place, torch lacks forward mode for them
INPLACE = [
    entry
    for entry in DIFFERENTIABLE
    if entry.method is not None
    and entry.method not in NOT_IN_TORCH
    and all(hasattr(m.Tensor, entry.method + "_") for m in (cygrad, torch))
]


@pytest.mark.parametrize("name", sorted(NOT_IN_TORCH))
def test_tangents_in_place_that_torch_lacks(name: str) -> None:
    """As out of place."""
    found = []
    with cygrad.autograd.forward_ad.dual_level():
        for method in (name, name + "_"):
            x = cygrad.autograd.forward_ad.make_dual(cygrad.full((2,), 0.5), cygrad.ones(2)).clone()
            x = x + 1 if name == "acosh" else x
            found.append(cygrad.autograd.forward_ad.unpack_dual(getattr(x, method)()).tangent)
    assert found[0] is not None and found[1] is not None
    assert found[0].tolist() == found[1].tolist()


@pytest.mark.parametrize("entry", INPLACE, ids=lambda entry: entry.name)
def test_tangents_in_place(entry: Entry) -> None:
    """The in-place method: the same tangents of what was written, whichever inputs have one."""
    assert entry.method is not None
    failures = []
    for sample in entry.samples:
        if not (sample.as_method and sample.usable("float64")) or oracle_is_wrong(entry, sample, "float64"):
            continue
        call = in_place(entry.method)
        count, found = compare(call, sample, "float64", None)
        if found:
            failures.append(f"{sample.label}: {found}")
        for number in range(1, count + 1) if count > 1 else ():
            found = compare(call, sample, "float64", number)[1]
            if found:
                failures.append(f"{sample.label}, tangent of input {number}: {found}")
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures)
