"""`gradcheck` and `gradgradcheck` themselves: what they accept, what they notice, and every option.

Why it exists: all formulas of the library are believed on the word of these two; a check that passes everything would
be worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import cygrad
from cygrad import Tensor
from cygrad.autograd import Function, gradcheck, gradgradcheck
from cygrad.autograd.function import FunctionCtx
from cygrad.autograd.gradcheck import GradcheckError


def leaf(*values: complex, dtype: cygrad.dtype | None = None) -> Tensor:
    """A leaf in double precision, or the dtype given."""
    usual = cygrad.complex128 if any(isinstance(value, complex) for value in values) else cygrad.float64
    return cygrad.tensor(list(values), dtype=dtype or usual, requires_grad=True)


def half_seen(x: Tensor) -> Tensor:
    """The square of x, of which the graph sees one factor."""
    return x * x.detach()


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_gradients_pass(fast_mode: bool) -> None:
    x, y = leaf(0.5, -1.5), leaf(2.0)
    assert gradcheck(lambda x, y: (x.sin() * y, (x * y).sum()), (x, y), fast_mode=fast_mode)
    assert gradgradcheck(lambda x, y: (x.sin() * y, (x * y).sum()), (x, y), fast_mode=fast_mode)
    assert x.grad is None and x.tolist() == [0.5, -1.5]


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_gradients_are_noticed(fast_mode: bool) -> None:
    x = leaf(0.5, -1.5)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(half_seen, x, fast_mode=fast_mode)
    assert gradcheck(half_seen, x, fast_mode=fast_mode, raise_exception=False) is False
    assert x.tolist() == [0.5, -1.5]


def test_wrong_second_derivatives_are_noticed() -> None:
    def right_once(x: Tensor) -> Tensor:
        """x^2 + constant: first derivative 2x, which the graph sees as if x were fixed."""
        return 2 * x * x.detach() + (x.detach() * x.detach() - 2 * x.detach() * x.detach())

    x = leaf(0.5, -1.5)
    (slope,) = cygrad.autograd.grad(right_once(x).sum(), x)
    assert slope.tolist() == [1.0, -3.0]
    assert gradgradcheck(right_once, x, raise_exception=False) is False


def test_the_wrong_input_and_output_are_named() -> None:
    with pytest.raises(GradcheckError, match="output 1 with respect to input 2"):
        gradcheck(lambda a, b, c: (a * b, a * half_seen(c)), (leaf(1.0), leaf(2.0), leaf(3.0)))


class Scaled(Function):
    """Multiplication by a complex constant; the backward by default forgets to conjugate it."""

    @staticmethod
    def forward(ctx: FunctionCtx, z: Tensor, factor: complex, in_backward: complex) -> Tensor:
        ctx.in_backward = in_backward
        return z * factor

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor, None, None]:
        pulled: Tensor = grads[0] * ctx.in_backward
        return pulled, None, None

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents: Tensor) -> Tensor:
        pushed: Tensor = tangents[0] * complex(ctx.in_backward).conjugate()
        return pushed


@pytest.mark.parametrize("fast_mode", [False, True])
def test_complex_functions(fast_mode: bool) -> None:
    z = leaf(1 + 2j, -0.5 + 0.25j)
    for forward in (False, True):
        assert gradcheck(lambda z: z * z.conj() * z.exp(), z, fast_mode=fast_mode, check_forward_ad=forward)
        assert gradcheck(lambda z: z.abs(), z, fast_mode=fast_mode, check_forward_ad=forward)
        assert gradcheck(lambda z: (z.real, z.angle()), z, fast_mode=fast_mode, check_forward_ad=forward)
        assert gradcheck(lambda x: x * (1 + 2j), leaf(1.0, 2.0), fast_mode=fast_mode, check_forward_ad=forward)
    assert gradgradcheck(lambda z: z * z.conj() * z.exp(), z, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="imaginary part"):
        gradcheck(lambda z: cygrad.complex(z.real * 1, z.imag * z.imag.detach()), z, fast_mode=fast_mode)
    assert z.tolist() == [1 + 2j, -0.5 + 0.25j]


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("factor", [1j, 2 - 1j, 0.5 + 3j])
@pytest.mark.parametrize("mode", ["", "computed with forward mode "])
def test_a_forgotten_conjugate_is_noticed(fast_mode: bool, factor: complex, mode: str) -> None:
    def check(in_backward: complex) -> bool:
        z = leaf(1 + 2j, -0.5 + 0.25j)
        return gradcheck(
            lambda z: Scaled.apply(z, factor, in_backward),
            z,
            fast_mode=fast_mode,
            check_forward_ad=bool(mode),
            check_backward_ad=not mode,
        )

    assert check(factor.conjugate())
    with pytest.raises(GradcheckError, match=f"Jacobian {mode}mismatch for output 0 with respect to input 0"):
        check(factor)


def test_tolerances_and_step_are_used() -> None:
    x = leaf(1.0)
    assert gradcheck(half_seen, x, atol=2.0)
    assert gradcheck(half_seen, x, rtol=2.0)
    assert not gradcheck(lambda x: x * x * x, x, eps=0.5, raise_exception=False)
    assert gradcheck(lambda x: x * x * x, x, eps=1e-4)


def test_check_grad_dtypes() -> None:
    assert gradcheck(lambda x: x * 2, leaf(1.0, 2.0), check_grad_dtypes=True)


Absent = Callable[[Tensor], Tensor | None]


class Undefined(Function):
    """``outputs`` multiples of x; ``absent`` says what x gets where ``missing`` of their gradients are undefined."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, outputs: int, missing: int, absent: Absent) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        ctx.missing, ctx.absent = missing, absent  # type: ignore[attr-defined]
        return tuple(x * (number + 1) for number in range(outputs))

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor | None) -> tuple[Tensor | None, None, None, None]:
        (x,) = ctx.saved_tensors
        if grads.count(None) == ctx.missing:  # type: ignore[attr-defined]
            return ctx.absent(x), None, None, None  # type: ignore[attr-defined]
        total = cygrad.zeros_like(x)
        for number, grad in enumerate(grads):
            if grad is not None:
                total = total + grad * (number + 1)
        return total, None, None, None


