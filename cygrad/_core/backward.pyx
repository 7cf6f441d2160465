# How a backward is asked for: run_backward, and the short way of loss.backward(). Takes the roots' edges, gives the task to the engine, collects what was
# asked for, and raises what went wrong. Note [How a backward runs] in engine.pyx.

from cpython.ref cimport Py_INCREF, Py_DECREF
from cygrad._core.anomaly cimport anomaly_is_on
from cygrad._core.array cimport Array, IntList, array_incref, array_decref, array_empty
from cygrad._core.deep cimport deep, deeper, shallower, on_fresh_thread
from cygrad._core.dtypes cimport FLOAT32, FLOAT64
from cygrad._core.errors cimport error_exception, raise_pending
from cygrad._core.forward cimport carries_tangents
from cygrad._core.grad_mode cimport thread_modes
from cygrad._core.graph_task cimport GraphTask, Capture, RUN_LEAF, task_init, task_finish
from cygrad._core.kernels.reductions cimport sum_to
from cygrad._core.memory cimport block_alloc, block_free
from cygrad._core.node cimport Node, NodeState, node_of, node_track, late_links_note
from cygrad._core.recorded_ops cimport recorded_ops
from cygrad._core.recording cimport gradient_edge
from cygrad._core.tensor cimport Tensor, tensor_wrap, operators
from cygrad._core.task_queries cimport run_callbacks
from cygrad._core.engine cimport run_all, run_task, task_drain


cdef int task_begin(GraphTask* t, bint recorded, bint keep_graph) noexcept:
    task_init(t, recorded, keep_graph)
    t.anomaly = anomaly_is_on()
    t.modes = thread_modes()
    return 0


cdef NodeState* edge_of(object root, int* nr) except? NULL:
    # Of a Tensor, or of a pair (Node, output number). The Node's count is raised for the caller. NULL: nothing needs a gradient there.
    cdef Node n
    if isinstance(root, Tensor):
        return gradient_edge(<Tensor>root, nr)
    n = root[0]
    nr[0] = root[1]
    Py_INCREF(n)
    return &n.s


def run_backward(
    tuple roots not None, tuple grads not None, bint keep_graph, bint create_graph, tuple inputs, bint accumulate
) -> list[Tensor | None] | None:
    """Run backward from ``roots`` (tensors that require grad) with the cotangents ``grads`` (tensors of the roots' shapes and dtypes).

    Without ``inputs`` the gradients of all leaves are added to their ``.grad``. With ``inputs`` (tensors that require grad) only what they need runs:
    their gradients are returned (None: not reached), or, if ``accumulate``, added to their ``.grad``. Arguments are validated by
    ``cygrad.autograd``. Raises what a Node's formula, hook or Function raises.
    """
    cdef GraphTask t
    cdef int n = len(roots), i, n_inputs = 0 if inputs is None else len(inputs)
    cdef size_t size = n * (sizeof(NodeState*) + sizeof(void*) + sizeof(int)) + 8
    cdef char* room = <char*>block_alloc(size)
    cdef NodeState** root_nodes
    cdef void** root_grads
    cdef int* root_nrs
    cdef list result = None
    cdef bint as_tensors = create_graph or carries_tangents()
    cdef Tensor gradient
    cdef list kept = []                  # Nodes that must stay alive while the task holds borrowed pointers
    if deep():
        block_free(room, size)
        return on_fresh_thread(run_backward, (roots, grads, keep_graph, create_graph, inputs, accumulate))
    if room == NULL:
        raise_pending()
    root_nodes = <NodeState**>room
    root_grads = <void**>(root_nodes + n)
    root_nrs = <int*>(root_grads + n)
    task_begin(&t, as_tensors, keep_graph)
    t.create_graph = create_graph
    t.pruned = inputs is not None
    deeper()
    try:
        for i in range(n):
            gradient = root_gradient(roots[i], grads[i], as_tensors)
            root_nodes[i] = edge_of(roots[i], &root_nrs[i])
            if root_nodes[i] == NULL:
                refuse_root(i)
            kept.append(node_of(root_nodes[i]))
            Py_DECREF(node_of(root_nodes[i]))
            if as_tensors:
                Py_INCREF(gradient)
                root_grads[i] = <void*>gradient
            else:
                root_grads[i] = array_incref(gradient.a)
        if n_inputs:
            prepare_captures(&t, inputs, kept, accumulate)
        if as_tensors:
            run_recorded(&t, root_nodes, root_nrs, root_grads, n)
        else:
            run_all(&t, root_nodes, root_nrs, root_grads, n)
        if t.failed:
            raise_failure(&t)
        if inputs is not None and not accumulate:      # else leaves had their AccumulateGrad, and others kept theirs by retain_grad
            result = collect(&t)
        if t.callbacks != NULL:
            run_callbacks(&t)
    finally:
        drop_roots(&t, root_grads, len(kept) if len(kept) < n else n)
        block_free(room, size)
        task_finish(&t)
        shallower()
    return result


cdef Tensor root_gradient(object root, Tensor gradient, bint recorded):
    # Of the shape that the graph knows, which is not the root's where that was changed outside of the graph.
    cdef IntList* shape = (<Tensor>root).graph_shape if isinstance(root, Tensor) else NULL
    if shape == NULL:
        return gradient
    return recorded_ops.sum_to(gradient, shape) if recorded else tensor_wrap(sum_to(gradient.a, shape))


