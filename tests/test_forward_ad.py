"""Forward mode against torch: levels, dual tensors, refusals, views, writes, reverse mode, Functions, threads.

Why it exists: the tangents of single operations are compared in `ops/test_tangents.py`; here is what lies around them.
"""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
import torch.utils.checkpoint
from support import AnyTensor, assert_agrees, assert_same_refusal, outcome

import cygrad
import cygrad.utils.checkpoint
from cygrad.autograd import forward_ad, gradcheck

Program = Callable[[ModuleType], object]


def line(m: ModuleType, *numbers: float) -> AnyTensor:
    """A vector of double precision."""
    vector: AnyTensor = m.tensor(numbers, dtype=m.float64)
    return vector


def dual(m: ModuleType, *numbers: float) -> AnyTensor:
    """A dual vector of these numbers, whose tangent counts from 1."""
    tangent = m.arange(1, len(numbers) + 1, dtype=m.float64)
    made: AnyTensor = m.autograd.forward_ad.make_dual(line(m, *numbers), tangent)
    return made


def tangent(m: ModuleType, tensor: object) -> object:
    """The tangent, or None."""
    return m.autograd.forward_ad.unpack_dual(tensor).tangent


def in_level(program: Program) -> Program:
    """The program, run in a dual level."""

    def run(m: ModuleType) -> object:
        with m.autograd.forward_ad.dual_level():
            return program(m)

    return run


# ---- levels and dual tensors ----------------------------------------------------------------------------------------


def test_a_level_has_a_number_and_ends() -> None:
    def program(m: ModuleType) -> object:
        f = m.autograd.forward_ad
        found: list[object] = []
        with f.dual_level() as level:
            x = dual(m, 1.0, 2.0)
            found += [level, tangent(m, x)]
        found.append(tangent(m, x))
        found.append(f.enter_dual_level())
        found.append(tangent(m, x))
        found.append(tangent(m, f.make_dual(x, line(m, 5.0, 6.0))))
        f.exit_dual_level(level=0)
        return found

    assert_agrees(program)


def test_dual_level_decorates_functions() -> None:
    def program(m: ModuleType) -> object:
        @m.autograd.forward_ad.dual_level()
        def derivative(x: float) -> object:
            return tangent(m, dual(m, x).sin())

        return [derivative(0.5), derivative(1.0)]

    assert_agrees(program)


def test_a_dual_is_a_view_and_unpacks() -> None:
    def program(m: ModuleType) -> object:
        x, v = line(m, 1.0, 2.0), line(m, 3.0, 4.0)
        made = m.autograd.forward_ad.make_dual(x, v)
        primal, found = m.autograd.forward_ad.unpack_dual(made)
        same = [made.data_ptr() == x.data_ptr(), primal is made, found is v, made.is_leaf, made.requires_grad]
        return [*same, primal, tangent(m, primal), tangent(m, primal * 2), tangent(m, primal[0])]

    assert_agrees(in_level(program))


def test_the_tangent_lies_in_memory_as_the_primal_does() -> None:
    def program(m: ModuleType) -> object:
        x = m.ones(2, 3, dtype=m.float64).t()
        made = m.autograd.forward_ad.make_dual(x, m.arange(6, dtype=m.float64).reshape(3, 2))
        found = tangent(m, made)
        flat = tangent(m, made.t().reshape(-1))
        return [found, found.stride(), flat]

    assert_agrees(in_level(program))


PLACES: dict[str, Callable[[ModuleType], cygrad.Tensor]] = {
    "whole": lambda m: m.arange(4, dtype=m.float64),
    "the first of five": lambda m: m.arange(5, dtype=m.float64)[:4],
    "the first of ten": lambda m: m.arange(10, dtype=m.float64)[:4],
    "the last of five": lambda m: m.arange(5, dtype=m.float64)[1:],
    "every second": lambda m: m.arange(8, dtype=m.float64)[::2],
}


@pytest.mark.parametrize("primal", PLACES)
@pytest.mark.parametrize("tangent_place", PLACES)
def test_any_view_of_a_dual_is_the_same_view_of_its_tangent(primal: str, tangent_place: str) -> None:
    """Of memory outside of the primal itself, too, where the tangent is zero."""

    def program(m: ModuleType) -> object:
        given = PLACES[tangent_place](m)
        x = m.autograd.forward_ad.make_dual(PLACES[primal](m), given)
        found = tangent(m, x)
        whole = outcome(lambda: tangent(m, x.as_strided((5,), (1,), 0)))
        return [found, found.stride(), found.storage_offset(), found.data_ptr() == given.data_ptr(), whole.value]

    assert_agrees(in_level(program))


