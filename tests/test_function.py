"""Custom Functions: what forward may return and mark, what backward gets and may return, and what is refused.

Why it exists: a Function is the one place where a user writes the derivative; a mistake in it, or in how it is
recorded, would be a silent wrong number. The oracle is torch, except where a test says otherwise.
"""

from __future__ import annotations

import functools
import gc
import inspect
import weakref
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import NamedTuple

import pytest
import torch
from support import LIBRARIES, Outcome, assert_agrees, assert_same, assert_same_refusal, let, node_name, outcome

import cygrad
from cygrad.autograd import Function
from cygrad.autograd.function import FunctionCtx, NestedIOFunction, once_differentiable
from cygrad.autograd.gradcheck import gradcheck, gradgradcheck

Call = Callable[[ModuleType], object]
Context = FunctionCtx
Tensor = cygrad.Tensor


def leaf(m: ModuleType, *values: float) -> Tensor:
    """A float64 leaf that requires grad."""
    made: Tensor = m.tensor(list(values) or [1.0, 2.0], dtype=m.float64, requires_grad=True)
    return made


def function(
    m: ModuleType,
    forward: Callable[..., object],
    backward: Callable[..., object] = lambda ctx, *grads: grads[0],
    name: str = "Made",
    **members: object,
) -> type[Function]:
    """A Function of either library."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward), **members}
    made: type[Function] = type(name, (m.autograd.Function,), methods)
    return made


def apply(m: ModuleType, forward: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Of forward a Function whose backward hands the first gradient on, applied."""
    call: Callable[..., object] = function(m, forward).apply
    return call(*args, **kwargs)


def tensor(value: object) -> Tensor:
    """For the checker: the value is a tensor (of either library)."""
    made: Tensor = value  # type: ignore[assignment]
    return made


def tensors(value: object) -> tuple[Tensor, ...]:
    """For the checker: the value is a tuple of tensors (of either library)."""
    made: tuple[Tensor, ...] = value  # type: ignore[assignment]
    return made


def grad(m: ModuleType, output: object, *inputs: Tensor, create_graph: bool = False) -> object:
    """Gradients of the output's sum; None where it does not depend on an input."""
    return list(m.autograd.grad(tensor(output).sum(), inputs, create_graph=create_graph, allow_unused=True))


def square(m: ModuleType, **members: object) -> type[Function]:
    """A Function of x * x, with the input saved."""

    def forward(ctx: Context, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Context, g: Tensor) -> Tensor:
        return g * 2 * ctx.saved_tensors[0]

    return function(m, forward, backward, "Square", **members)


def squared(m: ModuleType, x: Tensor, **members: object) -> Tensor:
    call: Callable[..., object] = square(m, **members).apply
    return tensor(call(x))


# ---- values, nodes and derivatives -----------------------------------------------------------------------------------


def second_of_square(m: ModuleType) -> object:
    x = leaf(m)
    (first,) = m.autograd.grad(squared(m, x).sum(), x, create_graph=True)
    return [first, grad(m, first, x)]


def node_of_square(m: ModuleType) -> object:
    x = leaf(m)
    y = squared(m, x)
    node = y.grad_fn
    assert node is not None
    return [
        y,
        node.name(),
        type(node).__name__,
        isinstance(node, m.autograd.graph.Node),
        len(node.next_functions),
        node.needs_input_grad,  # type: ignore[attr-defined]
        node.saved_tensors[0] is x,  # type: ignore[attr-defined]
        [raw.data is x for raw in node._raw_saved_tensors],  # type: ignore[attr-defined]
        y.is_leaf,
        y.output_nr,
    ]


def attribute_of_the_context(m: ModuleType) -> object:
    def forward(ctx: Context, x: Tensor) -> Tensor:
        ctx.factor = 5  # type: ignore[attr-defined]
        return x * 5

    return tensor(apply(m, forward, leaf(m))).grad_fn.factor  # type: ignore[union-attr]


def setup_context(m: ModuleType, *args: object, **kwargs: object) -> object:
    def forward(x: Tensor, k: float) -> Tensor:
        return x * k

    def setup(ctx: Context, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.k = inputs[1]  # type: ignore[attr-defined]

    def backward(ctx: Context, g: Tensor) -> tuple[Tensor, None]:
        return g * ctx.k, None  # type: ignore[attr-defined]

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, backward, setup_context=staticmethod(setup)).apply
    return grad(m, call(x, *args, **kwargs), x)


def saved_output(m: ModuleType) -> object:
    def forward(ctx: Context, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    def backward(ctx: Context, g: Tensor) -> Tensor:
        return g * ctx.saved_tensors[0]

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, backward).apply
    (first,) = m.autograd.grad(tensor(call(x)).sum(), x, create_graph=True)
    return [first, grad(m, first, x)]


def saved_bystander(m: ModuleType) -> object:
    # Neither input nor output, with a history of its own: its gradient flows in the second derivative.
    w = leaf(m, 5.0, 6.0) * 1

    def forward(ctx: Context, x: Tensor) -> Tensor:
        ctx.save_for_backward(w)
        return x * w

    def backward(ctx: Context, g: Tensor) -> Tensor:
        return g * ctx.saved_tensors[0]

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, backward).apply
    (first,) = m.autograd.grad(tensor(call(x)).sum(), x, create_graph=True)
    return grad(m, first, w)


