# What surrounds the VJP of one Node before it runs (NodeHooks), and what saved-tensor hooks want to be told of (Watchers).
#
# Why it exists: a Node without hooks and packed tensors carries one NULL pointer for all of them, and a program without saved-tensor hooks pays one load
# of `watchers.threads` where it saves or writes. The floors above (tensor_hooks.pyx, saved_hooks.pyx) fill in the functions.

from cpython.object cimport PyObject

cdef enum:
    FLAG_PACKED = 64              # NodeState.flags: some saved tensors went through a pack hook and lie in NodeHooks.packed; set with FLAG_PYTHON

cdef class NodeHooks:
    cdef list tensors             # TensorHooks of its outputs, in order of registration; or None
    cdef list retained            # RetainGrad of its outputs; or None
    cdef object before            # HookTable of Node.register_prehook; or None
    cdef dict packed              # slot of a saved tensor -> Packed (saved_hooks.pyx); or None
    cdef dict tangents            # slot of a saved tensor -> its Tangent; or None

cdef NodeHooks hooks_at(PyObject** place)                 # the NodeHooks there, made if there is none
cdef void drop_packed(PyObject* hooks) noexcept with gil  # frees what pack hooks made; NULL: nothing

cdef enum:
    WATCH_SAVING = 1              # tensors are about to be saved
    WATCH_WRITING = 2             # memory is about to be written in place

cdef struct Watchers:
    long threads                  # threads that watch anything: 0 almost always
    int (*save)(object node, int slot, object tensor, int edge) except -1     # stands in for save_input
    object (*unpack)(object node, int slot)                                    # a Tensor or None
    int (*write)(object tensor) except -1

cdef Watchers watchers
cdef int watched() noexcept nogil                         # what this thread watches: WATCH_...
cdef void watch(int events) noexcept nogil                # ... from now on (with the GIL)
