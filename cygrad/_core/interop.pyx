# Tensors as NumPy sees them: numpy(), the array protocols, and the buffer protocol. DLPack is in dlpack.pyx, memory itself in ndarray.pyx.
#
# Note [NumPy's operators]
# `ndarray * tensor` asks the tensor's __array_ufunc__ for numpy.multiply. A ufunc that is a Python operator becomes that operator on tensors, which autograd
# records; the array operand becomes a tensor over the same memory, a NumPy scalar a Python number (so that a float32 tensor stays float32). Any other
# ufunc runs in NumPy on the tensors' memory, where nothing is recorded: tensors that require grad are refused there, as in torch.

import operator

import numpy

cimport numpy as cnp
from cpython.buffer cimport Py_buffer
from cygrad._core.array cimport Array
from cygrad._core.errors cimport raise_pending
from cygrad._core.ndarray cimport array_from_ndarray, array_from_numpy_scalar, get_buffer, ndarray_from_array
from cygrad._core.tensor cimport Tensor, set_buffer_hook, tensor_wrap

from cygrad._core.tensor import _install_methods
from cygrad._core.creation import from_numpy      # as_operand of tensor.pyx finds it here

__all__: list[str] = []          # its functions become methods of Tensor

cnp.import_array()

cdef dict OPERATORS = {
    numpy.add: operator.add,
    numpy.subtract: operator.sub,
    numpy.multiply: operator.mul,
    numpy.divide: operator.truediv,
    numpy.floor_divide: operator.floordiv,
    numpy.remainder: operator.mod,
    numpy.power: operator.pow,
    numpy.matmul: operator.matmul,
    numpy.bitwise_and: operator.and_,
    numpy.bitwise_or: operator.or_,
    numpy.bitwise_xor: operator.xor,
    numpy.left_shift: operator.lshift,
    numpy.right_shift: operator.rshift,
    numpy.equal: operator.eq,
    numpy.not_equal: operator.ne,
    numpy.less: operator.lt,
    numpy.less_equal: operator.le,
    numpy.greater: operator.gt,
    numpy.greater_equal: operator.ge,
    numpy.negative: operator.neg,
    numpy.positive: operator.pos,
    numpy.absolute: operator.abs,
    numpy.invert: operator.invert,
}


cdef object numpy_of(Tensor t):
    if t.requires_grad_:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    t.a.storage.shown = 1
    return ndarray_from_array(t.a)


def numpy_(self: Tensor, *, force: bool = False) -> numpy.ndarray:
    """An ndarray over the memory of this tensor: writes to one show in the other.

    Writes through NumPy are not counted in ``_version``, so backward does not notice them (docs/mutation.md).
    Raises RuntimeError if the tensor requires grad, unless ``force=True``, which detaches it first.
    """
    if force:
        self.a.storage.shown = 1
        return ndarray_from_array(self.a)
    return numpy_of(self)


def array(self: Tensor, dtype: object = None, copy: bool | None = None) -> numpy.ndarray:
    """What ``numpy.asarray(tensor)`` calls: an ndarray over this tensor's memory, or of another dtype.

    Raises RuntimeError if the tensor requires grad, ValueError where ``copy=False`` cannot be kept.
    """
    cdef object result = numpy_of(self)
    if dtype is not None and numpy.dtype(dtype) != result.dtype:
        if copy is False:
            raise ValueError(f"cygrad.Tensor.__array__: Unable to avoid copy while converting {result.dtype} to {numpy.dtype(dtype)}; leave copy out")
        return result.astype(dtype)
    return result.copy() if copy else result


cdef object wrap_result(object value):
    if cnp.PyArray_Check(value):
        return tensor_wrap(array_from_ndarray(value, "__array_ufunc__"))
    if cnp.PyArray_CheckScalar(value):
        return tensor_wrap(array_from_numpy_scalar(value, "__array_ufunc__"))
    return value


def array_wrap(self: Tensor, array: numpy.ndarray, context: object = None, return_scalar: bool = False) -> Tensor:
    """What NumPy functions call on a result computed from this tensor: a tensor over the result's memory."""
    return wrap_result(array)


cdef object operand_of(object x):
    if cnp.PyArray_CheckScalar(x):
        return x.item()
    if cnp.PyArray_Check(x):
        for stride, n in zip(x.strides, x.shape):
            if stride < 0 and n > 1:
                x = x.copy()
                break
        return tensor_wrap(array_from_ndarray(x, "__array_ufunc__"))
    return x


def array_ufunc(self: Tensor, ufunc: numpy.ufunc, method: str, *inputs: object, **kwargs: object) -> object:
    """What NumPy's ufuncs call when a tensor is among their arguments: see Note [NumPy's operators] in interop.pyx."""
    cdef object function
    if method == "__call__" and not kwargs:
        function = OPERATORS.get(ufunc)
        if function is not None:
            return function(*[operand_of(x) for x in inputs])
    outs = kwargs.get("out")
    if outs is not None and any([isinstance(x, Tensor) for x in outs]):
        raise TypeError(f"cygrad: numpy.{ufunc.__name__}: return arrays must be of ArrayType: out= cannot be a tensor; give tensor.numpy()")
    arrays = [numpy_of(x) if isinstance(x, Tensor) else x for x in inputs]
    for name, value in kwargs.items():
        if isinstance(value, Tensor):
            kwargs[name] = numpy_of(value)
    result = getattr(ufunc, method)(*arrays, **kwargs)
    if outs is not None:
        return result
    if isinstance(result, tuple):
        return tuple([wrap_result(x) for x in result])
    return wrap_result(result)


cdef int tensor_buffer(Tensor t, Py_buffer* buffer, int flags) except -1:
    buffer.obj = None
    if t.requires_grad_:
        raise BufferError("cygrad.Tensor: a tensor that requires grad has no buffer. Use tensor.detach() first.")
    return get_buffer(t.a, buffer, flags)


set_buffer_hook(tensor_buffer)
numpy_.__name__ = "numpy"
numpy_.__qualname__ = "Tensor.numpy"
array.__name__ = "__array__"
array_wrap.__name__ = "__array_wrap__"
array_ufunc.__name__ = "__array_ufunc__"
_install_methods({
    "numpy": numpy_, "__array__": array, "__array_wrap__": array_wrap, "__array_ufunc__": array_ufunc, "__array_priority__": 1000,
})
