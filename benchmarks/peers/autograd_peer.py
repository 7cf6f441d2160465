"""HIPS autograd: the workloads as functions of NumPy arrays, differentiated by tracing."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from typing import Protocol, cast

import numpy as np

from benchmarks.peers.base import Peer, imported, jobs
from benchmarks.peers.blas import set_blas_threads
from benchmarks.workloads import FloatArray, Inputs

Step = Callable[[], Sequence[FloatArray]]
Scalar = Callable[..., FloatArray]


class _Autograd(Protocol):
    def value_and_grad(
        self, function: Scalar, argnum: tuple[int, ...]
    ) -> Callable[..., tuple[FloatArray, Sequence[FloatArray]]]: ...
    def make_vjp(self, function: Scalar, argnum: tuple[int, ...]) -> Callable[..., tuple[object, FloatArray]]: ...
    def make_hvp(
        self, function: Scalar
    ) -> Callable[[FloatArray], tuple[Callable[[FloatArray], FloatArray], FloatArray]]: ...


class _AutogradNumpy(Protocol):
    """The functions of autograd.numpy that the workloads call; under tracing they take and return boxes."""

    def tanh(self, x: FloatArray, /) -> FloatArray: ...
    def exp(self, x: FloatArray, /) -> FloatArray: ...
    def log(self, x: FloatArray, /) -> FloatArray: ...
    def maximum(self, x: FloatArray, y: float, /) -> FloatArray: ...
    def max(self, x: FloatArray, axis: int, keepdims: bool) -> FloatArray: ...
    def sum(self, x: FloatArray, axis: int | None = None, keepdims: bool = False) -> FloatArray: ...
    def mean(self, x: FloatArray) -> FloatArray: ...


class _Programs:
    """The workloads, over the two modules that autograd consists of."""

    def __init__(self, autograd: _Autograd, anp: _AutogradNumpy) -> None:
        self._autograd = autograd
        self._np = anp

    def _step(self, function: Scalar, arguments: Sequence[FloatArray]) -> Step:
        value_and_grad = self._autograd.value_and_grad(function, tuple(range(len(arguments))))

        def step() -> Sequence[FloatArray]:
            value, gradients = value_and_grad(*arguments)
            return value, *gradients

        return step

    def chain_forward(self, inputs: Inputs) -> Step:
        x, a, count = inputs["x"], inputs["a"], inputs.count

        def product(y: FloatArray, factor: FloatArray) -> FloatArray:
            for _ in range(count):
                y = y * factor
            return y

        traced = self._autograd.make_vjp(product, (0, 1))  # traces, as the other peers record, and is not run back
        return lambda: (traced(x, a)[1],)

    def chain(self, inputs: Inputs) -> Step:
        count, anp = inputs.count, self._np

        def total(x: FloatArray, a: FloatArray) -> FloatArray:
            y = x
            for _ in range(count):
                y = y * a
            return anp.sum(y)

        return self._step(total, (inputs["x"], inputs["a"]))

    def deep_chain(self, inputs: Inputs) -> Step:
        count, anp = inputs.count, self._np

        def total(x: FloatArray, a: FloatArray) -> FloatArray:
            y = x
            for _ in range(count):
                y = y + a
            return anp.sum(y)

        return self._step(total, (inputs["x"], inputs["a"]))

    def tiny_mlp(self, inputs: Inputs) -> Step:
        x, target, anp = inputs["x"], inputs["target"], self._np

        def loss(
            w1: FloatArray, b1: FloatArray, w2: FloatArray, b2: FloatArray, w3: FloatArray, b3: FloatArray
        ) -> FloatArray:
            h = anp.tanh(x @ w1 + b1)
            h = anp.tanh(h @ w2 + b2)
            return anp.mean((h @ w3 + b3 - target) ** 2)

        return self._step(loss, [inputs[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3")])

    def rnn(self, inputs: Inputs) -> Step:
        frames, start, target, anp = inputs["frames"], inputs["start"], inputs["target"], self._np

        def loss(w_input: FloatArray, w_hidden: FloatArray, bias: FloatArray) -> FloatArray:
            h = start
            for frame in frames:
                h = anp.tanh(frame @ w_input + h @ w_hidden + bias)
            return anp.mean((h - target) ** 2)

        return self._step(loss, [inputs[name] for name in ("w_input", "w_hidden", "bias")])

    def mlp(self, inputs: Inputs) -> Step:
        x, labels, anp = inputs["x"], inputs.labels, self._np
        samples = np.arange(len(labels))

        def loss(
            w1: FloatArray, b1: FloatArray, w2: FloatArray, b2: FloatArray, w3: FloatArray, b3: FloatArray
        ) -> FloatArray:
            h = anp.maximum(x @ w1 + b1, 0.0)
            h = anp.maximum(h @ w2 + b2, 0.0)
            logits = h @ w3 + b3
            logits = logits - anp.max(logits, axis=1, keepdims=True)
            return anp.mean(anp.log(anp.sum(anp.exp(logits), axis=1)) - logits[samples, labels])

        return self._step(loss, [inputs[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3")])

    def elementwise(self, inputs: Inputs) -> Step:
        anp = self._np
        return self._step(lambda x: anp.sum(anp.tanh(x * 1.5 + 0.5) / (1.0 + x * x)), (inputs["x"],))

    def branches(self, inputs: Inputs) -> Step:
        x, anp = inputs["x"], self._np
        leaves = [weight for branch in inputs["weights"] for weight in branch]

        def total(*weights: FloatArray) -> FloatArray:
            joined = np.zeros_like(x)
            for i in range(0, len(weights), 3):
                h = anp.tanh(anp.tanh(anp.tanh(x @ weights[i]) @ weights[i + 1]) @ weights[i + 2])
                joined = joined + h
            return anp.sum(joined)

        return self._step(total, leaves)

    def hvp(self, inputs: Inputs) -> Step:
        x, v, anp = inputs["x"], inputs["v"], self._np

        def rosenbrock(point: FloatArray) -> FloatArray:
            head, tail = point[:-1], point[1:]
            return anp.sum(100.0 * (tail - head**2) ** 2 + (1.0 - head) ** 2)

        make_hvp = self._autograd.make_hvp(rosenbrock)

        def step() -> Sequence[FloatArray]:
            product, _ = make_hvp(x)
            return (product(v),)

        return step


def load() -> Peer:
    """Import autograd; ImportError where it is not installed."""
    autograd = cast(_Autograd, imported("autograd"))
    programs = _Programs(autograd, cast(_AutogradNumpy, imported("autograd.numpy")))
    table: dict[str, Callable[[Inputs], Step]] = {
        "chain-forward": programs.chain_forward,
        "chain": programs.chain,
        "tiny-mlp": programs.tiny_mlp,
        "rnn": programs.rnn,
        "mlp": programs.mlp,
        "elementwise": programs.elementwise,
        "branches": programs.branches,
        "hvp": programs.hvp,
        "deep-chain": programs.deep_chain,
    }
    return Peer("autograd", importlib.metadata.version("autograd"), jobs(table, np.asarray), set_blas_threads)
