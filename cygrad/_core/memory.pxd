# Memory of the core: recycled blocks, reference-counted Storage, and the live counters that tests read.
#
# Note [Blocks]
# block_alloc hands out 64-byte aligned memory from lists of recycled blocks: a thread's own lists for small sizes, one locked and bounded cache for
# large ones (a fresh large block costs a page fault every 4 kB). The size given to block_free must be the size asked for. Any thread may free.

from libc.stdint cimport int64_t
from cpython.object cimport PyObject
from cygrad._core.atomics cimport ref_inc, ref_dec, spin_unlock

cdef enum DeviceType:
    DEVICE_CPU = 0
    DEVICE_CUDA = 1

# Note [Versions]
# The version counter of a tensor, its views and its detached aliases is the `version` field of the Storage they share; `.data` gives an alias with a
# counter of its own (Tensor.own_version). `writer` names the operation that wrote last, for the refusal to use a stale saved tensor.
cdef struct VersionCounter:
    long value
    const char* writer

cdef struct Storage:
    long refs
    char* data
    size_t nbytes            # of data
    VersionCounter version
    PyObject* owner          # foreign memory: the Python object that owns it (NULL: ours)
    unsigned int block_size  # size of the block that starts with this Storage (and may hold an Array and the data too)
    short device             # DeviceType | index << 8
    char data_in_block       # data lies in that same block
    char read_only           # memory of an array that is not writeable
    char shown               # an ndarray shows it: it does not give way to larger memory
    char inference           # made in inference mode: written only there, never saved for backward

# Note [Locks that outlive a fork]
# A lock that lies in an object (a Node's, a leaf's) may be held by a thread that a forked child does not have. So a lock's value is the generation of the
# process that took it: to a child, a lock of an earlier generation is free. The atomic exchange that takes the lock settles which case it was.
cdef int process_generation
cdef extern from * nogil:
    """
    static inline int cg_trylock_as(int *p, int generation) { return __atomic_exchange_n(p, generation, __ATOMIC_ACQUIRE) != generation; }
    """
    bint trylock_as "cg_trylock_as"(int* p, int generation) noexcept
cdef inline bint process_trylock(int* p) noexcept nogil:
    return trylock_as(p, process_generation)
cdef inline void process_unlock(int* p) noexcept nogil:
    spin_unlock(p)

cdef void* block_alloc(size_t nbytes) noexcept nogil        # NULL: out of memory, error recorded
cdef void block_free(void* block, size_t nbytes) noexcept nogil

cdef Storage* storage_new(size_t nbytes) noexcept nogil     # uninitialised memory, refs = 1; NULL: out of memory, error recorded
cdef Storage* storage_foreign(char* data, size_t nbytes, object owner, bint read_only) except NULL
cdef void storage_free(Storage* s) noexcept nogil           # called by storage_decref for the last reference; a foreign owner is dropped when the GIL is held next

cdef inline void storage_incref(Storage* s) noexcept nogil:
    ref_inc(&s.refs)

cdef inline void storage_decref(Storage* s) noexcept nogil:
    if s != NULL and ref_dec(&s.refs):
        storage_free(s)

cdef bint owners_wait(bint wait) noexcept                     # with the GIL: whether this thread leaves Python owners of freed storages alone for now; what held before
cdef void drop_deferred_owners()                            # with the GIL: release Python owners whose storages died without it

# Live counters: cheap per-thread differences, summed when read (live_objects() in memory.pyx).
cdef enum LiveKind:
    LIVE_ARRAYS = 0
    LIVE_STORAGES = 1
    LIVE_NODES = 2
    LIVE_KINDS = 3
cdef void live_add(int kind, long n) noexcept nogil
