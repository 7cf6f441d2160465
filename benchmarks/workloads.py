"""The registry of timed workloads: their data, their sizes, and what cygrad must reach in each.

The programs themselves live with the peers (`benchmarks/peers/`), keyed by `Workload.program`; what is the same
for every peer lives here, so that all of them compute the same function of the same numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.demands import Demand, Operand, Ratio, second_thread, torch_over_cygrad

FloatArray = NDArray[np.floating]

SEED = 20240917


@dataclass(frozen=True)
class Inputs:
    """The data of a workload: named arrays of floats, class labels where it has any, and how long and how often."""

    arrays: Mapping[str, FloatArray]
    count: int = 1
    repeats: int = 1
    labels: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __getitem__(self, name: str) -> FloatArray:
        return self.arrays[name]


@dataclass(frozen=True)
class Workload:
    """One timed row of the table.

    `program` is the key under which peers hold the code. `make(rng, small)` draws the data; the small form keeps
    the shape of the problem at a size fit for tests. `outputs` names what a step returns, in order.
    `threads` fixes the thread count (None: that of the command line). Rows of the same `race` (by default: the same
    program) are interleaved with each other, so that ratios between rows are as fair as those within one.
    `peers` restricts who runs (empty: everybody).
    """

    name: str
    program: str
    description: str
    make: Callable[[np.random.Generator, bool], Inputs]
    outputs: tuple[str, ...]
    demands: tuple[Demand, ...] = ()
    threads: int | None = None
    race: str = ""
    peers: tuple[str, ...] = ()

    def inputs(self, small: bool = False) -> Inputs:
        """The data of this workload, the same at every call."""
        return self.make(np.random.default_rng(SEED), small)

    @property
    def heat(self) -> str:
        """The name that rows share when they are timed in the same rounds."""
        return self.race or self.program


def _normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> NDArray[np.float32]:
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def _dense(rng: np.random.Generator, sizes: tuple[int, ...]) -> dict[str, FloatArray]:
    """Weights `w1, b1, w2, ...` of a dense network, scaled as LeCun et al., "Efficient BackProp" (1998), advise."""
    arrays: dict[str, FloatArray] = {}
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes), start=1):
        arrays[f"w{layer}"] = _normal(rng, fan_in, fan_out, scale=fan_in**-0.5)
        arrays[f"b{layer}"] = _normal(rng, fan_out, scale=0.1)
    return arrays


def _chain(rng: np.random.Generator, small: bool) -> Inputs:
    # Factors near 1, so that a hundred of them neither overflow nor reach subnormal numbers, which are slow.
    arrays: dict[str, FloatArray] = {"x": rng.uniform(0.5, 1.5, 8), "a": rng.uniform(0.99, 1.01, 8)}
    return Inputs(arrays, count=7 if small else 100)


def _deep_chain(rng: np.random.Generator, small: bool) -> Inputs:
    arrays: dict[str, FloatArray] = {"x": rng.uniform(0.5, 1.5, 8), "a": rng.uniform(-1.0, 1.0, 8)}
    return Inputs(arrays, count=50 if small else 100_000)


def _tiny_mlp(rng: np.random.Generator, small: bool) -> Inputs:
    return Inputs({"x": _normal(rng, 1, 2), "target": _normal(rng, 1, 1), **_dense(rng, (2, 16, 16, 1))})


def _tiny_mlp_along(rng: np.random.Generator, small: bool) -> Inputs:
    inputs = _tiny_mlp(rng, small)
    along = {f"{name}_t": _normal(rng, *inputs[name].shape) for name in ("w1", "b1", "w2", "b2", "w3", "b3")}
    return Inputs({**inputs.arrays, **along})


def _rnn(rng: np.random.Generator, small: bool) -> Inputs:
    steps, batch, hidden = (5, 3, 4) if small else (100, 8, 32)
    arrays: dict[str, FloatArray] = {
        "frames": _normal(rng, steps, batch, hidden),
        "start": np.zeros((batch, hidden), dtype=np.float32),
        "target": _normal(rng, batch, hidden),
        "w_input": _normal(rng, hidden, hidden, scale=hidden**-0.5),
        "w_hidden": _normal(rng, hidden, hidden, scale=hidden**-0.5),
        "bias": _normal(rng, hidden, scale=0.1),
    }
    return Inputs(arrays)


def _mlp(rng: np.random.Generator, small: bool) -> Inputs:
    batch, sizes = (5, (7, 6, 5, 4)) if small else (64, (784, 512, 256, 10))
    return Inputs({"x": _normal(rng, batch, sizes[0]), **_dense(rng, sizes)}, labels=rng.integers(0, sizes[-1], batch))


def _elementwise(rng: np.random.Generator, small: bool) -> Inputs:
    return Inputs({"x": _normal(rng, 101 if small else 1 << 22)})


def _branches(rng: np.random.Generator, small: bool) -> Inputs:
    branches, size = (3, 4) if small else (16, 256)
    arrays: dict[str, FloatArray] = {
        "x": _normal(rng, size, size),
        "weights": _normal(rng, branches, 3, size, size, scale=size**-0.5),
    }
    return Inputs(arrays)


def _hvp(rng: np.random.Generator, small: bool) -> Inputs:
    arrays: dict[str, FloatArray] = {"x": rng.uniform(-1.0, 1.0, 32), "v": rng.standard_normal(32)}
    return Inputs(arrays)


def _rows(rng: np.random.Generator, small: bool) -> Inputs:
    return Inputs({"row": rng.standard_normal(8)}, count=5 if small else 32)


def _small_graphs(rng: np.random.Generator, small: bool) -> Inputs:
    arrays: dict[str, FloatArray] = {"x": rng.uniform(0.5, 1.5, (8, 8)), "a": rng.uniform(0.99, 1.01, (8, 8))}
    return Inputs(arrays, count=5 if small else 100, repeats=2 if small else 200)


def _large_graphs(rng: np.random.Generator, small: bool) -> Inputs:
    size = 4 if small else 64
    arrays: dict[str, FloatArray] = {
        "x": _normal(rng, 8, size, size),
        "a": _normal(rng, 8, size, size, scale=size**-0.5),
    }
    # Enough repetitions that the end, when the last thread is alone, is a small part of the whole.
    return Inputs(arrays, count=3 if small else 20, repeats=2 if small else 40)


def _basic_index(rng: np.random.Generator, small: bool) -> Inputs:
    return Inputs({"x": rng.standard_normal((8, 8))}, count=3 if small else 100)


_DENSE_OUTPUTS = ("loss", "d w1", "d b1", "d w2", "d b2", "d w3", "d b3")

# Custom Functions, hooks and checkpoints are words of torch's API; NumPy's row is the same computation by hand.
_TORCH_API = ("cygrad", "torch", "numpy")

_ORDINARY = (
    Workload(
        "chain-forward",
        "chain-forward",
        "chain of 100 multiplications of 8 float64 numbers, both factors on record, forward only",
        _chain,
        ("y",),
        (torch_over_cygrad(8.0),),
    ),
    Workload(
        "chain",
        "chain",
        "chain of 100 multiplications of 8 float64 numbers, both factors on record, forward and backward",
        _chain,
        ("sum", "d x", "d a"),
        # Compiled code has no graph to build: to come within 2.5 times of it is a hope, not a demand.
        (torch_over_cygrad(20.0), Ratio(Operand("jax"), Operand("cygrad"), 1 / 2.5, firm=False)),
    ),
    Workload(
        "tiny-mlp",
        "tiny-mlp",
        "2-16-16-1 tanh MLP at batch 1: squared error and its gradients",
        _tiny_mlp,
        _DENSE_OUTPUTS,
        (torch_over_cygrad(10.0),),
    ),
    Workload(
        "rnn",
        "rnn",
        "tanh RNN of 100 steps, input and hidden size 32, batch 8: squared error of the last state and its gradients",
        _rnn,
        ("loss", "d w_input", "d w_hidden", "d bias"),
        (torch_over_cygrad(6.0),),
    ),
    Workload(
        "mlp",
        "mlp",
        "784-512-256-10 ReLU MLP at batch 64: cross entropy and its gradients",
        _mlp,
        _DENSE_OUTPUTS,
        (torch_over_cygrad(1.1),),
    ),
    Workload(
        "elementwise",
        "elementwise",
        "sum of tanh(x*1.5+0.5)/(1+x*x) over 4M float32 numbers, forward and backward",
        _elementwise,
        ("sum", "d x"),
        (torch_over_cygrad(1.5),),
    ),
    Workload(
        "branches",
        "branches",
        "16 branches of three 256x256 float32 matmuls with tanh, joined by a sum, forward and backward",
        _branches,
        ("sum", "d weights"),
    ),
    Workload(
        "hvp",
        "hvp",
        "Hessian-vector product of the Rosenbrock function of 32 float64 numbers",
        _hvp,
        ("H v",),
        (torch_over_cygrad(6.0),),
    ),
    Workload(
        "deep-chain",
        "deep-chain",
        "chain of 100,000 additions of 8 float64 numbers, both terms on record, forward and backward",
        _deep_chain,
        ("sum", "d x", "d a"),
        (torch_over_cygrad(12.0),),
    ),
    Workload(
        "functions",
        "functions",
        "the chain of 100 multiplications as 100 custom Functions, forward and backward",
        _chain,
        ("sum", "d x", "d a"),
        (torch_over_cygrad(4.0),),
        peers=_TORCH_API,
    ),
    Workload(
        "hooks",
        "hooks",
        "the tiny MLP with a hook on every parameter that clips its gradient",
        _tiny_mlp,
        _DENSE_OUTPUTS,
        (torch_over_cygrad(6.0),),
        peers=_TORCH_API,
    ),
    Workload(
        "forward-mode",
        "forward-mode",
        "the tiny MLP in forward mode: squared error and its derivative along all parameters at once",
        _tiny_mlp_along,
        ("loss", "derivative"),
        (torch_over_cygrad(6.0),),
        peers=_TORCH_API,
    ),
    Workload(
        "checkpoints",
        "checkpoints",
        "the RNN in ten checkpoints without re-entrance",
        _rnn,
        ("loss", "d w_input", "d w_hidden", "d bias"),
        (torch_over_cygrad(4.0),),
        peers=_TORCH_API,
    ),
    Workload(
        "rows",
        "rows",
        "a buffer of 32 rows of 8 float64 numbers filled through views, buffer[i].add_(h), forward and backward",
        _rows,
        ("sum", "d h"),
        (torch_over_cygrad(6.0),),
        peers=_TORCH_API,
    ),
    Workload(
        "augmented",
        "augmented",
        "100 times y += a on 8 float64 numbers without views, forward and backward",
        _chain,
        ("sum", "d x", "d a"),
        (torch_over_cygrad(10.0),),
        peers=_TORCH_API,
    ),
    Workload(
        "basic-index",
        "basic-index",
        "100 times x[3, 4] of an 8x8 float64 tensor, without gradients",
        _basic_index,
        ("element",),
        (torch_over_cygrad(5.0),),
        peers=_TORCH_API,
    ),
)


def _two_threads(name: str, *demands: Demand, peers: tuple[str, ...] = ()) -> Workload:
    one = next(workload for workload in _ORDINARY if workload.name == name)
    return Workload(
        f"{name}-2-threads",
        one.program,
        f"{one.description}; two threads",
        one.make,
        one.outputs,
        demands,
        threads=2,
        peers=peers,
    )


_TWO_THREADS = (
    _two_threads(
        "branches",
        Ratio(Operand("torch"), Operand("cygrad"), 1.2),
        second_thread("branches", 1.6),
    ),
    # The small ones have nothing to gain: the demand is that waking nobody costs nothing.
    *(
        _two_threads(name, second_thread(name, 1 / 1.05), peers=("cygrad", "torch"))
        for name in ("chain-forward", "chain", "tiny-mlp", "rnn", "hvp")
    ),
)


def _own_graphs(
    name: str, size: str, make: Callable[[np.random.Generator, bool], Inputs], at_least: float
) -> tuple[Workload, Workload]:
    """Backward over 8 graphs: one after the other, and started from 8 threads at once."""
    outputs = tuple(f"d {which}[{k}]" for k in range(8) for which in ("x", "a"))
    return (
        Workload(
            name,
            name,
            f"backward over 8 graphs of {size}, one graph after the other",
            make,
            outputs,
            threads=1,
            race=name,
            peers=_TORCH_API,
        ),
        Workload(
            f"{name}-8-threads",
            f"{name}-8-threads",
            f"backward over 8 graphs of {size}, each started from a thread of its own",
            make,
            outputs,
            (Ratio(Operand("cygrad", name), Operand("cygrad"), at_least),),
            threads=1,
            race=name,
            peers=_TORCH_API,
        ),
    )


_OWN_GRAPHS = (
    *_own_graphs("small-graphs", "100 multiplications of 8 float64 numbers, 200 times", _small_graphs, 1 / 1.05),
    *_own_graphs("large-graphs", "20 products of 64x64 float32 matrices with tanh, 40 times", _large_graphs, 1.5),
)

WORKLOADS: tuple[Workload, ...] = _ORDINARY + _TWO_THREADS + _OWN_GRAPHS
