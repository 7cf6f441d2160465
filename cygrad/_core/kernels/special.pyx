# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# distutils: depends = cygrad/_core/kernels/loops.hpp cygrad/_core/kernels/error_function.hpp
# Special functions as kernels. Contract: special.pxd.

from cygrad._core.array cimport Array, result_dtype
from cygrad._core.dtypes cimport FLOAT16, FLOAT32, float_for
from cygrad._core.errors cimport fail_i, ERR_RUNTIME
from cygrad._core.kernels cimport half      # its C++ types, for the templates
from cygrad._core.kernels.apply cimport TO_FLOAT, apply1
from cygrad._core.kernels.chains cimport Chain, apply_chain
from cygrad._core.kernels.iterate cimport InnerLoop
from cygrad._core.kernels.ufuncs cimport UF_EXP, UF_LOG

cdef extern from "special.hpp" nogil:
    InnerLoop erf_loop "cygrad::real1<cygrad::Erf>"(int dtype) noexcept
    InnerLoop erfc_loop "cygrad::real1<cygrad::Erfc>"(int dtype) noexcept
    InnerLoop single_erf_loop "cygrad::single_chain1<cygrad::SingleErf>"(int dtype) noexcept
    InnerLoop single_erfc_loop "cygrad::single_chain1<cygrad::SingleErfc>"(int dtype) noexcept
    InnerLoop erfinv_loop "cygrad::real1<cygrad::Erfinv>"(int dtype) noexcept
    InnerLoop single_erfinv_loop "cygrad::single_chain1<cygrad::SingleErfinv>"(int dtype) noexcept
    InnerLoop lgamma_loop "cygrad::real1<cygrad::Lgamma>"(int dtype) noexcept
    InnerLoop digamma_loop "cygrad::real1<cygrad::Digamma>"(int dtype) noexcept
    InnerLoop polygamma_loop "cygrad::real1<cygrad::Polygamma>"(int dtype) noexcept


cdef inline bint single(Array* a) noexcept nogil:
    # the result is float16 or float32
    cdef int t = float_for(result_dtype(a, NULL))
    return t == FLOAT16 or t == FLOAT32


cdef Array* erf(Array* a) noexcept nogil:
    cdef Chain chain
    if a != NULL and single(a):
        return apply_chain("erf", &single_erf_loop, a, NULL, &chain, UF_EXP, -1, TO_FLOAT)
    return apply1("erf", &erf_loop, a, NULL, TO_FLOAT)


cdef Array* erfc(Array* a) noexcept nogil:
    cdef Chain chain
    if a != NULL and single(a):
        return apply_chain("erfc", &single_erfc_loop, a, NULL, &chain, UF_EXP, -1, TO_FLOAT)
    return apply1("erfc", &erfc_loop, a, NULL, TO_FLOAT)


cdef Array* erfinv(Array* a) noexcept nogil:
    cdef Chain chain
    if a != NULL and single(a):
        return apply_chain("erfinv", &single_erfinv_loop, a, NULL, &chain, UF_LOG, -1, TO_FLOAT)
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
