# Applying one Node. Contract: python_node.pxd.

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc
from cygrad._core.accumulate cimport accumulate_tensor
from cygrad._core.array cimport Array, array_incref, array_decref
from cygrad._core.errors cimport raise_pending
from cygrad._core.forward cimport carries_tangents
from cygrad._core.grad_mode cimport grad_enabled
from cygrad._core.memory cimport block_alloc, block_free
from cygrad._core.node cimport Node, node_of, node_register, node_release_with_gil, payload_of, refuse_released, FLAG_ACCUMULATE, FLAG_PYTHON
from cygrad._core.tensor cimport Tensor, tensor_wrap

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


cdef list apply_arrays(NodeState* s, list grads, uint64_t need, bint keep_graph):
    # The nogil form, on Tensors.
    cdef list out = [None] * s.n_edges
    cdef Array** arrays
    cdef size_t size = (s.n_outputs + s.n_edges) * sizeof(Array*)
    cdef int i, status
    arrays = <Array**>block_alloc(size)
    if arrays == NULL:
        raise_pending()
    for i in range(s.n_outputs):
        arrays[i] = <Array*>NULL if grads[i] is None else array_incref((<Tensor>grads[i]).a)
    for i in range(s.n_edges):
        arrays[s.n_outputs + i] = NULL
    with nogil:
        status = apply_node(s, <void**>arrays, arrays + s.n_outputs, need, keep_graph)
    for i in range(s.n_outputs):
        array_decref(arrays[i])
    for i in range(s.n_edges):
        if arrays[s.n_outputs + i] != NULL:
            if status == 0:
                out[i] = tensor_wrap(arrays[s.n_outputs + i])
            else:
                array_decref(arrays[s.n_outputs + i])
    block_free(arrays, size)
    if status == NEEDS_GIL:
        out = s.type.recorded(s, grads, need)
        if not keep_graph:
            node_release_with_gil(s)
    elif status != 0:
        raise_pending()
    return out


def apply_vjp(Node node not None, grads: list[Tensor | None], need: int) -> list[Tensor | None]:
    """The VJP of a Node, applied by itself: the gradients of its inputs; bit k of ``need`` asks for input k. Recorded where grad mode is on.

    An AccumulateGrad adds to the .grad of its leaf. RuntimeError if what the Node saved was freed.
    """
    cdef NodeState* s = &node.s
    cdef uint64_t bits = need
    if s.flags & FLAG_ACCUMULATE:
        if grads[0] is not None:
            accumulate_tensor(s, grads[0])
        return []
    if s.type.apply != NULL and not s.flags & FLAG_PYTHON and not grad_enabled() and not carries_tangents():
        return apply_arrays(s, grads, bits, True)
    if s.released:
        refuse_released(s)
        raise_pending()
    if s.type.recorded != recorded_python and all_none(grads):
        return [None] * s.n_edges
    return s.type.recorded(s, grads, bits)


cdef bint all_none(list grads) noexcept:
    for g in grads:
        if g is not None:
            return False
    return True
