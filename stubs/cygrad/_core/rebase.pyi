from cygrad._core.node import Node

def slices_geometry(
    node: Node,
) -> tuple[tuple[int, ...], tuple[int, ...], bool, tuple[int, ...], tuple[int, ...], int]: ...
