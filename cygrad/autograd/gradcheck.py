"""Checks of gradients against finite differences: `gradcheck` for first derivatives, `gradgradcheck` for second ones.

Why it exists: a formula in the operation table, or in a user's own Function, is only believed once its Jacobian agrees
with the one that small perturbations of the inputs give. The check reads nothing but the public API, so it judges the
library from outside.

How complex numbers are compared: every function is read as a real one. An output element w = u + iv is two real
outputs, an input element z = x + iy two real inputs, and a backward of the cotangent 1 (or 1j) must give du/dx + i
du/dy (or dv/dx + i dv/dy): the convention of gradients for complex numbers that torch documents (conjugate Wirtinger
derivative, doubled). Each Jacobian here has one row an input element and one column an output element.

Central differences, (f(x + eps) - f(x - eps)) / (2 eps): error O(eps^2), see Nocedal and Wright, "Numerical
Optimization", section 8.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import cygrad
from cygrad._core.tensor import Tensor
from cygrad._warnings import warn
from cygrad.autograd import forward_ad
from cygrad.autograd.function import Function, FunctionCtx

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_Values = npt.NDArray[np.float64] | npt.NDArray[np.complex128]
Tensors: TypeAlias = Tensor | Sequence[Tensor]
Checked: TypeAlias = Callable[..., Tensors]

_SEED = 20240229  # of the directions in fast mode and of the cotangents in gradgradcheck; a failure can be seen again


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when a gradient is wrong; the message shows both Jacobians."""


@dataclass(frozen=True)
class _Options:
    """The numbers and switches of one call, as the user gave them."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool


@dataclass(frozen=True)
class _Block:
    """Jacobian of one part (real or imaginary) of one output with respect to one input.

    `values` has shape (input elements, output elements).
    """

    output: int
    part: str
    input: int
    values: _Values


# ------------------------------------------------------------ tensors and numbers


def _as_tuple(value: Tensors) -> tuple[cygrad.Tensor, ...]:
    return (value,) if isinstance(value, cygrad.Tensor) else tuple(value)


def _is_differentiable(value: object) -> bool:
    """Whether `value` is a tensor that gradients can flow to."""
    return (
        isinstance(value, cygrad.Tensor) and value.requires_grad and (value.is_floating_point() or value.is_complex())
    )


def _differentiable(values: Sequence[cygrad.Tensor]) -> list[cygrad.Tensor]:
    return [value for value in values if _is_differentiable(value)]


def _values(tensor: cygrad.Tensor | None, like: cygrad.Tensor) -> npt.NDArray[np.complex128]:
    """The elements in row-major order as complex128; zeros of `like`'s count where there is no tensor."""
    if tensor is None:
        return np.zeros(like.numel(), dtype=np.complex128)
    return np.asarray(tensor.detach().reshape(-1).tolist(), dtype=np.complex128)


def _tensor(flat: _Values, like: cygrad.Tensor) -> cygrad.Tensor:
    """A tensor with `like`'s shape, dtype and device, filled with `flat` in row-major order."""
    values = flat if like.is_complex() else np.real(flat)
    return cygrad.tensor(np.ascontiguousarray(values).tolist(), dtype=like.dtype, device=like.device).reshape(
        like.shape
    )


def _poke(tensor: cygrad.Tensor, index: tuple[int, ...], value: complex) -> None:
    """Writes one element behind the back of autograd: no version is bumped, graphs that saved it stay usable."""
    if tensor.device.type == "cpu":
        tensor.detach().numpy()[index] = value if tensor.is_complex() else value.real
    else:
        tensor.data[index] = cygrad.tensor(value if tensor.is_complex() else value.real, dtype=tensor.dtype)


def _peek(tensor: cygrad.Tensor, index: tuple[int, ...]) -> complex:
    return complex(tensor.detach()[index].item())


def _one_hot(count: int, position: int, value: complex) -> npt.NDArray[np.complex128]:
    flat = np.zeros(count, dtype=np.complex128)
    flat[position] = value
    return flat


