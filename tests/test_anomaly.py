"""Anomaly mode: exceptions that carry the forward's stack, NaN in backward, NaN and infinities in forward."""

from __future__ import annotations

import gc
import inspect
import warnings
from collections.abc import Iterator
from types import ModuleType

import pytest
import torch

import cygrad
from cygrad.autograd import Function, detect_anomaly, set_detect_anomaly
from cygrad.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from cygrad.autograd.function import FunctionCtx


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The mode warns that it is on, and of each error; it is off again after each test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    set_detect_anomaly(False)
    torch.autograd.set_detect_anomaly(False)


class Fails(Function):
    """A Function whose backward raises."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: cygrad.Tensor) -> cygrad.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: FunctionCtx, grad: cygrad.Tensor) -> cygrad.Tensor:
        raise KeyError("mine")


def leaf(*values: float) -> cygrad.Tensor:
    return cygrad.tensor(list(values), dtype=cygrad.float64, requires_grad=True)


def failure(error: BaseException) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What the exception carries."""
    found: tuple[tuple[str, tuple[str, ...]], ...] = error.forward_stacks  # type: ignore[attr-defined]
    return found


def marked_forward(x: cygrad.Tensor) -> cygrad.Tensor:
    """The line that notes must show."""
    return x / x  # the line of the forward


def test_nan_in_backward_carries_the_line_of_the_forward() -> None:
    x = leaf(0.0)
    with detect_anomaly():
        y = marked_forward(x)
        with pytest.raises(
            RuntimeError, match=r"Function 'DivBackward0' returned nan values in its 1th output"
        ) as caught:
            y.sum().backward()
    ((name, lines),) = failure(caught.value)
    assert name == "DivBackward0"
    assert "the line of the forward" in lines[-1]
    assert inspect.currentframe() is not None
    (note,) = caught.value.__notes__
    assert "the line of the forward" in note and "DivBackward0" in note
    assert x.grad is None


def test_an_exception_of_a_function_arrives_as_it_is_with_the_forward() -> None:
    x = leaf(1.0)
    with detect_anomaly():
        y = Fails.apply(x)
        assert isinstance(y, cygrad.Tensor)
        with pytest.raises(KeyError, match="mine") as caught:
            y.sum().backward()
    ((name, lines),) = failure(caught.value)
    assert name == "FailsBackward"
    assert "y = Fails.apply(x)" in "".join(lines)


def test_an_exception_of_a_compiled_node_carries_the_forward() -> None:
    x = leaf(1.0)
    with detect_anomaly():
        y = x.exp()
        root = y.sum()
        with cygrad.no_grad():
            y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
            root.backward()
    assert failure(caught.value)[0][0] == "ExpBackward0"
    assert "y = x.exp()" in failure(caught.value)[0][1][-1]


def test_a_version_refusal_behind_a_write_to_a_view_carries_the_forward() -> None:
    """The operation whose saved tensor was written is inside of a CopySlices: its own line is the one to know."""
    x = leaf(1.0, 2.0)
    with detect_anomaly():
        y = x * 1
        factor = cygrad.ones(1, dtype=cygrad.float64)
        y[:1].mul_(factor)  # the line of the write
        factor.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
            y.sum().backward()
    assert failure(caught.value)[0][0] == "CopySlices"
    assert "the line of the write" in failure(caught.value)[0][1][-1]


def test_double_backward_carries_both_stacks() -> None:
    x = leaf(0.0)
    with detect_anomaly(check_nan=False):
        y = (x**1.5).sum()  # outer forward
        (g,) = cygrad.autograd.grad(y, x, create_graph=True)
    with detect_anomaly(), pytest.raises(RuntimeError, match="nan") as caught:
        (g * 0).sum().backward()
    stacks = failure(caught.value)
    assert len(stacks) == 2, stacks
    assert stacks[1][0] == "PowBackward0"
    assert "outer forward" in stacks[1][1][-1]
    assert "create_graph=True" in "".join(stacks[0][1])
    assert "PowBackward0" in caught.value.__notes__[1]


def test_forward_outside_of_the_mode_is_said() -> None:
    y = marked_forward(leaf(0.0))
    with detect_anomaly(), pytest.raises(RuntimeError, match="nan") as caught:
        y.sum().backward()
    assert failure(caught.value) == (("DivBackward0", ()),)
    assert "enable detect anomaly during the forward pass" in caught.value.__notes__[0]


