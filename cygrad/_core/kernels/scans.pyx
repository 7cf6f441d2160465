# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic -Wno-psabi
# distutils: depends = cygrad/_core/kernels/numeric.hpp cygrad/_core/kernels/reduce.hpp
# Running sums and products, positions of extrema: checks, dtypes and geometry here, loops in scan.hpp. Contract: scans.pxd.

from libc.stdint cimport uint64_t
from libc.stdio cimport snprintf
from cygrad._core.array cimport Array, IntList, array_decref, array_empty, array_view, normalize_dim
from cygrad._core.atomics cimport unlikely
from cygrad._core.dtypes cimport BOOL, FLOAT16, FLOAT32, INT64, ITEMSIZE, NUMPY_TYPE, is_complex_code, is_integral_code
from cygrad._core.errors cimport fail, fail_i, fail_s, ERR_INDEX, ERR_RUNTIME
from cygrad._core.kernels.apply cimport fail_dtype
from cygrad._core.kernels.copy cimport cast, contiguous
from cygrad._core.kernels.reductions cimport all_of, dims_mask, to_half

cdef extern from "scan.hpp" namespace "cg" nogil:
    cdef cppclass Plan:
        pass
    enum:
        ZS_KEEP
    void plan_make(Plan* plan, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, const Py_ssize_t* out, uint64_t reduced, int zero_stride)
    bint scan_run(bint product, int type, const char* x, char* out, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner, bint reverse)
    bint product_backward_run(bint running, int type, const char* g, const char* x, char* out, Py_ssize_t outer, Py_ssize_t n, Py_ssize_t inner)
    bint arg_extremum_run(bint largest, int type, const Plan* plan, const char* data, char* values, char* indices)


cdef inline void around_dim(int ndim, const Py_ssize_t* shape, int dim, Py_ssize_t* outer, Py_ssize_t* n, Py_ssize_t* inner) noexcept nogil:
    cdef int d
    outer[0] = n[0] = inner[0] = 1
    for d in range(dim):
        outer[0] *= shape[d]
    if ndim:
        n[0] = shape[dim]
    for d in range(dim + 1, ndim):
        inner[0] *= shape[d]


# --------------------------------------------------------------------------------------------------------------- running sums and products

cdef Array* scan_of(bint product, Array* a, Py_ssize_t dim, int dtype, bint reverse) noexcept nogil:
    cdef Array* x
    cdef Array* y
    cdef Array* out
    cdef Py_ssize_t outer, n, inner
    cdef int d, computed
    if a == NULL:
        return NULL
    d = normalize_dim(dim, a.ndim)
    if unlikely(d < 0):
        return NULL
    if dtype < 0:
        dtype = INT64 if is_integral_code(a.dtype) else a.dtype
    computed = INT64 if is_integral_code(dtype) else FLOAT32 if dtype == FLOAT16 else dtype
    x = cast(a, dtype)                      # to the dtype asked for, then to the one it is computed in
    y = cast(x, computed)
    array_decref(x)
    x = contiguous(y)
    array_decref(y)
    if x == NULL:
        return NULL
    out = array_empty(computed, a.ndim, a.shape)
    if out != NULL and out.numel:
        around_dim(a.ndim, a.shape, d, &outer, &n, &inner)
        scan_run(product, NUMPY_TYPE[computed], x.data, out.data, outer, n, inner, reverse)
    array_decref(x)
    if out != NULL and computed != dtype:
        x = cast(out, dtype)
        array_decref(out)
        out = x
    return out


cdef Array* cumsum(Array* a, Py_ssize_t dim, int dtype) noexcept nogil:
    return scan_of(False, a, dim, dtype, False)


cdef Array* cumprod(Array* a, Py_ssize_t dim, int dtype) noexcept nogil:
    return scan_of(True, a, dim, dtype, False)


cdef Array* cumsum_backward(Array* grad, Py_ssize_t dim) noexcept nogil:
    return scan_of(False, grad, dim, -1, True)


cdef Array* cast_contiguous(Array* a, int dtype) noexcept nogil:
    cdef Array* x = cast(a, dtype)
    cdef Array* y = contiguous(x)
    array_decref(x)
    return y


