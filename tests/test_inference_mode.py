"""inference_mode: what its tensors may and may not, inside and outside, against torch; other switches of a thread.

Why it exists: a tensor that no version protects must never reach a graph unnoticed.
"""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
from support import Outcome, difference, outcome, refusal_difference

import cygrad
from cygrad.autograd import inference_mode, is_multithreading_enabled, set_multithreading_enabled
from cygrad.autograd.grad_mode import is_inference_mode_enabled


class Made:
    """Tensors made inside and outside of inference mode."""

    def __init__(self, m: ModuleType) -> None:
        self.m = m
        self.normal: cygrad.Tensor = m.ones(3)
        self.leaf: cygrad.Tensor = m.ones(3, requires_grad=True)
        self.recorded: cygrad.Tensor = (self.leaf * self.leaf).sum()
        with m.inference_mode():
            self.made: cygrad.Tensor = m.ones(3)
            self.made_leaf: cygrad.Tensor = m.ones(3, requires_grad=True)
            self.result: cygrad.Tensor = self.leaf * 2
            self.view: cygrad.Tensor = self.normal[:2]
            self.view_of_leaf: cygrad.Tensor = self.leaf[:2]
            self.view_of_made: cygrad.Tensor = self.made[:2]


def facts(*tensors: cygrad.Tensor) -> list[object]:
    return [[t.is_inference(), t.requires_grad, t.is_leaf, t._is_view()] for t in tensors]


def identity(m: ModuleType) -> Callable[[cygrad.Tensor], object]:
    """A custom Function, applied."""
    methods = {"forward": staticmethod(lambda ctx, x: x * 1), "backward": staticmethod(lambda ctx, g: g)}
    made: Callable[[cygrad.Tensor], object] = type("Identity", (m.autograd.Function,), methods).apply  # type: ignore[attr-defined]
    return made


def stale_view_inside(t: Made) -> object:
    """A view whose base was written since is asked for its place in the graph in inference mode."""
    y = t.leaf * 1
    view = y[:2]
    y.mul_(2)
    names = inside(t, lambda: [view.grad_fn.name() if view.grad_fn is not None else None, view.requires_grad])
    view.sum().backward()
    return [names, t.leaf.grad]


def inside(t: Made, body: Callable[[], object]) -> object:
    with t.m.inference_mode():
        return body()


