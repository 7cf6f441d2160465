# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# distutils: depends = cygrad/_core/kernels/loops.hpp
# Selection by masks, bounds and kind of value. Contract: selection.pxd.

from libc.string cimport memcpy
from cygrad._core.array cimport array_decref, broadcast_shape, result_dtype, shape_text, WRAPPED
from cygrad._core.dtypes cimport (
    ITEMSIZE, BOOL, UINT8, FLOAT16, FLOAT32, COMPLEX64, dtype_cname, is_complex_code, is_float_code, is_integral_code)
from cygrad._core.errors cimport fail, fail_s, ERR_RUNTIME, ERR_NOT_IMPLEMENTED
from cygrad._core.kernels cimport half      # its C++ types, for the templates
from cygrad._core.kernels.apply cimport Call, PLAIN, apply1, apply3, call_run, fail_dtype, promote_all, read_number
from cygrad._core.kernels.copy cimport check_value, clone, contiguous, convert_element
from cygrad._core.kernels.iterate cimport InnerLoop, Loop, loop_add, loop_init, loop_ready, loop_run
from cygrad._core.kernels.ufuncs cimport UF_MAXIMUM, UF_MINIMUM, binary

cdef extern from "elementwise.hpp" nogil:
    InnerLoop nan_to_num_loop "cygrad::floats1<cygrad::NanToNum>"(int dtype) noexcept
    InnerLoop clamp_loop "cygrad::ordered3<cygrad::Clamp>"(int dtype) noexcept
    InnerLoop clamp_numbers_loop "cygrad::real1<cygrad::ClampNumbers>"(int dtype) noexcept
    InnerLoop select_loop "cygrad::select_loop"(int size) noexcept


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
