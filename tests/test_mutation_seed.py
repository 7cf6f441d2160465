"""The examples and drawings of the project's text on mutation: which nodes there are, and which edges lead where.

Why it exists: the text is what cygrad promises about writes. Each program runs in cygrad and in the oracle; the whole
graph must be the one that the text draws.
"""

from __future__ import annotations

import gc
import weakref
from types import ModuleType
from typing import Any, Protocol

import pytest
import torch
from support import bare_name, node_name

import cygrad
from cygrad._core.memory import live_objects

LIBRARIES = [cygrad, torch]
Graph = tuple[str, tuple["Graph | None", ...]]
Operand = Any  # a tensor or context of either library


class AnyNode(Protocol):
    """A node of either library."""

    @property
    def next_functions(self) -> tuple[tuple[AnyNode | None, int], ...]: ...
    def name(self) -> str: ...


def graph(node: AnyNode) -> Graph:
    """A node's name and the graphs that its edges lead to."""
    following = (next_node for next_node, _ in node.next_functions)
    return bare_name(node), tuple(None if next_node is None else graph(next_node) for next_node in following)


LEAF: Graph = ("AccumulateGrad", ())
POW: Graph = ("PowBackward0", (LEAF,))


@pytest.mark.parametrize("m", LIBRARIES)
def test_pure_program(m: ModuleType) -> None:
    x = m.randn(8, requires_grad=True)
    y = x**2
    z = y * 2
    assert x.grad_fn is None
    assert graph(y.grad_fn) == POW
    assert graph(z.grad_fn) == ("MulBackward0", (POW, None))
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    accumulate = y.grad_fn.next_functions[0][0]
    assert accumulate.variable is x
    z.sum().backward()
    assert y.is_leaf is False
    assert m.allclose(x.grad, 4 * x.detach())


@pytest.mark.parametrize("m", LIBRARIES)
def test_a_write_makes_a_node_and_moves_grad_fn(m: ModuleType) -> None:
    x = m.randn(8, requires_grad=True)
    y = x**2
    before = y.grad_fn
    y.mul_(2)
    assert graph(y.grad_fn) == ("MulBackward0", (POW, None))
    assert y.grad_fn.next_functions[0][0] is before
    assert (y._version, y.is_leaf, y.output_nr) == (1, False, 0)
    y.sum().backward()
    assert m.allclose(x.grad, 4 * x.detach())


@pytest.mark.parametrize("m", LIBRARIES)
def test_no_node_is_called_in_place(m: ModuleType) -> None:
    y = m.ones(3, requires_grad=True) * 1
    names = []
    for write in ("exp_", "sin_", "tanh_", "sigmoid_", "neg_", "relu_", "square_", "zero_"):
        getattr(y, write)()
        names.append(bare_name(y.grad_fn))
    assert names == [
        "ExpBackward0", "SinBackward0", "TanhBackward0", "SigmoidBackward0", "NegBackward0", "ReluBackward0",
        "PowBackward0", "ZeroBackward0",
    ]  # fmt: skip


@pytest.mark.parametrize("m", LIBRARIES)
def test_write_to_a_view(m: ModuleType) -> None:
    x = m.randn((8, 8), requires_grad=True)
    y = x**2
    v = y[0]
    assert graph(v.grad_fn) == ("SelectBackward0", (POW,))
    assert v._base is y
    v.mul_(2)
    assert graph(y.grad_fn) == ("CopySlices", (POW, None))
    assert graph(v.grad_fn) == ("AsStridedBackward0", (graph(y.grad_fn),))
    assert v.grad_fn.next_functions[0][0] is y.grad_fn
    assert v._base is y
    assert (v._version, y._version) == (1, 1)
    y.sum().backward()
    expected = 2 * x.detach()
    expected[0] *= 2
    assert m.allclose(x.grad, expected)


@pytest.mark.parametrize("m", LIBRARIES)
def test_clone_select_multiply(m: ModuleType) -> None:
    """The comment on CopySlices: b = t.clone(); x = b.select(0, 0); x *= 2."""
    t = m.randn(3, requires_grad=True)
    b = t.clone()
    x = b.select(0, 0)
    x *= 2
    clone = ("CloneBackward0", (LEAF,))
    assert graph(b.grad_fn) == ("CopySlices", (clone, None))
    assert graph(x.grad_fn) == ("AsStridedBackward0", (("CopySlices", (clone, None)),))
    (b.sum() + 10 * x).backward()
    assert t.grad.tolist() == [22.0, 1.0, 1.0]


@pytest.mark.parametrize("m", LIBRARIES)
def test_the_same_as_select_scatter(m: ModuleType) -> None:
    """The pure program that the comment spells out gives the same values and gradients."""
    t = m.randn(3, 2, requires_grad=True)
    b = t.clone()
    x = b.select(0, 0)
    x *= 2
    (b.sin().sum() + x.cos().sum()).backward()
    written = t.grad
    t.grad = None
    b0 = t.clone()
    x1 = b0.select(0, 0) * 2
    b1 = b0.select_scatter(x1, 0, 0)
    x2 = b1.select(0, 0)
    (b1.sin().sum() + x2.cos().sum()).backward()
    assert m.allclose(t.grad, written)


@pytest.mark.parametrize("m", LIBRARIES)
def test_other_views_rebase_when_asked(m: ModuleType) -> None:
    x = m.randn((8, 8), requires_grad=True)
    y = x**2
    v1 = y[0, :]
    v2 = y[:, 0]
    before = v2.grad_fn
    v1.mul_(2)
    assert graph(v2.grad_fn) == ("AsStridedBackward0", (("CopySlices", (POW, None)),))
    assert v2.grad_fn is not before
    assert v2.grad_fn is v2.grad_fn
    assert v2.grad_fn.next_functions[0][0] is y.grad_fn
    v2.sum().backward()
    expected = m.zeros(8, 8)
    expected[:, 0] = 2 * x.detach()[:, 0]
    expected[0, 0] *= 2
    assert m.allclose(x.grad, expected)


