"""Generators, random tensors and random in-place fills.

Why it exists: a seed must repeat a program's numbers, a state must restore them, distributions must be those named, and
what torch refuses must be refused before anything is written. The numbers themselves are NumPy's, not torch's.
"""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
import torch
from support import run_python

import cygrad
from cygrad import Generator, Tensor

N = 40_000


def seeded(seed: int = 7) -> Generator:
    """A generator of its own."""
    return Generator().manual_seed(seed)


DRAWS: dict[str, Callable[[Generator | None], Tensor]] = {
    "rand": lambda g: cygrad.rand(3, 2, generator=g),
    "rand float16": lambda g: cygrad.rand(5, dtype=cygrad.float16, generator=g),
    "rand complex": lambda g: cygrad.rand(5, dtype=cygrad.complex64, generator=g),
    "randn": lambda g: cygrad.randn((3, 2), generator=g),
    "randn float64": lambda g: cygrad.randn(5, dtype=cygrad.float64, generator=g),
    "randn complex": lambda g: cygrad.randn(5, dtype=cygrad.complex128, generator=g),
    "randint": lambda g: cygrad.randint(-50, 1000, (6,), generator=g),
    "randint float": lambda g: cygrad.randint(1000, (6,), dtype=cygrad.float32, generator=g),
    "randperm": lambda g: cygrad.randperm(20, generator=g),
    "normal": lambda g: cygrad.normal(2.0, 3.0, (4,), generator=g),
    "normal of tensors": lambda g: cygrad.normal(cygrad.zeros(2, 1), cygrad.ones(3), generator=g),
    "bernoulli": lambda g: cygrad.bernoulli(cygrad.full((30,), 0.5), generator=g),
    "bernoulli p": lambda g: cygrad.bernoulli(cygrad.zeros(30), 0.5, generator=g),
    "multinomial": lambda g: cygrad.multinomial(cygrad.ones(30), 5, generator=g),
    "multinomial with replacement": lambda g: cygrad.multinomial(cygrad.ones(2, 30), 5, True, generator=g),
    "rand_like": lambda g: cygrad.rand_like(cygrad.zeros(4), generator=g),
    "randn_like": lambda g: cygrad.randn_like(cygrad.zeros(4), generator=g),
    "randint_like": lambda g: cygrad.randint_like(cygrad.zeros(4), 1000, generator=g),
    "uniform_": lambda g: cygrad.zeros(4).uniform_(-2, 2, generator=g),
    "normal_": lambda g: cygrad.zeros(4).normal_(1, 2, generator=g),
    "bernoulli_": lambda g: cygrad.zeros(30).bernoulli_(0.5, generator=g),
    "random_": lambda g: cygrad.zeros(4, dtype=cygrad.int64).random_(1000, generator=g),
    "exponential_": lambda g: cygrad.zeros(4).exponential_(2.0, generator=g),
    "cauchy_": lambda g: cygrad.zeros(4).cauchy_(1.0, 2.0, generator=g),
    "log_normal_": lambda g: cygrad.zeros(4).log_normal_(1.0, 2.0, generator=g),
    "geometric_": lambda g: cygrad.zeros(40).geometric_(0.2, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_seeds_and_states_repeat_numbers(name: str) -> None:
    draw = DRAWS[name]
    first = draw(seeded(1)).tolist()
    assert draw(seeded(1)).tolist() == first
    assert draw(seeded(2)).tolist() != first
    g = seeded(1)
    draw(g)
    state = g.get_state()
    expected = draw(g).tolist()
    g.set_state(state)
    assert draw(g).tolist() == expected
    cygrad.manual_seed(1)
    assert draw(None).tolist() == first


def test_default_generator() -> None:
    with cygrad.random.fork_rng():
        assert cygrad.manual_seed(5) is cygrad.default_generator
        assert cygrad.initial_seed() == cygrad.default_generator.initial_seed() == 5
        state = cygrad.get_rng_state()
        assert state.dtype is cygrad.uint8 and state.dim() == 1
        numbers = cygrad.rand(4).tolist()
        cygrad.set_rng_state(state)
        assert cygrad.rand(4).tolist() == numbers and cygrad.initial_seed() == 5
        with cygrad.random.fork_rng():
            cygrad.seed()
            other = cygrad.rand(4).tolist()
        assert other != numbers
        following = cygrad.rand(4).tolist()
        cygrad.set_rng_state(state)
        cygrad.rand(4)
        assert cygrad.rand(4).tolist() == following
        assert cygrad.seed() == cygrad.initial_seed() != 5


def test_generators() -> None:
    g = Generator()
    assert g.initial_seed() == torch.Generator().initial_seed() and g.device == cygrad.device("cpu")
    assert cygrad.rand(3, generator=g).tolist() == cygrad.rand(3, generator=Generator()).tolist()
    for seed in (0, 5, 2**63, 2**64 - 1, -1, -(2**63)):
        assert g.manual_seed(seed) is g
        assert g.initial_seed() == torch.Generator().manual_seed(seed).initial_seed()
    assert 0 <= g.seed() == g.initial_seed() < 2**64
    for twin in (g.clone_state(), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert twin is not g and twin.initial_seed() == g.initial_seed()
        state = g.get_state()
        assert cygrad.randn(3, generator=twin).tolist() == cygrad.randn(3, generator=g).tolist()
        g.set_state(state)


Call = Callable[[ModuleType], object]

REFUSED: dict[str, tuple[Call, str]] = {
    "seed of float": (lambda m: m.Generator().manual_seed(1.5), "expected a long"),
    "seed too large": (lambda m: m.Generator().manual_seed(2**64), "[Oo]verflow"),
    "seed too small": (lambda m: m.Generator().manual_seed(-(2**63) - 1), "[Oo]verflow"),
    "state of wrong length": (lambda m: m.Generator().set_state(m.zeros(3, dtype=m.uint8)), "size"),
    "state of wrong type": (lambda m: m.Generator().set_state([1]), "ByteTensor"),
    "state of wrong dtype": (lambda m: m.set_rng_state(m.zeros(3)), "state must be a"),
    "generator of wrong type": (lambda m: m.rand(2, generator=3), "generator"),
    "rand of integers": (lambda m: m.rand(2, dtype=m.int64), "not implemented for 'Long'"),
    "rand of negative size": (lambda m: m.rand(-1), "negative dimension"),
    "rand without size": (lambda m: m.rand(), "size"),
    "randn of integers": (lambda m: m.randn(2, dtype=m.int32), "not implemented for 'Int'"),
    "randint of nothing": (lambda m: m.randint(0, (2,)), "'from' to be less than 'to'"),
    "randint reversed": (lambda m: m.randint(5, 2, (2,)), "'from' to be less than 'to'"),
    "randint beyond dtype": (lambda m: m.randint(300, (2,), dtype=m.uint8), "out of bounds"),
    "randint below dtype": (lambda m: m.randint(-1, 2, (2,), dtype=m.uint8), "out of bounds"),
    "randint of bool": (lambda m: m.randint(3, (2,), dtype=m.bool), "out of bounds"),
    "randint complex": (lambda m: m.randint(2, (2,), dtype=m.complex64), "handles only"),
    "randint of float": (lambda m: m.randint(2.5, (2,)), "int"),
    "randint huge": (lambda m: m.randint(0, 2**63, (2,)), "[Oo]verflow"),
    "randint without size": (lambda m: m.randint(5, 2), "size"),
    "randint requires grad": (lambda m: m.randint(5, (2,), requires_grad=True), "require gradients"),
    "randperm negative": (lambda m: m.randperm(-1), "negative dimension"),
    "randperm of bool": (lambda m: m.randperm(5, dtype=m.bool), "not implemented for 'Bool'"),
    "randperm beyond dtype": (lambda m: m.randperm(300, dtype=m.uint8), "without overflow"),
    "randperm of float": (lambda m: m.randperm(5.0), "int"),
    "normal negative std": (lambda m: m.normal(0.0, -1.0, (2,)), "std >= 0.0"),
    "normal negative std tensor": (lambda m: m.normal(m.zeros(2), m.tensor([-1.0, 1.0])), "elements of std >= 0.0"),
    "normal of integers": (lambda m: m.normal(m.zeros(2, dtype=m.int64), 1.0), "not implemented for 'Long'"),
    "normal without size": (lambda m: m.normal(0.0, 1.0), "size"),
    "normal shapes": (lambda m: m.normal(m.zeros(2), m.ones(3)), "size"),
    "bernoulli beyond one": (lambda m: m.bernoulli(m.tensor([0.0, 1.5])), "p_in >= 0"),
    "bernoulli NaN": (lambda m: m.bernoulli(m.tensor([math.nan])), "p_in >= 0"),
    "bernoulli of integers": (lambda m: m.bernoulli(m.zeros(2, dtype=m.int64)), "not implemented for 'Long'"),
    "bernoulli p": (lambda m: m.bernoulli(m.zeros(2), 1.5), "p to be in"),
    "multinomial negative": (lambda m: m.multinomial(m.tensor([1.0, -1.0]), 1), "element < 0"),
    "multinomial NaN": (lambda m: m.multinomial(m.tensor([1.0, math.nan]), 1), "element < 0"),
    "multinomial zero": (lambda m: m.multinomial(m.zeros(3), 1), "sum of probabilities"),
    "multinomial zero, replaced": (lambda m: m.multinomial(m.zeros(3), 1, True), "sum of probabilities"),
    "multinomial of integers": (lambda m: m.multinomial(m.zeros(3, dtype=m.int64), 1), "floating-point"),
    "multinomial 3-d": (lambda m: m.multinomial(m.ones(1, 1, 1), 1), "1 or 2 dim"),
    "multinomial too many": (lambda m: m.multinomial(m.ones(3), 4), "without replacement"),
    "multinomial none": (lambda m: m.multinomial(m.ones(3), 0), "n_sample <= 0"),
    "uniform_ reversed": (lambda m: m.zeros(2).uniform_(2, 1), "from=2"),
    "uniform_ infinite": (lambda m: m.zeros(2).uniform_(math.inf, math.inf), "out of bounds"),
    "uniform_ too wide": (lambda m: m.zeros(2).uniform_(-3e38, 3e38), "to-from"),
    "uniform_ of integers": (lambda m: m.zeros(2, dtype=m.int64).uniform_(), "not implemented for 'Long'"),
    "uniform_ on a leaf": (lambda m: m.zeros(2, requires_grad=True).uniform_(), "leaf Variable"),
    "uniform_ unknown keyword": (lambda m: m.zeros(2).uniform_(from_=0), "keyword"),
    "normal_ negative std": (lambda m: m.zeros(2).normal_(0, -1), "std >= 0.0"),
    "bernoulli_ beyond one": (lambda m: m.zeros(2).bernoulli_(1.5), "p to be in"),
    "bernoulli_ shapes": (lambda m: m.zeros(3).bernoulli_(m.zeros(2)), "expanded size"),
    "random_ empty range": (lambda m: m.zeros(2).random_(5, 5), "'from' to be less than 'to'"),
    "random_ beyond dtype": (lambda m: m.zeros(2, dtype=m.uint8).random_(300), "out of bounds"),
    "exponential_ zero": (lambda m: m.zeros(2).exponential_(0.0), "lambda > 0.0"),
    "cauchy_ zero": (lambda m: m.zeros(2).cauchy_(0, 0), "sigma > 0.0"),
    "cauchy_ of integers": (lambda m: m.zeros(2, dtype=m.int64).cauchy_(), "continuous"),
    "log_normal_ zero": (lambda m: m.zeros(2).log_normal_(0, 0), "std > 0.0"),
    "log_normal_ of integers": (lambda m: m.zeros(2, dtype=m.int64).log_normal_(), "not implemented"),
    "geometric_ one": (lambda m: m.zeros(2).geometric_(1.0), "p to be in"),
    "geometric_ of complex": (lambda m: m.zeros(2, dtype=m.complex64).geometric_(0.5), "not implemented"),
    "geometric_ on a leaf": (lambda m: m.zeros(2, requires_grad=True).geometric_(0.5), "leaf Variable"),
    "exponential_ of integers": (lambda m: m.zeros(2, dtype=m.int64).exponential_(1.0), "continuous"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_those_of_torch(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises((RuntimeError, TypeError, ValueError)) as theirs:
        call(torch)
    with pytest.raises(theirs.type, match=message) as ours:
        call(cygrad)
    assert ours.type is theirs.type


def test_refusals_leave_the_tensor_alone() -> None:
    t = cygrad.tensor([1.0, 2.0])
    for call in (
        lambda: t.uniform_(2, 1),
        lambda: t.normal_(0, -1),
        lambda: t.bernoulli_(2),
        lambda: t.random_(3, 3),
        lambda: t.exponential_(0),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert t.tolist() == [1, 2] and t._version == 0
    with pytest.raises(RuntimeError, match="expanded size"):
        t.bernoulli_(cygrad.zeros(3))
    with pytest.raises(RuntimeError, match="single memory"):  # and no error of before
        cygrad.zeros(1).expand(3).bernoulli_()
    expanded = cygrad.from_numpy(np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,)))
    with pytest.raises(RuntimeError, match="single memory location"):
        expanded.uniform_()


def moments(t: Tensor) -> tuple[float, float]:
    """Mean and standard deviation."""
    values = t.numpy().astype(np.complex128 if t.is_complex() else np.float64)
    return complex(values.mean()).real, float(values.std())


@pytest.mark.parametrize("dtype", [cygrad.float16, cygrad.float32, cygrad.float64], ids=str)
def test_distributions(dtype: cygrad.dtype) -> None:
    g = seeded()
    # five standard errors of the mean, and roughly so of the deviation
    slack = 5 / math.sqrt(N)
    u = cygrad.rand(N, dtype=dtype, generator=g).numpy()
    assert u.min() >= 0 and u.max() < 1 and abs(float(u.mean(dtype=np.float64)) - 0.5) < slack * 0.29
    mean, std = moments(cygrad.randn(N, dtype=dtype, generator=g))
    assert abs(mean) < slack and abs(std - 1) < slack
    mean, std = moments(cygrad.zeros(N, dtype=dtype).normal_(3, 2, generator=g))
    assert abs(mean - 3) < 2 * slack and abs(std - 2) < 2 * slack
    v = cygrad.zeros(N, dtype=dtype).uniform_(-3, 5, generator=g).numpy()
    assert v.min() >= -3 and v.max() < 5 and abs(float(v.mean(dtype=np.float64)) - 1) < slack * 2.4
    mean, std = moments(cygrad.zeros(N, dtype=dtype).exponential_(0.5, generator=g))
    assert abs(mean - 2) < 2 * slack and abs(std - 2) < 6 * slack
    mean, _ = moments(cygrad.bernoulli(cygrad.full((N,), 0.25, dtype=dtype), generator=g))
    assert abs(mean - 0.25) < slack


def test_complex_normal_shares_its_variance() -> None:
    z = cygrad.randn(N, dtype=cygrad.complex64, generator=seeded()).numpy()
    slack = 5 / math.sqrt(N)
    assert abs(z.real.var() - 0.5) < slack and abs(z.imag.var() - 0.5) < slack and abs((z.real * z.imag).mean()) < slack


def test_integers() -> None:
    g = seeded()
    t = cygrad.randint(-3, 4, (N,), generator=g)
    counts = np.bincount(t.numpy() + 3)
    assert t.dtype is cygrad.int64 and len(counts) == 7 and abs(counts / N - 1 / 7).max() < 5 * math.sqrt(6 / 49 / N)
    for name, highest in (("uint8", 255), ("int8", 127), ("int16", 2**15 - 1), ("float16", 2**11), ("bool", 1)):
        values = cygrad.zeros(N, dtype=getattr(cygrad, name)).random_(generator=g).numpy()
        assert (
            0 <= values.min() <= highest / 100
            and values.max() <= highest
            and float(values.mean(dtype=np.float64)) > 0.45 * highest
        )
    wide = cygrad.zeros(1000, dtype=cygrad.int64).random_(generator=g).numpy()
    assert wide.min() >= 0 and wide.max() > 2**62
    extremes = cygrad.randint(-(2**63), 2**63 - 1, (1000,), generator=g).numpy()
    assert extremes.min() < -(2**62) and extremes.max() > 2**62
    permutation = cygrad.randperm(50, generator=g)
    assert permutation.dtype is cygrad.int64 and sorted(permutation.tolist()) == list(range(50)) != permutation.tolist()
    assert cygrad.randperm(0).shape == (0,) and cygrad.randperm(3, dtype=cygrad.float32).dtype is cygrad.float32


def test_multinomial() -> None:
    g = seeded()
    weights = cygrad.tensor([0.1, 0.0, 0.3, 0.6])
    drawn = cygrad.multinomial(weights, N, replacement=True, generator=g).numpy()
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / N, [0.1, 0, 0.3, 0.6], atol=5 / math.sqrt(N))
    assert sorted(cygrad.multinomial(weights, 3, generator=g).tolist()) == [0, 2, 3]
    rows = cygrad.multinomial(cygrad.tensor([[1.0, 0.0], [0.0, 1.0]]), 1, generator=g)
    assert rows.dtype is cygrad.int64 and rows.tolist() == [[0], [1]]
    firsts = np.array([cygrad.multinomial(weights, 2, generator=g).tolist()[0] for _ in range(3000)])
    np.testing.assert_allclose(np.bincount(firsts, minlength=4) / 3000, [0.1, 0, 0.3, 0.6], atol=0.05)


def test_fills_of_strided_memory() -> None:
    base = np.zeros((4, 6))
    part = cygrad.from_numpy(base[:, ::2])
    for fill in (
        lambda: part.uniform_(1, 2),
        lambda: part.normal_(100, 1),
        lambda: part.exponential_(1),
        lambda: part.bernoulli_(1.0),
        lambda: part.random_(1, 9),
    ):
        base[...] = 0
        version = part._version
        assert fill() is part and part._version == version + 1
        assert (base[:, ::2] > 0).all() and (base[:, 1::2] == 0).all()
    assert cygrad.zeros(2, 0).uniform_().shape == (2, 0) and cygrad.zeros(()).normal_().shape == ()


def test_like_forms_keep_layout_and_dtype() -> None:
    transposed = cygrad.from_numpy(np.zeros((2, 3), dtype=np.float64).T)
    for t in (cygrad.rand_like(transposed), cygrad.randn_like(transposed), cygrad.randint_like(transposed, 1, 9)):
        assert t.dtype is cygrad.float64 and t.stride() == (1, 3) and all(v != 0 for row in t.tolist() for v in row)
    assert cygrad.randn_like(transposed, dtype=cygrad.float32, requires_grad=True).requires_grad
    with pytest.raises(NotImplementedError, match="'Long'"):
        cygrad.rand_like(cygrad.zeros(2, dtype=cygrad.int64))


NODES: dict[str, Call] = {
    "uniform_": lambda m: (m.ones(3, requires_grad=True) * 2).uniform_(),
    "normal_": lambda m: (m.ones(3, requires_grad=True) * 2).normal_(),
    "bernoulli_": lambda m: (m.ones(3, requires_grad=True) * 2).bernoulli_(),
    "bernoulli_ tensor": lambda m: (m.ones(3, requires_grad=True) * 2).bernoulli_(m.ones(3)),
    "random_": lambda m: (m.ones(3, requires_grad=True) * 2).random_(),
    "random_ to": lambda m: (m.ones(3, requires_grad=True) * 2).random_(5),
    "random_ from": lambda m: (m.ones(3, requires_grad=True) * 2).random_(2, 5),
    "exponential_": lambda m: (m.ones(3, requires_grad=True) * 2).exponential_(),
    "cauchy_": lambda m: (m.ones(3, requires_grad=True) * 2).cauchy_(),
    "log_normal_": lambda m: (m.ones(3, requires_grad=True) * 2).log_normal_(),
    "geometric_": lambda m: (m.ones(3, requires_grad=True) * 2).geometric_(0.5),
    "bernoulli": lambda m: m.bernoulli(m.ones(3, requires_grad=True)),
    "normal mean": lambda m: m.normal(m.ones(3, requires_grad=True), 2.0),
    "normal std": lambda m: m.normal(1.0, m.ones(3, requires_grad=True)),
    "normal both": lambda m: m.normal(m.ones(3, requires_grad=True), m.ones(3, requires_grad=True)),
}


@pytest.mark.parametrize("name", NODES)
def test_nodes_are_named_as_in_torch(name: str) -> None:
    ours, theirs = NODES[name](cygrad), NODES[name](torch)
    assert isinstance(ours, Tensor) and isinstance(theirs, torch.Tensor)
    assert ours.grad_fn is not None and theirs.grad_fn is not None
    assert ours.grad_fn.name() == theirs.grad_fn.name()


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_are_zero(create_graph: bool) -> None:
    leaf = cygrad.ones(3, requires_grad=True)
    (zero,) = cygrad.autograd.grad((leaf * 2).uniform_().sum(), [leaf], create_graph=create_graph)
    assert zero.tolist() == [0, 0, 0]
    mean, std = cygrad.zeros(2, 1, requires_grad=True), cygrad.ones(3, requires_grad=True)
    of_mean, of_std = cygrad.autograd.grad(cygrad.normal(mean, std).sum(), [mean, std], create_graph=create_graph)
    assert of_mean.tolist() == [[0], [0]] and of_std.tolist() == [0, 0, 0]


def test_a_forked_child_draws_while_threads_of_the_parent_did() -> None:
    """A thread that draws holds the lock of NumPy's stream, and is not there to give it back in the child."""
    program = """
import os, signal, threading, cygrad
own = cygrad.Generator()
cygrad.rand(1, generator=own)  # imports what a fork in the middle of an import would leave locked
def draw():
    while True:
        cygrad.rand(20000)
        cygrad.rand(20000, generator=own)
for _ in range(3):
    threading.Thread(target=draw, daemon=True).start()
ends = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        ok = cygrad.rand(3).shape == (3,) and cygrad.rand(3, generator=own).shape == (3,)
        os._exit(0 if ok else 1)
    ends.append(os.waitpid(child, 0)[1])
print(ends)
"""
    assert run_python(program).strip() == str([0] * 8)


def test_a_forked_child_goes_on_with_the_stream() -> None:
    program = """
import os, cygrad
cygrad.manual_seed(3)
cygrad.rand(5)
given, taken = os.pipe()
if os.fork() == 0:
    os.write(taken, repr(cygrad.rand(3).tolist()).encode())
    os._exit(0)
os.wait()
print(os.read(given, 1000).decode() == repr(cygrad.rand(3).tolist()))
"""
    assert run_python(program).strip() == "True"
