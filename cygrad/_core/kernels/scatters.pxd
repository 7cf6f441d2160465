# Copies of an Array with one part of it replaced: select_scatter and its like. The part is what the view of the same name shows ("Note [Kernels]").
#
# RuntimeError where `src` has not the part's shape; it is cast to the dtype of `a`.

from cygrad._core.array cimport Array, IntList

cdef Array* select_scatter(Array* a, Array* src, Py_ssize_t dim, Py_ssize_t index) noexcept nogil
cdef Array* slice_scatter(Array* a, Array* src, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) noexcept nogil
cdef Array* diagonal_scatter(Array* a, Array* src, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) noexcept nogil
cdef Array* as_strided_scatter(Array* a, Array* src, const IntList* sizes, const IntList* strides, Py_ssize_t storage_offset) noexcept nogil
