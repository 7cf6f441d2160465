# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# distutils: depends = cygrad/_core/kernels/loops.hpp
# Elementwise operations by name. Contract: elementwise.pxd.

from libc.math cimport pow as power_of
from libc.string cimport memcpy
from cygrad._core.array cimport (
    Array, array_alias, array_empty_like, array_view, array_incref, array_decref, broadcast_shape, result_dtype, same_shape, shape_text, scalar_int, scalar_double, WRAPPED)
from cygrad._core.dtypes cimport (
    ITEMSIZE, BOOL, UINT8, INT64, FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, is_complex_code, is_float_code, is_integral_code, dtype_cname)
from cygrad._core.errors cimport fail, fail_s, ERR_RUNTIME, ERR_NOT_IMPLEMENTED
from cygrad._core.kernels cimport half      # its C++ types, for the templates
from cygrad._core.kernels.apply cimport (
    Call, PLAIN, TO_FLOAT, apply1, apply2, apply2_out, apply3, apply3_out, call_run, common_dtype, fail_dtype, promote_all, read_number)
from cygrad._core.kernels.chains cimport Chain, apply_chain
from cygrad._core.kernels.copy cimport cast, clone, contiguous, convert_element, fill, check_value
from cygrad._core.kernels.iterate cimport InnerLoop, Loop, loop_add, loop_init, loop_ready, loop_run
from cygrad._core.kernels.ufuncs cimport *

cdef extern from "elementwise.hpp" nogil:
    InnerLoop rsqrt_loop "cygrad::floats1<cygrad::Rsqrt>"(int dtype) noexcept
    InnerLoop frac_loop "cygrad::real1<cygrad::Frac>"(int dtype) noexcept
    InnerLoop cube_loop "cygrad::floats1<cygrad::Cube>"(int dtype) noexcept
    InnerLoop inverse_square_loop "cygrad::floats1<cygrad::InverseSquare>"(int dtype) noexcept
    InnerLoop angle_loop "cygrad::real1<cygrad::Angle>"(int dtype) noexcept
    InnerLoop complex_angle_loop "cygrad::complex_angle_loop"(int dtype) noexcept
    InnerLoop isposinf_loop "cygrad::to_bool1<cygrad::IsPositiveInfinity>"(int dtype) noexcept
    InnerLoop isneginf_loop "cygrad::to_bool1<cygrad::IsNegativeInfinity>"(int dtype) noexcept
    InnerLoop round_decimals_loop "cygrad::real1<cygrad::RoundDecimals>"(int dtype) noexcept
    InnerLoop nan_to_num_loop "cygrad::floats1<cygrad::NanToNum>"(int dtype) noexcept
    InnerLoop div_trunc_loop "cygrad::ordered2<cygrad::DivTrunc>"(int dtype) noexcept
    InnerLoop add_alpha_loop "cygrad::floats2<cygrad::AddAlpha>"(int dtype) noexcept
    InnerLoop addcmul_loop "cygrad::floats3<cygrad::Addcmul>"(int dtype) noexcept
    InnerLoop addcdiv_loop "cygrad::floats3<cygrad::Addcdiv>"(int dtype) noexcept
    InnerLoop lerp_loop "cygrad::floats2<cygrad::Lerp>"(int dtype) noexcept
    InnerLoop lerp_tensor_loop "cygrad::floats3<cygrad::LerpTensor>"(int dtype) noexcept
    InnerLoop clamp_loop "cygrad::ordered3<cygrad::Clamp>"(int dtype) noexcept
    InnerLoop clamp_numbers_loop "cygrad::real1<cygrad::ClampNumbers>"(int dtype) noexcept
    InnerLoop complex_loop "cygrad::real_to_complex2<cygrad::ComplexOf>"(int dtype) noexcept
    InnerLoop polar_loop "cygrad::real_to_complex2<cygrad::Polar>"(int dtype) noexcept
    InnerLoop select_loop "cygrad::select_loop"(int size) noexcept
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


