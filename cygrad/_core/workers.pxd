# Worker threads of the engine: never hold the GIL, started on first use, woken only when there is work for them.

from cygrad._core.graph_task cimport GraphTask
from cygrad._core.node cimport NodeState

cdef double node_cost(GraphTask* t, NodeState* s) noexcept nogil                 # nanoseconds that the elements of a ready Node take, estimated
cdef void workers_invite(GraphTask* t, NodeState* next_node) noexcept nogil   # the queue holds more than the caller can use: share the task if that pays
cdef void workers_leave(GraphTask* t) noexcept nogil                          # the task is done: returns when no worker is inside it any more
cdef void wait_for_work(GraphTask* t) noexcept nogil                          # the calling thread, nothing ready: sleeps until something happens
cdef void workers_notify(GraphTask* t, bint caller) noexcept nogil            # a Node of a shared task was run
