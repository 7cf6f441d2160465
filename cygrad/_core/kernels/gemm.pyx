# One product of matrices that lie ready: BLAS, or NumPy's matmul loop. Contract: gemm.pxd.
#
# Measured with NumPy's OpenBLAS on one core (float32): a direct cblas call costs 20 to 50 ns for 2x16 matrices, as little as a hand-written loop, so
# there is nothing to gain from special cases of small sizes. NumPy's matmul loop around the same BLAS cannot add into its result, so it is the way for
# integers, and for a BLAS that blas_threads.pyx does not know.

import numpy

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.stdio cimport snprintf
from libc.string cimport memset
from cygrad._core.array cimport Array, array_incref
from cygrad._core.blas_threads cimport blas_alone_enter, blas_alone_leave, blas_enter, blas_leave, blas_symbol
from cygrad._core.dtypes cimport COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, ITEMSIZE, N_DTYPES, NUMPY_TYPE
from cygrad._core.kernels.copy cimport contiguous
from cygrad._core.kernels.iterate cimport InnerLoop
from cygrad._core.kernels.parallel cimport team

cdef extern from "numpy/ndarraytypes.h":
    pass

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        InnerLoop* functions
        void** data
        int ntypes
        const char* types

cdef enum:
    ROW_MAJOR = 101          # CBLAS's own numbers
    PLAIN = 111
    TRANSPOSED = 112
    # What OpenBLAS starts threads of its own from: multiplications of a product of matrices, elements of a matrix or vector.
    BLAS_THREADS_FROM = 200000
    BLAS_VECTOR_THREADS_FROM = 9000
    SPLIT_PRODUCT_FROM = 2000000     # multiplications that take longer than waking a thread

cdef struct Product:
    int dtype
    int ta
    int tb
    int64_t m
    int64_t n
    int64_t k
    const char* a
    const char* b
    char* c
    int64_t lda
    int64_t ldb
    int64_t ldc
    double alpha
    double beta

ctypedef void (*SGemm)(int, int, int, int64_t, int64_t, int64_t, float, const void*, int64_t, const void*, int64_t, float, void*, int64_t) noexcept nogil
ctypedef void (*DGemm)(int, int, int, int64_t, int64_t, int64_t, double, const void*, int64_t, const void*, int64_t, double, void*, int64_t) noexcept nogil
ctypedef void (*CGemm)(int, int, int, int64_t, int64_t, int64_t, const void*, const void*, int64_t, const void*, int64_t, const void*, void*, int64_t) noexcept nogil
ctypedef void (*SGemv)(int, int, int64_t, int64_t, float, const void*, int64_t, const void*, int64_t, float, void*, int64_t) noexcept nogil
ctypedef void (*DGemv)(int, int, int64_t, int64_t, double, const void*, int64_t, const void*, int64_t, double, void*, int64_t) noexcept nogil
ctypedef void (*CGemv)(int, int, int64_t, int64_t, const void*, const void*, int64_t, const void*, int64_t, const void*, void*, int64_t) noexcept nogil
ctypedef float (*SDot)(int64_t, const void*, int64_t, const void*, int64_t) noexcept nogil
ctypedef double (*DDot)(int64_t, const void*, int64_t, const void*, int64_t) noexcept nogil
ctypedef void (*CDot)(int64_t, const void*, int64_t, const void*, int64_t, void*) noexcept nogil

cdef void* GEMM[N_DTYPES]
cdef void* GEMV[N_DTYPES]
cdef void* DOT[N_DTYPES]
cdef bint blas = False
cdef InnerLoop MATMUL[N_DTYPES]       # NumPy's loops
cdef void* MATMUL_DATA[N_DTYPES]