def refuse_absence(x: Tensor) -> Tensor:
    raise RuntimeError("no gradient came")


@pytest.mark.parametrize("fast_mode", [False, True])
def test_undefined_gradients_must_count_as_zeros(fast_mode: bool) -> None:
    x = leaf(1.0, 2.0)

    def check(outputs: int, missing: int, absent: Absent, undefined: bool = True) -> bool:
        return gradcheck(
            lambda x: Undefined.apply(x, outputs, missing, absent),
            x,
            fast_mode=fast_mode,
            check_undefined_grad=undefined,
        )

    for outputs in (1, 2):
        for absent in (lambda x: None, cygrad.zeros_like):
            assert check(outputs, outputs, absent)
        with pytest.raises(GradcheckError, match="all input grads to be undefined or zero when all output grads"):
            check(outputs, outputs, cygrad.ones_like)
        with pytest.raises(GradcheckError, match=r"handle undefined output grads, but .* no gradient came"):
            check(outputs, outputs, refuse_absence)
        assert check(outputs, outputs, refuse_absence, undefined=False)
    with pytest.raises(GradcheckError, match=r"none arrives at outputs \[0\]"):
        check(3, 1, cygrad.zeros_like)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_the_part_of_a_complex_number_is_named(fast_mode: bool) -> None:
    """Of the output in reverse mode, of the input in forward mode, where the other part is right."""

    class Half(Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: FunctionCtx, *grads: Tensor) -> Tensor:
            return grads[0] + grads[0].imag

        @staticmethod
        def jvp(ctx: FunctionCtx, *tangents: Tensor) -> Tensor:
            return tangents[0] + tangents[0].imag

    z = leaf(1 + 2j)
    outputs, inputs = (
        f"While considering the imaginary part of complex {which} only, Jacobian" for which in ("outputs", "inputs")
    )
    with pytest.raises(GradcheckError, match=outputs):
        gradcheck(Half.apply, z, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match=inputs):
        gradcheck(Half.apply, z, fast_mode=fast_mode, check_forward_ad=True, check_backward_ad=False)


