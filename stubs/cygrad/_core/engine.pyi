from cygrad._core.tensor import Tensor

__pyx_capi__: dict[str, object]

def run_backward(
    roots: tuple[Tensor, ...],
    grads: tuple[Tensor, ...],
    keep_graph: bool,
    create_graph: bool,
    inputs: tuple[Tensor, ...] | None,
    accumulate: bool,
) -> list[Tensor | None] | None: ...
