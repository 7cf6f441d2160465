# Tensors to Python numbers, and to other dtypes.

from cygrad._core.tensor cimport Tensor

cdef object element(const char* at, int code)                         # one element as a Python number
cdef Tensor to_copy(Tensor t, int code, int format)                   # always new memory; records ToCopyBackward0
cdef Tensor to_dtype(Tensor t, int code)                              # the tensor itself where the dtype fits
