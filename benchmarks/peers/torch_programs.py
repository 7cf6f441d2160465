"""The workloads written against the torch API: what cygrad and torch run, line for line the same.

They are written as users write them: plain functions, operators, `loss.backward()`. A program prepares its
tensors from the data and returns the step that is timed; a step clears the gradients of the step before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import cast

from benchmarks.peers.base import Job, jobs
from benchmarks.peers.torch_api import Checkpoint, Context, Tensor, TorchModule
from benchmarks.workloads import FloatArray, Inputs

Step = Callable[[], Sequence[Tensor | None]]


def _leaf(torch: TorchModule, array: FloatArray) -> Tensor:
    return torch.tensor(array).requires_grad_()


def chain_forward(torch: TorchModule, inputs: Inputs) -> Step:
    """`y = y * a`, many times; recorded, and dropped with its graph."""
    x, a = _leaf(torch, inputs["x"]), _leaf(torch, inputs["a"])
    count = inputs.count

    def step() -> Sequence[Tensor | None]:
        y = x
        for _ in range(count):
            y = y * a
        return (y,)

    return step


def chain(torch: TorchModule, inputs: Inputs) -> Step:
    """`y = y * a`, many times, then the gradient of its sum."""
    x, a = _leaf(torch, inputs["x"]), _leaf(torch, inputs["a"])
    count = inputs.count

    def step() -> Sequence[Tensor | None]:
        x.grad = a.grad = None
        y = x
        for _ in range(count):
            y = y * a
        total = y.sum()
        total.backward()
        return total, x.grad, a.grad

    return step


def deep_chain(torch: TorchModule, inputs: Inputs) -> Step:
    """`y = y + a`, very many times, then the gradient of its sum."""
    x, a = _leaf(torch, inputs["x"]), _leaf(torch, inputs["a"])
    count = inputs.count

    def step() -> Sequence[Tensor | None]:
        x.grad = a.grad = None
        y = x
        for _ in range(count):
            y = y + a
        total = y.sum()
        total.backward()
        return total, x.grad, a.grad

    return step


def _dense(torch: TorchModule, inputs: Inputs) -> list[Tensor]:
    return [_leaf(torch, inputs[name]) for name in ("w1", "b1", "w2", "b2", "w3", "b3")]


def tiny_mlp(torch: TorchModule, inputs: Inputs) -> Step:
    """Three dense layers with tanh on one sample, squared error."""
    x, target = torch.tensor(inputs["x"]), torch.tensor(inputs["target"])
    parameters = _dense(torch, inputs)
    w1, b1, w2, b2, w3, b3 = parameters

    def step() -> Sequence[Tensor | None]:
        for parameter in parameters:
            parameter.grad = None
        h = torch.tanh(x @ w1 + b1)
        h = torch.tanh(h @ w2 + b2)
        loss = ((h @ w3 + b3 - target) ** 2).mean()
        loss.backward()
        return loss, w1.grad, b1.grad, w2.grad, b2.grad, w3.grad, b3.grad

    return step


def rnn(torch: TorchModule, inputs: Inputs) -> Step:
    """Elman's recurrent network ("Finding Structure in Time", 1990), squared error of its last state."""
    frames, start, target = (torch.tensor(inputs[name]) for name in ("frames", "start", "target"))
    w_input, w_hidden, bias = (_leaf(torch, inputs[name]) for name in ("w_input", "w_hidden", "bias"))

    def step() -> Sequence[Tensor | None]:
        w_input.grad = w_hidden.grad = bias.grad = None
        h = start
        for frame in frames:
            h = torch.tanh(frame @ w_input + h @ w_hidden + bias)
        loss = ((h - target) ** 2).mean()
        loss.backward()
        return loss, w_input.grad, w_hidden.grad, bias.grad

    return step


def mlp(torch: TorchModule, inputs: Inputs) -> Step:
    """Three dense layers with ReLU on a batch, cross entropy."""
    x, labels = torch.tensor(inputs["x"]), torch.tensor(inputs.labels)
    parameters = _dense(torch, inputs)
    w1, b1, w2, b2, w3, b3 = parameters
    cross_entropy = torch.nn.functional.cross_entropy

    def step() -> Sequence[Tensor | None]:
        for parameter in parameters:
            parameter.grad = None
        h = torch.relu(x @ w1 + b1)
        h = torch.relu(h @ w2 + b2)
        loss = cross_entropy(h @ w3 + b3, labels)
        loss.backward()
        return loss, w1.grad, b1.grad, w2.grad, b2.grad, w3.grad, b3.grad

    return step


def elementwise(torch: TorchModule, inputs: Inputs) -> Step:
    """A formula of elementwise steps on a large array."""
    x = _leaf(torch, inputs["x"])

    def step() -> Sequence[Tensor | None]:
        x.grad = None
        total = (torch.tanh(x * 1.5 + 0.5) / (1.0 + x * x)).sum()
        total.backward()
        return total, x.grad

    return step


