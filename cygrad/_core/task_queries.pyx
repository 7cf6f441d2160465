# What Python code may ask of the backward it runs in. Contract: task_queries.pxd.

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cygrad._core.grad_mode cimport set_grad_enabled, set_thread_modes, thread_modes
from cygrad._core.graph_task cimport Scratch, task_scratch
from cygrad._core.node cimport Node

cdef extern from * nogil:
    """
    static __thread void *cg_task __attribute__((tls_model("initial-exec"))) = 0;
    static inline void *cg_get_task() { return cg_task; }
    static inline void cg_set_task(void *t) { cg_task = t; }
    """
    void* get_current "cg_get_task"() noexcept
    void set_current "cg_set_task"(void* t) noexcept


cdef GraphTask* task_current() noexcept:
    return <GraphTask*>get_current()


cdef void task_set_current(GraphTask* t) noexcept:
    set_current(t)


cdef GraphTask* running() except NULL:
    cdef GraphTask* t = <GraphTask*>get_current()
    if t == NULL:
        raise RuntimeError("cygrad: this can be asked only from hooks, custom Functions and callbacks, while a backward runs")
    return t


cdef int run_callbacks(GraphTask* t) except -1:
    cdef Py_ssize_t k = 0
    cdef void* outer = get_current()
    cdef int modes = thread_modes()
    cdef list callbacks = <list>t.callbacks
    set_current(t)
    set_grad_enabled(t.create_graph)
    try:
        while k < len(callbacks):
            callbacks[k]()
            k += 1
    finally:
        set_current(outer)
        set_thread_modes(modes)
    return 0


def queue_callback(callback) -> None:
    """Call ``callback()`` when the backward that runs now has finished. RuntimeError outside of a backward."""
    cdef GraphTask* t = <GraphTask*>get_current()
    if t == NULL:
        raise RuntimeError("cygrad: Final callbacks can only be installed during backward pass: from a hook or a custom Function")
    if t.callbacks == NULL:
        created = []
        Py_INCREF(created)
        t.callbacks = <PyObject*>created
    (<list>t.callbacks).append(callback)


def current_task_id() -> int:
    """A number of the backward whose hook or Function runs in this thread, -1 outside of one."""
    cdef GraphTask* t = <GraphTask*>get_current()
    return -1 if t == NULL else t.id


def task_values() -> dict[object, object]:
    """A dict that lives as long as the backward that runs now; an empty one outside of a backward."""
    cdef GraphTask* t = <GraphTask*>get_current()
    if t == NULL:
        return {}
    if t.values == NULL:
        created = {}
        Py_INCREF(created)
        t.values = <PyObject*>created
    return <dict>t.values


def will_run(Node node not None) -> bool:
    """Whether the backward that runs now computes a gradient for this Node. RuntimeError outside of a backward."""
    cdef Scratch* sc = task_scratch(running(), &node.s)
    return sc != NULL and (sc.needed != 0 or sc.capture >= 0)


def task_is_pruned() -> bool:
    """Whether the backward that runs now computes only what ``inputs`` need. RuntimeError outside of a backward."""
    return running().pruned
