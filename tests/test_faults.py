"""Allocations that fail: a MemoryError, nothing left alive, the next step right, whichever allocation it was.

Why it exists: code without the GIL cleans up by hand, and no other test goes through its ways out.
"""

from __future__ import annotations

import gc
import traceback
import warnings
from collections.abc import Callable, Iterator

import pytest

import cygrad
from cygrad._core.memory import _fail_allocation, live_objects
from cygrad.autograd import Function, forward_ad
from cygrad.autograd.function import FunctionCtx
from cygrad.autograd.graph import save_on_cpu, saved_tensors_hooks
from cygrad.utils.checkpoint import checkpoint

Tensors = list[cygrad.Tensor]
Step = Callable[[Tensors], cygrad.Tensor]


class Cube(Function):
    """A Function that saves an input and an intermediate."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: cygrad.Tensor) -> cygrad.Tensor:
        square = x * x
        ctx.save_for_backward(x, square)
        ctx.save_for_forward(x)
        return square * x

    @staticmethod
    def backward(ctx: FunctionCtx, grad: cygrad.Tensor) -> cygrad.Tensor:
        x, square = ctx.saved_tensors
        assert x is not None and square is not None
        # a derivative of the intermediate would be refused
        return grad * x * x * 3.0 if cygrad.is_grad_enabled() else grad * square * 3.0

    @staticmethod
    def jvp(ctx: FunctionCtx, tangent: cygrad.Tensor) -> cygrad.Tensor:
        (x,) = ctx.saved_tensors
        assert x is not None
        return tangent * x * x * 3.0


def leaves(*shapes: tuple[int, ...]) -> Tensors:
    """float64 leaves of these shapes with values between 0.1 and 1."""
    made = []
    for shape in shapes:
        count = 1
        for size in shape:
            count *= size
        values = cygrad.linspace(0.1, 1.0, count, dtype=cygrad.float64).reshape(shape)
        made.append(values.detach().requires_grad_())
    return made


def elementwise(p: Tensors) -> cygrad.Tensor:
    x, y = p
    root: cygrad.Tensor = ((x * y + x / y - y.exp()).tanh() * x.sqrt()).sum()
    return root


def broadcast(p: Tensors) -> cygrad.Tensor:
    x, y = p
    return (x * y).sum(0).mean() + (x - y).pow(2).sum()


def layers(p: Tensors) -> cygrad.Tensor:
    x, w, b = p
    hidden = (x @ w + b).relu()
    return hidden.softmax(1).log().sum() + hidden.logsumexp(1).sum()


def views(p: Tensors) -> cygrad.Tensor:
    (x,) = p
    parts = x.t().reshape(2, 6).split(3, 1)
    return cygrad.cat([parts[0] * parts[1], parts[1].flip(0)]).index_select(0, cygrad.tensor([0, 2, 3])).sum()


def writes(p: Tensors) -> cygrad.Tensor:
    (x,) = p
    y = x * 2.0
    y.mul_(x)
    y[1].add_(1.0)
    z = cygrad.zeros(3, 4, dtype=cygrad.float64)
    z[:, :2] = y[:, 2:]
    return (z * z).sum() + y.prod(1).sum()


def function(p: Tensors) -> cygrad.Tensor:
    (x,) = p
    y = Cube.apply(x)
    assert isinstance(y, cygrad.Tensor)
    y.register_hook(lambda grad: grad * 2.0)
    return y.sum()


def several_outputs(p: Tensors) -> cygrad.Tensor:
    (x,) = p
    largest = x.max(1)
    low, high = x.sort(0).values.chunk(2, 1)
    return largest.values.sum() + (low * high).sum() + x.cumsum(0).var()


def block(x: cygrad.Tensor) -> cygrad.Tensor:
    return (x.sin() * x).exp()


def checkpointed(p: Tensors) -> cygrad.Tensor:
    (x,) = p
    return checkpoint(block, checkpoint(block, x, use_reentrant=False), use_reentrant=False).sum()


def checkpointed_reentrant(p: Tensors) -> cygrad.Tensor:
    (x,) = p
    return checkpoint(block, x, use_reentrant=True).sum()


def packed(p: Tensors) -> cygrad.Tensor:
    (x,) = p
    with saved_tensors_hooks(lambda t: t * 2.0, lambda t: t / 2.0):
        y = x * x.exp()
    y.register_hook(lambda grad: grad * 2.0)
    assert y.grad_fn is not None
    y.grad_fn.register_hook(lambda grad_inputs, _: grad_inputs)
    with save_on_cpu():
        return (y * y).sum()


STEPS: dict[str, tuple[Step, list[tuple[int, ...]]]] = {
    "elementwise": (elementwise, [(3, 4), (3, 4)]),
    "broadcast": (broadcast, [(3, 4), (4,)]),
    "layers": (layers, [(3, 4), (4, 5), (5,)]),
    "views": (views, [(3, 4)]),
    "writes": (writes, [(3, 4)]),
    "function": (function, [(3, 4)]),
    "several outputs": (several_outputs, [(3, 4)]),
    "checkpoint": (checkpointed, [(3, 4)]),
    "re-entrant checkpoint": (checkpointed_reentrant, [(3, 4)]),
    "packed": (packed, [(3, 4)]),
    "large": (elementwise, [(150, 150), (150, 150)]),
}


def plain(step: Step, p: Tensors) -> list[object]:
    """Gradients of a step by backward."""
    step(p).backward()
    return [x.grad.tolist() for x in p if x.grad is not None]


def pruned(step: Step, p: Tensors) -> list[object]:
    """Gradients of a step by grad, twice over the same graph."""
    root = step(p)
    cygrad.autograd.grad(root, p, retain_graph=True)
    return [g.tolist() for g in cygrad.autograd.grad(root, p)]


def twice(step: Step, p: Tensors) -> list[object]:
    """Second derivatives along the gradient."""
    first = cygrad.autograd.grad(step(p), p, create_graph=True)
    root = sum((g * g).sum() for g in first if g.requires_grad)
    assert isinstance(root, cygrad.Tensor)
    return [g.tolist() for g in cygrad.autograd.grad(root, p, materialize_grads=True)]


def watched(step: Step, p: Tensors) -> list[object]:
    """Gradients of a step under anomaly mode."""
    with warnings.catch_warnings(action="ignore"), cygrad.autograd.detect_anomaly():
        return plain(step, p)


def batched(step: Step, p: Tensors) -> list[object]:
    """Gradients for two cotangents at once."""
    cotangents = cygrad.tensor([1.0, -2.0], dtype=cygrad.float64)
    return [g.tolist() for g in cygrad.autograd.grad(step(p), p, cotangents, is_grads_batched=True)]


def pushed(step: Step, p: Tensors) -> list[object]:
    """Tangent of a step, and its gradient."""
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, x.detach() * 0.5) for x in p]
        tangent = forward_ad.unpack_dual(step(duals)).tangent
        assert tangent is not None
        return [tangent.tolist(), *(g.tolist() for g in cygrad.autograd.grad(tangent, p, materialize_grads=True))]


def clear(p: Tensors) -> None:
    for x in p:
        x.grad = None


WAYS: dict[str, Callable[[Step, Tensors], list[object]]] = {
    "backward": plain,
    "grad": pruned,
    "double": twice,
    "anomaly": watched,
    "batched": batched,
    "forward": pushed,
}
# A re-entrant checkpoint refuses all but backward.
CASES = [
    (name, way) for name in STEPS for way in WAYS if name != "re-entrant checkpoint" or way in ("backward", "anomaly")
]


@pytest.fixture
def young_heap() -> Iterator[None]:
    """Collections look at what the test makes alone: thousands over all that other tests left would take minutes."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("young_heap")
