# Sizes and orders of dims that compositions of views compute from their arguments (flatten, unflatten, movedim, narrow, chunk, tile).
#
# Why it exists: these operations are one view with computed sizes. Each function fills `into` and returns it, or raises what torch raises.

from cygrad._core.array cimport Array, IntList

cdef const IntList* fact_reversed_dims(IntList* into, Array* a) noexcept nogil                                   # n-1, ..., 0
cdef const IntList* fact_flat_sizes(IntList* into, Array* a, Py_ssize_t start, Py_ssize_t end) except NULL       # dims start to end as one
cdef const IntList* fact_unflat_sizes(IntList* into, Array* a, Py_ssize_t dim, const IntList* sizes) except NULL # dim as several, one of which may be -1
cdef const IntList* fact_moved_dims(IntList* into, Array* a, const IntList* source, const IntList* destination) except NULL
cdef const IntList* fact_tile_repeats(IntList* into, Array* a, const IntList* dims) except NULL                  # ones in front, up to the dims of a
cdef Py_ssize_t fact_narrow_start(Array* a, Py_ssize_t dim, Py_ssize_t start, Py_ssize_t length) except? -1      # checked, counted from the front
cdef Py_ssize_t fact_chunk_size(Array* a, Py_ssize_t chunks, Py_ssize_t dim) except? -1
