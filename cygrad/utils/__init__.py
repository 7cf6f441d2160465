"""Helpers around the core that torch keeps in ``torch.utils``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cygrad.utils import checkpoint as checkpoint, dlpack as dlpack


def __getattr__(name: str) -> object:
    """``cygrad.utils.checkpoint`` without an import of its own, as in torch; loaded when it is first asked for."""
    if name in ("checkpoint", "dlpack"):
        return import_module(f"cygrad.utils.{name}")
    raise AttributeError(f"module 'cygrad.utils' has no attribute '{name}'")
