# New Arrays filled with one value. Contract: create.pxd.

from cygrad._core.array cimport array_zeros


cdef Array* zeros_like(Array* a) noexcept nogil:
    if a == NULL:
        return NULL
    return array_zeros(a.dtype, a.ndim, a.shape)


cdef Array* zeros_sized(const IntList* sizes, int dtype) noexcept nogil:
    return array_zeros(dtype, sizes.n, sizes.v)
