"""DLPack as functions, under the names that torch has in ``torch.utils.dlpack``."""

from enum import IntEnum

from cygrad._core.dlpack import from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(IntEnum):
    """Kinds of devices in DLPack's numbering, of which cygrad exchanges memory on the first."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
