"""A downstream user of forward mode, for type checkers alone."""

from typing import assert_type

import cygrad
from cygrad import Tensor
from cygrad.autograd import Function, forward_ad
from cygrad.autograd.forward_ad import UnpackedDualTensor
from cygrad.autograd.function import FunctionCtx


def products(x: Tensor, v: Tensor) -> Tensor:
    with forward_ad.dual_level() as level:
        assert_type(level, int)
        dual = forward_ad.make_dual(x, v, level=level)
        assert_type(dual, Tensor)
        unpacked = forward_ad.unpack_dual(dual.exp())
        assert_type(unpacked, UnpackedDualTensor)
        assert_type(unpacked.primal, Tensor)
        assert_type(unpacked.tangent, Tensor | None)
        primal, tangent = unpacked
        return primal if tangent is None else tangent


@forward_ad.dual_level()
def derivative(x: float, order: int = 1) -> float:
    """Keeps its signature."""
    tangent = forward_ad.unpack_dual(forward_ad.make_dual(cygrad.tensor(x), cygrad.ones(())) ** order).tangent
    assert tangent is not None
    return float(tangent)


def levels() -> None:
    assert_type(forward_ad.enter_dual_level(), int)
    forward_ad.exit_dual_level(level=0)
    assert_type(derivative(1.0, order=2), float)
    derivative("1.0")  # type: ignore[arg-type]
    forward_ad.make_dual(cygrad.ones(1), 1.0)  # type: ignore[arg-type]


class Square(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def jvp(ctx: FunctionCtx, tangent: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        assert x is not None
        return 2 * x * tangent


def functions(x: Tensor) -> None:
    assert_type(Square.apply(x), Tensor)
