"""Stresses the engine for a given time: threads over shared graphs, failures, workers, re-entrance, fork, long chains.

Why it exists: the sanitizer builds run it (`.ci/sanitize`). It is a plain script of cygrad alone, since a sanitizer
slows everything down and other compiled packages would fill its reports. All numbers are small integers held in
float64, so that every sum is exact in whatever order threads add it, and is compared to the last bit.

    python tests/stress/engine_stress.py SECONDS [--seed N]

Exit status 0: all cases of all rounds held, and nothing was left alive.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable

import cygrad
from cygrad import Tensor
from cygrad._core.memory import live_objects
from cygrad.autograd import forward_ad

THREADS = 4


class StressError(Exception):
    """A number or a refusal was not what it has to be."""


def check(condition: bool, message: str) -> None:
    """Raise StressError with the message unless the condition holds; unlike `assert`, under `python -O` too."""
    if not condition:
        raise StressError(message)


def gradient(leaf: Tensor) -> list[float]:
    """The gradient's elements; StressError where there is none."""
    found = leaf.grad
    if found is None:
        raise StressError("a leaf got no gradient")
    return [float(v) for v in found.reshape(-1).tolist()]


def leaf(values: list[float]) -> Tensor:
    """A float64 leaf that requires grad."""
    return cygrad.tensor(values, dtype=cygrad.float64, requires_grad=True)


def together(bodies: list[Callable[[], None]]) -> None:
    """Run the bodies in threads that start at once; the first failure is raised here."""
    barrier = threading.Barrier(len(bodies))
    failures: list[BaseException] = []

    def run(body: Callable[[], None]) -> None:
        try:
            barrier.wait()
            body()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# ---- cases: each takes the random numbers of its round and raises if something is wrong ------------------------------


def shared_leaf(rng: random.Random) -> None:
    """Graphs of several threads end in one leaf: no update is lost."""
    w = leaf([1.0, 2.0, 3.0])
    repeats = rng.randint(20, 100)

    def body() -> None:
        for _ in range(repeats):
            (w * 2).sum().backward()

    together([body] * THREADS)
    check(gradient(w) == [2.0 * THREADS * repeats] * 3, f"shared_leaf: {gradient(w)}")


def shared_graph(rng: random.Random) -> None:
    """Several threads run backward over one graph that saves tensors, with retain_graph=True."""
    w = leaf([1.0, 2.0, 3.0])
    middle = w * w
    for _ in range(rng.randint(1, 30)):
        middle = middle * 1.0 + w * 0.0
    root = (middle * middle).sum()
    repeats = rng.randint(5, 30)

    def body() -> None:
        for _ in range(repeats):
            root.backward(retain_graph=True)

    together([body] * THREADS)
    n = THREADS * repeats
    check(gradient(w) == [4.0 * n, 32.0 * n, 108.0 * n], f"shared_graph: {gradient(w)} after {n} backwards")


def one_wins(_: random.Random) -> None:
    """Threads race for a graph without retain_graph: each backward is whole, or refused by a RuntimeError."""
    w = leaf([3.0])
    root = (w * w).sum()
    done: list[bool] = []

    def body() -> None:
        try:
            root.backward()
            done.append(True)
        except RuntimeError as error:
            check("retain_graph" in str(error) or "second time" in str(error), f"one_wins: {error}")

    together([body] * THREADS)
    check(len(done) >= 1, "one_wins: no backward got through")
    check(gradient(w)[0] % 3.0 == 0.0, f"one_wins: {gradient(w)}")


def random_graphs(rng: random.Random) -> None:
    """Random linear graphs over shared leaves, whose gradients are known as integers."""
    leaves = [leaf([float(rng.randint(-3, 3))]) for _ in range(4)]
    totals = [0] * len(leaves)
    lock = threading.Lock()

    def body(seed: int) -> Callable[[], None]:
        own = random.Random(seed)

        def run() -> None:
            for _ in range(5):
                nodes: list[tuple[Tensor, list[int]]] = [
                    (x, [int(i == k) for i in range(len(leaves))]) for k, x in enumerate(leaves)
                ]
                for _ in range(own.randint(1, 60)):
                    (a, ca), (b, cb) = own.choice(nodes), own.choice(nodes)
                    p, q = own.choice((-1, 0, 1)), own.choice((-1, 1))
                    if max(map(abs, ca + cb)) > 2**40:
                        continue
                    operation = own.randrange(4)
                    if operation == 0:
                        nodes.append((a * p + b * q, [p * i + q * j for i, j in zip(ca, cb, strict=True)]))
                    elif operation == 1:
                        nodes.append((a - b, [i - j for i, j in zip(ca, cb, strict=True)]))
                    elif operation == 2:
                        nodes.append((-a, [-i for i in ca]))
                    else:
                        nodes.append((a.expand(3).sum() + b, [3 * i + j for i, j in zip(ca, cb, strict=True)]))
                root, counts = nodes[-1]
                if root.requires_grad:
                    root.sum().backward()
                    with lock:
                        for k, count in enumerate(counts):
                            totals[k] += count

        return run

    together([body(rng.randrange(2**32)) for _ in range(THREADS)])
    found = [0.0 if x.grad is None else gradient(x)[0] for x in leaves]
    check(found == [float(t) for t in totals], f"random_graphs: {found}, not {totals}")


