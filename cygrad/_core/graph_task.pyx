# GraphTask: claims, queues, failure. Contract: graph_task.pxd.

from cpython.ref cimport Py_DECREF
from libc.stdint cimport uint64_t
from libc.string cimport memset, memcpy
from cpython.ref cimport Py_XDECREF
from cygrad._core.array cimport array_decref
from cygrad._core.atomics cimport atomic_add
from cygrad._core.errors cimport error_take, error_clear, fail_memory, ERR_NONE
from cygrad._core.memory cimport block_alloc, block_free

cdef extern from * nogil:
    """
    #include <new>
    #include <unordered_map>
    /* Scratch of Nodes that another task had claimed first. The addresses of entries stay valid while it grows. Out of memory is NULL, no C++ exception. */
    template <typename S> struct cg_scratch_map : std::unordered_map<void *, S> {};
    template <typename S> static inline S *cg_map_add(void **map, void *key, const S &fresh) {
        try {
            if (!*map) *map = new cg_scratch_map<S>();
            return &(static_cast<cg_scratch_map<S> *>(*map)->emplace(key, fresh).first->second);
        } catch (const std::bad_alloc &) { return nullptr; }
    }
    template <typename S> static inline S *cg_map_find(void *map, void *key, S *) {
        if (!map) return nullptr;
        auto found = static_cast<cg_scratch_map<S> *>(map)->find(key);
        return found == static_cast<cg_scratch_map<S> *>(map)->end() ? nullptr : &found->second;
    }
    template <typename S> static inline void cg_map_free(void *map, S *) { delete static_cast<cg_scratch_map<S> *>(map); }
    """
    Scratch* map_add "cg_map_add"(void** map, void* key, const Scratch& fresh) noexcept
    Scratch* map_find_of "cg_map_find"(void* map, void* key, Scratch* kind) noexcept
    void map_free_of "cg_map_free"(void* map, Scratch* kind) noexcept

cdef long task_ids = 0


cdef inline Scratch* map_find(void* map, void* key) noexcept nogil:
    return map_find_of(map, key, <Scratch*>NULL)


cdef int task_init(GraphTask* t, bint recorded, bint keep_graph) noexcept nogil:
    memset(t, 0, sizeof(GraphTask) - sizeof(t.claimed_inline))
    t.id = atomic_add(&task_ids, 1)
    t.recorded = recorded
    t.keep_graph = keep_graph
    t.claimed = t.claimed_inline
    t.room_claimed = 64
    return 0


cdef int claimed_grow(GraphTask* t) noexcept nogil:
    cdef NodeState** larger = <NodeState**>block_alloc(2 * t.room_claimed * sizeof(NodeState*))
    if larger == NULL:
        return -1
    memcpy(larger, t.claimed, t.n_claimed * sizeof(NodeState*))
    if t.claimed != t.claimed_inline:
        block_free(t.claimed, t.room_claimed * sizeof(NodeState*))
    t.claimed = larger
    t.room_claimed *= 2
    return 0


cdef Scratch* task_claim(GraphTask* t, NodeState* s) noexcept nogil:
    cdef Scratch* sc
    cdef Scratch fresh
    if task_owns(t, s):
        return &s.scratch
    sc = map_find(t.others, s)
    if sc != NULL:
        return sc
    if t.n_claimed == t.room_claimed and claimed_grow(t) != 0:
        return NULL
    fresh.dependencies = 0
    fresh.grads = NULL
    fresh.grad_inline = NULL
    fresh.needed = not t.pruned
    fresh.capture = -1
    if atomic_cas_ptr(&s.task, NULL, <void*>t.id):
        s.scratch = fresh
        sc = &s.scratch
    else:
        sc = map_add(&t.others, s, fresh)
        if sc == NULL:
            fail_memory(sizeof(Scratch))
            return NULL
    t.claimed[t.n_claimed] = s
    t.n_claimed += 1
    return sc


cdef Scratch* task_scratch(GraphTask* t, NodeState* s) noexcept nogil:
    if task_owns(t, s):
        return &s.scratch
    return map_find(t.others, s)


