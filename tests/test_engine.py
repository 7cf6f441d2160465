"""The engine: what backward and grad take and refuse, deep and wide graphs, threads, exceptions, Ctrl-C and the gc.

Why it exists: the engine is the part that can crash, hang or lose an update; every test here is a way it could.
"""

from __future__ import annotations

import copy
import gc
import operator
import signal
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest
from support import assert_agrees, assert_same_refusal, let, run_python

import cygrad

Call = Callable[[ModuleType], object]
wrongly = operator.methodcaller  # calls that no type checker lets pass


def leaf(m: ModuleType, *values: float) -> cygrad.Tensor:
    """A float64 leaf that requires grad."""
    made: cygrad.Tensor = m.tensor(list(values) or [1.0, 2.0, 3.0], dtype=m.float64, requires_grad=True)
    return made


def after_backward(m: ModuleType, *args: object, **kwargs: object) -> object:
    """Gradient of sum(x * x) after a backward with these arguments."""
    x = leaf(m)
    m.autograd.backward((x * x).sum(), *args, **kwargs)
    return x.grad


def two_roots(m: ModuleType, cotangents: object) -> object:
    x = leaf(m)
    m.autograd.backward([x * 2, (x * x).sum()], cotangents)
    return x.grad


def ones(m: ModuleType, *shape: int) -> cygrad.Tensor:
    made: cygrad.Tensor = m.ones(shape, dtype=m.float64)
    return made


