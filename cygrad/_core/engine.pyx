# The engine: counts dependencies from the roots, prunes to what is asked for, runs Nodes as they become ready, delivers their gradients.
#
# Note [How a backward runs]
# 1. With the GIL: the roots' gradient edges are taken, a GraphTask is set up on the caller's stack.
# 2. Without it (unless the backward is recorded, or so small that it is done before another thread could have used the GIL): every Node that can be
#    reached is claimed and its dependencies are counted, breadth first; no order is computed. Nodes without dependencies go to the ready queue, highest
#    sequence number first.
# 3. Draining: a Node leaves the queue, its VJP is applied to the gradients that have arrived, the results are summed to the inputs' shapes, cast to their
#    dtypes and delivered along the edges; a Node whose last delivery this was becomes ready.
# 4. Nodes that need Python (hooks, custom Functions, formulas without a nogil form) take the GIL for themselves alone.
# 5. The first failure stops the task; gradients in flight are dropped, claims are given back, and the exception is raised to the caller.
# Ownership and locks: Note [Ownership and locks of the graph] in node.pxd, Note [Locks of a GraphTask] in graph_task.pxd.

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_DECREF
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint64_t
from libc.string cimport memset
from cygrad._core.accumulate cimport accumulate_array, accumulate_tensor
from cygrad._core.anomaly cimport anomaly_enter, anomaly_leave, anomaly_check, anomaly_explain
from cygrad._core.array cimport Array, array_incref, array_decref, array_unshared, has_sizes, same_shape
from cygrad._core.atomics cimport spin_trylock, spin_unlock, unlikely
from cygrad._core.errors cimport raise_pending
from cygrad._core.grad_mode cimport set_grad_enabled, thread_modes, set_thread_modes, MODE_ALONE
from cygrad._core.graph_task cimport GraphTask, RUN_LEAF, task_claim, task_scratch, task_push, task_pop, task_requeue, task_fail
from cygrad._core.kernels.copy cimport cast
from cygrad._core.kernels.reductions cimport sum_to
from cygrad._core.kernels.ufuncs cimport binary, UF_ADD
from cygrad._core.memory cimport block_alloc, block_free, owners_wait
from cygrad._core.node cimport (
    Node, NodeState, Edge, Scratch, node_flags, node_release_with_gil, refuse_released, FLAG_ACCUMULATE, FLAG_PYTHON, FLAG_HOOKS)
from cygrad._core.recorded_ops cimport recorded_ops
from cygrad._core.python_node cimport all_none, apply_arrays, apply_node, recorded_python, NEEDS_GIL
from cygrad._core.tensor cimport Tensor, tensor_wrap
from cygrad._core.task_queries cimport task_current, task_set_current
from cygrad._core.tensor_hooks cimport run_tensor_hooks, run_prehooks, run_posthooks, run_accumulated
from cygrad._core.workers cimport node_cost, workers_invite, workers_leave, workers_notify, wait_for_work

cdef extern from "<sched.h>" nogil:
    int sched_yield()

cdef extern from "<time.h>" nogil:
    ctypedef struct timespec:
        long tv_sec
        long tv_nsec
    int clock_gettime(int, timespec*)
    const int CLOCK_MONOTONIC

cdef extern from "Python.h" nogil:
    ctypedef struct PyThreadState:
        pass
    PyThreadState* PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState*)

cdef enum:
    PATIENCE = 30000                 # nanoseconds, estimated, that a backward keeps the GIL
    SMALL_GRAPH = 256                # Nodes of a graph that may keep it
    NODE_TIME = 100                  # nanoseconds that a Node takes whatever its size
    MAX_INLINE = 64                  # gradients of one Node that live on the stack
    NO_CAPTURE = -1                  # Scratch.capture: nothing is asked for here
    HOOKS_ONLY = -2                  # a root that no input needs: only its hooks run


# ---- discovery ------------------------------------------------------------------------------------------------------

