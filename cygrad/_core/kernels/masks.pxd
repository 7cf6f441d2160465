# Masks: the places where one is True, the elements there, and writing them. In-place forms: Note [In-place kernels] in indexing.pxd.

from cygrad._core.array cimport Array, IntList

cdef Array* nonzero(Array* a) noexcept nogil                                                     # int64, [n, ndim]

cdef Array* masked_select(Array* a, Array* mask) noexcept nogil                                  # both broadcast; row-major order
cdef Array* masked_select_backward(Array* grad, const IntList* sizes, Array* mask) noexcept nogil
cdef Array* masked_scatter(Array* a, Array* mask, Array* source) noexcept nogil                  # source's elements in order where mask is True
cdef int masked_scatter_(Array* target, Array* mask, Array* source) noexcept nogil
cdef Array* masked_scatter_backward(Array* grad, Array* mask, const IntList* sizes) noexcept nogil         # for source, of `sizes`: grad where it was put, zeros for what was left over

cdef Array* true_columns(Array* a) noexcept nogil                                                # the transpose of nonzero, contiguous
