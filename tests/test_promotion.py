"""Dtype promotion of every pair of dtypes and kinds of operand, against the oracle.

Why it exists: a Python number or a 0-d tensor must not widen a tensor, and which pairs do is a table nobody can keep in
their head.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from support import assert_agrees, dtype_name, outcome, refusal_difference

import cygrad

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
KINDS = ("tensor", "0-d tensor")
SCALARS: dict[str, bool | int | float | complex] = {"bool": True, "int": 2, "float": 1.5, "complex": 1.5 + 1j}


def operand(m: ModuleType, kind: str, dtype: str) -> object:
    """Ones of this dtype, with one dimension or none."""
    return m.ones((2,) if kind == "tensor" else (), dtype=getattr(m, dtype))


def add(m: ModuleType, a: object, b: object) -> object:
    return m.add(a, b)


def div(m: ModuleType, a: object, b: object) -> object:
    return m.div(a, b)


def less(m: ModuleType, a: object, b: object) -> object:
    return m.eq(a, b)


def where(m: ModuleType, a: object, b: object) -> object:
    return m.where(m.tensor([True, False]), a, b)


def power(m: ModuleType, a: object, b: object) -> object:
    return m.pow(a, b)


def maximum(m: ModuleType, a: object, b: object) -> object:
    return m.maximum(a, b)


def floor_divide(m: ModuleType, a: object, b: object) -> object:
    return m.floor_divide(a, b)


def result_type(m: ModuleType, a: object, b: object) -> object:
    return m.result_type(a, b)


def concatenate(m: ModuleType, a: object, b: object) -> object:
    return m.cat([a, b])


BINARY = {call.__name__: call for call in (add, div, less, where, power, maximum, floor_divide, result_type)}
Binary = Callable[[ModuleType, object, object], object]


def compare(call: Callable[[ModuleType], object], label: str, failures: list[str]) -> None:
    """Compares dtype and values, or the refusals; complex32, which cygrad has not, is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle, ours = outcome(lambda: call(torch)), outcome(lambda: call(cygrad))
    if oracle.ok and "complex32" in (dtype_name(oracle.value), dtype_name(getattr(oracle.value, "dtype", ""))):
        return
    if not oracle.ok and "not implemented for" in str(oracle.error):
        return
    if oracle.ok and ours.ok:
        kinds = [dtype_name(getattr(result.value, "dtype", result.value)) for result in (ours, oracle)]
        found = None if kinds[0] == kinds[1] else f"{kinds[0]} instead of {kinds[1]}"
    else:
        found = refusal_difference(ours, oracle)
    if found:
        failures.append(f"{label}: {found}")


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_two_tensors(name: str, left: str) -> None:
    call = BINARY[name]
    failures: list[str] = []
    for right in DTYPES:
        for kind_left in KINDS:
            for kind_right in KINDS:
                compare(
                    lambda m: call(m, operand(m, kind_left, left), operand(m, kind_right, right)),  # noqa: B023
                    f"{kind_left} {left}, {kind_right} {right}",
                    failures,
                )
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in BINARY if name != "maximum"])
def test_tensor_and_scalar(name: str, dtype: str) -> None:
    call = BINARY[name]
    failures: list[str] = []
    for word, number in SCALARS.items():
        for kind in KINDS:
            label = f"{kind} {dtype}, {word}"
            compare(lambda m: call(m, operand(m, kind, dtype), number), label, failures)  # noqa: B023
    assert not failures, "\n".join(failures)


INFIX = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sign", INFIX)
def test_scalar_before_operator(sign: str, dtype: str) -> None:
    call = INFIX[sign]
    failures: list[str] = []
    for word, number in SCALARS.items():
        compare(lambda m: call(number, operand(m, "tensor", dtype)), f"{word} {sign} {dtype}", failures)  # noqa: B023
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("left", DTYPES)
def test_cat(left: str) -> None:
    failures: list[str] = []
    for right in DTYPES:
        compare(
            lambda m: concatenate(m, operand(m, "tensor", left), operand(m, "tensor", right)),  # noqa: B023
            f"{left}, {right}",
            failures,
        )
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("left", DTYPES)
def test_can_cast_and_promote_types(left: str) -> None:
    for right in DTYPES:
        assert_agrees(lambda m: m.can_cast(getattr(m, left), getattr(m, right)))  # noqa: B023
        assert_agrees(lambda m: m.promote_types(getattr(m, left), getattr(m, right)))  # noqa: B023


@pytest.mark.parametrize("default", ["float64", "float32", "float16"])
def test_default_dtype_decides_what_integers_become(default: str) -> None:
    def results(m: ModuleType) -> object:
        m.set_default_dtype(getattr(m, default))
        ints = m.tensor([1, 2])
        return [
            m.tensor([1.0]).dtype,
            (ints / 2).dtype,
            (ints + 1.5).dtype,
            (ints + 1j).dtype,
            m.sin(ints).dtype,
            m.zeros(1).dtype,
        ]

    if default == "float16":  # 1j would be complex32 in the oracle
        results_16 = [
            lambda m: m.tensor([1.0]).dtype,
            lambda m: (m.tensor([1, 2]) / 2).dtype,
            lambda m: (m.tensor([1, 2]) + 1.5).dtype,
        ]
        for m in (cygrad, torch):
            m.set_default_dtype(m.float16)
        for call in results_16:
            assert_agrees(call)
    else:
        assert_agrees(results)


def test_a_scalar_does_not_widen() -> None:
    half = cygrad.ones(2, dtype=cygrad.float16)
    assert (half + 1e10).dtype is cygrad.float16
    assert (half + cygrad.tensor(1.0, dtype=cygrad.float64)).dtype is cygrad.float16
    assert (cygrad.ones(2, dtype=cygrad.int8) + 2**40).dtype is cygrad.int8
    assert (cygrad.ones(2, dtype=cygrad.int8) + cygrad.tensor(1.5)).dtype is cygrad.float32


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_finfo(dtype: str) -> None:
    for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert_agrees(lambda m: getattr(m.finfo(getattr(m, dtype)), name))  # noqa: B023


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo(dtype: str) -> None:
    for name in ("bits", "max", "min", "dtype"):
        assert_agrees(lambda m: getattr(m.iinfo(getattr(m, dtype)), name))  # noqa: B023


def test_finfo_and_iinfo_refuse_the_other_kind() -> None:
    with pytest.raises(TypeError, match="finfo"):
        cygrad.finfo(cygrad.int64)
    with pytest.raises(TypeError, match="iinfo"):
        cygrad.iinfo(cygrad.float32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_attributes(dtype: str) -> None:
    for name in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert_agrees(lambda m: getattr(getattr(m, dtype), name))  # noqa: B023
    assert repr(getattr(cygrad, dtype)) == f"cygrad.{dtype}"
