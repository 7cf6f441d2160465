# Operations that go along one dim in order: running sums and products, positions of extrema, and their backward helpers ("Note [Kernels]").
# Also the gradient of a product, which is made of running products. Loops: scan.hpp. A 0-d tensor counts as one row of one element.

from cygrad._core.array cimport Array, IntList

# dtype: -1 for the default (integers and bool give int64), else the input is cast to it first
cdef Array* cumsum(Array* a, Py_ssize_t dim, int dtype) noexcept nogil
cdef Array* cumprod(Array* a, Py_ssize_t dim, int dtype) noexcept nogil
cdef Array* cumsum_backward(Array* grad, Py_ssize_t dim) noexcept nogil                          # flip(cumsum(flip(grad)))
# sum over j >= i of grad[j] conj(prod over k <= j, k != i, of a[k]); right with zeros
cdef Array* cumprod_backward(Array* grad, Array* a, Py_ssize_t dim) noexcept nogil
# grad (expanded) * conj(product of the other elements); right with zeros
cdef Array* prod_backward(Array* grad, Array* a, const IntList* dims, bint keepdim) noexcept nogil

# The first position on ties, NaN before all else. dims: one dim, or none for the position in the flattened tensor. int64.
cdef Array* argmax(Array* a, const IntList* dims, bint keepdim) noexcept nogil
cdef Array* argmin(Array* a, const IntList* dims, bint keepdim) noexcept nogil
# outs: values and indices along dim
cdef int max_dim(Array* a, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil
cdef int min_dim(Array* a, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil
