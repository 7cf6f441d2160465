"""Sample inputs of products of matrices and vectors.

Booleans are left out: the oracle multiplies them only where nothing is there to multiply.
"""

from __future__ import annotations

import operator

from ops.samples_arithmetic import written
from ops.spec import Entry, S, Sample, both, function, t

PAIRS: tuple[Sample, ...] = (
    S(t(3), t(3)),
    S(t(2, 3), t(3)),
    S(t(2), t(2, 3)),
    S(t(2, 3), t(3, 2)),
    S(t(2, 2, 3), t(2, 3, 2)),
    S(t(2, 2, 3), t(3, 2)),
    S(t(2, 3), t(2, 3, 2)),
    S(t(2, 2, 3), t(3)),
    S(t(3), t(2, 3, 2)),
    S(t(1, 2, 3), t(2, 3, 2)),
    S(t(2, 1, 2, 3), t(2, 3, 2)),
    S(t(0, 3), t(3, 2)),
    S(t(2, 0), t(0, 3)),
    S(t(0), t(0)),
    S(t(3, 2, layout="t"), t(2, 3, layout="t")),
    S(t(2, 3, layout="s"), t(3, 2, layout="o")),
    S(t(2, 3), t(3, 2, grad=False)),
    S(t(2, 3, grad=False), t(3, 2)),
)
BAD = (S(t(2, 3), t(2, 3)), S(t(3), t(2)), S(t(), t(2)), S(t(2), 2.0), S(t(2, 3), t(3, 2, dtype="int32")))


def equation(text: str, *shapes: tuple[int, ...]) -> Sample:
    """One einsum."""
    return S(text, *(t(*shape) for shape in shapes)).function_only()


