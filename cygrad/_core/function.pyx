# Custom Functions: the context that forward and backward share, and apply, which puts one Node into the graph.
#
# Note [Custom Functions]
# forward runs with nothing recorded. Its Node has one edge a Tensor argument and one gradient in for each output, and its payload is the context, whose
# `apply` is the VJP. What forward saved lies in the Node like any operation's saved tensors: an input with its edge, an output without a reference
# to this Node, so that neither makes a cycle. A saved tensor that is neither was computed inside forward and has no history: under create_graph a second
# derivative through it would be silently zero, so it comes back with a Node that refuses (Node "DelayedError"). A tensor from outside that has a history of
# its own is kept with it (save_elsewhere). The context knows its Node by a borrowed pointer (`home`), which the Node's end clears; attributes that the Node
# itself lacks are looked up on its context, which in torch is the same object.

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc
from cygrad._core.array cimport Array, array_alias, array_incref, same_shape, shape_text
from cygrad._core.atomics cimport atomic_load
from cygrad._core.dtypes cimport dtype_object, is_complex_code, is_integral_code
from cygrad._core.errors cimport raise_pending
from cygrad._core.forward cimport forward_on, forward_open, forward_pause, tangent_of, tangent_set, tangent_write
from cygrad._core.grad_mode cimport grad_enabled, set_thread_modes, thread_modes, MODE_GRAD, MODE_PRIMAL
from cygrad._core.node cimport (
    Node, NodeState, NodeType, Edge, saved_tensor_new, node_new, node_of, node_register, node_track, node_release_with_gil, refuse_released, saved_check, payload_of, intlist_save,
    FLAG_PYTHON, FLAG_TRACKED)
from cygrad._core.node_hooks cimport FLAG_PACKED
from cygrad._core.python_node cimport recorded_python
from cygrad._core.recorded_ops cimport recorded_ops
from cygrad._core.saved_hooks cimport save_elsewhere, unpack_elsewhere
from cygrad._core.inplace cimport version_bump, inplace_check_graph, inplace_history
from cygrad._core.recording cimport edge_set, save_input, save_output, history_set, unpack_tensor, view_set_kind
from cygrad._core.tensor cimport Tensor, tensor_alias, tensor_wrap, is_leaf, needs_grad, grad_fn_fresh, VIEW_CUSTOM
from cygrad._core.writes cimport zeros_like_array

cdef dict _classes = {}              # (name, outputs, saved) -> NodeType*; the first of a name makes the Python class
cdef dict _python_classes = {}
cdef list _kept = []
cdef enum:
    MANY = 256                       # saved tensors of one Function that share these two tables
cdef const char* _saved_names[256]
cdef char _saved_kinds[256]
cdef int _k
for _k in range(MANY):
    _saved_names[_k] = b"tensors"
    _saved_kinds[_k] = b"l"


cdef NodeType* function_type(str name, int n_outputs, int n_saved) except NULL:
    cdef NodeType* t
    cdef int k
    cdef bytes kinds
    key = (name, n_outputs, n_saved)
    found = _classes.get(key)
    if found is not None:
        return <NodeType*><size_t>found
    t = <NodeType*>calloc(1, sizeof(NodeType))
    if t == NULL:
        raise MemoryError("cygrad: out of memory for a Node class")
    text = name.encode()
    _kept.append(text)
    t.name = text
    t.n_outputs = n_outputs
    t.n_saved = n_saved
    t.saved_names = _saved_names
    t.saved_scalar = _saved_kinds
    if n_saved > MANY:
        t.saved_names = <const char**>calloc(n_saved, sizeof(char*))
        kinds = b"l" * n_saved
        if t.saved_names == NULL:
            raise MemoryError("cygrad: out of memory for a Node class")
        _kept.append(kinds)
        t.saved_scalar = kinds
        for k in range(n_saved):
            t.saved_names[k] = b"tensors"
    t.recorded = recorded_python
    t.finalize = function_finalize
    if name in _python_classes:
        t.cls = <PyTypeObject*><PyObject*>_python_classes[name]
    else:
        node_register(t)
        _python_classes[name] = <object>t.cls
        complete_class(<object>t.cls)
    _classes[key] = <size_t>t
    return t


