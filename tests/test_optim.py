"""Optimizers against torch's, step by step: the same parameters, gradients and options must give the same numbers.

Every option is tried in every combination that matters, since each is a branch in the update. State goes through
checkpoints both ways between cygrad and torch, because the layout of `state_dict` is part of the promise.
"""

import copy
import pickle
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

import numpy as np
import pytest
import torch

import cygrad
from cygrad import optim
from cygrad.optim.optimizer import ParamGroup, ParamsT, required

SHAPES = ((3, 4), (5,), ())
TOLERANCE = 1e-12


def draw(rng: np.random.Generator, dtype: type = np.float64) -> list[np.ndarray]:
    """Random values for the parameters of one model; complex ones if asked for."""
    values = [rng.standard_normal(shape) for shape in SHAPES]
    if dtype is np.complex128:
        return [np.asarray(value + 1j * rng.standard_normal(value.shape)) for value in values]
    return [np.asarray(value, dtype=dtype) for value in values]


def ours(values: Iterable[np.ndarray]) -> list[cygrad.Tensor]:
    return [cygrad.from_numpy(value.copy()).requires_grad_() for value in values]


def theirs(values: Iterable[np.ndarray]) -> list[torch.Tensor]:
    return [torch.from_numpy(value.copy()).requires_grad_() for value in values]


def set_grads(params: list[cygrad.Tensor], oracle: list[torch.Tensor], grads: list[np.ndarray | None]) -> None:
    for param, other, grad in zip(params, oracle, grads, strict=True):
        param.grad = None if grad is None else cygrad.from_numpy(grad.copy())
        other.grad = None if grad is None else torch.from_numpy(grad.copy())


def check_same(params: list[cygrad.Tensor], oracle: list[torch.Tensor], tolerance: float = TOLERANCE) -> None:
    for param, other in zip(params, oracle, strict=True):
        np.testing.assert_allclose(
            param.detach().numpy(), other.detach().numpy(), rtol=tolerance, atol=tolerance, strict=True
        )


def plain(value: object) -> object:
    """A checkpoint without tensors, so that cygrad's and torch's can be compared."""
    if isinstance(value, cygrad.Tensor | torch.Tensor):
        array = value.detach().numpy()
        return str(array.dtype), array.shape, [round(float(abs(x)), 9) for x in array.ravel()]
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value


Maker = Callable[..., optim.Optimizer]
OPTIMIZERS: dict[str, Maker] = {"SGD": optim.SGD, "Adam": optim.Adam, "AdamW": optim.AdamW}

SGD_OPTIONS = [
    {
        "lr": 0.1,
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
        "maximize": maximize,
    }
    for momentum, dampening, weight_decay, nesterov, maximize in product(
        (0, 0.9), (0, 0.3), (0, 0.02), (False, True), (False, True)
    )
    if not nesterov or (momentum and not dampening)
]
ADAM_OPTIONS = [
    {"lr": 0.1, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize}
    for betas, eps, weight_decay, amsgrad, maximize in product(
        ((0.9, 0.999), (0.0, 0.5)), (1e-8, 0.1), (0, 0.02), (False, True), (False, True)
    )
]
CASES = [
    *(("SGD", options) for options in SGD_OPTIONS),
    *(("Adam", options) for options in ADAM_OPTIONS),
    *(("AdamW", options) for options in ADAM_OPTIONS),
]


