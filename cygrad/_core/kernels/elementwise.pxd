# Elementwise operations by torch's names: arithmetic, functions, comparisons, logic, selection ("Note [Kernels]"). Loops: NumPy's (ufuncs.pxd), or
# elementwise.hpp. add, sub, mul, div and neg are in ufuncs.pxd, erf, lgamma and their like in special.pxd, activation functions in activations.pxd,
# backward helpers in gradients.pxd.
#
# Promotion is torch's: functions turn integers and bool into the default dtype; what torch has not for a dtype is a NotImplementedError
# "not implemented for 'Bool'". Numbers are Arrays of one element.

from cygrad._core.array cimport Array

# Arithmetic
cdef Array* positive(Array* a) noexcept nogil                                     # the Array itself; RuntimeError for bool
cdef Array* abs(Array* a) noexcept nogil                                          # complex: real magnitude
cdef Array* sign(Array* a) noexcept nogil                                         # NaN gives 0; NotImplementedError for complex
cdef Array* sgn(Array* a) noexcept nogil                                          # complex: a / abs(a), 0 at 0
cdef Array* reciprocal(Array* a) noexcept nogil
cdef Array* square(Array* a) noexcept nogil
cdef Array* sqrt(Array* a) noexcept nogil
cdef Array* rsqrt(Array* a) noexcept nogil
cdef Array* floor(Array* a) noexcept nogil
cdef Array* ceil(Array* a) noexcept nogil
cdef Array* trunc(Array* a) noexcept nogil
cdef Array* frac(Array* a) noexcept nogil                                         # a - trunc(a)
cdef Array* round(Array* a) noexcept nogil                                        # halves to even
cdef Array* round_decimals(Array* a, Py_ssize_t decimals) noexcept nogil
cdef Array* add_alpha(Array* a, Array* b, Array* alpha) noexcept nogil            # a + alpha * b; alpha takes no part in promotion
cdef Array* sub_alpha(Array* a, Array* b, Array* alpha) noexcept nogil            # a - alpha * b
cdef Array* div_floor(Array* a, Array* b) noexcept nogil                          # integers by zero: RuntimeError "ZeroDivisionError"
cdef Array* div_trunc(Array* a, Array* b) noexcept nogil
cdef Array* floor_divide(Array* a, Array* b) noexcept nogil
cdef Array* remainder(Array* a, Array* b) noexcept nogil                          # sign of b
cdef Array* fmod(Array* a, Array* b) noexcept nogil                               # sign of a
cdef Array* pow(Array* a, Array* b) noexcept nogil                                # integers to a negative number: RuntimeError
cdef int add_alpha_(Array* target, Array* other, Array* alpha) noexcept nogil     # these in place, as add_ of ufuncs.pxd
cdef int sub_alpha_(Array* target, Array* other, Array* alpha) noexcept nogil
cdef int addcmul_(Array* target, Array* tensor1, Array* tensor2, Array* value) noexcept nogil
cdef int addcdiv_(Array* target, Array* tensor1, Array* tensor2, Array* value) noexcept nogil
cdef int lerp_(Array* target, Array* end, Array* weight) noexcept nogil
cdef Array* addcmul(Array* a, Array* tensor1, Array* tensor2, Array* value) noexcept nogil      # a + value * tensor1 * tensor2
cdef Array* addcdiv(Array* a, Array* tensor1, Array* tensor2, Array* value) noexcept nogil      # a + value * tensor1 / tensor2
cdef Array* lerp(Array* a, Array* end, Array* weight) noexcept nogil              # a + weight * (end - a)
cdef Array* clamp(Array* a, Array* min, Array* max) noexcept nogil                # a bound may be NULL, not both; NaN is passed on
cdef Array* clamp_min(Array* a, Array* min) noexcept nogil
cdef Array* clamp_max(Array* a, Array* max) noexcept nogil
cdef Array* maximum(Array* a, Array* b) noexcept nogil                            # NaN is passed on
cdef Array* minimum(Array* a, Array* b) noexcept nogil
cdef Array* fmax(Array* a, Array* b) noexcept nogil                               # NaN loses
cdef Array* fmin(Array* a, Array* b) noexcept nogil
cdef Array* hypot(Array* a, Array* b) noexcept nogil
cdef Array* copysign(Array* a, Array* b) noexcept nogil
cdef Array* atan2(Array* a, Array* b) noexcept nogil
cdef Array* logaddexp(Array* a, Array* b) noexcept nogil

