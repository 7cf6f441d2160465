# Dual levels and boxes of tangents. Contract and Note [Tangents]: forward_level.pxd.

cimport cython
from cygrad._core.grad_mode cimport thread_modes, set_thread_modes, MODE_INFERENCE, MODE_PRIMAL

cdef PyObject* first = NULL


@cython.no_gc
@cython.final
@cython.freelist(256)
cdef class Tangent:
    """The box of one tensor's tangent."""

    def __dealloc__(self):
        leave(self)


cdef int leave(Tangent box) noexcept:
    global first
    if box.previous != NULL:
        (<Tangent>box.previous).following = box.following
    elif first == <PyObject*>box:
        first = box.following
    if box.following != NULL:
        (<Tangent>box.following).previous = box.previous
    box.previous = box.following = NULL
    return 0


cdef Tangent tangent_box(object value):
    global first
    cdef Tangent box = Tangent.__new__(Tangent)
    box.value = value
    box.following = first
    if first != NULL:
        (<Tangent>first).previous = <PyObject*>box
    first = <PyObject*>box
    return box


cdef bint any_tangent() noexcept:
    return first != NULL


def _enter_dual_level() -> int:
    """Open the dual level and return its number, 0. RuntimeError where it is open already."""
    global forward_open
    if forward_open:
        raise RuntimeError("cygrad: Nested forward mode AD is not supported at the moment: a dual level is open already, perhaps in another thread. "
                           "Leave it first, or differentiate the tangent in reverse mode")
    forward_open = 1
    return 0


def _exit_dual_level() -> None:
    """Close the dual level: every tensor loses its tangent."""
    global forward_open
    cdef Tangent box
    forward_open = 0
    while first != NULL:
        box = <Tangent>first
        leave(box)
        value = box.value        # its end may run Python, when the list is in order again
        box.value = None
        value = None


def _dual_level() -> int:
    """The number of the open dual level; -1 where there is none."""
    return forward_open - 1


def _is_fwd_grad_enabled() -> bool:
    """Whether this thread computes tangents while a dual level is open."""
    return thread_modes() & (MODE_PRIMAL | MODE_INFERENCE) == 0


def _set_fwd_grad_enabled(mode: bool, /) -> None:
    """Switch forward mode of this thread on or off."""
    set_thread_modes(thread_modes() & ~MODE_PRIMAL if mode else thread_modes() | MODE_PRIMAL)


untracked = Tangent.__new__(Tangent)
