# Recycled blocks, Storage, live counters. Contract: memory.pxd.
#
# Note [Thread state of the allocator]
# Every thread that allocates or frees has one ThreadState: its lists of small blocks and its share of the live counters. It is found through a
# thread-local pointer, linked into one list (guarded by states_lock), and dissolved by a pthread key's destructor when the thread ends: blocks go back
# to malloc, counters to `gone`. Only its thread writes it; readers of the counters may see a moment's old value.

from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF, Py_INCREF
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from cygrad._core.atomics cimport spin_trylock, atomic_add, atomic_store, atomic_exchange_ptr, atomic_cas_ptr, atomic_load_ptr, likely, unlikely
from cygrad._core.errors cimport fail_memory

cdef extern from "<pthread.h>" nogil:
    ctypedef unsigned int pthread_key_t
    int pthread_key_create(pthread_key_t*, void (*)(void*) noexcept nogil)
    int pthread_setspecific(pthread_key_t, const void*)
    int sched_yield()
    int pthread_atfork(void (*)() noexcept nogil, void (*)() noexcept nogil, void (*)() noexcept nogil)

ctypedef int (*PendingCall)(void*) noexcept

cdef extern from "Python.h":
    int PyGILState_Check() nogil
    int Py_AddPendingCall(PendingCall, void*) nogil
    int Py_IsInitialized() nogil

cdef extern from * nogil:
    """
    #include <stdlib.h>
    #ifdef CYGRAD_NO_RECYCLING
    #define CG_RECYCLE 0
    #else
    #define CG_RECYCLE 1
    #endif
    static __thread void *cg_tls_state __attribute__((tls_model("initial-exec"))) = 0;
    static __thread int cg_waiting __attribute__((tls_model("initial-exec"))) = 0;
    static inline int cg_get_waiting() { return cg_waiting; }
    static inline void cg_set_waiting(int on) { cg_waiting = on; }
    static inline void *cg_get_state() { return cg_tls_state; }
    static inline void cg_set_state(void *s) { cg_tls_state = s; }
    static inline void *cg_aligned(size_t n) { void *p = 0; return posix_memalign(&p, 64, n) ? 0 : p; }
    static inline void cg_bump(long *p, long n) { __atomic_store_n(p, __atomic_load_n(p, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED); }
    static inline long cg_relaxed(long *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
    static inline int cg_log2(size_t n) { return 63 - __builtin_clzl(n); }
    """
    const bint RECYCLE "CG_RECYCLE"
    void* get_state "cg_get_state"() noexcept
    int get_waiting "cg_get_waiting"() noexcept
    void set_waiting "cg_set_waiting"(int) noexcept
    void set_state "cg_set_state"(void*) noexcept
    void* aligned_block "cg_aligned"(size_t) noexcept
    void bump "cg_bump"(long*, long) noexcept
    long relaxed "cg_relaxed"(long*) noexcept
    int log2_floor "cg_log2"(size_t) noexcept

cdef enum:
    STEP = 64                # classes of 64, 128, ... 1024 bytes
    FINE_CLASSES = 16
    SMALL_CLASSES = 22       # then 2048 ... 65536
    SMALL_LIMIT = 65536
    LARGE_BINS = 512         # eighths of a power of two above that

cdef struct ThreadState:
    void* head[22]
    int count[22]
    long live[3]
    long bytes
    ThreadState* next
    ThreadState* previous

cdef struct LargeCache:
    int lock
    void* head[512]
    size_t held              # bytes in the lists
    size_t limit
    long hits
    long misses

cdef int states_lock = 0
cdef ThreadState* states = NULL
cdef ThreadState gone        # what ended threads had counted
cdef LargeCache large
cdef pthread_key_t state_key
process_generation = 1       # Note [Locks that outlive a fork]
cdef long fault_in = 0       # the allocation, counted from now, that a test wants to fail; 0: none
cdef void* deferred = NULL   # Storages whose foreign owner waits for the GIL, linked through `data`

memset(&gone, 0, sizeof(gone))
memset(&large, 0, sizeof(large))
large.limit = <size_t>256 << 20


cdef inline void lock_spin(int* lock) noexcept nogil:
    while not spin_trylock(lock):
        sched_yield()


cdef void state_dissolve(void* p) noexcept nogil:
    cdef ThreadState* s = <ThreadState*>p
    cdef int i
    cdef void* block
    set_state(NULL)
    for i in range(SMALL_CLASSES):
        while s.head[i] != NULL:
            block = s.head[i]
            s.head[i] = (<void**>block)[0]
            free(block)
    lock_spin(&states_lock)
    for i in range(LIVE_KINDS):
        gone.live[i] += s.live[i]
    gone.bytes += s.bytes
    if s.next != NULL:
        s.next.previous = s.previous
    if s.previous != NULL:
        s.previous.next = s.next
    else:
        global states
        states = s.next
    spin_unlock(&states_lock)
    free(s)


