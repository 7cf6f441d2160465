# layout and memory_format: keyword values of torch's signatures that cygrad accepts where they make sense, and refuses by name where not.

from cygrad._core.kernels.formats cimport FORMAT_CHANNELS_LAST, FORMAT_CHANNELS_LAST_3D, FORMAT_CONTIGUOUS, FORMAT_PRESERVE

cdef class layout:
    cdef readonly str name

cdef class memory_format:
    cdef readonly str name
    cdef int code

cdef int check_layout(object obj, const char* operation) except -1                       # None or strided
cdef int format_code(object obj, int default, const char* operation) except -1           # FormatCode; None: the default
cdef int check_pin_memory(object obj, const char* operation) except -1
