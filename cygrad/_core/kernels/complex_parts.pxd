# Complex numbers: parts of them, and making them of parts ("Note [Kernels]").

from cygrad._core.array cimport Array

cdef Array* real(Array* a) noexcept nogil                                         # a view; of real numbers the Array itself
cdef Array* imag(Array* a) noexcept nogil                                         # a view; RuntimeError for real numbers
cdef Array* conj(Array* a) noexcept nogil                                         # of real numbers the Array itself
cdef Array* angle(Array* a) noexcept nogil                                        # real numbers: 0 or pi, NaN for NaN
cdef Array* complex_(Array* real, Array* imag) noexcept nogil                     # of two float32 or float64 Arrays of one dtype
cdef Array* polar(Array* abs, Array* angle) noexcept nogil
