"""Backward inside of backward, final order, accumulation, threads and processes around a running backward.

Why it exists: these are the ways in which one engine run meets another, or meets the end of its thread or process.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from types import ModuleType

import pytest
from support import assert_agrees, assert_same_refusal, node_name, run_python

import cygrad
import cygrad.utils.checkpoint
from cygrad.autograd import Function
from cygrad.autograd.function import FunctionCtx

Call = Callable[[ModuleType], object]


def leaf(m: ModuleType, *values: float) -> cygrad.Tensor:
    """A float64 leaf that requires grad."""
    made: cygrad.Tensor = m.tensor(list(values) or [1.0, 2.0, 3.0], dtype=m.float64, requires_grad=True)
    return made


def nested(m: ModuleType, w: cygrad.Tensor, depth: int) -> cygrad.Tensor:
    """A root whose backward runs `depth` further ones inside of it, each of which adds 2 to the gradient of `w`."""
    with m.enable_grad():
        y = w * 2
    if depth > 0:

        def hook(grad: cygrad.Tensor) -> cygrad.Tensor:
            nested(m, w, depth - 1).backward()
            return grad

        y.register_hook(hook)
    with m.enable_grad():
        root: cygrad.Tensor = y.sum()
    return root


@pytest.mark.parametrize("depth", [1, 59, 60, 61, 130, 2000])
def test_hooks_nest_thousands_of_levels(depth: int) -> None:
    w = leaf(cygrad, 1.0)
    nested(cygrad, w, depth).backward()
    assert w.grad is not None
    assert w.grad.tolist() == [2.0 * (depth + 1)]


def test_functions_nest_thousands_of_levels() -> None:
    """cases.md: backward called inside a backward, 2,000 levels deep; the outer gradient is 1."""

    class Deep(Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: cygrad.Tensor, depth: int) -> cygrad.Tensor:
            ctx.depth = depth  # type: ignore[attr-defined]
            return x.clone()

        @staticmethod
        def backward(ctx: FunctionCtx, grad: cygrad.Tensor) -> tuple[cygrad.Tensor, None]:
            depth: int = ctx.depth  # type: ignore[attr-defined]
            if depth > 0:
                inner = leaf(cygrad, 1.0)
                with cygrad.enable_grad():
                    root = Deep.apply(inner, depth - 1)
                    assert isinstance(root, cygrad.Tensor)
                    root.sum().backward()
                assert inner.grad is not None and inner.grad.item() == 1.0
            return grad, None

    outer = leaf(cygrad, 1.0)
    root = Deep.apply(outer, 2000)
    assert isinstance(root, cygrad.Tensor)
    root.sum().backward()
    assert outer.grad is not None
    assert outer.grad.tolist() == [1.0]


def test_nested_in_several_threads() -> None:
    w = leaf(cygrad, 1.0)
    failures: list[BaseException] = []

    def body() -> None:
        try:
            nested(cygrad, w, 200).backward()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert w.grad is not None
    assert w.grad.tolist() == [2.0 * 201 * 4]


def test_exception_from_the_deepest_level_arrives_unchanged() -> None:
    w = leaf(cygrad, 1.0)
    raised = ValueError("deep")

    def level(n: int) -> cygrad.Tensor:
        with cygrad.enable_grad():
            y = w * 2

        def hook(grad: cygrad.Tensor) -> None:
            if n == 0:
                raise raised
            level(n - 1).backward()

        y.register_hook(hook)
        with cygrad.enable_grad():
            return y.sum()

    with pytest.raises(ValueError, match="deep") as caught:
        level(150).backward()
    assert caught.value is raised
    assert w.grad is None
    raised.__traceback__ = None
    del caught
    w.sum().backward()
    assert w.grad is not None


def test_modes_reach_the_thread_that_takes_over() -> None:
    w = leaf(cygrad, 1.0)
    seen: list[tuple[bool, bool]] = []

    def level(n: int) -> cygrad.Tensor:
        with cygrad.enable_grad():
            y = w * 2

        def hook(grad: cygrad.Tensor) -> None:
            if n == 0:
                seen.append((cygrad.is_grad_enabled(), cygrad.autograd.is_multithreading_enabled()))
            else:
                level(n - 1).backward()

        y.register_hook(hook)
        with cygrad.enable_grad():
            return y.sum()

    with cygrad.autograd.set_multithreading_enabled(False):
        level(100).backward()
    assert seen == [(False, False)]
    assert cygrad.autograd.is_multithreading_enabled()


def levels(w: cygrad.Tensor, depth: int, innermost: Callable[[], object]) -> cygrad.Tensor:
    """A root whose backward runs backwards inside of each other, and the call in the last of them."""
    with cygrad.enable_grad():
        y = w * 2

    def hook(grad: cygrad.Tensor) -> None:
        if depth == 0:
            innermost()
        else:
            levels(w, depth - 1, innermost).backward()

    y.register_hook(hook)
    with cygrad.enable_grad():
        return y.sum()


def test_saved_tensor_hooks_reach_the_thread_that_takes_over() -> None:
    w = leaf(cygrad, 1.0)
    packed: list[float] = []

    def pack(t: cygrad.Tensor) -> cygrad.Tensor:
        packed.append(t.item())
        return t

    def innermost() -> None:
        with cygrad.enable_grad():
            w * (w + 4)

    root = levels(w, 150, innermost)
    with cygrad.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        root.backward()
    assert packed == [5.0, 1.0]
    w * w
    assert packed == [5.0, 1.0]


def test_refused_hooks_and_settings_reach_the_thread_that_takes_over() -> None:
    w = leaf(cygrad, 1.0)
    runs: list[int] = []

    def part(x: cygrad.Tensor) -> cygrad.Tensor:
        y = x.exp().sin()
        runs.append(1)
        return y

    def innermost() -> None:
        with pytest.raises(RuntimeError, match="not here"), cygrad.autograd.graph.saved_tensors_hooks(id, id):
            runs.append(-1)

    def checkpointed() -> None:
        with cygrad.enable_grad():
            y = cygrad.utils.checkpoint.checkpoint(part, w, use_reentrant=False).sum()
        y.backward()

    with cygrad.autograd.graph.disable_saved_tensors_hooks("not here"):
        levels(w, 70, innermost).backward()
    with cygrad.utils.checkpoint.set_checkpoint_early_stop(False):
        levels(w, 70, checkpointed).backward()
    assert runs == [1, 1]
    levels(w, 70, checkpointed).backward()
    assert runs == [1, 1, 1]  # the recomputation stops before the function's last line


def test_anomaly_mode_knows_the_outer_node_on_the_thread_that_takes_over() -> None:
    w = leaf(cygrad, 1.0)
    parents: list[str] = []

    def innermost() -> None:
        with cygrad.enable_grad():
            node = (w * 2).grad_fn
        assert node is not None
        parent = node.metadata["parent_"]
        assert isinstance(parent, cygrad.autograd.Node)
        parents.append(parent.name())

    with cygrad.autograd.set_detect_anomaly(True):
        levels(w, 59, innermost).backward()
        levels(w, 60, innermost).backward()
    assert parents == ["MulBackward0", "MulBackward0"]


def test_reentrant_backward_over_the_same_graph() -> None:
    """The inner backward runs over Nodes that the outer one has claimed and not yet run."""

    def run(m: ModuleType) -> object:
        w = leaf(m, 3.0)
        stem = w * w
        inner = (stem * 2).sum()
        y = stem * 5
        y.register_hook(lambda grad: inner.backward(retain_graph=True))
        y.sum().backward(retain_graph=True)
        return w.grad

    assert_agrees(run)


def test_two_functions_take_one_lock_and_run_backward_inside() -> None:
    """cases.md: both finish; each gradient is as if run alone."""
    lock = threading.RLock()

    class Locked(Function):
        @staticmethod
        def forward(ctx: FunctionCtx, x: cygrad.Tensor) -> cygrad.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: FunctionCtx, grad: cygrad.Tensor) -> cygrad.Tensor:
            (x,) = ctx.saved_tensors
            assert x is not None
            with lock, cygrad.enable_grad():
                own = x.detach().requires_grad_()
                (own * own).sum().backward()
            assert own.grad is not None
            return grad * own.grad

    results: list[list[float]] = []

    def body() -> None:
        a, b = leaf(cygrad, 2.0), leaf(cygrad, 5.0)
        first, second = Locked.apply(a), Locked.apply(b)
        assert isinstance(first, cygrad.Tensor) and isinstance(second, cygrad.Tensor)
        (first + second).sum().backward()
        assert a.grad is not None and b.grad is not None
        results.append([a.grad.item(), b.grad.item()])

    cygrad.set_num_threads(2)
    threads = [threading.Thread(target=body) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [[4.0, 10.0]] * 4


CTRL_C_DEEP = """
import cygrad, os, signal, threading, time
w = cygrad.ones(1, requires_grad=True)
reached = threading.Event()
def level(n):
    with cygrad.enable_grad():
        y = w * 2
    def hook(grad):
        if n == 0:
            reached.set()
            while True:
                time.sleep(0.01)
        level(n - 1).backward()
    y.register_hook(hook)
    with cygrad.enable_grad():
        return y.sum()
