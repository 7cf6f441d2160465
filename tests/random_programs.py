"""Random programs: what a step of one is, how it runs in either library, and how Hypothesis draws them.

Why it exists: single operations can all be right while their order is not: what a backward frees, what detach cuts,
which gradients pile up. A program is a list of steps over registers that hold tensors. Every step is a small class
with `run`, so that new kinds (writes in place, views of views) join by being added to `STEPS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Protocol

import numpy as np
from hypothesis import strategies as st

SHAPES: tuple[tuple[int, ...], ...] = ((), (2,), (3,), (2, 3), (3, 2), (1, 3), (2, 1), (3, 3))


class RecordedTensor(Protocol):
    """What the steps ask of a tensor of either library."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> object: ...

    grad: RecordedTensor | None

    def dim(self) -> int: ...
    def __add__(self, other: object) -> RecordedTensor: ...
    def __sub__(self, other: object) -> RecordedTensor: ...
    def __mul__(self, other: object) -> RecordedTensor: ...
    def __truediv__(self, other: object) -> RecordedTensor: ...
    def __neg__(self) -> RecordedTensor: ...
    def __matmul__(self, other: object) -> RecordedTensor: ...
    def __getitem__(self, index: object) -> RecordedTensor: ...
    def __gt__(self, other: object) -> RecordedTensor: ...
    def abs(self) -> RecordedTensor: ...
    def clone(self) -> RecordedTensor: ...
    def detach(self) -> RecordedTensor: ...
    def requires_grad_(self, requires_grad: bool) -> RecordedTensor: ...
    def retain_grad(self) -> None: ...
    def transpose(self, dim0: int, dim1: int) -> RecordedTensor: ...
    def reshape(self, *shape: int) -> RecordedTensor: ...
    def unsqueeze(self, dim: int) -> RecordedTensor: ...
    def squeeze(self) -> RecordedTensor: ...
    def expand(self, *shape: int) -> RecordedTensor: ...
    def backward(
        self,
        gradient: RecordedTensor | None,
        retain_graph: bool | None,
        create_graph: bool,
        inputs: Sequence[RecordedTensor] | None,
    ) -> None: ...


@dataclass
class Machine:
    """One library running a program: its registers, and the versions they were born with."""

    m: ModuleType
    registers: list[RecordedTensor] = field(default_factory=list)
    born: list[int] = field(default_factory=list)

    def pick(self, number: int) -> RecordedTensor:
        """The register of this number, counted round."""
        return self.registers[number % len(self.registers)]


class Step(Protocol):
    """One line of a program."""

    def run(self, machine: Machine) -> Sequence[RecordedTensor | None]:
        """Does the step; what it returns is compared, and its tensors become registers."""


Compute = Callable[[ModuleType, Sequence[RecordedTensor], int], Sequence[RecordedTensor] | RecordedTensor]

