# What Python code that runs inside of a backward (hooks, custom Functions) may ask of it, and its final callbacks. All with the GIL.
#
# Python code of a backward runs on the thread that called it, so the running GraphTask is a thread-local pointer, set around each such piece of code.

from cygrad._core.graph_task cimport GraphTask

cdef GraphTask* task_current() noexcept                  # the innermost backward whose Python code runs in this thread, or NULL
cdef void task_set_current(GraphTask* t) noexcept
cdef int run_callbacks(GraphTask* t) except -1           # t.callbacks != NULL; a callback may add further ones
