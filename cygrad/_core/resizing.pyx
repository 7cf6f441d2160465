# resize_, resize_as_, set_: a tensor gets other memory, or sees more or less of its own.
#
# Why by hand: no gradient passes through them, so they are refused where the graph would break; and no kernel is run.

from libc.string cimport memcpy
from cygrad._core.array cimport Array, array_empty, array_view, has_sizes
from cygrad._core.atomics cimport atomic_load
from cygrad._core.dtypes cimport ITEMSIZE
from cygrad._core.forward cimport forward_open, tangent_of
from cygrad._core.sizes cimport parse_size
from cygrad._core.inplace cimport inplace_check_graph, version_bump
from cygrad._core.tensor cimport Tensor, array_replace, needs_grad, tensor_wrap
from cygrad._core.tensor import _install_methods


cdef Tensor resized(Tensor self, int ndim, const Py_ssize_t* sizes, const char* operation):
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t step = ITEMSIZE[self.a.dtype], count = 1
    cdef long version = atomic_load(&self.version.value)
    cdef Array* a
    cdef int i
    if needs_grad(self):
        raise RuntimeError(f"cygrad: {operation.decode()}: cannot resize variables that require grad; work on a detach() or use reshape() or torch.nn.functional.pad")
    if forward_open and tangent_of(self) is not None:
        raise RuntimeError(f"cygrad: {operation.decode()}: cannot resize variables that has a forward grad; work on the primal of unpack_dual() or use reshape()")
    inplace_check_graph(self, False, operation)
    if has_sizes(self.a, ndim, sizes):
        return self                          # nothing is written, and a tensor that is not contiguous stays so
    for i in range(ndim - 1, -1, -1):
        strides[i] = step
        step *= sizes[i] if sizes[i] > 1 else 1
        count *= sizes[i]
    if self.a.data + count * ITEMSIZE[self.a.dtype] <= self.a.storage.data + self.a.storage.nbytes:
        a = array_view(self.a, self.a.dtype, self.a.data, ndim, sizes, strides)
    elif self.a.storage.owner != NULL or self.a.storage.shown:
        raise RuntimeError(f"cygrad: {operation.decode()}: Trying to resize storage that is not resizable: an ndarray or another library sees the memory; work on a clone()")
    else:
        # Memory cannot grow where it is: tensors that share it keep the old one. What was there before is copied, the rest is undefined, as in torch.
        a = array_empty(self.a.dtype, ndim, sizes)
        if a != NULL:
            memcpy(a.data, self.a.data, self.a.storage.data + self.a.storage.nbytes - self.a.data)
    array_replace(self, a)
    self.version.value = version
    version_bump(self, operation)
    return self


def resize_(Tensor self not None, *size: int, memory_format: object = None) -> Tensor:
    """See this tensor's memory, from its first element on, as contiguous with other sizes, in place.

    Where the memory is too small the tensor gets new memory, with the old values first and undefined ones after them; tensors that share the old memory
    keep it. RuntimeError for tensors that require grad.
    """
    cdef Py_ssize_t sizes[64]
    cdef int n = parse_size(size, None, b"resize_", sizes)
    return resized(self, n, sizes, b"resize_")


def resize_as_(Tensor self not None, Tensor the_template not None, memory_format: object = None) -> Tensor:
    """``resize_`` to the sizes of ``the_template``."""
    return resized(self, the_template.a.ndim, the_template.a.shape, b"resize_as_")


def set_(Tensor self not None, Tensor source = None) -> Tensor:
    """Let this tensor show the memory of ``source`` (without it: none at all), in place. RuntimeError for tensors that require grad and for other dtypes."""
    cdef Py_ssize_t nothing = 0
    if needs_grad(self) or (source is not None and needs_grad(source)):
        raise RuntimeError("cygrad: set_: a tensor that requires grad cannot get other memory, or that of one that requires grad: gradients would be those of other "
                           "values; under no_grad() use .data")
    if source is not None and source.a.dtype != self.a.dtype:
        raise RuntimeError(f"cygrad: set_: Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
    if source is None:
        source = tensor_wrap(array_empty(self.a.dtype, 1, &nothing))
    self.data = source
    version_bump(self, b"set_")
    return self


_install_methods({"resize_": resize_, "resize_as_": resize_as_, "set_": set_})
