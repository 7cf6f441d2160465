# The thread-local modes. Contract: grad_mode.pxd; the context managers are in cygrad/autograd/grad_mode.py.

cdef extern from * nogil:
    """
    static __thread int cg_modes __attribute__((tls_model("initial-exec"))) = 1;
    static inline int cg_get_modes() { return cg_modes; }
    static inline void cg_set_modes(int modes) { cg_modes = modes; }
    """
    int get_modes "cg_get_modes"() noexcept
    void set_modes "cg_set_modes"(int modes) noexcept


cdef bint grad_enabled() noexcept nogil:
    return get_modes() & (MODE_GRAD | MODE_INFERENCE) == MODE_GRAD


cdef void set_grad_enabled(bint on) noexcept nogil:
    set_modes(get_modes() | MODE_GRAD if on else get_modes() & ~MODE_GRAD)


cdef int thread_modes() noexcept nogil:
    return get_modes()


cdef void set_thread_modes(int modes) noexcept nogil:
    set_modes(modes)


def is_grad_enabled() -> bool:
    """Whether grad mode is on in this thread: operations on tensors that require grad are recorded, unless inference mode is on, too."""
    return get_modes() & MODE_GRAD != 0


def _set_grad_enabled(mode: bool, /) -> None:
    """Switch grad mode of this thread on or off."""
    set_grad_enabled(mode)


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread."""
    return get_modes() & MODE_INFERENCE != 0


def _modes() -> int:
    """All modes of this thread as bits, for ``_set_modes``."""
    return get_modes()


def _set_modes(modes: int, /) -> None:
    """Set all modes of this thread: bits 1 grad mode, 2 inference mode, 4 backward on this thread alone, 8 no tangents, 16 views tracked by their operations."""
    global inference_used
    if modes & (MODE_INFERENCE | MODE_REPLAY):
        inference_used = 1
    set_modes(modes)
