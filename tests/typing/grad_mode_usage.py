"""A downstream user of the grad modes, for type checkers alone: decorated functions keep their exact types.

Both mypy --strict and pyright have to accept this file. The lines that they must refuse carry an expected error, and an
expected error that does not come is an error itself (`warn_unused_ignores`, `reportUnnecessaryTypeIgnoreComment`).
"""

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import nullcontext
from typing import Protocol, assert_type

import cygrad
from cygrad import Tensor, enable_grad, no_grad, set_grad_enabled


@no_grad
def bare(x: Tensor, scale: float = 1.0, *, name: str = "") -> Tensor:
    return x * scale if name else x


@no_grad()
def called(x: Tensor, scale: float = 1.0, *, name: str = "") -> Tensor:
    return x * scale if name else x


@enable_grad()
def recorded(x: Tensor) -> tuple[Tensor, int]:
    return x, 1


@set_grad_enabled(False)
def flagged(x: Tensor) -> dict[str, Tensor]:
    return {"x": x}


@no_grad()
def batches(count: int) -> Generator[Tensor, float, str]:
    for _ in range(count):
        scale = yield cygrad.tensor([1.0])
        assert_type(scale, float)
    return "done"


@no_grad
async def fetched(name: str) -> Tensor:
    return cygrad.tensor([float(len(name))])


@no_grad()
async def stream(count: int) -> AsyncIterator[Tensor]:
    for _ in range(count):
        yield cygrad.tensor([1.0])


class Model:
    @no_grad()
    def predict(self, x: Tensor) -> Tensor:
        return x

    @staticmethod
    @no_grad
    def version() -> int:
        return 1

    @classmethod
    @set_grad_enabled(False)
    def build(cls, width: int) -> "Model":
        return cls()


class Forward(Protocol):
    """The full type of `bare` and `called`, with parameter names and defaults, which a Callable cannot say."""

    def __call__(self, x: Tensor, scale: float = 1.0, *, name: str = "") -> Tensor: ...


def uses(x: Tensor, training: bool) -> None:
    first: Forward = bare
    second: Forward = called
    assert_type(first(x, 2.0, name="a"), Tensor)
    assert_type(second(x), Tensor)
    assert_type(bare(x), Tensor)
    assert_type(called(x, name="b"), Tensor)
    assert_type(recorded(x), tuple[Tensor, int])
    assert_type(flagged(x), dict[str, Tensor])
    assert_type(batches(3), Generator[Tensor, float, str])
    assert_type(Model().predict(x), Tensor)
    assert_type(Model.version(), int)
    assert_type(Model.build(3), Model)
    assert_type(no_grad(), no_grad)
    assert_type(enable_grad(), enable_grad)
    assert_type(set_grad_enabled(True), set_grad_enabled)
    context: no_grad | nullcontext[None] = nullcontext() if training else no_grad()
    with context:
        pass
    with set_grad_enabled(training), enable_grad() as nothing:
        assert_type(nothing, None)
    wrapped: Callable[[int], int] = no_grad(abs)
    assert_type(wrapped(3), int)


async def awaits() -> None:
    assert_type(await fetched("a"), Tensor)
    async for item in stream(2):
        assert_type(item, Tensor)


def mistakes(x: Tensor) -> None:
    bare("x")  # type: ignore[arg-type]
    called(x, 1.0, "name")  # type: ignore[call-arg]
    recorded()  # type: ignore[call-arg]
    flagged(x, 2)  # type: ignore[call-arg]
    set_grad_enabled("yes")  # type: ignore[arg-type]
    no_grad(3)  # type: ignore[call-overload]
    Model().predict()  # type: ignore[call-arg]
