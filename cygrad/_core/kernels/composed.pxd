# Operations that are a few kernels one after the other: seldom called, so a loop of their own would not pay ("Note [Kernels]").

from cygrad._core.array cimport Array

cdef Array* xlogy(Array* a, Array* b) noexcept nogil                              # a * log(b); 0 where a is 0 and b no NaN
cdef Array* ldexp(Array* a, Array* b) noexcept nogil                              # a * 2 ** b, in a's dtype where b is of integers
cdef Array* heaviside(Array* a, Array* values) noexcept nogil                     # 0 below 0, 1 above, values at 0; NaN gives 0
cdef Array* isclose(Array* a, Array* b, double rtol, double atol, bint equal_nan) noexcept nogil     # abs(a - b) <= atol + rtol * abs(b); one dtype
cdef int equal(Array* a, Array* b) noexcept nogil                                 # same shape and all elements equal, whatever the dtypes: 1 or 0; -1 with an error recorded
