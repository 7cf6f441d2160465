"""Saved tensors under hooks, and checkpointing: what is kept, what comes back, when it is freed, and what is refused.

Why it exists: these contexts exchange the very values that backward computes with; a mistake gives wrong gradients
without a word. The oracle is torch, except where a test says otherwise.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import partial
from types import ModuleType

import numpy as np
import pytest
import torch
import torch.utils.checkpoint
from support import LIBRARIES, assert_agrees, assert_same, assert_same_refusal, outcome, run_python

import cygrad
import cygrad.utils.checkpoint
from cygrad._core.memory import live_objects
from cygrad.autograd.function import FunctionCtx

Call = Callable[[ModuleType], object]
Tensor = cygrad.Tensor


def leaf(m: ModuleType, *values: float) -> Tensor:
    """A float64 leaf that requires grad."""
    made: Tensor = m.tensor(list(values) or [1.0, 2.0], dtype=m.float64, requires_grad=True)
    return made


class Log:
    """A pair of hooks that note what they are called with."""

    def __init__(self, m: ModuleType) -> None:
        self.m: ModuleType = m
        self.packed: list[list[object]] = []
        self.unpacked: list[int] = []

    def pack(self, tensor: Tensor) -> int:
        """A number for the tensor."""
        self.packed.append([tensor.clone(), tensor.requires_grad, self.m.is_grad_enabled()])
        return len(self.packed) - 1

    def unpack(self, number: int) -> Tensor:
        """The tensor of a number."""
        self.unpacked.append(number)
        tensor: Tensor = self.packed[number][0]  # type: ignore[assignment]
        return tensor

    def hooks(self) -> cygrad.autograd.graph.saved_tensors_hooks[int]:
        """The context."""
        context: cygrad.autograd.graph.saved_tensors_hooks[int] = self.m.autograd.graph.saved_tensors_hooks(
            self.pack, self.unpack
        )
        return context

    def facts(self) -> list[object]:
        """Everything noted."""
        return [self.packed, sorted(self.unpacked)]


# ---- saved_tensors_hooks ---------------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[ModuleType, Tensor, Tensor], Tensor]] = {
    "mul": lambda m, x, y: x * y,
    "square": lambda m, x, y: x * x,
    "mul by a number": lambda m, x, y: x * 2,
    "exp": lambda m, x, y: x.exp(),
    "exp and mul": lambda m, x, y: x.exp() * y,
    "div": lambda m, x, y: x / y,
    "pow": lambda m, x, y: x**3,
    "matmul": lambda m, x, y: x.reshape(1, 2) @ y.reshape(2, 1),
    "tanh": lambda m, x, y: x.tanh() + y,
    "add saves nothing": lambda m, x, y: x + y,
    "detached input": lambda m, x, y: x * y.detach(),
    "max": lambda m, x, y: x.max(0).values * y,
    "where": lambda m, x, y: m.where(x > 1, x, y),
    "indexing": lambda m, x, y: x[m.tensor([1, 0])] * y,
    "prod": lambda m, x, y: x.prod() * y,
    "softmax": lambda m, x, y: m.softmax(x * y, 0),
    "in place": lambda m, x, y: (x * y).mul_(x).exp_(),
    "a view written": lambda m, x, y: (lambda z: [z[:1].mul_(y[:1]), z][1])(x * 1),  # noqa: PLC3002
}


def under_hooks(m: ModuleType, operation: str) -> object:
    log = Log(m)
    x, y = leaf(m), leaf(m, 3.0, 4.0)
    with log.hooks():
        result = OPERATIONS[operation](m, x, y)
    result.sum().backward()
    assert len(set(log.unpacked)) == len(log.unpacked), "unpacked twice"
    return [[item[0] for item in log.packed], x.grad, y.grad]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_under_hooks_agree_with_the_oracle(operation: str) -> None:
    assert_agrees(partial(under_hooks, operation=operation))


def twice(m: ModuleType) -> object:
    log = Log(m)
    x = leaf(m)
    with log.hooks():
        y = (x * x).exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    return [log.facts(), x.grad]


def second_derivative(m: ModuleType) -> object:
    log = Log(m)
    x = leaf(m)
    with log.hooks():
        y = (x * x * x).sum()
    (first,) = m.autograd.grad(y, x, create_graph=True)
    return [first, list(m.autograd.grad(first.sum(), x))]


def nested(m: ModuleType) -> object:
    outer, inner = Log(m), Log(m)
    x = leaf(m)
    with outer.hooks():
        y = x * x
        with inner.hooks():
            z = y.exp()
        w = z * z
    w.sum().backward()
    return [outer.facts(), inner.facts(), x.grad]


def replaced(m: ModuleType) -> object:
    # What comes back is what backward computes with.
    x = leaf(m)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t * 10):
        y = (x * x).sum()
    y.backward()
    return x.grad


def saved_attributes(m: ModuleType) -> object:
    log = Log(m)
    x = leaf(m)
    with log.hooks():
        y = x.exp()
        z = y * x
    node = z.grad_fn
    assert node is not None
    left, right = node._saved_self, node._saved_other  # type: ignore[attr-defined]
    return [left, left.grad_fn is y.grad_fn, right, right.requires_grad, len(log.unpacked)]


def raw_hooks(m: ModuleType) -> object:
    log = Log(m)
    x = leaf(m)
    y = x.exp() * x
    node = y.grad_fn
    assert node is not None
    node._raw_saved_self.register_hooks(log.pack, log.unpack)  # type: ignore[attr-defined]
    node._raw_saved_other.register_hooks(lambda t: t, lambda t: t * 2)  # type: ignore[attr-defined]
    y.sum().backward()
    return [log.facts(), x.grad]


def function_under_hooks(m: ModuleType) -> object:
    log = Log(m)

    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        y = x * 3
        ctx.save_for_backward(x, y, None, x * 5)
        return y

    def backward(ctx: FunctionCtx, g: Tensor) -> Tensor:
        a, b, c, d = ctx.saved_tensors
        assert c is None
        return g * (a + b + d)

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    made = type("Made", (m.autograd.Function,), methods)
    x = leaf(m)
    with log.hooks():
        y = made.apply(x)  # type: ignore[attr-defined]
    y.sum().backward()
    return [log.facts(), x.grad]


def on_cpu(m: ModuleType) -> object:
    x = leaf(m)
    with m.autograd.graph.save_on_cpu():
        y = (x.exp() * x).sum()
    y.backward()
    return x.grad


def disabled_then_enabled(m: ModuleType) -> object:
    log = Log(m)
    x = leaf(m)
    with m.autograd.graph.disable_saved_tensors_hooks("not here"):
        pass
    with log.hooks():
        y = x * x
    y.sum().backward()
    return [log.facts(), x.grad]


def mutation(m: ModuleType) -> object:
    x = leaf(m)
    with m.autograd.graph.allow_mutation_on_saved_tensors():
        a = x.clone()
        b = a**2
        a.sin_()
        c = a**3
        a.mul_(2)
        (b.sum() + c.sum() + a.sum()).backward()
    return [x.grad, a]


def unpacked_leaf(m: ModuleType, raw: bool) -> object:
    """What hooks make of a saved leaf is a leaf whose gradient is the saved one's."""
    x = leaf(m)
    if raw:
        y = x * x
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 3, lambda t: t)  # type: ignore[union-attr]
    else:
        with m.autograd.graph.saved_tensors_hooks(lambda t: t * 3, lambda t: t):
            y = x * x
    saved: Tensor = y.grad_fn._saved_self  # type: ignore[union-attr]
    facts = [saved.is_leaf, saved.requires_grad, saved.grad_fn, saved.grad, saved is x]
    (saved * saved).sum().backward()
    return [facts, x.grad, saved]


