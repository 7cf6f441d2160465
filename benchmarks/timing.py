"""Interleaved timing: the peers take turns within rounds, so that a drifting machine drifts for all of them.

A turn is the smallest number of calls that lasts `TURN` seconds (one call of anything slower): a single call of
20 microseconds would mostly measure the caches that the peer before it left behind. Python's garbage collector
stays on, since that is how users run: a library that makes it work pays for it here.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat

from benchmarks.results import Cell

TURN = 0.002
MIN_ROUNDS = 5
STABLE = 0.02
PATIENCE = 2.5
SLOW = 4.0


@dataclass(frozen=True)
class Entrant:
    """Somebody who takes turns: `run` is one call of the workload, `enter` sets its thread count before a turn."""

    key: tuple[str, str]
    enter: Callable[[], object]
    run: Callable[[], object]


def _turn(run: Callable[[], object], calls: int) -> float:
    """Seconds a call over `calls` calls in a row; what a call returns is freed inside the measured time."""
    start = time.perf_counter_ns()
    for _ in repeat(None, calls):
        run()
    return (time.perf_counter_ns() - start) / calls * 1e-9


def calls_per_turn(run: Callable[[], object]) -> int:
    """Warm up, then say how many calls make one turn."""
    run()
    calls = 1
    while True:
        seconds = _turn(run, calls)
        if seconds * calls >= TURN / 2:
            return max(1, math.ceil(TURN / seconds))
        calls *= 2


def spread(times: Sequence[float]) -> float:
    """Half-width of the median's confidence interval relative to the median.

    The notch of McGill, Tukey, Larsen, "Variations of Box Plots" (The American Statistician, 1978):
    1.57 times the interquartile range over the square root of the number of samples.
    """
    lower, middle, upper = statistics.quantiles(times, n=4, method="inclusive")
    return 1.57 * (upper - lower) / math.sqrt(len(times)) / middle


def race(entrants: Sequence[Entrant], seconds: float) -> tuple[dict[tuple[str, str], Cell], dict[tuple[str, str], str]]:
    """Time all entrants for about `seconds` in all, longer (to `PATIENCE` times that) while medians are unstable.

    An entrant sits out once it has had the whole budget for itself, so that a slow peer does not hold up the others;
    up to round `MIN_ROUNDS` that takes `SLOW` times the budget. Returns the cells, and the reasons of those
    whose workload raised while warming up. An exception in a later round is a bug and propagates.
    """
    failed: dict[tuple[str, str], str] = {}
    turns: dict[tuple[str, str], int] = {}
    for entrant in entrants:
        entrant.enter()
        try:
            turns[entrant.key] = calls_per_turn(entrant.run)
        except Exception as error:  # whatever a peer cannot do is an empty cell of the table, with its reason
            failed[entrant.key] = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    running = [entrant for entrant in entrants if entrant.key not in failed]
    times: dict[tuple[str, str], list[float]] = {entrant.key: [] for entrant in running}
    spent = dict.fromkeys(times, 0.0)
    begun = time.perf_counter()
    for number in range(1_000_000):
        allowed = seconds * (SLOW if number < MIN_ROUNDS else 1.0)
        active = [entrant for entrant in running if not number or spent[entrant.key] < allowed]
        elapsed = time.perf_counter() - begun
        if not active:
            break
        if number >= MIN_ROUNDS and elapsed >= seconds:
            unstable = any(spread(times[entrant.key]) > STABLE for entrant in active)
            if not unstable or elapsed >= PATIENCE * seconds:
                break
        first = number % len(active)
        for entrant in active[first:] + active[:first]:
            entrant.enter()
            calls = turns[entrant.key]
            if calls > 1:
                entrant.run()  # not timed: takes over the caches, and threads that a new thread count has to start
            each = _turn(entrant.run, calls)
            times[entrant.key].append(each)
            spent[entrant.key] += each * calls
    cells = {
        key: Cell(statistics.median(series), min(series), len(series), turns[key]) for key, series in times.items()
    }
    return cells, failed
