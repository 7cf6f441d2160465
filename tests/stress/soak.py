"""Trains, fails, forks and re-enters at random for a given time; resident memory stays flat, nothing is left alive.

Why it exists: leaks of a few bytes a failure and races that need hours show in no unit test. A plain script of cygrad
alone, as engine_stress.py is.

    python tests/stress/soak.py SECONDS [--seed N]

Exit status 0: every step gave the numbers it had to give, the live counters came back to their start after every
round, and resident memory did not grow beyond what the first tenth of the time needed.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import cygrad
from cygrad import Tensor
from cygrad._core.memory import _fail_allocation, live_objects

# What recycled blocks, Python's own pools and thread stacks may add to the resident memory of the first tenth.
SLACK = 48 << 20


class SoakError(Exception):
    """Something was not what it has to be."""


def check(condition: bool, message: str) -> None:
    """Raise SoakError with the message unless the condition holds; unlike `assert`, under `python -O` too."""
    if not condition:
        raise SoakError(message)


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def leaf(*values: float) -> Tensor:
    """A float64 leaf that requires grad."""
    return cygrad.tensor(list(values), dtype=cygrad.float64, requires_grad=True)


def gradient(t: Tensor) -> list[float]:
    """The gradient's elements; SoakError where there is none."""
    found = t.grad
    if found is None:
        raise SoakError("a leaf got no gradient")
    return [float(v) for v in found.reshape(-1).tolist()]


# ---- what happens in a round ---------------------------------------------------------------------


def training(rng: random.Random) -> None:
    """Least squares by gradient descent: the loss falls."""
    n, features = rng.randint(2, 40), rng.randint(1, 8)
    data = [[rng.uniform(-1, 1) for _ in range(features)] for _ in range(n)]
    x = cygrad.tensor(data, dtype=cygrad.float64)
    y = cygrad.tensor([[sum(row)] for row in data], dtype=cygrad.float64)
    w = cygrad.zeros(features, 1, dtype=cygrad.float64, requires_grad=True)
    losses: list[float] = []
    for _ in range(rng.randint(5, 30)):
        loss = ((x @ w - y) ** 2).mean()
        w.grad = None
        loss.backward()
        losses.append(float(loss.item()))
        with cygrad.no_grad():
            w.sub_(w.grad * 0.05 if w.grad is not None else 0.0)
    check(losses[-1] <= losses[0], f"training: the loss went from {losses[0]} to {losses[-1]}")


def recurrent(rng: random.Random) -> None:
    """A long chain with a known derivative, run twice."""
    w = leaf(1.0)
    y = w
    steps = rng.randint(10, 2000)
    for _ in range(steps):
        y = y * 1.0 + w * 0.0
    root = y.sum()
    root.backward(retain_graph=True)
    root.backward()
    check(gradient(w) == [2.0], f"recurrent: {gradient(w)}")


def out_of_memory(rng: random.Random) -> None:
    """Some allocation of a step fails; the next step is right."""
    w = leaf(1.0, 2.0, 3.0)

    def step() -> None:
        y = (w * w + w.exp() * 0.0).reshape(3, 1).expand(3, 2)
        (y * 0.5).sum().backward()

    _fail_allocation(rng.randint(1, 60))
    try:
        step()
    except MemoryError:
        pass
    finally:
        _fail_allocation(0)
    w.grad = None
    step()
    check(gradient(w) == [2.0, 4.0, 6.0], f"out_of_memory: {gradient(w)}")


def failing_hook(rng: random.Random) -> None:
    """A hook raises somewhere in a graph."""
    w = leaf(1.0)
    y = w
    strike = rng.randint(0, 20)

    def hook(_: Tensor) -> None:
        raise KeyError("soak")

    for k in range(21):
        y = y * 2.0
        if k == strike:
            y.register_hook(hook)
    try:
        y.sum().backward()
    except KeyError:
        check(w.grad is None, "failing_hook: the gradient went past the hook")
    else:
        raise SoakError("failing_hook: the exception was lost")


