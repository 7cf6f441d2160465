# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# distutils: depends = cygrad/_core/kernels/loops.hpp

from cygrad._core.array cimport Array
from cygrad._core.errors cimport fail_i, ERR_RUNTIME
from cygrad._core.kernels cimport half
from cygrad._core.kernels.apply cimport TO_FLOAT, apply1
from cygrad._core.kernels.iterate cimport InnerLoop

cdef extern from "special.hpp" nogil:
    InnerLoop erf_loop "cygrad::real1<cygrad::Erf>"(int dtype) noexcept
    InnerLoop erfc_loop "cygrad::real1<cygrad::Erfc>"(int dtype) noexcept
    InnerLoop erfinv_loop "cygrad::real1<cygrad::Erfinv>"(int dtype) noexcept
    InnerLoop lgamma_loop "cygrad::real1<cygrad::Lgamma>"(int dtype) noexcept
    InnerLoop digamma_loop "cygrad::real1<cygrad::Digamma>"(int dtype) noexcept
    InnerLoop polygamma_loop "cygrad::real1<cygrad::Polygamma>"(int dtype) noexcept


cdef Array* erf(Array* a) noexcept nogil:
    return apply1("erf", &erf_loop, a, NULL, TO_FLOAT)


cdef Array* erfc(Array* a) noexcept nogil:
    return apply1("erfc", &erfc_loop, a, NULL, TO_FLOAT)


cdef Array* erfinv(Array* a) noexcept nogil:
    return apply1("erfinv", &erfinv_loop, a, NULL, TO_FLOAT)


cdef Array* lgamma(Array* a) noexcept nogil:
    return apply1("lgamma", &lgamma_loop, a, NULL, TO_FLOAT)


cdef Array* digamma(Array* a) noexcept nogil:
    return apply1("digamma", &digamma_loop, a, NULL, TO_FLOAT)


cdef Array* polygamma(Py_ssize_t n, Array* a) noexcept nogil:
    cdef double order
    if n < 0 or n > 100000:
        fail_i(ERR_RUNTIME, "polygamma: polygamma(n, x) does not support negative n, nor n above 100000; got n = %ld", n, 0, 0)
        return NULL
    if n == 0:
        return digamma(a)
    order = <double>n
    return apply1("polygamma", &polygamma_loop, a, &order, TO_FLOAT)
