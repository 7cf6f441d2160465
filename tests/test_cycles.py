"""Cycles through the graph that are closed after its Nodes were made: Python's garbage collector finds them.

Why it exists: Nodes are untracked until they can lie on a cycle. A hook on a tensor, an attribute or a gradient with a
graph comes when other Nodes point there already, and what lies between must not hide the cycle.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

import cygrad
from cygrad._core.memory import live_objects


class Marker:
    """Something that lies on the cycle and can be watched."""

    def __init__(self, *held: object) -> None:
        self.held = held


def keeping(marker: Marker) -> Callable[..., None]:
    """A hook that holds the marker."""

    def hook(*given: object) -> None:
        assert isinstance(marker, Marker)

    return hook


def chain(x: cygrad.Tensor, length: int = 3) -> cygrad.Tensor:
    for _ in range(length):
        x = x.sin()
    return x


def hook_on_an_output() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    marker = Marker(chain(y))
    y.register_hook(keeping(marker))
    return marker


def hook_on_a_leaf() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    marker = Marker(chain(x * 2))
    x.register_hook(keeping(marker))
    return marker


def hook_after_accumulation() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    marker = Marker(chain(x * 2))
    x.register_post_accumulate_grad_hook(keeping(marker))
    return marker


def hook_on_a_node() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    marker = Marker(chain(y))
    assert y.grad_fn is not None
    y.grad_fn.register_hook(keeping(marker))
    return marker


def prehook_on_a_node() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    marker = Marker(chain(y))
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(keeping(marker))
    return marker


def metadata_of_a_node() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    marker = Marker(chain(y))
    assert y.grad_fn is not None
    y.grad_fn.metadata["marker"] = marker
    return marker


def attribute_of_a_leaf() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    marker = Marker(chain(x * 2))
    x.marker = marker  # type: ignore[attr-defined]
    return marker


def entry_of_a_leafs_dict() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    marker = Marker(chain(x * 2))
    x.__dict__["marker"] = marker
    return marker


def gradient_with_a_graph() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    marker = Marker()
    x.grad = chain(x * 2)
    x.grad.marker = marker  # type: ignore[attr-defined]
    return marker


def saved_tensor_hook() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    y = x.exp()
    marker = Marker(chain(y))
    assert y.grad_fn is not None
    y.grad_fn._raw_saved_result.register_hooks(lambda t: (t, marker), lambda packed: packed[0])
    return marker


def hook_behind_a_write_to_a_view() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    base = chain(y)
    base[1:].mul_(2)
    marker = Marker(base)
    y.register_hook(keeping(marker))
    return marker


def node_in_a_list() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    marker = Marker([chain(y).grad_fn])
    y.register_hook(keeping(marker))
    return marker


def hook_beside_a_recorded_backward() -> Marker:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    marker = Marker(chain(y))
    cygrad.autograd.grad(y.sum(), x, create_graph=True)
    y.register_hook(keeping(marker))
    return marker


MAKERS = [
    hook_on_an_output,
    hook_on_a_leaf,
    hook_after_accumulation,
    hook_on_a_node,
    prehook_on_a_node,
    metadata_of_a_node,
    attribute_of_a_leaf,
    entry_of_a_leafs_dict,
    gradient_with_a_graph,
    saved_tensor_hook,
    hook_behind_a_write_to_a_view,
    node_in_a_list,
    hook_beside_a_recorded_backward,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_cycle_that_is_closed_late_is_freed(make: Callable[[], Marker]) -> None:
    gc.collect()
    before = live_objects()
    dead = weakref.ref(make())
    gc.collect()
    assert dead() is None
    assert live_objects() == before


def test_retain_grad_closes_no_cycle() -> None:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    z = chain(y)
    y.retain_grad()
    dead = weakref.ref(y)
    z.sum().backward()
    assert y.grad is not None
    del y, z
    assert dead() is None


def test_what_is_still_held_stays() -> None:
    """The cycle is held from outside through a Node that was untracked: nothing of it may be freed."""
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    z = chain(y)
    seen: list[cygrad.Tensor] = []
    y.register_hook(lambda grad: seen.append(z))
    del y
    gc.collect()
    z.sum().backward()
    assert seen[0] is z
    assert x.grad is not None


def test_a_wide_and_deep_graph_is_walked_without_recursion() -> None:
    x = cygrad.ones(3, requires_grad=True)
    y = x * 2
    marker = Marker()
    z = y
    for _ in range(200_000):
        z = z + y
    marker.held = (z,)
    y.register_hook(keeping(marker))
    dead = weakref.ref(marker)
    del x, y, z, marker
    gc.collect()
    assert dead() is None
