"""Random programs with writes, line by line in cygrad and in the oracle.

Why it exists: the rules of views and writes are many, and it is their combinations that break. Values, gradients, node
names, versions, bases, what hooks saw, and refusals are compared. `HYPOTHESIS_PROFILE=explore` runs more, and new ones.
"""

from __future__ import annotations

import os

import torch
from hypothesis import given, settings
from random_mutation import Assign, Look, Recorder, Write, mutating_programs
from random_programs import Backward, RecordedTensor, Step, quietly
from support import difference, is_tensor, node_name, outcome, refusal_difference
from test_random_programs import PROGRAM_SCALE, exploded, gradient

import cygrad


class EndedError(Exception):
    """The program has reached a line after which the libraries cannot be compared."""


def strides(tensor: cygrad.Tensor | torch.Tensor) -> tuple[int, ...]:
    """The strides of dims that have a next element: those of others mean nothing, and differ."""
    return tuple(stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1)


def place(tensor: RecordedTensor, registers: list[RecordedTensor]) -> object:
    """What autograd knows of a tensor, or how it refuses to say (a view that must not follow a write of its base)."""
    assert isinstance(tensor, cygrad.Tensor | torch.Tensor)
    base = tensor._base
    fixed = (
        tuple(tensor.shape), strides(tensor), tensor.storage_offset(),
        tensor.requires_grad, tensor._version, tensor._is_view(),
        None if base is None else next((k for k, r in enumerate(registers) if r is base), -1),
    )  # fmt: skip
    found = outcome(lambda: (node_name(tensor), tensor.is_leaf, tensor.output_nr))
    return fixed, found.value if found.ok else type(found.error).__name__


def look(ours: Recorder, oracle: Recorder) -> str | None:
    """What differs between the registers of the two machines."""
    for number, (mine, other) in enumerate(zip(ours.registers, oracle.registers, strict=True)):
        left, right = place(mine, ours.registers), place(other, oracle.registers)
        if left != right:
            return f"register {number} is {left} instead of {right}"
        found = difference(mine, other, PROGRAM_SCALE)
        if found:
            return f"register {number}: {found}"
        mine_grad, other_grad = gradient(mine), gradient(other)
        if (mine_grad is None) != (other_grad is None):
            return f"gradient of register {number}: {mine_grad!r} instead of {other_grad!r}"
        found = difference(mine_grad, other_grad, PROGRAM_SCALE) if is_tensor(other_grad) else None
        if found:
            return f"gradient of register {number}: {found}"
    if [number for number, _ in ours.seen] != [number for number, _ in oracle.seen]:
        return f"hooks ran as {[n for n, _ in ours.seen]} instead of {[n for n, _ in oracle.seen]}"
    for (number, mine), (_, other) in zip(ours.seen, oracle.seen, strict=True):
        found = difference(mine, other, PROGRAM_SCALE)
        if found:
            return f"hook {number} saw {found}"
    return None


WRITES_TOO_LATE = ("index put", "masked scatter", "put", "out", "out mul", "out sum")


def refused_too_late(step: Step) -> bool:
    """Whether torch has changed something by the time it refuses this step, so that the libraries differ from here on.

    An index that leads nowhere, or a source that is too short, is found while torch writes: the places before have been
    written. `backward` makes one of its `inputs` after the other retain its gradient before it looks whether the next
    one requires a gradient. An `out=` whose memory cannot grow has its new shape already.
    """
    if isinstance(step, Backward):
        return step.inputs is not None
    return isinstance(step, Assign) or (isinstance(step, Write) and step.name in WRITES_TOO_LATE)


def compare(step: Step, ours: Recorder, oracle: Recorder) -> str | None:
    """Runs one step in both; what differs afterwards."""
    left, right = outcome(lambda: quietly(step, ours)), outcome(lambda: quietly(step, oracle))
    if not (left.ok and right.ok):
        if not (left.ok or right.ok) and refused_too_late(step):
            raise EndedError
        return refusal_difference(left, right)
    assert isinstance(left.value, list | tuple) and isinstance(right.value, list | tuple)
    if len(left.value) != len(right.value):
        return f"{len(left.value)} results instead of {len(right.value)}"
    for mine, other in zip(left.value, right.value, strict=True):
        if (mine is None) != (other is None):
            return f"{mine!r} instead of {other!r}"
        if mine is not None:
            found = difference(mine, other, PROGRAM_SCALE)
            if found:
                return found
            ours.registers.append(mine)
            oracle.registers.append(other)
    return None


def first_difference(program: list[Step]) -> tuple[int, str] | None:
    """The line at which the libraries part, and how."""
    ours, oracle = Recorder(cygrad), Recorder(torch)
    for number, step in enumerate(program):
        try:
            found = compare(step, ours, oracle)
        except EndedError:
            return None
        if found is None and isinstance(step, Look):
            found = look(ours, oracle)
        if found:
            return number, found
        if exploded(oracle):
            return None
    found = look(ours, oracle)
    return (len(program) - 1, found) if found else None


# two runs of the second number, some minutes each, showed no difference
PROGRAMS = 25_000 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 2_000


@given(mutating_programs())
@settings(max_examples=PROGRAMS)
def test_random_programs_with_writes(program: list[Step]) -> None:
    found = first_difference(program)
    if found:
        number, text = found
        lines = "\n".join(f"{at:3} {line}" for at, line in enumerate(program[: number + 1]))
        raise AssertionError(f"line {number}: {text}\n{lines}")
