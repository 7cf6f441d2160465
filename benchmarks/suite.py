"""Runs the chosen rows with the chosen peers and gathers the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.demands import Demand, judge
from benchmarks.environment import machine
from benchmarks.measures import MEASURES, Measure
from benchmarks.peers import PEERS, load
from benchmarks.peers.base import Peer
from benchmarks.results import Report, Row
from benchmarks.timing import Entrant, race
from benchmarks.workloads import WORKLOADS, Workload


@dataclass(frozen=True)
class Options:
    """What the command line asks for: parts of row names, names of peers, threads, seconds for each row."""

    only: tuple[str, ...] = ()
    peers: tuple[str, ...] = tuple(PEERS)
    reference: str = "cygrad"
    threads: int = 1
    seconds: float = 1.5


def row_names() -> list[str]:
    """Names of all rows, in the order of the table."""
    return [*(workload.name for workload in WORKLOADS), *(measure.name for measure in MEASURES)]


def chosen(name: str, only: Sequence[str]) -> bool:
    """Whether a row takes part: no choice means all, otherwise any part of the name will do."""
    return not only or any(part in name for part in only)


def _load_peers(names: Sequence[str]) -> tuple[dict[str, Peer], dict[str, str]]:
    peers: dict[str, Peer] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            peers[name] = load(name)
        except ImportError as error:
            missing[name] = f"not importable: {error}"
    return peers, missing


def _enter(peer: Peer, threads: int) -> Callable[[], object]:
    return lambda: peer.set_threads(threads)


def _timed(
    workloads: Sequence[Workload], peers: dict[str, Peer], missing: dict[str, str], options: Options
) -> list[Row]:
    """One race: rows that are interleaved with each other."""
    entrants: list[Entrant] = []
    empty: dict[str, dict[str, str]] = {workload.name: {} for workload in workloads}
    for workload in workloads:
        threads = workload.threads or options.threads
        inputs = workload.inputs()
        for name in options.peers:
            if workload.peers and name not in workload.peers:
                continue
            elif name in missing:
                empty[workload.name][name] = missing[name]
            elif workload.program not in peers[name].jobs:
                empty[workload.name][name] = "has no such workload"
            elif not peers[name].set_threads(threads):
                empty[workload.name][name] = f"cannot change to {threads} threads once started"
            else:
                try:
                    job = peers[name].jobs[workload.program](inputs)
                except Exception as error:  # as in the warm-up: what a peer cannot do is an empty cell
                    empty[workload.name][name] = f"{type(error).__name__}: {error}"
                else:
                    entrants.append(Entrant((workload.name, name), _enter(peers[name], threads), job.run))
    cells, failed = race(entrants, options.seconds * len(workloads))
    for (row, name), reason in failed.items():
        empty[row][name] = reason
    return [
        Row(
            workload.name,
            workload.description,
            "s",
            workload.threads or options.threads,
            {name: cells[workload.name, name] for name in options.peers if (workload.name, name) in cells},
            empty[workload.name],
        )
        for workload in workloads
    ]


def _measured(measure: Measure, missing: dict[str, str], options: Options) -> Row:
    present = [PEERS[name] for name in options.peers if name not in missing]
    cells, empty = measure.run(present)
    return Row(measure.name, measure.description, measure.unit, options.threads, cells, {**missing, **empty})


def run(options: Options, progress: Callable[[str], None]) -> Report:
    """Run the suite; `progress` is told what comes next."""
    peers, missing = _load_peers(options.peers)
    rows: dict[str, Row] = {}
    demands: list[tuple[str, Demand]] = []
    races: dict[str, list[Workload]] = {}
    for workload in WORKLOADS:
        if chosen(workload.name, options.only):
            races.setdefault(workload.heat, []).append(workload)
            demands += [(workload.name, demand) for demand in workload.demands]
    for workloads in races.values():
        progress(" and ".join(workload.name for workload in workloads))
        rows.update((row.name, row) for row in _timed(workloads, peers, missing, options))
    for measure in MEASURES:
        if chosen(measure.name, options.only):
            progress(measure.name)
            rows[measure.name] = _measured(measure, missing, options)
            demands += [(measure.name, demand) for demand in measure.demands]
    follows = frozenset(workload.name for workload in WORKLOADS if workload.threads is None)
    return Report(
        machine(),
        {name: peer.version for name, peer in peers.items()},
        options.reference,
        options.threads,
        tuple(rows[name] for name in row_names() if name in rows),
        tuple(judge(name, demand, rows, follows, options.threads) for name, demand in demands),
    )
