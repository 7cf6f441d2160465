# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic -Wno-psabi
# distutils: depends = cygrad/_core/kernels/numeric.hpp
# Reductions over dims: validation, dtypes and geometry here, loops in reduce.hpp and reduce_backward.hpp. Contract: reductions.pxd.

from libc.math cimport INFINITY, isinf
from libc.stdint cimport uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memset
from cygrad._core.array cimport (
    Array, IntList, array_empty, array_zeros, array_view, array_incref, array_decref, array_empty_like, array_unshared, normalize_dim, shape_text,
    scalar_double)
from cygrad._core.atomics cimport unlikely
from cygrad._core.dtypes cimport (
    BOOL, UINT8, INT64, FLOAT16, FLOAT32, ITEMSIZE, NUMPY_TYPE, dtype_cname, float_for, is_complex_code, is_integral_code,
    real_of)
from cygrad._core.errors cimport fail, fail_i, fail_s, ERR_INDEX, ERR_RUNTIME
from cygrad._core.kernels.apply cimport fail_dtype
from cygrad._core.kernels.copy cimport cast
from cygrad._core.kernels.iterate cimport InnerLoop, Loop, loop_add, loop_add_strided, loop_init, loop_ready, loop_run
from cygrad._core.kernels.ufuncs cimport UF_ADD, UF_TRUE_DIVIDE, UF_EXP, UF_LOG, UF_MUL, UF_SQRT, UF_SUB, binary, div, unary

cdef extern from "reduce.hpp" namespace "cg" nogil:
    cdef cppclass Plan:
        int nk
        Py_ssize_t repeat
        Py_ssize_t divide
        double p
    enum:
        ZS_KEEP, ZS_SKIP, ZS_COUNT
        R_SUM, R_NANSUM, R_PROD, R_MAX, R_MIN, R_ALL, R_ANY, R_COUNT, R_NORM0, R_NORM1, R_NORM2, R_NORMP, R_NORM_MAX, R_NORM_MIN, R_DEVIATION
    void plan_make(Plan* plan, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, const Py_ssize_t* out, uint64_t reduced, int zero_stride)
    bint reduce_dispatch(int op, int type, const Plan* plan, const char* data, char* out, const char* center)

cdef extern from "reduce_backward.hpp" namespace "cg" nogil:
    enum:
        RB_EXTREMUM, RB_VARIANCE, RB_NORM1, RB_NORM2, RB_NORM_INF, RB_NORMP
    InnerLoop reduce_backward_inner(int op, int type)
    InnerLoop attain_count_inner(bint absolute, int type)


# ------------------------------------------------------------------------------------------------------------------------------- geometry

cdef int dims_mask(int ndim, const IntList* dims, uint64_t* mask) noexcept nogil:
    cdef uint64_t m = 0
    cdef int i, d
    if all_of(dims):
        mask[0] = (<uint64_t>1 << ndim) - 1 if ndim < 64 else ~<uint64_t>0
        return 0
    for i in range(dims.n):
        d = normalize_dim(dims.v[i], ndim)
        if d < 0:
            return -1
        if m >> d & 1:
            return fail_i(ERR_RUNTIME, "cygrad reduction: dim %ld appears multiple times in the list of dims; name each dim once", d, 0, 0)
        m |= <uint64_t>1 << d
    mask[0] = m if ndim > 0 else 0
    return 0


# A contiguous Array for the result, and the strides it has along the dims of a (0 where reduced).
cdef Array* reduced_empty(Array* a, uint64_t mask, bint keepdim, int dtype, Py_ssize_t* strides) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef int d, n = 0
    cdef Array* out
    for d in range(a.ndim):
        if mask >> d & 1:
            if keepdim:
                shape[n] = 1
                n += 1
        else:
            shape[n] = a.shape[d]
            n += 1
    out = array_empty(dtype, n, shape)
    if out == NULL:
        return NULL
    n = 0
    for d in range(a.ndim):
        if mask >> d & 1:
            strides[d] = 0
            n += keepdim
        else:
            strides[d] = out.strides[n]
            n += 1
    return out


