"""cygrad itself, running torch's programs unchanged."""

from __future__ import annotations

from typing import cast

from benchmarks.peers.base import Peer, imported
from benchmarks.peers.torch_api import TorchModule
from benchmarks.peers.torch_programs import torch_jobs


def load() -> Peer:
    """Import cygrad; ImportError where it is not installed, or is a source tree that has not been built."""
    module = imported("cygrad")
    if not hasattr(module, "tensor"):
        raise ImportError("cygrad is a source tree without its compiled core here; install it with `pip install .`")
    cygrad = cast(TorchModule, module)

    def set_threads(threads: int) -> bool:
        cygrad.set_num_threads(threads)
        return True

    return Peer("cygrad", str(cygrad.__version__), torch_jobs(cygrad), set_threads)