def left_by_hand(m: ModuleType) -> object:
    log = Log(m)
    hooks = log.hooks()
    x = leaf(m)
    hooks.__enter__()
    y = x.sin()
    hooks.__exit__()
    (y * y).sum().backward()
    return [log.facts(), x.grad]


AGREES: dict[str, Call] = {
    "unpacked leaf": lambda m: unpacked_leaf(m, False),
    "unpacked leaf, raw": lambda m: unpacked_leaf(m, True),
    "left by hand": left_by_hand,
    "two backwards": twice,
    "second derivative": second_derivative,
    "nested": nested,
    "replaced": replaced,
    "attributes": saved_attributes,
    "raw": raw_hooks,
    "Function": function_under_hooks,
    "on the CPU": on_cpu,
    "disabled, then enabled": disabled_then_enabled,
    "mutation": mutation,
}


@pytest.mark.parametrize("name", AGREES)
def test_hooks_on_saved_tensors_agree_with_the_oracle(name: str) -> None:
    assert_agrees(AGREES[name])


def packing(pack: Callable[[Tensor], object], unpack: Callable[[object], object] = lambda kept: kept) -> Call:
    """A square under these hooks, and its backward."""

    def call(m: ModuleType) -> object:
        x = leaf(m)
        with m.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = x * x
        y.sum().backward()
        return x.grad

    return call


