# ndarrays and buffers over the memory of Arrays, and Arrays over theirs. Contract: ndarray.pxd.
#
# Note [Who keeps shared memory alive]
# An ndarray made from an Array has a MemoryOwner as its base, which holds one reference to the Array: array_unshared must see that somebody else looks
# at this memory. An Array made from an ndarray has a Storage whose owner is that ndarray. Neither knows about versions: a write through the ndarray is
# invisible to saved tensors, in torch as here.

cimport numpy as cnp
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES, PyBUF_WRITABLE, PyBUF_ANY_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_C_CONTIGUOUS, Py_buffer
from cpython.ref cimport Py_INCREF
from cygrad._core.array cimport Array, CONTIGUOUS, array_decref, array_empty, array_from_storage, array_incref
from cygrad._core.dtypes cimport (
    BOOL, COMPLEX128, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, ITEMSIZE, NUMPY_TYPE, UINT8, dtype_object)
from cygrad._core.errors cimport raise_pending
from cygrad._core.memory cimport Storage, storage_decref, storage_foreign

__all__: list[str] = []

cnp.import_array()

cdef extern from *:
    """
    #define cg_type_num(d) (((PyArray_Descr *)(d))->type_num)
    #define cg_itemsize(d) ((int)PyDataType_ELSIZE((PyArray_Descr *)(d)))
    #define cg_is_native(d) PyArray_ISNBO(((PyArray_Descr *)(d))->byteorder)
    #define cg_ndarray(ndim, shape, type, strides, data, flags) PyArray_New(&PyArray_Type, ndim, (npy_intp *)(shape), type, (npy_intp *)(strides), data, 0, flags, NULL)
    """
    int type_number "cg_type_num"(object descr)
    int descr_itemsize "cg_itemsize"(object descr)
    bint is_native "cg_is_native"(object descr)
    object ndarray_over "cg_ndarray"(int ndim, const Py_ssize_t* shape, int type, const Py_ssize_t* strides, void* data, int flags)

cdef const char* FORMATS[11]
FORMATS[:] = ["?", "B", "b", "h", "i", "l", "e", "f", "d", "Zf", "Zd"]
cdef str SUPPORTED = "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint8, and bool"


cdef class MemoryOwner:
    # Base object of ndarrays, and exporter of buffers, that share a tensor's memory.
    cdef Array* array

    def __init__(self):
        raise TypeError("cygrad: owners of shared memory are made by Tensor.numpy() and its like")

    def __dealloc__(self):
        array_decref(self.array)

    def __repr__(self) -> str:
        return f"<memory of a cygrad tensor, {self.array.storage.nbytes} bytes>"


cdef object memory_owner(Array* a):
    cdef MemoryOwner owner = MemoryOwner.__new__(MemoryOwner)
    owner.array = array_incref(a)
    return owner


cdef int code_of_descr(object descr, const char* operation) except? -1:
    cdef int t = type_number(descr)
    cdef int size = descr_itemsize(descr)
    cdef int code = -1
    if t == cnp.NPY_DOUBLE:
        code = FLOAT64
    elif t == cnp.NPY_FLOAT:
        code = FLOAT32
    elif t == cnp.NPY_BOOL:
        code = BOOL
    elif t == cnp.NPY_FLOAT16:
        code = FLOAT16
    elif t == cnp.NPY_CFLOAT:
        code = COMPLEX64
    elif t == cnp.NPY_CDOUBLE:
        code = COMPLEX128
    elif t == cnp.NPY_UBYTE:
        code = UINT8
    elif t == cnp.NPY_BYTE or t == cnp.NPY_SHORT or t == cnp.NPY_INT or t == cnp.NPY_LONG or t == cnp.NPY_LONGLONG:
        code = INT8 if size == 1 else INT16 if size == 2 else INT32 if size == 4 else INT64
    if code < 0:
        raise TypeError(f"cygrad.{operation.decode()}: can't convert np.ndarray of type {descr.type.__module__}.{descr.type.__name__}. The only supported types are: {SUPPORTED}. "
                        "Cast it with ndarray.astype first")
    if not is_native(descr):
        raise ValueError(f"cygrad.{operation.decode()}: given numpy array has byte order different from the native byte order; convert it with "
                         "array.astype(array.dtype.newbyteorder('=')) first")
    return code


