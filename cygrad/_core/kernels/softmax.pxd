# softmax, log_softmax and the losses of classification and regression, each forward and backward in one pass ("Note [Kernels]"). Loops: softmax.hpp, losses.hpp.
#
# reduction: 0 none, 1 mean, 2 sum. Backward kernels of a reduced loss take a gradient of one element. float16 is computed in float32.

from cygrad._core.array cimport Array

# dtype: -1, or a floating point type that the input is cast to first
cdef Array* softmax(Array* a, Py_ssize_t dim, int dtype) noexcept nogil
cdef Array* log_softmax(Array* a, Py_ssize_t dim, int dtype) noexcept nogil
cdef Array* softmax_backward(Array* grad, Array* result, Py_ssize_t dim) noexcept nogil         # (grad - sum(grad * result, dim, keepdim)) * result
cdef Array* log_softmax_backward(Array* grad, Array* result, Py_ssize_t dim) noexcept nogil     # grad - exp(result) * sum(grad, dim, keepdim)

# input (N, C), (C) or (N, C, d1, ...), target (N), () or (N, d1, ...) of int64 or uint8, weight (C) or NULL.
# outs: the loss, and the total weight of the targets (0 for reduction none of a batch, as in torch)
cdef int nll_loss_forward(Array* a, Array* target, Array* weight, int reduction, Py_ssize_t ignore_index, Array** outs) noexcept nogil
cdef Array* nll_loss_backward(Array* grad, Array* a, Array* target, Array* weight, int reduction, Py_ssize_t ignore_index, Array* total_weight) noexcept nogil

cdef Array* mse_loss(Array* a, Array* target, int reduction) noexcept nogil
# 2 (a - target) grad [/ count]; of the broadcast shape; the target's is its negative
cdef Array* mse_loss_backward(Array* grad, Array* a, Array* target, int reduction) noexcept nogil

# (1 - t) x + (1 + (pos_weight - 1) t) softplus(-x), times weight; weight and pos_weight broadcast and may be NULL
cdef Array* binary_cross_entropy_with_logits(Array* a, Array* target, Array* weight, Array* pos_weight, int reduction) noexcept nogil
# of a: ((pos_weight t + 1 - t) sigmoid(x) - pos_weight t) weight grad [/ count]
cdef Array* binary_cross_entropy_with_logits_backward(Array* grad, Array* a, Array* target, Array* weight, Array* pos_weight, int reduction) noexcept nogil