def failing_hooks(rng: random.Random) -> None:
    """Hooks raise in some threads while others run: exceptions reach their own callers, the others' sums are exact."""
    w = leaf([1.0, 1.0])
    repeats = rng.randint(10, 50)

    def fails() -> None:
        for i in range(repeats):
            middle = w * 2

            def hook(_: Tensor, i: int = i) -> None:
                raise KeyError(i)

            middle.register_hook(hook)
            try:
                (middle * middle).sum().backward()
            except KeyError as error:
                check(error.args == (i,), f"failing_hooks: {error!r}")
            else:
                raise StressError("failing_hooks: the hook's exception was lost")

    def works() -> None:
        for _ in range(repeats):
            (w * 3).sum().backward()

    together([fails, works, fails, works])
    check(gradient(w) == [6.0 * repeats] * 2, f"failing_hooks: {gradient(w)}")


def shared_failing_graph(rng: random.Random) -> None:
    """One shared graph whose hook raises at times: the graph stays usable."""
    w = leaf([2.0])
    middle = w * 3
    root = (middle * 1.0).sum()
    strikes = threading.Lock()
    left = [rng.randint(1, 20)]

    def hook(grad: Tensor) -> Tensor:
        with strikes:
            left[0] -= 1
            if left[0] % 3 == 0:
                raise ValueError("struck")
        return grad

    handle = middle.register_hook(hook)
    passed: list[int] = []

    def body() -> None:
        for _ in range(10):
            try:
                root.backward(retain_graph=True)
                passed.append(1)
            except ValueError as error:
                check(str(error) == "struck", f"shared_failing_graph: {error!r}")

    together([body] * THREADS)
    handle.remove()
    root.backward(retain_graph=True)
    check(gradient(w) == [3.0 * (len(passed) + 1)], f"shared_failing_graph: {gradient(w)}, {len(passed)} passed")


def reentrant(rng: random.Random) -> None:
    """Hooks that run a backward inside the backward, in several threads."""
    w = leaf([1.0])
    depth = rng.randint(1, 20)

    def level(n: int) -> Tensor:
        y = w * 2
        if n > 0:

            def hook(grad: Tensor) -> Tensor:
                with cygrad.enable_grad():
                    level(n - 1).backward()
                return grad

            y.register_hook(hook)
        return y.sum()

    together([lambda: level(depth).backward()] * THREADS)
    check(gradient(w) == [2.0 * (depth + 1) * THREADS], f"reentrant: {gradient(w)} at depth {depth}")


def workers(rng: random.Random) -> None:
    """Branches of matrix products on worker threads give the same bits as on one thread."""
    n = 96
    values = [[float(rng.randint(-1, 1)) for _ in range(n)] for _ in range(n)]

    def run(threads: int, callers: int) -> list[float]:
        cygrad.set_num_threads(threads)
        w = cygrad.tensor(values, dtype=cygrad.float64, requires_grad=True)

        def body() -> None:
            root = None
            for k in range(8):
                branch = w * float(k % 3 - 1)
                for _ in range(2):
                    branch = (branch @ w).relu()
                root = branch.sum() if root is None else root + branch.sum()
            if root is not None:
                root.backward()

        together([body] * callers)
        return gradient(w)

    try:
        alone = run(1, 1)
        check(run(2, 1) == alone, "workers: two threads give other numbers than one")
        check(run(2, 2) == [2.0 * v for v in alone], "workers: two callers at once give other numbers")
        check(any(v != 0.0 for v in alone), "workers: all gradients are zero")
    finally:
        cygrad.set_num_threads(1)


def split_loops(rng: random.Random) -> None:
    """Loops and products of several threads are split over the same workers, while these run Nodes of a backward."""
    n = rng.randrange(66000, 140000)
    base = cygrad.arange(n, dtype=cygrad.float64)
    total = float(n) * (n - 1) / 2
    square = cygrad.ones(160, 160, dtype=cygrad.float64)

    def elements() -> None:
        for _ in range(3):
            check(float((base * 2 + 1).sum().item()) == 2 * total + n, "a part of a split loop was lost or done twice")

    def products() -> None:
        for _ in range(3):
            check(float((square @ square).sum().item()) == 160.0**3, "a part of a split product was lost or done twice")

    def gradients() -> None:
        w = leaf([1.0])
        sum((base * w).sum() for _ in range(4)).backward()
        check(gradient(w) == [4 * total], f"{gradient(w)} instead of {4 * total}")

    cygrad.set_num_threads(rng.choice((2, 3, 4)))
    try:
        together([elements, products, gradients, elements])
    finally:
        cygrad.set_num_threads(1)


