# AccumulateGrad: what the engine does at a leaf. Note [The grad of a leaf] in tensor.pxd.

from cygrad._core.array cimport Array
from cygrad._core.node cimport NodeState
from cygrad._core.tensor cimport Tensor

cdef bint accumulate_needs_gil(NodeState* s) noexcept nogil          # the leaf's grad is part of a graph
cdef int accumulate_array(NodeState* s, Array* grad) noexcept nogil  # steals grad; -1 with an error recorded
cdef int accumulate_tensor(NodeState* s, Tensor grad) except -1      # with the GIL, recorded where grad mode is on
