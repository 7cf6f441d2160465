"""Places in the graph as values: gradient edges, the class of Nodes, versions bumped by hand, what a graph keeps alive.

Why it exists: these look at the graph from outside of a backward.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
from support import assert_agrees, assert_same_refusal

import cygrad
from cygrad._core.graph_queries import set_version
from cygrad.autograd.edges import (
    GradientEdge,
    get_gradient_edge,
    increment_version,
    saved_memory,
    set_warn_on_accumulate_grad_stream_mismatch,
)

Call = Callable[[ModuleType], object]


def leaf(m: ModuleType, *values: float) -> cygrad.Tensor:
    """A float64 leaf that requires grad."""
    made: cygrad.Tensor = m.tensor(list(values) or [1.0, 2.0, 3.0], dtype=m.float64, requires_grad=True)
    return made


def edge(m: ModuleType, tensor: object) -> GradientEdge:
    """The gradient edge of a tensor of either library."""
    found: GradientEdge = m.autograd.graph.get_gradient_edge(tensor)
    return found


def ones(m: ModuleType, *shape: int) -> object:
    return m.ones(shape, dtype=m.float64)


def with_graph(body: Callable[[ModuleType, cygrad.Tensor, cygrad.Tensor, cygrad.Tensor], object]) -> Call:
    """`body` of a leaf, an inner tensor and a root."""

    def call(m: ModuleType) -> object:
        x = leaf(m)
        y = x * x
        return body(m, x, y, y.sum())

    return call


def backward(m: ModuleType, x: cygrad.Tensor, *args: object, **kwargs: object) -> object:
    """The leaf's gradient after a backward with these arguments."""
    m.autograd.backward(*args, **kwargs)
    return x.grad


def edge_of_part(m: ModuleType, x: cygrad.Tensor) -> object:
    """The gradient from the edge to the second part of a split."""
    return m.autograd.grad(edge(m, (x * 2).split(1)[1]), x, ones(m, 1))


def incoming(t: cygrad.Tensor) -> list[object]:
    """Shape, dtype and device of each gradient that the grad_fn is given."""
    assert t.grad_fn is not None
    return [
        None if i is None else (list(i.shape), str(i.dtype).rpartition(".")[2], str(i.device))
        for i in t.grad_fn._input_metadata
    ]


def order(m: ModuleType, turned: bool) -> list[str]:
    """Which of two Nodes that are ready at once runs first; `turned`: the first-made one got the larger number."""
    x = leaf(m)
    a, b = x * 2, x * 3
    ran: list[str] = []
    for name, t in (("a", a), ("b", b)):
        t.grad_fn.register_hook(lambda *_, name=name: ran.append(name))
    if turned:
        a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1)
    (a + b).sum().backward()
    return ran


def written_in_part(y: cygrad.Tensor) -> None:
    """Makes the grad_fn of `y` a CopySlices."""
    y[:1].mul_(3)


def preserved(m: ModuleType, watched: Callable[[cygrad.Tensor], object]) -> object:
    """A saved tensor is written where that does not count: backward sees the new value."""
    x = leaf(m)
    b = x * 1
    y = b * b
    with m.autograd._unsafe_preserve_version_counter(watched(b)), m.no_grad():
        b.mul_(3)
        inside = b._version
    y.sum().backward()
    return [inside, b._version, x.grad]


