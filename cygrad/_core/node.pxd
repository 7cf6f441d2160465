# Node: one backward function of the graph; its edges, saved tensors and scratch for the engine.
#
# Note [Ownership and locks of the graph]
# - A Node is a Python object; its NodeState is plain C inside it. NodeState* never outlives its object. Counts of Python objects change only with the
#   GIL, so Nodes are made and freed with the GIL; saved Arrays have atomic counts and are dropped without it.
# - An Edge owns one Python reference to its next Node (`next.object`). Edges never change after the Node is reachable by others.
# - saved Arrays and vals belong to the Node. They are written once while it is built, and released by the backward that used them, under `lock`.
# - `task` is claimed by a GraphTask with one atomic exchange from NULL; `scratch` belongs to the claiming task until it stores NULL. A task that finds
#   a Node claimed by another keeps its own Scratch for it in a map.
# - `task` holds the number of the claiming GraphTask (not its address, which another task may have later), as a pointer.
# - `lock` (process_trylock of memory.pxd) is held while an apply without the GIL reads saved memory, and for a moment by whoever reads or frees it with the GIL
#   (node_lock_take). Nobody takes the GIL, or runs Python, while holding it.
# - flags: bits set while building, or with the GIL. They are read without it, too. `released` is a field of its own, since it changes without the GIL.
# - A Python-level subclass (custom Function) overrides apply; the engine takes the GIL for these Nodes alone.
# - Lock order: nobody waits for the GIL while holding an engine lock; nobody blocks on an engine lock while holding the GIL.
#
# Note [Garbage collection of the graph]
# Nodes and non-leaf tensors are untracked by Python's gc until they can lie on a cycle: a Node is tracked when it holds Python objects or hooks, when one of
# its next Nodes is tracked, or when a recorded backward (create_graph) made or visited it. Nodes that point to one which is tracked later follow before the
# next full collection (cycles.pyx). Freeing is by a list of Nodes to free, never by recursion.

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint64_t
from cygrad._core.array cimport Array, IntList
from cygrad._core.memory cimport VersionCounter, Storage

cdef enum NodeFlags:
    FLAG_TRACKED = 2         # tracked by the gc
    FLAG_ACCUMULATE = 4      # AccumulateGrad: runs before everything else
    FLAG_PYTHON = 8          # apply is Python: needs the GIL
    FLAG_HOOKS = 16          # has pre-hooks, hooks or retained grads: needs the GIL around apply
    FLAG_CREATED_IN_BACKWARD = 32

cdef enum:
    VAL_NONE = -0x7fffffffffffffff   # Val.i of an optional that is None

cdef struct Val:             # a saved value that is no tensor
    int64_t i                # integers, bools, dtypes
    double d
    IntList* list            # owned, compact (intlist_save); NULL: None

cdef struct SavedArray:
    Array* array             # owned; NULL: not saved (no formula needs it, an optional was None, or released)
    VersionCounter* version  # lives in array.storage, or in own_version
    Array* version_owner     # keeps `version` alive where it is not the array's storage (own_version of `.data`); usually NULL
    long expected            # version when saved
    short edge               # >= 0: the input that this is (its place in the graph is edges[edge]); -1: no graph; -2: an output of this Node
    short output_nr          # for edge == -2

cdef struct Edge:
    NodeState* next          # NULL: this input needs no gradient
    int input_nr             # which output of the forward operation the gradient belongs to
    short dtype              # dtype of the forward input: the engine casts the gradient to it; a leaf's `grad_dtype` where that is set (negative: no cast)
    IntList* shape           # NULL: the gradient has the right shape already; else the engine sums it to this shape (broadcasting). Owned.

# The VJP: reads grads_in (borrowed; entries may be NULL = zero), writes new references to grads_out[k] for the bits k of `need`; 0, or -1 with an error recorded.
ctypedef int (*ApplyC)(NodeState* node, Array** grads_in, Array** grads_out, uint64_t need) noexcept nogil
# The same on Tensors, recorded when grad mode is on: a list of Tensor|None for the inputs.
ctypedef list (*ApplyRecorded)(NodeState* node, list grads_in, uint64_t need)

cdef enum ValKind:
    VAL_INT = 0, VAL_BOOL = 1, VAL_FLOAT = 2, VAL_INTS = 3, VAL_DTYPE = 4, VAL_OPT_INT = 5, VAL_OPT_INTS = 6, VAL_STR = 7

cdef struct NodeType:        # what all Nodes of one class share; static, made by the generator
    const char* name         # "MulBackward0"
    ApplyC apply             # NULL: only the recorded form exists (the engine runs it with the GIL)
    ApplyRecorded recorded
    int n_outputs            # outputs of the forward operation = gradients in
    int n_saved
    int n_vals
    const char** saved_names # "self", "other", "result": attributes _saved_self, _raw_saved_self
    const char* saved_scalar # one char a saved: 't' a tensor, 's' a number (shown as a Python number), 'l' part of a tensor list
    const char** val_names   # attribute _saved_<name>
    const char* val_kinds    # one char a val: its ValKind as '0' + kind
    void (*finalize)(NodeState* node) noexcept    # called with the GIL before the Node's references are dropped; NULL: nothing to do
    void (*release)(NodeState* node) noexcept nogil   # what a backward that keeps no graph frees besides saved Arrays; NULL: nothing
    PyTypeObject* cls        # the Python class, made by node_register
    void* jvp                # forward mode: the generated function of its operation's arguments and result that gives the tangent; NULL: none
    bint cubic               # a matrix product: its cost is estimated as m * n * k