# name: (number of operands, what it computes from the module, the operands and one small number)
OPERATIONS: Mapping[str, tuple[int, Compute]] = {
    "neg": (1, lambda m, x, n: -x[0]),
    "sin": (1, lambda m, x, n: m.sin(x[0])),
    "tanh": (1, lambda m, x, n: m.tanh(x[0])),
    "gauss": (1, lambda m, x, n: m.exp(-(x[0] * x[0]))),
    "sigmoid": (1, lambda m, x, n: m.sigmoid(x[0])),
    "log1p": (1, lambda m, x, n: m.log1p(x[0] * x[0])),
    "sqrt": (1, lambda m, x, n: m.sqrt(x[0] * x[0] + 1)),
    "relu": (1, lambda m, x, n: m.relu(x[0])),
    "abs": (1, lambda m, x, n: x[0].abs()),
    "pow": (1, lambda m, x, n: m.pow(m.tanh(x[0]), n % 4)),
    "clamp": (1, lambda m, x, n: m.clamp(x[0], -1.0, 0.5)),
    "clone": (1, lambda m, x, n: x[0].clone()),
    "scale": (1, lambda m, x, n: x[0] * 0.5),
    "shift": (1, lambda m, x, n: x[0] + 1),
    "add": (2, lambda m, x, n: x[0] + x[1]),
    "sub": (2, lambda m, x, n: x[0] - x[1]),
    "mul": (2, lambda m, x, n: x[0] * x[1]),
    "div": (2, lambda m, x, n: x[0] / (x[1] * x[1] + 1)),
    "maximum": (2, lambda m, x, n: m.maximum(x[0], x[1])),
    "where": (2, lambda m, x, n: m.where(x[0] > 0, x[1], x[0])),
    "matmul": (2, lambda m, x, n: x[0] @ x[1] + 1),  # which node a product of vectors ends in is no promise
    "lerp": (2, lambda m, x, n: m.lerp(x[0], x[1], 0.25)),
    "sum": (1, lambda m, x, n: m.sum(x[0])),
    "sum dim": (1, lambda m, x, n: m.sum(x[0], n - 2)),
    "mean dim": (1, lambda m, x, n: m.mean(x[0], n - 2, keepdim=n % 2 == 0)),
    "prod": (1, lambda m, x, n: m.prod(m.tanh(x[0]))),
    "amax": (1, lambda m, x, n: m.amax(x[0], n - 2)),
    "max dim": (1, lambda m, x, n: m.max(x[0], n - 2)[0]),
    "cumsum": (1, lambda m, x, n: m.cumsum(x[0], n - 2)),
    "logsumexp": (1, lambda m, x, n: m.logsumexp(x[0], n - 2)),
    "softmax": (1, lambda m, x, n: m.softmax(x[0], n - 2)),
    "var": (1, lambda m, x, n: m.var(x[0], n - 2, correction=0)),
    "reshape": (1, lambda m, x, n: x[0].reshape(-1)),
    "transpose": (1, lambda m, x, n: x[0].transpose(0, n - 2)),
    "unsqueeze": (1, lambda m, x, n: x[0].unsqueeze(n - 2)),
    "squeeze": (1, lambda m, x, n: x[0].squeeze()),
    "expand": (1, lambda m, x, n: x[0].expand(2, -1, 3)),
    "select": (1, lambda m, x, n: x[0][n - 2]),
    "slice": (1, lambda m, x, n: x[0][n % 2 :]),
    "index": (1, lambda m, x, n: x[0][m.tensor([0, n % 3, 0])]),
    "cat": (2, lambda m, x, n: m.cat([x[0], x[1]], n - 2)),
    "stack": (2, lambda m, x, n: m.stack([x[0], x[1]])),
    "unbind": (1, lambda m, x, n: m.unbind(x[0], 0)),
    "split": (1, lambda m, x, n: m.split(x[0], n % 3 + 1)),
    "flip": (1, lambda m, x, n: m.flip(x[0], (0,))),
    "tril": (1, lambda m, x, n: m.tril(x[0], n - 2)),
}


@dataclass(frozen=True)
class Leaf:
    """A new leaf. Its numbers are eighths, which sums and products keep exact."""

    shape: tuple[int, ...]
    seed: int
    requires_grad: bool

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        drawn = np.random.default_rng(self.seed).integers(-12, 13, self.shape) / 8
        leaf: RecordedTensor = machine.m.from_numpy(np.asarray(drawn, dtype=np.float64))
        return [leaf.requires_grad_(self.requires_grad)]


@dataclass(frozen=True)
class Apply:
    """One operation, recorded or not."""

    name: str
    operands: tuple[int, ...]
    number: int
    grad_mode: bool

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        _, compute = OPERATIONS[self.name]
        with machine.m.set_grad_enabled(self.grad_mode):
            result = compute(machine.m, [machine.pick(operand) for operand in self.operands], self.number)
        return list(result) if isinstance(result, list | tuple) else [result]  # type: ignore[list-item]


@dataclass(frozen=True)
class Detach:
    """A tensor cut out of the graph."""

    operand: int

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        return [machine.pick(self.operand).detach()]


