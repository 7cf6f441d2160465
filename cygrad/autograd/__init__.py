"""Differentiation of recorded computations: ``backward`` and ``grad``, and what else ``torch.autograd`` has.

This file validates arguments and names every mistake in them before anything has changed; the work is done by the
engine of the core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Literal, overload

import cygrad
from cygrad._core.backward import run_backward
from cygrad._core.forward import _detached  # pyright: ignore[reportPrivateUsage]
from cygrad._core.grad_mode import is_grad_enabled
from cygrad._core.graph_queries import n_outputs, output_facts
from cygrad._core.node import Node, SavedTensor
from cygrad._core.tensor import Tensor
from cygrad._warnings import warn
from cygrad.autograd import anomaly_mode, forward_ad, function, grad_mode, graph
from cygrad.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from cygrad.autograd.edges import GradientEdge
from cygrad.autograd.function import Function, NestedIOFunction
from cygrad.autograd.grad_mode import (
    _force_original_view_tracking,  # noqa: F401 # pyright: ignore[reportPrivateUsage, reportUnusedImport] - torch has it here
    _unsafe_preserve_version_counter,  # noqa: F401 # pyright: ignore[reportPrivateUsage, reportUnusedImport] - and this
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from cygrad.autograd.gradcheck import gradcheck, gradgradcheck
from cygrad.autograd.variable import Variable

__all__ = [
    "Function",
    "GradientEdge",
    "NestedIOFunction",
    "Node",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

# What a gradient may start from or arrive at.
_Place = Tensor | GradientEdge
_PlaceOrPlaces = Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge] | Sequence[_Place]
_Gradients = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: _PlaceOrPlaces,
    grad_tensors: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: _Gradients = None,
    inputs: _PlaceOrPlaces | None = None,
) -> None:
    """Add the gradients of ``tensors`` with respect to the leaves of their graph to the leaves' ``.grad``.

    ``grad_tensors``: the cotangents, one a tensor, of the same shape; None stands for one where a tensor has a single
    element. ``retain_graph``: keep what the graph saved for another backward (default: ``create_graph``).
    ``create_graph``: record the backward itself, for higher derivatives. ``inputs``: add to the ``.grad`` of these
    tensors alone; only what they need is computed.

    Raises RuntimeError for tensors without a graph, several elements without a cotangent, cotangents of the wrong
    shape, or a graph whose saved tensors were freed; TypeError for objects that are no tensors. What a hook or Function
    raises arrives unchanged.
    """
    if grad_variables is not None:
        warn("cygrad.autograd.backward: grad_variables is deprecated, use grad_tensors", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "cygrad.autograd.backward: grad_tensors and grad_variables (deprecated) arguments both passed to "
                "backward(). Please only use grad_tensors."
            )
        grad_tensors = grad_variables
    roots = _tensors(tensors, "backward", "tensors")
    targets = None if inputs is None else _tensors(inputs, "backward", "inputs")
    if targets is not None and not targets:
        raise RuntimeError("cygrad.autograd.backward: `inputs` argument to backward() cannot be empty.")
    cotangents = _cotangents(roots, grad_tensors, "backward", create_graph)
    for i, target in enumerate(targets or ()):
        if isinstance(target, Tensor) and not target.requires_grad:
            raise RuntimeError(
                f"cygrad.autograd.backward: One of the differentiated Tensors does not require grad: inputs[{i}]"
            )
    if create_graph:
        warn(
            "cygrad: Using backward() with create_graph=True will create a reference cycle between the parameter and "
            "its gradient, which only Python's "
            "garbage collector frees. Prefer autograd.grad when creating the graph, or set the .grad fields to None "
            "after use.",
            UserWarning,
        )
    run_backward(roots, cotangents, create_graph if retain_graph is None else retain_graph, create_graph, targets, True)


@overload
def grad(
    outputs: _PlaceOrPlaces,
    inputs: _PlaceOrPlaces,
    grad_outputs: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: Literal[False] | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: _PlaceOrPlaces,
    inputs: _PlaceOrPlaces,
    grad_outputs: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    *,
    materialize_grads: Literal[True],
) -> tuple[Tensor, ...]: ...
@overload
def grad(
    outputs: _PlaceOrPlaces,
    inputs: _PlaceOrPlaces,
    grad_outputs: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]: ...
def grad(
    outputs: _PlaceOrPlaces,
    inputs: _PlaceOrPlaces,
    grad_outputs: _Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``: the vector-Jacobian product with ``grad_outputs``.

    No ``.grad`` is touched.

    ``grad_outputs``: the cotangents, one an output, of the same shape; None stands for one where an output has a single
    element. With ``is_grads_batched`` they have a leading dimension more, one row a vector-Jacobian product, and so
    have the results. ``retain_graph``, ``create_graph``: as for ``backward``. ``allow_unused``: give None for inputs
    that the outputs do not depend on, which is a RuntimeError otherwise. ``materialize_grads``: give zeros for them.

    Raises RuntimeError and TypeError as ``backward`` does; ValueError for ``materialize_grads=True`` with
    ``allow_unused=False``.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "cygrad.autograd.grad: Expected allow_unused to be True or not passed when materialize_grads=True, but "
            "got: allow_unused=False."
        )
    roots = _tensors(outputs, "grad", "outputs")
    targets = _tensors(inputs, "grad", "inputs")
    if not targets:
        raise RuntimeError("cygrad.autograd.grad: `inputs` argument to grad() cannot be empty.")
    for i, target in enumerate(targets):
        if isinstance(target, Tensor) and not target.requires_grad:
            raise RuntimeError(
                f"cygrad.autograd.grad: One of the differentiated Tensors does not require grad: inputs[{i}]"
            )
    keep = create_graph if retain_graph is None else retain_graph
    found: list[Tensor | None]
    if is_grads_batched:
        found = _batched(roots, targets, grad_outputs, keep, create_graph)
    else:
        cotangents = _cotangents(roots, grad_outputs, "grad", create_graph)
        found = run_backward(roots, cotangents, keep, create_graph, targets, False) or []
    if materialize_grads:
        if any(g is None and not isinstance(x, Tensor) for g, x in zip(found, targets, strict=True)):
            raise RuntimeError(
                "cygrad.autograd.grad: materialize_grads cannot be used when the given input is a GradientEdge, "
                "whose shape is not known"
            )
        return tuple(
            cygrad.zeros_like(x, requires_grad=create_graph) if g is None and isinstance(x, Tensor) else g
            for g, x in zip(found, targets, strict=True)
        )
    if not allow_unused:
        for i, g in enumerate(found):
            if g is None:
                raise RuntimeError(
                    "cygrad.autograd.grad: One of the differentiated Tensors appears to not have been used in the "
                    f"graph: inputs[{i}]. "
                    "Set allow_unused=True if this is the desired behavior."
                )
    return tuple(found)


def _tensors(value: _PlaceOrPlaces, function: str, argument: str) -> tuple[_Place, ...]:
    if isinstance(value, Tensor | GradientEdge):
        return (_place(value, function, argument),)
    if not isinstance(value, Iterable):
        raise TypeError(
            f"cygrad.autograd.{function}: {argument} must be a Tensor or a sequence of Tensors, not "
            f"{type(value).__name__}"
        )
    return tuple(_place(item, function, f"{argument}[{i}]") for i, item in enumerate(value))


def _place(item: object, function: str, argument: str) -> _Place:
    if isinstance(item, Tensor):
        return item
    if not isinstance(item, GradientEdge):
        if argument.startswith("inputs"):
            raise RuntimeError(
                f"cygrad.autograd.{function}: all inputs have to be Tensors or GradientEdges, but got "
                f"{type(item).__name__} as {argument}"
            )
        raise TypeError(
            f"cygrad.autograd.{function}: {argument} must be a Tensor or a GradientEdge, not {type(item).__name__}"
        )
    if not isinstance(item.node, Node):
        raise TypeError(
            f"cygrad.autograd.{function}: the node of {argument} must be a Node, not {type(item.node).__name__}"
        )
    if not 0 <= item.output_nr < n_outputs(item.node):
        raise IndexError(
            f"cygrad.autograd.{function}: {argument} names output {item.output_nr} of {item.node.name()}, which "
            f"has {n_outputs(item.node)}"
        )
    return item


def _cotangents(roots: tuple[_Place, ...], given: _Gradients, function: str, create_graph: bool) -> tuple[Tensor, ...]:
    gradients: tuple[Tensor | None, ...]
    if given is None:
        gradients = (None,) * len(roots)
    elif isinstance(given, Tensor):
        gradients = (given,)
    elif isinstance(given, Iterable):
        gradients = tuple(given)
    else:
        raise TypeError(
            f"cygrad.autograd.{function}: gradients can be either Tensors or None, but got {type(given).__name__}"
        )
    if len(gradients) != len(roots):
        raise RuntimeError(
            f"cygrad.autograd.{function}: got {len(roots)} tensors and {len(gradients)} gradients; give one gradient "
            "(or None) a tensor"
        )
    return tuple(
        _cotangent(i, root, g, function, create_graph) for i, (root, g) in enumerate(zip(roots, gradients, strict=True))
    )


def _cotangent(i: int, root: _Place, gradient: Tensor | None, function: str, create_graph: bool) -> Tensor:
    if gradient is not None and not isinstance(gradient, Tensor):
        raise TypeError(
            f"cygrad.autograd.{function}: gradients can be either Tensors or None, but got {type(gradient).__name__}"
        )
    if isinstance(root, GradientEdge):
        return _cotangent_of_edge(i, root, gradient, function, create_graph)
    if not root.requires_grad:
        raise RuntimeError(
            f"cygrad.autograd.{function}: element {i} of tensors does not require grad and does not have a grad_fn"
        )
    if gradient is None:
        if root.numel() != 1:
            raise RuntimeError(
                f"cygrad.autograd.{function}: grad can be implicitly created only for scalar outputs; tensor {i} has "
                f"shape {list(root.shape)}: "
                "reduce it, or give its cotangent"
            )
        if not root.dtype.is_floating_point:
            raise RuntimeError(
                f"cygrad.autograd.{function}: grad can be implicitly created only for real scalar outputs but got "
                f"{root.dtype}; give its cotangent"
            )
        return cygrad.ones_like(root)
    if gradient.shape != root.shape:
        raise RuntimeError(
            f"cygrad.autograd.{function}: Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and "
            f"output[{i}] has a shape of {root.shape}."
        )
    if gradient.dtype.is_complex != root.dtype.is_complex:
        raise RuntimeError(
            f"cygrad.autograd.{function}: For complex Tensors, both grad_output and output are required to have the "
            "same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {gradient.dtype} and output[{i}] has a dtype of {root.dtype}."
        )
    if gradient.dtype is not root.dtype:
        gradient = gradient.to(root.dtype)
    return gradient if create_graph else _detached(gradient)


def _cotangent_of_edge(
    i: int, edge: GradientEdge, gradient: Tensor | None, function: str, create_graph: bool
) -> Tensor:
    """As _cotangent, by what the Node still knows of the tensor."""
    facts = output_facts(edge.node, edge.output_nr)
    if gradient is None:
        if facts is None or prod(facts[0]) != 1:
            raise RuntimeError(
                f"cygrad.autograd.{function}: grad can be implicitly created only for scalar outputs; give the "
                f"cotangent of edge {i}"
            )
        if not facts[1].is_floating_point:
            raise RuntimeError(
                f"cygrad.autograd.{function}: grad can be implicitly created only for real scalar outputs but got "
                f"{facts[1]}; "
                f"give the cotangent of edge {i}"
            )
        return cygrad.ones(facts[0], dtype=facts[1])
    if facts is not None:
        shape, dtype = facts
        if tuple(gradient.shape) != shape:
            raise RuntimeError(
                f"cygrad.autograd.{function}: Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} "
                f"and output[{i}], an edge to {edge.node.name()}, has a shape of {cygrad.Size(shape)}."
            )
        if gradient.dtype.is_complex != dtype.is_complex:
            raise RuntimeError(
                f"cygrad.autograd.{function}: For complex Tensors, both grad_output and output are required to "
                "have the same dtype. Mismatch in dtype: "
                f"grad_output[{i}] has a dtype of {gradient.dtype} and output[{i}] has a dtype of {dtype}."
            )
        if gradient.dtype is not dtype:
            gradient = gradient.to(dtype)
    return gradient if create_graph else _detached(gradient)


def _batched(
    roots: tuple[_Place, ...], targets: tuple[_Place, ...], given: _Gradients, keep: bool, create_graph: bool
) -> list[Tensor | None]:
    """One backward a row of the cotangents; the rows' gradients stacked."""
    batches = (given,) if isinstance(given, Tensor) else tuple(given or ())
    lengths = {b.shape[0] for b in batches if b is not None and b.dim() > 0}
    if len(lengths) > 1:
        raise ValueError(
            "cygrad.autograd.grad: is_grads_batched=True: Expected all tensors to have the same size in the mapped "
            f"dimension, got leading dimensions of {sorted(lengths)} in grad_outputs"
        )
    if not lengths:
        raise RuntimeError(
            "cygrad.autograd.grad: is_grads_batched=True needs grad_outputs with a leading dimension, one row a "
            "vector-Jacobian product"
        )
    (length,) = lengths
    if length == 0:
        raise IndexError("cygrad.autograd.grad: is_grads_batched=True needs grad_outputs with at least one row")
    rows: list[list[Tensor | None]] = []
    for row in range(length):
        cotangents = _cotangents(roots, tuple(None if b is None else b[row] for b in batches), "grad", create_graph)
        rows.append(run_backward(roots, cotangents, keep or row + 1 < length, create_graph, targets, False) or [])
    stacked: list[Tensor | None] = []
    for i in range(len(targets)):
        column = [r[i] for r in rows]
        present = [g for g in column if g is not None]
        stacked.append(
            cygrad.stack([cygrad.zeros_like(present[0]) if g is None else g for g in column]) if present else None
        )
    return stacked
