# Iteration over up to MAX_OPERANDS strided Arrays of one broadcast shape, with dimensions coalesced and the inner loop given to a callback.
#
# A Loop is prepared once: loop_init, loop_add for each operand, loop_ready; then loop_run calls inner(args, count, strides, data), which has the
# signature of NumPy's ufunc inner loops, as few times as the geometry allows (once for contiguous operands).

from cygrad._core.array cimport Array

cdef enum:
    MAX_OPERANDS = 6

ctypedef void (*InnerLoop)(char** args, const Py_ssize_t* count, const Py_ssize_t* strides, void* data) noexcept nogil

cdef struct Loop:
    int ndim
    int nops
    Py_ssize_t shape[64]
    Py_ssize_t strides[6][64]     # strides[operand][dim], in bytes, 0 where broadcast
    char* data[6]

cdef void loop_init(Loop* it, int ndim, const Py_ssize_t* shape) noexcept nogil
cdef void loop_add(Loop* it, Array* a) noexcept nogil                       # broadcast against the loop's shape (trailing dims aligned)
cdef void loop_add_strided(Loop* it, char* data, const Py_ssize_t* strides) noexcept nogil   # ndim strides as they are (0 for a reduced output)
cdef void loop_ready(Loop* it) noexcept nogil                               # drop dims of 1, sort by stride, coalesce; inner dim ends as the last one
cdef void loop_run(Loop* it, InnerLoop inner, void* data) noexcept nogil
