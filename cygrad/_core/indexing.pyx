# Reading and writing with index objects. Contract: indexing.pxd; how an index object is understood: index_parse.pyx.
#
# Why by hand: the number of saved indices varies, so the Node classes are made per number, all under the same name.

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc
from libc.string cimport memset
from cygrad._core.array cimport Array, IntList, array_decref, array_incref, array_zeros, same_shape, MAX_DIMS
from cygrad._core.atomics cimport unlikely
from cygrad._core.errors cimport raise_pending
cimport cygrad._core.generated.ops_shape as ops_shape
from cygrad._core.forward cimport boxed, forward_on, forward_open, forward_pause, tangent_of, tangent_set, tangent_write
from cygrad._core.grad_mode cimport grad_enabled, inference_used, set_thread_modes
from cygrad._core.index_parse cimport IndexSteps, IndexStep, parse_index, index_arrays, index_view, STEP_SELECT, STEP_SLICE
cimport cygrad._core.kernels.indexing as kernels
from cygrad._core.node cimport (
    Node, NodeState, NodeType, SavedTensor, saved_tensor_new, node_new, node_register, unpack_array, saved_check, val_set_int, val_set_ints)
from cygrad._core.operation cimport all_inference, ints_sizes, stale_refuse
from cygrad._core.inplace cimport inplace_check_graph, inplace_history, overlap_check, overlap_warn, version_bump
from cygrad._core.recording cimport edge_set, save_input, history_set, unpack_tensor, view_set
from cygrad._core.tensor cimport Tensor, tensor_wrap, tensor_number, as_operand, is_inference, needs_grad
from cygrad._core.tensor import _install_methods
from cygrad._core.writes cimport copy_, fill_

__all__: list[str] = []

cdef enum:
    ROOM = 64

cdef NodeType* index_types[65]
cdef NodeType* put_types[65]
cdef const char* index_names[65]
cdef const char* value_names[2]
cdef char index_kinds[65]
cdef int k_
for k_ in range(65):
    index_names[k_] = b"indices"
    index_kinds[k_] = b"l"
value_names[0] = b"self_sym_sizes"
value_names[1] = b"accumulate"


def saved_indices(Node node not None) -> tuple[Tensor | None, ...]:
    """The index tensors, None for dimensions taken whole."""
    return tuple([unpack_tensor(&node.s, k) for k in range(node.s.n_saved)])


def raw_saved_indices(Node node not None) -> tuple[SavedTensor, ...]:
    """The index tensors as the Node keeps them."""
    return tuple([saved_tensor_new(node, k) for k in range(node.s.n_saved)])


cdef NodeType* type_for(NodeType** types, int n, bint put) except NULL:
    cdef NodeType* t = types[n]
    if t == NULL:
        t = <NodeType*>calloc(1, sizeof(NodeType))
        if t == NULL:
            raise MemoryError("cygrad: out of memory for a Node class")
        t.name = b"IndexPutBackward0" if put else b"IndexBackward0"
        t.apply = apply_put if put else apply_index
        t.recorded = recorded_put if put else recorded_index
        t.n_outputs = 1
        t.n_saved = n
        t.saved_names = index_names
        t.saved_scalar = index_kinds
        t.n_vals = 1
        t.val_names = &value_names[1] if put else &value_names[0]
        t.val_kinds = b"1" if put else b"3"
        node_register(t)
        (<object>t.cls)._saved_indices = property(saved_indices)
        (<object>t.cls)._raw_saved_indices = property(raw_saved_indices)
        types[n] = t
    return t


cdef int saved_arrays(NodeState* s, Array** into) noexcept nogil:
    cdef int k
    for k in range(s.n_saved):
        if saved_check(s, k) != 0:
            return -1
        into[k] = s.saved[k].array
    return 0


cdef int apply_index(NodeState* s, Array** gin, Array** gout, uint64_t need) noexcept nogil:
    cdef Array* indices[64]
    if gin[0] == NULL:
        return 0
    if saved_arrays(s, indices) != 0:
        return -1
    gout[0] = kernels.index_backward(gin[0], s.vals[0].list, indices, s.n_saved)
    return 0 if gout[0] != NULL else -1


cdef list recorded_index(NodeState* s, list grads, uint64_t need):
    cdef Tensor grad = grads[0]
    cdef list indices = [unpack_tensor(s, k) for k in range(s.n_saved)]
    return [index_put(tensor_wrap(array_zeros(grad.a.dtype, s.vals[0].list.n, s.vals[0].list.v)), indices, grad, True)]


cdef int apply_put(NodeState* s, Array** gin, Array** gout, uint64_t need) noexcept nogil:
    cdef Array* indices[64]
    if gin[0] == NULL:
        return 0
    if saved_arrays(s, indices) != 0:
        return -1
    if need & 1:
        gout[0] = array_incref(gin[0]) if s.vals[0].i else kernels.index_put(gin[0], indices, s.n_saved, NULL, False)
        if gout[0] == NULL:
            return -1
    if need & 2:
        gout[1] = kernels.index(gin[0], indices, s.n_saved)
        if gout[1] == NULL:
            return -1
    return 0


