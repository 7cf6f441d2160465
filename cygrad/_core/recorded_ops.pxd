# The few operations on Tensors that floors below the generated ones need: the engine adds, sums and casts gradients that are recorded.
# operators.pyx, above the generated operations, fills the table.

from cygrad._core.array cimport IntList
from cygrad._core.tensor cimport Tensor

cdef struct RecordedOps:
    Tensor (*add)(Tensor a, Tensor b)
    Tensor (*sum_to)(Tensor a, IntList* shape)
    Tensor (*cast)(Tensor a, int dtype)
    Tensor (*clone)(Tensor a)
    Tensor (*contiguous)(Tensor a)                           # a copy in C order
    Tensor (*expand)(Tensor a, const IntList* shape, bint implicit)
    Tensor (*as_strided)(Tensor a, const IntList* shape, const IntList* strides, Py_ssize_t offset)   # strides and offset in elements
    Tensor (*copy_)(Tensor a, Tensor source)

cdef RecordedOps recorded_ops
