"""Faults that users of neighbouring libraries reported, each with the right value.

Why it exists: somebody lost a day to each of these once. Float64 unless said.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from support import assert_agrees, assert_same_refusal, run_python

import cygrad
from cygrad.autograd.gradcheck import GradcheckError, gradcheck


def leaf(m: ModuleType, *values: complex) -> cygrad.Tensor:
    """A leaf that requires grad, float64 or complex128."""
    dtype = m.complex128 if any(isinstance(value, complex) for value in values) else m.float64
    made: cygrad.Tensor = m.tensor(list(values), dtype=dtype, requires_grad=True)
    return made


# ---- engine ----------------------------------------------------------------------------------------------------------


def test_300_000_additions_run_back_and_are_deleted() -> None:
    x = leaf(cygrad, 1.0)
    y = x
    for _ in range(300_000):
        y = y + 1
    y.backward()
    del y
    assert x.grad is not None and x.grad.tolist() == [1.0]


def test_materialized_gradient_of_an_unused_input() -> None:
    x, unused = leaf(cygrad, 3.0), leaf(cygrad, 4.0)
    used, zero = cygrad.autograd.grad((x * 2).sum(), [x, unused], materialize_grads=True)
    assert used.tolist() == [2.0] and zero.tolist() == [0.0]
    assert not used.requires_grad and not zero.requires_grad


def test_four_threads_two_hundred_backwards_into_one_leaf() -> None:
    w = leaf(cygrad, 1.0, 1.0)

    def work() -> None:
        for _ in range(200):
            (w * 2).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.grad is not None and w.grad.tolist() == [1600.0, 1600.0]


def test_forked_child_after_backward_and_workers() -> None:
    program = """
import os, cygrad
cygrad.set_num_threads(2)
def run():
    x = cygrad.ones(128, 128, dtype=cygrad.float64, requires_grad=True)
    sum((x @ x).tanh().sum() for _ in range(6)).backward()
    w = cygrad.ones(1, requires_grad=True)
    nested(w, 70).backward()
    return x.grad[0, 0].item(), w.grad.item()
def nested(w, depth):
    with cygrad.enable_grad():
        y = w * 2
    y.register_hook(lambda grad: nested(w, depth - 1).backward() if depth else None)
    return y
parent = run()
assert parent[1] == 142
child = os.fork()
if child == 0:
    found = run()
    os._exit(0 if abs(found[0] - parent[0]) < 1e-9 and found[1] == parent[1] else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python(program).strip() == "0"


def test_second_backward_over_what_saves_nothing_adds_up() -> None:
    x = leaf(cygrad, 1.0, 2.0)
    y = (-(x + 1)).clone().sum()
    y.backward()
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [-2.0, -2.0]


@pytest.mark.parametrize("name", ["log", "exp", "square"])
def test_second_backward_over_what_was_saved_is_refused(name: str) -> None:
    t = leaf(cygrad, 1.0, 2.0)
    y = {"log": lambda: t.log(), "exp": lambda: t.exp(), "square": lambda: t * t}[name]().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


# ---- derivatives -----------------------------------------------------------------------------------------------------


def test_power_of_zero() -> None:
    a, b = leaf(cygrad, 0.0, 2.0), leaf(cygrad, 1.0, 1.0)
    (slope,) = cygrad.autograd.grad((a**b).sum(), b)
    assert slope.tolist() == pytest.approx([0.0, 2 * math.log(2)])
    x = leaf(cygrad, 0.0)
    (flat,) = cygrad.autograd.grad(x.pow(0).sum(), x)
    assert flat.tolist() == [0.0]


@pytest.mark.parametrize("p", [1, 2, 3, 0.5, math.inf, -math.inf])
def test_norm_at_the_zero_vector(p: float) -> None:
    def slope(m: ModuleType) -> object:
        x = leaf(m, 0.0, 0.0, 0.0)
        return m.autograd.grad(x.norm(p), x)

    assert_agrees(slope)
    if p == 2:
        x = leaf(cygrad, 0.0, 0.0, 0.0)
        assert cygrad.autograd.grad(x.norm(), x)[0].tolist() == [0.0, 0.0, 0.0]


def test_std_of_constants() -> None:
    x = leaf(cygrad, 2.0, 2.0, 2.0)
    assert cygrad.autograd.grad(x.std(), x)[0].tolist() == [0.0, 0.0, 0.0]


def test_square_root_of_zero_sum() -> None:
    x = leaf(cygrad, 0.0, 0.0)
    (slope,) = cygrad.autograd.grad(x.pow(2).sum().sqrt(), x)
    assert all(math.isnan(value) for value in slope.tolist())


def test_absolute_value_of_tiny_complex_numbers() -> None:
    z = cygrad.tensor([0j, -1.0568e-23 + 0j], dtype=cygrad.complex64, requires_grad=True)
    (slope,) = cygrad.autograd.grad(z.abs().sum(), z)
    assert slope.tolist() == [0j, -1 + 0j]


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.0], [2.0, 0.0, 3.0], [0.0, 1.5, 0.0], [1.0, 2.0, 3.0]], ids=str)
def test_second_derivative_of_cumprod_at_zeros(values: list[float]) -> None:
    """The Hessian of sum(cumprod(x)) by algebra: sums of products of all others."""

    def total(x: cygrad.Tensor) -> cygrad.Tensor:
        return x.cumprod(0).sum()

    x = leaf(cygrad, *values)
    (slope,) = cygrad.autograd.grad(total(x), x, create_graph=True)
    rows = [cygrad.autograd.grad(slope[number], x, retain_graph=True)[0].tolist() for number in range(3)]
    a, b, c = values
    assert rows == [[0.0, 1 + c, b], [1 + c, 0.0, a], [b, a, 0.0]]
    assert slope.tolist() == [1 + b + b * c, a + a * c, a * b]