def _parts(tensor: cygrad.Tensor) -> list[tuple[str, complex]]:
    """Name of each real part of an output, and the cotangent that selects it."""
    return [("real", 1.0 + 0.0j), ("imaginary", 1j)] if tensor.is_complex() else [("real", 1.0 + 0.0j)]


def _steps(tensor: cygrad.Tensor) -> list[complex]:
    """Directions in which an input element can move."""
    return [1.0 + 0.0j, 1j] if tensor.is_complex() else [1.0 + 0.0j]


def _part(values: npt.NDArray[np.complex128], part: str) -> npt.NDArray[np.float64]:
    return np.ascontiguousarray(values.real if part == "real" else values.imag)


# ------------------------------------------------------------ the three Jacobians


def _join(
    per_step: Sequence[npt.NDArray[np.complex128]], output: int, out: cygrad.Tensor, source: int
) -> Iterator[_Block]:
    """Blocks from derivatives along each step: per_step[k] has shape (input elements, output elements)."""
    for part, _ in _parts(out):
        along = [_part(values, part) for values in per_step]
        yield _Block(output, part, source, along[0] if len(along) == 1 else along[0] + 1j * along[1])


def _numerical(
    func: Checked, inputs: Sequence[cygrad.Tensor], outputs: Sequence[cygrad.Tensor], picks: Sequence[int], eps: float
) -> list[_Block]:
    """Central differences; `picks` are the positions of `outputs` in what `func` returns."""
    blocks: list[_Block] = []

    def at(target: cygrad.Tensor, index: tuple[int, ...], value: complex) -> list[npt.NDArray[np.complex128]]:
        _poke(target, index, value)
        results = _as_tuple(func(*inputs))
        return [_values(results[pick], results[pick]) for pick in picks]

    for source, target in enumerate(inputs):
        if not _is_differentiable(target):
            continue
        steps = _steps(target)
        columns = [[np.zeros((target.numel(), out.numel()), dtype=np.complex128) for _ in steps] for out in outputs]
        for row, index in enumerate(np.ndindex(*target.shape)):
            before = _peek(target, index)
            try:
                for number, step in enumerate(steps):
                    above = at(target, index, before + eps * step)
                    below = at(target, index, before - eps * step)
                    for which in range(len(outputs)):
                        columns[which][number][row] = (above[which] - below[which]) / (2 * eps)
            finally:
                _poke(target, index, before)
        for which, out in enumerate(outputs):
            blocks.extend(_join(columns[which], which, out, source))
    return blocks


def _pull(
    output: cygrad.Tensor, inputs: Sequence[cygrad.Tensor], cotangent: _Values
) -> tuple[cygrad.Tensor | None, ...]:
    return cygrad.autograd.grad(output, inputs, _tensor(cotangent, output), retain_graph=True, allow_unused=True)


def _reverse(inputs: Sequence[cygrad.Tensor], outputs: Sequence[cygrad.Tensor], options: _Options) -> list[_Block]:
    """One backward an output element; each is run twice, since a backward that gives two answers has no Jacobian."""
    blocks: list[_Block] = []
    sources = [index for index, value in enumerate(inputs) if _is_differentiable(value)]
    targets = [inputs[source] for source in sources]
    for which, out in enumerate(outputs):
        for part, unit in _parts(out):
            jacobians = [np.zeros((target.numel(), out.numel()), dtype=np.complex128) for target in targets]
            for column in range(out.numel()):
                cotangent = _one_hot(out.numel(), column, unit)
                first, again = _pull(out, targets, cotangent), _pull(out, targets, cotangent)
                for target, jacobian, grad, repeated in zip(targets, jacobians, first, again, strict=True):
                    _check_attributes(grad, target, options)
                    jacobian[:, column] = _values(grad, target)
                    _check_reentrant(jacobian[:, column], _values(repeated, target), options)
            for source, target, jacobian in zip(sources, targets, jacobians, strict=True):
                blocks.append(_Block(which, part, source, jacobian if target.is_complex() else jacobian.real))
    return blocks


