"""Sample inputs of softmax, losses, dropout and linear."""

from __future__ import annotations

from ops.spec import Dtype, Entry, S, Sample, both, function, idx, lit, pos, special, t

INF, NAN = float("inf"), float("nan")

SOFTMAX: tuple[Sample, ...] = (
    S(t(2, 3), 0),
    S(t(2, 3), -1),
    S(t(2, 3), dim=1),
    S(t(3, 2, layout="t"), 1),
    S(t(2, 4, layout="s"), 1),
    S(t(2, 2, 3), 1),
    S(t(), 0),
    S(t(0, 3), 1),
    S(t(4), 0),
    S(lit([1000.0, 999.0, -1000.0]), 0),
    S(t(2, 3), 1, dtype=Dtype("float64")),
    special(lit([-INF, 0.0, 1.0]), 0),
    special(lit([-INF, -INF]), 0),
    special(lit([INF, 0.0]), 0),
    special(lit([NAN, 0.0]), 0),
)
REDUCTIONS = ("mean", "sum", "none")
CLASSES = idx([0, 2, 1, 2])
IGNORED = idx([0, -100, 1, 2])

ENTRIES: tuple[Entry, ...] = (
    both("softmax", *SOFTMAX, fns=("softmax", "nn.functional.softmax"), bad=(S(t(2, 3), 2),), covers=("_softmax",)),
    both(
        "log_softmax",
        *SOFTMAX,
        fns=("log_softmax", "nn.functional.log_softmax"),
        bad=(S(t(2, 3), 2),),
        covers=("_log_softmax",),
    ),
    function(
        "nn.functional.nll_loss",
        *(S(t(4, 3), CLASSES, reduction=how) for how in REDUCTIONS),
        *(S(t(4, 3), IGNORED, reduction=how) for how in REDUCTIONS),
        *(S(t(4, 3), CLASSES, lit([0.5, 2.0, 1.5], grad=False), reduction=how) for how in REDUCTIONS),
        S(t(4, 3), idx([0, 1, 1, 2]), ignore_index=1),
        S(t(3), idx(1)),
        S(t(4, 3, 2), idx([[0, 2], [1, 1], [2, 0], [0, 1]])),
        special(t(0, 3), idx([])),
        bad=(
            S(t(4, 3), idx([0, 1])),
            S(t(4, 3), idx([0, 3, 1, 1])),
            S(t(4, 3), lit([0.0, 1.0, 1.0, 1.0])),
            S(t(4, 3), CLASSES, reduction="total"),
            S(t(4, 3), CLASSES, lit([1.0, 2.0], grad=False)),
        ),
        covers=("nll_loss_forward", "nll_loss2d_forward"),
    ),
    function(
        "nn.functional.cross_entropy",
        *(S(t(4, 3), CLASSES, reduction=how) for how in REDUCTIONS),
        *(S(t(4, 3), IGNORED, reduction=how) for how in REDUCTIONS),
        S(t(4, 3), CLASSES, lit([0.5, 2.0, 1.5], grad=False)),
        S(t(3), idx(1)),
        S(t(4, 3, 2), idx([[0, 2], [1, 1], [2, 0], [0, 1]])),
        S(t(3, 4, layout="t"), idx([0, 2, 1])),
        bad=(S(t(4, 3), idx([0, 1])), S(t(4, 3), idx([0, 3, 1, 1])), S(t(4, 3), CLASSES, reduction="total")),
    ),
    function(
        "nn.functional.cross_entropy",
        S(t(2, 3), lit([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])),
        S(t(2, 3), lit([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], grad=False), label_smoothing=0.1, reduction="sum"),
        S(t(2, 3), lit([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], grad=False), lit([0.5, 2.0, 1.5], grad=False)),
        *(S(t(4, 3), CLASSES, label_smoothing=0.1, reduction=how) for how in REDUCTIONS),
        S(t(4, 3), IGNORED, lit([0.5, 2.0, 1.5], grad=False), label_smoothing=0.2),
        name="composed cross_entropy",
        named=False,
        bad=(S(t(2, 3), lit([[0.2, 0.3, 0.5]])), S(t(2, 3), lit([[0.2, 0.8], [1.0, 0.0]]))),
    ),
    function(
        "nn.functional.mse_loss",
        *(S(t(2, 3), t(2, 3), reduction=how) for how in REDUCTIONS),
        S(t(2, 3), t(2, 3, grad=False)),
        S(t(2, 3, grad=False), t(2, 3)),
        S(t(3, 2, layout="t"), t(3, 2)),
        S(t(), t()),
        special(t(0), t(0)),
        S(t(0), t(0), reduction="sum"),
        bad=(S(t(2, 3), t(2, 3), reduction="total"), S(t(2, 3), t(4))),
    ),
    function(
        "nn.functional.binary_cross_entropy_with_logits",
        *(S(t(2, 3), t(2, 3, lo=0.0, hi=1.0, grad=False), reduction=how) for how in REDUCTIONS),
        S(t(2, 3), t(2, 3, lo=0.0, hi=1.0)).first_order(),
        S(t(2, 3), t(2, 3, lo=0.0, hi=1.0, grad=False), lit([0.5, 2.0, 1.5], grad=False)),
        S(t(2, 3), t(2, 3, lo=0.0, hi=1.0, grad=False), pos_weight=lit([0.5, 2.0, 1.5], grad=False)),
        S(
            t(2, 3),
            t(2, 3, lo=0.0, hi=1.0, grad=False),
            lit([[0.5], [2.0]], grad=False),
            pos_weight=lit([0.5, 2.0, 1.5], grad=False),
            reduction="sum",
        ),
        S(t(3, 2, layout="t"), t(3, 2, lo=0.0, hi=1.0, grad=False)),
        S(t(), t(lo=0.0, hi=1.0, grad=False)),
        special(lit([100.0, -100.0, 0.0]), lit([1.0, 0.0, 0.5], grad=False), reduction="none"),
        bad=(S(t(2, 3), t(3)), S(t(2, 3), t(2, 3), reduction="total")),
    ),
    function(
        "nn.functional.dropout",
        S(t(2, 3), 0.0),
        S(t(2, 3), 0.5, False),
        S(t(2, 3), p=0.5, training=False),
        S(pos(2, 3), 1.0),
        S(t(0), 0.0),
        name="functional dropout",
        named=False,
        bad=(S(t(2, 3), 1.5), S(t(2, 3), -0.1)),
        covers=("native_dropout",),
    ),
    function(
        "dropout",
        S(t(2, 3), 0.0, True),
        S(t(2, 3), 0.5, False),
        S(t(2), 1.0, True),
        named=False,
        bad=(S(t(2), 1.5, True),),
    ),
    function(
        "nn.functional.linear",
        S(t(4, 3), t(2, 3), t(2)),
        S(t(4, 3), t(2, 3)),
        S(t(3), t(2, 3), t(2)),
        S(t(3), t(2, 3)),
        S(t(2, 4, 3), t(2, 3), t(2)),
        S(t(2, 2, 3), t(2, 3)),
        S(t(4, 3), t(3)),
        S(t(3, 4, layout="t"), t(2, 4, layout="s"), t(2)),
        S(t(0, 3), t(2, 3), t(2)),
        S(t(4, 3), t(2, 3), t(2, grad=False)),
        S(t(4, 3, grad=False), t(2, 3), t(2)),
        named=False,
        skip_dtypes=("bool",),  # the oracle multiplies booleans only where nothing is there to multiply
        bad=(S(t(4, 3), t(2, 4)), S(t(4, 3), t(2, 3), t(3)), S(t(4, 3), t(2, 3, dtype="float32"))),
    ),
)
