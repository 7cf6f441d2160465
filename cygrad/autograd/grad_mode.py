"""The grad modes: `no_grad`, `enable_grad` and `set_grad_enabled`, as context managers and as decorators.

The mode itself is one flag of the running thread and lives in the core, which reads it at every operation. This file
adds what Python code sees of it. It exists apart from the core because all of its difficulty is Python's: decorators
keep the exact type of what they decorate, and the mode of a generator or coroutine holds while its own code runs and
at no other time.
"""

import inspect
import warnings
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from functools import wraps
from types import coroutine
from typing import ClassVar, ParamSpec, Self, TypeVar, cast, final, overload

# Underscore and all, the name of the setter is the one that torch has for it.
from cygrad._core.grad_mode import _set_grad_enabled, is_grad_enabled  # pyright: ignore[reportPrivateUsage]

__all__ = ["enable_grad", "no_grad", "set_grad_enabled"]

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
    suspendable: Generator[_YieldT, _SendT, _R] | Coroutine[_YieldT, _SendT, _R], mode: bool
) -> Generator[_YieldT, _SendT, _R]:
    """Runs a generator or coroutine to its end and passes everything through; see Note [The mode of suspended code]."""
    inside = mode
    failure: BaseException | None = None
    # The first resumption of a generator sends None, whatever it receives later.
    received = cast("_SendT", None)
    while True:
        outside = is_grad_enabled()
        _set_grad_enabled(inside)
        try:
            item = suspendable.send(received) if failure is None else suspendable.throw(failure)
        except StopIteration as stop:
            return cast("_R", stop.value)
        finally:
            inside = is_grad_enabled()
            _set_grad_enabled(outside)
        failure = None
        try:
            received = yield item
        except GeneratorExit:
            outside = is_grad_enabled()
            _set_grad_enabled(inside)
            try:
                suspendable.close()
            finally:
                _set_grad_enabled(outside)
            raise
        except BaseException as error:
            failure = error


_drive_awaited = coroutine(_drive)


def _decorate(func: _FuncT, mode: bool, name: str) -> _FuncT:
    """Returns `func` made to run in `mode`; the kind of function (plain, generator, coroutine) stays what it was."""
    if inspect.isgeneratorfunction(func):
        return cast("_FuncT", _decorate_generator(func, mode))
    if inspect.iscoroutinefunction(func):
        return cast("_FuncT", _decorate_coroutine(func, mode))
    if inspect.isasyncgenfunction(func):
        return cast("_FuncT", _decorate_async_generator(func, mode))
    if inspect.isclass(func):
        warnings.warn(
            f"{name} decorates the class {func.__name__}: only its construction runs in that mode, and what comes "
            "out is a function. Decorating classes is deprecated; decorate the methods that need it.",
            FutureWarning,
            stacklevel=3,
        )
    elif not callable(func):
        raise TypeError(
            f"{name} decorates functions, but got an object of type {type(func).__name__}, which is not callable; "
            f"put @classmethod above @{name}, or use `with {name}():`"
        )
    return cast("_FuncT", _decorate_function(func, mode))


def _decorate_function(func: Callable[_P, _R], mode: bool) -> Callable[_P, _R]:
    @wraps(func)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        outside = is_grad_enabled()
        _set_grad_enabled(mode)
        try:
            return func(*args, **kwargs)
        finally:
            _set_grad_enabled(outside)

    return wrapper


def _decorate_generator(
    func: Callable[_P, Generator[_YieldT, _SendT, _R]], mode: bool
) -> Callable[_P, Generator[_YieldT, _SendT, _R]]:
    @wraps(func)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> Generator[_YieldT, _SendT, _R]:
        return (yield from _drive(func(*args, **kwargs), mode))

    return wrapper


def _decorate_coroutine(
    func: Callable[_P, Coroutine[object, object, _R]], mode: bool
) -> Callable[_P, Coroutine[object, object, _R]]:
    @wraps(func)
    async def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await _drive_awaited(func(*args, **kwargs), mode)

    return wrapper


def _decorate_async_generator(
    func: Callable[_P, AsyncGenerator[_YieldT, _SendT]], mode: bool
) -> Callable[_P, AsyncGenerator[_YieldT, _SendT]]:
    @wraps(func)
    async def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> AsyncGenerator[_YieldT, _SendT]:
        agen = func(*args, **kwargs)
        # Each step of an asynchronous generator is itself a coroutine.
        step = agen.__anext__()
        while True:
            try:
                item = await _drive_awaited(step, mode)
            except StopAsyncIteration:
                return
            try:
                received = yield item
            except GeneratorExit:
                await _drive_awaited(agen.aclose(), mode)
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
    _mode: ClassVar[bool]

    # mypy follows a `__new__` that gives back a function wherever the class is called, but refuses its definition
    # ("must return a class instance"), which Python allows and `@no_grad` without parentheses needs.
    @overload
    def __new__(cls, orig_func: _FuncT) -> _FuncT: ...  # type: ignore[misc]
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    def __new__(cls, orig_func: _FuncT | None = None) -> Self | _FuncT:  # type: ignore[misc]
        if orig_func is not None:
            return _decorate(orig_func, cls._mode, cls.__name__)
        self = object.__new__(cls)
        self._outer = 0
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _set_grad_enabled(self._outer & 1 == 1)
        self._outer >>= 1

    def __call__(self, orig_func: _FuncT) -> _FuncT:
        """Decorates a function, generator or coroutine function; raises TypeError for what cannot be called."""
        return _decorate(orig_func, self._mode, type(self).__name__)


class no_grad(_FixedMode):  # noqa: N801 - torch's name
    """Nothing is recorded inside: results have `requires_grad=False`, whatever the inputs.

    `with no_grad():`, `@no_grad()` and `@no_grad` all work, the last two on functions, generator functions and
    coroutine functions. The mode belongs to the running thread, and a generator's or coroutine's to its own code.
    Leaves made inside by factory functions with `requires_grad=True` do require grad.
    """

    __slots__ = ()
    _mode = False

    def __enter__(self) -> None:
        self._outer = self._outer << 1 | is_grad_enabled()
        _set_grad_enabled(False)


class enable_grad(_FixedMode):  # noqa: N801 - torch's name
    """Recording is on inside, as at the start of every thread. Its forms of use are those of `no_grad`."""

    __slots__ = ()
    _mode = True

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
        return _decorate(orig_func, self._mode, "set_grad_enabled")

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self._mode})"
