# Copies of whole tensors: pickle, copy.copy, copy.deepcopy; and UntypedStorage, the memory itself.
#
# A graph belongs to its process and to its tensors: copies are leaves. pickle stores values, so tensors that shared memory do not share it after
# loading; deepcopy keeps the sharing among what it copies, as torch does.

import copy

from cygrad._core.tensor import _install_methods

from libc.string cimport memcpy
from cygrad._core.array cimport Array, array_decref, array_from_storage, array_incref
from cygrad._core.device cimport device_object
from cygrad._core.dtypes cimport ITEMSIZE
from cygrad._core.errors cimport raise_pending
from cygrad._core.grad_mode cimport inference_used, thread_modes, MODE_INFERENCE
from cygrad._core.kernels.copy cimport clone
from cygrad._core.memory cimport Storage, storage_decref, storage_incref, storage_new
from cygrad._core.ndarray cimport array_from_ndarray, ndarray_from_array
from cygrad._core.tensor cimport Tensor, array_replace, grad_of, is_leaf, needs_grad, tensor_alias, tensor_wrap

__all__ = ["UntypedStorage"]     # its functions become methods of Tensor


cdef class UntypedStorage:
    """The memory that a tensor and its views share, as bytes. Made by ``Tensor.untyped_storage()``."""

    cdef Storage* storage

    def __init__(self):
        raise TypeError("cygrad.UntypedStorage: storages are made by Tensor.untyped_storage()")

    def __dealloc__(self):
        storage_decref(self.storage)

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return <size_t>self.storage.data

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.storage.nbytes

    def size(self) -> int:
        """The number of bytes."""
        return self.storage.nbytes

    def __len__(self) -> int:
        return self.storage.nbytes

    @property
    def device(self) -> object:
        """Where the memory lies."""
        return device_object(self.storage.device)

    @property
    def _cdata(self) -> int:
        """The identity of the storage: equal for tensors that share memory."""
        return <size_t>self.storage

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        return list((<const unsigned char*>self.storage.data)[:self.storage.nbytes])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return self.storage == (<UntypedStorage>other).storage

    def __hash__(self) -> int:
        return <Py_ssize_t>(<size_t>self.storage >> 4)

    def __repr__(self) -> str:
        return f"[cygrad.UntypedStorage(device={device_object(self.storage.device)}) of size {self.storage.nbytes}]"


cdef UntypedStorage storage_object(Storage* s):
    cdef UntypedStorage result = UntypedStorage.__new__(UntypedStorage)
    storage_incref(s)
    result.storage = s
    return result


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory of this tensor, shared with its views: ``data_ptr()``, ``nbytes()``."""
    return storage_object(self.a.storage)


cdef Tensor of_class(object cls, Array* a):
    # Steals the reference.
    cdef Tensor t
    if cls is Tensor:
        return tensor_wrap(a)
    try:
        t = cls.__new__(cls)
    except:
        array_decref(a)
        raise
    array_replace(t, a)
    return t


def _rebuild_tensor(cls: type[Tensor], array: object, requires_grad: bool, attributes: dict[str, object] | None) -> Tensor:
    """A tensor with memory of its own from what ``Tensor.__reduce_ex__`` stored."""
    cdef Array* shared = array_from_ndarray(array, "_rebuild_tensor")
    cdef Array* a = clone(shared)
    cdef Tensor t
    array_decref(shared)
    if a == NULL:
        raise_pending()
    t = of_class(cls, a)
    t.requires_grad_ = requires_grad
    if attributes:
        (<object>t).__dict__.update(attributes)
    return t


def reduce_ex(self: Tensor, protocol: int) -> tuple[object, ...]:
    """What pickle stores: values, shape, dtype, ``requires_grad`` and attributes. What comes back is a leaf."""
    attributes = (<object>self).__dict__
    return (_rebuild_tensor, (type(self), ndarray_from_array(self.a), needs_grad(self), dict(attributes) if attributes else None))


cdef UntypedStorage storage_copy(Storage* s, dict memo):
    cdef object key = ("cygrad storage", <size_t>s)
    cdef object found = memo.get(key)
    cdef Storage* fresh
    if found is None:
        fresh = storage_new(s.nbytes)
        if fresh == NULL:
            raise_pending()
        memcpy(fresh.data, s.data, s.nbytes)
        if inference_used and thread_modes() & MODE_INFERENCE:
            fresh.inference = 1
        found = memo[key] = storage_object(fresh)
        storage_decref(fresh)
    return <UntypedStorage>found


def deepcopy(self: Tensor, memo: dict[object, object]) -> Tensor:
    """A copy with memory of its own; views of one memory that are copied together share it again. RuntimeError for tensors that are no leaves."""
    cdef UntypedStorage fresh
    cdef Array* a = self.a
    cdef Array* copied
    cdef Tensor t
    if not is_leaf(self):
        raise RuntimeError("cygrad.Tensor: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment; "
                           "copy tensor.detach() instead, or tensor.detach().requires_grad_()")
    found = memo.get(id(self))
    if found is not None:
        return found
    fresh = storage_copy(a.storage, memo)
    copied = array_from_storage(fresh.storage, a.dtype, fresh.storage.data + (a.data - a.storage.data), a.ndim, a.shape, a.strides)
    if copied == NULL:
        raise_pending()
    t = of_class(type(self), copied)
    t.requires_grad_ = self.requires_grad_
    memo[id(self)] = t
    grad = grad_of(self)
    if grad is not None:
        (<object>t).grad = copy.deepcopy(grad, memo)
    attributes = (<object>self).__dict__
    if attributes:
        (<object>t).__dict__.update(copy.deepcopy(attributes, memo))
    return t


def shallow_copy(self: Tensor) -> Tensor:
    """What ``copy.copy`` gives: a leaf over the same memory, with the same ``requires_grad`` and attributes."""
    cdef Tensor t = tensor_alias(self)
    cdef Tensor result = t if type(self) is Tensor else of_class(type(self), array_incref(t.a))
    result.requires_grad_ = self.requires_grad_
    attributes = (<object>self).__dict__
    if attributes:
        (<object>result).__dict__.update(attributes)
    return result


cdef dict methods = {"untyped_storage": untyped_storage, "__reduce_ex__": reduce_ex, "__deepcopy__": deepcopy, "__copy__": shallow_copy}
for _name, _method in methods.items():
    _method.__name__ = _name
    _method.__qualname__ = "Tensor." + _name
_install_methods(methods)