def name_of(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={entry}" for key, entry in value.items())
    return str(value)


@pytest.mark.parametrize(("name", "options"), CASES, ids=name_of)
def test_twelve_steps_as_torch(name: str, options: dict[str, object]) -> None:
    rng = np.random.default_rng(7)
    values = draw(rng)
    params, oracle = ours(values), theirs(values)
    optimizer = OPTIMIZERS[name](params, **options)
    reference = getattr(torch.optim, name)(oracle, foreach=False, **options)
    for step in range(12):
        grads: list[np.ndarray | None] = list(draw(rng))
        if step % 5 == 2:
            # A parameter without a gradient is left alone, and its state does not advance.
            grads[step % 3] = None
        set_grads(params, oracle, grads)
        assert optimizer.step() is None
        reference.step()
        check_same(params, oracle)
    assert all(param.requires_grad and param.is_leaf and param.grad_fn is None for param in params)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_gradient_itself_is_not_written(name: str) -> None:
    for options in ({}, {"weight_decay": 0.1}, {"maximize": True}):
        params = ours(draw(np.random.default_rng(1)))
        optimizer = OPTIMIZERS[name](params, **({"momentum": 0.9} if name == "SGD" else {}), **options)
        grad = np.full((3, 4), 0.5)
        for _ in range(3):
            params[0].grad = cygrad.from_numpy(grad)
            optimizer.step()
        assert (grad == 0.5).all()


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_dtypes(name: str, dtype: type) -> None:
    rng = np.random.default_rng(3)
    values = draw(rng, dtype)
    params, oracle = ours(values), theirs(values)
    options: dict[str, object] = {"lr": 0.05, "weight_decay": 0.1, "maximize": True}
    options |= {"momentum": 0.9} if name == "SGD" else {"amsgrad": True}
    optimizer = OPTIMIZERS[name](params, **options)
    reference = getattr(torch.optim, name)(oracle, foreach=False, **options)
    for _ in range(6):
        set_grads(params, oracle, list(draw(rng, dtype)))
        optimizer.step()
        reference.step()
        # float32: a few roundings a step, in another order than torch's.
        check_same(params, oracle, TOLERANCE if dtype is np.complex128 else 2e-6)
    assert plain(optimizer.state_dict()["param_groups"]) == [
        {**group, "foreach": None} for group in reference.state_dict()["param_groups"]
    ]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_parameter_groups(name: str) -> None:
    rng = np.random.default_rng(11)
    values = draw(rng)
    params, oracle = ours(values), theirs(values)
    optimizer = OPTIMIZERS[name]([{"params": params[0], "lr": 0.5}, {"params": iter(params[1:2])}], lr=0.01)
    reference = getattr(torch.optim, name)([{"params": oracle[0], "lr": 0.5}, {"params": oracle[1:2]}], lr=0.01)
    for step in range(9):
        if step == 3:
            optimizer.add_param_group({"params": params[2:], "weight_decay": 0.1})
            reference.add_param_group({"params": oracle[2:], "weight_decay": 0.1})
        if step == 6:
            for group in optimizer.param_groups:
                group["lr"] *= 0.1
            for group in reference.param_groups:
                group["lr"] *= 0.1
        set_grads(params, oracle, list(draw(rng)))
        optimizer.step()
        reference.step()
        check_same(params, oracle)
    assert [list(group) for group in optimizer.param_groups] == [list(group) for group in reference.param_groups]
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 1, 1]
    assert repr(optimizer) == repr(reference)
    assert optimizer.defaults == reference.defaults


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_repr_and_defaults(name: str) -> None:
    values = draw(np.random.default_rng(0))
    optimizer = OPTIMIZERS[name](ours(values))
    reference = getattr(torch.optim, name)(theirs(values))
    assert repr(optimizer) == repr(reference)
    assert optimizer.defaults == reference.defaults
    assert plain(optimizer.state_dict()) == plain(reference.state_dict())
    assert repr(required) == "<required parameter>"


def trained(
    name: str, options: dict[str, object]
) -> tuple[list[cygrad.Tensor], optim.Optimizer, torch.optim.Optimizer]:
    """Parameters and optimizers after three steps, ours and torch's."""
    rng = np.random.default_rng(5)
    values = draw(rng)
    params, oracle = ours(values), theirs(values)
    optimizer = OPTIMIZERS[name](params, **options)
    reference: torch.optim.Optimizer = getattr(torch.optim, name)(oracle, **options)
    for _ in range(3):
        set_grads(params, oracle, [*draw(rng)[:2], None])
        optimizer.step()
        reference.step()
    return params, optimizer, reference


