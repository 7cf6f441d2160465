# item(), tolist(), to() and its short forms, type(), and what a tensor tells about its elements. Contract: convert.pxd.

from cygrad._warnings import warn

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint16_t, uint64_t, uint8_t
from libc.string cimport memset
from cygrad._core.array cimport Array, array_decref, array_empty, array_from_storage, array_incref
from cygrad._core.device cimport device, device_usable
from cygrad._core.dtypes cimport (
    BOOL, COMPLEX128, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, ITEMSIZE, N_DTYPES, UINT8, dtype, dtype_cname, dtype_code,
    dtype_object)
from cygrad._core.errors cimport raise_pending
from cygrad._core.forward cimport boxed, forward_on, forward_open, forward_pause, tangent_of, tangent_set
from cygrad._core.grad_mode cimport grad_enabled, set_thread_modes
from cygrad._core.kernels.copy cimport cast, clone, copy_into
from cygrad._core.kernels.half cimport half_to_float
from cygrad._core.node cimport Node, NodeState, NodeType, node_new, node_register
from cygrad._core.kernels.formats cimport FORMAT_PRESERVE, empty_as
from cygrad._core.options cimport format_code
from cygrad._core.sizes cimport dtype_or
from cygrad._core.recording cimport edge_set, history_set
from cygrad._core.tensor cimport Tensor, tensor_wrap

import cygrad._core.options
from cygrad._core.tensor import _install_methods

__all__: list[str] = []          # its functions become methods of Tensor

cdef object strided_layout = cygrad._core.options.strided
cdef tuple PYTHON_TYPES = (bool, int, float, complex)


# ---- to Python ------------------------------------------------------------------------------------------------------

cdef object element(const char* at, int code):
    if code == FLOAT32:
        return <double>(<const float*>at)[0]
    if code == FLOAT64:
        return (<const double*>at)[0]
    if code == INT64:
        return (<const int64_t*>at)[0]
    if code == BOOL:
        return at[0] != 0
    if code == INT32:
        return (<const int32_t*>at)[0]
    if code == INT16:
        return (<const int16_t*>at)[0]
    if code == INT8:
        return (<const int8_t*>at)[0]
    if code == UINT8:
        return (<const uint8_t*>at)[0]
    if code == FLOAT16:
        return <double>half_to_float((<const uint16_t*>at)[0])
    if code == COMPLEX64:
        return complex((<const float*>at)[0], (<const float*>at)[1])
    return complex((<const double*>at)[0], (<const double*>at)[1])


def item(self: Tensor) -> object:
    """The only element as a Python bool, int, float or complex. RuntimeError unless there is exactly one."""
    if self.a.numel != 1:
        raise RuntimeError(f"cygrad.Tensor.item: a Tensor with {self.a.numel} elements cannot be converted to Scalar; index it, or use tolist()")
    return element(self.a.data, self.a.dtype)


cdef object nested(Array* a, const char* at, int dim):
    cdef Py_ssize_t n, i
    cdef list result
    if dim == a.ndim:
        return element(at, a.dtype)
    n = a.shape[dim]
    result = []
    for i in range(n):
        result.append(element(at, a.dtype) if dim == a.ndim - 1 else nested(a, at, dim + 1))
        at += a.strides[dim]
    return result


def tolist(self: Tensor) -> object:
    """The elements as nested lists of Python numbers; a number for 0-d tensors."""
    return nested(self.a, self.a.data, 0)


# ---- to other dtypes ------------------------------------------------------------------------------------------------

cdef NodeType NT_to_copy


# The gradient of a conversion is the gradient: the engine casts it to the input's dtype by the Edge.
cdef int apply_to_copy(NodeState* s, Array** gin, Array** gout, uint64_t need) noexcept nogil:
    gout[0] = array_incref(gin[0])
    return 0


cdef list recorded_to_copy(NodeState* s, list grads, uint64_t need):
    return grads


cdef Array* converted(Array* a, int code, int format) except NULL:
    cdef Array* result
    if format == FORMAT_PRESERVE:
        result = clone(a) if code == a.dtype else cast(a, code)
    else:
        result = empty_as(code, a.ndim, a.shape, format)
        if result != NULL and copy_into(result, a) != 0:
            array_decref(result)
            result = NULL
    if result == NULL:
        raise_pending()
    return result


