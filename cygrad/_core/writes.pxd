# Operations that only write: copy_, fill_, zero_. By hand, since they have no out-of-place form in the table.

from libc.stdint cimport uint64_t
from cygrad._core.array cimport Array
from cygrad._core.node cimport Node, NodeState, NodeType
from cygrad._core.tensor cimport Tensor

cdef Tensor copy_(Tensor self, Tensor source)              # broadcast and cast into self
cdef Tensor fill_(Tensor self, Tensor value, bint as_tensor=*)   # value: one element; as_tensor: a number is recorded as a tensor
cdef Tensor zero_(Tensor self)
cdef Tensor zeros_like_array(Array* a)                     # a new Tensor of zeros
# The VJP of what does not depend on its inputs: zeros for each
cdef int apply_zeros(NodeState* s, Array** gin, Array** gout, uint64_t need) noexcept nogil
cdef list recorded_zeros(NodeState* s, list grads, uint64_t need)
cdef int write_check(Tensor self, Tensor source, const char* operation) except -1   # source broadcasts to self; refusals of inplace_check_recorded
