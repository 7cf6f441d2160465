"""Checkpointing: recompute a part of the forward during backward instead of keeping what it saved.

Source of the idea: A. Griewank and A. Walther, "Algorithm 799: revolve", ACM Trans. Math. Softw. 26 (2000);
T. Chen et al., "Training deep nets with sublinear memory cost" (2016). Two ways, chosen by ``use_reentrant``:

- False: the part is recorded as always, but each tensor it saves is replaced by a numbered place-holder (saved-tensor
hooks). The first place-holder that backward asks for runs the part again with the same random numbers; the tensors
that this run saves, in the same order, are what was asked for. With early stop the run ends as soon as the last of
them is there.
- True: one custom Function; its forward runs the part with nothing recorded, its backward records it again and calls
backward on that.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from itertools import count
from typing import Generic, TypeVar, cast
from weakref import ref

import cygrad
from cygrad._core.device import device
from cygrad._core.dtypes import dtype
from cygrad._core.forward import _detached  # pyright: ignore[reportPrivateUsage]
from cygrad._core.function import FunctionCtx
from cygrad._core.size import Size
from cygrad._core.task_queries import task_is_pruned, task_values
from cygrad._core.tensor import Tensor
from cygrad._warnings import warn
from cygrad.autograd import backward
from cygrad.autograd.function import Function
from cygrad.autograd.grad_mode import enable_grad, no_grad
from cygrad.autograd.graph import saved_tensors_hooks
from cygrad.random import fork_rng, get_rng_state, set_rng_state

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

_R = TypeVar("_R")
_Contexts = tuple[AbstractContextManager[object], AbstractContextManager[object]]


def detach_variable(inputs: tuple[object, ...]) -> tuple[object, ...]:
    """The same values, with tensors as leaves of their own over the same memory. RuntimeError unless it is a tuple."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "cygrad.utils.checkpoint.detach_variable: Only tuple of tensors is supported, but got "
            f"{type(inputs).__name__}"
        )
    return tuple(a.detach().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in inputs)


def check_backward_validity(inputs: Iterable[object]) -> None:
    """Warn (UserWarning) where no tensor among these requires grad: a re-entrant checkpoint of them has no gradient."""
    if not any(isinstance(a, Tensor) and a.requires_grad for a in inputs):
        warn("cygrad.utils.checkpoint: None of the inputs have requires_grad=True. Gradients will be None", UserWarning)


class CheckpointError(RuntimeError):
    """The recomputation did not save what the forward saved: the function depends on something that changed."""


# What the context managers below set; None: what the call of checkpoint says.
_early_stop: ContextVar[bool | None] = ContextVar("set_checkpoint_early_stop", default=None)
_debug: ContextVar[bool | None] = ContextVar("set_checkpoint_debug_enabled", default=None)


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Context that says whether recomputations of checkpoints made in it end as soon as every tensor is there.

    It overrides the argument ``early_stop``.
    """
    outside = _early_stop.set(enable)
    try:
        yield
    finally:
        _early_stop.reset(outside)


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Context that switches the debug mode of checkpoints made in it; None leaves it to their ``debug``."""
    outside = _debug.set(enabled)
    try:
        yield
    finally:
        _debug.reset(outside)