def double_backward(_: random.Random) -> None:
    """Recorded backwards in several threads: the third derivative of a fourth power."""
    w = leaf([2.0])

    def body() -> None:
        y = (w * w * w * w).sum()
        (first,) = cygrad.autograd.grad(y, (w,), create_graph=True)
        (second,) = cygrad.autograd.grad(first.sum(), (w,), create_graph=True)
        second.sum().backward()

    together([body] * THREADS)
    check(gradient(w) == [48.0 * THREADS], f"double_backward: {gradient(w)}")
    gc.collect()


def deep(rng: random.Random) -> None:
    """Long chains run back and are freed without recursion."""
    w = leaf([1.0])
    length = rng.randint(1000, 20000)

    def body() -> None:
        y = w
        for _ in range(length):
            y = y + 1.0
        y.sum().backward()

    together([body, body])
    check(gradient(w) == [2.0], f"deep: {gradient(w)}")


def dropped(rng: random.Random) -> None:
    """Graphs are built and dropped while other threads run back over what they share."""
    w = leaf([1.0, 2.0])
    stem = w + 1.0
    repeats = rng.randint(10, 60)

    def builds() -> None:
        for _ in range(repeats):
            y = stem
            for _ in range(20):
                y = y * y
            del y

    def runs() -> None:
        for _ in range(repeats):
            (stem * 2.0).sum().backward()

    together([builds, runs, builds, runs])
    check(gradient(w) == [4.0 * repeats] * 2, f"dropped: {gradient(w)}")


def grad_read_meanwhile(rng: random.Random) -> None:
    """`.grad` is read and cleared by one thread while others add to it: a reader sees whole gradients alone."""
    w = leaf([0.0] * 7)
    repeats = rng.randint(20, 100)

    def adds() -> None:
        for _ in range(repeats):
            (w * 5.0).sum().backward()

    def reads() -> None:
        for _ in range(repeats):
            seen = w.grad
            if seen is not None:
                check(seen.shape == (7,), f"grad_read_meanwhile: {seen.shape}")

    together([adds, reads, adds, reads])
    check(gradient(w) == [10.0 * repeats] * 7, f"grad_read_meanwhile: {gradient(w)}")


def own_graphs(rng: random.Random) -> None:
    """Each of eight threads runs back over a graph of its own, small ones and such as worker threads are woken for."""
    cygrad.set_num_threads(2)
    sizes = [rng.choice((3, 3, 20_000)) for _ in range(8)]

    def body(size: int) -> None:
        a, b = leaf([2.0] * size), leaf([1.0] * size)
        root = sum(((a * b) * (b * float(k)) for k in range(4)), start=a * 1.0).sum()
        for _ in range(5):
            root.backward(retain_graph=True)
        check(set(gradient(a)) == {5 * (1.0 + 6.0)}, "own_graphs: gradient of a")
        check(set(gradient(b)) == {5 * 2 * 2 * 6.0}, "own_graphs: gradient of b")

    try:
        together([lambda size=size: body(size) for size in sizes])  # type: ignore[misc]
    finally:
        cygrad.set_num_threads(1)


def packed_meanwhile(rng: random.Random) -> None:
    """Hooks are put on the saved tensors of a graph while other threads run back over it."""
    w = leaf([1.0, 2.0, 3.0])
    factors = [cygrad.tensor([float(rng.randrange(1, 4))] * 3, dtype=cygrad.float64) for _ in range(60)]
    roots = [(w * factor) * (w * 1.0) for factor in factors]
    total = sum(roots[1:], start=roots[0]).sum()
    scale = sum(f.tolist()[0] for f in factors)

    def run() -> None:
        for _ in range(8):
            (found,) = cygrad.autograd.grad(total, w, retain_graph=True)
            check(found.tolist() == [2 * scale * k for k in (1.0, 2.0, 3.0)], "packed_meanwhile: gradient")

    def pack() -> None:
        for root in roots:
            for saved in ("_raw_saved_self", "_raw_saved_other"):
                getattr(root.grad_fn, saved).register_hooks(lambda t: t, lambda t: t)

    together([run, run, run, pack])