@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_no_input_that_requires_grad_is_refused(check: Callable[..., bool]) -> None:
    with pytest.raises(ValueError, match="at least one input"):
        check(lambda x: x * 2, (cygrad.ones(2, dtype=cygrad.float64),))


def test_overlapping_input_is_refused() -> None:
    x = leaf(1.0).expand(3)
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(lambda x: x * 2, x)


def test_output_that_is_no_tensor_is_refused() -> None:
    loose: Callable[..., bool] = gradcheck
    with pytest.raises(ValueError, match="float"):
        loose(lambda x: (x, 1.0), leaf(1.0))
    with pytest.raises(ValueError, match="output 0 is a float"):
        loose(lambda x: 1.0, leaf(1.0))
    with pytest.raises(ValueError, match="output 0 is a NoneType"):
        loose(lambda x: None, leaf(1.0))


def test_single_precision_is_warned_of() -> None:
    x = cygrad.tensor([1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="double precision"):
        gradcheck(lambda x: x * 2, x, eps=1e-2)


def test_contradicting_switches_are_refused() -> None:
    with pytest.raises(AssertionError, match="at least one"):
        gradcheck(lambda x: x, leaf(1.0), check_backward_ad=False)
    with pytest.raises(AssertionError, match="check_batched_grad"):
        gradcheck(lambda x: x, leaf(1.0), check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)
    with pytest.raises(AssertionError, match="at least one"):
        gradgradcheck(lambda x: x, leaf(1.0), check_rev_over_rev=False)


def test_a_function_that_drops_its_graph_is_noticed() -> None:
    assert gradcheck(lambda x: x.detach().sign(), leaf(1.0, -2.0))
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, leaf(1.0, -2.0))


def test_empty_0d_and_non_contiguous_inputs() -> None:
    assert gradcheck(lambda x: x * x, cygrad.zeros(0, dtype=cygrad.float64, requires_grad=True))
    assert gradcheck(lambda x: x * x, cygrad.tensor(2.0, dtype=cygrad.float64, requires_grad=True))
    x = cygrad.arange(6, dtype=cygrad.float64).reshape(2, 3).t().detach().requires_grad_()
    assert not x.is_contiguous()
    assert gradcheck(lambda x: x * x, x)
    assert gradgradcheck(lambda x: x * x, x, gen_non_contig_grad_outputs=True)


def test_inputs_that_do_not_require_grad_are_left_alone() -> None:
    x, fixed, count = leaf(1.0, 2.0), cygrad.tensor([3.0, 4.0], dtype=cygrad.float64), cygrad.tensor([1, 2])
    assert gradcheck(lambda x, y, n: x * y * n, (x, fixed, count))
    assert fixed.tolist() == [3.0, 4.0] and count.tolist() == [1, 2]


def test_given_grad_outputs() -> None:
    x = leaf(0.5, 1.5)
    cotangent = leaf(1.0, -2.0)
    assert gradgradcheck(lambda x: x**3, x, cotangent)
    assert gradgradcheck(lambda x: x**3, (x,), (cotangent,))


def test_an_unused_input_has_a_zero_jacobian() -> None:
    assert gradcheck(lambda x, y: x * 2, (leaf(1.0), leaf(2.0)))


