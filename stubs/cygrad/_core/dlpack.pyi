from typing import Protocol

from typing_extensions import CapsuleType

from cygrad._core.device import _DeviceLike
from cygrad._core.tensor import Tensor

__pyx_capi__: dict[str, object]

__all__ = ["from_dlpack", "to_dlpack"]

class _Exporter(Protocol):
    def __dlpack__(self) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def from_dlpack(
    ext_tensor: _Exporter | CapsuleType, *, device: _DeviceLike | None = None, copy: bool | None = None
) -> Tensor: ...
def to_dlpack(tensor: Tensor) -> CapsuleType: ...
