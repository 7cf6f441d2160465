"""The pure program behind a program with writes: every tensor is a place in a base, and a write makes a new base.

Why it exists: the oracle may share a mistake with cygrad; this cannot, since it has no views and no writes. A register
is a base and a map of positions into it; reading takes those positions, writing makes the base's next value with
`index_put`. Both are ordinary recorded operations, so gradients are those of the pure program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import cygrad

Positions = npt.NDArray[np.int64]


@dataclass
class Base:
    """One memory, as the value that it has now: flat, in the order of the positions."""

    value: cygrad.Tensor


@dataclass
class Register:
    """Some elements of a base, in the shape of the tensor. `attached`: gradients pass."""

    base: Base
    positions: Positions
    attached: bool = True

    def read(self) -> cygrad.Tensor:
        """The tensor's value now, recorded."""
        flat = self.base.value if self.attached else self.base.value.detach()
        index = cygrad.from_numpy(self.positions.reshape(-1).copy())
        return flat.index_select(0, index).reshape(self.positions.shape)

    def view(self, positions: Positions, attached: bool = True) -> Register:
        """Other elements of the same base."""
        return Register(self.base, np.asarray(positions), self.attached and attached)

    def write(self, new: cygrad.Tensor, recorded: bool) -> None:
        """The base has `new` in this register's place from now on. One that is not recorded changes the value alone."""
        old = self.base.value
        flat = self.positions.reshape(-1)
        last = {int(place): k for k, place in enumerate(flat)}
        places = cygrad.tensor(list(last), dtype=cygrad.int64)
        values = (
            new.expand(self.positions.shape)
            .reshape(-1)
            .index_select(0, cygrad.tensor(list(last.values()), dtype=cygrad.int64))
        )
        if recorded and self.attached:
            self.base.value = old.index_put((places,), values)
        else:
            changed = old.detach().index_put((places,), values.detach())
            self.base.value = old + (changed - old.detach())


def fresh(value: cygrad.Tensor) -> Register:
    """A tensor of memory of its own."""
    return Register(Base(value.reshape(-1)), np.arange(value.numel()).reshape(tuple(value.shape)))


# The views of `random_mutation` that the reference knows, as functions of an array of positions.
SHAPES: dict[str, Callable[[Positions, int], Positions]] = {
    "select": lambda p, n: np.asarray(p[n - 2]),
    "select last": lambda p, n: np.asarray(p[..., n % 2]),
    "slice": lambda p, n: p[n % 2 :],
    "slice step": lambda p, n: p[::2],
    "slice columns": lambda p, n: p[:, n % 3 :],
    "transpose": lambda p, n: p if p.ndim == 0 else np.swapaxes(p, 0, n - 2),
    "permute": lambda p, n: p.transpose(),
    "view": lambda p, n: p.reshape(-1),
    "unsqueeze": lambda p, n: np.expand_dims(p, n - 2),
    "squeeze": lambda p, n: p.squeeze(),
    "diagonal": lambda p, n: p.diagonal(n % 2 - 1),
    "whole": lambda p, n: p,
}