def test_the_warning_is_torchs() -> None:
    x = leaf(0.0)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with detect_anomaly(), pytest.raises(RuntimeError):
            marked_forward(x).sum().backward()
    texts = [str(w.message) for w in shown]
    assert any("Anomaly Detection has been enabled" in t for t in texts)
    assert any("Error detected in DivBackward0" in t and "the line of the forward" in t for t in texts)


@pytest.mark.parametrize("m", [cygrad, torch])
@pytest.mark.parametrize("outer", [True, False])
def test_a_backward_of_a_backward_warns_of_both_nodes(m: ModuleType, outer: bool) -> None:
    """`outer`: the first forward was recorded in the mode, too."""
    x = m.ones(1, requires_grad=True)
    methods = {
        "forward": staticmethod(squared),
        "backward": staticmethod(lambda ctx, g: (ctx.saved_tensors[0] - 1).sqrt()),
    }
    apply = type("Squared", (m.autograd.Function,), methods).apply  # type: ignore[attr-defined]
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with m.autograd.set_detect_anomaly(outer):
            y = apply(x)
        with m.autograd.set_detect_anomaly(True):
            (first,) = m.autograd.grad(y, x, create_graph=True)
            with pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan"):
                (first * 0).backward()
    texts = [str(w.message) for w in shown]
    assert len(texts) == 2
    assert "Error detected in SqrtBackward0" in texts[0]
    assert ("Previous calculation was induced by" if outer else "No forward pass information available") in texts[1]
    assert "SquaredBackward" in texts[1]


def squared(ctx: FunctionCtx, x: cygrad.Tensor) -> cygrad.Tensor:
    ctx.save_for_backward(x)
    return x * x


def test_warnings_as_errors_do_not_hide_the_error() -> None:
    x = leaf(0.0)
    with detect_anomaly():
        y = marked_forward(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeError, match="nan values"):
                y.sum().backward()


def test_nan_is_let_through_without_check_nan() -> None:
    x = leaf(0.0)
    with detect_anomaly(check_nan=False):
        marked_forward(x).sum().backward()
    assert x.grad is not None
    assert x.grad.isnan().all()


@pytest.mark.parametrize("dtype", [cygrad.float16, cygrad.float32, cygrad.float64, cygrad.complex64, cygrad.complex128])
def test_nan_is_found_in_each_dtype_and_layout(dtype: cygrad.dtype) -> None:
    x = cygrad.ones(3, 4, dtype=dtype).t().detach().requires_grad_()
    cotangent = cygrad.ones(4, 3, dtype=dtype)
    with detect_anomaly():
        (x * 2).backward(cotangent)
        cotangent[3, 1] = float("nan")
        with pytest.raises(RuntimeError, match="MulBackward0"):
            (x * 2).backward(cotangent)
        # infinities are no NaN
        cotangent[3, 1] = float("inf")
        (x + 2).backward(cotangent)


def test_states_as_torch() -> None:
    def states(m: ModuleType) -> list[tuple[bool, bool]]:
        def now() -> tuple[bool, bool]:
            if m is torch:
                return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
            return is_anomaly_enabled(), is_anomaly_check_nan_enabled()

        seen = [now()]
        with m.autograd.detect_anomaly():
            seen.append(now())
            with m.autograd.detect_anomaly(check_nan=False):
                seen.append(now())
            seen.append(now())
            with m.autograd.set_detect_anomaly(False):
                seen.append(now())
            seen.append(now())
        m.autograd.set_detect_anomaly(True, False)
        seen.append(now())
        m.autograd.set_detect_anomaly(False)
        seen.append(now())
        return seen

    assert states(cygrad) == states(torch)