CASES: dict[str, Callable[[Made], object]] = {
    "facts": lambda t: facts(t.made, t.made_leaf, t.result, t.view, t.view_of_leaf, t.view_of_made),
    "modes inside": lambda t: inside(t, lambda: [t.m.is_grad_enabled(), t.m.is_inference_mode_enabled()]),
    "modes outside": lambda t: [t.m.is_grad_enabled(), t.m.is_inference_mode_enabled()],
    "version": lambda t: t.made._version,
    "version inside": lambda t: inside(t, lambda: t.made._version),
    "write inside": lambda t: inside(t, lambda: t.made.add_(1)),
    "write an ordinary tensor inside": lambda t: [inside(t, lambda: t.normal.add_(1)), t.normal._version],
    "write a leaf inside": lambda t: [inside(t, lambda: t.leaf.add_(1).detach()), t.leaf._version],
    "requires_grad inside": lambda t: inside(t, lambda: facts(t.made.clone().requires_grad_())),
    "enable_grad inside": lambda t: inside(
        t, lambda: t.m.enable_grad()(lambda: [t.m.is_grad_enabled(), *facts(t.leaf * 2)])()
    ),
    "switched off inside": lambda t: inside(
        t, lambda: t.m.inference_mode(False)(lambda: [t.m.is_grad_enabled(), *facts(t.leaf * 2)])()
    ),
    "inference_mode(False) in no_grad": lambda t: t.m.no_grad()(
        lambda: t.m.inference_mode(False)(lambda: t.m.is_grad_enabled())()
    )(),
    "detach inside": lambda t: inside(t, lambda: facts(t.made.detach(), t.normal.detach(), t.normal.data)),
    "tensor inside": lambda t: inside(t, lambda: facts(t.m.tensor([1.0]), t.m.zeros(2), t.m.arange(3))),
    "backward of a result": lambda t: inside(t, lambda: t.result.sum().backward()),
    "copy inside": lambda t: inside(t, lambda: t.normal.copy_(t.made)),
    "function outside": lambda t: facts(t.made * 2, t.made.exp(), t.made.clone()),
    "write outside": lambda t: t.made.add_(1),
    "write outside in no_grad": lambda t: t.m.no_grad()(lambda: t.made.add_(1))(),
    "copy outside": lambda t: t.made.copy_(t.normal),
    "zero outside": lambda t: t.made.zero_(),
    "fill outside": lambda t: t.made.fill_(3.0),
    "index outside": lambda t: t.made.__setitem__(0, 1.0),
    "write a view outside": lambda t: t.view_of_made.add_(1),
    "save": lambda t: t.leaf * t.made,
    "save as self": lambda t: (t.leaf * 1).mul_(t.made),
    "nothing saved": lambda t: facts(t.leaf + t.made),
    "save in no_grad": lambda t: facts(t.m.no_grad()(lambda: t.leaf * t.made)()),
    "view outside": lambda t: facts(t.made[:2], t.made.view(3, 1)),
    "detach outside": lambda t: facts(t.made.detach(), t.made.data),
    "requires_grad outside": lambda t: t.made.requires_grad_(),
    "requires_grad False outside": lambda t: facts(t.made.requires_grad_(False)),
    "leaf made inside": lambda t: [(t.made_leaf * 2).sum().backward(), t.made_leaf.grad],
    "write an inside view": lambda t: t.view.add_(1),
    "write an inside view, recorded": lambda t: t.view.mul_(t.leaf[:2]),
    "write an inside view of a leaf": lambda t: t.view_of_leaf.add_(1),
    "write an inside view in no_grad": lambda t: [t.m.no_grad()(lambda: t.view.add_(1))(), t.normal, t.normal._version],
    "write an inside view of a leaf in no_grad": lambda t: [
        t.m.no_grad()(lambda: t.view_of_leaf.add_(1))().detach(),
        t.leaf.detach(),
        t.leaf._version,
    ],
    "write an inside view inside": lambda t: [inside(t, lambda: t.view.add_(1)), t.normal, t.normal._version],
    "assign to an inside view": lambda t: [t.view.__setitem__(0, 5.0), t.normal],
    "an inside view follows its base": lambda t: [t.normal.mul_(t.leaf), t.view.grad_fn],
    "an inside view of a leaf in a product": lambda t: facts(t.view_of_leaf * 2),
    "view of an inside view": lambda t: t.view_of_leaf[:1].add_(1),
    "operand of a write": lambda t: t.normal.add_(t.made),
    "cat": lambda t: facts(t.m.cat([t.leaf, t.made])),
    "grad of an inside leaf": lambda t: t.m.autograd.grad((t.leaf * 2).sum(), t.made_leaf, allow_unused=True),
    "base": lambda t: t.view_of_made._base is None,
    "inside leaves alone": lambda t: facts(
        t.made_leaf * t.made_leaf, t.made_leaf.exp(), t.made_leaf[:2], t.made_leaf.sum(), t.m.cat([t.made_leaf, t.made])
    ),
    "inside leaf and number": lambda t: facts(t.made_leaf * 2, t.made_leaf + 1),
    "inside leaf and ordinary tensor": lambda t: facts(t.made_leaf + t.normal, t.made_leaf * t.normal),
    "inside leaf indexed by ordinary tensor": lambda t: facts(t.made_leaf[t.m.tensor([0, 2])]),
    "inside leaf indexed inside": lambda t: facts(t.made_leaf[inside(t, lambda: t.m.tensor([0, 2]))]),
    "split of an inside leaf": lambda t: facts(*t.made_leaf.split(1)),
    "backward of inside leaves alone": lambda t: t.made_leaf.sum().backward(),
    "backward of a sum with an inside leaf": lambda t: [
        (t.made_leaf + t.normal).sum().backward(),
        t.made_leaf.grad,
    ],
    "enable_grad inside survives a Function": lambda t: inside(
        t, lambda: t.m.enable_grad()(lambda: [identity(t.m)(t.leaf) is None, t.m.is_grad_enabled()])()
    ),
    "enable_grad inside survives out=": lambda t: inside(
        t, lambda: t.m.enable_grad()(lambda: [t.m.add(t.normal, 1, out=t.m.ones(3)), t.m.is_grad_enabled()])()
    ),
    "grad_fn of a stale view, asked for inside": lambda t: stale_view_inside(t),
    "decorators": lambda t: facts(
        t.m.inference_mode(lambda x: x * 2)(t.leaf),
        t.m.inference_mode()(lambda x: x * 2)(t.leaf),
        t.m.inference_mode(mode=False)(lambda x: x * 2)(t.leaf),
    ),
    "gradients of a backward inside": lambda t: inside(
        t,
        lambda: [
            facts(*t.m.autograd.grad(t.recorded, t.leaf, retain_graph=True)),
            t.recorded.backward(),
            facts(t.leaf.grad),
        ],
    ),
    "deepcopy": lambda t: [facts(copy.deepcopy(t.made)), inside(t, lambda: facts(copy.deepcopy(t.normal)))],
    "gradient onto one made inside": lambda t: [
        setattr(t.leaf, "grad", t.made),
        (t.leaf * 2).sum().backward(),
    ],
    "gradient onto one of a backward inside": lambda t: [
        inside(t, lambda: t.recorded.backward()),
        (t.leaf * 2).sum().backward(),
    ],
    "gradient onto one of a backward inside, inside": lambda t: [
        inside(t, lambda: [t.recorded.backward(retain_graph=True), t.recorded.backward()]),
        t.leaf.grad,
    ],
    "gradients are ordinary": lambda t: facts(t.m.autograd.grad((t.leaf * t.leaf).sum(), t.leaf)[0]),
}


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name: str) -> None:
    import torch

    ours: Outcome = outcome(lambda: CASES[name](Made(cygrad)))
    oracle: Outcome = outcome(lambda: CASES[name](Made(torch)))
    found = difference(ours.value, oracle.value) if ours.ok and oracle.ok else refusal_difference(ours, oracle)
    assert found is None, found
    assert cygrad.is_grad_enabled() and not is_inference_mode_enabled()


