# Operations that are a few kernels one after the other. Contract: composed.pxd.

from cygrad._core.array cimport array_alias, array_decref, array_incref, same_shape, scalar_double, scalar_int, WRAPPED
from cygrad._core.dtypes cimport BOOL, FLOAT16, dtype_cname, is_complex_code, is_float_code, is_integral_code
from cygrad._core.errors cimport fail, fail_s, ERR_RUNTIME
from cygrad._core.kernels.apply cimport TO_FLOAT, common_dtype, fail_dtype
from cygrad._core.kernels.copy cimport cast
from cygrad._core.kernels.elementwise cimport *
from cygrad._core.kernels.selection cimport where
from cygrad._core.kernels.ufuncs cimport add, mul, sub


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