def raw(first: Callable[[object], object], after_backward: bool = False) -> Call:
    """register_hooks on a saved tensor."""

    def call(m: ModuleType) -> object:
        x = leaf(m)
        y = x * (m.ones(2, dtype=m.float64) if first is none_saved else x)
        node = y.grad_fn
        assert node is not None
        if after_backward:
            y.sum().backward()
        return first(node)

    return call


def none_saved(node: object) -> object:
    return node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)  # type: ignore[attr-defined]


def registered_twice(node: object) -> object:
    node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)  # type: ignore[attr-defined]
    return node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)  # type: ignore[attr-defined]


def registered(node: object) -> object:
    return node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)  # type: ignore[attr-defined]


def hooks_where_disabled(m: ModuleType) -> object:
    with m.autograd.graph.disable_saved_tensors_hooks("not here"), Log(m).hooks():
        return None


def disabled_where_hooks_are(m: ModuleType) -> object:
    with Log(m).hooks(), m.autograd.graph.disable_saved_tensors_hooks("not here"):
        return None


def mutation_nested(m: ModuleType) -> object:
    allow = m.autograd.graph.allow_mutation_on_saved_tensors
    with allow(), allow():
        return None


def mutation_left(m: ModuleType, clear: bool) -> object:
    with m.autograd.graph.allow_mutation_on_saved_tensors() as mutations:
        y = (leaf(m) ** 2).sum()
        if clear:
            mutations.clear()
            y.backward()
    y.backward()
    return None


