# The thread-local modes. Contract: grad_mode.pxd; the context managers are in cygrad/autograd/grad_mode.py.

cdef extern from * nogil:
    """
    static __thread int cg_grad_mode __attribute__((tls_model("initial-exec"))) = 1;
    static inline int cg_get_grad_mode() { return cg_grad_mode; }
    static inline void cg_set_grad_mode(int on) { cg_grad_mode = on; }
    """
    bint get_mode "cg_get_grad_mode"() noexcept
    void set_mode "cg_set_grad_mode"(bint on) noexcept


cdef bint grad_enabled() noexcept nogil:
    return get_mode()


cdef void set_grad_enabled(bint on) noexcept nogil:
    set_mode(on)


def is_grad_enabled() -> bool:
    """Whether operations on tensors that require grad are recorded in this thread."""
    return get_mode()


def _set_grad_enabled(mode: bool, /) -> None:
    """Switch the recording of this thread on or off."""
    set_mode(mode)
