# Hooks of tensors and Nodes, and how the engine runs them around a Node's VJP. All with the GIL.
#
# Order, as torch's: hooks of the outputs' tensors in order of registration; retained grads; prehooks of the Node; the VJP; hooks of the Node. At a leaf:
# hooks of the tensor; prehooks; accumulation; post-accumulate hooks; hooks of AccumulateGrad.

from cygrad._core.node cimport NodeState

cdef int run_tensor_hooks(NodeState* s, list grads) except -1        # replaces entries of grads (Tensor | None), one an output
cdef list run_prehooks(NodeState* s, list grads)                     # the gradients for the VJP
cdef list run_posthooks(NodeState* s, list out, list grads)          # the gradients of the inputs
cdef int run_accumulated(NodeState* s, list grads) except -1         # after .grad of a leaf has changed