def interrupt():
    reached.wait()
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    level(150).backward()
except KeyboardInterrupt:
    print("interrupted")
assert w.grad is None, w.grad
(w * 3).sum().backward()
assert w.grad.item() == 3.0
"""


def test_ctrl_c_reaches_the_deepest_level() -> None:
    assert run_python(CTRL_C_DEEP).strip() == "interrupted"


HEAVY_CTRL_C = """
import cygrad, os, signal, threading, time
cygrad.set_num_threads({threads})
x = cygrad.ones(700, 700, requires_grad=True)
y = x
for _ in range(200):
    y = (y @ x) * 1e-3
root = y.sum()
def interrupt():
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    while True:
        root.backward(retain_graph=True)
except KeyboardInterrupt:
    print("interrupted")
x.grad = None
(x * 2).sum().backward()
assert x.grad[0, 0].item() == 2.0
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_between_heavy_nodes(threads: int) -> None:
    assert run_python(HEAVY_CTRL_C.format(threads=threads)).strip() == "interrupted"


FORK_IN_HOOK = """
import os, sys
import cygrad
cygrad.set_num_threads(2)
x = cygrad.ones(128, 128, dtype=cygrad.float64, requires_grad=True)
branches = [(x @ x).tanh() * 1.0 for _ in range(8)]
pids = []
def hook(grad):
    if not pids:
        pids.append(os.fork())
branches[3].register_hook(hook)
try:
    cygrad.stack(branches).sum().backward()
    status = 0
except RuntimeError as error:
    status = 0 if "forked" in str(error) and pids[0] == 0 else 3
if pids[0] == 0:
    y = cygrad.ones(3, requires_grad=True)
    (y * y).sum().backward()
    (x[:1, :1] * 0).sum().backward()
    os._exit(status if y.grad.tolist() == [2.0] * 3 else 4)
assert status == 0
_, status = os.waitpid(pids[0], 0)
print(os.waitstatus_to_exitcode(status))
"""


