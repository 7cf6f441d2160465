"""The tensor as an object: shape, conversion, Python's protocols, NumPy, DLPack, pickling and copies.

Why it exists: this is what user code touches between two operations; each behaviour is compared with the oracle.
"""

from __future__ import annotations

import copy
import io
import operator
import pickle
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from support import assert_agrees, assert_same_refusal, let, node_name

import cygrad

Call = Callable[[ModuleType], object]


def matrix(m: ModuleType) -> cygrad.Tensor:
    """[[0, 1, 2], [3, 4, 5]] in float64."""
    made: cygrad.Tensor = m.from_numpy(np.arange(6.0).reshape(2, 3))
    return made


FACTS: dict[str, Call] = {
    "shape": lambda m: tuple(matrix(m).shape),
    "size": lambda m: tuple(matrix(m).size()),
    "size of a dim": lambda m: matrix(m).size(-1),
    "stride": lambda m: matrix(m).stride(),
    "stride of a dim": lambda m: matrix(m).stride(0),
    "dim": lambda m: [matrix(m).dim(), matrix(m).ndim, matrix(m).ndimension()],
    "numel": lambda m: [matrix(m).numel(), matrix(m).nelement(), matrix(m).shape.numel()],
    "element_size": lambda m: [matrix(m).element_size(), matrix(m).itemsize, matrix(m).nbytes],
    "storage_offset": lambda m: matrix(m)[1:, 1:].storage_offset(),
    "is_contiguous in a memory format": lambda m: [
        x.is_contiguous(memory_format=getattr(m, name))
        for x in (
            matrix(m),
            m.zeros(2, 3, 4, 5),
            m.zeros(2, 3, 4, 5).contiguous(memory_format=m.channels_last),
            m.zeros(2, 4, 5, 3).permute(0, 3, 1, 2),
            m.zeros(2, 3, 1, 1),
            m.zeros(2, 3, 2, 2, 2).clone(memory_format=m.channels_last_3d),
        )
        for name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
    ],
    "is_contiguous": lambda m: [
        matrix(m).is_contiguous(),
        matrix(m).t().is_contiguous(),
        matrix(m)[:, :2].is_contiguous(),
    ],
    "is_floating_point": lambda m: [matrix(m).is_floating_point(), m.arange(2).is_floating_point()],
    "is_complex": lambda m: [matrix(m).is_complex(), m.zeros(1, dtype=m.complex64).is_complex()],
    "is_signed": lambda m: [matrix(m).is_signed(), m.zeros(1, dtype=m.uint8).is_signed()],
    "device": lambda m: [matrix(m).device.type, str(matrix(m).device)],
    "is_cuda": lambda m: matrix(m).is_cuda,
    "item": lambda m: m.tensor(2.5).item(),
    "item of int": lambda m: m.tensor([[3]]).item(),
    "item of bool": lambda m: m.tensor(True).item(),
    "item of complex": lambda m: m.tensor(1 + 2j).item(),
    "tolist": lambda m: matrix(m).tolist(),
    "tolist 0-d": lambda m: m.tensor(4).tolist(),
    "tolist empty": lambda m: m.zeros(0, 2).tolist(),
    "tolist transposed": lambda m: matrix(m).t().tolist(),
    "len": lambda m: len(matrix(m)),
    "iteration": lambda m: [row.tolist() for row in matrix(m)],
    "unpacking": lambda m: [part.item() for part in m.tensor([1.0, 2.0])],
    "reversed": lambda m: matrix(m).flip(0).tolist(),
    "contains": lambda m: [2.0 in matrix(m), 9.0 in matrix(m), m.tensor(3.0) in matrix(m)],
    "bool": lambda m: [bool(m.tensor(1.0)), bool(m.tensor([0])), bool(m.tensor([[True]]))],
    "int": lambda m: int(m.tensor(2.9)),
    "float": lambda m: float(m.tensor([2])),
    "complex number": lambda m: complex(m.tensor(1 + 2j)),
    "index": lambda m: [10, 20, 30][m.tensor(2)],
    "range of tensor": lambda m: list(range(m.tensor(3))),
    "format": lambda m: f"{m.tensor(2.5):.2f}",
    "format of int": lambda m: f"{m.tensor(7):03d}",
    "comparison": lambda m: (matrix(m) > 2).tolist(),
    "chained comparison": lambda m: bool(m.tensor(1) < m.tensor(2)),
    "equality with None": lambda m: m.tensor(1.0) == None,  # noqa: E711
    "inequality with None": lambda m: m.tensor(1.0) != None,  # noqa: E711
    "equality with text": lambda m: m.tensor(1.0) == "a",
    "Size addition": lambda m: tuple(operator.add(matrix(m).shape, (1,))),
    "Size slice": lambda m: [tuple(matrix(m).shape[:1]), isinstance(matrix(m).shape[:1], m.Size)],
    "Size equality": lambda m: matrix(m).shape == (2, 3),
    "Size repr": lambda m: repr(matrix(m).shape).rpartition(".")[2],
    "element of Size": lambda m: type(matrix(m).shape[0]) is int,
    "hash differs": lambda m: hash(matrix(m)) == hash(matrix(m)),
    "as dict key": lambda m: let(lambda x: {x: 1}[x], matrix(m)),
    "is_same_size": lambda m: m.is_tensor(matrix(m)),
    "view of same memory": lambda m: let(lambda x: x.data_ptr() == x.view(6).data_ptr(), matrix(m)),
    "data_ptr of slice": lambda m: let(lambda x: x[1].data_ptr() - x.data_ptr(), matrix(m)),
    "contiguous is self": lambda m: let(lambda x: x.contiguous() is x, matrix(m)),
    "contiguous copies": lambda m: matrix(m).t().contiguous().stride(),
    "clone keeps strides": lambda m: matrix(m).t().clone().stride(),
    "clone is apart": lambda m: let(lambda x: x.clone().data_ptr() == x.data_ptr(), matrix(m)),
    "detach shares": lambda m: let(lambda x: x.detach().data_ptr() == x.data_ptr(), matrix(m)),
    "to the same dtype": lambda m: let(lambda x: x.to(m.float64) is x, matrix(m)),
    "to copy": lambda m: let(lambda x: x.to(m.float64, copy=True) is x, matrix(m)),
    "to other": lambda m: matrix(m).to(m.zeros(1, dtype=m.int32)),
    "to device": lambda m: matrix(m).to("cpu"),
    "to device and dtype": lambda m: matrix(m).to("cpu", m.float32),
    "cpu": lambda m: let(lambda x: x.cpu() is x, matrix(m)),
    "type_as": lambda m: matrix(m).type_as(m.zeros(1, dtype=m.int64)),
    "numpy": lambda m: matrix(m).numpy().tolist(),
    "numpy dtype": lambda m: [
        str(m.zeros(1, dtype=getattr(m, name)).numpy().dtype) for name in ("bool", "int16", "float16", "complex64")
    ],
    "numpy strides": lambda m: list(matrix(m).t().numpy().strides),
    "array protocol": lambda m: np.asarray(matrix(m)).tolist(),
    "array protocol with dtype": lambda m: str(np.asarray(matrix(m), dtype=np.float32).dtype),
    "NumPy function": lambda m: float(np.sum(matrix(m).numpy())),
    "real numbers are real": lambda m: m.is_tensor(m.real(matrix(m))),
    "matrix in list": lambda m: [matrix(m)][0].shape[1],
}


