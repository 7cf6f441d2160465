"""What cygrad must reach, and the judging of a run against it.

A demand is data beside the workload it belongs to, so that the table can show each missed one as a fault to
explain instead of leaving the reader to remember the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.results import Judgement, Row


@dataclass(frozen=True)
class Operand:
    """A cell of the table: a peer in a row; an empty `row` means the row that carries the demand."""

    peer: str
    row: str = ""


@dataclass(frozen=True)
class Ratio:
    """`numerator / denominator` must be at least `at_least`; one that is not `firm` is a hope, no fault if missed.

    `threads` is the thread count that the demand was stated for in rows which follow `--threads`.
    """

    numerator: Operand
    denominator: Operand
    at_least: float
    firm: bool = True
    threads: int = 1


@dataclass(frozen=True)
class Limit:
    """The number in a cell must stay at or below `at_most`, in the unit of its row."""

    operand: Operand
    at_most: float
    text: str
    firm: bool = True


Demand = Ratio | Limit


def torch_over_cygrad(at_least: float) -> Ratio:
    """The usual demand: torch's time over cygrad's time in the same row."""
    return Ratio(Operand("torch"), Operand("cygrad"), at_least)


def second_thread(one_thread_row: str, at_least: float) -> Ratio:
    """What a second thread must give: cygrad's time in `one_thread_row` over its time in the row that carries this."""
    return Ratio(Operand("cygrad", one_thread_row), Operand("cygrad"), at_least)


def _name(operand: Operand) -> str:
    return f"{operand.peer} ({operand.row})" if operand.row else operand.peer


def describe(demand: Demand) -> str:
    """The demand in words, as the report prints it."""
    if isinstance(demand, Limit):
        return f"{_name(demand.operand)} {demand.text}"
    return f"{_name(demand.numerator)} / {_name(demand.denominator)} at least {demand.at_least:.3g}"


def bound(demand: Demand) -> str:
    """The demand's bound alone, for the table beside the numbers it bounds."""
    return demand.text if isinstance(demand, Limit) else f">= {demand.at_least:.3g}"


def judge(
    row: str, demand: Demand, rows: Mapping[str, Row], follows_threads: frozenset[str], threads: int
) -> Judgement:
    """Compare one demand of the row named `row` with the measured `rows`.

    `follows_threads` names the rows that ran with the thread count of the command line, `threads`: a ratio
    stated for one thread says nothing about a run with four, so it is then left unjudged.
    """
    operands = (demand.operand,) if isinstance(demand, Limit) else (demand.numerator, demand.denominator)
    names = [operand.row or row for operand in operands]
    cells = [
        rows[name].cells.get(operand.peer) if name in rows else None
        for name, operand in zip(names, operands, strict=True)
    ]
    stated_otherwise = isinstance(demand, Ratio) and threads != demand.threads and not follows_threads.isdisjoint(names)
    measured = [cell for cell in cells if cell is not None]
    unjudged = Judgement(row, describe(demand), bound(demand), demand.firm)
    if stated_otherwise or len(measured) < len(cells):
        return unjudged
    if isinstance(demand, Limit):
        (cell,) = measured
        return replace(unjudged, found=cell.median, minimum=cell.minimum, met=cell.median <= demand.at_most)
    above, below = measured
    found = above.median / below.median
    return replace(unjudged, found=found, minimum=above.minimum / below.minimum, met=found >= demand.at_least)
