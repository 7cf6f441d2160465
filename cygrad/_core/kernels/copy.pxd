# Copies: casts between all dtypes, contiguous copies, copies with broadcasting into existing memory, fills.

from cygrad._core.array cimport Array
from cygrad._core.kernels.iterate cimport InnerLoop

cdef InnerLoop cast_loop(int source, int target) noexcept nogil               # args[0] -> args[1]
cdef void convert_element(int source, char* from_, int target, char* to) noexcept nogil      # one element; `to` has room for 16 bytes
cdef int copy_into(Array* target, Array* source) noexcept nogil              # broadcasts and casts; overlapping memory is handled; -1 on error
cdef int fill(Array* target, Array* value) noexcept nogil                    # value: one element; -1 with RuntimeError where it is out of the dtype's range
cdef int check_value(Array* value, int dtype) noexcept nogil                 # value: one element; -1 with RuntimeError "cannot be converted to type ... without overflow"
cdef Array* cast(Array* a, int dtype) noexcept nogil                         # the Array itself (count raised) where the dtype fits already
cdef Array* contiguous(Array* a) noexcept nogil                              # the Array itself where it is contiguous
cdef Array* clone(Array* a) noexcept nogil                                   # always new memory, layout as torch's preserve_format
cdef bint memory_overlaps(Array* a, Array* b) noexcept nogil                 # the address ranges that their elements span intersect
