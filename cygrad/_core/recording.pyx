# How a tensor gets its place in the graph. Contract: recording.pxd; Note [Views] in tensor.pxd.

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint64_t
from libc.string cimport memset
from cygrad._core.array cimport array_incref, array_decref, same_shape, WRAPPED
from cygrad._core.atomics cimport atomic_load
from cygrad._core.dtypes cimport is_integral_code
from cygrad._core.errors cimport raise_pending
from cygrad._core.forward_level cimport forward_hooks, forward_open
from cygrad._core.grad_mode cimport grad_enabled, inference_used, thread_modes, MODE_INFERENCE, MODE_REPLAY
from cygrad._core.memory cimport VersionCounter
from cygrad._core.node cimport (
    Edge, NodeType, SavedArray, FLAG_ACCUMULATE, FLAG_HOOKS, FLAG_TRACKED, intlist_save, node_lock_give, node_lock_take, node_new, node_of,
    node_register, node_track, payload_of, saved_check, set_unpack_hook)
from cygrad._core.node_hooks cimport watchers, watched, FLAG_PACKED, WATCH_SAVING
from cygrad._core.tensor cimport grad_fn_fresh, gradient_code, graph_shape_drop, needs_grad, tensor_wrap, view_follows, VIEW_INFERENCE, VIEW_MULTI_OUTPUT, VIEW_NO_GRAD, VIEW_PLAIN, VIEW_REPLAY

cdef NodeType NT_accumulate


cdef void accumulate_finalize(NodeState* s) noexcept:
    # The leaf's weak pointer to its AccumulateGrad ends with the Node.
    if s.payload != NULL:
        (<Tensor>s.payload).accumulator = NULL
        graph_shape_drop(<Tensor>s.payload)


cdef NodeState* gradient_edge(Tensor t, int* nr) except? NULL:
    # The Node's count is raised for the caller.
    cdef Node n
    if t.base_ is not None:
        grad_fn_fresh(t)
    if t.grad_fn_ is not None:
        nr[0] = t.output_nr_
        Py_INCREF(t.grad_fn_)
        return &t.grad_fn_.s
    nr[0] = 0
    if not t.requires_grad_:
        return NULL
    if t.accumulator == NULL:
        n = node_new(&NT_accumulate, 0)
        n.s.flags |= FLAG_ACCUMULATE
        n.s.sequence = <uint64_t>-1
        Py_INCREF(t)
        n.s.payload = <PyObject*>t
        t.accumulator = &n.s
        if t.hooks_ is not None or t.attributes != NULL:
            if t.hooks_ is not None:
                n.s.flags |= FLAG_HOOKS
            node_track(n)
        Py_INCREF(n)
        return &n.s
    Py_INCREF(node_of(t.accumulator))
    return t.accumulator


cdef int edge_set(Node n, int k, Tensor t, Array* result) except -1:
    cdef Edge* e = &n.s.edges[k]
    if not needs_grad(t):
        e.next = NULL
        return 0
    e.next = gradient_edge(t, &e.input_nr)
    e.shape = NULL
    if unlikely(e.next == NULL):
        return 0                 # a view made under no_grad: its base requires a gradient, and it has no place in the graph itself
    e.dtype = t.a.dtype
    if unlikely(t.grad_dtype_ != 0) and t.grad_fn_ is None:
        e.dtype = gradient_code(t.grad_dtype_, t.a.dtype)
    if unlikely(t.graph_shape != NULL):
        e.shape = intlist_save(t.graph_shape.v, t.graph_shape.n)
        if e.shape == NULL:
            raise_pending()
    elif result != NULL and t.a != result and not same_shape(t.a, result):
        e.shape = intlist_save(t.a.shape, t.a.ndim)
        if e.shape == NULL:
            raise_pending()
    if e.next.flags & FLAG_TRACKED:
        node_track(n)
    return 0


cdef int save_input(Node n, int slot, Tensor t, int edge) except -1:
    cdef SavedArray* s = &n.s.saved[slot]
    if t is None:
        return 0
    if unlikely(t.a.storage.inference):
        refuse_saving(n)
    if unlikely(forward_open):
        forward_hooks.save(n, slot, t)
    if unlikely(watchers.threads) and watched() & WATCH_SAVING and not (t.a.flags & WRAPPED):
        return watchers.save(n, slot, t, edge)
    s.array = array_incref(t.a)
    s.version = t.version
    s.version_owner = array_incref(t.own_version)
    s.expected = atomic_load(&t.version.value)
    s.edge = edge
    return 0


