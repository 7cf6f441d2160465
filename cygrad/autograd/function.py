"""Custom differentiable functions: the class ``Function`` and what belongs to it.

The user writes forward and backward as static methods; ``apply`` runs forward with nothing recorded and puts one Node
into the graph (Note [Custom Functions] in the core's function.pyx). What is Python here is only how the methods are
found, named and bound.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, MethodType
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar, cast, overload, runtime_checkable

from cygrad._core.function import FunctionCtx, apply_function, refuse_derivative, set_base_backward
from cygrad._core.grad_mode import is_grad_enabled
from cygrad._core.tensor import Tensor
from cygrad._warnings import warn
from cygrad.autograd.grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "once_differentiable"]

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
        warn(
            f"cygrad: {type(self).__name__} should not be instantiated: the methods of a Function are static; call its "
            "class method apply()",
            DeprecationWarning,
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
        elif setup:
            args = owner._with_defaults(args)
        return apply_function(owner, owner.__name__ + "Backward", args, setup)

    @classmethod
    def _with_defaults(cls, args: tuple[object, ...]) -> tuple[object, ...]:
        """The arguments and the defaults of those that are left out: setup_context gets all that forward takes."""
        forward = cls.forward
        function = forward.__func__ if isinstance(forward, MethodType) else forward
        if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
            return cls._bind(True, args, {})
        defaults = function.__defaults__
        if defaults is None:
            return args
        missing = function.__code__.co_argcount - isinstance(forward, MethodType) - len(args)
        return args + defaults[-missing:] if 0 < missing <= len(defaults) else args

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


class InplaceFunction(Function):
    """The base class that old code gives to Functions which write to their inputs: a Function like any other."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace: bool = inplace


@runtime_checkable
class _NamedTuple(Protocol):
    """Any named tuple."""

    @classmethod
    def _make(cls, iterable: Iterable[object], /) -> object: ...


class _Layout:
    """Where the tensors of nested tuples, lists and dicts lie: what `nested` becomes when they are taken out of it."""

    def __init__(self, nested: object) -> None:
        self.tensors: list[Tensor] = []
        self._shape: object = self._take(nested)

    def _take(self, value: object) -> object:
        if isinstance(value, Tensor):
            self.tensors.append(value)
            return _HOLE
        if isinstance(value, tuple | list):
            items = [self._take(item) for item in value]
            if isinstance(value, list):
                return items
            return type(value)._make(items) if isinstance(value, _NamedTuple) else tuple(items)
        if isinstance(value, dict):
            return {key: self._take(item) for key, item in value.items()}
        return value

    def filled(self, flat: Iterable[object]) -> object:
        """The nested value again, with these in the places of the tensors."""
        return self._fill(self._shape, iter(flat))

    def _fill(self, shape: object, left: Iterator[object]) -> object:
        if shape is _HOLE:
            return next(left)
        if isinstance(shape, tuple | list):
            items = [self._fill(item, left) for item in shape]
            if isinstance(shape, list):
                return items
            return type(shape)._make(items) if isinstance(shape, _NamedTuple) else tuple(items)
        if isinstance(shape, dict):
            return {key: self._fill(item, left) for key, item in shape.items()}
        return shape


_HOLE = object()


def _leaves(nested: object) -> Iterator[object]:
    """What lies in nested tuples, lists and dicts, in order: tensors, None and everything else."""
    if isinstance(nested, tuple | list):
        for item in nested:
            yield from _leaves(item)
    elif isinstance(nested, dict):
        for item in nested.values():
            yield from _leaves(item)
    else:
        yield nested


class _Nesting:
    """What the calls of one NestedIOFunction need to know of each other."""

    def __init__(self, owner: type[NestedIOFunction], inputs: _Layout) -> None:
        self.owner: type[NestedIOFunction] = owner
        self.inputs: _Layout = inputs
        self.outputs: _Layout | None = None


class NestedIOFunction(Function):
    """A Function whose arguments and results may be nested tuples, lists and dicts of tensors.

    A subclass defines ``forward_extended(ctx, *args)``, which gets the arguments of ``apply`` as they are, and
    ``backward_extended(ctx, *grads)``, which gets one gradient (nested like it) an output and returns, nested like the
    arguments, one gradient a tensor in them. A subclass that defines ``forward`` and ``backward`` is a plain Function.
    """

    def forward_extended(self, *args: Any) -> Any:  # noqa: ANN401
        """The value, computed from nested arguments; the first parameter is the context."""
        raise NotImplementedError("cygrad: You must implement forward_extended for a custom NestedIOFunction.")

    def backward_extended(self, *grads: Any) -> Any:  # noqa: ANN401
        """The gradients, nested like the arguments; the first parameter is the context."""
        raise NotImplementedError("cygrad: You must implement backward_extended for a custom NestedIOFunction.")

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:  # noqa: ANN401
        """Runs forward_extended on the nested arguments and gives its tensors one after the other."""
        nesting: _Nesting
        nesting, *tensors = args
        ctx._nesting = nesting
        made = nesting.owner.forward_extended(ctx, *cast("tuple[object, ...]", nesting.inputs.filled(tensors)))
        nesting.outputs = _Layout(made)
        return tuple(nesting.outputs.tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:  # noqa: ANN401
        """Runs backward_extended on the nested gradients and gives those of the tensors one after the other."""
        nesting: _Nesting = ctx._nesting
        assert nesting.outputs is not None
        nested = nesting.outputs.filled(grads)
        found = nesting.owner.backward_extended(ctx, *(nested if isinstance(nested, tuple) else (nested,)))
        return (None, *_leaves(found))

    @_Apply
    @staticmethod
    def apply(owner: type[NestedIOFunction], *args: object, **kwargs: object) -> object:
        """Run the Function on nested arguments; see Function.apply."""
        if owner.forward is not NestedIOFunction.forward:
            return MethodType(Function.__dict__["apply"]._function, owner)(*args, **kwargs)
        if kwargs:
            raise TypeError(f"cygrad: {owner.__name__}.apply: a NestedIOFunction takes no keyword arguments")
        inputs = _Layout(args)
        nesting = _Nesting(owner, inputs)
        flat = apply_function(owner, owner.__name__ + "Backward", (nesting, *inputs.tensors), False)
        assert nesting.outputs is not None and isinstance(flat, tuple)
        return nesting.outputs.filled(flat)


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