cdef int discover(GraphTask* t, NodeState** roots, int n_roots) noexcept nogil:
    cdef long at = 0
    cdef int i
    cdef NodeState* s
    cdef Scratch* sc
    for i in range(n_roots):
        if task_claim(t, roots[i]) == NULL:
            return -1
    while at < t.n_claimed:          # the list of claimed Nodes is the worklist, too
        s = t.claimed[at]
        at += 1
        if unlikely(at > SMALL_GRAPH):
            give_up_gil(t)
        for i in range(s.n_edges):
            if s.edges[i].next != NULL:
                sc = task_claim(t, s.edges[i].next)
                if sc == NULL:
                    return -1
                sc.dependencies += 1
    return 0


cdef int mark_needed(GraphTask* t) noexcept nogil:
    # A Node is needed if an edge of it leads to a needed Node. Nodes whose dependents are all settled are settled: Kahn's order, without recursion.
    cdef long at = 0, n = 0, total = t.n_claimed
    cdef NodeState** order = <NodeState**>block_alloc((total + 1) * sizeof(NodeState*))
    cdef long* left = <long*>block_alloc((total + 1) * sizeof(long))
    cdef NodeState* s
    cdef Scratch* sc
    cdef Scratch* next_sc
    cdef int i
    if order == NULL or left == NULL:
        block_free(order, (total + 1) * sizeof(NodeState*))
        block_free(left, (total + 1) * sizeof(long))
        return -1
    for at in range(total):
        sc = task_scratch(t, t.claimed[at])
        left[at] = sc.dependencies
        if sc.dependencies == 0:
            order[n] = t.claimed[at]
            n += 1
    at = 0
    while at < n:
        s = order[at]
        at += 1
        for i in range(s.n_edges):
            if s.edges[i].next != NULL:
                sc = task_scratch(t, s.edges[i].next)
                sc.dependencies -= 1
                if sc.dependencies == 0:
                    order[n] = s.edges[i].next
                    n += 1
    for at in range(n - 1, -1, -1):
        s = order[at]
        sc = task_scratch(t, s)
        for i in range(s.n_edges):
            if s.edges[i].next != NULL:
                next_sc = task_scratch(t, s.edges[i].next)
                if next_sc.needed or next_sc.capture >= 0:
                    sc.needed = True
                    break
    for at in range(total):
        task_scratch(t, t.claimed[at]).dependencies = left[at]
    block_free(order, (total + 1) * sizeof(NodeState*))
    block_free(left, (total + 1) * sizeof(long))
    return 0


# ---- delivering -----------------------------------------------------------------------------------------------------

cdef inline void lock(GraphTask* t) noexcept nogil:
    if t.shared:
        while not spin_trylock(&t.lock):
            sched_yield()


cdef inline void unlock(GraphTask* t) noexcept nogil:
    if t.shared:
        spin_unlock(&t.lock)


cdef inline bint needs_gil(GraphTask* t, NodeState* s) noexcept nogil:
    cdef int flags = node_flags(s)
    if t.recorded or t.anomaly or flags & (FLAG_PYTHON | FLAG_HOOKS):
        return True
    return s.type.apply == NULL and not flags & FLAG_ACCUMULATE


cdef inline int slots_make(NodeState* s, Scratch* sc) noexcept nogil:
    if sc.grads != NULL:
        return 0
    if s.n_outputs == 1:
        sc.grad_inline = NULL
        sc.grads = &sc.grad_inline
        return 0
    sc.grads = <void**>block_alloc(s.n_outputs * sizeof(void*))
    if sc.grads == NULL:
        return -1
    memset(sc.grads, 0, s.n_outputs * sizeof(void*))
    return 0


cdef Array* add_arrays(Array* a, Array* b) noexcept nogil:
    # Steals both. In place where one of them owns its memory alone.
    cdef Array* result
    if array_unshared(a) and a.dtype == b.dtype and same_shape(a, b):
        result = binary(UF_ADD, a, b, a)
    elif array_unshared(b) and a.dtype == b.dtype and same_shape(a, b):
        result = binary(UF_ADD, a, b, b)
    else:
        result = binary(UF_ADD, a, b, NULL)
    array_decref(a)
    array_decref(b)
    return result


