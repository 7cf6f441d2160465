# Products of matrices, vectors and batches: shapes and dtypes are checked here, the products made in gemm.pyx. Contract: linalg.pxd.

from libc.stdint cimport int64_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy
from cygrad._core.array cimport (
    Array, CONTIGUOUS, array_decref, array_empty, array_incref, array_view, broadcast_shape, scalar_double, scalar_int)
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.dtypes cimport BOOL, FLOAT16, FLOAT32, ITEMSIZE, N_DTYPES, dtype_cname, is_integral_code
from cygrad._core.errors cimport fail, fail_i, fail_s, ERR_RUNTIME
from cygrad._core.kernels.copy cimport cast, contiguous, copy_into
from cygrad._core.kernels.gemm cimport Matrix, blas_takes, fit, gemm, gemm_dot
from cygrad._core.kernels.reductions cimport to_half
from cygrad._core.kernels.apply cimport fail_dtype
from cygrad._core.kernels.ufuncs cimport UF_ADD, UF_MUL, binary

# C++ names of the element types, which torch's messages of mm show
cdef const char* TYPE_NAMES[N_DTYPES]
TYPE_NAMES[:] = ["bool", "unsigned char", "signed char", "short int", "int", "long int", "c10::Half", "float", "double", "c10::complex<float>", "c10::complex<double>"]



# --------------------------------------------------------------------------------------------------------------------------------- checks

cdef Array* no_product(Array* a, Array* b) noexcept nogil:
    cdef char message[320]
    snprintf(message, sizeof(message), "cygrad matmul: mat1 and mat2 shapes cannot be multiplied (%ldx%ld and %ldx%ld); the columns of the first must be as many as "
             "the rows of the second", <long>a.shape[0], <long>a.shape[1], <long>b.shape[0], <long>b.shape[1])
    fail(ERR_RUNTIME, message)
    return NULL


cdef inline int same_dtype(Array* a, Array* b) noexcept nogil:
    if likely(a.dtype == b.dtype):
        return 0
    return fail_s(ERR_RUNTIME, "cygrad matmul: expected m1 and m2 to have the same dtype, but got: %s != %s; convert one of them",
                  TYPE_NAMES[a.dtype], TYPE_NAMES[b.dtype], NULL)


cdef int broadcasts_to(Array* a, int ndim, const Py_ssize_t* shape) noexcept nogil:
    cdef char message[320]
    cdef int d, lead = ndim - a.ndim
    if lead < 0:
        return fail_i(ERR_RUNTIME, "cygrad: the number of sizes provided (%ld) must be greater or equal to the number of dimensions in the tensor (%ld)",
                      ndim, a.ndim, 0)
    for d in range(a.ndim):
        if a.shape[d] != 1 and a.shape[d] != shape[lead + d]:
            snprintf(message, sizeof(message), "cygrad: The expanded size of the tensor (%ld) must match the existing size (%ld) at non-singleton dimension %d; "
                     "the added tensor must broadcast to the shape of the product", <long>shape[lead + d], <long>a.shape[d], lead + d)
            return fail(ERR_RUNTIME, message)
    return 0


cdef inline Array* refuse_bool(const char* name) noexcept nogil:
    fail_dtype(name, BOOL)
    return NULL


# ------------------------------------------------------------------------------------------------------------------------- two dimensions

# out (contiguous, already beta-ready) = beta * out + alpha * a b for checked operands; steals out.
cdef Array* product2(Array* a, Array* b, Array* out, double alpha, double beta) noexcept nogil:
    cdef Matrix ma
    cdef Matrix mb
    cdef Array* x
    cdef Array* y
    if unlikely(out == NULL):
        return NULL
    x = fit(a, &ma)
    y = fit(b, &mb)
    if likely(x != NULL and y != NULL):
        gemm(a.dtype, &ma, x.data, &mb, y.data, out.data, alpha, beta)
    else:
        array_decref(out)
        out = NULL
    array_decref(x)
    array_decref(y)
    return out


