"""What a tensor looks like: `repr` and `str`, and the options that govern them.

The text is torch's to the letter, since doctests, logs and eyes are used to it. The way to it is this file's own: the
shown part of the data is cut out once, every number in it becomes a string once, and a recursion over the axes lays
the strings out.
"""

import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, cast

import numpy as np

import cygrad
from cygrad._core.forward import _tangent

if TYPE_CHECKING:
    from cygrad._core.tensor import Tensor

__all__ = ["get_printoptions", "printoptions", "set_printoptions", "tensor_repr"]

_Number: TypeAlias = bool | int | float | complex
_Writer: TypeAlias = Callable[[_Number], str]

# Floats are written in scientific notation if the largest magnitude is above, the smallest below, or their ratio above
# these. The values are torch's.
_SCIENTIFIC_ABOVE = 1e8
_SCIENTIFIC_BELOW = 1e-4
_SCIENTIFIC_RATIO = 1000.0


class PrintOptions(TypedDict):
    """The options of `set_printoptions` as `get_printoptions` gives them."""

    precision: int
    threshold: float
    edgeitems: int
    linewidth: int
    sci_mode: bool | None


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()

_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: Literal["default", "short", "full"] | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed, for all threads; an option that is not given stays as it is, except `sci_mode`.

    `precision` is the number of digits after the point. Tensors of more than `threshold` elements are shown by the
    first and last `edgeitems` along each axis. Lines are broken at `linewidth` characters. `profile` sets all of these
    at once, before the others are applied. `sci_mode` forces scientific notation on or off; None, also if it is not
    given, leaves the choice to the numbers.

    Raises ValueError for an unknown profile.
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"set_printoptions: unknown profile {profile!r}; it is one of {', '.join(_PROFILES)}")
        chosen = _PROFILES[profile]
        _options.precision, _options.threshold = chosen.precision, chosen.threshold
        _options.edgeitems, _options.linewidth = chosen.edgeitems, chosen.linewidth
    if precision is not None:
        _options.precision = precision
    if threshold is not None:
        _options.threshold = threshold
    if edgeitems is not None:
        _options.edgeitems = edgeitems
    if linewidth is not None:
        _options.linewidth = linewidth
    _options.sci_mode = sci_mode


def get_printoptions() -> PrintOptions:
    """Returns the present options, as keyword arguments for `set_printoptions`."""
    return {
        "precision": _options.precision,
        "threshold": _options.threshold,
        "edgeitems": _options.edgeitems,
        "linewidth": _options.linewidth,
        "sci_mode": _options.sci_mode,
    }


@contextmanager
def printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: Literal["default", "short", "full"] | None = None,
    sci_mode: bool | None = None,
) -> Generator[None]:
    """Sets options as `set_printoptions` does, and sets them back at the end of the block."""
    before = get_printoptions()
    set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode)
    try:
        yield
    finally:
        set_printoptions(**before)


def tensor_repr(tensor: "Tensor") -> str:
    """Returns the tensor's data, and of its dtype, device and place in the graph what is not the default."""
    name = type(tensor).__name__
    prefix = ("tensor" if name in ("Tensor", "Parameter") else name) + "("
    detached = tensor.detach()
    array = (detached if tensor.device.type == "cpu" else detached.cpu()).numpy()
    data = "[]" if array.size == 0 else _data_text(array, len(prefix))
    return _append(prefix + data, _suffixes(tensor, array), len(prefix))


def _suffixes(tensor: "Tensor", array: np.ndarray) -> Iterator[str]:
    """What follows the data, in torch's order."""
    if tensor.device.type != "cpu":
        yield f"device='{tensor.device}'"
    default = cygrad.get_default_dtype()
    if array.size == 0:
        # The shape (0,) is what an empty pair of brackets says by itself, and the default dtype what it says of dtypes.
        if array.ndim != 1:
            yield f"size={array.shape}"
        if tensor.dtype != default:
            yield f"dtype={tensor.dtype}"
    else:
        if not _options.edgeitems:
            yield f"size={array.shape}"
        # Of integers, bools and complex numbers the elements show the dtype, if it is the usual one.
        usual = "?l" + ("dD" if default == cygrad.float64 else "fF")
        if np.dtype(array.dtype).char.replace("q", "l") not in usual:
            yield f"dtype={tensor.dtype}"
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError:
        # A view whose history cannot be made again, since it was changed while nothing was recorded.
        yield "grad_fn=<Invalid>"
        return
    if grad_fn is not None:
        yield f"grad_fn=<{grad_fn.name()}>"
    elif tensor.requires_grad:
        yield "requires_grad=True"
    tangent = _tangent(tensor)
    if tangent is not None:
        yield f"tangent={tangent}"