cdef void function_finalize(NodeState* s) noexcept:
    # (a DelayedError has a payload of another kind)
    if s.payload != NULL and isinstance(<object>s.payload, FunctionCtx):
        (<FunctionCtx>s.payload).home = NULL


cdef int complete_class(object cls) except -1:
    # What torch's Nodes of Functions show: the context's attributes.
    def lookup(Node node, str name):
        if node.s.payload != NULL and isinstance(<object>node.s.payload, FunctionCtx):
            try:
                return getattr(<object>node.s.payload, name)
            except AttributeError:
                pass
        raise AttributeError(f"cygrad: {node.name()} has no attribute '{name}', and neither has its context")

    def raw(Node node):
        cdef int k
        if node.s.released:
            refuse_released(&node.s)
            raise_pending()
        return tuple([saved_tensor_new(node, k) for k in range(node.s.n_saved)])

    def apply(Node node, *grads):
        """What calling the Node gives: the gradients of the inputs for these gradients of the outputs."""
        return node(*grads)

    def assign(Node node, str name, value):
        if node.s.payload == NULL or not isinstance(<object>node.s.payload, FunctionCtx):
            raise AttributeError(f"cygrad: {node.name()} has no context on which '{name}' could be set")
        setattr(<object>node.s.payload, name, value)

    cls.__getattr__ = lookup
    cls.__setattr__ = assign
    cls.apply = apply
    cls._raw_saved_tensors = property(raw)
    return 0


