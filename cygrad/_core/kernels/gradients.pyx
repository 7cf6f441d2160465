# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# distutils: depends = cygrad/_core/kernels/loops.hpp
# Fused backward helpers of the elementwise operations. Contract: gradients.pxd.

from libc.math cimport log
from libc.stdint cimport int64_t
from cygrad._core.array cimport Array, array_empty_like, array_incref, array_decref, scalar_int, scalar_double, scalar_complex, WRAPPED
from cygrad._core.dtypes cimport ITEMSIZE, INT64, COMPLEX64, FLOAT32, FLOAT64, is_complex_code, is_integral_code
from cygrad._core.kernels cimport half      # its C++ types, for the templates
from cygrad._core.kernels.apply cimport (
    Call, REUSE, apply2, apply3, apply4, call_reusing, fail_dtype, read_number)
from cygrad._core.kernels.chains cimport Chain, apply_chain
from cygrad._core.kernels.copy cimport convert_element
from cygrad._core.kernels.iterate cimport InnerLoop
from cygrad._core.kernels.ufuncs cimport UF_COS, UF_SIN, UF_COSH, UF_SINH, UF_EXP, sub
from cygrad._core.kernels cimport elementwise
from libc.string cimport memset

cdef extern from "gradients.hpp" nogil:
    InnerLoop tanh_loop "cygrad::floats2<cygrad::TanhBackward>"(int dtype) noexcept
    InnerLoop sigmoid_loop "cygrad::floats2<cygrad::SigmoidBackward>"(int dtype) noexcept
    InnerLoop sqrt_loop "cygrad::floats2<cygrad::SqrtBackward>"(int dtype) noexcept
    InnerLoop rsqrt_loop "cygrad::floats2<cygrad::RsqrtBackward>"(int dtype) noexcept
    InnerLoop reciprocal_loop "cygrad::floats2<cygrad::ReciprocalBackward>"(int dtype) noexcept
    InnerLoop exp2_loop "cygrad::floats2<cygrad::Exp2Backward>"(int dtype) noexcept
    InnerLoop expm1_loop "cygrad::floats2<cygrad::Expm1Backward>"(int dtype) noexcept
    InnerLoop tan_loop "cygrad::floats2<cygrad::TanBackward>"(int dtype) noexcept
    InnerLoop log1p_loop "cygrad::floats2<cygrad::Log1pBackward>"(int dtype) noexcept
    InnerLoop log2_loop "cygrad::floats2<cygrad::Log2Backward>"(int dtype) noexcept
    InnerLoop log10_loop "cygrad::floats2<cygrad::Log10Backward>"(int dtype) noexcept
    InnerLoop asin_loop "cygrad::floats2<cygrad::AsinBackward>"(int dtype) noexcept
    InnerLoop acos_loop "cygrad::floats2<cygrad::AcosBackward>"(int dtype) noexcept
    InnerLoop atan_loop "cygrad::floats2<cygrad::AtanBackward>"(int dtype) noexcept
    InnerLoop asinh_loop "cygrad::floats2<cygrad::AsinhBackward>"(int dtype) noexcept
    InnerLoop acosh_loop "cygrad::floats2<cygrad::AcoshBackward>"(int dtype) noexcept
    InnerLoop atanh_loop "cygrad::floats2<cygrad::AtanhBackward>"(int dtype) noexcept
    InnerLoop sinc_loop "cygrad::floats2<cygrad::SincBackward>"(int dtype) noexcept
    InnerLoop sign_times_loop "cygrad::real2<cygrad::SignTimes>"(int dtype) noexcept
    InnerLoop complex_abs_loop "cygrad::abs_backward_loop"(int dtype) noexcept
    InnerLoop complex_angle_loop "cygrad::angle_backward_loop"(int dtype) noexcept
    InnerLoop complex_sgn_loop "cygrad::complex2<cygrad::ComplexSgnBackward>"(int dtype) noexcept
    InnerLoop polar_abs_loop "cygrad::polar_abs_backward_loop"(int dtype) noexcept
    InnerLoop polar_angle_loop "cygrad::polar_angle_backward_loop"(int dtype) noexcept
    InnerLoop div_other_loop "cygrad::floats3<cygrad::DivOtherBackward>"(int dtype) noexcept
    InnerLoop maximum_loop "cygrad::real3<cygrad::MaximumBackward>"(int dtype) noexcept
    InnerLoop minimum_loop "cygrad::real3<cygrad::MinimumBackward>"(int dtype) noexcept
    InnerLoop fmax_self_loop "cygrad::real3<cygrad::FmaxSelfBackward>"(int dtype) noexcept
    InnerLoop fmax_other_loop "cygrad::real3<cygrad::FmaxOtherBackward>"(int dtype) noexcept
    InnerLoop fmin_self_loop "cygrad::real3<cygrad::FminSelfBackward>"(int dtype) noexcept
    InnerLoop fmin_other_loop "cygrad::real3<cygrad::FminOtherBackward>"(int dtype) noexcept
    InnerLoop atan2_self_loop "cygrad::real3<cygrad::Atan2SelfBackward>"(int dtype) noexcept
    InnerLoop atan2_other_loop "cygrad::real3<cygrad::Atan2OtherBackward>"(int dtype) noexcept
    InnerLoop hypot_loop "cygrad::real3<cygrad::HypotBackward>"(int dtype) noexcept
    InnerLoop copysign_loop "cygrad::real3<cygrad::CopysignBackward>"(int dtype) noexcept
    InnerLoop logaddexp_loop "cygrad::floats3<cygrad::LogaddexpBackward>"(int dtype) noexcept
    InnerLoop clamp_min_loop "cygrad::real3<cygrad::ClampMinBackward>"(int dtype) noexcept
    InnerLoop clamp_max_loop "cygrad::real3<cygrad::ClampMaxBackward>"(int dtype) noexcept
    InnerLoop less_loop "cygrad::real3<cygrad::LessPasses>"(int dtype) noexcept
    InnerLoop greater_loop "cygrad::real3<cygrad::GreaterPasses>"(int dtype) noexcept
    InnerLoop pow_base_loop "cygrad::floats3<cygrad::PowBaseBackward>"(int dtype) noexcept
    InnerLoop pow_exponent_loop "cygrad::floats4<cygrad::PowExponentBackward>"(int dtype) noexcept
    InnerLoop clamp_loop "cygrad::real4<cygrad::ClampBackward>"(int dtype) noexcept
    InnerLoop clamp_numbers_loop "cygrad::real2<cygrad::ClampNumbersBackward>"(int dtype) noexcept
    InnerLoop clamp_low_loop "cygrad::real4<cygrad::ClampLowBackward>"(int dtype) noexcept
    InnerLoop clamp_high_loop "cygrad::real4<cygrad::ClampHighBackward>"(int dtype) noexcept
    InnerLoop scaled_loop "cygrad::floats2<cygrad::ScaledBackward>"(int dtype) noexcept
    InnerLoop times_loop "cygrad::floats_chain2<cygrad::ChainTimes>"(int dtype) noexcept
    InnerLoop minus_loop "cygrad::floats_chain2<cygrad::ChainMinus>"(int dtype) noexcept
    InnerLoop erf_loop "cygrad::real_chain2<cygrad::ErfBackward>"(int dtype) noexcept
    InnerLoop erfc_loop "cygrad::real_chain2<cygrad::ErfcBackward>"(int dtype) noexcept
    InnerLoop erfinv_loop "cygrad::real_chain2<cygrad::ErfinvBackward>"(int dtype) noexcept


