# The thread-local modes: whether operations are recorded, inference mode, whether a backward may use worker threads.
#
# Note [Modes of a thread]
# One int a thread holds all modes as bits, so that a backward or a generator can save and set them in one step. Operations are recorded where grad mode is on
# and inference mode is off. `inference_used` is set for good when inference mode (or MODE_REPLAY) is first entered in any thread: until then nobody looks for it.

cdef enum ModeBit:
    MODE_GRAD = 1
    MODE_INFERENCE = 2
    MODE_ALONE = 4             # backwards begun here stay on this thread (set_multithreading_enabled(False))
    MODE_PRIMAL = 8            # tangents are not looked at: Note [Tangents] in forward_level.pxd
    MODE_REPLAY = 16           # views follow writes through the operations that made them (_force_original_view_tracking)

cdef int inference_used
cdef bint grad_enabled() noexcept nogil                  # whether operations are recorded
cdef void set_grad_enabled(bint on) noexcept nogil       # grad mode alone
cdef int thread_modes() noexcept nogil
cdef void set_thread_modes(int modes) noexcept nogil
