# Errors of code that runs without the GIL: recorded in the thread, raised by whoever holds the GIL next.
#
# Note [Errors without the GIL]
# A C function that fails writes kind and message with one of the fail_* functions and returns its sentinel (NULL, or -1). The first error of a
# thread stays until it is taken, later ones are dropped: a kernel given NULL as an Array returns NULL without an error of its own. The caller that
# holds the GIL calls raise_pending(), which makes the Python exception.

cdef enum ErrorKind:
    ERR_NONE = 0
    ERR_RUNTIME      # RuntimeError: torch's usual type for shapes, dtypes, graph
    ERR_INDEX        # IndexError: dimension or index out of range
    ERR_TYPE         # TypeError
    ERR_VALUE        # ValueError
    ERR_MEMORY       # MemoryError
    ERR_NOT_IMPLEMENTED  # NotImplementedError

cdef struct Error:
    int kind
    char message[1024]

cdef int fail(int kind, const char* message) noexcept nogil                     # records, returns -1
cdef int fail_memory(size_t nbytes) noexcept nogil
# printf-style with one to three integers or strings, since C variadics do not cross module boundaries
cdef int fail_i(int kind, const char* format, long a, long b, long c) noexcept nogil
cdef int fail_s(int kind, const char* format, const char* a, const char* b, const char* c) noexcept nogil
cdef bint error_pending() noexcept nogil
cdef void error_take(Error* into) noexcept nogil                                # moves the thread's error, which is then clear
cdef void error_clear() noexcept nogil
cdef object error_exception(Error* error)                                       # the Python exception for it
cdef int raise_pending() except -1                                              # raises the thread's error; RuntimeError if none was recorded
cdef int raise_pending_in(const char* operation) except -1                       # the same; the message names the operation, if it did not
