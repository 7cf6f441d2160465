"""Formulas of the operation table that are too long for one expression: its helpers marked ``python: true``.

Each is the recorded form of a VJP (or, for matmul_batched, a composition): it works on tensors and is itself
differentiable. The forms without the GIL are kernels of the same names.
"""

from __future__ import annotations

from collections.abc import Sequence

from cygrad._core.creation import ones_like, zeros
from cygrad._core.dtypes import _dtype_by_name, dtype
from cygrad._core.generated import functions as ops
from cygrad._core.ranges import arange
from cygrad._core.tensor import Tensor

int64: dtype = _dtype_by_name("int64")


def as_strided_again(
    grad: Tensor,
    input_sizes: Sequence[int],
    input_strides: Sequence[int],
    input_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int,
) -> Tensor:
    """The VJP of as_strided's own VJP: the gradient laid out as the input's memory was, seen through the view again.

    Places that the input shows several times shared the gradient evenly, so here their elements are averaged.
    """
    reach = 1 + sum((n - 1) * s for n, s in zip(input_sizes, input_strides, strict=True)) if 0 not in input_sizes else 0
    end = (
        1 + storage_offset - input_offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        if 0 not in size
        else 0
    )
    length = max(reach, end, 0)
    places = arange(length).as_strided(input_sizes, input_strides).reshape(-1)
    flat = zeros([length], dtype=grad.dtype).index_add(0, places, grad.reshape(-1))
    shown = zeros([length], dtype=grad.dtype).index_add(0, places, ones_like(grad).reshape(-1))
    return (flat / ops.where(shown == 0, 1, shown)).as_strided(size, stride, storage_offset - input_offset)


def split_with_sizes_backward(
    grads: Sequence[Tensor | None], split_sizes: Sequence[int], dim: int, sizes: Sequence[int]
) -> Tensor:
    """The gradients of the parts, one after the other; parts without a gradient count as zeros."""
    known = next(g for g in grads if g is not None)
    d = dim + len(sizes) if dim < 0 else dim
    parts = []
    for grad, length in zip(grads, split_sizes, strict=True):
        shape = list(sizes)
        shape[d] = length
        parts.append(zeros(shape, dtype=known.dtype) if grad is None else grad)
    return ops.cat(parts, d)


def split_backward(grads: Sequence[Tensor | None], split_size: int, dim: int, sizes: Sequence[int]) -> Tensor:
    """As split_with_sizes_backward, for parts of one size (the last may be smaller)."""
    total = sizes[dim]
    lengths = [split_size] * len(grads)
    lengths[-1] = total - split_size * (len(grads) - 1)
    return split_with_sizes_backward(grads, lengths, dim, sizes)


def unbind_backward(grads: Sequence[Tensor | None], dim: int, sizes: Sequence[int]) -> Tensor:
    """The gradients of the places along a dim, stacked; places without a gradient count as zeros."""
    known = next(g for g in grads if g is not None)
    d = dim + len(sizes) if dim < 0 else dim
    shape = [n for i, n in enumerate(sizes) if i != d]
    return ops.stack([zeros(shape, dtype=known.dtype) if g is None else g for g in grads], d)


def chunks_of_nothing(self: Tensor, chunks: int, dim: int) -> list[Tensor]:
    """As many views as chunks were asked for of a dim without elements."""
    return list(self.split([0] * chunks, dim))


def cat_backward(grad: Tensor, lengths: Sequence[int], dim: int) -> list[Tensor]:
    """The parts of a gradient that belong to the tensors of cat; -1 marks one that cat left out."""
    at = 0
    parts = []
    for length in lengths:
        if length < 0:
            parts.append(zeros([0], dtype=grad.dtype))
        else:
            parts.append(grad.narrow(dim, at, length))
            at += length
    return parts


def matmul_batched(self: Tensor, other: Tensor) -> Tensor:
    """The matmul where a side has more than two dims: one large product where the other has at most two, else a batch.

    Raises:
        RuntimeError: the inner sizes differ, or the leading dims do not broadcast.

    """
    if self.ndim == 0 or other.ndim == 0:
        raise RuntimeError(
            f"cygrad: matmul: both arguments to matmul need to be at least 1D, but they are {self.ndim}D and "
            f"{other.ndim}D"
        )
    if self.ndim >= 3 and other.ndim <= 2:
        return _folded(self, other)
    if self.ndim == 1:
        return _folded(other.mT, self)
    if self.ndim == 2:
        # (n, m) @ (..., m, p): the transposed product is one large one
        return _folded(other.mT, self.t()).mT.contiguous()
    batch = _broadcast(self.shape[:-2], other.shape[:-2])
    count = _product(batch)
    n, m = self.shape[-2:]
    k, p = other.shape[-2:]
    left = self.expand([*batch, n, m]).reshape(count, n, m)
    right = other.expand([*batch, k, p]).reshape(count, k, p)
    return ops._unsafe_view(left.bmm(right), [*batch, n, p])


def _folded(many: Tensor, one: Tensor) -> Tensor:
    """The product of a tensor of three or more dims, its leading dims taken as rows, and a matrix or vector."""
    rows = many.shape[:-1]
    flat = many.reshape(_product(rows), many.shape[-1])
    if one.ndim == 1:
        return ops._unsafe_view(flat.mv(one), rows)
    return ops._unsafe_view(flat.mm(one), [*rows, one.shape[-1]])