cdef int heap_push(NodeHeap* h, NodeState* s) noexcept nogil:
    cdef NodeState** larger
    cdef uint64_t p = s.sequence
    cdef int i, parent, room
    if h.n == h.room:
        room = 2 * h.room if h.room else 32
        larger = <NodeState**>block_alloc(room * sizeof(NodeState*))
        if larger == NULL:
            return -1
        if h.room:
            memcpy(larger, h.v, h.n * sizeof(NodeState*))
            block_free(h.v, h.room * sizeof(NodeState*))
        h.v = larger
        h.room = room
    i = h.n
    h.n += 1
    while i > 0:
        parent = (i - 1) >> 1
        if h.v[parent].sequence >= p:
            break
        h.v[i] = h.v[parent]
        i = parent
    h.v[i] = s
    return 0


cdef NodeState* heap_pop(NodeHeap* h) noexcept nogil:
    cdef NodeState* top = h.v[0]
    cdef NodeState* last
    cdef uint64_t p
    cdef int i = 0, child
    h.n -= 1
    last = h.v[h.n]
    p = last.sequence
    while True:
        child = 2 * i + 1
        if child >= h.n:
            break
        if child + 1 < h.n and h.v[child + 1].sequence > h.v[child].sequence:
            child += 1
        if h.v[child].sequence <= p:
            break
        h.v[i] = h.v[child]
        i = child
    h.v[i] = last
    return top


cdef int task_push(GraphTask* t, NodeState* s, bint needs_gil) noexcept nogil:
    t.outstanding += 1
    if needs_gil:
        return heap_push(&t.ready_gil, s)
    if t.single == NULL and not t.shared:
        t.single = s
        return 0
    if heap_push(&t.ready, s) != 0:
        return -1
    atomic_store(&t.queued, t.ready.n)
    return 0


cdef int task_requeue(GraphTask* t, NodeState* s) noexcept nogil:
    t.outstanding -= 1
    return task_push(t, s, True)


cdef NodeState* task_pop(GraphTask* t, bint with_gil_nodes, bint* needs_gil) noexcept nogil:
    cdef NodeState* s
    cdef uint64_t best = 0
    cdef int source = 0
    if t.single != NULL:
        source = 1
        best = t.single.sequence
    if t.ready.n and (source == 0 or t.ready.v[0].sequence > best):
        source = 2
        best = t.ready.v[0].sequence
    if with_gil_nodes and t.ready_gil.n and (source == 0 or t.ready_gil.v[0].sequence > best):
        source = 3
    needs_gil[0] = source == 3
    if source == 1:
        s = t.single
        t.single = NULL
        return s
    if source == 2:
        s = heap_pop(&t.ready)
        atomic_store(&t.queued, t.ready.n)
        return s
    if source == 3:
        return heap_pop(&t.ready_gil)
    return NULL


cdef int task_fail(GraphTask* t) noexcept nogil:
    if t.failed:
        error_clear()
    else:
        error_take(&t.error)
        t.failed = True
    return -1


cdef inline void drop(GraphTask* t, void* grad) noexcept:
    if grad == NULL:
        return
    if t.recorded:
        Py_DECREF(<object>grad)
    else:
        array_decref(<Array*>grad)


cdef void task_finish(GraphTask* t) noexcept:
    cdef long i
    cdef int k
    cdef NodeState* s
    cdef Scratch* sc
    for i in range(t.n_claimed):
        s = t.claimed[i]
        sc = task_scratch(t, s)
        if sc != NULL and sc.grads != NULL:
            for k in range(s.n_outputs):
                drop(t, sc.grads[k])
                sc.grads[k] = NULL
            if sc.grads != &sc.grad_inline:
                block_free(sc.grads, s.n_outputs * sizeof(void*))
            sc.grads = NULL
        if task_owns(t, s):
            atomic_store_ptr(&s.task, NULL)
    if t.claimed != t.claimed_inline:
        block_free(t.claimed, t.room_claimed * sizeof(NodeState*))
    if t.ready.room:
        block_free(t.ready.v, t.ready.room * sizeof(NodeState*))
    if t.ready_gil.room:
        block_free(t.ready_gil.v, t.ready_gil.room * sizeof(NodeState*))
    map_free_of(t.others, <Scratch*>NULL)
    t.others = NULL
    for k in range(t.n_captures):
        drop(t, t.captures[k].grad)
    if t.captures != NULL:
        block_free(t.captures, t.n_captures * sizeof(Capture))
        t.captures = NULL
    Py_XDECREF(t.callbacks)
    t.callbacks = NULL
    Py_XDECREF(t.values)
    t.values = NULL

