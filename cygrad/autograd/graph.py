"""The recorded graph from outside: hooks on saved tensors and on several gradients at once.

The core keeps a stack of saved-tensor hooks for each thread and applies the innermost pair to every tensor that an
operation or a custom Function saves (Note [Packed tensors] in saved_hooks.pxd); this file gives the stack its context
managers. Nothing here costs anything while no context is entered.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Generic, Literal, TypeVar, overload

from cygrad._core.device import device
from cygrad._core.node import Node
from cygrad._core.saved_hooks import disable_default_hooks, pop_default_hooks, push_default_hooks, watch_writes
from cygrad._core.task_queries import task_values, will_run
from cygrad._core.tensor import Tensor
from cygrad.autograd.edges import (
    GradientEdge,
    SavedMemory,
    get_gradient_edge,
    increment_version,
    saved_memory,
    set_warn_on_accumulate_grad_stream_mismatch,
)
from cygrad.autograd.grad_mode import enable_grad
from cygrad.utils.hooks import RemovableHandle

__all__ = [
    "GradientEdge",
    "Node",
    "SavedMemory",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_memory",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]

_T = TypeVar("_T")


# ---- saved tensors ---------------------------------------------------------------------------------------------------


class saved_tensors_hooks(Generic[_T]):  # noqa: N801 (torch's name)
    """Context in which every tensor that this thread saves for backward is kept as ``pack_hook(tensor)``.

    ``unpack_hook`` makes the tensor again of what ``pack_hook`` gave, whenever backward (or ``_saved_*``) asks for it:
    a tensor of the same shape, dtype and device. ``pack_hook`` must not write to its argument (RuntimeError); what it
    keeps should be outside of the graph (``detach()``), since an output would make a cycle with its own Node.
    Contexts nest; the innermost pair is used. RuntimeError on entering where hooks are disabled.
    """

    def __init__(self, pack_hook: Callable[[Tensor], _T], unpack_hook: Callable[[_T], Tensor]) -> None:
        self.pack_hook: Callable[[Tensor], _T] = pack_hook
        self.unpack_hook: Callable[[_T], Tensor] = unpack_hook

    def __enter__(self) -> None:
        push_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception: object) -> None:
        pop_default_hooks()


class save_on_cpu(saved_tensors_hooks[tuple[device, Tensor]]):  # noqa: N801 (torch's name)
    """Context in which saved tensors wait for backward in the memory of the CPU.

    They go back to their device when they are needed; tensors that lie on the CPU already stay as they are.
    ``pin_memory`` is accepted: it matters to tensors of other devices alone, whose copies are faster where the device
    has pinned memory. ``device_type`` names the device it is meant for.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        self.pin_memory: bool = pin_memory
        self.device_type: str = device_type

        def pack(tensor: Tensor) -> tuple[device, Tensor]:
            return tensor.device, tensor.detach().cpu()

        def unpack(packed: tuple[device, Tensor]) -> Tensor:
            where, tensor = packed
            return tensor.to(where, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context in which entering ``saved_tensors_hooks`` is a RuntimeError with ``error_message``, in this thread.

    RuntimeError with that message, too, where there are hooks already.
    """
    earlier = disable_default_hooks(error_message)
    try:
        yield
    finally:
        disable_default_hooks(earlier)


class _Kept:
    """One saved tensor of allow_mutation_on_saved_tensors: the original; once written, a copy made before the write."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor: Tensor | None = tensor


class _Mutations:
    """What ``allow_mutation_on_saved_tensors`` gives: the saved tensors it watches, by the memory they lie in."""

    def __init__(self) -> None:
        self._all: weakref.WeakSet[_Kept] = weakref.WeakSet()
        self._unwritten: dict[int, weakref.WeakSet[_Kept]] = {}
        self._open: bool = True

    def clear(self) -> None:
        """Forget every saved tensor: a backward that needs one is refused from now on."""
        for kept in self._all:
            kept.tensor = None
        self._all.clear()
        self._unwritten.clear()

    def _pack(self, tensor: Tensor) -> _Kept:
        kept = _Kept(tensor.detach())
        self._all.add(kept)
        self._unwritten.setdefault(tensor.untyped_storage().data_ptr(), weakref.WeakSet()).add(kept)
        return kept

    def _unpack(self, kept: _Kept) -> Tensor:
        if not self._open or kept.tensor is None:
            raise AssertionError(
                "cygrad: Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the "
                "graph was originally recorded."
            )
        return kept.tensor

    def _write(self, tensor: Tensor) -> None:
        group = self._unwritten.pop(tensor.untyped_storage().data_ptr(), None)
        for kept in group or ():
            if kept.tensor is not None:
                kept.tensor = kept.tensor.clone()


_allowing: ContextVar[bool] = ContextVar("allow_mutation_on_saved_tensors", default=False)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutations]:
    """Context in which tensors may be written in place after they were saved: backward sees the value that was saved.

    A saved tensor is copied when it is about to be written, not before. Backward must run inside of the same context,
    AssertionError otherwise; so must writing, by operations of cygrad. The context manager gives an object whose
    ``clear()`` drops what was saved. RuntimeError for nested contexts.
    """
    if _allowing.get():
        raise RuntimeError("cygrad: allow_mutation_on_saved_tensors contexts cannot be nested")
    mutations = _Mutations()
    with saved_tensors_hooks(mutations._pack, mutations._unpack):
        outside = _allowing.set(True)
        watch_writes(mutations._write)
        try:
            yield mutations
        finally:
            watch_writes(None)
            _allowing.reset(outside)
            mutations._open = False
            mutations.clear()


