"""The modes of a thread: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode` and their like.

All are context managers, most are decorators, too. The modes are bits of one number of the running thread, which lives
in the core and is read at every operation. This file adds what Python code sees of it. It exists apart from the core
because all of its difficulty is Python's: decorators keep the exact type of what they decorate, and the mode of a
generator or coroutine holds while its own code runs and at no other time.
"""

import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from functools import wraps
from types import coroutine
from typing import ClassVar, ParamSpec, Self, TypeVar, cast, final, overload

# Underscore and all, the name of the setter is the one that torch has for it.
from cygrad._core.grad_mode import (
    _modes,  # pyright: ignore[reportPrivateUsage]
    _set_grad_enabled,  # pyright: ignore[reportPrivateUsage]
    _set_modes,  # pyright: ignore[reportPrivateUsage]
    is_grad_enabled,
    is_inference_mode_enabled,
)
from cygrad._core.graph_queries import set_version
from cygrad._core.tensor import Tensor
from cygrad._warnings import warn

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

# The bits of a thread's modes (grad_mode.pxd).
_GRAD = 1
_INFERENCE = 2
_ALONE = 4
_PRIMAL = 8  # tangents are not looked at
_REPLAY = 16  # views tracked by their operations
_BITS = 5

# What a decorator changes: bits to clear, bits to set.
_Change = tuple[int, int]
_RECORD: _Change = (0, _GRAD)
_RECORD_NOTHING: _Change = (_GRAD, 0)
_INFER: _Change = (_GRAD, _INFERENCE)
_INFER_NOT: _Change = (_INFERENCE, _GRAD)

_P = ParamSpec("_P")
_R = TypeVar("_R")
_YieldT = TypeVar("_YieldT")
_SendT = TypeVar("_SendT")
_FuncT = TypeVar("_FuncT", bound=Callable[..., object])


# Note [The mode of suspended code]
# A generator (or coroutine) that suspends hands the thread back to its caller, who must find the mode as it was.
# What the generator's own code had set meanwhile (`with enable_grad(): yield`) is
# remembered and set again when it goes on, so that its `with` blocks mean what they say. Its caller may go on in
# another mode, or on another thread, at every resumption.


def _drive(
    suspendable: Generator[_YieldT, _SendT, _R] | Coroutine[_YieldT, _SendT, _R], change: _Change
) -> Generator[_YieldT, _SendT, _R]:
    """Runs a generator or coroutine to its end and passes everything through; see Note [The mode of suspended code]."""
    inside: int | None = None
    failure: BaseException | None = None
    # The first resumption of a generator sends None, whatever it receives later.
    received = cast("_SendT", None)
    while True:
        outside = _modes()
        _set_modes(outside & ~change[0] | change[1] if inside is None else inside)
        try:
            item = suspendable.send(received) if failure is None else suspendable.throw(failure)
        except StopIteration as stop:
            return cast("_R", stop.value)
        finally:
            inside = _modes()
            _set_modes(outside)
        failure = None
        try:
            received = yield item
        except GeneratorExit:
            outside = _modes()
            _set_modes(inside)
            try:
                suspendable.close()
            finally:
                _set_modes(outside)
            raise
        except BaseException as error:
            failure = error


_drive_awaited = coroutine(_drive)


def _decorate(func: _FuncT, change: _Change, name: str) -> _FuncT:
    """Returns `func` made to run in the changed modes; a generator or coroutine function stays one."""
    if inspect.isgeneratorfunction(func):
        return cast("_FuncT", _decorate_generator(func, change))
    if inspect.iscoroutinefunction(func):
        return cast("_FuncT", _decorate_coroutine(func, change))
    if inspect.isasyncgenfunction(func):
        return cast("_FuncT", _decorate_async_generator(func, change))
    if inspect.isclass(func):
        warn(
            f"{name} decorates the class {func.__name__}: only its construction runs in that mode, and what comes "
            "out is a function. Decorating classes is deprecated; decorate the methods that need it.",
            FutureWarning,
        )
    elif not callable(func):
        raise TypeError(
            f"{name} decorates functions, but got an object of type {type(func).__name__}, which is not callable; "
            f"put @classmethod above @{name}, or use `with {name}():`"
        )
    return cast("_FuncT", _decorate_function(func, change))


def _decorate_function(func: Callable[_P, _R], change: _Change) -> Callable[_P, _R]:
    @wraps(func)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        outside = _modes()
        _set_modes(outside & ~change[0] | change[1])
        try:
            return func(*args, **kwargs)
        finally:
            _set_modes(outside)

    return wrapper


def _decorate_generator(
    func: Callable[_P, Generator[_YieldT, _SendT, _R]], change: _Change
) -> Callable[_P, Generator[_YieldT, _SendT, _R]]:
    @wraps(func)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> Generator[_YieldT, _SendT, _R]:
        return (yield from _drive(func(*args, **kwargs), change))

    return wrapper


def _decorate_coroutine(
    func: Callable[_P, Coroutine[object, object, _R]], change: _Change
) -> Callable[_P, Coroutine[object, object, _R]]:
    @wraps(func)
    async def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await _drive_awaited(func(*args, **kwargs), change)

    return wrapper


