"""Adam and AdamW: steps scaled by running averages of the gradient and of its square."""

from collections.abc import Mapping
from typing import ClassVar, TypedDict, cast

import cygrad
from cygrad._core.tensor import Tensor
from cygrad.optim.optimizer import CommonGroup, GradientOptimizer, ParamsT

__all__ = ["Adam", "AdamGroup", "AdamState", "AdamW"]


class AdamGroup(CommonGroup):
    """The options of a parameter group of Adam and AdamW."""

    betas: tuple[float, float]
    eps: float
    amsgrad: bool
    capturable: bool
    decoupled_weight_decay: bool


class AdamState(TypedDict):
    """What Adam remembers of a parameter from its first step on; `max_exp_avg_sq` with amsgrad alone."""

    step: Tensor
    exp_avg: Tensor
    exp_avg_sq: Tensor
    max_exp_avg_sq: Tensor


class Adam(GradientOptimizer[AdamGroup, AdamState]):
    """Adam, after Kingma & Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1.

    Running averages m of the gradient and v of its square (elementwise, with `betas`), corrected for their start at
    zero, give the step ``-lr * m / (sqrt(v) + eps)``. `weight_decay` times the parameter is added to the gradient
    (L2 regularisation) or, if `decoupled_weight_decay`, times `lr` taken off the parameter (see AdamW). `amsgrad`
    divides by the largest v so far (Reddi et al., "On the convergence of Adam and beyond", 2018). The parts of a
    complex parameter are updated as two real ones.

    `params` are tensors, groups or named tensors; `lr` may be a tensor of one element, through which one can
    differentiate if `differentiable` is set. Raises ValueError for a negative `lr`, `eps` or `weight_decay`, for an
    `lr` of several elements, and for betas that are not two floats in [0, 1); RuntimeError for `fused` along with
    `differentiable` or `foreach`. `capturable` is about CUDA graphs and has no effect.
    """

    _later_options: ClassVar[Mapping[str, object]] = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        who = type(self).__name__
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError(f"{who}: Tensor lr must be 1-element, but has shape {tuple(lr.shape)}")
        if not lr >= 0.0:
            raise ValueError(f"{who}: Invalid learning rate: {lr}; it must not be negative")
        if not eps >= 0.0:
            raise ValueError(f"{who}: Invalid epsilon value: {eps}; it must not be negative")
        beta1, beta2 = betas
        for index, beta in enumerate((beta1, beta2)):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"{who}: Invalid beta parameter at index {index}: {beta}; it must be in [0, 1)")
        if not weight_decay >= 0.0:
            raise ValueError(f"{who}: Invalid weight_decay value: {weight_decay}; it must not be negative")
        if not all(isinstance(beta, float) for beta in betas):
            raise ValueError(f"{who}: betas must be both floats, but are {betas}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: Mapping[str, object]) -> None:
        super().__setstate__(state)
        # Old checkpoints count the steps in a number.
        for entry in cast("dict[Tensor, dict[str, object]]", self._state).values():
            step = entry.get("step")
            if isinstance(step, int | float):
                entry["step"] = cygrad.tensor(float(step))

    def _update(self, group: AdamGroup) -> None:
        beta1, beta2 = group["betas"]
        eps, weight_decay = group["eps"], group["weight_decay"]
        decoupled, amsgrad = group["decoupled_weight_decay"], group["amsgrad"]
        maximize, differentiable = group["maximize"], group["differentiable"]
        lr = group["lr"]
        if isinstance(lr, Tensor) and not (differentiable and lr.requires_grad):
            lr = lr.item()
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = self._state[param]
            if len(state) == 0:
                state["step"] = cygrad.tensor(0.0)
                state["exp_avg"] = cygrad.zeros_like(param)
                state["exp_avg_sq"] = cygrad.zeros_like(param)
                if amsgrad:
                    state["max_exp_avg_sq"] = cygrad.zeros_like(param)
            count, average, square = state["step"], state["exp_avg"], state["exp_avg_sq"]
            largest = state["max_exp_avg_sq"] if amsgrad else square

            if maximize:
                grad = grad.neg()
            if weight_decay:
                if decoupled:
                    param.mul_(1 - lr * weight_decay)
                else:
                    grad = grad.add(param, alpha=weight_decay)
            if param.is_complex():
                param, grad = cygrad.view_as_real(param), cygrad.view_as_real(grad)
                average, square = cygrad.view_as_real(average), cygrad.view_as_real(square)
                largest = cygrad.view_as_real(largest)

            count.add_(1)
            average.lerp_(grad, 1 - beta1)
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            if differentiable:
                # What the graph saves from here on must not be written, neither at once nor by the next step.
                average, square = average.clone(), square.clone()
            if amsgrad:
                largest.copy_((largest.clone() if differentiable else largest).maximum(square))
            else:
                largest = square

            # The corrections go into the step size and eps, as in the last paragraph of section 2 of the paper: numbers
            # that cost nothing, where dividing both averages would be two more passes over memory.
            steps = count.item()
            root = (1 - beta2**steps) ** 0.5
            step_size = lr * (root / (1 - beta1**steps))
            denominator = largest.clone().sqrt() + eps * root if differentiable else largest.sqrt().add_(eps * root)
            if isinstance(step_size, Tensor):
                param.addcmul_(average / denominator, step_size, value=-1)
            else:
                param.addcdiv_(average, denominator, value=-step_size)


class AdamW(Adam):
    """Adam with decoupled weight decay, after Loshchilov & Hutter, "Decoupled weight decay regularization" (2019).

    Every step takes ``lr * weight_decay`` times the parameter off the parameter, so that the decay is not scaled by the
    gradient's averages. Arguments and errors are those of Adam.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: Mapping[str, object]) -> None:
        super().__setstate__(state)
        # A checkpoint of Adam does not turn AdamW into Adam.
        for group in self._param_groups:
            group["decoupled_weight_decay"] = True
