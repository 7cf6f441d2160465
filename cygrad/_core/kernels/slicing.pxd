# Views of a part of their argument: select, slice, narrow, diagonal, as_strided, unfold, split, unbind; and their backward.
#
# Why the backward is fused: as compositions (zeros, the view again, copy_) each would cost three Arrays for what is one memset and one small copy.

from cygrad._core.array cimport Array, IntList

cdef extern from *:
    const Py_ssize_t NO_OFFSET "PY_SSIZE_T_MIN"      # as_strided: keep the Array's own storage offset

cdef Array* select(Array* a, Py_ssize_t dim, Py_ssize_t index) noexcept nogil
cdef Array* slice_(Array* a, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) noexcept nogil   # open ends: 0 and the largest Py_ssize_t
cdef Array* split_view(Array* a, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t length) noexcept nogil              # torch's narrow
cdef Array* diagonal(Array* a, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) noexcept nogil
cdef Array* as_strided(Array* a, const IntList* sizes, const IntList* strides, Py_ssize_t storage_offset) noexcept nogil   # in elements, from the storage's start
cdef Array* unfold(Array* a, Py_ssize_t dim, Py_ssize_t size, Py_ssize_t step) noexcept nogil

# Several views at once; outs are new references, as many as split_count says, or the size of dim (unbind).
cdef Py_ssize_t split_count(Array* a, Py_ssize_t split_size, Py_ssize_t dim) noexcept nogil                       # -1: error
cdef int split(Array* a, Py_ssize_t split_size, Py_ssize_t dim, Array** outs) noexcept nogil
cdef int split_with_sizes(Array* a, const IntList* lengths, Py_ssize_t dim, Array** outs) noexcept nogil
cdef int unbind(Array* a, Py_ssize_t dim, Array** outs) noexcept nogil

# Backward: zeros of `sizes` (the forward input's) in which grad lies where the view looked.
cdef Array* select_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Py_ssize_t index) noexcept nogil
cdef Array* slice_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) noexcept nogil
cdef Array* diagonal_backward(Array* grad, const IntList* sizes, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) noexcept nogil
cdef Array* unfold_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Py_ssize_t size, Py_ssize_t step) noexcept nogil   # adds where windows overlap
# The gradient of every storage place that the view reads is the sum over the view's elements there; an input that shows one place several times
# shares it evenly between those elements. The result is contiguous. All geometry in elements.
cdef Array* as_strided_backward(Array* grad, const IntList* input_sizes, const IntList* input_strides, Py_ssize_t input_offset,
                                const IntList* sizes, const IntList* strides, Py_ssize_t storage_offset) noexcept nogil