def _decorate_async_generator(
    func: Callable[_P, AsyncGenerator[_YieldT, _SendT]], change: _Change
) -> Callable[_P, AsyncGenerator[_YieldT, _SendT]]:
    @wraps(func)
    async def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> AsyncGenerator[_YieldT, _SendT]:
        agen = func(*args, **kwargs)
        # Each step of an asynchronous generator is itself a coroutine.
        step = agen.__anext__()
        while True:
            try:
                item = await _drive_awaited(step, change)
            except StopAsyncIteration:
                return
            try:
                received = yield item
            except GeneratorExit:
                await _drive_awaited(agen.aclose(), change)
                raise
            except BaseException as error:
                step = agen.athrow(error)
            else:
                step = agen.asend(received)

    return wrapper


class _FixedMode:
    """What `no_grad` and `enable_grad` share: all but the mode that they set.

    `_outer` is a stack of bits, the modes found at each entry, so that one object may be entered again while it is
    open.
    """

    __slots__ = ("_outer",)
    _outer: int
    _change: ClassVar[_Change]

    # mypy follows a `__new__` that gives back a function wherever the class is called, but refuses its definition
    # ("must return a class instance"), which Python allows and `@no_grad` without parentheses needs.
    @overload
    def __new__(cls, orig_func: _FuncT) -> _FuncT: ...  # type: ignore[misc]
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    def __new__(cls, orig_func: _FuncT | None = None) -> Self | _FuncT:  # type: ignore[misc]
        if orig_func is not None:
            return _decorate(orig_func, cls._change, cls.__name__)
        self = object.__new__(cls)
        self._outer = 0
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _set_grad_enabled(self._outer & 1 == 1)
        self._outer >>= 1

    def __call__(self, orig_func: _FuncT) -> _FuncT:
        """Decorates a function, generator or coroutine function; raises TypeError for what cannot be called."""
        return _decorate(orig_func, self._change, type(self).__name__)

    def clone(self) -> Self:
        """Another context manager of the same mode, not entered yet."""
        return type(self)()


class no_grad(_FixedMode):  # noqa: N801 - torch's name
    """Nothing is recorded inside: results have `requires_grad=False`, whatever the inputs.

    `with no_grad():`, `@no_grad()` and `@no_grad` all work, the last two on functions, generator functions and
    coroutine functions. The mode belongs to the running thread, and a generator's or coroutine's to its own code.
    Leaves made inside by factory functions with `requires_grad=True` do require grad.
    """

    __slots__ = ()
    _change = _RECORD_NOTHING

    def __enter__(self) -> None:
        self._outer = self._outer << 1 | is_grad_enabled()
        _set_grad_enabled(False)


class enable_grad(_FixedMode):  # noqa: N801 - torch's name
    """Recording is on inside, as at the start of every thread. Its forms of use are those of `no_grad`."""

    __slots__ = ()
    _change = _RECORD

    def __enter__(self) -> None:
        self._outer = self._outer << 1 | is_grad_enabled()
        _set_grad_enabled(True)


@final
class set_grad_enabled:  # noqa: N801 - torch's name
    """Sets the mode at once; a context manager sets it back at the end, a decorator sets it during calls alone.

    `set_grad_enabled(flag)` on a line of its own changes the mode of this thread until it is changed again. Above a
    function, `@set_grad_enabled(flag)` leaves the thread's mode as it was before the decorator was made.

    Raises TypeError, and changes nothing, if `mode` is not a bool.
    """

    __slots__ = ("_mode", "_outer", "_set_by_init")

    def __init__(self, mode: bool) -> None:
        if mode is not True and mode is not False:
            raise TypeError(
                f"set_grad_enabled(): argument 'mode' must be bool, not {type(mode).__name__}; "
                "write set_grad_enabled(bool(...))"
            )
        self._mode = mode
        # A stack of bits, as in _FixedMode. What the first entry found is the mode before the constructor set it.
        self._outer = int(is_grad_enabled())
        self._set_by_init = True
        _set_grad_enabled(mode)

    def __enter__(self) -> None:
        if self._set_by_init:
            self._set_by_init = False
        else:
            self._outer = self._outer << 1 | is_grad_enabled()
        _set_grad_enabled(self._mode)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _set_grad_enabled(self._outer & 1 == 1)
        self._outer >>= 1

    def __call__(self, orig_func: _FuncT) -> _FuncT:
        """Decorates a function, generator or coroutine function; raises TypeError for what cannot be called."""
        if self._set_by_init:
            self.__enter__()
            self.__exit__(None, None, None)
        return _decorate(orig_func, _RECORD if self._mode else _RECORD_NOTHING, "set_grad_enabled")

    def clone(self) -> Self:
        """Another `set_grad_enabled` of the same mode, which sets it at once, too."""
        return type(self)(self._mode)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.set_grad_enabled(mode={self._mode})"


