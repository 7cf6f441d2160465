# Applying one Node: without the GIL, on Tensors by itself, and where the VJP is Python. A Python payload's method `apply(node, grads, need)` is the VJP.

from libc.stdint cimport uint64_t
from cygrad._core.array cimport Array
from cygrad._core.atomics cimport unlikely
from cygrad._core.memory cimport process_trylock, process_unlock
from cygrad._core.node cimport NodeState, NodeType, node_flags, node_release_saved, refuse_released, FLAG_PYTHON

cdef extern from "<sched.h>" nogil:
    int sched_yield()

cdef enum:
    NEEDS_GIL = 1

cdef inline int apply_node(NodeState* s, void** grads, Array** out, uint64_t need, bint keep_graph) noexcept nogil:
    # The nogil form (s.type.apply), one thread at a time: another backward may free what it reads. NEEDS_GIL, with nothing done: a pack hook has taken what
    # the form reads since the Node was looked at.
    cdef int status
    while not process_trylock(&s.lock):
        sched_yield()
    if unlikely(s.released):
        status = refuse_released(s)
    elif unlikely(node_flags(s) & FLAG_PYTHON):
        status = NEEDS_GIL
    else:
        status = s.type.apply(s, <Array**>grads, out, need)
        if not keep_graph:
            node_release_saved(s)
    process_unlock(&s.lock)
    return status

cdef NodeType* python_node_type(str name, int n_outputs) except NULL      # one a name and number of outputs; lives as long as the process
cdef list apply_arrays(NodeState* s, list grads, uint64_t need, bint keep_graph)   # apply_node on Tensors, with the GIL around it
cdef list recorded_python(NodeState* s, list grads, uint64_t need)      # the NodeType.recorded of all Python VJPs
cdef bint all_none(list grads) noexcept
