"""The text of tensors against torch's, character by character: by example, and on whatever Hypothesis finds.

Only the library's name in `dtype=...` may differ, and with it the length of that line. The rules interact (notation,
widths, line breaks, summaries, suffixes), so that random tensors under random options are the only test that reaches
most of them.
"""

import math
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import cygrad
from cygrad._printing import get_printoptions, printoptions

DTYPES = [np.dtype(code) for code in ("?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")]


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    """Options are global: each test starts from the defaults, and leaves them."""
    yield
    cygrad.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")


def normal(text: str) -> str:
    """A tensor's text without the library's name in the dtype, and without the line breaks that this name causes."""
    if "dtype=" not in text:
        return text
    text = re.sub(r",\s+(size=|dtype=|requires_grad=|grad_fn=)", r", \1", text)
    return re.sub(r"dtype=\w+\.", "dtype=", text)


def check_same(array: np.ndarray) -> None:
    """The texts of two tensors with this data are the same."""
    # Copies, since neither library takes read-only memory, and both refuse negative strides.
    text = repr(cygrad.from_numpy(np.array(array)))
    assert normal(text) == normal(repr(torch.from_numpy(np.array(array))))


EXAMPLES: dict[str, object] = {
    "scalar": 1.5,
    "whole scalar": 2.0,
    "integer scalar": 7,
    "bool scalar": True,
    "complex scalar": 1 - 2.5j,
    "negative zero": -0.0,
    "nan": math.nan,
    "whole floats": [1.0, -2.0, 30.0],
    "whole floats with zeros": [0.0, 0.0],
    "whole floats with nan and inf": [1.0, math.nan, math.inf, -math.inf, 0.0],
    "fixed point": [1.5, -22.25, 0.0, 1e-3],
    "fixed point with nan and inf": [1.5, math.nan, -math.inf],
    "scientific by size": [1.5e9, 2.5],
    "whole and scientific": [3e8, 1.0],
    "scientific by smallness": [1e-5, 1e-5],
    "scientific by ratio": [1.5, 1501.6],
    "not scientific by ratio": [1.5, 1500.0],
    "scientific with nan and zero": [1e-9, math.nan, 0.0, math.inf],
    "huge and tiny": [1e300, 1e-300],
    "denormal": [5e-324],
    "only nan": [math.nan, math.nan],
    "integers": [[1, -22, 333], [4, 5, 6]],
    "bools": [[True, False], [False, True]],
    "complex": [1 + 2j, -3.5j, complex(math.nan, -0.0)],
    "complex of two notations": [1e-9 + 2j, 1 - 3e9j],
    "matrix": [[1.0, 2.0], [3.0, 4.5]],
    "line break": [i / 7 for i in range(40)],
    "three axes": [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]],
    "long line break of integers": list(range(0, 10**6, 9973)),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    check_same(np.array(EXAMPLES[name]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 3), (2, 0, 3), (2, 3), (1, 1), (2, 3, 2), (2, 1, 2, 3)], ids=str)
def test_dtypes_and_shapes(dtype: np.dtype, shape: tuple[int, ...]) -> None:
    check_same((np.arange(math.prod(shape)).reshape(shape) * 1.25).astype(dtype))


