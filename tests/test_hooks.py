"""Hooks of tensors, leaves and Nodes: when they run, in which order, what they see, replace and may not.

Why it exists: training loops hang clipping, logging and optimizer steps on hooks; a hook that runs twice, or sees
another gradient than torch's would, changes a model silently. The oracle is torch.
"""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Protocol

import pytest
from support import assert_agrees, assert_same, assert_same_refusal, outcome

import cygrad
from cygrad.autograd.graph import register_multi_grad_hook

Call = Callable[[ModuleType], object]
Tensor = cygrad.Tensor
Gradients = tuple[Tensor | None, ...]


def leaf(m: ModuleType, *values: float) -> Tensor:
    """A float64 leaf that requires grad."""
    made: Tensor = m.tensor(list(values) or [1.0, 2.0], dtype=m.float64, requires_grad=True)
    return made


class Removable(Protocol):
    """A handle."""

    def remove(self) -> None: ...


class Log(list[object]):
    """What hooks saw, in order."""

    def seen(self, name: str, factor: float | None = None) -> Callable[[Tensor | None], Tensor | None]:
        """A tensor hook that notes the gradient, and multiplies it."""

        def hook(grad: Tensor | None) -> Tensor | None:
            self.append([name, None if grad is None else grad.detach().clone()])
            return None if factor is None or grad is None else grad * factor

        return hook

    def before(self, name: str, add: float | None = None) -> Callable[[Gradients], Gradients | None]:
        """A prehook that notes what arrives, and adds to it."""

        def hook(grads: Gradients) -> Gradients | None:
            self.append([name, list(grads)])
            return None if add is None else tuple(None if g is None else g + add for g in grads)

        return hook

    def after(self, name: str, factor: float | None = None) -> Callable[[Gradients, Gradients], Gradients | None]:
        """A hook of a Node that notes what left and what arrived."""

        def hook(inputs: Gradients, outputs: Gradients) -> Gradients | None:
            self.append([name, list(inputs), list(outputs)])
            return None if factor is None else tuple(None if g is None else g * factor for g in inputs)

        return hook

    def updated(self, name: str) -> Callable[[Tensor], None]:
        """A post-accumulate hook that notes the accumulated gradient."""

        def hook(tensor: Tensor) -> None:
            self.append([name, tensor.is_leaf, None if tensor.grad is None else tensor.grad.clone()])

        return hook


def node_of(tensor: Tensor) -> cygrad.autograd.Node:
    node = tensor.grad_fn
    assert node is not None
    return node


def accumulator(tensor: Tensor) -> cygrad.autograd.Node:
    node = node_of(tensor).next_functions[0][0]
    assert node is not None
    return node


# ---- order and replacement -------------------------------------------------------------------------------------------


def everything_on_a_result(m: ModuleType, run: str) -> object:
    log = Log()
    x = leaf(m)
    y = x * 2
    y.register_hook(log.seen("first", 10))
    node_of(y).register_prehook(log.before("before", 1))
    y.retain_grad()
    y.register_hook(log.seen("second", 0.5))
    node_of(y).register_hook(log.after("after", 3))
    found: object = None
    if run == "grad of the result":
        found = list(m.autograd.grad(y.sum(), [y]))
    elif run == "grad of both":
        found = list(m.autograd.grad(y.sum(), [y, x]))
    elif run == "inputs":
        y.sum().backward(inputs=[x])
    else:
        y.sum().backward()
    return [log, found, x.grad, y.grad]


def everything_on_a_leaf(m: ModuleType, run: str) -> object:
    log = Log()
    x = leaf(m)
    x.register_hook(log.seen("tensor", 2))
    x.register_post_accumulate_grad_hook(log.updated("accumulated"))
    y = x * 2
    node = accumulator(y)
    node.register_prehook(log.before("before", 1))
    node.register_hook(log.after("after"))
    x.register_hook(log.seen("later"))
    found: object = None
    if run == "grad":
        found = list(m.autograd.grad(y.sum(), [x]))
    elif run == "inputs":
        y.sum().backward(inputs=[x])
    else:
        y.sum().backward()
    return [log, found, x.grad]