def noop_context_fn() -> _Contexts:
    """The default ``context_fn``: two contexts that do nothing."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., _R],
    *args: object,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], _Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: object,
) -> _R:
    """``function(*args, **kwargs)``, whose intermediate results are computed again in backward instead of being kept.

    ``use_reentrant``: False is recommended; True runs another backward inside of backward, allows no keyword arguments
    and no ``autograd.grad``. It should be passed (a warning says so); the default is True.
    ``preserve_rng_state``: the recomputation draws the same random numbers as the forward.
    ``context_fn``: makes the contexts in which forward and recomputation run.
    ``determinism_check``: ``"default"`` compares shape, dtype and device of what forward and recomputation saved,
    ``"none"`` compares nothing. ``debug``: errors say where in the program mismatched tensors were saved.
    ``early_stop``: end the recomputation when every tensor is there.

    Raises ValueError for arguments that the chosen way does not have; in backward CheckpointError where the
    recomputation saves other tensors than the forward did, and RuntimeError where a re-entrant checkpoint meets
    ``autograd.grad``.
    """
    if use_reentrant is None:
        warn(
            "cygrad.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False "
            "is recommended; the default is True.",
            UserWarning,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"cygrad.utils.checkpoint: Unexpected keyword arguments: {', '.join(kwargs)} (use_reentrant=False "
                f"passes them on)"
            )
        if context_fn is not noop_context_fn or debug:
            raise ValueError(
                "cygrad.utils.checkpoint: Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return cast("_R", CheckpointFunction.apply(function, preserve_rng_state, *args))
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"cygrad.utils.checkpoint: determinism_check should be one of ['default', 'none'], but got "
            f"{determinism_check}"
        )
    stop_set, debug_set = _early_stop.get(), _debug.get()
    stop = early_stop if stop_set is None else stop_set
    traced = debug if debug_set is None else debug_set
    inside, again = context_fn()
    if not cygrad.is_grad_enabled():
        with inside:
            return function(*args, **kwargs)
    frame = _Frame(
        _Recomputation(function, kwargs, again, preserve_rng_state), args, determinism_check == "default", traced, stop
    )
    with saved_tensors_hooks(frame.pack, frame.unpack), inside:
        result = function(*args, **kwargs)
    frame.forward_completed = True
    return result


def checkpoint_sequential(
    functions: Sequence[Callable[..., object]],
    segments: int,
    input: Tensor,
    use_reentrant: bool | None = None,
    *,
    preserve_rng_state: bool = True,
) -> Tensor:
    """``input`` through ``functions`` one after the other, checkpointed in ``segments`` parts of equal length.

    The last part is run as always.

    ``functions``: a sequence of callables of one tensor. Other arguments: as for ``checkpoint``. ValueError for fewer
    functions than segments.
    """
    if use_reentrant is None:
        warn(
            "cygrad.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended; the default is True.",
            UserWarning,
        )
        use_reentrant = True
    parts = list(functions)
    if segments < 1 or segments > len(parts):
        raise ValueError(
            f"cygrad.utils.checkpoint_sequential: segments must be between 1 and the number of functions, "
            f"{len(parts)}, but got {segments}"
        )
    length = len(parts) // segments

    def run(first: int, last: int) -> Callable[[object], object]:
        def segment(value: object) -> object:
            for part in parts[first:last]:
                value = part(value)
            return value

        return segment

    value: object = input
    start = 0
    for _ in range(segments - 1):
        value = checkpoint(
            run(start, start + length), value, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )
        start += length
    return cast("Tensor", run(start, len(parts))(value))


# ---- without re-entrance ---------------------------------------------------------------------------------------------


class _Stop(BaseException):
    """Ends a recomputation that has saved everything: no error, and nothing a function's own handlers should catch."""


# What is compared between forward and recomputation.
_Facts = tuple[Size, dtype, device]


def _described(facts: _Facts | None) -> str:
    """Facts in the words of an error."""
    if facts is None:
        return "none"
    shape, kind, place = facts
    return f"shape {tuple(shape)}, dtype {kind}, device {place}"


class _Place:
    """The place-holder of one saved tensor; what is made again for it goes with it, or with the backward."""

    __slots__ = ("__weakref__", "facts", "made", "number", "origin")

    def __init__(self, number: int, facts: _Facts | None, origin: str) -> None:
        self.number: int = number
        self.facts: _Facts | None = facts
        self.origin: str = origin
        self.made: dict[int, Tensor] | None = None  # by the number of the recomputation


class _Recomputation(Generic[_R]):
    """How to run the function again as it ran first."""

    def __init__(
        self,
        function: Callable[..., _R],
        kwargs: dict[str, object],
        context: AbstractContextManager[object],
        preserve_rng_state: bool,
    ) -> None:
        self.function: Callable[..., _R] = function
        self.kwargs: dict[str, object] = kwargs
        self.context: AbstractContextManager[object] = context
        self.state: Tensor | None = get_rng_state() if preserve_rng_state else None

    def __call__(self, args: tuple[object, ...]) -> None:
        """Run the function with grad mode on."""
        with fork_rng(self.state is not None), enable_grad():
            if self.state is not None:
                set_rng_state(self.state)
            with self.context:
                self.function(*args, **self.kwargs)


