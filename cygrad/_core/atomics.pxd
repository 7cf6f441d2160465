# Atomic counters, spin locks and branch hints, as the compiler's builtins (GCC and Clang have the same).
#
# Why not std::atomic: these counters live inside plain C structs that are carved out of recycled memory blocks, where no constructor runs.

cdef extern from * nogil:
    """
    #ifndef CYGRAD_ATOMICS
    #define CYGRAD_ATOMICS
    #define cg_likely(x) __builtin_expect(!!(x), 1)
    #define cg_unlikely(x) __builtin_expect(!!(x), 0)
    /* Reference counts. An owner that sees 1 is the only owner, and nobody else can make it 2 again: no locked instruction is needed to drop it. */
    static inline void cg_ref_inc(long *p) { __atomic_fetch_add(p, 1, __ATOMIC_RELAXED); }
    static inline int cg_ref_dec(long *p) {
        if (__atomic_load_n(p, __ATOMIC_ACQUIRE) == 1) return 1;
        return __atomic_sub_fetch(p, 1, __ATOMIC_ACQ_REL) == 0;
    }
    static inline int cg_ref_unique(long *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE) == 1; }
    static inline long cg_load(long *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
    static inline void cg_store(long *p, long v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
    static inline long cg_add(long *p, long v) { return __atomic_add_fetch(p, v, __ATOMIC_ACQ_REL); }
    static inline void *cg_load_ptr(void **p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
    static inline void cg_store_ptr(void **p, void *v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
    static inline void *cg_exchange_ptr(void **p, void *v) { return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL); }
    static inline int cg_cas_ptr(void **p, void *expected, void *v) {
        return __atomic_compare_exchange_n(p, &expected, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    /* A lock of one int, for sections of a few instructions. */
    static inline int cg_trylock(int *p) { return __atomic_exchange_n(p, 1, __ATOMIC_ACQUIRE) == 0; }
    static inline void cg_unlock(int *p) { __atomic_store_n(p, 0, __ATOMIC_RELEASE); }
    #endif
    """
    bint likely "cg_likely"(bint x) noexcept
    bint unlikely "cg_unlikely"(bint x) noexcept
    void ref_inc "cg_ref_inc"(long* p) noexcept
    bint ref_dec "cg_ref_dec"(long* p) noexcept          # true: that was the last reference
    bint ref_unique "cg_ref_unique"(long* p) noexcept
    long atomic_load "cg_load"(long* p) noexcept
    void atomic_store "cg_store"(long* p, long v) noexcept
    long atomic_add "cg_add"(long* p, long v) noexcept   # the value after the addition
    void* atomic_load_ptr "cg_load_ptr"(void** p) noexcept
    void atomic_store_ptr "cg_store_ptr"(void** p, void* v) noexcept
    void* atomic_exchange_ptr "cg_exchange_ptr"(void** p, void* v) noexcept
    bint atomic_cas_ptr "cg_cas_ptr"(void** p, void* expected, void* v) noexcept
    bint spin_trylock "cg_trylock"(int* p) noexcept
    void spin_unlock "cg_unlock"(int* p) noexcept