def outputs_of_one_node(m: ModuleType) -> object:
    log = Log()
    x = leaf(m)
    a, b = x.unbind()
    b.register_hook(log.seen("b", 3))
    a.register_hook(log.seen("a", 2))
    node_of(a).register_prehook(log.before("node"))
    (a * 5 + b).backward()
    return [log, x.grad]


def one_output_unused(m: ModuleType) -> object:
    log = Log()
    x = leaf(m)
    a, b = x.unbind()
    a.register_hook(log.seen("a"))
    b.register_hook(log.seen("b"))
    node_of(a).register_prehook(log.before("node"))
    node_of(a).register_hook(log.after("node"))
    (a * 5).backward()
    return [log, x.grad]


def removal(m: ModuleType) -> object:
    log = Log()
    x = leaf(m)
    y = x * 2
    handles = [y.register_hook(log.seen(name)) for name in "abc"]
    handles[1].remove()
    handles[1].remove()
    y.sum().backward(retain_graph=True)
    for handle in handles:
        handle.remove()
    y.register_hook(log.seen("d"))
    y.sum().backward(retain_graph=True)
    with y.register_hook(log.seen("inside")):
        y.sum().backward(retain_graph=True)
    y.sum().backward()
    return [log, x.grad]


def removal_on_a_node(m: ModuleType) -> object:
    log = Log()
    x = leaf(m)
    y = x * 2
    before = node_of(y).register_prehook(log.before("before"))
    after = node_of(y).register_hook(log.after("after"))
    updated = x.register_post_accumulate_grad_hook(log.updated("updated"))
    y.sum().backward(retain_graph=True)
    before.remove()
    after.remove()
    updated.remove()
    y.sum().backward()
    return [log, x.grad]


def removed_by_itself(m: ModuleType) -> object:
    log = Log()
    x = leaf(m)

    def once(grad: Tensor) -> None:
        log.append("once")
        handle.remove()

    handle = x.register_hook(once)
    x.register_hook(log.seen("always"))
    for _ in range(2):
        (x * 2).sum().backward()
    return [log, x.grad]


def before_and_after_use(m: ModuleType) -> object:
    log = Log()
    x = leaf(m)
    y = x * 2
    x.register_hook(log.seen("after use"))
    y.sum().backward()
    z = leaf(m)
    z.register_hook(log.seen("before use"))
    (z * z).sum().backward()
    return [log, x.grad, z.grad]


def in_place_between(m: ModuleType) -> object:
    log = Log()
    x = leaf(m)
    y = x * 2
    y.register_hook(log.seen("old value", 2))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(log.seen("new value", 5))
    y.sum().backward()
    return [log, x.grad, y.grad]


def recorded(m: ModuleType) -> object:
    x = leaf(m)
    y = x * x
    y.register_hook(lambda grad: grad * grad * 3)
    y.retain_grad()
    (first,) = m.autograd.grad((y * x).sum(), x, create_graph=True)
    kept = y.grad
    assert kept is not None
    return [first.detach(), list(m.autograd.grad(first.sum(), x)), kept.detach(), kept.requires_grad]


def accumulated_twice(m: ModuleType) -> object:
    log = Log()
    x = leaf(m)
    x.register_post_accumulate_grad_hook(log.updated("updated"))
    y = (x * 2).sum() + (x * 3).sum()
    y.backward(retain_graph=True)
    y.backward()
    return [log, x.grad]


def step_in_the_hook(m: ModuleType) -> object:
    x = leaf(m)

    def step(tensor: Tensor) -> None:
        with m.no_grad():
            assert tensor.grad is not None
            tensor -= tensor.grad * 0.5
        tensor.grad = None

    x.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        (x * x).sum().backward()
    return [x, x.grad]


def modes_in_hooks(m: ModuleType) -> object:
    modes: list[object] = []
    x = leaf(m)
    y = x * x
    y.register_hook(lambda grad: modes.append([m.is_grad_enabled(), grad.requires_grad]))
    y.sum().backward(retain_graph=True)
    m.autograd.grad(y.sum(), x, create_graph=True)
    return [modes, m.is_grad_enabled()]


def backward_inside(m: ModuleType) -> object:
    log = Log()
    x, w = leaf(m), leaf(m, 3.0, 4.0)

    def inner(grad: Tensor) -> None:
        log.append("inner")
        with m.enable_grad():
            (w * w).sum().backward()

    y = x * 2
    y.register_hook(inner)
    y.sum().backward()
    return [log, x.grad, w.grad]


