# In-place changes of shape and strides: t_, transpose_, squeeze_, unsqueeze_, as_strided_. The memory stays as it is, the tensor sees it differently.
#
# Why by hand: they write nothing, so they need no CopySlices on a view; the tensor takes the place in the graph that the view operation of the same name would
# have given its result. torch numbers these Nodes on from the view operations (TBackward1), which shows.

from cygrad._core.array cimport IntList, array_incref
from cygrad._core.generated cimport ops_shape
from cygrad._core.grad_mode cimport grad_enabled
from cygrad._core.node cimport Node, NodeType, node_register, node_retype
from cygrad._core.operation cimport INT_NONE
from cygrad._core.sizes cimport signed_sizes
from cygrad._core.inplace cimport grad_fn_move, inplace_check_graph, version_bump
from cygrad._core.tensor cimport Tensor, array_replace, grad_fn_fresh, needs_grad
from cygrad._core.tensor import _install_methods

cdef NodeType NT_t, NT_transpose, NT_squeeze, NT_squeeze_dim, NT_squeeze_dims, NT_unsqueeze, NT_as_strided


cdef Tensor settle(Tensor self, Tensor view, NodeType* t, const char* operation):
    cdef Node n = view.grad_fn_
    array_replace(self, array_incref(view.a))
    version_bump(self, operation)
    if n is not None and grad_enabled():
        view.grad_fn_ = None
        node_retype(n, t)
        grad_fn_move(self, n)
    if view.tangent_ is not None:
        self.tangent_ = view.tangent_        # the same view of the tangent
    return self


cdef int check(Tensor self, const char* operation) except -1:
    grad_fn_fresh(self)
    inplace_check_graph(self, grad_enabled() and needs_grad(self), operation)
    return 0


def t_(Tensor self not None) -> Tensor:
    """Transpose this matrix in place; tensors of fewer dims stay as they are. RuntimeError for more than two dims."""
    check(self, b"t_")
    return settle(self, ops_shape.t(self), &NT_t, b"t_")


def transpose_(Tensor self not None, dim0: int, dim1: int) -> Tensor:
    """Exchange two dims in place. IndexError where there is no such dim."""
    check(self, b"transpose_")
    return settle(self, ops_shape.transpose(self, dim0, dim1), &NT_transpose, b"transpose_")


def squeeze_(Tensor self not None, dim: int | tuple[int, ...] | list[int] | None = None) -> Tensor:
    """Drop the dims of size 1 in place: all of them, or those among ``dim``. IndexError where there is no such dim."""
    cdef IntList dims
    check(self, b"squeeze_")
    if dim is None:
        return settle(self, ops_shape.squeeze(self), &NT_squeeze, b"squeeze_")
    if isinstance(dim, (tuple, list)):
        dims.n = signed_sizes(dim, b"squeeze_", b"dim", dims.v)
        return settle(self, ops_shape.squeeze_dims(self, &dims), &NT_squeeze_dims, b"squeeze_")
    return settle(self, ops_shape.squeeze_dim(self, dim), &NT_squeeze_dim, b"squeeze_")


def unsqueeze_(Tensor self not None, dim: int) -> Tensor:
    """Add a dim of size 1 at place ``dim``, in place. IndexError where there is no such place."""
    check(self, b"unsqueeze_")
    return settle(self, ops_shape.unsqueeze(self, dim), &NT_unsqueeze, b"unsqueeze_")


def as_strided_(Tensor self not None, size: tuple[int, ...] | list[int], stride: tuple[int, ...] | list[int], storage_offset: int | None = None) -> Tensor:
    """See the memory with other sizes, strides and storage offset (in elements), in place. RuntimeError where they lead out of the storage."""
    cdef IntList sizes, strides
    check(self, b"as_strided_")
    sizes.n = signed_sizes(size, b"as_strided_", b"size", sizes.v)
    strides.n = signed_sizes(stride, b"as_strided_", b"stride", strides.v)
    return settle(self, ops_shape.as_strided(self, &sizes, &strides, INT_NONE if storage_offset is None else storage_offset), &NT_as_strided, b"as_strided_")


cdef int named(NodeType* t, NodeType* of, const char* name) except -1:
    t[0] = of[0]
    t.name = name
    return node_register(t)


cdef int setup() except -1:
    named(&NT_t, &ops_shape.NT_t, b"TBackward1")
    named(&NT_transpose, &ops_shape.NT_transpose, b"TransposeBackward1")
    named(&NT_squeeze, &ops_shape.NT_squeeze, b"SqueezeBackward3")
    named(&NT_squeeze_dim, &ops_shape.NT_squeeze_dim, b"SqueezeBackward4")
    named(&NT_squeeze_dims, &ops_shape.NT_squeeze_dims, b"SqueezeBackward5")
    named(&NT_unsqueeze, &ops_shape.NT_unsqueeze, b"UnsqueezeBackward1")
    named(&NT_as_strided, &ops_shape.NT_as_strided, b"AsStridedBackward1")
    _install_methods({"t_": t_, "transpose_": transpose_, "swapaxes_": transpose_, "swapdims_": transpose_, "squeeze_": squeeze_, "unsqueeze_": unsqueeze_,
                      "as_strided_": as_strided_})
    return 0

setup()
