"""Sample inputs of indexing, gathering, sorting and counting."""

from __future__ import annotations

from types import ModuleType

from ops.spec import Call, Entry, Operand, S, Sample, both, distinct, idx, lit, mask, special, syntax, t

INF, NAN = float("inf"), float("nan")


def item(index: object) -> Call:
    """x[index], where the index holds no tensor."""

    def call(_: ModuleType, x: Operand) -> object:
        return x[index]

    return call


def taken(_: ModuleType, x: Operand, *index: object) -> object:
    """x[index], where the index holds tensors; a lone part is not wrapped in a tuple."""
    return x[index[0] if len(index) == 1 else index]


SLICES: dict[str, tuple[object, tuple[int, ...]]] = {
    "integer": (1, (2, 3)),
    "negative integer": (-1, (2, 3)),
    "two integers": ((1, 2), (2, 3)),
    "slice": (slice(1, None), (3, 2)),
    "negative slice": (slice(-2, None), (3, 2)),
    "step": (slice(None, None, 2), (5,)),
    "past the end": (slice(1, 100), (3,)),
    "empty": (slice(2, 1), (3,)),
    "integer and slice": ((0, slice(1, 3)), (2, 4)),
    "ellipsis": ((..., 0), (2, 3, 2)),
    "lone ellipsis": (..., (2, 3)),
    "none": ((None, slice(None), None), (2, 3)),
    "lone none": (None, (2,)),
    "none and integer": ((0, None), (2, 3)),
    "true": (True, (2, 3)),
    "false": (False, (2, 3)),
    "whole": (slice(None), (2, 3)),
    "empty tuple": ((), (2, 3)),
    "list": ([0, 1, 1], (2, 3)),
    "list and slice": ((slice(None), [0, 2]), (2, 3)),
    "list of booleans": ([True, False], (2, 3)),
    "0-d": ((..., None), ()),
}
BAD_ITEMS: dict[str, tuple[object, tuple[int, ...]]] = {
    "too large": (2, (2, 3)),
    "too small": (-3, (2, 3)),
    "too many": ((0, 0, 0), (2, 3)),
    "of a 0-d tensor": (0, ()),
    "step of zero": (slice(None, None, 0), (2, 3)),
    "negative step": (slice(None, None, -1), (2, 3)),
    "float": (1.0, (2, 3)),
    "text": ("a", (2, 3)),
    "list out of range": ([0, 5], (2, 3)),
}
TENSOR_INDICES: tuple[Sample, ...] = (
    S(t(3, 2), idx([0, 2, 2])),
    S(t(3, 2), idx([-1, 0])),
    S(t(3, 2), idx([[0, 1], [2, 0]])),
    S(t(3, 2), idx(1)),
    S(t(3, 2), lit([2, 0], "int32")),
    S(t(3, 2), mask([True, False, True])),
    S(t(2, 2), mask([[True, False], [True, True]])),
    S(t(3, 2), mask([False, False, False])),
    S(t(3, 2), idx([0, 2]), idx([1, 0])),
    S(t(3, 2), idx([[0], [2]]), idx([1, 0])),
    S(t(3, 2), slice(None), idx([1, 0, 1])),
    S(t(3, 2, 2), idx([0, 2]), slice(None), idx([1, 0])),
    S(t(3, 2, 2), slice(None), idx([0, 1]), idx([1, 0])),
    S(t(3, 2), idx([0, 2]), 1),
    S(t(3, 2), None, idx([0, 2])),
    S(t(3, 2, 2), ..., idx([0, 1, 1])),
    S(t(3, 2), mask([True, False, True]), 1),
    S(t(3, 2, layout="t"), idx([0, 2, 2])),
    S(t(3, 2), idx([])),
    S(t(0, 2), idx([])),
)
BAD_INDICES = (
    S(t(3, 2), idx([3])),
    S(t(3, 2), idx([-4])),
    S(t(3, 2), mask([True, False])),
    S(t(3, 2), lit([0.0, 1.0], "float64")),
    S(t(3, 2), idx([0, 1]), idx([0, 1, 1])),
)
GATHER: tuple[Sample, ...] = (
    S(t(2, 3), 0, idx([[0, 1, 0], [1, 1, 0]])),
    S(t(2, 3), 1, idx([[2, 0], [1, 1]])),
    S(t(2, 3), -1, idx([[2, 0, 1, 1]])),
    S(t(3), 0, idx([2, 2, 0])),
    S(t(3, 2, layout="t"), 0, idx([[0, 1], [2, 2]])),
    S(t(), 0, idx(0)),
    S(t(2, 3), 1, idx([[], []])),
)
SCATTER: tuple[Sample, ...] = (
    S(t(2, 3), 0, idx([[0, 1, 0]]), t(1, 3)),
    S(t(2, 3), 1, idx([[2, 0], [1, 2]]), t(2, 2)),
    S(t(2, 3), 1, idx([[2], [1]]), t(2, 2, grad=False)),
    S(t(3, 2, layout="t"), 0, idx([[0, 1]]), t(2, 2, grad=False)),
    S(t(3), 0, idx([2, 0]), t(2, layout="s")),
)
SORTED: tuple[Sample, ...] = (
    S(distinct(2, 3)),
    S(distinct(2, 3), 0),
    S(distinct(2, 3), -1, True),
    S(distinct(2, 3), dim=1, descending=True),
    S(distinct(3, 2, layout="t"), 0),
    S(distinct(5, layout="s")),
    S(distinct()),
    S(distinct(0, 3), 0),
)