cdef int refuse_root(int i) except -1:
    raise RuntimeError(f"cygrad: element {i} of tensors does not require grad and does not have a grad_fn: it is a view made under no_grad")


cdef int backward_scalar(Tensor root, bint keep_graph) except -1:
    # root.backward() for one real element: the cotangent is one, nothing is captured, nothing needs a list.
    cdef GraphTask t
    cdef int nr
    cdef void* grad
    cdef NodeState* s
    cdef Node held
    if deep():
        on_fresh_thread(scalar_again, (root, keep_graph))
        return 0
    if carries_tangents():
        run_backward((root,), (tensor_wrap(ones_for(root.a)),), keep_graph, False, None, True)
        return 0
    s = gradient_edge(root, &nr)
    if s == NULL:
        refuse_root(0)
    held = node_of(s)
    Py_DECREF(held)
    if root.graph_shape != NULL:
        run_backward((root,), (tensor_wrap(ones_for(root.a)),), keep_graph, False, None, True)
        return 0
    grad = ones_for(root.a)
    if grad == NULL:
        raise_pending()
    task_begin(&t, False, keep_graph)
    deeper()
    run_all(&t, &s, &nr, &grad, 1)
    if grad != NULL:
        array_decref(<Array*>grad)
    shallower()
    if t.failed or t.callbacks != NULL:
        try:
            if t.failed:
                raise_failure(&t)
            run_callbacks(&t)
        finally:
            task_finish(&t)
    else:
        task_finish(&t)
    return 0

operators.backward_scalar = backward_scalar


def scalar_again(Tensor root not None, bint keep_graph) -> None:
    """backward_scalar, called on a fresh thread."""
    backward_scalar(root, keep_graph)


cdef Array* ones_for(Array* a) noexcept nogil:
    cdef Array* one = array_empty(a.dtype, a.ndim, a.shape)
    if one != NULL:
        if a.dtype == FLOAT64:
            (<double*>one.data)[0] = 1
        elif a.dtype == FLOAT32:
            (<float*>one.data)[0] = 1
        else:
            (<unsigned short*>one.data)[0] = 0x3c00        # 1 as float16
    return one


cdef void drop_roots(GraphTask* t, void** root_grads, int n) noexcept:
    cdef int i
    for i in range(n):
        if root_grads[i] != NULL:
            if t.recorded:
                Py_DECREF(<object>root_grads[i])
            else:
                array_decref(<Array*>root_grads[i])


cdef int run_recorded(GraphTask* t, NodeState** roots, int* nrs, void** grads, int n) except -1:
    # All with the GIL. The Nodes visited may lie on cycles from now on: Note [Garbage collection of the graph].
    cdef long i
    if run_task(t, roots, nrs, grads, n) == 0:
        for i in range(t.n_claimed):
            node_track(node_of(t.claimed[i]))
        late_links_note()                # others may point to these
        task_drain(t, True)
    return 0


cdef int prepare_captures(GraphTask* t, tuple inputs, list kept, bint accumulate) except -1:
    # To accumulate is to run the Nodes: a leaf's AccumulateGrad, or the grad_fn of a tensor that retains its gradient (from now on, as in torch).
    cdef int i, n = len(inputs)
    cdef NodeState* s
    cdef Capture* c = <Capture*>block_alloc(n * sizeof(Capture))
    if c == NULL:
        raise_pending()
    t.captures = c
    t.n_captures = n
    for i in range(n):
        c[i].node = NULL
        c[i].grad = NULL
        c[i].next = -1
        c[i].nr = 0
    for i in range(n):
        if accumulate:
            c[i].next = RUN_LEAF
            if isinstance(inputs[i], Tensor):
                inputs[i].retain_grad()
        s = edge_of(inputs[i], &c[i].nr)
        c[i].node = s
        if s == NULL:
            continue                     # a view made under no_grad: no gradient reaches it
        kept.append(node_of(s))
        Py_DECREF(node_of(s))
    return 0


cdef list collect(GraphTask* t):
    cdef list result = []
    cdef int i, k
    for i in range(t.n_captures):
        k = named_before(t, i)
        if k >= 0:
            result.append(result[k])             # the same input twice: one gradient
        elif t.captures[i].grad == NULL:
            result.append(None)
        elif t.recorded:
            result.append(<object>t.captures[i].grad)
        else:
            result.append(tensor_wrap(<Array*>t.captures[i].grad))
            t.captures[i].grad = NULL
    return result


cdef int named_before(GraphTask* t, int i) noexcept:
    # The first of `inputs` that is the same as number i, or -1.
    cdef int k
    for k in range(i):
        if t.captures[k].node != NULL and t.captures[k].node == t.captures[i].node and t.captures[k].nr == t.captures[i].nr:
            return k
    return -1


cdef int raise_failure(GraphTask* t) except -1:
    cdef object e
    if t.exception != NULL:
        e = <object>t.exception
        Py_DECREF(e)
        t.exception = NULL
        raise e
    raise error_exception(&t.error)
