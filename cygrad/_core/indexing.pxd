# Reading and writing with index objects: x[...], x[...] = v, and the operations behind them (index, index_put).

from cygrad._core.tensor cimport Tensor

cdef object get_item(object t, object index)
cdef int set_item(Tensor t, object index, object value) except -1
cdef Tensor index_tensors(Tensor self, list indices)                                   # x[i, :, j]; None: a dimension taken whole
cdef Tensor index_put(Tensor self, list indices, Tensor values, bint accumulate)       # out of place
cdef Tensor index_put_(Tensor self, list indices, Tensor values, bint accumulate)
