"""Functions beside those of the table: ``dropout``, and the function form of ``detach``."""

from __future__ import annotations

import cygrad
from cygrad._core.tensor import Tensor

__all__ = ["detach", "dropout"]


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Set elements to zero with probability ``p`` and scale the others by ``1 / (1 - p)``.

    The input itself when not ``train``. Raises RuntimeError unless p lies in [0, 1].
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
