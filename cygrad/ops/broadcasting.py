"""Shapes that tensors broadcast to, and the tensors in such a shape."""

from __future__ import annotations

import cygrad
from cygrad._core.tensor import Tensor

__all__ = ["broadcast_shapes", "broadcast_tensors"]


def broadcast_shapes(*shapes: int | tuple[int, ...] | list[int]) -> cygrad.Size:
    """The shape that tensors of the given shapes broadcast to. RuntimeError where they do not."""
    result: list[int] = []
    for shape in shapes:
        sizes = [shape] if isinstance(shape, int) else list(shape)
        result = [1] * (len(sizes) - len(result)) + result
        for i in range(1, len(sizes) + 1):
            size = sizes[-i]
            if size < 0:
                raise RuntimeError(
                    f"cygrad.broadcast_shapes: Trying to create tensor with negative dimension ({size}): {shape}"
                )
            if size not in (1, result[-i]):
                if result[-i] != 1:
                    raise RuntimeError(
                        "cygrad.broadcast_shapes: Shape mismatch: objects cannot be broadcast to a single shape: "
                        f"{', '.join(str(s) for s in shapes)}"
                    )
                result[-i] = size
    return cygrad.Size(result)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Views of the tensors in the shape that they broadcast to."""
    shape = broadcast_shapes(*(tuple(t.shape) for t in tensors))
    return tuple(t if t.shape == shape else t.expand(shape) for t in tensors)