STATEFUL: list[tuple[str, dict[str, object]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("Adam", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "amsgrad": True}),
]


@pytest.mark.parametrize(("name", "options"), STATEFUL, ids=name_of)
def test_checkpoint_has_torchs_layout(name: str, options: dict[str, object]) -> None:
    _, optimizer, reference = trained(name, options)
    assert plain(optimizer.state_dict()) == plain(reference.state_dict())


@pytest.mark.parametrize(("name", "options"), STATEFUL, ids=name_of)
@pytest.mark.parametrize("source", ["cygrad", "torch", "pickle", "arrays"])
def test_training_goes_on_from_a_checkpoint(name: str, options: dict[str, object], source: str) -> None:
    rng = np.random.default_rng(13)
    params, optimizer, reference = trained(name, options)
    checkpoint: Mapping[str, object] = optimizer.state_dict()
    if source == "torch":
        checkpoint = reference.state_dict()
    elif source == "pickle":
        checkpoint = pickle.loads(pickle.dumps(checkpoint))
    elif source == "arrays":
        checkpoint = arrays(checkpoint)
    copies = ours([param.detach().numpy() for param in params])
    # Another learning rate and other state, to be replaced by those of the checkpoint.
    fresh = OPTIMIZERS[name](copies, lr=5.0)
    fresh.load_state_dict(checkpoint)
    assert plain(fresh.state_dict()) == plain(optimizer.state_dict())
    for _ in range(4):
        grads = draw(rng)
        for param, twin, grad in zip(params, copies, grads, strict=True):
            param.grad = cygrad.from_numpy(grad)
            twin.grad = cygrad.from_numpy(grad.copy())
        optimizer.step()
        fresh.step()
        for param, twin in zip(params, copies, strict=True):
            np.testing.assert_allclose(param.detach().numpy(), twin.detach().numpy(), rtol=TOLERANCE, atol=TOLERANCE)
    # Each optimizer has its own memory: steps of one must not move the averages of the other.
    before = plain(optimizer.state_dict())
    fresh.step()
    assert plain(optimizer.state_dict()) == before


def arrays(value: object) -> Mapping[str, object]:
    """A checkpoint with NumPy arrays in place of tensors, as a file of arrays would give it."""

    def converted(entry: object) -> object:
        if isinstance(entry, cygrad.Tensor):
            return np.asarray(entry.detach().numpy())
        if isinstance(entry, dict):
            return {key: converted(item) for key, item in entry.items()}
        if isinstance(entry, list):
            return [converted(item) for item in entry]
        return entry

    result = converted(value)
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(("name", "options"), STATEFUL, ids=name_of)
def test_torch_reads_our_checkpoint(name: str, options: dict[str, object]) -> None:
    params, optimizer, reference = trained(name, options)

    def to_torch(value: object) -> object:
        if isinstance(value, cygrad.Tensor):
            return torch.from_numpy(value.detach().numpy().copy())
        if isinstance(value, dict):
            return {key: to_torch(entry) for key, entry in value.items()}
        return value

    state = optimizer.state_dict()
    other = getattr(torch.optim, name)(theirs([param.detach().numpy() for param in params]))
    other.load_state_dict({"state": to_torch(state["state"]), "param_groups": state["param_groups"]})
    assert plain(other.state_dict()) == plain(reference.state_dict())


def test_loaded_tensors_take_the_dtype_of_the_parameter_but_not_the_step_count() -> None:
    single = cygrad.ones(2, requires_grad=True)
    double = cygrad.ones(2, dtype=cygrad.float64, requires_grad=True)
    first, second = optim.Adam([single]), optim.Adam([double])
    single.grad = cygrad.ones(2)
    first.step()
    second.load_state_dict(first.state_dict())
    state = second.state[double]
    assert state["exp_avg"].dtype == state["exp_avg_sq"].dtype == cygrad.float64
    assert state["step"].dtype == cygrad.float32 and state["step"].item() == 1


