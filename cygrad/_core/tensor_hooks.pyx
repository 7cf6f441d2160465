# Hooks of tensors and Nodes. Contract and order: tensor_hooks.pxd. The methods of Tensor are installed when this module is imported.

import weakref
from cygrad._core.array cimport same_shape
from cygrad._core.node cimport Node, node_of, node_track_late, FLAG_ACCUMULATE, FLAG_HOOKS
from cygrad._core.node_hooks cimport NodeHooks, hooks_at
from cygrad._core.recorded_ops cimport recorded_ops
from cygrad._core.tensor cimport Tensor, grad_fn_fresh, grad_of, grad_store, is_leaf, needs_grad, view_follows
from cygrad._core.tensor import _install_methods
from cygrad.utils.hooks import HookTable, RemovableHandle


cdef class HookTables:
    """The hooks of one tensor. A non-leaf's belong to one grad_fn: once it has another, hooks registered later go into tables of their own."""

    cdef object before               # HookTable of register_hook
    cdef object after                # HookTable of register_post_accumulate_grad_hook, or None
    cdef unsigned long long sequence # sequence number of the grad_fn; 0: a leaf

    def __init__(self):
        self.before = HookTable()


cdef class TensorHooks:
    """The hooks of one non-leaf tensor, as its grad_fn keeps them."""

    cdef object table
    cdef int output_nr


cdef class RetainGrad:
    """Keeps the gradient of one non-leaf tensor; the tensor is held weakly."""

    cdef object tensor
    cdef int output_nr


# ---- registering ----------------------------------------------------------------------------------------------------

cdef NodeHooks hooks_of(Node n):
    cdef NodeHooks hooks = hooks_at(&n.s.pre_hooks)
    n.s.flags |= FLAG_HOOKS
    node_track_late(n)
    return hooks


cdef HookTables tables_of(Tensor t):
    # Of the tensor as it is now, known to its grad_fn or AccumulateGrad.
    cdef HookTables tables = t.hooks_
    cdef NodeHooks hooks
    cdef TensorHooks entry
    cdef unsigned long long sequence
    grad_fn_fresh(t)
    sequence = 0 if t.grad_fn_ is None else t.grad_fn_.s.sequence
    if tables is None or tables.sequence != sequence:
        tables = HookTables()
        tables.sequence = sequence
        t.hooks_ = tables
        if sequence:
            hooks = hooks_of(t.grad_fn_)
            entry = TensorHooks.__new__(TensorHooks)
            entry.table = tables.before
            entry.output_nr = t.output_nr_
            if hooks.tensors is None:
                hooks.tensors = []
            hooks.tensors.append(entry)
    if sequence == 0 and t.accumulator != NULL:
        t.accumulator.flags |= FLAG_HOOKS
        node_track_late(node_of(t.accumulator))
    return tables


def register_hook(Tensor self not None, hook):
    """Call ``hook(grad)`` when the gradient of this tensor has been computed; a tensor it returns replaces the gradient.

    ``grad`` is None, as in torch, where the Node of this tensor runs for another of its outputs, or a Function's backward gave None.
    Hooks run in order of registration. A hook belongs to the value the tensor has now: a later in-place write does not move it. Returns a handle whose
    ``remove()`` takes the hook away. RuntimeError if the tensor does not require grad.
    """
    cdef HookTables tables
    if not needs_grad(self):
        raise RuntimeError("cygrad: cannot register a hook on a tensor that doesn't require gradient")
    tables = tables_of(self)
    handle = RemovableHandle(tables.before)
    tables.before[handle.id] = hook
    return handle