def test_unpack_dual_of_a_level_that_is_not_open() -> None:
    assert_agrees(lambda m: list(m.autograd.forward_ad.unpack_dual(line(m, 1.0), level=0)))


def test_a_function_that_writes_its_input_where_nothing_is_recorded_keeps_the_tangent() -> None:
    """torch drops it, although the input keeps its own."""
    x = cygrad.ones(2, requires_grad=True)
    with forward_ad.dual_level(), cygrad.no_grad():
        made = forward_ad.make_dual(x, cygrad.ones(2))
        function = _function(cygrad, _dirty, lambda ctx, xt, yt: xt.mul_(2))
        result = function.apply(made, cygrad.full((2,), 3.0))  # type: ignore[attr-defined]
        assert result is not made and not result.requires_grad
        for t in (result, made):
            found = forward_ad.unpack_dual(t).tangent
            assert found is not None and found.tolist() == [2.0, 2.0]


def test_exit_frees_tangents() -> None:
    v = cygrad.ones(3)
    seen = weakref.ref(v)
    with forward_ad.dual_level():
        x = forward_ad.make_dual(cygrad.ones(3), v)
        del v
        assert seen() is not None
    assert seen() is None
    assert x.shape == (3,)


def test_a_level_that_ends_in_a_jvp_leaves_no_tangent_behind() -> None:
    class Leaving(cygrad.autograd.Function):
        @staticmethod
        def forward(ctx: cygrad.autograd.function.FunctionCtx, x: cygrad.Tensor) -> cygrad.Tensor:
            return x * 2

        @staticmethod
        def jvp(ctx: cygrad.autograd.function.FunctionCtx, xt: cygrad.Tensor) -> cygrad.Tensor:
            forward_ad.exit_dual_level()
            return xt * 2

    forward_ad.enter_dual_level()
    y = Leaving.apply(forward_ad.make_dual(cygrad.ones(3), cygrad.ones(3)))
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(y).tangent is None


def test_tangents_die_with_their_tensors() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(cygrad.ones(3), cygrad.ones(3))
        y = x.exp()
        unpacked = forward_ad.unpack_dual(y).tangent
        assert unpacked is not None
        seen = weakref.ref(unpacked)
        del y, unpacked
        gc.collect()
        assert seen() is None


REFUSED: dict[str, Program] = {
    "make_dual without a level": lambda m: m.autograd.forward_ad.make_dual(line(m, 1.0), line(m, 1.0)),
    "exit without a level": lambda m: m.autograd.forward_ad.exit_dual_level(),
    "two levels": in_level(lambda m: m.autograd.forward_ad.enter_dual_level()),
    "exit of another level": in_level(lambda m: m.autograd.forward_ad.exit_dual_level(level=1)),
    "an integer primal": in_level(lambda m: m.autograd.forward_ad.make_dual(m.tensor([1, 2]), line(m, 1.0, 2.0))),
    "an integer tangent": in_level(lambda m: m.autograd.forward_ad.make_dual(line(m, 1.0, 2.0), m.tensor([1, 2]))),
    "another length": in_level(lambda m: m.autograd.forward_ad.make_dual(line(m, 1.0), line(m, 1.0, 2.0))),
    "another shape": in_level(lambda m: m.autograd.forward_ad.make_dual(line(m, 1.0, 2.0), m.ones(2, 1))),
    "an expanded primal": in_level(
        lambda m: m.autograd.forward_ad.make_dual(m.ones(1).expand(3), m.arange(3, dtype=m.float32))
    ),
    "a dual of a dual": in_level(lambda m: m.autograd.forward_ad.make_dual(dual(m, 1.0), line(m, 1.0))),
    "a dual tangent": in_level(lambda m: m.autograd.forward_ad.make_dual(line(m, 1.0), dual(m, 1.0))),
    "a number for a primal": in_level(lambda m: m.autograd.forward_ad.make_dual(1.0, line(m, 1.0))),
    "unpack_dual of a number": in_level(lambda m: m.autograd.forward_ad.unpack_dual(1.0)),
    "make_dual of another level": in_level(
        lambda m: m.autograd.forward_ad.make_dual(line(m, 1.0), line(m, 1.0), level=3)
    ),
    "unpack_dual of another level": in_level(lambda m: m.autograd.forward_ad.unpack_dual(dual(m, 1.0), level=3)),
    "an out= argument": in_level(lambda m: m.add(dual(m, 1.0), 1.0, out=line(m, 0.0))),
    "a dual out=": in_level(lambda m: m.add(line(m, 1.0), 1.0, out=dual(m, 0.0))),
    "no derivative": in_level(lambda m: dual(m, 1.0, 2.0) // 2),
    "no derivative, in place": in_level(lambda m: dual(m, 1.0, 2.0).floor_divide_(2)),
    "resize_": in_level(lambda m: dual(m, 1.0, 2.0).resize_(1)),
    "detach_ of a view": in_level(lambda m: dual(m, 1.0).detach_()),
}


@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED)
def test_refusals(program: Program) -> None:
    assert_same_refusal(program)