def tangents(rng: random.Random) -> None:
    """Threads push tangents through shared tensors and pull cotangents that carry some back, in one dual level."""
    shared = leaf([1.0, 2.0, 3.0])
    factor = float(rng.randrange(1, 5))
    with forward_ad.dual_level():
        root_of = forward_ad.make_dual(shared, cygrad.full((3,), factor, dtype=cygrad.float64))
        root = (root_of * root_of * root_of).sum()

        def push() -> None:
            for k in range(20):
                x = forward_ad.make_dual(shared.detach(), cygrad.full((3,), float(k), dtype=cygrad.float64))
                y = x * x + x
                y[1:] *= 2.0
                found = forward_ad.unpack_dual(y).tangent
                expected = [3.0 * k, 10.0 * k, 14.0 * k]
                check(found is not None and found.tolist() == expected, f"tangents: {found} for {expected}")

        def pull() -> None:
            for _ in range(10):
                (grad,) = cygrad.autograd.grad(root, shared, retain_graph=True)
                check(grad.tolist() == [3.0, 12.0, 27.0], f"tangents: gradient {grad}")
                found = forward_ad.unpack_dual(grad).tangent
                expected = [6.0 * v * factor for v in (1.0, 2.0, 3.0)]
                check(found is not None and found.tolist() == expected, f"tangents: {found} for {expected}")

        together([push, pull, push, pull])


def level_left_meanwhile(_: random.Random) -> None:
    """The dual level ends and begins again while other threads compute in it: a tangent is right, or it is gone."""
    done = threading.Event()
    x = cygrad.tensor([1.0, 2.0], dtype=cygrad.float64)
    direction = cygrad.tensor([1.0, 3.0], dtype=cygrad.float64)

    def leave() -> None:
        for _ in range(10):
            with forward_ad.dual_level():
                time.sleep(0)
        done.set()

    def push() -> None:
        while not done.is_set():
            try:
                y = forward_ad.make_dual(x, direction).exp().log() * 2.0
                found = forward_ad.unpack_dual(y).tangent
            except RuntimeError as error:
                check("level" in str(error), f"level_left_meanwhile: {error}")
                continue
            close = found is None or max(abs(a - b) for a, b in zip(found.tolist(), (2.0, 6.0), strict=True)) < 1e-12
            check(close, f"level_left_meanwhile: {found}")

    together([leave, push, push, push])


def forked(_: random.Random) -> None:
    """A child made after worker threads ran computes a right gradient and ends."""
    if not hasattr(os, "fork"):
        return
    w = leaf([1.0, 2.0])
    (w * w).sum().backward()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            v = leaf([3.0, 4.0])
            (v * v * v).sum().backward()
            (w * 1.0).sum().backward()
            status = 0 if gradient(v) == [27.0, 48.0] and gradient(w) == [3.0, 5.0] else 2
        finally:
            os._exit(status)
    deadline = time.monotonic() + 60
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            check(os.waitstatus_to_exitcode(status) == 0, f"forked: the child ended with {status}")
            return
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise StressError("forked: the child hung")
        time.sleep(0.005)


CASES: tuple[Callable[[random.Random], None], ...] = (
    shared_leaf,
    shared_graph,
    one_wins,
    random_graphs,
    failing_hooks,
    shared_failing_graph,
    reentrant,
    workers,
    split_loops,
    double_backward,
    deep,
    dropped,
    grad_read_meanwhile,
    own_graphs,
    packed_meanwhile,
    tangents,
    level_left_meanwhile,
    forked,
)


def leftovers(before: dict[str, int]) -> dict[str, int]:
    """What lives now beyond what lived before."""
    gc.collect()
    now = live_objects()
    return {name: count - before[name] for name, count in now.items() if count > before[name]}


def main() -> int:
    """Run rounds until the time is over; at least one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("seconds", type=float, help="start no new case after this time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="the name of one case")
    options = parser.parse_args()
    cygrad.set_num_threads(1)
    cases = [case for case in CASES if options.only in (None, case.__name__)]
    end = time.monotonic() + options.seconds
    ran = 0
    rounds = 0
    before = None
    while rounds == 0 or time.monotonic() < end:
        for case in cases:
            if rounds and time.monotonic() > end:
                break
            seed = options.seed * 1_000_003 + rounds
            try:
                case(random.Random(seed))
            except Exception:
                print(f"engine_stress: {case.__name__}, round {rounds}, --seed {options.seed} failed", file=sys.stderr)
                raise
            ran += 1
        rounds += 1
        if before is None:
            # The first round made what lives as long as the process.
            gc.collect()
            before = live_objects()
    left = leftovers(before or {})
    check(not left, f"still alive at the end: {left}")
    print(f"engine_stress: {ran} cases in {rounds} rounds held")
    return 0


if __name__ == "__main__":
    sys.exit(main())
