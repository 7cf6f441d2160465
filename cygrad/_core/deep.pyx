# Backwards inside of backwards: how deep one thread goes, and the thread that takes over there.
#
# Note [Re-entrant backward]
# A hook or a custom Function may run a backward of its own; it runs on the thread that calls it. Every level takes some C stack and some of Python's recursion
# limit, so after MAX_DEPTH levels the next runs on a new thread, with a fresh stack, while this one waits for it without the GIL. Thousands of levels need a
# thread for every MAX_DEPTH of them, none of which runs at the same time as another. The new thread has all that belongs to the one that waits: its modes, its
# context variables, its saved-tensor hooks, and the Node whose backward it runs (anomaly mode).
# A signal handler's exception (Ctrl-C) that arrives in the waiting thread is passed to the thread that runs, and raised when that one has ended.

import contextvars
import threading
from _thread import allocate_lock, get_ident, start_new_thread
from cpython.object cimport PyObject
from cygrad._core.anomaly cimport anomaly_current, anomaly_leave
from cygrad._core.grad_mode cimport thread_modes, set_thread_modes
from cygrad._core.saved_hooks import default_hooks, set_default_hooks

cdef extern from "Python.h":
    int PyThreadState_SetAsyncExc(unsigned long thread, object exception)

cdef extern from * nogil:
    """
    static __thread int cg_depth __attribute__((tls_model("initial-exec"))) = 0;
    static inline int cg_depth_add(int n) { return cg_depth += n; }
    """
    int depth_add "cg_depth_add"(int n) noexcept

cdef enum:
    MAX_DEPTH = 60


class _Chain(threading.local):
    """The threads that work for this one, outermost first; shared by all of them."""

    def __init__(self):
        self.threads = None


_chain = _Chain()


cdef class _Job:
    """One call on another thread."""

    cdef object function
    cdef tuple args
    cdef object context
    cdef list threads
    cdef int modes
    cdef object hooks
    cdef PyObject* evaluating        # borrowed: the thread that waits runs it
    cdef object done                 # a lock, released at the end
    cdef object result
    cdef object error


def _work(_Job job) -> None:
    # Compiled code: an exception sent from outside is raised only inside of the Python code that it calls.
    set_thread_modes(job.modes)
    set_default_hooks(job.hooks)
    anomaly_leave(job.evaluating)
    job.threads.append(get_ident())
    try:
        _chain.threads = job.threads
        job.result = job.context.run(job.function, *job.args)
    except BaseException as error:
        job.error = error
    finally:
        set_default_hooks(None)
        job.threads.pop()
        job.done.release()


cdef bint deep() noexcept nogil:
    return depth_add(0) >= MAX_DEPTH


cdef void deeper() noexcept nogil:
    depth_add(1)


cdef void shallower() noexcept nogil:
    depth_add(-1)


cdef object on_fresh_thread(object function, tuple args):
    cdef _Job job = _Job.__new__(_Job)
    cdef object sent = None
    cdef int depth
    job.function = function
    job.args = args
    job.context = contextvars.copy_context()
    job.threads = _chain.threads if _chain.threads is not None else []
    job.modes = thread_modes()
    job.hooks = default_hooks()
    job.evaluating = anomaly_current()
    job.done = allocate_lock()
    job.done.acquire()
    try:
        start_new_thread(_work, (job,))
    except RuntimeError:
        # No thread is to be had: this one goes on, as far as Python's recursion limit lets it.
        depth = depth_add(0)
        depth_add(-depth)
        try:
            return function(*args)
        finally:
            depth_add(depth)
    while True:
        try:
            job.done.acquire()
            break
        except BaseException as error:
            sent = error
            if job.threads:
                PyThreadState_SetAsyncExc(job.threads[len(job.threads) - 1], type(error))
    error = job.error
    job.error = None
    if sent is not None:
        raise sent
    if error is not None:
        raise error
    return job.result
