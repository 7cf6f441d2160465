"""Forward mode: dual tensors carry a tangent through operations, so that a Jacobian-vector product costs one pass.

Why it exists: this is the small public face of forward mode. The tangents themselves are computed by the operations of
the core (``_core/forward.pyx``); this file opens and closes the level, makes duals and takes them apart, and names
mistakes.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import NamedTuple

from cygrad._core import forward_level
from cygrad._core.forward import (
    _tangent,  # pyright: ignore[reportPrivateUsage]
    _tangent_give,  # pyright: ignore[reportPrivateUsage]
    _tangent_untrack,  # pyright: ignore[reportPrivateUsage]
)
from cygrad._core.forward_level import (
    _dual_level,  # pyright: ignore[reportPrivateUsage]
    _enter_dual_level,  # pyright: ignore[reportPrivateUsage]
    _exit_dual_level,  # pyright: ignore[reportPrivateUsage]
)
from cygrad._core.grad_mode import (
    _modes,  # pyright: ignore[reportPrivateUsage]
    _set_modes,  # pyright: ignore[reportPrivateUsage]
)
from cygrad._core.tensor import Tensor
from cygrad.autograd.grad_mode import _PRIMAL, _Switch  # pyright: ignore[reportPrivateUsage]

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

# torch has it under this name
_is_fwd_grad_enabled = forward_level._is_fwd_grad_enabled  # pyright: ignore[reportPrivateUsage]


class UnpackedDualTensor(NamedTuple):
    """What ``unpack_dual`` gives: the value, and the tangent (None: the tensor has none)."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open the dual level, in which tensors can have tangents, and return its number, 0.

    The level is one for all threads. RuntimeError where it is open already: a tangent of a tangent comes from reverse
    mode through forward mode, or the other way round.
    """
    return _enter_dual_level()


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level: all tensors lose their tangents. RuntimeError where none is open, or not ``level``."""
    current = _dual_level()
    if level is not None and level != current:
        raise RuntimeError(
            f"cygrad: exit_dual_level: Trying to exit a forward AD level that was not the last one that was created. "
            f"This is not supported: the level is {level}, the last one {current}"
        )
    if current < 0:
        raise RuntimeError("cygrad: exit_dual_level: Dual level must be a positive number: no level is open")
    _exit_dual_level()


class dual_level(ContextDecorator):  # noqa: N801 - torch's name
    """``with dual_level():`` opens the dual level and closes it at the end; a decorator of functions, too.

    All work with dual tensors happens inside. RuntimeError where a level is open already.
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of ``tensor`` that carries ``tangent``, of the same shape: the direction in which to differentiate.

    Results of operations on it carry the derivative in that direction. ``tangent`` itself becomes the view's tangent
    where it has the tensor's dtype and strides, else a copy. Both may require grad: reverse mode goes through either.

    Raises:
        RuntimeError: no level is open, the shapes differ, or one of the two has a tangent already.
        ValueError: one of the two is neither floating point nor complex.

    """
    level = _dual_level() if level is None else level
    if level < 0:
        raise RuntimeError(
            "cygrad: make_dual: Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"cygrad: make_dual: Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(
            f"cygrad: make_dual: Expected tangent to be floating point or complex, but got: {tangent.dtype}"
        )
    _check_level(level, "make_dual")
    dual = _primal_view(tensor)
    _tangent_give(dual, tensor, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor, as a view without a tangent, and its tangent (None where it has none).

    Outside of a level: the tensor itself, and None. TypeError unless ``tensor`` is a Tensor.
    """
    level = _dual_level() if level is None else level
    if level < 0 or _dual_level() < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"cygrad: unpack_dual(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    _check_level(level, "unpack_dual")
    tangent = _tangent(tensor)
    primal = _primal_view(tensor)
    _tangent_untrack(primal)
    return UnpackedDualTensor(primal, tangent)


def _primal_view(tensor: Tensor) -> Tensor:
    """The tensor as a view, without its tangent."""
    modes = _modes()
    _set_modes(modes | _PRIMAL)
    try:
        return tensor.view(tensor.shape)
    finally:
        _set_modes(modes)


def _check_level(level: int, name: str) -> None:
    """RuntimeError unless that is the open level."""
    if level != _dual_level():
        raise RuntimeError(f"cygrad: {name}: Invalid level given: {level}, where the open level is {_dual_level()}")


class _set_fwd_grad_enabled(_Switch):  # noqa: N801 - torch's name
    """Whether this thread looks at tangents; acts at once, and until the end of a ``with`` block."""

    __slots__ = ()
    _bit = _PRIMAL

    def __init__(self, mode: bool) -> None:
        super().__init__(not mode if isinstance(mode, bool) else mode, "_set_fwd_grad_enabled")
