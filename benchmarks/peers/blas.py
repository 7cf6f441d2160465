"""Thread count of the BLAS that NumPy loads: shared by the peers that compute with NumPy."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Protocol, cast

from benchmarks.environment import THREADS_VARIABLE
from benchmarks.peers.base import imported


class _Controller(Protocol):
    def limit(self, *, limits: int, user_api: str) -> object: ...


class _Threadpoolctl(Protocol):
    ThreadpoolController: Callable[[], _Controller]


_controllers: list[_Controller] = []


def set_blas_threads(threads: int) -> bool:
    """Let BLAS use `threads` threads; without threadpoolctl only the count the process started with is possible."""
    if not _controllers:
        try:
            module = cast(_Threadpoolctl, imported("threadpoolctl"))
        except ImportError:
            return os.environ.get(THREADS_VARIABLE) == str(threads)
        importlib.import_module("numpy")  # the controller sees the libraries that are loaded when it is made
        _controllers.append(module.ThreadpoolController())
    _controllers[0].limit(limits=threads, user_api="blas")
    return True