cdef Array* tanh_backward(Array* grad, Array* result) noexcept nogil:
    return apply2("tanh_backward", &tanh_loop, grad, result, NULL, REUSE)


cdef Array* sigmoid_backward(Array* grad, Array* result) noexcept nogil:
    return apply2("sigmoid_backward", &sigmoid_loop, grad, result, NULL, REUSE)


cdef Array* sqrt_backward(Array* grad, Array* result) noexcept nogil:
    return apply2("sqrt_backward", &sqrt_loop, grad, result, NULL, REUSE)


cdef Array* rsqrt_backward(Array* grad, Array* result) noexcept nogil:
    return apply2("rsqrt_backward", &rsqrt_loop, grad, result, NULL, REUSE)


cdef Array* reciprocal_backward(Array* grad, Array* result) noexcept nogil:
    return apply2("reciprocal_backward", &reciprocal_loop, grad, result, NULL, REUSE)


cdef Array* exp2_backward(Array* grad, Array* result) noexcept nogil:
    return apply2("exp2_backward", &exp2_loop, grad, result, NULL, REUSE)


cdef Array* expm1_backward(Array* grad, Array* result) noexcept nogil:
    return apply2("expm1_backward", &expm1_loop, grad, result, NULL, REUSE)


cdef Array* tan_backward(Array* grad, Array* result) noexcept nogil:
    return apply2("tan_backward", &tan_loop, grad, result, NULL, REUSE)


