# The engine: runs backward over the recorded graph. Called from Python through run_backward (engine.pyx); workers come in through task_help.

from cygrad._core.graph_task cimport GraphTask

cdef int task_drain(GraphTask* t, bint caller) noexcept nogil     # runs what is ready; the calling thread stays until nothing is outstanding