def _forward(
    func: Checked, inputs: Sequence[cygrad.Tensor], outputs: Sequence[cygrad.Tensor], picks: Sequence[int]
) -> list[_Block]:
    """One forward pass with a one-hot tangent for each input element and direction."""
    blocks: list[_Block] = []
    for source, target in enumerate(inputs):
        if not _is_differentiable(target):
            continue
        steps = _steps(target)
        rows = [[np.zeros((target.numel(), out.numel()), dtype=np.complex128) for _ in steps] for out in outputs]
        for number, step in enumerate(steps):
            for row in range(target.numel()):
                tangents = _push(func, inputs, {source: _one_hot(target.numel(), row, step)}, picks)
                for which, tangent in enumerate(tangents):
                    rows[which][number][row] = tangent
        for which, out in enumerate(outputs):
            blocks.extend(_join(rows[which], which, out, source))
    return blocks


def _push(
    func: Checked,
    inputs: Sequence[cygrad.Tensor],
    tangents: dict[int, npt.NDArray[np.complex128]],
    picks: Sequence[int],
) -> list[npt.NDArray[np.complex128]]:
    """Tangents of the picked outputs when only the inputs at the keys of `tangents` carry one."""
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(value, _tensor(tangents[index], value)) if index in tangents else value
            for index, value in enumerate(inputs)
        ]
        results = _as_tuple(func(*duals))
        unpacked = [(forward_ad.unpack_dual(results[pick]).tangent, results[pick]) for pick in picks]
        return [_values(tangent, result) for tangent, result in unpacked]


# ------------------------------------------------------------ single checks


def _check_attributes(grad: cygrad.Tensor | None, target: cygrad.Tensor, options: _Options) -> None:
    if grad is None:
        return
    if grad.shape != target.shape:
        raise GradcheckError(
            f"gradcheck: Analytical gradient has incorrect size: the input has shape {tuple(target.shape)}, its "
            "gradient "
            f"{tuple(grad.shape)}. Let the backward return a gradient of the input's shape."
        )
    if options.check_grad_dtypes and grad.dtype != target.dtype:
        raise GradcheckError(
            f"gradcheck: Gradient has dtype mismatch: the input is {target.dtype}, its gradient {grad.dtype}. "
            "Let the backward return the input's dtype, or leave out check_grad_dtypes=True."
        )


def _check_reentrant(first: _Values, again: _Values, options: _Options) -> None:
    if first.size and not np.allclose(first, again, rtol=0.0, atol=options.nondet_tol, equal_nan=True):
        raise GradcheckError(
            "gradcheck: Backward is not reentrant, i.e., running backward twice with the same input and cotangent "
            "gave two "
            f"different gradients, {float(np.nanmax(np.abs(first - again)))} apart. The tolerance for nondeterminism "
            "was "
            f"{options.nondet_tol} (nondet_tol)."
        )


def _compare(numerical: Sequence[_Block], analytical: Sequence[_Block], mode: str, options: _Options) -> None:
    """Raises at the first block of `analytical` that is not close to its twin in `numerical`."""
    twins = {(block.output, block.part, block.input): block.values for block in numerical}
    for block in analytical:
        expected = twins[block.output, block.part, block.input]
        if not np.allclose(block.values, expected, rtol=options.rtol, atol=options.atol, equal_nan=True):
            raise GradcheckError(_mismatch(block, expected, mode, options))


def _mismatch(block: _Block, expected: _Values, mode: str, options: _Options) -> str:
    """The message with both Jacobians; rows are input elements, columns output elements."""
    of_part = ""
    if block.part == "imaginary":
        of_part = "While considering the imaginary part of complex outputs only, "
    elif mode and np.allclose(block.values.real, expected.real, options.rtol, options.atol):
        of_part = "While considering the imaginary part of complex inputs only, "
    with np.errstate(invalid="ignore"):
        distance = np.abs(block.values - expected)
    return (
        f"gradcheck: {of_part}Jacobian {mode}mismatch for output {block.output} with respect to input {block.input},\n"
        f"numerical:{cygrad.tensor(expected.tolist(), dtype=_dtype_of(expected))}\n"
        f"analytical:{cygrad.tensor(block.values.tolist(), dtype=_dtype_of(block.values))}\n"
        f"The largest difference is {float(np.max(distance, initial=0.0))}; allowed is atol={options.atol} plus "
        f"rtol={options.rtol} "
        f"of the numerical value. Central differences of eps={options.eps} need double precision and a point away "
        "from kinks; "
        "where both hold, the formula of the backward is wrong."
    )


