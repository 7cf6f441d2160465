from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

from numpy.typing import ArrayLike, NDArray
from typing_extensions import Buffer

from cygrad._core.device import _DeviceLike
from cygrad._core.dtypes import _DTypeLike
from cygrad._core.options import layout, memory_format
from cygrad._core.tensor import Tensor

__all__ = [
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]

def tensor(
    data: ArrayLike,
    *,
    dtype: _DTypeLike | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
def as_tensor(data: ArrayLike, dtype: _DTypeLike | None = None, device: _DeviceLike | None = None) -> Tensor: ...
def asarray(
    obj: ArrayLike,
    *,
    dtype: _DTypeLike | None = None,
    device: _DeviceLike | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor: ...
def from_numpy(ndarray: NDArray[Any], /) -> Tensor: ...
def frombuffer(
    buffer: Buffer,
    *,
    dtype: _DTypeLike,
    count: SupportsIndex = -1,
    offset: SupportsIndex = 0,
    requires_grad: bool = False,
) -> Tensor: ...
@overload
def empty(
    *sizes: SupportsIndex,
    size: None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
@overload
def empty(
    sizes: Sequence[SupportsIndex],
    /,
    *,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
@overload
def empty(
    *,
    size: Sequence[SupportsIndex],
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor: ...
@overload
def zeros(
    *sizes: SupportsIndex,
    size: None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def zeros(
    sizes: Sequence[SupportsIndex],
    /,
    *,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def zeros(
    *,
    size: Sequence[SupportsIndex],
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def ones(
    *sizes: SupportsIndex,
    size: None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def ones(
    sizes: Sequence[SupportsIndex],
    /,
    *,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
@overload
def ones(
    *,
    size: Sequence[SupportsIndex],
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
def full(
    size: Sequence[SupportsIndex],
    fill_value: Tensor | complex,
    *,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
def scalar_tensor(
    s: Tensor | complex,
    *,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
def empty_strided(
    size: Sequence[SupportsIndex],
    stride: Sequence[SupportsIndex],
    *,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
def eye(
    n: SupportsIndex,
    m: SupportsIndex | None = None,
    *,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor: ...
def empty_like(
    input: Tensor,
    *,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    pin_memory: bool = False,
) -> Tensor: ...
def zeros_like(
    input: Tensor,
    *,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    pin_memory: bool = False,
) -> Tensor: ...
def ones_like(
    input: Tensor,
    *,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    pin_memory: bool = False,
) -> Tensor: ...
def full_like(
    input: Tensor,
    fill_value: Tensor | complex,
    *,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
    pin_memory: bool = False,
) -> Tensor: ...
def _legacy_constructor(self: Tensor, *args: ArrayLike, device: _DeviceLike | None = None) -> None: ...