cdef int find_functions() except -1:
    global blas
    cdef int t, k, n
    cdef PyUFuncObject* u
    cdef const char* letters = "sdcz"
    cdef char name[32]
    blas = True
    for t in range(FLOAT32, COMPLEX128 + 1):
        n = t - FLOAT32
        snprintf(name, sizeof(name), "cblas_%cgemm", letters[n])
        GEMM[t] = blas_symbol(name)
        snprintf(name, sizeof(name), "cblas_%cgemv", letters[n])
        GEMV[t] = blas_symbol(name)
        snprintf(name, sizeof(name), "cblas_%cdot%s", letters[n], b"u_sub" if n >= 2 else b"")
        DOT[t] = blas_symbol(name)
        blas = blas and GEMM[t] != NULL and GEMV[t] != NULL and DOT[t] != NULL
    function = numpy.matmul
    u = <PyUFuncObject*><PyObject*>function
    for t in range(N_DTYPES):
        for k in range(u.ntypes):
            if u.types[3 * k] == NUMPY_TYPE[t] and u.types[3 * k + 1] == NUMPY_TYPE[t] and MATMUL[t] == NULL:
                MATMUL[t] = u.functions[k]
                MATMUL_DATA[t] = u.data[k] if u.data != NULL else NULL
    return 0


find_functions()


# How BLAS reads this matrix: as it lies, or as the transpose of what lies there. False: not at all.
cdef inline bint blas_layout(const Matrix* m, Py_ssize_t item, int* order, int64_t* leading) noexcept nogil:
    if (m.cs == item or m.cols == 1) and (m.rows == 1 or (m.rs >= m.cols * item and m.rs % item == 0)):
        order[0] = PLAIN
        leading[0] = m.rs // item if m.rows > 1 else m.cols
        return True
    if (m.rs == item or m.rows == 1) and (m.cols == 1 or (m.cs >= m.rows * item and m.cs % item == 0)):
        order[0] = TRANSPOSED
        leading[0] = m.cs // item if m.cols > 1 else m.rows
        return True
    return False


cdef void matrix_of(Matrix* m, Array* a) noexcept nogil:
    m.rows = a.shape[a.ndim - 2]
    m.cols = a.shape[a.ndim - 1]
    m.rs = a.strides[a.ndim - 2]
    m.cs = a.strides[a.ndim - 1]


cdef Array* fit(Array* a, Matrix* m) noexcept nogil:
    cdef int order
    cdef int64_t leading
    cdef Array* copy
    matrix_of(m, a)
    if m.rows == 0 or m.cols == 0 or blas_layout(m, ITEMSIZE[a.dtype], &order, &leading) or not blas_takes(a.dtype):
        return array_incref(a)
    copy = contiguous(a)
    if copy != NULL:
        matrix_of(m, copy)
    return copy


