# distutils: extra_compile_args = -ftree-loop-vectorize -fvect-cost-model=dynamic
# distutils: depends = cygrad/_core/kernels/loops.hpp
# Complex numbers and their parts. Contract: complex_parts.pxd.

from cygrad._core.array cimport array_incref, array_view
from cygrad._core.dtypes cimport ITEMSIZE, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, dtype_cname, is_complex_code, is_float_code
from cygrad._core.errors cimport fail, fail_s, ERR_RUNTIME
from cygrad._core.kernels cimport half      # its C++ types, for the templates
from cygrad._core.kernels.apply cimport TO_FLOAT, apply1, apply_converting
from cygrad._core.kernels.iterate cimport InnerLoop
from cygrad._core.kernels.ufuncs cimport UF_CONJ, unary

cdef extern from "elementwise.hpp" nogil:
    InnerLoop angle_loop "cygrad::real1<cygrad::Angle>"(int dtype) noexcept
    InnerLoop complex_angle_loop "cygrad::complex_angle_loop"(int dtype) noexcept
    InnerLoop complex_loop "cygrad::real_to_complex2<cygrad::ComplexOf>"(int dtype) noexcept
    InnerLoop polar_loop "cygrad::real_to_complex2<cygrad::Polar>"(int dtype) noexcept


cdef inline int part_dtype(int t) noexcept nogil:
    return FLOAT32 if t == COMPLEX64 else FLOAT64


cdef Array* real(Array* a) noexcept nogil:
    if a == NULL or not is_complex_code(a.dtype):
        return array_incref(a)
    return array_view(a, part_dtype(a.dtype), a.data, a.ndim, a.shape, a.strides)


cdef Array* imag(Array* a) noexcept nogil:
    if a == NULL:
        return NULL
    if not is_complex_code(a.dtype):
        fail(ERR_RUNTIME, "imag: imag is not implemented for tensors with non-complex dtypes; the imaginary part of a real tensor is zero everywhere")
        return NULL
    return array_view(a, part_dtype(a.dtype), a.data + ITEMSIZE[a.dtype] // 2, a.ndim, a.shape, a.strides)


cdef Array* conj(Array* a) noexcept nogil:
    if a == NULL or not is_complex_code(a.dtype):
        return array_incref(a)
    return unary(UF_CONJ, a, NULL)


cdef Array* angle(Array* a) noexcept nogil:
    if a != NULL and is_complex_code(a.dtype):
        return apply_converting("angle", complex_angle_loop(a.dtype), 1, a.dtype, part_dtype(a.dtype), a, NULL)
    return apply1("angle", &angle_loop, a, NULL, TO_FLOAT)


cdef int check_parts(const char* name, Array* a, Array* b) noexcept nogil:
    if not is_float_code(a.dtype) or not is_float_code(b.dtype):
        return fail_s(ERR_RUNTIME, "%s: Expected both inputs to be Half, Float or Double tensors but got %s and %s; convert them first", name,
                      dtype_cname(a.dtype), dtype_cname(b.dtype))
    if a.dtype != b.dtype:
        return fail_s(ERR_RUNTIME, "%s: Expected object of scalar type %s but got scalar type %s for second argument; convert one of them", name,
                      dtype_cname(a.dtype), dtype_cname(b.dtype))
    return 0


cdef inline int whole_dtype(int t) noexcept nogil:
    return COMPLEX64 if t == FLOAT32 else COMPLEX128


cdef Array* complex_(Array* real, Array* imag) noexcept nogil:
    if real == NULL or imag == NULL or check_parts("complex", real, imag) < 0:
        return NULL
    return apply_converting("complex", complex_loop(real.dtype), 2, real.dtype, whole_dtype(real.dtype), real, imag)


cdef Array* polar(Array* abs, Array* angle) noexcept nogil:
    if abs == NULL or angle == NULL or check_parts("polar", abs, angle) < 0:
        return NULL
    return apply_converting("polar", polar_loop(abs.dtype), 2, abs.dtype, whole_dtype(abs.dtype), abs, angle)
