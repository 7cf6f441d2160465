# layout and memory_format: keyword values of torch's signatures that cygrad accepts where they make sense, and refuses by name where not.

cdef enum FormatCode:
    FORMAT_CONTIGUOUS = 0
    FORMAT_PRESERVE = 1
    FORMAT_CHANNELS_LAST = 2
    FORMAT_CHANNELS_LAST_3D = 3

cdef class layout:
    cdef readonly str name

cdef class memory_format:
    cdef readonly str name
    cdef int code

cdef int check_layout(object obj, const char* operation) except -1                       # None or strided
cdef int format_code(object obj, int default, const char* operation) except -1           # FormatCode; None: the default
cdef int check_pin_memory(object obj, const char* operation) except -1
cdef int channels_last_strides(int format, int itemsize, int ndim, const Py_ssize_t* shape, Py_ssize_t* strides) except -1
