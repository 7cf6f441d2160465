from typing import TypeAlias

from cygrad._core.node import Node
from cygrad._core.tensor import Tensor

# A Tensor, or an edge: a Node and which of its outputs.
_Place: TypeAlias = Tensor | tuple[Node, int, Node | None]

def scalar_again(root: Tensor, keep_graph: bool) -> None: ...
def run_backward(
    roots: tuple[_Place, ...],
    grads: tuple[Tensor, ...],
    keep_graph: bool,
    create_graph: bool,
    inputs: tuple[_Place, ...] | None,
    accumulate: bool,
) -> list[Tensor | None] | None: ...