cdef ThreadState* state_new() noexcept nogil:
    global states
    cdef ThreadState* s = <ThreadState*>calloc(1, sizeof(ThreadState))
    if s == NULL:
        return NULL
    lock_spin(&states_lock)
    s.next = states
    if states != NULL:
        states.previous = s
    states = s
    spin_unlock(&states_lock)
    set_state(s)
    pthread_setspecific(state_key, s)
    return s


cdef inline ThreadState* thread_state() noexcept nogil:
    cdef ThreadState* s = <ThreadState*>get_state()
    return s if likely(s != NULL) else state_new()


cdef inline int small_class(size_t n) noexcept nogil:
    if n <= 1024:
        return <int>((n + STEP - 1) // STEP) - 1 if n else 0
    return FINE_CLASSES + log2_floor(n - 1) - 10


cdef inline size_t small_size(int c) noexcept nogil:
    if c < FINE_CLASSES:
        return <size_t>(c + 1) * STEP
    return <size_t>2048 << (c - FINE_CLASSES)


cdef inline size_t large_size(size_t n, int* bin_) noexcept nogil:
    # Rounded up to an eighth of the next lower power of two: at most 12.5 % unused.
    cdef int k = log2_floor(n) - 3
    cdef size_t eighths = (n + (<size_t>1 << k) - 1) >> k       # 8 ... 16
    if eighths == 16:
        k += 1
        eighths = 8
    bin_[0] = (k * 8 + <int>eighths - 8) % LARGE_BINS
    return eighths << k


cdef void large_flush(size_t keep) noexcept nogil:
    # With large.lock held: give blocks back to the system until at most `keep` bytes are cached, big ones first.
    cdef int i
    cdef void* block
    for i in range(LARGE_BINS - 1, -1, -1):
        while large.head[i] != NULL and large.held > keep:
            block = large.head[i]
            large.head[i] = (<void**>block)[0]
            large.held -= (<size_t*>block)[1]
            free(block)


cdef void* system_block(size_t n) noexcept nogil:
    cdef void* p = aligned_block(n)
    if unlikely(p == NULL):
        lock_spin(&large.lock)
        large_flush(0)
        spin_unlock(&large.lock)
        p = aligned_block(n)
        if p == NULL:
            fail_memory(n)
    return p


cdef void* block_alloc(size_t nbytes) noexcept nogil:
    cdef ThreadState* s = thread_state()
    cdef int c
    cdef size_t size
    cdef void* block
    if unlikely(s == NULL) or (unlikely(fault_in > 0) and atomic_add(&fault_in, -1) == 0):
        fail_memory(nbytes)
        return NULL
    if likely(nbytes <= SMALL_LIMIT):
        c = small_class(nbytes)
        block = s.head[c]
        size = small_size(c)
        if likely(block != NULL):
            s.head[c] = (<void**>block)[0]
            s.count[c] -= 1
        else:
            block = system_block(size)
            if block == NULL:
                return NULL
        bump(&s.bytes, <long>size)
        return block
    if nbytes > <size_t>1 << 47:
        fail_memory(nbytes)
        return NULL
    size = large_size(nbytes, &c)
    lock_spin(&large.lock)
    block = large.head[c]
    if block != NULL:
        large.head[c] = (<void**>block)[0]
        large.held -= size
        large.hits += 1
    else:
        large.misses += 1
    spin_unlock(&large.lock)
    if block == NULL:
        block = system_block(size)
        if block == NULL:
            return NULL
    bump(&s.bytes, <long>size)
    return block


cdef void block_free(void* block, size_t nbytes) noexcept nogil:
    cdef ThreadState* s = thread_state()
    cdef int c
    cdef size_t size
    if block == NULL:
        return
    if likely(nbytes <= SMALL_LIMIT):
        c = small_class(nbytes)
        size = small_size(c)
        if unlikely(s == NULL):
            free(block)
            return
        bump(&s.bytes, -<long>size)
        if not RECYCLE or s.count[c] >= (4096 if c < FINE_CLASSES else 64):
            free(block)
            return
        (<void**>block)[0] = s.head[c]
        s.head[c] = block
        s.count[c] += 1
        return
    size = large_size(nbytes, &c)
    if s != NULL:
        bump(&s.bytes, -<long>size)
    if not RECYCLE or size > large.limit:
        free(block)
        return
    lock_spin(&large.lock)
    if large.held + size > large.limit:
        large_flush(large.limit - size)
    (<void**>block)[0] = large.head[c]
    (<size_t*>block)[1] = size
    large.head[c] = block
    large.held += size
    spin_unlock(&large.lock)


cdef Storage* storage_new(size_t nbytes) noexcept nogil:
    cdef bint together = nbytes + sizeof(Storage) + 64 <= SMALL_LIMIT
    cdef size_t header = (sizeof(Storage) + 63) & ~<size_t>63
    cdef size_t total = header + nbytes if together else header
    cdef Storage* s = <Storage*>block_alloc(total)
    if s == NULL:
        return NULL
    memset(s, 0, sizeof(Storage))
    s.refs = 1
    s.nbytes = nbytes
    s.block_size = <unsigned int>total
    s.data_in_block = together
    if together:
        s.data = <char*>s + header
    else:
        s.data = <char*>block_alloc(nbytes)
        if s.data == NULL:
            block_free(s, total)
            return NULL
    live_add(LIVE_STORAGES, 1)
    return s


cdef Storage* storage_foreign(char* data, size_t nbytes, object owner, bint read_only) except NULL:
    cdef Storage* s = <Storage*>block_alloc(sizeof(Storage))
    if s == NULL:
        raise MemoryError("cygrad: out of memory for the header of foreign memory")
    memset(s, 0, sizeof(Storage))
    s.refs = 1
    s.data = data
    s.nbytes = nbytes
    s.block_size = sizeof(Storage)
    s.owner = <PyObject*>owner
    s.read_only = read_only
    Py_INCREF(owner)
    live_add(LIVE_STORAGES, 1)
    return s


cdef void storage_free(Storage* s) noexcept nogil:
    cdef void* head
    live_add(LIVE_STORAGES, -1)
    if s.owner != NULL:
        # The owner is a Python object: it goes to the list, and from there when somebody holds the GIL.
        while True:
            head = atomic_load_ptr(&deferred)
            s.data = <char*>head
            if atomic_cas_ptr(&deferred, head, s):
                break
        if get_waiting():
            return
        if PyGILState_Check():
            with gil:
                drop_deferred_owners()
        elif head == NULL and Py_IsInitialized():
            Py_AddPendingCall(pending_drop, NULL)
        return
    if not s.data_in_block:
        block_free(s.data, s.nbytes)
    block_free(s, s.block_size)


cdef bint owners_wait(bint wait) noexcept:
    cdef bint before = get_waiting()
    set_waiting(wait)
    if not wait and atomic_load_ptr(&deferred) != NULL:
        drop_deferred_owners()
    return before


cdef int pending_drop(void* unused) noexcept:
    drop_deferred_owners()
    return 0


cdef void drop_deferred_owners():
    cdef Storage* s = <Storage*>atomic_exchange_ptr(&deferred, NULL)
    cdef Storage* following
    cdef PyObject* owner
    while s != NULL:
        following = <Storage*>s.data
        owner = s.owner
        block_free(s, s.block_size)
        Py_XDECREF(owner)
        s = following


cdef void live_add(int kind, long n) noexcept nogil:
    cdef ThreadState* s = thread_state()
    if s != NULL:
        bump(&s.live[kind], n)


cdef (long, long, long, long) totals() noexcept:
    cdef long counts[4]
    cdef ThreadState* s
    cdef int i
    lock_spin(&states_lock)
    for i in range(LIVE_KINDS):
        counts[i] = gone.live[i]
    counts[3] = gone.bytes
    s = states
    while s != NULL:
        for i in range(LIVE_KINDS):
            counts[i] += relaxed(&s.live[i])
        counts[3] += relaxed(&s.bytes)
        s = s.next
    spin_unlock(&states_lock)
    return counts[0], counts[1], counts[2], counts[3]


def live_objects() -> dict[str, int]:
    """Numbers of Arrays, Storages and Nodes alive in this process, over all threads."""
    drop_deferred_owners()
    arrays, storages, nodes, _ = totals()
    return {"arrays": arrays, "storages": storages, "nodes": nodes}


def memory_stats() -> dict[str, int]:
    """What the allocator holds, in bytes unless said.

    ``allocated``: blocks in use; ``cached``: large blocks kept for reuse; ``cache_limit``: the bound of that cache; ``cache_hits`` and
    ``cache_misses``: how many large allocations the cache served and did not; ``arrays``, ``storages``, ``nodes``: live objects (counts).
    """
    arrays, storages, nodes, in_use = totals()
    return {
        "allocated": in_use,
        "cached": large.held,
        "cache_limit": large.limit,
        "cache_hits": large.hits,
        "cache_misses": large.misses,
        "arrays": arrays,
        "storages": storages,
        "nodes": nodes,
    }


def empty_cache() -> None:
    """Give the cached large blocks back to the system."""
    lock_spin(&large.lock)
    large_flush(0)
    spin_unlock(&large.lock)


def _fail_allocation(k: int, /) -> int:
    """For tests: let the ``k``-th allocation from now on fail, in whichever thread; 0: none. Gives how many the earlier call had left.

    An allocation is a call for a block of the core's allocator, served from recycled blocks or not. Python's own allocations are not counted.
    """
    cdef long left = fault_in
    atomic_store(&fault_in, k)
    return left if left > 0 else 0


cdef void fork_prepare() noexcept nogil:
    lock_spin(&states_lock)
    lock_spin(&large.lock)


cdef void fork_done() noexcept nogil:
    spin_unlock(&large.lock)
    spin_unlock(&states_lock)


cdef void fork_child() noexcept nogil:
    global process_generation
    process_generation += 1
    fork_done()


pthread_key_create(&state_key, state_dissolve)
pthread_atfork(fork_prepare, fork_done, fork_child)
