# Tensors in a memory format. Contract: formats.pxd.

from cygrad._core.array cimport CONTIGUOUS, array_decref, array_empty, array_from_storage
from cygrad._core.dtypes cimport ITEMSIZE
from cygrad._core.errors cimport ERR_RUNTIME, fail, fail_i
from cygrad._core.kernels.copy cimport clone, copy_into


cdef int rank_of(int format) noexcept nogil:
    return 4 if format == FORMAT_CHANNELS_LAST else 5


cdef void channels_last_strides(int itemsize, int ndim, const Py_ssize_t* shape, Py_ssize_t* strides) noexcept nogil:
    # The channels (dim 1) vary fastest, then the spatial dims from the last one, then the batch.
    cdef Py_ssize_t stride = itemsize
    cdef int i
    strides[1] = stride
    stride *= shape[1] if shape[1] > 1 else 1
    for i in range(ndim - 1, 1, -1):
        strides[i] = stride
        stride *= shape[i] if shape[i] > 1 else 1
    strides[0] = stride


cdef Array* empty_as(int dtype, int dims, const Py_ssize_t* shape, int format) noexcept nogil:
    cdef Array* plain
    cdef Array* result
    cdef Py_ssize_t strides[64]
    if format == FORMAT_CONTIGUOUS:
        return array_empty(dtype, dims, shape)
    if format == FORMAT_PRESERVE:
        fail(ERR_RUNTIME, "cygrad.empty: unsupported memory format Preserve: there is no tensor whose layout could be kept")
        return NULL
    if dims != rank_of(format):
        if format == FORMAT_CHANNELS_LAST:
            fail_i(ERR_RUNTIME, "cygrad: required rank 4 tensor to use channels_last format, got rank %ld", dims, 0, 0)
        else:
            fail_i(ERR_RUNTIME, "cygrad: required rank 5 tensor to use channels_last_3d format, got rank %ld", dims, 0, 0)
        return NULL
    plain = array_empty(dtype, dims, shape)
    if plain == NULL:
        return NULL
    channels_last_strides(ITEMSIZE[dtype], dims, shape, strides)
    result = array_from_storage(plain.storage, dtype, plain.data, dims, shape, strides)
    array_decref(plain)
    return result


cdef Array* clone_as(Array* a, int format) noexcept nogil:
    cdef Array* result
    if a == NULL:
        return NULL
    if format == FORMAT_PRESERVE or format == -1:
        return clone(a)
    result = empty_as(a.dtype, a.ndim, a.shape, format)
    if result != NULL and copy_into(result, a) < 0:
        array_decref(result)
        return NULL
    return result


cdef Array* contiguous_as(Array* a, int format) noexcept nogil:
    if format == FORMAT_PRESERVE:
        fail(ERR_RUNTIME, "preserve memory format is unsupported by the contiguous operator; clone() takes it")
        return NULL
    return clone_as(a, format)


cdef bint lies_as(Array* a, int format) noexcept nogil:
    cdef Py_ssize_t strides[64]
    cdef int i
    if format <= FORMAT_PRESERVE:
        return a.flags & CONTIGUOUS != 0
    if a.ndim != rank_of(format):
        return False
    channels_last_strides(ITEMSIZE[a.dtype], a.ndim, a.shape, strides)
    for i in range(a.ndim):
        if a.shape[i] != 1 and a.strides[i] != strides[i]:
            return False
    return True
