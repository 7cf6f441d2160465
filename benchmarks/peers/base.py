"""What a peer is: a library that runs the workloads, behind one small typed surface."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from benchmarks.workloads import FloatArray, Inputs

T = TypeVar("T")


def imported(name: str) -> object:
    """Import a module and forget its type: callers cast it to the Protocol of what they use of it.

    Most peers ship no types, and those that do would have to be installed wherever this suite is type-checked.
    """
    return importlib.import_module(name)


@dataclass(frozen=True)
class Job:
    """A workload ready to run: `run` is the step that is timed, `outputs` runs it once and gives NumPy arrays."""

    run: Callable[[], object]
    outputs: Callable[[], list[FloatArray]]


@dataclass(frozen=True)
class Peer:
    """A loaded library. `jobs` maps a program's name to the function that prepares it from its data.

    `set_threads(n)` is true when the library will use n threads from here on; one that cannot change its mind
    after it has started says false, and has then an empty cell in rows of another thread count.
    """

    name: str
    version: str
    jobs: Mapping[str, Callable[[Inputs], Job]]
    set_threads: Callable[[int], bool]


def jobs(
    programs: Mapping[str, Callable[[Inputs], Callable[[], Sequence[T]]]], read: Callable[[T], FloatArray]
) -> dict[str, Callable[[Inputs], Job]]:
    """Wrap programs whose steps return the library's own tensors; `read` turns one of them into a NumPy array."""

    def wrap(prepare: Callable[[Inputs], Callable[[], Sequence[T]]]) -> Callable[[Inputs], Job]:
        def job(inputs: Inputs) -> Job:
            step = prepare(inputs)
            return Job(step, lambda: [np.array(read(value)) for value in step()])

        return job

    return {name: wrap(prepare) for name, prepare in programs.items()}
