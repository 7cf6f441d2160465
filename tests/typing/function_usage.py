"""A downstream user of custom Functions, hooks and checkpoints, for type checkers alone.

``Function.apply`` takes what forward takes, but for ctx, and gives what forward gives. Both mypy --strict and pyright
have to accept this file; the lines that they must refuse carry an expected error.
"""

from collections.abc import Callable
from typing import assert_type

from cygrad import Tensor
from cygrad.autograd import Function, Node, Variable
from cygrad.autograd.function import FunctionCtx, once_differentiable
from cygrad.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)
from cygrad.utils.checkpoint import checkpoint, checkpoint_sequential


class Scale(Function):
    """forward has ctx."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, factor: float = 2.0) -> Tensor:
        """x * factor."""
        ctx.save_for_backward(x)
        return x * factor

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        """The VJP."""
        (x,) = ctx.saved_tensors
        assert_type(ctx.needs_input_grad, tuple[bool, ...])
        return grad * x, None


class Split(Function):
    """forward has no ctx, and several outputs."""

    @staticmethod
    def forward(x: Tensor, name: str) -> tuple[Tensor, str]:
        """x and its name."""
        return x.clone(), name

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Tensor, str], output: tuple[Tensor, str]) -> None:
        """Save the input."""
        ctx.save_for_backward(inputs[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor, _: None) -> tuple[Tensor, None]:
        """The VJP."""
        return grad, None


def functions(x: Tensor) -> None:
    assert_type(Scale.apply(x), Tensor)
    assert_type(Scale.apply(x, 3.0), Tensor)
    assert_type(Scale.apply(x, factor=3.0), Tensor)
    assert_type(Split.apply(x, "a"), tuple[Tensor, str])
    assert_type(Split.apply(x, name="a"), tuple[Tensor, str])
    scale: Callable[[Tensor], Tensor] = Scale.apply
    assert_type(scale(x), Tensor)
    Scale.apply("x")  # type: ignore[arg-type]
    Scale.apply()  # type: ignore[call-arg]
    Split.apply(x, 3)  # type: ignore[arg-type]
    Split.apply(x, title="a")  # type: ignore[call-arg]


def hooks(x: Tensor, y: Tensor) -> None:
    def double(grad: Tensor) -> Tensor:
        return grad * 2

    def look(grad: Tensor) -> None:
        assert grad is not None

    def updated(leaf: Tensor) -> None:
        leaf.grad = None

    def before(grads: tuple[Tensor | None, ...]) -> None:
        assert len(grads) == 1

    def after(inputs: tuple[Tensor | None, ...], outputs: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        assert outputs
        return inputs

    x.register_hook(double).remove()
    x.register_hook(look)
    x.register_post_accumulate_grad_hook(updated).remove()
    node = y.grad_fn
    if node is not None:
        assert_type(node, Node)
        node.register_prehook(before).remove()
        node.register_hook(after).remove()
    register_multi_grad_hook([x, y], lambda grads: len(grads)).remove()
    register_multi_grad_hook((x, y), look, mode="any").remove()
    Variable._execution_engine.queue_callback(lambda: None)  # pyright: ignore[reportPrivateUsage]
    x.register_hook(len)  # type: ignore[arg-type]


def saved_tensors(x: Tensor) -> None:
    with saved_tensors_hooks(lambda t: t.numpy(), lambda _: x):
        pass
    with save_on_cpu(), disable_saved_tensors_hooks("not here"):
        pass
    with allow_mutation_on_saved_tensors() as mutations:
        mutations.clear()


def named(x: Tensor, *, times: int) -> tuple[Tensor, int]:
    return x, times


def checkpoints(x: Tensor) -> None:
    assert_type(checkpoint(named, x, times=3, use_reentrant=False), tuple[Tensor, int])
    assert_type(checkpoint_sequential([Tensor.sin, Tensor.cos], 2, x, use_reentrant=False), Tensor)