# Functions
cdef Array* exp(Array* a) noexcept nogil
cdef Array* exp2(Array* a) noexcept nogil
cdef Array* expm1(Array* a) noexcept nogil
cdef Array* log(Array* a) noexcept nogil
cdef Array* log2(Array* a) noexcept nogil
cdef Array* log10(Array* a) noexcept nogil
cdef Array* log1p(Array* a) noexcept nogil
cdef Array* sin(Array* a) noexcept nogil
cdef Array* cos(Array* a) noexcept nogil
cdef Array* tan(Array* a) noexcept nogil
cdef Array* asin(Array* a) noexcept nogil
cdef Array* acos(Array* a) noexcept nogil
cdef Array* atan(Array* a) noexcept nogil
cdef Array* sinh(Array* a) noexcept nogil
cdef Array* cosh(Array* a) noexcept nogil
cdef Array* tanh(Array* a) noexcept nogil
cdef Array* asinh(Array* a) noexcept nogil
cdef Array* acosh(Array* a) noexcept nogil
cdef Array* atanh(Array* a) noexcept nogil
cdef Array* sigmoid(Array* a) noexcept nogil                                      # 1 / (1 + exp(-a))
cdef Array* sinc(Array* a) noexcept nogil                                         # sin(pi * a) / (pi * a), 1 at 0

# Complex numbers
cdef Array* real(Array* a) noexcept nogil                                         # a view; of real numbers the Array itself
cdef Array* imag(Array* a) noexcept nogil                                         # a view; RuntimeError for real numbers
cdef Array* conj(Array* a) noexcept nogil                                         # of real numbers the Array itself
cdef Array* angle(Array* a) noexcept nogil                                        # real numbers: 0 or pi, NaN for NaN
cdef Array* complex_(Array* real, Array* imag) noexcept nogil                     # of two float32 or float64 Arrays of one dtype
cdef Array* polar(Array* abs, Array* angle) noexcept nogil

# Comparison and logic: results are bool
cdef Array* eq(Array* a, Array* b) noexcept nogil
cdef Array* ne(Array* a, Array* b) noexcept nogil
cdef Array* lt(Array* a, Array* b) noexcept nogil
cdef Array* le(Array* a, Array* b) noexcept nogil
cdef Array* gt(Array* a, Array* b) noexcept nogil
cdef Array* ge(Array* a, Array* b) noexcept nogil
cdef Array* isnan(Array* a) noexcept nogil
cdef Array* isinf(Array* a) noexcept nogil
cdef Array* isfinite(Array* a) noexcept nogil
cdef Array* isposinf(Array* a) noexcept nogil
cdef Array* isneginf(Array* a) noexcept nogil
cdef Array* signbit(Array* a) noexcept nogil
cdef Array* isclose(Array* a, Array* b, double rtol, double atol, bint equal_nan) noexcept nogil     # abs(a - b) <= atol + rtol * abs(b); one dtype
cdef int equal(Array* a, Array* b) noexcept nogil                                 # same shape and all elements equal, whatever the dtypes: 1 or 0; -1 with an error recorded
cdef Array* logical_and(Array* a, Array* b) noexcept nogil
cdef Array* logical_or(Array* a, Array* b) noexcept nogil
cdef Array* logical_xor(Array* a, Array* b) noexcept nogil
cdef Array* logical_not(Array* a) noexcept nogil
cdef Array* bitwise_and(Array* a, Array* b) noexcept nogil                        # integers and bool keep their dtype
cdef Array* bitwise_or(Array* a, Array* b) noexcept nogil
cdef Array* bitwise_xor(Array* a, Array* b) noexcept nogil
cdef Array* bitwise_not(Array* a) noexcept nogil
cdef Array* bitwise_left_shift(Array* a, Array* b) noexcept nogil
cdef Array* bitwise_right_shift(Array* a, Array* b) noexcept nogil

# Selection
cdef Array* where(Array* condition, Array* a, Array* b) noexcept nogil            # condition: bool or uint8
cdef Array* xlogy(Array* a, Array* b) noexcept nogil                              # a * log(b); 0 where a is 0 and b no NaN
cdef Array* ldexp(Array* a, Array* b) noexcept nogil                              # a * 2 ** b, in a's dtype where b is of integers
cdef Array* heaviside(Array* a, Array* values) noexcept nogil                     # 0 below 0, 1 above, values at 0; NaN gives 0
cdef int masked_fill_(Array* target, Array* mask, Array* value) noexcept nogil    # writes the target, which may be expanded memory
cdef Array* masked_fill(Array* a, Array* mask, Array* value) noexcept nogil       # mask: bool; value: 0-d; the dtype stays a's
cdef Array* nan_to_num(Array* a, Array* nan, Array* posinf, Array* neginf) noexcept nogil    # NULL: 0, the largest and the lowest finite number
