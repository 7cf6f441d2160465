# From Python's data to Arrays: numbers, nested sequences, ndarrays and tensors inside of them, with torch's inference of the dtype.

from cygrad._core.array cimport Array

cdef int number_code(object x) except -2            # DType of a Python number or NumPy scalar (float and complex: of the default dtype); -1: no number
cdef int store_number(char* at, int code, object x) except -1        # one element; torch's refusals of values out of range and of complex for real
cdef object scalar_of(object x, const char* operation, const char* argument)   # a Python number from a number, NumPy scalar or 0-d Tensor; TypeError otherwise
cdef Array* array_from_data(object data, int code) except NULL       # always new memory; code -1: inferred
