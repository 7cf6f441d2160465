# One product of matrices in memory, through the BLAS that NumPy brings along or NumPy's matmul loops.
#
# Note [Matrix operands]
# A Matrix is what gemm reads: rows, columns and both strides. BLAS wants one of the strides to be the itemsize and the other at least a whole line;
# `fit` copies an Array where that does not hold (expanded, or sliced in both dims), and leaves all others where they are: transposes are free.

from libc.stdint cimport int64_t
from cygrad._core.array cimport Array

cdef struct Matrix:
    Py_ssize_t rows
    Py_ssize_t cols
    Py_ssize_t rs            # strides in bytes
    Py_ssize_t cs

cdef bint blas_takes(int dtype) noexcept nogil                      # False: alpha must be 1 and beta 0
cdef void matrix_of(Matrix* m, Array* a) noexcept nogil             # of the last two dims
cdef Array* fit(Array* a, Matrix* m) noexcept nogil                 # a new reference to a or to a copy that BLAS can read, and its Matrix

# c = beta * c + alpha * a b; a and b fit, c is contiguous; a c of beta = 0 is not read
cdef void gemm(int dtype, const Matrix* ma, char* a, const Matrix* mb, char* b, char* c, double alpha, double beta) noexcept nogil
# out = sum of a[i] b[i]; strides in bytes
cdef void gemm_dot(int dtype, Py_ssize_t n, char* a, Py_ssize_t sa, char* b, Py_ssize_t sb, char* out) noexcept nogil
