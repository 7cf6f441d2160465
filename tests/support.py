"""Helpers of the tests: reading tensors of cygrad and of the oracle alike, comparing them, and comparing refusals.

Why it exists: `cygrad` and `torch` must be told apart nowhere but here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
import torch

import cygrad

LIBRARIES: tuple[ModuleType, ModuleType] = (cygrad, torch)

# relative and absolute tolerance for each dtype: a few roundings of its precision
TOLERANCES: Mapping[str, tuple[float, float]] = {
    "float64": (1e-9, 1e-12),
    "complex128": (1e-9, 1e-12),
    "float32": (1e-5, 1e-6),
    "complex64": (1e-5, 1e-6),
    "float16": (2e-3, 1e-4),
}


class NamedNode(Protocol):
    """A node of either library."""

    def name(self) -> str: ...


class AnyTensor(Protocol):
    """The part of a tensor of either library that the comparisons read."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> object: ...
    @property
    def requires_grad(self) -> bool: ...
    @property
    def is_leaf(self) -> bool: ...
    @property
    def grad_fn(self) -> NamedNode | None: ...
    def is_contiguous(self) -> bool: ...
    def stride(self) -> tuple[int, ...]: ...
    def storage_offset(self) -> int: ...
    def detach(self) -> AnyTensor: ...
    def numpy(self) -> npt.NDArray[np.generic]: ...


def is_tensor(value: object) -> TypeGuard[AnyTensor]:
    """Whether `value` is a tensor of either library."""
    return isinstance(value, cygrad.Tensor | torch.Tensor)


def dtype_name(dtype: object) -> str:
    """`float32` for `torch.float32` and `cygrad.float32`."""
    return str(dtype).rpartition(".")[2]


def values(tensor: object) -> npt.NDArray[np.generic]:
    """The tensor's values as an array of their own memory."""
    if isinstance(tensor, torch.Tensor):
        return np.array(tensor.detach().resolve_conj().resolve_neg().numpy(force=True))
    assert is_tensor(tensor), f"expected a tensor, got {type(tensor).__name__}"
    return np.array(tensor.detach().numpy())


def bare_name(node: NamedNode) -> str:
    """The node's name; torch puts the C++ namespace before that of AccumulateGrad."""
    return node.name().rpartition("::")[2]


def node_name(tensor: object) -> str | None:
    """Name of the tensor's grad_fn, None for a leaf."""
    assert is_tensor(tensor)
    return None if tensor.grad_fn is None else bare_name(tensor.grad_fn)


def difference(ours: object, oracle: object, scale: float = 1.0) -> str | None:
    """What differs between two results (tensors, numbers, or sequences of them); None where nothing does.

    `scale` multiplies the tolerances; it is 1 unless a caller says why.
    """
    if is_tensor(oracle):
        return _tensor_difference(ours, oracle, scale)
    if isinstance(oracle, list | tuple):
        if not isinstance(ours, list | tuple) or len(ours) != len(oracle):
            return f"{ours!r} instead of {oracle!r}"
        for number, (one, other) in enumerate(zip(ours, oracle, strict=True)):
            found = difference(one, other, scale)
            if found:
                return f"item {number}: {found}"
        return None
    if isinstance(oracle, float | complex) and not isinstance(oracle, bool):
        same = isinstance(ours, type(oracle)) and bool(np.isclose(ours, oracle, rtol=1e-6, atol=1e-9, equal_nan=True))
        return None if same else f"{ours!r} instead of {oracle!r}"
    if oracle is None or isinstance(oracle, bool | int | str):
        return None if type(ours) is type(oracle) and ours == oracle else f"{ours!r} instead of {oracle!r}"
    return None if dtype_name(ours) == dtype_name(oracle) else f"{ours!r} instead of {oracle!r}"


def _tensor_difference(ours: object, oracle: AnyTensor, scale: float) -> str | None:
    if not is_tensor(ours):
        return f"a {type(ours).__name__} instead of a tensor"
    if tuple(ours.shape) != tuple(oracle.shape):
        return f"shape {tuple(ours.shape)} instead of {tuple(oracle.shape)}"
    if dtype_name(ours.dtype) != dtype_name(oracle.dtype):
        return f"dtype {ours.dtype} instead of {oracle.dtype}"
    left, right = values(ours), values(oracle)
    rtol, atol = TOLERANCES.get(dtype_name(oracle.dtype), (0.0, 0.0))
    if np.allclose(left, right, rtol=rtol * scale, atol=atol * scale, equal_nan=True):
        return None
    return f"values {left!r} instead of {right!r}"


def assert_same(ours: object, oracle: object, context: str = "") -> None:
    """Fails with what differs between the two results."""
    found = difference(ours, oracle)
    assert found is None, f"{context}: {found}" if context else found


Result = TypeVar("Result")


def let(body: Callable[..., Result], *values: object) -> Result:
    """`body` of the values: names a tensor that an expression uses twice."""
    return body(*values)


@dataclass(frozen=True)
class Outcome:
    """What a call did: gave a value, or raised."""

    value: object = None
    error: Exception | None = None

    @property
    def ok(self) -> bool:
        """Whether the call gave a value."""
        return self.error is None


def outcome(call: Callable[[], object]) -> Outcome:
    """Runs the call and keeps an exception instead of raising it."""
    try:
        return Outcome(value=call())
    except Exception as error:
        return Outcome(error=error.with_traceback(None))


def refusal_difference(ours: Outcome, oracle: Outcome) -> str | None:
    """What differs between two outcomes of which one at least is a refusal."""
    if oracle.ok:
        return f"refused with {ours.error!r}, the oracle gives {oracle.value!r}"
    if ours.ok:
        return f"gives {ours.value!r}, the oracle refuses with {oracle.error!r}"
    if isinstance(ours.error, type(oracle.error)):
        return None
    return f"refused with {ours.error!r}, the oracle with {oracle.error!r}"


def assert_same_refusal(call: Callable[[ModuleType], object]) -> None:
    """Both libraries must refuse `call(module)`, with exceptions of the same type."""
    ours, oracle = outcome(lambda: call(cygrad)), outcome(lambda: call(torch))
    assert not oracle.ok, f"the oracle does not refuse: {oracle.value!r}"
    found = refusal_difference(ours, oracle)
    assert found is None, found


def assert_agrees(call: Callable[[ModuleType], object]) -> None:
    """Both libraries must give the same result of `call(module)`."""
    assert_same(call(cygrad), call(torch))


def run_python(program: str, timeout: float = 120.0) -> str:
    """Runs a program in a fresh interpreter with this one's search path; its output. A crash or a hang fails."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout, check=False, env=environment
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
