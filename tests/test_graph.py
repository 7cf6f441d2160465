"""The recorded graph: leaves, nodes, edges, names, saved tensors, and when their memory goes.

Why it exists: libraries walk `grad_fn.next_functions` and read `_saved_*`; what they find must be what torch shows.
"""

from __future__ import annotations

import gc
import operator
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Protocol

import pytest
from support import assert_agrees, assert_same_refusal, bare_name, let, node_name

import cygrad
from cygrad._core.memory import live_objects

Call = Callable[[ModuleType], object]
attribute = operator.attrgetter  # of a node's saved attributes, which are as many as there are operations


def assigned(tensor: cygrad.Tensor, name: str, value: object) -> cygrad.Tensor:
    """The tensor after an assignment to one of its attributes."""
    setattr(tensor, name, value)
    return tensor


def leaf(m: ModuleType, *values: float) -> cygrad.Tensor:
    """A float64 leaf that requires grad."""
    made: cygrad.Tensor = m.tensor(list(values) or [1.0, 2.0], dtype=m.float64, requires_grad=True)
    return made


class AnyNode(Protocol):
    """A node of either library."""

    @property
    def next_functions(self) -> tuple[tuple[AnyNode | None, int], ...]: ...
    def name(self) -> str: ...


def chain_names(tensor: cygrad.Tensor) -> list[object]:
    """The graph as nested lists: name, output number, and the same for what comes next."""

    def walk(node: AnyNode | None, number: int) -> object:
        if node is None:
            return None
        return [bare_name(node), number, [walk(following, at) for following, at in node.next_functions]]

    return [walk(tensor.grad_fn, tensor.output_nr)]


