# Writes to views: the Node CopySlices, and the grad_fn of views whose base was written. Fills the table `mutation` of tensor.pxd.
#
# Why here: a buffer filled row by row makes a CopySlices a row, forward and backward, so what such programs use (views of plain strides, operations whose VJP
# has a form without the GIL) is compiled. Everything else (views of another dtype than their base, custom Functions, recorded backwards, refusals) is in
# cygrad/copy_slices.py and cygrad/views.py, which also say what a CopySlices is and why.
#
# The Node's payload is the Node of the operation that wrote (or, under FLAG_PYTHON too, nothing else). Its one value is a list: the slots below, then sizes and
# strides of the base, and of the view, in elements.

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_DECREF
from libc.stdint cimport uint64_t
from libc.string cimport memset
from cygrad._core.array cimport Array, IntList, MAX_DIMS, array_decref, array_empty, array_incref, array_unshared, array_view, array_zeros, CONTIGUOUS
from cygrad._core.atomics cimport atomic_load, unlikely
from cygrad._core.dtypes cimport ITEMSIZE, is_complex_code
from cygrad._core.errors cimport raise_pending
from cygrad._core.generated cimport ops_shape
from cygrad._core.grad_mode cimport set_thread_modes, thread_modes, MODE_GRAD, MODE_INFERENCE
from cygrad._core.kernels.copy cimport clone, copy_into, fill
from cygrad._core.node cimport (
    Edge, Node, NodeState, NodeType, node_new, node_of, node_register, node_release_saved, node_track, payload_of, intlist_save, FLAG_PYTHON,
    FLAG_TRACKED)
from cygrad._core.operation cimport ints_sizes, ints_strides, offset_of
from cygrad._core.inplace cimport grad_fn_move
from cygrad._core.recording cimport edge_set
from cygrad._core.tensor cimport Tensor, tensor_wrap, mutation, graph_shape_drop, needs_grad, view_follows, VIEW_REPLAY

cdef extern from "Python.h":
    void decref "Py_DECREF"(PyObject*)

cdef enum:           # slots of the list
    WRITTEN          # NodeState* of the operation that wrote
    BASE_DIMS
    VIEW_DIMS
    OFFSET           # of the view from the base, in elements
    EXTENT           # elements from the first to past the last of the base
    PLAIN            # the base is contiguous
    COMPLEX          # the view is complex
    HEADER

cdef enum:
    MAX_EDGES = 64

cdef NodeType NT_copy_slices


# ---- the VJP ------------------------------------------------------------------------------------------------------------

cdef Array* like_base(const IntList* g, Array* grad) noexcept nogil:
    # The gradient in memory of its own that has the base's strides; the gradient itself where nobody else reads it.
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t extent = g.v[EXTENT]
    cdef int i, n = <int>g.v[BASE_DIMS], item = ITEMSIZE[grad.dtype]
    cdef Array* room
    cdef Array* whole
    if g.v[PLAIN] and array_unshared(grad):
        return array_incref(grad)
    if g.v[PLAIN]:
        whole = array_empty(grad.dtype, n, &g.v[HEADER])
    else:
        room = array_empty(grad.dtype, 1, &extent)
        if room == NULL:
            return NULL
        for i in range(n):
            strides[i] = g.v[HEADER + n + i] * item
        whole = array_view(room, grad.dtype, room.data, n, &g.v[HEADER], strides)
        array_decref(room)
    if whole != NULL and copy_into(whole, grad) != 0:
        array_decref(whole)
        return NULL
    return whole


cdef int apply_slices(NodeState* s, Array** gin, Array** gout, uint64_t need) noexcept nogil:
    cdef const IntList* g = s.vals[0].list
    cdef NodeState* written = <NodeState*><size_t>g.v[WRITTEN]
    cdef Array* out[64]
    cdef Array* whole
    cdef Array* part = NULL
    cdef Array* given = NULL
    cdef Array* zero
    cdef Py_ssize_t strides[64]
    cdef int i, status = -1, n = <int>g.v[VIEW_DIMS], item
    cdef const Py_ssize_t* sizes = &g.v[HEADER + 2 * g.v[BASE_DIMS]]
    if gin[0] == NULL:
        return 0
    item = ITEMSIZE[gin[0].dtype]
    for i in range(written.n_edges):
        out[i] = NULL
    whole = like_base(g, gin[0])
    if whole != NULL:
        for i in range(n):
            strides[i] = sizes[n + i] * item
        part = array_view(whole, whole.dtype, whole.data + g.v[OFFSET] * item, n, sizes, strides)
    if part != NULL:
        given = clone(part)
    if given != NULL:
        status = written.type.apply(written, &given, out, need)
    if status == 0 and need & 1:
        if out[0] == NULL:
            zero = array_zeros(whole.dtype, 0, NULL)
            status = -1 if zero == NULL else fill(part, zero)
            array_decref(zero)
        else:
            status = copy_into(part, out[0])         # also where it is `given`: a kernel may have overwritten that
    array_decref(part)
    array_decref(given)
    array_decref(out[0])
    if status == 0 and need & 1:
        gout[0] = whole
    else:
        array_decref(whole)
    for i in range(1, written.n_edges):
        if status == 0:
            gout[i] = out[i]
        else:
            array_decref(out[i])
    return status