ENTRIES: tuple[Entry, ...] = (
    *(syntax(f"index by {name}", item(index), S(t(*shape)), view=True) for name, (index, shape) in SLICES.items()),
    *(
        syntax(f"refused index {name}", item(index), bad=(S(t(*shape)),), grad=False)
        for name, (index, shape) in BAD_ITEMS.items()
    ),
    syntax("index", taken, *TENSOR_INDICES, bad=BAD_INDICES, covers=("slice",)),
    both(
        "index_add",
        S(t(3, 2), 0, idx([0, 2, 0]), t(3, 2)),
        S(t(3, 2), 1, idx([1]), t(3, 1), alpha=-2),
        S(t(3), 0, idx([2, 2]), t(2)),
        bad=(S(t(3, 2), 0, idx([3]), t(1, 2)), S(t(3, 2), 0, idx([0, 1]), t(1, 2)), S(t(3, 2), 2, idx([0]), t(1, 2))),
    ),
    both(
        "index_copy",
        S(t(3, 2), 0, idx([0, 2]), t(2, 2)),
        S(t(3, 2), 1, idx([1]), t(3, 1)),
        bad=(S(t(3, 2), 0, idx([3]), t(1, 2)), S(t(3, 2), 0, idx([0, 1]), t(1, 2))),
    ),
    both(
        "index_fill",
        S(t(3, 2), 0, idx([0, 2]), 1.5),
        S(t(3, 2), 1, idx([1]), -2),
        S(t(3, 2), 0, idx([0, 2]), t()),
        bad=(S(t(3, 2), 0, idx([3]), 1.0), S(t(3, 2), 2, idx([0]), 1.0), S(t(3, 2), 0, idx([0]), t(1))),
    ),
    both(
        "gather",
        *GATHER,
        bad=(
            S(t(2, 3), 0, idx([[2]])),
            S(t(2, 3), 0, idx([0])),
            S(t(2, 3), 2, idx([[0]])),
            S(t(2, 3), 0, lit([[0.0]], "float64")),
        ),
    ),
    both(
        "scatter",
        *SCATTER,
        S(t(2, 3), 1, idx([[2, 0], [1, 2]]), 1.5),
        bad=(
            S(t(2, 3), 0, idx([[2, 0, 0]]), t(1, 3)),
            S(t(2, 3), 0, idx([0]), t(1)),
            S(t(2, 3), 0, idx([[0, 0, 0]]), t(1, 2)),
        ),
    ),
    both(
        "scatter_add",
        *SCATTER,
        S(t(2, 3), 1, idx([[1, 1], [0, 0]]), t(2, 2)),
        bad=(S(t(2, 3), 0, idx([[2, 0, 0]]), t(1, 3)), S(t(2, 3), 0, idx([0]), t(1))),
    ),
    both(
        "take",
        S(t(2, 3), idx([0, 5, -1, 0])),
        S(t(2, 3, layout="t"), idx([[0, 4], [2, 2]])),
        S(t(3, layout="s"), idx(1)),
        S(t(2, 3), idx([])),
        bad=(S(t(2, 3), idx([6])), S(t(0), idx([0])), S(t(3), lit([0], "int32"))),
    ),
    both(
        "put",
        S(t(2, 3), idx([0, 5, -2]), t(3)),
        S(t(2, 3), idx([0, 5, 0]), t(3), accumulate=True),
        S(t(3, 2, layout="t"), idx([[1, 4]]), t(2, 1)),
        S(t(2, 3), idx([]), t(0)),
        fns=(),
        method="put",
        bad=(
            S(t(2, 3), idx([6]), t(1)),
            S(t(2, 3), idx([0, 1]), t(1)),
            S(t(2, 3), idx([0]), t(1, dtype="float16")),
            S(t(2, 3), lit([0], "int32"), t(1)),
        ),
    ),
    both(
        "index_select",
        S(t(3, 2), 0, idx([0, 2, 2])),
        S(t(3, 2), 1, idx([1])),
        S(t(3, 2), -1, lit([0, 1], "int32")),
        S(t(3, 2), 0, idx(1)),
        S(t(3, 2), 0, idx([])),
        S(t(3, 2, layout="t"), 0, idx([2, 0])),
        S(t(), 0, idx([0])),
        bad=(
            S(t(3, 2), 0, idx([3])),
            S(t(3, 2), 2, idx([0])),
            S(t(3, 2), 0, idx([[0]])),
            S(t(3), 0, lit([0.0], "float64")),
        ),
    ),
    both(
        "masked_select",
        S(t(2, 3), mask([[True, False, True], [False, False, True]])),
        S(t(2, 3), mask([True, False, True])),
        S(t(3), mask([[True, False, True], [False, False, True]])),
        S(t(2, 3), mask([[False] * 3] * 2)),
        S(t(), mask(True)),
        S(t(3, 2, layout="t"), mask([True, False])),
        bad=(S(t(2, 3), mask([True, False])), S(t(2), lit([1, 0], "int64"))),
    ),
    both(
        "take_along_dim",
        S(t(2, 3), idx([[0, 2], [1, 1]]), 1),
        S(t(2, 3), idx([[0, 1, 1]]), 0),
        S(t(2, 3), idx([5, 0, 0])),
        S(t(2, 3), idx([[0], [2]]), dim=-1),
        named=False,
        bad=(S(t(2, 3), idx([0]), 0), S(t(2, 3), lit([[0.0]], "float64"), 1)),
    ),
    both(
        "sort",
        *SORTED,
        S(lit([2.0, 1.0, 2.0, 1.0]), stable=True).unchecked(),
        S(lit([2.0, 1.0, 2.0, 1.0]), stable=True, dim=0, descending=True).unchecked(),
        special(lit([NAN, 1.0, INF, -INF])),
        special(lit([NAN, 1.0, INF, -INF]), descending=True),
        skip_dtypes=("bool",),
        bad=(S(t(2, 3), 2),),
    ),
    both(
        "argsort",
        *SORTED,
        S(lit([2.0, 1.0, 2.0, 1.0]), stable=True),
        special(lit([NAN, 1.0, INF, -INF])),
        skip_dtypes=("bool",),
        grad=False,
        bad=(S(t(2, 3), 2),),
    ),
    both(
        "topk",
        S(distinct(2, 4), 2),
        S(distinct(2, 4), 2, 0),
        S(distinct(2, 4), 3, -1, False),
        S(distinct(2, 4), k=1, dim=1, largest=False),
        S(distinct(2, 4), 4),
        S(distinct(2, 4), 0),
        S(distinct(3, 2, layout="t"), 2, 0),
        S(distinct(), 1),
        special(lit([NAN, 1.0, INF, -INF]), 2),
        skip_dtypes=("bool",),
        bad=(S(t(2, 3), 4), S(t(2, 3), -1), S(t(2, 3), 1, 2)),
    ),
    both(
        "masked_scatter",
        S(t(2, 3), mask([[True, False, True], [False, False, True]]), t(4)),
        S(t(2, 3), mask([True, False, True]), t(2, 2)),
        S(t(3, 2, layout="t"), mask([True, False]), t(3)),
        S(t(2, 3), mask([[False] * 3] * 2), t(0)),
        bad=(S(t(2, 3), mask([True, False]), t(6)), S(t(3), mask([True, True, True]), t(2))),
    ),
    both(
        "kthvalue",
        S(distinct(2, 4), 2),
        S(distinct(2, 4), 1, 0),
        S(distinct(2, 4), k=4, dim=-1, keepdim=True),
        S(distinct(3, 2, layout="t"), 2, 0),
        S(distinct(), 1),
        skip_dtypes=("bool", "complex128", "complex64"),  # the oracle sorts one complex number, and no two
        bad=(S(t(2, 3), 4), S(t(2, 3), 0), S(t(2, 3), 1, 2)),
    ),
    *(
        both(
            name,
            S(distinct(2, 4)),
            S(distinct(5)),
            S(distinct(2, 4), 1),
            S(distinct(2, 5), 0, True),
            S(distinct(3, 2, layout="t"), dim=0),
            S(distinct()),
            special(lit([1.0, NAN, 3.0, 2.0])),
            special(lit([[1.0, NAN, 3.0], [4.0, 5.0, 6.0]]), 1),
            skip_dtypes=("bool",),
            bad=(S(t(2, 3), 2),),
        )
        for name in ("median", "nanmedian")
    ),
    both(
        "count_nonzero",
        S(lit([[0.0, 1.0], [2.0, 0.0]])),
        S(lit([[0.0, 1.0], [2.0, 0.0]]), 0),
        S(lit([[0.0, 1.0], [2.0, 0.0]]), dim=(0, 1)),
        S(t(0, 2)),
        grad=False,
        bad=(S(t(2, 3), 2),),
    ),
    both(
        "nonzero",
        S(lit([[0.0, 1.0], [2.0, 0.0]])),
        S(lit([0.0, 0.0])),
        S(lit(1.0)),
        S(lit(0.0)),
        S(t(0, 2)),
        S(lit([0.0, 1.0, 0.0, 3.0], layout="s")),
        grad=False,
    ),
    both(
        "argwhere",
        S(lit([[0.0, 1.0], [2.0, 0.0]])),
        S(lit([0.0, 0.0])),
        S(t(0, 2)),
        grad=False,
    ),
)