@final
class inference_mode:  # noqa: N801 - torch's name
    """As `no_grad`, and what is made inside are inference tensors.

    No version is kept of them, and none can reach a recorded graph. `with inference_mode():`, `@inference_mode()` and
    `@inference_mode` work as those of `no_grad` do. With `mode=False` inference mode and `no_grad` end inside.
    Outside, writing to an inference tensor in place, setting its `requires_grad`, and saving it for backward are
    RuntimeErrors (`clone()` gives a tensor without these bounds); views of it are inference tensors, results of other
    operations are not. Inside, tensors that were made outside may be written, and views of them stay ordinary tensors,
    whose writes are refused where gradients are recorded.
    """

    __slots__ = ("_change", "_outer", "mode")
    mode: bool
    _change: _Change
    _outer: int

    # See _FixedMode.__new__.
    @overload
    def __new__(cls, mode: _FuncT) -> _FuncT: ...  # type: ignore[misc]
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    def __new__(cls, mode: _FuncT | bool = True) -> Self | _FuncT:  # type: ignore[misc]
        """Makes the context manager, or decorates a function where no mode is given."""
        if not isinstance(mode, bool):
            if not callable(mode):
                raise TypeError(f"inference_mode(): argument 'mode' must be bool, not {type(mode).__name__}")
            return _decorate(mode, _INFER, cls.__name__)
        self = object.__new__(cls)
        self.mode = mode
        self._change = _INFER if mode else _INFER_NOT
        self._outer = 0
        return self

    def __enter__(self) -> None:
        outside = _modes()
        self._outer = self._outer << _BITS | outside
        _set_modes(outside & ~self._change[0] | self._change[1])

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        kept = _GRAD | _INFERENCE
        _set_modes(_modes() & ~kept | self._outer & kept)
        self._outer >>= _BITS

    def __call__(self, orig_func: _FuncT) -> _FuncT:
        """Decorates a function, generator or coroutine function; raises TypeError for what cannot be called."""
        return _decorate(orig_func, self._change, "inference_mode")

    def clone(self) -> Self:
        """Another context manager of the same mode, not entered yet."""
        return type(self)(self.mode)


class _Switch:
    """A mode that is set at once, and set back at the end where it is used as a context manager."""

    __slots__ = ("_on", "_outer")
    _bit: ClassVar[int]
    _on: bool
    _outer: int

    def __init__(self, on: bool, name: str) -> None:
        if not isinstance(on, bool):
            raise TypeError(f"{name}(): argument 'mode' must be bool, not {type(on).__name__}")
        self._on = on
        self._outer = _modes()
        self.__enter__()

    def __enter__(self) -> None:
        """Sets the mode, as the constructor did."""
        _set_modes(_modes() | self._bit if self._on else _modes() & ~self._bit)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _set_modes(_modes() & ~self._bit | self._outer & self._bit)

    def __call__(self, orig_func: _FuncT) -> _FuncT:
        """Decorates a function, generator or coroutine function; the mode is set back to what it was until a call."""
        change = (0, self._bit) if self._on else (self._bit, 0)
        self.__exit__(None, None, None)
        return _decorate(orig_func, change, type(self).__name__)


class set_multithreading_enabled(_Switch):  # noqa: N801 - torch's name
    """Whether backwards that this thread starts may use worker threads; they may, at first.

    Acts at once, and until the end of a `with` block; as a decorator, during calls alone. TypeError unless `mode` is a
    bool.
    """

    __slots__ = ()
    _bit = _ALONE

    def __init__(self, mode: bool) -> None:
        super().__init__(not mode if isinstance(mode, bool) else mode, "set_multithreading_enabled")


class _force_original_view_tracking(_Switch):  # noqa: N801 - torch's name
    """Whether views made from now on follow a write to their base by the operations that made them.

    Without it a view's grad_fn becomes one ``AsStridedBackward0`` after its base or another view of it was written;
    with it, ``SelectBackward0``, ``TBackward0`` and so on again. Gradients are the same. Acts at once, and until the
    end of a `with` block; as a decorator, during calls alone. Of views that were made before their base required grad
    the operations are not known. TypeError unless `mode` is a bool.
    """

    __slots__ = ()
    _bit = _REPLAY

    def __init__(self, mode: bool) -> None:
        super().__init__(mode, "_force_original_view_tracking")


class _unsafe_preserve_version_counter:  # noqa: N801 - torch's name
    """Context in which writes to these tensors are not counted: what was saved of them stays good, with the new values.

    Unsafe, since gradients are then those of other values than forward computed with; for memory that holds nothing in
    between, such as that of parameters which are gathered again before backward.
    """

    __slots__ = ("_tensors", "_versions")
    _tensors: tuple[Tensor, ...]
    _versions: tuple[int, ...]

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self._tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
        self._versions = tuple(t._version for t in self._tensors)  # pyright: ignore[reportPrivateUsage]

    def __enter__(self) -> None:
        """Nothing is left to do: the constructor has taken the versions."""

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        for tensor, version in zip(self._tensors, self._versions, strict=True):
            set_version(tensor, version)


def is_multithreading_enabled() -> bool:
    """Whether backwards that this thread starts may use worker threads."""
    return not _modes() & _ALONE


def is_view_replay_enabled() -> bool:
    """Whether views made now follow a write to their base by the operations that made them."""
    return bool(_modes() & _REPLAY)
