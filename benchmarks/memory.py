"""Peak memory of the MLP step, each peer in a process of its own.

`python -m benchmarks.memory PEER` is that process: it imports the peer, notes its resident memory, runs the step a few
times and prints the growth of its peak in bytes. A shared process could not tell whose memory it sees.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy.random  # noqa: F401 - the inputs need it, whose memory is no peer's

from benchmarks.environment import THREADS_VARIABLE
from benchmarks.peers import load
from benchmarks.workloads import WORKLOADS

PROGRAM = "mlp"
_STEPS = 5
_STATUS = Path("/proc/self/status")


def _linux_bytes(field: str) -> int | None:
    """A memory field of Linux's process status (proc(5)), or None on other systems.

    `getrusage` would not do there: its maximum survives exec, so a child starts with its parent's peak.
    """
    try:
        found = re.search(rf"^{field}:\s+(\d+) kB", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def _reset_peak() -> None:
    """Let the peak start anew after the import, whose own peak can lie above what it leaves behind."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return  # not Linux, or not allowed: the import's peak then hides as much of the step's


def _portable_peak() -> int:
    maximum = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return maximum if sys.platform == "darwin" else maximum * 1024


def growth(name: str) -> int:
    """Bytes by which the peak of resident memory passes what was resident after the import of peer `name`."""
    peer = load(name)
    peer.set_threads(int(os.environ.get(THREADS_VARIABLE, "1")))  # inherited from the suite that started us
    before = _linux_bytes("VmRSS") or _portable_peak()
    _reset_peak()
    workload = next(workload for workload in WORKLOADS if workload.program == PROGRAM)
    job = peer.jobs[PROGRAM](workload.inputs())
    for _ in range(_STEPS):
        job.run()
    return max(0, (_linux_bytes("VmHWM") or _portable_peak()) - before)


def measure(name: str, repeats: int = 3) -> list[float]:
    """The growth of `repeats` fresh processes; RuntimeError with the last line of stderr where one fails."""
    return [_child([sys.executable, "-m", "benchmarks.memory", name]) for _ in range(repeats)]


def _child(command: Sequence[str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    print(growth(sys.argv[1]))