cdef int deliver(GraphTask* t, NodeState* s, int nr, Array* grad) noexcept nogil:
    # Steals grad (NULL: an undefined gradient, which counts as a delivery all the same).
    cdef Scratch* sc = task_scratch(t, s)
    cdef Array* earlier
    cdef bint ready
    lock(t)
    if grad != NULL:
        if slots_make(s, sc) != 0:
            unlock(t)
            array_decref(grad)
            return -1
        while sc.grads[nr] != NULL:
            earlier = <Array*>sc.grads[nr]
            sc.grads[nr] = NULL
            unlock(t)
            grad = add_arrays(earlier, grad)
            if grad == NULL:
                return -1
            lock(t)
        sc.grads[nr] = grad
    sc.dependencies -= 1
    ready = sc.dependencies == 0 and (sc.needed or sc.capture != NO_CAPTURE)
    if ready and task_push(t, s, needs_gil(t, s)) != 0:
        unlock(t)
        return -1
    unlock(t)
    return 0


cdef int send(GraphTask* t, Edge* e, Array* grad) noexcept nogil:
    # One gradient along one edge, in the shape and dtype of the forward input. Steals grad.
    cdef Array* fit
    if grad != NULL:
        if e.shape != NULL:
            fit = sum_to(grad, e.shape)
            array_decref(grad)
            grad = fit
        if grad != NULL and unlikely(grad.dtype != e.dtype) and e.dtype >= 0:
            fit = cast(grad, e.dtype)
            array_decref(grad)
            grad = fit
        if grad == NULL:
            return -1
    return deliver(t, e.next, e.input_nr, grad)


cdef inline uint64_t needed_edges(GraphTask* t, NodeState* s) noexcept nogil:
    # Bit k: the gradient of input k is wanted. Nodes with more than 64 inputs compute them all.
    cdef uint64_t need = 0
    cdef int i
    cdef Scratch* sc
    if s.n_edges > 64:
        return <uint64_t>-1
    for i in range(s.n_edges):
        if s.edges[i].next != NULL:
            if t.pruned:
                sc = task_scratch(t, s.edges[i].next)
                if not (sc.needed or sc.capture >= 0):
                    continue
            need |= <uint64_t>1 << i
    return need


# ---- running one Node without the GIL -------------------------------------------------------------------------------

cdef void capture_arrays(GraphTask* t, Scratch* sc) noexcept nogil:
    cdef int k = sc.capture
    while k >= 0:
        if sc.grads != NULL and t.captures[k].grad == NULL:          # (a Node that is put back comes here twice)
            t.captures[k].grad = array_incref(<Array*>sc.grads[t.captures[k].nr])
        k = t.captures[k].next


cdef int run_node(GraphTask* t, NodeState* s) noexcept nogil:
    # 0, -1, or NEEDS_GIL with nothing done.
    cdef Scratch* sc = task_scratch(t, s)
    cdef Array* inline_out[64]
    cdef Array** out = inline_out
    cdef void** grads = sc.grads
    cdef Array* grad
    cdef int i, status = 0
    cdef bint any_grad = False
    if sc.capture >= 0:
        capture_arrays(t, sc)
    if not sc.needed:
        for i in range(s.n_outputs if grads != NULL else 0):
            array_decref(<Array*>grads[i])
            grads[i] = NULL
        return 0
    if node_flags(s) & FLAG_ACCUMULATE:
        if grads == NULL or grads[0] == NULL:
            return 0
        grad = <Array*>grads[0]
        grads[0] = NULL
        return accumulate_array(s, grad)
    if grads != NULL:
        for i in range(s.n_outputs):
            if grads[i] != NULL:
                any_grad = True
    if s.n_edges > MAX_INLINE:
        out = <Array**>block_alloc(s.n_edges * sizeof(Array*))
        if out == NULL:
            return -1
    for i in range(s.n_edges):
        out[i] = NULL
    if any_grad:
        status = apply_node(s, grads, out, needed_edges(t, s), t.keep_graph)
        for i in range(s.n_outputs if status != NEEDS_GIL else 0):
            array_decref(<Array*>grads[i])
            grads[i] = NULL
    for i in range(s.n_edges):
        if status == 0 and s.edges[i].next != NULL:
            status = send(t, &s.edges[i], out[i])
        else:
            array_decref(out[i])
    if out != inline_out:
        block_free(out, s.n_edges * sizeof(Array*))
    return status


