# Dtypes: their codes in C, their Python objects, and torch's promotion rules.

from libc.stdint cimport int64_t

cdef enum DType:
    # In the order of promotion within and between categories: bool < integers < floats < complex.
    BOOL = 0
    UINT8 = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    FLOAT16 = 6
    FLOAT32 = 7
    FLOAT64 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    N_DTYPES = 11

cdef int[11] ITEMSIZE
cdef int[11] NUMPY_TYPE                    # NPY_* type numbers

cdef inline bint is_complex_code(int t) noexcept nogil:
    return t >= COMPLEX64
cdef inline bint is_float_code(int t) noexcept nogil:
    return FLOAT16 <= t <= FLOAT64
cdef inline bint is_integral_code(int t) noexcept nogil:      # bool included
    return t <= INT64

cdef class dtype:
    # One object a dtype, compared by identity: cygrad.float32 and so on.
    cdef readonly str name                  # "float32"
    cdef int code
    cdef readonly int itemsize
    cdef object numpy_dtype                 # numpy.dtype

cdef dtype dtype_object(int code)
cdef int dtype_code(object obj) except -1   # from a cygrad dtype, Python's bool/int/float/complex, or a numpy dtype; TypeError otherwise
cdef const char* dtype_cname(int code) noexcept nogil          # "Float" as in torch's messages ("expected scalar type Float but found Double")
cdef int default_dtype() noexcept nogil                        # FLOAT32 unless set_default_dtype changed it
cdef int promote(int a, int b) noexcept nogil                  # two dtypes of the same priority
cdef int real_of(int t) noexcept nogil                         # COMPLEX64 -> FLOAT32, COMPLEX128 -> FLOAT64, others themselves
cdef int complex_of(int t) noexcept nogil                      # FLOAT32 -> COMPLEX64 ... ; integers -> complex of the default dtype
cdef int float_for(int t) noexcept nogil                       # integers and bool -> default dtype, others themselves