cdef int check_bound(Array* bound, int dtype) noexcept nogil:
    return check_value(bound, dtype) if bound != NULL and bound.flags & WRAPPED else 0


cdef Array* clamp(Array* a, Array* min, Array* max) noexcept nogil:
    cdef double[4] p
    cdef Array* operands[3]
    cdef int n = 1, t
    if a == NULL:
        return NULL
    if min == NULL and max == NULL:
        fail(ERR_RUNTIME, "clamp: At least one of 'min' or 'max' must not be None; pass a bound")
        return NULL
    operands[0] = a
    if min != NULL:
        operands[n] = min
        n += 1
    if max != NULL:
        operands[n] = max
        n += 1
    t = promote_all(n, operands)
    if is_complex_code(t):
        fail(ERR_NOT_IMPLEMENTED, "clamp: clamp is not supported for complex types, which have no order; apply it to the real or imaginary part")
        return NULL
    if t == BOOL and n == 3:
        return fail_dtype("clamp", t)
    if check_bound(min, t) < 0 or check_bound(max, t) < 0:
        return NULL
    if n == 2:
        return binary(UF_MINIMUM if min == NULL else UF_MAXIMUM, a, operands[1], NULL)
    if min.flags & max.flags & WRAPPED and t == a.dtype and is_float_code(t):
        if read_number("clamp", min, p) < 0 or read_number("clamp", max, &p[2]) < 0:
            return NULL
        return apply1("clamp", &clamp_numbers_loop, a, p, PLAIN)
    return apply3("clamp", &clamp_loop, a, min, max, NULL, PLAIN)


cdef Array* clamp_min(Array* a, Array* min) noexcept nogil:
    return clamp(a, min, NULL) if min != NULL else NULL


cdef Array* clamp_max(Array* a, Array* max) noexcept nogil:
    return clamp(a, NULL, max) if max != NULL else NULL


# --- Functions and complex numbers ----------------------------------------------------------------------------------------------------------------

cdef Array* sigmoid(Array* a) noexcept nogil:
    cdef Chain chain
    return apply_chain("sigmoid", &sigmoid_loop, a, NULL, &chain, UF_EXP, -1, TO_FLOAT)


cdef Array* sinc(Array* a) noexcept nogil:
    cdef Chain chain
    return apply_chain("sinc", &sinc_loop, a, NULL, &chain, UF_SIN, -1, TO_FLOAT)


cdef inline int part_dtype(int t) noexcept nogil:
    return FLOAT32 if t == COMPLEX64 else FLOAT64


cdef Array* real(Array* a) noexcept nogil:
    if a == NULL or not is_complex_code(a.dtype):
        return array_incref(a)
    return array_view(a, part_dtype(a.dtype), a.data, a.ndim, a.shape, a.strides)


