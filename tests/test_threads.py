"""Large operations on several threads: the same bits as on one.

Why it exists: loops are split over worker threads (Note [Split loops] in the core), and a part that starts at the wrong
place, is done twice or overlaps another gives numbers that are wrong only for large arrays.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import ThreadpoolController

import cygrad
from cygrad import Tensor

Operation = Callable[[Tensor, Tensor], Tensor]

OPERATIONS: dict[str, Operation] = {
    "binary": lambda a, b: a * b,
    "with a number": lambda a, b: 2 - a,
    "unary": lambda a, b: a.exp(),
    "comparison": lambda a, b: a < b,
    "promotion": lambda a, b: a + b.to(cygrad.float64),
    "promotion of integers": lambda a, b: a + (b * 100).to(cygrad.int32),
    "half": lambda a, b: a.half() * b.half(),
    "broadcast rows": lambda a, b: a + b[:1],
    "broadcast columns": lambda a, b: a + b[:, :1],
    "three operands": lambda a, b: cygrad.where(a > 0, a, b),
    "four operands": lambda a, b: cygrad.addcmul(a, b, a, value=3),
    "own loop": lambda a, b: cygrad.nn.functional.gelu(a),
    "transposed": lambda a, b: a.t() * b.t(),
    "one transposed": lambda a, b: a[:, : a.shape[0]].t() + b[:, : a.shape[0]],
    "strided": lambda a, b: a[:, ::2] - b[:, ::2],
    "reversed rows": lambda a, b: a.flip(0) * b,
    "cast": lambda a, b: (a * 50).to(cygrad.int64),
    "copy": lambda a, b: a.t().contiguous(),
    "in place": lambda a, b: a.clone().mul_(b),
    "in place on a slice": lambda a, b: a.clone()[:, 1:-1].add_(b[:, 1:-1]),
    "into a buffer": lambda a, b: cygrad.add(a, b, out=cygrad.empty_like(a)),
}


@pytest.mark.parametrize("shape", [(300, 700), (3, 70001), (70001, 3), (1, 65536), (65537, 1), (2, 40000)], ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_elementwise_results_are_the_same_bits(name: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    a = cygrad.from_numpy(rng.standard_normal(shape).astype(np.float32))
    b = cygrad.from_numpy(rng.standard_normal(shape).astype(np.float32))
    operation = OPERATIONS[name]
    if name == "one transposed" and shape[0] > shape[1]:
        a, b = a.t(), b.t()
    expected = operation(a, b).numpy()
    for threads in (2, 3, 7):
        cygrad.set_num_threads(threads)
        assert_array_equal(operation(a, b).numpy(), expected)


@pytest.mark.parametrize("layout", ["plain", "left transposed", "right transposed", "both transposed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("sizes", [(200, 130, 150), (150, 130, 200), (7, 600, 900), (900, 600, 7)], ids=str)
def test_products_of_matrices(sizes: tuple[int, int, int], dtype: type[np.inexact], layout: str) -> None:
    m, k, n = sizes
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n), (m, n)))
    left, right = cygrad.from_numpy(a), cygrad.from_numpy(b)
    if layout in ("left transposed", "both transposed"):
        left = left.t().contiguous().t()
    if layout in ("right transposed", "both transposed"):
        right = right.t().contiguous().t()
    tolerance = 1e-4 if dtype in (np.float32, np.complex64) else 1e-12
    for threads in (1, 2, 3):
        cygrad.set_num_threads(threads)
        assert_allclose((left @ right).numpy(), a @ b, rtol=tolerance, atol=tolerance * k)
        scaled = cygrad.addmm(cygrad.from_numpy(c), left, right, beta=2, alpha=3)
        assert_allclose(scaled.numpy(), 2 * c + 3 * (a @ b), rtol=tolerance, atol=3 * tolerance * k)


def test_elements_that_lie_on_each_other_are_written_in_order() -> None:
    memory = cygrad.zeros(70000)
    overlapping = memory.as_strided((69000, 2), (1, 1))
    values = cygrad.arange(138000, dtype=cygrad.float32).view(69000, 2)
    overlapping.copy_(values)
    expected = memory.clone()
    cygrad.set_num_threads(3)
    for _ in range(20):
        memory.zero_()
        overlapping.copy_(values)
        assert_array_equal(memory.numpy(), expected.numpy())


def test_many_threads_split_loops_at_once() -> None:
    cygrad.set_num_threads(4)
    a = cygrad.arange(200000, dtype=cygrad.float64)
    expected = np.arange(200000, dtype=np.float64) * 3 + 1
    wrong: list[int] = []

    def work(number: int) -> None:
        wrong.extend(number for _ in range(30) if not np.array_equal((a * 3 + 1).numpy(), expected))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_backward_of_large_nodes_splits_inside_and_beside() -> None:
    rng = np.random.default_rng(0)
    weights = [cygrad.from_numpy(rng.standard_normal((160, 160))).requires_grad_() for _ in range(6)]
    x = cygrad.from_numpy(rng.standard_normal((160, 160)))

    def gradients() -> list[np.ndarray]:
        for w in weights:
            w.grad = None
        total = sum((((x @ w) / 12).tanh() @ w.tanh()).sum() for w in weights)
        assert isinstance(total, Tensor)
        total.backward()
        return [w.grad.numpy().copy() for w in weights if w.grad is not None]

    expected = gradients()
    for threads in (2, 4):
        cygrad.set_num_threads(threads)
        for mine, other in zip(gradients(), expected, strict=True):
            assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def test_a_forked_child_splits_loops_with_threads_of_its_own() -> None:
    cygrad.set_num_threads(3)
    a = cygrad.arange(100000, dtype=cygrad.float64)
    expected = (a * 2).numpy().copy()
    child = os.fork()
    if child == 0:
        same = np.array_equal((a * 2).numpy(), expected)
        finite = bool((a.view(200, 500) @ a.view(500, 200)).isfinite().all())
        os._exit(0 if same and finite else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_numpy_keeps_its_own_threads() -> None:
    blas = ThreadpoolController().select(user_api="blas")
    with blas.limit(limits=2):
        before = [library["num_threads"] for library in blas.info()]
        cygrad.set_num_threads(1)
        a = cygrad.rand(200, 200)
        assert (a @ a).shape == (200, 200)
        cygrad.set_num_threads(2)
        assert (a @ a).shape == (200, 200)
        assert [library["num_threads"] for library in blas.info()] == before
