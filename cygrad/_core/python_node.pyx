# Nodes whose VJP is Python. Contract: python_node.pxd.

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc
from cygrad._core.array cimport Array, array_incref, array_decref
from cygrad._core.errors cimport raise_pending
from cygrad._core.grad_mode cimport grad_enabled
from cygrad._core.memory cimport block_alloc, block_free
from cygrad._core.node cimport Edge, node_new, node_of, node_register, node_track, payload_of, intlist_save, FLAG_PYTHON, FLAG_TRACKED
from cygrad._core.tensor cimport Tensor, tensor_wrap, gradient_edge, edge_set

cdef dict _types = {}
cdef list _kept_names = []


cdef list recorded_python(NodeState* s, list grads, uint64_t need):
    return payload_of(s).apply(node_of(s), grads, need)


cdef NodeType* python_node_type(str name, int n_outputs) except NULL:
    cdef NodeType* t
    cdef bytes text
    key = (name, n_outputs)
    found = _types.get(key)
    if found is not None:
        return <NodeType*><size_t>found
    t = <NodeType*>calloc(1, sizeof(NodeType))
    if t == NULL:
        raise MemoryError("cygrad: out of memory for a Node class")
    text = name.encode()
    _kept_names.append(text)
    t.name = text
    t.n_outputs = n_outputs
    t.recorded = recorded_python
    node_register(t)
    _types[key] = <size_t>t
    return t


def copy_slices_node(Tensor base not None, Node written not None, payload: object) -> Node:
    """The Node CopySlices: edge 0 is the base's place in the graph, edges 1, 2, ... are those of the other inputs of ``written``."""
    cdef int n = written.s.n_edges if written.s.n_edges > 1 else 1
    cdef int k
    cdef Edge* source
    cdef Edge* target
    cdef Node node = node_new(python_node_type("CopySlices", 1), n)
    node.s.flags |= FLAG_PYTHON
    edge_set(node, 0, base, NULL)
    for k in range(1, n):
        source = &written.s.edges[k]
        target = &node.s.edges[k]
        if source.next == NULL:
            target.next = NULL
            continue
        target.next = source.next
        target.input_nr = source.input_nr
        target.dtype = source.dtype
        target.shape = NULL
        Py_INCREF(node_of(source.next))
        if source.shape != NULL:
            target.shape = intlist_save(source.shape.v, source.shape.n)
            if target.shape == NULL:
                raise_pending()
    Py_INCREF(payload)
    node.s.payload = <PyObject*>payload
    node_track(node)
    return node


def drop_first_edge(Node node not None) -> None:
    """Cut edge 0 of a Node that CopySlices applies by itself, unless a saved tensor needs it for its place in the graph: the Node behind it can be freed."""
    cdef int k
    cdef NodeState* following
    for k in range(node.s.n_saved):
        if node.s.saved[k].array != NULL and node.s.saved[k].edge == 0:
            return
    following = node.s.edges[0].next
    if following != NULL:
        node.s.edges[0].next = NULL
        release_edge(&node.s.edges[0], following)


cdef int release_edge(Edge* e, NodeState* following) except -1:
    from_shape = e.shape
    e.shape = NULL
    if from_shape != NULL:
        block_free(from_shape, sizeof(Py_ssize_t) * (from_shape.n + 1))
    decref(following.object)
    return 0


cdef extern from "Python.h":
    void decref "Py_DECREF"(PyObject*)


cdef list node_vjp(Node n, list grads, object need):
    cdef NodeState* s = &n.s
    cdef list out
    cdef Array** arrays
    cdef size_t size
    cdef int i, status
    cdef uint64_t bits = need
    if s.type.apply == NULL or s.flags & FLAG_PYTHON or grad_enabled():
        return s.type.recorded(s, grads, bits)
    out = [None] * s.n_edges
    size = (s.n_outputs + s.n_edges) * sizeof(Array*)
    arrays = <Array**>block_alloc(size)
    if arrays == NULL:
        raise_pending()
    for i in range(s.n_outputs):
        arrays[i] = <Array*>NULL if grads[i] is None else array_incref((<Tensor>grads[i]).a)
    for i in range(s.n_edges):
        arrays[s.n_outputs + i] = NULL
    with nogil:
        status = s.type.apply(s, arrays, arrays + s.n_outputs, bits)
    for i in range(s.n_outputs):
        array_decref(arrays[i])
    for i in range(s.n_edges):
        if arrays[s.n_outputs + i] != NULL:
            if status == 0:
                out[i] = tensor_wrap(arrays[s.n_outputs + i])
            else:
                array_decref(arrays[s.n_outputs + i])
    block_free(arrays, size)
    if status != 0:
        raise_pending()
    return out


def apply_vjp(node: Node, grads: list[Tensor | None], need: int) -> list[Tensor | None]:
    """The VJP of a Node, applied by itself: the gradients of its inputs; bit k of ``need`` asks for input k. Recorded where grad mode is on."""
    return node_vjp(node, grads, need)