def _dtype_of(values: _Values) -> cygrad.dtype:
    return cygrad.complex128 if np.iscomplexobj(values) else cygrad.float64


def _check_inputs(inputs: Sequence[cygrad.Tensor]) -> None:
    """Refuses inputs whose check would mean nothing; warns of single precision."""
    differentiable = False
    for index, value in enumerate(inputs):
        if not _is_differentiable(value):
            continue
        differentiable = True
        if value.dtype not in (cygrad.float64, cygrad.complex128):
            warn(
                f"gradcheck: input #{index} requires gradient and is {value.dtype}, not a double precision floating "
                "point or "
                "complex. Finite differences are too coarse then, and the check will likely fail; pass float64 or "
                "complex128."
            )
        if value.numel() and any(
            stride == 0 and size > 1 for stride, size in zip(value.stride(), value.shape, strict=True)
        ):
            raise RuntimeError(
                f"gradcheck: input #{index} has a dimension with stride 0, so one element of memory stands for "
                "several of the "
                "tensor and cannot be moved alone. Call .contiguous() on it before passing it to gradcheck."
            )
    if not differentiable:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none has requires_grad=True. "
            "Call .requires_grad_() on the inputs to check."
        )


def _checked_outputs(returned: object) -> tuple[cygrad.Tensor, ...]:
    results = returned if isinstance(returned, tuple | list) else (returned,)
    for index, result in enumerate(results):
        if not isinstance(result, cygrad.Tensor):
            raise ValueError(
                f"gradcheck: expects the function to return tensors only; output {index} is a {type(result).__name__}. "
                "Wrap the function so that it returns a tensor or a tuple of tensors."
            )
    return tuple(results)


def _check_constant(
    func: Checked, inputs: Sequence[cygrad.Tensor], results: Sequence[cygrad.Tensor], eps: float
) -> None:
    """No output records a graph: then none may depend on an input."""
    picks = [index for index, out in enumerate(results) if out.is_floating_point() or out.is_complex()]
    for block in _numerical(func, inputs, [results[pick] for pick in picks], picks, eps):
        if block.values.size and np.any(np.abs(block.values) > 0):
            raise GradcheckError(
                f"gradcheck: Numerical gradient for function expected to be zero, since no output requires grad, but "
                "output "
                f"{picks[block.output]} depends on input {block.input}. The function drops the graph on its way "
                "(detach, no_grad, "
                "or numbers taken out of tensors)."
            )


def _check_zero_cotangent(inputs: Sequence[cygrad.Tensor], outputs: Sequence[cygrad.Tensor]) -> None:
    """Each backward is linear in its cotangent: zero must give zero. Also the gradients' dtype, device and shape."""
    targets = _differentiable(inputs)
    cotangents = [cygrad.zeros_like(out) for out in outputs]
    grads = cygrad.autograd.grad(outputs, targets, cotangents, retain_graph=True, allow_unused=True)
    for index, (grad, target) in enumerate(zip(grads, targets, strict=True)):
        if grad is None:
            continue
        if np.any(_values(grad, target) != 0):
            raise GradcheckError(
                f"gradcheck: backward not multiplied by grad_output: a cotangent of zeros gave a gradient other than "
                "zero for "
                f"differentiable input {index}. Multiply by the cotangent in the formula."
            )
        if grad.dtype != target.dtype:
            raise GradcheckError(f"gradcheck: grad is incorrect type: input {target.dtype}, its gradient {grad.dtype}.")
        if grad.device != target.device:
            raise GradcheckError(
                f"gradcheck: grad is incorrect device: input {target.device}, its gradient {grad.device}."
            )
        if grad.shape != target.shape:
            raise GradcheckError(
                f"gradcheck: grad is incorrect size: input {tuple(target.shape)}, its gradient {tuple(grad.shape)}."
            )