def test_where_gives_nan_from_the_branch_not_selected() -> None:
    def slope(m: ModuleType) -> object:
        x = leaf(m, -1.0, 4.0)
        return m.autograd.grad(m.where(x > 0, x.sqrt(), m.zeros_like(x)).sum(), x)

    assert_agrees(slope)
    x = leaf(cygrad, -1.0, 4.0)
    values = cygrad.autograd.grad(cygrad.where(x > 0, x.sqrt(), cygrad.zeros_like(x)).sum(), x)[0].tolist()
    assert math.isnan(values[0]) and values[1] == 0.25


def test_logsumexp_of_minus_infinities() -> None:
    def slope(m: ModuleType) -> object:
        x = leaf(m, -math.inf, -math.inf)
        y = x.logsumexp(0)
        return [y, m.autograd.grad(y, x)]

    assert_agrees(slope)


# The same kind of fault elsewhere: gradients at the edge of a function's domain.
EDGES: dict[str, tuple[Callable[[ModuleType, cygrad.Tensor], cygrad.Tensor], list[float]]] = {
    "sqrt at 0": (lambda m, x: x.sqrt(), [0.0]),
    "log at 0": (lambda m, x: x.log(), [0.0]),
    "abs at 0": (lambda m, x: x.abs(), [0.0, -0.0]),
    "relu at 0": (lambda m, x: x.relu(), [0.0]),
    "clamp at the bounds": (lambda m, x: x.clamp(0.0, 1.0), [0.0, 1.0]),
    "maximum of equals": (lambda m, x: m.maximum(x, x.detach()), [1.0, 0.0]),
    "max of equals": (lambda m, x: x.max(), [3.0, 3.0, 1.0]),
    "amax of equals": (lambda m, x: x.amax(), [3.0, 3.0, 1.0]),
    "prod with a zero": (lambda m, x: x.prod(), [0.0, 2.0, 3.0]),
    "prod with two zeros": (lambda m, x: x.prod(), [0.0, 0.0, 3.0]),
    "asin at 1": (lambda m, x: x.asin(), [1.0, -1.0]),
    "acos at 1": (lambda m, x: x.acos(), [1.0, -1.0]),
    "atan2 at the origin": (lambda m, x: m.atan2(x, x), [0.0]),
    "hypot at the origin": (lambda m, x: m.hypot(x, x), [0.0]),
    "reciprocal at 0": (lambda m, x: x.reciprocal(), [0.0]),
    "rsqrt at 0": (lambda m, x: x.rsqrt(), [0.0]),
    "pow 0.5 at 0": (lambda m, x: x**0.5, [0.0]),
    "pow 2 at 0": (lambda m, x: x**2, [0.0]),
    "0 to the x": (lambda m, x: 0.0**x, [0.0, 1.0, 2.0]),
    "x to the x": (lambda m, x: x**x, [0.0, 1.0]),
    "sign at 0": (lambda m, x: x.sign() * x, [0.0]),
    "sinc at 0": (lambda m, x: x.sinc(), [0.0, 1.0]),
    "softplus far out": (lambda m, x: m.nn.functional.softplus(x), [1000.0, -1000.0]),
    "sigmoid far out": (lambda m, x: x.sigmoid(), [1000.0, -1000.0]),
    "logaddexp of minus infinities": (lambda m, x: m.logaddexp(x, x), [-math.inf]),
    "tanh far out": (lambda m, x: x.tanh(), [1000.0]),
    "std of one": (lambda m, x: x.std(unbiased=False), [1.0]),
    "var of equals": (lambda m, x: x.var(), [1.0, 1.0]),
    "log_softmax far apart": (lambda m, x: x.log_softmax(0), [1000.0, 0.0]),
    "lerp past the end": (lambda m, x: m.lerp(x, x * 2, 1.5), [1.0]),
    "fmod at a multiple": (lambda m, x: m.fmod(x, 2.0), [4.0, -4.0]),
    "round at a half": (lambda m, x: x.round() + x, [0.5, 1.5]),
    "hardtanh at the bounds": (lambda m, x: m.nn.functional.hardtanh(x), [1.0, -1.0]),
    "leaky_relu at 0": (lambda m, x: m.nn.functional.leaky_relu(x), [0.0]),
    "elu at 0": (lambda m, x: m.nn.functional.elu(x), [0.0]),
    "nan_to_num of nan": (lambda m, x: x.nan_to_num(), [math.nan, math.inf]),
}


