"""Random programs with writes: views, writes in place, assignments, hooks and detaching beside `random_programs`.

Why it exists: mutation is right only if every order of views, writes, reads and backwards is. The steps run unchanged
in either library and in a pure reference. Nothing is looked at between the lines unless a `Look` says so, since looking
at a view's `grad_fn` brings it up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from hypothesis import strategies as st
from random_programs import (
    LEAVES,
    MAYBE,
    MOSTLY,
    REGISTERS,
    SELDOM,
    SOME,
    Apply,
    Backward,
    ClearGrad,
    Detach,
    Grad,
    Machine,
    RecordedTensor,
    RequiresGrad,
    RetainGrad,
    Step,
    applications,
)

# A tensor of either library, under a name that lets any method be called: the steps are the tests' own untyped
# programs.
Operand = Any
Viewer = Callable[[ModuleType, Operand, int], object]
Writer = Callable[[ModuleType, Operand, Operand, int], object]


def _strided(m: ModuleType, x: Operand, n: int) -> object:
    """Every second element of the first few, or overlapping windows."""
    count = min(x.numel(), 3)
    return (
        x.as_strided((count,), (1 if n % 2 else 0,))
        if n % 3 == 0
        else x.as_strided((1, max(count, 1)), (2, 1), x.storage_offset())
    )


VIEWS: Mapping[str, Viewer] = {
    "select": lambda m, x, n: x[n - 2],
    "select last": lambda m, x, n: x[..., n % 2],
    "slice": lambda m, x, n: x[n % 2 :],
    "slice step": lambda m, x, n: x[::2],
    "slice columns": lambda m, x, n: x[:, n % 3 :],
    "narrow": lambda m, x, n: x.narrow(n - 2, 0, 1 + n % 2),
    "transpose": lambda m, x, n: x.transpose(0, n - 2),
    "t": lambda m, x, n: x.t(),
    "permute": lambda m, x, n: x.permute(*range(x.dim() - 1, -1, -1)),
    "view": lambda m, x, n: x.view(-1),
    "reshape": lambda m, x, n: x.reshape(-1),
    "view as": lambda m, x, n: x.view_as(x),
    "unsqueeze": lambda m, x, n: x.unsqueeze(n - 2),
    "squeeze": lambda m, x, n: x.squeeze(),
    "diagonal": lambda m, x, n: x.diagonal(n % 2 - 1),
    "expand": lambda m, x, n: x.expand(2, *([-1] * x.dim())),
    "as strided": _strided,
    "unfold": lambda m, x, n: x.unfold(0, 2, 1),
    "unbind": lambda m, x, n: x.unbind(n - 2),
    "split": lambda m, x, n: x.split(n % 3 + 1, n % 2),
    "chunk": lambda m, x, n: x.chunk(2),
    "whole": lambda m, x, n: x[...],
    "detach": lambda m, x, n: x.detach(),
    "data": lambda m, x, n: x.data,
}


def _index(m: ModuleType, *numbers: int) -> Operand:
    return m.tensor(list(numbers))


WRITES: Mapping[str, Writer] = {
    "add": lambda m, x, y, n: x.add_(y),
    "add number": lambda m, x, y, n: x.add_(0.5),
    "add alpha": lambda m, x, y, n: x.add_(y, alpha=2),
    "sub": lambda m, x, y, n: x.sub_(y),
    "mul": lambda m, x, y, n: x.mul_(y),
    "mul number": lambda m, x, y, n: x.mul_(0.5),
    "mul self": lambda m, x, y, n: x.mul_(x),
    "div": lambda m, x, y, n: x.div_(y * y + 1),
    "neg": lambda m, x, y, n: x.neg_(),
    "abs": lambda m, x, y, n: x.abs_(),
    "sin": lambda m, x, y, n: x.sin_(),
    "cos": lambda m, x, y, n: x.cos_(),
    "tanh": lambda m, x, y, n: x.tanh_(),
    "sigmoid": lambda m, x, y, n: x.sigmoid_(),
    "relu": lambda m, x, y, n: x.relu_(),
    "clamp": lambda m, x, y, n: x.clamp_(-1.0, 0.5),
    "pow": lambda m, x, y, n: x.pow_(n % 3),
    "zero": lambda m, x, y, n: x.zero_(),
    "fill": lambda m, x, y, n: x.fill_(1.5),
    "fill tensor": lambda m, x, y, n: x.fill_(y.sum()),
    "copy": lambda m, x, y, n: x.copy_(y),
    "lerp": lambda m, x, y, n: x.lerp_(y, 0.25),
    "addcmul": lambda m, x, y, n: x.addcmul_(y, y, value=0.5),
    "masked fill": lambda m, x, y, n: x.masked_fill_(x.detach() > 0, 0.25),
    "masked fill tensor": lambda m, x, y, n: x.masked_fill_(x.detach() > 0, y.sum()),
    "index fill": lambda m, x, y, n: _some(x).index_fill_(0, _index(m, n % 2), 2.0),
    "index add": lambda m, x, y, n: _many(x).index_add_(0, _index(m, 0), x[:1] if n % 2 else y[:1]),
    "index copy": lambda m, x, y, n: _many(x).index_copy_(0, _index(m, 0), y[:1]),
    "index put": lambda m, x, y, n: x.index_put_((_index(m, 0, n % 2),), y, accumulate=n % 2 == 0),
    "scatter": lambda m, x, y, n: x.scatter_(0, _index(m, 0), y),
    "scatter number": lambda m, x, y, n: x.scatter_(0, _index(m, n % 2), 0.75),
    "scatter add": lambda m, x, y, n: x.scatter_add_(0, _index(m, 0, 0), y),
    "masked scatter": lambda m, x, y, n: x.masked_scatter_(x.detach() > 0, y * 1),
    "put": lambda m, x, y, n: x.put_(_index(m, 0, n - 2), y.reshape(-1)[:2], accumulate=n % 2 == 0),
    "cumsum": lambda m, x, y, n: x.cumsum_(n - 2),
    "fill diagonal": lambda m, x, y, n: x.fill_diagonal_(0.5, wrap=n % 2 == 0),
    "addcdiv": lambda m, x, y, n: x.addcdiv_(y, y * y + 1, value=0.5),
    "tril": lambda m, x, y, n: x.tril_(n - 2),
    "t": lambda m, x, y, n: x.t_(),
    "transpose": lambda m, x, y, n: x.transpose_(0, n - 2),
    "unsqueeze": lambda m, x, y, n: x.unsqueeze_(n - 2),
    "squeeze": lambda m, x, y, n: x.squeeze_(),
    "detach": lambda m, x, y, n: x.detach_(),
    "iadd": lambda m, x, y, n: x.__iadd__(y),
    "imul": lambda m, x, y, n: x.__imul__(y),
    "isub number": lambda m, x, y, n: x.__isub__(1),
    "itruediv": lambda m, x, y, n: x.__itruediv__(4),
    "out": lambda m, x, y, n: m.add(y, 1, out=x),
    "out mul": lambda m, x, y, n: m.mul(y, x, out=x),
    "out sum": lambda m, x, y, n: m.sum(y, n % 2, out=_room_for(x, y, m.sum(y.detach(), n % 2))),
}

# Writes that change how a tensor sees its memory. Where the gradient is retained, torch loses it.
RESHAPING = {"t", "transpose", "unsqueeze", "squeeze"}


def _many(x: Operand) -> Operand:
    """`x`, unless it has no dims: which refusal comes first then is no promise."""
    if x.dim() == 0:
        raise ValueError("no dims")
    return x


def _some(x: Operand) -> Operand:
    """`x`, unless it has no elements: torch then refuses with what it finds wrong about its own memory."""
    if x.numel() == 0:
        raise ValueError("no elements")
    return x


def _room_for(x: Operand, y: Operand, result: Operand) -> Operand:
    """`x`, if the result fits into its memory.

    torch moves all tensors of a memory that has to grow, and loses an operand `y` there.
    """
    if tuple(x.shape) != tuple(result.shape) and (
        x.numel() < result.numel() or x._base is not None or x.data_ptr() == y.data_ptr()
    ):
        raise ValueError("too small")
    return x


def _overlaps_itself(x: Operand) -> bool:
    """Whether two elements of `x` are one place in memory, though no dim is expanded.

    torch says of such views that writes to them may go wrong, and does not refuse them: what is written where depends
    on the order in which its loops run.
    """
    if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
        return False
    places = [0]
    for stride, size in zip(x.stride(), x.shape, strict=True):
        places = [place + stride * k for place in places for k in range(size)]
    return len(set(places)) < len(places)


def _mask(m: ModuleType, x: Operand) -> Operand:
    return x.detach() > 0


INDICES: Mapping[str, Callable[[ModuleType, Operand, int], object]] = {
    "number": lambda m, x, n: n - 2,
    "slice": lambda m, x, n: slice(n % 2, None),
    "step": lambda m, x, n: slice(None, None, 2),
    "ellipsis": lambda m, x, n: ...,
    "last": lambda m, x, n: (..., n % 2),
    "none": lambda m, x, n: (None, slice(1, None)),
    "two": lambda m, x, n: (n % 2, n % 2),
    "list": lambda m, x, n: [0, n % 2],
    "tensor": lambda m, x, n: _index(m, 0, n % 2, 0),
    "mask": lambda m, x, n: _mask(m, x),
    "row mask": lambda m, x, n: (slice(None), _index(m, n % 2)),
    "pairs": lambda m, x, n: (_index(m, 0, 1), _index(m, n % 2, 0)),
    "mixed": lambda m, x, n: (_index(m, 0, 1), slice(n % 2, None)),
    "true": lambda m, x, n: True,
    "empty": lambda m, x, n: (),
}


def _tensors(value: object) -> list[RecordedTensor]:
    return list(value) if isinstance(value, list | tuple) else [value]  # type: ignore[list-item]


@dataclass
class Recorder(Machine):
    """A machine that also notes what hooks saw, in the order of their calls."""

    seen: list[tuple[int, RecordedTensor]] = field(default_factory=list)
    hooked: list[RecordedTensor] = field(default_factory=list)


@dataclass(frozen=True)
class View:
    """A view of a register, made while recording or not."""

    name: str
    operand: int
    number: int
    grad_mode: bool

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        with machine.m.set_grad_enabled(self.grad_mode):
            return _tensors(VIEWS[self.name](machine.m, machine.pick(self.operand), self.number))


@dataclass(frozen=True)
class Write:
    """A write in place, recorded or not."""

    name: str
    operand: int
    other: int
    number: int
    grad_mode: bool

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        x: Operand = machine.pick(self.operand)
        if self.name in RESHAPING and x.retains_grad:
            return []
        if _overlaps_itself(x):
            return []
        with machine.m.set_grad_enabled(self.grad_mode):
            WRITES[self.name](machine.m, x, machine.pick(self.other), self.number)
        return []


@dataclass(frozen=True)
class Assign:
    """`x[index] = value`, the value a register or a number."""

    index: str
    operand: int
    value: int | None
    number: int
    grad_mode: bool

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        x: Operand = machine.pick(self.operand)
        if _overlaps_itself(x):
            return []
        with machine.m.set_grad_enabled(self.grad_mode):
            value: Operand = 0.5 if self.value is None else machine.pick(self.value)
            x[INDICES[self.index](machine.m, x, self.number)] = value
        return []


@dataclass(frozen=True)
class Take:
    """`x[index]`."""

    index: str
    operand: int
    number: int
    grad_mode: bool

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        x: Operand = machine.pick(self.operand)
        with machine.m.set_grad_enabled(self.grad_mode):
            return [x[INDICES[self.index](machine.m, x, self.number)]]


@dataclass(frozen=True)
class Hook:
    """A tensor hook that notes the gradient, and doubles it or not."""

    operand: int
    number: int
    doubles: bool

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        x: Operand = machine.pick(self.operand)
        assert isinstance(machine, Recorder)
        if x._is_view() and x.grad_fn is None:
            return []  # torch may crash on the hook of a view that was made under no_grad
        if any(x is hooked for hooked in machine.hooked):
            # torch forgets the hooks of a view that follows a write, and with them all that are registered later
            return []
        machine.hooked.append(x)
        seen = machine.seen

        def hook(grad: RecordedTensor) -> RecordedTensor | None:
            seen.append((self.number, grad.detach().clone()))
            return grad * 2 if self.doubles else None

        x.register_hook(hook)
        return []


@dataclass(frozen=True)
class GradClones:
    """`autograd.grad`; clones of the gradients become registers.

    Which gradients are views of others, and how often they were written, is no promise.
    """

    grad: Grad

    def run(self, machine: Machine) -> Sequence[RecordedTensor | None]:
        return [None if found is None else found.clone() for found in self.grad.run(machine)]


@dataclass(frozen=True)
class Look:
    """Everything is looked at after this line: the place of each register in the graph, its base, its gradient."""

    def run(self, machine: Machine) -> Sequence[RecordedTensor]:
        return []


NUMBERS = st.integers(0, 4)
MAKERS = st.builds(View, st.sampled_from(sorted(VIEWS)), REGISTERS, NUMBERS, MOSTLY)
WRITERS = st.builds(Write, st.sampled_from(sorted(WRITES)), REGISTERS, REGISTERS, NUMBERS, MOSTLY)
ASSIGNMENTS = st.builds(Assign, st.sampled_from(sorted(INDICES)), REGISTERS, st.none() | REGISTERS, NUMBERS, MOSTLY)

MUTATING_STEPS: tuple[st.SearchStrategy[Step], ...] = (
    *[MAKERS] * 5,
    *[WRITERS] * 6,
    *[ASSIGNMENTS] * 2,
    st.builds(Take, st.sampled_from(sorted(INDICES)), REGISTERS, NUMBERS, MOSTLY),
    # a product of more dims is a view of another one in cygrad, as seen in `_base`
    *[applications().filter(lambda application: application.name != "matmul")] * 4,
    LEAVES,
    st.builds(Detach, REGISTERS),
    st.builds(RequiresGrad, REGISTERS, st.booleans()),
    st.builds(RetainGrad, REGISTERS),
    st.builds(ClearGrad, REGISTERS),
    *[st.builds(Hook, REGISTERS, st.integers(0, 99), SELDOM)] * 2,
    *[st.builds(Look)] * 2,
    *[st.builds(Backward, REGISTERS, MOSTLY, MAYBE, SELDOM, st.none() | SOME)] * 3,
    st.builds(GradClones, st.builds(Grad, REGISTERS, SOME, MOSTLY, MAYBE, st.booleans(), MOSTLY, SELDOM)),
)


@st.composite
def mutating_programs(draw: st.DrawFn) -> list[Step]:
    """A few leaves and values computed from them (leaves themselves cannot be written), then steps of every kind."""
    start: list[Step] = list(draw(st.lists(LEAVES, min_size=2, max_size=3)))
    start += [Apply("clone", (number,), 0, True) for number in range(len(start))]
    return start + draw(st.lists(st.one_of(*MUTATING_STEPS), min_size=3, max_size=25))
