"""PyTorch: the peer that cygrad's demands are stated against, and the oracle for its values."""

from __future__ import annotations

from typing import cast

from benchmarks.peers.base import Peer, imported
from benchmarks.peers.torch_api import TorchModule
from benchmarks.peers.torch_programs import torch_jobs


def load() -> Peer:
    """Import torch; ImportError where it is not installed."""
    torch = cast(TorchModule, imported("torch"))

    def set_threads(threads: int) -> bool:
        torch.set_num_threads(threads)
        return True

    return Peer("torch", str(torch.__version__), torch_jobs(torch), set_threads)