# ---- running one Node with the GIL ----------------------------------------------------------------------------------

cdef Tensor fit_tensor(Edge* e, Tensor grad):
    if e.shape != NULL and not has_sizes(grad.a, e.shape.n, e.shape.v):
        grad = recorded_ops.sum_to(grad, e.shape)
    if grad.a.dtype != e.dtype and e.dtype >= 0:
        grad = recorded_ops.cast(grad, e.dtype)
    return grad


cdef int deliver_tensor(GraphTask* t, NodeState* s, int nr, Tensor grad) except -1:
    cdef Scratch* sc = task_scratch(t, s)
    cdef Tensor earlier
    cdef int status = 0
    if not t.recorded:
        if deliver(t, s, nr, <Array*>NULL if grad is None else array_incref(grad.a)) != 0:
            raise_pending()
        return 0
    if grad is not None:
        if slots_make(s, sc) != 0:
            raise_pending()
        if sc.grads[nr] != NULL:
            earlier = <Tensor>sc.grads[nr]
            sc.grads[nr] = NULL
            Py_DECREF(earlier)
            grad = recorded_ops.add(earlier, grad)
        Py_INCREF(grad)
        sc.grads[nr] = <void*>grad
    sc.dependencies -= 1
    if sc.dependencies == 0 and (sc.needed or sc.capture != NO_CAPTURE):
        if task_push(t, s, True) != 0:
            raise_pending()
    return 0


cdef list take_gradients(GraphTask* t, NodeState* s, Scratch* sc):
    cdef list grads = [None] * s.n_outputs
    cdef int i
    if sc.grads != NULL:
        for i in range(s.n_outputs):
            if sc.grads[i] != NULL:
                if t.recorded:
                    grads[i] = <object>sc.grads[i]
                    Py_DECREF(grads[i])
                else:
                    grads[i] = tensor_wrap(<Array*>sc.grads[i])
                sc.grads[i] = NULL
    return grads


cdef int run_node_python(GraphTask* t, NodeState* s) except -1:
    cdef Scratch* sc = task_scratch(t, s)
    cdef list grads, out
    cdef int i, k
    cdef Edge* e
    cdef Tensor grad
    cdef int modes = thread_modes()
    cdef PyObject* outer = anomaly_enter(s) if t.anomaly else NULL
    cdef bint hooked = s.flags & FLAG_HOOKS != 0
    set_grad_enabled(t.create_graph)
    try:
        grads = take_gradients(t, s, sc)
        if hooked and not sc.needed:
            run_tensor_hooks(s, grads)       # as torch: what is captured has seen the hooks only where nothing more runs here
        k = sc.capture
        while k >= 0:
            captured = grads[t.captures[k].nr]
            if captured is not None and t.captures[k].grad == NULL:
                if t.recorded:
                    Py_INCREF(captured)
                    t.captures[k].grad = <void*>captured
                else:
                    t.captures[k].grad = array_incref((<Tensor>captured).a)
            k = t.captures[k].next
        if not sc.needed:
            return 0
        if hooked:
            run_tensor_hooks(s, grads)
            grads = run_prehooks(s, grads)
        if s.flags & FLAG_ACCUMULATE:
            if grads[0] is not None:
                accumulate_tensor(s, grads[0])
            if hooked:
                run_accumulated(s, grads)
            return 0
        if s.type.recorded != recorded_python and all_none(grads):
            out = [None] * s.n_edges
        elif t.recorded or s.type.apply == NULL or s.flags & FLAG_PYTHON:
            if s.released:
                refuse_released(s)
                raise_pending()
            out = s.type.recorded(s, grads, needed_edges(t, s))
            if not t.keep_graph:
                node_release_with_gil(s)
        else:
            out = apply_arrays(s, grads, needed_edges(t, s), t.keep_graph)
        if hooked:
            out = run_posthooks(s, out, grads)
        if t.anomaly:
            anomaly_check(s, out)
        for i in range(s.n_edges):
            e = &s.edges[i]
            if e.next != NULL:
                grad = out[i]
                deliver_tensor(t, e.next, e.input_nr, None if grad is None else fit_tensor(e, grad))
    except BaseException as error:
        if t.anomaly:
            anomaly_explain(s, error)
        raise
    finally:
        if t.anomaly:
            anomaly_leave(outer)
        set_thread_modes(modes)
    return 0


