"""Import time: the import statement of each peer, timed inside fresh interpreters that take turns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from benchmarks.peers import PeerSpec

_SCRIPT = "from time import perf_counter as now; start = now(); {statement}; print(now() - start)"


def _seconds(statement: str) -> float:
    script = _SCRIPT.format(statement=statement)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"`{statement}` failed: {done.stderr.strip().splitlines()[-1:]}")
    return float(done.stdout.split()[-1])


def measure(peers: Sequence[PeerSpec], rounds: int = 5) -> dict[str, list[float]]:
    """Seconds of each round for each peer.

    One uncounted round comes first: it writes the bytecode and pulls the files into the page cache, so that
    what is compared is the work of importing and not the disk.
    """
    for peer in peers:
        _seconds(peer.statement)
    times: dict[str, list[float]] = {peer.name: [] for peer in peers}
    for number in range(rounds):
        first = number % len(peers) if peers else 0
        for peer in [*peers[first:], *peers[:first]]:
            times[peer.name].append(_seconds(peer.statement))
    return times