class _Undefined(Function):
    """Passes a value on, and no gradient back."""

    @staticmethod
    def forward(ctx: FunctionCtx, value: cygrad.Tensor) -> cygrad.Tensor:  # noqa: ARG004
        return value.view_as(value)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: cygrad.Tensor | None) -> None:  # noqa: ARG004
        return None


def _check_undefined(inputs: Sequence[cygrad.Tensor], outputs: Sequence[cygrad.Tensor]) -> None:
    """Where no gradient arrives at an output, that must mean zeros: at all of them, at each, at all but each."""
    targets = _differentiable(inputs)
    every = frozenset(range(len(outputs)))
    for missing in dict.fromkeys((every, *(frozenset((at,)) for at in every), *(every - {at} for at in every))):
        if not missing:
            continue
        places = [_Undefined.apply(out) if at in missing else out for at, out in enumerate(outputs)]
        ones = [cygrad.ones_like(out) for out in outputs]
        try:
            undefined = cygrad.autograd.grad(places, targets, ones, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                "gradcheck: Expected backward function to handle undefined output grads, but a backward in which none "
                f"arrives at outputs {sorted(missing)} failed with: {error}"
            ) from error
        zeros = [cygrad.zeros_like(out) if at in missing else ones[at] for at, out in enumerate(outputs)]
        defined = cygrad.autograd.grad(outputs, targets, zeros, retain_graph=True, allow_unused=True)
        for index, (one, other, target) in enumerate(zip(undefined, defined, targets, strict=True)):
            if np.allclose(_values(one, target), _values(other, target), equal_nan=True):
                continue
            if missing == every:
                raise GradcheckError(
                    "gradcheck: Expected all input grads to be undefined or zero when all output grads are undefined "
                    f"or zero, but the gradient of differentiable input {index} is {one}."
                )
            raise GradcheckError(
                "gradcheck: Expected backward function to handle undefined output grads as zeros, but where none "
                f"arrives at outputs {sorted(missing)} the gradient of differentiable input {index} changes."
            )


def _check_undefined_tangents(func: Checked, inputs: Sequence[cygrad.Tensor], picks: Sequence[int]) -> None:
    """An input without a tangent must count as one whose tangent is zero."""
    sources = [index for index, value in enumerate(inputs) if _is_differentiable(value)]
    for source in sources:
        ones = np.ones(inputs[source].numel(), dtype=np.complex128)
        zeros = {other: np.zeros(inputs[other].numel(), dtype=np.complex128) for other in sources if other != source}
        alone = _push(func, inputs, {source: ones}, picks)
        together = _push(func, inputs, {source: ones, **zeros}, picks)
        for which, (one, other) in enumerate(zip(alone, together, strict=True)):
            if not np.allclose(one, other, equal_nan=True):
                raise GradcheckError(
                    f"gradcheck: Expected forward mode to treat missing tangents as zeros, but output {which} changes "
                    "when inputs "
                    f"other than {source} are given zero tangents."
                )


def _check_linear(func: Checked, inputs: Sequence[cygrad.Tensor], picks: Sequence[int]) -> None:
    """Tangents are pushed row by row: those of a combination of rows must be that combination of theirs."""
    random = np.random.default_rng(_SEED)
    sources = [index for index, value in enumerate(inputs) if _is_differentiable(value)]
    rows = [
        {index: random.standard_normal(inputs[index].numel()).astype(np.complex128) for index in sources}
        for _ in range(2)
    ]
    first, second = (_push(func, inputs, row, picks) for row in rows)
    together = _push(func, inputs, {index: rows[0][index] + 2 * rows[1][index] for index in sources}, picks)
    for which, (one, other, both) in enumerate(zip(first, second, together, strict=True)):
        if not np.allclose(one + 2 * other, both, equal_nan=True):
            raise GradcheckError(
                f"gradcheck: the tangents of output {which} for a batch of tangents are not linear in them:\n"
                f"row 0 plus twice row 1:{one + 2 * other}\ntheir combination:{both}"
            )


