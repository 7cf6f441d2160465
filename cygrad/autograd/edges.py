"""Places in the graph as values: gradient edges, what each Node keeps alive, versions bumped by hand.

Part of ``cygrad.autograd.graph``, whose names these are; apart from it because hooks are another subject.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cygrad._core.graph_queries import bump_version, edge_of_tensor, saved_bytes
from cygrad._core.node import Node
from cygrad._core.tensor import Tensor

__all__ = [
    "GradientEdge",
    "SavedMemory",
    "get_gradient_edge",
    "increment_version",
    "saved_memory",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


class GradientEdge(NamedTuple):
    """A place where a gradient arrives: output ``output_nr`` of the operation that recorded ``node``.

    Stands for a tensor in ``tensors``, ``outputs`` and ``inputs`` of ``backward`` and ``grad``, without keeping the
    tensor's memory alive. ``ownership_token`` is torch's; a Node is kept alive by ``node`` itself.
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge along which the gradient of ``tensor`` goes.

    It leads to its ``grad_fn``, or for a leaf to the Node that adds to its ``.grad``. RuntimeError if the tensor does
    not require grad.
    """
    edge = edge_of_tensor(tensor) if tensor.requires_grad else None
    if edge is None:
        raise RuntimeError(
            "cygrad.autograd.graph.get_gradient_edge: It is not possible to get the gradient edge for a Tensor "
            "that does not require gradients"
        )
    return GradientEdge(*edge)


class SavedMemory(NamedTuple):
    """One tensor that a graph keeps alive for backward.

    ``node`` saved it under the name ``tensor`` (``node._saved_<tensor>``); ``bytes`` is the size of the storage it
    lies in, all of which stays alive. Tensors with the same ``storage`` share that memory: count it once.
    """

    node: Node
    tensor: str
    bytes: int
    storage: int


def saved_memory(root: Tensor | GradientEdge | Node) -> list[SavedMemory]:
    """What the graph behind ``root`` keeps alive: one entry a saved tensor, Nodes nearest to the root first.

    Freed tensors (after a backward without ``retain_graph``) are not in it, nor is what hooks packed. A tensor without
    a graph gives an empty list. The memory of the whole graph in bytes is ``sum({m.storage: m.bytes for m in
    saved_memory(root)}.values())``.
    """
    if isinstance(root, Tensor):
        start = root.grad_fn
    elif isinstance(root, GradientEdge):
        start = root.node
    else:
        start = root
    if start is None:
        return []
    found: list[SavedMemory] = []
    seen: set[Node] = {start}
    waiting = [start]
    for node in waiting:
        found += [SavedMemory(node, *saved) for saved in saved_bytes(node)]
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return found


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell autograd that the memory of ``tensor`` (or of several) was written by something else.

    That may be a kernel of your own. A backward that needs the old value refuses then, as after an in-place operation.
    Nothing happens to inference tensors, which have no version. RuntimeError for anything but tensors.
    """
    tensors: Sequence[object]
    if isinstance(tensor, Tensor):
        tensors = (tensor,)
    elif isinstance(tensor, Iterable):
        tensors = tuple(tensor)
    else:
        tensors = (tensor,)
    for t in tensors:
        if not isinstance(t, Tensor):
            raise RuntimeError(
                "cygrad.autograd.graph.increment_version: increment_version expect a Iterable[Tensor] as input, "
                f"but got {type(t).__name__}"
            )
    for t in tensors:
        if isinstance(t, Tensor):
            bump_version(t)


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted for code written for torch.

    Leaves have no CUDA stream here that could differ, so there is nothing to warn of. TypeError unless ``enabled`` is
    a bool.
    """
    if not isinstance(enabled, bool):
        raise TypeError(
            "cygrad.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch: expected a bool, but got "
            f"{type(enabled).__name__}"
        )