def test_a_refused_level_leaves_the_open_one_usable() -> None:
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            forward_ad.enter_dual_level()
        made = forward_ad.make_dual(cygrad.ones(1), cygrad.ones(1))
        assert forward_ad.unpack_dual(made * 3).tangent is not None


# ---- what has a tangent ---------------------------------------------------------------------------------------------

KEPT: dict[str, Program] = {
    "no_grad": lambda m: _without(m, m.no_grad()),
    "inference_mode": lambda m: _without(m, m.inference_mode()),
    "forward mode off": lambda m: _without(m, m.autograd.forward_ad._set_fwd_grad_enabled(False)),
    "make_dual in inference_mode": lambda m: _made_in_inference(m),
    "detach": lambda m: tangent(m, dual(m, 1.0).detach()),
    "data": lambda m: tangent(m, dual(m, 1.0).data),
    "clone": lambda m: tangent(m, dual(m, 1.0).clone()),
    "deepcopy": lambda m: tangent(m, copy.deepcopy(dual(m, 1.0))),
    "detach_": lambda m: tangent(m, dual(m, 1.0).clone().detach_()),
    "requires_grad_": lambda m: tangent(m, dual(m, 1.0).requires_grad_()),
    "comparison": lambda m: tangent(m, dual(m, 1.0) > 0),
    "argmax": lambda m: tangent(m, dual(m, 1.0, 2.0).argmax()),
    "integers": lambda m: tangent(m, dual(m, 1.0).to(m.int64)),
    "single precision": lambda m: tangent(m, dual(m, 1.0).float()),
    "complex numbers": lambda m: tangent(m, dual(m, 1.0).to(m.complex128)),
    "zeros_like": lambda m: tangent(m, m.zeros_like(dual(m, 1.0))),
    "sign": lambda m: tangent(m, dual(m, 1.0).sign()),
    "contiguous itself": lambda m: tangent(m, dual(m, 1.0).contiguous()),
    "where": lambda m: tangent(m, m.where(line(m, 1.0, -1.0) > 0, dual(m, 1.0, 2.0), 0.0)),
    "data set": lambda m: _data_set(m),
    "several results": lambda m: [tangent(m, part) for part in dual(m, 3.0, 1.0, 2.0).sort()],
    "parts": lambda m: [tangent(m, part) for part in dual(m, 3.0, 1.0, 2.0).split(2)],
    "numbers": lambda m: [dual(m, 2.0).item(), dual(m, 2.0, 3.0).tolist()],
    "printed": lambda m: repr(dual(m, 2.0, 3.0)).replace("torch", "").replace("cygrad", ""),
}


def _without(m: ModuleType, mode: object) -> object:
    x = dual(m, 1.0, 2.0)
    with mode:  # type: ignore[attr-defined]
        y = x * 2
        found = [m.autograd.forward_ad._is_fwd_grad_enabled(), tangent(m, x), tangent(m, y)]
    return [*found, tangent(m, y), tangent(m, x)]


def _made_in_inference(m: ModuleType) -> object:
    with m.inference_mode():
        x = m.autograd.forward_ad.make_dual(m.ones(2), m.ones(2))
        return tangent(m, x)


def _data_set(m: ModuleType) -> object:
    x = dual(m, 1.0, 2.0)
    x.data = line(m, 5.0, 6.0)
    return [tangent(m, x), tangent(m, x * x)]


@pytest.mark.parametrize("program", KEPT.values(), ids=KEPT)
def test_what_has_a_tangent(program: Program) -> None:
    assert_agrees(in_level(program))


def test_a_result_does_not_share_the_tangent_of_its_input() -> None:
    def program(m: ModuleType) -> object:
        x = dual(m, 1.0, 2.0)
        y = x + 1
        y.mul_(10)
        return [tangent(m, x), tangent(m, y)]

    assert_agrees(in_level(program))


# ---- views and writes -----------------------------------------------------------------------------------------------


def _base_and_view(m: ModuleType) -> tuple[AnyTensor, AnyTensor]:
    base = m.zeros(2, 3, dtype=m.float64)
    return base, base[0]


