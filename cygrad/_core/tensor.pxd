# Note [The grad of a leaf]
# A backward that runs without the GIL cannot make a Tensor, so the first gradient of a leaf waits as `grad_array` until `.grad` is read. Both fields change
# only under `grad_lock` (process_trylock; a thread that holds the GIL gives it up while it waits), and so does `a` of a tensor, so that the engine can take a
# reference to the memory of a leaf's .grad. Further gradients are added in place to the memory of
# whichever is there.
#
# Note [Views]
# A differentiable view knows its base (never itself a view), how it was made (`view_kind`, which decides whether it may be written) and the version at which
# its grad_fn was right. When the base was written since, grad_fn is made again on demand (lazy rebase): read grad_fn_ of a tensor that may be a view only
# after grad_fn_fresh(). A view that was itself written has the base's CopySlices as grad_fn_ until then, and view_version = -2 - the version of that write.
# The mutation itself is in rebase.pyx, which fills the table `mutation`, and for what is not plain strides in cygrad/views.py and cygrad/copy_slices.py.
#
# Tensor: an Array with its place in the graph. The class holds data and identity; operations are generated and reach it through `methods`.

from cpython.object cimport PyObject
from cygrad._core.array cimport Array, IntList
from cygrad._core.memory cimport VersionCounter
from cygrad._core.node cimport FLAG_ACCUMULATE, Node, NodeState, NodeType, intlist_free

cdef class Tensor:
    cdef Array* a                     # owned, never NULL after creation
    cdef Node grad_fn_                # None for leaves and tensors without graph
    cdef int output_nr_
    cdef bint requires_grad_          # a leaf's flag, or: has grad_fn_
    cdef bint retains_grad_
    cdef int grad_dtype_              # a leaf's `grad_dtype`: 0: as its elements; -1: any; else the code plus 1
    cdef VersionCounter* version      # Note [Versions]: in the storage; or in own_version's storage
    cdef Array* own_version           # owned; usually NULL
    cdef NodeState* accumulator       # a leaf's AccumulateGrad (borrowed: the Node clears this when it dies); NULL: not made yet
    cdef int grad_lock                # guards grad_obj, grad_array and changes of a, Note [The grad of a leaf]
    cdef object grad_obj              # Tensor | None
    cdef Array* grad_array            # owned; a gradient that has no Tensor yet (made by the engine without the GIL)
    cdef object base_                 # views: the base Tensor, else None. Note [Views]
    cdef int view_kind                # views: a ViewKind
    cdef long view_version            # views: the version at which grad_fn_ was right; or, after a write to the view: Note [Views]
    cdef IntList* graph_shape         # owned; the sizes that the graph knows of this tensor, where it has got others outside of the graph (out=, .data, an unrecorded t_()); usually NULL
    cdef object hooks_                # HookTables (tensor_hooks.pyx), or None
    cdef object tangent_              # Tangent, or None: Note [Tangents] in forward_level.pxd
    cdef object __weakref__
    cdef PyObject* attributes         # the instance's __dict__, made by Python when first written (Cython's own would be made for each tensor)

cdef Tensor tensor_wrap(Array* a)                       # steals the reference; NULL raises the pending error. No graph.
cdef Tensor tensor_number(object number)                # a Python bool/int/float/complex as wrapped 0-d Tensor; None if it is no number
cdef Tensor as_operand(object obj, const char* operation)   # Tensor as it is; number wrapped; ndarray and NumPy scalar converted; else TypeError
cdef Tensor tensor_alias(Tensor t)                      # detached alias that shares memory and version

cdef enum:
    ANY_DTYPE = -1           # in the place of a dtype's code: a gradient stays as it is

cdef inline int gradient_code(int setting, int own) noexcept nogil:
    # The dtype that a leaf's gradient has by its grad_dtype_, or ANY_DTYPE.
    return own if setting == 0 else ANY_DTYPE if setting < 0 else setting - 1

