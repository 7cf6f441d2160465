"""The registry of what cannot be timed inside the shared process: memory, import time, package sizes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import import_time, memory, package_size
from benchmarks.demands import Demand, Limit, Operand, Ratio
from benchmarks.peers import PeerSpec
from benchmarks.results import Cell, Unit

MEGABYTE = 1_000_000

Found = tuple[dict[str, Cell], dict[str, str]]


@dataclass(frozen=True)
class Measure:
    """One row: `run` gives the cells of the peers and the reasons of those without one."""

    name: str
    description: str
    unit: Unit
    run: Callable[[Sequence[PeerSpec]], Found]
    demands: tuple[Demand, ...] = ()


def _cell(values: Sequence[float]) -> Cell:
    return Cell(statistics.median(values), min(values), len(values))


def _each(peers: Sequence[PeerSpec], values: Callable[[PeerSpec], Sequence[float]]) -> Found:
    cells: dict[str, Cell] = {}
    empty: dict[str, str] = {}
    for peer in peers:
        try:
            cells[peer.name] = _cell(values(peer))
        except (RuntimeError, ImportError, OSError) as error:
            empty[peer.name] = f"{type(error).__name__}: {error}"
    return cells, empty


def _memory(peers: Sequence[PeerSpec]) -> Found:
    return _each(peers, lambda peer: memory.measure(peer.name))


def _import_time(peers: Sequence[PeerSpec]) -> Found:
    times = import_time.measure(peers)
    return {name: _cell(values) for name, values in times.items()}, {}


def _wheel_size(peers: Sequence[PeerSpec]) -> Found:
    # Packing a peer of several hundred megabytes would take longer than the rest of the suite.
    return _each([peer for peer in peers if peer.name == "cygrad"], lambda peer: [package_size.wheel_size(peer.name)])


def _installed_size(peers: Sequence[PeerSpec]) -> Found:
    return _each(peers, lambda peer: [package_size.installed_size(peer.distribution)])


MEASURES: tuple[Measure, ...] = (
    Measure("memory", "peak memory of the 784-512-256-10 MLP step above that after import", "bytes", _memory),
    Measure(
        "import",
        "import statement in a fresh interpreter",
        "s",
        _import_time,
        (Ratio(Operand("numpy"), Operand("cygrad"), 0.5),),
    ),
    Measure(
        "wheel-size",
        "the package packed as a wheel, stripped",
        "bytes",
        _wheel_size,
        (Limit(Operand("cygrad"), 5 * MEGABYTE, "at most 5 MB"),),
    ),
    Measure("installed-size", "files of the package itself, without dependencies", "bytes", _installed_size),
)
