"""`_force_original_view_tracking`: views follow writes by the operations that made them instead of by their strides.

Why it exists: the mode changes which Nodes a rebased view has, and must change nothing else. The oracle is torch.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from support import LIBRARIES, assert_same, bare_name

import cygrad
from cygrad._core.grad_mode import _modes

Tensor = cygrad.Tensor
View = Callable[[ModuleType, Tensor], Tensor]

VIEWS: dict[str, View] = {
    "view": lambda m, y: y.view(2, 12),
    "view as": lambda m, y: y.view_as(y),
    "reshape": lambda m, y: y.reshape(12, 2),
    "select": lambda m, y: y[1],
    "select, negative": lambda m, y: y.select(-1, -2),
    "slice": lambda m, y: y[:, 1:5:2],
    "narrow": lambda m, y: y.narrow(0, 1, 2),
    "t": lambda m, y: y.t(),
    "transpose": lambda m, y: y.transpose(-1, 0),
    "permute": lambda m, y: y.permute(1, 0),
    "unsqueeze": lambda m, y: y.unsqueeze(-1),
    "squeeze": lambda m, y: y[:1].squeeze(),
    "squeeze a dim": lambda m, y: y[:1].squeeze(0),
    "squeeze dims": lambda m, y: y[:1].squeeze((0,)),
    "diagonal": lambda m, y: y.diagonal(1),
    "unfold": lambda m, y: y.unfold(1, 2, 2),
    "as_strided": lambda m, y: y.as_strided((2, 2), (1, 2), 1),
    "chain": lambda m, y: y.view(6, 4)[1:5].t()[2].unsqueeze(0),
}


def names(node: object) -> list[object]:
    """The names of the Nodes from here along the first edges."""
    found: list[object] = []
    while node is not None:
        found.append(bare_name(node))  # type: ignore[arg-type]
        following = node.next_functions  # type: ignore[attr-defined]
        node = following[0][0] if following else None
    return found


def base_of(m: ModuleType) -> tuple[Tensor, Tensor]:
    x = m.arange(24, dtype=m.float64).reshape(4, 6).requires_grad_()
    return x, x * 1


def written(m: ModuleType, make: View, which: str) -> object:
    """A view after it, its base, or another view of its base was written; twice."""
    x, y = base_of(m)
    with m.autograd._force_original_view_tracking(True):
        view = make(m, y)
        other = y[2:]
    target = {"view": view, "base": y, "other": other}[which]
    found: list[object] = []
    for factor in (2.0, 3.0):
        target.mul_(factor)
        found += [names(view.grad_fn), names(other.grad_fn)]
    target.mul_(0.5)
    (view * view).sum().backward()
    return [*found, names(y.grad_fn), view, x.grad]


@pytest.mark.parametrize("which", ["view", "base", "other"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_written_view_has_its_operations_again(name: str, which: str) -> None:
    assert_same(written(cygrad, VIEWS[name], which), written(torch, VIEWS[name], which))


def test_a_view_of_more_dimensions_at_one_place() -> None:
    def run(m: ModuleType) -> object:
        x, y = base_of(m)
        with m.autograd._force_original_view_tracking(True):
            view = y[:1].expand(3, 6)
        y.mul_(2)
        view.sum().backward()
        return [names(view.grad_fn), x.grad]

    assert_same(run(cygrad), run(torch))


def test_views_made_outside_follow_by_their_strides() -> None:
    def run(m: ModuleType) -> object:
        _, y = base_of(m)
        view = y[1]
        with m.autograd._force_original_view_tracking(True):
            y.mul_(2)
            return names(view.grad_fn)

    assert_same(run(cygrad), run(torch))


@pytest.mark.parametrize("m", LIBRARIES)
def test_as_a_function_a_context_and_a_decorator(m: ModuleType) -> None:
    def rebased() -> str:
        _, y = base_of(m)
        view = y[1]
        view.mul_(2)
        return bare_name(view.grad_fn)  # type: ignore[arg-type]

    mode = m.autograd._force_original_view_tracking
    outer = mode(True)
    assert rebased() == "SelectBackward0"
    with mode(False):
        assert rebased() == "AsStridedBackward0"
    assert rebased() == "SelectBackward0"
    outer.__exit__(None, None, None)
    assert rebased() == "AsStridedBackward0"
    decorated = mode(True)(rebased)
    assert rebased() == "AsStridedBackward0"
    assert decorated() == "SelectBackward0"
    assert rebased() == "AsStridedBackward0"


def test_refusals_are_those_of_plain_views() -> None:
    for m in LIBRARIES:
        with m.autograd._force_original_view_tracking(True):
            x, y = base_of(m)
            with pytest.raises(RuntimeError, match="view of a leaf"):
                x[0].mul_(2)
            with pytest.raises(RuntimeError, match=r"several|multiple"):
                y.unbind()[0].mul_(2)
            with m.no_grad():
                unrecorded = y[0]
            with pytest.raises(RuntimeError, match="no_grad"):
                unrecorded.mul_(2)


def test_views_of_what_required_no_grad_follow_by_their_strides() -> None:
    x = cygrad.ones(2, requires_grad=True)
    with cygrad.autograd._force_original_view_tracking(True):
        buffer = cygrad.zeros(2, 2)
        row = buffer[0]
    row.add_(x)
    assert names(row.grad_fn)[:2] == ["AsStridedBackward0", "CopySlices"]
    (buffer * buffer).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_the_flag_is_a_bool() -> None:
    with pytest.raises(TypeError, match="must be bool"):
        cygrad.autograd._force_original_view_tracking(1)  # type: ignore[arg-type]
    assert not _modes() & 16


@pytest.mark.parametrize("m", LIBRARIES)
def test_the_mode_can_be_asked_for(m: ModuleType) -> None:
    assert not m.autograd.is_view_replay_enabled()
    with m.autograd._force_original_view_tracking(True):
        assert m.autograd.is_view_replay_enabled()
    assert not m.autograd.is_view_replay_enabled()
