# copy_, fill_, zero_. Contract: writes.pxd.

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memset
from cygrad._core.array cimport (
    array_decref, array_incref, array_zeros, same_shape, shape_text, WRAPPED)
from cygrad._core.atomics cimport unlikely
from cygrad._core.dtypes cimport is_complex_code, dtype_object
from cygrad._core.errors cimport raise_pending
from cygrad._core.forward cimport boxed, forward_on, forward_open, tangent_of, tangent_write
from cygrad._core.grad_mode cimport grad_enabled
from cygrad._core.kernels.copy cimport copy_into, fill as fill_array
from cygrad._core.node cimport node_new, node_register
from cygrad._core.inplace cimport inplace_check_recorded, inplace_check_graph, inplace_history, overlap_check, overlap_check_self, version_bump
from cygrad._core.recording cimport edge_set, history_set
from cygrad._core.tensor cimport tensor_wrap, needs_grad, as_operand
from cygrad._core.tensor import _install_methods

__all__: list[str] = []

cdef NodeType NT_copy, NT_fill, NT_fill_tensor, NT_zero


cdef Tensor zeros_like_array(Array* a):
    return tensor_wrap(array_zeros(a.dtype, a.ndim, a.shape))


# ---- VJPs: the old value of self gets nothing, the source what arrives ------------------------------------------------

cdef int apply_copy(NodeState* s, Array** gin, Array** gout, uint64_t need) noexcept nogil:
    if gin[0] == NULL:
        return 0
    if need & 1:
        gout[0] = array_zeros(gin[0].dtype, gin[0].ndim, gin[0].shape)
        if gout[0] == NULL:
            return -1
    if need & 2:
        gout[1] = array_incref(gin[0])       # summed to the source's shape and cast by the edge
    return 0


cdef list recorded_copy(NodeState* s, list grads, uint64_t need):
    cdef Tensor grad = grads[0]
    if grad is None:
        return [None] * s.n_edges
    return [zeros_like_array(grad.a) if need & 1 else None, grad if need & 2 else None][:s.n_edges]


cdef int apply_zeros(NodeState* s, Array** gin, Array** gout, uint64_t need) noexcept nogil:
    cdef int k
    if gin[0] == NULL:
        return 0
    for k in range(s.n_edges):
        if need >> k & 1:
            gout[k] = array_zeros(gin[0].dtype, gin[0].ndim, gin[0].shape)
            if gout[k] == NULL:
                return -1
    return 0


cdef list recorded_zeros(NodeState* s, list grads, uint64_t need):
    cdef Tensor grad = grads[0]
    return [zeros_like_array(grad.a) if grad is not None and need >> k & 1 else None for k in range(s.n_edges)]


# ---- operations -------------------------------------------------------------------------------------------------------

cdef int write_check(Tensor self, Tensor source, const char* operation) except -1:
    cdef char have[200]
    cdef char want[200]
    cdef int i, k
    cdef bint fits = source.a.ndim <= self.a.ndim
    inplace_check_recorded(self, grad_enabled() and (needs_grad(self) or needs_grad(source)), operation)
    overlap_check(self, source, False, operation)
    if fits:
        for i in range(source.a.ndim):
            k = self.a.ndim - source.a.ndim + i
            if source.a.shape[i] != 1 and source.a.shape[i] != self.a.shape[k]:
                fits = False
    if not fits:
        shape_text(have, sizeof(have), source.a.ndim, source.a.shape)
        shape_text(want, sizeof(want), self.a.ndim, self.a.shape)
        raise RuntimeError(f"cygrad: {operation.decode()}: a value of shape {have.decode()} cannot be written: The expanded size of the tensor must match "
                           f"the existing size {want.decode()} at every non-singleton dimension")
    return 0