cdef struct Scratch:         # what a running GraphTask knows of a Node
    long dependencies        # Nodes that still have to deliver to it
    void** grads             # n_outputs entries: Array* (or Tensor in a recorded backward), NULL = nothing arrived
    void* grad_inline        # grads of a Node with one output
    int needed               # it has to run (always, unless the task is pruned)
    int capture              # first entry of the task's captures for it, or -1

cdef struct NodeState:
    PyObject* object         # the Node this is inside of (borrowed)
    # Python objects, owned, NULL for none (with the GIL: Note [Ownership and locks of the graph])
    PyObject* payload        # what this Node serves: the leaf of an AccumulateGrad, the context of a custom Function
    PyObject* pre_hooks      # NodeHooks: hooks before apply, retained grads, packed saved tensors (node_hooks.pxd)
    PyObject* hooks          # HookTable of callables (grad_inputs, grad_outputs) after apply
    PyObject* meta           # dict: metadata, made when asked for
    NodeType* type
    uint64_t sequence        # of those that are ready the largest runs first: made later = larger; an AccumulateGrad's is the largest, since it frees memory
    int flags
    int lock
    int released             # saved memory was freed by a backward: changes under `lock`
    unsigned short n_edges
    unsigned short n_saved
    unsigned short n_vals
    unsigned short n_outputs
    Edge* edges
    SavedArray* saved
    Val* vals
    void* block              # edges, saved and vals that are too many for the inline room
    size_t block_size
    void* task               # the number of the GraphTask that claimed `scratch`
    IntList** outputs        # what an explicit edge to this Node is checked against: for each output its dtype, then its sizes; NULL: nothing is kept here
    int out_shape[4]         # the same for output 0, if it fits
    short out_ndim           # -1: not known, or in `outputs`
    short out_dtype
    Scratch scratch
    Edge edges_inline[2]
    SavedArray saved_inline[2]
    Val vals_inline[1]

cdef extern from * nogil:
    """
    static inline int cg_flags(int *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
    """
    int flags_load "cg_flags"(int* p) noexcept

cdef inline int node_flags(NodeState* s) noexcept nogil:      # without the GIL: somebody who holds it may be setting a bit
    return flags_load(&s.flags)

cdef class Node:
    cdef NodeState s
    cdef object __weakref__

cdef class SavedTensor:
    cdef Node node
    cdef int slot

cdef SavedTensor saved_tensor_new(Node node, int slot)

# Building a Node (all with the GIL). n_edges etc. may exceed the inline room; blocks are taken then.
cdef Node node_new(NodeType* t, int n_edges)                                     # edges empty, nothing saved, sequence number taken
cdef int node_retype(Node n, NodeType* t) except -1                              # another name for the same formula: t has the layout of n's type
cdef int node_register(NodeType* t) except -1                                    # makes the Python class t.cls
cdef inline int val_set_int(NodeState* s, int k, int64_t v) noexcept nogil:
    s.vals[k].i = v
    return 0
cdef inline int val_set_float(NodeState* s, int k, double v) noexcept nogil:
    s.vals[k].d = v
    return 0
cdef inline int val_set_none(NodeState* s, int k) noexcept nogil:                # an optional that is None
    s.vals[k].i = VAL_NONE
    return 0
cdef int val_set_ints(NodeState* s, int k, const Py_ssize_t* v, int n) except -1
cdef int node_note_output(Node n, int output_nr, const Array* result) except -1  # what an output is like that does not fit into out_shape
cdef int node_track(Node n) except -1                                            # let the gc see it
cdef int node_track_late(Node n) except -1                                       # the same for a Node to which others may point already
cdef void late_links_note() noexcept                                             # something tracked may be behind untracked Nodes from now on: cycles.pyx
cdef bint late_links_take() noexcept                                             # whether that was noted since it was last asked
cdef int node_lock_take(NodeState* s) noexcept                                   # with the GIL, which is given up while waiting; node_lock_give ends it
cdef void node_lock_give(NodeState* s) noexcept nogil

# What debugging modes want to see of every Node (anomaly.pyx): 0 almost always.
cdef enum NodeWatch:
    WATCH_CREATED = 1        # call `created` for each new Node
    WATCH_VALUES = 2         # call `recorded` for each recorded result, `unrecorded` for each other one
cdef struct NodeWatcher:
    int events
    int (*created)(Node n) except -1
    int (*recorded)(Node n, int output_nr, Array* result) except -1
    int (*unrecorded)(const char* operation, Array* result, list inputs) except -1    # inputs: of tensors, lists of them, None
cdef NodeWatcher node_watcher
cdef void node_release_saved(NodeState* s) noexcept nogil                        # under `lock`: drops saved Arrays, sets `released` (where anything was saved)
cdef int node_release_with_gil(NodeState* s) noexcept                             # the same, for holders of the GIL: takes the lock itself
cdef int refuse_released(NodeState* s) noexcept nogil                             # records the refusal of a second backward over freed memory, -1
cdef Array* unpack_array(NodeState* s, int k) noexcept nogil                     # borrowed; NULL with an error recorded: freed, or stale version; NULL without: None was saved
cdef int saved_check(NodeState* s, int k) noexcept nogil                         # 0, or -1 with the refusal recorded
cdef IntList* intlist_save(const Py_ssize_t* v, int n) noexcept nogil            # compact copy; NULL: out of memory, error recorded
cdef void intlist_free(IntList* l) noexcept nogil

# Turns saved entry k into a Tensor; set by recording.pyx, floors above.
ctypedef object (*UnpackHook)(NodeState* s, int k)
cdef void set_unpack_hook(UnpackHook hook) noexcept

cdef inline Node node_of(NodeState* s):
    return <Node>s.object

cdef inline object payload_of(NodeState* s):
    return None if s.payload == NULL else <object>s.payload
