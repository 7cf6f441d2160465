"""Tensors beside NumPy, torch, DLPack, the buffer protocol, pickle and copy.

Why it exists: memory is shared here with code that knows nothing of versions and graphs; who keeps it alive, who may
write to it, and what is refused must hold in both directions.
"""

from __future__ import annotations

import copy
import gc
import hashlib
import operator
import pickle
import weakref
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch

import cygrad
from cygrad import Tensor
from cygrad._core.memory import live_objects
from cygrad.utils.dlpack import DLDeviceType, from_dlpack, to_dlpack

DTYPES = [
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
]
Array = npt.NDArray[np.generic]


def sample(dtype: str) -> Array:
    """Six different values of the dtype (two for bool), as a 2 x 3 array."""
    return (np.arange(6) % (2 if dtype == "bool" else 6)).reshape(2, 3).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_and_back_share_memory(dtype: str) -> None:
    source = sample(dtype)
    t = cygrad.from_numpy(source)
    back = t.numpy()
    assert str(t.dtype) == f"cygrad.{dtype}" and t.shape == source.shape
    assert back.dtype == source.dtype and back.ctypes.data == source.ctypes.data == t.data_ptr()
    back[1, 2] = 0
    assert source[1, 2] == 0 and t.tolist()[1][2] == 0


def test_memory_outlives_either_side() -> None:
    t = cygrad.ones(1000)
    array = t.numpy()
    del t
    gc.collect()
    junk = [cygrad.zeros(1000) for _ in range(20)]
    assert array.sum() == 1000
    source = np.ones(1000)
    alive = weakref.ref(source)
    shared = cygrad.from_numpy(source)
    del source, junk
    gc.collect()
    assert alive() is not None and sum(shared.tolist()) == 1000
    del shared
    gc.collect()
    assert alive() is None


def test_views_keep_foreign_memory_with_its_strides() -> None:
    source = np.arange(24.0).reshape(4, 6)
    t = cygrad.from_numpy(source[1:, ::2].T)
    assert t.stride() == (2, 6) and t.shape == (3, 3)
    assert t.tolist() == source[1:, ::2].T.tolist()
    assert np.shares_memory(t.numpy(), source)


def test_read_only_arrays_give_tensors_that_refuse_writes() -> None:
    source = np.arange(3.0)
    source.flags.writeable = False
    t = cygrad.from_numpy(source)
    with pytest.raises(RuntimeError, match="read-only"):
        t.uniform_()
    assert t._version == 0 and source.tolist() == [0, 1, 2]
    assert not t.numpy().flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        t.numpy()[0] = 1
    assert memoryview(t).readonly
    broadcast = cygrad.from_numpy(np.broadcast_to(np.float32(2), (3,)))
    with pytest.raises(RuntimeError):
        broadcast.normal_()


REFUSED_ARRAYS: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "negative stride": (lambda: np.arange(3.0)[::-1], ValueError, "negative"),
    "foreign byte order": (lambda: np.arange(3, dtype=">i4"), ValueError, "byte order"),
    "strings": (lambda: np.array(["a"]), TypeError, "supported types"),
    "objects": (lambda: np.array([object()]), TypeError, "supported types"),
    "uint16": (lambda: np.arange(3, dtype="u2"), TypeError, "supported types"),
    "long double": (lambda: np.zeros(2, dtype=np.longdouble), TypeError, "supported types"),
    "dates": (lambda: np.zeros(2, dtype="M8[s]"), TypeError, "supported types"),
    "fields": (lambda: np.zeros(3, dtype=[("a", "f4"), ("b", "u1")])["a"], ValueError, "multiple of the element"),
    "a list": (lambda: [1.0], TypeError, "expected np.ndarray"),
    "a number": (lambda: 1.0, TypeError, "expected np.ndarray"),
}


@pytest.mark.parametrize("name", REFUSED_ARRAYS)
def test_arrays_that_cannot_be_shared(name: str) -> None:
    make, error, message = REFUSED_ARRAYS[name]
    with pytest.raises(error, match=message):
        cygrad.from_numpy(make())


def test_misaligned_memory_is_copied_or_refused() -> None:
    raw = np.arange(9, dtype=np.uint8)
    misaligned = raw[1:].view(np.float32)
    with pytest.raises(ValueError, match="aligned"):
        cygrad.from_numpy(misaligned)
    assert cygrad.tensor(misaligned).tolist() == misaligned.tolist()


