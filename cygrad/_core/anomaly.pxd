# Anomaly mode: where in the forward a failing Node was recorded, and the first NaN or infinity.
#
# Note [Anomaly mode]
# While it is on, every new Node keeps the Python stack that made it, and the Node whose backward made it if there is one (metadata "traceback_", "parent_").
# A backward that begins while it is on runs each Node with the GIL, looks for NaN in what it gives, and adds to an exception where the Node came from.
# With the forward check, results of operations are looked at, too: what is recorded where it is recorded, the rest where it was computed. Off, it costs a test
# of one global where a Node is made, where a result is recorded, and at the end of an operation.
# The switches belong to the process, as in torch: the threads of a backward share them.

from cpython.object cimport PyObject
from cygrad._core.node cimport NodeState

cdef bint anomaly_is_on() noexcept nogil
cdef PyObject* anomaly_enter(NodeState* s) noexcept            # this Node runs in this thread now; gives what ran before, for anomaly_leave
cdef void anomaly_leave(PyObject* outer) noexcept
cdef PyObject* anomaly_current() noexcept                      # the Node that runs in this thread, borrowed; NULL: none
cdef int anomaly_check(NodeState* s, list out) except -1       # RuntimeError for a NaN among the gradients that a Node gave, where that is asked for
cdef int anomaly_explain(NodeState* s, object error) except -1 # adds the forward's stack to the exception
