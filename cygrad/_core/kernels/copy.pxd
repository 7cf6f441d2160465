# Copies: casts between all dtypes, contiguous copies, copies with broadcasting into existing memory, fills.

from cygrad._core.array cimport Array
from cygrad._core.kernels.iterate cimport InnerLoop

cdef InnerLoop cast_loop(int source, int target) noexcept nogil               # args[0] -> args[1]
cdef int copy_into(Array* target, Array* source) noexcept nogil              # broadcasts and casts; overlapping memory is handled; -1 on error
cdef int fill(Array* target, Array* value) noexcept nogil                    # value: one element
cdef Array* cast(Array* a, int dtype) noexcept nogil                         # the Array itself (count raised) where the dtype fits already
cdef Array* contiguous(Array* a) noexcept nogil                              # the Array itself where it is contiguous
cdef Array* clone(Array* a) noexcept nogil                                   # always new memory, layout as torch's preserve_format