cdef Array* mm(Array* a, Array* b) noexcept nogil:
    cdef Py_ssize_t shape[2]
    if a == NULL or b == NULL:
        return NULL
    if unlikely(a.ndim != 2 or b.ndim != 2):
        fail_s(ERR_RUNTIME, "cygrad mm: %s must be a matrix (two dims)", "self" if a.ndim != 2 else "mat2", NULL, NULL)
        return NULL
    if unlikely(same_dtype(a, b) < 0):
        return NULL
    if unlikely(a.shape[1] != b.shape[0]):
        return no_product(a, b)
    if unlikely(a.dtype == BOOL):
        return refuse_bool("mm")
    if unlikely(a.dtype == FLOAT16):
        return in_float(mm, a, b)
    shape[0] = a.shape[0]
    shape[1] = b.shape[1]
    return product2(a, b, array_empty(a.dtype, 2, shape), 1, 0)


ctypedef Array* (*Product)(Array*, Array*) noexcept nogil


cdef Array* in_float(Product f, Array* a, Array* b) noexcept nogil:
    cdef Array* x = cast(a, FLOAT32)
    cdef Array* y = cast(b, FLOAT32)
    cdef Array* result = f(x, y)
    array_decref(x)
    array_decref(y)
    return to_half(result)


# beta * self + alpha * product, in separate steps: integers, and float16, whose product comes in float32.
cdef Array* combine(Array* self, Array* product, double beta, double alpha) noexcept nogil:
    cdef Array* factor
    cdef Array* part
    cdef Array* result
    if product == NULL:
        return NULL
    if is_integral_code(product.dtype):
        beta = <double><int64_t>beta
        alpha = <double><int64_t>alpha
    factor = scalar_int(<int64_t>alpha) if is_integral_code(product.dtype) else scalar_double(alpha)
    result = binary(UF_MUL, product, factor, product) if alpha != 1 else array_incref(product)
    array_decref(factor)
    if beta == 0 or result == NULL:
        return result
    factor = scalar_int(<int64_t>beta) if is_integral_code(product.dtype) else scalar_double(beta)
    part = binary(UF_MUL, self, factor, NULL)
    array_decref(factor)
    factor = binary(UF_ADD, part, result, result)
    array_decref(part)
    array_decref(result)
    return factor


# The general form of addmm, addmv and baddbmm for dtypes that BLAS does not take
cdef Array* add_product(Product f, Array* self, Array* a, Array* b, double beta, double alpha) noexcept nogil:
    cdef Array* x
    cdef Array* y
    cdef Array* z
    cdef Array* product
    cdef Array* result
    if a.dtype == FLOAT16:
        x = cast(a, FLOAT32)
        y = cast(b, FLOAT32)
        z = cast(self, FLOAT32)
        product = f(x, y)
        result = combine(z, product, beta, alpha) if z != NULL else NULL
        array_decref(x)
        array_decref(y)
        array_decref(z)
        array_decref(product)
        return to_half(result)
    product = f(a, b)
    result = combine(self, product, beta, alpha)
    array_decref(product)
    return result