@dataclass(frozen=True)
class RequiresGrad:
    """Turns recording on or off for a leaf; refused for others when it turns off."""

    operand: int
    requires_grad: bool

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        machine.pick(self.operand).requires_grad_(self.requires_grad)
        return []


@dataclass(frozen=True)
class RetainGrad:
    """Asks a non-leaf to keep its gradient."""

    operand: int

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        machine.pick(self.operand).retain_grad()
        return []


@dataclass(frozen=True)
class ClearGrad:
    """Forgets a gradient."""

    operand: int

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        machine.pick(self.operand).grad = None
        return []


@dataclass(frozen=True)
class Backward:
    """`Tensor.backward` with its options."""

    root: int
    with_gradient: bool
    retain_graph: bool | None
    create_graph: bool
    inputs: tuple[int, ...] | None

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        root = machine.pick(self.root)
        gradient = machine.m.ones_like(root) if self.with_gradient else None
        inputs = None if self.inputs is None else [machine.pick(number) for number in self.inputs]
        root.backward(gradient, self.retain_graph, self.create_graph, inputs)
        return []


@dataclass(frozen=True)
class Grad:
    """`autograd.grad` with its options; the gradients become registers."""

    root: int
    inputs: tuple[int, ...]
    with_gradient: bool
    retain_graph: bool | None
    create_graph: bool
    allow_unused: bool
    materialize: bool

    def run(self, machine: Machine) -> Sequence[RecordedTensor | None]:
        root = machine.pick(self.root)
        gradient = machine.m.ones_like(root) if self.with_gradient else None
        found: tuple[RecordedTensor | None, ...] = machine.m.autograd.grad(
            root,
            [machine.pick(number) for number in self.inputs],
            gradient,
            retain_graph=self.retain_graph,
            create_graph=self.create_graph,
            allow_unused=self.allow_unused,
            materialize_grads=self.materialize,
        )
        # Copies: which gradients are one tensor, where they are equal, is each engine's own affair.
        return [None if g is None else g.clone() for g in found]


REGISTERS = st.integers(0, 40)
MAYBE = st.sampled_from([None, True, False])
MOSTLY = st.sampled_from([True, True, True, True, False])
SELDOM = st.sampled_from([False, False, False, True])
SOME = st.lists(REGISTERS, min_size=1, max_size=3).map(tuple)


@st.composite
def applications(draw: st.DrawFn) -> Apply:
    """One operation of the list above."""
    name = draw(st.sampled_from(sorted(OPERATIONS)))
    count, _ = OPERATIONS[name]
    operands = tuple(draw(REGISTERS) for _ in range(count))
    return Apply(name, operands, draw(st.integers(0, 4)), draw(MOSTLY))


LEAVES = st.builds(Leaf, st.sampled_from(SHAPES), st.integers(0, 1000), MOSTLY)

# Kinds of steps, the frequent ones several times.
STEPS: tuple[st.SearchStrategy[Step], ...] = (
    *[applications()] * 6,
    LEAVES,
    st.builds(Detach, REGISTERS),
    st.builds(RequiresGrad, REGISTERS, st.booleans()),
    st.builds(RetainGrad, REGISTERS),
    st.builds(ClearGrad, REGISTERS),
    *[st.builds(Backward, REGISTERS, MOSTLY, MAYBE, SELDOM, st.none() | SOME)] * 2,
    st.builds(Grad, REGISTERS, SOME, MOSTLY, MAYBE, st.booleans(), MOSTLY, SELDOM),
)


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    """A few leaves, then steps of every kind."""
    leaves: list[Step] = list(draw(st.lists(LEAVES, min_size=2, max_size=4)))
    return leaves + draw(st.lists(st.one_of(*STEPS), min_size=3, max_size=25))


def quietly(step: Step, machine: Machine) -> Sequence[RecordedTensor | None]:
    """Runs the step without the warnings that `create_graph` and `.grad` of non-leaves give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return step.run(machine)