def test_fork_inside_a_hook() -> None:
    """The child goes on alone, or is told that a part of the backward stayed behind; it never hangs or crashes."""
    assert run_python(FORK_IN_HOOK, timeout=120).strip() == "0"


FORK_MEANWHILE = """
import os, threading, time
import cygrad
cygrad.set_num_threads(2)
w = cygrad.ones(200, dtype=cygrad.float64, requires_grad=True)
middle = (w * w).exp()
root = (middle * middle).sum()
stop = threading.Event()
def work():
    while not stop.is_set():
        root.backward(retain_graph=True)
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
bad = 0
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        # locks and claims that the other threads held are void here
        signal = __import__("signal"); signal.alarm(20)
        w.grad = None
        root.backward(retain_graph=True)
        root.backward()
        os._exit(0 if w.grad is not None else 1)
    _, status = os.waitpid(pid, 0)
    bad += os.waitstatus_to_exitcode(status) != 0
stop.set()
for t in threads: t.join()
print(bad)
"""


def test_fork_while_other_threads_run_backward() -> None:
    assert run_python(FORK_MEANWHILE, timeout=300).strip() == "0"


DAEMON = """
import threading, time
import cygrad
cygrad.set_num_threads({threads})
x = cygrad.ones(60, 60, requires_grad=True)
y = x
for _ in range(300):
    y = (y @ x) * 1e-2
y.register_hook({hook})
root = y.sum()
def work():
    while True:
        root.backward(retain_graph=True)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("end")
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("hook", ["lambda grad: None", "lambda grad: time.sleep(0.01)"], ids=["short", "sleeping"])
def test_the_interpreter_exits_while_daemon_threads_run_backward(threads: int, hook: str) -> None:
    assert run_python(DAEMON.format(threads=threads, hook=hook), timeout=60).strip() == "end"


PRODUCTS_IN_DAEMONS = """
import threading, time
import cygrad
cygrad.set_num_threads(2)
a = cygrad.ones({n}, {n}, dtype=cygrad.{dtype}, requires_grad={leaf})
v = cygrad.ones({n}, dtype=cygrad.{dtype})
def work():
    while True:
        {product}
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end")
"""


@pytest.mark.parametrize(
    ("dtype", "n", "leaf", "product"),
    [
        ("float32", 1500, False, "a @ a"),
        ("complex128", 700, False, "a @ a"),
        ("float64", 700, True, "(a @ a).sum().backward()"),
        ("float64", 3000, True, "(a @ v).sum().backward()"),
    ],
    ids=["forward", "complex", "backward", "vector"],
)
def test_the_interpreter_exits_while_daemon_threads_multiply(dtype: str, n: int, leaf: bool, product: str) -> None:
    # OpenBLAS frees its memory while the process exits: nobody may be inside then (Note [BLAS at exit])
    program = PRODUCTS_IN_DAEMONS.format(dtype=dtype, n=n, leaf=leaf, product=product)
    assert [run_python(program, timeout=60).strip() for _ in range(3)] == ["end"] * 3


NO_THREADS = """
import resource, threading
import cygrad
cygrad.set_num_threads(4)
x = cygrad.ones(200, 200, dtype=cygrad.float64, requires_grad=True)
def branches():
    return cygrad.stack([(x @ x) * 0.5 for _ in range(6)]).sum()
