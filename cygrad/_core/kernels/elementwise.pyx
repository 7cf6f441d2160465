# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# distutils: depends = cygrad/_core/kernels/loops.hpp
# Elementwise operations by name. Contract: elementwise.pxd.

from libc.math cimport pow as power_of
from cygrad._core.array cimport Array, array_empty_like, array_incref, array_decref, result_dtype, scalar_int, WRAPPED
from cygrad._core.dtypes cimport BOOL, INT64, FLOAT16, is_complex_code, is_integral_code, dtype_cname
from cygrad._core.errors cimport fail, fail_s, ERR_RUNTIME, ERR_NOT_IMPLEMENTED
from cygrad._core.kernels cimport half      # its C++ types, for the templates
from cygrad._core.kernels.apply cimport PLAIN, TO_FLOAT, apply1, apply2, apply_converting, apply2_out, apply3_out, common_dtype, fail_dtype, read_number
from cygrad._core.kernels.chains cimport Chain, apply_chain
from cygrad._core.kernels.copy cimport cast, clone, fill, check_value
from cygrad._core.kernels.iterate cimport InnerLoop
from cygrad._core.kernels.ufuncs cimport *

cdef extern from "elementwise.hpp" nogil:
    InnerLoop rsqrt_loop "cygrad::floats1<cygrad::Rsqrt>"(int dtype) noexcept
    InnerLoop frac_loop "cygrad::real1<cygrad::Frac>"(int dtype) noexcept
    InnerLoop cube_loop "cygrad::floats1<cygrad::Cube>"(int dtype) noexcept
    InnerLoop inverse_square_loop "cygrad::floats1<cygrad::InverseSquare>"(int dtype) noexcept
    InnerLoop isposinf_loop "cygrad::to_bool1<cygrad::IsPositiveInfinity>"(int dtype) noexcept
    InnerLoop isneginf_loop "cygrad::to_bool1<cygrad::IsNegativeInfinity>"(int dtype) noexcept
    InnerLoop round_decimals_loop "cygrad::real1<cygrad::RoundDecimals>"(int dtype) noexcept
    InnerLoop div_trunc_loop "cygrad::ordered2<cygrad::DivTrunc>"(int dtype) noexcept
    InnerLoop add_alpha_loop "cygrad::floats2<cygrad::AddAlpha>"(int dtype) noexcept
    InnerLoop addcmul_loop "cygrad::floats3<cygrad::Addcmul>"(int dtype) noexcept
    InnerLoop addcdiv_loop "cygrad::floats3<cygrad::Addcdiv>"(int dtype) noexcept
    InnerLoop lerp_loop "cygrad::floats2<cygrad::Lerp>"(int dtype) noexcept
    InnerLoop lerp_tensor_loop "cygrad::floats3<cygrad::LerpTensor>"(int dtype) noexcept
    InnerLoop sinc_loop "cygrad::floats_chain1<cygrad::Sinc>"(int dtype) noexcept
    InnerLoop sigmoid_loop "cygrad::floats_chain1<cygrad::Sigmoid>"(int dtype) noexcept


# --- Straight through NumPy's loops ---------------------------------------------------------------------------------------------------------------

cdef Array* abs(Array* a) noexcept nogil:
    return unary(UF_ABS, a, NULL)


cdef Array* sgn(Array* a) noexcept nogil:
    return unary(UF_SIGN, a, NULL)


cdef Array* floor(Array* a) noexcept nogil:
    return unary(UF_FLOOR, a, NULL)


cdef Array* ceil(Array* a) noexcept nogil:
    return unary(UF_CEIL, a, NULL)


cdef Array* trunc(Array* a) noexcept nogil:
    return unary(UF_TRUNC, a, NULL)


cdef Array* round(Array* a) noexcept nogil:
    return unary(UF_RINT, a, NULL)


cdef Array* isnan(Array* a) noexcept nogil:
    return unary(UF_ISNAN, a, NULL)


cdef Array* isinf(Array* a) noexcept nogil:
    return unary(UF_ISINF, a, NULL)


cdef Array* isfinite(Array* a) noexcept nogil:
    return unary(UF_ISFINITE, a, NULL)


cdef Array* signbit(Array* a) noexcept nogil:
    return unary(UF_SIGNBIT, a, NULL)


cdef Array* logical_not(Array* a) noexcept nogil:
    return unary(UF_LOGICAL_NOT, a, NULL)


cdef Array* bitwise_not(Array* a) noexcept nogil:
    return unary(UF_INVERT, a, NULL)


cdef Array* reciprocal(Array* a) noexcept nogil:
    return unary_float(UF_RECIPROCAL, a, NULL)


