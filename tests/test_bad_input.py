"""Bad input: exceptions of torch's types, messages that help, and nothing changed afterwards.

Why it exists: `ops/test_oracle.py` compares types of exceptions operation by operation; here the messages are read,
and the inputs, the engine and the memory are looked at after the refusal.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable

import numpy as np
import pytest
from support import run_python

import cygrad
from cygrad._core.memory import live_objects

Call = Callable[[], object]
wrongly = operator.methodcaller  # calls that no type checker lets pass


def a(*shape: int, dtype: cygrad.dtype = cygrad.float64, requires_grad: bool = False) -> cygrad.Tensor:
    """Ones."""
    return cygrad.ones(shape, dtype=dtype, requires_grad=requires_grad)


# name: (call, type, words that the message must hold)
CASES: dict[str, tuple[Call, type[Exception] | tuple[type[Exception], ...], tuple[str, ...]]] = {
    "add of shapes that do not broadcast": (lambda: a(2, 3) + a(4), RuntimeError, ("add", "3", "4")),
    "mul of shapes that do not broadcast": (lambda: a(2, 3) * a(2, 2), RuntimeError, ("mul", "3", "2")),
    "where of shapes that do not broadcast": (
        lambda: cygrad.where(a(3) > 0, a(2), a(3)),
        RuntimeError,
        ("where", "2", "3"),
    ),
    "matmul of inner dimensions": (lambda: a(2, 3) @ a(2, 3), RuntimeError, ("2", "3")),
    "mm of vectors": (lambda: cygrad.mm(a(3), a(3)), RuntimeError, ("mm", "matrix")),
    "bmm of matrices": (lambda: cygrad.bmm(a(2, 3), a(3, 2)), RuntimeError, ("bmm",)),
    "dot of different lengths": (lambda: cygrad.dot(a(3), a(2)), RuntimeError, ("dot", "3", "2")),
    "matmul of dtypes": (lambda: a(2, 2) @ a(2, 2, dtype=cygrad.float32), RuntimeError, ("matmul", "double", "float")),
    "cat of nothing": (lambda: cygrad.cat([]), (RuntimeError, ValueError), ("cat",)),
    "cat of shapes": (lambda: cygrad.cat([a(2, 3), a(2, 2)]), RuntimeError, ("cat", "3", "2")),
    "stack of shapes": (lambda: cygrad.stack([a(2), a(3)]), RuntimeError, ("stack", "2", "3")),
    "view of wrong size": (lambda: a(2, 3).view(4), RuntimeError, ("view", "4", "6")),
    "view of non-contiguous": (lambda: a(2, 3).t().view(6), RuntimeError, ("view", "reshape")),
    "reshape with two unknowns": (lambda: a(6).reshape(-1, -1), RuntimeError, ("only one dimension",)),
    "expand of a real dimension": (lambda: a(2, 3).expand(3, 3), RuntimeError, ("expand", "2", "3")),
    "squeeze of missing dim": (lambda: a(2, 3).squeeze(4), IndexError, ("4", "2")),
    "sum over missing dim": (lambda: a(2, 3).sum(2), IndexError, ("2",)),
    "sum over a dim twice": (lambda: a(2, 3).sum((0, 0)), RuntimeError, ("0",)),
    "max of nothing": (lambda: a(0).max(), RuntimeError, ("max",)),
    "argmax of nothing": (lambda: a(0).argmax(), IndexError, ("argmax",)),
    "index out of range": (lambda: a(3)[5], IndexError, ("5", "3")),
    "too many indices": (lambda: a(3)[0, 0], IndexError, ("1",)),
    "index of 0-d": (lambda: a()[0], IndexError, ("0-d",)),
    "gather out of range": (lambda: a(3).gather(0, cygrad.tensor([3])), RuntimeError, ("gather", "3")),
    "take_along_dim out of range": (
        lambda: cygrad.take_along_dim(a(2, 3), cygrad.tensor([[3]]), 1),
        (RuntimeError, IndexError),
        ("3",),
    ),
    "index_select out of range": (lambda: a(3).index_select(0, cygrad.tensor([7])), (RuntimeError, IndexError), ("7",)),
    "tensor index out of range": (lambda: a(3)[cygrad.tensor([0, 4])], IndexError, ("4", "3")),
    "mask of wrong shape": (lambda: a(3)[cygrad.tensor([True, False])], IndexError, ("2", "3")),
    "negative size": (lambda: cygrad.zeros(-2), RuntimeError, ("zeros", "-2")),
    "narrow past the end": (lambda: a(3).narrow(0, 2, 2), RuntimeError, ("narrow", "3")),
    "split by zero": (lambda: a(3).split(0), RuntimeError, ("split", "0")),
    "unfold too large": (lambda: a(3).unfold(0, 4, 1), RuntimeError, ("unfold", "4", "3")),
    "as_strided out of storage": (lambda: a(3).as_strided((4,), (1,)), RuntimeError, ("as_strided",)),
    "bool minus bool": (lambda: (a(2) > 0) - (a(2) > 0), RuntimeError, ("bool",)),
    "negative of bool": (lambda: -(a(2) > 0), RuntimeError, ("bool",)),
    "mean of integers": (lambda: cygrad.arange(3).mean(), RuntimeError, ("mean", "Long")),
    "softmax of integers": (
        lambda: cygrad.arange(3).softmax(0),
        (RuntimeError, NotImplementedError),
        ("softmax", "Long"),
    ),
    "complex comparison": (lambda: a(2, dtype=cygrad.complex64) < 1, (RuntimeError, NotImplementedError), ("Complex",)),
    "integer division by zero": (
        lambda: cygrad.tensor([1]) // cygrad.tensor([0]),
        RuntimeError,
        ("ZeroDivisionError",),
    ),
    "integer to negative power": (lambda: cygrad.tensor([2]) ** -1, RuntimeError, ("power",)),
    "integers that require grad": (
        lambda: cygrad.arange(3).requires_grad_(),
        RuntimeError,
        ("floating point", "int64"),
    ),
    "requires_grad that is no bool": (
        lambda: setattr(a(2), "requires_grad", 1),
        RuntimeError,
        ("requires_grad must be a bool", "int"),
    ),
    "requires_grad_ of no bool": (lambda: wrongly("requires_grad_", 1)(a(2)), TypeError, ("requires_grad_()", "int")),
    "add of text": (lambda: wrongly("add", a(2), "x")(cygrad), TypeError, ("add", "str")),
    "sum of list": (lambda: wrongly("sum", [1.0])(cygrad), TypeError, ("sum", "list")),
    "missing argument": (lambda: wrongly("add", a(2))(cygrad), TypeError, ("add", "other")),
    "unknown keyword": (lambda: wrongly("sum", axes=0)(a(2)), TypeError, ("sum", "axes")),
    "dim of text": (lambda: wrongly("sum", "0")(a(2)), TypeError, ("sum", "str")),
    "alpha of float for integers": (lambda: cygrad.add(cygrad.arange(2), 1, alpha=1.5), RuntimeError, ("alpha",)),
    "dropout of two": (lambda: cygrad.nn.functional.dropout(a(2), 2.0), ValueError, ("dropout", "2.0")),
    "cross_entropy of classes out of range": (
        lambda: cygrad.nn.functional.cross_entropy(a(1, 3), cygrad.tensor([3])),
        IndexError,
        ("3",),
    ),
    "einsum of letters": (lambda: cygrad.einsum("ij,jk->il", a(2, 2), a(2, 2)), RuntimeError, ("einsum", "l")),
    "root of several elements": (
        lambda: (a(3, requires_grad=True) * 2).backward(),
        RuntimeError,
        ("scalar", "cotangent"),
    ),
    "root without a graph": (lambda: a(1).sum().backward(), RuntimeError, ("does not require grad",)),
    "gradient of wrong shape": (
        lambda: (a(3, requires_grad=True) * 2).backward(a(2)),
        RuntimeError,
        ("Mismatch in shape", "2", "3"),
    ),
    "item of many": (lambda: a(3).item(), RuntimeError, ("item", "3")),
    "bool of many": (lambda: bool(a(3)), RuntimeError, ("ambiguous",)),
    "numpy of requires_grad": (lambda: a(2, requires_grad=True).numpy(), RuntimeError, ("numpy", "detach()")),
    "from_numpy of objects": (lambda: cygrad.from_numpy(np.array([None])), TypeError, ("from_numpy", "object")),
    "ragged list": (lambda: cygrad.tensor([[1.0], [1.0, 2.0]]), ValueError, ("1", "2")),
    "in-place on a leaf": (lambda: a(2, requires_grad=True).mul_(2), RuntimeError, ("leaf", "in-place")),
    "in-place on an expanded tensor": (lambda: a(1).expand(3).mul_(2), RuntimeError, ("clone",)),
    "in-place that would widen": (lambda: cygrad.arange(3).mul_(1.5), RuntimeError, ("Long", "Float")),
    "in-place that would grow": (lambda: a(1).add_(a(3)), RuntimeError, ("1", "3")),
}


@pytest.mark.parametrize("name", CASES)
def test_message_says_what_and_where(name: str) -> None:
    call, kind, words = CASES[name]
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"
    assert len(message) >= 30, f"says too little: {message}"


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_leaks_nothing_and_leaves_the_engine_usable(name: str) -> None:
    call, kind, _ = CASES[name]
    for _ in range(3):
        with pytest.raises(kind):
            call()
    gc.collect()
    before = live_objects()
    for _ in range(10):
        with pytest.raises(kind):
            call()
    gc.collect()
    assert live_objects() == before
    x = a(2, requires_grad=True)
    (x * 3).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0]


def test_refused_in_place_writes_change_nothing() -> None:
    leaf = a(2, requires_grad=True)
    ints = cygrad.arange(3)
    short = a(1)
    expanded = a(1).expand(3)
    for target, call in (
        (leaf, lambda: leaf.mul_(2)),
        (ints, lambda: ints.mul_(1.5)),
        (short, lambda: short.add_(a(3))),
        (expanded, lambda: expanded.add_(1)),
        (leaf, lambda: wrongly("add_", "x")(leaf)),
    ):
        before = (target.detach().clone().tolist(), target._version, target.shape)
        with pytest.raises((RuntimeError, TypeError)):
            call()
        assert (target.detach().clone().tolist(), target._version, target.shape) == before


HUGE_SIZES = ((2**40, 2**10), (2**62,), (2**31, 2**31), (2**63 - 1, 2))


@pytest.mark.parametrize("size", HUGE_SIZES, ids=str)
@pytest.mark.parametrize("maker", ["zeros", "empty", "ones", "rand", "eye"])
def test_huge_sizes_are_refused_quickly(maker: str, size: tuple[int, ...]) -> None:
    make: Callable[..., object] = getattr(cygrad, maker)
    with pytest.raises((RuntimeError, MemoryError), match=r"\w{4}"):
        make(*size) if maker != "eye" else make(size[0])


@pytest.mark.parametrize(
    "call", ["x + y", "x @ y.reshape(1, -1)", "x.expand(2**40, 2**20).contiguous()", "x.repeat(2**45)"]
)
def test_results_too_large_for_memory_are_refused(call: str) -> None:
    x = cygrad.ones(2**19, 1)
    y = cygrad.ones(1, 1).expand(1, 2**40)
    with pytest.raises((RuntimeError, MemoryError)):
        eval(call, {"x": x, "y": y})
    assert x[0].item() == 1.0


def test_memory_that_runs_out_in_backward() -> None:
    """Under a limit on the address space, a backward that cannot allocate raises; afterwards a smaller one works."""
    program = """
import resource
import cygrad
x = cygrad.ones(1000, 1, dtype=cygrad.float64, requires_grad=True)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
y = (x * 1).expand(1000, 20_000)
resource.setrlimit(resource.RLIMIT_AS, (used + 40 * 2**20, resource.getrlimit(resource.RLIMIT_AS)[1]))
caught = 0
try:
    (y * y).sum().backward()
except (MemoryError, RuntimeError) as error:
    caught += 1
x.grad = None
(x * 2).sum().backward()
assert x.grad.sum().item() == 2000.0
print("caught", caught)
"""
    assert run_python(program).strip() == "caught 1"
