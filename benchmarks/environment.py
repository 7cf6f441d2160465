"""Threads and machine: what has to be settled before a library is imported, and what a report must say of its origin.

BLAS, OpenMP and XLA read their thread counts from the environment when they are loaded, so the suite starts itself
once more with the right environment instead of hoping that nothing was loaded yet.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

THREADS_VARIABLE = "CYGRAD_BENCHMARKS_THREADS"


def thread_environment(threads: int, environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` with every library's thread count set to `threads`."""
    changed = dict(environment)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NPROC"):
        changed[name] = str(threads)  # NPROC is what XLA's CPU client sizes its pool by
    if threads == 1:
        flags = changed.get("XLA_FLAGS", "")
        if "xla_cpu_multi_thread_eigen" not in flags:
            changed["XLA_FLAGS"] = f"{flags} --xla_cpu_multi_thread_eigen=false".strip()
    changed["JAX_PLATFORMS"] = "cpu"
    changed[THREADS_VARIABLE] = str(threads)
    return changed


def restart_with_threads(threads: int) -> None:
    """Replace this process by itself under the environment for `threads`, unless it runs under it already."""
    if os.environ.get(THREADS_VARIABLE) == str(threads):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], thread_environment(threads, os.environ))


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def machine() -> dict[str, str]:
    """Facts about machine and interpreter that a reader needs to compare two reports."""
    return {
        "processor": _processor(),
        "logical processors": str(os.cpu_count()),
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
