# Writing in place. Contract: inplace.pxd. What a write to a view does to the graph is in rebase.pyx, through `mutation` of tensor.pxd.

from cygrad._core.array cimport Array, array_dense
from cygrad._core.atomics cimport atomic_add, atomic_load, likely, unlikely
from cygrad._core.dtypes cimport ITEMSIZE, is_integral_code
from cygrad._core.grad_mode cimport grad_enabled, thread_modes, MODE_INFERENCE
from cygrad._core.node cimport FLAG_PYTHON, node_track, payload_of
from cygrad._core.node_hooks cimport watchers, watched, WATCH_WRITING
from cygrad._core.recording cimport output_note
from cygrad._core.tensor cimport graph_shape_drop, is_leaf, mutation, needs_grad, view_follows


cdef int inplace_check(Tensor t, const char* operation) except -1:
    return inplace_check_recorded(t, needs_grad(t) and grad_enabled(), operation)


cdef int inplace_check_recorded(Tensor t, bint recorded, const char* operation) except -1:
    inplace_check_graph(t, recorded, operation)
    return overlap_check_self(t, operation)


cdef bint expanded(Array* a) noexcept:
    cdef int i
    for i in range(a.ndim):
        if unlikely(a.strides[i] == 0 and a.shape[i] > 1):
            return not array_dense(a)          # dense: no elements
    return False


cdef int overlap_warn(Tensor t, const char* operation) except -1:
    if unlikely(expanded(t.a)):
        from cygrad._warnings import warn
        warn(f"cygrad: Use of {operation.decode()} on expanded tensors is deprecated: more than one element of the written-to tensor refers to a single memory "
                      "location. Please clone() the tensor before performing this operation.", UserWarning)
    return 0


cdef int overlap_check_self(Tensor t, const char* operation) except -1:
    if unlikely(expanded(t.a)):
        raise RuntimeError(f"cygrad: {operation.decode()}: unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                           "Please clone() the tensor before performing the operation.")
    return 0


cdef int inplace_check_graph(Tensor t, bint recorded, const char* operation) except -1:
    if unlikely(t.a.storage.inference) and not thread_modes() & MODE_INFERENCE:
        raise RuntimeError(f"cygrad: {operation.decode()}: Inplace update to inference tensor outside InferenceMode is not allowed: nothing notices a write to it. "
                           "Write to a clone() of it, or inside inference_mode().")
    if unlikely(watchers.threads) and watched() & WATCH_WRITING:
        watchers.write(t)
    if unlikely(t.a.storage.read_only):
        raise RuntimeError(f"cygrad: {operation.decode()}: the memory of this tensor is read-only (it came from an array that is not writeable); work on a clone()")
    if recorded:
        if t.base_ is not None:
            if unlikely(not view_follows(t.view_kind)):
                from cygrad.views import refuse_write
                refuse_write(t, operation.decode())
            if unlikely(is_leaf(<Tensor>t.base_) and needs_grad(t)):
                raise RuntimeError(f"cygrad: {operation.decode()}: a view of a leaf Variable that requires grad is being used in an in-place operation; "
                                   "do it under no_grad(), or on a clone()")
        # As in torch this holds for a view, too, that was made before its base came to require grad and has not been asked for its grad_fn since.
        if unlikely(is_leaf(t) and needs_grad(t)):
            raise RuntimeError(f"cygrad: {operation.decode()}: a leaf Variable that requires grad is being used in an in-place operation; do it under no_grad(), or on a clone()")
    return 0


cdef int overlap_check(Tensor t, Tensor other, bint whole, const char* operation) except -1:
    cdef Array* a = t.a
    cdef Array* b = other.a
    cdef char* a_end
    cdef char* b_end
    if t is other:
        if not whole:
            return 0
    elif likely(a.storage != b.storage or a.numel == 0 or b.numel == 0) or not (array_dense(a) and array_dense(b)):
        return 0
    elif a.data == b.data and a.numel == b.numel and same_strides(a, b):
        if not whole:
            return 0
    else:
        a_end = a.data + a.numel * ITEMSIZE[a.dtype]
        b_end = b.data + b.numel * ITEMSIZE[b.dtype]
        if a.data >= b_end or b.data >= a_end:
            return 0
    raise RuntimeError(f"cygrad: {operation.decode()}: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                       "location. Please clone() the input before the operation.")


cdef bint same_strides(Array* a, Array* b) noexcept:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.strides[i] != b.strides[i]:
            return False
    return True


cdef int version_bump(Tensor t, const char* operation) except -1:
    t.version.writer = operation
    atomic_add(&t.version.value, 1)
    return 0


cdef int inplace_history(Tensor t, Node n) except -1:
    if unlikely(is_integral_code(t.a.dtype)):
        return 0                 # a float was written into integers: outside of the graph
    if t.base_ is not None:
        return mutation.rebase_written(t, n)
    return grad_fn_move(t, n)


cdef int inplace_saved(Tensor t, Node n) except -1:
    # A pack hook has come in between: the CopySlices, which applies n by itself, needs the GIL for that as n does.
    cdef Node slices
    if unlikely(n.s.flags & FLAG_PYTHON and t.base_ is not None):
        slices = (<Tensor>t.base_).grad_fn_
        if slices is not None and slices.s.type.release != NULL and payload_of(&slices.s) is n:
            slices.s.flags |= FLAG_PYTHON
            node_track(slices)
    return 0


cdef int grad_fn_move(Tensor t, Node n) except -1:
    # Hooks stay with the Node of the old value, retain_grad follows the tensor to its new one.
    cdef bint retains = t.retains_grad_
    if unlikely(retains):
        from cygrad._core.tensor_hooks import retain_stop
        retain_stop(t)
    t.hooks_ = None
    graph_shape_drop(t)
    t.grad_fn_ = n
    t.output_nr_ = 0
    t.requires_grad_ = True
    if t.base_ is not None:
        t.view_version = atomic_load(&t.version.value)
    if unlikely(retains):
        t.retain_grad()
    return output_note(t, n, 0)