cdef list recorded_slices(NodeState* s, list grads, uint64_t need):
    from cygrad.copy_slices import apply
    return apply(node_of(s), payload_of(s), grads, need)


cdef void release_slices(NodeState* s) noexcept nogil:
    # As in torch, a CopySlices lets go of the operation that wrote, whether or not that one saved anything.
    node_release_saved(<NodeState*><size_t>s.vals[0].list.v[WRITTEN])
    s.released = 1


cdef Node slices_node(Tensor base, Tensor view, Node written):
    cdef IntList g
    cdef IntList part
    cdef int i, k, n = written.s.n_edges if written.s.n_edges > 1 else 1
    cdef Node node = node_new(&NT_copy_slices, n)
    cdef Edge* source
    cdef Edge* target
    ints_strides(&part, view.a)
    if base.a.ndim + view.a.ndim > 28:
        raise RuntimeError(f"cygrad: a write to a view is recorded for at most 28 dimensions of base and view together, not {base.a.ndim} and {view.a.ndim}")
    g.v[WRITTEN] = <Py_ssize_t><size_t>&written.s
    g.v[BASE_DIMS] = base.a.ndim
    g.v[VIEW_DIMS] = view.a.ndim
    g.v[OFFSET] = (view.a.data - base.a.data) // ITEMSIZE[view.a.dtype]
    g.v[COMPLEX] = is_complex_code(view.a.dtype)
    g.v[EXTENT] = 1
    g.v[PLAIN] = base.a.flags & CONTIGUOUS != 0
    k = HEADER
    for i in range(base.a.ndim):
        g.v[k + i] = base.a.shape[i]
        g.v[k + base.a.ndim + i] = base.a.strides[i] // ITEMSIZE[base.a.dtype]
        g.v[EXTENT] += (base.a.shape[i] - 1) * g.v[k + base.a.ndim + i]
    if base.a.numel == 0:
        g.v[EXTENT] = 0
    k += 2 * base.a.ndim
    for i in range(view.a.ndim):
        g.v[k + i] = view.a.shape[i]
        g.v[k + view.a.ndim + i] = part.v[i]
    node.s.vals[0].list = intlist_save(g.v, k + 2 * view.a.ndim)
    if node.s.vals[0].list == NULL:
        raise_pending()
    Py_INCREF(written)
    node.s.payload = <PyObject*>written
    if written.s.type.apply == NULL or written.s.flags & FLAG_PYTHON or written.s.n_edges > MAX_EDGES or view.a.dtype != base.a.dtype:
        node.s.flags |= FLAG_PYTHON
    edge_set(node, 0, base, NULL)
    for k in range(1, n):
        source = &written.s.edges[k]
        target = &node.s.edges[k]
        target[0] = source[0]
        if source.next == NULL:
            continue
        target.shape = NULL
        Py_INCREF(node_of(source.next))
        if source.next.flags & FLAG_TRACKED:
            node_track(node)
        if source.shape != NULL:
            target.shape = intlist_save(source.shape.v, source.shape.n)
            if target.shape == NULL:
                raise_pending()
    if written.s.flags & FLAG_TRACKED or node.s.flags & FLAG_PYTHON:
        node_track(node)
    drop_first_edge(written)
    return node


cdef int drop_first_edge(Node node) except -1:
    # CopySlices applies the Node by itself: what its edge 0 keeps alive is wanted only where a saved tensor has its place in the graph there.
    cdef int k
    cdef Edge* e = &node.s.edges[0]
    cdef PyObject* following
    if node.s.n_edges == 0 or e.next == NULL:
        return 0
    for k in range(node.s.n_saved):
        if node.s.saved[k].array != NULL and node.s.saved[k].edge == 0:
            return 0
    following = e.next.object
    e.next = NULL
    decref(following)
    return 0


