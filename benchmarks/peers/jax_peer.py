"""JAX: the workloads compiled by `jax.jit`, loops as `jax.lax.scan` where unrolling them would take minutes to compile.

What is timed is a call of the compiled function until its results are there; tracing and compiling happen in the
warm-up. That is JAX at its best, and no cost of building a graph: read its column as the price of staying uncompiled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import THREADS_VARIABLE
from benchmarks.peers.base import Peer, imported, jobs
from benchmarks.workloads import FloatArray, Inputs

Carry = TypeVar("Carry")
F = TypeVar("F", bound=Callable[..., object])


class _Array(Protocol):
    def __add__(self, other: _Array | float, /) -> _Array: ...
    def __radd__(self, other: float, /) -> _Array: ...
    def __sub__(self, other: _Array, /) -> _Array: ...
    def __rsub__(self, other: float, /) -> _Array: ...
    def __neg__(self) -> _Array: ...
    def __mul__(self, other: _Array | float, /) -> _Array: ...
    def __rmul__(self, other: float, /) -> _Array: ...
    def __truediv__(self, other: _Array, /) -> _Array: ...
    def __pow__(self, other: int, /) -> _Array: ...
    def __matmul__(self, other: _Array, /) -> _Array: ...
    def __getitem__(self, index: slice | tuple[_Array, _Array], /) -> _Array: ...
    def sum(self) -> _Array: ...
    def mean(self) -> _Array: ...
    def block_until_ready(self) -> Self: ...


class _Numpy(Protocol):
    def asarray(self, array: FloatArray | NDArray[np.int64]) -> _Array: ...
    def arange(self, stop: int) -> _Array: ...
    def tanh(self, x: _Array, /) -> _Array: ...


class _Neural(Protocol):
    def relu(self, x: _Array) -> _Array: ...
    def log_softmax(self, x: _Array, axis: int) -> _Array: ...


class _Lax(Protocol):
    def scan(
        self,
        body: Callable[[_Array, _Array], tuple[_Array, None]],
        init: _Array,
        xs: _Array | None,
        length: int | None = None,
    ) -> tuple[_Array, None]: ...


class _Config(Protocol):
    def update(self, name: str, value: bool) -> None: ...


class _Jax(Protocol):
    __version__: str

    @property
    def numpy(self) -> _Numpy: ...
    @property
    def nn(self) -> _Neural: ...
    @property
    def lax(self) -> _Lax: ...
    @property
    def config(self) -> _Config: ...
    def jit(self, function: F) -> F: ...
    def grad(self, function: Callable[[_Array], _Array]) -> Callable[[_Array], _Array]: ...
    def value_and_grad(
        self, function: Callable[..., _Array], argnums: tuple[int, ...]
    ) -> Callable[..., tuple[_Array, Sequence[_Array]]]: ...
    def jvp(
        self, function: Callable[[_Array], _Array], primals: tuple[_Array], tangents: tuple[_Array]
    ) -> tuple[_Array, _Array]: ...
    def block_until_ready(self, values: tuple[_Array, Sequence[_Array]]) -> tuple[_Array, Sequence[_Array]]: ...


Step = Callable[[], Sequence[_Array]]


class _Programs:
    """The workloads, over the module."""

    def __init__(self, jax: _Jax) -> None:
        self._jax = jax

    def _arrays(self, inputs: Inputs, names: Iterable[str]) -> list[_Array]:
        return [self._jax.numpy.asarray(inputs[name]) for name in names]

    def _step(self, function: Callable[..., _Array], arguments: Sequence[_Array]) -> Step:
        jax = self._jax
        compiled = jax.jit(jax.value_and_grad(function, tuple(range(len(arguments)))))

        def step() -> Sequence[_Array]:
            value, gradients = jax.block_until_ready(compiled(*arguments))
            return value, *gradients

        return step

    def chain_forward(self, inputs: Inputs) -> Step:
        x, a = self._arrays(inputs, ("x", "a"))
        count = inputs.count

        def product(y: _Array, factor: _Array) -> _Array:
            for _ in range(count):
                y = y * factor
            return y

        compiled = self._jax.jit(product)
        return lambda: (compiled(x, a).block_until_ready(),)

    def chain(self, inputs: Inputs) -> Step:
        count = inputs.count

        def total(x: _Array, a: _Array) -> _Array:
            y = x
            for _ in range(count):
                y = y * a
            return y.sum()

        return self._step(total, self._arrays(inputs, ("x", "a")))

    def deep_chain(self, inputs: Inputs) -> Step:
        count, scan = inputs.count, self._jax.lax.scan

        def total(x: _Array, a: _Array) -> _Array:
            y, _ = scan(lambda carry, _: (carry + a, None), x, None, length=count)
            return y.sum()

        return self._step(total, self._arrays(inputs, ("x", "a")))

    def tiny_mlp(self, inputs: Inputs) -> Step:
        (x, target), tanh = self._arrays(inputs, ("x", "target")), self._jax.numpy.tanh

        def loss(w1: _Array, b1: _Array, w2: _Array, b2: _Array, w3: _Array, b3: _Array) -> _Array:
            h = tanh(x @ w1 + b1)
            h = tanh(h @ w2 + b2)
            return ((h @ w3 + b3 - target) ** 2).mean()

        return self._step(loss, self._arrays(inputs, ("w1", "b1", "w2", "b2", "w3", "b3")))

    def rnn(self, inputs: Inputs) -> Step:
        frames, start, target = self._arrays(inputs, ("frames", "start", "target"))
        tanh, scan = self._jax.numpy.tanh, self._jax.lax.scan

        def loss(w_input: _Array, w_hidden: _Array, bias: _Array) -> _Array:
            h, _ = scan(lambda h, frame: (tanh(frame @ w_input + h @ w_hidden + bias), None), start, frames)
            return ((h - target) ** 2).mean()

        return self._step(loss, self._arrays(inputs, ("w_input", "w_hidden", "bias")))

    def mlp(self, inputs: Inputs) -> Step:
        jax = self._jax
        x, labels, samples = (
            jax.numpy.asarray(inputs["x"]),
            jax.numpy.asarray(inputs.labels),
            jax.numpy.arange(len(inputs.labels)),
        )

        def loss(w1: _Array, b1: _Array, w2: _Array, b2: _Array, w3: _Array, b3: _Array) -> _Array:
            h = jax.nn.relu(x @ w1 + b1)
            h = jax.nn.relu(h @ w2 + b2)
            return -jax.nn.log_softmax(h @ w3 + b3, axis=1)[samples, labels].mean()

        return self._step(loss, self._arrays(inputs, ("w1", "b1", "w2", "b2", "w3", "b3")))

    def elementwise(self, inputs: Inputs) -> Step:
        tanh = self._jax.numpy.tanh
        return self._step(lambda x: (tanh(x * 1.5 + 0.5) / (1.0 + x * x)).sum(), self._arrays(inputs, ("x",)))

    def branches(self, inputs: Inputs) -> Step:
        asarray, tanh = self._jax.numpy.asarray, self._jax.numpy.tanh
        x = asarray(inputs["x"])

        def total(*weights: _Array) -> _Array:
            joined: _Array | None = None
            for i in range(0, len(weights), 3):
                h = tanh(tanh(tanh(x @ weights[i]) @ weights[i + 1]) @ weights[i + 2])
                joined = h if joined is None else joined + h
            assert joined is not None
            return joined.sum()

        return self._step(total, [asarray(weight) for branch in inputs["weights"] for weight in branch])

    def hvp(self, inputs: Inputs) -> Step:
        jax = self._jax
        x, v = self._arrays(inputs, ("x", "v"))

        def rosenbrock(point: _Array) -> _Array:
            head, tail = point[:-1], point[1:]
            return (100.0 * (tail - head**2) ** 2 + (1.0 - head) ** 2).sum()

        def product(point: _Array, tangent: _Array) -> _Array:
            return jax.jvp(jax.grad(rosenbrock), (point,), (tangent,))[1]

        compiled = jax.jit(product)
        return lambda: (compiled(x, v).block_until_ready(),)


def load() -> Peer:
    """Import JAX; ImportError where it is not installed."""
    jax = cast(_Jax, imported("jax"))
    jax.config.update("jax_enable_x64", True)  # float64 inputs stay float64, as everywhere else; float32 stays float32
    programs = _Programs(jax)
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

    def read(array: _Array) -> FloatArray:
        return cast(FloatArray, np.asarray(array))

    def set_threads(threads: int) -> bool:
        return os.environ.get(THREADS_VARIABLE) == str(threads)  # XLA sizes its pool once, from the environment

    return Peer("jax", jax.__version__, jobs(table, read), set_threads)
