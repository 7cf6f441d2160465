# The engine: runs backward over the recorded graph. Called by backward.pyx; workers come in through task_help.

from cygrad._core.graph_task cimport GraphTask
from cygrad._core.node cimport NodeState

cdef void run_all(GraphTask* t, NodeState** roots, int* root_nrs, void** root_grads, int n_roots) noexcept   # both of the following, from a thread that holds the GIL, not recorded
cdef int run_task(GraphTask* t, NodeState** roots, int* root_nrs, void** root_grads, int n_roots) noexcept nogil   # claims and counts what the roots reach, and queues them
cdef int task_drain(GraphTask* t, bint caller) noexcept nogil     # runs what is ready; the calling thread stays until nothing is outstanding