AGREED: dict[str, Call] = {
    "backward of nothing": lambda m: m.autograd.backward([]),
    "backward of a scalar": lambda m: after_backward(m),
    "backward with gradient": lambda m: after_backward(m, m.tensor(2.0, dtype=m.float64)),
    "backward with list of gradients": lambda m: after_backward(m, [m.tensor(2.0, dtype=m.float64)]),
    "backward with None": lambda m: after_backward(m, [None]),
    "backward of one element": lambda m: let(lambda x: [(x[:1] * 2).backward(), x.grad][1], leaf(m)),
    "backward of a leaf": lambda m: let(lambda x: [x.backward(), x.grad][1], leaf(m, 5.0)),
    "method with gradient": lambda m: let(lambda x: [(x * x).backward(ones(m, 3)), x.grad][1], leaf(m)),
    "method by keyword": lambda m: let(lambda x: [(x * x).backward(gradient=ones(m, 3)), x.grad][1], leaf(m)),
    "two backwards add up": lambda m: let(lambda x: [x.sum().backward(), (x * x).sum().backward(), x.grad][2], leaf(m)),
    "two roots": lambda m: two_roots(m, [ones(m, 3), None]),
    "root twice": lambda m: let(
        lambda x, y: [m.autograd.backward([y, y]), x.grad][1], *let(lambda x: (x, (x * x).sum()), leaf(m))
    ),
    "root and its own input": lambda m: let(
        lambda x, y: [m.autograd.backward([y, y * 2]), x.grad][1], *let(lambda x: (x, (x * x).sum()), leaf(m))
    ),
    "backward with inputs": lambda m: let(
        lambda x, w: [(x * w).sum().backward(inputs=[x]), x.grad, w.grad][1:], leaf(m), leaf(m)
    ),
    "backward with one input": lambda m: let(
        lambda x, w: [(x * w).sum().backward(inputs=x), x.grad, w.grad][1:], leaf(m), leaf(m)
    ),
    "backward with an inner input": lambda m: let(
        lambda x: let(lambda y: [(y * y).sum().backward(inputs=[y]), y.grad, x.grad][1:], x * 2), leaf(m)
    ),
    "grad": lambda m: m.autograd.grad((leaf(m) * 1).sum() + 0 * (x := leaf(m)).sum(), x),
    "grad of several": lambda m: let(lambda x, w: m.autograd.grad((x * w).sum(), [x, w]), leaf(m), leaf(m)),
    "grad of an inner tensor": lambda m: let(
        lambda x: let(lambda y: m.autograd.grad((y * y).sum(), [y, x]), x * 2), leaf(m)
    ),
    "grad of the root": lambda m: let(lambda y: m.autograd.grad(y, y), leaf(m).sum()),
    "grad of an input named twice": lambda m: let(lambda x: m.autograd.grad((x * x).sum(), [x, x]), leaf(m)),
    "grad with grad_outputs": lambda m: let(lambda x: m.autograd.grad(x * x, x, ones(m, 3)), leaf(m)),
    "grad with tuple of None": lambda m: let(
        lambda x: m.autograd.grad((x * x).sum(), x, grad_outputs=(None,)), leaf(m)
    ),
    "grad of several roots": lambda m: let(lambda x: m.autograd.grad([x.sum(), (x * x).sum()], [x]), leaf(m)),
    "grad allow_unused": lambda m: m.autograd.grad(leaf(m).sum(), leaf(m), allow_unused=True),
    "grad materialize": lambda m: [
        [g, g.requires_grad]
        for g in let(
            lambda x, w: m.autograd.grad((x * 2).sum(), [x, w], materialize_grads=True), leaf(m, 1.0), leaf(m, 1.0)
        )
    ],
    "grad leaves .grad alone": lambda m: let(lambda x: [m.autograd.grad(x.sum(), x), x.grad], leaf(m)),
    "grad create_graph": lambda m: let(
        lambda x: [g.requires_grad for g in m.autograd.grad((x * x).sum(), x, create_graph=True)], leaf(m)
    ),
    "grad of a part of the graph": lambda m: let(
        lambda x: let(lambda y: m.autograd.grad((y * x).sum(), y), x.exp()), leaf(m)
    ),
    "retain_graph for another root": lambda m: let(
        lambda x: let(lambda y: [y.sum().backward(retain_graph=True), (y * 2).sum().backward(), x.grad][2], x.exp()),
        leaf(m),
    ),
    "retained gradients": lambda m: let(
        lambda x: let(lambda y: [y.retain_grad(), (y * y).sum().backward(), y.grad, x.grad][2:], x * 2), leaf(m)
    ),
    "diamond": lambda m: let(
        lambda x: let(lambda y: [(y.sin() * y.cos() + y).sum().backward(), x.grad][1], x * x), leaf(m)
    ),
    "unused output of several": lambda m: let(lambda x: [x.unbind()[1].backward(), x.grad][1], leaf(m)),
    "max with both outputs": lambda m: let(lambda x: [x.max(0).values.backward(), x.grad][1], leaf(m)),
    "float32 root of float64 leaf": lambda m: let(lambda x: [x.float().sum().backward(), x.grad][1], leaf(m)),
    "complex root with gradient": lambda m: let(
        lambda x: [(x * 1j).backward(m.ones(3, dtype=m.complex128)), x.grad][1], leaf(m)
    ),
    "gradient is a new tensor": lambda m: let(
        lambda x, g: [x.backward(g), x.grad.data_ptr() == g.data_ptr(), g][1:], leaf(m), m.ones(3, dtype=m.float64)
    ),
    "empty tensors": lambda m: let(
        lambda x: [(x * 2).sum().backward(), x.grad][1], m.zeros(0, 3, dtype=m.float64, requires_grad=True)
    ),
    "expanded gradient": lambda m: let(
        lambda x: [x.expand(4, 3).sum().backward(), x.grad, x.grad.stride()][1:], leaf(m)
    ),
}


@pytest.mark.parametrize("name", AGREED)
def test_agrees(name: str) -> None:
    assert_agrees(AGREED[name])


