# AccumulateGrad: what the engine does at a leaf. Note [The grad of a leaf] in tensor.pxd.
#
# Note [Layout of an accumulated gradient]
# The first gradient becomes .grad as it is where nobody else can see its memory; else it is copied. Either way it has the leaf's strides where the leaf is dense
# (its elements fill their memory, each place once), and is contiguous otherwise. Further gradients are added in place, unless the backward is recorded: then
# .grad is replaced by the recorded sum.

from cygrad._core.array cimport Array
from cygrad._core.node cimport NodeState
from cygrad._core.tensor cimport Tensor

cdef int accumulate_array(NodeState* s, Array* grad) noexcept nogil  # steals grad; -1 with an error recorded
cdef int accumulate_tensor(NodeState* s, Tensor grad) except -1      # with the GIL, recorded where grad mode is on
