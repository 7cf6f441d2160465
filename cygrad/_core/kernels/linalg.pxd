# Products of matrices and vectors ("Note [Kernels]"), through the BLAS that NumPy brings along, or NumPy's matmul loops for integers and where there is none.
#
# Both operands must have one dtype, bool is refused; float16 is computed in float32. Transposed and otherwise strided matrices reach BLAS without a copy
# as long as one of their strides is the itemsize; others are copied. alpha and beta of integer products are truncated to integers.

from cygrad._core.array cimport Array

cdef Array* mm(Array* a, Array* b) noexcept nogil                              # (m, k) (k, n) -> (m, n)
cdef Array* mv(Array* a, Array* b) noexcept nogil                              # (m, k) (k) -> (m)
cdef Array* dot(Array* a, Array* b) noexcept nogil                             # (n) (n) -> (); no conjugate
cdef Array* bmm(Array* a, Array* b) noexcept nogil                             # (b, m, k) (b, k, n) -> (b, m, n)
cdef Array* outer(Array* a, Array* b) noexcept nogil                           # (m) (n) -> (m, n); promotes
cdef Array* matmul_batched(Array* a, Array* b) noexcept nogil                  # (..., m, k) (..., k, n), two dims or more each, the leading ones broadcast
cdef Array* matmul(Array* a, Array* b) noexcept nogil                          # torch.matmul: all shapes with one dim or more
cdef Array* linear(Array* a, Array* weight, Array* bias) noexcept nogil        # a @ weight.T + bias: (..., k) (n, k) (n) -> (..., n); bias may be NULL

# beta * self (broadcast to the result; not read where beta is 0) + alpha * product
cdef Array* addmm(Array* self, Array* a, Array* b, double beta, double alpha) noexcept nogil
cdef Array* addmv(Array* self, Array* a, Array* b, double beta, double alpha) noexcept nogil
cdef Array* baddbmm(Array* self, Array* a, Array* b, double beta, double alpha) noexcept nogil

cdef inline Array* matmul2(Array* a, Array* b) noexcept nogil:
    return mm(a, b)