def test_tensors_that_require_grad_have_no_array() -> None:
    leaf = cygrad.ones(2, requires_grad=True)
    for t in (leaf, leaf.double()):
        with pytest.raises(
            RuntimeError,
            match=r"Can't call numpy\(\) on Tensor that requires grad\. Use tensor\.detach\(\)\.numpy\(\) instead",
        ):
            t.numpy()
        with pytest.raises(RuntimeError, match="Can't call numpy"):
            np.asarray(t)
        with pytest.raises(BufferError, match="detach"):
            memoryview(t)
        with pytest.raises(BufferError, match="detach"):
            t.__dlpack__()
        assert t.numpy(force=True).tolist() == [1, 1]


def test_array_protocol() -> None:
    t = cygrad.arange(3, dtype=cygrad.float32)
    shared = np.asarray(t)
    assert np.shares_memory(shared, t.numpy())
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    copied = np.array(t)
    assert not np.shares_memory(copied, shared) and copied.tolist() == [0, 1, 2]
    assert np.shares_memory(t.__array__(copy=False), shared)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        t.__array__(np.float64, copy=False)
    assert np.concatenate([t, t]).tolist() == [0, 1, 2, 0, 1, 2]


SCALARS: list[np.generic] = [np.float64(2), np.float32(2), np.int64(2), np.float16(2), np.bool_(True)]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda s: type(s).__name__)
def test_numpy_scalars_do_not_widen(scalar: np.generic) -> None:
    t = cygrad.tensor([1.0, 2.0], requires_grad=True)
    value = float(scalar.item())
    for product in (scalar * t, t * scalar):
        assert isinstance(product, Tensor) and product.dtype is cygrad.float32
        assert product.tolist() == [value, 2 * value] and product.requires_grad
        product.sum().backward()
    assert t.grad is not None and t.grad.tolist() == [2 * value, 2 * value]


