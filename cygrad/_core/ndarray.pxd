# Arrays and the outside world of memory on the CPU: ndarrays and the buffer protocol, both ways, without copies. Knows nothing of Tensors, so that
# tensor.pyx may cimport it.

from cpython.buffer cimport Py_buffer
from cygrad._core.array cimport Array

cdef int code_of_descr(object descr, const char* operation) except? -1       # DType of a numpy.dtype in native byte order; -1 with TypeError/ValueError set
cdef Array* array_from_ndarray(object ndarray, const char* operation) except NULL      # shares memory; an ndarray that is not writeable gives a read-only Storage
cdef object ndarray_from_array(Array* a)                                                # shares memory; its base keeps the Storage alive
cdef Array* array_from_numpy_scalar(object scalar, const char* operation) except NULL   # numpy.float32(2) and its like: a 0-d Array of that dtype

cdef int get_buffer(Array* a, Py_buffer* b, int flags) except -1                         # Tensor.__getbuffer__; nothing to release but b.obj
