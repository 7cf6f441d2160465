# Elementwise operations by torch's names: arithmetic, functions, comparisons, logic ("Note [Kernels]"). Loops: NumPy's (ufuncs.pxd), or
# elementwise.hpp. add, sub, mul, div and neg are in ufuncs.pxd, erf, lgamma and their like in special.pxd, activation functions in activations.pxd,
# where, clamp and their like in selection.pxd, parts of complex numbers in complex_parts.pxd, what is composed of these kernels in composed.pxd, backward
# helpers in gradients.pxd.
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
