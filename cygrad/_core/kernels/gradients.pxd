# Fused backward helpers of the elementwise operations: one pass over memory where a composition would take several ("Note [Kernels]").
# Loops: gradients.hpp. Those of activation functions: activations.pxd. Each comment is the formula that the helper computes.
#
# All may write into grad's memory where nobody else sees it. Results have the broadcast shape of the arguments.

from cygrad._core.array cimport Array

# From the result of the forward operation
cdef Array* tanh_backward(Array* grad, Array* result) noexcept nogil             # grad * conj(1 - result * result)
cdef Array* sigmoid_backward(Array* grad, Array* result) noexcept nogil          # grad * conj((1 - result) * result)
cdef Array* sqrt_backward(Array* grad, Array* result) noexcept nogil             # grad / (2 * conj(result))
cdef Array* rsqrt_backward(Array* grad, Array* result) noexcept nogil            # -0.5 * grad * conj(result * result * result)
cdef Array* reciprocal_backward(Array* grad, Array* result) noexcept nogil       # -grad * conj(result * result)
cdef Array* exp2_backward(Array* grad, Array* result) noexcept nogil             # grad * conj(result) * log(2)
cdef Array* expm1_backward(Array* grad, Array* result) noexcept nogil            # grad * conj(result + 1)
cdef Array* tan_backward(Array* grad, Array* result) noexcept nogil              # grad * conj(1 + result * result)
cdef Array* erfinv_backward(Array* grad, Array* result) noexcept nogil           # grad * sqrt(pi) / 2 * exp(result * result)

# From the input
cdef Array* log1p_backward(Array* grad, Array* a) noexcept nogil                 # grad / conj(a + 1)
cdef Array* log2_backward(Array* grad, Array* a) noexcept nogil                  # grad / (conj(a) * log(2))
cdef Array* log10_backward(Array* grad, Array* a) noexcept nogil                 # grad / (conj(a) * log(10))
cdef Array* sin_backward(Array* grad, Array* a) noexcept nogil                   # grad * conj(cos(a))
cdef Array* cos_backward(Array* grad, Array* a) noexcept nogil                   # -grad * conj(sin(a))
cdef Array* sinh_backward(Array* grad, Array* a) noexcept nogil                  # grad * conj(cosh(a))
cdef Array* cosh_backward(Array* grad, Array* a) noexcept nogil                  # grad * conj(sinh(a))
cdef Array* asin_backward(Array* grad, Array* a) noexcept nogil                  # grad * conj(rsqrt(1 - a * a))
cdef Array* acos_backward(Array* grad, Array* a) noexcept nogil                  # -grad * conj(rsqrt(1 - a * a))
cdef Array* atan_backward(Array* grad, Array* a) noexcept nogil                  # grad / conj(a * a + 1)
cdef Array* asinh_backward(Array* grad, Array* a) noexcept nogil                 # grad * conj(rsqrt(a * a + 1))
cdef Array* acosh_backward(Array* grad, Array* a) noexcept nogil                 # grad * conj(rsqrt(a * a - 1))
cdef Array* atanh_backward(Array* grad, Array* a) noexcept nogil                 # grad / (1 - conj(a * a))
cdef Array* erf_backward(Array* grad, Array* a) noexcept nogil                   # grad * 2 / sqrt(pi) * exp(-a * a)
cdef Array* erfc_backward(Array* grad, Array* a) noexcept nogil                  # -grad * 2 / sqrt(pi) * exp(-a * a)
cdef Array* sinc_backward(Array* grad, Array* a) noexcept nogil                  # grad * conj((cos(pi * a) - sinc(a)) / a), 0 where a == 0
cdef Array* abs_backward(Array* grad, Array* a) noexcept nogil                   # grad * sgn(a); grad is real
cdef Array* angle_backward(Array* grad, Array* a) noexcept nogil                 # complex: grad * 1j * a / (abs(a) * abs(a)), 0 where a == 0; real: zeros
cdef Array* sgn_backward(Array* grad, Array* a) noexcept nogil                   # complex: grad / abs(a) - real(grad / a) * sgn(a), 0 where a == 0; real: zeros
cdef Array* zeros_backward(Array* grad) noexcept nogil                           # zeros like grad

# Of two inputs. x is the input whose gradient this is where the formula is the same for both: maximum_backward(grad, self, other), then (grad, other, self).
cdef Array* div_other_backward(Array* grad, Array* a, Array* other) noexcept nogil          # -grad * conj((a / other) / other)
cdef Array* pow_backward_self(Array* grad, Array* a, Array* exponent) noexcept nogil        # grad * conj(exponent * a ** (exponent - 1)), 0 where exponent == 0
# grad * conj(result * log(a)), 0 where a == 0 and real(exponent) >= 0
cdef Array* pow_backward_exponent(Array* grad, Array* a, Array* exponent, Array* result) noexcept nogil
cdef Array* maximum_backward(Array* grad, Array* x, Array* other) noexcept nogil            # grad / 2 where x == other, 0 where x < other, else grad
cdef Array* minimum_backward(Array* grad, Array* x, Array* other) noexcept nogil            # grad / 2 where x == other, 0 where x > other, else grad
cdef Array* fmax_backward_self(Array* grad, Array* a, Array* other) noexcept nogil          # grad where a >= other or isnan(other), else 0
cdef Array* fmax_backward_other(Array* grad, Array* a, Array* other) noexcept nogil         # 0 where a >= other or isnan(other), else grad
cdef Array* fmin_backward_self(Array* grad, Array* a, Array* other) noexcept nogil          # grad where a <= other or isnan(other), else 0
cdef Array* fmin_backward_other(Array* grad, Array* a, Array* other) noexcept nogil         # 0 where a <= other or isnan(other), else grad
cdef Array* atan2_backward_self(Array* grad, Array* a, Array* other) noexcept nogil         # grad * other / (a * a + other * other), 0 at the origin
cdef Array* atan2_backward_other(Array* grad, Array* a, Array* other) noexcept nogil        # -grad * a / (a * a + other * other), 0 at the origin
cdef Array* hypot_backward(Array* grad, Array* x, Array* result) noexcept nogil             # grad * (x / result)
cdef Array* copysign_backward(Array* grad, Array* a, Array* result) noexcept nogil          # grad * (result / a), 0 where a == 0
cdef Array* logaddexp_backward(Array* grad, Array* x, Array* other) noexcept nogil          # grad / conj(1 + exp(other - x))
cdef Array* polar_backward_abs(Array* grad, Array* result) noexcept nogil                   # real(grad * conj(sgn(result)))
cdef Array* polar_backward_angle(Array* grad, Array* result) noexcept nogil                 # real(grad * conj(1j * result))

# min and max may be NULL (no bound)
cdef Array* clamp_backward(Array* grad, Array* a, Array* min, Array* max) noexcept nogil    # grad where a >= min and a <= max, else 0
cdef Array* clamp_backward_min(Array* grad, Array* a, Array* min, Array* max) noexcept nogil    # grad where a < min (and min < max), else 0
cdef Array* clamp_backward_max(Array* grad, Array* a, Array* min, Array* max) noexcept nogil    # grad where a > max (or max < min), else 0
