# Functions that make tensors from nothing, from numbers and from data. Sizes come as numbers or as one sequence, as in torch.
#
# Every function checks all of its arguments before it takes memory. Ranges are in ranges.pyx, the random ones in random_fill.pyx.

from cygrad._warnings import warn

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyObject_CheckBuffer, PyObject_GetBuffer, PyBuffer_Release, Py_buffer
from cygrad._core.array cimport (
    Array, array_decref, array_empty, array_empty_like, array_from_storage, array_incref, array_zeros, scalar_bool, scalar_complex, scalar_double,
    scalar_int)
from cygrad._core.device cimport device_usable
from cygrad._core.dlpack cimport array_from_dlpack
from cygrad._core.dtypes cimport FLOAT32, ITEMSIZE, complex_of, default_dtype, dtype_cname, dtype_object
from cygrad._core.errors cimport raise_pending
from cygrad._core.from_data cimport array_from_data, number_code, scalar_of, store_number
from cygrad._core.kernels.copy cimport cast, clone, copy_into, fill
from cygrad._core.memory cimport Storage, storage_decref, storage_foreign
from cygrad._core.ndarray cimport array_from_ndarray, array_from_numpy_scalar
from cygrad._core.kernels.formats cimport FORMAT_CONTIGUOUS, FORMAT_PRESERVE, empty_as
from cygrad._core.options cimport format_code
from cygrad._core.sizes cimport (
    check_place, check_requires_grad, dtype_or, finish, finish_out, parse_size, parse_size_sequence, signed_sizes, store_value)
from cygrad._core.tensor cimport Tensor, array_replace, tensor_wrap

import cygrad._core.size
from cygrad._core.tensor import _install_methods

__all__ = [
    "as_tensor", "asarray", "empty", "empty_like", "empty_strided", "eye", "from_numpy", "frombuffer", "full", "full_like", "ones", "ones_like",
    "scalar_tensor", "tensor", "zeros", "zeros_like",
]

cnp.import_array()

cdef object Size = cygrad._core.size.Size
cdef str COPY_ADVICE = ("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                        "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor).")


# ---- from data ------------------------------------------------------------------------------------------------------

cdef Array* array_copy(object data, int code) except NULL:
    cdef Array* shared
    cdef Array* a
    if (not isinstance(data, (float, int, list, tuple, Tensor)) and not cnp.PyArray_Check(data) and not cnp.PyArray_CheckScalar(data)
            and hasattr(data, "__dlpack__")):
        shared = array_from_dlpack(data)
        a = clone(shared) if code < 0 or code == shared.dtype else cast(shared, code)
        array_decref(shared)
        if a == NULL:
            raise_pending()
        return a
    return array_from_data(data, code)