cdef int refuse_saving(Node n) except -1:
    raise RuntimeError(f"cygrad: {n.name()}: Inference tensors cannot be saved for backward: they keep no version, so that a later write would go unnoticed. "
                       "Give a recorded operation a clone() of the tensor, or compute it under no_grad() instead of inference_mode().")


cdef int save_output(Node n, int slot, Tensor result, int output_nr) except -1:
    n.s.saved[slot].output_nr = output_nr
    return save_input(n, slot, result, -2)


cdef int history_set(Tensor result, Node n, int output_nr) except -1:
    if unlikely(is_integral_code(result.a.dtype)):
        return 0
    result.grad_fn_ = n
    result.output_nr_ = output_nr
    result.requires_grad_ = True
    return output_note(result, n, output_nr)


cdef Tensor unpack_tensor(NodeState* s, int k):
    cdef SavedArray* saved = &s.saved[k]
    cdef Array* array = NULL
    cdef Array* owner = NULL
    cdef VersionCounter* version
    cdef Tensor t
    cdef NodeState* origin
    cdef int status
    node_lock_take(s)            # a backward on another thread may be freeing this very tensor
    status = saved_check(s, k)
    if status == 0:
        array = array_incref(saved.array)
        owner = array_incref(saved.version_owner)
        version = saved.version
    node_lock_give(s)
    if status != 0:
        raise_pending()
    if array == NULL:
        t = watchers.unpack(node_of(s), k) if s.flags & FLAG_PACKED else None
        if unlikely(forward_open) and t is not None:
            forward_hooks.unpack(node_of(s), k, t)
        return t
    origin = NULL
    if saved.edge == -2:
        origin = s
    elif saved.edge >= 0:
        origin = s.edges[saved.edge].next
    if origin != NULL and origin.flags & FLAG_ACCUMULATE and (<Tensor>origin.payload).a == array:
        array_decref(array)
        array_decref(owner)
        return <Tensor>origin.payload
    t = tensor_wrap(array)
    t.version = version
    t.own_version = owner
    if origin != NULL:
        t.grad_fn_ = node_of(origin)
        t.output_nr_ = saved.output_nr if saved.edge == -2 else s.edges[saved.edge].input_nr
        t.requires_grad_ = True
    if unlikely(forward_open):
        forward_hooks.unpack(node_of(s), k, t)
    return t


cdef object unpack_for_node(NodeState* s, int k):
    return unpack_tensor(s, k)


cdef int view_set(Tensor view, Tensor source) except -1:
    return view_set_kind(view, source, VIEW_PLAIN)


cdef int view_set_kind(Tensor view, Tensor source, int kind) except -1:
    if unlikely(inference_used):
        if source.a.storage.inference:
            return 0             # no history, no base
        if thread_modes() & MODE_INFERENCE:
            kind = VIEW_INFERENCE
        elif thread_modes() & MODE_REPLAY and kind == VIEW_PLAIN:
            kind = VIEW_REPLAY
    if unlikely(not grad_enabled()) and (kind == VIEW_MULTI_OUTPUT or view_follows(kind)):
        kind = VIEW_NO_GRAD
    if source.base_ is None:
        view.base_ = source
    else:
        view.base_ = source.base_
        if kind == VIEW_PLAIN or (kind == VIEW_REPLAY and source.view_kind != VIEW_PLAIN):
            kind = source.view_kind         # a view of a view that must not be written must not be written either
    view.view_kind = kind
    if source.own_version != NULL:
        view.own_version = array_incref(source.own_version)
        view.version = source.version
    view.view_version = atomic_load(&view.version.value)
    return 0


def _accumulate_variable(Node node not None) -> object:
    """The leaf tensor of an AccumulateGrad."""
    return payload_of(&node.s)


cdef int setup() except -1:
    memset(&NT_accumulate, 0, sizeof(NT_accumulate))
    NT_accumulate.name = "AccumulateGrad"
    NT_accumulate.n_outputs = 1
    NT_accumulate.finalize = accumulate_finalize
    node_register(&NT_accumulate)
    (<object>NT_accumulate.cls).variable = property(_accumulate_variable, doc="The leaf whose .grad this Node adds to.")
    set_unpack_hook(unpack_for_node)
    return 0

setup()