def _write(write: Callable[[ModuleType, AnyTensor], object]) -> Program:
    """The tangents of a tensor and of two of its views after a write, with and without a tangent before."""

    def program(m: ModuleType) -> object:
        found = []
        for begun in (False, True):
            base = m.arange(6, dtype=m.float64).reshape(2, 3) * 0.5 + 0.5
            early = base[0]
            if begun:
                base.mul_(m.autograd.forward_ad.make_dual(m.ones((), dtype=m.float64), m.ones((), dtype=m.float64)))
            write(m, base)
            found += [base.detach(), tangent(m, base), tangent(m, early), tangent(m, base.t()[1])]
        return found

    return program


WRITES: dict[str, Program] = {
    "copy_ into a view": _write(lambda m, x: x[0].copy_(dual(m, 1.0, 2.0, 3.0))),
    "copy_ into the base": _write(lambda m, x: x.copy_(dual(m, 1.0, 2.0, 3.0))),
    "copy_ without a tangent": _write(lambda m, x: x.copy_(line(m, 1.0, 2.0, 3.0))),
    "setitem": _write(lambda m, x: x.__setitem__((0, slice(1, 3)), dual(m, 1.0, 2.0))),
    "setitem of a number": _write(lambda m, x: x.__setitem__((slice(None), 1), 3.0)),
    "setitem of one element": _write(lambda m, x: x.__setitem__((1, 1), dual(m, 4.0)[0])),
    "setitem by a mask": _write(lambda m, x: x.__setitem__(x > 1.2, dual(m, 4.0)[0])),
    "setitem by indices": _write(lambda m, x: x.__setitem__((m.tensor([1, 0]), m.tensor([2, 0])), dual(m, 4.0, 5.0))),
    "index_put_": _write(lambda m, x: x.index_put_((m.tensor([1, 1]),), dual(m, 4.0, 5.0, 6.0), accumulate=True)),
    "fill_": _write(lambda m, x: x.fill_(2.0)),
    "fill_ with a dual": _write(lambda m, x: x[1].fill_(dual(m, 2.0)[0])),
    "zero_": _write(lambda m, x: x[:, 1].zero_()),
    "mul_": _write(lambda m, x: x.mul_(dual(m, 1.0, 2.0, 3.0))),
    "mul_ of a view": _write(lambda m, x: x[:, 1:].mul_(dual(m, 1.0, 2.0))),
    "div_": _write(lambda m, x: x.div_(dual(m, 1.0, 2.0, 3.0))),
    "add_ with alpha": _write(lambda m, x: x.add_(dual(m, 1.0, 2.0, 3.0), alpha=2)),
    "exp_": _write(lambda m, x: x.exp_()),
    "sin_ of a view": _write(lambda m, x: x[1].sin_()),
    "pow_": _write(lambda m, x: x.pow_(2)),
    "sqrt_": _write(lambda m, x: x.sqrt_()),
    "clamp_": _write(lambda m, x: x.clamp_(min=1.2)),
    "masked_fill_": _write(lambda m, x: x.masked_fill_(x > 1.2, 0.0)),
    "addcmul_": _write(lambda m, x: x.addcmul_(dual(m, 1.0, 2.0, 3.0), dual(m, 4.0, 5.0, 6.0), value=2)),
    "addmm_": _write(lambda m, x: x.addmm_(m.ones(2, 3, dtype=m.float64), dual(m, 4.0, 5.0, 6.0).expand(3, 3))),
    "index_add_": _write(lambda m, x: x.index_add_(1, m.tensor([0, 2]), dual(m, 4.0, 5.0).expand(2, 2))),
    "scatter_": _write(lambda m, x: x.scatter_(1, m.tensor([[0], [2]]), dual(m, 4.0, 5.0).reshape(2, 1))),
    "tril_": _write(lambda m, x: x.tril_()),
    "lt_": _write(lambda m, x: x.lt_(1.2)),
    "floor_": _write(lambda m, x: x.floor_()),
    "diagonal": _write(lambda m, x: x.diagonal().copy_(dual(m, 4.0, 5.0))),
    "as_strided": _write(lambda m, x: x.as_strided((2, 2), (3, 1), 1).mul_(dual(m, 4.0, 5.0))),
    "view of a view": _write(lambda m, x: x.t()[1:].view(2, 2)[0].add_(dual(m, 4.0, 5.0))),
}


@pytest.mark.parametrize("program", WRITES.values(), ids=WRITES)
def test_writes(program: Program) -> None:
    assert_agrees(in_level(program))