@pytest.mark.parametrize("m", LIBRARIES)
def test_a_chain_of_views_has_one_base(m: ModuleType) -> None:
    y = m.randn((4, 4), requires_grad=True) ** 2
    v = y[1:][0].view(2, 2).t()
    assert v._base is y
    v.mul_(3)
    assert graph(v.grad_fn) == ("AsStridedBackward0", (("CopySlices", (POW, None)),))


@pytest.mark.parametrize("m", LIBRARIES)
def test_what_was_computed_before_keeps_the_old_node(m: ModuleType) -> None:
    x = m.randn((8, 8), requires_grad=True)
    y = x**2
    v = y[0]
    used = v + 1
    v.mul_(2)
    assert graph(used.grad_fn) == ("AddBackward0", (("SelectBackward0", (POW,)), None))


@pytest.mark.parametrize("m", LIBRARIES)
def test_detach_breaks_the_view_and_shares_the_version(m: ModuleType) -> None:
    x = m.randn(4, requires_grad=True)
    y = x * 2
    z = y.sin()
    d = y.detach()
    assert not d._is_view()
    assert d._base is None
    node = y.grad_fn
    d.mul_(3)
    assert y._version == d._version == 1
    assert y.grad_fn is node
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.parametrize("m", LIBRARIES)
def test_data_has_a_version_of_its_own(m: ModuleType) -> None:
    y = m.randn(4, requires_grad=True) * 2
    y.data.mul_(3)
    assert y._version == 0


def test_the_stale_node_of_a_view_is_freed() -> None:
    """Only in cygrad can this be seen: nodes are Python objects."""
    x = cygrad.randn((8, 8), requires_grad=True)
    y = x**2
    v = y[0]
    stale = weakref.ref(v.grad_fn)
    v.add_(1)
    gc.collect()
    assert stale() is None
    assert node_name(v) == "AsStridedBackward0"


def test_a_view_that_nobody_asks_gets_no_node() -> None:
    """The lazy rebase: a row that is written once costs a CopySlices and the operation's node, and frees its own."""
    buffer = cygrad.zeros(4, 2, requires_grad=True) * 1
    row = cygrad.ones(2, requires_grad=True)
    views = [buffer[i] for i in range(4)]
    before = live_objects()["nodes"]
    for view in views:
        view.add_(row)
    # four CopySlices, with four AddBackward0 inside, for four SelectBackward0; and the AccumulateGrad of the row
    assert live_objects()["nodes"] - before == 5
    assert node_name(views[0]) == "AsStridedBackward0"
    assert live_objects()["nodes"] - before == 6


@pytest.mark.parametrize("m", LIBRARIES)
def test_grad_of_what_is_no_leaf_is_filled_on_request_alone(m: ModuleType) -> None:
    x = m.randn(8, requires_grad=True)
    y = x**2
    z = y * 2
    z.retain_grad()
    z.sum().backward()
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None
    assert m.allclose(z.grad, m.ones(8))


@pytest.mark.parametrize("m", LIBRARIES)
def test_accumulate_grad_adds_to_the_leaf(m: ModuleType) -> None:
    x = m.ones(3, requires_grad=True)
    for _ in range(2):
        (x**2).sum().backward()
    assert x.grad.tolist() == [4.0] * 3


@pytest.mark.parametrize("m", LIBRARIES)
def test_arrows_own_what_they_point_to(m: ModuleType) -> None:
    x = m.ones(3, requires_grad=True)
    y = x**2
    z = y * 2
    del y
    assert graph(z.grad_fn) == ("MulBackward0", (POW, None))
    z.sum().backward()
    assert x.grad.tolist() == [4.0] * 3


@pytest.mark.parametrize("m", LIBRARIES)
def test_the_number_in_a_name_tells_overloads_apart(m: ModuleType) -> None:
    x = m.ones(3, requires_grad=True)
    assert [node_name(x**2), node_name(x**x), node_name(2**x)] == ["PowBackward0", "PowBackward1", "PowBackward2"]


@pytest.mark.parametrize("m", LIBRARIES)
def test_the_operation_that_wrote_runs_once(m: ModuleType) -> None:
    """Base and view are both used: the view is rebased so that the product's backward is not computed twice."""
    runs = []

    class Double(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Operand, x: Operand) -> Operand:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Operand, grad: Operand) -> Operand:
            runs.append(grad)
            return grad * 2

    x = m.ones((2, 2), requires_grad=True)
    y = x**2
    v = Double.apply(y[0])
    (y.sum() + v.sum()).backward()
    assert len(runs) == 1
    assert x.grad.tolist() == [[8.0, 8.0], [2.0, 2.0]]


@pytest.mark.parametrize("m", LIBRARIES)
def test_a_base_does_not_hold_its_views(m: ModuleType) -> None:
    """Views point to their base and not the reverse: no cycle, so that they go without the garbage collector."""
    gc.disable()
    try:
        y = m.ones((4, 4), requires_grad=True) ** 2
        views = [y[k] for k in range(4)]
        views[0].mul_(2)
        dead = [weakref.ref(view) for view in views]
        base = weakref.ref(y)
        del views
        assert [ref() for ref in dead] == [None] * 4
        del y
        assert base() is None
    finally:
        gc.enable()