# Strides of `small` (the result of a reduction of a over mask, or its gradient) along the dims of a. -1: the shapes do not belong together.
cdef int reduced_strides(Array* small, int ndim, const Py_ssize_t* shape, uint64_t mask, bint keepdim, Py_ssize_t* strides) noexcept nogil:
    cdef int d, n = 0
    for d in range(ndim):
        if mask >> d & 1:
            strides[d] = 0
            n += keepdim
        else:
            if n >= small.ndim or (small.shape[n] != shape[d] and small.shape[n] != 1):
                return fail(ERR_RUNTIME, "cygrad reduction: the gradient's shape does not fit the shape of the reduction's result")
            strides[d] = small.strides[n] if small.shape[n] != 1 else 0
            n += 1
    if n != small.ndim:
        return fail(ERR_RUNTIME, "cygrad reduction: the gradient's shape does not fit the shape of the reduction's result")
    return 0


cdef inline Py_ssize_t reduced_count(Array* a, uint64_t mask) noexcept nogil:
    cdef Py_ssize_t n = 1
    cdef int d
    for d in range(a.ndim):
        if mask >> d & 1:
            n *= a.shape[d]
    return n


cdef Array* to_half(Array* a) noexcept nogil:
    cdef Array* result = NULL
    if a != NULL:
        result = cast(a, FLOAT16)
        array_decref(a)
    return result


cdef Array* steal_cast(Array* a, int dtype) noexcept nogil:
    cdef Array* result = NULL
    if a != NULL:
        result = cast(a, dtype)
        array_decref(a)
    return result


# One reduction of a (not float16) into a new Array. center: NULL, or the keepdim Array of means.
cdef Array* reduce(int op, Array* a, uint64_t mask, bint keepdim, int dtype, int zero_stride,
                   Py_ssize_t divide, double p, Array* center) noexcept nogil:
    cdef Plan plan
    cdef Py_ssize_t strides[64]
    cdef Array* out = reduced_empty(a, mask, keepdim, dtype, strides)
    if out == NULL:
        return NULL
    if out.numel:
        plan_make(&plan, a.ndim, a.shape, a.strides, strides, mask, zero_stride)
        plan.divide = divide
        plan.p = p
        if unlikely(not reduce_dispatch(op, NUMPY_TYPE[a.dtype], &plan, a.data, out.data, center.data if center != NULL else NULL)):
            array_decref(out)
            return fail_dtype("reduction", a.dtype)
    return out


# -------------------------------------------------------------------------------------------------------------------- sums, means, products

cdef Array* sum_like(int op, Array* a, const IntList* dims, bint keepdim, int dtype, bint mean) noexcept nogil:
    cdef uint64_t mask
    cdef Array* wide
    cdef Array* result
    cdef int out_dtype
    if a == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    if dtype < 0:
        dtype = INT64 if is_integral_code(a.dtype) else a.dtype
    if a.dtype != dtype and not (is_integral_code(a.dtype) and dtype == INT64) and not (a.dtype == FLOAT16 and dtype == FLOAT32):
        wide = cast(a, dtype)
        if wide == NULL:
            return NULL
        result = sum_like(op, wide, dims, keepdim, dtype, mean)
        array_decref(wide)
        return result
    if a.dtype == FLOAT16:
        wide = cast(a, FLOAT32)
        if wide == NULL:
            return NULL
        result = sum_like(op, wide, dims, keepdim, FLOAT32, mean)
        array_decref(wide)
        return to_half(result) if dtype == FLOAT16 else result
    out_dtype = INT64 if is_integral_code(dtype) else dtype
    if op == R_NANSUM and is_integral_code(a.dtype):
        op = R_SUM
    result = reduce(op, a, mask, keepdim, out_dtype, ZS_KEEP if op == R_PROD else ZS_COUNT, 0, 0, NULL) if not mean else (
        mean_of(a, mask, keepdim))
    return result if out_dtype == dtype else steal_cast(result, dtype)


