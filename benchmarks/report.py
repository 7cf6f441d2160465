"""What a run prints and writes: the table, the judged demands, the JSON file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.results import Judgement, Report, Row, Unit

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def quantity(value: float, unit: Unit) -> str:
    """A number with three digits and a fitting prefix: `23.1 us`."""
    scales = _SECONDS if unit == "s" else _BYTES
    scale, name = next((pair for pair in scales if value >= pair[0] * 0.9995), scales[-1])
    scaled = value / scale
    digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
    return f"{scaled:.{digits}f} {name}"


def _times(ratio: float) -> str:
    digits = 1 if ratio >= 9.995 else 2 if ratio >= 0.0995 else 4
    return f"{ratio:.{digits}f}x"


def verdict(judgement: Judgement) -> str:
    """One word for one demand."""
    if judgement.met is None:
        return "not judged"
    if judgement.met:
        return "met"
    return "MISSED" if judgement.firm else "hope unmet"


def _cells(row: Row, peers: Sequence[str], reference: str) -> list[str]:
    """Median of each peer, and after it how many times the reference's."""
    base = row.cells.get(reference)
    texts = []
    for name in peers:
        cell = row.cells.get(name)
        if cell is None:
            texts.append("")
        elif base is None or name == reference or base.median == 0:
            texts.append(quantity(cell.median, row.unit))
        else:
            texts.append(f"{quantity(cell.median, row.unit)} {_times(cell.median / base.median):>6}")
    return texts


def _minima(row: Row, reference: str) -> str:
    base, torch = row.cells.get(reference), row.cells.get("torch")
    return "" if base is None or torch is None or base.minimum == 0 else _times(torch.minimum / base.minimum)


def table(report: Report, peers: Sequence[str]) -> str:
    """The rows as text: medians with ratios to the reference, torch's ratio of minima, and what was demanded."""
    header = ["row", "threads", *peers, "torch, minima", "demands"]
    lines = [header]
    for row in report.rows:
        judged = [judgement for judgement in report.judgements if judgement.row == row.name]
        verdicts = ", ".join(f"{judgement.short} {verdict(judgement)}" for judgement in judged)
        lines.append(
            [
                row.name,
                str(row.threads),
                *_cells(row, peers, report.reference),
                _minima(row, report.reference),
                verdicts,
            ]
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    left = {0, len(header) - 1}
    texts = [
        "  ".join(
            text.ljust(width) if i in left else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join(text.rstrip() for text in (texts[0], "-" * len(texts[0]), *texts[1:]))


def demands(report: Report) -> str:
    """Every demand of the rows that ran, with what was found; the last line counts the faults to explain."""
    lines = []
    for judgement in report.judgements:
        found = ""
        if judgement.found is not None and judgement.minimum is not None:
            unit_row = next(row for row in report.rows if row.name == judgement.row)
            if "/" in judgement.demand:
                found = f": {judgement.found:.3g} (of minima {judgement.minimum:.3g})"
            else:
                found = f": {quantity(judgement.found, unit_row.unit)}"
        lines.append(f"{verdict(judgement):>10}  {judgement.row}: {judgement.demand}{found}")
    faults = [judgement.row for judgement in report.judgements if judgement.met is False and judgement.firm]
    judged = sum(judgement.met is not None for judgement in report.judgements)
    explain = f"faults to explain: {len(faults)} ({', '.join(faults)})" if faults else "faults to explain: none"
    lines.append(f"{explain}; demands judged: {judged} of {len(report.judgements)}")
    return "\n".join(lines)


def empty_cells(report: Report) -> str:
    """Why cells are empty, each reason once."""
    rows_of: dict[tuple[str, str], list[str]] = {}
    for row in report.rows:
        for name, reason in row.empty.items():
            rows_of.setdefault((name, reason), []).append(row.name)
    total = len(report.rows)
    return "\n".join(
        f"{name}: {reason} ({'all rows' if len(rows) == total else ', '.join(rows)})"
        for (name, reason), rows in rows_of.items()
    )


def text(report: Report, peers: Sequence[str]) -> str:
    """The whole report for a terminal."""
    origin = "\n".join(f"{key}: {value}" for key, value in report.machine.items())
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    caption = f"medians of one call; after each how many times {report.reference}'s it is"
    parts = [origin + f"\npeers: {versions}", caption, table(report, peers)]
    if report.judgements:
        parts.append("Demands\n" + demands(report))
    if reasons := empty_cells(report):
        parts.append("Empty cells\n" + reasons)
    return "\n\n".join(parts)


def to_json(report: Report) -> str:
    """The whole report as JSON: times in seconds, sizes in bytes."""
    return json.dumps(asdict(report), indent=2) + "\n"