cdef Array* cumprod_backward(Array* grad, Array* a, Py_ssize_t dim) noexcept nogil:
    cdef Array* g
    cdef Array* x
    cdef Array* out
    cdef Py_ssize_t outer, n, inner
    cdef int d, dtype
    if grad == NULL or a == NULL:
        return NULL
    d = normalize_dim(dim, a.ndim)
    if d < 0:
        return NULL
    if grad.numel != a.numel:
        fail(ERR_RUNTIME, "cygrad cumprod_backward: the gradient must have the shape of the input")
        return NULL
    if is_integral_code(a.dtype):
        return fail_dtype("cumprod_backward", a.dtype)
    dtype = FLOAT32 if a.dtype == FLOAT16 else a.dtype
    g = cast_contiguous(grad, dtype)
    x = cast_contiguous(a, dtype)
    out = array_empty(dtype, a.ndim, a.shape) if g != NULL and x != NULL else NULL
    if out != NULL and out.numel:
        around_dim(a.ndim, a.shape, d, &outer, &n, &inner)
        product_backward_run(True, NUMPY_TYPE[dtype], g.data, x.data, out.data, outer, n, inner)
    array_decref(g)
    array_decref(x)
    return to_half(out) if a.dtype == FLOAT16 else out


cdef Array* prod_backward(Array* grad, Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    cdef uint64_t mask
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t rows = 1, n = 1
    cdef Array* g
    cdef Array* x = NULL
    cdef Array* moved
    cdef Array* out = NULL
    cdef int d, k, dtype
    if grad == NULL or a == NULL or dims_mask(a.ndim, dims, &mask) < 0:
        return NULL
    if is_integral_code(a.dtype):
        return fail_dtype("prod_backward", a.dtype)
    # rows: the kept dims first, then the reduced ones
    k = 0
    for d in range(a.ndim):
        if not mask >> d & 1:
            shape[k] = a.shape[d]
            strides[k] = a.strides[d]
            rows *= a.shape[d]
            k += 1
    for d in range(a.ndim):
        if mask >> d & 1:
            shape[k] = a.shape[d]
            strides[k] = a.strides[d]
            n *= a.shape[d]
            k += 1
    if grad.numel != rows:
        fail_i(ERR_RUNTIME, "cygrad prod_backward: expected a gradient of %ld elements but got %ld", rows, grad.numel, 0)
        return NULL
    dtype = FLOAT32 if a.dtype == FLOAT16 else a.dtype
    g = cast_contiguous(grad, dtype)
    moved = array_view(a, a.dtype, a.data, a.ndim, shape, strides)
    if g != NULL and moved != NULL:
        x = cast_contiguous(moved, dtype)
        out = array_empty(dtype, a.ndim, shape) if x != NULL else NULL
        if out != NULL and out.numel:
            product_backward_run(False, NUMPY_TYPE[dtype], g.data, x.data, out.data, rows, n, 1)
    array_decref(moved)
    array_decref(g)
    array_decref(x)
    if out == NULL:
        return NULL
    k = 0
    for d in range(a.ndim):
        if not mask >> d & 1:
            strides[d] = out.strides[k]
            k += 1
    for d in range(a.ndim):
        if mask >> d & 1:
            strides[d] = out.strides[k]
            k += 1
    moved = array_view(out, dtype, out.data, a.ndim, a.shape, strides)
    array_decref(out)
    return to_half(moved) if a.dtype == FLOAT16 else moved


# -------------------------------------------------------------------------------------------------------------------- positions of extrema

# Values (NULL pointer: not wanted) and indices along dim of a, which is real and not float16.
cdef int arg_along(bint largest, Array* a, int dim, bint keepdim, Array** values, Array** indices) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[64]
    cdef Plan plan
    cdef int d, n = 0
    for d in range(a.ndim):
        if d != dim:
            shape[n] = a.shape[d]
            n += 1
        elif keepdim:
            shape[n] = 1
            n += 1
    indices[0] = array_empty(INT64, n, shape)
    if indices[0] == NULL:
        return -1
    if values != NULL:
        values[0] = array_empty(a.dtype, n, shape)
        if values[0] == NULL:
            array_decref(indices[0])
            return -1
    if indices[0].numel:
        n = 0
        for d in range(a.ndim):
            strides[d] = 0
            if d != dim:
                strides[d] = indices[0].strides[n]
            if d != dim or keepdim:
                n += 1
        plan_make(&plan, a.ndim, a.shape, a.strides, strides, <uint64_t>1 << dim, ZS_KEEP)
        arg_extremum_run(largest, NUMPY_TYPE[a.dtype], &plan, a.data, values[0].data if values != NULL else NULL, indices[0].data)
    return 0


cdef int refuse_complex(const char* name, Array* a) noexcept nogil:
    if is_complex_code(a.dtype):
        return fail_s(ERR_RUNTIME, "cygrad %s(): does not support complex input; take it of abs() or of the real part", name, NULL, NULL)
    return 0


cdef int refuse_empty_row(const char* name, Array* a, int dim) noexcept nogil:
    cdef char message[256]
    if a.ndim and a.shape[dim] == 0:
        snprintf(message, sizeof(message), "cygrad %s(): Expected reduction dim %d to have non-zero size; an empty row has no extremum", name, dim)
        return fail(ERR_INDEX, message)
    return 0


cdef Array* arg_of(bint largest, const char* name, Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t stride
    cdef Array* x
    cdef Array* flat
    cdef Array* result = NULL
    cdef bint flattened = all_of(dims)
    cdef int d = 0
    if a == NULL:
        return NULL
    if not flattened and dims.n > 1:
        fail_s(ERR_RUNTIME, "cygrad %s(): takes one dim, or none for the position in the flattened tensor", name, NULL, NULL)
        return NULL
    if not flattened:
        d = normalize_dim(dims.v[0], a.ndim)
        if d < 0:
            return NULL
    if a.dtype == BOOL:
        fail_s(ERR_RUNTIME, "cygrad %s(): does not support bool input; convert it to an integer type", name, NULL, NULL)
        return NULL
    if refuse_complex(name, a) < 0:
        return NULL
    if flattened and a.numel == 0:
        fail_s(ERR_INDEX, "cygrad %s(): Expected reduction dim to be specified for input.numel() == 0", name, NULL, NULL)
        return NULL
    if not flattened and refuse_empty_row(name, a, d) < 0:
        return NULL
    x = cast(a, FLOAT32) if a.dtype == FLOAT16 else cast(a, a.dtype)
    if x == NULL:
        return NULL
    if flattened:
        flat = contiguous(x)
        array_decref(x)
        if flat == NULL:
            return NULL
        stride = ITEMSIZE[flat.dtype]
        x = array_view(flat, flat.dtype, flat.data, 1, &flat.numel, &stride)
        array_decref(flat)
        if x == NULL:
            return NULL
        d = 0
    if arg_along(largest, x, d, keepdim and not flattened, NULL, &result) < 0:
        result = NULL
    array_decref(x)
    if result != NULL and flattened and keepdim and a.ndim:
        for d in range(a.ndim):
            shape[d] = 1
        reshape_one(&result, a.ndim, shape)
    return result


# The one-element Array in another shape of ones.
cdef void reshape_one(Array** a, int ndim, const Py_ssize_t* shape) noexcept nogil:
    cdef Py_ssize_t strides[64]
    cdef Array* view
    cdef int d
    for d in range(ndim):
        strides[d] = ITEMSIZE[a[0].dtype]
    view = array_view(a[0], a[0].dtype, a[0].data, ndim, shape, strides)
    array_decref(a[0])
    a[0] = view


cdef Array* argmax(Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    return arg_of(True, "argmax", a, dims, keepdim)


cdef Array* argmin(Array* a, const IntList* dims, bint keepdim) noexcept nogil:
    return arg_of(False, "argmin", a, dims, keepdim)


cdef int extremum_dim(bint largest, const char* name, Array* a, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil:
    cdef Array* x
    cdef int d, rc
    if a == NULL:
        return -1
    d = normalize_dim(dim, a.ndim)
    if d < 0 or refuse_empty_row(name, a, d) < 0 or refuse_complex(name, a) < 0:
        return -1
    outs[0] = outs[1] = NULL
    if a.dtype != FLOAT16:
        return arg_along(largest, a, d, keepdim, &outs[0], &outs[1])
    x = cast(a, FLOAT32)
    if x == NULL:
        return -1
    rc = arg_along(largest, x, d, keepdim, &outs[0], &outs[1])
    array_decref(x)
    if rc == 0:
        outs[0] = to_half(outs[0])
        if outs[0] == NULL:
            array_decref(outs[1])
            return -1
    return rc


cdef int max_dim(Array* a, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil:
    return extremum_dim(True, "max", a, dim, keepdim, outs)


cdef int min_dim(Array* a, Py_ssize_t dim, bint keepdim, Array** outs) noexcept nogil:
    return extremum_dim(False, "min", a, dim, keepdim, outs)