# An empty mean is 0 / 0 = nan; plan.divide == 0 would mean "do not divide".
cdef Array* mean_of(Array* a, uint64_t mask, bint keepdim) noexcept nogil:
    cdef Py_ssize_t n = reduced_count(a, mask)
    cdef Array* result = reduce(R_SUM, a, mask, keepdim, a.dtype, ZS_COUNT, n, 0, NULL)
    cdef Array* zero
    cdef Array* divided
    if result == NULL or n != 0:
        return result
    zero = scalar_double(0.0)
    divided = div(result, zero)
    array_decref(zero)
    array_decref(result)
    return divided


cdef Array* sum_dims(Array* a, const IntList* dims, bint keepdim, int dtype) noexcept nogil:
    return sum_like(R_SUM, a, dims, keepdim, dtype, False)


cdef Array* nansum_dims(Array* a, const IntList* dims, bint keepdim, int dtype) noexcept nogil:
    if a != NULL and is_complex_code(a.dtype):
        fail(ERR_RUNTIME, "cygrad: nansum on CPU does not support complex inputs; sum real and imaginary parts separately")
        return NULL
    return sum_like(R_NANSUM, a, dims, keepdim, dtype, False)


cdef Array* mean_dims(Array* a, const IntList* dims, bint keepdim, int dtype) noexcept nogil:
    if a == NULL:
        return NULL
    if is_integral_code(a.dtype if dtype < 0 else dtype):
        fail_s(ERR_RUNTIME, "cygrad mean(): could not infer output dtype. %s dtype must be either a floating point or complex dtype. Got: %s; "
               "give dtype=float32 or convert the tensor", "Input" if dtype < 0 else "Optional", dtype_cname(a.dtype if dtype < 0 else dtype), NULL)
        return NULL
    return sum_like(R_SUM, a, dims, keepdim, dtype, True)


cdef Array* prod_dims(Array* a, const IntList* dims, bint keepdim, int dtype) noexcept nogil:
    return sum_like(R_PROD, a, dims, keepdim, dtype, False)


cdef Array* sum_to(Array* a, const IntList* shape) noexcept nogil:
    cdef uint64_t mask = 0
    cdef Py_ssize_t strides[64]
    cdef Plan plan
    cdef Array* out
    cdef Array* wide
    cdef bint sums = False
    cdef int lead, d, dtype
    cdef char have[200]
    cdef char want[200]
    if a == NULL:
        return NULL
    lead = a.ndim - shape.n
    for d in range(a.ndim):
        if d < lead or (shape.v[d - lead] == 1 and a.shape[d] != 1):
            mask |= <uint64_t>1 << d
            sums = sums or a.shape[d] != 1
        elif unlikely(shape.v[d - lead] != a.shape[d]):
            lead = -1
            break
    if unlikely(lead < 0):
        shape_text(have, sizeof(have), a.ndim, a.shape)
        shape_text(want, sizeof(want), shape.n, shape.v)
        fail_s(ERR_RUNTIME, "cygrad: got a gradient of shape %s but expected shape compatible with %s, the shape of the forward input when it was recorded", have, want, "")
        return NULL
    if mask == 0:
        return array_incref(a)
    if not sums:
        return array_view(a, a.dtype, a.data, shape.n, shape.v, a.strides + lead)
    if a.dtype == FLOAT16:
        wide = cast(a, FLOAT32)
        if wide == NULL:
            return NULL
        out = sum_to(wide, shape)
        array_decref(wide)
        return to_half(out)
    dtype = INT64 if is_integral_code(a.dtype) else a.dtype
    out = array_empty(dtype, shape.n, shape.v)
    if out == NULL or out.numel == 0:
        return out
    for d in range(a.ndim):
        strides[d] = 0 if mask >> d & 1 else out.strides[d - lead]
    plan_make(&plan, a.ndim, a.shape, a.strides, strides, mask, ZS_COUNT)
    reduce_dispatch(R_SUM, NUMPY_TYPE[a.dtype], &plan, a.data, out.data, NULL)
    return out


