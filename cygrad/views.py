"""Differentiable views under mutation: which may be written, and how the graph follows a write.

The recorded graph is that of the pure program. A write to a view is, in that program, a new value of the base with the
view's part replaced, and a view of that new value. ``rebase_written`` makes exactly this: the base's grad_fn becomes a
``CopySlices`` (copy_slices.py), and the written view is made again from it. Other views of the same base are not known
to the base; each notices by the version counter, when its grad_fn is asked for, that the base has been written, and is
made again then (``rebase_stale``). The core calls these functions only in these cases; making views and writing to
tensors that are no views stay in compiled code.
"""

from __future__ import annotations

from cygrad._core.node import Node
from cygrad._core.tensor import Tensor, _set_grad_fn, _stale_origin, _view_kind, _view_replay
from cygrad.autograd.grad_mode import enable_grad
from cygrad.copy_slices import make_copy_slices

# ViewKind of tensor.pxd
_MULTI_OUTPUT = 1
_NO_GRAD = 2
_MULTI_OUTPUT_NO_GRAD = 3
_CUSTOM = 4
_INFERENCE = 5

_REASONS = {
    _MULTI_OUTPUT: (
        "Output {nr} of {name} is a view and {what}is being modified inplace. This view is the output of a function "
        "that returns multiple views. "
        "Such functions do not allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one."
    ),
    _NO_GRAD: (
        "A view was created in no_grad mode and {what}is being modified inplace with grad mode enabled. Given that "
        "this use case is ambiguous and "
        "error-prone, it is forbidden. Make the view with grad mode enabled, or write with grad mode off."
    ),
    _MULTI_OUTPUT_NO_GRAD: (
        "Output {nr} of {name} is a view and {what}is being modified inplace. It was created in no_grad mode by a "
        "function that returns multiple views, "
        "and is being written with grad mode enabled: this is forbidden. Replace the inplace operation by an "
        "out-of-place one."
    ),
    _CUSTOM: (
        "Output {nr} of {name} is a view and {what}is being modified inplace. This view was created inside a custom "
        "Function (or because an input was returned "
        "as-is) and the autograd logic to handle view+inplace would override the custom backward associated with the "
        "custom Function, leading to "
        "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
    _INFERENCE: (
        "A view was created in inference mode and {what}is being modified inplace in normal mode, which is forbidden. "
        "Clone it outside of inference mode first."
    ),
}


def refuse_write(view: Tensor, operation: str) -> None:
    """RuntimeError for a recorded write to a view that must not be written, before anything has changed."""
    grad_fn = view.grad_fn
    text = _REASONS[_view_kind(view)].format(
        nr=view.output_nr, name="a function" if grad_fn is None else grad_fn.name(), what=""
    )
    raise RuntimeError(f"cygrad: {operation}: {text}")


def rebase_written(view: Tensor, written: Node) -> None:
    """After an in-place operation on ``view`` whose Node is ``written``.

    The base gets a CopySlices, the view is made again from it.
    """
    base = view._base
    if base is None:
        raise RuntimeError("cygrad: only views can be rebased")
    retains = view.retains_grad
    _set_grad_fn(base, make_copy_slices(base, view, written), 0)
    rebase_stale(view)
    if retains:
        view.retain_grad()


def rebase_stale(view: Tensor) -> None:
    """Make the grad_fn of ``view`` again from its base, which has been written since."""
    base = view._base
    if base is None:
        raise RuntimeError("cygrad: only views can be rebased")
    if not base.requires_grad:
        return
    kind = _view_kind(view)
    if kind in _REASONS:
        # The old grad_fn is that of a value which is gone, and there is no right one.
        name, nr = _stale_origin(view)
        raise RuntimeError(
            "cygrad: " + _REASONS[kind].format(nr=nr, name=name, what="its base or another view of its base ")
        )
    replay = _view_replay(view)
    with enable_grad():
        if replay is None:
            again = base.as_strided(view.shape, view.stride(), view.storage_offset())
        else:
            again = replay(base)
    _set_grad_fn(view, again.grad_fn, again.output_nr)
