# Saved-tensor hooks. Contract and Note [Packed tensors]: saved_hooks.pxd. The context managers are in cygrad/autograd/graph.py.

import threading
from cpython.ref cimport Py_DECREF
from cygrad._core.array cimport Array, array_incref, array_decref
from cygrad._core.atomics cimport atomic_load
from cygrad._core.errors cimport raise_pending
from cygrad._core.grad_mode cimport set_grad_enabled, set_thread_modes, thread_modes
from cygrad._core.node cimport Node, NodeState, SavedArray, node_lock_give, node_lock_take, node_of, node_track, late_links_note, refuse_released, saved_check, FLAG_ACCUMULATE, FLAG_PYTHON
from cygrad._core.node_hooks cimport NodeHooks, hooks_at, watchers, watched, watch, FLAG_PACKED, WATCH_SAVING, WATCH_WRITING
from cygrad._core.recording cimport gradient_edge, save_input, unpack_tensor
from cygrad._core.tensor cimport Tensor, tensor_alias, tensor_wrap


cdef class Packed:
    """What a pack hook made of one saved tensor."""


class _PerThread(threading.local):
    """The default hooks of one thread."""

    def __init__(self):
        self.stack = []               # pairs (pack, unpack), innermost last
        self.refusal = None           # why hooks are disabled, or None
        self.writing = None           # called with a tensor that is about to be written, or None


_state = _PerThread()


cdef int watch_state() except -1:
    watch((WATCH_SAVING if _state.stack else 0) | (WATCH_WRITING if _state.writing is not None else 0))
    return 0


# ---- packing --------------------------------------------------------------------------------------------------------

cdef object pack_call(object pack, Tensor t):
    # The hook sees the tensor itself, as in torch, and must not write to it. What is kept of it is an alias outside of the graph: an output that its own
    # Node kept would be a cycle.
    cdef int modes = thread_modes()
    cdef long before = atomic_load(&t.version.value)
    set_grad_enabled(False)
    try:
        data = pack(t)
    finally:
        set_thread_modes(modes)
    if atomic_load(&t.version.value) != before:
        raise RuntimeError("cygrad: A saved tensor pack hook is modifying its input in place. Tensors provided as input to a pack hook can not be modified by "
                           "in-place operations: the value that forward computed with would change. Work on a clone() of it.")
    return tensor_alias(t) if data is t else data


cdef int store(Node n, int slot, object data, object unpack) except -1:
    cdef NodeHooks hooks = hooks_at(&n.s.pre_hooks)
    cdef Packed packed = Packed.__new__(Packed)
    packed.data = data
    packed.unpack = unpack
    if hooks.packed is None:
        hooks.packed = {}
    hooks.packed[slot] = packed
    n.s.flags |= FLAG_PYTHON | FLAG_PACKED
    node_track(n)
    return 0


cdef int save(object node, int slot, object tensor, int edge) except -1:
    cdef Node n = node
    pack, unpack = _state.stack[len(_state.stack) - 1]
    n.s.saved[slot].edge = edge
    return store(n, slot, pack_call(pack, tensor), unpack)


cdef object unpack(object node, int slot):
    # The tensor at its place in the graph; None if None was saved.
    cdef Node n = node
    cdef NodeState* s = &n.s
    cdef NodeHooks hooks = <NodeHooks>s.pre_hooks
    cdef Packed packed = None if hooks.packed is None else hooks.packed.get(slot)
    cdef NodeState* origin = NULL
    cdef int nr = 0
    cdef Tensor t, given
    if packed is None:
        return None
    data = packed.unpack(packed.data)
    if not isinstance(data, Tensor):
        raise TypeError(f"cygrad: {n.name()}: Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(data).__name__}")
    given = data
    if packed.origin is not None:
        origin = &packed.origin.s
        nr = packed.origin_nr
    elif s.saved[slot].edge == -2:
        origin = s
        nr = s.saved[slot].output_nr
    elif s.saved[slot].edge >= 0:
        origin = s.edges[s.saved[slot].edge].next
        nr = s.edges[s.saved[slot].edge].input_nr
    if origin != NULL and origin.flags & FLAG_ACCUMULATE and (<Tensor>origin.payload).a == given.a:
        return <Tensor>origin.payload
    t = tensor_wrap(array_incref(given.a))
    t.version = given.version
    t.own_version = array_incref(given.own_version)
    if origin != NULL:
        t.grad_fn_ = node_of(origin)
        t.output_nr_ = nr
        t.requires_grad_ = True
    return t


