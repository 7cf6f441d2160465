"""Random programs with writes against the pure program that they mean: values, and gradients of the leaves.

Why it exists: see `pure_reference.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings, strategies as st
from pure_reference import SHAPES, Register, fresh
from support import difference, outcome

import cygrad

Pure = Callable[[cygrad.Tensor, cygrad.Tensor], cygrad.Tensor]
Write = Callable[[cygrad.Tensor, cygrad.Tensor], object]


def _assign(x: cygrad.Tensor, y: cygrad.Tensor) -> object:
    x[...] = y
    return x


def _assigned(x: cygrad.Tensor, y: cygrad.Tensor) -> cygrad.Tensor:
    """What an assignment writes: the value may have more leading dims of 1 than the target."""
    while y.dim() > x.dim() and y.shape[0] == 1:
        y = y.squeeze(0)
    return y


# name: (the write, the new value that it means)
WRITES: dict[str, tuple[Write, Pure]] = {
    "add": (lambda x, y: x.add_(y), lambda x, y: x + y),
    "sub": (lambda x, y: x.sub_(y), lambda x, y: x - y),
    "mul": (lambda x, y: x.mul_(y), lambda x, y: x * y),
    "scale": (lambda x, y: x.mul_(0.5), lambda x, y: x * 0.5),
    "neg": (lambda x, y: x.neg_(), lambda x, y: -x),
    "sin": (lambda x, y: x.sin_(), lambda x, y: x.sin()),
    "tanh": (lambda x, y: x.tanh_(), lambda x, y: x.tanh()),
    "relu": (lambda x, y: x.relu_(), lambda x, y: x.relu()),
    "square": (lambda x, y: x.square_(), lambda x, y: x * x),
    "zero": (lambda x, y: x.zero_(), lambda x, y: x * 0),
    "fill": (lambda x, y: x.fill_(1.5), lambda x, y: x * 0 + 1.5),
    "copy": (lambda x, y: x.copy_(y), lambda x, y: y),
    "assign": (_assign, _assigned),
    "lerp": (lambda x, y: x.lerp_(y, 0.25), lambda x, y: x + 0.25 * (y - x)),
    "add alpha": (lambda x, y: x.add_(y, alpha=2), lambda x, y: x + 2 * y),
    "addcmul": (lambda x, y: x.addcmul_(y, y, value=0.5), lambda x, y: x + 0.5 * y * y),
    "addcdiv": (lambda x, y: x.addcdiv_(y, y * y + 1), lambda x, y: x + y / (y * y + 1)),
    "masked fill": (
        lambda x, y: x.masked_fill_(x.detach() > 0, 0.25),
        lambda x, y: cygrad.where(x.detach() > 0, 0.25, x),
    ),
}
COMPUTATIONS: dict[str, Pure] = {
    "add": lambda x, y: x + y,
    "scale": lambda x, y: x * 0.25,
    "sin": lambda x, y: x.sin(),
    "sum": lambda x, y: x.sum(),
    "clone": lambda x, y: x.clone(),
}


@dataclass(frozen=True)
class Line:
    """One line of a program; registers are counted round."""

    kind: str
    name: str
    operand: int
    other: int
    number: int
    recorded: bool


NUMBERS = st.integers(0, 30)
LINES = st.one_of(
    *[st.builds(Line, st.just("view"), st.sampled_from(sorted(SHAPES)), NUMBERS, NUMBERS, NUMBERS, st.just(True))] * 3,
    *[st.builds(Line, st.just("write"), st.sampled_from(sorted(WRITES)), NUMBERS, NUMBERS, NUMBERS, st.booleans())] * 4,
    st.builds(
        Line, st.just("compute"), st.sampled_from(sorted(COMPUTATIONS)), NUMBERS, NUMBERS, NUMBERS, st.just(True)
    ),
    st.builds(Line, st.just("detach"), st.just(""), NUMBERS, NUMBERS, NUMBERS, st.just(True)),
)


class Machines:
    """The same program in cygrad as it is, and as the pure program."""

    def __init__(self, seeds: list[int]) -> None:
        self.leaves: list[tuple[cygrad.Tensor, cygrad.Tensor]] = []
        self.registers: list[tuple[cygrad.Tensor, Register]] = []
        for seed in seeds:
            shape = ((2, 3), (3,), (3, 3), (1, 3))[seed % 4]
            numbers = np.asarray(np.random.default_rng(seed).uniform(-1, 1, shape))
            mine, pure = (cygrad.tensor(numbers, requires_grad=True) for _ in range(2))
            self.leaves.append((mine, pure))
            self.registers.append((mine * 1, fresh(pure * 1)))

    def run(self, line: Line) -> None:
        """Does a line in both; one that cygrad refuses is left out of both."""
        x, pure = self.registers[line.operand % len(self.registers)]
        y, other = self.registers[line.other % len(self.registers)]
        if line.kind == "detach":
            self.registers.append((x.detach(), pure.view(pure.positions, attached=False)))
        elif line.kind == "view":
            self.look(line, x, pure)
        elif line.kind == "compute":
            found = outcome(lambda: COMPUTATIONS[line.name](x, y))
            if found.ok:
                assert isinstance(found.value, cygrad.Tensor)
                self.registers.append((found.value, fresh(COMPUTATIONS[line.name](pure.read(), other.read()))))
        else:
            # What is written into a detached tensor, recorded, would give that tensor a graph of its own.
            recorded = line.recorded and pure.attached
            write, meant = WRITES[line.name]
            with cygrad.set_grad_enabled(recorded):
                found = outcome(lambda: write(x, y))
            if found.ok:
                pure.write(meant(pure.read(), other.read()), recorded)

    def look(self, line: Line, x: cygrad.Tensor, pure: Register) -> None:
        """A view, by its operation and by its positions."""
        views: dict[str, Callable[[], cygrad.Tensor]] = {
            "select": lambda: x[line.number % 5 - 2],
            "select last": lambda: x[..., line.number % 5 % 2],
            "slice": lambda: x[line.number % 5 % 2 :],
            "slice step": lambda: x[::2],
            "slice columns": lambda: x[:, line.number % 5 % 3 :],
            "transpose": lambda: x.transpose(0, line.number % 5 - 2),
            "permute": lambda: x.permute(*range(x.dim() - 1, -1, -1)),
            "view": lambda: x.view(-1),
            "unsqueeze": lambda: x.unsqueeze(line.number % 5 - 2),
            "squeeze": lambda: x.squeeze(),
            "diagonal": lambda: x.diagonal(line.number % 5 % 2 - 1),
            "whole": lambda: x[...],
        }
        found = outcome(views[line.name])
        if found.ok:
            assert isinstance(found.value, cygrad.Tensor)
            positions = SHAPES[line.name](pure.positions, line.number % 5)
            self.registers.append((found.value, pure.view(positions)))

    def compare(self) -> str | None:
        """What differs: a value, or a leaf's gradient (unless backward would need an overwritten value)."""
        for number, (x, pure) in enumerate(self.registers):
            found = difference(x, pure.read(), 100.0)
            if found:
                return f"register {number}: {found}"
        total, meant = cygrad.zeros((), dtype=cygrad.float64), cygrad.zeros((), dtype=cygrad.float64)
        for x, pure in self.registers:
            total = total + (x * 1.5).sum()
            meant = meant + (pure.read() * 1.5).sum()
        if not outcome(lambda: total.backward()).ok:
            return None
        meant.backward()
        for number, (mine, pure_leaf) in enumerate(self.leaves):
            found = difference(mine.grad, pure_leaf.grad, 100.0)
            if found:
                return f"gradient of leaf {number}: {found}"
        return None


@given(st.lists(st.integers(0, 999), min_size=2, max_size=3), st.lists(LINES, min_size=3, max_size=20))
@settings(max_examples=1000)
def test_programs_mean_their_pure_program(seeds: list[int], lines: list[Line]) -> None:
    machines = Machines(seeds)
    for line in lines:
        machines.run(line)
    found = machines.compare()
    assert found is None, found + "\n" + "\n".join(map(str, lines))


def test_most_programs_have_a_backward() -> None:
    """A reference that is never asked for a gradient would show little."""
    compared = 0

    @given(st.lists(st.integers(0, 999), min_size=2, max_size=3), st.lists(LINES, min_size=3, max_size=20))
    @settings(max_examples=100, database=None)
    def count(seeds: list[int], lines: list[Line]) -> None:
        nonlocal compared
        machines = Machines(seeds)
        for line in lines:
            machines.run(line)
        machines.compare()
        compared += all(leaf.grad is not None for leaf, _ in machines.leaves)

    count()
    assert compared > 50
