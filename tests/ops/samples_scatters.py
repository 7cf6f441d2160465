"""Sample inputs of copies with one part replaced."""

from __future__ import annotations

from ops.spec import Entry, S, both, t

ENTRIES: tuple[Entry, ...] = (
    both(
        "select_scatter",
        S(t(2, 3), t(3), 0, 1),
        S(t(2, 3), t(2), -1, -3),
        S(t(2, 3), t(2), dim=1, index=0),
        S(t(3), t(), 0, 2),
        S(t(3, 2, layout="t"), t(2), 0, 1),
        bad=(S(t(2, 3), t(2), 0, 1), S(t(2, 3), t(3), 0, 2), S(t(2, 3), t(3), 2, 0), S(t(), t(), 0, 0)),
    ),
    both(
        "slice_scatter",
        S(t(4, 3), t(4, 3)),
        S(t(4, 3), t(2, 3), 0, 1, 3),
        S(t(4, 3), t(4, 2), 1, None, None, 2),
        S(t(4, 3), t(1, 3), start=-1),
        S(t(4, 3), t(0, 3), 0, 2, 1),
        S(t(4, 3), t(2, 3), end=2),
        bad=(S(t(4, 3), t(3, 3), 0, 1, 3), S(t(4, 3), t(4, 3), 2), S(t(4, 3), t(4, 3), 0, None, None, 0)),
    ),
    both(
        "diagonal_scatter",
        S(t(3, 3), t(3)),
        S(t(2, 3), t(2), 1),
        S(t(2, 3), t(1), -1),
        S(t(2, 3, 3), t(2, 3), 0, 1, 2),
        S(t(3, 2, 3), t(2, 2), offset=1, dim1=-1, dim2=0),
        bad=(S(t(3, 3), t(2)), S(t(3), t(3)), S(t(3, 3), t(3), 0, 0, 0)),
    ),
    both(
        "as_strided_scatter",
        S(t(6), t(2, 2), (2, 2), (3, 1)),
        S(t(2, 3), t(3), (3,), (2,)),
        S(t(6), t(2), (2,), (2,), 1),
        S(t(6), t(), (), ()),
        grad=False,  # torch gives self the gradient of the elements that were replaced; test_views.py has the right one
        bad=(S(t(6), t(3), (2,), (1,)), S(t(6), t(7), (7,), (1,)), S(t(6), t(2), (2,), (-1,))),
    ),
)
