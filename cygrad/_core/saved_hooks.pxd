# Saved-tensor hooks: what a pack hook made of a saved tensor, and the stack of default hooks of each thread. All with the GIL.
#
# Note [Packed tensors]
# A saved tensor that went through a pack hook leaves its SavedArray empty but for its place in the graph (`edge`, `output_nr`); what the hook returned lies
# in the Node's NodeHooks.packed. Such a Node has FLAG_PYTHON and FLAG_PACKED: the engine runs its recorded form, which asks unpack_tensor for each saved
# tensor it needs, and unpack_tensor asks here. Freed like saved memory: by the backward that used it.

from cygrad._core.node cimport Node
from cygrad._core.tensor cimport Tensor

cdef class Packed:
    cdef object data              # what the pack hook returned
    cdef object unpack            # the hook that makes the tensor of it; None: data is the tensor (save_elsewhere)
    cdef Node origin              # where the gradient of a tensor goes that is neither input nor output of the Node; usually None
    cdef int origin_nr

cdef bint is_packed(Node n, int slot) noexcept
cdef int save_elsewhere(Node n, int slot, Tensor t) except -1     # saves a tensor with a history of its own, which a custom Function may do
cdef Tensor unpack_elsewhere(Node n, int slot)                    # the same tensor; None: that slot holds another kind
