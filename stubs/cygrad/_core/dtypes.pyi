import builtins
from typing import Final, Never, TypeAlias, final

import numpy as np

__pyx_capi__: dict[str, object]

@final
class dtype:
    def __init__(self, *args: Never, **kwargs: Never) -> None: ...
    name: Final[str]
    itemsize: Final[int]
    @property
    def is_floating_point(self) -> builtins.bool: ...
    @property
    def is_complex(self) -> builtins.bool: ...
    @property
    def is_signed(self) -> builtins.bool: ...
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...

# What is accepted where a dtype is asked for.
_DTypeLike: TypeAlias = (
    dtype
    | type[builtins.bool]
    | type[builtins.int]
    | type[builtins.float]
    | type[builtins.complex]
    | np.dtype[np.generic]
    | type[np.generic]
)

_dtype: TypeAlias = dtype

def promote_types(type1: dtype, type2: dtype) -> dtype: ...
def can_cast(from_: dtype, to: dtype) -> builtins.bool: ...
def set_default_dtype(d: dtype, /) -> None: ...
def get_default_dtype() -> dtype: ...
def _dtype_by_name(name: str) -> dtype: ...

class finfo:
    bits: Final[builtins.int]
    eps: Final[builtins.float]
    max: Final[builtins.float]
    min: Final[builtins.float]
    tiny: Final[builtins.float]
    smallest_normal: Final[builtins.float]
    resolution: Final[builtins.float]
    dtype: Final[str]
    def __init__(self, type: _dtype | None = None, /) -> None: ...
    def __eq__(self, other: object) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...

class iinfo:
    bits: Final[builtins.int]
    max: Final[builtins.int]
    min: Final[builtins.int]
    dtype: Final[str]
    def __init__(self, type: _dtype, /) -> None: ...
    def __eq__(self, other: object) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...
