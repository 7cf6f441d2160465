# AccumulateGrad: adds what arrives at a leaf to its .grad. Contract: accumulate.pxd.

from cygrad._core.array cimport array_decref, array_dense, array_incref, array_unshared, array_empty, array_empty_like, same_shape, CONTIGUOUS
from cygrad._core.atomics cimport atomic_add, atomic_load, atomic_store_ptr, unlikely
from cygrad._core.dtypes cimport ITEMSIZE
from cygrad._core.errors cimport fail, raise_pending, ERR_RUNTIME
from cygrad._core.grad_mode cimport grad_enabled, inference_used, thread_modes, MODE_INFERENCE
from cygrad._core.kernels.copy cimport cast, copy_into
from cygrad._core.kernels.ufuncs cimport binary, UF_ADD
from cygrad._core.memory cimport VersionCounter, process_trylock, process_unlock
from cygrad._core.recorded_ops cimport recorded_ops
from cygrad._core.tensor cimport ANY_DTYPE, grad_of, grad_swap, gradient_code, tensor_wrap
from cygrad._core.writes cimport copy_

cdef extern from "<sched.h>" nogil:
    int sched_yield()

cdef extern from *:
    """
    static inline int cg_is_none(void *p) { return p == (void *)Py_None || p == 0; }
    """
    bint is_none "cg_is_none"(void*) noexcept nogil


cdef const char* MOVED = (
    b"cygrad: AccumulateGrad: leaf variable has been moved into the graph interior: it was written in place after it was used as a leaf, so that its gradient "
    b"belongs to a value which is gone; write to a clone()")


cdef const char* INFERENCE = (
    b"cygrad: AccumulateGrad: Inplace update to inference tensor outside InferenceMode is not allowed: the .grad of a leaf was made in inference mode; set .grad "
    b"to None first, or to a clone() of it")


cdef inline void take(int* grad_lock) noexcept nogil:
    while not process_trylock(grad_lock):
        sched_yield()


cdef inline bint can_keep(Array* grad, Array* leaf) noexcept nogil:
    # Nobody else uses this memory, all of it is the gradient, and it lies as the leaf does: it becomes .grad as it is.
    return (array_unshared(grad) and grad.data == grad.storage.data and grad.storage.nbytes == <size_t>(grad.numel * ITEMSIZE[grad.dtype])
            and (leaf.flags & CONTIGUOUS != 0 or not same_shape(leaf, grad)))


cdef inline void mark_made(Array* made) noexcept nogil:
    # What a backward in inference mode makes is an inference tensor.
    if unlikely(inference_used) and thread_modes() & MODE_INFERENCE:
        made.storage.inference = 1


cdef inline bint may_write(Array* held) noexcept nogil:
    return not unlikely(inference_used) or not held.storage.inference or thread_modes() & MODE_INFERENCE != 0


cdef Array* like_leaf(Array* leaf, Array* grad) noexcept nogil:
    # Uninitialised memory for a copy of the gradient.
    if same_shape(leaf, grad) and array_dense(leaf):
        return array_empty_like(leaf, grad.dtype)
    return array_empty(grad.dtype, grad.ndim, grad.shape)       # a leaf with gaps; or it was given other data since forward


cdef bint writable(Array* target, Array* grad) noexcept nogil:
    cdef int i
    if target.storage.read_only or not same_shape(target, grad):
        return False
    for i in range(target.ndim):
        if target.strides[i] == 0 and target.shape[i] > 1:
            return False
    return True