def nested(rng: random.Random) -> None:
    """Backwards inside of backwards, at times past the depth of one thread."""
    w = leaf(1.0)
    depth = rng.choice((1, 5, 70, 150))

    def level(n: int) -> Tensor:
        with cygrad.enable_grad():
            y = w * 2.0
        if n > 0:
            y.register_hook(lambda _: level(n - 1).backward())
        with cygrad.enable_grad():
            return y.sum()

    level(depth).backward()
    check(gradient(w) == [2.0 * (depth + 1)], f"nested: {gradient(w)} at {depth}")


def together(rng: random.Random) -> None:
    """Threads add to one leaf, plainly, through hooks and recorded."""
    w = leaf(1.0)
    repeats = rng.randint(1, 20)

    def plain() -> None:
        for _ in range(repeats):
            (w * 2.0).sum().backward()

    def hooked() -> None:
        for _ in range(repeats):
            y = w * 3.0
            y.register_hook(lambda grad: grad)
            y.sum().backward()

    def grads() -> None:
        for _ in range(repeats):
            (g,) = cygrad.autograd.grad((w * w * w).sum(), w, create_graph=True)
            (h,) = cygrad.autograd.grad(g.sum(), w)
            check(h.item() == 6.0, f"together: second derivative {h}")

    run_in_threads([plain, hooked, grads, plain])
    check(gradient(w) == [7.0 * repeats], f"together: {gradient(w)}")


def run_in_threads(bodies: list[Callable[[], None]]) -> None:
    """Run the bodies in threads; the first failure is raised here."""
    failures: list[BaseException] = []

    def run(body: Callable[[], None]) -> None:
        try:
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


def workers(rng: random.Random) -> None:
    """Branches of matrix products on two threads."""
    n = rng.randint(60, 120)
    cygrad.set_num_threads(2)
    try:
        w = cygrad.ones(n, n, dtype=cygrad.float64, requires_grad=True)
        branches = [(w @ w) * float(k) for k in range(6)]
        cygrad.stack(branches).sum().backward()
        check(gradient(w) == [2.0 * n * 15] * (n * n), "workers: a gradient is wrong")
    finally:
        cygrad.set_num_threads(1)


def forked(rng: random.Random) -> None:
    """A child computes a gradient and ends."""
    w = leaf(rng.uniform(1, 2))
    root = (w * w).sum()
    root.backward(retain_graph=True)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            w.grad = None
            root.backward()
            status = 0 if gradient(w) == [2.0 * float(w.item())] else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    check(os.waitstatus_to_exitcode(status) == 0, f"forked: {status}")


CASES: tuple[Callable[[random.Random], None], ...] = (
    training,
    training,
    recurrent,
    out_of_memory,
    failing_hook,
    nested,
    together,
    workers,
    forked,
)


def main() -> int:
    """Run random cases until the time is over."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cygrad.set_num_threads(1)
    rng = random.Random(options.seed)
    for case in CASES:
        case(rng)
    gc.collect()
    before = live_objects()
    started = time.monotonic()
    settled = 0
    largest = 0
    rounds = 0
    while time.monotonic() - started < options.seconds:
        case = rng.choice(CASES)
        try:
            case(rng)
        except BaseException:
            print(f"soak: {case.__name__}, round {rounds}, --seed {options.seed} failed", file=sys.stderr)
            raise
        rounds += 1
        if rounds % 50:
            continue
        gc.collect()
        now = live_objects()
        check(now == before, f"soak: after round {rounds}, --seed {options.seed}: {now} alive, {before} at the start")
        if time.monotonic() - started < options.seconds / 10:
            settled = max(settled, resident())
        else:
            largest = max(largest, resident())
    grown = f"{settled >> 20} MiB resident early, at most {largest >> 20} MiB later"
    check(settled == 0 or largest <= settled + SLACK, f"soak: {grown}")
    print(f"soak: {rounds} cases held; {grown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