cdef class FunctionCtx:
    """What the forward of a custom Function leaves for its backward; any attribute may be set on it.

    ``needs_input_grad``: one bool an argument: whether its gradient is wanted.
    """

    cdef readonly tuple needs_input_grad
    cdef NodeState* home                 # the Function's Node (borrowed), NULL before there is one and after its end
    cdef tuple to_save
    cdef readonly tuple saved_for_forward
    cdef tuple dirty
    cdef tuple non_differentiable
    cdef bint materialize
    cdef public bint _materialize_non_diff_grads
    cdef object function                 # the Function class
    cdef list arguments                  # for each argument: its edge, or -1
    cdef list output_geometry            # for each output: (shape, dtype) of a Tensor, else None: zeros are made like this
    cdef bint clear_on_access
    cdef bint cleared                    # by an access
    cdef dict facts                      # metadata set before there is a Node
    cdef bint in_jvp                     # saved_tensors are those of save_for_forward
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self):
        self.materialize = True
        self._materialize_non_diff_grads = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors (inputs, outputs or others; None is passed through) for ``saved_tensors`` in backward. Call it at most once.

        Writing to a saved tensor in place before backward is a RuntimeError there. TypeError for objects that are no tensors.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"cygrad: save_for_backward can only save variables, but got an object of type {type(t).__name__}; set it as an attribute of ctx")
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for ``saved_tensors`` in jvp. AssertionError for objects that are no tensors."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(f"cygrad: save_for_forward expects all arguments to be tensors, but got an object of type {type(t).__name__}; "
                                     "set it as an attribute of ctx")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say that forward wrote to these inputs in place; they must be returned."""
        self.dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say that no gradient flows through these outputs. RuntimeError for objects that are no tensors."""
        for t in args:
            if not isinstance(t, Tensor):
                raise RuntimeError(f"cygrad: mark_non_differentiable only accepts variable arguments, but got type {type(t).__name__}")
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: tuple[Tensor, Tensor]) -> None:
        """Accepted for old code; sharing of memory is noticed without it."""

    def set_materialize_grads(self, value: bool) -> None:
        """Whether the gradients of unused outputs reach backward as zeros (the default) or as None."""
        self.materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` saved, with its place in the graph.

        RuntimeError after the saved tensors were freed, or where one was written in place since.
        """
        cdef int k
        cdef list out
        cdef Node node
        if self.home == NULL or self.in_jvp:
            return self.saved_for_forward if self.saved_for_forward is not None else (self.to_save or ())
        if self.cleared:
            raise RuntimeError(f"cygrad: {self.name()}: saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the Function: "
                               "keep what the first access gave, or leave that flag False")
        if self.home.released:
            refuse_released(self.home)
            raise_pending()
        node = node_of(self.home)            # an unpack hook may drop the graph
        out = [self.unpack(node, k) for k in range(node.s.n_saved)]
        if self.clear_on_access:
            node_release_with_gil(&node.s)
            self.cleared = True
        return tuple(out)

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of ``saved_tensors``. Warns of that (DeprecationWarning)."""
        from cygrad._warnings import warn
        warn("cygrad: 'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def name(self) -> str:
        """The name of the Function's Node, such as ``SquareBackward``."""
        return self.function.__name__ + "Backward"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges of the Function's Node; empty while there is none."""
        return () if self.home == NULL else node_of(self.home).next_functions

    @property
    def metadata(self) -> dict[str, object]:
        """The dict of the user's own that the Function's Node keeps."""
        if self.home != NULL:
            return node_of(self.home).metadata
        if self.facts is None:
            self.facts = {}
        return self.facts

    # What else code written for torch, where the context is the Node, asks of it.

    @property
    def __class__(self):
        """The class of the Function's Node: the context passes for an instance of it."""
        return <object>function_type(self.name(), 1, 0).cls if self.function is not None else FunctionCtx

    cdef Node own_node(self):
        if self.home == NULL:
            raise RuntimeError(f"cygrad: {self.name()}: there is no Node of this Function: forward has not returned yet, nothing was recorded, or its graph is gone")
        return node_of(self.home)

    def register_hook(self, fn):
        """``register_hook`` of the Function's Node. RuntimeError while there is none."""
        return self.own_node().register_hook(fn)

    def register_prehook(self, fn):
        """``register_prehook`` of the Function's Node. RuntimeError while there is none."""
        return self.own_node().register_prehook(fn)

    def _sequence_nr(self) -> int:
        """``_sequence_nr`` of the Function's Node. RuntimeError while there is none."""
        return self.own_node()._sequence_nr()

    @property
    def _input_metadata(self):
        """``_input_metadata`` of the Function's Node. RuntimeError while there is none."""
        return self.own_node()._input_metadata

    @property
    def _raw_saved_tensors(self):
        """What ``save_for_backward`` saved, as the Node keeps it. RuntimeError while there is no Node, and after the tensors were freed."""
        return self.own_node()._raw_saved_tensors

    cdef object unpack(self, Node node, int k):
        cdef NodeState* s = &node.s
        cdef Tensor t
        if saved_check(s, k) != 0:
            raise_pending()
        if s.flags & FLAG_PACKED:
            t = unpack_elsewhere(node, k)
            if t is not None:
                return t
        t = unpack_tensor(s, k)
        if t is not None and s.saved[k].edge == -3 and grad_enabled() and not is_integral_code(t.a.dtype):
            # computed inside forward, without a history
            history_set(t, delayed_error(f"{self.function.__name__}: the second derivative would be wrong: it goes through a tensor that was computed inside forward "
                        "and saved, which has no history. Return it as an output of forward, or compute it again in backward from saved inputs.", node), 0)
        return t

    cdef list vjp(self, Node node, list grads, uint64_t need):
        cdef int k
        if self.materialize:
            for k in range(len(grads)):
                if grads[k] is None and self.output_geometry[k] is not None:
                    shape, dtype = self.output_geometry[k]
                    import cygrad
                    grads[k] = cygrad.zeros(shape, dtype=dtype)
        return self.collect(node, backward_of(self.function)(self, *grads))

    cdef list collect(self, Node node, object returned):
        cdef list out = [None] * node.s.n_edges
        cdef int k, n = len(self.arguments)
        cdef Edge* e
        cdef Tensor grad
        name = node.name()
        if not isinstance(returned, tuple):
            returned = (returned,)
        given = returned
        while len(given) > n and given[len(given) - 1] is None:
            given = given[: len(given) - 1]
        if len(given) != n:
            raise RuntimeError(f"cygrad: function {name} returned an incorrect number of gradients (expected {n}, got {len(returned)}): "
                               "backward returns one gradient an argument of forward, None where there is none")
        for k in range(n):
            if given[k] is not None and not isinstance(given[k], Tensor):
                raise RuntimeError(f"cygrad: function {name}: expected Variable or None (got {type(given[k]).__name__}) as gradient {k}")
            if given[k] is None:
                continue
            if self.arguments[k] < 0:
                raise RuntimeError(f"cygrad: function {name} returned a gradient different from None at position {k + 1}, but the corresponding forward input was not a "
                                   "Variable")
            grad = given[k]
            e = &node.s.edges[<int>self.arguments[k]]
            if e.next != NULL and e.dtype >= 0 and is_complex_code(grad.a.dtype) and not is_complex_code(e.dtype):
                raise RuntimeError(f"cygrad: Function {name} returned an invalid gradient at index {k} - expected type {dtype_object(e.dtype)} but got {grad.dtype}: "
                                   "take .real of it")
            if not expandable(grad.a, e):
                raise RuntimeError(f"cygrad: Function {name} returned an invalid gradient at index {k} - got {list(grad.shape)} but expected shape compatible with "
                                   f"{[e.shape.v[i] for i in range(e.shape.n)]}")
            if e.next != NULL and e.dtype >= 0 and is_integral_code(grad.a.dtype):
                grad = recorded_ops.cast(grad, e.dtype)
            out[<int>self.arguments[k]] = grad
        return out

    def apply(self, Node node not None, grads: list[Tensor | None], need: int) -> list[Tensor | None]:
        """The VJP of the Function's Node (called by the engine)."""
        return self.vjp(node, grads, need)


cdef object base_backward = None      # of the class Function, which stands for "not defined"


def set_base_backward(method) -> None:
    """Say what the base class's ``backward`` and ``vjp`` are: a subclass has its own, or not."""
    global base_backward
    base_backward = method


cdef object backward_of(object function):
    backward = function.backward
    vjp = function.vjp
    if vjp is base_backward:
        return backward
    if backward is not base_backward:
        raise RuntimeError(f"cygrad: {function.__name__}: Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                           "You should only implement one of them.")
    return vjp


cdef bint expandable(Array* a, Edge* e) noexcept:
    # The gradient can be summed to the input's shape.
    cdef int i, k
    if e.shape == NULL:
        return True
    if a.ndim < e.shape.n:
        return False
    for i in range(e.shape.n):
        k = a.ndim - e.shape.n + i
        if e.shape.v[i] != 1 and e.shape.v[i] != a.shape[k]:
            return False
    return True


cdef class _Refusal:
    """The payload of a Node that only refuses."""

    cdef str text

    def __init__(self, str text):
        self.text = text

    def apply(self, node: Node, grads: list[Tensor | None], need: int) -> list[Tensor | None]:
        """RuntimeError: this derivative does not exist."""
        raise RuntimeError("cygrad: " + self.text)


cdef Node delayed_error(str text, Node origin):
    # With the edges of `origin` it lies on every path to the Function's inputs: a backward that is pruned to them meets it, too.
    cdef int k
    cdef Node n = node_new(function_type("DelayedError", 1, 0), 0 if origin is None else origin.s.n_edges)
    payload = _Refusal(text)
    for k in range(n.s.n_edges):
        if origin.s.edges[k].next != NULL:
            n.s.edges[k] = origin.s.edges[k]
            n.s.edges[k].shape = NULL
            Py_INCREF(node_of(n.s.edges[k].next))
    n.s.flags |= FLAG_PYTHON
    Py_INCREF(payload)
    n.s.payload = <PyObject*>payload
    node_track(n)
    return n


def refuse_derivative(tensors: tuple[object, ...], text: str) -> tuple[object, ...]:
    """Aliases of tensors whose derivative is refused with ``text`` (once_differentiable)."""
    cdef Tensor r
    cdef list out = []
    for t in tensors:
        if isinstance(t, Tensor) and not is_integral_code((<Tensor>t).a.dtype):
            r = tensor_wrap(array_incref((<Tensor>t).a))
            history_set(r, delayed_error(text, None), 0)
            out.append(r)
        else:
            out.append(t)
    return tuple(out)


cdef inline int position(tuple tensors, object t) noexcept:
    cdef int k
    if tensors is not None:
        for k in range(len(tensors)):
            if tensors[k] is t:
                return k
    return -1


def apply_function(function: type, name: str, args: tuple[object, ...], setup: bool) -> object:
    """Run ``function.forward`` on ``args`` and record one Node called ``name`` for it; ``setup``: the context is filled by setup_context."""
    cdef FunctionCtx ctx = FunctionCtx.__new__(FunctionCtx)
    cdef list edges = []
    cdef list needs = []
    cdef bint recording = False
    cdef bint mode = grad_enabled()
    cdef int modes = thread_modes()
    cdef list tangents = None
    cdef int n_tensors = 0
    cdef tuple outputs, settled
    cdef bint single
    ctx.materialize = True
    ctx._materialize_non_diff_grads = True
    ctx.function = function
    ctx.clear_on_access = function.clear_saved_tensors_on_access
    for a in args:
        if isinstance(a, Tensor):
            edges.append(n_tensors)
            n_tensors += 1
            if needs_grad(<Tensor>a):
                needs.append(True)
                recording = True
            else:
                needs.append(False)
        else:
            edges.append(-1)
            needs.append(False)
    ctx.arguments = edges
    ctx.needs_input_grad = tuple(needs)
    if forward_open and forward_on():
        tangents = input_tangents(args)
    set_thread_modes(modes & ~MODE_GRAD | MODE_PRIMAL)
    try:
        if setup:
            returned = function.forward(*args)
            function.setup_context(ctx, args, returned)
        else:
            returned = function.forward(ctx, *args)
    finally:
        set_thread_modes(modes)
    single = not isinstance(returned, tuple)
    outputs = (returned,) if single else tuple(returned)         # (a named tuple is one, too)
    settled = record(ctx, name, args, outputs, n_tensors, recording and mode)
    if tangents is not None:
        jvp(ctx, name, args, tangents, outputs, settled)
    if ctx.home != NULL:
        ctx.saved_for_forward = None
        ctx.dirty = None
        ctx.non_differentiable = None
    return settled[0] if single else settled


cdef tuple record(FunctionCtx ctx, str name, tuple args, tuple outputs, int n_tensors, bint recording):
    cdef Node n = None
    cdef Tensor t, source
    cdef list settled = []
    cdef int k, which
    cdef bint is_input, is_dirty, unwanted, differentiable
    if ctx.dirty is not None:
        for d in ctx.dirty:
            if not isinstance(d, Tensor):
                raise RuntimeError(f"cygrad: {name}: mark_dirty can only accept variables, but got an object of type {type(d).__name__}")
            if position(args, d) < 0:
                warn_not_input(name)
            if position(outputs, d) < 0:
                raise RuntimeError(f"cygrad: {name}: Some elements marked as dirty during the forward method were not returned as output. "
                                   "The inputs that are modified inplace must all be outputs of the Function.")
            inplace_check_dirty(<Tensor>d, recording and position(ctx.non_differentiable, d) < 0, name)
    if recording:
        n = node_new(function_type(name, len(outputs), len(ctx.to_save) if ctx.to_save is not None else 0), n_tensors)
        n.s.flags |= FLAG_PYTHON
        which = 0
        for a in args:
            if isinstance(a, Tensor):
                function_edge(n, which, <Tensor>a)
                which += 1
        Py_INCREF(ctx)
        n.s.payload = <PyObject*>ctx
        ctx.home = &n.s
        if ctx.facts is not None:
            Py_INCREF(ctx.facts)
            n.s.meta = <PyObject*>ctx.facts
            ctx.facts = None
        node_track(n)
        ctx.output_geometry = [None] * len(outputs)
    for k in range(len(outputs)):
        o = outputs[k]
        if not isinstance(o, Tensor):
            settled.append(o)
            continue
        t = source = <Tensor>o
        is_input = position(args, o) >= 0
        is_dirty = position(ctx.dirty, o) >= 0
        unwanted = position(ctx.non_differentiable, o) >= 0
        differentiable = recording and not unwanted and not is_integral_code(t.a.dtype)
        if is_dirty:
            version_bump(t, b"a custom Function (mark_dirty)")
        if not differentiable:
            if needs_grad(source) and (is_input or source.base_ is None):
                t = tensor_alias(source)                     # requires no grad, and leaves the input's (or whosever it is) as it was
            elif is_input and not is_dirty:
                t = returned_input(source)
            elif not is_dirty:
                view_close(t)
        elif is_dirty:
            inplace_history_output(t, n, k)
        elif is_input:
            t = returned_input(source)
            history_set(t, n, k)
        elif position(outputs, o) < k:
            t = settled[position(outputs, o)]                # returned twice: one tensor, at its last place
            history_set(t, n, k)
        else:
            if t.grad_fn_ is not None or t.requires_grad_:   # it has a place in another graph: a tensor of its own for this one
                t = tensor_alias(source)
                if source.base_ is not None:
                    view_set_kind(t, source, VIEW_CUSTOM)
            view_close(t)
            history_set(t, n, k)
        if recording and (ctx._materialize_non_diff_grads or not unwanted):
            ctx.output_geometry[k] = (t.shape, t.dtype)
        settled.append(t)
    if recording and ctx.to_save is not None:
        save_all(ctx, n, args, outputs, tuple(settled))
    if recording:
        ctx.to_save = None
    return tuple(settled)


cdef Tensor returned_input(Tensor source):
    # A view, so that the input keeps its own place in the graph.
    cdef Tensor t = tensor_wrap(array_alias(source.a))
    view_set_kind(t, source, VIEW_CUSTOM)
    return t


cdef int view_close(Tensor t) except -1:
    # A view that forward made is not followed through writes: that would go around the Function's backward.
    if t.base_ is not None:
        t.view_kind = VIEW_CUSTOM
        t.view_version = atomic_load(&t.version.value)
    return 0


# ---- forward mode -----------------------------------------------------------------------------------------------------

cdef list input_tangents(tuple args):
    # None where no argument has one.
    cdef list found = [tangent_of(<Tensor>a) if isinstance(a, Tensor) else None for a in args]
    for t in found:
        if t is not None:
            return found
    return None


cdef int jvp(FunctionCtx ctx, str name, tuple args, list tangents, tuple outputs, tuple settled) except -1:
    # The user's jvp gives the tangents of the results. It sees plain tensors: forward mode is off meanwhile.
    cdef list given = list(tangents)
    cdef list versions = []
    cdef int k, i
    cdef int modes
    cdef Tensor t, o
    cdef bint differentiable
    cdef tuple results
    for k in range(len(args)):
        if given[k] is None and ctx.materialize and isinstance(args[k], Tensor):
            given[k] = zeros_like_array((<Tensor>args[k]).a)
        versions.append(0 if given[k] is None else atomic_load(&(<Tensor>given[k]).version.value))
    modes = forward_pause()
    ctx.in_jvp = True
    try:
        returned = ctx.function.jvp(ctx, *given)
        results = tuple(returned) if isinstance(returned, tuple) else (returned,)
        if len(results) != len(outputs):
            raise RuntimeError(f"cygrad: {name}: Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got {len(results)}): "
                               "it returns one tangent an output of forward, None where there is none")
        for k in range(len(outputs)):
            if results[k] is not None and not isinstance(results[k], Tensor):
                raise RuntimeError(f"cygrad: {name}: Function's jvp: expected Variable or None (got {type(results[k]).__name__}) for grad output {k}.")
            differentiable = (isinstance(outputs[k], Tensor) and position(ctx.non_differentiable, outputs[k]) < 0
                              and not is_integral_code((<Tensor>outputs[k]).a.dtype))
            if not differentiable:
                if results[k] is not None:
                    raise RuntimeError(f"cygrad: {name}: Function's jvp returned a gradient at position {k}, but the corresponding forward output is not a differentiable "
                                       "Tensor. You should return None at that position instead.")
                continue
            o = outputs[k]
            t = results[k]
            if t is not None and (is_integral_code(t.a.dtype) or not same_shape(t.a, o.a)):
                raise RuntimeError(f"cygrad: {name}: Function's jvp returned a tangent at position {k} that has a different size than that of the original Tensor, this is "
                                   f"not supported, or no floating-point dtype: Tensor is of size {list(o.shape)} and {o.dtype} while the given forward gradient is of "
                                   f"size {list(t.shape)} and {t.dtype}.")
            i = position(args, o) if position(ctx.dirty, o) >= 0 else -1
            if i >= 0 and tangents[i] is not None:
                if t is not given[i] or atomic_load(&t.version.value) == versions[i]:
                    raise RuntimeError(f"cygrad: {name}: An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
                                       "input inplace, then the jvp function must modify the corresponding gradient inplace.")
                if settled[k] is not o:
                    tangent_set(<Tensor>settled[k], t)
            elif i >= 0:
                tangent_write(<Tensor>settled[k], t)
            elif t is not None:
                if t.base_ is None and (position(args, o) >= 0 or o.base_ is not None):
                    raise RuntimeError(f"cygrad: {name}: A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.")
                tangent_set(<Tensor>settled[k], t)
    finally:
        ctx.in_jvp = False
        set_thread_modes(modes)
    return 0


cdef int warn_not_input(str name) except -1:
    from cygrad._warnings import warn
    warn(f"cygrad: {name}: ctx.mark_dirty() received a tensor that was not an input. Give it input tensors that forward wrote to, and no others.", UserWarning)
    return 0


cdef int inplace_check_dirty(Tensor t, bint recording, str name) except -1:
    if recording and t.base_ is not None:
        return inplace_check_graph(t, True, b"mark_dirty")
    if recording and is_leaf(t) and t.requires_grad_:
        raise RuntimeError(f"cygrad: {name}: a leaf Variable that requires grad has been used in an in-place operation.")
    return 0


cdef int inplace_history_output(Tensor t, Node n, int k) except -1:
    inplace_history(t, n)
    if t.base_ is None:
        t.output_nr_ = k
    return 0


cdef int function_edge(Node n, int k, Tensor t) except -1:
    cdef Edge* e = &n.s.edges[k]
    edge_set(n, k, t, NULL)
    if e.next != NULL:
        e.shape = intlist_save(t.a.shape, t.a.ndim)      # a Function may return any shape that sums to this one
        if e.shape == NULL:
            raise_pending()
    return 0


cdef int save_all(FunctionCtx ctx, Node n, tuple args, tuple outputs, tuple settled) except -1:
    cdef int k, i, which
    cdef Tensor t
    for k in range(len(ctx.to_save)):
        saved = ctx.to_save[k]
        if saved is None:
            continue
        t = saved
        i = position(outputs, saved)
        if i >= 0 and position(args, saved) >= 0 and position(ctx.dirty, saved) < 0:
            i = -1                                           # an input returned as it is: saved as the input
        if i >= 0:
            t = settled[i]
            if t.grad_fn_ is n:
                save_output(n, k, t, t.output_nr_)
            else:
                save_input(n, k, t, -1)
            continue
        i = position(args, saved)
        if i >= 0:
            save_input(n, k, t, <int>ctx.arguments[i])
        elif t.grad_fn_ is not None or t.requires_grad_:
            save_elsewhere(n, k, t)
        else:
            save_input(n, k, t, -3)
    return 0