REFUSED: dict[str, Call] = {
    "pack hook that writes": packing(lambda t: t.add_(1)),
    "unpack hook that gives no tensor": packing(lambda t: t, lambda kept: 3),
    "pack hook that takes nothing": packing(lambda: None),  # type: ignore[arg-type,misc]
    "raw, None saved": raw(none_saved),
    "raw, twice": raw(registered_twice),
    "raw, a number for the pack hook": raw(lambda node: node._raw_saved_self.register_hooks(3, id)),  # type: ignore[attr-defined]
    "raw, a number for the unpack hook": raw(lambda node: node._raw_saved_self.register_hooks(id, 3)),  # type: ignore[attr-defined]
    "a number for the pack hook": packing(3),  # type: ignore[arg-type]
    "a number for the unpack hook": packing(lambda t: t, 3),  # type: ignore[arg-type]
    "raw, freed": raw(registered, after_backward=True),
    "hooks where disabled": hooks_where_disabled,
    "hooks that are numbers": packing(3, 4),  # type: ignore[arg-type]
    "left without being entered": lambda m: m.autograd.graph.saved_tensors_hooks(id, id).__exit__(None, None, None),
    "disabled where hooks are": disabled_where_hooks_are,
    "mutation, nested": mutation_nested,
    "mutation, after the context": lambda m: mutation_left(m, False),
    "mutation, cleared": lambda m: mutation_left(m, True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_the_oracle(name: str) -> None:
    assert_same_refusal(REFUSED[name])


def test_refusal_of_a_pack_hook_that_writes_leaves_the_context_usable() -> None:
    x = leaf(cygrad)
    done = outcome(lambda: packing(lambda t: t.add_(1))(cygrad))
    assert "pack hook is modifying its input in place" in str(done.error)
    (x * x).sum().backward()
    assert_same(x.grad, cygrad.tensor([2.0, 4.0], dtype=cygrad.float64))


def test_a_leaf_that_a_hook_made_again_is_a_leaf() -> None:
    def call(m: ModuleType) -> object:
        x = leaf(m)
        with m.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            y = x * x
        again = y.grad_fn._saved_self
        found = [again.is_leaf, again.grad_fn, again.requires_grad, again is x, outcome(lambda: again.mul_(2)).ok]
        (again * 3).sum().backward()
        found += [x.grad, again.grad, m.autograd.grad((again * 2).sum(), x)]
        again.requires_grad_(False)
        return [*found, again.requires_grad, x.requires_grad]

    assert_agrees(call)


def test_a_replacement_may_be_written_after_unpacking() -> None:
    x = leaf(cygrad)
    kept: list[Tensor] = []

    def unpack(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with cygrad.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), unpack):
        y = x * x
    y.sum().backward()
    version = x._version
    for tensor in kept:
        tensor.zero_()
    assert x._version == version
    assert x.tolist() == [1.0, 2.0]
    assert_same(x.grad, cygrad.tensor([2.0, 4.0], dtype=cygrad.float64))


def test_views_of_saved_memory_may_be_written() -> None:
    # By algebra: the squares, the product, sin(x) ** 3, and the last values, of which the first is a constant.
    x = leaf(cygrad)
    with cygrad.autograd.graph.allow_mutation_on_saved_tensors():
        a = x.clone()
        b = a**2
        c = a[:1] * a[1:]
        a.sin_()
        d = a**3
        a[0] = 5.0
        (b.sum() + c.sum() + d.sum() + a.sum()).backward()
    v = np.array([1.0, 2.0])
    expected = 2 * v + v[::-1] + 3 * np.sin(v) ** 2 * np.cos(v) + np.array([0.0, np.cos(2.0)])
    assert_same(x.grad, cygrad.from_numpy(expected))


def test_identity_hooks_make_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        before = live_objects()
        with cygrad.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = leaf(cygrad).exp()
        del y
        assert live_objects() == before
    finally:
        gc.enable()


def test_what_was_cleared_is_refused_whether_or_not_it_was_written() -> None:
    def call(m: ModuleType, write: bool) -> object:
        with m.autograd.graph.allow_mutation_on_saved_tensors() as kept:
            y = leaf(m) * 2
            z = (y * y).sum()
            if write:
                y.mul_(5)
            kept.clear()
            return z.backward()

    for write in (False, True):
        assert_same_refusal(partial(call, write=write))


def test_hooks_belong_to_their_thread() -> None:
    counts: dict[str, int] = {"main": 0, "other": 0}

    def count(name: str) -> Callable[[Tensor], Tensor]:
        def pack(tensor: Tensor) -> Tensor:
            counts[name] += 1
            return tensor

        return pack

    def work() -> None:
        x = leaf(cygrad)
        (x * x).sum().backward()
        with cygrad.autograd.graph.saved_tensors_hooks(count("other"), lambda t: t):
            (x.exp() * 1).sum().backward()

    with cygrad.autograd.graph.saved_tensors_hooks(count("main"), lambda t: t):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        x = leaf(cygrad)
        (x * x * x).sum().backward()
    assert counts == {"main": 4, "other": 1}


def test_packed_tensors_are_freed_by_backward() -> None:
    x = leaf(cygrad)
    log = Log(cygrad)
    with cygrad.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = (x.exp() * x).sum()
    before = live_objects()
    y.backward()
    after = live_objects()
    # three copies went, the gradient came
    assert before["arrays"] - after["arrays"] == 2, (before, after)
    done = outcome(y.backward)
    assert isinstance(done.error, RuntimeError) and "second time" in str(done.error)
    assert not log.packed


def test_to_arrays_and_back() -> None:
    x = leaf(cygrad)
    kept: list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = []

    def pack(tensor: Tensor) -> int:
        kept.append(np.array(tensor.detach().numpy()))
        return len(kept) - 1

    with cygrad.autograd.graph.saved_tensors_hooks(pack, lambda k: cygrad.from_numpy(kept[k])):
        y = (x.exp() * x).sum()
    y.backward()
    expected = (x.detach().exp() * (1 + x.detach())).tolist()
    assert_same(x.grad, cygrad.tensor(expected, dtype=cygrad.float64))


# ---- checkpoint ------------------------------------------------------------------------------------------------------


def block(m: ModuleType, w: Tensor) -> Callable[[Tensor], Tensor]:
    """A part of a model."""
    return lambda h: m.tanh(h * w).exp() * h


def checkpointed(m: ModuleType, reentrant: bool) -> object:
    x, w = leaf(m), leaf(m, 0.5, -0.25)
    y = x
    for _ in range(3):
        y = m.utils.checkpoint.checkpoint(block(m, w), y, use_reentrant=reentrant)
    y.sum().backward()
    return [y, x.grad, w.grad]


def checkpointed_second(m: ModuleType) -> object:
    x, w = leaf(m), leaf(m, 0.5, -0.25)
    y = m.utils.checkpoint.checkpoint(block(m, w), x, use_reentrant=False)
    (first,) = m.autograd.grad(y.sum(), x, create_graph=True)
    return [first, list(m.autograd.grad(first.sum(), [x, w]))]


def checkpointed_outputs(m: ModuleType, reentrant: bool) -> object:
    x = leaf(m)
    out = m.utils.checkpoint.checkpoint(lambda t, k: (t * k, 3, t.exp(), None), x, 5, use_reentrant=reentrant)
    (out[0].sum() + out[2].sum()).backward()
    return [out[1], out[3], x.grad]


def count_runs(m: ModuleType, depth: int, stop: bool, reentrant: bool = False) -> object:
    runs: list[int] = []

    def level(d: int, h: Tensor) -> Tensor:
        runs.append(d)
        h = h.sin()
        if d:
            h = m.utils.checkpoint.checkpoint(partial(level, d - 1), h, use_reentrant=reentrant)
        h = h.exp()
        runs.append(-d)
        return h

    x = leaf(m)
    if reentrant:
        y = m.utils.checkpoint.checkpoint(partial(level, depth), x, use_reentrant=True)
    else:
        with m.utils.checkpoint.set_checkpoint_early_stop(stop):
            y = m.utils.checkpoint.checkpoint(partial(level, depth), x, use_reentrant=False)
    forward = list(runs)
    y.sum().backward()
    return [forward, runs[len(forward) :], x.grad]


def two_backwards(m: ModuleType) -> object:
    x, w = leaf(m), leaf(m, 0.5, -0.25)
    y = m.utils.checkpoint.checkpoint(block(m, w), x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    return [x.grad, w.grad]


def contexts(m: ModuleType) -> object:
    log: list[str] = []

    class Noting:
        """A context that notes its use."""

        def __init__(self, name: str) -> None:
            self.name: str = name

        def __enter__(self) -> None:
            log.append(self.name)

        def __exit__(self, *error: object) -> None:
            log.append("end of " + self.name)

    x = leaf(m)
    y = m.utils.checkpoint.checkpoint(
        lambda t: t.sin().exp(), x, use_reentrant=False, context_fn=lambda: (Noting("forward"), Noting("again"))
    )
    y.sum().backward()
    return [log, x.grad]


def keyword(m: ModuleType) -> object:
    x, w = leaf(m), leaf(m, 3.0, 4.0)
    y = m.utils.checkpoint.checkpoint(lambda t, *, factor: t.sin() * factor, x, factor=w, use_reentrant=False)
    y.sum().backward()
    return [x.grad, w.grad]


def sequential(m: ModuleType, segments: int, reentrant: bool) -> object:
    x = leaf(m)
    parts = [m.sin, m.exp, m.tanh, m.exp, m.cos]
    y = m.utils.checkpoint.checkpoint_sequential(parts, segments, x, use_reentrant=reentrant)
    y.sum().backward()
    return [y, x.grad]


def without_grad(m: ModuleType) -> object:
    with m.no_grad():
        return m.utils.checkpoint.checkpoint(m.sin, leaf(m), use_reentrant=False)


def saved_attribute_outside(m: ModuleType) -> object:
    y = m.utils.checkpoint.checkpoint(lambda t: t.exp() * t, leaf(m), use_reentrant=False)
    return [y.grad_fn._saved_self.detach(), y.grad_fn._saved_self.detach()]


CHECKPOINTS: dict[str, Call] = {
    "three": lambda m: checkpointed(m, False),
    "three, re-entrant": lambda m: checkpointed(m, True),
    "second derivative": checkpointed_second,
    "outputs": lambda m: checkpointed_outputs(m, False),
    "outputs, re-entrant": lambda m: checkpointed_outputs(m, True),
    "runs, early stop": lambda m: count_runs(m, 0, True),
    "runs, to the end": lambda m: count_runs(m, 0, False),
    "runs, nested": lambda m: count_runs(m, 2, True),
    "runs, nested, to the end": lambda m: count_runs(m, 2, False),
    "runs, nested, re-entrant": lambda m: count_runs(m, 2, True, True),
    "two backwards": two_backwards,
    "contexts": contexts,
    "keyword": keyword,
    **{
        f"sequential in {n}, {'re-entrant' if r else 'not'}": partial(sequential, segments=n, reentrant=r)
        for n in (1, 2, 5)
        for r in (False, True)
    },
    "no_grad": without_grad,
    "saved attributes, read outside": saved_attribute_outside,
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_checkpoints_agree_with_the_oracle(name: str) -> None:
    assert_agrees(CHECKPOINTS[name])


def changed(second: Callable[[Tensor], Tensor], **options: object) -> Call:
    """A checkpoint whose function does something else the second time."""

    def call(m: ModuleType) -> object:
        runs: list[int] = []

        def part(t: Tensor) -> Tensor:
            runs.append(1)
            return (t.exp() * t).sin() if len(runs) == 1 else second(t)

        x = leaf(m)
        m.utils.checkpoint.checkpoint(part, x, use_reentrant=False, **options).sum().backward()
        return x.grad

    return call


def checkpoint_of(*, gradient: bool = False, **options: object) -> Call:
    """A checkpoint with these options."""

    def call(m: ModuleType) -> object:
        x = leaf(m)
        y = m.utils.checkpoint.checkpoint(m.sin, x, **options)
        return m.autograd.grad(y.sum(), x) if gradient else y

    return call


CHANGED: dict[str, Call] = {
    "fewer tensors": changed(lambda t: t.sin()),
    "more tensors": changed(lambda t: (t.exp() * t).sin().tan().tan(), early_stop=False),
    "other shapes": changed(lambda t: (t[:1].exp() * t[:1]).sin()),
}
CHECKPOINT_REFUSED: dict[str, Call] = {
    "re-entrant in grad": checkpoint_of(use_reentrant=True, gradient=True),
    "re-entrant with keywords": checkpoint_of(use_reentrant=True, other=3),
    "re-entrant with contexts": checkpoint_of(use_reentrant=True, context_fn=lambda: (None, None)),
    "re-entrant with debug": checkpoint_of(use_reentrant=True, debug=True),
    "unknown check": checkpoint_of(use_reentrant=False, determinism_check="some"),
    "unknown keyword": checkpoint_of(use_reentrant=False, other=3),
    "detached tensors in a list": lambda m: m.utils.checkpoint.detach_variable([leaf(m)]),
    "more segments than functions": lambda m: m.utils.checkpoint.checkpoint_sequential(
        [m.sin], 5, leaf(m), use_reentrant=False
    ),
    "re-entrant without a derivative": lambda m: (
        m.utils.checkpoint.checkpoint(lambda t: t.detach(), leaf(m), use_reentrant=True).sum().backward()
    ),
}


@pytest.mark.parametrize("name", CHECKPOINT_REFUSED)
def test_checkpoints_refused_as_by_the_oracle(name: str) -> None:
    assert_same_refusal(CHECKPOINT_REFUSED[name])


@pytest.mark.parametrize("name", CHANGED)
def test_a_function_that_changed_is_a_checkpoint_error(name: str) -> None:
    ours, oracle = outcome(lambda: CHANGED[name](cygrad)), outcome(lambda: CHANGED[name](torch))
    assert isinstance(oracle.error, torch.utils.checkpoint.CheckpointError)
    assert isinstance(ours.error, cygrad.utils.checkpoint.CheckpointError)


def test_debug_says_where_mismatched_tensors_were_saved() -> None:
    done = outcome(lambda: changed(lambda t: (t[:1].exp() * t[:1]).sin(), debug=True)(cygrad))
    text = str(done.error)
    assert "tensor at position 0" in text
    assert text.count("test_saved_tensors.py") >= 2
    assert "t[:1].exp()" in text


@pytest.mark.parametrize("reentrant", [False, True])
def test_the_same_random_numbers_in_forward_and_recomputation(reentrant: bool) -> None:
    x = cygrad.ones(1000, requires_grad=True)
    cygrad.manual_seed(5)
    masks: list[Tensor] = []

    def noisy(t: Tensor) -> Tensor:
        mask = cygrad.bernoulli(cygrad.full((1000,), 0.5))
        masks.append(mask)
        return (t * mask).exp() * t

    y = cygrad.utils.checkpoint.checkpoint(noisy, x, use_reentrant=reentrant)
    between = cygrad.get_rng_state()
    y.sum().backward()
    assert_same(cygrad.get_rng_state(), between)
    assert len(masks) == 2
    assert_same(masks[0], masks[1])
    other = cygrad.utils.checkpoint.checkpoint(noisy, x, use_reentrant=reentrant, preserve_rng_state=False)
    other.sum().backward()
    assert (masks[2] != masks[3]).any().item()


@pytest.mark.parametrize("retain", [False, True])
def test_what_is_made_again_goes_before_the_backward_ends(retain: bool) -> None:
    # of each checkpoint half of what it saves is for gradients that nobody asks for
    def alive(length: int) -> int:
        x, weights = leaf(cygrad), [leaf(cygrad) for _ in range(length)]
        y = x * 1.0
        counts: list[int] = []
        y.register_hook(lambda grad: counts.append(live_objects()["arrays"]))
        for weight in weights:
            y = cygrad.utils.checkpoint.checkpoint(lambda t, w: (t.sin() * w).exp(), y, weight, use_reentrant=False)
        before = live_objects()["arrays"]
        cygrad.autograd.grad(y.sum(), x, retain_graph=retain)
        assert live_objects()["arrays"] <= before
        return counts[0] - before

    few, many = alive(4), alive(40)
    assert retain or many <= few


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_keeps_only_its_input(reentrant: bool) -> None:
    x = leaf(cygrad)

    def long(t: Tensor) -> Tensor:
        for _ in range(50):
            t = t.exp().log()
        return t

    before = live_objects()
    y = cygrad.utils.checkpoint.checkpoint(long, x, use_reentrant=reentrant)
    kept = live_objects()["storages"] - before["storages"]
    assert kept <= 5, kept
    y.sum().backward()
    assert_same(x.grad, cygrad.ones(2, dtype=cygrad.float64))


def test_what_the_recomputation_raises_arrives_unchanged() -> None:
    own = KeyError("own")
    runs: list[int] = []

    def part(t: Tensor) -> Tensor:
        runs.append(1)
        if len(runs) == 2:
            raise own
        return t.exp() * t

    y = cygrad.utils.checkpoint.checkpoint(part, leaf(cygrad), use_reentrant=False)
    done = outcome(lambda: y.sum().backward())
    assert done.error is own


def test_use_reentrant_should_be_said() -> None:
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        cygrad.utils.checkpoint.checkpoint(cygrad.sin, leaf(cygrad))
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        cygrad.utils.checkpoint.checkpoint(cygrad.sin, cygrad.ones(2), use_reentrant=True)


def test_checkpoint_needs_no_import_of_its_own() -> None:
    program = (
        "import cygrad as torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False).sum().backward()\n"
        "assert torch.utils.dlpack.to_dlpack(x.grad)\n"
        "print(hasattr(torch.utils, 'nothing'), x.grad.tolist()[0] > 2)\n"
    )
    assert run_python(program).split() == ["False", "True"]


@pytest.mark.parametrize("m", LIBRARIES)
def test_helpers_of_checkpoints(m: ModuleType) -> None:
    x, y = leaf(m), m.ones(2)
    detached = m.utils.checkpoint.detach_variable((x, x * 1, y, 3))
    assert [t.requires_grad and t.is_leaf for t in detached[:3]] == [True, True, False]
    assert detached[0] is not x and detached[0].data_ptr() == x.data_ptr() and detached[3] == 3
    m.utils.checkpoint.check_backward_validity([y, x])
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        m.utils.checkpoint.check_backward_validity([y, 3])