@pytest.mark.parametrize("name", FACTS)
def test_agrees(name: str) -> None:
    assert_agrees(FACTS[name])


@pytest.mark.parametrize(
    "method", ["bool", "byte", "char", "short", "int", "long", "half", "float", "double", "cfloat", "cdouble"]
)
def test_conversions(method: str) -> None:
    for values in ([0.0, 1.9, 2.5], [0, 1, 2], [True, False]):
        assert_agrees(lambda m: getattr(m.tensor(values), method)())  # noqa: B023
        assert_agrees(lambda m: m.tensor(values).to(getattr(m.tensor(values), method)().dtype))  # noqa: B023


@pytest.mark.parametrize("method", ["half", "float", "double"])
def test_conversions_carry_gradients(method: str) -> None:
    def gradient(m: ModuleType) -> object:
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = getattr(x, method)()
        (y * 3).sum().backward()
        return [x.grad, y.dtype, node_name(y)]

    assert_agrees(gradient)


REFUSED: dict[str, Call] = {
    "item of many": lambda m: matrix(m).item(),
    "item of none": lambda m: m.zeros(0).item(),
    "bool of many": lambda m: bool(matrix(m)),
    "bool of none": lambda m: bool(m.zeros(0)),
    "int of many": lambda m: int(matrix(m)),
    "float of complex": lambda m: float(m.tensor(1 + 1j)),
    "index of float": lambda m: [1, 2][m.tensor(1.0)],
    "index of many": lambda m: operator.index(m.tensor([1, 2])),
    "len of 0-d": lambda m: len(m.tensor(1.0)),
    "iteration of 0-d": lambda m: list(m.tensor(1.0)),
    "contains text": lambda m: "a" in matrix(m),
    "numpy of requires_grad": lambda m: m.ones(2, requires_grad=True).numpy(),
    "array of requires_grad": lambda m: np.asarray(m.ones(2, requires_grad=True)),
    "format of many": lambda m: f"{matrix(m):.2f}",
    "size of missing dim": lambda m: matrix(m).size(2),
    "stride of missing dim": lambda m: matrix(m).stride(5),
    "to nonsense": lambda m: matrix(m).to("nowhere"),
    "to a list": lambda m: operator.methodcaller("to", [1.5])(matrix(m)),
    "addition of text": lambda m: operator.add(matrix(m), "a"),
    "addition of None": lambda m: operator.add(matrix(m), None),
    "addition of list": lambda m: operator.add(matrix(m), [1.0, 2.0, 3.0]),
    "multiplication of dict": lambda m: operator.mul(matrix(m), {}),
    "less than None": lambda m: operator.methodcaller("lt", None)(matrix(m)),
    "missing attribute": lambda m: operator.methodcaller("no_such_method")(matrix(m)),
    "delete item": lambda m: operator.methodcaller("__delitem__", 0)(matrix(m)),
    "deepcopy of non-leaf": lambda m: copy.deepcopy(m.ones(2, requires_grad=True) * 2),
    "set shape": lambda m: setattr(matrix(m), "shape", (3, 2, 9)),
    "set grad_fn": lambda m: setattr(matrix(m), "grad_fn", 3),
    "set grad to number": lambda m: setattr(m.ones(2, requires_grad=True), "grad", 1.0),
    "set grad of wrong shape": lambda m: setattr(m.ones(2, requires_grad=True), "grad", m.ones(3)),
    "set grad of wrong dtype": lambda m: setattr(m.ones(2, requires_grad=True), "grad", m.ones(2, dtype=m.float64)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    assert_same_refusal(REFUSED[name])


def test_deepcopy_of_a_leaf() -> None:
    def copied(m: ModuleType) -> object:
        x = m.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        y = copy.deepcopy(x)
        memo = copy.deepcopy([x, x])
        return [y, y.requires_grad, y.is_leaf, y.grad, y.data_ptr() == x.data_ptr(), memo[0] is memo[1]]

    assert_agrees(copied)


def test_shallow_copy_shares_memory() -> None:
    x = cygrad.tensor([1.0, 2.0])
    assert copy.copy(x).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    tensors = [
        cygrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
        cygrad.arange(3),
        cygrad.tensor(1 + 2j),
        cygrad.zeros(0, 2),
        cygrad.arange(6.0).reshape(2, 3).t(),
        cygrad.tensor([True, False]),
    ]
    buffer = io.BytesIO()
    pickle.dump(tensors, buffer, protocol)
    loaded = pickle.loads(buffer.getvalue())
    for before, after in zip(tensors, loaded, strict=True):
        assert after.tolist() == before.tolist()
        assert (after.dtype, after.shape, after.requires_grad) == (before.dtype, before.shape, before.requires_grad)


def test_pickled_dtypes_are_the_same_objects() -> None:
    for dtype in (cygrad.float32, cygrad.int64, cygrad.bool, cygrad.complex128):
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert copy.deepcopy(dtype) is dtype


NUMBERS: dict[str, np.float64 | np.float32 | np.int64 | np.bool_] = {
    "float64": np.float64(2.0),
    "float32": np.float32(2.0),
    "int64": np.int64(2),
    "bool": np.bool_(True),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("sign", ["+", "-", "*", "/"])
def test_numpy_numbers_in_both_orders(sign: str, kind: str) -> None:
    call = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign]
    if kind == "bool" and sign == "-":
        kind = "float32"  # subtraction of booleans is refused
    number = NUMBERS[kind]
    t = cygrad.tensor([1.0, 4.0], requires_grad=True)
    for result in (call(number, t), call(t, number)):
        assert type(result) is cygrad.Tensor
        assert result.dtype is cygrad.float32
        assert result.requires_grad
    swapped = call(number, t)
    assert np.allclose(swapped.detach().numpy(), call(float(number), np.array([1.0, 4.0])))


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "@", "**", "=="])
def test_arrays_in_both_orders(sign: str) -> None:
    call = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "@": operator.matmul,
        "**": operator.pow,
        "==": operator.eq,
    }[sign]
    array = np.array([1.0, 2.0])
    t = cygrad.tensor([3.0, 4.0], dtype=cygrad.float64, requires_grad=True)
    left, right = call(array, t), call(t, array)
    assert type(left) is cygrad.Tensor and type(right) is cygrad.Tensor
    assert left.requires_grad == right.requires_grad == (sign != "==")
    plain = np.array([3.0, 4.0])
    assert np.allclose(left.detach().numpy(), call(array, plain))
    assert np.allclose(right.detach().numpy(), call(plain, array))


