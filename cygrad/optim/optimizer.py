"""What all optimizers share: parameter groups, state, their saving and loading, and the frame of a step.

The layout of `state_dict` is torch's, so that checkpoints go both ways. The types are this file's second purpose: each
optimizer declares the options of its groups and the state of a parameter as TypedDicts, and `opt.param_groups[0]["lr"]`
or `opt.state[p]["exp_avg"]` is typed for whoever uses it.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, ClassVar, Final, Generic, NotRequired, TypeAlias, TypedDict, cast, final, overload

import numpy as np

import cygrad
from cygrad._core.tensor import Tensor
from cygrad._warnings import warn
from cygrad.autograd.grad_mode import enable_grad, no_grad, set_grad_enabled

__all__ = ["CommonGroup", "GradientOptimizer", "Optimizer", "ParamGroup", "ParamsT", "StateDict", "required"]


class ParamGroup(TypedDict):
    """What every parameter group has, whatever the optimizer; each optimizer adds its own options."""

    params: list[Tensor]
    lr: float | Tensor
    param_names: NotRequired[list[str]]


class CommonGroup(ParamGroup):
    """The options that all optimizers of this package have.

    `foreach` and `fused` choose between implementations in torch. Here they are kept for its checkpoints and have no
    effect: there is one implementation, and it makes few calls.
    """

    weight_decay: float
    maximize: bool
    foreach: bool | None
    differentiable: bool
    fused: bool | None


class StateDict(TypedDict):
    """The layout of a checkpoint, which is torch's: parameters are numbered through all groups, from 0."""

    state: dict[int, dict[str, object]]
    param_groups: list[dict[str, object]]


ParamsT: TypeAlias = Iterable[Tensor | Mapping[str, object] | tuple[str, Tensor]]
"""What an optimizer takes as `params`: tensors, or groups as mappings with the key "params", or named tensors."""

if TYPE_CHECKING:
    # Defaults of type variables came to `typing` with Python 3.13. Checkers know them everywhere, and with them a plain
    # `Optimizer` in an annotation means any optimizer.
    from typing_extensions import TypeVar

    _GroupT_co = TypeVar("_GroupT_co", bound=ParamGroup, default=ParamGroup, covariant=True)
    _StateT_co = TypeVar("_StateT_co", bound=Mapping[str, object], default=Mapping[str, object], covariant=True)
else:
    from typing import TypeVar

    _GroupT_co = TypeVar("_GroupT_co", covariant=True)
    _StateT_co = TypeVar("_StateT_co", covariant=True)

_GroupT = TypeVar("_GroupT", bound=CommonGroup)
_StateT = TypeVar("_StateT", bound=Mapping[str, object])
_LossT = TypeVar("_LossT")


