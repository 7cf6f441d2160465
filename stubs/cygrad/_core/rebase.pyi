from cygrad._core.node import Node

__pyx_capi__: dict[str, object]

def slices_geometry(
    node: Node,
) -> tuple[tuple[int, ...], tuple[int, ...], bool, tuple[int, ...], tuple[int, ...], int]: ...