cdef Array* sqrt(Array* a) noexcept nogil:
    return unary_float(UF_SQRT, a, NULL)


cdef Array* exp(Array* a) noexcept nogil:
    return unary_float(UF_EXP, a, NULL)


cdef Array* exp2(Array* a) noexcept nogil:
    return unary_float(UF_EXP2, a, NULL)


cdef Array* expm1(Array* a) noexcept nogil:
    return unary_float(UF_EXPM1, a, NULL)


cdef Array* log(Array* a) noexcept nogil:
    return unary_float(UF_LOG, a, NULL)


cdef Array* log2(Array* a) noexcept nogil:
    return unary_float(UF_LOG2, a, NULL)


cdef Array* log10(Array* a) noexcept nogil:
    return unary_float(UF_LOG10, a, NULL)


cdef Array* log1p(Array* a) noexcept nogil:
    return unary_float(UF_LOG1P, a, NULL)


cdef Array* sin(Array* a) noexcept nogil:
    return unary_float(UF_SIN, a, NULL)


cdef Array* cos(Array* a) noexcept nogil:
    return unary_float(UF_COS, a, NULL)


cdef Array* tan(Array* a) noexcept nogil:
    return unary_float(UF_TAN, a, NULL)


cdef Array* asin(Array* a) noexcept nogil:
    return unary_float(UF_ASIN, a, NULL)


cdef Array* acos(Array* a) noexcept nogil:
    return unary_float(UF_ACOS, a, NULL)


cdef Array* atan(Array* a) noexcept nogil:
    return unary_float(UF_ATAN, a, NULL)


cdef Array* sinh(Array* a) noexcept nogil:
    return unary_float(UF_SINH, a, NULL)


cdef Array* cosh(Array* a) noexcept nogil:
    return unary_float(UF_COSH, a, NULL)


cdef Array* tanh(Array* a) noexcept nogil:
    return unary_float(UF_TANH, a, NULL)


cdef Array* asinh(Array* a) noexcept nogil:
    return unary_float(UF_ASINH, a, NULL)


cdef Array* acosh(Array* a) noexcept nogil:
    return unary_float(UF_ACOSH, a, NULL)


cdef Array* atanh(Array* a) noexcept nogil:
    return unary_float(UF_ATANH, a, NULL)


cdef Array* floor_divide(Array* a, Array* b) noexcept nogil:
    return binary(UF_FLOOR_DIVIDE, a, b, NULL)


cdef Array* div_floor(Array* a, Array* b) noexcept nogil:
    return binary(UF_FLOOR_DIVIDE, a, b, NULL)


cdef Array* remainder(Array* a, Array* b) noexcept nogil:
    return binary(UF_REMAINDER, a, b, NULL)


cdef Array* fmod(Array* a, Array* b) noexcept nogil:
    return binary(UF_FMOD, a, b, NULL)


cdef Array* maximum(Array* a, Array* b) noexcept nogil:
    return binary(UF_MAXIMUM, a, b, NULL)


cdef Array* minimum(Array* a, Array* b) noexcept nogil:
    return binary(UF_MINIMUM, a, b, NULL)


cdef Array* fmax(Array* a, Array* b) noexcept nogil:
    return binary(UF_FMAX, a, b, NULL)


cdef Array* fmin(Array* a, Array* b) noexcept nogil:
    return binary(UF_FMIN, a, b, NULL)


cdef Array* hypot(Array* a, Array* b) noexcept nogil:
    return binary(UF_HYPOT, a, b, NULL)


cdef Array* logaddexp(Array* a, Array* b) noexcept nogil:
    return binary(UF_LOGADDEXP, a, b, NULL)


cdef Array* eq(Array* a, Array* b) noexcept nogil:
    return binary(UF_EQ, a, b, NULL)


cdef Array* ne(Array* a, Array* b) noexcept nogil:
    return binary(UF_NE, a, b, NULL)


cdef Array* lt(Array* a, Array* b) noexcept nogil:
    return binary(UF_LT, a, b, NULL)


cdef Array* le(Array* a, Array* b) noexcept nogil:
    return binary(UF_LE, a, b, NULL)


cdef Array* gt(Array* a, Array* b) noexcept nogil:
    return binary(UF_GT, a, b, NULL)


cdef Array* ge(Array* a, Array* b) noexcept nogil:
    return binary(UF_GE, a, b, NULL)


cdef Array* logical_and(Array* a, Array* b) noexcept nogil:
    return binary(UF_LOGICAL_AND, a, b, NULL)