cdef int accumulate_array(NodeState* s, Array* grad) noexcept nogil:
    cdef void* held
    cdef Array* target
    cdef Array* owner
    cdef VersionCounter* version
    cdef Array* done = NULL
    cdef Array* kept
    cdef int code
    cdef int status = 0
    if not (<Tensor>s.payload).requires_grad_:       # switched off since the graph was recorded
        array_decref(grad)
        return 0
    if not is_none(<void*>(<Tensor>s.payload).grad_fn_):
        array_decref(grad)
        return fail(ERR_RUNTIME, MOVED)
    if unlikely((<Tensor>s.payload).grad_dtype_ != 0):       # which may be newer than the graph
        code = gradient_code((<Tensor>s.payload).grad_dtype_, (<Tensor>s.payload).a.dtype)
        if code >= 0:
            kept = cast(grad, code)
            array_decref(grad)
            grad = kept
            if grad == NULL:
                return -1
    take(&(<Tensor>s.payload).grad_lock)
    held = <void*>(<Tensor>s.payload).grad_obj
    target = (<Tensor>s.payload).grad_array
    if target != NULL and not may_write(target):
        status = fail(ERR_RUNTIME, INFERENCE)
    elif target != NULL:
        done = binary(UF_ADD, target, grad, target)
        status = 0 if done != NULL else -1
        array_decref(done)
    elif not is_none(held):
        take(&(<Tensor>held).grad_lock)                  # guards its `a` and the version that goes with it
        target = array_incref((<Tensor>held).a)
        owner = array_incref((<Tensor>held).own_version)
        version = (<Tensor>held).version
        process_unlock(&(<Tensor>held).grad_lock)
        if not may_write(target):
            status = fail(ERR_RUNTIME, INFERENCE)
        elif not writable(target, grad):
            status = fail(ERR_RUNTIME, "cygrad: AccumulateGrad: the .grad of a leaf cannot take the new gradient: its memory is read-only, its shape differs, or "
                          "more than one element of the written-to tensor refers to a single memory location; set .grad to None first")
        else:
            done = binary(UF_ADD, target, grad, target)
            status = 0 if done != NULL else -1
            array_decref(done)
            version.writer = "AccumulateGrad"
            atomic_add(&version.value, 1)
        array_decref(target)
        array_decref(owner)
    elif can_keep(grad, (<Tensor>s.payload).a):
        mark_made(grad)
        atomic_store_ptr(<void**>&(<Tensor>s.payload).grad_array, grad)       # grad_of looks without the lock
        grad = NULL
    else:
        kept = like_leaf((<Tensor>s.payload).a, grad)
        if kept == NULL or copy_into(kept, grad) != 0:
            array_decref(kept)
            status = -1
        else:
            mark_made(kept)
            atomic_store_ptr(<void**>&(<Tensor>s.payload).grad_array, kept)       # grad_of looks without the lock
    process_unlock(&(<Tensor>s.payload).grad_lock)
    array_decref(grad)
    return status


cdef Tensor recorded_copy(Tensor leaf, Tensor grad):
    # As torch does it: a copy into the leaf's layout where that is dense, a clone where it is not.
    cdef Tensor made
    if not grad.requires_grad_ or array_dense(leaf.a) or not same_shape(leaf.a, grad.a):
        return copy_(tensor_wrap(like_leaf(leaf.a, grad.a)), grad)
    made = recorded_ops.clone(grad)
    return made


cdef int accumulate_tensor(NodeState* s, Tensor grad) except -1:
    cdef Tensor leaf = <Tensor>s.payload
    cdef Tensor held, result
    cdef Array* array
    cdef long version
    cdef int status
    if not leaf.requires_grad_:
        return 0
    if leaf.grad_fn_ is not None:
        raise RuntimeError(MOVED.decode())
    if not grad_enabled():
        array = array_incref(grad.a)         # Python code may hold `grad`: with this second reference its memory is not taken over
        with nogil:
            status = accumulate_array(s, array)
        if status != 0:
            raise_pending()
        return 0
    if leaf.grad_dtype_ != 0 and gradient_code(leaf.grad_dtype_, leaf.a.dtype) not in (ANY_DTYPE, grad.a.dtype):
        grad = recorded_ops.cast(grad, gradient_code(leaf.grad_dtype_, leaf.a.dtype))
    while True:                              # again, if another thread added to .grad meanwhile
        held = grad_of(leaf)
        if held is None:
            version = 0
            result = recorded_copy(leaf, grad)
        else:
            version = atomic_load(&held.version.value)
            result = recorded_ops.add(held, grad)
        if grad_swap(leaf, held, version, result):
            return 0