def _check_batched(inputs: Sequence[cygrad.Tensor], outputs: Sequence[cygrad.Tensor]) -> None:
    """`is_grads_batched=True` must give, row by row, what one backward a row gives."""
    targets = _differentiable(inputs)
    random = np.random.default_rng(_SEED)
    for which, out in enumerate(outputs):
        rows = [_tensor(random.standard_normal(out.numel()), out) for _ in range(2)]
        single = [
            cygrad.autograd.grad(out, targets, row, retain_graph=True, allow_unused=True, materialize_grads=True)
            for row in rows
        ]
        try:
            batch = cygrad.autograd.grad(
                (out,), targets, (cygrad.stack(rows),), retain_graph=True, allow_unused=True, is_grads_batched=True
            )
        except RuntimeError as error:
            raise GradcheckError(
                f"gradcheck: the backward of output {which} failed for a batch of cotangents, though it works row by "
                f"row: {error}"
            ) from error
        for index, (stacked, target) in enumerate(zip(batch, targets, strict=True)):
            for at, grads in enumerate(single):
                row_values = _values(None if stacked is None else stacked[at], target)
                if not np.allclose(row_values, _values(grads[index], target), equal_nan=True):
                    raise GradcheckError(
                        f"gradcheck: row {at} of the batched gradient for output {which} and differentiable input "
                        f"{index} differs from "
                        f"a backward of that row alone:\nbatched:{row_values}\nalone:{_values(grads[index], target)}"
                    )


# ------------------------------------------------------------ fast mode


def _directions(tensors: Sequence[cygrad.Tensor], seed: int) -> list[npt.NDArray[np.complex128]]:
    """Vectors of unit length with positive parts: positive, so that an error of one sign everywhere cannot cancel."""
    random = np.random.default_rng(seed)
    made: list[npt.NDArray[np.complex128]] = []
    for tensor in tensors:
        vector = np.zeros(tensor.numel(), dtype=np.complex128)
        vector.real = random.uniform(0.1, 1.0, tensor.numel())
        if tensor.is_complex():
            vector.imag = random.uniform(0.1, 1.0, tensor.numel())
        if vector.size:
            vector /= np.linalg.norm(vector)
        made.append(vector)
    return made


def _inner(a: npt.NDArray[np.complex128], b: npt.NDArray[np.complex128]) -> float:
    """Inner product of two vectors of complex numbers as vectors of their real and imaginary parts."""
    return float(np.vdot(a, b).real)


def _weight(direction: npt.NDArray[np.complex128]) -> float:
    return float(direction.real.sum() + direction.imag.sum())


def _fast(
    func: Checked,
    inputs: Sequence[cygrad.Tensor],
    outputs: Sequence[cygrad.Tensor],
    picks: Sequence[int],
    options: _Options,
    mode: str,
) -> None:
    """Compares v^T J u for one random pair of directions an output and input, not all of J.

    A complex number counts as two real ones, in inputs and outputs.
    """
    sources = [index for index, value in enumerate(inputs) if _is_differentiable(value)]
    targets = [inputs[source] for source in sources]
    us, vs = _directions(targets, _SEED), _directions(outputs, _SEED + 1)
    forward = {
        source: _push(func, inputs, {source: u}, picks) if mode else [] for source, u in zip(sources, us, strict=True)
    }
    for which, (out, v) in enumerate(zip(outputs, vs, strict=True)):
        pulled = (None,) * len(targets) if mode else _pull(out, targets, v)
        if not mode:
            for target, grad, again in zip(targets, pulled, _pull(out, targets, v), strict=True):
                _check_attributes(grad, target, options)
                _check_reentrant(_values(grad, target), _values(again, target), options)
        for source, target, u, grad in zip(sources, targets, us, pulled, strict=True):
            numerical = _inner(v, _difference(func, inputs, source, u, picks, options.eps)[which])
            analytical = _inner(v, forward[source][which]) if mode else _inner(u, _values(grad, target))
            # An error of atol in every element of J is one of atol * sum(u) * sum(v) here.
            atol = options.atol * _weight(u) * _weight(v)
            if not np.isclose(analytical, numerical, rtol=options.rtol, atol=atol, equal_nan=True):
                _explain_fast(func, inputs, outputs, picks, options, mode)
                raise GradcheckError(
                    f"gradcheck: the fast check of output {which} and input {source} failed (numerical {numerical}, "
                    "analytical "
                    f"{analytical}) although every element of the Jacobian is within tolerance. Widen atol or rtol a "
                    "little, or use "
                    "fast_mode=False."
                )