cdef Array* logical_or(Array* a, Array* b) noexcept nogil:
    return binary(UF_LOGICAL_OR, a, b, NULL)


cdef Array* logical_xor(Array* a, Array* b) noexcept nogil:
    return binary(UF_LOGICAL_XOR, a, b, NULL)


cdef Array* bitwise_and(Array* a, Array* b) noexcept nogil:
    return binary(UF_BITWISE_AND, a, b, NULL)


cdef Array* bitwise_or(Array* a, Array* b) noexcept nogil:
    return binary(UF_BITWISE_OR, a, b, NULL)


cdef Array* bitwise_xor(Array* a, Array* b) noexcept nogil:
    return binary(UF_BITWISE_XOR, a, b, NULL)


cdef Array* bitwise_left_shift(Array* a, Array* b) noexcept nogil:
    return binary(UF_LEFT_SHIFT, a, b, NULL)


cdef Array* bitwise_right_shift(Array* a, Array* b) noexcept nogil:
    return binary(UF_RIGHT_SHIFT, a, b, NULL)


cdef Array* copysign(Array* a, Array* b) noexcept nogil:
    return binary_float(UF_COPYSIGN, a, b, NULL)


cdef Array* atan2(Array* a, Array* b) noexcept nogil:
    return binary_float(UF_ATAN2, a, b, NULL)


# --- Arithmetic -----------------------------------------------------------------------------------------------------------------------------------

cdef Array* positive(Array* a) noexcept nogil:
    if a != NULL and a.dtype == BOOL:
        fail(ERR_RUNTIME, "positive: The `+` operator, on a bool tensor is not supported; convert it to a number type first")
        return NULL
    return array_incref(a)


cdef Array* sign(Array* a) noexcept nogil:
    if a != NULL and is_complex_code(a.dtype):
        fail(ERR_NOT_IMPLEMENTED, "sign: Unlike NumPy, sign is not intended to support complex numbers (not implemented for complex); use sgn instead")
        return NULL
    return unary(UF_SIGN, a, NULL)


cdef Array* square(Array* a) noexcept nogil:
    cdef Array* wide
    cdef Array* result
    if a != NULL and a.dtype == BOOL:
        wide = cast(a, INT64)
        result = unary(UF_SQUARE, wide, NULL)
        array_decref(wide)
        return result
    return unary(UF_SQUARE, a, NULL)


cdef Array* rsqrt(Array* a) noexcept nogil:
    return apply1("rsqrt", &rsqrt_loop, a, NULL, TO_FLOAT)


cdef Array* frac(Array* a) noexcept nogil:
    return apply1("frac", &frac_loop, a, NULL, PLAIN)


cdef Array* round_decimals(Array* a, Py_ssize_t decimals) noexcept nogil:
    cdef double[2] p
    p[0] = <double>decimals
    p[1] = power_of(10, <double>(-decimals if decimals < 0 else decimals))
    return apply1("round", &round_decimals_loop, a, p, PLAIN)


cdef Array* scaled_addition(const char* name, Array* a, Array* b, Array* alpha, bint minus, Array* out) noexcept nogil:
    cdef double[2] p
    cdef Array* scaled
    cdef Array* factor
    cdef Array* result
    cdef int t
    if a == NULL or b == NULL or alpha == NULL or read_number(name, alpha, p) < 0:
        return NULL
    if minus and (a.dtype == BOOL or b.dtype == BOOL):
        return binary(UF_SUB, a, b, out)          # refuses
    t = result_dtype(a, b)
    if alpha.dtype == BOOL and t != BOOL:
        fail_s(ERR_RUNTIME, "%s: Boolean alpha only supported for Boolean results; pass alpha as a number", name, "", "")
        return NULL
    if is_integral_code(t) and not is_integral_code(alpha.dtype):
        fail_s(ERR_RUNTIME, "%s: For integral input tensors, argument alpha must not be a floating point number; convert the tensors first", name, "", "")
        return NULL
    if is_complex_code(alpha.dtype) and not is_complex_code(t):
        fail_s(ERR_RUNTIME, "%s: For non-complex input tensors, argument alpha must not be a complex number; convert the tensors first", name, "", "")
        return NULL
    if check_value(alpha, t) < 0:
        return NULL
    if p[0] == 1 and p[1] == 0:
        return binary(UF_SUB if minus else UF_ADD, a, b, out)
    if is_integral_code(t):
        factor = cast(alpha, t)
        scaled = binary(UF_MUL, b, factor, NULL)
        result = binary(UF_SUB if minus else UF_ADD, a, scaled, out)
        array_decref(factor)
        array_decref(scaled)
        return result
    if minus:
        p[0] = -p[0]
        p[1] = -p[1]
    return apply2_out(name, &add_alpha_loop, a, b, p, PLAIN, out)


