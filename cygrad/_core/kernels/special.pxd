# Special functions: error functions, gamma function and its derivatives ("Note [Kernels]"). Real floating point; integers become the default dtype.
# Loops and the sources of the algorithms: special.hpp. Backward helpers: gradients.pxd.

from cygrad._core.array cimport Array

cdef Array* erf(Array* a) noexcept nogil
cdef Array* erfc(Array* a) noexcept nogil
cdef Array* erfinv(Array* a) noexcept nogil                       # +-infinity at +-1, NaN outside
cdef Array* lgamma(Array* a) noexcept nogil                       # log(abs(gamma(a))), infinity at the poles
cdef Array* digamma(Array* a) noexcept nogil                      # -+infinity at +-0, NaN at the negative integers
cdef Array* polygamma(Py_ssize_t n, Array* a) noexcept nogil      # the n-th derivative of digamma; RuntimeError for n < 0