def test_old_checkpoints() -> None:
    param = cygrad.ones(2, requires_grad=True)
    param.grad = cygrad.ones(2)
    adam = optim.Adam([param])
    adam.step()
    saved = adam.state_dict()
    entry = saved["state"][0]
    entry["step"] = 1
    for key in ("amsgrad", "maximize", "foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay"):
        del saved["param_groups"][0][key]
    adam_w = optim.AdamW([param])
    adam_w.load_state_dict(saved)
    assert isinstance(adam_w.state[param]["step"], cygrad.Tensor)
    assert adam_w.state[param]["step"].item() == 1
    assert adam_w.param_groups[0]["amsgrad"] is False and adam_w.param_groups[0]["fused"] is None
    # Adam's checkpoint does not make Adam out of AdamW.
    assert adam_w.param_groups[0]["decoupled_weight_decay"] is True
    adam_w.step()
    assert adam_w.state[param]["step"].item() == 2


def test_checkpoint_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    a, b = cygrad.ones(2, requires_grad=True), cygrad.ones(3, requires_grad=True)
    optimizer = optim.SGD([a, b], lr=0.5, momentum=0.9)
    b.grad = cygrad.ones(3)
    optimizer.step()
    before = plain(optimizer.state_dict())
    two_groups = optim.SGD([{"params": [a]}, {"params": [b]}]).state_dict()
    one_parameter = optim.SGD([a]).state_dict()
    for checkpoint, error, message in (
        (two_groups, ValueError, "different number of parameter groups"),
        (one_parameter, ValueError, "doesn't match the size of optimizer's group"),
        ({"state": {}}, KeyError, "param_groups"),
        ({"param_groups": []}, KeyError, "state"),
    ):
        with pytest.raises(error, match=message):
            optimizer.load_state_dict(checkpoint)
        assert plain(optimizer.state_dict()) == before


def test_checkpoint_is_not_changed_by_loading_or_stepping() -> None:
    param = cygrad.ones(2, requires_grad=True)
    param.grad = cygrad.ones(2)
    optimizer = optim.SGD([param], momentum=0.9)
    optimizer.step()
    saved = optimizer.state_dict()
    other = optim.SGD([param], momentum=0.5)
    before = plain(saved)
    other.load_state_dict(saved)
    other.param_groups[0]["lr"] = 7.0
    other.step()
    assert plain(saved) == before


def test_pickle_and_deepcopy() -> None:
    param = cygrad.ones(2, requires_grad=True)
    param.grad = cygrad.ones(2)
    optimizer = optim.Adam([param], lr=0.25)
    optimizer.step()
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert plain(twin.state_dict()) == plain(optimizer.state_dict())
        (copied,) = twin.param_groups[0]["params"]
        assert copied is not param and list(twin.state) == [copied]
        copied.grad = cygrad.ones(2)
        twin.step()
        assert twin.state[copied]["step"].item() == 2 and optimizer.state[param]["step"].item() == 1
    assert param.tolist() == pytest.approx([0.75, 0.75])


def test_named_parameters() -> None:
    a, b = cygrad.ones(2, requires_grad=True), cygrad.ones(3, requires_grad=True)
    optimizer = optim.SGD([("a", a), ("b", b)])
    assert optimizer.param_groups[0]["params"] == [a, b] or optimizer.param_groups[0]["params"][0] is a
    assert optimizer.param_groups[0].get("param_names") == ["a", "b"]
    saved = optimizer.state_dict()
    assert saved["param_groups"][0]["param_names"] == ["a", "b"]
    saved["param_groups"][0].pop("param_names")
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0].get("param_names") == ["a", "b"]
    with pytest.raises(ValueError, match="Some param names are missing"):
        optim.SGD([("a", a), b])
    with pytest.raises(ValueError, match="with/without names"):
        optimizer.add_param_group({"params": cygrad.ones(1, requires_grad=True)})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad(set_to_none: bool) -> None:
    a, b, c = (cygrad.ones(2, requires_grad=True) for _ in range(3))
    optimizer = optim.SGD([{"params": [a, b]}, {"params": [c]}])
    (a * b).sum().backward(create_graph=False)
    held = a.grad
    optimizer.zero_grad(set_to_none=set_to_none)
    assert c.grad is None
    if set_to_none:
        assert a.grad is None and b.grad is None
        assert held is not None and held.tolist() == [1.0, 1.0]
    else:
        assert a.grad is held and held is not None and held.tolist() == [0.0, 0.0]


