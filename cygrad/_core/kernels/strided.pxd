# Blocks: one strided box of elements moved or added into another, without an Array header or a Loop around it.
#
# Why beside iterate.pxd: indexing, cat and the backward of views repeat one small box at many places. A Block is prepared once (dims coalesced) and
# then costs a memcpy, or a short loop, a place. Elements are visited in row-major order, one after the other, so that a target whose elements overlap
# (as_strided) is added into rightly.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from cygrad._core.array cimport Array

# What the typed loops here and in the indexing kernels are made for: an element by its size, and what can be added.
cdef struct Pair:            # 16 bytes: an element of complex128
    uint64_t a
    uint64_t b

ctypedef fused Bits:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    Pair

ctypedef fused Addend:       # unsigned addition wraps as signed does, in the same bits, and is defined in C
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double

cdef struct Block:
    int ndim                     # after coalescing; 0: one element
    int itemsize
    bint flat                    # both sides contiguous: one memcpy of nbytes
    size_t nbytes                # of all elements
    Py_ssize_t shape[64]
    Py_ssize_t to_strides[64]    # in bytes, as everywhere
    Py_ssize_t from_strides[64]

cdef void block_init(Block* b, int itemsize, int ndim, const Py_ssize_t* shape, const Py_ssize_t* to_strides, const Py_ssize_t* from_strides) noexcept nogil
cdef void block_copy(Block* b, char* to, const char* source) noexcept nogil
cdef void block_add(Block* b, int dtype, char* to, const char* source) noexcept nogil       # to += source; bool: or

# One element or a run of them. Runs: `count` elements `to_stride` and `from_stride` bytes apart.
cdef void copy_run(int itemsize, Py_ssize_t count, char* to, Py_ssize_t to_stride, const char* source, Py_ssize_t from_stride) noexcept nogil
cdef void add_run(int dtype, Py_ssize_t count, char* to, Py_ssize_t to_stride, const char* source, Py_ssize_t from_stride) noexcept nogil

cdef int view_copy(Array* base, char* data, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides, Array* source) noexcept nogil
                                                                                   # copy_into (casts, broadcasts) a view of base that is made for this; -1 on error