cdef inline bint python_enter(GraphTask* t) noexcept nogil:
    # Not PyGILState_Ensure alone, which in a daemon thread makes a thread state in an interpreter that is gone: to take the own state back ends the thread.
    cdef void* given_up = t.python
    if given_up == NULL:
        return False
    PyEval_RestoreThread(<PyThreadState*>given_up)
    t.python = NULL
    return True


cdef inline void python_leave(GraphTask* t, bint entered) noexcept nogil:
    if entered:
        t.python = PyEval_SaveThread()


cdef int run_gil_node(GraphTask* t, NodeState* s) noexcept nogil:
    cdef bint entered = python_enter(t)
    cdef int status = run_held(t, s)
    python_leave(t, entered)
    return status


cdef int run_held(GraphTask* t, NodeState* s) noexcept with gil:
    cdef GraphTask* outer = task_current()
    task_set_current(t)
    try:
        run_node_python(t, s)
        return 0
    except BaseException as e:
        fail_with(t, e)
        return -1
    finally:
        task_set_current(outer)


cdef int fail_with(GraphTask* t, object exception) noexcept:
    lock(t)
    if not t.failed:
        t.failed = True
        Py_INCREF(exception)
        t.exception = <PyObject*>exception
    unlock(t)
    return -1


cdef int check_signals(GraphTask* t) noexcept nogil:
    cdef bint entered = python_enter(t)
    cdef int status = check_held(t)
    python_leave(t, entered)
    return status


cdef int check_held(GraphTask* t) noexcept with gil:
    try:
        PyErr_CheckSignals()
        return 0
    except BaseException as e:
        return fail_with(t, e)


# ---- draining -------------------------------------------------------------------------------------------------------

cdef inline long now_ms() noexcept nogil:
    cdef timespec ts
    clock_gettime(CLOCK_MONOTONIC, &ts)
    return ts.tv_sec * 1000 + ts.tv_nsec // 1000000


cdef inline long work_of(GraphTask* t, NodeState* s) noexcept nogil:
    # How much sooner to look for signals: heavy Nodes count for many. 256 is about 50 ms at most.
    cdef Scratch* sc = task_scratch(t, s)
    if t.recorded or sc.grads == NULL or sc.grads[0] == NULL:
        return 1
    return 1 + ((<Array*>sc.grads[0]).numel >> 10)