def _difference(
    func: Checked,
    inputs: Sequence[cygrad.Tensor],
    source: int,
    u: npt.NDArray[np.complex128],
    picks: Sequence[int],
    eps: float,
) -> list[npt.NDArray[np.complex128]]:
    """Central difference of the picked outputs along direction `u` of one input."""
    target = inputs[source]
    before = _values(target, target)

    def at(shift: float) -> list[npt.NDArray[np.complex128]]:
        for value, index in zip(before + shift * u, np.ndindex(*target.shape), strict=True):
            _poke(target, index, value)
        results = _as_tuple(func(*inputs))
        return [_values(results[pick], results[pick]) for pick in picks]

    try:
        return [(above - below) / (2 * eps) for above, below in zip(at(eps), at(-eps), strict=True)]
    finally:
        for value, index in zip(before, np.ndindex(*target.shape), strict=True):
            _poke(target, index, value)


def _explain_fast(
    func: Checked,
    inputs: Sequence[cygrad.Tensor],
    outputs: Sequence[cygrad.Tensor],
    picks: Sequence[int],
    options: _Options,
    mode: str,
) -> None:
    """Runs the full check, whose error shows the whole Jacobians."""
    analytical = _forward(func, inputs, outputs, picks) if mode else _reverse(inputs, outputs, options)
    _compare(_numerical(func, inputs, outputs, picks, options.eps), analytical, mode, options)


# ------------------------------------------------------------ public


