# One inner loop applied to operands of any geometry and any dtypes: the way every elementwise kernel takes when its own fast path does not fit.
#
# A Call names the loop, the dtypes that it reads and writes, and the operands. call_run broadcasts, casts (block by block, in cache), allocates the
# result or writes to `out`, and refuses what torch refuses to write to. Everything is checked before anything is written.

from cygrad._core.array cimport Array
from cygrad._core.kernels.iterate cimport InnerLoop

cdef enum:
    MAX_INPUTS = 5

cdef struct Call:
    const char* name             # of the operation, for messages
    InnerLoop inner              # args: the inputs, then the output
    void* data
    int n                        # inputs
    int dtypes[6]                # that the loop reads and, at index n, writes
    int result                   # DType of the result: what the loop writes is cast to it
    Array* operands[5]           # none NULL

cdef Array* call_run(Call* c, Array* out) noexcept nogil         # out: NULL, or of the result's shape and a dtype that the result may be cast to
cdef Array* call_reusing(Call* c) noexcept nogil                 # may write into operands[0] if nobody else sees it ("grad" of the helpers named _backward)

cdef int promote_all(int n, Array** operands) noexcept nogil     # result_dtype of several
cdef int broadcast_all(const char* name, int n, Array** operands, Py_ssize_t* shape) noexcept nogil   # ndim, or -1 with RuntimeError

cdef Array* fail_dtype(const char* name, int dtype) noexcept nogil    # NULL, NotImplementedError "not implemented for 'Half'" recorded

# The same for a loop that reads and writes one dtype, the promoted one of the operands. NULL among the operands gives NULL.
ctypedef InnerLoop (*FindLoop)(int dtype) noexcept nogil         # NULL: the operation has no such dtype

cdef enum ApplyFlags:
    PLAIN = 0
    TO_FLOAT = 1                 # integers and bool become the default dtype
    REUSE = 2                    # call_reusing

cdef Array* apply1(const char* name, FindLoop find, Array* a, void* data, int flags) noexcept nogil
cdef Array* apply2(const char* name, FindLoop find, Array* a, Array* b, void* data, int flags) noexcept nogil
cdef Array* apply3(const char* name, FindLoop find, Array* a, Array* b, Array* c, void* data, int flags) noexcept nogil
cdef Array* apply4(const char* name, FindLoop find, Array* a, Array* b, Array* c, Array* d, void* data, int flags) noexcept nogil
cdef int common_dtype(int n, Array** operands, int flags) noexcept nogil     # -1: an operand is NULL

# The value of an Array of one element, as real and imaginary part; -1 with RuntimeError where it has more.
cdef int read_number(const char* name, Array* a, double* parts) noexcept nogil
# The same with an `out` as call_run takes it.
cdef Array* apply2_out(const char* name, FindLoop find, Array* a, Array* b, void* data, int flags, Array* out) noexcept nogil
cdef Array* apply3_out(const char* name, FindLoop find, Array* a, Array* b, Array* third, void* data, int flags, Array* out) noexcept nogil
# A loop of one operand (b: NULL) or two of `dtype`, whose results are of another one.
cdef Array* apply_converting(const char* name, InnerLoop inner, int n, int dtype, int result, Array* a, Array* b) noexcept nogil
