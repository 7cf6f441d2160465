# Forward mode below the floor of Tensor: whether a dual level is open, and the boxes that hold tangents.
#
# Note [Tangents]
# A tensor's tangent lies in a box (`Tensor.tangent_`). What is saved of the tensor in a Node shares its box, so that leaving the level, which empties every box,
# drops all tangents wherever they are. Boxes know each other in a list (borrowed pointers, changed with the GIL): a box that dies leaves it. As in torch one
# level can be open at a time, for all threads. A program without forward mode pays one load of `forward_open` an operation.
# Formulas of tangents run with forward mode off in their thread (MODE_PRIMAL), so that what they compute has no tangents itself.
# `untracked`, a box that is never filled, marks primals that unpack_dual gives: they and their views do not follow their base.

from cpython.object cimport PyObject

cdef int forward_open                     # number of open levels: 0 almost always

cdef class Tangent:
    cdef object value                     # a Tensor; None once the level is left
    cdef PyObject* previous
    cdef PyObject* following

cdef Tangent untracked

cdef Tangent tangent_box(object value)    # a new box in the list of the open level
cdef bint any_tangent() noexcept          # some box is filled

# What the floor of Tensor calls while a level is open: filled by forward.pyx.
cdef struct ForwardHooks:
    int (*save)(object node, int slot, object tensor) except -1        # a tensor is saved with a Node
    int (*unpack)(object node, int slot, object tensor) except -1      # ... and comes back
    int (*copy)(object copied, object tensor) except -1                # `copied` holds the values of `tensor`: its tangent, copied, too

cdef ForwardHooks forward_hooks