# ---- hooks on several gradients --------------------------------------------------------------------------------------

_AllHook = Callable[[Sequence[Tensor | None]], object]
_AnyHook = Callable[[Tensor], object]


class _MultiHandle(RemovableHandle[Callable[[Tensor], Tensor | None]]):
    """The handle of hooks on several tensors."""

    _number: ClassVar[int] = 0

    def __init__(self, handles: Sequence[RemovableHandle[Callable[[Tensor], Tensor | None]]]) -> None:
        super().__init__({})
        self.handles: tuple[RemovableHandle[Callable[[Tensor], Tensor | None]], ...] = tuple(handles)

    def remove(self) -> None:
        """Take the hook away from all of its tensors."""
        for handle in self.handles:
            handle.remove()


@overload
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: _AllHook, *, mode: Literal["all"] = "all"
) -> RemovableHandle[Callable[[Tensor], Tensor | None]]: ...
@overload
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: _AnyHook, *, mode: Literal["any"]
) -> RemovableHandle[Callable[[Tensor], Tensor | None]]: ...
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., object], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle[Callable[[Tensor], Tensor | None]]:
    """Call ``fn`` once a backward, with the gradients of ``tensors``.

    ``mode="all"``: with a list of all of them (None where none is computed), when the last has been computed.
    ``mode="any"``: with the first one that has been computed, a tensor.

    What ``fn`` returns is ignored. Returns a handle whose ``remove()`` takes the hook away. ValueError for other
    modes; RuntimeError for tensors that do not require grad.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"cygrad: Expects mode to be one of ('all', 'any') but got {mode}")
    watched = tuple(tensors)
    hooks = _all_hooks(watched, fn) if mode == "all" else _any_hooks(watched, fn)
    return _MultiHandle([t.register_hook(hook) for t, hook in zip(watched, hooks, strict=True)])


class _Arrived:
    """The gradients that one backward has brought so far, and how many are missing."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.gradients: list[Tensor | None] = [None] * len(nodes)
        self.missing: int = sum(will_run(node) for node in nodes)


# What a hook remembers of one backward lies with that backward (task_values), which drops it at its end, failed or not.


def _all_hooks(tensors: tuple[Tensor, ...], fn: _AllHook) -> list[Callable[[Tensor], None]]:
    nodes = [_gradient_node(t) for t in tensors]
    key = object()

    def hook_of(position: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            values = task_values()
            arrived = values.get(key)
            if not isinstance(arrived, _Arrived):
                arrived = values[key] = _Arrived(nodes)
            arrived.gradients[position] = grad
            arrived.missing -= 1
            if arrived.missing == 0:
                del values[key]
                fn(arrived.gradients)

        return hook

    return [hook_of(k) for k in range(len(tensors))]


def _any_hooks(tensors: tuple[Tensor, ...], fn: _AnyHook) -> list[Callable[[Tensor], None]]:
    key = object()

    def hook(grad: Tensor) -> None:
        values = task_values()
        if key not in values:
            values[key] = True
            fn(grad)

    return [hook] * len(tensors)


def _gradient_node(tensor: Tensor) -> Node:
    """The Node that the gradient of a tensor reaches: its grad_fn, or the AccumulateGrad of a leaf."""
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    if not tensor.requires_grad:
        raise RuntimeError("cygrad: cannot register a hook on a tensor that doesn't require gradient")
    with enable_grad():
        view = tensor.view_as(tensor)
    node = None if view.grad_fn is None else view.grad_fn.next_functions[0][0]
    if node is None:
        raise RuntimeError("cygrad: this tensor has no place in a graph")
    return node