def test_zero_grad_cuts_a_gradient_off_its_graph() -> None:
    x = cygrad.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        # create_graph in backward() warns of the cycle it makes; it is meant here.
        warnings.simplefilter("ignore", UserWarning)
        (x**3).sum().backward(create_graph=True)
    grad = x.grad
    assert grad is not None and repr(grad.grad_fn) != "None"
    optim.SGD([x]).zero_grad(set_to_none=False)
    assert x.grad is grad and grad.grad_fn is None and not grad.requires_grad and grad.tolist() == [0.0, 0.0]
    grad.requires_grad_()
    optim.SGD([x]).zero_grad(set_to_none=False)
    assert [grad.requires_grad] == [False]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_closure_runs_with_recording_on_and_its_result_comes_back(name: str) -> None:
    param = cygrad.tensor([3.0], requires_grad=True)
    optimizer = OPTIMIZERS[name]([param], lr=0.1)
    losses = []

    def closure() -> cygrad.Tensor:
        assert cygrad.is_grad_enabled()
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    for outside in (True, False):
        with cygrad.set_grad_enabled(outside):
            losses.append(optimizer.step(closure).item())
            assert cygrad.is_grad_enabled() is outside
    assert losses[0] == 9.0 and losses[1] < 9.0


def test_closure_that_raises_leaves_mode_and_parameters() -> None:
    param = cygrad.tensor([3.0], requires_grad=True)
    param.grad = cygrad.ones(1)

    def closure() -> float:
        raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        optim.Adam([param]).step(closure)
    assert cygrad.is_grad_enabled() and param.item() == 3.0


@pytest.fixture
def double_by_default() -> Iterator[None]:
    """Differentiable steps of torch's Adam compute the corrections in the dtype of the step count: the default."""
    for library in (cygrad, torch):
        library.set_default_dtype(library.float64)
    yield
    for library in (cygrad, torch):
        library.set_default_dtype(library.float32)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
        ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
        ("Adam", {"lr": 0.1, "amsgrad": True}),
        ("AdamW", {"lr": 0.1}),
    ],
    ids=name_of,
)
@pytest.mark.parametrize("tensor_lr", [False, True])
def test_differentiating_through_steps(
    name: str, options: dict[str, object], tensor_lr: bool, double_by_default: None
) -> None:
    """The gradient of a loss after three steps, by their start and by lr, against torch and finite differences."""

    def run(start: list[float], rate: float, oracle: bool = False) -> tuple[float, list[float]]:
        library, make = (torch, getattr(torch.optim, name)) if oracle else (cygrad, OPTIMIZERS[name])
        first, lr = library.tensor(start, requires_grad=True), library.tensor(rate, requires_grad=True)
        param = first.clone()
        optimizer = make([param], **{**options, "lr": lr if tensor_lr else rate}, differentiable=True)
        for _ in range(3):
            # The gradient of an inner loss, written out, so that it has a graph.
            param.grad = 2 * (param - library.tensor([1.0, 2.0])) * param.exp()
            optimizer.step()
        loss = (param * param).sum()
        if oracle and (options.get("amsgrad") or options.get("momentum")):
            # torch is no oracle there: with amsgrad it has written over what it saved, and its momentum buffer does
            # not depend on the first gradient.
            return loss.item(), []
        loss.backward()
        return loss.item(), [*first.grad.tolist(), *([lr.grad.item()] if tensor_lr else [])]

    start, rate, h = [0.5, -1.25], 0.1, 1e-5
    loss, gradient = run(start, rate)
    torch_loss, torch_gradient = run(start, rate, oracle=True)
    assert loss == pytest.approx(torch_loss, rel=TOLERANCE)
    if torch_gradient:
        assert gradient == pytest.approx(torch_gradient, rel=1e-10)
    differences = [
        (run([0.5 + h, -1.25], rate)[0] - run([0.5 - h, -1.25], rate)[0]) / (2 * h),
        (run([0.5, -1.25 + h], rate)[0] - run([0.5, -1.25 - h], rate)[0]) / (2 * h),
        (run(start, rate + h)[0] - run(start, rate - h)[0]) / (2 * h),
    ]
    assert gradient == pytest.approx(differences[: len(gradient)], rel=1e-6, abs=1e-8)


