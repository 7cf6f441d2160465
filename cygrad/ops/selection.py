"""Selection and comparison that are compositions: ``take_along_dim``, ``allclose``, ``dropout``, and the function form of ``detach``."""

from __future__ import annotations

import cygrad
from cygrad._core.tensor import Tensor, _install_methods

__all__ = ["allclose", "detach", "dropout", "take_along_dim"]


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether ``abs(input - other) <= atol + rtol * abs(other)`` everywhere; NaNs are equal where ``equal_nan``.

    Raises RuntimeError where dtypes differ or shapes do not broadcast.
    """
    return bool(cygrad.isclose(input, other, rtol, atol, equal_nan).all())


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The elements of ``input`` at ``indices`` along ``dim``, the other dims broadcast; without ``dim`` of the flattened input.

    Raises RuntimeError unless ``indices`` are int64 and have as many dims as ``input``; IndexError for indices out of bounds.
    """
    if not isinstance(indices, Tensor) or indices.dtype is not cygrad.int64:
        raise RuntimeError("cygrad.take_along_dim(): dtype of indices should be Long but got " + str(getattr(indices, "dtype", type(indices).__name__)))
    if dim is None:
        return input.reshape([-1]).gather(0, indices.reshape([-1]))
    if input.dim() != indices.dim():
        raise RuntimeError(
            f"cygrad.take_along_dim(): input and indices should have the same number of dimensions, but got {input.dim()} dimensions for input, "
            f"and {indices.dim()} dimensions for indices"
        )
    n = max(input.dim(), 1)
    if not -n <= dim < n:
        raise IndexError(f"cygrad.take_along_dim(): Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    d = dim % n
    if input.dim() == 0:
        return input.gather(0, indices)
    other_sizes = [1 if i == d else s for i, s in enumerate(input.shape)]
    index_sizes = [1 if i == d else s for i, s in enumerate(indices.shape)]
    shape = list(cygrad.broadcast_shapes(tuple(other_sizes), tuple(index_sizes)))
    source = input.expand([input.shape[d] if i == d else s for i, s in enumerate(shape)])
    where = indices.expand([indices.shape[d] if i == d else s for i, s in enumerate(shape)])
    return source.gather(d, where)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Set elements to zero with probability ``p`` and scale the others by ``1 / (1 - p)``; the input itself when not ``train``.

    Raises RuntimeError unless p lies in [0, 1].
    """
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"cygrad.dropout: dropout probability has to be between 0 and 1, but got {p}")
    if not train or p == 0.0:
        return input
    if p == 1.0:
        return input * cygrad.zeros_like(input)
    return input * cygrad.empty_like(input).bernoulli_(1.0 - p).div_(1.0 - p)


def detach(input: Tensor) -> Tensor:
    """A tensor that shares memory and version counter, outside of the graph."""
    return input.detach()


_install_methods({"allclose": allclose, "take_along_dim": take_along_dim})