cdef Tensor to_copy(Tensor t, int code, int format):
    if t.a.dtype >= COMPLEX64 and code < COMPLEX64 and code != BOOL:
        warn(f"cygrad: Casting complex values to real discards the imaginary part ({dtype_object(t.a.dtype)} to {dtype_object(code)}); take .real if that is meant",
                      UserWarning)
    cdef Tensor result = tensor_wrap(converted(t.a, code, format))
    cdef Node n
    if t.requires_grad_ and grad_enabled() and code >= FLOAT16:
        n = node_new(&NT_to_copy, 1)
        edge_set(n, 0, t, NULL)
        history_set(result, n, 0)
    if forward_open and forward_on() and boxed(t) and code >= FLOAT16:
        tangent_set(result, converted_tangent(tangent_of(t), code, format))
    return result


cdef Tensor converted_tangent(Tensor tangent, int code, int format):
    cdef int modes = forward_pause()
    try:
        return None if tangent is None else to_copy(tangent, code, format)
    finally:
        set_thread_modes(modes)


cdef Tensor to_dtype(Tensor t, int code):
    return t if t.a.dtype == code else to_copy(t, code, FORMAT_PRESERVE)


cdef bint flag(object value, str name) except -1:
    if not isinstance(value, bool):
        raise TypeError(f"cygrad.Tensor.to(): argument '{name}' must be bool, not {type(value).__name__}")
    return value


def to(self: Tensor, *args: object, dtype: object = None, device: object = None, non_blocking: bool = False, copy: bool = False,
       memory_format: object = None) -> Tensor:
    """This tensor with another dtype or on another device: ``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``.

    The tensor itself where nothing changes, unless ``copy=True``. Recorded by autograd; the gradient has this tensor's dtype.
    Raises RuntimeError for devices that this build does not reach, TypeError for other arguments.
    """
    cdef list given = list(args)
    cdef int code = self.a.dtype
    cdef int format = format_code(memory_format, FORMAT_PRESERVE, "to")
    cdef object first
    if given:
        first = given.pop(0)
        if isinstance(first, Tensor):
            if dtype is not None or device is not None:
                raise TypeError("cygrad.Tensor.to(): to(other) takes dtype and device from other; leave the keywords out")
            code = (<Tensor>first).a.dtype
        elif isinstance(first, globals_dtype) or first in PYTHON_TYPES:
            if dtype is not None:
                raise TypeError("cygrad.Tensor.to(): argument 'dtype' was given twice")
            code = dtype_code(first)
        elif first is None or isinstance(first, (str, globals_device)) or (isinstance(first, int) and not isinstance(first, bool)):
            if device is not None:
                raise TypeError("cygrad.Tensor.to(): argument 'device' was given twice")
            device = first
            if given and not isinstance(given[0], bool):
                if dtype is not None:
                    raise TypeError("cygrad.Tensor.to(): argument 'dtype' was given twice")
                dtype = given.pop(0)
        else:
            raise TypeError(f"cygrad.Tensor.to(): takes a dtype, a device or a tensor, not {type(first).__name__}")
        if len(given) > 2:
            raise TypeError(f"cygrad.Tensor.to() takes at most 4 positional arguments but {len(args)} were given")
        if given:
            non_blocking = given[0]
        if len(given) > 1:
            copy = given[1]
    flag(non_blocking, "non_blocking")
    code = dtype_or(dtype, code, "to")
    device_usable(device)
    if code == self.a.dtype and not flag(copy, "copy") and format <= FORMAT_PRESERVE:
        return self
    return to_copy(self, code, format)


cdef object globals_dtype = dtype
cdef object globals_device = device


cdef Tensor short_form(Tensor t, int code, object memory_format, const char* name):
    cdef int format = format_code(memory_format, FORMAT_PRESERVE, name)
    if t.a.dtype == code and format <= FORMAT_PRESERVE:
        return t
    return to_copy(t, code, format)


def float_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.float32)``."""
    return short_form(self, FLOAT32, memory_format, "float")


def double_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.float64)``."""
    return short_form(self, FLOAT64, memory_format, "double")


def half_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.float16)``."""
    return short_form(self, FLOAT16, memory_format, "half")


def bool_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.bool)``: whether each element is nonzero."""
    return short_form(self, BOOL, memory_format, "bool")


def byte_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.uint8)``."""
    return short_form(self, UINT8, memory_format, "byte")


def char_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.int8)``."""
    return short_form(self, INT8, memory_format, "char")