@pytest.mark.parametrize("write", ["copy_", "fill_", "setitem"])
def test_a_write_does_not_share_the_tangent_of_its_source(write: str) -> None:
    def program(m: ModuleType) -> object:
        x, y = dual(m, 3.0)[0].clone(), m.zeros((), dtype=m.float64)
        if write == "setitem":
            y[...] = x
        else:
            getattr(y, write)(x)
        y.mul_(10)
        return [tangent(m, x), tangent(m, y)]

    assert_agrees(in_level(program))


def test_a_write_that_reads_what_it_writes() -> None:
    """Where torch takes the new value for the old one: the tangents of the pure program."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(cygrad.tensor([1.0, 2.0]), cygrad.tensor([1.0, 3.0])).clone()
        x.mul_(x)
        found = forward_ad.unpack_dual(x).tangent
        assert found is not None and found.tolist() == [2.0, 12.0]


def test_a_write_without_derivative_has_a_zero_tangent() -> None:
    """Where torch leaves the tangent of the old value."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(cygrad.tensor([1.0, 0.0]), cygrad.ones(2)).clone()
        x.logical_not_()
        found = forward_ad.unpack_dual(x).tangent
        assert found is not None and found.tolist() == [0.0, 0.0] and x.tolist() == [0.0, 1.0]


def test_as_strided_scatter() -> None:
    """torch gives the replaced elements a derivative, so that finite differences are the only judge."""
    x = cygrad.arange(6.0, dtype=cygrad.float64).requires_grad_()
    src = cygrad.ones(2, 2, dtype=cygrad.float64, requires_grad=True)
    assert gradcheck(lambda x, src: cygrad.as_strided_scatter(x, src, (2, 2), (3, 1)), (x, src), check_forward_ad=True)


SHAPES: dict[str, Callable[[AnyTensor], object]] = {
    "t_": lambda x: x.t_(),  # type: ignore[attr-defined]
    "transpose_": lambda x: x.transpose_(0, 1),  # type: ignore[attr-defined]
    "unsqueeze_": lambda x: x.unsqueeze_(1),  # type: ignore[attr-defined]
    "squeeze_": lambda x: x.squeeze_(),  # type: ignore[attr-defined]
    "as_strided_": lambda x: x.as_strided_((3,), (1,), 1),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("change", SHAPES.values(), ids=SHAPES)
def test_changes_of_shape_in_place(change: Callable[[AnyTensor], object]) -> None:
    def program(m: ModuleType) -> object:
        x = dual(m, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0).clone().reshape(2, 3).clone()
        change(x)
        return [x.detach(), tangent(m, x), tangent(m, x * x)]

    assert_agrees(in_level(program))


@pytest.mark.parametrize("write", ["fill_", "zero_", "masked_fill_"])
def test_writes_to_expanded_memory(write: str) -> None:
    """Where every place is written with the same number, memory may show it many times."""

    def program(m: ModuleType) -> object:
        x = dual(m, 1.0, 2.0).clone()
        wide = x.unsqueeze(1).expand(2, 3)
        if write == "masked_fill_":
            wide.masked_fill_(wide > 1.5, 4.0)
        else:
            getattr(wide, write)(*([4.0] if write == "fill_" else []))
        return [x.detach(), tangent(m, x), tangent(m, wide)]

    assert_agrees(in_level(program))


def test_random_fills_have_a_zero_tangent() -> None:
    def program(m: ModuleType) -> object:
        found = []
        for fill in ("uniform_", "normal_", "bernoulli_", "exponential_"):
            x = dual(m, 1.0, 2.0).clone()
            getattr(x, fill)()
            found.append(tangent(m, x))
        return found

    assert_agrees(in_level(program))


def test_views_of_another_dtype_follow() -> None:
    def program(m: ModuleType) -> object:
        z = m.ones(3, dtype=m.complex128)
        m.view_as_real(z)[0] = dual(m, 1.0, 2.0)
        x = m.ones(3, 2, dtype=m.float64)
        m.view_as_complex(x)[1] = m.complex(dual(m, 1.0)[0], dual(m, 2.0)[0])
        return [tangent(m, z), tangent(m, z.real), tangent(m, x), tangent(m, x[1])]

    assert_agrees(in_level(program))


def test_writes_under_no_grad_carry_tangents() -> None:
    def program(m: ModuleType) -> object:
        base, view = _base_and_view(m)
        with m.no_grad():
            view.copy_(dual(m, 1.0, 2.0, 3.0))
        return [tangent(m, base), tangent(m, view), tangent(m, base.detach())]

    assert_agrees(in_level(program))


# ---- together with reverse mode -------------------------------------------------------------------------------------


def test_reverse_over_forward() -> None:
    def program(m: ModuleType) -> object:
        x, v = line(m, 0.5, 1.5).requires_grad_(), line(m, 1.0, 2.0).requires_grad_()
        y = (m.autograd.forward_ad.make_dual(x, v).sin() ** 2).prod()
        slope = tangent(m, y)
        return [slope.detach(), *m.autograd.grad(slope, (x, v), create_graph=True)]

    assert_agrees(in_level(program))


@pytest.mark.parametrize("create_graph", [False, True])
def test_forward_over_reverse(create_graph: bool) -> None:
    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5).requires_grad_()
        y = (m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0)).sin() ** 2).prod()
        (grad,) = m.autograd.grad(y, x, create_graph=create_graph)
        return [grad.detach(), grad.requires_grad, tangent(m, grad)]

    assert_agrees(in_level(program))


