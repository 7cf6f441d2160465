# The thread-local modes: whether operations are recorded.

cdef bint grad_enabled() noexcept nogil
cdef void set_grad_enabled(bint on) noexcept nogil
