"""Sample inputs of comparison, logic and masks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType

from ops.samples_arithmetic import BAD_PAIRS, ODD_NUMBERS, ODD_PAIRS, broadcasting, elementwise, written
from ops.spec import Entry, Operand, S, Sample, both, function, lit, mask, pos, special, syntax, t

WITH_TIES = lit([1.0, 2.0, -1.0, 0.0])
COMPARED: tuple[Sample, ...] = (
    *broadcasting()[:11],
    S(WITH_TIES, lit([1.0, 0.0, -1.0, 0.0])),
    S(WITH_TIES, 1),
    S(WITH_TIES, 0.5),
    S(WITH_TIES, True),
    S(t(2, 3), t(3, dtype="int64")),
    S(t(2, 3), t(3, dtype="float32")),
    ODD_PAIRS,
)
TRUTHS: tuple[Sample, ...] = (*broadcasting()[:9], S(WITH_TIES, lit([1.0, 0.0, 0.0, 0.0])))
BITS: tuple[Sample, ...] = (
    S(lit([1, 0, 6, 7]), lit([1, 1, 3, 0])),
    S(lit([[1, 0], [6, 7]]), lit([1, 3])),
    S(lit([1, 0, 6, 7]), 3),
    S(mask([True, False, True]), mask([True, True, False])),
)
COND = mask([[True, False, True], [False, False, True]])

COMPARISONS: dict[str, Callable[..., object]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
BITWISE = {"bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor}


def where_nan(m: ModuleType, x: Operand) -> object:
    """A branch that is NaN where it is not selected: its gradient is NaN all the same."""
    return m.where(x > 0, m.sqrt(x), m.zeros_like(x))


def where_method(_: ModuleType, x: Operand, condition: object, other: object) -> object:
    """The method takes the condition second."""
    return x.where(condition, other)


ENTRIES: tuple[Entry, ...] = (
    *(both(name, *COMPARED, grad=False, bad=BAD_PAIRS) for name in COMPARISONS),
    *(
        written(f"operator {name}", call, *COMPARED[:4], *COMPARED[11:14], grad=False)
        for name, call in COMPARISONS.items()
    ),
    *(both(name, *TRUTHS, grad=False, bad=BAD_PAIRS[:1]) for name in ("logical_and", "logical_or", "logical_xor")),
    both("logical_not", *elementwise()[:6], S(WITH_TIES), special(ODD_NUMBERS), grad=False),
    *(both(name, *BITS, grad=False, primary="int64", bad=(S(lit([1, 2]), lit([1, 2, 3])),)) for name in BITWISE),
    *(written(f"operator {name}", call, *BITS, grad=False, primary="int64") for name, call in BITWISE.items()),
    *(
        both(name, S(lit([1, 2, 3]), lit([0, 1, 2])), S(lit([4, 8]), 1), grad=False, primary="int64")
        for name in ("bitwise_left_shift", "bitwise_right_shift")
    ),
    both("bitwise_not", S(lit([1, 0, 6, 7])), S(mask([True, False])), grad=False, primary="int64"),
    syntax(
        "operator ~",
        lambda _, x: operator.invert(x),
        S(lit([1, 0, 6, 7])),
        S(mask([True, False])),
        grad=False,
        primary="int64",
    ),
    both(
        "where",
        S(COND, t(2, 3), t(2, 3)),
        S(COND, t(3), t(2, 1)),
        S(mask([True, False, True]), t(2, 3), t()),
        S(mask(True), t(2, 3), t(2, 3)),
        S(COND, t(2, 3), 2.0),
        S(COND, 1.5, t(2, 3)),
        S(COND, t(2, 3), t(3, dtype="float32")).floating().unchecked(),
        S(COND, t(2, 3), t(2, 3, layout="s")),
        S(mask([[True, False], [False, False], [True, True]]), t(3, 2, layout="t"), t(3, 2)),
        S(mask([]), t(0), t(0)),
        special(mask([True, False, True]), lit([1.0, float("nan"), float("inf")]), lit([float("nan"), 1.0, 0.0])),
        S(COND),
        method=None,
        bad=(S(COND, t(4), t(2, 3)), S(t(2, 3), t(2, 3), t(2, 3))),
    ),
    syntax(
        "where method",
        where_method,
        S(t(2, 3), COND, t(2, 3)),
        S(t(2, 3), COND, 1.0),
        covers=("where",),
    ),
    syntax("where with NaN", where_nan, S(pos(3)), S(lit([-1.0, 2.0, 3.0])).floating().unchecked(), covers=("where",)),
    both(
        "masked_fill",
        S(t(2, 3), COND, 1.5),
        S(t(2, 3), mask([True, False, True]), -2),
        S(t(3), COND, 0.0),
        S(t(2, 3), COND, t()),
        S(t(3, 2, layout="t"), mask([True, False]), 1.0),
        S(t(), mask(True), 1.0),
        S(t(0), mask([]), 1.0),
        fns=("masked_fill",),
        bad=(
            S(t(2, 3), mask([True, False]), 1.0),
            S(t(2), lit([1, 0], "int64"), 1.0),
            S(t(2), mask([True, False]), t(2)),
        ),
    ),
    both(
        "isclose",
        *broadcasting()[:8],
        S(lit([1.0, 1.0, 0.0]), lit([1.0 + 1e-9, 1.1, 1e-12])),
        S(lit([1.0, 2.0]), lit([1.05, 2.5]), rtol=0.1, atol=0.0),
        S(lit([1.0, 2.0]), lit([1.05, 2.5]), 0.0, 0.1),
        ODD_PAIRS,
        special(ODD_NUMBERS, ODD_NUMBERS, equal_nan=True),
        grad=False,
        bad=(S(t(2), t(3)), S(t(2), t(2), rtol=-1.0)),
    ),
    both(
        "allclose",
        *broadcasting()[:4],
        S(lit([1.0, 2.0]), lit([1.0, 2.0])),
        S(lit([1.0, 2.0]), lit([1.05, 2.05]), rtol=0.1),
        special(ODD_NUMBERS, ODD_NUMBERS),
        special(ODD_NUMBERS, ODD_NUMBERS, equal_nan=True),
        S(t(0), t(0)),
        grad=False,
        bad=(S(t(2), t(3)),),
    ),
    both(
        "equal",
        S(t(2, 3), t(2, 3)),
        S(lit([1.0, 2.0]), lit([1.0, 2.0])),
        S(lit([1.0, 2.0]), lit([[1.0, 2.0]])),
        S(t(0), t(0)),
        special(ODD_NUMBERS, ODD_NUMBERS),
        grad=False,
    ),
    function("is_tensor", S(t(2)), S(2.0), S(None), grad=False),
)
