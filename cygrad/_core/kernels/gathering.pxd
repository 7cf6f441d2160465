# Gathering and scattering along one dimension: gather, scatter and its reductions, index_select, index_add, index_copy, index_fill; their backward.
#
# Positions are int64 or int32. In-place forms: Note [In-place kernels] in indexing.pxd. Values that are wrapped numbers are cast to the target's dtype, NULL is 0.

from cygrad._core.array cimport Array, IntList

cdef enum ScatterReduce:
    SCATTER_SET = 0
    SCATTER_ADD = 1
    SCATTER_MULTIPLY = 2
    SCATTER_MAXIMUM = 3
    SCATTER_MINIMUM = 4

cdef Array* gather(Array* a, Py_ssize_t dim, Array* index) noexcept nogil                                        # a's sizes may be larger than index's but in dim any
cdef Array* gather_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Array* index) noexcept nogil    # zeros(sizes).scatter_add(dim, index, grad)
cdef Array* scatter(Array* a, Py_ssize_t dim, Array* index, Array* src) noexcept nogil                          # src: a tensor, a wrapped number, or NULL
cdef int scatter_(Array* target, Py_ssize_t dim, Array* index, Array* src) noexcept nogil
cdef Array* scatter_add(Array* a, Py_ssize_t dim, Array* index, Array* src) noexcept nogil
cdef int scatter_add_(Array* target, Py_ssize_t dim, Array* index, Array* src) noexcept nogil
cdef Array* scatter_by(Array* a, Py_ssize_t dim, Array* index, Array* src, Py_ssize_t reduce) noexcept nogil     # reduce: ScatterReduce
cdef int scatter_by_(Array* target, Py_ssize_t dim, Array* index, Array* src, Py_ssize_t reduce) noexcept nogil

# The backward of whatever picks one element a lane (max, min, sort, topk, kthvalue, median, mode): zeros(sizes) with grad scattered to indices along dim;
# keepdim: grad and indices still have dim.
cdef Array* value_selecting_backward(Array* grad, Py_ssize_t dim, Array* indices, const IntList* sizes, bint keepdim) noexcept nogil

cdef Array* index_select(Array* a, Py_ssize_t dim, Array* index) noexcept nogil
cdef Array* index_select_backward(Array* grad, const IntList* sizes, Py_ssize_t dim, Array* index) noexcept nogil          # zeros(sizes).index_add(dim, index, grad)
cdef Array* index_add(Array* a, Py_ssize_t dim, Array* index, Array* source, Array* alpha) noexcept nogil                  # alpha: number; NULL: 1
cdef int index_add_(Array* target, Py_ssize_t dim, Array* index, Array* source, Array* alpha) noexcept nogil
cdef Array* index_copy(Array* a, Py_ssize_t dim, Array* index, Array* source) noexcept nogil
cdef int index_copy_(Array* target, Py_ssize_t dim, Array* index, Array* source) noexcept nogil
cdef Array* index_fill(Array* a, Py_ssize_t dim, Array* index, Array* value) noexcept nogil                                # value: 0-d
cdef int index_fill_(Array* target, Py_ssize_t dim, Array* index, Array* value) noexcept nogil