def gradcheck(
    func: Checked,
    inputs: Tensors,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the gradients of `func` with finite differences at the point `inputs`.

    Args:
        func: takes the inputs, returns a tensor or a sequence of tensors, of any shapes.
        inputs: a tensor or a sequence. Those of floating or complex dtype with `requires_grad=True` are checked. They
            should be float64 or complex128, and must not overlap in memory. Their values are moved and put back.
        eps: step of the finite differences.
        atol: absolute tolerance of the comparison, elementwise.
        rtol: relative tolerance of the comparison, elementwise.
        raise_exception: whether a failure raises `GradcheckError`; otherwise it returns False.
        nondet_tol: how far two runs of one backward may differ.
        check_undefined_grad: also check that outputs without a cotangent count as outputs with one of zeros (and in
            forward mode, inputs without a tangent).
        check_grad_dtypes: also demand that every gradient has its input's dtype.
        check_batched_grad: also check `is_grads_batched=True` of `autograd.grad`, row by row.
        check_batched_forward_grad: also check that the tangents of a combination of tangents are that combination.
        check_forward_ad: check forward mode.
        check_backward_ad: check reverse mode.
        fast_mode: compare one random projection of the Jacobian, not all of it.
        masked: accepted for torch's sake: it concerns sparse tensors, and all tensors here are dense.

    Returns:
        True where every gradient agrees; False where one does not and `raise_exception` is False.

    Raises:
        GradcheckError: a gradient is wrong; the message shows the numerical and the analytical Jacobian.
        ValueError: no input requires grad, or an output is no tensor.
        RuntimeError: an input has a dimension of stride 0.
        AssertionError: the switches contradict each other.

    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("gradcheck: Expected at least one of check_forward_ad or check_backward_ad to be True.")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("gradcheck: Setting check_batched_grad=True requires check_backward_ad to be True.")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("gradcheck: Setting check_batched_forward_grad=True requires check_forward_ad to be True.")
    options = _Options(eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        _run(
            func,
            _as_tuple(inputs),
            options,
            check_undefined_grad,
            check_batched_grad,
            check_batched_forward_grad,
            check_forward_ad,
            check_backward_ad,
            fast_mode,
        )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _run(
    func: Checked,
    inputs: tuple[cygrad.Tensor, ...],
    options: _Options,
    undefined: bool,
    batched: bool,
    batched_forward: bool,
    forward: bool,
    backward: bool,
    fast: bool,
) -> None:
    _check_inputs(inputs)
    results = _checked_outputs(func(*inputs))
    picks = [index for index, result in enumerate(results) if _is_differentiable(result)]
    outputs = [results[pick] for pick in picks]
    if not outputs:
        _check_constant(func, inputs, results, options.eps)
        return
    modes = [mode for mode, wanted in (("", backward), ("computed with forward mode ", forward)) if wanted]
    if fast:
        for mode in modes:
            _fast(func, inputs, outputs, picks, options, mode)
    else:
        numerical = _numerical(func, inputs, outputs, picks, options.eps)
        for mode in modes:
            _compare(
                numerical,
                _forward(func, inputs, outputs, picks) if mode else _reverse(inputs, outputs, options),
                mode,
                options,
            )
    if forward and undefined:
        _check_undefined_tangents(func, inputs, picks)
    if batched_forward:
        _check_linear(func, inputs, picks)
    if backward:
        if batched:
            _check_batched(inputs, outputs)
        _check_zero_cotangent(inputs, outputs)
        if undefined:
            _check_undefined(inputs, outputs)


def gradgradcheck(
    func: Checked,
    inputs: Tensors,
    grad_outputs: Tensors | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compares second derivatives of `func` with finite differences of its first ones.

    The function that is checked maps the inputs and the cotangents to the gradients; both sides of it are
    differentiated.

    `func`, `inputs` and all arguments that are not described here mean what they mean for `gradcheck`. `grad_outputs`
    are the cotangents, one for each differentiable output of `func`; by default random numbers between -1 and 1, which
    `gen_non_contig_grad_outputs` makes non-contiguous. `check_fwd_over_rev` checks forward mode over the backward,
    `check_rev_over_rev` the backward of the backward.

    Returns and raises as `gradcheck` does.

    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "gradgradcheck: Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True."
        )
    tensors = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(_as_tuple(func(*tensors)))
        cotangents = _random_cotangents(outputs, gen_non_contig_grad_outputs)
    else:
        cotangents = _as_tuple(grad_outputs)
    count = len(tensors)

    def gradients(*arguments: cygrad.Tensor) -> tuple[cygrad.Tensor, ...]:
        places = _differentiable(arguments[:count])
        results = _differentiable(_as_tuple(func(*arguments[:count])))
        grads = cygrad.autograd.grad(results, places, arguments[count:], create_graph=True, allow_unused=True)
        return tuple(grad for grad in grads if grad is not None)

    return gradcheck(
        gradients,
        (*tensors, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_cotangents(outputs: Sequence[cygrad.Tensor], spread: bool) -> tuple[cygrad.Tensor, ...]:
    """Leaves between -1 and 1 that require grad; with `spread`, every second element of a longer memory."""
    random = np.random.default_rng(_SEED)
    cotangents: list[cygrad.Tensor] = []
    for out in outputs:
        flat: _Values = random.uniform(-1.0, 1.0, out.numel())
        if out.is_complex():
            flat = flat + 1j * random.uniform(-1.0, 1.0, out.numel())
        cotangent = _tensor(flat, out)
        if spread and out.dim():
            cotangent = cygrad.stack((cotangent, cygrad.zeros_like(cotangent)), -1)[..., 0]
        cotangents.append(cotangent.detach().requires_grad_())
    return tuple(cotangents)