# ---- the table ------------------------------------------------------------------------------------------------------------

cdef int rebase_written(Tensor view, Node written) except -1:
    cdef Tensor base = <Tensor>view.base_
    cdef bint retains = view.retains_grad_
    cdef Node node
    if written.s.n_outputs != 1:
        raise RuntimeError(f"cygrad: {written.name()}: a Function that modifies inplace an input that is a view of another Tensor cannot return more "
                           "than one Tensor; return clones of the other outputs from a second Function, "
                           "or write to a tensor that is no view")
    node = slices_node(base, view, written)
    if unlikely(retains):
        retain_stop(view)
    grad_fn_move(base, node)
    if unlikely(view.view_kind == VIEW_REPLAY):
        from cygrad.views import remember_steps
        remember_steps(node, view.grad_fn_)
    # The view's own Node is made when it is asked for, which for a row that is written once is never.
    view.hooks_ = None
    graph_shape_drop(view)
    view.grad_fn_ = node
    view.output_nr_ = 0
    view.requires_grad_ = True
    view.view_version = -2 - atomic_load(&view.version.value)
    if unlikely(retains):
        view.retain_grad()
    return 0


cdef int retain_stop(Tensor t) except -1:
    from cygrad._core import tensor_hooks
    tensor_hooks.retain_stop(t)
    return 0


cdef int rebase_stale(Tensor view, long now) except -1:
    cdef Tensor base = <Tensor>view.base_
    cdef Node old = view.grad_fn_
    cdef Tensor again = None
    cdef Tensor source
    cdef int modes = thread_modes()
    cdef bint retains = view.retains_grad_
    cdef bint pending = view.view_version == -2 - now
    cdef IntList sizes, strides
    if not view_follows(view.view_kind):
        from cygrad.views import refuse_stale
        refuse_stale(view)
    source = base
    if pending or not needs_grad(base):
        # The value of the base that the view belongs to; where the base left the graph since, nothing lies behind it.
        source = tensor_wrap(array_incref(base.a))
        source.requires_grad_ = True
        if pending:
            source.grad_fn_ = old
    set_thread_modes(modes & ~MODE_INFERENCE | MODE_GRAD)
    try:
        if view.view_kind == VIEW_REPLAY:
            from cygrad.views import made_again
            again = made_again(source, old, view)
        if again is not None:
            pass
        elif view.a.dtype != base.a.dtype:
            from cygrad.views import replay
            again = replay(source, view)
        else:
            again = ops_shape.as_strided(source, ints_sizes(&sizes, view.a), ints_strides(&strides, view.a), offset_of(view.a))
    finally:
        set_thread_modes(modes)
    if unlikely(retains):
        retain_stop(view)
    view.hooks_ = None
    graph_shape_drop(view)
    view.grad_fn_ = again.grad_fn_
    view.output_nr_ = again.output_nr_
    view.requires_grad_ = True
    view.view_version = now
    if unlikely(retains):
        view.retain_grad()
    return 0


def slices_geometry(Node node not None) -> tuple[tuple[int, ...], tuple[int, ...], bool, tuple[int, ...], tuple[int, ...], int]:
    """Of a CopySlices: sizes and strides of the base; whether the view is complex, its sizes, strides, and offset from the base in its own elements."""
    cdef const IntList* g = node.s.vals[0].list
    cdef int b = <int>g.v[BASE_DIMS], v = <int>g.v[VIEW_DIMS]
    values = [g.v[i] for i in range(HEADER, g.n)]
    return tuple(values[:b]), tuple(values[b : 2 * b]), g.v[COMPLEX] != 0, tuple(values[2 * b : 2 * b + v]), tuple(values[2 * b + v :]), g.v[OFFSET]


cdef int setup() except -1:
    memset(&NT_copy_slices, 0, sizeof(NodeType))
    NT_copy_slices.name = b"CopySlices"
    NT_copy_slices.n_outputs = 1
    NT_copy_slices.n_vals = 1
    NT_copy_slices.val_names = &value_name
    NT_copy_slices.val_kinds = b"3"
    NT_copy_slices.apply = apply_slices
    NT_copy_slices.recorded = recorded_slices
    NT_copy_slices.release = release_slices
    node_register(&NT_copy_slices)
    mutation.rebase_written = rebase_written
    mutation.rebase_stale = rebase_stale
    return 0

cdef const char* value_name = b"geometry"

setup()