def test_learning_rate_as_a_tensor() -> None:
    rng = np.random.default_rng(2)
    values = draw(rng)
    for name in OPTIMIZERS:
        params, oracle = ours(values), theirs(values)
        optimizer = OPTIMIZERS[name](params, lr=cygrad.tensor(0.1, dtype=cygrad.float64))
        reference = getattr(torch.optim, name)(oracle, lr=torch.tensor(0.1, dtype=torch.float64), foreach=False)
        for _ in range(3):
            set_grads(params, oracle, list(draw(rng)))
            optimizer.step()
            reference.step()
            check_same(params, oracle)


BAD_OPTIONS: list[tuple[str, Mapping[str, object], type[Exception], str]] = [
    ("SGD", {"lr": -0.1}, ValueError, "Invalid learning rate: -0.1"),
    ("SGD", {"momentum": -1.0}, ValueError, "Invalid momentum value: -1.0"),
    ("SGD", {"weight_decay": -1.0}, ValueError, "Invalid weight_decay value: -1.0"),
    ("SGD", {"nesterov": True}, ValueError, "Nesterov momentum requires a momentum and zero dampening"),
    ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}, ValueError, "Nesterov momentum requires"),
    ("SGD", {"fused": True, "foreach": True}, RuntimeError, "`fused` and `foreach` cannot be `True` together"),
    ("SGD", {"fused": True, "differentiable": True}, RuntimeError, "`fused` does not support `differentiable`"),
    *(
        case
        for name in ("Adam", "AdamW")
        for case in (
            (name, {"lr": -0.1}, ValueError, "Invalid learning rate: -0.1"),
            (name, {"lr": float("nan")}, ValueError, "Invalid learning rate: nan"),
            (name, {"eps": -1.0}, ValueError, "Invalid epsilon value: -1.0"),
            (name, {"betas": (1.0, 0.9)}, ValueError, "Invalid beta parameter at index 0: 1.0"),
            (name, {"betas": (0.9, -0.5)}, ValueError, "Invalid beta parameter at index 1: -0.5"),
            (name, {"betas": (0, 0.9)}, ValueError, "betas must be"),
            (name, {"weight_decay": -1.0}, ValueError, "Invalid weight_decay value: -1.0"),
            (name, {"fused": True, "foreach": True}, RuntimeError, "`fused` and `foreach`"),
            (name, {"fused": True, "differentiable": True}, RuntimeError, "`fused` does not support"),
        )
    ),
    *((name, {"momentun": 0.9}, TypeError, "momentun") for name in ("SGD", "Adam", "AdamW")),
]


