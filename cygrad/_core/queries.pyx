# Questions about tensors that need no computation: is_tensor, result_type, numel and their like.

from cygrad._core.array cimport Array, result_dtype, same_shape
from cygrad._core.dtypes cimport dtype_object, is_complex_code, is_float_code
from cygrad._core.tensor cimport Tensor, as_operand

from cygrad._core.tensor import _install_methods

__all__ = ["is_complex", "is_floating_point", "is_inference", "is_nonzero", "is_same_size", "is_tensor", "numel", "result_type"]


cdef Tensor tensor_of(object input, str operation):
    if not isinstance(input, Tensor):
        raise TypeError(f"cygrad.{operation}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return <Tensor>input


def is_tensor(obj: object, /) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype of ``input`` is float16, float32 or float64. TypeError unless it is a tensor."""
    return is_float_code(tensor_of(input, "is_floating_point").a.dtype)


def is_complex(input: Tensor) -> bool:
    """Whether the dtype of ``input`` is complex64 or complex128. TypeError unless it is a tensor."""
    return is_complex_code(tensor_of(input, "is_complex").a.dtype)


def is_inference(input: Tensor) -> bool:
    """Whether the memory of ``input`` was made in inference mode. TypeError unless it is a tensor."""
    return tensor_of(input, "is_inference").a.storage.inference != 0


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of ``input`` is nonzero. RuntimeError unless it has exactly one element."""
    cdef Tensor t = tensor_of(input, "is_nonzero")
    if t.a.numel != 1:
        raise RuntimeError(f"cygrad.is_nonzero: Boolean value of Tensor with {'no values' if t.a.numel == 0 else 'more than one value'} is ambiguous")
    return bool(t)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape. TypeError unless both are tensors."""
    return same_shape(tensor_of(input, "is_same_size").a, tensor_of(other, "is_same_size").a)


def numel(input: Tensor) -> int:
    """The number of elements of ``input``. TypeError unless it is a tensor."""
    return tensor_of(input, "numel").a.numel


def result_type(tensor1: object, tensor2: object) -> object:
    """The dtype of an operation on two operands, each a tensor or a number: numbers and 0-d tensors count by their category only."""
    cdef Tensor a = as_operand(tensor1, "cygrad.result_type")
    cdef Tensor b = as_operand(tensor2, "cygrad.result_type")
    return dtype_object(result_dtype(a.a, b.a))


def ndimension(self: Tensor) -> int:
    """The number of dimensions: ``dim()``."""
    return self.a.ndim


_install_methods({"ndimension": ndimension, "is_same_size": is_same_size, "is_nonzero": is_nonzero})
