from typing import SupportsIndex, TypeAlias, overload

from cygrad._core.device import _DeviceLike
from cygrad._core.dtypes import _DTypeLike
from cygrad._core.options import layout
from cygrad._core.tensor import Tensor

__all__ = ["arange", "linspace", "logspace", "range_"]

_Number: TypeAlias = Tensor | float

@overload
def arange(
    last: _Number,
    /,
    *,
    start: None = None,
    end: None = None,
    step: None = None,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
@overload
def arange(
    first: _Number,
    last: _Number,
    by: _Number = 1,
    /,
    *,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
@overload
def arange(
    first: _Number,
    last: _Number,
    /,
    *,
    step: _Number,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
@overload
def arange(
    first: _Number,
    /,
    *,
    end: _Number,
    step: _Number = 1,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
@overload
def arange(
    *,
    start: _Number = 0,
    end: _Number,
    step: _Number = 1,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
def range_(
    start: _Number = 0,
    end: _Number | None = None,
    step: _Number = 1,
    *,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
def linspace(
    start: _Number | complex,
    end: _Number | complex,
    steps: SupportsIndex,
    *,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
def logspace(
    start: _Number | complex,
    end: _Number | complex,
    steps: SupportsIndex,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: _DTypeLike | None = None,
    layout: layout | None = None,
    device: _DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor: ...
