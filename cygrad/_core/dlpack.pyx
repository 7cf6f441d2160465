# DLPack capsules from Arrays and Arrays from capsules. Contract: dlpack.pxd. The structs below are DLPack's binary interface.
#
# A capsule is consumed once: its consumer renames it to "used_..." and calls the deleter when done. Deleters may be called from any thread, with or without
# the GIL: ours only drops an Array. A producer's deleter is called with the GIL, since it may be written in Python.

from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc
from cygrad._core.array cimport Array, MAX_DIMS, array_decref, array_from_storage, array_incref
from cygrad._core.device cimport device_usable
from cygrad._core.dtypes cimport (
    BOOL, COMPLEX128, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, ITEMSIZE, UINT8, is_complex_code, is_float_code)
from cygrad._core.errors cimport raise_pending
from cygrad._core.kernels.copy cimport clone
from cygrad._core.memory cimport Storage, storage_decref, storage_foreign
from cygrad._core.tensor cimport Tensor, tensor_wrap

from cygrad._core.tensor import _install_methods

__all__ = ["from_dlpack", "to_dlpack"]

cdef extern from * nogil:
    """
    #include <stdint.h>
    typedef struct { int32_t device_type, device_id; } cg_dl_device;
    typedef struct { uint8_t code, bits; uint16_t lanes; } cg_dl_type;
    typedef struct {
        void *data; cg_dl_device device; int32_t ndim; cg_dl_type dtype; int64_t *shape, *strides; uint64_t byte_offset;
    } cg_dl_tensor;
    typedef struct cg_dl_managed { cg_dl_tensor tensor; void *context; void (*deleter)(struct cg_dl_managed *); } cg_dl_managed;
    typedef struct cg_dl_versioned {
        uint32_t major, minor; void *context; void (*deleter)(struct cg_dl_versioned *); uint64_t flags; cg_dl_tensor tensor;
    } cg_dl_versioned;
    """
    ctypedef struct cg_dl_device:
        int device_type
        int device_id
    ctypedef struct cg_dl_type:
        unsigned char code
        unsigned char bits
        unsigned short lanes
    ctypedef struct cg_dl_tensor:
        void* data
        cg_dl_device device
        int ndim
        cg_dl_type dtype
        int64_t* shape
        int64_t* strides
        uint64_t byte_offset
    ctypedef struct cg_dl_managed:
        cg_dl_tensor tensor
        void* context
        void (*deleter)(cg_dl_managed*) noexcept
    ctypedef struct cg_dl_versioned:
        unsigned int major
        unsigned int minor
        void* context
        void (*deleter)(cg_dl_versioned*) noexcept
        uint64_t flags
        cg_dl_tensor tensor

cdef extern from "Python.h":
    bint dying_is "PyCapsule_IsValid"(PyObject* capsule, const char* name) noexcept
    void* dying_pointer "PyCapsule_GetPointer"(PyObject* capsule, const char* name) noexcept

cdef enum:
    KIND_INT = 0
    KIND_UINT = 1
    KIND_FLOAT = 2
    KIND_COMPLEX = 5
    KIND_BOOL = 6
    DEVICE_CPU_DL = 1
    FLAG_READ_ONLY = 1
    FLAG_COPIED = 2

cdef const char* NAME = "dltensor"
cdef const char* NAME_VERSIONED = "dltensor_versioned"


# ---- out ------------------------------------------------------------------------------------------------------------

cdef void delete_managed(cg_dl_managed* m) noexcept nogil:
    array_decref(<Array*>m.context)
    free(m)


cdef void delete_versioned(cg_dl_versioned* m) noexcept nogil:
    array_decref(<Array*>m.context)
    free(m)


cdef void drop_capsule(PyObject* capsule) noexcept:
    # A capsule that nobody consumed still owns its tensor. It is being freed: its count must not change any more.
    cdef cg_dl_managed* m
    cdef cg_dl_versioned* v
    if dying_is(capsule, NAME):
        m = <cg_dl_managed*>dying_pointer(capsule, NAME)
        m.deleter(m)
    elif dying_is(capsule, NAME_VERSIONED):
        v = <cg_dl_versioned*>dying_pointer(capsule, NAME_VERSIONED)
        v.deleter(v)


cdef void describe(cg_dl_tensor* t, Array* a, int64_t* room) noexcept:
    cdef int i
    t.data = a.data
    t.device.device_type = DEVICE_CPU_DL
    t.device.device_id = 0
    t.ndim = a.ndim
    t.dtype.lanes = 1
    t.dtype.bits = <unsigned char>(8 * ITEMSIZE[a.dtype])
    t.dtype.code = (KIND_BOOL if a.dtype == BOOL else KIND_UINT if a.dtype == UINT8 else KIND_COMPLEX if is_complex_code(a.dtype)
                    else KIND_FLOAT if is_float_code(a.dtype) else KIND_INT)
    t.shape = room
    t.strides = room + a.ndim
    t.byte_offset = 0
    for i in range(a.ndim):
        t.shape[i] = a.shape[i]
        t.strides[i] = a.strides[i] // ITEMSIZE[a.dtype]


