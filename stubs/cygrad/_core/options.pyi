from typing import Final, Never, final

__pyx_capi__: dict[str, object]

@final
class layout:
    def __init__(self, *args: Never, **kwargs: Never) -> None: ...
    name: Final[str]

@final
class memory_format:
    def __init__(self, *args: Never, **kwargs: Never) -> None: ...
    name: Final[str]

strided: Final[layout]
contiguous_format: Final[memory_format]
preserve_format: Final[memory_format]
channels_last: Final[memory_format]
channels_last_3d: Final[memory_format]
