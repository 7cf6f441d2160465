"""Grad modes: every form of use, and whose code runs in which mode.

The mode decides silently whether a computation is recorded, so each test looks at the mode both inside and
afterwards. The tests of suspended code exist because there the obvious implementation leaks the mode into the caller.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from types import ModuleType

import pytest
from support import LIBRARIES

import cygrad
from cygrad import enable_grad, is_grad_enabled, no_grad, set_grad_enabled


@pytest.fixture(autouse=True)
def mode_is_left_on() -> Iterator[None]:
    """Every test starts with recording on and has to leave it on, whatever it does in between."""
    assert is_grad_enabled()
    yield
    leaked = not is_grad_enabled()
    set_grad_enabled(True)
    assert not leaked, "the test left recording off"


def records() -> bool:
    """Whether a multiplication is recorded right now: the effect that the mode is for."""
    x = cygrad.ones(2, requires_grad=True)
    recorded: bool = (x * 2).requires_grad
    return recorded


DECORATORS: dict[str, Callable[[Callable[..., object]], Callable[..., object]]] = {
    "no_grad": no_grad,
    "no_grad()": no_grad(),
    "set_grad_enabled(False)": lambda function: set_grad_enabled(False)(function),
}


def test_context_managers_set_and_restore() -> None:
    with no_grad():
        assert not is_grad_enabled() and not records()
        with enable_grad():
            assert is_grad_enabled() and records()
            with set_grad_enabled(False):
                assert not is_grad_enabled()
            assert is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled() and records()


@pytest.mark.parametrize(
    "make", [no_grad, enable_grad, lambda: set_grad_enabled(False), lambda: set_grad_enabled(True)]
)
def test_restored_when_the_block_raises(make: Callable[[], no_grad]) -> None:
    for outside in (True, False):
        set_grad_enabled(outside)
        with pytest.raises(KeyError, match="key"), make():
            raise KeyError("key")
        assert is_grad_enabled() is outside
    set_grad_enabled(True)


def test_one_object_entered_again_while_open() -> None:
    off = no_grad()
    with off:
        with off, enable_grad(), off:
            assert not is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()
    flag = set_grad_enabled(False)
    with flag:
        set_grad_enabled(True)
        with flag:
            assert not is_grad_enabled()
        assert is_grad_enabled()
    assert is_grad_enabled()


def test_set_grad_enabled_as_a_function_acts_at_once() -> None:
    set_grad_enabled(False)
    assert not is_grad_enabled() and not records()
    set_grad_enabled(mode=True)
    assert is_grad_enabled() and records()


@pytest.mark.parametrize("mode", [None, 0, 1, "False", [False]])
def test_set_grad_enabled_takes_a_bool_alone(mode: object) -> None:
    with pytest.raises(TypeError, match=r"set_grad_enabled.*must be bool"):
        set_grad_enabled(mode)  # type: ignore[arg-type]  # the mistake under test
    assert is_grad_enabled()


@pytest.mark.parametrize("name", DECORATORS)
def test_decorated_function(name: str) -> None:
    @DECORATORS[name]
    def function(a: int, *, b: int = 2) -> tuple[bool, int]:
        """Says what it does."""
        return is_grad_enabled(), a + b

    assert is_grad_enabled(), "decorating changed the mode"
    assert function(1) == (False, 3) and function(1, b=5) == (False, 6)
    assert is_grad_enabled()
    assert function.__name__ == "function" and function.__doc__ == "Says what it does."
    assert list(inspect.signature(function).parameters) == ["a", "b"]


def test_set_grad_enabled_decorator_keeps_the_mode_and_the_result_has_no_grad() -> None:
    @set_grad_enabled(False)
    def double(x: cygrad.Tensor) -> cygrad.Tensor:
        return x * 2

    assert is_grad_enabled()
    assert not double(cygrad.ones(3, requires_grad=True)).requires_grad
    with no_grad():

        @set_grad_enabled(True)
        def triple(x: cygrad.Tensor) -> cygrad.Tensor:
            return x * 3

        assert not is_grad_enabled()
    with no_grad():
        assert triple(cygrad.ones(3, requires_grad=True)).requires_grad
        assert not is_grad_enabled()


def test_recursive_decorated_function() -> None:
    seen: list[bool] = []

    @no_grad()
    def countdown(n: int) -> None:
        seen.append(is_grad_enabled())
        if n:
            countdown(n - 1)
            seen.append(is_grad_enabled())

    countdown(3)
    assert seen == [False] * 7


def test_decorated_method_and_static_method() -> None:
    class Model:
        @no_grad()
        def method(self) -> tuple[object, bool]:
            return self, is_grad_enabled()

        @staticmethod
        @no_grad
        def static() -> bool:
            return is_grad_enabled()

    model = Model()
    assert model.method() == (model, False) and Model.static() is False


def test_function_that_raises_leaves_the_mode() -> None:
    @no_grad
    def fails() -> None:
        raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        fails()
    assert is_grad_enabled()


@pytest.mark.parametrize("thing", [3, "name", classmethod(lambda cls: None)])
def test_only_callables_are_decorated(thing: object) -> None:
    for decorator in (no_grad, no_grad(), enable_grad):
        with pytest.raises(TypeError, match="not callable"):
            decorator(thing)  # type: ignore[type-var,call-overload]  # the mistake under test
    decorator_with_flag = set_grad_enabled(False)
    with pytest.raises(TypeError, match="not callable"):
        decorator_with_flag(thing)  # type: ignore[type-var]  # the mistake under test
    assert is_grad_enabled()


def test_decorating_a_class_warns_and_covers_its_construction() -> None:
    class Model:
        def __init__(self) -> None:
            self.recorded = is_grad_enabled()

    with pytest.warns(FutureWarning, match="Decorating classes is deprecated") as caught:
        decorated = no_grad(Model)
    assert caught[0].filename == __file__
    assert decorated().recorded is False


@pytest.mark.parametrize("name", DECORATORS)
def test_generator_has_the_mode_only_while_it_runs(name: str) -> None:
    @DECORATORS[name]
    def generator() -> Generator[bool, str, str]:
        received = yield is_grad_enabled()
        assert received == "sent"
        yield is_grad_enabled()
        return f"{is_grad_enabled()}"

    assert inspect.isgeneratorfunction(generator)
    run = generator()
    assert isinstance(run, Generator)
    assert next(run) is False and is_grad_enabled()
    assert run.send("sent") is False and is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(run)
    assert stop.value.value == "False" and is_grad_enabled()


def test_generator_resumed_in_another_mode_gives_that_mode_back() -> None:
    @no_grad()
    def generator() -> Iterator[bool]:
        while True:
            yield is_grad_enabled()

    run = generator()
    for outside in (True, False, True):
        with set_grad_enabled(outside):
            assert next(run) is False
            assert is_grad_enabled() is outside


def test_generator_finds_its_own_mode_again() -> None:
    @no_grad()
    def generator() -> Iterator[bool]:
        with enable_grad():
            yield is_grad_enabled()
            yield is_grad_enabled()
        yield is_grad_enabled()

    run = generator()
    with no_grad():
        assert [next(run), is_grad_enabled(), next(run), is_grad_enabled()] == [True, False, True, False]
    assert [next(run), is_grad_enabled()] == [False, True]


def test_exception_thrown_into_a_generator() -> None:
    @no_grad()
    def generator() -> Iterator[object]:
        try:
            yield "first"
        except LookupError as error:
            yield error, is_grad_enabled()
        raise ArithmeticError("at the end")

    run = generator()
    assert isinstance(run, Generator)
    error = LookupError("thrown")
    assert next(run) == "first"
    assert run.throw(error) == (error, False) and is_grad_enabled()
    with pytest.raises(ArithmeticError, match="at the end"):
        next(run)
    assert is_grad_enabled()
    with pytest.raises(StopIteration):
        next(run)


def test_closing_a_generator_runs_its_finally_block_in_the_mode() -> None:
    seen: list[bool] = []

    @no_grad()
    def generator() -> Iterator[int]:
        try:
            yield 1
        finally:
            seen.append(is_grad_enabled())

    for end in ("close", "drop"):
        run = generator()
        assert isinstance(run, Generator)
        next(run)
        if end == "close":
            run.close()
        del run
        assert is_grad_enabled()
    assert seen == [False, False]


def test_generator_that_ignores_close_is_reported() -> None:
    @no_grad()
    def stubborn() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            yield 2

    run = stubborn()
    assert isinstance(run, Generator)
    next(run)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        run.close()
    assert is_grad_enabled()


def test_yield_from_reaches_through_the_decorator() -> None:
    @no_grad()
    def inner() -> Generator[tuple[str, bool], str, str]:
        received = yield "inner", is_grad_enabled()
        return received + "!"

    def outer() -> Generator[tuple[str, bool], str, None]:
        result = yield from inner()
        yield result, is_grad_enabled()

    run = outer()
    assert next(run) == ("inner", False) and is_grad_enabled()
    assert run.send("back") == ("back!", True)


@pytest.mark.parametrize("name", DECORATORS)
def test_coroutine_has_the_mode_only_while_it_runs(name: str) -> None:
    seen: list[tuple[str, bool]] = []

    @DECORATORS[name]
    async def quiet() -> str:
        seen.append(("quiet", is_grad_enabled()))
        await asyncio.sleep(0)
        seen.append(("quiet", is_grad_enabled()))
        return "result"

    async def recording() -> None:
        for _ in range(3):
            seen.append(("recording", is_grad_enabled()))
            await asyncio.sleep(0)

    async def main() -> object:
        awaited = quiet()
        assert inspect.iscoroutine(awaited)
        result, _ = await asyncio.gather(awaited, recording())
        return result

    assert inspect.iscoroutinefunction(quiet)
    assert asyncio.run(main()) == "result"
    assert set(seen) == {("quiet", False), ("recording", True)} and len(seen) == 5
    assert is_grad_enabled()


def test_cancelled_coroutine_cleans_up_in_its_mode() -> None:
    seen: list[bool] = []

    @no_grad()
    async def waits() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append(is_grad_enabled())
            raise

    async def main() -> None:
        task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        assert is_grad_enabled()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert is_grad_enabled()

    asyncio.run(main())
    assert seen == [False]


def test_asynchronous_generator() -> None:
    seen: list[bool] = []

    @no_grad()
    async def numbers() -> AsyncGenerator[tuple[int, bool], str]:
        try:
            received = yield 0, is_grad_enabled()
            seen.append(received == "sent")
            await asyncio.sleep(0)
            try:
                yield 1, is_grad_enabled()
            except LookupError:
                yield 2, is_grad_enabled()
        finally:
            seen.append(is_grad_enabled())

    async def main() -> None:
        assert inspect.isasyncgenfunction(numbers)
        run = numbers()
        assert await run.__anext__() == (0, False) and is_grad_enabled()
        assert await run.asend("sent") == (1, False) and is_grad_enabled()
        assert await run.athrow(LookupError("thrown")) == (2, False) and is_grad_enabled()
        await run.aclose()
        assert is_grad_enabled()
        assert [item async for item in numbers_again()] == [False, False]

    @no_grad
    async def numbers_again() -> AsyncIterator[bool]:
        yield is_grad_enabled()
        await asyncio.sleep(0)
        yield is_grad_enabled()

    asyncio.run(main())
    assert seen == [True, False]


def test_each_thread_has_its_own_mode() -> None:
    seen: dict[str, bool] = {}
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        seen["at the start"] = records()
        with no_grad():
            inside.set()
            assert done.wait(30)
            seen["inside"] = records()

    with no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(30)
    seen["main"] = records()
    done.set()
    thread.join(30)
    assert seen == {"at the start": True, "inside": False, "main": True}


@pytest.mark.parametrize("m", LIBRARIES)
def test_clone_gives_another_context_of_the_same_mode(m: ModuleType) -> None:
    for made, inside in (
        (m.no_grad(), (False, False)),
        (m.enable_grad(), (True, False)),
        (m.inference_mode(), (False, True)),
        (m.inference_mode(False), (True, False)),
    ):
        other = made.clone()
        assert type(other) is type(made) and other is not made
        with made, other:
            assert (m.is_grad_enabled(), m.is_inference_mode_enabled()) == inside
        assert m.is_grad_enabled()
    with m.enable_grad():
        made = m.set_grad_enabled(False)
        assert repr(made.clone()) == f"{m.__name__}.autograd.grad_mode.set_grad_enabled(mode=False)"
        assert not m.is_grad_enabled()