def branches(torch: TorchModule, inputs: Inputs) -> Step:
    """Independent branches of matmuls, joined by a sum: work for more than one thread."""
    x = torch.tensor(inputs["x"])
    weights = [[_leaf(torch, weight) for weight in branch] for branch in inputs["weights"]]
    leaves = [weight for branch in weights for weight in branch]

    def step() -> Sequence[Tensor | None]:
        for leaf in leaves:
            leaf.grad = None
        joined: Tensor | None = None
        for w1, w2, w3 in weights:
            h = torch.tanh(torch.tanh(torch.tanh(x @ w1) @ w2) @ w3)
            joined = h if joined is None else joined + h
        assert joined is not None
        total = joined.sum()
        total.backward()
        return (total, *(leaf.grad for leaf in leaves))

    return step


def hvp(torch: TorchModule, inputs: Inputs) -> Step:
    """Hessian-vector product by reverse over reverse, of Rosenbrock's function (The Computer Journal, 1960)."""
    x, v = _leaf(torch, inputs["x"]), torch.tensor(inputs["v"])
    grad = torch.autograd.grad

    def step() -> Sequence[Tensor | None]:
        head, tail = x[:-1], x[1:]
        value = (100.0 * (tail - head**2) ** 2 + (1.0 - head) ** 2).sum()
        (gradient,) = grad(value, x, create_graph=True)
        return grad(gradient, x, v)

    return step


def _multiply(ctx: Context, y: Tensor, a: Tensor) -> Tensor:
    ctx.save_for_backward(y, a)
    return y * a


def _multiply_backward(ctx: Context, grad: Tensor) -> tuple[Tensor, Tensor]:
    y, a = ctx.saved_tensors
    return grad * a, grad * y


def functions(torch: TorchModule, inputs: Inputs) -> Step:
    """`y = y * a`, many times, each multiplication a custom Function, then the gradient of its sum."""
    x, a = _leaf(torch, inputs["x"]), _leaf(torch, inputs["a"])
    count = inputs.count
    methods = {"forward": staticmethod(_multiply), "backward": staticmethod(_multiply_backward)}
    multiply: Callable[[Tensor, Tensor], Tensor] = type("Multiply", (torch.autograd.Function,), methods).apply  # type: ignore[attr-defined]

    def step() -> Sequence[Tensor | None]:
        x.grad = a.grad = None
        y = x
        for _ in range(count):
            y = multiply(y, a)
        total = y.sum()
        total.backward()
        return total, x.grad, a.grad

    return step


def hooks(torch: TorchModule, inputs: Inputs) -> Step:
    """`tiny_mlp` with a hook on every parameter: gradients are clipped to [-10, 10], which none of them exceeds."""
    x, target = torch.tensor(inputs["x"]), torch.tensor(inputs["target"])
    parameters = _dense(torch, inputs)
    w1, b1, w2, b2, w3, b3 = parameters
    for parameter in parameters:
        parameter.register_hook(lambda grad: grad.clamp(-10.0, 10.0))

    def step() -> Sequence[Tensor | None]:
        for parameter in parameters:
            parameter.grad = None
        h = torch.tanh(x @ w1 + b1)
        h = torch.tanh(h @ w2 + b2)
        loss = ((h @ w3 + b3 - target) ** 2).mean()
        loss.backward()
        return loss, w1.grad, b1.grad, w2.grad, b2.grad, w3.grad, b3.grad

    return step


def forward_mode(torch: TorchModule, inputs: Inputs) -> Step:
    """`tiny_mlp` in forward mode: the squared error and its derivative along all parameters at once."""
    x, target = torch.tensor(inputs["x"]), torch.tensor(inputs["target"])
    forward_ad = torch.autograd.forward_ad
    names = ("w1", "b1", "w2", "b2", "w3", "b3")
    parameters = [torch.tensor(inputs[name]) for name in names]
    tangents = [torch.tensor(inputs[f"{name}_t"]) for name in names]

    def step() -> Sequence[Tensor | None]:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(*pair) for pair in zip(parameters, tangents, strict=True)]
            w1, b1, w2, b2, w3, b3 = duals
            h = torch.tanh(x @ w1 + b1)
            h = torch.tanh(h @ w2 + b2)
            loss = ((h @ w3 + b3 - target) ** 2).mean()
            return forward_ad.unpack_dual(loss)

    return step