@final
class _Required:
    """The type of `required`."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: Final = _Required()
"""Stands in `defaults` for an option that has no default: every group must give it."""


class Optimizer(Generic[_GroupT_co, _StateT_co]):
    """The base of all optimizers.

    A subclass calls `super().__init__(params, defaults)` and writes `step`. `param_groups` holds one dict a group: its
    tensors under "params" and every option of `defaults`, which a group may override. `state` holds one dict a
    parameter, made empty when it is first asked for.

    Raises, before anything has changed: TypeError if `params` is a single tensor, a set, or holds what is no tensor;
    ValueError if there is no parameter, if a parameter is no leaf, or if it is in two groups.
    """

    defaults: dict[str, object]

    def __init__(self, params: ParamsT, defaults: Mapping[str, object]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}: params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got a {type(params).__name__}; put it into a list"
            )
        self.defaults = dict(defaults)
        self._state = cast("defaultdict[Tensor, _StateT_co]", defaultdict(dict))
        self._param_groups: list[_GroupT_co] = []
        _refuse_set(type(self).__name__, params)
        given: list[object] = list(params)
        if not given:
            raise ValueError(
                f"{type(self).__name__}: optimizer got an empty parameter list; an iterator given before may be used up"
            )
        groups = given if isinstance(given[0], Mapping) else [{"params": given}]
        for group in groups:
            self.add_param_group(cast("Mapping[str, object]", group))

    @property
    def param_groups(self) -> Sequence[_GroupT_co]:
        """The parameter groups, in the order in which they came; their options may be changed between steps."""
        return self._param_groups

    @param_groups.setter
    def param_groups(self, groups: Iterable[Mapping[str, object]]) -> None:
        self._param_groups = cast("list[_GroupT_co]", list(groups))

    @property
    def state(self) -> Mapping[Tensor, _StateT_co]:
        """What the optimizer remembers of each parameter, by parameter; reading a missing one makes an empty dict."""
        return self._state

    @state.setter
    def state(self, state: Mapping[Tensor, Mapping[str, object]]) -> None:
        self._state = cast("defaultdict[Tensor, _StateT_co]", defaultdict(dict, state))

    def add_param_group(self, param_group: Mapping[str, object]) -> None:
        """Adds a group of parameters, for instance layers that were frozen until now.

        `param_group` has the tensors under "params" and may override defaults; it is copied. Raises as the constructor
        does, and then adds nothing.
        """
        who = type(self).__name__
        _refuse_no_mapping(who, param_group)
        group: dict[str, object] = dict(param_group)
        tensors, names = _tensors_and_names(who, group["params"])
        group["params"] = tensors
        if names:
            group["param_names"] = names
        for index, tensor in enumerate(tensors):
            if not (self.defaults.get("differentiable") or tensor.is_leaf or tensor.retains_grad):
                raise ValueError(
                    f"{who}: can't optimize a non-leaf Tensor, as parameter {index} is (grad_fn {tensor.grad_fn}); "
                    "give the leaf it was computed from, or detach it and call requires_grad_()"
                )
        for name, default in self.defaults.items():
            if name not in group and default is required:
                raise ValueError(
                    f"{who}: parameter group didn't specify a value of required optimization parameter {name}"
                )
            group.setdefault(name, default)

        # Tensors compare by value; identity is what counts here.
        ids = {id(tensor) for tensor in tensors}
        if len(ids) != len(tensors):
            warn(
                f"{who}: optimizer contains a parameter group with duplicate parameters, which get several updates a "
                "step; in future, this will cause an error"
            )
        for other in self._param_groups:
            if ("param_names" in other) != bool(names):
                raise ValueError(
                    f"{who}: all optimizer param groups should be with/without names, but the new one is "
                    f"{'with' if names else 'without'} and another is not"
                )
            if not ids.isdisjoint(id(tensor) for tensor in other["params"]):
                raise ValueError(f"{who}: some parameters appear in more than one parameter group")
        self._param_groups.append(cast("_GroupT_co", cast("object", group)))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradient of every parameter, or fills it with zeros, in place, if `set_to_none` is False."""
        for group in self._param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], _LossT]) -> _LossT: ...
    def step(self, closure: Callable[[], _LossT] | None = None) -> _LossT | None:
        """Makes one step; `closure`, if given, computes the loss and its gradients first, and the loss is returned."""
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    def state_dict(self) -> StateDict:
        """Returns state and options in torch's layout, with numbers in place of parameters; tensors are not copied."""
        numbers: dict[int, int] = {}
        packed: list[dict[str, object]] = []
        for group in self._param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            options: dict[str, object] = {key: value for key, value in group.items() if key != "params"}
            options["params"] = [numbers[id(param)] for param in group["params"]]
            packed.append(options)
        state = {numbers[id(param)]: cast("dict[str, object]", entry) for param, entry in self._state.items()}
        return {"state": state, "param_groups": packed}

    def load_state_dict(self, state_dict: Mapping[str, object]) -> None:
        """Takes over state and options from a `state_dict`, also one of torch's optimizer of the same name.

        Tensors are copied, to the dtype and device of their parameter; options replace those of the groups, in order.
        Raises KeyError if "state" or "param_groups" is missing, and ValueError if the number of groups or the number of
        parameters of a group is not this optimizer's; nothing has changed then.
        """
        who = type(self).__name__
        saved_state = cast("Mapping[int, object]", state_dict["state"])
        saved_groups = cast("Sequence[Mapping[str, object]]", state_dict["param_groups"])
        if len(saved_groups) != len(self._param_groups):
            raise ValueError(
                f"{who}: loaded state dict has a different number of parameter groups: "
                f"{len(saved_groups)}, and the optimizer has {len(self._param_groups)}"
            )
        numbered: dict[int, Tensor] = {}
        groups: list[dict[str, object]] = []
        for index, (group, saved) in enumerate(zip(self._param_groups, saved_groups, strict=True)):
            numbers = cast("Sequence[int]", saved["params"])
            params = group["params"]
            if len(numbers) != len(params):
                raise ValueError(
                    f"{who}: loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                    f"group {index}: {len(numbers)} parameters, and the optimizer's has {len(params)}"
                )
            numbered.update(zip(numbers, params, strict=True))
            options = {key: deepcopy(value) for key, value in saved.items() if key != "params"}
            if "param_names" in group:
                options.setdefault("param_names", group["param_names"])
            groups.append({**options, "params": params})
        state: defaultdict[Tensor | int, object] = defaultdict(dict)
        with no_grad():
            for number, entry in saved_state.items():
                if number in numbered:
                    state[numbered[number]] = _loaded(entry, numbered[number], "")
                else:
                    # State of no parameter is kept as it is, as torch does.
                    state[number] = entry
        self.__setstate__({"state": state, "param_groups": groups})

    def __getstate__(self) -> dict[str, object]:
        return {"defaults": self.defaults, "state": self._state, "param_groups": self._param_groups}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        for key, value in state.items():
            setattr(self, key, value)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for index, group in enumerate(self._param_groups):
            options = [f"    {key}: {value}\n" for key, value in sorted(group.items()) if key != "params"]
            text += f"\nParameter Group {index}\n{''.join(options)}"
        return text + ")"