cdef Array* expand_reduced(Array* grad, const IntList* sizes, const IntList* dims, bint keepdim) noexcept nogil:
    cdef uint64_t mask
    cdef Py_ssize_t strides[64]
    if grad == NULL or dims_mask(sizes.n, dims, &mask) < 0:
        return NULL
    if mask == 0:
        return array_incref(grad)
    if reduced_strides(grad, sizes.n, sizes.v, mask, keepdim, strides) < 0:
        return NULL
    return array_view(grad, grad.dtype, grad.data, sizes.n, sizes.v, strides)


cdef Array* mean_backward(Array* grad, const IntList* sizes, const IntList* dims, bint keepdim) noexcept nogil:
    cdef uint64_t mask
    cdef Py_ssize_t n = 1
    cdef int d
    cdef Array* count
    cdef Array* part
    cdef Array* result
    if grad == NULL or dims_mask(sizes.n, dims, &mask) < 0:
        return NULL
    for d in range(sizes.n):
        if mask >> d & 1:
            n *= sizes.v[d]
    count = scalar_double(<double>n)
    part = binary(UF_TRUE_DIVIDE, grad, count, grad if array_unshared(grad) else NULL)
    array_decref(count)
    result = expand_reduced(part, sizes, dims, keepdim)
    array_decref(part)
    return result


# ------------------------------------------------------------------------------------------------------------------------------- extrema