AGREED: dict[str, Call] = {
    "fields": lambda m: list(edge(m, leaf(m))._fields),
    "edge of a leaf": lambda m: [edge(m, leaf(m)).output_nr, edge(m, leaf(m)).node.name().rpartition("::")[2]],
    "edge of an output": lambda m: [edge(m, leaf(m).unbind()[2]).output_nr, edge(m, leaf(m).unbind()[2]).node.name()],
    "backward from a scalar edge": with_graph(lambda m, x, y, z: backward(m, x, edge(m, z))),
    "backward from a list of edges": with_graph(lambda m, x, y, z: backward(m, x, [edge(m, z)])),
    "backward from edge and tensor": with_graph(lambda m, x, y, z: backward(m, x, [edge(m, z), z * 2])),
    "backward from an edge with a cotangent": with_graph(lambda m, x, y, z: backward(m, x, edge(m, y), ones(m, 3))),
    "backward from a leaf's edge": with_graph(lambda m, x, y, z: backward(m, x, edge(m, x), ones(m, 3))),
    "backward into a leaf's edge": with_graph(lambda m, x, y, z: backward(m, x, z, inputs=[edge(m, x)])),
    "backward into an inner edge": with_graph(lambda m, x, y, z: backward(m, x, z, inputs=[edge(m, y)])),
    "grad into edges": with_graph(lambda m, x, y, z: m.autograd.grad(z, [edge(m, y), edge(m, x)])),
    "grad from edge to edge": with_graph(lambda m, x, y, z: m.autograd.grad(edge(m, z), edge(m, x))),
    "grad from an inner edge": with_graph(lambda m, x, y, z: m.autograd.grad(edge(m, y), x, ones(m, 3))),
    "grad with unused edge": with_graph(
        lambda m, x, y, z: m.autograd.grad(z, [edge(m, leaf(m) * 1)], allow_unused=True)
    ),
    "edge made by hand": with_graph(
        lambda m, x, y, z: backward(m, x, m.autograd.graph.GradientEdge(z.grad_fn, 0))  # type: ignore[arg-type]
    ),
    "double backward through an edge": with_graph(
        lambda m, x, y, z: m.autograd.grad(m.autograd.grad(edge(m, z), x, create_graph=True)[0].sum(), x)
    ),
    "Nodes are Nodes": with_graph(
        lambda m, x, y, z: [
            isinstance(z.grad_fn, m.autograd.graph.Node),
            issubclass(type(y.grad_fn), m.autograd.graph.Node),
            isinstance(edge(m, x).node, m.autograd.graph.Node),
        ]
    ),
    "metadata of what comes in": with_graph(
        lambda m, x, y, z: [
            incoming(y),
            incoming(z),
            incoming(y.to(m.float32)),
            incoming(y.reshape(1, 1, 1, 1, 3)),
            incoming(m.stack([y, y]).max(dim=1).values),
            incoming(y.unbind()[1]),
            [(list(i.shape), str(i.device)) for i in edge(m, x).node._input_metadata],
        ]
    ),
    "sequence numbers can be set": with_graph(
        lambda m, x, y, z: [
            z.grad_fn._set_sequence_nr(500),
            z.grad_fn._sequence_nr(),
            z.grad_fn.requires_grad,
            edge(m, x).node._sequence_nr(),
        ]
    ),
    "sequence numbers decide which Node runs first": lambda m: [order(m, False), order(m, True)],
    "increment_version": with_graph(
        lambda m, x, y, z: [
            m.autograd.graph.increment_version(y),
            y._version,
            m.autograd.graph.increment_version([x, y]),
            y._version,
        ]
    ),
    "grad from an edge to another output": with_graph(
        lambda m, x, y, z: [m.autograd.grad(edge(m, x.unbind()[2]), x), edge_of_part(m, x)]
    ),
    "grad from an edge of five dimensions": with_graph(
        lambda m, x, y, z: m.autograd.grad(edge(m, y.reshape(1, 1, 1, 1, 3)), x, ones(m, 1, 1, 1, 1, 3))
    ),
    "grad from an edge to nothing": with_graph(
        lambda m, x, y, z: m.autograd.grad(edge(m, y[:0].reshape(0, 2)), x, ones(m, 0, 2))
    ),
    "grad from an edge after a write to a view": with_graph(
        lambda m, x, y, z: [written_in_part(y), m.autograd.grad(edge(m, y), x, ones(m, 3), retain_graph=True)]
    ),
    "a cotangent of another precision": with_graph(
        lambda m, x, y, z: m.autograd.grad(edge(m, x.unbind()[1]), x, m.tensor(2.0, dtype=m.float32))
    ),
    "a write that is not counted": lambda m: preserved(m, lambda b: b),
    "writes to two tensors that are not counted": lambda m: preserved(m, lambda b: (b, m.ones(2))),
    "increment_version of an inference tensor": lambda m: m.autograd.graph.increment_version(
        m.inference_mode()(lambda: m.ones(2))()
    ),
}


