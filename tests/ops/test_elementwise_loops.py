"""The loops under the elementwise operations: accuracy of the special functions, and geometry beyond the samples.

Why it exists: the oracle's own special functions are off by up to 1e-4 in places, so that accuracy is measured against
40 digits here; and a loop goes several ways (one call, blocks of casts, short inner dimensions, strided output), each
of which must give the same elements.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
import torch

import cygrad

mpmath = importlib.import_module("mpmath")  # has no types

Values = npt.NDArray[np.generic]
Exact = Callable[[object], object]
RNG = np.random.default_rng(20)

TAIL = [1 - 10.0**-k for k in range(1, 16)]
POINTS: dict[str, tuple[Exact, list[float], float]] = {
    "erf": (mpmath.erf, [*RNG.uniform(-6, 6, 200), 1e-300, 1e-8, -0.5, 20.0], 2e-15),
    "erfc": (mpmath.erfc, [*RNG.uniform(-6, 26, 200), 1e-8, 0.5], 2e-14),
    "erfinv": (mpmath.erfinv, [*RNG.uniform(-1, 1, 200), *TAIL, 1e-300, 1e-8, 0.5, -0.5], 2e-15),
    "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), [*RNG.uniform(0.1, 40, 200), -0.5, -10.2, 1e5], 5e-15),
    "digamma": (
        mpmath.digamma,
        [*RNG.uniform(1e-3, 30, 300), 1.4616321449683623, 1.46163, 1e-5, 1e5, 1e20, 2.0],
        2e-15,
    ),
    "digamma, negative": (mpmath.digamma, [*-RNG.uniform(0.1, 30, 200), -1e5 - 0.25], 1e-12),
}
SINGLE = {"erf": 4e-7, "erfc": 2e-6, "erfinv": 6e-7, "digamma": 2e-7}


def worst(got: Values, reference: Exact, points: Values) -> float:
    """The largest relative error."""
    with mpmath.workdps(40):
        exact = [reference(mpmath.mpf(float(x))) for x in points]
        return max(float(abs((mpmath.mpf(float(g)) - e) / e)) for g, e in zip(got, exact, strict=True))


@pytest.mark.parametrize("name", POINTS)
def test_special_functions_in_double_precision(name: str) -> None:
    reference, listed, tolerance = POINTS[name]
    points = np.array(listed)
    function = getattr(cygrad, name.split(",", maxsplit=1)[0])
    assert worst(function(cygrad.from_numpy(points)).numpy(), reference, points) < tolerance


@pytest.mark.parametrize("name", SINGLE)
def test_special_functions_in_single_precision(name: str) -> None:
    reference, listed, _ = POINTS[name]
    limit = 9.0 if name == "erfc" else 1 - 1e-6 if name == "erfinv" else np.inf
    points = np.array([x for x in listed if 1e-30 < abs(x) <= limit and abs(x - 1.4616321) > 1e-4], np.float32)
    got = getattr(cygrad, name)(cygrad.from_numpy(points)).numpy()
    assert got.dtype == np.float32
    assert worst(got, reference, points) < SINGLE[name]


@pytest.mark.parametrize("order", [1, 2, 3, 5, 10, 40, 200])
def test_polygamma(order: int) -> None:
    positive = np.array([*RNG.uniform(0.01, 40, 30), 1e3, 1e6])
    if order == 200:
        positive = np.array([30.0, 50.0, 100.0, 1000.0])
    for points in (positive, -RNG.uniform(0.01, 12, 20)) if order < 100 else (positive,):
        got = cygrad.polygamma(order, cygrad.from_numpy(points)).numpy()
        assert worst(got, lambda x: mpmath.polygamma(order, x), points) < 1e-11


def test_special_functions_at_their_poles_and_ends() -> None:
    inf, nan = np.inf, np.nan
    points = cygrad.tensor([0.0, -0.0, -1.0, -inf, inf, nan], dtype=cygrad.float64)
    np.testing.assert_array_equal(cygrad.digamma(points).numpy(), [-inf, inf, nan, nan, inf, nan])
    np.testing.assert_array_equal(cygrad.polygamma(1, points).numpy(), [inf, inf, inf, nan, 0, nan])
    np.testing.assert_array_equal(cygrad.lgamma(points).numpy(), [inf, inf, inf, inf, inf, nan])
    ends = cygrad.tensor([1.0, -1.0, 2.0, -3.0, nan, 0.0])
    for dtype in (cygrad.float32, cygrad.float64):
        np.testing.assert_array_equal(cygrad.erfinv(ends.to(dtype)).numpy(), [inf, -inf, nan, nan, nan, 0])
        np.testing.assert_array_equal(
            cygrad.erf(points.to(dtype)).numpy(), [0, 0, cygrad.erf(points.to(dtype))[2].item(), -1, 1, nan]
        )


def layouts(a: Values) -> Iterator[Values]:
    """The same values in other memory: transposed, every second one, with an inner dimension of two, broadcast."""
    yield a
    yield np.ascontiguousarray(a.transpose()).transpose()
    wide = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    view[...] = a
    yield view
    yield a[..., :2]
    yield np.broadcast_to(a[:1], a.shape)


@pytest.mark.parametrize("shape", [(3, 5), (700, 3), (2, 3, 1000)])
@pytest.mark.parametrize(
    ("left", "right"),
    [("float64", "float64"), ("int32", "float64"), ("float32", "int64"), ("uint8", "int16"), ("bool", "complex128")],
)
def test_any_geometry_and_dtypes(shape: tuple[int, ...], left: str, right: str) -> None:
    a = (RNG.normal(size=shape) * 20).astype(left)
    b = (RNG.normal(size=shape) * 20).astype(right)
    for x in layouts(a):
        for y in layouts(b):
            if y.shape != x.shape:
                y = y[..., :1]
            expected = torch.from_numpy(x.copy()) + torch.from_numpy(y.copy())
            got = cygrad.from_numpy(x.copy()) + cygrad.from_numpy(y.copy())
            views = cygrad.as_tensor(np.asarray(x)) + cygrad.as_tensor(np.asarray(y))
            for result in (got, views):
                assert str(result.dtype).split(".")[1] == str(expected.dtype).split(".")[1]
                np.testing.assert_array_equal(result.numpy(), expected.numpy())


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "signbit"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_bools_into_strided_output(name: str, dtype: type[np.floating]) -> None:
    # NumPy's own loops are wrong here for float32 and float64: 17 elements and more, results apart from each other
    column = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0] * 10, dtype)
    pairs = np.stack([column, column[::-1]], axis=1)
    wide = np.zeros((70, 4), dtype)
    wide[:, ::2] = pairs
    expected = np.array([[bool(getattr(np, name)(v)) for v in row] for row in pairs])
    for source in (pairs, wide[:, ::2], np.asfortranarray(pairs)):
        np.testing.assert_array_equal(getattr(cygrad, name)(cygrad.from_numpy(source)).numpy(), expected)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "div"])
def test_an_integer_zero_divides_nothing(name: str) -> None:
    a, b = cygrad.arange(4), cygrad.tensor([1, 0, 1, 2])
    arguments = {"rounding_mode": "trunc"} if name == "div" else {}
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(cygrad, name)(a, b, **arguments)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(a, name + "_")(b, **arguments)
    assert a.tolist() == [0, 1, 2, 3]
    assert getattr(cygrad, name)(a[:0], cygrad.tensor([0]), **arguments).shape == (0,)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_where_a_number_is_rounded_to_float16(name: str) -> None:
    # a factor or divisor is used in single precision, a summand is rounded first
    a = RNG.normal(size=300).astype(np.float16)
    for number in (0.1, 3.3333, 1e-3):
        expected = getattr(torch, name)(torch.from_numpy(a), number).numpy()
        np.testing.assert_array_equal(getattr(cygrad, name)(cygrad.from_numpy(a), number).numpy(), expected)


def test_selection_reads_both_sides_and_keeps_their_bytes() -> None:
    for dtype in ("bool", "int16", "float32", "float64", "complex128"):
        a, b = ((RNG.normal(size=(40, 9)) * 3).astype(dtype) for _ in range(2))
        mask = RNG.random((40, 9)) < 0.5
        for m in (mask, mask[:1], np.asfortranarray(mask)):
            got = cygrad.where(cygrad.from_numpy(m.copy(order="K")), cygrad.from_numpy(a), cygrad.from_numpy(b))
            np.testing.assert_array_equal(got.numpy(), np.where(m, a, b))
        filled = cygrad.from_numpy(a).masked_fill(cygrad.from_numpy(mask), 1)
        np.testing.assert_array_equal(filled.numpy(), np.where(mask, np.array(1, dtype), a))