def linear_batched(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``input @ weight.T + bias`` where the input is no matrix: as one product of a matrix where that needs no copy."""
    if input.ndim == 3 and bias.ndim == 1 and weight.ndim == 2 and input.is_contiguous():
        rows = input.shape[:-1]
        flat = input.view(_product(rows), input.shape[-1])
        return ops.addmm(bias, flat, weight.t()).view([*rows, weight.shape[0]])
    return ops.matmul(input, weight.t()) + bias


def taken_along_dim(self: Tensor, indices: Tensor, dim: int | None) -> Tensor:
    """The gather whose index broadcasts against the tensor in all dims but ``dim``.

    Raises:
        RuntimeError: the numbers of dims differ, or the indices are not int64.

    """
    if dim is None:
        return self.reshape(-1).gather(0, indices.reshape(-1))
    if indices.dtype is not int64:
        raise RuntimeError(f"cygrad: take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if self.ndim != indices.ndim:
        raise RuntimeError(
            "cygrad: take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{self.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    d = dim + self.ndim if dim < 0 else dim
    if not 0 <= d < max(self.ndim, 1):
        raise IndexError(f"cygrad: take_along_dim(): Dimension out of range: dim {dim} of a tensor of {self.ndim} dims")
    if self.ndim == 0:
        return self.gather(0, indices)
    both = _broadcast(
        [1 if i == d else n for i, n in enumerate(self.shape)],
        [1 if i == d else n for i, n in enumerate(indices.shape)],
    )
    ours = [self.shape[d] if i == d else n for i, n in enumerate(both)]
    theirs = [indices.shape[d] if i == d else n for i, n in enumerate(both)]
    return self.expand(ours).gather(d, indices.expand(theirs))


def detached(self: Tensor) -> Tensor:
    """The function form of Tensor.detach."""
    return self.detach()


def dropped_out(self: Tensor, p: float, train: bool) -> Tensor:
    """The function form of dropout, whose random numbers are drawn where nn.functional draws them.

    Raises:
        RuntimeError: p lies outside of [0, 1].

    """
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"cygrad: dropout probability has to be between 0 and 1, but got {p}")
    from cygrad.nn.functional import dropout

    return dropout(self, p, train)


def prod_backward(grad: Tensor, self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The VJP of a product: the gradient times the conjugate of the product of all other elements."""
    if not dim:
        return prod_backward(grad.reshape(1), self.reshape(-1), [0], True).reshape(self.shape)
    d = dim[0] + self.ndim if dim[0] < 0 else dim[0]
    if self.ndim == 0:
        return grad
    if not keepdim:
        grad = grad.unsqueeze(d)
    if self.shape[d] == 0:
        return grad.expand(self.shape)
    return grad * _products_of_others(self, d).conj()


def prod_forward(t: Tensor, self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The JVP of a product: the sum of each element's tangent times the product of all other elements."""
    if not dim:
        return prod_forward(t.reshape(-1), self.reshape(-1), [0], False)
    if self.ndim == 0:
        return t
    if self.shape[dim[0]] == 0:
        return t.sum(dim[0], keepdim)
    return (t * _products_of_others(self, dim[0])).sum(dim[0], keepdim)


def _products_of_others(self: Tensor, dim: int) -> Tensor:
    """For each element the product of all others along a dim: those before times those behind, without a division."""
    n = self.shape[dim]
    ones = ones_like(self.narrow(dim, 0, 1))
    before = ops.cat([ones, self.narrow(dim, 0, n - 1)], dim).cumprod(dim)
    behind = ops.cat([ones, self.flip(dim).narrow(dim, 0, n - 1)], dim).cumprod(dim).flip(dim)
    return before * behind


def cumprod_backward(grad: Tensor, self: Tensor, dim: int) -> Tensor:
    """The VJP of a running product, right with zeros: entry i gets the sum over j of grad[j] * conj(slopes[i, j])."""
    if self.ndim == 0 or self.shape[dim] == 0:
        return grad
    return (grad.movedim(dim, -1).unsqueeze(-2) * _running_slopes(self, dim).conj()).sum(-1).movedim(-1, dim)


def cumprod_forward(t: Tensor, self: Tensor, dim: int) -> Tensor:
    """The JVP of a running product, right with zeros: entry j gets the sum over i of t[i] * slopes[i, j]."""
    if self.ndim == 0 or self.shape[dim] == 0:
        return t
    return (t.movedim(dim, -1).unsqueeze(-1) * _running_slopes(self, dim)).sum(-2).movedim(-1, dim)


def _running_slopes(self: Tensor, dim: int) -> Tensor:
    """The derivative [..., i, j] of entry j of a running product by element i of the (last) dim: 0 for j < i.

    It is the product over k <= j, k != i: the running product before i, times the running product that starts behind i.
    """
    n = self.shape[dim]
    rows = self.movedim(dim, -1)
    ones = ones_like(rows.narrow(-1, 0, 1))
    before = ops.cat([ones, rows.narrow(-1, 0, n - 1)], -1).cumprod(-1)
    # behind[..., i, j]: the product over i < k <= j; 1 for j <= i
    square = rows.unsqueeze(-2).expand([*rows.shape[:-1], n, n])
    positions = arange(n)
    later = positions.unsqueeze(0) > positions.unsqueeze(1)
    behind = ops.where(later, square, 1).cumprod(-1)
    earlier = later.logical_not().logical_and(positions.unsqueeze(0) != positions.unsqueeze(1))
    return ops.where(earlier, 0, before.unsqueeze(-1) * behind)


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for n in sizes:
        result *= n
    return result


def _broadcast(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """The broadcast of two shapes."""
    n = max(len(a), len(b))
    out = []
    for x, y in zip([1] * (n - len(a)) + list(a), [1] * (n - len(b)) + list(b), strict=True):
        if x != y and 1 not in (x, y):
            raise RuntimeError(f"cygrad: matmul: the batch dims {list(a)} and {list(b)} do not broadcast")
        out.append(y if x == 1 else x)
    return out