class GradientOptimizer(Optimizer[_GroupT, _StateT], Generic[_GroupT, _StateT]):
    """The frame of a step for optimizers that go through their groups once: the subclass says how to update a group."""

    # Options that torch added over the years, with what their absence from an old checkpoint means.
    _later_options: ClassVar[Mapping[str, object]] = {}

    def __init__(self, params: ParamsT, defaults: Mapping[str, object]) -> None:
        if defaults["fused"]:
            who = type(self).__name__
            if defaults["differentiable"]:
                raise RuntimeError(f"{who}: `fused` does not support `differentiable`; leave one of them out")
            if defaults["foreach"]:
                raise RuntimeError(f"{who}: `fused` and `foreach` cannot be `True` together; leave one of them out")
        super().__init__(params, defaults)

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], _LossT]) -> _LossT: ...
    def step(self, closure: Callable[[], _LossT] | None = None) -> _LossT | None:
        """Updates every parameter that has a gradient, in place; others, and their state, stay as they are.

        `closure`, if given, is called first, with recording on: it clears the gradients, computes the loss and calls
        `backward`; its result is returned. Nothing of the update is recorded, unless `differentiable` was set.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(self.defaults["differentiable"] is True):
            for group in self._param_groups:
                self._update(group)
        return loss

    @abstractmethod
    def _update(self, group: _GroupT) -> None:
        """Updates the parameters of one group."""

    def __setstate__(self, state: Mapping[str, object]) -> None:
        super().__setstate__(state)
        for group in cast("list[dict[str, object]]", self._param_groups):
            for name, value in self._later_options.items():
                group.setdefault(name, value)


def _refuse_no_mapping(who: str, group: object) -> None:
    kind = type(group).__name__
    if not isinstance(group, Mapping):
        raise TypeError(f"{who}: param_group must be a dict, but got {kind}")


def _refuse_set(who: str, params: object) -> None:
    kind = type(params).__name__
    if isinstance(params, set | frozenset):
        raise TypeError(
            f"{who}: optimizer parameters need to be organized in ordered collections, but the order of a "
            f"{kind} changes between runs; use a list"
        )


def _tensors_and_names(who: str, params: object) -> tuple[list[Tensor], list[str]]:
    """Splits what a group gives as "params" into tensors and names (none, or one a tensor); refuses anything else."""
    _refuse_set(who, params)
    tensors: list[Tensor] = []
    names: list[str] = []
    for item in [params] if isinstance(params, Tensor) else cast("Iterable[object]", params):
        tensor = item
        if isinstance(item, tuple) and len(named := cast("tuple[object, ...]", item)) == 2:
            names.append(str(named[0]))
            tensor = named[1]
        kind = type(tensor).__name__
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{who}: optimizer can only optimize Tensors, but one of the params is a {kind}")
        tensors.append(tensor)
    if names and len(names) != len(tensors):
        raise ValueError(f"{who}: all optimizer params should be with/without names. Some param names are missing")
    return tensors, names


def _loaded(value: object, param: Tensor, key: str) -> object:
    """Copies a saved value of any nesting; tensors, also those of other libraries, are cast to fit `param`."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return {name: _loaded(entry, param, name) for name, entry in entries.items()}
    if not isinstance(value, Tensor):
        if not hasattr(value, "__array__"):
            return deepcopy(value)
        value = cygrad.from_numpy(np.asarray(value).copy())
    # The number of steps counts in its own dtype, on the CPU: half precision could not count past 2048.
    if key == "step":
        return value.clone()
    dtype = param.dtype if param.is_floating_point() else value.dtype
    return value.to(device=param.device, dtype=dtype, copy=True)
