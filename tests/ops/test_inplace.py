"""In-place methods: every one that torch has, or why not; and each on the samples of its out-of-place form.

Why it exists: an in-place variant is made from the same entry of the table as its operation, but records and writes by
code of its own.
"""

from __future__ import annotations

import warnings
from types import ModuleType

import numpy as np
import pytest
import torch
from support import difference, is_tensor, node_name, outcome, refusal_difference

import cygrad
from ops.samples import TABLE
from ops.spec import Entry, Sample

# torch's in-place methods that cygrad does not have on purpose.
ABSENT = {
    **dict.fromkeys(("resize_as_sparse_", "sparse_resize_", "sparse_resize_and_clear_"), "sparse tensors"),
    **dict.fromkeys(("apply_", "map_", "map2_"), "call Python for every element, outside of the graph"),
    **dict.fromkeys(("i0_", "igamma_", "igammac_", "mvlgamma_", "nextafter_", "float_power_"), "no such operation"),
    **dict.fromkeys(("index_reduce_", "renorm_", "scatter_reduce_"), "no such operation"),
    "share_memory_": "memory is not shared between processes",
}


def methods(of: type) -> set[str]:
    return {name for name in dir(of) if name.endswith("_") and not name.startswith("_")}


def test_every_in_place_method_of_torch_is_there_or_absent_on_purpose() -> None:
    missing = methods(torch.Tensor) - methods(cygrad.Tensor)
    assert missing == set(ABSENT), f"neither there nor listed: {missing ^ set(ABSENT)}"
    out_of_place = {name for name in ABSENT if hasattr(cygrad, name[:-1]) or hasattr(cygrad.Tensor, name[:-1])}
    assert not out_of_place, f"there out of place, so they must be there in place, too: {out_of_place}"


def test_every_in_place_operator_is_there() -> None:
    operators = {name for name in dir(torch.Tensor) if name.startswith("__i") and callable(getattr(torch.Tensor, name))}
    assert operators - set(dir(cygrad.Tensor)) == {"__idiv__"}  # Python 2's


def written(m: ModuleType, entry: Entry, sample: Sample) -> tuple[object, ...]:
    """What the in-place form of a row's operation leaves behind on one sample."""
    args, kwargs = sample.build(m, entry.primary, entry.grad)
    target = args[0].clone()  # type: ignore[attr-defined]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = getattr(target, f"{entry.method}_")(*args[1:], **kwargs)
        assert result is target
        value = target.detach().clone()
        leaves = [t for t in args if is_tensor(t) and t.requires_grad]
        if target.requires_grad and node_name(target) != "NotImplemented":
            weights = m.arange(1, target.numel() + 1, dtype=target.dtype).reshape(target.shape)
            target.backward(weights)
    return value, node_name(target), target._version, [getattr(leaf, "grad") for leaf in leaves]  # noqa: B009


def resized(found: object, sample: Sample) -> bool:
    """Whether the target has got another shape by being written."""
    assert isinstance(found, tuple)
    return tuple(found[0].shape) != tuple(sample.args[0].shape)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "entry", [row for row in TABLE if f"{row.method}_" in methods(cygrad.Tensor)], ids=lambda row: row.name
)
def test_in_place_as_torch(entry: Entry) -> None:
    failures = []
    for sample in (*entry.samples, *entry.bad):
        if not (sample.as_method and sample.usable(entry.primary)):
            continue
        ours = outcome(lambda: written(cygrad, entry, sample))  # noqa: B023
        oracle = outcome(lambda: written(torch, entry, sample))  # noqa: B023
        if "inplace version of" in str(oracle.error):
            continue  # torch has the derivative of the out-of-place form alone
        if oracle.ok and not ours.ok and resized(oracle.value, sample):
            continue  # torch's addbmm_ makes a target of the result's shape where the target would broadcast to it
        both = ours.ok and oracle.ok
        found = difference(ours.value, oracle.value) if both else refusal_difference(ours, oracle)
        if found:
            failures.append(f"{sample.label}: {found}")
    assert not failures, f"{len(failures)} samples differ\n" + "\n".join(failures)
