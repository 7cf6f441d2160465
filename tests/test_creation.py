"""Making tensors: from data, from sizes, from ranges, and at random.

Why it exists: value, dtype, layout and refusals of every maker are compared with the oracle; random numbers, which
need not be the oracle's, are checked for reproducibility and distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from support import assert_agrees, assert_same_refusal

import cygrad

Maker = Callable[[ModuleType], object]

MAKERS: dict[str, Maker] = {
    "tensor of float": lambda m: m.tensor(1.5),
    "tensor of int": lambda m: m.tensor(3),
    "tensor of bool": lambda m: m.tensor(True),
    "tensor of complex": lambda m: m.tensor(1 + 2j),
    "tensor of list": lambda m: m.tensor([[1.0, 2.0], [3.0, 4.0]]),
    "tensor of tuple": lambda m: m.tensor((1, 2, 3)),
    "tensor of mixed": lambda m: m.tensor([1, 2.5, True]),
    "tensor of booleans": lambda m: m.tensor([True, False]),
    "tensor of nothing": lambda m: m.tensor([]),
    "tensor of empty rows": lambda m: m.tensor([[], []]),
    "tensor with dtype": lambda m: m.tensor([1, 2], dtype=m.float64),
    "tensor with integer dtype": lambda m: m.tensor([1.7, -1.7], dtype=m.int32),
    "tensor of array": lambda m: m.tensor(np.arange(6).reshape(2, 3)),
    "tensor of float64 array": lambda m: m.tensor(np.array([1.5, 2.5])),
    "tensor of NumPy number": lambda m: m.tensor(np.float64(2.5)),
    "tensor of list of NumPy numbers": lambda m: m.tensor([np.float32(2.5), np.float32(1.0)]),
    "tensor of list of 0-d tensors": lambda m: m.tensor([m.tensor(1.0), m.tensor(2.0)]),
    "tensor of range": lambda m: m.tensor(range(4)),
    "tensor on a device": lambda m: m.tensor([1.0], device="cpu"),
    "as_tensor": lambda m: m.as_tensor([1, 2]),
    "as_tensor with dtype": lambda m: m.as_tensor([1, 2], dtype=m.float32),
    "asarray": lambda m: m.asarray([1.0, 2.0]),
    "asarray of array": lambda m: m.asarray(np.array([1, 2], dtype=np.int16)),
    "from_numpy": lambda m: m.from_numpy(np.array([[1, 2], [3, 4]], dtype=np.int8)),
    "from_numpy strided": lambda m: m.from_numpy(np.arange(12.0).reshape(3, 4)[:, ::2]),
    "from_numpy transposed": lambda m: m.from_numpy(np.arange(6.0).reshape(2, 3).T),
    "from_numpy 0-d": lambda m: m.from_numpy(np.array(2.5)),
    "frombuffer": lambda m: m.frombuffer(bytearray(np.arange(4, dtype=np.float32).tobytes()), dtype=m.float32),
    "frombuffer offset": lambda m: m.frombuffer(bytearray(range(12)), dtype=m.uint8, count=3, offset=2),
    "zeros": lambda m: m.zeros(2, 3),
    "zeros of tuple": lambda m: m.zeros((2, 3)),
    "zeros of list": lambda m: m.zeros([2]),
    "zeros of Size": lambda m: m.zeros(m.Size([2, 3])),
    "zeros of keyword": lambda m: m.zeros(size=(2,)),
    "zeros 0-d": lambda m: m.zeros(()),
    "zeros with dtype": lambda m: m.zeros(2, dtype=m.complex64),
    "zeros of no size": lambda m: m.zeros(0, 3),
    "ones": lambda m: m.ones(3, dtype=m.int16),
    "ones bool": lambda m: m.ones((2,), dtype=m.bool),
    "full": lambda m: m.full((2, 2), 3.5),
    "full of int": lambda m: m.full((2,), 3),
    "full of bool": lambda m: m.full((2,), True),
    "full of complex": lambda m: m.full((2,), 1j),
    "full with dtype": lambda m: m.full((2,), 3, dtype=m.float64),
    "empty": lambda m: m.zeros_like(m.empty(2, 3)),
    "arange": lambda m: m.arange(5),
    "arange float": lambda m: m.arange(2.5),
    "arange start": lambda m: m.arange(1, 6, 2),
    "arange down": lambda m: m.arange(5, 0, -2),
    "arange step": lambda m: m.arange(0.0, 1.0, 0.25),
    "arange dtype": lambda m: m.arange(3, dtype=m.float64),
    "arange nothing": lambda m: m.arange(3, 3),
    "linspace": lambda m: m.linspace(0, 1, 5),
    "linspace one": lambda m: m.linspace(2, 3, 1),
    "linspace none": lambda m: m.linspace(2, 3, 0),
    "linspace float64": lambda m: m.linspace(-1.0, 1.0, 7, dtype=m.float64),
    "linspace keyword": lambda m: m.linspace(0, 10, steps=3),
    "logspace": lambda m: m.logspace(0, 2, 3, dtype=m.float64),
    "logspace base": lambda m: m.logspace(0, 3, 4, base=2.0),
    "eye": lambda m: m.eye(3),
    "eye wide": lambda m: m.eye(2, 3, dtype=m.int64),
    "zeros_like": lambda m: m.zeros_like(m.ones(2, 3, dtype=m.int32)),
    "ones_like dtype": lambda m: m.ones_like(m.zeros(2), dtype=m.float64),
    "full_like": lambda m: m.full_like(m.zeros(2, 2), 7),
    "new_zeros": lambda m: m.ones(2, dtype=m.float64).new_zeros(3),
    "new_ones": lambda m: m.ones(2, dtype=m.int8).new_ones((2, 2)),
    "new_full": lambda m: m.ones(2).new_full((2,), 3.0),
    "new_tensor": lambda m: m.ones(2, dtype=m.float64).new_tensor([1, 2]),
    "requires_grad": lambda m: m.zeros(2, requires_grad=True).requires_grad,
    "tensor requires_grad": lambda m: m.tensor([1.0], requires_grad=True).is_leaf,
    "new_empty shape": lambda m: tuple(m.ones(2, dtype=m.int8).new_empty((2, 5)).shape),
    "empty_like shape": lambda m: [
        tuple(m.empty_like(m.zeros(2, 3)).shape),
        m.empty_like(m.zeros(1), dtype=m.int64).dtype,
    ],
    "scalar on a device": lambda m: m.zeros(2, device=m.device("cpu")),
    "half": lambda m: m.tensor(2.0, dtype=m.float16),
}


@pytest.mark.parametrize("name", MAKERS)
def test_value_and_dtype(name: str) -> None:
    assert_agrees(MAKERS[name])


REFUSED: dict[str, Maker] = {
    "tensor of text": lambda m: m.tensor("abc"),
    "tensor of None": lambda m: m.tensor(None),
    "tensor of ragged list": lambda m: m.tensor([[1, 2], [3]]),
    "tensor of object": lambda m: m.tensor(object()),
    "tensor of list of text": lambda m: m.tensor(["a", "b"]),
    "tensor of dict": lambda m: m.tensor({"a": 1}),
    "tensor without data": lambda m: m.tensor(),
    "tensor dtype text": lambda m: m.tensor([1.0], dtype="float32"),
    "tensor too large for dtype": lambda m: m.tensor([2**70]),
    "zeros negative": lambda m: m.zeros(-1),
    "zeros negative in tuple": lambda m: m.zeros((2, -3)),
    "zeros of text": lambda m: m.zeros("2"),
    "zeros of float": lambda m: m.zeros(2.5),
    "zeros huge": lambda m: m.zeros(2**62, 2**62),
    "full without value": lambda m: m.full((2,)),
    "full of text": lambda m: m.full((2,), "a"),
    "arange wrong way": lambda m: m.arange(0, 3, -1),
    "arange step zero": lambda m: m.arange(0, 3, 0),
    "arange infinite": lambda m: m.arange(0, math.inf),
    "linspace negative steps": lambda m: m.linspace(0, 1, -1),
    "eye negative": lambda m: m.eye(-1),
    "from_numpy of list": lambda m: m.from_numpy([1.0]),
    "from_numpy of text": lambda m: m.from_numpy(np.array(["a"])),
    "from_numpy of objects": lambda m: m.from_numpy(np.array([None])),
    "from_numpy negative stride": lambda m: m.from_numpy(np.arange(3)[::-1]),
    "integer requires grad": lambda m: m.zeros(2, dtype=m.int64, requires_grad=True),
    "integer tensor requires grad": lambda m: m.tensor([1, 2], requires_grad=True),
    "frombuffer of wrong size": lambda m: m.frombuffer(bytearray(5), dtype=m.float32, count=2),
    "frombuffer empty": lambda m: m.frombuffer(bytearray(0), dtype=m.float32),
    "frombuffer of text": lambda m: m.frombuffer("abc", dtype=m.uint8),
    "randint empty range": lambda m: m.randint(3, 3, (2,)),
    "randperm negative": lambda m: m.randperm(-1),
    "normal negative std": lambda m: m.normal(0.0, -1.0, (2,)),
    "bernoulli of two": lambda m: m.bernoulli(m.tensor([2.0])),
    "set_default_dtype int": lambda m: m.set_default_dtype(m.int64),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    assert_same_refusal(REFUSED[name])


def test_from_numpy_and_numpy_share_memory() -> None:
    array = np.zeros((2, 3))
    tensor = cygrad.from_numpy(array)
    array[1, 2] = 5.0
    assert tensor[1, 2].item() == 5.0
    back = tensor.numpy()
    back[0, 0] = 7.0
    assert array[0, 0] == 7.0


def test_tensor_copies_and_as_tensor_does_not() -> None:
    array = np.zeros(3)
    copied, shared = cygrad.tensor(array), cygrad.as_tensor(array)
    array[0] = 1.0
    assert copied.tolist() == [0.0, 0.0, 0.0]
    assert shared.tolist() == [1.0, 0.0, 0.0]
    assert cygrad.as_tensor(shared) is shared


def test_numpy_memory_outlives_the_array() -> None:
    tensor = cygrad.from_numpy(np.arange(1000.0))
    assert float(tensor.sum().item()) == 499500.0


def test_tensor_memory_outlives_the_tensor() -> None:
    array = cygrad.arange(1000, dtype=cygrad.float64).numpy()
    filler = [cygrad.zeros(1000, dtype=cygrad.float64) for _ in range(20)]
    assert array.sum() == 499500.0
    assert len(filler) == 20


RANDOM: dict[str, Maker] = {
    "rand": lambda m: m.rand(3, 4),
    "randn": lambda m: m.randn(3, 4, dtype=m.float64),
    "randint": lambda m: m.randint(0, 10, (3, 4)),
    "randint high": lambda m: m.randint(10, (5,)),
    "randperm": lambda m: m.randperm(9),
    "normal": lambda m: m.normal(1.0, 2.0, (4,)),
    "normal of tensors": lambda m: m.normal(m.zeros(4), m.ones(4)),
    "bernoulli": lambda m: m.bernoulli(m.full((8,), 0.5)),
    "rand_like": lambda m: m.rand_like(m.zeros(3, dtype=m.float64)),
    "randn_like": lambda m: m.randn_like(m.zeros(3)),
    "randint_like": lambda m: m.randint_like(m.zeros(3), 0, 9),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_shape_and_dtype_agree_and_seeds_repeat(name: str) -> None:
    import torch

    make = RANDOM[name]
    ours, oracle = make(cygrad), make(torch)
    assert isinstance(ours, cygrad.Tensor) and isinstance(oracle, torch.Tensor)
    assert tuple(ours.shape) == tuple(oracle.shape)
    assert str(ours.dtype).rpartition(".")[2] == str(oracle.dtype).rpartition(".")[2]
    cygrad.manual_seed(11)
    first, second = make(cygrad), make(cygrad)
    cygrad.manual_seed(11)
    again = make(cygrad)
    assert isinstance(first, cygrad.Tensor) and isinstance(second, cygrad.Tensor) and isinstance(again, cygrad.Tensor)
    assert first.tolist() == again.tolist()
    assert first.tolist() != second.tolist() or first.numel() < 9


def test_a_generator_has_a_stream_of_its_own() -> None:
    generator = cygrad.Generator()
    generator.manual_seed(5)
    first = cygrad.rand(4, generator=generator).tolist()
    cygrad.rand(100)
    generator.manual_seed(5)
    assert cygrad.rand(4, generator=generator).tolist() == first
    assert generator.initial_seed() == 5
    cygrad.manual_seed(3)
    expected = cygrad.rand(3).tolist()
    cygrad.manual_seed(3)
    cygrad.rand(4, generator=generator)
    assert cygrad.rand(3).tolist() == expected


def test_moments_of_random_numbers() -> None:
    cygrad.manual_seed(0)
    count = 40_000
    uniform = cygrad.rand(count, dtype=cygrad.float64).numpy()
    normal = cygrad.randn(count, dtype=cygrad.float64).numpy()
    shifted = cygrad.normal(3.0, 0.5, (count,), dtype=cygrad.float64).numpy()
    whole = cygrad.randint(-2, 3, (count,)).numpy()
    coin = cygrad.bernoulli(cygrad.full((count,), 0.3)).numpy()
    six = 6 / math.sqrt(count)  # six standard errors
    assert uniform.min() >= 0.0 and uniform.max() < 1.0
    assert abs(uniform.mean() - 0.5) < six * 0.29
    assert abs(normal.mean()) < six and abs(normal.std() - 1.0) < six
    assert abs(shifted.mean() - 3.0) < six * 0.5
    assert set(whole.tolist()) == {-2, -1, 0, 1, 2}
    assert set(coin.tolist()) == {0.0, 1.0} and abs(coin.mean() - 0.3) < six
    assert sorted(cygrad.randperm(50).tolist()) == list(range(50))


def test_dropout_keeps_the_expected_share_and_scale() -> None:
    cygrad.manual_seed(0)
    x = cygrad.ones(20_000, dtype=cygrad.float64, requires_grad=True)
    y = cygrad.nn.functional.dropout(x, 0.25)
    kept = (y != 0).double().mean().item()
    assert abs(kept - 0.75) < 6 * math.sqrt(0.25 * 0.75 / 20_000)
    assert sorted(set(y.tolist())) == [0.0, 1 / 0.75]
    y.sum().backward()
    assert x.grad is not None
    assert bool((x.grad == y.detach()).all())
