"""Warnings: each names the line of the user's program that it is about, whatever part of the package it comes from.

Why it exists: a warning that names a line of the package, or the caller's caller, sends its reader to the wrong place,
and Python's "once for each line" would then hide others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import torch
from support import LIBRARIES

import cygrad
import cygrad.utils.checkpoint
from cygrad.autograd import Function
from cygrad.autograd.function import FunctionCtx


def leaf() -> cygrad.Tensor:
    """A leaf that requires grad."""
    return cygrad.ones(2, requires_grad=True)


def made_dirty(ctx: FunctionCtx, x: cygrad.Tensor) -> cygrad.Tensor:
    y = x * 1
    ctx.mark_dirty(y)
    return y


def function(forward: Callable[..., object]) -> Callable[..., object]:
    """A Function of this forward, to be applied."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, g: g)}
    made: Callable[..., object] = type("Made", (Function,), methods).apply  # type: ignore[attr-defined]
    return made


def nan_in_backward() -> None:
    with cygrad.autograd.set_detect_anomaly(True):
        (cygrad.zeros(1, requires_grad=True).sqrt() * 0).sum().backward()


checkpoint = cygrad.utils.checkpoint.checkpoint
wide, bits = cygrad.ones(1).expand(3), cygrad.tensor([True, False, True])
applied = function(made_dirty)
# Each on a line of its own, which the warning must name.
# fmt: off
ON_THIS_LINE: dict[str, Callable[[], object]] = {
    ".grad of a result": lambda: (leaf() * 2).grad,
    "backward with create_graph": lambda: (leaf() * 2).sum().backward(create_graph=True),
    "autograd.backward with create_graph": lambda: cygrad.autograd.backward((leaf() * 2).sum(), create_graph=True),
    "grad_variables": lambda: cygrad.autograd.backward(leaf() * 2, grad_variables=cygrad.ones(2)),
    "float": lambda: float(leaf()[0]),
    "complex": lambda: complex(leaf()[0]),
    "tensor of a tensor": lambda: cygrad.tensor(cygrad.ones(2)),
    "new_tensor of a tensor": lambda: leaf().new_tensor(cygrad.ones(2)),
    "complex to real": lambda: cygrad.ones(2, dtype=cygrad.complex64).float(),
    "write to expanded memory": lambda: wide.masked_fill_(bits, 2.0),
    "result of another size": lambda: cygrad.add(cygrad.ones(2), 1, out=cygrad.ones(3)),
    "uint8 index": lambda: cygrad.ones(2)[cygrad.tensor([0, 1], dtype=cygrad.uint8)],
    "range": lambda: cygrad.range(1, 3),
    "mark_dirty": lambda: applied(leaf() * 1),
    "an instance of Function": lambda: Function(),
    "detect_anomaly": lambda: cygrad.autograd.detect_anomaly(),
    "a class under no_grad": lambda: cygrad.no_grad()(ModuleType),
    "checkpoint": lambda: checkpoint(cygrad.exp, leaf()),
    "checkpoint without gradients": lambda: checkpoint(cygrad.exp, cygrad.ones(2), use_reentrant=True),
    "checkpoint_sequential": lambda: cygrad.utils.checkpoint.checkpoint_sequential([cygrad.exp], 1, leaf()),
}
# fmt: on


@pytest.mark.parametrize("name", ON_THIS_LINE)
def test_the_warning_names_the_users_line(name: str) -> None:
    call = ON_THIS_LINE[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, call.__code__.co_firstlineno)]


def test_a_warning_of_a_backward_names_the_line_that_called_it() -> None:
    with warnings.catch_warnings(record=True) as caught, pytest.raises(RuntimeError, match="nan values"):
        warnings.simplefilter("always")
        nan_in_backward()
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, nan_in_backward.__code__.co_firstlineno + 2)]


@pytest.mark.parametrize("m", LIBRARIES)
def test_numbers_of_a_tensor_that_requires_grad(m: ModuleType) -> None:
    """`float` and `complex` warn, and nothing else does: item() says what is meant."""
    x = m.ones((), requires_grad=True)
    for convert in (float, complex):
        with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
            convert(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (int(x), bool(x), x.item(), f"{x:.1f}") == (1, True, 1.0, "1.0")
        with m.no_grad():
            assert float(x) == 1.0
        assert float(x.detach()) == 1.0


@pytest.fixture(autouse=True)
def _warn_always() -> Iterator[None]:
    """torch warns once a process; here it shall do so each time."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)
