"""Sample inputs of reductions and scans."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

from ops.samples_arithmetic import ODD_NUMBERS
from ops.spec import Call, Dtype, Entry, S, Sample, both, distinct, lit, mask, pos, special, syntax, t

INF, NAN = float("inf"), float("nan")
# Zeros, infinities and NaN in one product: its value is NaN, its slopes are what the algorithm makes of them.
UNSLOPED = replace(ODD_NUMBERS, grad=False)
BAD_DIM = (S(t(2, 3), 2), S(t(2, 3), -3), S(t(2, 3), "x"))


def over_dims(several: bool = True) -> tuple[Sample, ...]:
    """One argument and a dimension, or several."""
    one = (
        S(t(2, 3), 0),
        S(t(2, 3), -1),
        S(t(2, 3), 1, True),
        S(t(2, 3), dim=0, keepdim=True),
        S(t(3, 2, layout="t"), 0),
        S(t(2, 2, 4, layout="s"), 1),
        S(t(0, 3), 1),
        S(t(), 0),
        S(t(4), 0),
    )
    many = (S(t(2, 3, 2), (0, 2)), S(t(2, 3, 2), (0, -1), True), S(t(2, 3), (0, 1)), S(t(2, 3), ()))
    return (*one, *many) if several else one


WHOLE: tuple[Sample, ...] = (S(t(2, 3)), S(t()), S(t(3, 2, layout="t")), S(t(2, 3, layout="s")), S(t(1, 1)))
EMPTY = S(t(0, 3))
PICKED_WHOLE: tuple[Sample, ...] = (
    S(distinct(2, 3)),
    S(distinct()),
    S(distinct(3, 2, layout="t")),
    S(distinct(4, layout="s")),
)
PICKED_DIM: tuple[Sample, ...] = (
    S(distinct(2, 3), 0),
    S(distinct(2, 3), -1),
    S(distinct(2, 3), 1, True),
    S(distinct(2, 3), dim=0, keepdim=True),
    S(distinct(3, 2, layout="t"), 0),
    S(distinct(2, 4, layout="s"), 1),
    S(distinct(0, 3), 1),
    S(distinct(), 0),
)
PICKED_DIMS: tuple[Sample, ...] = (
    S(distinct(2, 3, 2), (0, 2)),
    S(distinct(2, 3, 2), (0, -1), True),
    S(distinct(2, 3), ()),
)
TIES = lit([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]])
NO_ELEMENTS = (S(t(0)), S(t(2, 0), 1))
SCANS: tuple[Sample, ...] = (
    S(t(2, 3), 0),
    S(t(2, 3), -1),
    S(t(2, 3), dim=1),
    S(t(3, 2, layout="t"), 0),
    S(t(2, 4, layout="s"), 1),
    S(t(), 0),
    S(t(0, 3), 0),
    S(t(0, 3), 1),
    S(t(5), 0),
)
SPREAD: tuple[Sample, ...] = (
    S(t(2, 3)),
    S(t(2, 3), 0),
    S(t(2, 3), 1, True, True),
    S(t(2, 3), dim=1, unbiased=False),
    S(t(2, 3), unbiased=False),
    S(t(2, 3, 2), (0, 2)),
    S(t(2, 3, 2), dim=(0, 2), keepdim=True),
    S(t(2, 3), dim=1, correction=0),
    S(t(2, 3), correction=2),
    S(t(3, 2, layout="t"), 0),
    S(t(4, 2, layout="s"), 0),
    S(lit([2.0, 2.0, 2.0])).unchecked(),
    special(lit([1.0])),
    special(t(0)),
)
NORMS: tuple[Sample, ...] = (
    S(t(2, 3)),
    S(t(2, 3), 1),
    S(t(2, 3), 2),
    S(pos(2, 3), 3),
    S(pos(2, 3), 0.5),
    S(distinct(2, 3), INF),
    S(distinct(2, 3), -INF),
    S(t(2, 3), 0).unchecked(),
    S(t(2, 3), 2, 0),
    S(t(2, 3), 2, 1, True),
    S(t(2, 3), dim=1),
    S(t(2, 3), 2, (0, 1)),
    S(t(2, 3), 1, dim=(0, 1)),
    S(t(2, 3), "fro"),
    S(t(2, 3), "fro", dim=0),
    S(t(3, 2, layout="t"), 2, 0),
    S(t()),
    S(t(0)).unchecked(),
    S(lit([0.0, 0.0, 0.0])).unchecked(),
    S(lit([0.0, 0.0]), 1).unchecked(),
    S(lit([[0.0, 0.0], [3.0, 4.0]]), 2, 1).unchecked(),
    special(lit([INF, 1.0])),
)
LOGSUMEXP: tuple[Sample, ...] = (
    *(S(*s.args, **s.kwargs) for s in over_dims() if s.args[0] != t() and s.args[-1] != ()),
    S(t(), 0),
    S(lit([1000.0, 1000.0]), 0),
    special(lit([-INF, -INF]), 0),
    special(lit([INF, 1.0]), 0),
    special(lit([NAN, 1.0]), 0),
)
TRUTH: tuple[Sample, ...] = (
    S(mask([[True, True], [False, True]])),
    S(mask([[True, True], [False, True]]), 0),
    S(mask([[True, True], [False, True]]), 1, True),
    S(lit([0.0, 1.0, 2.0])),
    S(lit([[0.0, 1.0], [0.0, 0.0]]), dim=1),
    S(t(0)),
    S(t(0, 2), 0),
    S(t()),
    special(ODD_NUMBERS),
)


def named(pick: str) -> Call:
    """Both fields of a named result, by name."""

    def call(m: ModuleType, x: object, dim: int) -> object:
        target = getattr(m, pick)
        assert callable(target)
        result = target(x, dim)
        return result.values, result.indices

    return call


ENTRIES: tuple[Entry, ...] = (
    both(
        "sum",
        *WHOLE,
        EMPTY,
        *over_dims(),
        S(t(2, 3), dtype=Dtype("float64")),
        S(t(2, 3), 0, dtype=Dtype("float32")).unchecked(),
        S(t(2, 3, grad=False), dtype=Dtype("int64")).unchecked(),
        special(ODD_NUMBERS),
        bad=(*BAD_DIM, S(t(2, 3), (0, 0))),
        covers=("sum_to", "unsqueeze_dims"),
    ),
    both(
        "mean",
        *WHOLE,
        *over_dims(),
        S(t(2, 3), dtype=Dtype("float64")),
        S(t(2, 3), 0, dtype=Dtype("float32")).unchecked(),
        special(t(0)),
        special(ODD_NUMBERS),
        bad=(*BAD_DIM, S(t(2, 3), (0, 0))),
    ),
    both("nansum", *WHOLE, EMPTY, *over_dims(), special(ODD_NUMBERS), special(lit([[NAN, 1.0], [NAN, NAN]]), 1)),
    both(
        "prod",
        *WHOLE,
        EMPTY,
        *over_dims(several=False),
        S(lit([0.0, 2.0, 3.0])),
        S(lit([0.0, 2.0, 0.0])),
        S(lit([[0.0, 2.0], [3.0, 4.0], [0.0, 0.0]]), 1),
        S(t(2, 3), dtype=Dtype("float64")).floating(),
        special(UNSLOPED),
        bad=BAD_DIM,
    ),
    both(
        "amax",
        *PICKED_WHOLE,
        *PICKED_DIM,
        *PICKED_DIMS,
        S(TIES).unchecked(),
        S(TIES, 1).unchecked(),
        special(ODD_NUMBERS),
        bad=(*NO_ELEMENTS, *BAD_DIM),
    ),
    both(
        "amin",
        *PICKED_WHOLE,
        *PICKED_DIM,
        *PICKED_DIMS,
        S(TIES).unchecked(),
        S(TIES, 1).unchecked(),
        special(ODD_NUMBERS),
        bad=(*NO_ELEMENTS, *BAD_DIM),
    ),
    both(
        "max",
        *PICKED_WHOLE,
        *PICKED_DIM,
        S(TIES).unchecked(),
        S(TIES, 1).unchecked(),
        S(distinct(2, 3), distinct(3)),
        special(ODD_NUMBERS),
        special(ODD_NUMBERS, 0),
        bad=(*NO_ELEMENTS, *BAD_DIM),
        covers=("max_dim", "max_reduction"),
    ),
    both(
        "min",
        *PICKED_WHOLE,
        *PICKED_DIM,
        S(TIES).unchecked(),
        S(TIES, 1).unchecked(),
        S(distinct(2, 3), distinct(3)),
        special(ODD_NUMBERS),
        special(ODD_NUMBERS, 0),
        bad=(*NO_ELEMENTS, *BAD_DIM),
        covers=("min_dim", "min_reduction"),
    ),
    syntax("max by name", named("max"), S(distinct(2, 3), 1)),
    syntax("min by name", named("min"), S(distinct(2, 3), 0)),
    both(
        "argmax",
        *PICKED_WHOLE,
        *PICKED_DIM,
        S(TIES, 1),
        special(ODD_NUMBERS),
        grad=False,
        bad=(*NO_ELEMENTS, *BAD_DIM[:2]),
    ),
    both(
        "argmin",
        *PICKED_WHOLE,
        *PICKED_DIM,
        S(TIES, 1),
        special(ODD_NUMBERS),
        grad=False,
        bad=(*NO_ELEMENTS, *BAD_DIM[:2]),
    ),
    both("var", *SPREAD, bad=BAD_DIM[:2]),
    both("std", *SPREAD, bad=BAD_DIM[:2]),
    both("norm", *NORMS, bad=(S(t(2, 3), 2, 5), S(t(2), "abc")), covers=("linalg_vector_norm",)),
    both("logsumexp", *LOGSUMEXP, bad=(*BAD_DIM[:2], S(t(2, 3)))),
    both("cumsum", *SCANS, S(t(2, 3), 0, dtype=Dtype("float64")), special(ODD_NUMBERS, 0), bad=(*BAD_DIM, S(t(2)))),
    both(
        "cumprod",
        *SCANS,
        S(lit([2.0, 0.0, 3.0]), 0),
        S(lit([0.0, 0.0, 3.0]), 0),
        S(lit([[0.0, 2.0], [3.0, 0.0]]), 1),
        S(t(2, 3), 0, dtype=Dtype("float64")).floating(),
        special(UNSLOPED, 0),
        bad=(*BAD_DIM, S(t(2))),
    ),
    both("all", *TRUTH, grad=False, bad=BAD_DIM[:2]),
    both("any", *TRUTH, grad=False, bad=BAD_DIM[:2]),
)
