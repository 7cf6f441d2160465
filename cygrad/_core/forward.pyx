# Tangents of tensors. Contract: forward.pxd.

from cpython.object cimport PyObject
from cygrad._core.array cimport IntList, array_decref, array_view, array_zeros, same_shape, CONTIGUOUS
from cygrad._core.atomics cimport likely
from cygrad._core.dtypes cimport ITEMSIZE, dtype_object, is_complex_code, is_integral_code
from cygrad._core.errors cimport raise_pending
from cygrad._core.forward_level cimport forward_hooks, tangent_box, untracked
from cygrad._core.grad_mode cimport set_thread_modes
from cygrad._core.node cimport Node
from cygrad._core.node_hooks cimport NodeHooks, hooks_at
from cygrad._core.recorded_ops cimport recorded_ops
from cygrad._core.tensor cimport tensor_alias, tensor_wrap


# ---- reading ----------------------------------------------------------------------------------------------------------

cdef bint any_boxed(list tensors) noexcept:
    for t in tensors:
        if boxed(<Tensor>t):
            return True
    return False


cdef inline Tensor held(Tensor t):
    return None if t.tangent_ is None else <Tensor>(<Tangent>t.tangent_).value


cdef Tensor tangent_of(Tensor t):
    cdef Tensor found
    if t is None:
        return None
    if t.tangent_ is not None:
        found = held(t)
        if found is not None or t.tangent_ is untracked:
            return found
    if t.base_ is not None and held(<Tensor>t.base_) is not None:
        t.tangent_ = tangent_box(view_again(t, <Tensor>t.base_))
        return held(t)
    return None


