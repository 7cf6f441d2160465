# Tangents of tensors: reading, giving and following them through views and writes. Note [Tangents] is in forward_level.pxd.
#
# Why apart from the operations: each generated operation ends with a test of `forward_open`; what it calls where a level is open is here, once for all.
# A tangent has the shape, dtype and strides of its tensor, so that a view of the tensor is the same view of the tangent.

from cygrad._core.forward_level cimport any_tangent, forward_open, Tangent
from cygrad._core.grad_mode cimport thread_modes, MODE_INFERENCE, MODE_PRIMAL
from cygrad._core.array cimport Array
from cygrad._core.tensor cimport Tensor

cdef inline bint forward_on() noexcept:                        # tangents count: a level is open, and this thread looks at them
    return forward_open and thread_modes() & (MODE_PRIMAL | MODE_INFERENCE) == 0

cdef inline bint carries_tangents() noexcept:                  # VJPs without the GIL would lose the tangents of cotangents and saved tensors
    return forward_on() and any_tangent()

cdef inline bint boxed(Tensor t) noexcept:                     # may have a tangent (tangent_of tells)
    return t is not None and (t.tangent_ is not None or (t.base_ is not None and (<Tensor>t.base_).tangent_ is not None))

cdef bint any_boxed(list tensors) noexcept

cdef Tensor tangent_of(Tensor t)                               # None: it has none. A view of a base with a tangent gets its own here
cdef int forward_pause() noexcept                              # forward mode off in this thread, until set_thread_modes of what this returns
cdef Tensor tangent_add(Tensor sum, Tensor term)               # either may be None
cdef Tensor tangent_fresh(Tensor tangent, Tensor source)       # a copy where the tangent of an operation is that of its input itself
cdef list tangents_of(list tensors)                            # zeros for those without; None where none has one

# The result of an operation (not a view) gets its tangent; None: none. The results of several.
cdef int tangent_set(Tensor result, Tensor tangent) except -1
cdef int tangents_set(list results, list tangents) except -1
# A view of `source`, and several
cdef int tangent_set_view(Tensor view, Tensor source, Tensor tangent) except -1
cdef int tangents_set_views(list views, Tensor source, list tangents) except -1
# A tensor that was written in place: the tangent of what it shows, and of its base, is written, too. None: the new value has none, so zero where there was one.
cdef int tangent_write(Tensor written, Tensor tangent) except -1
cdef Tensor written_old(Tensor t)                              # before a write: a tensor of the value and tangent of now
cdef int forward_refuse(const char* operation) except -1       # an operation without derivative