cdef Array* array_from_ndarray(object ndarray, const char* operation) except NULL:
    cdef int code, i
    cdef int ndim
    cdef Py_ssize_t extent = 0
    cdef cnp.npy_intp* shape
    cdef cnp.npy_intp* strides
    cdef Storage* s
    cdef Array* a
    if not cnp.PyArray_Check(ndarray):
        raise TypeError(f"cygrad.{operation.decode()}: expected np.ndarray (got {type(ndarray).__name__})")
    ndim = cnp.PyArray_NDIM(<cnp.ndarray>ndarray)
    shape = cnp.PyArray_DIMS(<cnp.ndarray>ndarray)
    strides = cnp.PyArray_STRIDES(<cnp.ndarray>ndarray)
    code = code_of_descr((<cnp.ndarray>ndarray).descr, operation)
    for i in range(ndim):
        if strides[i] < 0 and shape[i] > 1:
            raise ValueError(f"cygrad.{operation.decode()}: At least one stride in the given numpy array is negative, and tensors with negative strides "
                             "are not supported; make a copy of the array with array.copy() first")
        if strides[i] % ITEMSIZE[code]:
            raise ValueError(f"cygrad.{operation.decode()}: given numpy array strides not a multiple of the element byte size; make a copy of the array "
                             "with array.copy() first")
        if shape[i] == 0:
            extent = -1
        elif extent >= 0:
            extent += (shape[i] - 1) * strides[i]
    if not cnp.PyArray_ISALIGNED(<cnp.ndarray>ndarray):
        raise ValueError(f"cygrad.{operation.decode()}: the memory of the given numpy array is not aligned to its element size; copy it with array.copy() first")
    s = storage_foreign(<char*>cnp.PyArray_DATA(<cnp.ndarray>ndarray), 0 if extent < 0 else extent + ITEMSIZE[code], ndarray,
                        not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>ndarray))
    a = array_from_storage(s, code, s.data, ndim, <const Py_ssize_t*>shape, <const Py_ssize_t*>strides)
    storage_decref(s)
    if a == NULL:
        raise_pending()
    return a


cdef Array* array_from_numpy_scalar(object scalar, const char* operation) except NULL:
    # Through the descriptor: a scalar type like numpy.datetime64 is refused as an array of it is.
    cdef int code = code_of_descr(cnp.PyArray_DescrFromScalar(scalar), operation)
    cdef Array* a = array_empty(code, 0, NULL)
    if a == NULL:
        raise_pending()
    cnp.PyArray_ScalarAsCtype(scalar, a.data)
    return a


cdef object ndarray_from_array(Array* a):
    cdef object owner = memory_owner(a)
    cdef object result
    cdef int flags = 0 if a.storage.read_only else cnp.NPY_ARRAY_WRITEABLE
    result = ndarray_over(a.ndim, a.shape, NUMPY_TYPE[a.dtype], a.strides, a.data, flags)
    Py_INCREF(owner)                      # the next call takes this reference
    cnp.PyArray_SetBaseObject(<cnp.ndarray>result, owner)
    return result


cdef bint fortran_contiguous(Array* a) noexcept:
    cdef Py_ssize_t expected = ITEMSIZE[a.dtype]
    cdef int i
    if a.numel == 0:
        return True
    for i in range(a.ndim):
        if a.shape[i] != 1:
            if a.strides[i] != expected:
                return False
            expected *= a.shape[i]
    return True


cdef int get_buffer(Array* a, Py_buffer* b, int flags) except -1:
    # The exporter is an owner of the Array, whose shape and strides never move, and not the tensor, which may be given other data meanwhile.
    cdef bint c_contiguous = a.flags & CONTIGUOUS
    b.obj = None
    if flags & PyBUF_WRITABLE and a.storage.read_only:
        raise BufferError("cygrad.Tensor: a writable buffer was asked for, but the tensor's memory belongs to an object that is read-only; clone() it first")
    if not c_contiguous:
        if flags & PyBUF_C_CONTIGUOUS == PyBUF_C_CONTIGUOUS or flags & PyBUF_STRIDES != PyBUF_STRIDES:
            raise BufferError("cygrad.Tensor: a C-contiguous buffer was asked for, but the tensor is not contiguous; call contiguous() first")
        if flags & PyBUF_ANY_CONTIGUOUS == PyBUF_ANY_CONTIGUOUS and not fortran_contiguous(a):
            raise BufferError("cygrad.Tensor: a contiguous buffer was asked for, but the tensor is not contiguous; call contiguous() first")
    if flags & PyBUF_F_CONTIGUOUS == PyBUF_F_CONTIGUOUS and not fortran_contiguous(a):
        raise BufferError("cygrad.Tensor: a Fortran-contiguous buffer was asked for, but the tensor has another layout")
    b.buf = a.data
    b.itemsize = ITEMSIZE[a.dtype]
    b.len = a.numel * b.itemsize
    b.readonly = a.storage.read_only
    b.ndim = a.ndim
    b.format = <char*>FORMATS[a.dtype] if flags & PyBUF_FORMAT else NULL
    b.shape = a.shape if flags & PyBUF_ND else NULL
    b.strides = a.strides if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
    b.suboffsets = NULL
    b.internal = NULL
    b.obj = memory_owner(a)
    return 0