cdef Tensor view_again(Tensor view, Tensor base):
    # The part of the base's tangent that `view` shows of the base. Both tangents lie in memory as their tensors do.
    cdef Tensor tangent = held(base)
    cdef IntList sizes, strides
    cdef Py_ssize_t item = ITEMSIZE[view.a.dtype]
    cdef Py_ssize_t offset = view.a.data - base.a.data
    cdef int i
    cdef int modes = forward_pause()
    try:
        if view.a.dtype != base.a.dtype:
            from cygrad.views import part_of
            if is_complex_code(view.a.dtype) == is_complex_code(base.a.dtype):
                raise RuntimeError(f"cygrad: a view of dtype {dtype_object(view.a.dtype)} of a tensor of dtype {dtype_object(base.a.dtype)} has no tangent: "
                                   "derivatives do not pass between these dtypes")
            return part_of(tangent, is_complex_code(view.a.dtype), view.shape, view.stride(), offset // item)
        sizes.n = strides.n = view.a.ndim
        for i in range(view.a.ndim):
            sizes.v[i] = view.a.shape[i]
            strides.v[i] = view.a.strides[i] // item
        return recorded_ops.as_strided(tangent, &sizes, &strides, (offset + (tangent.a.data - tangent.a.storage.data)) // item)
    finally:
        set_thread_modes(modes)


cdef int forward_pause() noexcept:
    cdef int modes = thread_modes()
    set_thread_modes(modes | MODE_PRIMAL)
    return modes


cdef list tangents_of(list tensors):
    cdef list out = [tangent_of(t) for t in tensors]
    cdef Py_ssize_t i
    cdef Tensor t
    for i in range(len(out)):
        if out[i] is not None:
            break
    else:
        return None
    for i in range(len(out)):
        if out[i] is None:
            t = tensors[i]
            out[i] = tensor_wrap(array_zeros(t.a.dtype, t.a.ndim, t.a.shape))
    return out


# ---- putting together -------------------------------------------------------------------------------------------------

cdef Tensor tangent_add(Tensor sum, Tensor term):
    if sum is None:
        return term
    if term is None:
        return sum
    return recorded_ops.add(sum, term)


cdef Tensor tangent_fresh(Tensor tangent, Tensor source):
    if tangent is None or source is None or tangent.a.storage != source.a.storage:
        return tangent
    return recorded_ops.clone(tangent)


cdef bint same_layout(Array* a, Array* b) noexcept:
    # The same strides at the same place of memory of the same length: any view of one is the same view of the other (as_strided looks beyond the tensor).
    cdef int i
    if a.numel == 0:
        return True
    if a.storage.nbytes != b.storage.nbytes or a.data - a.storage.data != b.data - b.storage.data:
        return False
    if a.flags & b.flags & CONTIGUOUS:
        return True
    for i in range(a.ndim):
        if a.shape[i] != 1 and a.strides[i] != b.strides[i]:
            return False
    return True


cdef Tensor zeros_in_layout(Array* a):
    # Zeros with the strides of `a`, in memory of the same length.
    cdef Py_ssize_t length = a.storage.nbytes // ITEMSIZE[a.dtype]
    cdef Array* memory
    cdef Array* seen
    if a.flags & CONTIGUOUS and a.numel == length:
        return tensor_wrap(array_zeros(a.dtype, a.ndim, a.shape))
    memory = array_zeros(a.dtype, 1, &length)
    if memory == NULL:
        raise_pending()
    seen = array_view(memory, a.dtype, memory.data + (a.data - a.storage.data), a.ndim, a.shape, a.strides)
    array_decref(memory)
    return tensor_wrap(seen)


cdef Tensor fit(Tensor result, Tensor tangent):
    # As the result is: dtype, shape, strides.
    cdef IntList sizes
    cdef int i
    if tangent.a.dtype != result.a.dtype:
        tangent = recorded_ops.cast(tangent, result.a.dtype)
    if not same_shape(tangent.a, result.a):
        sizes.n = result.a.ndim
        for i in range(sizes.n):
            sizes.v[i] = result.a.shape[i]
        tangent = recorded_ops.expand(tangent, &sizes, False)
    if same_layout(tangent.a, result.a):
        return tangent
    if result.a.flags & CONTIGUOUS and result.a.storage.nbytes == <size_t>(result.a.numel * ITEMSIZE[result.a.dtype]):
        return recorded_ops.clone(tangent) if tangent.a.flags & CONTIGUOUS else recorded_ops.contiguous(tangent)
    return recorded_ops.copy_(zeros_in_layout(result.a), tangent)


# ---- giving -----------------------------------------------------------------------------------------------------------

cdef int share(Tensor result) except -1:
    # Where the result was saved by the very Node that made it, its tangent belongs there, too.
    cdef Node n = result.grad_fn_
    cdef int k
    if n is None:
        return 0
    for k in range(n.s.type.n_saved):
        if n.s.saved[k].edge == -2 and n.s.saved[k].output_nr == result.output_nr_:
            keep(n, k, result.tangent_)
    return 0


cdef int give(Tensor t, Tensor tangent) except -1:
    if not forward_open:
        return 0                 # the level was left meanwhile, by a jvp or another thread
    t.tangent_ = tangent_box(tangent)
    return share(t)


cdef int tangent_set(Tensor result, Tensor tangent) except -1:
    cdef int modes
    if tangent is None or is_integral_code(result.a.dtype):
        return 0
    modes = forward_pause()
    try:
        tangent = fit(result, tangent)
    finally:
        set_thread_modes(modes)
    return give(result, tangent)


cdef int tangents_set(list results, list tangents) except -1:
    cdef Py_ssize_t i
    if tangents is not None:
        for i in range(len(results)):
            tangent_set(<Tensor>results[i], <Tensor>tangents[i])
    return 0


cdef int tangent_set_view(Tensor view, Tensor source, Tensor tangent) except -1:
    if tangent is not None:
        if view.a.dtype == tangent.a.dtype:
            give(view, tangent)
    elif source.tangent_ is untracked:
        view.tangent_ = untracked
    return 0


cdef int tangents_set_views(list views, Tensor source, list tangents) except -1:
    cdef Py_ssize_t i
    for i in range(len(views)):
        tangent_set_view(<Tensor>views[i], source, None if tangents is None else <Tensor>tangents[i])
    return 0


# ---- writes -----------------------------------------------------------------------------------------------------------

cdef Tensor written_old(Tensor t):
    return recorded_ops.clone(t)


cdef Tensor once(Tensor t, Array* like):
    # Of the dims along which `like` shows one element many times, the first place: memory that is written once.
    cdef IntList sizes, strides
    cdef Py_ssize_t item = ITEMSIZE[t.a.dtype]
    cdef bint repeated = False
    cdef int i
    sizes.n = strides.n = t.a.ndim
    for i in range(t.a.ndim):
        strides.v[i] = t.a.strides[i] // item
        sizes.v[i] = t.a.shape[i]
        if like.strides[i] == 0 and like.shape[i] > 1:
            repeated = True
            sizes.v[i] = 1
    return recorded_ops.as_strided(t, &sizes, &strides, (t.a.data - t.a.storage.data) // item) if repeated else t


cdef int tangent_write(Tensor written, Tensor tangent) except -1:
    cdef Tensor own, base, found
    cdef int modes
    if is_integral_code(written.a.dtype):
        return 0
    own = tangent_of(written)
    if own is None and tangent is None:
        return 0
    modes = forward_pause()
    try:
        if own is None and written.base_ is not None and written.tangent_ is not untracked:
            base = <Tensor>written.base_
            give(base, zeros_in_layout(base.a))
            own = tangent_of(written)
        if own is None:
            found = fit(written, tangent)
            if found is tangent:
                found = recorded_ops.clone(found)        # it may be that of the tensor whose value was written
        else:
            if tangent is None:
                tangent = tensor_wrap(array_zeros(own.a.dtype, 0, NULL))
            elif same_shape(tangent.a, own.a):
                tangent = once(tangent, own.a)
            recorded_ops.copy_(once(own, own.a), tangent)
    finally:
        set_thread_modes(modes)
    if own is None:
        give(written, found)
    return 0


cdef int forward_refuse(const char* operation) except -1:
    raise NotImplementedError(f"cygrad: Trying to use forward AD with {operation.decode()} that does not support it: it has no derivative. detach() its inputs if no "
                              "tangent is wanted")


# ---- tensors saved with a Node ----------------------------------------------------------------------------------------

cdef int keep(Node n, int slot, object box) except -1:
    cdef NodeHooks hooks = hooks_at(&n.s.pre_hooks)
    if hooks.tangents is None:
        hooks.tangents = {}
    hooks.tangents[slot] = box
    return 0


cdef int save(object node, int slot, object tensor) except -1:
    if forward_on() and boxed(<Tensor>tensor) and tangent_of(<Tensor>tensor) is not None:
        keep(<Node>node, slot, (<Tensor>tensor).tangent_)
    return 0


cdef int unpack(object node, int slot, object tensor) except -1:
    cdef PyObject* place = (<Node>node).s.pre_hooks
    if place != NULL and (<NodeHooks>place).tangents is not None and (<Tensor>tensor).tangent_ is None:
        (<Tensor>tensor).tangent_ = (<NodeHooks>place).tangents.get(slot)
    return 0


cdef int copy(object copied, object tensor) except -1:
    cdef Tensor tangent
    cdef int modes
    if forward_on() and boxed(<Tensor>tensor):
        tangent = tangent_of(<Tensor>tensor)
        if tangent is not None:
            modes = forward_pause()
            try:
                tangent = recorded_ops.clone(tangent)
            finally:
                set_thread_modes(modes)
            tangent_set(<Tensor>copied, tangent)
    return 0


forward_hooks.save = save
forward_hooks.unpack = unpack
forward_hooks.copy = copy


# ---- for cygrad.autograd.forward_ad -----------------------------------------------------------------------------------

def _tangent(tensor: Tensor, /) -> Tensor | None:
    """The tangent of a tensor, or None."""
    return tangent_of(<Tensor>tensor) if forward_on() else None


def _tangent_give(dual: Tensor, primal: Tensor, tangent: Tensor, /) -> None:
    """Give ``dual``, a new view of ``primal``, its tangent.

    RuntimeError where the primal or the tangent has a tangent already, or their shapes differ.
    """
    cdef Tensor d = dual
    cdef Tensor t = tangent
    if tangent_of(<Tensor>primal) is not None:
        raise RuntimeError("cygrad: make_dual: Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported. "
                           "Take the primal of unpack_dual()")
    if tangent_of(t) is not None:
        raise RuntimeError("cygrad: make_dual: Setting a forward grad that itself has a forward gradient at the same level 0 is not supported. "
                           "Take the primal of unpack_dual()")
    if not same_shape(d.a, t.a):
        raise RuntimeError(f"cygrad: make_dual: Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
                           f"Tensor is of size {list(d.shape)} while the given forward gradient is of size {list(t.shape)}.")
    tangent_set(d, t)


def _tangent_untrack(primal: Tensor, /) -> None:
    """The view that unpack_dual gives: it does not follow its base's tangent."""
    (<Tensor>primal).tangent_ = untracked


def _detached(tensor: Tensor, /) -> Tensor:
    """``tensor.detach()`` that keeps the tangent: a cotangent."""
    cdef Tensor alias = tensor_alias(<Tensor>tensor)
    if forward_on() and boxed(<Tensor>tensor) and tangent_of(<Tensor>tensor) is not None:
        alias.tangent_ = (<Tensor>tensor).tangent_
    return alias
