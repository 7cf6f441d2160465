from collections.abc import Sequence
from typing import SupportsIndex, overload

from cygrad._core.device import _DeviceLike
from cygrad._core.dtypes import _DTypeLike
from cygrad._core.generator import Generator
from cygrad._core.options import layout, memory_format
from cygrad._core.tensor import Tensor

__all__ = [
    "bernoulli",
    "multinomial",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
]

@overload
def rand(
    *sizes: SupportsIndex,
    size: None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def rand(
    sizes: Sequence[SupportsIndex],
    /,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def rand(
    *,
    size: Sequence[SupportsIndex],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randn(
    *sizes: SupportsIndex,
    size: None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randn(
    sizes: Sequence[SupportsIndex],
    /,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randn(
    *,
    size: Sequence[SupportsIndex],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randint(
    stop: SupportsIndex,
    sizes: Sequence[SupportsIndex],
    /,
    *,
    low: None = None,
    high: None = None,
    size: None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randint(
    start: SupportsIndex,
    stop: SupportsIndex,
    sizes: Sequence[SupportsIndex],
    /,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randint(
    stop: SupportsIndex,
    /,
    *,
    size: Sequence[SupportsIndex],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randint(
    start: SupportsIndex,
    stop: SupportsIndex,
    /,
    *,
    size: Sequence[SupportsIndex],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randint(
    *,
    low: SupportsIndex = 0,
    high: SupportsIndex,
    size: Sequence[SupportsIndex],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
def randperm(
    n: SupportsIndex,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def normal(
    mean: Tensor,
    std: Tensor | float = 1.0,
    size: None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def normal(
    mean: float,
    std: Tensor,
    size: None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def normal(
    mean: float,
    std: float,
    size: Sequence[SupportsIndex],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def normal(
    mean: float = 0.0,
    std: float = 1.0,
    *,
    size: Sequence[SupportsIndex],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
def bernoulli(
    input: Tensor,
    p: float | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def multinomial(
    input: Tensor,
    num_samples: SupportsIndex,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    pin_memory: bool = False,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    stop: SupportsIndex,
    /,
    *,
    low: None = None,
    high: None = None,
    generator: Generator | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    start: SupportsIndex,
    stop: SupportsIndex,
    /,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    *,
    low: SupportsIndex = 0,
    high: SupportsIndex,
    generator: Generator | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    pin_memory: bool = False,
) -> Tensor: ...