ENTRIES: tuple[Entry, ...] = (
    both("matmul", *PAIRS, named=False, skip_dtypes=("bool",), bad=BAD, covers=("_unsafe_view",)),
    written("operator @", operator.matmul, *PAIRS[:5], named=False),
    both(
        "mm",
        S(t(2, 3), t(3, 2)),
        S(t(3, 2, layout="t"), t(2, 3, layout="t")),
        S(t(2, 4, layout="s"), t(4, 2, layout="o")),
        S(t(0, 3), t(3, 2)),
        S(t(2, 0), t(0, 3)),
        skip_dtypes=("bool",),
        bad=(S(t(2, 3), t(2, 3)), S(t(3), t(3, 2)), S(t(2, 3), t(3, 2, dtype="float16"))),
    ),
    both(
        "bmm",
        S(t(2, 2, 3), t(2, 3, 2)),
        S(t(2, 3, 2, layout="t"), t(2, 2, 3, layout="s")),
        S(t(0, 2, 3), t(0, 3, 2)),
        S(t(2, 2, 0), t(2, 0, 2)),
        skip_dtypes=("bool",),
        bad=(S(t(2, 2, 3), t(3, 3, 2)), S(t(2, 2, 3), t(2, 2, 3)), S(t(2, 3), t(3, 2))),
    ),
    both(
        "mv",
        S(t(2, 3), t(3)),
        S(t(3, 2, layout="t"), t(2, layout="s")),
        S(t(0, 3), t(3)),
        S(t(2, 0), t(0)),
        skip_dtypes=("bool",),
        bad=(S(t(2, 3), t(2)), S(t(3), t(3))),
    ),
    both(
        "addmv",
        S(t(2), t(2, 3), t(3)),
        S(t(1), t(2, 3), t(3), beta=0.5, alpha=2),
        S(t(3), t(3, 2, layout="t"), t(2, layout="s")),
        skip_dtypes=("bool",),
        bad=(S(t(3), t(2, 3), t(3)), S(t(2), t(2, 3), t(2))),
    ),
    both(
        "dot",
        S(t(3), t(3)),
        S(t(3, layout="s"), t(3, layout="o")),
        S(t(0), t(0)),
        skip_dtypes=("bool",),
        bad=(S(t(3), t(2)), S(t(2, 2), t(2))),
    ),
    both(
        "outer", S(t(3), t(2)), S(t(3, layout="s"), t(2)), S(t(0), t(2)), fns=("outer", "ger"), bad=(S(t(2, 2), t(2)),)
    ),
    both(
        "addmm",
        S(t(2, 2), t(2, 3), t(3, 2)),
        S(t(2), t(2, 3), t(3, 2)),
        S(t(2, 1), t(2, 3), t(3, 2), beta=0.5, alpha=2),
        S(t(), t(2, 3), t(3, 2), beta=2),
        S(t(2, 2), t(2, 3), t(3, 2), beta=0),
        S(t(3, 3, layout="t"), t(3, 2, layout="t"), t(2, 3, layout="s")),
        S(t(2), t(0, 3), t(3, 2)),
        S(t(2, 3), t(2, 0), t(0, 3)),
        skip_dtypes=("bool",),
        bad=(S(t(3), t(2, 3), t(3, 2)), S(t(2), t(2, 3), t(2, 3)), S(t(2), t(3), t(3, 2))),
    ),
    both(
        "addbmm",
        S(t(2, 2), t(3, 2, 3), t(3, 3, 2)),
        S(t(2, 1), t(3, 2, 3), t(3, 3, 2), beta=2, alpha=-1),
        S(t(2, 2), t(3, 2, 3), t(3, 3, 2), beta=0),
        S(t(2, 2, layout="t"), t(3, 2, 3, layout="s"), t(3, 3, 2, layout="o")),
        skip_dtypes=("bool", "float16"),  # torch rounds to float16 after each of its sums
        bad=(S(t(3, 3), t(3, 2, 3), t(3, 3, 2)), S(t(2, 2), t(3, 2, 3), t(2, 3, 2))),
    ),
    both(
        "addr",
        S(t(2, 3), t(2), t(3)),
        S(t(3), t(2), t(3), beta=2, alpha=-1),
        S(t(2, 3), t(2), t(3), beta=0),
        S(t(2, 3, layout="t"), t(2, layout="s"), t(3, layout="o")),
        S(t(0, 3), t(0), t(3)),
        skip_dtypes=("bool",),
        bad=(S(t(2, 2), t(2), t(3)), S(t(2, 3), t(2, 1), t(3)), S(t(2, 3), t(3), t(2))),
    ),
    both(
        "baddbmm",
        S(t(2, 2, 2), t(2, 2, 3), t(2, 3, 2)),
        S(t(2, 1), t(2, 2, 3), t(2, 3, 2)),
        S(t(2, 2, 2), t(2, 2, 3), t(2, 3, 2), beta=0.5, alpha=2),
        S(t(2, 2, 2), t(2, 2, 3), t(2, 3, 2), beta=0, alpha=-1),
        S(t(2, 2, 2, layout="t"), t(2, 2, 3, layout="s"), t(2, 3, 2, layout="o")),
        skip_dtypes=("bool",),
        bad=(S(t(3), t(2, 2, 3), t(2, 3, 2)), S(t(2), t(2, 2, 3), t(3, 3, 2))),
    ),
    function(
        "tensordot",
        S(t(2, 3), t(3, 2), 1),
        S(t(2, 3), t(2, 3), 2),
        S(t(2), t(3), 0),
        S(t(2, 3), t(2, 4), ([0], [0])),
        S(t(2, 3, 2), t(3, 2, 2), dims=([1, 0], [0, 1])),
        S(t(2, 3), t(3, 2), dims=1),
        named=False,
        bad=(S(t(2, 3), t(2, 3), 1), S(t(2, 3), t(3, 2), ([0, 1], [0])), S(t(2), t(2), -1)),
    ),
    function(
        "einsum",
        equation("ij,jk->ik", (2, 3), (3, 2)),
        equation("ij,jk", (2, 3), (3, 2)),
        equation("i,i->", (3,), (3,)),
        equation("i,j->ij", (2,), (3,)),
        equation("ij->ji", (2, 3)),
        equation("ij->", (2, 3)),
        equation("ij->j", (2, 3)),
        equation("ii->i", (3, 3)),
        equation("ii", (3, 3)),
        equation("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
        equation("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
        equation("ij,kj,il->kl", (2, 3), (2, 3), (2, 2)),
        equation("i,ij,j->", (2,), (2, 3), (3,)),
        equation("bi,bj->bij", (2, 2), (2, 3)),
        equation(" i j , j -> i ", (2, 3), (3,)),
        equation("ij,ij->ij", (2, 3), (2, 3)),
        equation("ij,ij->ij", (1, 3), (2, 1)),
        equation("i->", (0,)),
        S("ij,jk->ik", [t(2, 3), t(3, 2)]),
        named=False,
        skip_dtypes=("bool",),
        bad=(
            equation("ij,jk->ik", (2, 3), (2, 3)),
            equation("ij->k", (2, 3)),
            equation("ij,jk", (2, 3)),
            equation("i1->i", (2, 3)),
            equation("ij", (2, 3, 2)),
            equation("i->ii", (2,)),
        ),
    ),
)
