# Array: strided data with shape and dtype and no Python object in it, so that threads make, read and drop Arrays without the GIL.
#
# Note [Kernels]
# A kernel is `cdef Array* name(Array* a, ...) noexcept nogil` in cygrad/_core/kernels/*.pxd.
# - It borrows its arguments and returns a new reference (which may be one of its arguments, with its count raised), or NULL with an error recorded
#   ("Note [Errors without the GIL]"). Given NULL for a required Array it returns NULL at once and records nothing: calls nest without checks between.
# - It does its own promotion (torch's rules), broadcasting and validation, before it allocates or writes.
# - Optional Arrays may be NULL where its comment says so. `Array* out` as last argument, where offered, is written instead of a new Array.
# - Integer lists come as `IntList*`, dims may be negative (normalize_dim).
# - It may reuse the memory of an argument only when asked by its name (suffix _reuse) or by `out`.
# The code generator reads the kernels' .pxd files: a formula may call whatever kernel is declared there, under the same name.
#
# Note [Wrapped numbers]
# A Python number in an operation becomes a 0-d Array with WRAPPED set (int64, float64, complex128 or bool), which promotes by category only:
# float32 tensor * 2.5 stays float32. The result of wrapped numbers alone is not wrapped.

from libc.stdint cimport int64_t
from libc.string cimport memcpy
from cygrad._core.atomics cimport ref_inc, ref_dec, ref_unique
from cygrad._core.memory cimport Storage, storage_incref, storage_decref

cdef enum:
    MAX_DIMS = 64

cdef enum ArrayFlags:
    CONTIGUOUS = 1      # C-contiguous (also: numel <= 1 or any dim 0)
    WRAPPED = 2         # a Python number, see Note [Wrapped numbers]
    IN_BLOCK = 4        # the Array lies in its storage's block and is freed with it

cdef struct Array:
    long refs
    Storage* storage
    char* data               # first element
    Py_ssize_t numel
    short dtype              # DType
    short ndim
    int flags
    Py_ssize_t* shape        # ndim entries, inside the Array's own block; never changed after creation
    Py_ssize_t* strides      # ndim entries, in bytes

cdef struct IntList:
    int n
    Py_ssize_t v[64]

# All return a new reference or NULL (error recorded).
cdef Array* array_empty(int dtype, int ndim, const Py_ssize_t* shape) noexcept nogil               # contiguous, uninitialised
cdef Array* array_zeros(int dtype, int ndim, const Py_ssize_t* shape) noexcept nogil
cdef Array* array_empty_like(Array* a, int dtype) noexcept nogil                                    # same shape, dims in the order of a's strides: torch's preserve_format
cdef bint array_dense(Array* a) noexcept nogil                                                      # the elements fill their memory without gaps, each place once: some order of the dims is contiguous
cdef bint dims_sort(int ndim, const Py_ssize_t* shape, int n, const Py_ssize_t** strides, int* order) noexcept nogil   # order[0]: the innermost dim of a result of n operands with these (broadcast) strides; whether that differs from C order
cdef Array* array_empty_ordered(int dtype, int ndim, const Py_ssize_t* shape, const int* order) noexcept nogil         # dense in memory, dims from the innermost on as in `order`
cdef Array* array_view(Array* base, int dtype, char* data, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides) noexcept nogil   # shares storage
cdef Array* array_alias(Array* base) noexcept nogil                                                 # same geometry, a header of its own (flags WRAPPED cleared)
cdef Array* array_from_storage(Storage* s, int dtype, char* data, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides) noexcept nogil  # takes its own reference to s
cdef Array* scalar_bool(bint v) noexcept nogil        # wrapped numbers
cdef Array* scalar_int(int64_t v) noexcept nogil
cdef Array* scalar_double(double v) noexcept nogil
cdef Array* scalar_complex(double re, double im) noexcept nogil
cdef void array_free(Array* a) noexcept nogil

cdef inline Array* array_incref(Array* a) noexcept nogil:
    if a != NULL:
        ref_inc(&a.refs)
    return a

cdef inline void array_decref(Array* a) noexcept nogil:
    if a != NULL and ref_dec(&a.refs):
        array_free(a)

# Nobody else can see or read this memory, and no element of it twice: it may be overwritten in place.
cdef inline bint array_unshared(Array* a) noexcept nogil:
    return (ref_unique(&a.refs) and ref_unique(&a.storage.refs) and a.storage.owner == NULL
            and a.flags & (CONTIGUOUS | WRAPPED) == CONTIGUOUS)

cdef inline bint has_sizes(Array* a, int ndim, const Py_ssize_t* sizes) noexcept nogil:
    cdef int i
    if a.ndim != ndim:
        return False
    for i in range(ndim):
        if a.shape[i] != sizes[i]:
            return False
    return True

cdef inline bint same_shape(Array* a, Array* b) noexcept nogil:
    return has_sizes(a, b.ndim, b.shape)

cdef bint strides_contiguous(int itemsize, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides) noexcept nogil
cdef int normalize_dim(Py_ssize_t dim, int ndim) noexcept nogil      # -1: out of range, IndexError recorded; a 0-d tensor counts as one dim, as in torch
cdef int shape_text(char* into, int room, int ndim, const Py_ssize_t* shape) noexcept nogil   # "[2, 3]" for messages; characters written
cdef int broadcast_shape(Array* a, Array* b, Py_ssize_t* shape) noexcept nogil    # ndim of the result, or -1 (RuntimeError recorded)
cdef int result_dtype(Array* a, Array* b) noexcept nogil             # torch's promotion with dims, 0-d tensors and wrapped numbers (b may be NULL)