def short_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.int16)``."""
    return short_form(self, INT16, memory_format, "short")


def int_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.int32)``."""
    return short_form(self, INT32, memory_format, "int")


def long_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.int64)``."""
    return short_form(self, INT64, memory_format, "long")


def cfloat_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.complex64)``."""
    return short_form(self, COMPLEX64, memory_format, "cfloat")


def cdouble_(self: Tensor, memory_format: object = None) -> Tensor:
    """``to(cygrad.complex128)``."""
    return short_form(self, COMPLEX128, memory_format, "cdouble")


def type_as(self: Tensor, other: object) -> Tensor:
    """This tensor with the dtype of ``other``. TypeError unless that is a tensor."""
    if not isinstance(other, Tensor):
        raise TypeError(f"cygrad.Tensor.type_as(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return to_dtype(self, (<Tensor>other).a.dtype)


def type_(self: Tensor, dtype: object = None, non_blocking: bool = False) -> object:
    """The name of this tensor's type, such as ``"cygrad.FloatTensor"``; with a dtype, or such a name, the tensor converted.

    Raises ValueError for names and objects that mean no type.
    """
    cdef int code
    if dtype is None:
        return f"cygrad.{dtype_cname(self.a.dtype).decode()}Tensor"
    if isinstance(dtype, globals_dtype):
        return to_dtype(self, dtype_code(dtype))
    if isinstance(dtype, str):
        for code in range(N_DTYPES):
            # torch's own names are accepted, as programs written for it pass them
            if dtype in (f"cygrad.{dtype_cname(code).decode()}Tensor", f"torch.{dtype_cname(code).decode()}Tensor"):
                return to_dtype(self, code)
    raise ValueError(f"cygrad.Tensor.type: invalid type: {dtype!r}; give a dtype or a name such as 'cygrad.DoubleTensor'")


def cpu(self: Tensor, memory_format: object = None) -> Tensor:
    """This tensor on the CPU: itself."""
    return short_form(self, self.a.dtype, memory_format, "cpu")


def cuda(self: Tensor, device: object = None, non_blocking: bool = False, memory_format: object = None) -> Tensor:
    """This tensor on a CUDA device. RuntimeError where this build does not reach one."""
    device_usable("cuda" if device is None else device)
    return self


# ---- about the elements ---------------------------------------------------------------------------------------------

def element_size(self: Tensor) -> int:
    """The size of one element in bytes."""
    return ITEMSIZE[self.a.dtype]


def nelement(self: Tensor) -> int:
    """The number of elements: ``numel()``."""
    return self.a.numel


def itemsize(self: Tensor) -> int:
    """The size of one element in bytes."""
    return ITEMSIZE[self.a.dtype]


def nbytes(self: Tensor) -> int:
    """The size of all elements in bytes, whether or not they overlap in memory."""
    return self.a.numel * ITEMSIZE[self.a.dtype]


def layout(self: Tensor) -> object:
    """``cygrad.strided``, the only layout there is."""
    return strided_layout


def get_device(self: Tensor) -> int:
    """The index of the CUDA device that holds the memory; -1 for the CPU."""
    return -1 if self.a.storage.device & 0xff == 0 else self.a.storage.device >> 8


def is_pinned(self: Tensor) -> bool:
    """Whether the memory is page-locked: never in this build."""
    return False


memset(&NT_to_copy, 0, sizeof(NT_to_copy))
NT_to_copy.name = "ToCopyBackward0"
NT_to_copy.apply = apply_to_copy
NT_to_copy.recorded = recorded_to_copy
NT_to_copy.n_outputs = 1
node_register(&NT_to_copy)

cdef dict methods = {
    "item": item, "tolist": tolist, "to": to, "float": float_, "double": double_, "half": half_, "bool": bool_, "byte": byte_, "char": char_,
    "short": short_, "int": int_, "long": long_, "cfloat": cfloat_, "cdouble": cdouble_, "type_as": type_as, "type": type_, "cpu": cpu, "cuda": cuda,
    "element_size": element_size, "nelement": nelement, "get_device": get_device, "is_pinned": is_pinned,
}
for _name, _method in methods.items():
    _method.__name__ = _name
    _method.__qualname__ = "Tensor." + _name
_install_methods(methods)
_install_methods({"itemsize": property(itemsize), "nbytes": property(nbytes), "layout": property(layout)})
