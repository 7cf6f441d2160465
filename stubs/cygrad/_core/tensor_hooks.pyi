from collections.abc import Callable
from typing import Never

from typing_extensions import disjoint_base

from cygrad._core.tensor import Tensor
from cygrad.utils.hooks import HookTable, RemovableHandle

__pyx_capi__: dict[str, object]

@disjoint_base
class HookTables:
    def __init__(self, *args: Never, **kwargs: Never) -> None: ...

@disjoint_base
class TensorHooks: ...

@disjoint_base
class RetainGrad: ...

def register_hook(
    self: Tensor, hook: Callable[[Tensor], Tensor | None]
) -> RemovableHandle[Callable[[Tensor], Tensor | None]]: ...
def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle[Callable[[Tensor], None]]: ...
def retain_grad(self: Tensor) -> None: ...
def retain_stop(tensor: Tensor) -> None: ...
def backward_hooks(self: Tensor) -> HookTable[Callable[[Tensor], Tensor | None]] | None: ...
def post_accumulate_grad_hooks(self: Tensor) -> HookTable[Callable[[Tensor], None]] | None: ...