root = branches()
w = cygrad.ones(1, requires_grad=True)
def level(n):
    with cygrad.enable_grad():
        y = w * 2
    if n:
        y.register_hook(lambda grad: level(n - 1).backward())
    with cygrad.enable_grad():
        return y.sum()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
threading.stack_size(1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), resource.RLIM_INFINITY))
resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, resource.RLIM_INFINITY))
try:
    threading.Thread(target=print).start()
except RuntimeError:
    print("no thread to be had")
root.backward()
assert x.grad[0, 0].item() == 6 * 0.5 * 400, x.grad[0, 0]
level(70).backward()
assert w.grad.item() == 142.0
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS and /proc are Linux's")
def test_backward_where_no_thread_can_be_started() -> None:
    assert run_python(NO_THREADS).strip() == "no thread to be had"


PARTS = """
import cygrad._core.tensor as tensor
x = tensor.Tensor()
for name, call in {
    "add": lambda: x + x,
    "neg": lambda: -x,
    "compare": lambda: x < x,
    "item": lambda: x[0],
    "set": lambda: x.__setitem__(0, 1),
}.items():
    try:
        call()
    except RuntimeError as error:
        assert "import the package" in str(error), error
    else:
        raise SystemExit(name)
print("refused")
"""


def test_compiled_modules_without_the_package_refuse() -> None:
    """A table of operations that is not filled yet raises; it used to crash."""
    program = (
        "import sys, types, importlib.util, pathlib\n"
        "root = pathlib.Path(importlib.util.find_spec('cygrad').origin).parent\n"
        "for name, path in (('cygrad', root), ('cygrad._core', root / '_core')):\n"
        "    package = types.ModuleType(name)\n"
        "    package.__path__ = [str(path)]\n"
        "    sys.modules[name] = package\n"
    )
    assert run_python(program + PARTS).strip() == "refused"