def register_post_accumulate_grad_hook(Tensor self not None, hook):
    """Call ``hook(tensor)`` after a backward has added to ``.grad`` of this leaf.

    Returns a handle whose ``remove()`` takes the hook away. RuntimeError if the tensor does not require grad or is no leaf.
    """
    cdef HookTables tables
    if not needs_grad(self):
        raise RuntimeError("cygrad: cannot register a hook on a tensor that doesn't require gradient")
    grad_fn_fresh(self)
    if self.grad_fn_ is not None:
        raise RuntimeError("cygrad: post accumulate grad hooks cannot be registered on non-leaf tensors; register_hook() sees their gradients")
    tables = tables_of(self)
    if tables.after is None:
        tables.after = HookTable()
    handle = RemovableHandle(tables.after)
    tables.after[handle.id] = hook
    return handle


def retain_grad(Tensor self not None) -> None:
    """Let ``backward()`` fill ``.grad`` of this non-leaf too. No effect on leaves; RuntimeError if the tensor does not require grad."""
    cdef NodeHooks hooks
    cdef RetainGrad entry
    if not needs_grad(self):
        raise RuntimeError("cygrad: can't retain_grad on Tensor that has requires_grad=False")
    if self.grad_fn_ is not None or view_follows(self.view_kind):
        grad_fn_fresh(self)          # a view made under no_grad is no part of the graph, whatever happened to its base
    if is_leaf(self) or self.retains_grad_:
        return
    hooks = hooks_of(self.grad_fn_)
    if hooks.retained is None:
        hooks.retained = []
    entry = RetainGrad.__new__(RetainGrad)
    entry.tensor = weakref.ref(self)
    entry.output_nr = self.output_nr_
    hooks.retained.append(entry)
    self.retains_grad_ = True


def retain_stop(Tensor tensor not None) -> None:
    """The grad_fn no longer keeps the gradient of this tensor, which gets another grad_fn."""
    cdef NodeHooks hooks
    cdef RetainGrad entry
    tensor.retains_grad_ = False
    if tensor.grad_fn_ is None or tensor.grad_fn_.s.pre_hooks == NULL:
        return
    hooks = <NodeHooks>tensor.grad_fn_.s.pre_hooks
    if hooks.retained is not None:
        hooks.retained = [entry for entry in hooks.retained if entry.tensor() is not tensor]


def backward_hooks(Tensor self not None) -> object:
    """The table of the hooks of ``register_hook``, or None."""
    return None if self.hooks_ is None else (<HookTables>self.hooks_).before


def set_backward_hooks(Tensor self not None, hooks) -> None:
    """``_backward_hooks = None`` takes all hooks of ``register_hook`` away. TypeError for anything else: tables are made by ``register_hook``."""
    if hooks is not None:
        raise TypeError(f"cygrad: _backward_hooks can be only set to None, not to a {type(hooks).__name__}; register_hook() adds hooks")
    if self.hooks_ is not None:
        (<HookTables>self.hooks_).before.clear()


def delete_backward_hooks(Tensor self not None) -> None:
    """RuntimeError: the attribute stays."""
    raise RuntimeError("cygrad: Deletion of _backward_hooks not allowed! Set it to None, or use the handles that register_hook() gave.")


def post_accumulate_grad_hooks(Tensor self not None) -> object:
    """The table of the hooks of ``register_post_accumulate_grad_hook``, or None."""
    return None if self.hooks_ is None else (<HookTables>self.hooks_).after


# ---- running --------------------------------------------------------------------------------------------------------

cdef str name_of(object hook):
    return getattr(hook, "__name__", None) or repr(hook)


cdef int check_replaced(object hook, object given, object replaced) except -1:
    # `replaced` may stand for the gradient `given`.
    if replaced is None:
        return 0
    if given is None:
        raise RuntimeError(f"cygrad: hook '{name_of(hook)}': can't replace a None gradient with a non-None value")
    if not isinstance(replaced, Tensor):
        raise TypeError(f"cygrad: hook '{name_of(hook)}': expected Variable, but hook returned '{type(replaced).__name__}'; a gradient is replaced by a Tensor")
    if not same_shape((<Tensor>replaced).a, (<Tensor>given).a):
        raise RuntimeError(f"cygrad: hook '{name_of(hook)}' has changed the size of value: {list(given.shape)} became {list(replaced.shape)}")
    if (<Tensor>replaced).a.dtype != (<Tensor>given).a.dtype:
        raise RuntimeError(f"cygrad: hook '{name_of(hook)}' has changed the type of value: {given.dtype} became {replaced.dtype}")
    return 0