BINARY: dict[str, Callable[[object, object], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}


@pytest.mark.parametrize("name", BINARY)
def test_arrays_in_both_orders_are_recorded(name: str) -> None:
    f = BINARY[name]
    array = np.array([1.5, 2.5, 3.5])
    for flip in (False, True):
        t = cygrad.tensor([1.0, 2.0, 3.0], dtype=cygrad.float64, requires_grad=True)
        oracle = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
        ours = f(array, t) if flip else f(t, array)
        expected = f(torch.from_numpy(array), oracle) if flip else f(oracle, torch.from_numpy(array))
        assert isinstance(ours, Tensor) and isinstance(expected, torch.Tensor)
        np.testing.assert_allclose(ours.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
        ours.sum().backward()
        expected.sum().backward()
        assert t.grad is not None and oracle.grad is not None
        np.testing.assert_allclose(t.grad.numpy(), oracle.grad.numpy(), rtol=1e-12)


def test_comparisons_and_reversed_arrays() -> None:
    t = cygrad.tensor([1.0, 2.0, 3.0])
    less = np.array([2.0, 2.0, 2.0]) < t
    assert isinstance(less, Tensor) and less.dtype is cygrad.bool and less.tolist() == [False, False, True]
    assert (np.float64(2) == t).tolist() == [False, True, False]
    assert (np.array([3.0, 2.0, 1.0])[::-1] * t).tolist() == [1, 4, 9]


def test_other_ufuncs_run_in_numpy() -> None:
    t = cygrad.tensor([0.25, 0.5])
    sine = np.sin(t)
    assert isinstance(sine, Tensor) and sine.dtype is cygrad.float32 and sine.grad_fn is None
    np.testing.assert_allclose(sine.numpy(), np.sin(t.numpy()))
    parts = np.modf(t)
    assert isinstance(parts, tuple) and all(isinstance(p, Tensor) for p in parts)
    assert np.add.reduce(t).item() == 0.75
    target = np.zeros(2)
    assert np.add(t, t, out=target) is target and target.tolist() == [0.5, 1.0]
    target += t
    assert type(target) is np.ndarray and target.tolist() == [0.75, 1.5]
    with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
        np.add(target, target, out=cygrad.zeros(2))
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        np.sin(cygrad.ones(2, requires_grad=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_with_numpy_and_torch(dtype: str) -> None:
    source = sample(dtype)
    t = cygrad.from_dlpack(source)
    assert t.data_ptr() == source.ctypes.data and t.tolist() == source.tolist()
    array = np.from_dlpack(t)
    assert array.ctypes.data == t.data_ptr() and array.dtype == source.dtype
    theirs = torch.from_dlpack(t)
    assert theirs.data_ptr() == t.data_ptr() and theirs.tolist() == source.tolist()
    ours = cygrad.from_dlpack(theirs)
    assert ours.data_ptr() == t.data_ptr() and ours.dtype is t.dtype and ours.stride() == theirs.stride()


def test_dlpack_of_strided_and_empty_tensors() -> None:
    source = np.arange(24.0).reshape(4, 6)
    t = cygrad.from_numpy(source[1:, ::2].T)
    assert np.from_dlpack(t).strides == source[1:, ::2].T.strides
    assert torch.from_dlpack(t).tolist() == t.tolist()
    empty = cygrad.from_dlpack(torch.zeros(2, 0))
    assert empty.shape == (2, 0)
    assert cygrad.from_dlpack(torch.tensor(2.5)).item() == 2.5
    with pytest.raises(ValueError, match="negative"):
        cygrad.from_dlpack(np.arange(3.0)[::-1])


def test_dlpack_capsules() -> None:
    t = cygrad.ones(3)
    assert t.__dlpack_device__() == (DLDeviceType.kDLCPU, 0)
    for version, name in (
        (None, '"dltensor"'),
        ((0, 8), '"dltensor"'),
        ((1, 0), '"dltensor_versioned"'),
        ((2, 1), '"dltensor_versioned"'),
    ):
        assert name in repr(t.__dlpack__(max_version=version))
    before = live_objects()
    del t
    unconsumed = cygrad.ones(3).__dlpack__()
    del unconsumed
    gc.collect()
    assert live_objects()["storages"] == before["storages"] - 1

    t = cygrad.arange(3)
    capsule = to_dlpack(t)
    first = from_dlpack(capsule)
    assert first.data_ptr() == t.data_ptr()
    with pytest.raises(RuntimeError, match="consumed only once"):
        from_dlpack(capsule)
    assert from_dlpack(t.__dlpack__(copy=True)).data_ptr() != t.data_ptr()
    assert cygrad.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    with pytest.raises(BufferError, match="device"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(AssertionError, match="stream"):
        t.__dlpack__(stream=1)
    with pytest.raises(TypeError, match="DLPack"):
        cygrad.from_dlpack([1.0])


def test_dlpack_keeps_read_only_memory_so() -> None:
    source = np.arange(3.0)
    source.flags.writeable = False
    t = cygrad.from_dlpack(source)
    with pytest.raises(RuntimeError, match="read-only"):
        t.uniform_()
    assert not np.from_dlpack(t).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__()


def test_dlpack_producers_that_misbehave() -> None:
    class Old:
        def __dlpack__(self) -> object:
            return np.arange(3.0).__dlpack__()

    class Elsewhere:
        def __dlpack__(self) -> object:
            raise AssertionError("must not be asked")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    assert cygrad.from_dlpack(Old()).tolist() == [0, 1, 2]
    assert cygrad.tensor(Old()).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="DLPack device 2:0"):
        cygrad.from_dlpack(Elsewhere())


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.startswith("complex")])
def test_buffer_protocol(dtype: str) -> None:
    t = cygrad.tensor(sample(dtype))
    view = memoryview(t)
    assert view.shape == (2, 3) and view.nbytes == t.nbytes and not view.readonly
    assert view.tobytes() == t.numpy().tobytes()
    assert np.asarray(view).dtype == t.numpy().dtype
    if dtype != "float16":
        assert view.tolist() == t.tolist()
    del t
    gc.collect()
    assert view.tobytes() == sample(dtype).tobytes()


def test_buffers_of_other_layouts() -> None:
    transposed = cygrad.from_numpy(np.arange(6.0).reshape(2, 3).T)
    assert memoryview(transposed).strides == (8, 24) and memoryview(transposed).tolist() == transposed.tolist()
    with pytest.raises(BufferError, match="contiguous"):
        hashlib.sha256(transposed)
    assert bytes(cygrad.tensor([1, 2], dtype=cygrad.uint8)) == b"\x01\x02"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    leaf = cygrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    loaded = pickle.loads(pickle.dumps(leaf, protocol))
    assert type(loaded) is Tensor and loaded.tolist() == leaf.tolist() and loaded.requires_grad and loaded.is_leaf
    for dtype in DTYPES:
        t = cygrad.tensor(sample(dtype))
        again = pickle.loads(pickle.dumps(t, protocol))
        assert again.dtype is t.dtype and again.tolist() == t.tolist() and not again.requires_grad
    view = cygrad.from_numpy(np.arange(6.0).reshape(2, 3).T)
    again = pickle.loads(pickle.dumps(view, protocol))
    assert again.tolist() == view.tolist() and again.stride() == view.stride()
    again.uniform_()
    recorded = pickle.loads(pickle.dumps(leaf * 2, protocol))
    oracle = pickle.loads(pickle.dumps(torch.tensor(leaf.tolist(), requires_grad=True) * 2, protocol))
    for result in (recorded, oracle):
        assert result.is_leaf and result.requires_grad and result.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_deepcopy() -> None:
    leaf = cygrad.tensor([1.0, 2.0], requires_grad=True)
    leaf.grad = cygrad.tensor([3.0, 4.0])
    other = copy.deepcopy(leaf)
    assert (
        other is not leaf and other.data_ptr() != leaf.data_ptr() and other.requires_grad and other.tolist() == [1, 2]
    )
    assert other.grad is not None and other.grad is not leaf.grad and other.grad.tolist() == [3, 4]
    with pytest.raises(
        RuntimeError,
        match="Only Tensors created explicitly by the user \\(graph leaves\\) support the deepcopy protocol",
    ):
        copy.deepcopy(leaf.double())
    source = np.arange(6.0)
    whole, part = cygrad.from_numpy(source), cygrad.from_numpy(source[2:])
    first, second = copy.deepcopy([whole, whole])
    assert first is second
    base = cygrad.arange(6.0)
    alias = base.detach()
    one, two = copy.deepcopy([base, alias])
    assert one.data_ptr() == two.data_ptr() != base.data_ptr()
    assert copy.deepcopy(part).tolist() == [2, 3, 4, 5]
    transposed = cygrad.from_numpy(np.arange(6.0).reshape(2, 3).T)
    assert copy.deepcopy(transposed).stride() == transposed.stride()


def test_copy_shares_memory() -> None:
    leaf = cygrad.tensor([1.0, 2.0], requires_grad=True)
    other = copy.copy(leaf)
    assert other is not leaf and other.data_ptr() == leaf.data_ptr() and other.requires_grad and other.is_leaf


def test_untyped_storage() -> None:
    t = cygrad.ones(2, 3)
    storage = t.untyped_storage()
    assert storage.nbytes() == storage.size() == len(storage) == 24
    assert storage.data_ptr() == t.data_ptr() and storage.device == cygrad.device("cpu")
    assert storage == t.detach().untyped_storage() and storage != cygrad.ones(2, 3).untyped_storage()
    assert storage.tolist() == torch.ones(2, 3).untyped_storage().tolist()
    assert (t.element_size(), t.itemsize, t.nbytes, t.nelement()) == (4, 4, 24, 6)


def test_conversions_are_recorded_and_cast_the_gradient() -> None:
    leaf = cygrad.tensor([1.0, 2.0], requires_grad=True)
    assert leaf.float() is leaf and leaf.to(cygrad.float32) is leaf and leaf.to("cpu") is leaf and leaf.cpu() is leaf
    wide = leaf.double()
    assert wide.grad_fn is not None and wide.grad_fn.name() == "ToCopyBackward0"
    wide.backward(cygrad.tensor([3.0, 4.0], dtype=cygrad.float64))
    assert leaf.grad is not None and leaf.grad.dtype is cygrad.float32 and leaf.grad.tolist() == [3, 4]
    copied = leaf.to(cygrad.float32, copy=True)
    assert copied is not leaf and copied.grad_fn is not None and copied.grad_fn.name() == "ToCopyBackward0"
    assert leaf.long().grad_fn is None and not leaf.bool().requires_grad
    z = cygrad.tensor([1.0], requires_grad=True)
    z.to(cygrad.complex64).backward(cygrad.tensor([2 + 3j]))
    assert z.grad is not None and z.grad.tolist() == [2]
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert cygrad.tensor([1 + 2j]).to(cygrad.float32).tolist() == [1]
    assert leaf.detach().type() == "cygrad.FloatTensor"
    assert leaf.detach().type("cygrad.DoubleTensor").dtype is cygrad.float64
    for bad in (3.5, "float64", [cygrad.float32]):
        with pytest.raises((TypeError, RuntimeError)):
            leaf.to(bad)
    with pytest.raises(RuntimeError, match="CUDA"):
        leaf.cuda()


def test_item_and_tolist() -> None:
    for dtype in DTYPES:
        t = cygrad.tensor(sample(dtype))
        assert t.tolist() == sample(dtype).tolist()
        assert type(cygrad.tensor(1, dtype=t.dtype).item()) is type(sample(dtype).flat[0].item())
    assert cygrad.zeros(2, 0).tolist() == [[], []] and cygrad.zeros(0, 2).tolist() == []
    assert cygrad.tensor([[2.5]]).item() == 2.5
    for wrong in (cygrad.zeros(2), cygrad.zeros(0)):
        with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
            wrong.item()