def tensor(data: object, *, dtype: object = None, device: object = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A leaf tensor that holds a copy of ``data``: a number, a nested sequence of numbers, an ndarray, or another tensor.

    Without ``dtype``: bools give bool, ints int64, floats the default dtype, complex numbers its complex counterpart, arrays and tensors their own.
    Raises ValueError for ragged sequences, TypeError or RuntimeError for what is no number, RuntimeError for values out of the dtype's range and for
    ``requires_grad`` on an integer dtype.
    """
    cdef int code = dtype_or(dtype, -1, "tensor")
    cdef Array* a
    check_place(None, device, pin_memory, "tensor")
    if isinstance(data, Tensor):
        warn(COPY_ADVICE.format("cygrad.tensor"))
    a = array_copy(data, code)
    try:
        check_requires_grad(a.dtype, requires_grad, "tensor")
    except:
        array_decref(a)
        raise
    return finish(a, requires_grad)


def as_tensor(data: object, dtype: object = None, device: object = None) -> Tensor:
    """``data`` as a tensor, sharing memory where it can: a tensor of the dtype as it is, an ndarray's memory, a copy of anything else.

    A tensor of another dtype is converted, which autograd records.
    """
    cdef int code = dtype_or(dtype, -1, "as_tensor")
    cdef Array* a
    cdef Array* converted
    check_place(None, device, None, "as_tensor")
    if isinstance(data, Tensor):
        return data if code < 0 or code == (<Tensor>data).a.dtype else data.to(dtype_object(code))
    if cnp.PyArray_Check(data):
        a = array_from_ndarray(data, "as_tensor")
    elif hasattr(data, "__dlpack__") and not cnp.PyArray_CheckScalar(data):
        a = array_from_dlpack(data)
    else:
        return tensor_wrap(array_from_data(data, code))
    if code >= 0:
        converted = cast(a, code)
        array_decref(a)
        a = converted
    return tensor_wrap(a)


cdef Tensor asarray_tensor(Tensor t, int code, object copy, object requires_grad):
    cdef Tensor result
    if code >= 0 and code != t.a.dtype:
        if copy is False:
            raise ValueError(f"cygrad.asarray: can't alias tensor with dtype '{dtype_cname(t.a.dtype).decode()}' into dtype '{dtype_cname(code).decode()}'; allow a copy")
        result = t.to(dtype_object(code))
    else:
        result = t.clone() if copy else t
    if requires_grad is None or requires_grad == result.requires_grad_:
        return result
    if not requires_grad and result.grad_fn_ is not None:
        return result.detach()
    return (<object>result).requires_grad_(requires_grad)


def asarray(obj: object, *, dtype: object = None, device: object = None, copy: bool | None = None, requires_grad: bool | None = None) -> Tensor:
    """``obj`` as a tensor: a tensor, an ndarray, a DLPack object, an object with the buffer protocol, a number or a nested sequence.

    ``copy=True`` always copies; ``copy=False`` never does, and raises ValueError where memory cannot be shared; None copies where it must.
    ``requires_grad`` None keeps what ``obj`` has.
    """
    cdef int code = dtype_or(dtype, -1, "asarray")
    cdef Array* a = NULL
    cdef Tensor result
    check_place(None, device, None, "asarray")
    check_requires_grad(default_dtype() if code < 0 else code, requires_grad, "asarray")
    if isinstance(obj, Tensor):
        return asarray_tensor(obj, code, copy, requires_grad)
    if cnp.PyArray_Check(obj):
        a = array_from_ndarray(obj, "asarray")
    elif cnp.PyArray_CheckScalar(obj):
        a = array_from_numpy_scalar(obj, "asarray")
    elif hasattr(obj, "__dlpack__"):
        a = array_from_dlpack(obj)
    elif PyObject_CheckBuffer(obj):
        result = frombuffer(obj, dtype=dtype_object(default_dtype() if code < 0 else code))
        return asarray_tensor(result, code, copy, requires_grad)
    if a != NULL:
        return asarray_tensor(tensor_wrap(a), code, copy, requires_grad)
    if copy is False:
        raise ValueError("cygrad.asarray: can't alias arbitrary sequence into a tensor; allow a copy")
    a = array_from_data(obj, code)
    try:
        check_requires_grad(a.dtype, requires_grad, "asarray")
    except:
        array_decref(a)
        raise
    return finish(a, requires_grad)


def from_numpy(ndarray: object, /) -> Tensor:
    """A tensor over the memory of ``ndarray``: writes to one show in the other. Those through NumPy are not counted in ``_version``, so backward does not
    notice them (docs/mutation.md). A read-only array gives a tensor that refuses in-place operations.

    Raises TypeError for other objects and dtypes that cygrad lacks, ValueError for negative strides and foreign byte order.
    """
    return tensor_wrap(array_from_ndarray(ndarray, "from_numpy"))


def frombuffer(buffer: object, *, dtype: object, count: object = -1, offset: object = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor over the memory of an object with the buffer protocol, from byte ``offset``, of ``count`` elements (negative: as many as there are).

    Raises ValueError where offset, count and the buffer's length do not fit.
    """
    cdef int code = dtype_or(dtype, -1, "frombuffer")
    cdef Py_buffer view
    cdef Py_ssize_t item, n, start = offset, stride
    cdef Py_ssize_t wanted = count
    cdef Storage* s
    cdef Array* a
    if code < 0:
        raise TypeError("cygrad.frombuffer(): argument 'dtype' must be cygrad.dtype, not NoneType")
    item = stride = ITEMSIZE[code]
    check_requires_grad(code, requires_grad, "frombuffer")
    if not PyObject_CheckBuffer(buffer):
        raise ValueError(f"cygrad.frombuffer: object does not implement Python buffer protocol: {type(buffer).__name__}")
    # The memoryview keeps the buffer exported, so that its owner cannot move the memory while the tensor lives.
    held = memoryview(buffer)
    PyObject_GetBuffer(held, &view, PyBUF_SIMPLE)
    try:
        if view.len == 0 or wanted == 0:
            raise ValueError(f"cygrad.frombuffer: both buffer length ({view.len}) and count ({count}) must not be 0")
        if start < 0 or start >= view.len:
            raise ValueError(f"cygrad.frombuffer: offset ({offset} bytes) must be non-negative and no greater than buffer length ({view.len} bytes) minus 1")
        if wanted < 0:
            if (view.len - start) % item:
                raise ValueError(f"cygrad.frombuffer: buffer length ({view.len} bytes) after offset ({offset} bytes) must be a multiple of element size ({item})")
            n = (view.len - start) // item
        else:
            n = wanted
            if n > (view.len - start) // item:
                raise ValueError(f"cygrad.frombuffer: requested buffer length ({n} * {item} bytes) after offset ({offset} bytes) must not be greater than "
                                 f"actual buffer length ({view.len} bytes)")
        if (<size_t>view.buf + start) % item:
            raise ValueError(f"cygrad.frombuffer: the memory at offset {offset} is not aligned to the element size ({item})")
        s = storage_foreign(<char*>view.buf + start, n * item, held, view.readonly)
        a = array_from_storage(s, code, s.data, 1, &n, &stride)
        storage_decref(s)
    finally:
        PyBuffer_Release(&view)
    return finish(a, requires_grad)


# ---- from sizes -----------------------------------------------------------------------------------------------------

cdef Array* checked(Array* a) except NULL:
    if a == NULL:
        raise_pending()
    return a


cdef Array* constant(int code, int ndim, const Py_ssize_t* sizes, object value) except NULL:
    cdef Array* a = checked(array_empty(code, ndim, sizes))
    try:
        store_value(a, value)
    except:
        array_decref(a)
        raise
    return a


def empty(*args: object, size: object = None, out: Tensor | None = None, dtype: object = None, layout: object = None, device: object = None,
          requires_grad: bool = False, pin_memory: bool = False, memory_format: object = None) -> Tensor:
    """A tensor of the given size whose elements are whatever the memory held. RuntimeError for negative sizes, MemoryError for too large ones."""
    cdef Py_ssize_t sizes[64]
    cdef int ndim = parse_size(args, size, "empty", sizes)
    cdef int code = dtype_or(dtype, default_dtype() if out is None else out.a.dtype, "empty")
    check_place(layout, device, pin_memory, "empty")
    check_requires_grad(code, requires_grad, "empty")
    return finish_out(checked(empty_as(code, ndim, sizes, format_code(memory_format, FORMAT_CONTIGUOUS, "empty"))), requires_grad, out, "empty")


def zeros(*args: object, size: object = None, out: Tensor | None = None, dtype: object = None, layout: object = None, device: object = None,
          requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of the given size, filled with 0. RuntimeError for negative sizes, MemoryError for too large ones."""
    cdef Py_ssize_t sizes[64]
    cdef int ndim = parse_size(args, size, "zeros", sizes)
    cdef int code = dtype_or(dtype, default_dtype() if out is None else out.a.dtype, "zeros")
    check_place(layout, device, pin_memory, "zeros")
    check_requires_grad(code, requires_grad, "zeros")
    return finish_out(array_zeros(code, ndim, sizes), requires_grad, out, "zeros")


def ones(*args: object, size: object = None, out: Tensor | None = None, dtype: object = None, layout: object = None, device: object = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of the given size, filled with 1. RuntimeError for negative sizes, MemoryError for too large ones."""
    cdef Py_ssize_t sizes[64]
    cdef int ndim = parse_size(args, size, "ones", sizes)
    cdef int code = dtype_or(dtype, default_dtype() if out is None else out.a.dtype, "ones")
    check_place(layout, device, pin_memory, "ones")
    check_requires_grad(code, requires_grad, "ones")
    return finish_out(constant(code, ndim, sizes, 1), requires_grad, out, "ones")


def full(size: object, fill_value: object, *, out: Tensor | None = None, dtype: object = None, layout: object = None, device: object = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of the given size, filled with ``fill_value``, whose kind decides the dtype if none is given.

    Raises RuntimeError for negative sizes and for a value out of the dtype's range, MemoryError for too large sizes.
    """
    cdef Py_ssize_t sizes[64]
    cdef int ndim = parse_size_sequence(size, "full", 1, sizes)
    cdef object value = scalar_of(fill_value, "full", "fill_value")
    cdef int code = dtype_or(dtype, number_code(value) if out is None else out.a.dtype, "full")
    check_place(layout, device, pin_memory, "full")
    check_requires_grad(code, requires_grad, "full")
    return finish_out(constant(code, ndim, sizes, value), requires_grad, out, "full")


def scalar_tensor(s: object, *, dtype: object = None, layout: object = None, device: object = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:
    """A 0-d tensor that holds the number ``s``, of the default dtype unless another is given."""
    cdef int code = dtype_or(dtype, default_dtype(), "scalar_tensor")
    cdef object value = scalar_of(s, "scalar_tensor", "s")
    check_place(layout, device, pin_memory, "scalar_tensor")
    check_requires_grad(code, requires_grad, "scalar_tensor")
    return finish(constant(code, 0, NULL, value), requires_grad)


def empty_strided(size: object, stride: object, *, dtype: object = None, layout: object = None, device: object = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor with the given size and stride (in elements). RuntimeError for negative ones or unequal lengths."""
    cdef Py_ssize_t sizes[64]
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t extent = 1
    cdef int ndim = parse_size_sequence(size, "empty_strided", 1, sizes)
    cdef int n_strides = signed_sizes(stride, "empty_strided", "stride", strides)
    cdef int code = dtype_or(dtype, default_dtype(), "empty_strided")
    cdef int i
    cdef Array* a
    cdef Array* result
    check_place(layout, device, pin_memory, "empty_strided")
    check_requires_grad(code, requires_grad, "empty_strided")
    if ndim != n_strides:
        raise RuntimeError(f"cygrad.empty_strided: dimensionality of sizes ({ndim}) must match dimensionality of strides ({n_strides})")
    for i in range(ndim):
        if strides[i] < 0 or (sizes[i] > 1 and strides[i] > ((<Py_ssize_t>1 << 56) - extent) // (sizes[i] - 1)):
            raise RuntimeError(f"cygrad.empty_strided: Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
        if sizes[i] == 0:
            extent = 0
            break
        extent += (sizes[i] - 1) * strides[i]
    for i in range(ndim):
        strides[i] *= ITEMSIZE[code]
    a = checked(array_empty(code, 1, &extent))
    result = array_from_storage(a.storage, code, a.data, ndim, sizes, strides)
    array_decref(a)
    return finish(result, requires_grad)


def eye(n: object, m: object = None, *, out: Tensor | None = None, dtype: object = None, layout: object = None, device: object = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """The matrix of shape (n, m) (m: n by default) with ones on its diagonal and zeros elsewhere. RuntimeError for negative sizes."""
    cdef Py_ssize_t sizes[2]
    cdef Py_ssize_t step, i
    cdef int code = dtype_or(dtype, default_dtype() if out is None else out.a.dtype, "eye")
    cdef Array* a
    for name, value in (("n", n), ("m", n if m is None else m)):
        if isinstance(value, (bool, float)) or not hasattr(type(value), "__index__"):
            raise TypeError(f"cygrad.eye(): argument '{name}' must be int, not {type(value).__name__}")
        if value < 0:
            raise RuntimeError(f"cygrad.eye: {name} must be greater or equal to 0, got {value}")
    sizes[0] = n
    sizes[1] = n if m is None else m
    check_place(layout, device, pin_memory, "eye")
    check_requires_grad(code, requires_grad, "eye")
    a = checked(array_zeros(code, 2, sizes))
    step = a.strides[0] + ITEMSIZE[code]
    for i in range(sizes[0] if sizes[0] < sizes[1] else sizes[1]):
        store_number(a.data + i * step, code, 1)
    return finish_out(a, requires_grad, out, "eye")


# ---- like another tensor --------------------------------------------------------------------------------------------

cdef Array* array_like(object input, object dtype, object layout, object device, object requires_grad, object memory_format, object pin_memory,
                       const char* operation) except NULL:
    cdef Tensor t
    cdef int code, format
    if not isinstance(input, Tensor):
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    t = input
    code = dtype_or(dtype, t.a.dtype, operation)
    check_place(layout, device, pin_memory, operation)
    check_requires_grad(code, requires_grad, operation)
    format = format_code(memory_format, FORMAT_PRESERVE, operation)
    if format == FORMAT_PRESERVE:
        return checked(array_empty_like(t.a, code))
    return checked(empty_as(code, t.a.ndim, t.a.shape, format))


cdef Tensor filled_like(Array* a, object value, object requires_grad):
    try:
        store_value(a, value)
    except:
        array_decref(a)
        raise
    return finish(a, requires_grad)


def empty_like(input: Tensor, *, dtype: object = None, layout: object = None, device: object = None, requires_grad: bool = False,
               memory_format: object = None, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor of the shape, dtype and layout of ``input``."""
    return finish(array_like(input, dtype, layout, device, requires_grad, memory_format, pin_memory, "empty_like"), requires_grad)


def zeros_like(input: Tensor, *, dtype: object = None, layout: object = None, device: object = None, requires_grad: bool = False,
               memory_format: object = None, pin_memory: bool = False) -> Tensor:
    """A tensor of zeros of the shape, dtype and layout of ``input``."""
    return filled_like(array_like(input, dtype, layout, device, requires_grad, memory_format, pin_memory, "zeros_like"), 0, requires_grad)


def ones_like(input: Tensor, *, dtype: object = None, layout: object = None, device: object = None, requires_grad: bool = False,
              memory_format: object = None, pin_memory: bool = False) -> Tensor:
    """A tensor of ones of the shape, dtype and layout of ``input``."""
    return filled_like(array_like(input, dtype, layout, device, requires_grad, memory_format, pin_memory, "ones_like"), 1, requires_grad)


def full_like(input: Tensor, fill_value: object, *, dtype: object = None, layout: object = None, device: object = None, requires_grad: bool = False,
              memory_format: object = None, pin_memory: bool = False) -> Tensor:
    """A tensor of the shape, dtype and layout of ``input``, filled with ``fill_value``. RuntimeError for a value out of the dtype's range."""
    cdef object value = scalar_of(fill_value, "full_like", "fill_value")
    return filled_like(array_like(input, dtype, layout, device, requires_grad, memory_format, pin_memory, "full_like"), value, requires_grad)


# ---- methods --------------------------------------------------------------------------------------------------------

def new_tensor(self: Tensor, data: object, *, dtype: object = None, device: object = None, requires_grad: bool = False, layout: object = None,
               pin_memory: bool = False) -> Tensor:
    """``cygrad.tensor(data)`` with the dtype of this tensor unless another is given."""
    cdef int code = dtype_or(dtype, self.a.dtype, "new_tensor")
    check_place(layout, device, pin_memory, "new_tensor")
    check_requires_grad(code, requires_grad, "new_tensor")
    if isinstance(data, Tensor):
        warn(COPY_ADVICE.format("tensor.new_tensor"))
    return finish(array_copy(data, code), requires_grad)


def new_empty(self: Tensor, *args: object, size: object = None, dtype: object = None, device: object = None, requires_grad: bool = False,
              layout: object = None, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor of the given size with the dtype of this one unless another is given."""
    return empty(*args, size=size, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad, layout=layout, pin_memory=pin_memory)


def new_zeros(self: Tensor, *args: object, size: object = None, dtype: object = None, device: object = None, requires_grad: bool = False,
              layout: object = None, pin_memory: bool = False) -> Tensor:
    """A tensor of zeros of the given size with the dtype of this one unless another is given."""
    return zeros(*args, size=size, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad, layout=layout, pin_memory=pin_memory)


def new_ones(self: Tensor, *args: object, size: object = None, dtype: object = None, device: object = None, requires_grad: bool = False,
             layout: object = None, pin_memory: bool = False) -> Tensor:
    """A tensor of ones of the given size with the dtype of this one unless another is given."""
    return ones(*args, size=size, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad, layout=layout, pin_memory=pin_memory)


def new_full(self: Tensor, size: object, fill_value: object, *, dtype: object = None, device: object = None, requires_grad: bool = False,
             layout: object = None, pin_memory: bool = False) -> Tensor:
    """A tensor of the given size filled with ``fill_value``, with the dtype of this one unless another is given."""
    return full(size, fill_value, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad, layout=layout, pin_memory=pin_memory)


def new_empty_strided(self: Tensor, size: object, stride: object, *, dtype: object = None, device: object = None, requires_grad: bool = False,
                      layout: object = None, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor of the given size and stride with the dtype of this one unless another is given."""
    return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad, layout=layout, pin_memory=pin_memory)


def _legacy_constructor(self: Tensor, *args: object, device: object = None) -> None:
    """What ``cygrad.Tensor(...)`` does: sizes give uninitialised memory, data is copied as the default dtype, a tensor's memory is shared."""
    cdef Py_ssize_t sizes[64]
    cdef int ndim
    cdef Tensor source
    device_usable(device)
    if len(args) == 1 and isinstance(args[0], Tensor):
        source = args[0]
        if source.a.dtype != default_dtype():
            raise TypeError(f"cygrad.Tensor: expected {dtype_cname(default_dtype()).decode()} (got {dtype_cname(source.a.dtype).decode()}); use cygrad.tensor or .to()")
        array_replace(self, array_incref(source.a))
    elif not args:
        return
    elif len(args) == 1 and not isinstance(args[0], (int, Size)):
        array_replace(self, array_copy(args[0], default_dtype()))
    else:
        ndim = parse_size(args, None, "Tensor", sizes)
        array_replace(self, checked(array_empty(default_dtype(), ndim, sizes)))


_install_methods({
    "new_tensor": new_tensor, "new_empty": new_empty, "new_zeros": new_zeros, "new_ones": new_ones, "new_full": new_full,
    "new_empty_strided": new_empty_strided,
})
