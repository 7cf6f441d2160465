# Sorting along a dimension, and what is picked by order: topk, kthvalue, median. Their backward: value_selecting_backward in gathering.pxd.
#
# NaN counts as greater than every number, so it comes last, or first where the order is descending; -0.0 equals 0.0. Sorting is always stable.
# Results: outs[0] the values, outs[1] their int64 positions along dim. A 0-d Array counts as one dim of one element. No order among complex numbers: RuntimeError.

from cygrad._core.array cimport Array

cdef int sort(Array* a, Py_ssize_t dim, bint descending, Array** outs) noexcept nogil
cdef Array* argsort(Array* a, Py_ssize_t dim, bint descending) noexcept nogil
cdef int topk(Array* a, Py_ssize_t k, Py_ssize_t dim, bint largest, Array** outs) noexcept nogil      # the k first of the order, in order; torch's `sorted` only permits less
cdef int kthvalue(Array* a, Py_ssize_t k, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil  # k counts from 1, ascending
cdef int median_dim(Array* a, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil              # the lower of two in the middle; NaN where there is one
cdef int nanmedian_dim(Array* a, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil           # NaN left out
cdef Array* median(Array* a) noexcept nogil                                                           # over all elements, 0-d
cdef Array* nanmedian(Array* a) noexcept nogil
