"""CopySlices: the backward of a write to a view, seen from its base.

In the pure program a write to a view ``v`` of ``b`` reads: ``v1 = f(v, ...)`` and ``b1 = b with v's part replaced by
v1``. So the gradient of b is the gradient of b1 with v's part replaced by f's gradient for its first input, and the
other inputs of f get what f gives them for v's part of the gradient. One Node does all of it, so that a chain of writes
costs one Node a write.

Here is the form on tensors: it is recorded when the backward itself is, calls custom Functions, and follows views of
another dtype than their base's. The Node, and the same computation on plain memory without the GIL, are in
``_core/rebase.pyx``.
"""

from __future__ import annotations

from cygrad._core.node import Node
from cygrad._core.python_node import apply_vjp
from cygrad._core.rebase import slices_geometry
from cygrad._core.tensor import Tensor
from cygrad.views import part_of


def apply(node: Node, written: Node, grads: list[Tensor | None], need: int) -> list[Tensor | None]:
    """The VJP of ``node``, the CopySlices of the operation whose Node is ``written``.

    Gives the gradients of the base and of that operation's other inputs. Bit k of ``need`` says whether the gradient of
    input k is wanted.
    """
    (grad,) = grads
    count = max(len(written.next_functions), 1)
    if grad is None:
        return [None] * count
    sizes, strides, complex_view, view_sizes, view_strides, offset = slices_geometry(node)
    base_grad = grad.new_empty_strided(sizes, strides)
    base_grad.copy_(grad)
    part = part_of(base_grad, complex_view, view_sizes, view_strides, offset)
    found = apply_vjp(written, [part.clone()], need)
    if need & 1:
        first = found[0] if found else None
        if first is None:
            part.zero_()
        else:
            part.copy_(first)
    return [base_grad if need & 1 else None, *found[1:]]


__all__ = ["apply"]