class _Inputs(Function):
    """Saves the arguments as any operation does: hooks around the checkpoint, an outer checkpoint's too, see them."""

    @staticmethod
    def forward(ctx: FunctionCtx, anchor: Tensor, *tensors: Tensor) -> Tensor:  # noqa: ARG004
        """An empty tensor, whose Node holds the arguments; ``anchor`` requires grad, so that there is a Node."""
        ctx.save_for_backward(*tensors)
        return cygrad.empty(0)

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: object) -> object:  # noqa: ARG004
        """Never run: nothing depends on the empty tensor."""
        raise AssertionError("cygrad.utils.checkpoint: the Node of the arguments must not be run")

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents: object) -> None:
        """No tangent: an empty tensor has no elements to differentiate."""


class _Frame:
    """One checkpointed call: its place-holders, and how their tensors are made again."""

    def __init__(
        self, again: _Recomputation[object], args: tuple[object, ...], check: bool, debug: bool, early_stop: bool
    ) -> None:
        self.again: _Recomputation[object] = again
        self.check: bool = check
        self.debug: bool = debug
        self.early_stop: bool = early_stop
        self.forward_completed: bool = False
        self.places: list[ref[_Place]] = []
        tensors = [a for a in args if isinstance(a, Tensor)]
        self.others: list[object] = [_HOLE if isinstance(a, Tensor) else a for a in args]
        self.needs: list[bool] = [t.requires_grad for t in tensors]
        self.inputs: Tensor = _saved_inputs(tensors)

    def pack(self, tensor: Tensor) -> _Place:
        """A place-holder instead of the tensor."""
        places = self.places
        facts = (tensor.shape, tensor.dtype, tensor.device) if self.check else None
        place = _Place(len(places), facts, _origin() if self.debug else "")
        places.append(ref(place))
        return place

    def unpack(self, place: _Place) -> Tensor:
        """The tensor of a place-holder, for the backward that runs now."""
        values = task_values()
        run = values.get(self)
        if not isinstance(run, _Run):
            run = values[self] = self.recompute()
        found = None if place.made is None else place.made.pop(run.id, None)
        if found is None:
            raise CheckpointError(
                "cygrad.utils.checkpoint: Unpack is being triggered for a tensor that was either never recomputed, "
                "or already unpacked once: read saved tensors "
                f"once a backward, and pass early_stop=False if the function saves them in another order. (tensor "
                f"{place.number})"
            )
        run.left -= 1
        return found

    def recompute(self) -> _Run:
        """Run the function again: what it saves is left in the place-holders that a Node still has."""
        run = _Run(self)
        try:
            with saved_tensors_hooks(run.pack, run.unpack):
                self.again(self.arguments())
        except _Stop as stop:
            if stop.args[0] is not run:
                raise
        self.compare(run)
        return run

    def arguments(self) -> tuple[object, ...]:
        """The arguments of the call: the tensors cut off from the graph, as leaves; they keep their tangents."""
        node = self.inputs.grad_fn
        if node is None:
            raise AssertionError("cygrad.utils.checkpoint: the arguments were not saved")
        tensors = cast("tuple[Tensor, ...]", cast("_Saving", node).saved_tensors)
        leaves = iter([_detached(t).requires_grad_(needs) for t, needs in zip(tensors, self.needs, strict=True)])
        return tuple(next(leaves) if a is _HOLE else a for a in self.others)

    def compare(self, run: _Run) -> None:
        """CheckpointError unless the recomputation saved what the forward saved."""
        if run.count < len(self.places) and not run.surplus:
            raise CheckpointError(
                "cygrad.utils.checkpoint: A different number of tensors was saved during the original forward and "
                "recomputation.\n"
                f"Number of tensors saved during forward: {len(self.places)}\nNumber of tensors saved during "
                f"recomputation: {run.count}." + _HINT
            )
        if self.check and run.differences:
            raise CheckpointError(
                "cygrad.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during the forward pass.\n" + "\n".join(run.differences) + ("" if self.debug else _HINT)
            )


