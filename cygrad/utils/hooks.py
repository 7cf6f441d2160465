"""Handles of registered hooks: what lets a user take a hook away again."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import MutableMapping
from types import TracebackType
from typing import ClassVar, Generic, TypeVar

__all__ = ["RemovableHandle"]

_HookT = TypeVar("_HookT")


class RemovableHandle(Generic[_HookT]):
    """Given back by the functions that register hooks; ``remove()`` takes the hook away. Usable as a context manager.

    The table of hooks is held weakly where it can be, so that a kept handle keeps no graph alive.
    """

    _ids: ClassVar[itertools.count[int]] = itertools.count()

    def __init__(self, hooks: MutableMapping[int, _HookT]) -> None:
        """``hooks``: the table in which the caller registers the hook under ``self.id``."""
        self.id: int = next(RemovableHandle._ids)
        self._hooks = _reference(hooks)

    def remove(self) -> None:
        """Take the hook away. A second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle[_HookT]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()


class HookTable(dict[int, _HookT]):
    """A dict of hooks that can be referenced weakly."""

    __slots__ = ("__weakref__",)


class _Strong(Generic[_HookT]):
    """A reference for tables that cannot be held weakly."""

    def __init__(self, hooks: MutableMapping[int, _HookT]) -> None:
        self._hooks = hooks

    def __call__(self) -> MutableMapping[int, _HookT] | None:
        return self._hooks


def _reference(hooks: MutableMapping[int, _HookT]) -> weakref.ref[MutableMapping[int, _HookT]] | _Strong[_HookT]:
    try:
        return weakref.ref(hooks)
    except TypeError:
        return _Strong(hooks)
