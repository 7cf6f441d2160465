# The table of recorded_ops.pxd; it lives in a module of its own so that every floor can reach it.
#
# Until operators.pyx has filled it, each entry refuses: a compiled module that is used without the package must raise, not jump to address zero.


cdef int refuse() except -1:
    raise RuntimeError("cygrad: operations on Tensors are not loaded; import the package cygrad instead of its compiled modules one by one")


cdef Tensor no_add(Tensor a, Tensor b):
    refuse()


cdef Tensor no_sum_to(Tensor a, IntList* shape):
    refuse()


cdef Tensor no_cast(Tensor a, int dtype):
    refuse()


cdef Tensor no_clone(Tensor a):
    refuse()


cdef Tensor no_expand(Tensor a, const IntList* shape, bint implicit):
    refuse()


cdef Tensor no_as_strided(Tensor a, const IntList* shape, const IntList* strides, Py_ssize_t offset):
    refuse()


recorded_ops.add = no_add
recorded_ops.sum_to = no_sum_to
recorded_ops.cast = no_cast
recorded_ops.clone = no_clone
recorded_ops.contiguous = no_clone
recorded_ops.expand = no_expand
recorded_ops.as_strided = no_as_strided
recorded_ops.copy_ = no_add