def test_dlpack_both_ways() -> None:
    t = cygrad.arange(6.0).reshape(2, 3)
    array = np.from_dlpack(t)
    assert array.tolist() == t.tolist()
    back = cygrad.from_dlpack(np.arange(4, dtype=np.int32))
    assert back.tolist() == [0, 1, 2, 3]
    assert back.dtype is cygrad.int32
    assert t.__dlpack_device__()[0] == 1
    shared = cygrad.from_dlpack(t)
    assert shared.data_ptr() == t.data_ptr()


def test_dlpack_refuses_what_requires_grad() -> None:
    def exported(m: ModuleType) -> object:
        return m.ones(2, requires_grad=True).__dlpack__()

    assert_same_refusal(exported)


def test_data_is_an_alias_with_a_version_of_its_own() -> None:
    def facts(m: ModuleType) -> object:
        x = m.tensor([1.0, 2.0], requires_grad=True)
        return [
            x.data.requires_grad,
            x.data.is_leaf,
            x.data.data_ptr() == x.data_ptr(),
            x.data._version,
            x.detach()._version,
        ]

    assert_agrees(facts)


def test_indexing_returns_what_iteration_does() -> None:
    x = cygrad.arange(6.0).reshape(2, 3)
    for number, row in enumerate(x):
        assert row.tolist() == x[number].tolist()
        assert row.data_ptr() == x[number].data_ptr()
