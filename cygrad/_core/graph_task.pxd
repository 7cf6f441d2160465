# GraphTask: one running backward; its claims on Nodes, its ready queue, what it captures and how it fails.
#
# Note [Locks of a GraphTask]
# `lock` guards queue, scratch of claimed Nodes, outstanding and failure once `shared` is set, that is once worker threads were invited; before that only
# the calling thread touches the task. Heavy work (applying, summing, casting, adding) happens outside of the lock.

from cpython.object cimport PyObject
from cygrad._core.array cimport Array, IntList
from cygrad._core.atomics cimport atomic_cas_ptr, atomic_load_ptr, atomic_store_ptr, atomic_store, spin_trylock, spin_unlock
from cygrad._core.errors cimport Error
from cygrad._core.node cimport NodeState, Scratch

cdef struct Capture:          # one of `inputs`: the gradient that reaches input number nr of a Node
    NodeState* node
    int nr
    int next                  # another capture of the same Node, or -1; RUN_LEAF: nothing is captured, the Node runs
    void* grad                # Array* or Tensor, owned

cdef enum:
    RUN_LEAF = -2

cdef struct NodeHeap:         # largest sequence number first
    NodeState** v
    int n
    int room

cdef struct GraphTask:
    long id                   # no other task of this process, or of one forked from it, has it: what claims carry
    bint recorded             # gradients are Tensors, everything runs with the GIL: create_graph, or there are tangents to carry (Note [Tangents])
    bint create_graph         # grad mode is on meanwhile
    bint anomaly              # anomaly mode: every Node runs with the GIL, what it gives is looked at
    int modes                 # of the thread that began it: workers take them on (MODE_ALONE: there are none)
    bint keep_graph
    bint pruned               # only what `inputs` need
    NodeState* single         # a queue of one, without the heap
    NodeHeap ready            # Nodes that run without the GIL
    NodeHeap ready_gil        # Nodes that need it: only the calling thread takes these
    NodeState** claimed       # every Node of this backward, in order of discovery
    long n_claimed
    long room_claimed
    void* others              # map of Scratch for Nodes that other tasks had claimed
    Capture* captures
    int n_captures
    long patience             # nanoseconds, estimated, that the calling thread works before it gives up the GIL; 0: it has, or never will (recorded). engine.pyx
    void* python              # the thread state to take the GIL back with; NULL: it was not given up
    long outstanding          # Nodes in the queues or being applied
    int lock
    bint shared
    long queued               # length of `ready`, readable without the lock
    long waiting              # the calling thread sleeps
    long helpers              # worker threads inside, guarded by the pool's mutex (workers.pyx)
    bint failed
    Error error               # of the first failure without the GIL
    PyObject* exception       # or the Python exception, owned
    PyObject* callbacks       # list of what queue_callback was given, owned; NULL: none
    PyObject* values          # dict of what Python code keeps for this backward alone, owned; NULL: none
    GraphTask* next_open      # list of tasks that want workers (workers.pyx)
    NodeState* claimed_inline[64]

cdef int task_init(GraphTask* t, bint recorded, bint keep_graph) noexcept nogil
cdef void task_finish(GraphTask* t) noexcept                     # with the GIL: drops what is left, gives claims back
cdef inline bint task_owns(GraphTask* t, NodeState* s) noexcept nogil:
    return atomic_load_ptr(&s.task) == <void*>t.id

cdef Scratch* task_claim(GraphTask* t, NodeState* s) noexcept nogil       # the Node's scratch for this task, fresh if `claimed` grew; NULL: out of memory
cdef Scratch* task_scratch(GraphTask* t, NodeState* s) noexcept nogil     # of a Node that was claimed before; NULL: it was not
cdef int task_push(GraphTask* t, NodeState* s, bint needs_gil) noexcept nogil
cdef NodeState* task_pop(GraphTask* t, bint with_gil_nodes, bint* needs_gil) noexcept nogil   # NULL: nothing ready for this thread
cdef int task_requeue(GraphTask* t, NodeState* s) noexcept nogil          # a worker popped it, and it needs the GIL by now
cdef int task_fail(GraphTask* t) noexcept nogil                  # moves the thread's error into the task, unless one is there; -1
