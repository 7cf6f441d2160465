"""Sample inputs of the arithmetic operations."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType

from ops.spec import COMPLEX, FLOATING, Entry, S, Sample, both, lit, mask, pos, special, syntax, t

INF, NAN = float("inf"), float("nan")

ODD_NUMBERS = lit([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, INF, -INF, NAN])


def elementwise(lo: float = -2.0, hi: float = 2.0) -> tuple[Sample, ...]:
    """One argument, elementwise, smooth between `lo` and `hi`."""
    return (
        S(t(2, 3, lo=lo, hi=hi)),
        S(t(lo=lo, hi=hi)),
        S(t(0, lo=lo, hi=hi)),
        S(t(2, 0, 3, lo=lo, hi=hi)),
        S(t(3, 2, lo=lo, hi=hi, layout="t")),
        S(t(2, 3, lo=lo, hi=hi, layout="s")),
        S(t(3, 2, lo=lo, hi=hi, layout="o")),
        S(t(3, 2, lo=lo, hi=hi, layout="e", grad=False)).unchecked(),
        special(ODD_NUMBERS),
        special(lit([1e-30, 1e4, -1e4, 30.0, -30.0, 88.0, -88.0])),
    )


def broadcasting(lo: float = -2.0, hi: float = 2.0, **kwargs: object) -> tuple[Sample, ...]:
    """Two arguments, elementwise, smooth between `lo` and `hi`."""
    return (
        S(t(2, 3, lo=lo, hi=hi), t(2, 3, lo=lo, hi=hi), **kwargs),
        S(t(2, 3, lo=lo, hi=hi), t(3, lo=lo, hi=hi), **kwargs),
        S(t(3, lo=lo, hi=hi), t(2, 1, 3, lo=lo, hi=hi), **kwargs),
        S(t(2, 1, lo=lo, hi=hi), t(1, 3, lo=lo, hi=hi), **kwargs),
        S(t(lo=lo, hi=hi), t(2, 2, lo=lo, hi=hi), **kwargs),
        S(t(2, 2, lo=lo, hi=hi), t(lo=lo, hi=hi), **kwargs),
        S(t(lo=lo, hi=hi), t(lo=lo, hi=hi), **kwargs),
        S(t(0, 3, lo=lo, hi=hi), t(3, lo=lo, hi=hi), **kwargs),
        S(t(1, 3, lo=lo, hi=hi), t(0, 1, lo=lo, hi=hi), **kwargs),
        S(t(3, 2, lo=lo, hi=hi, layout="t"), t(3, 2, lo=lo, hi=hi), **kwargs),
        S(t(2, 3, lo=lo, hi=hi, layout="s"), t(2, 3, lo=lo, hi=hi, layout="o"), **kwargs),
        S(t(2, 3, lo=lo, hi=hi), t(2, 3, lo=lo, hi=hi, grad=False), **kwargs),
        S(t(2, 3, lo=lo, hi=hi, grad=False), t(3, lo=lo, hi=hi), **kwargs),
    )


ODD_PAIRS = special(
    lit([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1.0, 2.0, 0.0]),
    lit([0.0, 1.0, -0.0, -1.0, 1.0, INF, 1.0, NAN, 2.0, 0.0]),
)
BAD_PAIRS = (S(t(2, 3), t(4)), S(t(2, 3), "x"), S(t(2, 3), None), S(t(2, 3)))


def mixed(other: str) -> Sample:
    """A tensor of the dtype under test and one of a fixed dtype: promotion."""
    return S(pos(2, 3), t(3, lo=1.0, hi=3.0, dtype=other)).unchecked()


MIXED = (mixed("float32"), mixed("int64"), mixed("uint8"), S(pos(2, 3), t(lo=1.0, hi=3.0, dtype="float64")).unchecked())


def written(
    name: str,
    call: Callable[..., object],
    *samples: Sample,
    grad: bool = True,
    primary: str = "float64",
    named: bool = True,
) -> Entry:
    """An infix operator."""

    def run(_: ModuleType, left: object, right: object) -> object:
        return call(left, right)

    return syntax(name, run, *samples, grad=grad, primary=primary, named=named)


def swapped(samples: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """The samples with their two arguments exchanged."""
    return tuple(S(sample.args[1], sample.args[0]) for sample in samples)


SCALARS = (S(t(2, 3), 2), S(t(2, 3), 1.5), S(t(), -3), S(t(0), 2.0), S(t(3), True))
COMPLEX_SCALAR = S(t(2, 3), 1.5 + 0.5j)
DIVISORS = (S(t(2, 3), 2), S(t(2, 3), -1.5), S(t(), 4.0), S(t(0), 2))
ROUNDED = tuple(
    sample
    for mode in ("trunc", "floor")
    for sample in (
        *broadcasting(0.6, 4.0, rounding_mode=mode)[:8],
        S(t(2, 3, lo=-4.0, hi=4.0), -1.5, rounding_mode=mode),
        S(lit([5.0, -5.0, 7.5, -7.5]), lit([2.0, 2.0, -2.0, -2.0]), rounding_mode=mode).unchecked(),
        special(lit([1.0, -1.0, 0.0, INF, NAN]), lit([0.0, 0.0, 0.0, 2.0, 1.0]), rounding_mode=mode),
    )
)
REMAINDERS = (
    *broadcasting(0.6, 4.0)[:8],
    S(t(2, 3, lo=-4.0, hi=4.0), 1.5),
    S(lit([5.25, -5.25, 7.5, -7.5]), lit([2.0, 2.0, -2.0, -2.0])),
    special(lit([1.0, -1.0, 0.0, INF, NAN, 3.0]), lit([0.0, 0.0, 0.0, 2.0, 1.0, INF])),
    S(lit([5, -5, 7, 0]), lit([2, 2, 3, 3])).unchecked(),
    S(lit([5, 1]), lit([0, 1])).unchecked(),
    S(t(2, 3), 0).unchecked(),
)
POWERS = (
    *(S(pos(*a), t(*b)) for a, b in (((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 2)), ((2, 2), ()), ((0, 2), (2,)))),
    S(pos(3, 2, layout="t"), t(3, 2, layout="s")),
    S(t(2, 3), 2),
    S(t(2, 3), 3.0),
    S(pos(2, 3), 0.5),
    S(pos(2, 3), -1.5),
    S(t(2, 3), 0),
    S(t(2, 3), 1),
    S(t(), 2),
    special(lit([0.0, 2.0]), lit([1.0, 1.0])),  # the oracle's complex power of 0 is NaN
    special(lit([0.0, 0.0]), lit([0.0, 2.0])),
    S(lit([0.0, 1.0, -1.0]), 0).unchecked(),
    S(lit([0.0, 1.0, -1.0]), 2).unchecked(),
    special(lit([-1.5, 0.0, INF, -INF, NAN, 0.0]), lit([2.0, -1.0, 0.5, 3.0, 0.0, 0.5])),
    special(lit([-1.5, 0.0, 4.0]), 0.5),
    S(t(2, 3, lo=1.0, hi=3.0), -1).unchecked(),
    S(2.0, t(2, 3)).function_only(),
    S(0.5, t()).function_only(),
    S(2, t(3, lo=0.0, hi=4.0)).function_only(),
    S(0.0, lit([1.0, 2.0])).function_only().unchecked(),
    S(pos(2, 2), t(2, 2, lo=0.0, hi=3.0, dtype="int64")),
)
CLAMPED = (
    S(t(2, 3), -0.5, 0.8),
    S(t(2, 3), -0.5),
    S(t(2, 3), None, 0.8),
    S(t(2, 3), min=-1),
    S(t(2, 3), max=1),
    S(t(2, 3), t(2, 3, lo=-1.5, hi=-0.5), t(3, lo=0.5, hi=1.5)),
    S(t(2, 3), t(3, lo=-1.5, hi=1.5)),
    S(t(2, 3), None, t(2, 1, lo=-1.5, hi=1.5)),
    S(t(3, 2, layout="t"), -0.5, 0.8),
    S(t(), 0.0, 1.0),
    S(t(0), 0.0, 1.0),
    S(t(2, 3), 0.8, -0.5).unchecked(),
    S(lit([-1.0, 0.0, 1.0]), 0.0, 1.0).unchecked(),
    S(lit([-1.0, 0.0, 1.0]), -1, 0).unchecked(),
    special(ODD_NUMBERS, -1.0, 1.0),
)
ONE_BOUND = (
    S(t(2, 3), 0.25),
    S(t(2, 3), -1),
    S(t(2, 3), t(3)),
    S(t(), 0.5),
    S(t(0, 2), 0.5),
    S(lit([-1.0, 0.0, 1.0]), 0.0).unchecked(),
    special(ODD_NUMBERS, 0.0),
)
EXTREMA = (
    *broadcasting(),
    S(lit([1.0, 2.0, -1.0]), lit([1.0, 0.0, -1.0])).unchecked(),
    ODD_PAIRS,
)
TERNARY_SHAPES = (((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1)), ((), (2, 2), (2,)), ((0, 2), (2,), ()))

ENTRIES: tuple[Entry, ...] = (
    both(
        "add",
        *broadcasting(),
        *SCALARS,
        COMPLEX_SCALAR,
        ODD_PAIRS,
        *MIXED,
        S(t(2, 3), t(3), alpha=3),
        S(t(2, 3), t(2, 3), alpha=-0.5),
        S(t(2), 2, alpha=2),
        bad=BAD_PAIRS,
    ),
    both(
        "sub",
        *broadcasting(),
        *SCALARS[:4],
        COMPLEX_SCALAR,
        ODD_PAIRS,
        *MIXED,
        S(t(2, 3), t(3), alpha=3),
        S(t(2), 2, alpha=2),
        fns=("sub", "subtract"),
        bad=(*BAD_PAIRS, S(t(3), mask([True, False, True]))),
    ),
    both(
        "rsub",
        *broadcasting(),
        *SCALARS[:4],
        S(t(2, 3), t(3), alpha=3),
        S(t(2), 2, alpha=2),
        method=None,
        bad=BAD_PAIRS,
    ),
    both("mul", *broadcasting(), *SCALARS, COMPLEX_SCALAR, ODD_PAIRS, *MIXED, fns=("mul", "multiply"), bad=BAD_PAIRS),
    both(
        "div",
        *broadcasting(0.4, 3.0),
        *DIVISORS,
        COMPLEX_SCALAR,
        ODD_PAIRS,
        *MIXED,
        *ROUNDED,
        fns=("div", "divide"),
        bad=(*BAD_PAIRS, S(t(2), t(2), rounding_mode="up")),
    ),
    both("true_divide", *broadcasting(0.4, 3.0), *DIVISORS, *MIXED, bad=BAD_PAIRS),
    both(
        "floor_divide",
        *broadcasting(0.6, 4.0),
        *DIVISORS,
        S(lit([5.0, -5.0, 7.5, -7.5]), lit([2.0, 2.0, -2.0, -2.0])).unchecked(),
        special(lit([1.0, -1.0, 0.0, INF, NAN]), lit([0.0, 0.0, 0.0, 2.0, 1.0])),
        S(lit([5, 1]), lit([0, 1])).unchecked(),
        *MIXED,
        bad=BAD_PAIRS,
    ),
    both("remainder", *REMAINDERS, *MIXED, S(5.0, pos(3)).function_only(), bad=BAD_PAIRS),
    both("fmod", *REMAINDERS, *MIXED, bad=BAD_PAIRS),
    both("pow", *POWERS, *MIXED, bad=BAD_PAIRS),
    both("neg", *elementwise(), fns=("neg", "negative")),
    both("positive", *elementwise()),
    both("abs", *elementwise(), fns=("abs", "absolute")),
    both("sign", *elementwise()),
    both("sgn", *elementwise(), S(lit([0.0, 1.0])).unchecked()),
    both("reciprocal", *elementwise(0.4, 3.0)),
    both("square", *elementwise()),
    both("sqrt", *elementwise(0.3, 3.0)),
    both("rsqrt", *elementwise(0.3, 3.0)),
    both(
        "addcmul",
        *(S(t(*a), t(*b), t(*c)) for a, b, c in TERNARY_SHAPES),
        S(t(2, 3), t(3), t(2, 3), value=2.5),
        S(t(3, 2, layout="t"), t(3, 2), t(3, 2, layout="s"), value=-1),
        bad=(S(t(2), t(3), t(2)), S(t(2), t(2), 3.0)),
    ),
    both(
        "addcdiv",
        *(S(t(*a), t(*b), pos(*c)) for a, b, c in TERNARY_SHAPES),
        S(t(2, 3), t(3), pos(2, 3), value=2.5),
        S(t(3, 2, layout="t"), t(3, 2), pos(3, 2, layout="s"), value=-1),
        bad=(S(t(2), t(3), t(2)), S(t(2), t(2), 3.0)),
    ),
    both(
        "lerp",
        *(S(t(*a), t(*b), t(*c)) for a, b, c in TERNARY_SHAPES),
        S(t(2, 3), t(3), 0.25),
        S(t(2, 3), t(2, 3), 0.75),
        S(t(0), t(0), 0.5),
        bad=(S(t(2), t(3), 0.5),),
    ),
    both("clamp", *CLAMPED, fns=("clamp", "clip"), bad=(S(t(2, 3)), S(t(2, 3), t(4)))),
    both("clamp_min", *ONE_BOUND),
    both("clamp_max", *ONE_BOUND),
    both("maximum", *EXTREMA, *MIXED, bad=BAD_PAIRS),
    both("minimum", *EXTREMA, *MIXED, bad=BAD_PAIRS),
    both("fmax", *EXTREMA, *MIXED, bad=BAD_PAIRS),
    both("fmin", *EXTREMA, *MIXED, bad=BAD_PAIRS),
    both(
        "ldexp",
        S(t(2, 3), t(2, 3)),
        S(t(2, 3), t(3)),
        S(t(3, 1), t(1, 2)),
        S(t(3, 2, layout="t"), t(3, 2)),
        S(t(0, 3), t(3)),
        S(t(2, 3), lit([1, 0, 3], "int64")),
        bad=BAD_PAIRS,
    ),
    both("deg2rad", *elementwise()),
    both("rad2deg", *elementwise()),
    both(
        "heaviside",
        S(t(2, 3), t(3)),
        S(lit([-1.0, 0.0, -0.0, 2.0]), lit(0.5)),
        special(lit([NAN, INF, -INF, 0.0]), lit([2.0, 3.0, 4.0, NAN])),
        grad=False,
        skip_dtypes=(*COMPLEX, "bool"),
        bad=(S(t(2), t(3)), S(t(2), t(2, dtype="int64"))),
    ),
    *(
        both(
            name,
            S(lit([12, -18, 0, 7]), lit([18, 12, 5, 0])),
            S(t(2, 1, lo=1, hi=40), t(3, lo=1, hi=40)),
            S(t(2, 3, lo=1, hi=40, layout="s"), t(3, lo=1, hi=40)),
            S(t(0), t(0)),
            grad=False,
            primary="int64",
            skip_dtypes=(*FLOATING, *COMPLEX, "bool"),
            bad=(S(t(2), t(3)),),
        )
        for name in ("gcd", "lcm")
    ),
    both("hypot", *broadcasting(0.3, 2.0), ODD_PAIRS, bad=BAD_PAIRS),
    both("copysign", *broadcasting(0.3, 2.0), S(t(2, 3), -1.0), S(t(2), 2), ODD_PAIRS, bad=BAD_PAIRS),
    both("floor", *elementwise(0.1, 0.9), special(lit([2.5, -2.5, 3.0]))),
    both("ceil", *elementwise(0.1, 0.9), special(lit([2.5, -2.5, 3.0]))),
    both(
        "round",
        *elementwise(0.1, 0.4),
        special(lit([0.5, 1.5, 2.5, -0.5, -1.5])),
        special(lit([0.126, 12.5, -1.255]), decimals=2),
        special(lit([126.0, 12.5, -151.0]), decimals=-1),
    ),
    both("trunc", *elementwise(0.1, 0.9), special(lit([2.5, -2.5, 3.0])), fns=("trunc", "fix")),
    both("frac", *elementwise(0.1, 0.9), special(lit([2.5, -2.5, 3.0]))),
    written("operator +", operator.add, *broadcasting()[:3], *SCALARS, *swapped(SCALARS[:4])),
    written("operator -", operator.sub, *broadcasting()[:3], *SCALARS[:4], *swapped(SCALARS[:4])),
    written("operator *", operator.mul, *broadcasting()[:3], *SCALARS, *swapped(SCALARS[:4])),
    written("operator /", operator.truediv, *broadcasting(0.4, 3.0)[:3], *DIVISORS, S(2, pos(2, 3)), S(1.5, pos())),
    written("operator //", operator.floordiv, *broadcasting(0.6, 4.0)[:3], *DIVISORS, S(7, pos(2, 3))),
    written("operator %", operator.mod, *broadcasting(0.6, 4.0)[:3], S(t(2, 3), 1.5), S(7.0, pos(2, 3))),
    written("operator **", operator.pow, *POWERS[:8], S(2, t(2, 3)), S(2.5, t())),
    syntax("operator unary -", lambda _, x: operator.neg(x), S(t(2, 3)), S(t())),
    syntax("operator unary +", lambda _, x: operator.pos(x), S(t(2, 3))),
    syntax("operator abs", lambda _, x: operator.abs(x), S(t(2, 3))),
)

__all__ = ["BAD_PAIRS", "ENTRIES", "ODD_NUMBERS", "ODD_PAIRS", "broadcasting", "elementwise", "written"]