@pytest.mark.parametrize("name", AGREED)
def test_agrees(name: str) -> None:
    assert_agrees(AGREED[name])


REFUSED: dict[str, Call] = {
    "edge of a constant": lambda m: edge(m, m.ones(3)),
    "several elements without a cotangent": with_graph(lambda m, x, y, z: m.autograd.backward(edge(m, y))),
    "complex without a cotangent": with_graph(lambda m, x, y, z: m.autograd.grad(edge(m, (x * 1j).sum()), x)),
    "cotangent of another shape": with_graph(lambda m, x, y, z: m.autograd.backward(edge(m, y), ones(m, 4))),
    "cotangent of the same number of elements": with_graph(
        lambda m, x, y, z: m.autograd.grad(edge(m, x.reshape(1, 3)), x, ones(m, 3, 1))
    ),
    "cotangent that would broadcast": with_graph(lambda m, x, y, z: m.autograd.grad(edge(m, y), x, ones(m, 1))),
    "cotangent of a leaf": with_graph(
        lambda m, x, y, z: m.autograd.backward(edge(m, leaf(m).reshape(1, 3).detach().requires_grad_()), ones(m, 3, 1))
    ),
    "cotangent of another output": with_graph(
        lambda m, x, y, z: m.autograd.grad(edge(m, x.reshape(3, 1).unbind()[1]), x, ones(m, 2))
    ),
    "complex cotangent of another output": with_graph(
        lambda m, x, y, z: m.autograd.grad(edge(m, x.unbind()[1]), x, m.tensor(1j))
    ),
    "cotangent after a write to a view": with_graph(
        lambda m, x, y, z: [written_in_part(y), m.autograd.grad(edge(m, y), x, ones(m, 3, 1))]
    ),
    "several elements of another output": with_graph(
        lambda m, x, y, z: m.autograd.grad(edge(m, x[:2].reshape(2, 1).expand(2, 2).unbind()[1]), x)
    ),
    "cotangent of five dimensions": with_graph(
        lambda m, x, y, z: m.autograd.grad(edge(m, y.reshape(1, 1, 1, 1, 3)), x, ones(m, 1, 1, 1, 3, 1))
    ),
    "materialize": with_graph(
        lambda m, x, y, z: m.autograd.grad(z, [edge(m, leaf(m) * 1)], allow_unused=True, materialize_grads=True)
    ),
    "unused": with_graph(lambda m, x, y, z: m.autograd.grad(z, [edge(m, leaf(m) * 1)])),
    "no such output": with_graph(
        lambda m, x, y, z: m.autograd.backward(m.autograd.graph.GradientEdge(z.grad_fn, 1))  # type: ignore[arg-type]
    ),
    "saved tensor written by another kernel": with_graph(
        lambda m, x, y, z: [m.autograd.graph.increment_version(x), z.backward()]
    ),
    "negative sequence number": with_graph(lambda m, x, y, z: z.grad_fn._set_sequence_nr(-1)),
    "sequence number that is none": with_graph(lambda m, x, y, z: z.grad_fn._set_sequence_nr("first")),
    "requires_grad of a Node cannot be set": with_graph(lambda m, x, y, z: setattr(z.grad_fn, "requires_grad", False)),
    "increment_version of a number": lambda m: m.autograd.graph.increment_version(3),
    "versions of a number": lambda m: m.autograd._unsafe_preserve_version_counter((3,)),
    "versions of an inference tensor": lambda m: m.autograd._unsafe_preserve_version_counter(
        m.inference_mode()(lambda: m.ones(2))()
    ),
    "Node()": lambda m: m.autograd.graph.Node(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    assert_same_refusal(REFUSED[name])


def test_an_edge_keeps_the_graph_and_not_the_tensor() -> None:
    x = leaf(cygrad, 1.0)
    before = cygrad.memory_stats()["arrays"]
    y = x + 1.0
    place = get_gradient_edge(y)
    del y
    assert cygrad.memory_stats()["arrays"] == before
    cygrad.autograd.backward(place)
    assert x.grad is not None
    assert x.grad.item() == 1.0


def test_saved_memory_names_nodes_tensors_and_bytes() -> None:
    x = leaf(cygrad)
    y = x.exp() * x
    found = [(m.node.name(), m.tensor, m.bytes) for m in saved_memory(y)]
    assert found == [("MulBackward0", "other", 24), ("MulBackward0", "self", 24), ("ExpBackward0", "result", 24)]
    storages = {m.storage: m.bytes for m in saved_memory(y)}
    assert sum(storages.values()) == 48, "the result of exp is saved twice, in one storage"
    assert saved_memory(get_gradient_edge(y)) == saved_memory(y) == saved_memory(get_gradient_edge(y).node)
    y.sum().backward()
    assert saved_memory(y) == []
    assert saved_memory(x) == []
    assert saved_memory(cygrad.ones(2)) == []


def test_saved_memory_of_a_view_is_that_of_its_storage() -> None:
    x = leaf(cygrad, 2.0)
    big = cygrad.ones(1000, dtype=cygrad.float64)
    ((m),) = saved_memory(x * big[:1])
    assert (m.tensor, m.bytes) == ("other", 8000)


def test_saved_memory_of_a_function_counts_its_saved_tensors() -> None:
    class Twice(cygrad.autograd.Function):
        @staticmethod
        def forward(ctx: cygrad.autograd.function.FunctionCtx, t: cygrad.Tensor) -> cygrad.Tensor:
            ctx.save_for_backward(t, None, t.exp())
            return t * 2

        @staticmethod
        def backward(ctx: cygrad.autograd.function.FunctionCtx, grad: cygrad.Tensor) -> cygrad.Tensor:
            return grad * 2

    y = Twice.apply(leaf(cygrad))
    assert isinstance(y, cygrad.Tensor)
    assert [(m.node.name(), m.tensor, m.bytes) for m in saved_memory(y)] == [
        ("TwiceBackward", "tensors[0]", 24),
        ("TwiceBackward", "tensors[2]", 24),
    ]


def test_saved_memory_of_a_deep_graph() -> None:
    x = leaf(cygrad, 1.0)
    y = x
    for _ in range(20_000):
        y = y * 1.5
    found = saved_memory(y)
    assert len(found) == 20_000
    assert found[0].node is y.grad_fn


def test_increment_version_names_its_operation() -> None:
    x = leaf(cygrad)
    y = x * 1
    root = (y * y).sum()
    increment_version(y)
    with pytest.raises(RuntimeError, match="increment_version"):
        root.backward()


@pytest.mark.parametrize("bad", [3, "x", [3]])
def test_increment_version_takes_tensors_alone(bad: object) -> None:
    x = cygrad.ones(2)
    with pytest.raises(RuntimeError, match="Iterable"):
        increment_version([x, bad] if isinstance(bad, int) else bad)  # type: ignore[list-item, arg-type]
    assert x._version == 0


def test_the_stream_warning_is_accepted() -> None:
    set_warn_on_accumulate_grad_stream_mismatch(False)
    set_warn_on_accumulate_grad_stream_mismatch(True)
    with pytest.raises(TypeError):
        set_warn_on_accumulate_grad_stream_mismatch(1)  # type: ignore[arg-type]


def test_a_version_is_a_count() -> None:
    x = cygrad.ones(2)
    set_version(x, 7)
    assert x.detach()._version == 7
    with pytest.raises(RuntimeError, match="cannot be -1"):
        set_version(x, -1)
    assert x._version == 7
    with cygrad.inference_mode():
        made = cygrad.ones(2)
    with pytest.raises(RuntimeError, match="do not track version"):
        set_version(made, 1)