def checkpoints(torch: TorchModule, inputs: Inputs) -> Step:
    """`rnn` in ten checkpoints, each of which runs a tenth of the frames again in backward."""
    frames, start, target = (torch.tensor(inputs[name]) for name in ("frames", "start", "target"))
    w_input, w_hidden, bias = (_leaf(torch, inputs[name]) for name in ("w_input", "w_hidden", "bias"))
    checkpoint = cast("Checkpoint", import_module(f"{torch.__name__}.utils.checkpoint").checkpoint)
    length = max(1, len(inputs["frames"]) // 10)

    def segment(h: Tensor, part: Tensor) -> Tensor:
        for frame in part:
            h = torch.tanh(frame @ w_input + h @ w_hidden + bias)
        return h

    def step() -> Sequence[Tensor | None]:
        w_input.grad = w_hidden.grad = bias.grad = None
        h = start
        for first in range(0, len(inputs["frames"]), length):
            h = checkpoint(segment, h, frames[first : first + length], use_reentrant=False)
        loss = ((h - target) ** 2).mean()
        loss.backward()
        return loss, w_input.grad, w_hidden.grad, bias.grad

    return step


def rows(torch: TorchModule, inputs: Inputs) -> Step:
    """A buffer of zeros that is filled row by row through views, then the gradient of its sum."""
    part = _leaf(torch, inputs["row"])
    count = inputs.count

    def step() -> Sequence[Tensor | None]:
        part.grad = None
        buffer = torch.zeros(count, *inputs["row"].shape, dtype=torch.float64)
        for i in range(count):
            buffer[i].add_(part)
        total = buffer.sum()
        total.backward()
        return total, part.grad

    return step


def augmented(torch: TorchModule, inputs: Inputs) -> Step:
    """`y += a`, many times, on a tensor that has no views, then the gradient of its sum."""
    x, a = _leaf(torch, inputs["x"]), _leaf(torch, inputs["a"])
    count = inputs.count

    def step() -> Sequence[Tensor | None]:
        x.grad = a.grad = None
        y = x.clone()
        for _ in range(count):
            y += a
        total = y.sum()
        total.backward()
        return total, x.grad, a.grad

    return step


def basic_index(torch: TorchModule, inputs: Inputs) -> Step:
    """`x[3, 4]`, many times, without gradients."""
    x = torch.tensor(inputs["x"])
    count = inputs.count

    def step() -> Sequence[Tensor | None]:
        element = x[3, 4]
        for _ in range(count - 1):
            element = x[3, 4]
        return (element,)

    return step


def _graphs(torch: TorchModule, inputs: Inputs) -> tuple[list[Tensor], list[Tensor]]:
    """Leaves, and one root a graph: a chain of multiplications of vectors, or of products of matrices with tanh."""
    leaves: list[Tensor] = []
    roots: list[Tensor] = []
    for start, factor in zip(inputs["x"], inputs["a"], strict=True):
        x, a = _leaf(torch, start), _leaf(torch, factor)
        y = x
        for _ in range(inputs.count):
            y = y * a if start.ndim == 1 else torch.tanh(y @ a)
        leaves += [x, a]
        roots.append(y.sum())
    return leaves, roots


def own_graphs(torch: TorchModule, inputs: Inputs) -> Step:
    """Backward over each of the graphs, many times, one graph after the other."""
    leaves, roots = _graphs(torch, inputs)

    def step() -> Sequence[Tensor | None]:
        for leaf in leaves:
            leaf.grad = None
        for root in roots:
            for _ in range(inputs.repeats):
                root.backward(retain_graph=True)
        return [leaf.grad for leaf in leaves]

    return step


def own_graphs_in_threads(torch: TorchModule, inputs: Inputs) -> Step:
    """The same, each graph on a thread of its own."""
    leaves, roots = _graphs(torch, inputs)
    pool = ThreadPoolExecutor(len(roots))

    def run(root: Tensor) -> None:
        for _ in range(inputs.repeats):
            root.backward(retain_graph=True)

    def step() -> Sequence[Tensor | None]:
        for leaf in leaves:
            leaf.grad = None
        list(pool.map(run, roots))
        return [leaf.grad for leaf in leaves]

    return step


_PROGRAMS: dict[str, Callable[[TorchModule, Inputs], Step]] = {
    "chain-forward": chain_forward,
    "chain": chain,
    "tiny-mlp": tiny_mlp,
    "rnn": rnn,
    "mlp": mlp,
    "elementwise": elementwise,
    "branches": branches,
    "hvp": hvp,
    "deep-chain": deep_chain,
    "functions": functions,
    "hooks": hooks,
    "forward-mode": forward_mode,
    "checkpoints": checkpoints,
    "rows": rows,
    "augmented": augmented,
    "basic-index": basic_index,
    "small-graphs": own_graphs,
    "small-graphs-8-threads": own_graphs_in_threads,
    "large-graphs": own_graphs,
    "large-graphs-8-threads": own_graphs_in_threads,
}


def _read(tensor: Tensor | None) -> FloatArray:
    if tensor is None:
        raise ValueError("benchmarks: the workload left a leaf without gradient; its backward did not reach it")
    return tensor.detach().numpy()


def torch_jobs(torch: TorchModule) -> dict[str, Callable[[Inputs], Job]]:
    """All programs of this file, bound to one module that speaks torch's API."""

    def bind(program: Callable[[TorchModule, Inputs], Step]) -> Callable[[Inputs], Step]:
        return lambda inputs: program(torch, inputs)

    return jobs({name: bind(program) for name, program in _PROGRAMS.items()}, _read)
