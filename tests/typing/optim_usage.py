"""A downstream user of the optimizers, for type checkers alone: options, state and the loss of a closure are typed.

Both mypy --strict and pyright have to accept this file. The lines that they must refuse carry an expected error, and an
expected error that does not come is an error itself.
"""

from typing import assert_type

import cygrad
from cygrad import Tensor, optim
from cygrad.optim.optimizer import ParamGroup, ParamsT, required


def makes(weights: list[Tensor], named: dict[str, Tensor]) -> None:
    optim.SGD(weights, lr=0.1, momentum=0.9, nesterov=True)
    optim.SGD(named.values())
    optim.Adam(named.items(), betas=(0.9, 0.99), amsgrad=True)
    optim.AdamW([{"params": weights, "lr": 0.1}, {"params": weights[0]}], weight_decay=0.1)
    optim.AdamW((weight for weight in weights), lr=cygrad.tensor(0.1))


def uses_any(optimizer: optim.Optimizer, loss: Tensor) -> None:
    """A plain `Optimizer` in an annotation means any of them."""
    optimizer.zero_grad()
    assert_type(optimizer.step(), None)
    assert_type(optimizer.step(lambda: loss), Tensor)
    for group in optimizer.param_groups:
        assert_type(group["params"], list[Tensor])
        assert_type(group["lr"], float | Tensor)
        group["lr"] = 0.1
    optimizer.add_param_group({"params": [loss], "lr": 0.5})
    saved = optimizer.state_dict()
    assert_type(saved["param_groups"], list[dict[str, object]])
    optimizer.load_state_dict(saved)


def uses_each(sgd: optim.SGD, adam: optim.AdamW, weight: Tensor) -> None:
    for optimizer in (sgd, adam):
        uses_any(optimizer, weight)
    assert_type(sgd.param_groups[0]["momentum"], float)
    assert_type(sgd.state[weight].get("momentum_buffer"), Tensor | None)
    assert_type(adam.param_groups[0]["betas"], tuple[float, float])
    assert_type(adam.state[weight]["exp_avg"], Tensor)
    assert_type(adam.step(lambda: 3), int)


class Scaled(ParamGroup):
    scale: float


class Scaling(optim.Optimizer[Scaled, dict[str, Tensor]]):
    """An optimizer of the user's own, with an option and state of its own."""

    def __init__(self, params: ParamsT, scale: float = 2.0) -> None:
        super().__init__(params, {"lr": required, "scale": scale})

    def update(self) -> None:
        for group in self.param_groups:
            assert_type(group["scale"], float)
            for param in group["params"]:
                self.state[param]["last"] = param


def mistakes(sgd: optim.SGD, weights: list[Tensor]) -> None:
    optim.SGD([1.0, 2.0])  # type: ignore[list-item]
    optim.SGD(weights, momentun=0.9)  # type: ignore[call-arg]
    optim.Adam(weights, betas=0.9)  # type: ignore[arg-type]
    sgd.param_groups[0]["betas"]  # type: ignore[typeddict-item]
    sgd.param_groups[0]["lr"] = "fast"  # type: ignore[typeddict-item]
    sgd.step(3)  # type: ignore[call-overload]