cdef list recorded_put(NodeState* s, list grads, uint64_t need):
    cdef Tensor grad = grads[0]
    cdef list indices = [unpack_tensor(s, k) for k in range(s.n_saved)]
    cdef list out = [None, None]
    if need & 1:
        out[0] = grad if s.vals[0].i else index_put(grad, indices, tensor_number(0), False)
    if need & 2:
        out[1] = index_tensors(grad, indices)
    return out


cdef int save_indices(Node n, list indices) except -1:
    cdef int k
    for k in range(len(indices)):
        save_input(n, k, <Tensor>indices[k], -1)
    return 0


cdef Tensor index_tensors(Tensor self, list indices):
    cdef Array* arrays[64]
    cdef int count = index_arrays(indices, arrays)
    cdef Array* out
    cdef Tensor result
    cdef Node n
    with nogil:
        out = kernels.index(self.a, arrays, count)
    if out == NULL:
        stale_refuse((self,))
    result = tensor_wrap(out)
    if grad_enabled() and needs_grad(self) and not (inference_used and is_inference(self) and all_inference(indices)):
        n = node_new(type_for(index_types, count, False), 1)
        edge_set(n, 0, self, NULL)
        val_set_ints(&n.s, 0, self.a.shape, self.a.ndim)
        save_indices(n, indices)
        history_set(result, n, 0)
    if unlikely(forward_open) and forward_on() and boxed(self):
        tangent_set(result, index_tangent(tangent_of(self), indices))
    return result


cdef Tensor index_tangent(Tensor tangent, list indices):
    cdef int modes = forward_pause()
    try:
        return None if tangent is None else index_tensors(tangent, indices)
    finally:
        set_thread_modes(modes)


cdef Tensor put_tangent(Tensor self, list indices, Tensor values, bint accumulate):
    # Writing is linear in the old tensor and in what is written to it; None where neither has a tangent.
    cdef Tensor tangent = tangent_of(self)
    cdef Tensor written = tangent_of(values)
    cdef int modes
    if tangent is None and written is None:
        return None
    if tangent is None:
        tangent = tensor_wrap(array_zeros(self.a.dtype, self.a.ndim, self.a.shape))
    if written is None:
        written = tensor_wrap(array_zeros(self.a.dtype, values.a.ndim, values.a.shape))
    modes = forward_pause()
    try:
        return index_put(tangent, indices, written, accumulate)
    finally:
        set_thread_modes(modes)


cdef Node put_node(Tensor self, list indices, Tensor values, bint accumulate, int count, Array* region):
    cdef Node n = node_new(type_for(put_types, count, True), 2)
    edge_set(n, 0, self, NULL)
    edge_set(n, 1, values, region)
    val_set_int(&n.s, 0, accumulate)
    save_indices(n, indices)
    return n


cdef Tensor index_put(Tensor self, list indices, Tensor values, bint accumulate):
    cdef Array* arrays[64]
    cdef int count = index_arrays(indices, arrays)
    cdef Array* out
    cdef Array* region = NULL
    cdef Tensor result
    with nogil:
        out = kernels.index_put(self.a, arrays, count, values.a, accumulate)
    result = tensor_wrap(out)
    if (grad_enabled() and (needs_grad(self) or needs_grad(values))
            and not (inference_used and is_inference(self) and is_inference(values) and all_inference(indices))):
        if needs_grad(values):
            region = region_of(self, arrays, count)
        try:
            history_set(result, put_node(self, indices, values, accumulate, count, region), 0)
        finally:
            array_decref(region)
    if unlikely(forward_open) and forward_on() and (boxed(self) or boxed(values)):
        tangent_set(result, put_tangent(self, indices, values, accumulate))
    return result


cdef Array* region_of(Tensor self, Array** arrays, int count) except NULL:
    # What is written, for its shape: the gradient of values is summed from there.
    cdef Array* region = kernels.index_region(self.a, arrays, count)
    if region == NULL:
        raise_pending()
    return region


cdef Tensor index_put_(Tensor self, list indices, Tensor values, bint accumulate):
    cdef Array* arrays[64]
    cdef int count = index_arrays(indices, arrays), status
    cdef Array* region = NULL
    cdef Node n = None
    cdef bint recorded = grad_enabled() and (needs_grad(self) or needs_grad(values))
    inplace_check_graph(self, recorded, b"index_put_")
    if count > self.a.ndim:
        raise IndexError(f"cygrad: index_put_: too many indices for tensor of dimension {self.a.ndim} (got {count})")
    overlap_warn(self, b"index_put_")
    overlap_check(self, values, True, b"index_put_")
    for index in indices:
        if index is not None:
            overlap_check(self, <Tensor>index, True, b"index_put_")
    if recorded:
        if needs_grad(values):
            region = region_of(self, arrays, count)
        try:
            n = put_node(self, indices, values, accumulate, count, region)
        finally:
            array_decref(region)
    with nogil:
        status = kernels.index_put_(self.a, arrays, count, values.a, accumulate)
    if status != 0:
        raise_pending()
    version_bump(self, b"index_put_")
    if n is not None:
        inplace_history(self, n)
    if unlikely(forward_open) and forward_on() and (boxed(self) or boxed(values)):
        tangent_write(self, put_tangent(self, indices, values, accumulate))
    return self