cdef Array* extremum(int op, const char* name, Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    cdef uint64_t mask
    cdef Array* wide
    cdef Array* result
    cdef char message[256]
    cdef int d
    if a == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    if a.numel == 0:
        if all_of(dims):
            fail_s(ERR_RUNTIME, "cygrad %s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
                   "argument", name, NULL, NULL)
            return NULL
        for d in range(a.ndim):
            if mask >> d & 1 and a.shape[d] == 0:
                snprintf(message, 256, "cygrad %s(): Expected reduction dim %d to have non-zero size; an empty row has no extremum", name, d)
                fail(ERR_INDEX, message)
                return NULL
    if is_complex_code(a.dtype) and a.numel:
        return fail_dtype(name, a.dtype)
    if a.dtype == FLOAT16:
        wide = cast(a, FLOAT32)
        if wide == NULL:
            return NULL
        result = reduce(op, wide, mask, keepdim, FLOAT32, ZS_SKIP, 0, 0, NULL)
        array_decref(wide)
        return to_half(result)
    return reduce(op, a, mask, keepdim, a.dtype, ZS_SKIP, 0, 0, NULL)


cdef Array* amax(Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    return extremum(R_MAX, "amax", a, dims, keepdim)


cdef Array* amin(Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    return extremum(R_MIN, "amin", a, dims, keepdim)


cdef Array* max_all(Array* a) noexcept nogil:
    cdef IntList dims
    dims.n = 0
    return extremum(R_MAX, "max", a, &dims, False)


cdef Array* min_all(Array* a) noexcept nogil:
    cdef IntList dims
    dims.n = 0
    return extremum(R_MIN, "min", a, &dims, False)


# ------------------------------------------------------------------------------------------------------------------------ logic, counting

cdef Array* logic(int op, Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    cdef uint64_t mask
    cdef Array* wide
    cdef Array* result
    if a == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    if a.dtype == FLOAT16:
        wide = cast(a, BOOL)
        if wide == NULL:
            return NULL
        result = logic(op, wide, dims, keepdim)
        array_decref(wide)
        return result
    if op == R_COUNT:
        return reduce(op, a, mask, keepdim, INT64, ZS_KEEP, 0, 0, NULL)
    return reduce(op, a, mask, keepdim, UINT8 if a.dtype == UINT8 else BOOL, ZS_SKIP, 0, 0, NULL)


cdef Array* all_dims(Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    return logic(R_ALL, a, dims, keepdim)


cdef Array* any_dims(Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    return logic(R_ANY, a, dims, keepdim)


cdef Array* count_nonzero(Array* a, const IntList* dims) noexcept nogil:
    return logic(R_COUNT, a, dims, False)


# ------------------------------------------------------------------------------------------------------------------------------- variance

cdef inline double freedom(Array* a, uint64_t mask, double correction) noexcept nogil:
    cdef double n = <double>reduced_count(a, mask) - correction
    return n if n > 0 else 0


cdef Array* var(Array* a, const IntList* dims, double correction, bint keepdim) noexcept nogil:
    cdef uint64_t mask
    cdef Array* mean
    cdef Array* result
    cdef Array* wide
    if a == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    if is_integral_code(a.dtype):
        fail_s(ERR_RUNTIME, "cygrad: std and var only support floating point and complex dtypes, got %s; convert the tensor first",
               dtype_cname(a.dtype), NULL, NULL)
        return NULL
    if a.dtype == FLOAT16:
        wide = cast(a, FLOAT32)
        if wide == NULL:
            return NULL
        result = var(wide, dims, correction, keepdim)
        array_decref(wide)
        return to_half(result)
    mean = mean_of(a, mask, True)
    if mean == NULL:
        return NULL
    result = reduce(R_DEVIATION, a, mask, keepdim, real_of(a.dtype), ZS_KEEP, 0, freedom(a, mask, correction), mean)
    array_decref(mean)
    return result


cdef Array* std(Array* a, const IntList* dims, double correction, bint keepdim) noexcept nogil:
    cdef Array* v = var(a, dims, correction, keepdim)
    cdef Array* result = unary(UF_SQRT, v, v)
    array_decref(v)
    return result


# Arrays that an element's gradient depends on: a itself, and along the reduced dims constant: gradient, result, count.
cdef Array* backward(int op, Array* a, Array* grad, Array* result, Array* count, uint64_t mask,
                     bint keepdim, bint keepdim_result, double p) noexcept nogil:
    cdef Py_ssize_t gs[64]
    cdef Py_ssize_t rs[64]
    cdef Py_ssize_t cs[64]
    cdef Loop it
    cdef Array* out
    cdef InnerLoop inner = reduce_backward_inner(op, NUMPY_TYPE[a.dtype])
    if inner == NULL:
        return fail_dtype("backward of a reduction", a.dtype)
    if reduced_strides(grad, a.ndim, a.shape, mask, keepdim, gs) < 0 or reduced_strides(result, a.ndim, a.shape, mask, keepdim_result, rs) < 0:
        return NULL
    if count != NULL and reduced_strides(count, a.ndim, a.shape, mask, True, cs) < 0:
        return NULL
    out = array_empty_like(a, a.dtype)
    if out == NULL or out.numel == 0:
        return out
    loop_init(&it, a.ndim, a.shape)
    loop_add(&it, a)
    loop_add_strided(&it, grad.data, gs)
    loop_add_strided(&it, result.data, rs)
    if count != NULL:
        loop_add_strided(&it, count.data, cs)
    else:
        loop_add_strided(&it, result.data, rs)
    loop_add(&it, out)
    loop_ready(&it)
    loop_run(&it, inner, &p)
    return out


cdef Array* var_backward(Array* grad, Array* a, const IntList* dims, double correction, bint keepdim) noexcept nogil:
    cdef uint64_t mask
    cdef Array* g
    cdef Array* mean
    cdef Array* wide
    cdef Array* result
    cdef double n
    if grad == NULL or a == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    if a.dtype == FLOAT16:
        wide = cast(a, FLOAT32)
        result = var_backward(grad, wide, dims, correction, keepdim)
        array_decref(wide)
        return to_half(result)
    g = cast(grad, real_of(a.dtype))
    mean = mean_of(a, mask, True)
    result = NULL
    if g != NULL and mean != NULL:
        n = <double>reduced_count(a, mask) - correction
        result = backward(RB_VARIANCE, a, g, mean, NULL, mask, keepdim, True, 2.0 / n if n > 0 or (not all_of(dims) and a.ndim) else -INFINITY)
    array_decref(g)
    array_decref(mean)
    return result


cdef Array* std_backward(Array* grad, Array* a, Array* result, const IntList* dims, double correction, bint keepdim) noexcept nogil:
    cdef Array* g
    cdef Array* r
    cdef Array* scaled
    cdef Array* out = NULL
    if grad == NULL or a == NULL or result == NULL:
        return NULL
    # grad / (2 result), 0 where result is 0: the gradient loop of the 2-norm without a reduction, applied to an a of grad's own
    g = cast(grad, FLOAT32 if result.dtype == FLOAT16 else result.dtype)
    r = cast(result, FLOAT32 if result.dtype == FLOAT16 else result.dtype)
    scaled = NULL
    if g != NULL and r != NULL:
        scaled = halved_quotient(g, r)
    out = var_backward(scaled, a, dims, correction, keepdim)
    array_decref(g)
    array_decref(r)
    array_decref(scaled)
    return out


cdef void halved_quotient_loop(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil:
    cdef Py_ssize_t i
    cdef bint single = (<int*>data)[0] == FLOAT32
    cdef double g, r
    for i in range(count[0]):
        if single:
            g = (<float*>(args[0] + i * strides[0]))[0]
            r = (<float*>(args[1] + i * strides[1]))[0]
            (<float*>(args[2] + i * strides[2]))[0] = <float>(0 if r == 0 else g / (2 * r))
        else:
            g = (<double*>(args[0] + i * strides[0]))[0]
            r = (<double*>(args[1] + i * strides[1]))[0]
            (<double*>(args[2] + i * strides[2]))[0] = 0 if r == 0 else g / (2 * r)


cdef Array* halved_quotient(Array* g, Array* r) noexcept nogil:
    cdef Loop it
    cdef int dtype = r.dtype
    cdef Array* out = array_empty(dtype, r.ndim, r.shape)
    if out == NULL or out.numel == 0:
        return out
    loop_init(&it, r.ndim, r.shape)
    loop_add(&it, g)
    loop_add(&it, r)
    loop_add(&it, out)
    loop_ready(&it)
    loop_run(&it, halved_quotient_loop, &dtype)
    return out


# --------------------------------------------------------------------------------------------------------------------- extrema, backward

# How many elements of each row attain the extremum: keepdim, in the dtype of result (a real one).
cdef Array* attain_count(Array* a, Array* result, uint64_t mask, bint keepdim, bint absolute, double nan) noexcept nogil:
    cdef Py_ssize_t rs[64]
    cdef Py_ssize_t cs[64]
    cdef Loop it
    cdef Array* count
    cdef InnerLoop inner = attain_count_inner(absolute, NUMPY_TYPE[a.dtype])
    if inner == NULL:
        return fail_dtype("backward of an extremum", a.dtype)
    if reduced_strides(result, a.ndim, a.shape, mask, keepdim, rs) < 0:
        return NULL
    count = reduced_empty(a, mask, True, real_of(a.dtype), cs)
    if count == NULL or count.numel == 0:
        return count
    memset(count.data, 0, count.numel * ITEMSIZE[count.dtype])
    if a.numel:
        loop_init(&it, a.ndim, a.shape)
        loop_add(&it, a)
        loop_add_strided(&it, result.data, rs)
        loop_add_strided(&it, count.data, cs)
        loop_ready(&it)
        loop_run(&it, inner, &nan)
    return count


cdef Array* shared_backward(int op, Array* grad, Array* a, Array* result, const IntList* dims, bint keepdim, double nan) noexcept nogil:
    cdef uint64_t mask
    cdef int dtype
    cdef Array* x
    cdef Array* g
    cdef Array* r
    cdef Array* count = NULL
    cdef Array* out = NULL
    if grad == NULL or a == NULL or result == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    dtype = FLOAT32 if a.dtype == FLOAT16 else a.dtype
    x = cast(a, dtype)
    g = cast(grad, real_of(dtype))
    r = cast(result, real_of(dtype))
    if x != NULL and g != NULL and r != NULL:
        count = attain_count(x, r, mask, keepdim, op == RB_NORM_INF, nan)
        if count != NULL:
            out = backward(op, x, g, r, count, mask, keepdim, keepdim, nan)
    array_decref(x)
    array_decref(g)
    array_decref(r)
    array_decref(count)
    return to_half(out) if a.dtype == FLOAT16 else out


cdef Array* amax_backward(Array* grad, Array* a, Array* result, const IntList* dims, bint keepdim) noexcept nogil:
    return shared_backward(RB_EXTREMUM, grad, a, result, dims, keepdim, 0)


cdef Array* evenly_distribute_backward(Array* grad, Array* a, Array* result) noexcept nogil:
    cdef IntList dims
    dims.n = 0
    return shared_backward(RB_EXTREMUM, grad, a, result, &dims, False, 1)


# ------------------------------------------------------------------------------------------------------------------------------ logsumexp

cdef void replace_infinities(Array* a) noexcept nogil:
    # a: contiguous, float32 or float64 (or their complex kinds, whose parts are replaced)
    cdef Py_ssize_t i
    cdef Py_ssize_t n = a.numel * (2 if is_complex_code(a.dtype) else 1)
    if real_of(a.dtype) == FLOAT32:
        for i in range(n):
            if isinf((<float*>a.data)[i]):
                (<float*>a.data)[i] = 0
    else:
        for i in range(n):
            if isinf((<double*>a.data)[i]):
                (<double*>a.data)[i] = 0


cdef Array* logsumexp(Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    # log(sum(exp(a - m))) + m with m the maximum of each row (0 where that is infinite): no overflow
    cdef uint64_t mask
    cdef Array* wide
    cdef Array* m
    cdef Array* part = NULL
    cdef Array* result = NULL
    cdef Array* total
    cdef Array* flat
    cdef int dtype
    if a == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    dtype = FLOAT32 if a.dtype == FLOAT16 else float_for(a.dtype)
    if dtype != a.dtype:
        wide = cast(a, dtype)
        result = logsumexp(wide, dims, keepdim)
        array_decref(wide)
        return to_half(result) if a.dtype == FLOAT16 else result
    if is_complex_code(dtype):
        part = array_view(a, real_of(dtype), a.data, a.ndim, a.shape, a.strides)
    else:
        part = array_incref(a)
    if part == NULL:
        return NULL
    m = reduce(R_MAX, part, mask, True, real_of(dtype), ZS_SKIP, 0, 0, NULL)      # -inf for empty rows
    array_decref(part)
    if m == NULL:
        return NULL
    replace_infinities(m)
    part = binary(UF_SUB, a, m, NULL)
    if part != NULL:
        wide = unary(UF_EXP, part, part)
        if wide != NULL:
            total = reduce(R_SUM, wide, mask, True, dtype, ZS_COUNT, 0, 0, NULL)
            array_decref(wide)
            if total != NULL:
                wide = unary(UF_LOG, total, total)
                result = binary(UF_ADD, wide, m, total)
                array_decref(wide)
                array_decref(total)
    array_decref(part)
    array_decref(m)
    if result != NULL and not keepdim and mask:
        flat = squeezed(result, mask)
        array_decref(result)
        return flat
    return result


cdef Array* squeezed(Array* a, uint64_t mask) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[64]
    cdef int d, n = 0
    for d in range(a.ndim):
        if not mask >> d & 1:
            shape[n] = a.shape[d]
            strides[n] = a.strides[d]
            n += 1
    return array_view(a, a.dtype, a.data, n, shape, strides)


cdef Array* logsumexp_backward(Array* grad, Array* a, Array* result, const IntList* dims, bint keepdim) noexcept nogil:
    cdef IntList sizes
    cdef Array* g = NULL
    cdef Array* r = NULL
    cdef Array* part
    cdef Array* out = NULL
    cdef int d
    if grad == NULL or a == NULL or result == NULL:
        return NULL
    sizes.n = a.ndim
    for d in range(a.ndim):
        sizes.v[d] = a.shape[d]
    r = expand_reduced(result, &sizes, dims, keepdim)
    g = expand_reduced(grad, &sizes, dims, keepdim)
    part = binary(UF_SUB, a, r, NULL)
    if part != NULL:
        out = unary(UF_EXP, part, part)
        array_decref(part)
        part = out
        out = binary(UF_MUL, part, g, part)
        array_decref(part)
    array_decref(r)
    array_decref(g)
    return out


# ---------------------------------------------------------------------------------------------------------------------------------- norms

cdef Array* vector_norm(Array* a, double p, const IntList* dims, bint keepdim, int dtype) noexcept nogil:
    cdef uint64_t mask
    cdef Array* wide
    cdef Array* result
    cdef char message[320]
    cdef int op, d
    if a == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    if is_integral_code(a.dtype):
        fail_s(ERR_RUNTIME, "cygrad linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s; convert it first",
               dtype_cname(a.dtype), NULL, NULL)
        return NULL
    if dtype >= 0 and dtype != a.dtype:
        if is_complex_code(dtype) != is_complex_code(a.dtype) or is_integral_code(dtype):
            fail_s(ERR_RUNTIME, "cygrad linalg.vector_norm: dtype should be %s for a %s input, but got %s",
                   "complex" if is_complex_code(a.dtype) else "floating-point", dtype_cname(a.dtype), dtype_cname(dtype))
            return NULL
        if dtype < a.dtype:
            fail_s(ERR_RUNTIME, "cygrad linalg.vector_norm: the dtype of the input (%s) should be convertible without narrowing to the specified dtype (%s)",
                   dtype_cname(a.dtype), dtype_cname(dtype), NULL)
            return NULL
        wide = cast(a, dtype)
        result = vector_norm(wide, p, dims, keepdim, -1)
        array_decref(wide)
        return result
    if a.numel == 0 and (p < 0 or isinf(p)):
        if all_of(dims):
            snprintf(message, 320, "cygrad linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not have an identity",
                     p)
            fail(ERR_RUNTIME, message)
            return NULL
        for d in range(a.ndim):
            if mask >> d & 1 and a.shape[d] == 0:
                snprintf(message, 320, "cygrad linalg.vector_norm cannot compute the %g norm on the dimension %d because this dimension is empty and the "
                         "operation does not have an identity", p, d)
                fail(ERR_RUNTIME, message)
                return NULL
    if a.dtype == FLOAT16:
        wide = cast(a, FLOAT32)
        result = vector_norm(wide, p, dims, keepdim, -1)
        array_decref(wide)
        return to_half(result)
    if p == 2:
        op = R_NORM2
    elif p == 1:
        op = R_NORM1
    elif p == 0:
        op = R_NORM0
    elif isinf(p):
        op = R_NORM_MAX if p > 0 else R_NORM_MIN
    else:
        op = R_NORMP
    return reduce(op, a, mask, keepdim, real_of(a.dtype), ZS_KEEP, 0, p, NULL)


cdef Array* norm_backward(Array* grad, Array* a, double p, Array* result, const IntList* dims, bint keepdim) noexcept nogil:
    cdef uint64_t mask
    cdef int dtype, op
    cdef Array* x
    cdef Array* g
    cdef Array* r
    cdef Array* out = NULL
    if grad == NULL or a == NULL or result == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    if p == 0:
        return array_zeros(a.dtype, a.ndim, a.shape)
    if isinf(p):
        return shared_backward(RB_NORM_INF, grad, a, result, dims, keepdim, 1)
    op = RB_NORM2 if p == 2 else RB_NORM1 if p == 1 else RB_NORMP
    dtype = FLOAT32 if a.dtype == FLOAT16 else a.dtype
    x = cast(a, dtype)
    g = cast(grad, real_of(dtype))
    r = cast(result, real_of(dtype))
    if x != NULL and g != NULL and r != NULL:
        out = backward(op, x, g, r, NULL, mask, keepdim, keepdim, p)
    array_decref(x)
    array_decref(g)
    array_decref(r)
    return to_half(out) if a.dtype == FLOAT16 else out