def replaced_by_nothing(m: ModuleType) -> object:
    x = leaf(m)
    y = x * 2
    node_of(y).register_prehook(lambda grads: (None,))
    y.sum().backward()
    return x.grad


def post_hook_replaces(m: ModuleType) -> object:
    x, w = leaf(m), leaf(m, 3.0, 4.0)
    y = x * w
    node_of(y).register_hook(lambda inputs, outputs: (outputs[0], None))
    y.sum().backward()
    return [x.grad, w.grad]


class Nothing:
    """Methods of a Function whose backward gives None."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> None:
        return None


def undefined_gradient(m: ModuleType) -> object:
    log = Log()
    x = leaf(m)
    x.register_hook(log.seen("leaf"))
    x.register_post_accumulate_grad_hook(log.updated("updated"))
    y = x * 2
    y.register_hook(log.seen("result"))
    y.retain_grad()
    node_of(y).register_prehook(log.before("before"))
    node_of(y).register_hook(log.after("after"))
    type("Nothing", (Nothing, m.autograd.Function), {}).apply(y).sum().backward()  # type: ignore[attr-defined]
    return [log, x.grad, y.grad]


def tables(m: ModuleType) -> object:
    x = leaf(m)
    before = x._backward_hooks
    handle = x.register_hook(lambda grad: None)
    x.register_post_accumulate_grad_hook(lambda tensor: None)
    after, updated = x._backward_hooks, x._post_accumulate_grad_hooks
    assert after is not None
    assert updated is not None
    return [before, len(after), handle.id in after, len(updated)]


AGREES: dict[str, Call] = {
    **{
        f"result: {run}": partial(everything_on_a_result, run=run)
        for run in ("backward", "grad of the result", "grad of both", "inputs")
    },
    **{f"leaf: {run}": partial(everything_on_a_leaf, run=run) for run in ("backward", "grad", "inputs")},
    "outputs of one node": outputs_of_one_node,
    "one output unused": one_output_unused,
    "removal": removal,
    "removal on a node": removal_on_a_node,
    "removed by itself": removed_by_itself,
    "before and after use": before_and_after_use,
    "in place between": in_place_between,
    "recorded": recorded,
    "accumulated twice": accumulated_twice,
    "step in the hook": step_in_the_hook,
    "modes": modes_in_hooks,
    "backward inside": backward_inside,
    "replaced by None": replaced_by_nothing,
    "post hook replaces": post_hook_replaces,
    "undefined gradient": undefined_gradient,
    "tables": tables,
}


@pytest.mark.parametrize("name", AGREES)
def test_hooks_agree_with_the_oracle(name: str) -> None:
    assert_agrees(AGREES[name])


# ---- refusals --------------------------------------------------------------------------------------------------------


def returns(where: str, value: Callable[[ModuleType], object]) -> Call:
    """A backward with one hook that returns this."""

    def call(m: ModuleType) -> object:
        x = leaf(m)
        y = x * 2

        def hook(*args: object) -> object:
            return value(m)

        register: dict[str, Callable[..., object]] = {
            "tensor": y.register_hook,
            "before": node_of(y).register_prehook,
            "after": node_of(y).register_hook,
            "leaf": x.register_hook,
            "updated": x.register_post_accumulate_grad_hook,
        }
        register[where](hook)
        y.sum().backward()
        return x.grad

    return call


def not_callable(m: ModuleType) -> object:
    x = leaf(m)
    x.register_hook(5)  # type: ignore[arg-type]
    (x * 2).sum().backward()
    return x.grad


WRONG: dict[str, Callable[[ModuleType], object]] = {
    "a number": lambda m: 3,
    "a tuple of a number": lambda m: (1,),
    "another shape": lambda m: (m.ones(3, dtype=m.float64),),
    "another dtype": lambda m: (m.ones(2),),
    "two for one": lambda m: (m.ones(2, dtype=m.float64),) * 2,
    "a list": lambda m: [m.ones(2, dtype=m.float64)],
    "nothing": lambda m: (),
}
REFUSED: dict[str, Call] = {
    **{f"{where} returns {what}": returns(where, WRONG[what]) for where in ("before", "after") for what in WRONG},
    **{
        f"{where} returns {what}": returns(where, value)
        for where in ("tensor", "leaf")
        for what, value in {
            "a number": lambda m: 3,
            "a tuple": lambda m: (m.ones(2, dtype=m.float64),),
            "another shape": lambda m: m.ones(3, dtype=m.float64),
            "another dtype": lambda m: m.ones(2),
        }.items()
    },
    "updated returns a number": returns("updated", lambda m: 3),
    "a gradient where there is none": returns("after", lambda m: (m.ones(2, dtype=m.float64),) * 2),
    "hook of a tensor without grad": lambda m: m.ones(2).register_hook(print),
    "updated of a tensor without grad": lambda m: m.ones(2).register_post_accumulate_grad_hook(print),
    "updated of a result": lambda m: (leaf(m) * 2).register_post_accumulate_grad_hook(print),
    "retain_grad without grad": lambda m: m.ones(2).retain_grad(),
    "something that cannot be called": not_callable,
    "callback outside of backward": lambda m: m.autograd.Variable._execution_engine.queue_callback(print),
    "unknown mode": lambda m: m.autograd.graph.register_multi_grad_hook([leaf(m)], print, mode="some"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_the_oracle(name: str) -> None:
    assert_same_refusal(REFUSED[name])


def test_refusals_name_the_hook() -> None:
    def shrink(grad: Tensor) -> Tensor:
        return grad[:1]

    x = leaf(cygrad)
    x.register_hook(shrink)
    done = outcome(lambda: (x * 2).sum().backward())
    assert "hook 'shrink' has changed the size of value: [2] became [1]" in str(done.error)


@pytest.mark.parametrize("where", ["tensor", "before", "after", "leaf", "updated"])
def test_what_a_hook_raises_arrives_unchanged_and_the_graph_stays_usable(where: str) -> None:
    own = KeyError("own")
    x = leaf(cygrad)
    y = x * x

    def fail(*args: object) -> None:
        raise own

    register: dict[str, Callable[[Callable[..., None]], Removable]] = {
        "tensor": y.register_hook,
        "before": node_of(y).register_prehook,
        "after": node_of(y).register_hook,
        "leaf": x.register_hook,
        "updated": x.register_post_accumulate_grad_hook,
    }
    handle = register[where](fail)
    done = outcome(lambda: y.sum().backward(retain_graph=True))
    assert done.error is own
    handle.remove()
    x.grad = None
    y.sum().backward()
    assert_same(x.grad, cygrad.tensor([2.0, 4.0], dtype=cygrad.float64))


# ---- several tensors, callbacks --------------------------------------------------------------------------------------


def all_gradients(m: ModuleType, used: int) -> object:
    log: list[object] = []
    xs = [leaf(m, float(k), 1.0) for k in range(4)]

    def hook(grads: Sequence[Tensor | None]) -> None:
        log.append(list(grads))

    handle = m.autograd.graph.register_multi_grad_hook(xs, hook)
    for _ in range(2):
        product = xs[0]
        for x in xs[1:used]:
            product = product * x
        product.sum().backward()
    handle.remove()
    (xs[0] * xs[1]).sum().backward()
    return log


def any_gradient(m: ModuleType) -> object:
    log: list[object] = []
    x = leaf(m)
    y = x * 2
    z = y * 3
    handle = m.autograd.graph.register_multi_grad_hook((y, z), log.append, mode="any")
    z.sum().backward(retain_graph=True)
    z.sum().backward(retain_graph=True)
    handle.remove()
    z.sum().backward()
    return log


def all_of_results(m: ModuleType, run: str) -> object:
    log: list[object] = []
    x = leaf(m)
    a = x * 2
    b = a * 3
    m.autograd.graph.register_multi_grad_hook([a, b], lambda grads: log.append(list(grads)))
    if run == "grad":
        m.autograd.grad(b.sum(), a)
    else:
        b.sum().backward()
    return log


def callbacks(m: ModuleType, run: str) -> object:
    log: list[object] = []
    engine = m.autograd.Variable._execution_engine
    x = leaf(m)

    def last() -> None:
        log.append(["last", m.is_grad_enabled(), x.grad])

    def first() -> None:
        log.append(["first", x.grad])
        engine.queue_callback(last)

    y = x * 2
    y.register_hook(lambda grad: engine.queue_callback(first))
    x.register_hook(lambda grad: log.append("leaf"))
    if run == "grad":
        m.autograd.grad(y.sum(), x)
    elif run == "recorded":
        m.autograd.grad(y.sum(), x, create_graph=True)
    else:
        y.sum().backward()
    return log


SEVERAL: dict[str, Call] = {
    "all, two of four used": lambda m: all_gradients(m, 2),
    "all, four of four used": lambda m: all_gradients(m, 4),
    "any": any_gradient,
    "all of results": lambda m: all_of_results(m, "backward"),
    "all of results in grad": lambda m: all_of_results(m, "grad"),
    "callbacks": lambda m: callbacks(m, "backward"),
    "callbacks in grad": lambda m: callbacks(m, "grad"),
    "callbacks recorded": lambda m: callbacks(m, "recorded"),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_hooks_on_several_tensors_and_callbacks_agree_with_the_oracle(name: str) -> None:
    assert_agrees(SEVERAL[name])


def test_what_a_callback_raises_arrives() -> None:
    own = KeyError("own")

    def fail() -> None:
        raise own

    x = leaf(cygrad)
    x.register_hook(lambda grad: cygrad.autograd.Variable._execution_engine.queue_callback(fail))
    done = outcome(lambda: (x * 2).sum().backward())
    assert done.error is own


def test_a_failed_backward_leaves_nothing_behind_for_the_next_multi_grad_hook() -> None:
    x, w = leaf(cygrad), leaf(cygrad, 3.0, 4.0)
    calls: list[int] = []
    register_multi_grad_hook([x, w], lambda grads: calls.append(len(grads)))
    y = x * 2

    def fail(grad: Tensor) -> None:
        raise KeyError("own")

    handle = y.register_hook(fail)
    total = (y * w).sum()
    assert isinstance(outcome(lambda: total.backward(retain_graph=True)).error, KeyError)
    handle.remove()
    calls.clear()
    total.backward()
    assert calls == [2]


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_failed_backward_keeps_no_gradient_in_a_multi_grad_hook(mode: str) -> None:
    x, w = leaf(cygrad), leaf(cygrad, 3.0, 4.0)
    y, z = x * 2, w * 2
    handle = register_multi_grad_hook([y, z], lambda grads: None, mode=mode)
    arrived: list[weakref.ref[Tensor]] = []
    z.register_hook(lambda grad: arrived.append(weakref.ref(grad)))

    def fail(grad: Tensor) -> None:
        raise KeyError("own")

    y.register_hook(fail)
    total = (y * z).sum()
    assert isinstance(outcome(lambda: total.backward(retain_graph=True)).error, KeyError)
    assert arrived
    gc.collect()
    assert arrived[0]() is None
    handle.remove()


def test_variable_is_the_old_name_of_tensor() -> None:
    x = cygrad.ones(2)
    v = cygrad.autograd.Variable(x, requires_grad=True)
    assert isinstance(v, cygrad.Tensor)
    assert isinstance(v, cygrad.autograd.Variable)
    assert not isinstance(3, cygrad.autograd.Variable)
    assert v.requires_grad and not x.requires_grad
    assert v.data_ptr() == x.data_ptr()


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_a_kept_handle_keeps_no_graph() -> None:
    x = leaf(cygrad)
    y = x * 2
    handle = y.register_hook(lambda grad: None)
    node = weakref.ref(node_of(y))
    del y
    gc.collect()
    assert node() is None
    handle.remove()


def ignore(held: Tensor, grad: Tensor) -> None:
    assert held.shape == grad.shape


def test_a_hook_that_holds_its_tensor_is_collected() -> None:
    y = leaf(cygrad) * 2
    y.register_hook(partial(ignore, y))
    node = weakref.ref(node_of(y))
    del y
    gc.collect()
    assert node() is None


def test_the_grad_that_was_given_to_a_non_leaf_is_read_without_a_warning() -> None:
    def program(m: ModuleType) -> object:
        y = leaf(m) * 2
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = [y.grad, len(caught)]
            y.grad = y.detach() * 3
            return [*found, y.grad, len(caught)]

    assert_agrees(program)