cdef enum ViewKind:
    VIEW_PLAIN = 0
    VIEW_MULTI_OUTPUT = 1    # one of several outputs of one operation (split, chunk, unbind)
    VIEW_NO_GRAD = 2         # made while nothing was recorded
    VIEW_CUSTOM = 3          # made by a custom Function
    VIEW_INFERENCE = 4
    VIEW_REPLAY = 5          # a plain one made under _force_original_view_tracking: it follows a write through the operations that made it

cdef inline bint view_follows(int kind) noexcept:
    # It may be written, and follows writes to its base.
    return kind == VIEW_PLAIN or kind == VIEW_REPLAY

cdef int requires_grad_set(Tensor t, bint value) except -1               # RuntimeError where that may not be
cdef int grad_fn_fresh(Tensor t) except -1                               # lazy rebase of a stale view; cheap otherwise

cdef inline bint needs_grad(Tensor t) noexcept:
    # A view needs a gradient as soon as its base does: the base may have been written by something recorded since.
    return t is not None and (t.requires_grad_ or (t.base_ is not None and (<Tensor>t.base_).requires_grad_))

cdef inline bint is_leaf(Tensor t) noexcept:
    # The place of an alias that stands for a leaf (a saved one that a hook made again) is the leaf's AccumulateGrad. A view may need grad_fn_fresh() first.
    return t.grad_fn_ is None or t.grad_fn_.s.flags & FLAG_ACCUMULATE != 0

cdef inline bint is_inference(Tensor t) noexcept:
    # As an input of an operation: one whose inputs are all inference tensors is not recorded, as in torch.
    return t is None or t.a.storage.inference != 0

cdef inline void graph_shape_drop(Tensor t) noexcept:
    # The tensor gets another place in the graph, which knows it as it is.
    intlist_free(t.graph_shape)
    t.graph_shape = NULL

cdef struct Mutation:        # what a write to a view does: filled by rebase.pyx, one floor above
    int (*rebase_written)(Tensor view, Node written) except -1            # after an in-place operation on `view` whose Node is `written`
    int (*rebase_stale)(Tensor view, long version) except -1              # gives the view the grad_fn of now
cdef Mutation mutation

cdef int grad_lock_take(Tensor t) noexcept                                # with the GIL
cdef Tensor grad_of(Tensor t)                                             # the .grad as a Tensor, or None
cdef int grad_store(Tensor t, object value) except -1                     # sets .grad to a Tensor or None, unchecked
cdef bint grad_swap(Tensor t, Tensor held, long version, Tensor value) except -1   # .grad becomes value if it is still `held` at that version; else False
cdef int array_replace(Tensor t, Array* a) except -1                      # t shows other memory (steals the reference); its version follows; gradients keep the old shape

# Operators ("a + b"): filled by operators.pyx, one floor above, since operations need Tensor.
cdef enum:
    OP_ADD, OP_SUB, OP_MUL, OP_MATMUL, OP_DIV, OP_FLOORDIV, OP_MOD, OP_POW, OP_AND, OP_OR, OP_XOR, OP_LSHIFT, OP_RSHIFT,
    OP_IADD, OP_ISUB, OP_IMUL, OP_IDIV, OP_IFLOORDIV, OP_IMOD, OP_IPOW, OP_IAND, OP_IOR, OP_IXOR, OP_ILSHIFT, OP_IRSHIFT, OP_GETITEM,
    N_OPERATORS
ctypedef object (*Operator)(object a, object b)
ctypedef object (*UnaryOperator)(Tensor a)
ctypedef object (*CompareOperator)(Tensor a, object b, int op)
ctypedef int (*SetItemOperator)(Tensor t, object index, object value) except -1
ctypedef int (*BackwardOperator)(Tensor t, bint keep_graph) except -1

cdef struct OperatorTable:
    Operator binary[26]
    UnaryOperator neg
    UnaryOperator invert
    UnaryOperator absolute
    CompareOperator compare
    SetItemOperator set_item
    BackwardOperator backward_scalar     # the common case of backward(), without a way through Python: engine.pyx

cdef OperatorTable operators

ctypedef int (*BufferHook)(Tensor t, Py_buffer* buffer, int flags) except -1
cdef void set_buffer_hook(BufferHook hook) noexcept       # interop.pyx, one floor above