def test_a_cotangent_with_a_tangent() -> None:
    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5).requires_grad_()
        (grad,) = m.autograd.grad(x.exp(), x, dual(m, 1.0, 1.0))
        return [grad, tangent(m, grad)]

    assert_agrees(in_level(program))


def test_accumulated_gradients_have_no_tangent_without_a_graph() -> None:
    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5).requires_grad_()
        m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0)).exp().sum().backward()
        return [x.grad, tangent(m, x.grad)]

    assert_agrees(in_level(program))


def test_saved_tensors_lose_tangents_at_the_end_of_the_level() -> None:
    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5).requires_grad_()
        with m.autograd.forward_ad.dual_level():
            y = m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0)).exp().sum()
        with m.autograd.forward_ad.dual_level():
            (grad,) = m.autograd.grad(y, x)
            return [grad, tangent(m, grad)]

    assert_agrees(program)


def test_tangents_pass_saved_tensor_hooks() -> None:
    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5).requires_grad_()
        with m.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
            y = (m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0)) ** 3).sum()
        (grad,) = m.autograd.grad(y, x)
        return [grad, tangent(m, grad)]

    assert_agrees(in_level(program))


def test_forward_over_reverse_through_writes_and_views() -> None:
    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5, 2.5).requires_grad_()
        y = m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0, 3.0)).clone()
        y[1:].mul_(y[:2].clone())
        y[0] = y[2].clone() * y[1].clone()
        (grad,) = m.autograd.grad((y * y).sum(), x)
        return [grad, tangent(m, grad), tangent(m, y)]

    assert_agrees(in_level(program))


def test_forward_over_reverse_through_assignment_by_indices() -> None:
    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5, 2.5).requires_grad_()
        y = m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0, 3.0)).clone()
        y[m.tensor([2, 0])] = y[m.tensor([1, 1])] ** 2
        y.index_put_((m.tensor([1]),), m.ones(1, dtype=m.float64), accumulate=True)
        (grad,) = m.autograd.grad((y * y * y).sum(), x)
        return [grad, tangent(m, grad), tangent(m, y)]

    assert_agrees(in_level(program))


def test_hessian_vector_product_of_a_network() -> None:
    def program(m: ModuleType) -> object:
        w = (m.arange(6, dtype=m.float64).reshape(3, 2) * 0.1).requires_grad_()
        b = line(m, 0.1, 0.2, 0.3).requires_grad_()
        duals = [m.autograd.forward_ad.make_dual(p, m.ones_like(p)) for p in (w, b)]
        out = m.nn.functional.linear(line(m, 0.3, -0.7), *duals).tanh().square().mean()
        grads = m.autograd.grad(out, (w, b))
        return [tangent(m, out.detach()), *[tangent(m, g) for g in grads]]

    assert_agrees(in_level(program))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints(reentrant: bool) -> None:
    """Tangents pass a checkpoint without re-entrance, in both modes; the other kind is a Function without jvp."""

    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5).requires_grad_()
        y = m.utils.checkpoint.checkpoint(
            lambda a: (a.sin() * a).exp(),
            m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0)),
            use_reentrant=reentrant,
        )
        (grad,) = m.autograd.grad(y.sum(), x)
        return [tangent(m, y), grad, tangent(m, grad)]

    if reentrant:
        assert_same_refusal(in_level(program))
    else:
        assert_agrees(in_level(program))


def test_hooks_see_tangents() -> None:
    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5).requires_grad_()
        y = m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0)).sin()
        seen: list[object] = []
        y.register_hook(lambda grad: seen.append(tangent(m, grad)))
        y.retain_grad()
        (y * y).sum().backward()
        return [*seen, x.grad, tangent(m, y.grad), tangent(m, x.grad)]

    assert_agrees(in_level(program))


