"""The command line: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.environment import restart_with_threads
from benchmarks.peers import PEERS
from benchmarks.suite import Options, chosen, row_names, run


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.replace(",", " ").split() if part)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
    return number


def parser() -> argparse.ArgumentParser:
    """The options of the suite."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Time cygrad beside its peers: one machine, one run, interleaved, on the same number of threads.",
    )
    made.add_argument("--only", type=_parts, default=(), metavar="NAMES", help="rows whose names contain any of these")
    made.add_argument("--peers", type=_parts, default=tuple(PEERS), metavar="NAMES", help=f"of {', '.join(PEERS)}")
    made.add_argument("--reference", default="cygrad", metavar="NAME", help="the peer that ratios refer to (cygrad)")
    made.add_argument("--threads", type=_count, default=1, metavar="N", help="threads of every peer (1)")
    made.add_argument(
        "--seconds", type=_seconds, default=1.5, metavar="S", help="time for a row, all peers together (1.5)"
    )
    made.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there")
    made.add_argument("--chart", type=Path, metavar="PATH", help="draw the ratios there (PNG; needs matplotlib)")
    made.add_argument("--list", action="store_true", help="print the names of the rows and stop")
    return made


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse and check the arguments; leaves with status 2 and a message that names the mistake."""
    made = parser()
    options = made.parse_args(arguments)
    unknown = [name for name in (*options.peers, options.reference) if name not in PEERS]
    if unknown:
        made.error(f"unknown peer {unknown[0]!r}; choose from {', '.join(PEERS)}")
    if options.reference not in options.peers:
        options.peers = (options.reference, *options.peers)
    if not any(chosen(name, options.only) for name in row_names()):
        made.error(f"no row has {' or '.join(options.only)} in its name; the rows are {', '.join(row_names())}")
    for path in (options.json, options.chart):
        if path is not None and not path.parent.is_dir():
            made.error(f"the folder of {path} does not exist; make it first")
    return options


def main(arguments: Sequence[str]) -> int:
    """Run the suite and report; the exit status is 0 even where demands are missed, for timing is no test."""
    options = parse(arguments)
    if options.list:
        print("\n".join(row_names()))
        return 0
    restart_with_threads(options.threads)
    # Imported after the restart: they are needed by its second life only.
    from benchmarks import chart, report

    found = run(
        Options(options.only, options.peers, options.reference, options.threads, options.seconds),
        lambda name: print(f"measuring {name} ...", file=sys.stderr, flush=True),
    )
    print(report.text(found, options.peers))
    if options.json is not None:
        options.json.write_text(report.to_json(found), encoding="utf-8")
    if options.chart is not None:
        try:
            chart.draw(found, options.chart)
        except (ImportError, ValueError) as error:
            print(f"no chart: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