def saved_none_and_many(m: ModuleType) -> object:
    seen: list[object] = []

    def forward(ctx: Context, x: Tensor) -> Tensor:
        ctx.save_for_backward(None, *[x] * 300)
        return x * 2

    def backward(ctx: Context, g: Tensor) -> Tensor:
        saved = ctx.saved_tensors
        seen.append(saved[0])
        return g * len(saved)

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, backward).apply
    return [grad(m, call(x), x), seen]


def outputs_with_gradients(m: ModuleType, materialize: bool, which: int) -> object:
    seen: list[object] = []

    def forward(ctx: Context, x: Tensor) -> tuple[object, ...]:
        ctx.set_materialize_grads(materialize)
        flag, count = x > 1, m.tensor([3])
        ctx.mark_non_differentiable(flag)
        return x * 2, x * 3, flag, count, "text", None

    def backward(ctx: Context, *grads: Tensor | None) -> Tensor | None:
        seen.append(list(grads))
        return grads[which]

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, backward).apply
    outputs: tuple[object, ...] = call(x)  # type: ignore[assignment]
    facts = [
        [o.requires_grad, node_name(o), o.output_nr] if isinstance(o, cygrad.Tensor | type(x)) else o for o in outputs
    ]
    return [facts, grad(m, outputs[which], x), seen]


def undefined_gradient_between(m: ModuleType) -> object:
    seen: list[object] = []

    def note(ctx: Context, g: Tensor) -> Tensor:
        seen.append(g)
        return g

    first: Callable[..., object] = function(m, lambda ctx, x: x * 2, note).apply
    second: Callable[..., object] = function(m, lambda ctx, x: x * 3, lambda ctx, g: None).apply
    x = leaf(m)
    return [grad(m, second(first(x)), x), seen]


def modes(m: ModuleType) -> object:
    seen: list[object] = []

    def forward(ctx: Context, x: Tensor) -> Tensor:
        seen.append([m.is_grad_enabled(), x.requires_grad, (x * 2).requires_grad])
        return x * 2

    def backward(ctx: Context, g: Tensor) -> Tensor:
        seen.append([m.is_grad_enabled(), g.requires_grad])
        return g * 2

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, backward).apply
    grad(m, call(x), x)
    grad(m, call(x), x, create_graph=True)
    return [seen, m.is_grad_enabled()]


def needs(m: ModuleType) -> object:
    seen: list[object] = []

    def forward(ctx: Context, x: Tensor, w: Tensor, k: int) -> Tensor:
        seen.append(ctx.needs_input_grad)
        return x * w

    def backward(ctx: Context, g: Tensor) -> tuple[Tensor, Tensor, None]:
        seen.append(ctx.needs_input_grad)
        return g, g, None

    x, w = leaf(m), leaf(m, 3.0, 4.0)
    call: Callable[..., object] = function(m, forward, backward).apply
    return [grad(m, call(x, w, 1), x), grad(m, call(x, w.detach(), 1), x), seen]


def inner_graph_is_replaced(m: ModuleType) -> object:
    def forward(ctx: Context, x: Tensor) -> Tensor:
        with m.enable_grad():
            return x.detach().requires_grad_() ** 2

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, lambda ctx, g: g * 7).apply
    y = tensor(call(x))
    return [node_name(y), grad(m, y, x)]


def keyword_arguments(m: ModuleType) -> object:
    def forward(ctx: Context, x: Tensor, f: float = 2, *, z: int = 1) -> Tensor:
        return x * f * z

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, lambda ctx, g: (g, None)).apply
    return [call(x, f=6), call(x=x, f=6) if m is cygrad else call(x, f=6), grad(m, call(x, f=3), x)]


def of_module(call: Callable[[ModuleType, Tensor], object]) -> Call:
    """The call on a fresh leaf."""
    return lambda m: call(m, leaf(m))


def returned(forward: Callable[..., object]) -> Call:
    """What comes out of a Function that returns its input or a part of it, and its gradient."""

    def call(m: ModuleType) -> object:
        x = leaf(m)
        outputs = apply(m, forward, x)
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        facts = [
            [o is x, o._is_view(), o._base is x, o.requires_grad, node_name(o), o.is_leaf] for o in tensors(several)
        ]
        return [facts, grad(m, several[0], x) if several[0].requires_grad else None, x.requires_grad]

    return call


def ignored(ctx: Context, x: Tensor) -> Tensor:
    ctx.mark_non_differentiable(x)
    return x


def double_in_place(ctx: Context, x: Tensor) -> Tensor:
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


def dirty(m: ModuleType, needed: bool) -> object:
    x = leaf(m)
    b = x * 1 if needed else m.ones(2, dtype=m.float64)
    call: Callable[..., object] = function(m, double_in_place, lambda ctx, g: g * 2).apply
    y = call(b)
    return [y is b, b, b._version, node_name(b), b.requires_grad, grad(m, b, x) if needed else None]


def dirty_view(m: ModuleType) -> object:
    x = leaf(m)
    b = x * 1
    v = b[:1]
    call: Callable[..., object] = function(m, double_in_place, lambda ctx, g: g * 2).apply
    y = call(v)
    return [y is v, b, (node_name(b) or "").rpartition("::")[2], node_name(v), grad(m, b, x)]