_HOLE = object()
_run_ids = count()
_HINT = (
    "\nPass debug=True to checkpoint(), or use set_checkpoint_debug_enabled(True), to see where in the program these "
    "tensors are saved."
)


class _Saving:
    """The part of a Function's Node that is read here."""

    saved_tensors: tuple[Tensor | None, ...]


class _Run:
    """One recomputation: hooks that collect what it saves."""

    def __init__(self, frame: _Frame) -> None:
        self.frame: ref[_Frame] = ref(frame)
        self.id: int = next(_run_ids)
        self.count: int = 0
        self.left: int = 0  # tensors made and not asked for yet
        self.surplus: bool = False
        self.differences: list[str] = []

    def pack(self, tensor: Tensor) -> Tensor:
        """Note the tensor as the next one."""
        frame = self.frame()
        if frame is None:
            return tensor
        places = frame.places
        number = self.count
        if number >= len(places):
            if frame.forward_completed:
                raise CheckpointError(
                    "cygrad.utils.checkpoint: trying to save more tensors during recomputation than during the "
                    "original forward pass." + _HINT
                )
            self.surplus = True  # backward inside of the function: forward has not saved everything yet
            return tensor
        place = places[number]()
        self.count = number + 1
        if place is not None:
            self.left += 1
            if place.made is None:
                place.made = {self.id: tensor.detach()}
            else:
                place.made[self.id] = tensor.detach()
            if frame.check and place.facts != (facts := (tensor.shape, tensor.dtype, tensor.device)):
                text = (
                    f"tensor at position {number}:\nsaved metadata: {_described(place.facts)}\n"
                    f"recomputed metadata: {_described(facts)}"
                )
                if frame.debug:
                    text += f"\nsaved in forward at\n{place.origin}saved in recomputation at\n{_origin()}"
                self.differences.append(text)
        if frame.early_stop and number + 1 == len(places):
            raise _Stop(self)
        return tensor

    def unpack(self, tensor: Tensor) -> Tensor:
        """The tensor as it is."""
        return tensor

    def __del__(self) -> None:
        """The backward is over: what it did not ask for goes, though the graph may stay."""
        frame = self.frame()
        if self.left and frame is not None:
            for reference in frame.places:
                place = reference()
                if place is not None and place.made is not None:
                    place.made.pop(self.id, None)


def _origin() -> str:
    """The lines of the program that led to a saved tensor."""
    return "".join(traceback.format_list(traceback.extract_stack()[:-3][-6:]))


def _saved_inputs(tensors: list[Tensor]) -> Tensor:
    with enable_grad():
        return _Inputs.apply(cygrad.empty(0, requires_grad=True), *tensors)


# ---- re-entrant ------------------------------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """The checkpoint as one Function."""

    @staticmethod
    def forward(
        ctx: _CheckpointCtx, function: Callable[..., object], preserve_rng_state: bool, *args: object
    ) -> object:
        """Run the function with nothing recorded."""
        check_backward_validity(args)
        ctx.function = function
        ctx.state = get_rng_state() if preserve_rng_state else None
        ctx.others = [_HOLE if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a for a in args if isinstance(a, Tensor)])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: _CheckpointCtx, *grad_outputs: Tensor | None) -> tuple[object, ...]:
        """Record the function again and run backward on that: the gradients are those of the detached inputs."""
        if task_is_pruned():
            raise RuntimeError(
                "cygrad.utils.checkpoint: When use_reentrant=True, checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). "
                "Set use_reentrant=False, or call .backward() without `inputs`."
            )
        saved = iter(ctx.saved_tensors)
        args = [next(saved) if a is _HOLE else a for a in ctx.others]
        leaves = detach_variable(tuple(args))
        with fork_rng(ctx.state is not None), enable_grad():
            if ctx.state is not None:
                set_rng_state(ctx.state)
            outputs = ctx.function(*leaves)
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (o, g) for o, g in zip(several, grad_outputs, strict=True) if isinstance(o, Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "cygrad.utils.checkpoint: none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(leaf.grad if isinstance(leaf, Tensor) else None for leaf in leaves))


class _CheckpointCtx(FunctionCtx):
    """What forward leaves for backward."""

    function: Callable[..., object]
    state: Tensor | None
    others: list[object]
