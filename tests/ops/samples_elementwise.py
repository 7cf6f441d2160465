"""Sample inputs of the elementwise mathematical functions, and of the parts of complex numbers."""

from __future__ import annotations

from types import ModuleType

from ops.samples_arithmetic import BAD_PAIRS, ODD_NUMBERS, ODD_PAIRS, broadcasting, elementwise
from ops.spec import COMPLEX, INTEGRAL, Call, Entry, Operand, S, both, function, lit, method, pos, special, syntax, t

INF, NAN = float("inf"), float("nan")
NO_HALF = ("float16",)  # its complex twin is one that cygrad has not

REAL_TO_COMPLEX = tuple(
    S(t(*a), t(*b)) for a, b in (((2, 3), (2, 3)), ((2, 3), (3,)), ((), ()), ((0, 2), (0, 2)), ((2, 1), (1, 3)))
)


def complex_of(call_name: str) -> Call:
    """Calls a method or function on x made complex, so that real samples reach it in every dtype."""

    def call(m: ModuleType, x: Operand, *args: object) -> object:
        target = getattr(m, call_name)
        assert callable(target)
        return target(m.complex(x, x * 0.5 + 1), *args)

    return call


ENTRIES: tuple[Entry, ...] = (
    both("exp", *elementwise()),
    both("exp2", *elementwise()),
    both("expm1", *elementwise()),
    both("log", *elementwise(0.3, 3.0)),
    both("log2", *elementwise(0.3, 3.0)),
    both("log10", *elementwise(0.3, 3.0)),
    both("log1p", *elementwise(-0.6, 3.0)),
    both("sin", *elementwise()),
    both("cos", *elementwise()),
    both("tan", *elementwise(-1.2, 1.2)),
    both("asin", *elementwise(-0.9, 0.9), fns=("asin", "arcsin")),
    both("acos", *elementwise(-0.9, 0.9), fns=("acos", "arccos")),
    both("atan", *elementwise(), fns=("atan", "arctan")),
    both("atan2", *broadcasting(0.3, 2.0), ODD_PAIRS, fns=("atan2", "arctan2"), bad=BAD_PAIRS),
    both("sinh", *elementwise()),
    both("cosh", *elementwise()),
    both("tanh", *elementwise()),
    both("asinh", *elementwise(), fns=("asinh", "arcsinh")),
    both("acosh", *elementwise(1.2, 3.0), fns=("acosh", "arccosh")),
    both("atanh", *elementwise(-0.8, 0.8), fns=("atanh", "arctanh")),
    both("sigmoid", *elementwise(), fns=("sigmoid", "nn.functional.sigmoid")),
    both("erf", *elementwise()),
    both("erfc", *elementwise()),
    both("erfinv", *elementwise(-0.8, 0.8)),
    method("polygamma", S(pos(2, 3), 1), S(pos(3, layout="s"), 2), name="polygamma, the method"),
    both(
        "xlogy",
        S(pos(2, 3), pos(2, 3)),
        S(t(2, 3), pos(3)),
        S(pos(2, 3), 2.5),
        S(2.5, pos(3)).function_only(),
        S(t(3, 2, layout="t"), pos(3, 1)),
        S(t(0), pos(0)),
        special(lit([0.0, 0.0, 0.0, 0.0, 1.0, 2.0]), lit([0.0, -1.0, NAN, INF, 0.0, -1.0])),
        special(lit([0.0, 1.0]), 0.0),
        skip_dtypes=COMPLEX,
        bad=(S(t(2), t(3)),),
    ),
    both(
        "logit",
        S(t(2, 3, lo=0.1, hi=0.9)),
        S(t(2, 3, lo=0.1, hi=0.9), 1e-3),
        S(t(3, lo=0.1, hi=0.9, layout="s"), eps=0.01),
        S(t(0)),
        special(lit([0.0, 1.0, -0.5, 1.5, 0.5])),
        special(lit([0.0, 1.0, -0.5, 1.5, 0.5]), 0.1),
        skip_dtypes=(*COMPLEX, *INTEGRAL, "bool"),
    ),
    both("polygamma", *(S(n, pos(2, 3)).function_only() for n in (1, 2)), method=None),
    both("lgamma", *elementwise(0.4, 3.0), S(lit([-0.5, -1.5, -2.25]))),
    # not at the poles, where the oracle's slopes are large numbers by chance
    both("digamma", *elementwise(0.4, 3.0)[:8], S(lit([-0.5, -1.5, -2.25])), special(lit([INF, NAN, 1e-3]))),
    both("sinc", *elementwise(0.2, 2.0), S(lit([0.0, 1.0, -1.0])).unchecked()),
    both("logaddexp", *broadcasting(), ODD_PAIRS, bad=BAD_PAIRS),
    both("relu", *elementwise(0.2, 2.0), S(lit([-1.0, -0.5, 0.5])), fns=("relu", "nn.functional.relu")),
    function(
        "nn.functional.leaky_relu",
        *elementwise(0.2, 2.0),
        S(lit([-1.0, -0.5, 0.5])),
        S(lit([-1.0, -0.5, 0.5]), 0.2),
        S(lit([-1.0, 0.5]), negative_slope=0.3),
    ),
    function(
        "nn.functional.elu",
        *elementwise(0.2, 2.0),
        S(lit([-1.0, -0.5, 0.5])),
        S(lit([-1.0, -0.5, 0.5]), 1.5),
        S(lit([-1.0, 0.5]), alpha=0.7),
    ),
    function("nn.functional.relu6", *elementwise(0.2, 2.0), S(lit([-1.0, 0.5, 7.0]))),
    function(
        "nn.functional.gelu",
        *elementwise()[:8],
        special(lit([30.0, -30.0, 0.0, NAN])),
        *(S(*s.args, approximate="tanh") for s in elementwise()[:3]),
    ),
    function("nn.functional.silu", *elementwise()),
    function(
        "nn.functional.softplus",
        *elementwise(),
        S(t(2, 3), 2.0),
        S(t(2, 3, lo=-3.0, hi=3.0), beta=2, threshold=3),
        special(lit([25.0, 20.0, -25.0])),
    ),
    function("nn.functional.logsigmoid", *elementwise(), covers=("log_sigmoid",)),
    function(
        "nn.functional.hardtanh",
        *elementwise(-0.9, 0.9),
        S(lit([-1.5, -0.5, 0.5, 1.5])),
        S(lit([-1.5, -0.5, 0.5, 2.5]), -1.0, 2.0),
        S(lit([-1.0, 1.0])).unchecked(),
    ),
    both("real", *elementwise()[:5], method=None, view=True),
    syntax(
        "real of complex",
        complex_of("real"),
        S(t(2, 3)),
        S(t()),
        S(t(0)),
        view=True,
        covers=("real",),
        skip_dtypes=NO_HALF,
    ),
    both("imag", *elementwise()[:5], method=None, view=True, primary="complex128"),
    syntax(
        "imag of complex",
        complex_of("imag"),
        S(t(2, 3)),
        S(t()),
        S(t(0)),
        view=True,
        covers=("imag",),
        skip_dtypes=NO_HALF,
    ),
    both("conj", *elementwise()[:5], covers=("_conj", "conj_physical", "_conj_physical", "resolve_conj")),
    syntax("conj of complex", complex_of("conj"), S(t(2, 3)), S(t()), S(t(0)), skip_dtypes=NO_HALF),
    both("conj_physical", *elementwise()[:5]),
    both("resolve_conj", *elementwise()[:5], named=False),
    both("angle", *elementwise(0.2, 2.0), S(lit([-1.0, 1.0, 0.0])).unchecked()),
    function("complex", *REAL_TO_COMPLEX, bad=(S(t(2), t(3)), S(t(2), t(2, dtype="int64")))),
    function("polar", *(S(pos(*a), t(*b)) for a, b in (((2, 3), (2, 3)), ((2, 3), (3,)), ((), ())))),
    function("view_as_real", *elementwise()[:5], view=True, primary="complex128"),
    syntax("view_as_real of complex", complex_of("view_as_real"), S(t(2, 3)), S(t()), view=True, skip_dtypes=NO_HALF),
    function("view_as_complex", S(t(3, 2)), S(t(2)), S(t(2, 3, 2)), view=True, bad=(S(t(3)), S(t()))),
    both("signbit", *elementwise()[:6], special(ODD_NUMBERS), grad=False),
    both("isneginf", *elementwise()[:6], special(ODD_NUMBERS), grad=False),
    both("isposinf", *elementwise()[:6], special(ODD_NUMBERS), grad=False),
    both("isnan", *elementwise()[:6], special(ODD_NUMBERS), grad=False),
    both("isinf", *elementwise()[:6], special(ODD_NUMBERS), grad=False),
    both("isfinite", *elementwise()[:6], special(ODD_NUMBERS), grad=False),
    both(
        "nan_to_num",
        *elementwise()[:6],
        special(ODD_NUMBERS),
        special(ODD_NUMBERS, nan=1.5, posinf=9.0, neginf=-9.0),
        special(ODD_NUMBERS, 2.0),
    ),
)
