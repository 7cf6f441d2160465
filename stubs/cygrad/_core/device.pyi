from typing import Final, Literal, Self, TypeAlias, final

__pyx_capi__: dict[str, object]

@final
class device:
    type: Final[Literal["cpu", "cuda"]]
    index: Final[int | None]
    def __new__(cls, type: str | int | device, index: int | None = None) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

# What is accepted where a device is asked for.
_DeviceLike: TypeAlias = device | str | int
