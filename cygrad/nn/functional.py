"""Activation functions, losses and their like under the names of ``torch.nn.functional``.

Thin, typed fronts of the operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import cygrad
from cygrad._core.tensor import Tensor

__all__ = [
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "dropout",
    "elu",
    "gelu",
    "hardtanh",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: shapes (..., m), (n, m), (n) to (..., n)."""
    return cygrad.linear(input, weight, bias)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Elementwise ``max(input, 0)``; the gradient at 0 is 0."""
    return input.relu_() if inplace else cygrad.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Elementwise ``min(max(input, 0), 6)``."""
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Elementwise ``input`` where positive, else ``negative_slope * input``."""
    return _settle(input, cygrad.leaky_relu(input, negative_slope), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Elementwise ``input`` where positive, else ``alpha * (exp(input) - 1)`` (arXiv:1511.07289)."""
    return _settle(input, cygrad.elu(input, alpha), inplace)


def gelu(input: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """``input`` times the normal distribution's cumulative at ``input`` (arXiv:1606.08415).

    ``approximate``: "none", or "tanh" for the formula with tanh.
    """
    return cygrad.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Elementwise ``input * sigmoid(input)``."""
    return _settle(input, cygrad.silu(input), inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Elementwise ``log(1 + exp(beta * input)) / beta``, and ``input`` where ``beta * input`` exceeds ``threshold``."""
    return cygrad.softplus(input, beta, threshold)


def logsigmoid(input: Tensor) -> Tensor:
    """Elementwise ``log(sigmoid(input))``, computed without overflow."""
    return cygrad.log_sigmoid(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Elementwise limits to ``min_val`` and ``max_val``."""
    return _settle(input, cygrad.hardtanh(input, min_val, max_val), inplace)


def sigmoid(input: Tensor) -> Tensor:
    """Elementwise ``1 / (1 + exp(-input))``."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Elementwise hyperbolic tangent."""
    return input.tanh()


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: cygrad.dtype | None = None) -> Tensor:
    """``exp(input)`` over its sum along ``dim``; computed in ``dtype`` if given.

    Without ``dim``: 0 for 0, 1 and 3 dims, else 1.
    """
    return cygrad.softmax(input, _softmax_dim(input, dim), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: cygrad.dtype | None = None
) -> Tensor:
    """The logarithm of ``softmax``, computed without overflow."""
    return cygrad.log_softmax(input, _softmax_dim(input, dim), dtype)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to zero with probability ``p`` and scale the others by ``1 / (1 - p)``.

    The input itself when not ``training``.

    Raises ValueError unless p lies in [0, 1].
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"cygrad.nn.functional.dropout: dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    mask = cygrad.zeros_like(input) if p == 1.0 else cygrad.empty_like(input).bernoulli_(1.0 - p).div_(1.0 - p)
    return input.mul_(mask) if inplace else input * mask


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: None = None,
    reduce: None = None,
    reduction: Literal["none", "mean", "sum"] = "mean",
) -> Tensor:
    """The squared differences: their mean, their sum, or (reduction "none") all of them. Shapes broadcast."""
    return cygrad.mse_loss(input, target, reduction=reduction)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    ignore_index: int = -100,
    reduce: None = None,
    reduction: Literal["none", "mean", "sum"] = "mean",
) -> Tensor:
    """The negative log-likelihood of classes.

    Minus the entries of ``input`` (N, C, ...) that ``target`` (N, ...) names, weighted by class.
    """
    return cygrad.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    ignore_index: int = -100,
    reduce: None = None,
    reduction: Literal["none", "mean", "sum"] = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Softmax over the classes and the negative log-likelihood of ``target``.

    Class indices (N, ...) or class probabilities (N, C, ...).
    """
    if target.is_floating_point() or label_smoothing > 0.0:
        return _soft_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    return cygrad.nll_loss(
        cygrad.log_softmax(input, 1 if input.dim() > 1 else 0),
        target,
        weight,
        ignore_index=ignore_index,
        reduction=reduction,
    )


def _soft_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: Literal["none", "mean", "sum"],
    label_smoothing: float,
) -> Tensor:
    """Cross entropy with class probabilities, or with smoothed labels (arXiv:1512.00567)."""
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"cygrad.nn.functional.cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}"
        )
    dim = 1 if input.dim() > 1 else 0
    classes = input.shape[dim]
    scores = cygrad.log_softmax(input, dim)
    shape = [1] * input.dim()
    shape[dim] = classes
    weights = None if weight is None else weight.reshape(shape)
    if target.is_floating_point():
        if target.dim() > 0 and input.dim() > 0 and target.shape[0] != input.shape[0]:
            raise ValueError(
                f"cygrad.nn.functional.cross_entropy: Expected input batch_size ({input.shape[0]}) to match "
                f"target batch_size ({target.shape[0]})."
            )
        if target.shape != input.shape:
            raise RuntimeError(
                f"cygrad.nn.functional.cross_entropy: class probabilities need the input's shape {list(input.shape)}, "
                f"but got {list(target.shape)}"
            )
        smooth = target * (1.0 - label_smoothing) + label_smoothing / classes if label_smoothing else target
        losses = -(scores * smooth if weights is None else scores * smooth * weights).sum(dim)
        if reduction == "mean":
            return losses.sum() / (input.numel() // classes)
        return losses.sum() if reduction == "sum" else losses
    hard = cygrad.nll_loss(scores, target, weight, ignore_index=ignore_index, reduction=reduction)
    spread = -(scores if weights is None else scores * weights).sum(dim)
    ignored = target == ignore_index
    spread = spread.masked_fill(ignored, 0.0)
    if reduction == "mean":
        if weight is None:
            total = (~ignored).sum().to(spread.dtype)
        else:
            total = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0).sum()
        spread = spread.sum() / total
    elif reduction == "sum":
        spread = spread.sum()
    return hard * (1.0 - label_smoothing) + spread * (label_smoothing / classes)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: None = None,
    reduce: None = None,
    reduction: Literal["none", "mean", "sum"] = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of independent yes/no targets in [0, 1] with ``sigmoid(input)``, computed without overflow.

    Shapes must agree.
    """
    if target.shape != input.shape:
        raise ValueError(
            f"cygrad.nn.functional.binary_cross_entropy_with_logits: Target size ({target.shape}) must be the same as "
            f"input size ({input.shape})"
        )
    return cygrad.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction=reduction)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Put ``value`` (0 if None) around the tensor.

    ``pad`` has (before, after) for the last dim, then the one before it, and so on; negative: cut.

    Raises NotImplementedError for modes other than "constant".
    """
    if mode != "constant":
        raise NotImplementedError(f"cygrad.nn.functional.pad: only the mode 'constant' exists, not {mode!r}")
    return cygrad.constant_pad_nd(input, list(pad), 0 if value is None else value)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 rows with a 1 at the class index: shape (...) to (..., num_classes).

    ``num_classes`` of -1: one more than the largest index.
    """
    if num_classes < 0:
        num_classes = int(tensor.max().item()) + 1
    return cygrad.zeros([*tensor.shape, num_classes], dtype=cygrad.int64).scatter(-1, tensor.unsqueeze(-1), 1)


def _settle(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """An in-place activation whose backward needs the input: torch writes the result over it."""
    return input.copy_(result) if inplace else result


def _softmax_dim(input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    return 0 if input.dim() in (0, 1, 3) else 1
