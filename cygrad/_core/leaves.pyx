# What is set on leaves: requires_grad_(), grad_dtype, and _grad_fn, which makes a leaf. Installed into Tensor when this module is imported.
#
# Why it exists: none of it is asked for while a program computes, so it has no place in tensor.pyx, which is at the size of a file that one reads.

from cpython.bool cimport PyBool_Check
from cygrad._core.dtypes cimport dtype, dtype_object
from cygrad._core.tensor cimport ANY_DTYPE, Tensor, grad_of, gradient_code, requires_grad_set

from cygrad._core.tensor import _install_methods

__all__: list[str] = []


def requires_grad_(Tensor self not None, requires_grad=True) -> Tensor:
    """Set ``requires_grad`` in place and return the tensor.

    RuntimeError for non-leaves set to False and for integer dtypes, TypeError for anything but a bool.
    """
    if not PyBool_Check(requires_grad):
        raise TypeError(f"cygrad: requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type(requires_grad).__name__}")
    requires_grad_set(self, requires_grad)
    return self


def grad_dtype(Tensor self not None):
    """The dtype to which gradients of this leaf are cast, at first its own; None: none, they stay as they come.

    Settable, to a dtype or None. RuntimeError for tensors that are no leaves, for other values, and where there is a gradient of another dtype.
    """
    cdef int code = gradient_code(self.grad_dtype_, self.a.dtype)
    if not self.is_leaf:
        raise RuntimeError("cygrad: grad_dtype can only be accessed on leaf tensors; gradients of others have the dtype of their values")
    return None if code == ANY_DTYPE else dtype_object(code)


def set_grad_dtype(Tensor self not None, value) -> None:
    """Set ``grad_dtype``."""
    cdef Tensor held = grad_of(self)
    if not self.is_leaf:
        raise RuntimeError("cygrad: grad_dtype can only be set on leaf tensors; gradients of others have the dtype of their values")
    if value is not None and not isinstance(value, dtype):
        raise RuntimeError(f"cygrad: grad_dtype must be a cygrad.dtype or None, but got {type(value).__name__}")
    if value is not None and held is not None and held.a.dtype != (<dtype>value).code:
        raise RuntimeError(f"cygrad: Cannot set grad_dtype to '{value}' because there is already a gradient with dtype '{held.dtype}': clear it first (.grad = None)")
    self.grad_dtype_ = -1 if value is None else (<dtype>value).code + 1


def grad_fn(Tensor self not None):
    """``grad_fn`` under the name by which it can be set, to None alone: what ``detach_`` does."""
    return self.grad_fn


def set_grad_fn(Tensor self not None, value) -> None:
    """TypeError for anything but None."""
    if value is not None:
        raise TypeError(f"cygrad: _grad_fn can be only set to None, not to a {type(value).__name__}")
    self.detach_()


def delete_grad_fn(Tensor self not None) -> None:
    """RuntimeError: the attribute stays."""
    raise RuntimeError("cygrad: Deletion of _grad_fn not allowed. Detach tensor instead!")


_install_methods({
    "requires_grad_": requires_grad_,
    "grad_dtype": property(grad_dtype, set_grad_dtype),
    "_grad_fn": property(grad_fn, set_grad_fn, delete_grad_fn),
})