def test_a_refused_write_changes_nothing() -> None:
    t = Made(cygrad)
    with pytest.raises(RuntimeError, match="clone"):
        t.made.add_(1)
    assert t.made.tolist() == [1.0, 1.0, 1.0]


def test_the_refusal_of_saving_names_the_operation_and_the_way_out() -> None:
    t = Made(cygrad)
    with pytest.raises(RuntimeError, match=r"MulBackward0.*clone\(\)"):
        t.leaf * t.made
    (t.leaf * t.made.clone()).sum().backward()
    assert t.leaf.grad is not None


def test_the_block_that_raises_and_nesting_restore_the_modes() -> None:
    with cygrad.no_grad(), pytest.raises(KeyError), inference_mode():
        raise KeyError
    assert cygrad.is_grad_enabled() and not is_inference_mode_enabled()
    mode = inference_mode()
    with mode, mode, inference_mode(False):
        assert cygrad.is_grad_enabled() and not is_inference_mode_enabled()
    assert cygrad.is_grad_enabled() and not is_inference_mode_enabled()


def test_a_generator_is_in_inference_mode_while_it_runs() -> None:
    @inference_mode
    def numbers() -> Iterator[bool]:
        for _ in range(2):
            yield is_inference_mode_enabled()

    for seen in numbers():
        assert seen
        assert not is_inference_mode_enabled()


