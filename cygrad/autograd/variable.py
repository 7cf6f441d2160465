"""``Variable``: the old name of Tensor, which old code still calls, tests against, and asks for the engine.

Why it exists: ``Variable(x, requires_grad=True)``, ``isinstance(x, Variable)`` and
``Variable._execution_engine.queue_callback`` are written in programs and libraries of many years.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from cygrad._core.task_queries import queue_callback
from cygrad._core.tensor import Tensor

__all__ = ["Variable"]


class ExecutionEngine:
    """What Python code may ask of the engine while a backward runs."""

    @staticmethod
    def queue_callback(callback: Callable[[], object]) -> None:
        """Call ``callback()`` when the backward that runs now has finished, in order of the calls.

        RuntimeError outside of a backward. What a callback raises reaches the caller of backward.
        """
        queue_callback(callback)


class _VariableMeta(type):
    """Every Tensor is a Variable."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(data, requires_grad=False)`` gives a leaf tensor that shares the memory of ``data``."""

    _execution_engine: ClassVar[ExecutionEngine] = ExecutionEngine()

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Tensor:  # type: ignore[misc]
        """A leaf tensor that shares memory with ``data``. TypeError unless it is a Tensor."""
        if not isinstance(data, Tensor):
            raise TypeError(f"cygrad.autograd.Variable: data must be a Tensor, not {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
