__pyx_capi__: dict[str, object]

__all__: list[str] = []