def _append(text: str, suffixes: Iterator[str], indent: int) -> str:
    """Adds the suffixes, each on the last line or, where that would get too long, on a new one."""
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def _data_text(array: np.ndarray, indent: int) -> str:
    """The nested brackets with the numbers of a non-empty array, whose first line starts in column `indent`."""
    edge = _options.edgeitems
    cut_axes = [False] * array.ndim
    if array.size > _options.threshold and array.ndim:
        if not edge:
            return "[...]"
        cut_axes = [length > 2 * edge for length in array.shape]
        shown: list[np.ndarray] = [
            np.r_[:edge, length - edge : length] if cut else np.arange(length)
            for length, cut in zip(array.shape, cut_axes, strict=True)
        ]
        array = array[np.ix_(*shown)]
    write, width = _writer(array)
    strings = iter([write(value) for value in array.ravel().tolist()])
    per_line = max(1, (_options.linewidth - indent - array.ndim + 1) // (width + 2))

    def lay_out(axis: int, column: int) -> str:
        if axis == array.ndim:
            return next(strings)
        innermost = axis == array.ndim - 1
        parts = [lay_out(axis + 1, column + 1) for _ in range(array.shape[axis])]
        if cut_axes[axis]:
            parts.insert(edge, " ..." if innermost else "...")
        margin = " " * (column + 1)
        if innermost:
            lines = [", ".join(parts[start : start + per_line]) for start in range(0, len(parts), per_line)]
            return "[" + f",\n{margin}".join(lines) + "]"
        # A blank line for every axis further in: matrices follow each other at a distance.
        return "[" + ("," + "\n" * (array.ndim - axis - 1) + margin).join(parts) + "]"

    return lay_out(0, indent)


def _writer(array: np.ndarray) -> tuple[_Writer, int]:
    """Returns the function that writes one of these numbers, and the width that a column needs."""
    if array.dtype.kind == "c":
        return _complex_writer(array)
    if array.dtype.kind == "f":
        write_float, width = _float_writer(array)
        return cast("_Writer", write_float), width
    width = max(len(str(value)) for value in array.ravel().tolist())
    return lambda value: str(value).rjust(width), width


def _float_writer(array: np.ndarray) -> tuple[Callable[[float], str], int]:
    """Chooses between whole numbers (`1.`), fixed point and scientific notation, by the numbers that say something.

    Zeros, infinities and NaNs have no say in the notation nor in the width of the column, which is torch's rule: a NaN
    among small whole numbers sticks out.
    """
    values = array.ravel().astype(np.float64)
    telling = values[np.isfinite(values) & (values != 0)]
    if not telling.size:
        return _whole, 1
    magnitudes = np.abs(telling)
    largest, smallest = float(magnitudes.max()), float(magnitudes.min())
    scientific = _options.sci_mode
    if scientific is None:
        # Python's division: it overflows to infinity without a warning.
        ratio = largest / smallest
        scientific = ratio > _SCIENTIFIC_RATIO or largest > _SCIENTIFIC_ABOVE or smallest < _SCIENTIFIC_BELOW
    write: Callable[[float], str]
    if scientific:
        write = f"{{:.{_options.precision}e}}".format
    elif (telling == np.trunc(telling)).all():
        write = _whole
    else:
        write = f"{{:.{_options.precision}f}}".format
    width = max(len(write(value)) for value in telling.tolist())
    return lambda value: write(value).rjust(width), width


def _whole(value: float) -> str:
    """Writes a float without digits after the point; the point alone shows that it is a float."""
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"


def _complex_writer(array: np.ndarray) -> tuple[_Writer, int]:
    """Real and imaginary parts each choose their own notation; the sign of the imaginary part is the sign between."""
    write_real, real_width = _float_writer(np.real(array))
    write_imag, imag_width = _float_writer(np.imag(array))

    def write(value: _Number) -> str:
        imag = write_imag(value.imag).lstrip()
        return write_real(value.real) + (imag if imag[0] == "-" else "+" + imag) + "j"

    return write, real_width + imag_width + 1
