# Views: results that share their argument's memory under another geometry. Views of a part: slicing.pxd.
#
# A view that changes nothing may be the argument itself (count raised). Sizes, strides and offsets are in elements where they come as numbers of an
# operation (IntList), in bytes inside an Array.

from cygrad._core.array cimport Array, IntList

cdef Array* view_sizes(Array* a, const IntList* sizes) noexcept nogil        # torch's view: one size may be -1; RuntimeError where the strides do not allow it
cdef Array* reshape(Array* a, const IntList* sizes) noexcept nogil           # a view where the strides allow it, else a copy
cdef Array* flatten(Array* a, Py_ssize_t start_dim, Py_ssize_t end_dim) noexcept nogil
cdef Array* unflatten(Array* a, Py_ssize_t dim, const IntList* sizes) noexcept nogil
cdef Array* view_dtype(Array* a, int dtype) noexcept nogil                   # the same bytes as another dtype
cdef Array* view_as_real(Array* a) noexcept nogil
cdef Array* view_as_complex(Array* a) noexcept nogil

cdef Array* transpose(Array* a, Py_ssize_t dim0, Py_ssize_t dim1) noexcept nogil
cdef Array* t(Array* a) noexcept nogil
cdef Array* permute(Array* a, const IntList* dims) noexcept nogil
cdef Array* permute_inverse(Array* a, const IntList* dims) noexcept nogil    # undoes permute(dims): its backward
cdef Array* movedim(Array* a, const IntList* source, const IntList* destination) noexcept nogil
cdef Array* squeeze(Array* a) noexcept nogil
cdef Array* squeeze_dim(Array* a, Py_ssize_t dim) noexcept nogil
cdef Array* squeeze_dims(Array* a, const IntList* dims) noexcept nogil
cdef Array* unsqueeze(Array* a, Py_ssize_t dim) noexcept nogil
cdef Array* unsqueeze_dims(Array* a, const IntList* dims) noexcept nogil     # dims of the result; with it a reduced gradient gets its kept dims back
cdef Array* expand(Array* a, const IntList* sizes) noexcept nogil            # -1 keeps a size

# Geometry for other kernels: the strides (bytes) that view_sizes would use; 0, or -1 without an error recorded where there is no such view.
cdef int view_strides(Array* a, int ndim, const Py_ssize_t* shape, Py_ssize_t* strides) noexcept nogil
cdef int infer_sizes(Array* a, const IntList* sizes, Py_ssize_t* shape) noexcept nogil     # replaces -1; -1: error recorded
cdef void contiguous_strides(Py_ssize_t itemsize, int ndim, const Py_ssize_t* shape, Py_ssize_t* strides) noexcept nogil

cdef Array* alias(Array* a) noexcept nogil                                   # the same geometry under a header of its own