def dirty_and_saved(m: ModuleType) -> object:
    def forward(ctx: Context, x: Tensor) -> Tensor:
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply
    return grad(m, call(x * 1), x)


def gradient(backward: Callable[..., object], *more: object) -> Call:
    """The gradient of x * 2 by this backward, whatever it returns."""

    def call(m: ModuleType) -> object:
        x = leaf(m)
        made: Callable[..., object] = function(m, lambda ctx, x, *more: x * 2, lambda ctx, g: backward(m, g)).apply
        return grad(m, made(x, *more), x)

    return call


def backward_twice_without_saved(m: ModuleType) -> object:
    x = leaf(m)
    y = tensor(apply(m, lambda ctx, x: x * 2, x)).sum()
    y.backward()
    y.backward()
    return x.grad


def returned_twice(forward: Callable[..., object], backward: Callable[..., object]) -> Call:
    """One tensor at several places of what forward returns: which is which, and the gradients that arrive."""

    def call(m: ModuleType) -> object:
        start = leaf(m)
        x = start * 1 if forward is written_and_returned_twice else start
        made: Callable[..., object] = function(m, forward, backward).apply
        outputs = tensors(made(x))
        facts = [[o is outputs[0], o.requires_grad, node_name(o), o.output_nr] for o in outputs]
        total = outputs[0].sum() * 3
        for o in outputs[1:]:
            total = total + (o * 5).sum()
        first = m.autograd.grad(total, start, create_graph=True)[0]
        second = m.autograd.grad(first.sum(), start, allow_unused=True)[0] if first.requires_grad else None
        return [facts, first, second]

    return call


