"""Plain NumPy: forward and backward of every workload written by hand. The floor of an uncompiled library.

No graph is recorded and no intermediate kept that the gradient does not need, so the distance from a library to this
peer is what its automatic differentiation costs. Written plainly, as one would by hand: it is a floor for Python code
that calls NumPy, and kernels that fuse steps or run in threads may lie below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.peers.base import Peer, jobs
from benchmarks.peers.blas import set_blas_threads
from benchmarks.workloads import FloatArray, Inputs

Step = Callable[[], Sequence[FloatArray]]


def chain_forward(inputs: Inputs) -> Step:
    """The product alone."""
    x, a, count = inputs["x"], inputs["a"], inputs.count

    def step() -> Sequence[FloatArray]:
        y = x
        for _ in range(count):
            y = y * a
        return (y,)

    return step


def chain(inputs: Inputs) -> Step:
    """The product rule, backwards through the kept intermediates."""
    x, a, count = inputs["x"], inputs["a"], inputs.count

    def step() -> Sequence[FloatArray]:
        y = x
        kept = []
        for _ in range(count):
            kept.append(y)
            y = y * a
        total = np.asarray(y.sum())
        d_y, d_a = np.ones_like(y), np.zeros_like(a)
        for before in reversed(kept):
            d_a += d_y * before
            d_y = d_y * a
        return total, d_y, d_a

    return step


def deep_chain(inputs: Inputs) -> Step:
    """The sum rule: one addition to the gradient of `a` for each of the forward."""
    x, a, count = inputs["x"], inputs["a"], inputs.count

    def step() -> Sequence[FloatArray]:
        y = x
        for _ in range(count):
            y = y + a
        total = np.asarray(y.sum())
        d_y, d_a = np.ones_like(y), np.zeros_like(a)
        for _ in range(count):
            d_a += d_y
        return total, d_y, d_a

    return step


def _own_graphs(
    inputs: Inputs,
    forward: Callable[[FloatArray, FloatArray], FloatArray],
    backward: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
) -> Step:
    """Chains of one operation; a step is their backward, again and again. `backward(d_y, y, before, a)`."""
    graphs = []
    for x, a in zip(inputs["x"], inputs["a"], strict=True):
        kept = [x]
        for _ in range(inputs.count):
            kept.append(forward(kept[-1], a))
        graphs.append((a, kept))

    def step() -> Sequence[FloatArray]:
        found = []
        for a, kept in graphs:
            d_x, d_a = np.zeros_like(kept[0]), np.zeros_like(a)
            for _ in range(inputs.repeats):
                d_y = np.ones_like(kept[0])
                for k in range(len(kept) - 1, 0, -1):
                    d_y, part = backward(d_y, kept[k], kept[k - 1], a)
                    d_a += part
                d_x += d_y
            found += [d_x, d_a]
        return found

    return step


def small_graphs(inputs: Inputs) -> Step:
    """The product rule over each of the chains."""
    return _own_graphs(inputs, lambda y, a: y * a, lambda d_y, y, before, a: (d_y * a, d_y * before))


def large_graphs(inputs: Inputs) -> Step:
    """The same for products of matrices with tanh."""

    def backward(d_y: FloatArray, y: FloatArray, before: FloatArray, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        d_product = d_y * (1 - y * y)
        return d_product @ a.T, before.T @ d_product

    return _own_graphs(inputs, lambda y, a: np.tanh(y @ a), backward)


def rows(inputs: Inputs) -> Step:
    """Every row of the buffer hands its gradient to what was added to it."""
    part, count = inputs["row"], inputs.count

    def step() -> Sequence[FloatArray]:
        buffer = np.zeros((count, *part.shape))
        for i in range(count):
            buffer[i] += part
        total = np.asarray(buffer.sum())
        d_buffer, d_part = np.ones_like(buffer), np.zeros_like(part)
        for i in range(count):
            d_part += d_buffer[i]
        return total, d_part

    return step


def basic_index(inputs: Inputs) -> Step:
    """The element alone."""
    x, count = inputs["x"], inputs.count

    def step() -> Sequence[FloatArray]:
        element: np.floating = x[3, 4]
        for _ in range(count - 1):
            element = x[3, 4]
        return (np.asarray(element),)

    return step


def tiny_mlp(inputs: Inputs) -> Step:
    """Backpropagation through two tanh layers and a squared error."""
    x, target = inputs["x"], inputs["target"]
    w1, b1, w2, b2, w3, b3 = (inputs[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3"))

    def step() -> Sequence[FloatArray]:
        h1 = np.tanh(x @ w1 + b1)
        h2 = np.tanh(h1 @ w2 + b2)
        error = h2 @ w3 + b3 - target
        loss = np.asarray(np.mean(error * error))
        d_out = error * (2.0 / error.size)
        d_z2 = (d_out @ w3.T) * (1.0 - h2 * h2)
        d_z1 = (d_z2 @ w2.T) * (1.0 - h1 * h1)
        return loss, x.T @ d_z1, d_z1.sum(0), h1.T @ d_z2, d_z2.sum(0), h2.T @ d_out, d_out.sum(0)

    return step


def forward_mode(inputs: Inputs) -> Step:
    """The derivative of the same along all parameters, beside the values."""
    x, target = inputs["x"], inputs["target"]
    w1, b1, w2, b2, w3, b3 = (inputs[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3"))
    v1, c1, v2, c2, v3, c3 = (inputs[f"{name}_t"] for name in ("w1", "b1", "w2", "b2", "w3", "b3"))

    def step() -> Sequence[FloatArray]:
        h1 = np.tanh(x @ w1 + b1)
        d1 = (x @ v1 + c1) * (1.0 - h1 * h1)
        h2 = np.tanh(h1 @ w2 + b2)
        d2 = (d1 @ w2 + h1 @ v2 + c2) * (1.0 - h2 * h2)
        error = h2 @ w3 + b3 - target
        along = d2 @ w3 + h2 @ v3 + c3
        return np.asarray(np.mean(error * error)), np.asarray(np.mean(2.0 * error * along))

    return step


def rnn(inputs: Inputs) -> Step:
    """Backpropagation through time (Werbos, Proceedings of the IEEE, 1990)."""
    frames, start, target = inputs["frames"], inputs["start"], inputs["target"]
    w_input, w_hidden, bias = inputs["w_input"], inputs["w_hidden"], inputs["bias"]

    def step() -> Sequence[FloatArray]:
        h = start
        states = [h]
        for frame in frames:
            h = np.tanh(frame @ w_input + h @ w_hidden + bias)
            states.append(h)
        error = h - target
        loss = np.asarray(np.mean(error * error))
        d_input, d_hidden, d_bias = np.zeros_like(w_input), np.zeros_like(w_hidden), np.zeros_like(bias)
        d_h = error * (2.0 / error.size)
        for t in range(len(frames) - 1, -1, -1):
            d_z = d_h * (1.0 - states[t + 1] * states[t + 1])
            d_input += frames[t].T @ d_z
            d_hidden += states[t].T @ d_z
            d_bias += d_z.sum(0)
            d_h = d_z @ w_hidden.T
        return loss, d_input, d_hidden, d_bias

    return step


def mlp(inputs: Inputs) -> Step:
    """Backpropagation through two ReLU layers and the cross entropy of a softmax."""
    x, labels = inputs["x"], inputs.labels
    w1, b1, w2, b2, w3, b3 = (inputs[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3"))
    samples = np.arange(len(labels))

    def step() -> Sequence[FloatArray]:
        h1 = np.maximum(x @ w1 + b1, 0.0)
        h2 = np.maximum(h1 @ w2 + b2, 0.0)
        logits = h2 @ w3 + b3
        logits -= logits.max(axis=1, keepdims=True)
        weights = np.exp(logits)
        totals = weights.sum(axis=1, keepdims=True)
        loss = np.asarray(np.mean(np.log(totals[:, 0]) - logits[samples, labels]))
        d_out = weights / totals
        d_out[samples, labels] -= 1.0
        d_out *= 1.0 / len(labels)
        d_z2 = (d_out @ w3.T) * (h2 > 0.0)
        d_z1 = (d_z2 @ w2.T) * (h1 > 0.0)
        return loss, x.T @ d_z1, d_z1.sum(0), h1.T @ d_z2, d_z2.sum(0), h2.T @ d_out, d_out.sum(0)

    return step


def elementwise(inputs: Inputs) -> Step:
    """The quotient rule, one NumPy call a step of the formula."""
    x = inputs["x"]

    def step() -> Sequence[FloatArray]:
        t = np.tanh(x * 1.5 + 0.5)
        q = 1.0 + x * x
        y = t / q
        d_x = (1.5 * (1.0 - t * t) - 2.0 * x * y) / q
        return np.asarray(y.sum()), d_x

    return step


def branches(inputs: Inputs) -> Step:
    """Every branch forward, then every branch back."""
    x, weights = inputs["x"], inputs["weights"]

    def step() -> Sequence[FloatArray]:
        joined = np.zeros_like(x)
        kept = []
        for w1, w2, w3 in weights:
            h1 = np.tanh(x @ w1)
            h2 = np.tanh(h1 @ w2)
            h3 = np.tanh(h2 @ w3)
            joined += h3
            kept.append((h1, h2, h3))
        gradients: list[FloatArray] = []
        for (_, w2, w3), (h1, h2, h3) in zip(weights, kept, strict=True):
            d_z3 = 1.0 - h3 * h3
            d_z2 = (d_z3 @ w3.T) * (1.0 - h2 * h2)
            d_z1 = (d_z2 @ w2.T) * (1.0 - h1 * h1)
            gradients += [x.T @ d_z1, h1.T @ d_z2, h2.T @ d_z3]
        return (np.asarray(joined.sum()), *gradients)

    return step


def hvp(inputs: Inputs) -> Step:
    """The Rosenbrock function's tridiagonal Hessian, applied without being built."""
    x, v = inputs["x"], inputs["v"]

    def step() -> Sequence[FloatArray]:
        head, tail, v_head, v_tail = x[:-1], x[1:], v[:-1], v[1:]
        product = np.zeros_like(x)
        product[:-1] += (1200.0 * head * head - 400.0 * tail + 2.0) * v_head - 400.0 * head * v_tail
        product[1:] += 200.0 * v_tail - 400.0 * head * v_head
        return (product,)

    return step


PROGRAMS: dict[str, Callable[[Inputs], Step]] = {
    "chain-forward": chain_forward,
    "chain": chain,
    "tiny-mlp": tiny_mlp,
    "rnn": rnn,
    "mlp": mlp,
    "elementwise": elementwise,
    "branches": branches,
    "hvp": hvp,
    "deep-chain": deep_chain,
    "functions": chain,
    "hooks": tiny_mlp,
    "forward-mode": forward_mode,
    "checkpoints": rnn,
    "rows": rows,
    "augmented": deep_chain,
    "basic-index": basic_index,
    "small-graphs": small_graphs,
    "small-graphs-8-threads": small_graphs,
    "large-graphs": large_graphs,
    "large-graphs-8-threads": large_graphs,
}


def load() -> Peer:
    """NumPy, which is always there."""
    return Peer("numpy", np.__version__, jobs(PROGRAMS, np.asarray), set_blas_threads)