cdef Array* imag(Array* a) noexcept nogil:
    if a == NULL:
        return NULL
    if not is_complex_code(a.dtype):
        fail(ERR_RUNTIME, "imag: imag is not implemented for tensors with non-complex dtypes; the imaginary part of a real tensor is zero everywhere")
        return NULL
    return array_view(a, part_dtype(a.dtype), a.data + ITEMSIZE[a.dtype] // 2, a.ndim, a.shape, a.strides)


cdef Array* conj(Array* a) noexcept nogil:
    if a == NULL or not is_complex_code(a.dtype):
        return array_incref(a)
    return unary(UF_CONJ, a, NULL)


# A loop whose result has another dtype than its operands.
cdef Array* converting(const char* name, InnerLoop inner, int n, int dtype, int result, Array* a, Array* b) noexcept nogil:
    cdef Call c
    c.name = name
    c.inner = inner
    if inner == NULL:
        return fail_dtype(name, dtype)
    c.data = NULL
    c.n = n
    c.operands[0] = a
    c.operands[1] = b
    c.dtypes[0] = c.dtypes[1] = dtype
    c.dtypes[n] = c.result = result
    return call_run(&c, NULL)


cdef Array* angle(Array* a) noexcept nogil:
    if a != NULL and is_complex_code(a.dtype):
        return converting("angle", complex_angle_loop(a.dtype), 1, a.dtype, part_dtype(a.dtype), a, NULL)
    return apply1("angle", &angle_loop, a, NULL, TO_FLOAT)


cdef int check_parts(const char* name, Array* a, Array* b) noexcept nogil:
    if not is_float_code(a.dtype) or not is_float_code(b.dtype):
        return fail_s(ERR_RUNTIME, "%s: Expected both inputs to be Half, Float or Double tensors but got %s and %s; convert them first", name,
                      dtype_cname(a.dtype), dtype_cname(b.dtype))
    if a.dtype != b.dtype:
        return fail_s(ERR_RUNTIME, "%s: Expected object of scalar type %s but got scalar type %s for second argument; convert one of them", name,
                      dtype_cname(a.dtype), dtype_cname(b.dtype))
    return 0


cdef inline int whole_dtype(int t) noexcept nogil:
    return COMPLEX64 if t == FLOAT32 else COMPLEX128


cdef Array* complex_(Array* real, Array* imag) noexcept nogil:
    if real == NULL or imag == NULL or check_parts("complex", real, imag) < 0:
        return NULL
    return converting("complex", complex_loop(real.dtype), 2, real.dtype, whole_dtype(real.dtype), real, imag)


cdef Array* polar(Array* abs, Array* angle) noexcept nogil:
    if abs == NULL or angle == NULL or check_parts("polar", abs, angle) < 0:
        return NULL
    return converting("polar", polar_loop(abs.dtype), 2, abs.dtype, whole_dtype(abs.dtype), abs, angle)


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
    return converting(name, inner, 1, a.dtype, BOOL, a, NULL)


cdef Array* isposinf(Array* a) noexcept nogil:
    return infinity("isposinf", isposinf_loop(a.dtype), a) if a != NULL else NULL


cdef Array* isneginf(Array* a) noexcept nogil:
    return infinity("isneginf", isneginf_loop(a.dtype), a) if a != NULL else NULL


cdef Array* isclose(Array* a, Array* b, double rtol, double atol, bint equal_nan) noexcept nogil:
    cdef Array* close
    cdef Array* other
    cdef Array* both
    cdef Array* error
    cdef Array* size
    cdef Array* number
    cdef Array* allowed
    if a == NULL or b == NULL:
        return NULL
    if a.dtype != b.dtype:
        fail_s(ERR_RUNTIME, "isclose: %s did not match %s; convert one of the tensors", dtype_cname(a.dtype), dtype_cname(b.dtype), "")
        return NULL
    if not (rtol >= 0 and atol >= 0):
        fail(ERR_RUNTIME, "isclose: rtol must be greater than or equal to zero, and so must atol; pass tolerances that are not negative")
        return NULL
    close = eq(a, b)
    if equal_nan and a.dtype >= FLOAT16:
        size = isnan(a)
        other = isnan(b)
        both = logical_and(size, other)
        close = joined(close, both)
        array_decref(size)
        array_decref(other)
    if rtol == 0 and atol == 0:
        return close
    # abs(a - b) <= atol + abs(rtol * b), where the difference is finite
    number = scalar_double(rtol)
    other = mul(b, number)
    array_decref(number)
    size = abs(other)
    number = scalar_double(atol)
    allowed = add(size, number)
    array_decref(number)
    array_decref(size)
    array_decref(other)
    if a.dtype == BOOL:
        error = logical_xor(a, b)
    else:
        other = sub(a, b)
        error = abs(other)
        array_decref(other)
    other = le(error, allowed)
    size = isfinite(error)
    both = logical_and(other, size)
    array_decref(other)
    array_decref(size)
    array_decref(error)
    array_decref(allowed)
    return joined(close, both)


cdef Array* joined(Array* a, Array* b) noexcept nogil:
    # a or b; takes over both references
    cdef Array* result = logical_or(a, b)
    array_decref(a)
    array_decref(b)
    return result


cdef int equal(Array* a, Array* b) noexcept nogil:
    cdef Array* same
    cdef Py_ssize_t i
    cdef int result = 1
    if a == NULL or b == NULL:
        return -1
    if not same_shape(a, b):
        return 0
    same = eq(a, b)
    if same == NULL:
        return -1
    for i in range(same.numel):             # fresh memory is dense, in whatever order
        if same.data[i] == 0:
            result = 0
            break
    array_decref(same)
    return result


# --- Selection ------------------------------------------------------------------------------------------------------------------------------------

cdef Array* select_elements(const char* name, Array* condition, Array* a, Array* b, int t) noexcept nogil:
    cdef Call c
    c.name = name
    c.inner = select_loop(ITEMSIZE[t])
    c.data = NULL
    c.n = 3
    c.operands[0] = condition
    c.operands[1] = a
    c.operands[2] = b
    c.dtypes[0] = BOOL
    c.dtypes[1] = c.dtypes[2] = c.dtypes[3] = c.result = t
    return call_run(&c, NULL)


cdef Array* where(Array* condition, Array* a, Array* b) noexcept nogil:
    cdef int t
    if condition == NULL or a == NULL or b == NULL:
        return NULL
    if condition.dtype != BOOL and condition.dtype != UINT8:
        fail_s(ERR_RUNTIME, "where: where expected condition to be a boolean tensor, but got a tensor with dtype %s; compare it, for example with != 0",
               dtype_cname(condition.dtype), "", "")
        return NULL
    t = result_dtype(a, b)
    if t != FLOAT16 and (check_bound(a, t) < 0 or check_bound(b, t) < 0):
        return NULL
    return select_elements("where", condition, a, b, t)


cdef Array* unwrapped(Array* a, int dtype) noexcept nogil:
    cdef Array* given = cast(a, dtype)
    cdef Array* result = given
    if given != NULL and given.flags & WRAPPED:
        result = array_alias(given)
        array_decref(given)
    return result


cdef Array* xlogy(Array* a, Array* b) noexcept nogil:
    cdef Array* operands[2]
    cdef Array* x
    cdef Array* y
    cdef Array* logs
    cdef Array* product
    cdef Array* zero
    cdef Array* at_zero
    cdef Array* chosen
    cdef Array* nans
    cdef Array* result
    cdef int t
    operands[0] = a
    operands[1] = b
    t = common_dtype(2, operands, TO_FLOAT)
    if t < 0:
        return NULL
    if is_complex_code(t):
        return fail_dtype("xlogy", t)
    x = cast(a, t)
    y = unwrapped(b, t)              # the logarithm of a number in the precision of the result
    logs = log(y)
    product = mul(x, logs)
    zero = scalar_int(0)
    at_zero = eq(x, zero)
    chosen = where(at_zero, zero, product)
    nans = isnan(y)
    result = where(nans, y, chosen)
    array_decref(x)
    array_decref(y)
    array_decref(logs)
    array_decref(product)
    array_decref(zero)
    array_decref(at_zero)
    array_decref(chosen)
    array_decref(nans)
    return result


cdef Array* ldexp(Array* a, Array* b) noexcept nogil:
    cdef Array* exponent
    cdef Array* two
    cdef Array* power
    cdef Array* result
    if a == NULL or b == NULL:
        return NULL
    exponent = cast(b, a.dtype) if is_float_code(a.dtype) and is_integral_code(b.dtype) else array_incref(b)
    two = scalar_double(2)
    power = pow(two, exponent)
    result = mul(a, power)
    array_decref(exponent)
    array_decref(two)
    array_decref(power)
    return result


cdef Array* heaviside(Array* a, Array* values) noexcept nogil:
    cdef Array* zero
    cdef Array* at_zero
    cdef Array* signs
    cdef Array* steps
    cdef Array* result
    if a == NULL or values == NULL:
        return NULL
    if a.dtype != values.dtype or is_complex_code(a.dtype):
        fail(ERR_RUNTIME, "heaviside: heaviside is not yet implemented for tensors with different dtypes, nor for complex ones; cast one of them")
        return NULL
    zero = scalar_int(0)
    at_zero = eq(a, zero)
    signs = sign(a)
    steps = maximum(signs, zero)
    result = where(at_zero, values, steps)
    array_decref(zero)
    array_decref(at_zero)
    array_decref(signs)
    array_decref(steps)
    return result


cdef int check_fill(Array* a, Array* mask, Array* value) noexcept nogil:
    if mask.dtype != BOOL:
        return fail_s(ERR_RUNTIME, "masked_fill: masked_fill_ only supports boolean masks, but got mask with dtype %s; compare it, for example with != 0",
                      dtype_cname(mask.dtype), "", "")
    if value.ndim != 0:
        return fail(ERR_RUNTIME, "masked_fill: masked_fill_ only supports a 0-dimensional value tensor; take one element of it, or use where")
    return check_value(value, a.dtype)


cdef Array* masked_fill(Array* a, Array* mask, Array* value) noexcept nogil:
    cdef Array* selected
    cdef Array* result
    if a == NULL or mask == NULL or value == NULL or check_fill(a, mask, value) < 0:
        return NULL
    selected = select_elements("masked_fill", mask, value, a, a.dtype)
    result = contiguous(selected)                    # as torch's result is
    array_decref(selected)
    return result


cdef void fill_where(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    # args: the target, the mask; data: the value's bytes, after their number
    cdef const char* value = <const char*>data + 16
    cdef size_t size = (<size_t*>data)[0]
    cdef Py_ssize_t i
    cdef char* target = args[0]
    cdef const char* mask = args[1]
    for i in range(count[0]):
        if mask[0]:
            if size == 8:
                memcpy(target, value, 8)         # of a known size: one store
            elif size == 4:
                memcpy(target, value, 4)
            else:
                memcpy(target, value, size)
        target += strides[0]
        mask += strides[1]


cdef int masked_fill_(Array* target, Array* mask, Array* value) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef size_t data[4]
    cdef char have[200]
    cdef char want[200]
    cdef Loop it
    cdef int i, ndim
    if target == NULL or mask == NULL or value == NULL or check_fill(target, mask, value) < 0:
        return -1
    ndim = broadcast_shape(target, mask, shape)
    if ndim < 0:
        return -1
    for i in range(ndim):
        if ndim != target.ndim or shape[i] != target.shape[i]:
            shape_text(have, sizeof(have), target.ndim, target.shape)
            shape_text(want, sizeof(want), ndim, shape)
            return fail_s(ERR_RUNTIME, "masked_fill_: output with shape %s doesn't match the broadcast shape %s; use masked_fill", have, want, "")
    data[0] = ITEMSIZE[target.dtype]
    convert_element(value.dtype, value.data, target.dtype, <char*>(data + 2))
    loop_init(&it, target.ndim, target.shape)
    loop_add(&it, target)
    loop_add(&it, mask)
    loop_ready(&it)
    loop_run(&it, fill_where, data)
    return 0


cdef Array* nan_to_num(Array* a, Array* nan, Array* posinf, Array* neginf) noexcept nogil:
    cdef double[2] part
    cdef double[3] p
    if a == NULL:
        return NULL
    if is_integral_code(a.dtype):
        return clone(a)
    p[0] = 0
    p[1] = 65504.0 if a.dtype == FLOAT16 else 3.4028234663852886e38 if a.dtype == FLOAT32 or a.dtype == COMPLEX64 else 1.7976931348623157e308
    p[2] = -p[1]
    if nan != NULL:
        if read_number("nan_to_num", nan, part) < 0:
            return NULL
        p[0] = part[0]
    if posinf != NULL:
        if read_number("nan_to_num", posinf, part) < 0:
            return NULL
        p[1] = part[0]
    if neginf != NULL:
        if read_number("nan_to_num", neginf, part) < 0:
            return NULL
        p[2] = part[0]
    return apply1("nan_to_num", &nan_to_num_loop, a, p, PLAIN)
