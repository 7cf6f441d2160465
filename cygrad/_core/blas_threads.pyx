# Finds NumPy's BLAS in the process. Contract: blas_threads.pxd.
#
# Why not a BLAS of our own: NumPy's is already loaded, tuned for this processor, and shares its threads with NumPy's own calls. It is reached through the
# dynamic linker: the extension module that links it is opened again (it is loaded, so nothing is read), and its dependencies are searched by name.
# OpenBLAS is renamed in NumPy's wheels (scipy_cblas_sgemm64_); only builds with 64-bit integers are taken, whose names end so. Anything else: NumPy's
# matmul loops do the work (kernels/linalg.pyx), and its threads stay as they are.

from libc.stdio cimport snprintf
from cygrad._core.atomics cimport atomic_add, atomic_load, spin_trylock, spin_unlock, unlikely

import numpy._core._multiarray_umath as _numpy_core

cdef extern from "<sched.h>" nogil:
    int sched_yield()

cdef extern from "<unistd.h>" nogil:
    int pause()
    int usleep(unsigned int microseconds)

cdef extern from "<stdlib.h>" nogil:
    int atexit(void (*)() noexcept nogil)

cdef extern from * nogil:
    """
    #if defined(_WIN32)
    static void *cg_open_loaded(const char *) { return 0; }
    static void *cg_symbol(void *, const char *) { return 0; }
    #else
    #include <dlfcn.h>
    static void *cg_open_loaded(const char *path) { return dlopen(path, RTLD_LAZY | RTLD_NOLOAD); }
    static void *cg_symbol(void *library, const char *name) { return library ? dlsym(library, name) : 0; }
    #endif
    """
    void* open_loaded "cg_open_loaded"(const char* path)
    void* find_symbol "cg_symbol"(void* library, const char* name)

ctypedef int (*GetThreads)() noexcept nogil
ctypedef void (*SetThreads)(int) noexcept nogil

cdef enum:
    CLOSED = 1 << 30

cdef void* library = NULL
cdef GetThreads get_threads = NULL
cdef SetThreads set_threads = NULL
cdef int lock = 0            # guards the next two
cdef int alone = 0           # sections entered
cdef int before = 1          # threads that were set when the first was entered
cdef long inside = 0         # calls of BLAS, and CLOSED once the process exits: Note [BLAS at exit]


cdef void* blas_symbol(const char* name) noexcept nogil:
    cdef char full[128]
    cdef void* found
    snprintf(full, sizeof(full), "scipy_%s64_", name)
    found = find_symbol(library, full)
    if found == NULL:
        snprintf(full, sizeof(full), "%s64_", name)
        found = find_symbol(library, full)
    return found


cdef void blas_enter() noexcept nogil:
    if unlikely(atomic_add(&inside, 1) > CLOSED):
        atomic_add(&inside, -1)
        while True:
            pause()


cdef void blas_leave() noexcept nogil:
    atomic_add(&inside, -1)


cdef void wait_for_calls() noexcept nogil:
    atomic_add(&inside, CLOSED)
    while atomic_load(&inside) > CLOSED:
        usleep(100)

atexit(wait_for_calls)


cdef void blas_alone_enter() noexcept nogil:
    global alone, before
    if set_threads == NULL:
        return
    take()
    if alone == 0:
        before = get_threads()
        if before > 1:
            set_threads(1)
    alone += 1
    spin_unlock(&lock)


cdef void blas_alone_leave() noexcept nogil:
    global alone
    if set_threads == NULL:
        return
    take()
    alone -= 1
    if alone == 0 and before > 1:
        set_threads(before)
    spin_unlock(&lock)


cdef inline void take() noexcept nogil:
    while not spin_trylock(&lock):
        sched_yield()


cdef void blas_after_fork() noexcept nogil:
    global alone, inside
    inside = 0
    spin_unlock(&lock)
    if alone > 0 and before > 1:
        set_threads(before)
    alone = 0


cdef int find_library() except -1:
    global library, get_threads, set_threads
    path = getattr(_numpy_core, "__file__", None)
    if path is None:                 # linked statically into the interpreter
        return 0
    library = open_loaded(path.encode())
    get_threads = <GetThreads>blas_symbol("openblas_get_num_threads")
    set_threads = <SetThreads>blas_symbol("openblas_set_num_threads")
    if get_threads == NULL or set_threads == NULL:
        get_threads = NULL
        set_threads = NULL
    return 0


find_library()