def test_batches_of_cotangents_and_anomaly_mode() -> None:
    def program(m: ModuleType) -> object:
        x = line(m, 0.5, 1.5).requires_grad_()
        y = m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0)) ** 3
        eye = m.eye(2, dtype=m.float64)
        (rows,) = m.autograd.grad(y, x, eye, retain_graph=True, is_grads_batched=True)
        with m.autograd.detect_anomaly():
            (grad,) = m.autograd.grad(y.sum(), x)
        return [tangent(m, rows), tangent(m, grad)]

    assert_agrees(in_level(program))


# ---- threads --------------------------------------------------------------------------------------------------------


def test_the_level_is_one_for_all_threads() -> None:
    def program(m: ModuleType) -> object:
        x = dual(m, 1.0, 2.0)
        found: list[object] = []

        def work() -> None:
            found.append(tangent(m, x * x))
            found.append(m.autograd.forward_ad._is_fwd_grad_enabled())

        with m.autograd.forward_ad._set_fwd_grad_enabled(False):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        return found

    assert_agrees(in_level(program))


def test_many_threads_compute_tangents_at_once() -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        for _ in range(200):
            x = forward_ad.make_dual(cygrad.full((3,), float(number)), cygrad.ones(3))
            found = forward_ad.unpack_dual((x * x).sum()).tangent
            if found is None or found.item() != 6.0 * number:
                wrong.append(found)

    with forward_ad.dual_level():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


# ---- custom Functions -----------------------------------------------------------------------------------------------


def _function(m: ModuleType, forward: Callable[..., object], jvp: Callable[..., object]) -> object:
    """A custom Function of those static methods."""
    return type("Custom", (m.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})


def _apply(forward: Callable[..., object], jvp: Callable[..., object]) -> Program:
    """Values and tangents of a Function of a dual and a plain vector."""

    def program(m: ModuleType) -> object:
        function = _function(m, forward, jvp)
        results = function.apply(dual(m, 1.0, 2.0).clone(), line(m, 3.0, 4.0))  # type: ignore[attr-defined]
        results = results if isinstance(results, tuple) else (results,)
        return [[r, tangent(m, r)] if hasattr(r, "dtype") else r for r in results]

    return program


def _bare(m: ModuleType) -> object:
    return type("Bare", (m.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})


def _saving(ctx: object, x: AnyTensor, y: AnyTensor) -> object:
    ctx.save_for_forward(x, y)  # type: ignore[attr-defined]
    return x * y


def _product(ctx: object, xt: AnyTensor, yt: AnyTensor) -> object:
    x, y = ctx.saved_tensors  # type: ignore[attr-defined]
    return xt * y + x * yt


def _dirty(ctx: object, x: AnyTensor, y: AnyTensor) -> object:
    ctx.mark_dirty(x)  # type: ignore[attr-defined]
    return x.mul_(y)  # type: ignore[attr-defined]


def _dirty_second(ctx: object, x: AnyTensor, y: AnyTensor) -> object:
    ctx.mark_dirty(y)  # type: ignore[attr-defined]
    return y.mul_(2)  # type: ignore[attr-defined]


def _unmaterialized(ctx: object, x: AnyTensor, y: AnyTensor) -> object:
    ctx.set_materialize_grads(False)  # type: ignore[attr-defined]
    return x * 2


def _with_mask(ctx: object, x: AnyTensor, y: AnyTensor) -> object:
    positive = x > y
    ctx.mark_non_differentiable(positive)  # type: ignore[attr-defined]
    return x * 2, positive, "text"


FUNCTIONS: dict[str, Program] = {
    "saved tensors": _apply(_saving, _product),
    "two results": _apply(lambda ctx, x, y: (x * 2, y * 3), lambda ctx, xt, yt: (xt * 2, yt * 3)),
    "tuple of one": _apply(lambda ctx, x, y: x * 2, lambda ctx, xt, yt: (xt * 2,)),
    "absent tangents are zeros": _apply(lambda ctx, x, y: x + y, lambda ctx, xt, yt: yt + 1),
    "absent tangents are None": _apply(_unmaterialized, lambda ctx, xt, yt: xt * 2 if yt is None else xt),
    "a view": _apply(lambda ctx, x, y: x.view(2), lambda ctx, xt, yt: xt.view(2)),
    "an input as it is": _apply(lambda ctx, x, y: x, lambda ctx, xt, yt: xt.view(2)),
    "in place": _apply(_dirty, lambda ctx, xt, yt: xt.mul_(2)),
    "in place where there was no tangent": _apply(_dirty_second, lambda ctx, xt, yt: yt.add_(xt)),
    "results without derivative": _apply(_with_mask, lambda ctx, xt, yt: (xt * 2, None, None)),
    "a new tangent where there was none": _apply(_dirty_second, lambda ctx, xt, yt: yt + xt),
    "modes": _apply(lambda ctx, x, y: x * 2, lambda ctx, xt, yt: xt * float(torch.is_grad_enabled())),
}

