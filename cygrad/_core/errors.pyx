# Errors of code that runs without the GIL. Contract: errors.pxd, Note [Errors without the GIL].

from libc.stdio cimport snprintf
from libc.string cimport strncpy

cdef extern from * nogil:
    """
    #include <pthread.h>
    #include <stdlib.h>
    #define CG_TLS static __thread __attribute__((tls_model("initial-exec")))
    struct cg_error { int kind; char message[1024]; };
    CG_TLS struct cg_error *cg_thread_error = 0;
    static pthread_key_t cg_error_key;
    static void cg_error_free(void *slot) { cg_thread_error = 0; free(slot); }
    static inline int cg_error_setup() { return pthread_key_create(&cg_error_key, cg_error_free); }
    static inline struct cg_error *cg_error_slot() {
        /* One small slot a thread that ever failed, freed when the thread ends. */
        if (!cg_thread_error) {
            cg_thread_error = (struct cg_error *)calloc(1, sizeof(struct cg_error));
            if (cg_thread_error) pthread_setspecific(cg_error_key, cg_thread_error);
        }
        return cg_thread_error;
    }
    static inline int cg_error_is_pending() { return cg_thread_error != 0 && cg_thread_error->kind != 0; }
    """
    struct cg_error:
        int kind
        char message[1024]
    int error_setup "cg_error_setup"() noexcept
    cg_error* error_slot "cg_error_slot"() noexcept
    bint cg_error_is_pending() noexcept


cdef int fail(int kind, const char* message) noexcept nogil:
    cdef cg_error* e = error_slot()
    if e != NULL and e.kind == ERR_NONE:
        e.kind = kind
        strncpy(e.message, message, sizeof(e.message) - 1)
    return -1


cdef int fail_memory(size_t nbytes) noexcept nogil:
    cdef cg_error* e = error_slot()
    if e != NULL and e.kind == ERR_NONE:
        e.kind = ERR_MEMORY
        snprintf(e.message, sizeof(e.message), "cygrad: out of memory: an allocation of %zu bytes failed; free tensors or graphs, or work in smaller pieces", nbytes)
    return -1


cdef int fail_i(int kind, const char* format, long a, long b, long c) noexcept nogil:
    cdef cg_error* e = error_slot()
    if e != NULL and e.kind == ERR_NONE:
        e.kind = kind
        snprintf(e.message, sizeof(e.message), format, a, b, c)
    return -1


cdef int fail_s(int kind, const char* format, const char* a, const char* b, const char* c) noexcept nogil:
    cdef cg_error* e = error_slot()
    if e != NULL and e.kind == ERR_NONE:
        e.kind = kind
        snprintf(e.message, sizeof(e.message), format, a, b, c)
    return -1


cdef bint error_pending() noexcept nogil:
    return cg_error_is_pending()


cdef void error_take(Error* into) noexcept nogil:
    cdef cg_error* e = error_slot()
    into.kind = ERR_NONE
    if e == NULL or e.kind == ERR_NONE:
        return
    into.kind = e.kind
    strncpy(into.message, e.message, sizeof(into.message))
    e.kind = ERR_NONE
    e.message[0] = 0


cdef void error_clear() noexcept nogil:
    cdef cg_error* e
    if cg_error_is_pending():
        e = error_slot()
        e.kind = ERR_NONE


cdef object error_exception(Error* error):
    cdef str text = error.message.decode("utf-8", "replace")
    if error.kind == ERR_INDEX:
        return IndexError(text)
    if error.kind == ERR_TYPE:
        return TypeError(text)
    if error.kind == ERR_VALUE:
        return ValueError(text)
    if error.kind == ERR_MEMORY:
        return MemoryError(text)
    if error.kind == ERR_NOT_IMPLEMENTED:
        return NotImplementedError(text)
    return RuntimeError(text)


cdef int raise_pending() except -1:
    cdef Error e
    error_take(&e)
    if e.kind == ERR_NONE:
        raise RuntimeError("cygrad: an operation failed without naming its error; please report this")
    raise error_exception(&e)


cdef int raise_pending_in(const char* operation) except -1:
    cdef Error e
    cdef str text, name = operation.decode()
    error_take(&e)
    if e.kind == ERR_NONE:
        return raise_pending()
    exception = error_exception(&e)
    text = exception.args[0]
    if name.strip("_") not in text:
        raise type(exception)(f"cygrad: {name}(): {text.removeprefix('cygrad: ')}")
    raise exception


if error_setup() != 0:
    raise MemoryError("cygrad: no thread-specific key is left for the errors of code without the GIL")