cdef object capsule_from_array(Array* a, bint versioned, bint copied):
    cdef cg_dl_managed* m
    cdef cg_dl_versioned* v
    cdef size_t room = 2 * a.ndim * sizeof(int64_t)
    cdef object capsule
    if versioned:
        v = <cg_dl_versioned*>malloc(sizeof(cg_dl_versioned) + room)
        if v == NULL:
            raise MemoryError("cygrad: out of memory for a DLPack capsule")
        describe(&v.tensor, a, <int64_t*>(v + 1))
        v.major = 1
        v.minor = 0
        v.flags = (FLAG_READ_ONLY if a.storage.read_only else 0) | (FLAG_COPIED if copied else 0)
        v.context = array_incref(a)
        v.deleter = delete_versioned
        return PyCapsule_New(v, NAME_VERSIONED, <void (*)(object) noexcept>drop_capsule)
    if a.storage.read_only:
        raise BufferError("cygrad.Tensor.__dlpack__: the tensor's memory is read-only, which only DLPack 1.0 can say: pass max_version=(1, 0), or clone() it first")
    m = <cg_dl_managed*>malloc(sizeof(cg_dl_managed) + room)
    if m == NULL:
        raise MemoryError("cygrad: out of memory for a DLPack capsule")
    describe(&m.tensor, a, <int64_t*>(m + 1))
    m.context = array_incref(a)
    m.deleter = delete_managed
    return PyCapsule_New(m, NAME, <void (*)(object) noexcept>drop_capsule)


# ---- in -------------------------------------------------------------------------------------------------------------

cdef class DLPackOwner:
    # Owner of a Storage over consumed memory.
    cdef cg_dl_managed* managed
    cdef cg_dl_versioned* versioned

    def __dealloc__(self):
        if self.managed != NULL and self.managed.deleter != NULL:
            self.managed.deleter(self.managed)
        if self.versioned != NULL and self.versioned.deleter != NULL:
            self.versioned.deleter(self.versioned)


cdef int code_of(cg_dl_type t) except -1:
    if t.lanes == 1:
        if t.code == KIND_BOOL and t.bits == 8:
            return BOOL
        if t.code == KIND_UINT and t.bits == 8:
            return UINT8
        if t.code == KIND_INT:
            if t.bits == 8:
                return INT8
            if t.bits == 16:
                return INT16
            if t.bits == 32:
                return INT32
            if t.bits == 64:
                return INT64
        if t.code == KIND_FLOAT:
            if t.bits == 16:
                return FLOAT16
            if t.bits == 32:
                return FLOAT32
            if t.bits == 64:
                return FLOAT64
        if t.code == KIND_COMPLEX:
            if t.bits == 64:
                return COMPLEX64
            if t.bits == 128:
                return COMPLEX128
    raise BufferError(f"cygrad.from_dlpack: the dtype with DLPack code {t.code}, {t.bits} bits and {t.lanes} lanes has no counterpart")


cdef object request_capsule(object source):
    cdef object place
    if hasattr(source, "__dlpack_device__"):
        place = source.__dlpack_device__()
        if int(place[0]) != DEVICE_CPU_DL:
            raise RuntimeError(f"cygrad.from_dlpack: the memory lies on DLPack device {int(place[0])}:{int(place[1])}, and this build of cygrad only reaches the "
                               "CPU's; move it there first")
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:
        return source.__dlpack__()         # a producer from before DLPack 1.0


