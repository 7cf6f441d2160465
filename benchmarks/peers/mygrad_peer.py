"""MyGrad: the workloads on its tensors. It has no second derivatives, so it lacks the Hessian-vector product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.base import Peer, imported, jobs
from benchmarks.peers.blas import set_blas_threads
from benchmarks.workloads import FloatArray, Inputs


class _Tensor(Protocol):
    data: FloatArray
    grad: FloatArray | None

    def __add__(self, other: _Tensor | FloatArray, /) -> _Tensor: ...
    def __sub__(self, other: _Tensor | FloatArray, /) -> _Tensor: ...
    def __mul__(self, other: _Tensor | FloatArray, /) -> _Tensor: ...
    def __truediv__(self, other: _Tensor, /) -> _Tensor: ...
    def __pow__(self, other: int, /) -> _Tensor: ...
    def __matmul__(self, other: _Tensor, /) -> _Tensor: ...
    def sum(self) -> _Tensor: ...
    def mean(self) -> _Tensor: ...
    def backward(self) -> None: ...
    def null_grad(self) -> _Tensor: ...


class _MyGrad(Protocol):
    __version__: str

    def tensor(self, data: FloatArray, *, constant: bool) -> _Tensor: ...
    def tanh(self, x: _Tensor, /) -> _Tensor: ...
    def matmul(self, x: FloatArray | _Tensor, y: _Tensor, /) -> _Tensor: ...


class _Activations(Protocol):
    def relu(self, x: _Tensor) -> _Tensor: ...


class _Losses(Protocol):
    def softmax_crossentropy(self, x: _Tensor, y_true: NDArray[np.int64]) -> _Tensor: ...


Step = Callable[[], Sequence[FloatArray | None]]


class _Programs:
    """The workloads, over MyGrad and the two modules of its networks."""

    def __init__(self, mg: _MyGrad, activations: _Activations, losses: _Losses) -> None:
        self._mg = mg
        self._activations = activations
        self._losses = losses

    def _leaves(self, arrays: Sequence[FloatArray]) -> list[_Tensor]:
        return [self._mg.tensor(array, constant=False) for array in arrays]

    def _step(self, function: Callable[..., _Tensor], arrays: Sequence[FloatArray]) -> Step:
        leaves = self._leaves(arrays)

        def step() -> Sequence[FloatArray | None]:
            for leaf in leaves:
                leaf.null_grad()
            value = function(*leaves)
            value.backward()
            return (value.data, *(leaf.grad for leaf in leaves))

        return step

    def chain_forward(self, inputs: Inputs) -> Step:
        x, a = self._leaves((inputs["x"], inputs["a"]))
        count = inputs.count

        def step() -> Sequence[FloatArray | None]:
            y = x
            for _ in range(count):
                y = y * a
            return (y.data,)

        return step

    def chain(self, inputs: Inputs) -> Step:
        count = inputs.count

        def total(x: _Tensor, a: _Tensor) -> _Tensor:
            y = x
            for _ in range(count):
                y = y * a
            return y.sum()

        return self._step(total, (inputs["x"], inputs["a"]))

    def deep_chain(self, inputs: Inputs) -> Step:
        count = inputs.count

        def total(x: _Tensor, a: _Tensor) -> _Tensor:
            y = x
            for _ in range(count):
                y = y + a
            return y.sum()

        return self._step(total, (inputs["x"], inputs["a"]))

    def tiny_mlp(self, inputs: Inputs) -> Step:
        x, target, mg = inputs["x"], inputs["target"], self._mg

        def loss(w1: _Tensor, b1: _Tensor, w2: _Tensor, b2: _Tensor, w3: _Tensor, b3: _Tensor) -> _Tensor:
            h = mg.tanh(mg.matmul(x, w1) + b1)
            h = mg.tanh(h @ w2 + b2)
            return ((h @ w3 + b3 - target) ** 2).mean()

        return self._step(loss, [inputs[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3")])

    def rnn(self, inputs: Inputs) -> Step:
        frames, start, target, mg = inputs["frames"], inputs["start"], inputs["target"], self._mg

        def loss(w_input: _Tensor, w_hidden: _Tensor, bias: _Tensor) -> _Tensor:
            h = mg.tensor(start, constant=True)
            for frame in frames:
                h = mg.tanh(mg.matmul(frame, w_input) + h @ w_hidden + bias)
            return ((h - target) ** 2).mean()

        return self._step(loss, [inputs[name] for name in ("w_input", "w_hidden", "bias")])

    def mlp(self, inputs: Inputs) -> Step:
        x, labels, mg = inputs["x"], inputs.labels, self._mg
        relu, cross_entropy = self._activations.relu, self._losses.softmax_crossentropy

        def loss(w1: _Tensor, b1: _Tensor, w2: _Tensor, b2: _Tensor, w3: _Tensor, b3: _Tensor) -> _Tensor:
            h = relu(mg.matmul(x, w1) + b1)
            h = relu(h @ w2 + b2)
            return cross_entropy(h @ w3 + b3, labels)

        return self._step(loss, [inputs[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3")])

    def elementwise(self, inputs: Inputs) -> Step:
        # MyGrad makes a float64 tensor of a Python number, which would widen the whole formula: hand it float32.
        mg, scale, shift, one = self._mg, *(np.asarray(number, dtype=np.float32) for number in (1.5, 0.5, 1.0))
        return self._step(lambda x: (mg.tanh(x * scale + shift) / (x * x + one)).sum(), (inputs["x"],))

    def branches(self, inputs: Inputs) -> Step:
        x, mg = inputs["x"], self._mg

        def total(*weights: _Tensor) -> _Tensor:
            joined: _Tensor | None = None
            for i in range(0, len(weights), 3):
                h = mg.tanh(mg.tanh(mg.tanh(mg.matmul(x, weights[i])) @ weights[i + 1]) @ weights[i + 2])
                joined = h if joined is None else joined + h
            assert joined is not None
            return joined.sum()

        return self._step(total, [weight for branch in inputs["weights"] for weight in branch])


def _read(value: FloatArray | None) -> FloatArray:
    if value is None:
        raise ValueError("benchmarks: MyGrad left a leaf without gradient; its backward did not reach it")
    return np.asarray(value)


def load() -> Peer:
    """Import MyGrad; ImportError where it is not installed."""
    mg = cast(_MyGrad, imported("mygrad"))
    programs = _Programs(
        mg,
        cast(_Activations, imported("mygrad.nnet.activations")),
        cast(_Losses, imported("mygrad.nnet.losses")),
    )
    table: dict[str, Callable[[Inputs], Step]] = {
        "chain-forward": programs.chain_forward,
        "chain": programs.chain,
        "tiny-mlp": programs.tiny_mlp,
        "rnn": programs.rnn,
        "mlp": programs.mlp,
        "elementwise": programs.elementwise,
        "branches": programs.branches,
        "deep-chain": programs.deep_chain,
    }
    return Peer("mygrad", mg.__version__, jobs(table, _read), set_blas_threads)