cdef Array* add_alpha(Array* a, Array* b, Array* alpha) noexcept nogil:
    return scaled_addition("add", a, b, alpha, False, NULL)


cdef Array* sub_alpha(Array* a, Array* b, Array* alpha) noexcept nogil:
    return scaled_addition("sub", a, b, alpha, True, NULL)


cdef int add_alpha_(Array* target, Array* other, Array* alpha) noexcept nogil:
    return kept(scaled_addition("add", target, other, alpha, False, target))


cdef int sub_alpha_(Array* target, Array* other, Array* alpha) noexcept nogil:
    return kept(scaled_addition("sub", target, other, alpha, True, target))


cdef Array* div_trunc(Array* a, Array* b) noexcept nogil:
    cdef Array* operands[2]
    cdef int t
    operands[0] = a
    operands[1] = b
    t = common_dtype(2, operands, PLAIN)
    if t < 0 or (is_integral_code(t) and t != BOOL and a.numel != 0 and check_divisor("div", b, t) < 0):
        return NULL
    return apply2("div", &div_trunc_loop, a, b, NULL, PLAIN)


cdef Array* constant_like(Array* a, int dtype, Array* value) noexcept nogil:
    cdef Array* result = array_empty_like(a, dtype)
    if result != NULL and fill(result, value) < 0:
        array_decref(result)
        return NULL
    return result


cdef Array* pow(Array* a, Array* b) noexcept nogil:
    cdef double[2] e
    cdef Array* base
    cdef Array* result
    cdef int t
    if a == NULL or b == NULL:
        return NULL
    if b.ndim == 0 and b.flags & WRAPPED and not is_complex_code(b.dtype):
        if read_number("pow", b, e) < 0:
            return NULL
        if e[0] < 0 and is_integral_code(a.dtype) and is_integral_code(b.dtype):
            fail(ERR_RUNTIME, "pow: Integers to negative integer powers are not allowed; convert the base to a floating-point dtype first")
            return NULL
        t = result_dtype(a, b)
        # small powers by multiplication and square roots: faster, and torch's results at zeros and infinities
        if e[0] == 0 or e[0] == 1 or (e[0] == 2 and t != BOOL) or (t >= FLOAT16 and (e[0] == 3 or e[0] == 0.5 or e[0] == -0.5 or e[0] == -1 or e[0] == -2)):
            base = cast(a, t)
            if base == NULL:
                return NULL
            if e[0] == 2:
                result = unary(UF_SQUARE, base, NULL)
            elif e[0] == 1:
                result = clone(base)
            elif e[0] == 0.5:
                result = unary(UF_SQRT, base, NULL)
            elif e[0] == 3:
                result = apply1("pow", &cube_loop, base, NULL, PLAIN)
            elif e[0] == -1:
                result = unary(UF_RECIPROCAL, base, NULL)
            elif e[0] == -0.5:
                result = rsqrt(base)
            elif e[0] == -2:
                result = apply1("pow", &inverse_square_loop, base, NULL, PLAIN)
            else:
                result = ones_like(base)
            array_decref(base)
            return result
    return binary(UF_POW, a, b, NULL)


cdef Array* ones_like(Array* a) noexcept nogil:
    cdef Array* one = scalar_int(1)
    cdef Array* result = constant_like(a, a.dtype, one) if one != NULL else NULL
    array_decref(one)
    return result


cdef Array* addcmul_out(Array* a, Array* tensor1, Array* tensor2, Array* value, Array* out) noexcept nogil:
    cdef double[2] p
    cdef Array* operands[3]
    cdef Array* factor
    cdef Array* product
    cdef Array* scaled
    cdef Array* result
    cdef int t
    operands[0] = a
    operands[1] = tensor1
    operands[2] = tensor2
    t = common_dtype(3, operands, PLAIN)
    if t < 0 or value == NULL or read_number("addcmul", value, p) < 0 or check_value(value, t) < 0:
        return NULL
    if not is_integral_code(t):
        return apply3_out("addcmul", &addcmul_loop, a, tensor1, tensor2, p, PLAIN, out)
    if t == BOOL:
        return fail_dtype("addcmul", t)
    factor = cast(value, t)
    product = binary(UF_MUL, tensor1, tensor2, NULL)
    scaled = binary(UF_MUL, product, factor, NULL)
    result = binary(UF_ADD, a, scaled, out)
    array_decref(factor)
    array_decref(product)
    array_decref(scaled)
    return result