cdef int save_elsewhere(Node n, int slot, Tensor t) except -1:
    cdef NodeState* place
    cdef Packed packed
    save_input(n, slot, t, -1)
    if not is_packed(n, slot):
        return store(n, slot, t, None)
    packed = (<NodeHooks>n.s.pre_hooks).packed[slot]
    place = gradient_edge(t, &packed.origin_nr)
    if place != NULL:
        packed.origin = node_of(place)
        Py_DECREF(packed.origin)
    return 0


cdef Tensor unpack_elsewhere(Node n, int slot):
    cdef Packed packed
    if not is_packed(n, slot):
        return None
    packed = (<NodeHooks>n.s.pre_hooks).packed[slot]
    return <Tensor>packed.data if packed.unpack is None else None


cdef int write(object tensor) except -1:
    _state.writing(tensor)
    return 0


cdef bint is_packed(Node n, int slot) noexcept:
    return n.s.flags & FLAG_PACKED and (<NodeHooks>n.s.pre_hooks).packed is not None and slot in (<NodeHooks>n.s.pre_hooks).packed


cdef int check_callable(object pack_hook, object unpack_hook) except -1:
    for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
        if not callable(hook):
            raise TypeError(f"cygrad: the {name} of saved tensors must be callable, but is of type {type(hook).__name__}")
    return 0


def register(Node node not None, slot: int, pack_hook, unpack_hook) -> None:
    """What ``SavedTensor.register_hooks`` does."""
    cdef NodeState* s = &node.s
    cdef SavedArray* saved = &s.saved[<int>slot]
    cdef Array* old
    cdef Array* owner
    cdef Tensor t
    if s.released:
        raise RuntimeError("cygrad: Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when "
                           ".backward() or autograd.grad() is called; give that call retain_graph=True.")
    check_callable(pack_hook, unpack_hook)
    if is_packed(node, slot):
        if unpack_elsewhere(node, slot) is not None:
            raise RuntimeError("cygrad: register_hooks: a tensor with a history of its own, neither input nor output of the Function that saved it, cannot be packed")
        raise RuntimeError("cygrad: Calling register_hooks on a saved tensor whose hooks have already been set: only one pair of hooks is allowed at a time")
    if saved.array == NULL:
        raise RuntimeError("cygrad: Calling register_hooks on a saved tensor with value None is forbidden")
    t = unpack_tensor(s, slot)              # (as torch, outside of the graph here)
    data = pack_call(pack_hook, tensor_alias(t))
    node_lock_take(s)
    if saved.array == NULL:
        node_lock_give(s)
        refuse_released(s)
        raise_pending()
    s.flags |= FLAG_PYTHON | FLAG_PACKED
    old = saved.array
    owner = saved.version_owner
    saved.array = NULL
    saved.version_owner = NULL
    node_lock_give(s)
    array_decref(old)
    array_decref(owner)
    store(node, slot, data, unpack_hook)
    late_links_note()


# ---- the stack of default hooks -------------------------------------------------------------------------------------

def push_default_hooks(pack_hook, unpack_hook) -> None:
    """From now on, tensors that this thread saves go through this pair of hooks. RuntimeError where hooks are disabled, TypeError unless both are callable."""
    check_callable(pack_hook, unpack_hook)
    if _state.refusal is not None:
        raise RuntimeError(_state.refusal)
    _state.stack.append((pack_hook, unpack_hook))
    watch_state()


def pop_default_hooks() -> None:
    """End the innermost pair. RuntimeError where there is none."""
    if not _state.stack:
        raise RuntimeError("cygrad: saved_tensors_hooks: there is no context to leave in this thread: its __exit__ was called once too often")
    _state.stack.pop()
    watch_state()


def top_default_hooks() -> tuple[object, object] | None:
    """The innermost pair, or None."""
    return _state.stack[len(_state.stack) - 1] if _state.stack else None


def default_hooks() -> object:
    """All of this thread's saved-tensor hooks as one value, None where there are none: for a thread that goes on for it."""
    if not _state.stack and _state.refusal is None and _state.writing is None:
        return None
    return list(_state.stack), _state.refusal, _state.writing


def set_default_hooks(state: object) -> None:
    """Give this thread the hooks that ``default_hooks`` told of."""
    _state.stack, _state.refusal, _state.writing = ([], None, None) if state is None else state
    watch_state()


def disable_default_hooks(message: str | None) -> str | None:
    """Refuse hooks in this thread with ``message`` (None: allow them); gives the earlier message. RuntimeError if there are hooks already."""
    earlier = _state.refusal
    if message is not None and _state.stack:
        raise RuntimeError(message)
    _state.refusal = message
    return earlier


def watch_writes(callback) -> None:
    """Call ``callback(tensor)`` before a tensor is written in place in this thread; None: no more."""
    _state.writing = callback
    watch_state()


cdef int setup() except -1:
    watchers.save = save
    watchers.unpack = unpack
    watchers.write = write
    return 0

setup()
