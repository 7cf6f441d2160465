# Nodes whose VJP is Python: custom Functions; and applying one Node by itself. The payload's method `apply(node, grads, need)` is the VJP.

from libc.stdint cimport uint64_t
from cygrad._core.node cimport Node, NodeState, NodeType

cdef NodeType* python_node_type(str name, int n_outputs) except NULL      # one a name and number of outputs; lives as long as the process
cdef list node_vjp(Node n, list grads, object need)                     # applies a Node by itself, outside of a backward
cdef list recorded_python(NodeState* s, list grads, uint64_t need)      # the NodeType.recorded of all of them
