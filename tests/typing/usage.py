"""A downstream user of tensors and autograd, for type checkers alone: what comes out of operators, views and gradients.

Both mypy --strict and pyright have to accept this file. The lines that they must refuse carry an expected error, and an
expected error that does not come is an error itself.
"""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import cygrad
from cygrad import Size, Tensor
from cygrad.autograd import Node
from cygrad.autograd.function import Function, FunctionCtx, once_differentiable
from cygrad.utils.hooks import RemovableHandle


def operators(a: Tensor, b: Tensor) -> None:
    assert_type(a + b, Tensor)
    assert_type(a + 1, Tensor)
    assert_type(1 + a, Tensor)
    assert_type(a - 1.5, Tensor)
    assert_type(1 - a, Tensor)
    assert_type(a * 2j, Tensor)
    assert_type(2.5 * a, Tensor)
    assert_type(a / 2, Tensor)
    assert_type(1 / a, Tensor)
    assert_type(a // 2, Tensor)
    assert_type(2 // a, Tensor)
    assert_type(a % 2, Tensor)
    assert_type(2 % a, Tensor)
    assert_type(a**2, Tensor)
    assert_type(2**a, Tensor)
    assert_type(2.0**a, Tensor)
    assert_type(a**b, Tensor)
    assert_type(a @ b, Tensor)
    assert_type(-a, Tensor)
    assert_type(+a, Tensor)
    assert_type(abs(a), Tensor)
    assert_type(~a, Tensor)
    assert_type(a & b, Tensor)
    assert_type(True | a, Tensor)
    assert_type(a ^ 1, Tensor)
    a += 1
    a *= b
    assert_type(a, Tensor)


def comparison(a: Tensor, b: Tensor) -> None:
    assert_type(a == b, Tensor)
    assert_type(a != 1, Tensor)
    assert_type(a < 1, Tensor)
    assert_type(1.0 < a, Tensor)
    assert_type(a >= b, Tensor)
    assert_type(1 in a, bool)
    if (a == b).all():
        assert_type(bool(a.any()), bool)


def numbers(a: Tensor) -> float:
    assert_type(a.item(), int | float)
    assert_type(float(a), float)
    assert_type(int(a), int)
    assert_type(complex(a), complex)
    assert_type(len(a), int)
    assert_type([1, 2, 3][a], int)
    assert_type(f"{a:.2f}", str)
    total = 0.0
    total += a.item()
    return total


def iteration_and_indexing(a: Tensor, mask: Tensor) -> None:
    for row in a:
        assert_type(row, Tensor)
    first, *rest = a
    assert_type(first, Tensor)
    assert_type(rest, list[Tensor])
    assert_type([row.sum() for row in a], list[Tensor])
    assert_type(a[0], Tensor)
    assert_type(a[1:, ..., None], Tensor)
    assert_type(a[::2, -1], Tensor)
    assert_type(a[mask], Tensor)
    assert_type(a[[0, 1]], Tensor)
    assert_type(a[np.array([0, 1])], Tensor)
    a[0] = 1
    a[mask] = a[mask] * 2
    a[:, 0] = np.zeros(3)


def sizes(a: Tensor) -> None:
    assert_type(a.shape, Size)
    assert_type(a.size(), Size)
    assert_type(a.size(0), int)
    assert_type(a.shape[0], int)
    assert_type(a.shape[1:], Size)
    assert_type(a.shape.numel(), int)
    assert_type(a.stride(), tuple[int, ...])
    assert_type(a.shape + (2,), Size)  # noqa: RUF005
    rows, columns = a.shape
    assert_type(rows * columns, int)
    assert_type(a.numel() * a.dim() + a.ndim, int)


def dtypes(a: Tensor) -> None:
    assert_type(a.dtype, cygrad.dtype)
    assert_type(cygrad.float64, cygrad.dtype)
    assert_type(a.to(cygrad.float64), Tensor)
    assert_type(a.to("cpu"), Tensor)
    assert_type(a.to(a), Tensor)
    assert_type(a.to(cygrad.device("cpu"), cygrad.float32), Tensor)
    assert_type(a.to(dtype=cygrad.float64, copy=True), Tensor)
    assert_type(a.double().long().bool(), Tensor)
    assert_type(cygrad.finfo(a.dtype).eps, float)
    assert_type(a.device, cygrad.device)
    assert_type(a.device.index, int | None)


def creation(n: int) -> None:
    assert_type(cygrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), Tensor)
    assert_type(cygrad.tensor(3, dtype=cygrad.int64), Tensor)
    assert_type(cygrad.tensor([cygrad.tensor(1.0), cygrad.tensor(2.0)]), Tensor)
    assert_type(cygrad.zeros(2, n), Tensor)
    assert_type(cygrad.zeros((2, n), dtype=cygrad.float64), Tensor)
    assert_type(cygrad.ones(Size([2, n])), Tensor)
    assert_type(cygrad.full((n,), 1.5), Tensor)
    assert_type(cygrad.arange(10), Tensor)
    assert_type(cygrad.arange(0, 10, 0.5), Tensor)
    assert_type(cygrad.arange(0, 10, step=2), Tensor)
    assert_type(cygrad.linspace(0, 1, n), Tensor)
    assert_type(cygrad.randn(n, n, requires_grad=True), Tensor)
    assert_type(cygrad.zeros_like(cygrad.eye(n)), Tensor)
    assert_type(cygrad.eye(n).new_zeros(3, n), Tensor)


def numpy_interop(a: Tensor, array: NDArray[np.float64], scalar: np.float64) -> None:
    assert_type(cygrad.from_numpy(array), Tensor)
    assert_type(a.numpy(), NDArray[Any])
    assert_type(a * array, Tensor)
    assert_type(array * a, Tensor)
    assert_type(array @ a, Tensor)
    assert_type(array - a, Tensor)
    assert_type(a * scalar, Tensor)
    assert_type(scalar * a, Tensor)
    assert_type(scalar - a, Tensor)
    assert_type(np.float32(2) / a, Tensor)
    assert_type(np.int64(2) + a, Tensor)
    plain: NDArray[Any] = np.asarray(a)
    cygrad.tensor(plain)


def graph(x: Tensor) -> None:
    y = (x * x).sum()
    y.backward()
    y.backward(cygrad.ones(()), retain_graph=True)
    assert_type(x.grad, Tensor | None)
    if x.grad is not None:
        x.grad.zero_()
    x.grad = None
    assert_type(y.grad_fn, Node | None)
    if y.grad_fn is not None:
        assert_type(y.grad_fn.name(), str)
        assert_type(y.grad_fn.next_functions, tuple[tuple[Node | None, int], ...])
    assert_type(x.requires_grad_().detach(), Tensor)
    assert_type(x.is_leaf and x.requires_grad, bool)


def gradients(x: Tensor, y: Tensor, create: bool) -> None:
    assert_type(cygrad.autograd.grad(y, x), tuple[Tensor, ...])
    assert_type(cygrad.autograd.grad((y, y), (x,), grad_outputs=(None, y)), tuple[Tensor, ...])
    assert_type(cygrad.autograd.grad([y], [x], grad_outputs=[None], create_graph=create), tuple[Tensor, ...])
    assert_type(cygrad.autograd.grad(y, (x,), grad_outputs=(None,)), tuple[Tensor, ...])
    assert_type(cygrad.autograd.grad(y, x, allow_unused=True), tuple[Tensor | None, ...])
    assert_type(cygrad.autograd.grad(y, x, allow_unused=True, materialize_grads=True), tuple[Tensor, ...])
    (g,) = cygrad.autograd.grad(y.sum(), (x,))
    assert_type(g, Tensor)
    cygrad.autograd.backward([y, y], grad_tensors=[None, x], inputs=[x])


def halved(grad: Tensor) -> Tensor:
    return grad / 2


def watched(grad: Tensor) -> None:
    print(grad)


def hooks(x: Tensor) -> None:
    handle = x.register_hook(halved)
    assert_type(handle, RemovableHandle[Callable[[Tensor], Tensor | None]])
    handle.remove()
    with x.register_hook(watched):
        pass
    x.register_hook(lambda grad: grad * 2)
    seen: list[Tensor] = []
    x.register_hook(seen.append)


class Scaled(Function):
    """A custom Function in the style with ctx."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, factor: float = 2.0) -> Tensor:
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable()
        return x * factor

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, None]:
        (x,) = ctx.saved_tensors
        assert_type(x, Tensor)
        assert_type(ctx.needs_input_grad, tuple[bool, ...])
        return grad * 2, None


class Both(Function):
    """A custom Function in the style with setup_context."""

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x * y, x + y

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return grads[0] * y + grads[1], grads[0] * x + grads[1]


def functions(a: Tensor, b: Tensor) -> None:
    assert_type(Scaled.apply(a), Tensor)
    assert_type(Scaled.apply(a, factor=3.0), Tensor)
    assert_type(Both.apply(a, b), tuple[Tensor, Tensor])
    Scaled.apply(a, "3")  # type: ignore[arg-type]
    Both.apply(a)  # type: ignore[call-arg]


def methods(a: Tensor, b: Tensor) -> None:
    assert_type(a.sum(), Tensor)
    assert_type(a.sum(0, keepdim=True), Tensor)
    assert_type(a.sum((0, 1)), Tensor)
    assert_type(a.view(2, -1), Tensor)
    assert_type(a.view((2, 3)), Tensor)
    assert_type(a.reshape(-1).exp().tanh(), Tensor)
    assert_type(a.transpose(0, 1).T, Tensor)
    assert_type(cygrad.add(a, b, alpha=2), Tensor)
    assert_type(cygrad.mul(a, 2), Tensor)
    assert_type(a.mul_(2).add_(b), Tensor)
    assert_type(cygrad.where(a > 0, a, 0.0), Tensor)
    assert_type(cygrad.stack([a, b]), Tensor)
    assert_type(cygrad.cat((a, b), dim=1), Tensor)
    assert_type(cygrad.einsum("ij,jk->ik", a, b), Tensor)


def named_results(a: Tensor) -> None:
    assert_type(a.max(), Tensor)
    largest = a.max(1)
    assert_type(largest.values, Tensor)
    assert_type(largest.indices, Tensor)
    values, indices = cygrad.sort(a, dim=0, descending=True)
    assert_type(values, Tensor)
    assert_type(indices, Tensor)
    assert_type(a.topk(2)[0], Tensor)


def modes(a: Tensor) -> None:
    with cygrad.no_grad():
        a -= 1
    with cygrad.set_grad_enabled(False):
        assert_type(cygrad.is_grad_enabled(), bool)


def mistakes(a: Tensor) -> None:
    a + "1"  # type: ignore[operator]
    a["name"]  # type: ignore[index]
    a.shape = (1, 2)  # type: ignore[misc, assignment]
    a.grad = 1.0  # type: ignore[assignment]
    a.no_such_method()  # type: ignore[attr-defined]
    cygrad.zeros("3")  # type: ignore[arg-type]
    cygrad.autograd.grad(a, "x")  # type: ignore[arg-type]
    a.register_hook(len)  # type: ignore[arg-type]
    cygrad.add(a, a, alpha="2")  # type: ignore[call-overload]
    cygrad.dtype()