# A new Array of the product's shape that holds self, broadcast (left as it is where beta is 0).
cdef Array* start_sum(Array* self, int ndim, const Py_ssize_t* shape, double beta) noexcept nogil:
    cdef Array* out = array_empty(self.dtype, ndim, shape)
    cdef Py_ssize_t i, row
    if out == NULL or beta == 0 or out.numel == 0:
        return out
    if self.flags & CONTIGUOUS and self.numel == shape[ndim - 1] and self.ndim == 1:
        row = self.numel * ITEMSIZE[self.dtype]
        for i in range(out.numel // self.numel):
            memcpy(out.data + i * row, self.data, row)
        return out
    if copy_into(out, self) < 0:
        array_decref(out)
        return NULL
    return out


cdef Array* addmm(Array* self, Array* a, Array* b, double beta, double alpha) noexcept nogil:
    cdef Py_ssize_t shape[2]
    if self == NULL or a == NULL or b == NULL:
        return NULL
    if unlikely(a.ndim != 2 or b.ndim != 2):
        fail_s(ERR_RUNTIME, "cygrad addmm: %s must be a matrix (two dims)", "mat1" if a.ndim != 2 else "mat2", NULL, NULL)
        return NULL
    if unlikely(self.dtype != b.dtype):
        fail_s(ERR_RUNTIME, "cygrad addmm: self and mat2 must have the same dtype, but got %s and %s; convert one of them",
               dtype_cname(self.dtype), dtype_cname(b.dtype), NULL)
        return NULL
    if unlikely(same_dtype(a, b) < 0):
        return NULL
    if unlikely(a.shape[1] != b.shape[0]):
        return no_product(a, b)
    if unlikely(a.dtype == BOOL):
        return refuse_bool("addmm")
    shape[0] = a.shape[0]
    shape[1] = b.shape[1]
    if unlikely(broadcasts_to(self, 2, shape) < 0):
        return NULL
    if unlikely(not blas_takes(a.dtype)):
        return add_product(mm, self, a, b, beta, alpha)
    return product2(a, b, start_sum(self, 2, shape, beta), alpha, beta)


# ------------------------------------------------------------------------------------------------------------------------------- vectors

cdef inline Array* as_column(Array* v) noexcept nogil:
    cdef Py_ssize_t shape[2]
    cdef Py_ssize_t strides[2]
    shape[0] = v.shape[0]
    shape[1] = 1
    strides[0] = v.strides[0]
    strides[1] = ITEMSIZE[v.dtype]
    return array_view(v, v.dtype, v.data, 2, shape, strides)


cdef int check_mv(Array* a, Array* b) noexcept nogil:
    cdef char message[256]
    if a.ndim != 2 or b.ndim != 1:
        return fail_i(ERR_RUNTIME, "cygrad mv: matrix @ vector expected, got tensors of %ld and %ld dims", a.ndim, b.ndim, 0)
    if a.shape[1] != b.shape[0]:
        snprintf(message, sizeof(message), "cygrad mv: size mismatch, got input (%ld), mat (%ldx%ld), vec (%ld); the vector must be as long as the matrix has columns",
                 <long>a.shape[0], <long>a.shape[0], <long>a.shape[1], <long>b.shape[0])
        return fail(ERR_RUNTIME, message)
    if a.dtype != b.dtype:
        return fail_s(ERR_RUNTIME, "cygrad mv: input tensors must have the same dtype, but got %s and %s; convert one of them",
                      dtype_cname(a.dtype), dtype_cname(b.dtype), NULL)
    if a.dtype == BOOL:
        refuse_bool("mv")
        return -1
    return 0


cdef Array* mv(Array* a, Array* b) noexcept nogil:
    cdef Array* column
    cdef Array* result
    if a == NULL or b == NULL or check_mv(a, b) < 0:
        return NULL
    if unlikely(a.dtype == FLOAT16):
        return in_float(mv, a, b)
    column = as_column(b)
    if column == NULL:
        return NULL
    result = product2(a, column, array_empty(a.dtype, 1, a.shape), 1, 0)
    array_decref(column)
    return result


cdef Array* addmv(Array* self, Array* a, Array* b, double beta, double alpha) noexcept nogil:
    cdef Array* column
    cdef Array* result
    if self == NULL or a == NULL or b == NULL or check_mv(a, b) < 0 or broadcasts_to(self, 1, a.shape) < 0:
        return NULL
    if self.dtype != a.dtype:
        fail_s(ERR_RUNTIME, "cygrad addmv: input tensors must have the same dtype, but got %s and %s; convert one of them",
               dtype_cname(self.dtype), dtype_cname(a.dtype), NULL)
        return NULL
    if not blas_takes(a.dtype):
        return add_product(mv, self, a, b, beta, alpha)
    column = as_column(b)
    if column == NULL:
        return NULL
    result = product2(a, column, start_sum(self, 1, a.shape, beta), alpha, beta)
    array_decref(column)
    return result


cdef Array* dot(Array* a, Array* b) noexcept nogil:
    cdef Array* out
    cdef char message[256]
    if a == NULL or b == NULL:
        return NULL
    if unlikely(a.ndim != 1 or b.ndim != 1):
        fail_i(ERR_RUNTIME, "cygrad dot: 1D tensors expected, but got %ldD and %ldD tensors", a.ndim, b.ndim, 0)
        return NULL
    if unlikely(a.dtype != b.dtype):
        fail_s(ERR_RUNTIME, "cygrad dot: expected both vectors to have same dtype, but found %s and %s; convert one of them",
               dtype_cname(a.dtype), dtype_cname(b.dtype), NULL)
        return NULL
    if unlikely(a.shape[0] != b.shape[0]):
        snprintf(message, sizeof(message), "cygrad dot: inconsistent tensor size, expected tensor [%ld] and src [%ld] to have the same number of elements",
                 <long>a.shape[0], <long>b.shape[0])
        fail(ERR_RUNTIME, message)
        return NULL
    if unlikely(a.dtype == BOOL):
        return refuse_bool("dot")
    if unlikely(a.dtype == FLOAT16):
        return in_float(dot, a, b)
    out = array_empty(a.dtype, 0, NULL)
    if out == NULL:
        return NULL
    gemm_dot(a.dtype, a.shape[0], a.data, a.strides[0], b.data, b.strides[0], out.data)
    return out


cdef Array* outer(Array* a, Array* b) noexcept nogil:
    cdef Array* column
    cdef Array* result
    if a == NULL or b == NULL:
        return NULL
    if unlikely(a.ndim != 1 or b.ndim != 1):
        fail_i(ERR_RUNTIME, "cygrad outer: Expected 1-D argument, but got %ld-D and %ld-D; flatten them first", a.ndim, b.ndim, 0)
        return NULL
    column = as_column(a)
    result = binary(UF_MUL, column, b, NULL)
    array_decref(column)
    return result


# ------------------------------------------------------------------------------------------------------------------------------- batches

# out[i] = beta * out[i] + alpha * a[i] b[i] over broadcast leading dims; steals out (contiguous, its leading dims given by its shape).
cdef Array* product_batched(Array* a, Array* b, Array* out, double alpha, double beta) noexcept nogil:
    cdef Matrix ma
    cdef Matrix mb
    cdef Array* x
    cdef Array* y
    cdef Py_ssize_t sa[64]
    cdef Py_ssize_t sb[64]
    cdef Py_ssize_t index[64]
    cdef Py_ssize_t step
    cdef char* pa
    cdef char* pb
    cdef char* pc
    cdef int n, d
    if out == NULL:
        return NULL
    x = fit(a, &ma)
    y = fit(b, &mb)
    if x != NULL and y != NULL and out.numel:
        n = out.ndim - 2
        for d in range(n):
            sa[d] = sb[d] = index[d] = 0
        for d in range(x.ndim - 2):
            if x.shape[d] != 1:
                sa[n - (x.ndim - 2) + d] = x.strides[d]
        for d in range(y.ndim - 2):
            if y.shape[d] != 1:
                sb[n - (y.ndim - 2) + d] = y.strides[d]
        pa = x.data
        pb = y.data
        pc = out.data
        step = ma.rows * mb.cols * ITEMSIZE[out.dtype]
        while True:
            gemm(out.dtype, &ma, pa, &mb, pb, pc, alpha, beta)
            pc += step
            d = n - 1
            while d >= 0:
                index[d] += 1
                pa += sa[d]
                pb += sb[d]
                if index[d] < out.shape[d]:
                    break
                pa -= sa[d] * index[d]
                pb -= sb[d] * index[d]
                index[d] = 0
                d -= 1
            if d < 0:
                break
    elif x == NULL or y == NULL:
        array_decref(out)
        out = NULL
    array_decref(x)
    array_decref(y)
    return out


cdef int check_bmm(Array* a, Array* b) noexcept nogil:
    cdef char message[256]
    if a.ndim != 3 or b.ndim != 3:
        return fail_s(ERR_RUNTIME, "cygrad bmm: %s must be a 3D tensor", "batch1" if a.ndim != 3 else "batch2", NULL, NULL)
    if a.dtype != b.dtype:
        return fail_s(ERR_RUNTIME, "cygrad bmm: expected scalar type %s but found %s; convert one of the operands",
                      dtype_cname(a.dtype), dtype_cname(b.dtype), NULL)
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        snprintf(message, sizeof(message), "cygrad bmm: Expected size for first two dimensions of batch2 tensor to be: [%ld, %ld] but got: [%ld, %ld]",
                 <long>a.shape[0], <long>a.shape[2], <long>b.shape[0], <long>b.shape[1])
        return fail(ERR_RUNTIME, message)
    if a.dtype == BOOL:
        refuse_bool("bmm")
        return -1
    return 0


cdef Array* bmm(Array* a, Array* b) noexcept nogil:
    cdef Py_ssize_t shape[3]
    if a == NULL or b == NULL or check_bmm(a, b) < 0:
        return NULL
    if a.dtype == FLOAT16:
        return in_float(bmm, a, b)
    shape[0] = a.shape[0]
    shape[1] = a.shape[1]
    shape[2] = b.shape[2]
    return product_batched(a, b, array_empty(a.dtype, 3, shape), 1, 0)


cdef Array* baddbmm(Array* self, Array* a, Array* b, double beta, double alpha) noexcept nogil:
    cdef Py_ssize_t shape[3]
    if self == NULL or a == NULL or b == NULL or check_bmm(a, b) < 0:
        return NULL
    if self.dtype != a.dtype:
        fail_s(ERR_RUNTIME, "cygrad baddbmm: Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
               TYPE_NAMES[self.dtype], TYPE_NAMES[a.dtype], TYPE_NAMES[b.dtype])
        return NULL
    shape[0] = a.shape[0]
    shape[1] = a.shape[1]
    shape[2] = b.shape[2]
    if broadcasts_to(self, 3, shape) < 0:
        return NULL
    if not blas_takes(a.dtype):
        return add_product(bmm, self, a, b, beta, alpha)
    return product_batched(a, b, start_sum(self, 3, shape, beta), alpha, beta)


# Whether all dims but the last lie as one: row i of the flattened matrix starts at i * stride.
cdef bint rows_regular(Array* a) noexcept nogil:
    cdef int d
    cdef Py_ssize_t expected = a.strides[a.ndim - 2] * a.shape[a.ndim - 2]
    for d in range(a.ndim - 3, -1, -1):
        if a.shape[d] != 1:
            if a.strides[d] != expected:
                return False
            expected *= a.shape[d]
    return True


cdef Array* matmul_batched(Array* a, Array* b) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t flat[2]
    cdef Py_ssize_t strides[2]
    cdef Array lead_a
    cdef Array lead_b
    cdef Array* out
    cdef Array* rows
    cdef int n
    cdef char message[256]
    if a == NULL or b == NULL:
        return NULL
    if a.ndim == 2 and b.ndim == 2:
        return mm(a, b)
    if a.ndim < 2 or b.ndim < 2:
        fail(ERR_RUNTIME, "cygrad matmul: both operands of a batched product need two dims or more")
        return NULL
    if same_dtype(a, b) < 0:
        return NULL
    lead_a = a[0]
    lead_b = b[0]
    lead_a.ndim -= 2
    lead_b.ndim -= 2
    n = broadcast_shape(&lead_a, &lead_b, shape)
    if n < 0:
        return NULL
    if a.shape[a.ndim - 1] != b.shape[b.ndim - 2]:
        snprintf(message, sizeof(message), "cygrad matmul: Expected size for first two dimensions of batch2 tensor to be: [.., %ld] but got: [.., %ld]: the columns of the "
                 "first matrix must be as many as the rows of the second", <long>a.shape[a.ndim - 1], <long>b.shape[b.ndim - 2])
        fail(ERR_RUNTIME, message)
        return NULL
    if a.dtype == BOOL:
        return refuse_bool("matmul")
    if a.dtype == FLOAT16:
        return in_float(matmul_batched, a, b)
    shape[n] = a.shape[a.ndim - 2]
    shape[n + 1] = b.shape[b.ndim - 1]
    out = array_empty(a.dtype, n + 2, shape)
    if out == NULL or out.numel == 0:
        return out
    if b.ndim == 2 and rows_regular(a):               # one large product instead of many
        flat[0] = a.numel // a.shape[a.ndim - 1] if a.numel else out.numel // b.shape[1]
        flat[1] = a.shape[a.ndim - 1]
        strides[0] = a.strides[a.ndim - 2]
        strides[1] = a.strides[a.ndim - 1]
        if a.shape[a.ndim - 2] == 1:
            strides[0] = first_stride(a)
        rows = array_view(a, a.dtype, a.data, 2, flat, strides)
        if rows == NULL:
            array_decref(out)
            return NULL
        out = product2(rows, b, out, 1, 0)
        array_decref(rows)
        return out
    return product_batched(a, b, out, 1, 0)


# The stride from row to row where the rows of all leading dims lie as one and the innermost of these dims has one entry.
cdef Py_ssize_t first_stride(Array* a) noexcept nogil:
    cdef int d
    for d in range(a.ndim - 2, -1, -1):
        if a.shape[d] != 1:
            return a.strides[d]
    return a.strides[a.ndim - 2]


cdef Array* matmul(Array* a, Array* b) noexcept nogil:
    cdef Array* x
    cdef Array* result
    cdef Array* squeezed = NULL
    cdef Py_ssize_t shape[2]
    cdef Py_ssize_t strides[2]
    if a == NULL or b == NULL:
        return NULL
    if unlikely(a.ndim == 0 or b.ndim == 0):
        fail_i(ERR_RUNTIME, "cygrad matmul: both arguments to matmul need to be at least 1D, but they are %ldD and %ldD", a.ndim, b.ndim, 0)
        return NULL
    if a.ndim == 1 and b.ndim == 1:
        return dot(a, b)
    if a.ndim == 2 and b.ndim == 1:
        return mv(a, b)
    if a.ndim > 1 and b.ndim > 1:
        return matmul_batched(a, b)
    if b.ndim == 1:
        x = as_column(b)
        result = matmul_batched(a, x)
        if result != NULL:
            squeezed = array_view(result, result.dtype, result.data, result.ndim - 1, result.shape, result.strides)
    else:
        shape[0] = 1
        shape[1] = a.shape[0]
        strides[0] = strides[1] = a.strides[0]
        x = array_view(a, a.dtype, a.data, 2, shape, strides)
        result = matmul_batched(x, b)
        if result != NULL:
            squeezed = without_dim(result, result.ndim - 2)
    array_decref(x)
    array_decref(result)
    return squeezed


cdef Array* without_dim(Array* a, int dim) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[64]
    cdef int d, n = 0
    for d in range(a.ndim):
        if d != dim:
            shape[n] = a.shape[d]
            strides[n] = a.strides[d]
            n += 1
    return array_view(a, a.dtype, a.data, n, shape, strides)


cdef Array* linear(Array* a, Array* weight, Array* bias) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[2]
    cdef Array* w
    cdef Array* x
    cdef Array* out = NULL
    cdef int d
    if a == NULL or weight == NULL:
        return NULL
    if weight.ndim != 2 or a.ndim < 1:
        fail_i(ERR_RUNTIME, "cygrad linear: needs an input of one dim or more and a weight of two, got %ld and %ld", a.ndim, weight.ndim, 0)
        return NULL
    shape[0] = weight.shape[1]
    shape[1] = weight.shape[0]
    strides[0] = weight.strides[1]
    strides[1] = weight.strides[0]
    w = array_view(weight, weight.dtype, weight.data, 2, shape, strides)
    if w == NULL:
        return NULL
    x = a
    if a.ndim == 2:
        array_incref(x)
    else:
        x = contiguous(a)
        if x == NULL:
            array_decref(w)
            return NULL
        shape[1] = a.shape[a.ndim - 1]
        shape[0] = 1
        for d in range(a.ndim - 1):
            shape[0] *= a.shape[d]
        strides[1] = ITEMSIZE[a.dtype]
        strides[0] = shape[1] * strides[1]
        out = x
        x = array_view(x, x.dtype, x.data, 2, shape, strides)
        array_decref(out)
    out = addmm(bias, x, w, 1, 1) if bias != NULL else mm(x, w)
    array_decref(x)
    array_decref(w)
    if out == NULL or a.ndim == 2:
        return out
    for d in range(a.ndim - 1):
        shape[d] = a.shape[d]
    shape[a.ndim - 1] = weight.shape[0]
    return reshaped(out, a.ndim, shape)


# Steals a contiguous Array, gives its view of another shape.
cdef Array* reshaped(Array* a, int ndim, const Py_ssize_t* shape) noexcept nogil:
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t s = ITEMSIZE[a.dtype]
    cdef Array* view
    cdef int d
    for d in range(ndim - 1, -1, -1):
        strides[d] = s
        s *= shape[d] if shape[d] > 1 else 1
    view = array_view(a, a.dtype, a.data, ndim, shape, strides)
    array_decref(a)
    return view