def doubled_twice(ctx: Context, x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 2
    return y, y


def exponential_thrice(ctx: Context, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    y = x.exp()
    ctx.save_for_backward(y)
    return y, x * 2, y, y


def made_with_grad_and_returned_twice(ctx: Context, x: Tensor) -> tuple[Tensor, Tensor]:
    m = cygrad if isinstance(x, cygrad.Tensor) else torch
    with m.enable_grad():
        y = x * 2
    return y, y


def written_and_returned_twice(ctx: Context, x: Tensor) -> tuple[Tensor, Tensor]:
    x.mul_(2)
    ctx.mark_dirty(x)
    return x, x


def returned_without_grad(m: ModuleType) -> object:
    z = m.ones(2)
    y = tensor(apply(m, lambda ctx, x: x, z))
    return [y is z, y._is_view(), node_name(y)]


def view_returned(m: ModuleType) -> object:
    b = leaf(m) * 1
    v = tensor(apply(m, lambda ctx, x: x[:1], b))
    return [v._is_view(), v._base is b, node_name(v)]


def view_written_without_grad(m: ModuleType) -> object:
    b = m.ones(2)
    v = tensor(apply(m, lambda ctx, x: x[:1], b))
    return [v.add_(1), b]


def under_no_grad(m: ModuleType) -> object:
    with m.no_grad():
        y = squared(m, leaf(m))
    return [y.requires_grad, y.is_leaf]


def twice(ctx: Context, x: Tensor) -> Tensor:
    return x * 2


def doubled(ctx: Context, g: Tensor) -> Tensor:
    return g * 2


def own_methods(m: ModuleType, base: type[Function], **methods: Callable[..., object]) -> object:
    """The gradient of a Function that has these methods alone."""
    made: type[Function] = type("Own", (base,), {name: staticmethod(method) for name, method in methods.items()})
    call: Callable[..., object] = made.apply
    x = leaf(m)
    return grad(m, call(x), x)


def hundred_and_a_view(m: ModuleType) -> object:
    """A Function of a hundred inputs more writes a part of a tensor."""

    def forward(ctx: Context, v: Tensor, *xs: Tensor) -> Tensor:
        ctx.mark_dirty(v)
        return v.add_(sum(xs))

    made = function(m, forward, lambda ctx, g: (g * 2, *(g * k for k in range(100))))
    x = leaf(m, 1.0, 2.0, 3.0, 4.0)
    others = [leaf(m, float(k)) for k in range(100)]
    y = x * 1
    made.apply(y[1:3], *others)
    y.sum().backward()
    return [y, x.grad, [other.grad for other in others]]


def power_with_a_default(m: ModuleType, kind: str) -> object:
    """x**3 by a forward whose exponent is left out, as setup_context and backward see it."""

    def power(x: Tensor, k: int = 3) -> Tensor:
        return x**k

    def setup(ctx: Context, inputs: tuple[Tensor, int], output: Tensor) -> None:
        x, ctx.k = inputs  # type: ignore[attr-defined]
        ctx.save_for_backward(x)

    def backward(ctx: Context, g: Tensor) -> object:
        k: int = ctx.k  # type: ignore[attr-defined]
        return g * k * ctx.saved_tensors[0] ** (k - 1), None

    def wrapped(*args: object) -> object:
        return power(*args)  # type: ignore[arg-type]

    forwards = {
        "static": staticmethod(power),
        "class": classmethod(lambda cls, x, k=3: power(x, k)),
        "wrapped": staticmethod(functools.wraps(power)(wrapped)),
    }
    members = {"forward": forwards[kind], "setup_context": staticmethod(setup), "backward": staticmethod(backward)}
    call: Callable[..., object] = type("Power", (m.autograd.Function,), members).apply  # type: ignore[attr-defined]
    x = leaf(m)
    return [grad(m, call(x), x), call(x, 2)]


def without_recording(forward: Callable[..., object], mode: str = "no_grad") -> Call:
    """What forward returns of an input is outside of the graph and not the input."""

    def call(m: ModuleType) -> object:
        x = leaf(m)
        with getattr(m, mode)():
            y = tensor(apply(m, forward, x))
        return [y.requires_grad, y.is_leaf, y is x, node_name(y), y, x.requires_grad, x._version]

    return call


def written_and_ignored(ctx: Context, x: Tensor) -> Tensor:
    ctx.mark_dirty(x)
    ctx.mark_non_differentiable(x)
    return x.add_(1)


def recorded_inside(ctx: Context, x: Tensor) -> Tensor:
    with cygrad.enable_grad() if isinstance(x, Tensor) else torch.enable_grad():
        return x.detach().requires_grad_() * 2


def attribute_set_on_the_node(m: ModuleType) -> object:
    seen: list[object] = []

    def backward(ctx: Context, g: Tensor) -> Tensor:
        seen.append(ctx.late)  # type: ignore[attr-defined]
        ctx.back = 4  # type: ignore[attr-defined]
        return g

    x = leaf(m)
    y = tensor(function(m, lambda ctx, x: x * 1, backward).apply(x))
    y.grad_fn.late = 3  # type: ignore[union-attr]
    y.sum().backward()
    return [seen, y.grad_fn.back]  # type: ignore[union-attr]


def context_as_a_node(m: ModuleType) -> object:
    """In torch the context is the Node; programs ask it for what Nodes have."""
    seen: list[object] = []
    kept: list[Context] = []

    def forward(ctx: Context, x: Tensor) -> Tensor:
        kept.append(ctx)
        seen.append(isinstance(ctx, m.autograd.graph.Node))
        ctx.save_for_backward(x)
        return x * 1

    def backward(ctx: Context, g: Tensor) -> Tensor:
        seen.append([isinstance(ctx, m.autograd.graph.Node), ctx.__class__.__name__, len(ctx._raw_saved_tensors)])
        seen.append([ctx._input_metadata[0].dtype == m.float64, ctx.next_functions[0][0] is not None])  # type: ignore[union-attr]
        return g

    x = leaf(m)
    y = tensor(function(m, forward, backward).apply(x))
    assert y.grad_fn is not None
    (ctx,) = kept
    ctx.register_prehook(lambda grads: [seen.append("before"), (grads[0] * 2,)][1])  # type: ignore[index,operator,return-value]
    ctx.register_hook(lambda inputs, outputs: seen.append(["after", *inputs, *outputs]))
    seen.append(ctx._sequence_nr() == y.grad_fn._sequence_nr())
    y.sum().backward()
    return [seen, x.grad]


class Pair(NamedTuple):
    """Two results, or two gradients."""

    first: object
    second: object


def named_results(m: ModuleType) -> object:
    """Named tuples from forward and backward are tuples."""
    x, y = leaf(m), leaf(m, 3.0, 4.0)
    made = function(m, lambda ctx, x, y: Pair(x * 2, y * 3), lambda ctx, g, h: Pair(g * 2, h * 3))
    results = tensors(made.apply(x, y))
    return [type(results).__name__, *results, grad(m, results[0] * results[1], x, y)]


def named_tangents(m: ModuleType) -> object:
    made = function(m, lambda ctx, x: Pair(x * 2, x * 3), jvp=staticmethod(lambda ctx, t: Pair(t * 2, t * 3)))
    forward_ad = m.autograd.forward_ad
    with forward_ad.dual_level():
        results = tensors(made.apply(forward_ad.make_dual(leaf(m).detach(), m.ones(2, dtype=m.float64))))
        return [forward_ad.unpack_dual(r).tangent for r in results]


def ignored_output_without_zeros(m: ModuleType) -> object:
    seen: list[object] = []

    def forward(ctx: Context, x: Tensor) -> object:
        ignored = x.clone()
        ctx.mark_non_differentiable(ignored)
        ctx._materialize_non_diff_grads = False
        return x * 2, ignored, x * 3

    def backward(ctx: Context, *grads: Tensor | None) -> object:
        seen.append([g is None for g in grads])
        return grads[0]

    x = leaf(m)
    tensors(function(m, forward, backward).apply(x))[0].sum().backward()
    return [seen, x.grad]


AGREES: dict[str, Call] = {
    "default of a static forward reaches setup_context": lambda m: power_with_a_default(m, "static"),
    "default of a class method reaches setup_context": lambda m: power_with_a_default(m, "class"),
    "default of a wrapped forward reaches setup_context": lambda m: power_with_a_default(m, "wrapped"),
    "input returned under no_grad": without_recording(lambda ctx, x: x),
    "input returned in inference mode": without_recording(lambda ctx, x: x, "inference_mode"),
    "ignored input returned under no_grad": without_recording(ignored),
    "dirty leaf under no_grad": without_recording(double_in_place),
    "recorded inside, returned under no_grad": without_recording(recorded_inside),
    "recorded inside": without_recording(recorded_inside, "enable_grad"),
    "dirty and non-differentiable": of_module(lambda m, x: apply(m, written_and_ignored, x * 1)),
    "attribute set on the node": attribute_set_on_the_node,
    "the context is a Node": context_as_a_node,
    "named tuples of results and gradients": named_results,
    "a named tuple of tangents": named_tangents,
    "no zeros for an ignored output": ignored_output_without_zeros,
    "second derivative": second_of_square,
    "node": node_of_square,
    "attribute of the context on the node": attribute_of_the_context,
    "setup_context": lambda m: setup_context(m, 3.0),
    "setup_context with a keyword": lambda m: setup_context(m, k=3.0),
    "saved output": saved_output,
    "saved tensor from outside": saved_bystander,
    "saved None, and 300 tensors": saved_none_and_many,
    "first output, zeros for the others": lambda m: outputs_with_gradients(m, True, 0),
    "second output, zeros for the others": lambda m: outputs_with_gradients(m, True, 1),
    "first output, None for the others": lambda m: outputs_with_gradients(m, False, 0),
    "undefined gradient reaches a Function as zeros": undefined_gradient_between,
    "modes in forward and backward": modes,
    "needs_input_grad": needs,
    "a graph made inside forward is replaced": inner_graph_is_replaced,
    "keyword arguments": keyword_arguments,
    "output that is a number": of_module(lambda m, x: apply(m, lambda ctx, x: 3, x)),
    "output that is None": of_module(lambda m, x: apply(m, lambda ctx, x: None, x)),
    "outputs in a list": of_module(lambda m, x: apply(m, lambda ctx, x: [x * 2, x * 3], x)),
    "no outputs": of_module(lambda m, x: list(tensors(apply(m, lambda ctx, x: (), x)))),
    "input returned": returned(lambda ctx, x: x),
    "input returned twice": returned(lambda ctx, x: (x, x)),
    "input returned without needing grad": returned_without_grad,
    "output returned twice": returned_twice(doubled_twice, lambda ctx, a, b: a * 2 + b * 10),
    "saved output returned thrice": returned_twice(
        exponential_thrice, lambda ctx, a, b, c, d: (a + c * 10 + d * 100) * ctx.saved_tensors[0] + b * 2
    ),
    "output with a graph returned twice": returned_twice(
        made_with_grad_and_returned_twice, lambda ctx, a, b: a * 2 + b * 10
    ),
    "written input returned twice": returned_twice(written_and_returned_twice, lambda ctx, a, b: a * 2 + b * 10),
    "view returned": view_returned,
    "view written without grad": view_written_without_grad,
    "non-differentiable input returned": returned(ignored),
    "dirty": lambda m: dirty(m, True),
    "dirty without needing grad": lambda m: dirty(m, False),
    "dirty view": dirty_view,
    "dirty and saved": dirty_and_saved,
    "gradient that broadcasts": gradient(lambda m, g: m.ones(4, 2, dtype=m.float64)),
    "gradient of another precision": gradient(lambda m, g: m.ones(2)),
    "gradient of integers": gradient(lambda m, g: m.ones(2, dtype=m.int64)),
    "gradient None": gradient(lambda m, g: None),
    "gradients None too many": gradient(lambda m, g: (g, None, None)),
    "gradient None for a number": gradient(lambda m, g: (g, None), 3),
    "no gradient under no_grad": under_no_grad,
    "backward twice where nothing was saved": backward_twice_without_saved,
    "vjp instead of backward": lambda m: own_methods(m, m.autograd.Function, forward=twice, vjp=doubled),
    "InplaceFunction": lambda m: own_methods(m, m.autograd.function.InplaceFunction, forward=twice, backward=doubled),
    "arguments inside of a dict are no inputs": of_module(
        lambda m, x: tensor(apply(m, lambda ctx, d: d["x"] * 2, {"x": x})).requires_grad
    ),
    "metadata set in forward": of_module(
        lambda m, x: tensor(apply(m, lambda ctx, x: [ctx.metadata.update(a=3), x * 2][1], x)).grad_fn.metadata  # type: ignore[union-attr]
    ),
    "apply of the node": of_module(
        lambda m, x: tensor(apply(m, lambda ctx, x: x * 2, x)).grad_fn.apply(m.ones(2))  # type: ignore[union-attr]
    ),
    "a subclass of NestedIOFunction with methods of its own": lambda m: own_methods(
        m, m.autograd.function.NestedIOFunction, forward=twice, backward=doubled
    ),
    "a hundred inputs besides a written view": hundred_and_a_view,
    "a hundred inputs": of_module(
        lambda m, x: grad(
            m,
            function(m, lambda ctx, *xs: sum(xs), lambda ctx, g: (g,) * 100).apply(*[x] * 100),
            x,
        )
    ),
}


@pytest.mark.parametrize("name", AGREES)
def test_functions_agree_with_the_oracle(name: str) -> None:
    assert_agrees(AGREES[name])


# ---- what becomes of an input or a view that forward returns ---------------------------------------------------------


def marked(*marks: str) -> Callable[[Context, Tensor], Tensor]:
    """A forward that marks its input, writes it where it is dirty, and returns it."""

    def forward(ctx: Context, x: Tensor) -> Tensor:
        for mark in marks:
            getattr(ctx, mark)(x)
        return x.mul_(2) if "mark_dirty" in marks else x

    return forward


def recording_forward(
    result: Callable[[Tensor], Tensor], ignore: bool = False
) -> Callable[[ModuleType], Callable[[Context, Tensor], Tensor]]:
    """A forward that records, and returns what has a place in that graph."""

    def of(m: ModuleType) -> Callable[[Context, Tensor], Tensor]:
        def forward(ctx: Context, x: Tensor) -> Tensor:
            with m.enable_grad():
                y = result(x)
            if ignore:
                ctx.mark_non_differentiable(y)
            return y

        return forward

    return of


SETTLED: dict[str, Callable[[ModuleType], Callable[..., object]]] = {
    "as it is": lambda m: lambda ctx, x: x,
    "twice": lambda m: lambda ctx, x: (x, x),
    "beside another": lambda m: lambda ctx, x: (x, x * 2),
    "a view": lambda m: lambda ctx, x: x[:1],
    "detached": lambda m: lambda ctx, x: x.detach(),
    "non-differentiable": lambda m: marked("mark_non_differentiable"),
    "dirty": lambda m: marked("mark_dirty"),
    "dirty and non-differentiable": lambda m: marked("mark_dirty", "mark_non_differentiable"),
    "recorded": recording_forward(lambda x: x * 2),
    "recorded, non-differentiable": recording_forward(lambda x: x * 2, ignore=True),
    "recorded view of the input": recording_forward(lambda x: x.view_as(x)),
    "recorded view": recording_forward(lambda x: (x * 2)[:1]),
    "recorded view, non-differentiable": recording_forward(lambda x: (x * 2)[:1], ignore=True),
}

ARGUMENTS: dict[str, Call] = {
    "leaf": lambda m: leaf(m, 1.0, 2.0),
    "computed": lambda m: leaf(m, 1.0, 2.0) * 1,
    "plain": lambda m: leaf(m, 1.0, 2.0).detach(),
    "view": lambda m: (leaf(m, 1.0, 2.0, 3.0) * 1)[:2],
}


def described(x: Tensor, t: Tensor) -> list[object]:
    """How a result stands to the graph and to the Function's input; last its node, or that asking for it is refused."""
    node = outcome(lambda: node_name(t))
    return [t is x, t.requires_grad, t._is_view(), t._version, node.value if node.ok else "refused"]


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("name", SETTLED)
def test_what_forward_returns_is_placed_as_torchs(name: str, argument: str, recording: bool) -> None:
    def call(m: ModuleType, then: str) -> object:
        x = tensor(ARGUMENTS[argument](m))
        with m.set_grad_enabled(recording):
            done = outcome(lambda: apply(m, SETTLED[name](m), x))
        if not done.ok:
            return type(done.error).__name__
        results = done.value if isinstance(done.value, tuple) else (done.value,)
        found: list[object] = [described(x, tensor(t)) for t in results]
        if then == "result written":
            found.append([outcome(tensor(t).zero_).ok for t in results])
        elif then == "input written":
            found.append(outcome(x.zero_).ok)
        return [found, [described(x, tensor(t)) for t in results], x._version]

    for then in ("nothing", "result written", "input written"):
        assert_agrees(partial(call, then=then))


def test_a_leaf_from_outside_that_forward_returns_is_left_alone() -> None:
    outside, x = leaf(cygrad), leaf(cygrad)
    for recording in (True, False):
        with cygrad.set_grad_enabled(recording):
            result = tensor(apply(cygrad, lambda ctx, x: outside, x))
        assert result is not outside and result.requires_grad is recording
        assert outside.requires_grad and outside.is_leaf


# ---- refusals --------------------------------------------------------------------------------------------------------


def write(what: str) -> Call:
    """A Function that returns a view; then the view or its base is written."""

    def call(m: ModuleType) -> object:
        b = leaf(m) * 1
        v = tensor(apply(m, lambda ctx, x: x[:1], b))
        (v if what == "view" else b).add_(1)
        return v.grad_fn

    return call


def saved_then_written(m: ModuleType) -> object:
    x = leaf(m)
    b = x * 1
    y = squared(m, b)
    b.add_(1)
    return grad(m, y, x)


def second_through_an_intermediate(m: ModuleType) -> object:
    def forward(ctx: Context, x: Tensor) -> Tensor:
        t = x.exp()
        ctx.save_for_backward(t)
        return t * 2

    x = leaf(m)
    call: Callable[..., object] = function(m, forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0]).apply
    (first,) = m.autograd.grad(tensor(call(x)).sum(), x, create_graph=True)
    return grad(m, first, x)


def second_of_once_differentiable(m: ModuleType) -> object:
    x = leaf(m)
    once = m.autograd.function.once_differentiable
    call: Callable[..., object] = function(m, lambda ctx, x: x * x, once(lambda ctx, g: g * 2)).apply
    (first,) = m.autograd.grad((tensor(call(x)) * leaf(m)).sum(), x, create_graph=True)
    first.sum().backward()
    return None


def both_backward_and_vjp(m: ModuleType) -> object:
    x = leaf(m)
    return grad(m, squared(m, x, vjp=staticmethod(lambda ctx, g: g)), x)


def freed(m: ModuleType) -> object:
    x = leaf(m)
    y = squared(m, x).sum()
    y.backward()
    y.backward()
    return None


def cleared_on_access(m: ModuleType) -> object:
    def forward(ctx: Context, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Context, g: Tensor) -> Tensor:
        assert len(ctx.saved_tensors) == 1
        return g * ctx.saved_tensors[0]

    x = leaf(m)
    return grad(m, function(m, forward, backward, clear_saved_tensors_on_access=True).apply(x), x)


def marking(mark: Callable[[Context, Tensor], object]) -> Call:
    """A forward that marks something wrong."""

    def call(m: ModuleType) -> object:
        def forward(ctx: Context, x: Tensor) -> Tensor:
            mark(ctx, x)
            return x * 2

        return apply(m, forward, leaf(m) * 1)

    return call


REFUSED: dict[str, Call] = {
    "too few gradients": gradient(lambda m, g: g, 1),
    "too many gradients": gradient(lambda m, g: (g, g)),
    "a gradient for a number": gradient(lambda m, g: (g, g), 3),
    "a gradient that is a number": gradient(lambda m, g: 3),
    "gradients in a list": gradient(lambda m, g: [g]),
    "a gradient that does not sum to the shape": gradient(lambda m, g: m.ones(3, dtype=m.float64)),
    "a gradient with fewer dims": gradient(lambda m, g: m.ones((), dtype=m.float64)),
    "a complex gradient of a real input": gradient(lambda m, g: m.ones(2, dtype=m.complex128)),
    "an unknown keyword": of_module(lambda m, x: apply(m, lambda ctx, x, f=2: x * f, x, q=6)),
    "a keyword-only argument": of_module(lambda m, x: function(m, lambda ctx, x, *, f=2: x * f).apply(x, f=6)),
    "view of a Function written": write("view"),
    "base of a Function's view written": write("base"),
    "dirty leaf": of_module(lambda m, x: apply(m, double_in_place, x)),
    "dirty but not returned": marking(lambda ctx, x: ctx.mark_dirty(x)),
    "saved number for jvp": marking(lambda ctx, x: ctx.save_for_forward(3)),  # type: ignore[arg-type]
    "raw saved tensors freed": of_module(
        lambda m, x: let(lambda y: [y.sum().backward(), y.grad_fn._raw_saved_tensors], squared(m, x))  # type: ignore[union-attr]
    ),
    "dirty number": marking(lambda ctx, x: ctx.mark_dirty(3)),  # type: ignore[arg-type]
    "non-differentiable number": marking(lambda ctx, x: ctx.mark_non_differentiable(3)),  # type: ignore[arg-type]
    "saved number": marking(lambda ctx, x: ctx.save_for_backward(3)),  # type: ignore[arg-type]
    "saved tensor written": saved_then_written,
    "second derivative through an intermediate": second_through_an_intermediate,
    "second derivative of once_differentiable": second_of_once_differentiable,
    "backward and vjp": both_backward_and_vjp,
    "no backward": lambda m: own_methods(m, m.autograd.Function, forward=twice),
    "no forward": lambda m: own_methods(m, m.autograd.Function),
    "saved tensors freed": freed,
    "saved tensors cleared on access": cleared_on_access,
    "unknown attribute of the node": of_module(
        lambda m, x: squared(m, x).grad_fn.nothing  # type: ignore[union-attr]
    ),
    "call of an instance": of_module(lambda m, x: square(m)()(x)),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_refused_as_by_the_oracle(name: str) -> None:
    assert_same_refusal(REFUSED[name])


def message(call: Call) -> str:
    """The refusal's text."""
    done: Outcome = outcome(lambda: call(cygrad))
    assert done.error is not None
    return str(done.error)


def test_what_was_cleared_on_access_says_so() -> None:
    assert "can only be accessed once" in message(cleared_on_access)


def test_marking_numbers_is_refused_as_such() -> None:
    assert "mark_dirty can only accept variables" in message(REFUSED["dirty number"])


@pytest.mark.parametrize("m", LIBRARIES)
def test_marking_another_tensor_than_an_input_warns(m: ModuleType) -> None:
    def forward(ctx: Context, x: Tensor) -> Tensor:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    x = leaf(m)
    with pytest.warns(UserWarning, match="mark_dirty.*received a tensor that was not an input"):
        y = apply(m, forward, x * 1)
    assert_same(grad(m, y, x), [torch.ones(2, dtype=torch.float64)])


@pytest.mark.parametrize("m", LIBRARIES)
def test_saved_variables_is_the_old_name(m: ModuleType) -> None:
    def forward(ctx: Context, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx: Context, g: Tensor) -> Tensor:
        with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
            (x,) = ctx.saved_variables
        return g * x

    x = leaf(m)
    assert_same(grad(m, function(m, forward, backward).apply(x), x), [torch.tensor([1.0, 2.0]).double()])


def test_a_context_without_a_node_says_so() -> None:
    kept: list[Context] = []

    def forward(ctx: Context, x: Tensor) -> Tensor:
        kept.append(ctx)
        return x * 2

    with cygrad.no_grad():
        apply(cygrad, forward, leaf(cygrad))
    for ask in (
        lambda ctx: ctx.register_hook(print),
        lambda ctx: ctx.register_prehook(print),
        lambda ctx: ctx._sequence_nr(),
        lambda ctx: ctx._input_metadata,
        lambda ctx: ctx._raw_saved_tensors,
    ):
        with pytest.raises(RuntimeError, match="MadeBackward: there is no Node"):
            ask(kept[0])


def test_refusals_name_the_function() -> None:
    assert "MadeBackward" in message(write("base"))
    assert "custom Function" in message(write("base"))
    assert "Made: the second derivative would be wrong" in message(second_through_an_intermediate)
    assert "expected 2, got 1" in message(REFUSED["too few gradients"])
    assert "SquareBackward" in message(freed)


def test_what_forward_and_backward_raise_arrives_unchanged() -> None:
    class OwnError(Exception):
        """Known only here."""

    own = OwnError("as it is")

    def fail(*args: object) -> Tensor:
        raise own

    x = leaf(cygrad)
    done = outcome(lambda: apply(cygrad, fail, x))
    assert done.error is own
    call: Callable[..., object] = function(cygrad, lambda ctx, x: x * 2, fail).apply
    y = tensor(call(x))
    done = outcome(lambda: y.sum().backward())
    assert done.error is own
    assert cygrad.is_grad_enabled()
    assert x.grad is None
    tensor(apply(cygrad, lambda ctx, x: x * 2, x)).sum().backward()
    assert_same(x.grad, cygrad.ones(2, dtype=cygrad.float64))


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_an_output_kept_on_the_context_is_collected() -> None:
    contexts: list[weakref.ref[Context]] = []

    def forward(ctx: Context, x: Tensor) -> Tensor:
        y = x * 2
        ctx.y = y  # type: ignore[attr-defined]
        contexts.append(weakref.ref(ctx))
        return y

    y = apply(cygrad, forward, leaf(cygrad))
    assert contexts[0]() is not None
    del y
    gc.collect()
    assert contexts[0]() is None


def test_a_saved_output_makes_no_cycle() -> None:
    nodes: list[weakref.ref[object]] = []

    def forward(ctx: Context, x: Tensor) -> Tensor:
        y = x * 2
        ctx.save_for_backward(y, x)
        return y

    gc.disable()
    try:
        y = tensor(apply(cygrad, forward, leaf(cygrad)))
        nodes.append(weakref.ref(y.grad_fn))
        del y
        assert nodes[0]() is None
    finally:
        gc.enable()


def test_the_context_outlives_its_node() -> None:
    kept: list[Context] = []

    def forward(ctx: Context, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        kept.append(ctx)
        return x * 2

    y = apply(cygrad, forward, leaf(cygrad))
    assert len(kept[0].saved_tensors) == 1
    assert len(kept[0].next_functions) == 1
    assert kept[0].name() == "MadeBackward"
    del y
    gc.collect()
    assert not kept[0].saved_tensors
    assert not kept[0].next_functions


# ---- gradcheck, names and documentation ------------------------------------------------------------------------------


class Cube(Function):
    """x ** 3."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        """The value."""
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: FunctionCtx, g: Tensor) -> Tensor:
        """The VJP."""
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


def test_first_and_second_derivative_by_finite_differences() -> None:
    x = leaf(cygrad, 0.5, -1.25, 2.0)
    assert gradcheck(Cube.apply, (x,))
    assert gradgradcheck(Cube.apply, (x,))


def test_once_differentiable_keeps_name_and_documentation() -> None:
    def backward(ctx: FunctionCtx, g: Tensor) -> Tensor:
        """Text."""
        return g

    wrapped = once_differentiable(backward)
    assert wrapped.__name__ == "backward"
    assert wrapped.__doc__ == "Text."
    assert inspect.signature(wrapped) == inspect.signature(backward)


def test_an_instance_is_warned_of() -> None:
    with pytest.warns(DeprecationWarning, match="Cube should not be instantiated"):
        Cube()


# ---- nested arguments ------------------------------------------------------------------------------------------------
# (torch's own class has been without function since Functions became static: the docstring is the contract here)


class Nested(NestedIOFunction):
    """``{"sum": a + sum of the tensors in the list, "rest": [scale * b]}``."""

    @staticmethod
    def forward_extended(ctx: Context, given: tuple[Tensor, list[Tensor]], scale: float) -> object:
        a, others = given
        ctx.save_for_backward(a)
        ctx.scale = scale  # type: ignore[attr-defined]
        return {"sum": a + others[0] + others[1], "rest": [others[1] * scale], "none": None}

    @staticmethod
    def backward_extended(ctx: Context, grads: dict[str, object]) -> object:
        assert grads["none"] is None
        first = tensor(grads["sum"])
        (rest,) = tensors(grads["rest"])
        return ((first, [first * 2, first * 3 + rest * ctx.scale]), None)  # type: ignore[attr-defined]


def test_nested_arguments_and_results() -> None:
    a, b, c = leaf(cygrad), leaf(cygrad), leaf(cygrad)
    made = Nested.apply((a, [b, c]), 5.0)
    assert isinstance(made, dict) and list(made) == ["sum", "rest", "none"]
    assert made["sum"].grad_fn.name() == "NestedBackward"
    (made["sum"] + made["rest"][0]).sum().backward()
    assert [t.grad.tolist() for t in (a, b, c) if t.grad is not None] == [[1.0, 1.0], [2.0, 2.0], [8.0, 8.0]]


def test_nested_arguments_of_an_unfinished_subclass() -> None:
    class Empty(NestedIOFunction):
        """Neither method."""

    with pytest.raises(NotImplementedError, match="forward_extended"):
        Empty.apply([leaf(cygrad)])
    with pytest.raises(TypeError, match="keyword"):
        Nested.apply(given=3)