REFUSED_FUNCTIONS: dict[str, Program] = {
    "too few": _apply(lambda ctx, x, y: (x * 2, y * 3), lambda ctx, xt, yt: xt),
    "too many": _apply(lambda ctx, x, y: x * 2, lambda ctx, xt, yt: (xt, yt)),
    "a number": _apply(lambda ctx, x, y: x * 2, lambda ctx, xt, yt: 3.0),
    "another size": _apply(lambda ctx, x, y: x * 2, lambda ctx, xt, yt: xt[:1]),
    "a tangent of a mask": _apply(_with_mask, lambda ctx, xt, yt: (xt * 2, xt, None)),
    "integers": _apply(lambda ctx, x, y: x.long(), lambda ctx, xt, yt: xt),
    "no view for a view": _apply(lambda ctx, x, y: x.view(2), lambda ctx, xt, yt: xt.clone()),
    "no view for an input": _apply(lambda ctx, x, y: x, lambda ctx, xt, yt: xt),
    "not in place": _apply(_dirty, lambda ctx, xt, yt: xt * 2),
    "in place, not written": _apply(_dirty, lambda ctx, xt, yt: xt),
    "no jvp": lambda m: _bare(m).apply(dual(m, 1.0)),  # type: ignore[attr-defined]
    "an error in jvp": _apply(lambda ctx, x, y: x * 2, lambda ctx, xt, yt: {}["missing"]),
}


@pytest.mark.parametrize("program", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(program: Program) -> None:
    assert_agrees(in_level(program))


@pytest.mark.parametrize("program", REFUSED_FUNCTIONS.values(), ids=REFUSED_FUNCTIONS)
def test_refused_functions(program: Program) -> None:
    assert_same_refusal(in_level(program))


def test_forward_mode_is_off_inside_of_forward_and_jvp() -> None:
    def program(m: ModuleType) -> object:
        seen: list[object] = []

        def look(x: object) -> None:
            f = m.autograd.forward_ad
            seen.append([f._is_fwd_grad_enabled(), m.is_grad_enabled(), tangent(m, x)])

        def forward(ctx: object, x: AnyTensor) -> object:
            look(x)
            return x * 2

        def jvp(ctx: object, xt: AnyTensor) -> object:
            look(xt)
            return xt * 2

        function = _function(m, forward, jvp)
        x = dual(m, 1.0, 2.0)
        function.apply(x)  # type: ignore[attr-defined]
        with m.no_grad():
            function.apply(x)  # type: ignore[attr-defined]
        look(x)
        return seen

    assert_agrees(in_level(program))


def test_jvp_is_not_called_without_tangents() -> None:
    def refuse(ctx: object, xt: AnyTensor) -> object:
        raise AssertionError("jvp was called")

    def program(m: ModuleType) -> object:
        function = _function(m, lambda ctx, x: x * 2, refuse)
        return function.apply(line(m, 1.0, 2.0))  # type: ignore[attr-defined]

    assert_agrees(in_level(program))


def test_setup_context_and_reverse_over_forward() -> None:
    def program(m: ModuleType) -> object:
        class Cube(m.autograd.Function):  # type: ignore[name-defined, misc]
            @staticmethod
            def forward(x: AnyTensor) -> object:
                return x**3  # type: ignore[operator]

            @staticmethod
            def setup_context(ctx: object, inputs: tuple[AnyTensor], output: AnyTensor) -> None:
                ctx.save_for_forward(inputs[0])  # type: ignore[attr-defined]
                ctx.save_for_backward(inputs[0])  # type: ignore[attr-defined]

            @staticmethod
            def backward(ctx: object, grad: AnyTensor) -> object:
                (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
                return grad * 3 * x**2

            @staticmethod
            def jvp(ctx: object, xt: AnyTensor) -> object:
                (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
                return xt * 3 * x**2

        x = line(m, 0.5, 1.5).requires_grad_()
        y = Cube.apply(m.autograd.forward_ad.make_dual(x, line(m, 1.0, 2.0)))
        slope = tangent(m, y)
        reverse_over_forward = m.autograd.grad(slope.sum(), x)
        forward_over_reverse = m.autograd.grad(y.sum(), x)
        return [y, slope, *reverse_over_forward, *[tangent(m, g) for g in forward_over_reverse]]

    assert_agrees(in_level(program))