@pytest.mark.parametrize("bad", [1, "yes", None])
def test_flags_are_bools(bad: object) -> None:
    with pytest.raises(TypeError):
        detect_anomaly(bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        detect_anomaly(check_forward=bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        set_detect_anomaly(bad)  # type: ignore[arg-type]
    assert not is_anomaly_enabled()


def test_metadata_as_torch() -> None:
    def keys(m: ModuleType) -> list[object]:
        with m.autograd.detect_anomaly():
            x = m.ones(1, requires_grad=True)
            y = (x**3).sum()
            (g,) = m.autograd.grad(y, x, create_graph=True)
            found = g.grad_fn.metadata
            return [sorted(y.grad_fn.metadata), sorted(found), found["parent_"].name()]

    assert keys(cygrad) == keys(torch)


# ---- forward --------------------------------------------------------------------------------------------


def test_the_first_nan_of_forward_is_named_with_shapes() -> None:
    x = leaf(1.0, -1.0)
    other = cygrad.ones(3, 1, dtype=cygrad.float64, requires_grad=True)
    with detect_anomaly(check_forward=True):
        y = x * other
        with pytest.raises(FloatingPointError) as caught:
            y.log()
    text = str(caught.value)
    assert "Log (Function 'LogBackward0')" in text
    assert "3 of 6 elements" in text
    assert "flat index 1" in text
    assert "result of shape [3, 2] (cygrad.float64)" in text
    assert "input 0 has shape [3, 2] and came from MulBackward0" in text
    assert "saved 'self' has shape [3, 2]" in text


def test_the_first_infinity_of_forward_is_named() -> None:
    x = leaf(1.0, 0.0)
    with detect_anomaly(check_forward=True), pytest.raises(FloatingPointError, match="came from AccumulateGrad"):
        1.0 / x


def test_an_in_place_operation_is_watched() -> None:
    x = leaf(1.0, 0.0)
    with detect_anomaly(check_forward=True):
        y = x * 1
        with pytest.raises(FloatingPointError, match="DivBackward0"):
            y.div_(cygrad.zeros(2, dtype=cygrad.float64))


def test_infinities_that_no_recorded_operation_made_pass() -> None:
    with detect_anomaly(check_forward=True):
        mask = cygrad.full((2,), float("-inf"), dtype=cygrad.float64)
        assert (mask * 2).isinf().all()
        x = leaf(1.0, 2.0)
        (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_operation_that_is_not_recorded_is_watched_too() -> None:
    plain = cygrad.tensor([[1.0, 0.0]], dtype=cygrad.float64)
    with detect_anomaly(check_forward=True):
        with pytest.raises(FloatingPointError) as caught:
            plain.log()
        text = str(caught.value)
        assert "log gave 1 of 2 elements" in text
        assert "flat index 1, in its result of shape [1, 2] (cygrad.float64)" in text
        assert "from finite inputs of shapes [1, 2]" in text
        with pytest.raises(FloatingPointError, match=r"div gave 1 of 2 .* of shapes \[2\], \[1, 2\]"), cygrad.no_grad():
            leaf(1.0, 2.0) / plain
        with pytest.raises(FloatingPointError, match="div_ gave"):
            plain.div_(0)
        with pytest.raises(FloatingPointError, match="gave 1 of 1"):
            cygrad.tensor([-1.0]).sqrt()


def test_an_operation_on_what_was_not_finite_is_not_to_blame() -> None:
    infinite = cygrad.tensor([float("inf"), 1.0])
    with detect_anomaly(check_forward=True):
        assert (infinite * 2 - infinite).isnan().any()
        assert cygrad.stack([infinite, cygrad.zeros(2)]).isinf().any()
        assert cygrad.ones(2).masked_fill(infinite > 1, float("-inf")).isinf().any()


def test_backward_formulas_are_no_forward() -> None:
    x = leaf(0.0)
    seen: list[bool] = []
    with detect_anomaly(check_nan=False, check_forward=True):
        y = x.sqrt()
        y.register_hook(lambda grad: seen.append(bool((grad / 0.0).isinf())))
        y.sum().backward()
    assert seen == [True]
    assert x.grad is not None
    assert x.grad.isinf().all()


def test_forward_is_not_looked_at_without_the_second_switch() -> None:
    with detect_anomaly():
        assert leaf(0.0).log().isinf().all()
    assert leaf(0.0).log().isinf().all()


def test_nothing_is_kept_when_the_mode_is_off() -> None:
    with detect_anomaly(check_forward=True):
        pass
    y = leaf(1.0) * 2
    assert y.grad_fn is not None
    assert y.grad_fn.metadata == {}
    gc.collect()


@pytest.mark.parametrize("m", [cygrad, torch])
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_left_by_hand(m: ModuleType) -> None:
    for make in (m.autograd.detect_anomaly, lambda: m.autograd.set_detect_anomaly(True)):
        made = make()
        made.__enter__()
        assert m.is_anomaly_enabled()
        made.__exit__()
        assert not m.is_anomaly_enabled()
