"""Differentiable views under mutation: which may not be written or followed, and how those of another dtype follow.

The recorded graph is that of the pure program. A write to a view is, in that program, a new value of the base with the
view's part replaced, and a view of that new value: the base's grad_fn becomes a ``CopySlices`` (copy_slices.py), and
the written view is made again from it. Other views of the same base are not known to the base; each notices by the
version counter, when its grad_fn is asked for, that the base has been written, and is made again then. The common paths
of this are in ``_core/rebase.pyx``, which calls these functions for the rest.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import cast

from cygrad._core.generated.functions import view_as_complex, view_as_real
from cygrad._core.graph_queries import output_facts, view_kind, view_origin
from cygrad._core.node import Node
from cygrad._core.tensor import Tensor

# ViewKind of tensor.pxd
_MULTI_OUTPUT = 1
_NO_GRAD = 2
_CUSTOM = 3
_INFERENCE = 4

_REMEDIES = {
    _MULTI_OUTPUT: (
        "It is one of several outputs of one function, and such outputs cannot be written in place. "
        "Use the out-of-place operation."
    ),
    _NO_GRAD: (
        "Whether a recorded write or an unrecorded one was meant cannot be told: put both the view and the write "
        "inside the no_grad block, or both outside."
    ),
    _CUSTOM: (
        "A custom Function made it, or returned an input as it was, and following the write would go around that "
        "Function's backward. Return a clone() from the Function."
    ),
    _INFERENCE: "Make the view outside of inference mode, or write to a clone().",
}


def _describe(view: Tensor, what: str) -> str:
    """Who the view is and what happened, with torch's words, and the remedy."""
    kind = view_kind(view)
    name, number = view_origin(view)
    if name is None or kind in (_NO_GRAD, _INFERENCE):
        who = "A view was created in"
        if name is not None:
            who = f"Output {number} of {name} is a view of a view which was created in"
        inference = kind == _INFERENCE
        mode, where = ("inference mode", "in normal mode") if inference else ("no_grad mode", "with grad mode enabled")
        text = f"{who} {mode} and {what} modified inplace {where}"
    else:
        text = f"Output {number} of {name} is a view and {what} modified inplace"
    return f"{text}. {_REMEDIES[kind]}"


def refuse_write(view: Tensor, operation: str) -> None:
    """RuntimeError for a recorded write to a view that must not be written, before anything has changed."""
    raise RuntimeError(f"cygrad: {operation}: {_describe(view, 'is being')}")


def refuse_stale(view: Tensor) -> None:
    """RuntimeError for a view whose base was written since and which cannot follow: the value it belongs to is gone."""
    raise RuntimeError(f"cygrad: {_describe(view, 'its base or another view of its base has been')}")


def part_of(whole: Tensor, complex_view: bool, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
    """The view of ``whole`` with this geometry, in elements of the view; ``offset`` counts from the start of ``whole``.

    ``complex_view``: whether the view is complex; where ``whole`` is not of that kind it goes through view_as_real or
    view_as_complex.
    """
    if complex_view and not whole.is_complex():
        pairs = whole.as_strided((*sizes, 2), (*(2 * s for s in strides), 1), 2 * offset + whole.storage_offset())
        return view_as_complex(pairs)
    if whole.is_complex() and not complex_view:
        whole = view_as_real(whole)
        if offset == 0 and tuple(whole.shape) == tuple(sizes) and whole.stride() == tuple(strides):
            return whole
    return whole.as_strided(sizes, strides, offset + whole.storage_offset())


def replay(base: Tensor, view: Tensor) -> Tensor:
    """``view`` again, from ``base`` as it is now, where the two have different dtypes.

    Raises:
        RuntimeError: the dtypes are not a complex one and its real counterpart, so that no gradient passes.

    """
    if view.is_complex() == base.is_complex():
        raise RuntimeError(
            f"cygrad: a view of dtype {view.dtype} of a tensor of dtype {base.dtype} cannot follow a write: gradients "
            "do not pass between these dtypes. Make the view again after the write."
        )
    start = base.storage_offset() * 2 if base.is_complex() else base.storage_offset() // 2
    return part_of(base, view.is_complex(), view.shape, view.stride(), view.storage_offset() - start)


# ---- views tracked by the operations that made them (_force_original_view_tracking) ----------------------------------
# The Nodes between a view and its base say which operations made it. A write to the view itself puts a CopySlices in
# their place; what they said is remembered with that.

_Step = tuple[str, tuple[object, ...]]

# For each Node of a view: the method that made it, and its arguments.
_STEPS: dict[str, Callable[[Node], _Step]] = {
    "ViewBackward0": lambda n: ("view", (_shape(n),)),
    "ExpandBackward0": lambda n: ("expand", (_shape(n),)),
    "SelectBackward0": lambda n: ("select", _saved(n, "dim", "index")),
    "SliceBackward0": lambda n: ("__getitem__", (_slices(*_saved(n, "dim", "start", "end", "step")),)),
    "TBackward0": lambda n: ("t", _saved(n)),
    "TransposeBackward0": lambda n: ("transpose", _saved(n, "dim0", "dim1")),
    "PermuteBackward0": lambda n: ("permute", _saved(n, "dims")),
    "UnsqueezeBackward0": lambda n: ("unsqueeze", _saved(n, "dim")),
    "SqueezeBackward0": lambda n: ("squeeze", _saved(n)),
    "SqueezeBackward1": lambda n: ("squeeze", _saved(n, "dim")),
    "SqueezeBackward2": lambda n: ("squeeze", _saved(n, "dim")),
    "DiagonalBackward0": lambda n: ("diagonal", _saved(n, "offset", "dim1", "dim2")),
    "UnfoldBackward0": lambda n: ("unfold", _saved(n, "dimension", "size", "step")),
    "AsStridedBackward0": lambda n: ("as_strided", _saved(n, "size", "stride", "storage_offset")),
}
_remembered: weakref.WeakKeyDictionary[Node, list[_Step]] = weakref.WeakKeyDictionary()


def _shape(node: Node) -> tuple[int, ...]:
    facts = output_facts(node, 0)
    assert facts is not None
    return facts[0]


def _saved(node: Node, *names: str) -> tuple[int, ...]:
    return tuple(cast("int", getattr(node, "_saved_" + name)) for name in names)


def _slices(dim: int, start: int, end: int, step: int) -> tuple[slice, ...]:
    return (*(slice(None),) * dim, slice(start, end, step))


def _steps(node: Node | None) -> list[_Step]:
    """How the tensor with this grad_fn is made from its base; an empty list where that is not known."""
    if node is not None and node in _remembered:
        return _remembered[node]
    steps: list[_Step] = []
    while node is not None and node.name() in _STEPS:
        steps.append(_STEPS[node.name()](node))
        node = node.next_functions[0][0]
    return steps[::-1]


def remember_steps(written: Node, origin: Node | None) -> None:
    """The view that had grad_fn ``origin`` was written: ``written`` is its CopySlices."""
    _remembered[written] = _steps(origin)


def made_again(base: Tensor, origin: Node | None, view: Tensor) -> Tensor | None:
    """``view``, whose grad_fn was ``origin``, again from ``base`` as it is now, by the operations that made it.

    None where these are not known: the view was made before anything required grad.
    """
    steps = _steps(origin)
    for method, arguments in steps:
        base = getattr(base, method)(*arguments)
    same = base.shape == view.shape and base.stride() == view.stride() and base.data_ptr() == view.data_ptr()
    return base if steps and same and base.dtype is view.dtype else None


__all__ = ["made_again", "part_of", "refuse_stale", "refuse_write", "remember_steps", "replay"]