REFUSED: dict[str, Call] = {
    "root without a graph": lambda m: m.ones(()).backward(),
    "root without grad": lambda m: m.autograd.backward(m.ones(1)),
    "root of several elements": lambda m: (leaf(m) * 2).backward(),
    "root of no element": lambda m: m.zeros(0, requires_grad=True).backward(),
    "complex scalar root": lambda m: (leaf(m) * 1j).sum().backward(),
    "root that is no tensor": lambda m: m.autograd.backward(3.0),
    "gradient of wrong shape": lambda m: (leaf(m) * 2).backward(ones(m, 2)),
    "gradient that would broadcast": lambda m: (leaf(m) * 2).backward(ones(m, 1)),
    "gradient that is a number": lambda m: wrongly("backward", 1.0)(leaf(m) * 2),
    "gradient of complex dtype": lambda m: (leaf(m) * 2).backward(m.ones(3, dtype=m.complex128)),
    "too few gradients": lambda m: m.autograd.backward([leaf(m).sum(), leaf(m).sum()], [None]),
    "empty inputs": lambda m: leaf(m).sum().backward(inputs=[]),
    "input without grad": lambda m: leaf(m).sum().backward(inputs=[m.ones(2)]),
    "input that is a number": lambda m: wrongly("backward", inputs=[1.0])(leaf(m).sum()),
    "grad of unused": lambda m: m.autograd.grad(leaf(m).sum(), leaf(m)),
    "grad of no-grad input": lambda m: m.autograd.grad(leaf(m).sum(), m.ones(2)),
    "grad with no inputs": lambda m: m.autograd.grad(leaf(m).sum(), []),
    "grad of number": lambda m: m.autograd.grad(leaf(m).sum(), 3),
    "grad of a non-scalar": lambda m: let(lambda x: m.autograd.grad(x * 2, x), leaf(m)),
    "grad materialize without allow_unused": lambda m: let(
        lambda x: m.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True), leaf(m)
    ),
    "grad after freeing": lambda m: let(
        lambda x: let(lambda y: [m.autograd.grad(y, x), m.autograd.grad(y, x)], x.exp().sum()), leaf(m)
    ),
    "unknown keyword": lambda m: wrongly("backward", keep_graph=True)(leaf(m).sum()),
    "grad of wrong cotangent shape": lambda m: let(lambda x: m.autograd.grad(x * 2, x, ones(m, 4)), leaf(m)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    assert_same_refusal(REFUSED[name])


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_leaves_the_engine_usable(name: str) -> None:
    with pytest.raises(Exception, match=r"\w{4}"):
        REFUSED[name](cygrad)
    x = leaf(cygrad)
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_refused_backward_writes_no_gradient() -> None:
    x, w = leaf(cygrad), leaf(cygrad)
    y = (x * w).sum()
    with pytest.raises(RuntimeError):
        cygrad.autograd.backward([y, x * 2])
    assert x.grad is None and w.grad is None
    y.backward()
    assert x.grad is not None


def test_deep_chain_builds_runs_back_and_frees() -> None:
    x = cygrad.ones(1, dtype=cygrad.float64, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1.0
    y.backward()
    assert x.grad is not None and x.grad.item() == 1.0
    del y
    z = x
    for _ in range(200_000):
        z = z * 1.0
    del z  # freed without a backward


def test_deep_chain_of_double_backward() -> None:
    x = cygrad.tensor(0.5, dtype=cygrad.float64, requires_grad=True)
    y = x
    for _ in range(3_000):
        y = y * 1.0 + 0.0 * y
    (slope,) = cygrad.autograd.grad(y * x, x, create_graph=True)
    (curvature,) = cygrad.autograd.grad(slope, x)
    assert slope.item() == pytest.approx(1.0)
    assert curvature.item() == pytest.approx(2.0)


def test_wide_graph() -> None:
    x = cygrad.ones(3, dtype=cygrad.float64, requires_grad=True)
    cygrad.stack([x * float(number) for number in range(5_000)]).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [12_497_500.0] * 3


def test_fibonacci_graph_runs_each_node_once() -> None:
    """2^49 paths, 70 nodes: whoever walks paths does not come back."""
    x = cygrad.ones((), dtype=cygrad.float64, requires_grad=True)
    a, b = x, x
    before, now = 1, 1
    for _ in range(70):
        a, b = b, a + b
        before, now = now, before + now
    b.backward()
    assert x.grad is not None and x.grad.item() == now


def test_results_are_the_same_on_any_number_of_threads() -> None:
    def gradient() -> list[float]:
        cygrad.manual_seed(0)
        x = cygrad.randn(64, 64, dtype=cygrad.float64).requires_grad_()
        branches = [(x @ x).tanh() @ x for _ in range(8)]
        cygrad.stack(branches).sum().backward()
        assert x.grad is not None
        found: list[float] = x.grad.reshape(-1).tolist()
        return found

    single = gradient()
    cygrad.set_num_threads(2)
    for _ in range(5):
        assert gradient() == pytest.approx(single, rel=1e-12)


def in_threads(work: Callable[[], None], count: int = 4) -> None:
    """Runs `work` at once in several threads; their exceptions reach the caller."""
    barrier = threading.Barrier(count)

    def start() -> None:
        barrier.wait()
        work()

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(start) for _ in range(count)]:
            future.result()


def test_threads_lose_no_update_of_a_shared_leaf() -> None:
    w = cygrad.zeros(3, dtype=cygrad.float64, requires_grad=True)

    def work() -> None:
        for _ in range(200):
            (w * 2).sum().backward()

    in_threads(work)
    assert w.grad is not None and w.grad.tolist() == [1600.0] * 3


def test_threads_share_one_graph() -> None:
    x = cygrad.ones(5, dtype=cygrad.float64, requires_grad=True)
    inner = (x * 3).exp().log()
    root = (inner * inner).sum()

    def work() -> None:
        for _ in range(100):
            root.backward(retain_graph=True)

    in_threads(work)
    assert x.grad is not None
    assert x.grad.tolist() == pytest.approx([400 * 18.0] * 5)


def test_threads_run_grad_over_shared_inner_nodes() -> None:
    x = cygrad.ones(4, dtype=cygrad.float64, requires_grad=True)
    inner = x * 2
    results: list[list[float]] = []

    def work() -> None:
        for number in range(50):
            (slope,) = cygrad.autograd.grad((inner * float(number)).sum(), x, retain_graph=True)
            results.append(slope.tolist())

    in_threads(work)
    assert sorted(results) == sorted([[2.0 * number] * 4 for number in range(50)] * 4)
    assert x.grad is None


def test_threads_build_and_free_their_own_graphs() -> None:
    def work() -> None:
        for number in range(100):
            x = cygrad.full((16,), float(number), dtype=cygrad.float64, requires_grad=True)
            y = x
            for _ in range(20):
                y = (y * 0.5).tanh() + x
            y.sum().backward()
            assert x.grad is not None

    in_threads(work)


def test_one_of_two_backwards_over_freed_memory_is_refused() -> None:
    """Both threads may start; whoever comes second finds the memory gone, and neither crashes."""
    for _ in range(50):
        x = cygrad.ones(4, dtype=cygrad.float64, requires_grad=True)
        root = x.exp().sin().sum()
        refused: list[RuntimeError] = []

        def work() -> None:
            try:
                root.backward()  # noqa: B023
            except RuntimeError as error:
                refused.append(error)  # noqa: B023

        in_threads(work, 2)
        assert len(refused) <= 1
        assert all("retain_graph" in str(error) for error in refused)


def test_gradients_of_different_dtypes_are_cast_to_the_leafs() -> None:
    x = cygrad.ones(2, dtype=cygrad.float32, requires_grad=True)
    (x.double() * 2).sum().backward()
    assert x.grad is not None and x.grad.dtype is cygrad.float32


def single(m: ModuleType, grad_dtype: str | None) -> cygrad.Tensor:
    """A float32 leaf with this `grad_dtype`."""
    x: cygrad.Tensor = m.tensor([1.0, 0.1], requires_grad=True)
    x.grad_dtype = None if grad_dtype is None else getattr(m, grad_dtype)
    return x


def doubles(m: ModuleType, x: cygrad.Tensor) -> cygrad.Tensor:
    """A Function whose backward gives float64, with digits that float32 has not."""
    methods = {
        "forward": staticmethod(lambda ctx, x: x * 1),
        "backward": staticmethod(lambda ctx, g: g.double() / 3),
    }
    made: cygrad.Tensor = type("Doubles", (m.autograd.Function,), methods).apply(x)  # type: ignore[attr-defined]
    return made


def accumulated(m: ModuleType, grad_dtype: str | None, create_graph: bool = False) -> object:
    """What hooks see, `grad` gives and `.grad` becomes, over two backwards.

    Of any dtypes and not recorded, torch adds up in the one that arrives first; so there one arrives alone.
    """
    x = single(m, grad_dtype)
    seen: list[object] = []
    x.register_hook(lambda g: seen.append(g.dtype))
    found = list(m.autograd.grad(doubles(m, x).sum(), x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            y = doubles(m, x)
            if grad_dtype is not None or create_graph:
                y = y + x * x
            y.sum().backward(create_graph=create_graph)
    return [seen, found, x.grad, x.grad_dtype]


def after_the_graph(m: ModuleType, create_graph: bool) -> object:
    """The setting is newer than the graph."""
    x = m.ones(2, requires_grad=True)
    y = (x * x).sum()
    x.grad_dtype = m.float64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward(create_graph=create_graph)
    return x.grad


def other_data(m: ModuleType, grad_dtype: str | None) -> object:
    """The default follows the elements, a setting stays."""
    x = m.ones(2, requires_grad=True)
    if grad_dtype is not None:
        x.grad_dtype = getattr(m, grad_dtype)
    x.data = m.ones(2, dtype=m.float64)
    return [x.grad_dtype, x.detach().grad_dtype, copy.deepcopy(x).grad_dtype]


GRAD_DTYPES: dict[str, Call] = {
    "float64": lambda m: accumulated(m, "float64"),
    "float16": lambda m: accumulated(m, "float16"),
    "any": lambda m: accumulated(m, None),
    "complex": lambda m: accumulated(m, "complex64"),
    "float64, recorded": lambda m: accumulated(m, "float64", create_graph=True),
    "any, recorded": lambda m: accumulated(m, None, create_graph=True),
    "set after the graph": lambda m: after_the_graph(m, False),
    "set after the graph, recorded": lambda m: after_the_graph(m, True),
    "default": lambda m: [leaf(m).grad_dtype, m.ones(2).grad_dtype, m.arange(2).grad_dtype],
    "other data": lambda m: other_data(m, None),
    "other data, set": lambda m: other_data(m, "float32"),
    "assigned": lambda m: let(lambda x: [setattr(x, "grad", m.ones(2).double()), x.grad], single(m, "float64")),
    "any, assigned": lambda m: let(
        lambda x: [setattr(x, "grad", m.ones(2).double()), (x * 2).sum().backward(), x.grad], single(m, None)
    ),
    "any, where there is a gradient": lambda m: let(
        lambda x: [x.sum().backward(), setattr(x, "grad_dtype", None), x.grad_dtype], leaf(m)
    ),
    "as the gradient that is there": lambda m: let(
        lambda x: [x.sum().backward(), setattr(x, "grad_dtype", m.float64), x.grad_dtype], leaf(m)
    ),
    "the leaf as root": lambda m: let(lambda x: [x.backward(m.ones(2)), x.grad], single(m, "float64")),
}


@pytest.mark.parametrize("name", GRAD_DTYPES)
def test_grad_dtype_agrees(name: str) -> None:
    assert_agrees(GRAD_DTYPES[name])


GRAD_DTYPES_REFUSED: dict[str, Call] = {
    "of a result": lambda m: (leaf(m) * 2).grad_dtype,
    "set on a result": lambda m: setattr(leaf(m) * 2, "grad_dtype", m.float32),
    "a number": lambda m: setattr(leaf(m), "grad_dtype", 5),
    "another than the gradient that is there": lambda m: let(
        lambda x: [x.sum().backward(), setattr(x, "grad_dtype", m.float32)], leaf(m)
    ),
    "a gradient of the tensor's own dtype assigned": lambda m: setattr(single(m, "float64"), "grad", m.ones(2)),
}


@pytest.mark.parametrize("name", GRAD_DTYPES_REFUSED)
def test_grad_dtype_refusals(name: str) -> None:
    assert_same_refusal(GRAD_DTYPES_REFUSED[name])


def test_accumulation_does_not_write_into_what_others_hold() -> None:
    x = leaf(cygrad)
    g = cygrad.ones(3, dtype=cygrad.float64)
    (x + 0).backward(g)
    first = x.grad
    (x + 0).backward(g)
    assert g.tolist() == [1.0] * 3
    assert x.grad is not None and x.grad.tolist() == [2.0] * 3
    assert first is not None and first is x.grad


def test_grad_returns_tensors_of_their_own() -> None:
    x, w = leaf(cygrad), leaf(cygrad)
    a, b = cygrad.autograd.grad((x * w).sum(), [x, w])
    a.mul_(5)
    assert b.tolist() == x.tolist() == [1.0, 2.0, 3.0]


CTRL_C = """
import cygrad, signal, time
x = cygrad.ones(1, dtype=cygrad.float64, requires_grad=True)
y = x
for _ in range(400_000):
    y = y * 1.0000001
signal.signal(signal.SIGALRM, signal.default_int_handler)
caught, inside = 0, False
for _ in range(50):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        inside = True
        y.backward(retain_graph=True)
        inside = False
        time.sleep(0.05)
    except KeyboardInterrupt:
        if inside:
            caught += 1
            break
x.grad = None
z = (x * 2).sum()
z.backward()
assert x.grad.item() == 2.0, x.grad
print("caught", caught)
"""


def test_ctrl_c_interrupts_a_long_backward_and_leaves_the_engine_usable() -> None:
    assert run_python(CTRL_C).strip() == "caught 1"


@pytest.mark.parametrize(
    "ending",
    ["", "import sys; sys.exit(0)", "del x, y", "import gc; gc.collect()", "threading.Thread(target=work).start()"],
    ids=["plain", "sys.exit", "freed", "collected", "in a thread"],
)
def test_the_interpreter_exits(ending: str) -> None:
    program = f"""
import threading
import cygrad
cygrad.set_num_threads(2)
def work():
    x = cygrad.ones(64, 64, requires_grad=True)
    cygrad.stack([(x @ x).tanh() for _ in range(8)]).sum().backward()
    return x
x = work()
y = (x * 2).exp()
{ending}
"""
    assert run_python(program) == ""


def test_a_forked_child_runs_backward() -> None:
    program = """
import os
import cygrad
cygrad.set_num_threads(2)
def gradient():
    x = cygrad.ones(64, 64, dtype=cygrad.float64, requires_grad=True)
    cygrad.stack([(x @ x).tanh() for _ in range(8)]).sum().backward()
    return x.grad.sum().item()
before = gradient()
child = os.fork()
if child == 0:
    os._exit(0 if gradient() == before else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""
    assert run_python(program).strip() == "0"


def test_a_view_made_under_no_grad_as_an_input_of_grad() -> None:
    """It requires grad as its base does, but nothing leads to it: unused, not a crash."""
    program = """
import cygrad
x = cygrad.ones(1, 3, requires_grad=True)
with cygrad.no_grad():
    views = [x.unbind(0)[0], x.unsqueeze(0), x[0]]
for view in views:
    print(view.requires_grad, cygrad.autograd.grad(x, [view], cygrad.ones_like(x), allow_unused=True))
"""
    assert run_python(program).split("\n") == ["True (None,)"] * 3 + [""]


def test_retained_gradient_of_a_root_that_no_input_needs() -> None:
    def retained(m: ModuleType) -> object:
        y = leaf(m) * 2
        y.retain_grad()
        return [m.autograd.grad(y, leaf(m), ones(m, 3), allow_unused=True), y.grad]

    assert_agrees(retained)


@pytest.mark.parametrize("twice", [False, True])
def test_backward_into_an_inner_input(twice: bool) -> None:
    """An input of backward that is no leaf retains its gradient from then on; named twice, it gets it once."""

    def gradient(m: ModuleType) -> object:
        x = leaf(m)
        y = x * 2
        (y * y).sum().backward(inputs=[y, y] if twice else [y])
        return [y.retains_grad, y.grad, x.grad]

    assert_agrees(gradient)


def test_backward_into_a_leaf_named_twice() -> None:
    def gradient(m: ModuleType) -> object:
        x = leaf(m)
        (x * x).sum().backward(inputs=[x, x])
        return x.grad

    assert_agrees(gradient)


def test_leaf_that_stopped_requiring_grad_gets_none() -> None:
    def gradient(m: ModuleType) -> object:
        x, w = leaf(m), leaf(m)
        y = (x * w).sum()
        x.requires_grad_(False)
        y.backward()
        return [x.grad, w.grad]

    assert_agrees(gradient)


def test_materialized_gradients_under_create_graph_require_grad() -> None:
    def facts(m: ModuleType) -> object:
        x, unused = leaf(m), leaf(m)
        found = m.autograd.grad((x * x).sum(), [x, unused], create_graph=True, materialize_grads=True)
        return [[g, g.requires_grad] for g in found]

    assert_agrees(facts)


def test_cycles_are_collected() -> None:
    """A graph that holds a Python object which holds the graph: the gc must see through it."""
    for _ in range(10):
        x = leaf(cygrad)
        y = x * 2
        assert y.grad_fn is not None
        y.grad_fn.metadata["result"] = y
    del x, y
    gc.collect()


def test_cycle_of_a_gradient_that_knows_its_graph_is_collected() -> None:
    for _ in range(10):
        x = leaf(cygrad)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (x**3).sum().backward(create_graph=True)
        assert x.grad is not None and x.grad.requires_grad
    del x
    gc.collect()


def test_backward_with_create_graph_warns_of_the_cycle() -> None:
    program = """
import warnings
import cygrad
x = cygrad.ones(2, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    (x * x).sum().backward(create_graph=True)
print([w.category.__name__ for w in caught if "create_graph" in str(w.message)])
"""
    assert run_python(program).strip() == "['UserWarning']"


def test_leaf_kept_in_its_own_gradient_is_collected() -> None:
    x = leaf(cygrad)
    (slope,) = cygrad.autograd.grad((x**3).sum(), x, create_graph=True)
    x.grad = slope
    del slope, x
    gc.collect()


def test_a_million_live_nodes_do_not_slow_the_gc() -> None:
    """Plain chains are not tracked by the gc: its objects do not grow with the graph."""
    x = leaf(cygrad)
    gc.collect()
    before = len(gc.get_objects())
    y = x
    for _ in range(10_000):
        y = y * 2
    assert len(gc.get_objects()) - before < 1_000
    assert y.requires_grad


def test_exceptions_in_another_thread_do_not_reach_this_one() -> None:
    x = leaf(cygrad)
    root = x.exp().sum()
    root.backward()
    errors: list[RuntimeError] = []

    def fail() -> None:
        try:
            root.backward()
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=fail)
    thread.start()
    (x * 2).sum().backward()
    thread.join()
    assert len(errors) == 1


def test_signals_are_seen_between_backwards() -> None:
    seen: list[int] = []
    previous = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        deadline = time.monotonic() + 5
        while not seen and time.monotonic() < deadline:
            x = leaf(cygrad)
            (x * x).sum().backward()
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert seen
