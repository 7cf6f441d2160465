"""CopySlices: the backward of a write to a view, seen from its base.

In the pure program a write to a view ``v`` of ``b`` reads: ``v1 = f(v, ...)`` and ``b1 = b with v's part replaced by
v1``. So the gradient of b is the gradient of b1 with v's part replaced by f's gradient for its first input, and the
other inputs of f get what f gives them for v's part of the gradient. One Node does all of it, so that a chain of writes
costs one Node a write.
"""

from __future__ import annotations

from collections.abc import Callable

from cygrad._core.node import Node
from cygrad._core.python_node import apply_vjp, copy_slices_node, drop_first_edge
from cygrad._core.tensor import Tensor, _view_replay


class _Slice:
    """Where a view lies in its base: by strides, or by the function that makes it."""

    __slots__ = ("offset", "replay", "sizes", "strides")

    def __init__(self, base: Tensor, view: Tensor) -> None:
        self.replay: Callable[[Tensor], Tensor] | None = _view_replay(view)
        self.sizes: tuple[int, ...] = tuple(view.shape)
        self.strides: tuple[int, ...] = view.stride()
        self.offset: int = view.storage_offset() - base.storage_offset()

    def of(self, like_base: Tensor) -> Tensor:
        """The view's part of a tensor that has the base's geometry."""
        if self.replay is not None:
            return self.replay(like_base)
        return like_base.as_strided(self.sizes, self.strides, self.offset + like_base.storage_offset())


class CopySlices:
    """The payload of the Node of that name."""

    __slots__ = ("part", "shape", "strides", "written")

    def __init__(self, base: Tensor, view: Tensor, written: Node) -> None:
        self.part: _Slice = _Slice(base, view)
        self.shape: tuple[int, ...] = tuple(base.shape)
        self.strides: tuple[int, ...] = base.stride()
        self.written: Node = written

    def apply(self, node: Node, grads: list[Tensor | None], need: int) -> list[Tensor | None]:
        """The VJP: gradients of the base and of the other inputs of the operation that wrote."""
        (grad,) = grads
        n = max(len(self.written.next_functions), 1)
        if grad is None:
            return [None] * n
        base_grad = grad.new_empty_strided(self.shape, self.strides)
        base_grad.copy_(grad)
        part = self.part.of(base_grad)
        found = apply_vjp(self.written, [part.clone()], need | 1)
        if need & 1:
            first = found[0]
            if first is None:
                part.zero_()
            else:
                part.copy_(first)
        return [base_grad if need & 1 else None, *found[1:]]


def make_copy_slices(base: Tensor, view: Tensor, written: Node) -> Node:
    """The Node that takes the base's place in the graph after ``written`` wrote to ``view``."""
    node = copy_slices_node(base, written, CopySlices(base, view, written))
    drop_first_edge(written)
    return node


__all__ = ["CopySlices", "make_copy_slices"]
