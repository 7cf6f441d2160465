"""Stochastic gradient descent, with momentum: the reference for what an optimizer of this package looks like."""

from collections.abc import Mapping
from typing import ClassVar, TypedDict

from cygrad._core.tensor import Tensor
from cygrad.optim.optimizer import CommonGroup, GradientOptimizer, ParamsT

__all__ = ["SGD", "SGDGroup", "SGDState"]


class SGDGroup(CommonGroup):
    """The options of a parameter group of SGD."""

    momentum: float
    dampening: float
    nesterov: bool


class SGDState(TypedDict, total=False):
    """What SGD remembers of a parameter: nothing without momentum."""

    momentum_buffer: Tensor | None


class SGD(GradientOptimizer[SGDGroup, SGDState]):
    """Stochastic gradient descent, optionally with momentum (as torch defines it) and weight decay.

    With the gradient g (plus `weight_decay` times the parameter p; negated first if `maximize`), a step does
    ``b = momentum * b + (1 - dampening) * g`` (``b = g`` at the first step) and ``p = p - lr * b``; with `nesterov`,
    ``p = p - lr * (g + momentum * b)``. Unlike in Sutskever et al., "On the importance of initialization and momentum
    in deep learning" (2013), the learning rate multiplies the buffer, not the gradient that enters it.

    `params` are tensors, groups or named tensors; `lr` may be a tensor of one element, through which one can
    differentiate if `differentiable` is set. Raises ValueError for a negative `lr`, `momentum` or `weight_decay`, for
    an `lr` of several elements, and for `nesterov` without momentum or with dampening; RuntimeError for `fused` along
    with `differentiable` or `foreach`.
    """

    _later_options: ClassVar[Mapping[str, object]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError(f"SGD: Tensor lr must be 1-element, but has shape {tuple(lr.shape)}")
        if lr < 0.0:
            raise ValueError(f"SGD: Invalid learning rate: {lr}; it must not be negative")
        if momentum < 0.0:
            raise ValueError(f"SGD: Invalid momentum value: {momentum}; it must not be negative")
        if weight_decay < 0.0:
            raise ValueError(f"SGD: Invalid weight_decay value: {weight_decay}; it must not be negative")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                "SGD: Nesterov momentum requires a momentum and zero dampening, "
                f"but momentum is {momentum} and dampening {dampening}"
            )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _update(self, group: SGDGroup) -> None:
        momentum, weight_decay = group["momentum"], group["weight_decay"]
        gain = 1 - group["dampening"]
        nesterov, maximize = group["nesterov"], group["maximize"]
        lr = group["lr"]
        step_size = -lr.item() if isinstance(lr, Tensor) else -lr
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            if maximize:
                grad = grad.neg()
            if weight_decay:
                grad = grad.add(param, alpha=weight_decay)
            if momentum:
                state = self._state[param]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    # The gradient belongs to the parameter, and may be written before the next step.
                    buffer = state["momentum_buffer"] = grad.clone()
                else:
                    buffer.mul_(momentum).add_(grad, alpha=gain)
                grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
            if isinstance(lr, Tensor) and lr.requires_grad:
                param.addcmul_(grad, lr, value=-1)
            else:
                param.add_(grad, alpha=step_size)
