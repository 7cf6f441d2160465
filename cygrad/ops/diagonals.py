"""Writing to the diagonal of a tensor: a view and a write, which is how autograd sees it, too."""

from __future__ import annotations

from cygrad._core.tensor import Tensor, _install_methods


def fill_diagonal_(self: Tensor, fill_value: complex, wrap: bool = False) -> Tensor:
    """Write a number to the main diagonal of a tensor of two dims, or of more that are all equal, in place.

    ``wrap``: in a matrix of more rows than columns the diagonal starts again below each time it has come to its end,
    one row left out. Returns the tensor. RuntimeError for fewer dims, for unequal ones, and where writing in place is
    refused.
    """
    if self.ndim < 2:
        raise RuntimeError(f"cygrad.Tensor.fill_diagonal_: dimensions must larger than 1, not {self.ndim}")
    height, width = self.shape[:2]
    if self.ndim > 2 and any(size != height for size in self.shape):
        raise RuntimeError(
            f"cygrad.Tensor.fill_diagonal_: all dimensions of input must be of equal length, not {tuple(self.shape)}"
        )
    step, start, count = sum(self.stride()), self.storage_offset(), min(height, width)
    self.as_strided((count,), (step,), start).fill_(fill_value)
    if wrap and self.ndim == 2 and height > width + 1:
        rest = (height * width + width) // (width + 1) - count
        self.as_strided((rest,), (step,), start + self.stride(0) * (width + 1)).fill_(fill_value)
    return self


_install_methods({"fill_diagonal_": fill_diagonal_})

__all__ = ["fill_diagonal_"]
