# AccumulateGrad: adds what arrives at a leaf to its .grad. Contract: accumulate.pxd.

from cygrad._core.array cimport array_decref, array_unshared, same_shape
from cygrad._core.atomics cimport spin_trylock, spin_unlock, atomic_add
from cygrad._core.dtypes cimport ITEMSIZE
from cygrad._core.errors cimport fail, raise_pending, ERR_RUNTIME
from cygrad._core.grad_mode cimport grad_enabled
from cygrad._core.kernels.copy cimport clone
from cygrad._core.kernels.ufuncs cimport binary, UF_ADD
from cygrad._core.recorded_ops cimport recorded_ops
from cygrad._core.tensor cimport grad_of, tensor_wrap

cdef extern from "<sched.h>" nogil:
    int sched_yield()


cdef bint accumulate_needs_gil(NodeState* s) noexcept nogil:
    cdef bint graph = False
    take(s)
    if (<Tensor>s.payload).grad_obj is not None:
        graph = (<Tensor>(<void*>(<Tensor>s.payload).grad_obj)).requires_grad_
    spin_unlock(&(<Tensor>s.payload).grad_lock)
    return graph


cdef inline void take(NodeState* s) noexcept nogil:
    while not spin_trylock(&(<Tensor>s.payload).grad_lock):
        sched_yield()


cdef inline bint can_keep(Array* grad) noexcept nogil:
    # Nobody else uses this memory and all of it is the gradient: it becomes .grad as it is.
    return array_unshared(grad) and grad.data == grad.storage.data and grad.storage.nbytes == <size_t>(grad.numel * ITEMSIZE[grad.dtype])


cdef int accumulate_array(NodeState* s, Array* grad) noexcept nogil:
    cdef Array* kept = grad
    cdef Array* target
    cdef Array* done
    cdef void* held
    if not (<Tensor>s.payload).requires_grad_:       # switched off since the graph was recorded
        array_decref(grad)
        return 0
    if not can_keep(grad):
        kept = NULL
    take(s)
    if not (<Tensor>s.payload).requires_grad_:
        spin_unlock(&(<Tensor>s.payload).grad_lock)
        array_decref(grad)
        return 0                 # it was switched off since the graph was recorded
    held = <void*>(<Tensor>s.payload).grad_obj
    target = (<Tensor>s.payload).grad_array
    if target == NULL and not is_none(held):
        target = (<Tensor>held).a
        if target.storage.read_only or not same_shape(target, grad):
            spin_unlock(&(<Tensor>s.payload).grad_lock)
            array_decref(grad)
            return fail(ERR_RUNTIME, "cygrad: AccumulateGrad: the .grad of a leaf cannot take the new gradient: its memory is read-only or its shape differs; set .grad to None first")
        (<Tensor>held).version.writer = "AccumulateGrad"
        atomic_add(&(<Tensor>held).version.value, 1)
    if target != NULL:
        done = binary(UF_ADD, target, grad, target)
        spin_unlock(&(<Tensor>s.payload).grad_lock)
        array_decref(grad)
        array_decref(done)
        return 0 if done != NULL else -1
    if kept == NULL:
        kept = clone(grad)
        array_decref(grad)
        if kept == NULL:
            spin_unlock(&(<Tensor>s.payload).grad_lock)
            return -1
    (<Tensor>s.payload).grad_array = kept
    spin_unlock(&(<Tensor>s.payload).grad_lock)
    return 0


cdef extern from *:
    """
    static inline int cg_is_none(void *p) { return p == (void *)Py_None || p == 0; }
    """
    bint is_none "cg_is_none"(void*) noexcept nogil


cdef int accumulate_tensor(NodeState* s, Tensor grad) except -1:
    cdef Tensor leaf = <Tensor>s.payload
    cdef Tensor held
    if not leaf.requires_grad_:
        return 0
    held = grad_of(leaf)
    if held is None:
        if grad_enabled():
            leaf.grad = recorded_ops.clone(grad)
        else:
            leaf.grad = tensor_wrap(clone(grad.a))       # Python code may hold `grad`: its memory is not taken over
    elif grad_enabled() or held.requires_grad_ or held.a.storage.read_only:
        leaf.grad = recorded_ops.add(held, grad)
    else:
        if binary(UF_ADD, held.a, grad.a, held.a) == NULL:
            raise_pending()
        array_decref(held.a)
        held.version.writer = "AccumulateGrad"
        atomic_add(&held.version.value, 1)
    return 0
