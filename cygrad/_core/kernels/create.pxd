# New Arrays filled with one value.
#
# Why it exists: formulas say zeros where torch does; the result must be new memory whatever NaN the gradient holds.

from cygrad._core.array cimport Array, IntList

cdef Array* zeros_like(Array* a) noexcept nogil          # zeros of a's shape and dtype
cdef Array* zeros_sized(const IntList* sizes, int dtype) noexcept nogil