cdef Array* erfinv_backward(Array* grad, Array* result) noexcept nogil:
    return chained("erfinv_backward", &erfinv_loop, grad, result, UF_EXP)


cdef Array* log1p_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("log1p_backward", &log1p_loop, grad, a, NULL, REUSE)


cdef Array* log2_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("log2_backward", &log2_loop, grad, a, NULL, REUSE)


cdef Array* log10_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("log10_backward", &log10_loop, grad, a, NULL, REUSE)


ctypedef InnerLoop (*Find)(int dtype) noexcept nogil

cdef inline Array* chained(const char* name, Find find, Array* grad, Array* a, int uf) noexcept nogil:
    cdef Chain chain
    if grad == NULL or a == NULL:
        return NULL
    return apply_chain(name, find, grad, a, &chain, uf, -1, REUSE)


cdef Array* sin_backward(Array* grad, Array* a) noexcept nogil:
    return chained("sin_backward", &times_loop, grad, a, UF_COS)


cdef Array* cos_backward(Array* grad, Array* a) noexcept nogil:
    return chained("cos_backward", &minus_loop, grad, a, UF_SIN)


cdef Array* sinh_backward(Array* grad, Array* a) noexcept nogil:
    return chained("sinh_backward", &times_loop, grad, a, UF_COSH)


cdef Array* cosh_backward(Array* grad, Array* a) noexcept nogil:
    return chained("cosh_backward", &times_loop, grad, a, UF_SINH)


cdef Array* asin_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("asin_backward", &asin_loop, grad, a, NULL, REUSE)


cdef Array* acos_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("acos_backward", &acos_loop, grad, a, NULL, REUSE)


cdef Array* atan_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("atan_backward", &atan_loop, grad, a, NULL, REUSE)


cdef Array* asinh_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("asinh_backward", &asinh_loop, grad, a, NULL, REUSE)


cdef Array* acosh_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("acosh_backward", &acosh_loop, grad, a, NULL, REUSE)


cdef Array* atanh_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("atanh_backward", &atanh_loop, grad, a, NULL, REUSE)


cdef Array* erf_backward(Array* grad, Array* a) noexcept nogil:
    return chained("erf_backward", &erf_loop, grad, a, UF_EXP)


cdef Array* erfc_backward(Array* grad, Array* a) noexcept nogil:
    return chained("erfc_backward", &erfc_loop, grad, a, UF_EXP)


cdef Array* sinc_backward(Array* grad, Array* a) noexcept nogil:
    return apply2("sinc_backward", &sinc_loop, grad, a, NULL, REUSE)


cdef Array* zeros_backward(Array* grad) noexcept nogil:
    cdef Array* result
    if grad == NULL:
        return NULL
    result = array_empty_like(grad, grad.dtype)
    if result != NULL:
        memset(result.data, 0, result.numel * ITEMSIZE[result.dtype])      # fresh memory is dense
    return result


# A loop that reads dtypes of its own for the gradient and the other operand.
cdef Array* mixed(const char* name, Find find, int t, int grad_dtype, int result_dtype, Array* grad, Array* a) noexcept nogil:
    cdef Call c
    c.name = name
    c.inner = find(t)
    if c.inner == NULL:
        return fail_dtype(name, t)
    c.data = NULL
    c.n = 2
    c.operands[0] = grad
    c.operands[1] = a
    c.dtypes[0] = grad_dtype
    c.dtypes[1] = t
    c.dtypes[2] = c.result = result_dtype
    return call_reusing(&c)