def test_a_coroutine_is_in_inference_mode_while_it_runs() -> None:
    @inference_mode()
    async def work() -> bool:
        await asyncio.sleep(0)
        return is_inference_mode_enabled()

    async def both() -> list[bool]:
        found = await work()
        return [found, is_inference_mode_enabled()]

    assert asyncio.run(both()) == [True, False]


def test_methods_of_classes() -> None:
    class Model:
        @cygrad.no_grad()
        def quiet(self, x: cygrad.Tensor) -> cygrad.Tensor:
            return x * 2

        @classmethod
        @inference_mode
        def infer(cls, x: cygrad.Tensor) -> cygrad.Tensor:
            return x * 2

        @staticmethod
        @cygrad.enable_grad()
        def loud(x: cygrad.Tensor) -> cygrad.Tensor:
            return x * 2

    x = cygrad.ones(1, requires_grad=True)
    assert not Model().quiet(x).requires_grad
    assert Model.infer(x).is_inference()
    with cygrad.no_grad():
        assert Model.loud(x).requires_grad


def test_the_mode_is_a_threads_own() -> None:
    seen: list[bool] = []
    with inference_mode():
        thread = threading.Thread(target=lambda: seen.append(is_inference_mode_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]


@pytest.mark.parametrize("bad", [1, "on", None])
def test_the_mode_is_a_bool_or_a_function(bad: object) -> None:
    with pytest.raises(TypeError):
        inference_mode(bad)  # type: ignore[call-overload]
    assert not is_inference_mode_enabled()


def test_pack_hooks_leave_the_modes_alone() -> None:
    x = cygrad.ones(2, requires_grad=True)
    hooks = cygrad.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with cygrad.inference_mode(), cygrad.enable_grad(), hooks:
        with cygrad.inference_mode(False):
            x * x
        assert cygrad.is_grad_enabled()
        assert is_inference_mode_enabled()


def test_set_multithreading_enabled_as_a_decorator() -> None:
    @cygrad.autograd.set_multithreading_enabled(False)
    def alone() -> bool:
        return is_multithreading_enabled()

    assert is_multithreading_enabled()
    assert not alone()
    assert is_multithreading_enabled()


def test_hooks_find_the_backwards_own_modes() -> None:
    """Grad mode in a hook is the backward's; what a hook changes ends with it."""
    x = cygrad.ones(1, requires_grad=True)
    seen: list[bool] = []

    def hook(grad: cygrad.Tensor) -> None:
        seen.append(cygrad.is_grad_enabled())
        cygrad.set_grad_enabled(not cygrad.is_grad_enabled())

    y = x * 2
    y.register_hook(hook)
    y.backward(retain_graph=True)
    assert cygrad.is_grad_enabled()
    cygrad.autograd.grad(y, x, create_graph=True)
    with cygrad.no_grad():
        cygrad.autograd.grad(y, x, create_graph=True)
        assert not cygrad.is_grad_enabled()
    assert seen == [False, True, True]


def test_set_multithreading_enabled_as_function_and_context() -> None:
    assert is_multithreading_enabled()
    with set_multithreading_enabled(False):
        assert not is_multithreading_enabled()
        with set_multithreading_enabled(True):
            assert is_multithreading_enabled()
        assert not is_multithreading_enabled()
    assert is_multithreading_enabled()
    set_multithreading_enabled(False)
    assert not is_multithreading_enabled()
    set_multithreading_enabled(True)
    with pytest.raises(TypeError):
        set_multithreading_enabled(0)  # type: ignore[arg-type]
    assert is_multithreading_enabled()


@pytest.mark.parametrize("allowed", [True, False])
def test_backward_gives_the_same_with_and_without_worker_threads(allowed: bool) -> None:
    cygrad.set_num_threads(2)
    x = cygrad.ones(150, 150, dtype=cygrad.float64, requires_grad=True)
    root = cygrad.stack([(x @ x) * float(k) for k in range(6)]).sum()
    with set_multithreading_enabled(allowed):
        root.backward()
    assert x.grad is not None
    assert x.grad.eq(2.0 * 150 * 15).all()
