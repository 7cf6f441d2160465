"""Custom differentiable functions: the class ``Function`` and what belongs to it.

The user writes forward and backward as static methods; ``apply`` runs forward with nothing recorded and puts one Node
into the graph (Note [Custom Functions] in the core's function.pyx). What is Python here is only how the methods are
found, named and bound.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from types import MethodType
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar, cast, overload

from cygrad._core.function import FunctionCtx, apply_function, refuse_derivative, set_base_backward
from cygrad._core.grad_mode import is_grad_enabled
from cygrad._core.tensor import Tensor
from cygrad.autograd.grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)


# Note [The type of apply]
# `apply` takes what the subclass's forward takes, without ctx, and returns what it returns. A descriptor says so: its
# type depends on the class it is read from. A class whose forward has no ctx is known by its setup_context, which
# returns None where the base's may return something else. Any in the base's methods lets a subclass choose its own
# parameters and results, and in the protocols it stands for what they do not ask about.


class _Undefined:
    """What the base's setup_context would return, if it returned."""


class _ForwardWithContext(Protocol[_P, _R_co]):
    @staticmethod
    def forward(ctx: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...  # noqa: ANN401


class _ForwardAndSetup(Protocol[_P, _R_co]):
    @staticmethod
    def forward(*args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...
    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...  # noqa: ANN401


class _Apply:
    """`Function.apply`; see Note [The type of apply]."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., object]) -> None:
        self._function: Callable[..., object] = getattr(function, "__func__", function)

    @overload
    def __get__(self, instance: object, owner: type[_ForwardAndSetup[_P, _R]]) -> Callable[_P, _R]: ...
    @overload
    def __get__(self, instance: object, owner: type[_ForwardWithContext[_P, _R]]) -> Callable[_P, _R]: ...
    def __get__(self, instance: object, owner: type[object]) -> Callable[..., object]:
        return MethodType(self._function, owner)


class Function:
    """Base class of custom differentiable functions.

    A subclass defines static methods: ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)``; or
    ``forward(*args)``, ``setup_context(ctx, inputs, output)`` and ``backward``. ``backward`` (also called ``vjp``) gets
    one gradient an output and returns one an argument of forward, None where there is none. Call ``apply``; never
    ``forward`` itself.

    ``clear_saved_tensors_on_access``: free saved tensors as soon as backward has read ``ctx.saved_tensors``.
    """

    clear_saved_tensors_on_access: ClassVar[bool] = False
    generate_vmap_rule: ClassVar[bool] = False

    def __init__(self, *args: object, **kwargs: object) -> None:
        warnings.warn(
            f"cygrad: {type(self).__name__} should not be instantiated: the methods of a Function are static; call its "
            "class method apply()",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: object, **kwargs: object) -> object:
        """RuntimeError: call ``apply``."""
        raise RuntimeError(
            "cygrad: Legacy autograd function with non-static forward method is deprecated. Use static methods and "
            "apply()."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """The value: ``forward(ctx, *args)``, or ``forward(*args)`` where setup_context is defined."""
        raise NotImplementedError("cygrad: You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(*args: Any, **kwargs: Any) -> _Undefined | None:  # noqa: ANN401
        """``setup_context(ctx, inputs, output)``: fill ``ctx`` for a forward that does not get it."""
        raise NotImplementedError("cygrad: setup_context is not implemented.")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """``backward(ctx, *grad_outputs)``, the VJP: one gradient an output in, one an argument of forward out."""
        raise NotImplementedError(
            "cygrad: You must implement either the backward or vjp method for your custom autograd.Function to use it "
            "with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """``jvp(ctx, *grad_inputs)``, the JVP: one tangent an argument in, one an output out."""
        raise NotImplementedError(
            "cygrad: You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @_Apply
    @staticmethod
    def apply(owner: type[Function], *args: object, **kwargs: object) -> object:
        """Run forward on the arguments and record the Function as one Node, ``<name>Backward``.

        Keyword arguments are bound by the signature of forward; TypeError for unknown and for
        keyword-only ones.
        """
        setup = owner.setup_context is not Function.setup_context
        if kwargs:
            args = owner._bind(setup, args, kwargs)
        return apply_function(owner, owner.__name__ + "Backward", args, setup)

    @classmethod
    def _bind(cls, setup: bool, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[object, ...]:
        """Keyword arguments at their places among the positional ones."""
        signature = inspect.signature(cls.forward)
        context: tuple[object, ...] = () if setup else (None,)
        bound = signature.bind(*context, *args, **kwargs)
        bound.apply_defaults()
        parameters = signature.parameters
        only = [
            name for name in kwargs if name in parameters and parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        ]
        if only:
            raise TypeError(
                f"cygrad: {cls.__name__}.apply: keyword-only arguments of forward are not supported: {', '.join(only)}"
            )
        return bound.args[len(context) :]


set_base_backward(Function.backward)
InplaceFunction = Function


def once_differentiable(fn: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorator of ``backward``.

    It is run with nothing recorded, and a derivative of its result is refused instead of being silently wrong.
    """

    @functools.wraps(fn)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        recorded = is_grad_enabled()
        with no_grad():
            outputs = fn(*args, **kwargs)
        if not recorded or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        refused = refuse_derivative(
            several, "trying to differentiate twice a function that was marked with @once_differentiable"
        )
        return cast("_R", refused if isinstance(outputs, tuple) else refused[0])

    return wrapper
