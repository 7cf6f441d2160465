# How a tensor gets its place in the graph: edges to its inputs, saved tensors, history, views. Called by every operation that records.

from cygrad._core.array cimport Array
from cygrad._core.node cimport Node, NodeState, node_note_output, node_watcher, WATCH_VALUES
from cygrad._core.atomics cimport likely, unlikely
from cygrad._core.tensor cimport Tensor

cdef NodeState* gradient_edge(Tensor t, int* nr) except? NULL            # grad_fn, or the AccumulateGrad of a leaf; NULL: needs no gradient
cdef int edge_set(Node n, int k, Tensor t, Array* result) except -1      # edge k to where t's gradient goes (nothing if t is None or needs none); remembers shape for sum-to-size if it differs from result's (result NULL: never)
cdef int save_input(Node n, int slot, Tensor t, int edge) except -1      # t None: nothing
cdef int save_output(Node n, int slot, Tensor result, int output_nr) except -1
cdef int history_set(Tensor result, Node n, int output_nr) except -1     # result becomes output output_nr of n; integral results stay outside of the graph
cdef Tensor unpack_tensor(NodeState* s, int k)                           # None if nothing was saved; checks version and release
cdef int view_set(Tensor view, Tensor source) except -1                  # base and creation facts of a differentiable view
cdef int view_set_kind(Tensor view, Tensor source, int kind) except -1   # the same for other than plain views

cdef inline int output_note(Tensor result, Node n, int output_nr) except -1:
    cdef Array* a = result.a
    cdef int i
    if likely(output_nr == 0 and a.ndim <= 4 and 0 < a.numel <= 0x7fffffff):
        n.s.out_ndim = a.ndim
        n.s.out_dtype = a.dtype
        for i in range(a.ndim):
            n.s.out_shape[i] = <int>a.shape[i]
    else:
        node_note_output(n, output_nr, a)
    if unlikely(node_watcher.events & WATCH_VALUES):
        node_watcher.recorded(n, output_nr, result.a)
    return 0