# ---- x[...] -----------------------------------------------------------------------------------------------------------

cdef inline bint whole(IndexStep* step, Tensor t) noexcept:
    return step.kind == STEP_SLICE and step.start == 0 and step.step == 1 and step.stop >= t.a.shape[step.dim]


cdef Tensor take_steps(Tensor t, IndexSteps* steps, bint write=False):
    # One recorded view a step; as one view where nothing is recorded. A write takes no view for slices of everything, as in torch.
    cdef int k
    cdef IndexStep* step
    cdef Tensor view
    if write and steps.n == 1 and whole(&steps.v[0], t):
        return t
    if steps.n and not (grad_enabled() and needs_grad(t)) and not (unlikely(forward_open) and boxed(t)):
        view = tensor_wrap(index_view(t.a, steps))
        view_set(view, t)
        return view
    view = t
    for k in range(steps.n):
        step = &steps.v[k]
        if step.kind == STEP_SELECT:
            view = ops_shape.select(view, step.dim, step.start)
        elif step.kind == STEP_SLICE:
            if write and whole(step, view):
                continue
            view = ops_shape.slice_range(view, step.dim, step.start, step.stop, step.step)
        else:
            view = ops_shape.unsqueeze(view, step.dim)
    if steps.n == 0 and not write:
        view = ops_shape.alias(t)
    return view


cdef object get_item(object t, object index):
    cdef IndexSteps steps
    cdef object tensors = parse_index(t, index, &steps)
    if tensors is None:
        return take_steps(t, &steps)
    if steps.n:
        return index_tensors(take_steps(t, &steps), tensors)
    return index_tensors(t, tensors)


cdef int assign(Tensor target, Tensor value) except -1:
    # As torch does it, since it shows in the graph: a single value fills, others lose leading dims of 1 and are expanded.
    cdef IntList sizes
    if same_shape(target.a, value.a):
        copy_(target, value)
    elif value.a.ndim == 0:
        fill_(target, value, True)
    else:
        value = without_leading(value)
        if not same_shape(target.a, value.a):
            value = ops_shape.expand(value, ints_sizes(&sizes, target.a), False)
        copy_(target, value)
    return 0


cdef Tensor without_leading(Tensor value):
    cdef IntList sizes
    cdef int i, first = 0
    while first < value.a.ndim and value.a.shape[first] == 1:
        first += 1
    if first == 0:
        return value
    sizes.n = value.a.ndim - first
    for i in range(sizes.n):
        sizes.v[i] = value.a.shape[first + i]
    return ops_shape.view(value, &sizes)


cdef int set_item(Tensor t, object index, object value) except -1:
    cdef IndexSteps steps
    cdef object tensors
    cdef Tensor v = as_operand(value, b"__setitem__")
    if index is Ellipsis:
        assign(t, v)
        return 0
    if index is True:
        assign(ops_shape.unsqueeze(t, 0), v)
        return 0
    if index is False:
        return 0
    tensors = parse_index(t, index, &steps)
    if tensors is None:
        assign(take_steps(t, &steps, True), v)
    else:
        index_put_(take_steps(t, &steps, True), tensors, without_leading(v), False)
    return 0


# ---- functions and methods ----------------------------------------------------------------------------------------------

cdef list index_list(object indices, const char* operation):
    cdef list out = []
    for i in indices:
        if i is not None and not isinstance(i, Tensor):
            raise TypeError(f"cygrad: {operation.decode()}(): indices must be Tensors or None, not {type(i).__name__}")
        out.append(i)
    return out


def index_put_function(Tensor input not None, indices: tuple[Tensor | None, ...] | list[Tensor | None], Tensor values not None, accumulate: bool = False) -> Tensor:
    """A copy of the tensor with ``values`` written (or added, with ``accumulate``) at ``indices``, one index tensor a dimension."""
    return index_put(input, index_list(indices, b"index_put"), values, accumulate)


def index_put_method(Tensor self not None, indices: tuple[Tensor | None, ...] | list[Tensor | None], Tensor values not None, accumulate: bool = False) -> Tensor:
    """Write ``values`` (or add them, with ``accumulate``) at ``indices``, one index tensor a dimension."""
    return index_put_(self, index_list(indices, b"index_put_"), values, accumulate)


_install_methods({"index_put": index_put_function, "index_put_": index_put_method})