cdef Array* array_from_dlpack(object source) except NULL:
    cdef object capsule = source
    cdef cg_dl_managed* m = NULL
    cdef cg_dl_versioned* v = NULL
    cdef cg_dl_tensor* t
    cdef DLPackOwner owner
    cdef Storage* s
    cdef Array* a
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t step, extent = 0
    cdef int code, i
    cdef char* data
    if not PyCapsule_CheckExact(source):
        if not hasattr(source, "__dlpack__"):
            raise TypeError(f"cygrad.from_dlpack: expected a DLPack capsule or an object with __dlpack__, not {type(source).__name__}")
        capsule = request_capsule(source)
    if PyCapsule_IsValid(capsule, NAME_VERSIONED):
        v = <cg_dl_versioned*>PyCapsule_GetPointer(capsule, NAME_VERSIONED)
        if v.major != 1:
            raise BufferError(f"cygrad.from_dlpack: the capsule is of DLPack version {v.major}.{v.minor}; cygrad reads 1.x")
        t = &v.tensor
    elif PyCapsule_IsValid(capsule, NAME):
        m = <cg_dl_managed*>PyCapsule_GetPointer(capsule, NAME)
        t = &m.tensor
    else:
        raise RuntimeError("cygrad.from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once: ask the producer for a new one")
    if t.device.device_type != DEVICE_CPU_DL:
        raise RuntimeError(f"cygrad.from_dlpack: the memory lies on DLPack device type {t.device.device_type}, and this build of cygrad only reaches the CPU's")
    code = code_of(t.dtype)
    if t.ndim < 0 or t.ndim > MAX_DIMS:
        raise BufferError(f"cygrad.from_dlpack: tensors have at most {MAX_DIMS} dimensions, got {t.ndim}")
    step = ITEMSIZE[code]
    for i in range(t.ndim - 1, -1, -1):
        shape[i] = t.shape[i]
        if t.strides == NULL:
            strides[i] = step
            step *= shape[i] if shape[i] > 1 else 1
        else:
            strides[i] = t.strides[i] * ITEMSIZE[code]
        if shape[i] < 0:
            raise BufferError(f"cygrad.from_dlpack: negative size {shape[i]} in the capsule")
        if strides[i] < 0 and shape[i] > 1:
            raise ValueError("cygrad.from_dlpack: At least one stride is negative, and tensors with negative strides are not supported; copy the array first")
        if shape[i] == 0:
            extent = -1
        elif extent >= 0:
            extent += (shape[i] - 1) * strides[i]
    data = <char*>t.data + t.byte_offset
    if <size_t>data % (ITEMSIZE[code] // 2 if is_complex_code(code) else ITEMSIZE[code]):
        raise BufferError("cygrad.from_dlpack: the memory is not aligned to its element size; copy the array first")
    owner = DLPackOwner.__new__(DLPackOwner)
    s = storage_foreign(data, 0 if extent < 0 else extent + ITEMSIZE[code], owner, v != NULL and v.flags & FLAG_READ_ONLY != 0)
    a = array_from_storage(s, code, data, t.ndim, shape, strides)
    storage_decref(s)
    if a == NULL:
        raise_pending()
    # Nothing can fail from here on: the tensor is ours.
    if v != NULL:
        PyCapsule_SetName(capsule, "used_dltensor_versioned")
        owner.versioned = v
    else:
        PyCapsule_SetName(capsule, "used_dltensor")
        owner.managed = m
    return a


# ---- Python ---------------------------------------------------------------------------------------------------------

def from_dlpack(ext_tensor: object, *, device: object = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of an array of another library: an object with ``__dlpack__``, or a DLPack capsule.

    ``copy=True`` copies; otherwise memory is shared, and a tensor over read-only memory refuses in-place operations. ``device`` may only name the CPU.
    Raises TypeError for objects that do not speak DLPack, BufferError or RuntimeError for memory that cygrad cannot address.
    """
    cdef Array* a
    cdef Array* copied
    device_usable(device)
    a = array_from_dlpack(ext_tensor)
    if copy:
        copied = clone(a)
        array_decref(a)
        a = copied
    return tensor_wrap(a)


def to_dlpack(tensor: Tensor) -> object:
    """A DLPack capsule (unversioned) that shares the tensor's memory. Capsules are consumed once. BufferError if the tensor requires grad."""
    return tensor.__dlpack__()


def dlpack(self: Tensor, *, stream: object = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None,
           copy: bool | None = None) -> object:
    """A DLPack capsule that shares this tensor's memory (a copy's with ``copy=True``), versioned if ``max_version`` is (1, 0) or later.

    Raises BufferError if the tensor requires grad or another device than the CPU is asked for.
    """
    cdef Tensor t = self
    cdef Array* copied
    if t.requires_grad_:
        raise BufferError("cygrad.Tensor.__dlpack__: Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None:
        raise AssertionError("cygrad.Tensor.__dlpack__: stream should be None on cpu")
    if dl_device is not None and (int(dl_device[0]), int(dl_device[1])) != (DEVICE_CPU_DL, 0):
        raise BufferError(f"cygrad.Tensor.__dlpack__: cannot export to DLPack device {tuple(dl_device)}: the memory lies on the CPU, (1, 0)")
    versioned = max_version is not None and max_version[0] >= 1
    if not copy:
        return capsule_from_array(t.a, versioned, False)
    copied = clone(t.a)
    if copied == NULL:
        raise_pending()
    try:
        return capsule_from_array(copied, versioned, True)
    finally:
        array_decref(copied)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """The DLPack device of the memory: (1, 0), the CPU."""
    return (DEVICE_CPU_DL, 0)


dlpack.__name__ = "__dlpack__"
dlpack_device.__name__ = "__dlpack_device__"
_install_methods({"__dlpack__": dlpack, "__dlpack_device__": dlpack_device})
