# Activation functions and their fused backward helpers ("Note [Kernels]"). Loops: activations.hpp.
#
# Only floating point, as in torch, but for relu and hardtanh. Numbers (slope, alpha, min, ...) are Arrays of one element.
# Backward helpers may write into grad's memory where nobody else sees it.

from cygrad._core.array cimport Array

cdef Array* relu(Array* a) noexcept nogil                                          # maximum(a, 0); NaN stays
cdef Array* relu_backward(Array* grad, Array* result) noexcept nogil               # grad where result > 0, else 0
cdef Array* threshold_backward(Array* grad, Array* a, Array* threshold) noexcept nogil     # 0 where a <= threshold, else grad
cdef Array* leaky_relu(Array* a, Array* negative_slope) noexcept nogil             # a where a > 0, else a * negative_slope
cdef Array* leaky_relu_backward(Array* grad, Array* a, Array* negative_slope) noexcept nogil   # grad where a > 0, else grad * negative_slope
cdef Array* elu(Array* a, Array* alpha, Array* scale, Array* input_scale) noexcept nogil       # a * scale where a > 0, else alpha * scale * expm1(a * input_scale)
# a > 0: grad * scale; else grad * input_scale * alpha * scale * exp(a * input_scale), or from the result: grad * input_scale * (a + alpha * scale)
cdef Array* elu_backward(Array* grad, Array* alpha, Array* scale, Array* input_scale, bint is_result, Array* self_or_result) noexcept nogil
cdef Array* gelu(Array* a, bint tanh) noexcept nogil                               # a * (1 + erf(a / sqrt(2))) / 2, or its approximation by tanh (arXiv:1606.08415)
cdef Array* gelu_backward(Array* grad, Array* a, bint tanh) noexcept nogil         # grad * d gelu / d a
cdef Array* silu(Array* a) noexcept nogil                                          # a * sigmoid(a)
cdef Array* silu_backward(Array* grad, Array* a) noexcept nogil                    # grad * conj(s * (1 + a * (1 - s))) with s = sigmoid(a)
cdef Array* softplus(Array* a, Array* beta, Array* threshold) noexcept nogil       # log1p(exp(a * beta)) / beta; a where a * beta > threshold
cdef Array* softplus_backward(Array* grad, Array* a, Array* beta, Array* threshold) noexcept nogil   # grad * sigmoid(a * beta); grad where a * beta > threshold
cdef Array* log_sigmoid(Array* a) noexcept nogil                                   # minimum(a, 0) - log1p(exp(-abs(a)))
cdef Array* log_sigmoid_backward(Array* grad, Array* a) noexcept nogil             # grad * sigmoid(-a)
cdef Array* hardtanh(Array* a, Array* min_val, Array* max_val) noexcept nogil      # clamp between two numbers; NaN stays
cdef Array* hardtanh_backward(Array* grad, Array* a, Array* min_val, Array* max_val) noexcept nogil  # grad where min_val < a < max_val, else 0