cdef inline int real_part(int t) noexcept nogil:
    return FLOAT32 if t == COMPLEX64 else FLOAT64


cdef Array* abs_backward(Array* grad, Array* a) noexcept nogil:
    if grad == NULL or a == NULL:
        return NULL
    if not is_complex_code(a.dtype):
        return apply2("abs_backward", &sign_times_loop, grad, a, NULL, REUSE)
    return mixed("abs_backward", &complex_abs_loop, a.dtype, real_part(a.dtype), a.dtype, grad, a)


cdef Array* angle_backward(Array* grad, Array* a) noexcept nogil:
    if grad == NULL or a == NULL:
        return NULL
    if not is_complex_code(a.dtype):
        return zeros_backward(grad)
    return mixed("angle_backward", &complex_angle_loop, a.dtype, real_part(a.dtype), a.dtype, grad, a)


cdef Array* sgn_backward(Array* grad, Array* a) noexcept nogil:
    if grad == NULL or a == NULL:
        return NULL
    if not is_complex_code(a.dtype):
        return zeros_backward(grad)
    return apply2("sgn_backward", &complex_sgn_loop, grad, a, NULL, REUSE)


cdef Array* polar_backward_abs(Array* grad, Array* result) noexcept nogil:
    if grad == NULL or result == NULL:
        return NULL
    return mixed("polar_backward", &polar_abs_loop, result.dtype, result.dtype, real_part(result.dtype), grad, result)


cdef Array* polar_backward_angle(Array* grad, Array* result) noexcept nogil:
    if grad == NULL or result == NULL:
        return NULL
    return mixed("polar_backward", &polar_angle_loop, result.dtype, result.dtype, real_part(result.dtype), grad, result)


cdef Array* div_other_backward(Array* grad, Array* a, Array* other) noexcept nogil:
    return apply3("div_other_backward", &div_other_loop, grad, a, other, NULL, REUSE)


cdef Array* maximum_backward(Array* grad, Array* x, Array* other) noexcept nogil:
    return apply3("maximum_backward", &maximum_loop, grad, x, other, NULL, REUSE)


cdef Array* minimum_backward(Array* grad, Array* x, Array* other) noexcept nogil:
    return apply3("minimum_backward", &minimum_loop, grad, x, other, NULL, REUSE)


cdef Array* fmax_backward_self(Array* grad, Array* a, Array* other) noexcept nogil:
    return apply3("fmax_backward", &fmax_self_loop, grad, a, other, NULL, REUSE)


cdef Array* fmax_backward_other(Array* grad, Array* a, Array* other) noexcept nogil:
    return apply3("fmax_backward", &fmax_other_loop, grad, a, other, NULL, REUSE)


cdef Array* fmin_backward_self(Array* grad, Array* a, Array* other) noexcept nogil:
    return apply3("fmin_backward", &fmin_self_loop, grad, a, other, NULL, REUSE)


cdef Array* fmin_backward_other(Array* grad, Array* a, Array* other) noexcept nogil:
    return apply3("fmin_backward", &fmin_other_loop, grad, a, other, NULL, REUSE)


cdef Array* atan2_backward_self(Array* grad, Array* a, Array* other) noexcept nogil:
    return apply3("atan2_backward", &atan2_self_loop, grad, a, other, NULL, REUSE)


cdef Array* atan2_backward_other(Array* grad, Array* a, Array* other) noexcept nogil:
    return apply3("atan2_backward", &atan2_other_loop, grad, a, other, NULL, REUSE)


cdef Array* hypot_backward(Array* grad, Array* x, Array* result) noexcept nogil:
    return apply3("hypot_backward", &hypot_loop, grad, x, result, NULL, REUSE)


cdef Array* copysign_backward(Array* grad, Array* a, Array* result) noexcept nogil:
    return apply3("copysign_backward", &copysign_loop, grad, a, result, NULL, REUSE)