cdef list checked_tuple(object hook, object returned, list given):
    cdef int k
    if not isinstance(returned, tuple):
        raise TypeError(f"cygrad: hook '{name_of(hook)}': expected tuple, but hook returned '{type(returned).__name__}'; a Node's hook returns a tuple or None")
    if len(<tuple>returned) != len(given):
        raise RuntimeError(f"cygrad: hook '{name_of(hook)}' has returned an incorrect number of values (got {len(<tuple>returned)}, but expected {len(given)})")
    for k in range(len(given)):
        check_replaced(hook, given[k], (<tuple>returned)[k])
    return list(<tuple>returned)


cdef object run_table(object table, object grad):
    if not table:
        return grad
    for hook in tuple(table.values()):
        replaced = hook(grad)
        if replaced is not None:
            check_replaced(hook, grad, replaced)
            grad = replaced
    return grad


cdef int run_tensor_hooks(NodeState* s, list grads) except -1:
    cdef NodeHooks hooks
    cdef TensorHooks entry
    cdef RetainGrad retained
    cdef Tensor t, held
    if s.flags & FLAG_ACCUMULATE:
        t = <Tensor>s.payload
        if t.hooks_ is not None:
            grads[0] = run_table((<HookTables>t.hooks_).before, grads[0])
        return 0
    if s.pre_hooks == NULL:
        return 0
    hooks = <NodeHooks>s.pre_hooks
    if hooks.tensors is not None:
        for entry in tuple(hooks.tensors):
            grads[entry.output_nr] = run_table(entry.table, grads[entry.output_nr])
    if hooks.retained is not None:
        for retained in tuple(hooks.retained):
            t = retained.tensor()
            grad = grads[retained.output_nr]
            if t is not None and grad is not None:
                held = grad_of(t)
                grad_store(t, recorded_ops.clone(grad) if held is None else recorded_ops.add(held, grad))
    return 0


cdef list run_prehooks(NodeState* s, list grads):
    cdef NodeHooks hooks
    if s.pre_hooks == NULL:
        return grads
    hooks = <NodeHooks>s.pre_hooks
    if hooks.before:
        for hook in tuple(hooks.before.values()):
            returned = hook(tuple(grads))
            if returned is not None:
                grads = checked_tuple(hook, returned, grads)
    return grads


cdef list run_posthooks(NodeState* s, list out, list grads):
    cdef tuple given
    if s.hooks == NULL or not <object>s.hooks:
        return out
    given = tuple(grads)
    for hook in tuple((<object>s.hooks).values()):
        returned = hook(tuple(out), given)
        if returned is not None:
            out = checked_tuple(hook, returned, out)
    return out


cdef int run_accumulated(NodeState* s, list grads) except -1:
    cdef Tensor t = <Tensor>s.payload
    cdef HookTables tables = t.hooks_
    if tables is not None and tables.after:
        for hook in tuple(tables.after.values()):
            returned = hook(t)
            if returned is not None:
                raise TypeError(f"cygrad: hook '{name_of(hook)}': a post accumulate grad hook returns None, but it returned '{type(returned).__name__}'; "
                                "write to .grad of the tensor instead")
    run_posthooks(s, [], grads)
    return 0


_install_methods({
    "register_hook": register_hook,
    "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
    "retain_grad": retain_grad,
    "_backward_hooks": property(backward_hooks, set_backward_hooks, delete_backward_hooks),
    "_post_accumulate_grad_hooks": property(post_accumulate_grad_hooks),
})
