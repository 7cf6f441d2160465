"""Import time: the import statement of each peer, timed inside fresh interpreters that take turns."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from benchmarks.peers import PeerSpec

_SCRIPT = "from time import perf_counter as now; start = now(); {statement}; print(now() - start)"


def _environment(bytecode: str) -> dict[str, str]:
    """The environment of this process, but bytecode is written whatever was set, and to a folder of this run."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": bytecode}


def _seconds(statement: str, environment: Mapping[str, str]) -> float:
    script = _SCRIPT.format(statement=statement)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    if done.returncode != 0:
        raise RuntimeError(f"`{statement}` failed: {done.stderr.strip().splitlines()[-1:]}")
    return float(done.stdout.split()[-1])


def measure(peers: Sequence[PeerSpec], rounds: int = 5) -> dict[str, list[float]]:
    """Seconds of each round for each peer.

    One uncounted round comes first: it writes the bytecode and pulls the files into the page cache, so that
    what is compared is the work of importing and not the disk.
    """
    times: dict[str, list[float]] = {peer.name: [] for peer in peers}
    with tempfile.TemporaryDirectory() as bytecode:
        environment = _environment(bytecode)
        for peer in peers:
            _seconds(peer.statement, environment)
        for number in range(rounds):
            first = number % len(peers) if peers else 0
            for peer in [*peers[first:], *peers[:first]]:
                times[peer.name].append(_seconds(peer.statement, environment))
    return times
