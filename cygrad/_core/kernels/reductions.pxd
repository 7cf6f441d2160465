# Reductions over dims: sums, products, extrema, norms, variances, and their backward helpers ("Note [Kernels]").
#
# Common to all: `dims` may be negative; NULL or n == 0 means all dims; a dim twice is a RuntimeError, out of range an IndexError. float16 is computed in float32.
# The loops are in reduce.hpp ("Note [Reduction loops]"); dims of stride 0 (an expanded gradient) are multiplied, not walked.
# "expand(x)" below is expand_reduced(x, sizes of a, dims, keepdim).

from libc.stdint cimport uint64_t
from cygrad._core.array cimport Array, IntList

# dtype: -1 for the default (integers and bool sum to int64), else the input is cast to it first.
cdef Array* sum_dims(Array* a, const IntList* dims, bint keepdim, int dtype) noexcept nogil
cdef Array* nansum_dims(Array* a, const IntList* dims, bint keepdim, int dtype) noexcept nogil
cdef Array* mean_dims(Array* a, const IntList* dims, bint keepdim, int dtype) noexcept nogil
cdef Array* prod_dims(Array* a, const IntList* dims, bint keepdim, int dtype) noexcept nogil
# sums broadcast dims away; the Array itself (or a view) where nothing is to sum
cdef Array* sum_to(Array* a, const IntList* shape) noexcept nogil
# a view of `sizes` with stride 0 along dims
cdef Array* expand_reduced(Array* grad, const IntList* sizes, const IntList* dims, bint keepdim) noexcept nogil
cdef Array* mean_backward(Array* grad, const IntList* sizes, const IntList* dims, bint keepdim) noexcept nogil    # expand(grad / count); a view

cdef Array* amax(Array* a, const IntList* dims, bint keepdim) noexcept nogil
cdef Array* amin(Array* a, const IntList* dims, bint keepdim) noexcept nogil
cdef Array* max_all(Array* a) noexcept nogil                                    # max() without dim: amax, with an error message of its own
cdef Array* min_all(Array* a) noexcept nogil
# amax, amin: mask * expand(grad / sum(mask)) with mask = (a == expand(result)); nan where a row has none (a NaN result)
cdef Array* amax_backward(Array* grad, Array* a, Array* result, const IntList* dims, bint keepdim) noexcept nogil
# max(), min() without dim: the same, but a NaN result belongs to the NaNs of a. grad and result are 0-d.
cdef Array* evenly_distribute_backward(Array* grad, Array* a, Array* result) noexcept nogil

cdef Array* all_dims(Array* a, const IntList* dims, bint keepdim) noexcept nogil       # bool, uint8 for uint8 as in torch
cdef Array* any_dims(Array* a, const IntList* dims, bint keepdim) noexcept nogil
cdef Array* count_nonzero(Array* a, const IntList* dims) noexcept nogil                # int64

# correction: the divisor is count - correction (not below 0). Complex input gives real variances.
cdef Array* var(Array* a, const IntList* dims, double correction, bint keepdim) noexcept nogil
cdef Array* std(Array* a, const IntList* dims, double correction, bint keepdim) noexcept nogil
# expand(2 / (count - correction) * grad) * (a - mean(a))
cdef Array* var_backward(Array* grad, Array* a, const IntList* dims, double correction, bint keepdim) noexcept nogil
# var_backward of (result == 0 ? 0 : grad / (2 * result))
cdef Array* std_backward(Array* grad, Array* a, Array* result, const IntList* dims, double correction, bint keepdim) noexcept nogil

cdef Array* logsumexp(Array* a, const IntList* dims, bint keepdim) noexcept nogil
# expand(grad) * exp(a - expand(result))
cdef Array* logsumexp_backward(Array* grad, Array* a, Array* result, const IntList* dims, bint keepdim) noexcept nogil

# Vector norms of any order p (0, 1, 2, inf, -inf, other); dtype -1 or a floating point type that the input is cast to first.
cdef Array* vector_norm(Array* a, double p, const IntList* dims, bint keepdim, int dtype) noexcept nogil
# p = 0: 0. 1: sign(a) * expand(grad). 2: a * expand(grad / result), 0 where result is 0. inf, -inf: evenly over the elements that attain it.
# Others: sign(a) * |a|^(p-1) * expand(grad * result^(1-p)), 0 where a (p < 1) or result (p > 1) is 0.
cdef Array* norm_backward(Array* grad, Array* a, double p, Array* result, const IntList* dims, bint keepdim) noexcept nogil

# For the kernels of neighbouring modules
cdef inline bint all_of(const IntList* dims) noexcept nogil:
    return dims == NULL or dims.n == 0
# a bit for each dim of the list (n == 0: all); -1: bad dim, recorded
cdef int dims_mask(int ndim, const IntList* dims, uint64_t* mask) noexcept nogil
cdef Array* to_half(Array* a) noexcept nogil                                            # steals a float32 Array (NULL passes through), gives float16