def quiet(call: Callable[[], object]) -> object:
    """The call's value; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


FACTS: dict[str, Call] = {
    "a leaf": lambda m: let(
        lambda x: [x.is_leaf, x.requires_grad, x.grad_fn, x.grad, x.output_nr, x.retains_grad], leaf(m)
    ),
    "no grad leaf": lambda m: let(lambda x: [x.is_leaf, x.requires_grad, x.grad_fn], m.ones(2)),
    "a result": lambda m: let(lambda y: [y.is_leaf, y.requires_grad, node_name(y), y.retains_grad], leaf(m) * 2),
    "result of no-grad inputs": lambda m: let(lambda y: [y.is_leaf, y.requires_grad, y.grad_fn], m.ones(2) * 2),
    "comparison has no graph": lambda m: let(lambda y: [y.is_leaf, y.requires_grad, y.grad_fn], leaf(m) > 0),
    "detached": lambda m: let(lambda y: [y.is_leaf, y.requires_grad, y.grad_fn], (leaf(m) * 2).detach()),
    "edges of a product": lambda m: let(lambda x: chain_names(x * x), leaf(m)),
    "edges with a constant": lambda m: chain_names(leaf(m) * 2 + 1),
    "edges with a tensor without grad": lambda m: chain_names(leaf(m) * m.ones(2, dtype=m.float64)),
    "edges of a deeper graph": lambda m: let(lambda x: chain_names((x.exp() * x).sum().tanh()), leaf(m)),
    "edges of outputs": lambda m: chain_names(leaf(m, 1.0, 2.0, 3.0).unbind()[2] * 2),
    "edges of max": lambda m: chain_names(leaf(m).max(0).values),
    "edges of a broadcast": lambda m: chain_names(leaf(m) + leaf(m, 1.0)),
    "edges of mean": lambda m: chain_names(leaf(m).mean()),
    "edges of matmul": lambda m: chain_names(leaf(m).reshape(1, 2) @ leaf(m).reshape(2, 1)),
    "edges of indexing": lambda m: chain_names(leaf(m)[0]),
    "edges of linear": lambda m: chain_names(
        m.nn.functional.linear(m.ones(3, 2, dtype=m.float64), leaf(m).reshape(1, 2), leaf(m, 1.0))
    ),
    "edges of a division": lambda m: chain_names(1 / leaf(m)),
    "edges of a power": lambda m: chain_names(leaf(m) ** 2),
    "edges of a scalar's power": lambda m: chain_names(2 ** leaf(m)),
    "edges of subtraction from a scalar": lambda m: chain_names(1 - leaf(m)),
    "edges of negation": lambda m: chain_names(-leaf(m)),
    "edges of cat": lambda m: chain_names(m.cat([leaf(m), m.ones(2, dtype=m.float64), leaf(m)])),
    "edges of where": lambda m: chain_names(m.where(m.tensor([True, False]), leaf(m), 0.0)),
    "edges of cross_entropy": lambda m: chain_names(
        m.nn.functional.cross_entropy(leaf(m).reshape(1, 2), m.tensor([1]))
    ),
    "accumulator of a leaf": lambda m: let(lambda x: [(x * 1).grad_fn.next_functions[0][0].variable is x], leaf(m)),
    "one accumulator a leaf": lambda m: let(
        lambda x, y, z: y.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0],
        *let(lambda x: (x, x * 1, x + 1), leaf(m)),
    ),
    "grad_fn is one object": lambda m: let(lambda y: y.grad_fn is y.grad_fn, leaf(m) * 2),
    "metadata is a dict": lambda m: (
        let(lambda y: [y.grad_fn.metadata.setdefault("a", 1), y.grad_fn.metadata], leaf(m) * 2) and 1
    ),
    "sequence numbers grow": lambda m: let(
        lambda x: let(lambda y, z: z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr(), x * 2, x * 2), leaf(m)
    ),
    "saved of mul": lambda m: let(lambda x: [(x * x).grad_fn._saved_self, (x * x).grad_fn._saved_other], leaf(m)),
    "saved of a constant": lambda m: let(lambda x: [(x * 2).grad_fn._saved_self is None], leaf(m)),
    "saved leaf is the leaf": lambda m: let(lambda x: (x * x).grad_fn._saved_self is x, leaf(m)),
    "saved result": lambda m: let(
        lambda y: [y.grad_fn._saved_result, y.grad_fn._saved_result.requires_grad], leaf(m).exp()
    ),
    "saved pow exponent": lambda m: attribute("grad_fn._saved_exponent")(leaf(m) ** 3),
    "saved of sum": lambda m: list(attribute("grad_fn._saved_self_sym_sizes")(leaf(m).sum())),
    "requires_grad_ returns self": lambda m: let(lambda x: x.requires_grad_() is x, m.ones(2)),
    "requires_grad set": lambda m: let(lambda x: assigned(x, "requires_grad", True).requires_grad, m.ones(2)),
    "requires_grad_ of a result": lambda m: let(lambda y: y.requires_grad_() is y, leaf(m) * 2),
    "_grad_fn set to None": lambda m: let(
        lambda y: [y._grad_fn is y.grad_fn, setattr(y, "_grad_fn", None), y.requires_grad, y.is_leaf], leaf(m) * 2
    ),
    "grad assigned to a result": lambda m: let(
        lambda y, g: [setattr(y, "grad", g), quiet(lambda: y.grad is g)], leaf(m) * 2, m.ones(2, dtype=m.float64)
    ),
    "hooks set to None": lambda m: let(
        lambda x: (
            [x.register_hook(lambda g: g * 5), setattr(x, "_backward_hooks", None), (x * 2).sum().backward(), x.grad]
            and x.grad
        ),
        leaf(m),
    ),
    "retain_grad twice": lambda m: let(lambda y: [y.retain_grad(), y.retain_grad(), y.retains_grad], leaf(m) * 2),
    "retain_grad on a leaf": lambda m: let(lambda x: [x.retain_grad(), x.retains_grad], leaf(m)),
    "no_grad result": lambda m: let(lambda y: [y.requires_grad, y.is_leaf], m.no_grad()(lambda x: x * 2)(leaf(m))),
    "a Node called": lambda m: let(lambda y: [y.grad_fn(m.ones(2)), y.grad_fn(None)], leaf(m) * leaf(m, 3.0, 4.0)),
    "a Node called for the input that needs it": lambda m: let(
        lambda y: y.grad_fn(m.ones(2, dtype=m.float64)), leaf(m) * m.ones(2, dtype=m.float64)
    ),
    "a Node called, recorded": lambda m: let(
        lambda x: m.autograd.grad((x * x).grad_fn(m.ones(2, dtype=m.float64))[0].sum(), x), leaf(m)
    ),
    "a Node called, not recorded": lambda m: m.no_grad()(
        lambda y: [y.grad_fn(m.ones(2, dtype=m.float64)), y.grad_fn(m.ones(2, dtype=m.float64)).requires_grad]
    )(leaf(m).exp()),
    "an accumulator called": lambda m: let(
        lambda x: [(x * 1).grad_fn.next_functions[0][0](m.ones(2, dtype=m.float64)), x.grad], leaf(m)
    ),
    "a called Node frees nothing": lambda m: let(
        lambda x, y: [m.no_grad()(y.grad_fn)(m.ones(2, dtype=m.float64)), y.sum().backward(), x.grad],
        *let(lambda x: (x, x * x), leaf(m)),
    ),
    "detach_ of a result": lambda m: let(lambda y: [y.detach_() is y, y.requires_grad, y.is_leaf], leaf(m) * 2),
}


@pytest.mark.parametrize("name", FACTS)
def test_agrees(name: str) -> None:
    assert_agrees(FACTS[name])


REFUSED: dict[str, Call] = {
    "integers that require grad": lambda m: m.arange(3).requires_grad_(),
    "booleans that require grad": lambda m: setattr(m.zeros(2, dtype=m.bool), "requires_grad", True),
    "requires_grad off on a result": lambda m: (leaf(m) * 2).requires_grad_(False),
    "requires_grad off on a result by assignment": lambda m: setattr(leaf(m) * 2, "requires_grad", False),
    "requires_grad on on a result by assignment": lambda m: setattr(leaf(m) * 2, "requires_grad", True),
    "requires_grad a number": lambda m: setattr(m.ones(2), "requires_grad", 1),
    "requires_grad None": lambda m: setattr(m.ones(2), "requires_grad", None),
    "requires_grad_ of a string": lambda m: m.ones(2).requires_grad_("yes"),
    "requires_grad deleted": lambda m: delattr(m.ones(2), "requires_grad"),
    "data deleted": lambda m: delattr(m.ones(2), "data"),
    "data None": lambda m: setattr(m.ones(2), "data", None),
    "_grad_fn deleted": lambda m: delattr(m.ones(2), "_grad_fn"),
    "_backward_hooks deleted": lambda m: delattr(m.ones(2), "_backward_hooks"),
    "grad of another size": lambda m: setattr(leaf(m), "grad", m.ones(3, dtype=m.float64)),
    "grad of another dtype": lambda m: setattr(leaf(m), "grad", m.ones(2)),
    "retain_grad without a graph": lambda m: m.ones(2).retain_grad(),
    "a Node called with too few": lambda m: let(lambda y: y.grad_fn(), leaf(m) * 2),
    "a Node called with too many": lambda m: let(lambda y: y.grad_fn(m.ones(2), m.ones(2)), leaf(m) * 2),
    "a Node called with a number": lambda m: let(lambda y: y.grad_fn(3), leaf(m) * 2),
    "a Node called after backward": lambda m: let(
        lambda y: [y.sum().backward(), m.no_grad()(y.grad_fn)(m.ones(2, dtype=m.float64))], leaf(m) * leaf(m)
    ),
    "is_leaf cannot be set": lambda m: setattr(leaf(m), "is_leaf", False),
    "saved tensors after backward": lambda m: let(
        lambda y: [y.sum().backward(), y.grad_fn._saved_self], leaf(m) * leaf(m)
    ),
    "saved result after backward": lambda m: let(
        lambda y: [y.sum().backward(), y.grad_fn._saved_result], leaf(m).exp()
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    assert_same_refusal(REFUSED[name])


def test_raw_saved_tensors_are_not_unpacked() -> None:
    x = leaf(cygrad)
    raw = attribute("grad_fn._raw_saved_self")(x * x)
    assert type(raw).__name__ == "SavedTensor"


def test_a_graph_keeps_its_leaf_and_the_leaf_keeps_no_graph() -> None:
    x = leaf(cygrad)
    before = live_objects()
    y = (x * x).exp()
    assert live_objects() != before
    del y
    gc.collect()
    assert live_objects()["arrays"] == before["arrays"]


def test_accumulator_goes_when_no_graph_needs_it() -> None:
    x = leaf(cygrad)
    before = live_objects()["nodes"]
    y = x * 2
    assert live_objects()["nodes"] == before + 2  # MulBackward0 and AccumulateGrad
    del y
    gc.collect()
    assert live_objects()["nodes"] == before
    (x * 3).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0]


def test_backward_frees_what_was_saved() -> None:
    x = cygrad.ones(1000, dtype=cygrad.float64, requires_grad=True)
    y = x.exp()
    z = y.sin()
    saved = live_objects()["arrays"]
    root = z.sum()
    del z, y
    root.backward()
    gc.collect()
    assert live_objects()["arrays"] < saved + 2
    with pytest.raises(RuntimeError, match="retain_graph"):
        root.backward()


def test_retain_graph_keeps_it() -> None:
    x = leaf(cygrad)
    root = (x * x).sum()
    root.backward(retain_graph=True)
    root.backward()
    assert x.grad is not None and x.grad.tolist() == [4.0, 8.0]


@pytest.mark.parametrize("name", ["neg", "add", "sum", "clone", "sub", "reshape"])
def test_second_backward_over_nodes_that_save_nothing_adds_up(name: str) -> None:
    def gradient(m: ModuleType) -> object:
        x = leaf(m)
        y = {
            "neg": lambda: -x,
            "add": lambda: x + x,
            "sum": lambda: x.sum(),
            "clone": lambda: x.clone(),
            "sub": lambda: x - 1,
            "reshape": lambda: x.reshape(2, 1),
        }[name]()
        ones = m.ones_like(y)
        y.backward(ones)
        y.backward(ones)
        return x.grad

    assert_agrees(gradient)


@pytest.mark.parametrize("name", ["log", "exp", "mul", "pow", "tanh", "max"])
def test_second_backward_over_freed_memory_is_refused(name: str) -> None:
    def twice(m: ModuleType) -> object:
        x = leaf(m)
        y = {
            "log": lambda: x.log(),
            "exp": lambda: x.exp(),
            "mul": lambda: x * x,
            "pow": lambda: x**3,
            "tanh": lambda: x.tanh(),
            "max": lambda: x.max(0).values,
        }[name]()
        ones = m.ones_like(y)
        y.backward(ones)
        y.backward(ones)
        return x.grad

    assert_same_refusal(twice)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        twice(cygrad)


def test_version_of_a_saved_tensor_is_checked() -> None:
    x = leaf(cygrad)
    y = x * 2
    z = y * y
    with cygrad.no_grad():
        y.mul_(2)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_higher_derivatives(order: int) -> None:
    def derivative(m: ModuleType) -> object:
        x = leaf(m, 0.5, 1.5)
        y = (x.sin() * x.exp() / (x * x + 1)).sum()
        for _ in range(order):
            (slope,) = m.autograd.grad(y, x, create_graph=True)
            y = slope.sum()
        return [slope, slope.requires_grad]

    assert_agrees(derivative)


def test_the_graph_of_a_gradient_has_torchs_names() -> None:
    def names(m: ModuleType) -> object:
        x = leaf(m)
        (slope,) = m.autograd.grad((x * x).sum(), x, create_graph=True)
        return node_name(slope)

    assert_agrees(names)


def test_create_graph_gradients_are_differentiable_leaves_are_not_changed() -> None:
    x = leaf(cygrad)
    (slope,) = cygrad.autograd.grad((x**3).sum(), x, create_graph=True)
    (curvature,) = cygrad.autograd.grad(slope.sum(), x)
    assert slope.tolist() == [3.0, 12.0]
    assert curvature.tolist() == [6.0, 12.0]
    assert x.grad is None
    assert not curvature.requires_grad