def test_values_are_put_back_when_the_function_raises() -> None:
    calls = 0

    def fails(x: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyError("now")
        return x * 2

    x = leaf(1.0, 2.0)
    with pytest.raises(KeyError):
        gradcheck(fails, x)
    assert x.tolist() == [1.0, 2.0]


class WrongTangent(Function):
    """The square of x, whose jvp (and backward) may be wrong by a factor."""

    forward_factor = 1.0
    backward_factor = 1.0

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return x * x * y

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        assert x is not None and y is not None
        return grad * 2 * x * y * WrongTangent.backward_factor, grad * x * x

    @staticmethod
    def jvp(ctx: FunctionCtx, xt: Tensor, yt: Tensor) -> Tensor:
        x, y = ctx.saved_tensors
        assert x is not None and y is not None
        return xt * 2 * x * y * WrongTangent.forward_factor + yt * x * x


@pytest.fixture
def wrong_tangent() -> Iterator[type[WrongTangent]]:
    """The Function, whose factors are set back at the end."""
    yield WrongTangent
    WrongTangent.forward_factor = WrongTangent.backward_factor = 1.0


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_forward_mode(wrong_tangent: type[WrongTangent], fast_mode: bool, backward: bool) -> None:
    x, y = leaf(0.5, -1.5), leaf(2.0, 3.0)

    def check() -> bool:
        return gradcheck(
            wrong_tangent.apply,
            (x, y),
            check_forward_ad=True,
            check_backward_ad=backward,
            check_batched_forward_grad=True,
            fast_mode=fast_mode,
        )

    assert check()
    wrong_tangent.forward_factor = 1.5
    with pytest.raises(GradcheckError, match=r"computed with forward mode mismatch for output 0.*input 0") as caught:
        check()
    assert "numerical:" in str(caught.value) and "analytical:" in str(caught.value)
    wrong_tangent.forward_factor, wrong_tangent.backward_factor = 1.0, 1.5
    if backward:
        with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
            check()
    else:
        assert check()


def test_forward_mode_of_complex_functions() -> None:
    assert gradcheck(lambda z: (z.abs(), z * z.conj(), z.exp()), leaf(0.5 + 1j, 1 - 2j), check_forward_ad=True)
    assert gradcheck(lambda x: cygrad.complex(x, x * x), leaf(0.5, 2.0), check_forward_ad=True, fast_mode=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_forward_over_reverse(wrong_tangent: type[WrongTangent], fast_mode: bool) -> None:
    x, y = leaf(0.5, -1.5), leaf(2.0, 3.0)

    def function(x: Tensor, y: Tensor) -> Tensor:
        return half_once(wrong_tangent.apply(x, y))

    def half_once(x: Tensor) -> Tensor:
        return x.sin() * x

    for reverse in (False, True):
        assert gradgradcheck(function, (x, y), check_fwd_over_rev=True, check_rev_over_rev=reverse, fast_mode=fast_mode)
    wrong_tangent.forward_factor = 1.5
    with pytest.raises(GradcheckError, match="computed with forward mode mismatch"):
        gradgradcheck(function, (x, y), check_fwd_over_rev=True, check_rev_over_rev=False, fast_mode=fast_mode)
    assert gradgradcheck(function, (x, y), fast_mode=fast_mode)


def test_missing_tangents_must_count_as_zeros() -> None:
    class Demanding(Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: Tensor, y: Tensor) -> Tensor:
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def jvp(ctx: FunctionCtx, xt: Tensor | None, yt: Tensor | None) -> Tensor:
            if xt is None:
                assert yt is not None
                return yt
            return xt if yt is not None else xt * 2

    with pytest.raises(GradcheckError):
        gradcheck(Demanding.apply, (leaf(1.0), leaf(2.0)), check_forward_ad=True, check_backward_ad=False)


def test_tangents_that_are_not_linear_are_noticed() -> None:
    class Bent(Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
            return x * 1

        @staticmethod
        def jvp(ctx: FunctionCtx, xt: Tensor) -> Tensor:
            return xt.abs().sqrt() * xt.sign()

    x = leaf(1.0)
    assert gradcheck(Bent.apply, x, check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(GradcheckError, match="not linear"):
        gradcheck(Bent.apply, x, check_forward_ad=True, check_backward_ad=False, check_batched_forward_grad=True)


def test_batched_tangents_need_forward_mode() -> None:
    with pytest.raises(AssertionError, match="requires check_forward_ad"):
        gradcheck(lambda x: x * x, leaf(1.0), check_batched_forward_grad=True)