@pytest.mark.parametrize(("name", "options", "error", "message"), BAD_OPTIONS, ids=name_of)
def test_bad_options_are_refused_as_by_torch(
    name: str, options: Mapping[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        OPTIMIZERS[name]([cygrad.ones(2, requires_grad=True)], **options)
    with pytest.raises(error, match=re.escape(message)):
        getattr(torch.optim, name)([torch.ones(2, requires_grad=True)], **options)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_learning_rate_of_several_elements_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        OPTIMIZERS[name]([cygrad.ones(2, requires_grad=True)], lr=cygrad.ones(2))


def bad_parameters(library: str) -> list[tuple[Callable[[], object], type[Exception], str]]:
    """Mistakes in what is to be optimized: how to make it, the exception, and what its message says."""
    ones = cygrad.ones if library == "cygrad" else torch.ones

    def leaf() -> cygrad.Tensor | torch.Tensor:
        return ones(2, requires_grad=True)

    shared = leaf()
    return [
        (leaf, TypeError, "should be an iterable of Tensors or dicts"),
        (list, ValueError, "empty parameter list"),
        (lambda: iter(()), ValueError, "empty parameter list"),
        (lambda: [1.0], TypeError, "can only optimize Tensors"),
        (lambda: [leaf(), None], TypeError, "can only optimize Tensors"),
        (lambda: [leaf() * 2], ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: [{"params": {leaf()}}], TypeError, "ordered collections"),
        (lambda: [{"params": [leaf()]}, [leaf()]], TypeError, "param_group must be a dict"),
        (lambda: [{"params": [shared]}, {"params": [shared]}], ValueError, "more than one parameter group"),
        (lambda: [{"lr": 0.1}], KeyError, "params"),
        (lambda: 3, TypeError, "not iterable"),
    ]


@pytest.mark.parametrize("index", range(len(bad_parameters("cygrad"))))
def test_bad_parameters_are_refused_as_by_torch(index: int) -> None:
    for library, maker in (("cygrad", OPTIMIZERS["SGD"]), ("torch", torch.optim.SGD)):
        make, error, message = bad_parameters(library)[index]
        with pytest.raises(error, match=message):
            maker(make())  # type: ignore[arg-type]  # the mistake under test


def test_a_refused_group_is_not_added() -> None:
    a, b = cygrad.ones(2, requires_grad=True), cygrad.ones(2, requires_grad=True)
    optimizer = optim.SGD([a])
    given = {"params": [b, b * 2]}
    with pytest.raises(ValueError, match="non-leaf"):
        optimizer.add_param_group(given)
    with pytest.raises(ValueError, match="more than one"):
        optimizer.add_param_group({"params": [b, a]})
    with pytest.raises(TypeError, match="param_group must be a dict"):
        optimizer.add_param_group([b])  # type: ignore[arg-type]  # the mistake under test
    assert len(optimizer.param_groups) == 1 and list(given) == ["params"]


def test_a_set_of_parameters_is_refused() -> None:
    with pytest.raises(TypeError, match="ordered collections"):
        optim.SGD({cygrad.ones(2, requires_grad=True)})


def test_duplicate_parameters_warn() -> None:
    param = cygrad.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = optim.SGD([param, param], lr=0.5)
    param.grad = cygrad.ones(2)
    optimizer.step()
    assert param.tolist() == [0.0, 0.0]


def test_retained_non_leaf_and_tensors_without_grad_are_accepted() -> None:
    middle = cygrad.ones(2, requires_grad=True) * 2
    middle.retain_grad()
    frozen = cygrad.ones(2)
    optimizer = optim.SGD([middle, frozen])
    optimizer.step()
    assert middle.tolist() == [2.0, 2.0] and frozen.tolist() == [1.0, 1.0]


class Scaled(optim.Optimizer[ParamGroup, dict[str, object]]):
    """An optimizer as users write them on the base class, with an option that has no default."""

    def __init__(self, params: ParamsT, lr: object = required) -> None:
        super().__init__(params, {"lr": lr, "scale": 2.0})

    @cygrad.no_grad()
    def step(self, closure: object = None) -> None:  # type: ignore[override]  # no closure, as in many users' code
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param.add_(param.grad, alpha=-float(group["lr"]))
                    self.state[param]["seen"] = True


def test_own_optimizer_on_the_base_class() -> None:
    param = cygrad.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Scaled([param])
    optimizer = Scaled([{"params": [param], "lr": 0.5}])
    param.grad = cygrad.ones(2)
    optimizer.step()
    assert param.tolist() == [0.5, 0.5] and optimizer.state[param] == {"seen": True}
    optimizer.state = {}
    assert optimizer.state[param] == {}
    with pytest.raises(NotImplementedError):
        optim.Optimizer([param], {}).step()