# ---- what inputs= and captures give ----------------------------------------------------------------------------------


def hooked(m: ModuleType, inputs: Callable[[cygrad.Tensor, cygrad.Tensor], list[cygrad.Tensor]]) -> object:
    """Gradients of tensors of which one has a hook."""
    x = leaf(m)
    middle = x * 2
    middle.register_hook(lambda grad: grad * 10)
    return m.autograd.grad((middle * 3).sum(), inputs(middle, x))


def retaining(m: ModuleType) -> object:
    """backward(inputs=[non-leaf]) retains the gradient from then on."""
    x = leaf(m)
    y = x * x
    y.sum().backward(inputs=[y])
    return [y.grad, y.retains_grad, x.grad]


def executed(m: ModuleType) -> object:
    """The grad_fn of an accumulated input runs, and frees what it saved."""
    x = leaf(m)
    y = x * x
    y.sum().backward(inputs=[y])
    return y.sum().backward()


def unreached_view(m: ModuleType) -> object:
    """A view whose base came to require grad later has no place in the graph."""
    base = m.zeros(3, dtype=m.float64)
    view = base[0]
    base.requires_grad_()
    return [view.requires_grad, m.autograd.grad((base * 1).sum(), view, allow_unused=True)]


def recorded_backward(root: cygrad.Tensor) -> None:
    """A backward with create_graph=True, which warns of the cycle that tests break themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root.backward(create_graph=True)


def plain_backward(root: cygrad.Tensor) -> None:
    root.backward()


def accumulated(m: ModuleType, make: Callable[[ModuleType], cygrad.Tensor], create_graph: bool = False) -> object:
    """Strides of the gradient, the name of its Node, and its values."""
    w = make(m).detach().requires_grad_()
    run = recorded_backward if create_graph else plain_backward
    run((w * w * w).sum())
    grad = w.grad
    assert grad is not None
    w.grad = None
    name = node_name(grad)
    return [list(grad.stride()), name, grad.detach()]


def counted(m: ModuleType, *shape: int) -> cygrad.Tensor:
    made: cygrad.Tensor = m.arange(1.0, 1.0 + 12, dtype=m.float64).reshape(shape)
    return made


LAYOUTS: dict[str, Callable[[ModuleType], cygrad.Tensor]] = {
    "contiguous": lambda m: counted(m, 3, 4),
    "transposed": lambda m: counted(m, 3, 4).t(),
    "strided": lambda m: counted(m, 3, 4)[:, ::2],
    "permuted": lambda m: counted(m, 2, 3, 2).permute(2, 0, 1),
    "scalar": lambda m: counted(m, 12)[3],
}


def in_place_on_held(m: ModuleType) -> object:
    """A backward that records nothing adds to a .grad in place, whatever that .grad is."""
    x = leaf(m)
    recorded_backward((x**3).sum())
    held = x.grad
    (x**3).sum().backward()
    assert held is not None
    result = [x.grad is held, held.grad_fn is not None, held._version, held.detach()]
    x.grad = None
    return result


def held_leaf(m: ModuleType) -> object:
    """A .grad that requires grad itself is written all the same."""
    x = leaf(m)
    x.grad = m.ones(3, dtype=m.float64, requires_grad=True)
    held = x.grad
    (x * 2).sum().backward()
    return [x.grad is held, held.detach()]


def replaced_sum(m: ModuleType) -> object:
    """A recorded backward replaces .grad by the recorded sum."""
    x = leaf(m)
    recorded_backward((x**3).sum())
    held = x.grad
    recorded_backward((x**3).sum())
    assert x.grad is not None
    result = [x.grad is held, node_name(x.grad), x.grad.detach()]
    x.grad = None
    return result


AGREED: dict[str, Call] = {
    "captured and run, with a hook": lambda m: hooked(m, lambda middle, x: [middle, x]),
    "captured alone, with a hook": lambda m: hooked(m, lambda middle, x: [middle]),
    "backward retains an inner input": retaining,
    "a view without a place": unreached_view,
    "in place on what is held": in_place_on_held,
    "in place on a leaf that is held": held_leaf,
    "recorded sum": replaced_sum,
    **{f"layout, {n}": partial(accumulated, make=f) for n, f in LAYOUTS.items()},
    **{f"recorded layout, {n}": partial(accumulated, make=f, create_graph=True) for n, f in LAYOUTS.items()},
}


@pytest.mark.parametrize("name", AGREED)
def test_agrees(name: str) -> None:
    assert_agrees(AGREED[name])


def placeless(m: ModuleType) -> object:
    """A root whose base came to require grad after the view was made."""
    base = m.zeros(3)
    view = base[0]
    base.requires_grad_()
    return view.backward()


def expanded(m: ModuleType) -> object:
    """A .grad that shows one number three times cannot be added to."""
    x = leaf(m)
    x.grad = m.ones(1, dtype=m.float64).expand(3)
    return x.sum().backward()


REFUSED: dict[str, Call] = {
    "freed by backward(inputs=)": executed,
    "root without a place": placeless,
    "gradient expanded": expanded,
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    assert_same_refusal(REFUSED[name])


@pytest.mark.filterwarnings("ignore:.*cycle")
def test_recorded_and_unrecorded_backwards_into_one_leaf_lose_nothing() -> None:
    """Threads add to one .grad in place and by replacing it."""
    w = leaf(cygrad, 1.0)
    repeats = 100

    def plain() -> None:
        for _ in range(repeats):
            (w * 2).sum().backward()

    def recorded() -> None:
        for _ in range(repeats):
            (w * 3).sum().backward(create_graph=True)

    def hooks() -> None:
        for _ in range(repeats):
            y = w * 5
            y.register_hook(lambda grad: None)
            y.sum().backward()

    threads = [threading.Thread(target=body) for body in (plain, recorded, hooks, plain)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.grad is not None
    assert w.grad.item() == (2 + 3 + 5 + 2) * repeats
    w.grad = None


def test_eight_threads_with_graphs_of_their_own() -> None:
    results: list[float] = []

    def body(k: int) -> None:
        w = leaf(cygrad, float(k))
        for _ in range(20):
            y = w
            for _ in range(50):
                y = y * 1.0 + w * 0.0
            y.sum().backward()
        assert w.grad is not None
        results.append(w.grad.item())

    threads = [threading.Thread(target=body, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [20.0] * 8


def test_a_hook_registered_while_its_node_waits_is_run() -> None:
    """As in torch: the Node is in the queue already when a hook of another Node adds a hook to it."""

    def run(m: ModuleType) -> object:
        x = leaf(m)
        first, second = x * 2, x * 3
        seen: list[bool] = []

        # `second` was made last and runs first
        def note(grad: cygrad.Tensor) -> None:
            seen.append(True)

        def add_hook(grad: cygrad.Tensor) -> None:
            first.register_hook(note)

        second.register_hook(add_hook)
        m.autograd.backward([first.sum(), second.sum()])
        return [seen, x.grad]

    assert_agrees(run)


def test_finalisers_that_use_the_graph_while_it_is_freed() -> None:
    """Freeing Nodes runs Python code, which records with a leaf whose AccumulateGrad waits to be freed."""
    program = """
import gc
import cygrad
from cygrad.autograd import Function
x = cygrad.ones(2, requires_grad=True)
class Late:
    def __del__(self):
        y = (x * x).sum()
        gc.collect()
        y.backward()
class F(Function):
    @staticmethod
    def forward(ctx, t):
        ctx.late = Late()
        return t * 1
    @staticmethod
    def backward(ctx, g):
        return g
for _ in range(50):
    y = x
    for _ in range(5):
        y = F.apply(y)
        y.grad_fn.metadata["self"] = 1
    del y
print(x.grad.tolist())
"""
    assert run_python(program).strip() == "[500.0, 500.0]"