cdef Array* addcdiv_out(Array* a, Array* tensor1, Array* tensor2, Array* value, Array* out) noexcept nogil:
    cdef double[2] p
    if a == NULL or tensor1 == NULL or tensor2 == NULL or value == NULL or read_number("addcdiv", value, p) < 0:
        return NULL
    if is_integral_code(tensor1.dtype) and is_integral_code(tensor2.dtype):
        fail(ERR_RUNTIME, "addcdiv: Integer division with addcdiv is no longer supported; write (input + value * tensor1 / tensor2), or convert the "
             "tensors to a floating-point dtype")
        return NULL
    return apply3_out("addcdiv", &addcdiv_loop, a, tensor1, tensor2, p, PLAIN, out)


cdef Array* lerp_out(Array* a, Array* end, Array* weight, Array* out) noexcept nogil:
    cdef double[2] p
    if a == NULL or end == NULL or weight == NULL:
        return NULL
    if a.dtype != end.dtype:
        fail_s(ERR_RUNTIME, "lerp: expected dtype %s for `end` but got dtype %s; convert one of them", dtype_cname(a.dtype), dtype_cname(end.dtype), "")
        return NULL
    if not weight.flags & WRAPPED:
        if weight.ndim != 0 and weight.dtype != a.dtype:
            fail_s(ERR_RUNTIME, "lerp: expected dtype %s for `weight` but got dtype %s; convert one of them", dtype_cname(a.dtype),
                   dtype_cname(weight.dtype), "")
            return NULL
        return apply3_out("lerp", &lerp_tensor_loop, a, end, weight, NULL, PLAIN, out)
    if read_number("lerp", weight, p) < 0:
        return NULL
    if is_complex_code(weight.dtype) and not is_complex_code(a.dtype):
        fail(ERR_RUNTIME, "lerp: value cannot be converted to type double without overflow: a complex weight needs complex tensors")
        return NULL
    return apply2_out("lerp", &lerp_loop, a, end, p, PLAIN, out)


cdef Array* addcmul(Array* a, Array* tensor1, Array* tensor2, Array* value) noexcept nogil:
    return addcmul_out(a, tensor1, tensor2, value, NULL)


cdef Array* addcdiv(Array* a, Array* tensor1, Array* tensor2, Array* value) noexcept nogil:
    return addcdiv_out(a, tensor1, tensor2, value, NULL)


cdef Array* lerp(Array* a, Array* end, Array* weight) noexcept nogil:
    return lerp_out(a, end, weight, NULL)


cdef int addcmul_(Array* target, Array* tensor1, Array* tensor2, Array* value) noexcept nogil:
    return kept(addcmul_out(target, tensor1, tensor2, value, target))


cdef int addcdiv_(Array* target, Array* tensor1, Array* tensor2, Array* value) noexcept nogil:
    return kept(addcdiv_out(target, tensor1, tensor2, value, target))


cdef int lerp_(Array* target, Array* end, Array* weight) noexcept nogil:
    return kept(lerp_out(target, end, weight, target))


# --- Functions ------------------------------------------------------------------------------------------------------------------------------------

cdef Array* sigmoid(Array* a) noexcept nogil:
    cdef Chain chain
    return apply_chain("sigmoid", &sigmoid_loop, a, NULL, &chain, UF_EXP, -1, TO_FLOAT)


cdef Array* sinc(Array* a) noexcept nogil:
    cdef Chain chain
    return apply_chain("sinc", &sinc_loop, a, NULL, &chain, UF_SIN, -1, TO_FLOAT)


# --- Comparison -----------------------------------------------------------------------------------------------------------------------------------

cdef Array* infinity(const char* name, InnerLoop inner, Array* a) noexcept nogil:
    cdef Array* zero
    cdef Array* result
    if is_complex_code(a.dtype):
        fail_s(ERR_RUNTIME, "%s: %s does not support complex inputs, which have no order; apply it to the real or imaginary part", name, name, "")
        return NULL
    if is_integral_code(a.dtype):
        zero = scalar_int(0)
        result = constant_like(a, BOOL, zero) if zero != NULL else NULL
        array_decref(zero)
        return result
    return apply_converting(name, inner, 1, a.dtype, BOOL, a, NULL)


cdef Array* isposinf(Array* a) noexcept nogil:
    return infinity("isposinf", isposinf_loop(a.dtype), a) if a != NULL else NULL


cdef Array* isneginf(Array* a) noexcept nogil:
    return infinity("isneginf", isneginf_loop(a.dtype), a) if a != NULL else NULL
