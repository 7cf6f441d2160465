"""Random programs line by line in cygrad and in the oracle: values, gradients, node names, versions, refusals.

Why it exists: it looks where nobody thought of looking. `HYPOTHESIS_PROFILE=explore` runs many more, and new ones.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import torch
from hypothesis import given
from random_programs import Machine, RecordedTensor, Step, programs, quietly
from support import difference, is_tensor, node_name, outcome, refusal_difference, values

import cygrad

# Programs pile up a few dozen roundings where single operations have a few.
PROGRAM_SCALE = 100.0
HUGE = 1e12  # past this, cancellation may turn roundings into anything


def version(tensor: object) -> int:
    """The tensor's version, of either library."""
    assert isinstance(tensor, cygrad.Tensor | torch.Tensor)
    return tensor._version


STATE = "shape, requires_grad, is_leaf, node, output_nr, retains_grad, version"


def state(tensor: object, born: int) -> tuple[object, ...]:
    """What autograd knows of a tensor; its version is counted from the one it was `born` with."""
    assert isinstance(tensor, cygrad.Tensor | torch.Tensor)
    return (
        tuple(tensor.shape),
        tensor.requires_grad,
        tensor.is_leaf,
        node_name(tensor),
        tensor.output_nr,
        tensor.retains_grad,
        tensor._version - born,
    )


def alike(left: tuple[object, ...], right: tuple[object, ...]) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """The states, without the node's name where the oracle has a fused backward: ours is recorded as its parts."""
    if re.search(r"Backward\w*Backward", str(right[3])) and left[3] is not None:
        return (*left[:3], "fused", *left[4:]), (*right[:3], "fused", *right[4:])
    return left, right


def gradient(tensor: RecordedTensor) -> RecordedTensor | None:
    """`.grad`, without the warning for non-leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tensor.grad


# Both refuse a step. Ours has changed nothing then; the oracle may have changed something before it noticed, so the
# program ends there.
REFUSED = "refused by both"


def compare(step: Step, ours: Machine, oracle: Machine) -> str | None:
    """Runs one step in both; what differs afterwards."""
    left, right = outcome(lambda: quietly(step, ours)), outcome(lambda: quietly(step, oracle))
    if not (left.ok and right.ok):
        return refusal_difference(left, right) or REFUSED
    assert isinstance(left.value, list | tuple) and isinstance(right.value, list | tuple)
    if len(left.value) != len(right.value):
        return f"{len(left.value)} results instead of {len(right.value)}"
    for mine, other in zip(left.value, right.value, strict=True):
        if other is None or mine is None:
            if other is not mine:
                return f"{mine!r} instead of {other!r}"
            continue
        left_state, right_state = alike(state(mine, version(mine)), state(other, version(other)))
        if left_state != right_state:
            return f"{STATE}: {left_state} instead of {right_state}"
        found = difference(mine, other, PROGRAM_SCALE)
        if found:
            return found
        for machine, tensor in ((ours, mine), (oracle, other)):
            machine.registers.append(tensor)
            machine.born.append(version(tensor))
    return None


def gradients_differ(ours: Machine, oracle: Machine) -> str | None:
    """What differs between the gradients of all registers."""
    for number, (mine, other) in enumerate(zip(ours.registers, oracle.registers, strict=True)):
        left_state, right_state = alike(state(mine, ours.born[number]), state(other, oracle.born[number]))
        if left_state != right_state:
            return f"register {number} is {left_state} instead of {right_state}"
        left, right = gradient(mine), gradient(other)
        if (left is None) != (right is None):
            return f"gradient of register {number}: {left!r} instead of {right!r}"
        found = difference(left, right, PROGRAM_SCALE) if is_tensor(right) else None
        if found:
            return f"gradient of register {number}: {found}"
    return None


def exploded(oracle: Machine) -> bool:
    """Whether a number has become so large that its roundings say nothing any more."""
    for register in oracle.registers:
        for tensor in (register, gradient(register)):
            if is_tensor(tensor) and bool((np.abs(values(tensor)) > HUGE).any()):
                return True
    return False


@given(programs())
def test_random_programs(program: list[Step]) -> None:
    ours, oracle = Machine(cygrad), Machine(torch)
    for number, step in enumerate(program):
        before = [state(register, 0) for register in ours.registers]
        found = compare(step, ours, oracle)
        if found == REFUSED:
            assert [state(register, 0) for register in ours.registers] == before, "a refused step changed something"
            return
        found = found or gradients_differ(ours, oracle)
        if found:
            lines = "\n".join(f"{at:3} {line}" for at, line in enumerate(program[: number + 1]))
            raise AssertionError(f"line {number}: {found}\n{lines}")
        if exploded(oracle):
            return


def test_the_programs_reach_every_kind_of_step() -> None:
    """A strategy that never came to a backward would test little."""
    seen: set[str] = set()
    refused = 0

    @given(programs())
    def count(program: list[Step]) -> None:
        nonlocal refused
        machine = Machine(cygrad)
        for step in program:
            result = outcome(lambda: quietly(step, machine))  # noqa: B023
            seen.add(f"{type(step).__name__} {'done' if result.ok else 'refused'}")
            refused += not result.ok
            if isinstance(result.value, list | tuple):
                machine.registers.extend(tensor for tensor in result.value if tensor is not None)

    count()
    wanted = {
        f"{kind} done"
        for kind in ("Leaf", "Apply", "Detach", "RequiresGrad", "RetainGrad", "ClearGrad", "Backward", "Grad")
    }
    assert wanted <= seen
    assert {"Backward refused", "Grad refused", "Apply refused"} <= seen
