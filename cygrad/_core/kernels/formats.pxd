# Memory formats: the orders in which the elements of a new tensor can lie.

from cygrad._core.array cimport Array

cdef enum FormatCode:
    FORMAT_CONTIGUOUS = 0
    FORMAT_PRESERVE = 1
    FORMAT_CHANNELS_LAST = 2
    FORMAT_CHANNELS_LAST_3D = 3

cdef Array* empty_as(int dtype, int dims, const Py_ssize_t* shape, int format) noexcept nogil      # uninitialised; every format but FORMAT_PRESERVE
cdef Array* clone_as(Array* a, int format) noexcept nogil                                          # -1 is FORMAT_PRESERVE
cdef Array* contiguous_as(Array* a, int format) noexcept nogil                                     # the same, FORMAT_PRESERVE refused
cdef bint lies_as(Array* a, int format) noexcept nogil                                             # whether a's elements lie so
