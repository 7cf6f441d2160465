"""What one row of the table of sample inputs says, and how it becomes tensors of one library or the other.

Why it exists: the same inputs, bit for bit, must reach cygrad and the oracle, in any dtype and memory layout. So a
sample describes tensors (`T`) rather than holding them; `Sample.build` makes them with the module it is given.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Protocol, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

FLOATING = ("float64", "float32", "float16")
COMPLEX = ("complex128", "complex64")
INTEGRAL = ("int64", "int32", "int8", "uint8")
ALL_DTYPES = (*FLOATING, *COMPLEX, *INTEGRAL, "bool")

Nested = float | int | bool | complex | Sequence["Nested"]


@dataclass(frozen=True)
class T:
    """A tensor argument. `dtype=None` follows the dtype under test; `values` replaces the random numbers."""

    shape: tuple[int, ...] = ()
    low: float = -2.0
    high: float = 2.0
    layout: str = "c"  # c contiguous, t transposed memory, s every second element, o offset into memory, e expanded
    dtype: str | None = None
    values: Nested | None = None
    grad: bool = True
    distinct: bool = False  # no two elements are equal (in floating and wide integer dtypes)

    def array(self, dtype: str, seed: int) -> npt.NDArray[np.generic]:
        """The values as a contiguous array of the dtype (or of this argument's own)."""
        target = np.dtype(self.dtype or dtype)
        if self.values is not None:
            return np.array(self.values).astype(target)
        random = np.random.default_rng(zlib.crc32(repr((self.shape, self.low, self.high, seed)).encode()))
        if self.distinct:
            count = int(np.prod(self.shape))
            flat = random.permutation(count) - count // 2
            return (flat if target.kind in "iub" else flat + 0.25).reshape(self.shape).astype(target)
        if target.kind == "b":
            return random.integers(0, 2, self.shape).astype(target)
        if target.kind in "iu":
            low = max(int(np.ceil(self.low)), 0 if target.kind == "u" else -100)
            return random.integers(low, max(int(np.floor(self.high)), low) + 1, self.shape).astype(target)
        drawn = random.uniform(self.low, self.high, self.shape)
        if target.kind == "c":
            return np.asarray(drawn + 1j * random.uniform(self.low, self.high, self.shape)).astype(target)
        return np.asarray(drawn).astype(target)

    def build(self, m: ModuleType, dtype: str, seed: int, requires_grad: bool) -> object:
        """The tensor in module `m`, a leaf, in the layout asked for."""
        array = self.array(dtype, seed)
        if self.layout == "t" and array.ndim >= 2:
            tensor = m.from_numpy(np.ascontiguousarray(np.swapaxes(array, -1, -2))).transpose(-1, -2)
        elif self.layout == "s" and array.ndim >= 1:
            spread = np.zeros((*array.shape[:-1], array.shape[-1] * 2), dtype=array.dtype)
            spread[..., ::2] = array
            tensor = m.from_numpy(spread)[..., ::2]
        elif self.layout == "o" and array.ndim >= 1:
            longer = np.concatenate([np.zeros_like(array[:1]), array]) if array.shape[0] else array
            tensor = m.from_numpy(longer)[1:] if array.shape[0] else m.from_numpy(longer)
        elif self.layout == "e" and array.ndim >= 1:
            tensor = m.from_numpy(np.ascontiguousarray(array[:1])).expand(array.shape)
        else:
            tensor = m.from_numpy(array)
        if requires_grad and self.grad and array.dtype.kind in "fc":
            tensor = tensor.detach().requires_grad_()
        return tensor

    def __repr__(self) -> str:
        if self.values is not None:
            return f"T({self.values!r}{'' if self.dtype is None else ', ' + self.dtype})"
        return (
            f"T{self.shape}{'' if self.layout == 'c' else self.layout}{'' if self.dtype is None else ' ' + self.dtype}"
        )


def t(
    *shape: int, lo: float = -2.0, hi: float = 2.0, layout: str = "c", grad: bool = True, dtype: str | None = None
) -> T:
    """Random numbers of the dtype under test."""
    return T(shape, lo, hi, layout, dtype, None, grad)


def pos(*shape: int, layout: str = "c") -> T:
    """Random positive numbers."""
    return T(shape, 0.3, 3.0, layout)


def distinct(*shape: int, layout: str = "c") -> T:
    """Numbers without ties, for operations that pick elements."""
    return T(shape, layout=layout, distinct=True)


def lit(values: Nested, dtype: str | None = None, layout: str = "c", grad: bool = True) -> T:
    """These very values."""
    return T(np.shape(np.array(values)), values=values, dtype=dtype, layout=layout, grad=grad)


def idx(values: Nested) -> T:
    """Indices: int64, whatever dtype is under test."""
    return lit(values, "int64")


def mask(values: Nested) -> T:
    """Booleans, whatever dtype is under test."""
    return lit(values, "bool")


@dataclass(frozen=True)
class Sample:
    """Arguments of one call."""

    args: tuple[object, ...]
    kwargs: dict[str, object] = field(default_factory=dict)
    check: bool = True  # whether finite differences mean anything here (not at kinks and special values)
    second: bool = True  # whether the derivative can be differentiated here
    only_floating: bool = False  # special values have no integer or complex twin
    as_method: bool = True  # whether the method form takes these very arguments

    def build(self, m: ModuleType, dtype: str, requires_grad: bool) -> tuple[list[object], dict[str, object]]:
        """Arguments made with module `m`."""
        seed = 0

        def made(value: object) -> object:
            nonlocal seed
            if isinstance(value, T):
                seed += 1
                return value.build(m, dtype, seed, requires_grad)
            if isinstance(value, list | tuple):
                parts = [made(part) for part in value]
                return parts if isinstance(value, list) else tuple(parts)
            if isinstance(value, Dtype):
                return getattr(m, value.name)
            return value

        return [made(value) for value in self.args], {key: made(value) for key, value in self.kwargs.items()}

    def unchecked(self) -> Sample:
        """The same sample, compared with the oracle alone."""
        return replace(self, check=False)

    def floating(self) -> Sample:
        """The same sample, for floating dtypes alone."""
        return replace(self, only_floating=True)

    def first_order(self) -> Sample:
        """The same sample, without a check of second derivatives."""
        return replace(self, second=False)

    def function_only(self) -> Sample:
        """The same sample, for the function form alone (its first argument is no tensor)."""
        return replace(self, as_method=False)

    @property
    def label(self) -> str:
        """Short text that names the sample in test ids and messages."""
        parts = [repr(value) for value in self.args] + [f"{key}={value!r}" for key, value in self.kwargs.items()]
        return ", ".join(parts)

    def usable(self, dtype: str) -> bool:
        """Whether the sample means anything in this dtype."""
        return not self.only_floating or dtype in FLOATING


@dataclass(frozen=True)
class Dtype:
    """A dtype among the arguments, by name."""

    name: str


def S(*args: object, **kwargs: object) -> Sample:
    """One call."""
    return Sample(args, kwargs)


def special(*args: object, **kwargs: object) -> Sample:
    """One call with infinities, NaN, zeros of both signs or numbers at kinks: floating dtypes, oracle only."""
    return Sample(args, kwargs, check=False, only_floating=True)


class Operand(Protocol):
    """What the rows that are syntax write on a tensor of either library."""

    @property
    def T(self) -> object: ...
    @property
    def mT(self) -> object: ...
    @property
    def mH(self) -> object: ...
    def __getitem__(self, index: object) -> object: ...
    def __gt__(self, other: object) -> object: ...
    def __mul__(self, other: object) -> Operand: ...
    def __add__(self, other: object) -> Operand: ...
    def where(self, condition: object, other: object) -> object: ...
    def permute(self, *dims: int) -> object: ...


Call = Callable[..., object]


@dataclass(frozen=True)
class Entry:
    """One operation.

    `fns` are dotted names of its function forms, `method` the name of its method form, `call` replaces both where the
    operation is syntax (`x[1:]`, `2 - x`). `covers` lists the entries of `codegen/derivatives.yaml` that these samples
    exercise besides those of the operation's own name.
    """

    name: str
    samples: tuple[Sample, ...]
    fns: tuple[str, ...] = ()
    method: str | None = None
    call: Call | None = None
    grad: bool = True
    view: bool = False
    primary: str = "float64"  # a dtype in which every sample must work
    named: bool = True  # whether the result's node has one name in torch whatever the shapes inside are
    skip_dtypes: tuple[str, ...] = ()
    bad: tuple[Sample, ...] = ()
    covers: tuple[str, ...] = ()

    def forms(self) -> list[tuple[str, Call]]:
        """Every way to call the operation, with a label."""
        if self.call is not None:
            return [("call", self.call)]
        found: list[tuple[str, Call]] = [(path, _function(path)) for path in self.fns]
        if self.method is not None:
            found.append(("Tensor." + self.method, _method(self.method)))
        return found

    def forms_of(self, sample: Sample) -> list[tuple[str, Call]]:
        """The ways to call the operation that take this sample."""
        return [(label, call) for label, call in self.forms() if sample.as_method or not label.startswith("Tensor.")]

    def dtypes(self) -> list[str]:
        """The dtypes of the forward comparison."""
        return [dtype for dtype in ALL_DTYPES if dtype not in self.skip_dtypes]


def _function(path: str) -> Call:
    def call(m: ModuleType, *args: object, **kwargs: object) -> object:
        target: object = m
        for part in path.split("."):
            target = getattr(target, part)
        assert callable(target)
        return target(*args, **kwargs)

    return call


def _method(name: str) -> Call:
    def call(m: ModuleType, *args: object, **kwargs: object) -> object:
        target = getattr(args[0], name)
        assert callable(target)
        return target(*args[1:], **kwargs)

    return call


class Options(TypedDict, total=False):
    """The fields of `Entry` that a row may set."""

    name: str
    fns: tuple[str, ...]
    method: str | None
    grad: bool
    view: bool
    primary: str
    named: bool
    skip_dtypes: tuple[str, ...]
    bad: tuple[Sample, ...]
    covers: tuple[str, ...]


def both(path: str, *samples: Sample, **options: Unpack[Options]) -> Entry:
    """An operation with a function and a method of the same name."""
    return replace(Entry(path, samples, fns=(path,), method=path), **options)


def method(path: str, *samples: Sample, **options: Unpack[Options]) -> Entry:
    """An operation that is a method only."""
    return replace(Entry(path, samples, method=path), **options)


def function(path: str, *samples: Sample, **options: Unpack[Options]) -> Entry:
    """An operation that is a function only; its dotted name may lead through submodules."""
    return replace(Entry(path.rpartition(".")[2], samples, fns=(path,)), **options)


def syntax(title: str, call: Call, *samples: Sample, **options: Unpack[Options]) -> Entry:
    """An operation that is written, not named."""
    return replace(Entry(title, samples, call=call), **options)