cdef int task_drain(GraphTask* t, bint caller) noexcept nogil:
    cdef NodeState* s
    cdef bint gil = False, done
    cdef int status
    cdef long work = 0, last_check = 0, now, cost
    while True:
        lock(t)
        if t.failed:
            unlock(t)
            return -1
        s = task_pop(t, caller, &gil)
        done = s == NULL and (not caller or t.outstanding == 0)
        unlock(t)
        if s == NULL:
            if done:
                return 0
            give_up_gil(t)
            wait_for_work(t)
            work += 64
        elif not gil and unlikely(needs_gil(t, s)):
            # a hook came while it was in the queue
            lock(t)
            status = task_requeue(t, s)
            if status != 0:
                task_fail(t)
            unlock(t)
            if t.shared:
                workers_notify(t, caller)
            continue
        if caller:
            work += 1 if s == NULL else work_of(t, s)
            if work >= 256:
                work = 0
                now = now_ms()
                if last_check == 0:
                    last_check = now
                elif now - last_check >= 50:
                    check_signals(t)
                    last_check = now
        if s == NULL:
            continue
        if caller and t.patience > 0:
            cost = NODE_TIME + <long>node_cost(t, s)
            if cost >= t.patience:
                give_up_gil(t)
            else:
                t.patience -= cost
        if gil:
            status = run_gil_node(t, s)
        else:
            if caller and not t.shared and not t.modes & MODE_ALONE and t.ready.n:
                workers_invite(t, s)
            status = run_node(t, s)
        lock(t)
        if unlikely(status == NEEDS_GIL):
            status = task_requeue(t, s)
        else:
            t.outstanding -= 1
        if status != 0:
            task_fail(t)
        unlock(t)
        if t.shared:
            workers_notify(t, caller)


cdef inline void give_up_gil(GraphTask* t) noexcept nogil:
    # From here on other Python threads run beside this one. It costs a hand-over or two, which a small graph would not earn back.
    if t.patience > 0:
        t.patience = 0
        t.python = PyEval_SaveThread()


cdef void run_all(GraphTask* t, NodeState** roots, int* root_nrs, void** root_grads, int n_roots) noexcept:
    # Owners of foreign memory are dropped at the end: their Python code must not run while a lock of the graph is held.
    cdef bint before = owners_wait(True)
    t.patience = PATIENCE
    if run_task(t, roots, root_nrs, root_grads, n_roots) == 0:
        task_drain(t, True)
    if t.shared:
        give_up_gil(t)
        workers_leave(t)
    t.patience = 0
    if t.python != NULL:
        PyEval_RestoreThread(<PyThreadState*>t.python)
    owners_wait(before)


cdef int run_task(GraphTask* t, NodeState** roots, int* root_nrs, void** root_grads, int n_roots) noexcept nogil:
    # Steals the root gradients.
    cdef int i, status
    cdef Scratch* sc
    status = discover(t, roots, n_roots)
    for i in range(t.n_captures):
        if status != 0:
            break
        if t.captures[i].node == NULL:
            continue
        sc = task_scratch(t, t.captures[i].node)
        if sc != NULL and t.captures[i].next == RUN_LEAF:
            sc.needed = True
        elif sc != NULL:
            t.captures[i].next = sc.capture
            sc.capture = i
    if status == 0 and t.pruned:
        status = mark_needed(t)
        for i in range(n_roots):
            sc = task_scratch(t, roots[i])
            if sc.capture == NO_CAPTURE and not sc.needed and roots[i].flags & FLAG_HOOKS:
                sc.capture = HOOKS_ONLY
    if status == 0:
        return seed(t, roots, root_nrs, root_grads, n_roots)
    return task_fail(t)


cdef int seed(GraphTask* t, NodeState** roots, int* root_nrs, void** root_grads, int n_roots) noexcept nogil:
    # The roots' gradients arrive as if from one Node above them: each counts as one dependency more until it is delivered.
    cdef int i
    cdef Scratch* sc
    for i in range(n_roots):
        task_scratch(t, roots[i]).dependencies += 1
    for i in range(n_roots):
        if t.recorded:
            if seed_tensor(t, roots[i], root_nrs[i], root_grads[i]) != 0:
                root_grads[i] = NULL
                return -1
        elif deliver(t, roots[i], root_nrs[i], <Array*>root_grads[i]) != 0:
            root_grads[i] = NULL
            return task_fail(t)
        root_grads[i] = NULL
    return 0


cdef int seed_tensor(GraphTask* t, NodeState* s, int nr, void* grad) noexcept with gil:
    try:
        held = <Tensor>grad
        Py_DECREF(held)
        deliver_tensor(t, s, nr, held)
        return 0
    except BaseException as e:
        return fail_with(t, e)
