"""Writes and layouts that random programs found, one small program a kind, against the oracle.

Why it exists: a random program that fails is too long to read, and the next seed may not come by again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from support import assert_agrees, assert_same, assert_same_refusal, difference, node_name, outcome, refusal_difference

import cygrad

# A tensor of either library: the programs are written once, and each library's methods are its own.
Operand = Any


def matrix(m: ModuleType, *shape: int) -> Operand:
    """The numbers 0, 1, 2 ... as float64."""
    count = 1
    for size in shape:
        count *= size
    return m.arange(count, dtype=m.float64).reshape(shape)


def index(m: ModuleType, *numbers: int) -> Operand:
    return m.tensor(list(numbers))


def laid_out(tensor: Operand) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes, and the strides of the dims along which one can move."""
    moved = tuple(stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1)
    return tuple(tensor.shape), moved


LAYOUTS = {
    "flip": lambda m: matrix(m, 3, 2).t().flip(0),
    "clone of a transposed slice": lambda m: matrix(m, 4, 4).t()[:, ::2].clone(),
    "function of a transposed slice": lambda m: matrix(m, 4, 4).t()[:, ::2].sin(),
    "function of an expanded tensor": lambda m: matrix(m, 2, 3).t().unsqueeze(1).expand(3, 4, 2) * 2,
    "sum of a matrix and a transposed one": lambda m: matrix(m, 2, 3).t() + matrix(m, 3, 2),
    "difference with a stretched operand": lambda m: matrix(m, 2, 1) - matrix(m, 2).unfold(0, 2, 1).unsqueeze(0),
    "sum of permuted operands": lambda m: matrix(m, 2, 3, 4).permute(2, 0, 1) + matrix(m, 3),
    "comparison": lambda m: matrix(m, 2, 3, 4).permute(2, 0, 1) > 3,
    "where": lambda m: m.where(matrix(m, 3, 2).t() > 1, matrix(m, 2, 3), matrix(m, 3, 2).t()),
    "index of a transposed matrix": lambda m: matrix(m, 3, 4).t()[index(m, 0, 2)],
    "index of its columns": lambda m: matrix(m, 3, 4).t()[:, index(m, 0, 2)],
    "index in the middle": lambda m: matrix(m, 2, 3, 4).permute(2, 1, 0)[:, index(m, 0, 2)],
    "index by pairs": lambda m: matrix(m, 2, 3, 4).permute(2, 1, 0)[index(m, 0, 2), :, index(m, 0, 1)],
    "index by a transposed matrix": lambda m: matrix(m, 5, 2)[index(m, 0, 1, 2, 3).reshape(2, 2).t()],
    "index by a mask": lambda m: matrix(m, 2, 3, 4).permute(2, 1, 0)[:, m.tensor([True, False, True])],
    "masked_fill": lambda m: matrix(m, 3, 2).t().masked_fill(matrix(m, 2, 3) > 2, 0.0),
    "index_add": lambda m: matrix(m, 3, 2).t().index_add(0, index(m, 0), matrix(m, 1, 3)),
    "index_copy": lambda m: matrix(m, 3, 2).t().index_copy(0, index(m, 0), matrix(m, 1, 3)),
    "index_fill": lambda m: matrix(m, 3, 2).t().index_fill(0, index(m, 0), 7.0),
    "scatter": lambda m: matrix(m, 3, 2).t().scatter(0, index(m, 0, 1, 0).unsqueeze(0), 7.0),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_results_are_laid_out_as_torchs(name: str) -> None:
    ours, oracle = LAYOUTS[name](cygrad), LAYOUTS[name](torch)
    assert_same(ours, oracle)
    assert laid_out(ours) == laid_out(oracle)


EMPTY = {
    "take": lambda m: m.zeros(1, 0, 3)[index(m, 5)],
    "take beside a dim without places": lambda m: m.zeros(2, 0)[index(m, 7), :],
    "assign": lambda m: m.zeros(1, 0).__setitem__(index(m, 5), 1.0),
    "no place at all": lambda m: m.zeros(0, 2)[index(m, 0)],
    "no place, assigned": lambda m: m.zeros(0, 2).__setitem__(index(m, 0), 1.0),
    "no place and no positions": lambda m: m.zeros(0, 2)[index(m).long()],
    "out of bounds": lambda m: m.zeros(1, 2)[index(m, 1)],
}


@pytest.mark.parametrize("name", EMPTY)
def test_indices_of_an_empty_result_are_not_looked_at(name: str) -> None:
    ours, oracle = outcome(lambda: EMPTY[name](cygrad)), outcome(lambda: EMPTY[name](torch))
    if ours.ok and oracle.ok:
        assert_same(ours.value, oracle.value)
    else:
        assert refusal_difference(ours, oracle) is None


def test_a_source_larger_than_its_index_has_no_gradient() -> None:
    """torch defines the gradient of scatter where source and index have one shape; the values need no gradient."""
    for add in (False, True):

        def program(m: ModuleType, add: bool = add) -> tuple[Operand, Operand]:
            source = matrix(m, 2, 3).requires_grad_()
            target = matrix(m, 2, 3).requires_grad_()
            scatter = target.clone().scatter_add_ if add else target.clone().scatter_
            return source, scatter(0, index(m, 0, 0).unsqueeze(0), source)

        for m in (cygrad, torch):
            _, result = program(m)
            with pytest.raises(RuntimeError, match="expected shape compatible with"):
                result.sum().backward()
        assert_same(program(cygrad)[1].detach(), program(torch)[1].detach())


# name: (operands, the write); whether it is refused, and what is written, is the oracle's
OVERLAPS = {
    "a tensor added to itself": lambda m: (x := matrix(m, 3, 3)).add_(x),
    "a tensor added to its transposed self": lambda m: (x := matrix(m, 3, 3)).add_(x.t()),
    "neighbouring elements": lambda m: (x := matrix(m, 4))[1:].add_(x[:-1]),
    "one element as a matrix": lambda m: (x := matrix(m, 2, 1)).add_(x.view(1, 2)[:, :1]),
    "the same strides, other sizes": lambda m: (x := matrix(m, 2)).view(2, 1).add_(x.as_strided((1, 2), (1, 1))),
    "index_put_ of its own row": lambda m: (x := matrix(m, 3, 3)).index_put_((index(m, 0),), x[1:2]),
    "index_put_ of itself": lambda m: (x := matrix(m, 3)).index_put_((index(m, 0, 1, 2),), x),
    "index_put_ with too many indices": lambda m: (x := m.tensor(1.0)).index_put_((index(m, 0),), x),
    "index_put_ by itself": lambda m: (x := index(m, 0, 1)).index_put_((x,), index(m, 5, 6)),
    "masked_fill_ by itself": lambda m: (x := matrix(m, 3) > 0).masked_fill_(x, False),
    "masked_fill_ by a part of itself": lambda m: (x := matrix(m, 4) > 0)[1:].masked_fill_(x[:-1], False),
    "index_fill_ by itself": lambda m: (x := index(m, 0, 1)).index_fill_(0, x, 5),
    "index_add_ of its own row": lambda m: (x := matrix(m, 3, 3)).index_add_(0, index(m, 0), x[1:2]),
    "index_copy_ of its own row": lambda m: (x := matrix(m, 3, 3)).index_copy_(0, index(m, 0), x[1:2]),
    "scatter_ of itself": lambda m: (x := matrix(m, 1, 3)).scatter_(0, index(m, 0, 0, 0).unsqueeze(0), x),
    "nothing added to itself": lambda m: (x := m.zeros(0)).add_(x),
    "nothing put into itself": lambda m: (x := m.zeros(0)).index_put_((index(m).long(),), x),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_which_overlaps_are_refused(name: str) -> None:
    ours, oracle = outcome(lambda: OVERLAPS[name](cygrad)), outcome(lambda: OVERLAPS[name](torch))
    if ours.ok and oracle.ok:
        assert_same(ours.value, oracle.value)
    else:
        assert refusal_difference(ours, oracle) is None


EXPANDED = {
    "masked_fill_": lambda m, x: x.masked_fill_(m.tensor([[True, False], [False, False], [False, True]]), 9.0),
    "masked_fill_ by a tensor": lambda m, x: x.masked_fill_(m.tensor([[True], [False], [False]]), m.tensor(9.0)),
    "index_fill_": lambda m, x: x.index_fill_(0, index(m, 1), 9.0),
    "index_fill_ of a column": lambda m, x: x.index_fill_(1, index(m, 1), 9.0),
    "index_put_": lambda m, x: x.index_put_((index(m, 0, 2),), m.tensor(9.0, dtype=m.float64)),
    "add_": lambda m, x: x.add_(1),
    "index_add_": lambda m, x: x.index_add_(0, index(m, 0), matrix(m, 1, 2)),
    "masked_scatter_": lambda m, x: x.masked_scatter_(x > 5, matrix(m, 6)),
    "copy_": lambda m, x: x.copy_(matrix(m, 3, 2)),
}


@pytest.mark.parametrize("name", EXPANDED)
def test_expanded_memory(name: str) -> None:
    """Where torch only warns of writing to expanded memory, the same places are written, with a warning."""

    def program(m: ModuleType) -> tuple[Operand, bool]:
        base = matrix(m, 1, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            EXPANDED[name](m, base.expand(3, 2))
        return base, any("deprecated" in str(w.message) for w in caught)

    ours, oracle = outcome(lambda: program(cygrad)), outcome(lambda: program(torch))
    if ours.ok and oracle.ok:
        assert_same(ours.value, oracle.value)
    else:
        assert refusal_difference(ours, oracle) is None


@pytest.mark.parametrize("size", [(2, 3), (3, 2), (6,), (1, 2), (0,), (4, 4)])
def test_resize_to_the_same_sizes_changes_nothing(size: tuple[int, ...]) -> None:
    def program(m: ModuleType) -> object:
        x = matrix(m, 3, 2).t()
        x.resize_(size)
        return [list(x.shape), list(x.stride()), x._version]

    assert_agrees(program)


def test_memory_that_numpy_sees_does_not_grow() -> None:
    def foreign(m: ModuleType) -> None:
        m.add(matrix(m, 3), 1, out=m.from_numpy(matrix(cygrad, 2).numpy()))

    def shown(m: ModuleType) -> None:
        out = m.zeros(2, dtype=m.float64)
        out.numpy()
        m.add(matrix(m, 3), 1, out=out)

    def resized(m: ModuleType) -> None:
        out = m.zeros(2)
        out.numpy()
        out.resize_(3)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in (foreign, shown, resized):
            assert_same_refusal(program)
    out = cygrad.zeros(4, dtype=cygrad.float64)
    seen = out.numpy()
    with pytest.warns(UserWarning, match="resized"):
        cygrad.add(matrix(cygrad, 3), 1, out=out)
    assert seen.tolist() == [1.0, 2.0, 3.0, 0.0]


def resize_out(m: ModuleType, target: Operand, count: int) -> None:
    """Gives the target another shape, as `out=` does outside of the graph."""
    with m.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m.add(m.zeros(count, dtype=m.float64), 1, out=target)


RESHAPED = {
    "out=, root": lambda m, x, y: (resize_out(m, y, 2), y.sum().detach(), y)[2],
    "out=, used": lambda m, x, y: (resize_out(m, y, 2), y * 2)[1],
    "out=, leaf": lambda m, x, y: (resize_out(m, x, 2), y)[1],
    "out=, leaf used": lambda m, x, y: (resize_out(m, x, 2), (x * 2))[1],
    "out= of one element, root": lambda m, x, y: (resize_out(m, y, 1), y)[1],
    "out=, stretched": lambda m, x, y: (resize_out(m, y, 6), y.view(1, 6) * 1)[1],
    "t_ unrecorded": lambda m, x, y: (unrecorded(m, y.t_), y * 2)[1],
    "t_ unrecorded, root": lambda m, x, y: (unrecorded(m, y.t_), y)[1],
    "unsqueeze_ unrecorded": lambda m, x, y: (unrecorded(m, lambda: y.unsqueeze_(0)), y * 2)[1],
    "data of another shape": lambda m, x, y: (give_data(m, y), y * 2)[1],
    "data of another shape, leaf": lambda m, x, y: (give_data(m, x), y * 2)[1],
    "written since": lambda m, x, y: (resize_out(m, y, 2), y.mul_(2))[1],
}


def unrecorded(m: ModuleType, call: Callable[[], object]) -> None:
    with m.no_grad():
        call()


def give_data(m: ModuleType, target: Operand) -> None:
    target.data = m.ones(4, dtype=m.float64)


@pytest.mark.parametrize("name", RESHAPED)
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_shape_that_the_graph_does_not_know(name: str, create_graph: bool) -> None:
    """Gradients have the shape that a tensor had when it was recorded, whatever it was given outside of the graph."""

    def program(m: ModuleType) -> tuple[Operand, ...]:
        x = matrix(m, 2, 3).requires_grad_()
        y = x * 3
        root = RESHAPED[name](m, x, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if root.numel() == 1 and not create_graph:
                root.backward()
                return x.grad.detach(), node_name(root)
            (found,) = m.autograd.grad(root, [x], m.ones_like(root), create_graph=create_graph, allow_unused=True)
        return None if found is None else found.detach(), node_name(root)

    ours, oracle = outcome(lambda: program(cygrad)), outcome(lambda: program(torch))
    found = difference(ours.value, oracle.value) if ours.ok and oracle.ok else refusal_difference(ours, oracle)
    assert found is None, found


def stale_part(m: ModuleType) -> Operand:
    """One of several views whose base was written since: it cannot follow."""
    base = matrix(m, 3, 2).requires_grad_().clone()
    second = base.chunk(2)[1]
    with m.no_grad():
        base.add_(1)
    return second


ORDERS = {
    "index": lambda m: stale_part(m)[index(m, 5)],
    "dim": lambda m: stale_part(m).sum(7),
    "dim of several results": lambda m: stale_part(m).max(7),
    "parts": lambda m: stale_part(m).split(1, 7),
    "list": lambda m: m.cat([matrix(m, 1, 2), stale_part(m)], 7),
    "gather": lambda m: stale_part(m).gather(0, index(m, 5).unsqueeze(0)),
    "second operand": lambda m: m.index_add(matrix(m, 3, 2), 0, index(m, 7), stale_part(m)),
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_view_that_cannot_follow_is_refused_first(name: str) -> None:
    assert_same_refusal(ORDERS[name])
    with cygrad.no_grad(), pytest.raises((IndexError, RuntimeError)) as caught:
        ORDERS[name](cygrad)
    assert "modified inplace" not in str(caught.value)


def test_saved_only_to_be_seen_is_checked_in_a_recorded_backward() -> None:
    """index_add_ saves its source; a write to it since is refused, with create_graph too."""

    def program(m: ModuleType) -> None:
        x = matrix(m, 2, 3).requires_grad_()
        y = x.clone().t()
        y.index_add_(0, index(m, 0), y[:1])
        y.sum().backward(create_graph=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same_refusal(program)