cdef Array* logaddexp_backward(Array* grad, Array* x, Array* other) noexcept nogil:
    return apply3("logaddexp_backward", &logaddexp_loop, grad, x, other, NULL, REUSE)


cdef Array* number_minus_one(Array* number) noexcept nogil:
    # of a 0-d Array, as a wrapped number: promotion stays that of the number
    cdef int64_t i
    cdef double[2] z
    if is_integral_code(number.dtype):
        convert_element(number.dtype, number.data, INT64, <char*>&i)
        return scalar_int(i - 1)
    if read_number("pow_backward", number, z) < 0:
        return NULL
    return scalar_complex(z[0] - 1, z[1]) if is_complex_code(number.dtype) else scalar_double(z[0] - 1)


cdef Array* pow_backward_self(Array* grad, Array* a, Array* exponent) noexcept nogil:
    cdef double[2] e
    cdef Array* less
    cdef Array* power
    cdef Array* result
    if grad == NULL or a == NULL or exponent == NULL:
        return NULL
    if exponent.ndim == 0 and exponent.flags & WRAPPED:
        if read_number("pow_backward", exponent, e) < 0:
            return NULL
        if e[1] == 0 and (e[0] == 0 or e[0] == 1):
            return zeros_backward(grad) if e[0] == 0 else array_incref(grad)
        if e[1] == 0 and e[0] == 2:
            return apply2("pow_backward", &scaled_loop, grad, a, e, REUSE)
        less = number_minus_one(exponent)
        power = elementwise.pow(a, less)
        result = apply2("pow_backward", &scaled_loop, grad, power, e, REUSE)
    else:
        power = scalar_int(1)
        less = sub(exponent, power)
        array_decref(power)
        power = elementwise.pow(a, less)
        result = apply3("pow_backward", &pow_base_loop, grad, exponent, power, NULL, REUSE)
    array_decref(power)
    array_decref(less)
    return result


cdef Array* pow_backward_exponent(Array* grad, Array* a, Array* exponent, Array* result) noexcept nogil:
    cdef double[2] base
    if grad == NULL or a == NULL or exponent == NULL or result == NULL:
        return NULL
    if a.ndim == 0 and not is_complex_code(a.dtype):
        if read_number("pow_backward", a, base) < 0:
            return NULL
        if base[0] > 0:
            base[0] = log(base[0])
            return apply2("pow_backward", &scaled_loop, grad, result, base, REUSE)
    return apply4("pow_backward", &pow_exponent_loop, grad, a, exponent, result, NULL, REUSE)


cdef Array* clamp_backward(Array* grad, Array* a, Array* min, Array* max) noexcept nogil:
    cdef double[4] p
    if min == NULL and max == NULL:
        return array_incref(grad)
    if min == NULL:
        return apply3("clamp_backward", &clamp_max_loop, grad, a, max, NULL, REUSE)
    if max == NULL:
        return apply3("clamp_backward", &clamp_min_loop, grad, a, min, NULL, REUSE)
    if min.flags & max.flags & WRAPPED:
        if read_number("clamp_backward", min, p) < 0 or read_number("clamp_backward", max, &p[2]) < 0:
            return NULL
        return apply2("clamp_backward", &clamp_numbers_loop, grad, a, p, REUSE)
    return apply4("clamp_backward", &clamp_loop, grad, a, min, max, NULL, REUSE)


cdef Array* clamp_backward_min(Array* grad, Array* a, Array* min, Array* max) noexcept nogil:
    if max == NULL:
        return apply3("clamp_backward", &less_loop, grad, a, min, NULL, REUSE)
    return apply4("clamp_backward", &clamp_low_loop, grad, a, min, max, NULL, REUSE)


cdef Array* clamp_backward_max(Array* grad, Array* a, Array* min, Array* max) noexcept nogil:
    if min == NULL:
        return apply3("clamp_backward", &greater_loop, grad, a, max, NULL, REUSE)
    return apply4("clamp_backward", &clamp_high_loop, grad, a, min, max, NULL, REUSE)
