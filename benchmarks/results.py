"""What the suite measured, as plain records: the one vocabulary that timing, judging and reporting share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["s", "bytes"]


@dataclass(frozen=True)
class Cell:
    """One measured number: one row, one peer.

    `median` and `minimum` are over the rounds, in the unit of the row, for one call of the workload;
    `rounds` is the number of rounds and `calls` the number of calls averaged within a round.
    """

    median: float
    minimum: float
    rounds: int
    calls: int = 1


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `empty` says, for each peer without a cell, why it has none: not installed, or no such workload.
    """

    name: str
    description: str
    unit: Unit
    threads: int
    cells: Mapping[str, Cell]
    empty: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Judgement:
    """A demand beside what was found; `found` and `met` are None where the run did not measure what it needs.

    `demand` is the whole sentence, `short` its bound, for the table. `minimum` is the same number as `found`, taken
    from the minima instead of the medians: where the two disagree about the demand, the machine was noisy and the
    run should be repeated before it is believed.
    """

    row: str
    demand: str
    short: str
    firm: bool
    found: float | None = None
    minimum: float | None = None
    met: bool | None = None


@dataclass(frozen=True)
class Report:
    """A whole run: where it ran, whom everybody is compared with, the rows and the judged demands."""

    machine: Mapping[str, str]
    versions: Mapping[str, str]
    reference: str
    threads: int
    rows: tuple[Row, ...]
    judgements: tuple[Judgement, ...]