@pytest.mark.parametrize("name", EDGES)
def test_gradient_at_an_edge(name: str) -> None:
    call, values = EDGES[name]

    def slope(m: ModuleType) -> object:
        x = leaf(m, *values)
        y = call(m, x)
        return [y, m.autograd.grad(y.sum(), x)]

    with np.errstate(all="ignore"):
        assert_agrees(slope)


# ---- modes -----------------------------------------------------------------------------------------------------------


def test_set_grad_enabled_as_a_decorator_leaves_the_mode_alone() -> None:
    @cygrad.set_grad_enabled(False)
    def double(x: cygrad.Tensor) -> cygrad.Tensor:
        return x * 2

    assert cygrad.is_grad_enabled()
    assert not double(leaf(cygrad, 1.0)).requires_grad
    assert cygrad.is_grad_enabled()


def test_a_thread_started_inside_no_grad_records() -> None:
    recorded: list[bool] = []
    with cygrad.no_grad():
        thread = threading.Thread(target=lambda: recorded.append((leaf(cygrad, 1.0) * 2).requires_grad))
        thread.start()
        thread.join()
    assert recorded == [True]


# ---- interoperation --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2)], ids=["float64", "float32", "int64"])
def test_numpy_number_times_tensor(number: np.float64 | np.float32 | np.int64) -> None:
    t = cygrad.tensor([1.0, 3.0], requires_grad=True)
    for product in (number * t, t * number):
        assert type(product) is cygrad.Tensor
        assert product.dtype is cygrad.float32
        (slope,) = cygrad.autograd.grad(product.sum(), t)
        assert slope.tolist() == [2.0, 2.0]


def test_array_times_tensor() -> None:
    array = np.array([2.0, 5.0])
    t = leaf(cygrad, 1.0, 3.0)
    for product in (array * t, t * array):
        assert type(product) is cygrad.Tensor
        (slope,) = cygrad.autograd.grad(product.sum(), t)
        assert slope.tolist() == [2.0, 5.0]


# ---- views and saved tensors, as far as they need no graph of a write
# --------------------------------------------------


def test_in_place_on_a_leaf_changes_nothing() -> None:
    x = leaf(cygrad, 1.0, 2.0)
    writes: list[Callable[[], object]] = [lambda: x.add_(1), lambda: x.mul_(2), lambda: x.zero_(), lambda: x.fill_(3.0)]
    for write in writes:
        with pytest.raises(RuntimeError, match="leaf"):
            write()
    assert x.tolist() == [1.0, 2.0]
    assert x._version == 0


def test_in_place_on_an_expanded_tensor_is_refused() -> None:
    assert_same_refusal(lambda m: m.ones(1).expand(3).add_(1))


# ---- debugging -------------------------------------------------------------------------------------------------------


def test_gradcheck_shows_both_jacobians() -> None:
    x = leaf(cygrad, 1.0, 2.0)

    def half_seen(x: cygrad.Tensor) -> cygrad.Tensor:
        return x * x.detach()

    with pytest.raises(GradcheckError, match=r"(?s)numerical:tensor\(\[\[2\.0.*analytical:tensor\(\[\[1\."):
        gradcheck(half_seen, (x,))
    assert gradcheck(half_seen, (x,), raise_exception=False) is False
