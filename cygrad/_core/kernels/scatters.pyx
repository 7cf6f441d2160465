# Copies with one part replaced. Contract: scatters.pxd.

from libc.stdio cimport snprintf
from cygrad._core.array cimport array_decref, same_shape, shape_text
from cygrad._core.errors cimport fail, ERR_RUNTIME
from cygrad._core.kernels.copy cimport clone, copy_into
from cygrad._core.kernels.slicing cimport as_strided, diagonal, select, slice_


cdef Array* placed(const char* operation, Array* copy, Array* part, Array* src) noexcept nogil:
    # Writes src into `part`, a view of `copy`. Steals copy and part; returns copy.
    cdef int status = -1
    cdef char have[200]
    cdef char want[200]
    cdef char text[600]
    if part != NULL:
        if same_shape(part, src):
            status = copy_into(part, src)
        else:
            shape_text(have, sizeof(have), src.ndim, src.shape)
            shape_text(want, sizeof(want), part.ndim, part.shape)
            snprintf(text, sizeof(text), "%s: expected src to have a size equal to the slice of self. src size = %s, slice size = %s; expand it first", operation, have, want)
            fail(ERR_RUNTIME, text)
    array_decref(part)
    if status != 0:
        array_decref(copy)
        return NULL
    return copy


cdef Array* select_scatter(Array* a, Array* src, Py_ssize_t dim, Py_ssize_t index) noexcept nogil:
    cdef Array* copy
    if a == NULL or src == NULL:
        return NULL
    copy = clone(a)
    return placed("select_scatter", copy, select(copy, dim, index), src)


cdef Array* slice_scatter(Array* a, Array* src, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step) noexcept nogil:
    cdef Array* copy
    if a == NULL or src == NULL:
        return NULL
    copy = clone(a)
    return placed("slice_scatter", copy, slice_(copy, dim, start, stop, step), src)


cdef Array* diagonal_scatter(Array* a, Array* src, Py_ssize_t offset, Py_ssize_t dim1, Py_ssize_t dim2) noexcept nogil:
    cdef Array* copy
    if a == NULL or src == NULL:
        return NULL
    copy = clone(a)
    return placed("diagonal_scatter", copy, diagonal(copy, offset, dim1, dim2), src)


cdef Array* as_strided_scatter(Array* a, Array* src, const IntList* sizes, const IntList* strides, Py_ssize_t storage_offset) noexcept nogil:
    cdef Array* copy
    if a == NULL or src == NULL:
        return NULL
    copy = clone(a)
    return placed("as_strided_scatter", copy, as_strided(copy, sizes, strides, storage_offset), src)
