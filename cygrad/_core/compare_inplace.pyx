# eq_, ne_, lt_, le_, gt_, ge_: comparisons whose result, 0 or 1, is written into the tensor itself.
#
# Why by hand: the comparisons as such have no gradient, but a recorded tensor that is overwritten has one, which is zero.

from libc.string cimport memset
from cygrad._core.array cimport array_incref, WRAPPED
from cygrad._core.generated cimport ops_comparison as co
from cygrad._core.forward cimport boxed, forward_on, forward_open, tangent_write
from cygrad._core.grad_mode cimport grad_enabled
from cygrad._core.node cimport Node, NodeType, node_new, node_register
from cygrad._core.operation cimport inplace_write
from cygrad._core.inplace cimport inplace_check_recorded, inplace_history, overlap_check
from cygrad._core.recording cimport edge_set
from cygrad._core.tensor cimport Tensor, as_operand, needs_grad
from cygrad._core.tensor import _install_methods
from cygrad._core.writes cimport apply_zeros, recorded_zeros

ctypedef Tensor (*Comparison)(Tensor a, Tensor b)

cdef NodeType types[12]          # of a number, then of a tensor, for each comparison
cdef Comparison comparisons[6]
cdef const char* names[6]


cdef Tensor compare_(Tensor self, object other, int which):
    cdef Tensor operand = as_operand(other, names[which])
    cdef bint number = operand.a.flags & WRAPPED != 0
    cdef bint recorded = grad_enabled() and (needs_grad(self) or needs_grad(operand))
    cdef Node n = None
    cdef Tensor result
    inplace_check_recorded(self, recorded, names[which])
    overlap_check(self, operand, False, names[which])
    result = comparisons[which](self, operand)
    if recorded:
        n = node_new(&types[2 * which + (0 if number else 1)], 1 if number else 2)
        edge_set(n, 0, self, NULL)
        if not number:
            edge_set(n, 1, operand, self.a)
    inplace_write(self, array_incref(result.a), names[which])
    if n is not None:
        inplace_history(self, n)
    if forward_open and forward_on() and boxed(self):
        tangent_write(self, None)
    return self


def eq_(Tensor self not None, other: Tensor | complex) -> Tensor:
    """Write into this tensor where it is equal to ``other``: 1 or 0."""
    return compare_(self, other, 0)


def ne_(Tensor self not None, other: Tensor | complex) -> Tensor:
    """Write into this tensor where it is different from ``other``: 1 or 0."""
    return compare_(self, other, 1)


def lt_(Tensor self not None, other: Tensor | complex) -> Tensor:
    """Write into this tensor where it is smaller than ``other``: 1 or 0."""
    return compare_(self, other, 2)


def le_(Tensor self not None, other: Tensor | complex) -> Tensor:
    """Write into this tensor where it is at most ``other``: 1 or 0."""
    return compare_(self, other, 3)


def gt_(Tensor self not None, other: Tensor | complex) -> Tensor:
    """Write into this tensor where it is larger than ``other``: 1 or 0."""
    return compare_(self, other, 4)


def ge_(Tensor self not None, other: Tensor | complex) -> Tensor:
    """Write into this tensor where it is at least ``other``: 1 or 0."""
    return compare_(self, other, 5)


cdef int setup() except -1:
    cdef int k, kind
    cdef const char** node_names = [
        b"EqBackward0", b"EqBackward1", b"NeBackward0", b"NeBackward1", b"LtBackward0", b"LtBackward1",
        b"LeBackward0", b"LeBackward1", b"GtBackward0", b"GtBackward1", b"GeBackward0", b"GeBackward1"]
    names[:] = [b"eq_", b"ne_", b"lt_", b"le_", b"gt_", b"ge_"]
    comparisons[:] = [co.eq, co.ne, co.lt, co.le, co.gt, co.ge]
    for k in range(12):
        memset(&types[k], 0, sizeof(NodeType))
        types[k].name = node_names[k]
        types[k].n_outputs = 1
        types[k].apply = apply_zeros
        types[k].recorded = recorded_zeros
        node_register(&types[k])
    _install_methods({
        "eq_": eq_, "ne_": ne_, "not_equal_": ne_, "lt_": lt_, "less_": lt_, "le_": le_, "less_equal_": le_, "gt_": gt_, "greater_": gt_, "ge_": ge_,
        "greater_equal_": ge_})
    return 0

setup()