cdef Tensor copy_(Tensor self, Tensor source):
    cdef Node n = None
    cdef int status
    write_check(self, source, b"copy_")
    if grad_enabled() and (needs_grad(self) or needs_grad(source)):
        n = node_new(&NT_copy, 2)
        edge_set(n, 0, self, NULL)
        edge_set(n, 1, source, self.a)
    if self.a.numel > 32768:
        with nogil:
            status = copy_into(self.a, source.a)
    else:
        status = copy_into(self.a, source.a)
    if status != 0:
        raise_pending()
    version_bump(self, b"copy_")
    if n is not None:
        inplace_history(self, n)
    if unlikely(forward_open) and forward_on() and (boxed(self) or boxed(source)):
        tangent_write(self, tangent_of(source))
    return self


cdef Tensor fill_(Tensor self, Tensor value, bint as_tensor=False):
    cdef Node n = None
    cdef bint number = value.a.flags & WRAPPED != 0 and not as_tensor
    if value.a.ndim != 0:
        raise RuntimeError(f"cygrad: fill_ only supports 0-dimension value tensor but got tensor with {value.a.ndim} dimensions")
    if value.a.flags & WRAPPED and is_complex_code(value.a.dtype) and not is_complex_code(self.a.dtype):
        raise RuntimeError(f"cygrad: fill_: value cannot be converted to type {dtype_object(self.a.dtype).name} without overflow: it is complex")
    inplace_check_graph(self, grad_enabled() and (needs_grad(self) or needs_grad(value)), b"fill_")
    if not number:
        overlap_check_self(self, b"fill_")
    if grad_enabled() and (needs_grad(self) or needs_grad(value)):
        n = node_new(&NT_fill if number else &NT_fill_tensor, 1 if number else 2)
        edge_set(n, 0, self, NULL)
        if not number:
            edge_set(n, 1, value, self.a)
    if fill_array(self.a, value.a) != 0:
        raise_pending()
    version_bump(self, b"fill_")
    if n is not None:
        inplace_history(self, n)
    if unlikely(forward_open) and forward_on() and (boxed(self) or boxed(value)):
        tangent_write(self, tangent_of(value))
    return self


cdef Tensor zero_(Tensor self):
    cdef Node n = None
    cdef Array* zero
    cdef int status
    inplace_check_graph(self, grad_enabled() and needs_grad(self), b"zero_")
    if grad_enabled() and needs_grad(self):
        n = node_new(&NT_zero, 1)
        edge_set(n, 0, self, NULL)
    zero = array_zeros(self.a.dtype, 0, NULL)
    if zero == NULL:
        raise_pending()
    status = fill_array(self.a, zero)
    array_decref(zero)
    if status != 0:
        raise_pending()
    version_bump(self, b"zero_")
    if n is not None:
        inplace_history(self, n)
    if unlikely(forward_open) and forward_on() and boxed(self):
        tangent_write(self, None)
    return self


# ---- methods ----------------------------------------------------------------------------------------------------------

def copy_method(Tensor self not None, src: Tensor | complex, non_blocking: bool = False) -> Tensor:
    """Copy the elements of ``src`` into this tensor, broadcast to its shape and cast to its dtype.

    RuntimeError where ``src`` does not broadcast to this shape, or where writing in place is refused.
    """
    return copy_(self, as_operand(src, b"copy_"))


def fill_method(Tensor self not None, value: Tensor | complex) -> Tensor:
    """Set every element to ``value``, a number or a 0-d tensor. RuntimeError where writing in place is refused."""
    return fill_(self, as_operand(value, b"fill_"))


def zero_method(Tensor self not None) -> Tensor:
    """Set every element to zero. RuntimeError where writing in place is refused."""
    return zero_(self)


cdef int set_type(NodeType* t, const char* name, bint sources) except -1:
    memset(t, 0, sizeof(NodeType))
    t.name = name
    t.n_outputs = 1
    t.apply = apply_copy if sources else apply_zeros
    t.recorded = recorded_copy if sources else recorded_zeros
    return node_register(t)

set_type(&NT_copy, b"CopyBackwards", True)
set_type(&NT_fill, b"FillBackward2", False)
set_type(&NT_fill_tensor, b"FillBackward3", True)
set_type(&NT_zero, b"ZeroBackward0", False)
_install_methods({"copy_": copy_method, "fill_": fill_method, "zero_": zero_method})
