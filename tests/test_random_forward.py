"""Random programs in forward mode, line by line in cygrad and in the oracle: views, writes and operations on duals.

Why it exists: a tangent is found through a base, written through a view, or shared by mistake, only in some order of
lines. After every line the values and tangents of all tensors are compared. `HYPOTHESIS_PROFILE=explore` runs more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import torch
from hypothesis import given, strategies as st
from random_mutation import RESHAPING, VIEWS, WRITES
from support import difference, is_tensor, outcome, refusal_difference

import cygrad

# A tensor of either library, under a name that lets any method be called.
Operand = Any
Line = tuple[str, str, int, int, int]

OPERATIONS: Mapping[str, Callable[[ModuleType, Operand, Operand, int], object]] = {
    "add": lambda m, x, y, n: x + y,
    "mul": lambda m, x, y, n: x * y,
    "sin": lambda m, x, y, n: x.sin(),
    "tanh": lambda m, x, y, n: x.tanh(),
    "sum": lambda m, x, y, n: x.sum(n % 2),
    "clone": lambda m, x, y, n: x.clone(),
    "where": lambda m, x, y, n: m.where(x > 0, x, y),
    "cat": lambda m, x, y, n: m.cat([x, y]),
    "amax": lambda m, x, y, n: x.amax(),
    "contiguous": lambda m, x, y, n: x.contiguous(),
    "zeros": lambda m, x, y, n: m.zeros_like(x),
    "primal": lambda m, x, y, n: m.autograd.forward_ad.unpack_dual(x).primal,
    "dual": lambda m, x, y, n: m.autograd.forward_ad.make_dual(x, m.ones_like(x.detach())),
    "detach": lambda m, x, y, n: x.detach(),
}
# torch keeps what belonged to the old shape where a tensor changes its shape, and reads the new value for the old one
# where a tensor is written with itself. out= and overlapping memory are refused here and there for other reasons.
LEFT_OUT = RESHAPING | {"mul self", "detach", "as strided", "expand", "unfold", "out", "out mul", "out sum"}
LINES: Mapping[str, Sequence[str]] = {
    "view": sorted(set(VIEWS) - LEFT_OUT),
    "write": sorted(set(WRITES) - LEFT_OUT),
    "operation": sorted(OPERATIONS),
}


@st.composite
def lines(draw: st.DrawFn) -> Line:
    """One line: what it does, to which registers, and a number that varies it."""
    kind = draw(st.sampled_from(["view", "view", "write", "write", "write", "operation"]))
    name = draw(st.sampled_from(LINES[kind]))
    return kind, name, draw(st.integers(0, 7)), draw(st.integers(0, 7)), draw(st.integers(0, 5))


def run(m: ModuleType, line: Line, registers: list[Operand]) -> object:
    """Runs the line; new tensors become registers."""
    kind, name, i, j, n = line
    x, y = registers[i % len(registers)], registers[j % len(registers)]
    if kind == "view":
        result = VIEWS[name](m, x, n)
    elif kind == "write":
        result = WRITES[name](m, x, y.clone(), n)
    else:
        result = OPERATIONS[name](m, x, y, n)
    made = list(result) if isinstance(result, list | tuple) else [result]
    if kind != "write":
        registers += [tensor for tensor in made if is_tensor(tensor)][:2]
    return [tensor.detach() for tensor in made if is_tensor(tensor)]


def state(m: ModuleType, registers: list[Operand]) -> list[object]:
    """Values and tangents of all registers."""
    tangents = [m.autograd.forward_ad.unpack_dual(r).tangent for r in registers]
    return [[r.detach(), None if t is None else t.detach()] for r, t in zip(registers, tangents, strict=True)]


def start(m: ModuleType, recorded: bool) -> tuple[list[Operand], list[Operand]]:
    """The leaves; and a matrix and a vector that are dual, and their like that are not."""
    matrix = m.arange(6, dtype=m.float64).reshape(2, 3) * 0.3 - 0.7
    vector = m.arange(3, dtype=m.float64) * 0.5 + 0.2
    leaves = [matrix.clone().requires_grad_(recorded), vector.clone().requires_grad_(recorded)]
    duals = [m.autograd.forward_ad.make_dual(p, p.detach() * 0.7 + 1) for p in leaves]
    return leaves, [duals[0].clone(), matrix, duals[1].clone(), vector]


def derivatives(m: ModuleType, leaves: list[Operand], registers: list[Operand]) -> object:
    """Forward over reverse and reverse over forward, of all registers together; zeros where there is no graph."""
    weighted = [(r * r).sum() for r in registers if r.requires_grad]
    found: list[object] = []
    if weighted:
        grads = m.autograd.grad(weighted, leaves, retain_graph=True, allow_unused=True)
        found += [_filled(m, g, leaf) for g, leaf in zip(grads, leaves, strict=True)]
        tangents = [None if g is None else m.autograd.forward_ad.unpack_dual(g).tangent for g in grads]
        found += [_filled(m, t, leaf) for t, leaf in zip(tangents, leaves, strict=True)]
    slopes = [m.autograd.forward_ad.unpack_dual(r).tangent for r in registers]
    squares = [(t * t).sum() for t in slopes if t is not None and t.requires_grad]
    grads = m.autograd.grad(squares, leaves, retain_graph=True, allow_unused=True) if squares else [None] * len(leaves)
    return [*found, *[_filled(m, g, leaf) for g, leaf in zip(grads, leaves, strict=True)]]


def _filled(m: ModuleType, value: Operand, like: Operand) -> Operand:
    return m.zeros_like(like.detach()) if value is None else value.detach()


def compare(ours: Callable[[], object], oracle: Callable[[], object], scale: float) -> tuple[str | None, bool]:
    """What differs between the results or refusals of the two, and whether both gave a result."""
    mine, other = outcome(ours), outcome(oracle)
    if mine.ok and other.ok:
        return difference(mine.value, other.value, scale), True
    return refusal_difference(mine, other), False


@given(st.lists(lines(), min_size=2, max_size=12), st.booleans())
def test_tangents_of_random_programs(program: list[Line], recorded: bool) -> None:
    with cygrad.autograd.forward_ad.dual_level(), torch.autograd.forward_ad.dual_level():
        our_leaves, ours = start(cygrad, recorded)
        torch_leaves, oracle = start(torch, recorded)
        for line in program:
            found, ran = compare(partial(run, cygrad, line, ours), partial(run, torch, line, oracle), 10.0)
            assert found is None, f"{line}: {found}"
            if ran:
                found, ran = compare(partial(state, cygrad, ours), partial(state, torch, oracle), 10.0)
                assert found is None, f"after {line}: {found}"
            if not ran:
                return
        # A tangent's graph in torch reads memory that later lines have written, where ours has the old values.
        if outcome(partial(derivatives, torch, torch_leaves, oracle)).ok:
            found, _ = compare(
                partial(derivatives, cygrad, our_leaves, ours), partial(derivatives, torch, torch_leaves, oracle), 100.0
            )
            assert found is None, found