cdef void blas_gemm(int dtype, const Matrix* ma, const char* a, const Matrix* mb, const char* b, char* c,
                    Py_ssize_t c_stride, double alpha, double beta) noexcept nogil:
    cdef Py_ssize_t item = ITEMSIZE[dtype]
    cdef int64_t m = ma.rows, k = ma.cols, n = mb.cols
    cdef int64_t lda = 0, ldb = 0, ldc = c_stride // item if m > 1 else n
    cdef int ta = PLAIN, tb = PLAIN
    cdef double volume
    cdef Product j
    blas_layout(ma, item, &ta, &lda)
    blas_layout(mb, item, &tb, &ldb)
    if n == 1 and k > 1 and mb.rs > 0:
        # a b as matrix times vector: the stored matrix is a, or its transpose
        blas_gemv(dtype, ta, k if ta == TRANSPOSED else m, m if ta == TRANSPOSED else k, a, lda, b, mb.rs // item, c, ldc, alpha, beta)
        return
    if m == 1 and ma.cs > 0 and k > 1:
        # the transpose of b times a
        blas_gemv(dtype, PLAIN if tb == TRANSPOSED else TRANSPOSED, n if tb == TRANSPOSED else k, k if tb == TRANSPOSED else n, b, ldb, a, ma.cs // item, c, 1,
                  alpha, beta)
        return
    j.dtype = dtype
    j.ta = ta
    j.tb = tb
    j.m = m
    j.n = n
    j.k = k
    j.a = a
    j.b = b
    j.c = c
    j.lda = lda
    j.ldb = ldb
    j.ldc = ldc
    j.alpha = alpha
    j.beta = beta
    volume = <double>m * n * k
    if volume < BLAS_THREADS_FROM:
        product(&j, 0, m, 0, n)
        return
    blas_alone_enter()
    if volume < SPLIT_PRODUCT_FROM or team.threads < 2:
        product(&j, 0, m, 0, n)
    elif m >= n:
        team.run(product_rows, &j, m, (m + team.threads - 1) // team.threads)
    else:
        team.run(product_columns, &j, n, (n + team.threads - 1) // team.threads)
    blas_alone_leave()


cdef void product_rows(void* job, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    product(<Product*>job, start, stop, 0, (<Product*>job).n)


cdef void product_columns(void* job, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    product(<Product*>job, 0, (<Product*>job).m, start, stop)


cdef void product(const Product* j, int64_t row, int64_t rows_end, int64_t col, int64_t cols_end) noexcept nogil:
    # A block of c: some rows of a times some columns of b.
    cdef int dtype = j.dtype
    cdef Py_ssize_t item = ITEMSIZE[dtype]
    cdef int64_t m = rows_end - row, n = cols_end - col
    cdef const char* a = j.a + item * row * (1 if j.ta == TRANSPOSED else j.lda)
    cdef const char* b = j.b + item * col * (j.ldb if j.tb == TRANSPOSED else 1)
    cdef char* c = j.c + item * (row * j.ldc + col)
    cdef double alpha = j.alpha, beta = j.beta
    cdef int ta = j.ta, tb = j.tb
    cdef int64_t k = j.k, lda = j.lda, ldb = j.ldb, ldc = j.ldc
    cdef float cs[4]
    cdef double cd[4]
    if dtype == FLOAT32:
        (<SGemm>GEMM[dtype])(ROW_MAJOR, ta, tb, m, n, k, <float>alpha, a, lda, b, ldb, <float>beta, c, ldc)
    elif dtype == FLOAT64:
        (<DGemm>GEMM[dtype])(ROW_MAJOR, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
    elif dtype == COMPLEX64:
        cs[0] = <float>alpha
        cs[2] = <float>beta
        cs[1] = cs[3] = 0
        (<CGemm>GEMM[dtype])(ROW_MAJOR, ta, tb, m, n, k, cs, a, lda, b, ldb, cs + 2, c, ldc)
    else:
        cd[0] = alpha
        cd[2] = beta
        cd[1] = cd[3] = 0
        (<CGemm>GEMM[dtype])(ROW_MAJOR, ta, tb, m, n, k, cd, a, lda, b, ldb, cd + 2, c, ldc)


cdef void blas_gemv(int dtype, int order, int64_t rows, int64_t cols, const char* a, int64_t lda, const char* x, int64_t sx, char* y, int64_t sy,
                    double alpha, double beta) noexcept nogil:
    cdef float cs[4]
    cdef double cd[4]
    cdef bint alone = <double>rows * cols > BLAS_VECTOR_THREADS_FROM
    if alone:
        blas_alone_enter()
    if dtype == FLOAT32:
        (<SGemv>GEMV[dtype])(ROW_MAJOR, order, rows, cols, <float>alpha, a, lda, x, sx, <float>beta, y, sy)
    elif dtype == FLOAT64:
        (<DGemv>GEMV[dtype])(ROW_MAJOR, order, rows, cols, alpha, a, lda, x, sx, beta, y, sy)
    elif dtype == COMPLEX64:
        cs[0] = <float>alpha
        cs[2] = <float>beta
        cs[1] = cs[3] = 0
        (<CGemv>GEMV[dtype])(ROW_MAJOR, order, rows, cols, cs, a, lda, x, sx, cs + 2, y, sy)
    else:
        cd[0] = alpha
        cd[2] = beta
        cd[1] = cd[3] = 0
        (<CGemv>GEMV[dtype])(ROW_MAJOR, order, rows, cols, cd, a, lda, x, sx, cd + 2, y, sy)
    if alone:
        blas_alone_leave()


# c = a b through NumPy's loop
cdef void loop_gemm(int dtype, const Matrix* ma, char* a, const Matrix* mb, char* b, char* c, Py_ssize_t c_stride) noexcept nogil:
    cdef char* args[3]
    cdef Py_ssize_t dims[4]
    cdef Py_ssize_t steps[9]
    args[0] = a
    args[1] = b
    args[2] = c
    dims[0] = 1
    dims[1] = ma.rows
    dims[2] = ma.cols
    dims[3] = mb.cols
    steps[0] = steps[1] = steps[2] = 0
    steps[3] = ma.rs
    steps[4] = ma.cs
    steps[5] = mb.rs
    steps[6] = mb.cs
    steps[7] = c_stride
    steps[8] = ITEMSIZE[dtype]
    MATMUL[dtype](args, dims, steps, MATMUL_DATA[dtype])


cdef bint blas_takes(int dtype) noexcept nogil:
    return blas and dtype >= FLOAT32


cdef void gemm(int dtype, const Matrix* ma, char* a, const Matrix* mb, char* b, char* c, double alpha, double beta) noexcept nogil:
    cdef Py_ssize_t stride = mb.cols * ITEMSIZE[dtype]
    if ma.rows == 0 or mb.cols == 0:
        return
    if ma.cols:
        blas_enter()
        if blas_takes(dtype):
            blas_gemm(dtype, ma, a, mb, b, c, stride, alpha, beta)
        else:
            loop_gemm(dtype, ma, a, mb, b, c, stride)
        blas_leave()
    elif beta == 0 or not blas_takes(dtype):
        memset(c, 0, ma.rows * stride)
    else:
        scale_in_place(dtype, c, ma.rows * mb.cols, beta)


cdef void scale_in_place(int dtype, char* c, Py_ssize_t n, double beta) noexcept nogil:
    cdef Py_ssize_t i
    if dtype == COMPLEX64 or dtype == COMPLEX128:
        n *= 2
    if dtype == FLOAT32 or dtype == COMPLEX64:
        for i in range(n):
            (<float*>c)[i] *= <float>beta
    else:
        for i in range(n):
            (<double*>c)[i] *= beta


cdef void blas_dot(int dtype, int64_t n, const char* a, int64_t sa, const char* b, int64_t sb, char* out) noexcept nogil:
    cdef bint alone = n > BLAS_VECTOR_THREADS_FROM
    if alone:
        blas_alone_enter()
    if dtype == FLOAT32:
        (<float*>out)[0] = (<SDot>DOT[dtype])(n, a, sa, b, sb)
    elif dtype == FLOAT64:
        (<double*>out)[0] = (<DDot>DOT[dtype])(n, a, sa, b, sb)
    else:
        (<CDot>DOT[dtype])(n, a, sa, b, sb, out)
    if alone:
        blas_alone_leave()


cdef void gemm_dot(int dtype, Py_ssize_t n, char* a, Py_ssize_t sa, char* b, Py_ssize_t sb, char* out) noexcept nogil:
    cdef Py_ssize_t item = ITEMSIZE[dtype]
    cdef Matrix ma
    cdef Matrix mb
    if n == 0:
        memset(out, 0, item)
        return
    blas_enter()
    if blas_takes(dtype) and (n == 1 or (sa > 0 and sb > 0 and sa % item == 0 and sb % item == 0)):
        blas_dot(dtype, n, a, sa // item, b, sb // item, out)
    else:
        ma.rows = mb.cols = 1
        ma.cols = mb.rows = n
        ma.rs = mb.cs = item
        ma.cs = sa
        mb.rs = sb
        loop_gemm(dtype, &ma, a, &mb, b, out, item)
    blas_leave()
