# Indexing with tensors (x[i, :, j], x[mask]), its in-place form and backward.
#
# Indices come as `Array** indices, int n`: one entry a dimension of the indexed Array from the first on, NULL for a dimension taken whole; bool (and uint8)
# entries are masks, which stand for as many dimensions as they have; int64 and int32 entries are positions, negative ones count from the end.
# Result dimensions: those of the broadcast positions stand where the indexed dimensions stood if these are neighbours, else they come first (NumPy's rule).
#
# Note [In-place kernels]
# `name_(target, ...)` writes into target and returns 0, or -1 with an error recorded before anything is written. `name(a, ...)` does the same on a copy.

from cygrad._core.array cimport Array, IntList

cdef Array* index(Array* a, Array** indices, int n) noexcept nogil
cdef Array* index_region(Array* a, Array** indices, int n) noexcept nogil                                  # for its shape alone: as index, but nothing is read and no element means anything
cdef Array* index_backward(Array* grad, const IntList* sizes, Array** indices, int n) noexcept nogil       # zeros(sizes) with grad added at the places read
cdef Array* index_put(Array* a, Array** indices, int n, Array* values, bint accumulate) noexcept nogil      # values NULL: 0; a wrapped number is cast, other dtypes must match
cdef int index_put_(Array* target, Array** indices, int n, Array* values, bint accumulate) noexcept nogil

# Plan: where the elements lie. Result dims are `pre`, then the positions' dims, then `post`; offsets has one byte offset for every position.
cdef struct Plan:
    int ndim                     # of the result
    int n_pre
    int n_positions
    Py_ssize_t shape[64]         # of the result
    Py_ssize_t steps[64]         # strides of the pre and post dims in the indexed Array, at their place in the result (positions: unused)
    Py_ssize_t count             # positions
    Py_ssize_t* offsets
    Py_ssize_t small[16]

cdef int plan_init(Plan* p, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, Array** indices, int n) noexcept nogil    # -1: error recorded, nothing to free
cdef int plan_dim(Plan* p, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, int dim, Array* positions) noexcept nogil  # one dim, checked int64 positions that are contiguous
cdef void plan_free(Plan* p) noexcept nogil
cdef void plan_read(Plan* p, int itemsize, const char* source, char* result) noexcept nogil                                        # result: contiguous
cdef int plan_write(Plan* p, int dtype, char* target, const char* values, const Py_ssize_t* strides, bint add) noexcept nogil       # strides of values over the result's shape; -1: out of memory

# Positions in the flattened Array, int64 of any shape, negative ones from the end.
cdef Array* take(Array* a, Array* index) noexcept nogil                                                      # of the index's shape
cdef Array* take_backward(Array* grad, const IntList* sizes, Array* index) noexcept nogil
cdef int put_(Array* target, Array* index, Array* source, bint accumulate) noexcept nogil                    # as many elements of source as of index, in order
cdef Array* put(Array* a, Array* index, Array* source, bint accumulate) noexcept nogil
