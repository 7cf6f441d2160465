"""The peers that the suite knows: how each is imported, and which file here holds its workloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from benchmarks.peers.base import Peer, imported


@dataclass(frozen=True)
class PeerSpec:
    """A peer before it is loaded: its module here, the statement users import it by, its distribution's name."""

    name: str
    module: str
    statement: str
    distribution: str


PEERS: dict[str, PeerSpec] = {
    spec.name: spec
    for spec in (
        PeerSpec("cygrad", "benchmarks.peers.cygrad_peer", "import cygrad", "cygrad"),
        PeerSpec("torch", "benchmarks.peers.torch_peer", "import torch", "torch"),
        PeerSpec("jax", "benchmarks.peers.jax_peer", "import jax, jax.numpy", "jax"),
        PeerSpec("autograd", "benchmarks.peers.autograd_peer", "import autograd, autograd.numpy", "autograd"),
        PeerSpec("mygrad", "benchmarks.peers.mygrad_peer", "import mygrad", "mygrad"),
        PeerSpec("numpy", "benchmarks.peers.numpy_peer", "import numpy", "numpy"),
    )
}


class _PeerModule(Protocol):
    load: Callable[[], Peer]


def load(name: str) -> Peer:
    """Import the peer called `name`; ImportError says why it is not there."""
    return cast(_PeerModule, imported(PEERS[name].module)).load()