@pytest.mark.parametrize(
    "shape",
    [(1000,), (1001,), (7, 200), (6, 200), (5, 300), (300, 5), (11, 12, 13), (2, 2, 2, 300), (1001, 1), (1, 1001)],
)
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex64], ids=lambda dtype: dtype.__name__)
def test_summaries(shape: tuple[int, ...], dtype: type) -> None:
    # The large values are in the middle: they are not shown, and must not widen the columns.
    array = np.ones(shape)
    array[tuple(length // 2 for length in shape)] = 1.25e8
    check_same(array.astype(dtype))


@pytest.mark.parametrize("default", ["float32", "float64"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype_is_named_unless_it_is_the_default(dtype: np.dtype, default: str) -> None:
    cygrad.set_default_dtype(getattr(cygrad, default))
    torch.set_default_dtype(getattr(torch, default))
    try:
        check_same(np.ones(2, dtype=dtype))
        check_same(np.ones((0, 2), dtype=dtype))
    finally:
        cygrad.set_default_dtype(cygrad.float32)
        torch.set_default_dtype(torch.float32)


Tensors = cygrad.Tensor | torch.Tensor
GRAPHS: dict[str, Callable[[Tensors], Tensors]] = {
    "leaf": lambda x: x,
    "mul": lambda x: x * 2,
    "rsub": lambda x: 1 - x,
    "sum": lambda x: x.sum(),
    "matrix product": lambda x: x @ x,
    "chain": lambda x: (x.exp() + 1).tanh(),
    "transposed": lambda x: x.t(),
    "selected": lambda x: x[0],
    "empty": lambda x: x[:0],
    "detached": lambda x: (x * 2).detach(),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda dtype: dtype.__name__)
def test_place_in_the_graph(name: str, dtype: type) -> None:
    for size in (2, 4, 5):
        # Halves, which sums and products keep exact.
        array = ((np.arange(size * size) - size) / 2).reshape(size, size).astype(dtype)
        mine = GRAPHS[name](cygrad.from_numpy(array.copy()).requires_grad_())
        other = GRAPHS[name](torch.from_numpy(array.copy()).requires_grad_())
        assert normal(repr(mine)) == normal(repr(other))
        assert str(mine) == repr(mine)


def test_known_texts() -> None:
    assert repr(cygrad.tensor([1.0, 2.5])) == "tensor([1.0000, 2.5000])"
    assert repr(cygrad.tensor([1.0], requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert repr(cygrad.tensor([2.0], requires_grad=True) * 3) == "tensor([6.], grad_fn=<MulBackward0>)"
    assert repr(cygrad.zeros(0, 3)) == "tensor([], size=(0, 3))"
    assert repr(cygrad.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"


def test_printing_records_nothing_and_changes_nothing() -> None:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    before = y.grad_fn, y._version, y.requires_grad
    repr(y), str(y), f"{y[0]:.1f}"
    assert (y.grad_fn, y._version, y.requires_grad) == before and cygrad.is_grad_enabled()


def test_views_and_strides() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    mine, other = cygrad.from_numpy(array.copy()), torch.from_numpy(array.copy())
    assert normal(repr(mine.transpose(0, 2))) == normal(repr(other.transpose(0, 2)))
    assert normal(repr(mine[:, ::2])) == normal(repr(other[:, ::2]))
    assert normal(repr(mine[:1].expand(3, 3, 4))) == normal(repr(other[:1].expand(3, 3, 4)))


OPTIONS: list[dict[str, object]] = [
    {"precision": 0},
    {"precision": 10},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 2},
    {"threshold": 0, "edgeitems": 0},
    {"linewidth": 20},
    {"linewidth": 1},
    {"linewidth": 200},
    {"profile": "short"},
    {"profile": "full"},
    {"profile": "full", "precision": 1},
    {"sci_mode": True},
    {"sci_mode": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options(options: dict[str, object]) -> None:
    setters: list[Callable[..., None]] = [cygrad.set_printoptions, torch.set_printoptions]
    for set_options in setters:
        set_options(**options)
    assert get_printoptions() == torch._tensor_str.get_printoptions()
    rng = np.random.default_rng(0)
    for array in (
        np.array(0.1),
        np.linspace(-3, 1e5, 30),
        np.arange(60.0).reshape(3, 20),
        rng.standard_normal((8, 2, 9)),
        rng.standard_normal((40, 50)),
        np.arange(12).reshape(3, 4),
        rng.standard_normal(5) + 1e-6j,
        np.zeros((2, 0)),
    ):
        check_same(array)


def test_options_stay_until_they_are_set_again_except_sci_mode() -> None:
    cygrad.set_printoptions(precision=2, sci_mode=True)
    assert repr(cygrad.tensor([0.125])) == "tensor([1.25e-01])"
    cygrad.set_printoptions(linewidth=100)
    assert get_printoptions() == {
        "precision": 2,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 100,
        "sci_mode": None,
    }
    assert repr(cygrad.tensor([0.25])) == "tensor([0.25])"


def test_options_of_a_block() -> None:
    before = get_printoptions()
    with pytest.raises(KeyError), printoptions(precision=1, profile="short"):
        assert repr(cygrad.tensor([0.25])) == "tensor([0.2])"
        raise KeyError
    assert get_printoptions() == before


def test_unknown_profile_is_refused() -> None:
    before = get_printoptions()
    with pytest.raises(ValueError, match="unknown profile 'long'"):
        cygrad.set_printoptions(precision=9, profile="long")  # type: ignore[arg-type]  # the mistake under test
    assert get_printoptions() == before


@pytest.mark.parametrize("spec", ["", ".3f", "10.2e", "+.1f", "g", "<12.4f", "%"])
@pytest.mark.parametrize("value", [1.5, -0.25, math.nan, 3e20])
def test_format_of_a_number(value: float, spec: str) -> None:
    mine = cygrad.tensor(value, dtype=cygrad.float64, requires_grad=True)
    other = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    assert format(mine, spec) == format(other, spec) == format(value, spec)
    assert format(mine * 1, spec) == format(value, spec)


def test_format_of_other_numbers_and_of_tensors_with_axes() -> None:
    assert f"{cygrad.tensor(255):x} {cygrad.tensor(3):5d} {cygrad.tensor(True)} {cygrad.tensor(1 + 2j):.1f}" == (
        "ff     3 True 1.0+2.0j"
    )
    vector = cygrad.tensor([1.0, 2.0])
    assert f"{vector}" == str(vector)
    with pytest.raises(TypeError, match="unsupported format string"):
        format(vector, ".2f")
    with pytest.raises(ValueError, match="format"):
        format(cygrad.tensor(3), ".2q")


def values_of(dtype: np.dtype) -> st.SearchStrategy[object]:
    """Elements in the ranges where notations change, and any at all."""
    if dtype.kind not in "fc":
        return hnp.from_dtype(dtype)
    single = {"f2": 16, "f4": 32, "f8": 64, "c8": 32, "c16": 64}[dtype.str[1:]]
    small = st.floats(-2000, 2000, width=single)  # type: ignore[arg-type]  # 16, 32 or 64 by the table above
    whole = st.integers(-2000, 2000).map(float)
    anything = st.floats(width=single)  # type: ignore[arg-type]  # as above
    floats = st.one_of(small, whole, anything, st.sampled_from([0.0, -0.0, math.nan, math.inf, 1e-4, 1e4]))
    if dtype.kind == "f":
        return floats
    return st.builds(complex, floats, floats)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9))
    with np.errstate(over="ignore"):
        array: np.ndarray = draw(
            hnp.arrays(dtype, shape, elements=values_of(dtype), fill=st.nothing() if draw(st.booleans()) else None)
        )
    return array


@settings(max_examples=300, deadline=None)
@given(
    array=arrays(),
    precision=st.integers(0, 8),
    threshold=st.sampled_from([0, 10, 100, 1000]),
    edgeitems=st.integers(0, 4),
    linewidth=st.integers(1, 130),
    sci_mode=st.sampled_from([None, None, True, False]),
)
def test_any_tensor_under_any_options(
    array: np.ndarray, precision: int, threshold: int, edgeitems: int, linewidth: int, sci_mode: bool | None
) -> None:
    for library in (cygrad, torch):
        library.set_printoptions(
            precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth, sci_mode=sci_mode
        )
    check_same(array)