@pytest.mark.parametrize(("name", "way"), CASES)
def test_every_allocation_of_a_step_may_fail(name: str, way: str) -> None:
    step, shapes = STEPS[name]
    run = WAYS[way]
    p = leaves(*shapes)
    try:
        right = run(step, p)
    except RuntimeError as error:
        pytest.fail(f"the step itself: {error}")
    clear(p)
    gc.collect()
    before = live_objects()
    k = 0
    while True:
        k += 1
        assert k < 5000, "a step of so many allocations is no step"
        _fail_allocation(k)
        try:
            run(step, p)
        except MemoryError as error:
            _fail_allocation(0)
            traceback.clear_frames(error.__traceback__)
            text = str(error)
        except BaseException as error:
            _fail_allocation(0)
            raise AssertionError(f"allocation {k} failed, and the step raised {error!r}") from error
        else:
            if _fail_allocation(0):
                break  # it was never reached: all have had their turn
            raise AssertionError(f"allocation {k} failed, and nobody noticed")
        assert "out of memory" in text
        clear(p)
        gc.collect()
        assert live_objects() == before, f"after allocation {k} failed"
    clear(p)
    assert k > 5, "the switch has no effect"
    assert run(step, p) == right
    clear(p)


def test_the_switch_counts_and_is_off_at_first() -> None:
    assert _fail_allocation(0) == 0
    _fail_allocation(1000)
    cygrad.ones(3)
    left = _fail_allocation(0)
    assert 0 < left < 1000
    _fail_allocation(1)
    with pytest.raises(MemoryError, match="out of memory"):
        cygrad.ones(3)
    assert cygrad.ones(3).tolist() == [1.0, 1.0, 1.0]
