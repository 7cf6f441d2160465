"""The chart: how many times the reference's time each peer needs, row by row, on a logarithmic axis."""

from __future__ import annotations

from pathlib import Path

from benchmarks.results import Report


def draw(report: Report, path: Path) -> None:
    """Write the chart of the timed rows as an image whose format follows the suffix of `path`.

    Raises ImportError where matplotlib is not installed, and ValueError where no row has numbers of both the
    reference and another peer.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [row for row in report.rows if row.unit == "s" and report.reference in row.cells and len(row.cells) > 1]
    if not rows:
        raise ValueError(
            f"benchmarks: no chart, since no timed row has numbers of the reference {report.reference!r} "
            "and of another peer; choose others by --reference and --peers"
        )
    names = [name for name in report.versions if name != report.reference]
    figure = Figure(figsize=(10, 1.2 + len(rows) * (0.16 * len(names) + 0.14)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    thickness = 0.8 / max(1, len(names))
    for place, name in enumerate(names):
        bars = [
            (i, row.cells[name].median / row.cells[report.reference].median)
            for i, row in enumerate(rows)
            if name in row.cells
        ]
        heights = [i - 0.4 + (place + 0.5) * thickness for i, _ in bars]
        # Bars grow from 1, where a peer is as fast as the reference: to the right slower, to the left faster.
        axes.barh(heights, [ratio - 1.0 for _, ratio in bars], height=thickness, left=1.0, label=name)
    axes.axvline(1.0, color="black", linewidth=1.0)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel(f"time over {report.reference}'s time (right of 1: slower than {report.reference})")
    axes.set_title(f"{report.machine['processor']}, {report.threads} thread(s)")
    axes.grid(axis="x", which="major", linewidth=0.4)
    axes.margins(y=0.01)
    figure.legend(loc="outside lower center", ncols=len(names))
    figure.savefig(path, dpi=120)
