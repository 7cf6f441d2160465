# Arguments of creation functions: sizes, dtypes and the keywords that all of them share.

from cygrad._core.array cimport Array
from cygrad._core.tensor cimport Tensor

cdef int parse_size(tuple args, object keyword, const char* operation, Py_ssize_t* sizes) except -1       # (2, 3) or ((2, 3),) or keyword size=; number of dims
cdef int parse_size_sequence(object size, const char* operation, int position, Py_ssize_t* sizes) except -1    # a sequence alone
cdef int dtype_or(object dtype, int default, const char* operation) except -2                              # None: the default
cdef int check_place(object layout, object device, object pin_memory, const char* operation) except -1
cdef int check_requires_grad(int code, object requires_grad, const char* operation) except -1              # before memory is taken
cdef Tensor finish(Array* a, object requires_grad)                                                         # steals the reference; checked before
cdef Tensor finish_out(Array* a, object requires_grad, Tensor out, const char* operation)                   # the same, or written into out= of the same shape
cdef int signed_sizes(object values, const char* operation, const char* argument, Py_ssize_t* into) except -1   # ints that may be negative
cdef int store_value(Array* a, object value) except -1                                                     # fills a with a Python number, checked
