from cygrad._core.node import Node
from cygrad._core.tensor import Tensor

__pyx_capi__: dict[str, object]

def apply_vjp(node: Node, grads: list[Tensor | None], need: int) -> list[Tensor | None]: ...
