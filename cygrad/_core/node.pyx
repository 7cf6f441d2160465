# Node: making, freeing and looking at the backward functions of the graph. Contract, ownership and locks: node.pxd.

from cpython.object cimport PyObject, PyTypeObject, visitproc
from cpython.ref cimport Py_INCREF, Py_DECREF, Py_XDECREF
from libc.stdlib cimport calloc
from libc.string cimport memset, memcpy, strcmp
from libc.stdio cimport snprintf
from cygrad._core.array cimport array_incref, array_decref, shape_text
from cygrad._core.atomics cimport atomic_load, likely, unlikely
from cygrad._core.dtypes cimport dtype_object, dtype_cname
from cygrad._core.errors cimport fail, raise_pending, ERR_RUNTIME
from cygrad._core.memory cimport block_alloc, block_free, live_add, process_trylock, process_unlock, LIVE_NODES
from cygrad._core.node_hooks cimport hooks_at, drop_packed, FLAG_PACKED, NodeHooks

cdef extern from "Python.h":
    ctypedef struct PyGetSetDef:
        const char* name
        PyObject* (*get)(PyObject*, void*) noexcept
        int (*set)(PyObject*, PyObject*, void*) noexcept
        const char* doc
        void* closure
    ctypedef struct PyType_Slot:
        int slot
        void* pfunc
    ctypedef struct PyType_Spec:
        const char* name
        int basicsize
        int itemsize
        unsigned int flags
        PyType_Slot* slots
    object PyType_FromSpecWithBases(PyType_Spec* spec, object bases)
    int Py_tp_dealloc, Py_tp_traverse, Py_tp_clear, Py_tp_getset
    unsigned int Py_TPFLAGS_DEFAULT, Py_TPFLAGS_HAVE_GC
    void PyObject_GC_Track(PyObject*)
    void PyObject_GC_UnTrack(PyObject*)
    int PyObject_GC_IsTracked(PyObject*)
    void PyObject_GC_Del(void*)
    void PyObject_ClearWeakRefs(PyObject*)

cdef extern from *:
    """
    typedef void (*cg_dealloc)(PyObject *);
    static PyObject *cg_no_new(PyTypeObject *, PyObject *, PyObject *) {
        PyErr_SetString(PyExc_TypeError, "cygrad: Nodes are made by recorded operations; they cannot be constructed");
        return NULL;
    }
    static inline PyObject *cg_gc_new(PyTypeObject *t) { return (PyObject *)PyObject_GC_New(PyObject, t); }
    static inline void cg_set_type(PyObject *o, PyTypeObject *t) { Py_SET_TYPE(o, t); }
    static inline void cg_revive(PyObject *o, PyTypeObject *t) { Py_SET_TYPE(o, t); _Py_NewReference(o); }
    static inline void cg_set_slots(PyTypeObject *t, cg_dealloc d, traverseproc v, inquiry c) {
        t->tp_dealloc = d; t->tp_traverse = v; t->tp_clear = c; t->tp_new = cg_no_new; t->tp_vectorcall = NULL;
    }
    static inline Py_ssize_t cg_weak_offset(PyTypeObject *t) { return t->tp_weaklistoffset; }
    static inline int cg_visit(PyObject *o, visitproc visit, void *arg) { return o ? visit(o, arg) : 0; }
    """
    PyObject* gc_new "cg_gc_new"(PyTypeObject* t)
    void set_type "cg_set_type"(PyObject* o, PyTypeObject* t)
    void revive "cg_revive"(PyObject* o, PyTypeObject* t)
    void set_type_slots "cg_set_slots"(PyTypeObject* t, void (*)(PyObject*) noexcept, int (*)(PyObject*, visitproc, void*) noexcept, int (*)(PyObject*) noexcept)
    Py_ssize_t weak_offset_of "cg_weak_offset"(PyTypeObject* t)
    int visit_one "cg_visit"(PyObject* o, visitproc visit, void* arg)

cdef extern from "<sched.h>" nogil:
    int sched_yield()

cdef extern from *:
    """
    /* A thread that frees Nodes may run Python in between (a finaliser), and other threads free Nodes meanwhile: each has a list of its own. */
    static __thread int cg_freeing __attribute__((tls_model("initial-exec"))) = 0;
    static __thread void *cg_doomed __attribute__((tls_model("initial-exec"))) = 0;
    #define CG_FREEING() cg_freeing
    #define CG_SET_FREEING(x) (cg_freeing = (x))
    #define CG_DOOMED() cg_doomed
    #define CG_SET_DOOMED(x) (cg_doomed = (x))
    """
    bint freeing "CG_FREEING"() noexcept
    void set_freeing "CG_SET_FREEING"(bint on) noexcept
    void* doomed "CG_DOOMED"() noexcept                  # Nodes whose count reached zero while another was being freed, linked through `task`
    void set_doomed "CG_SET_DOOMED"(void* s) noexcept

cdef enum:
    FREE_NODES = 131072        # Nodes kept for reuse

cdef uint64_t next_sequence = 0
cdef NodeState* free_nodes = NULL      # linked through `task`
cdef int free_count = 0
cdef UnpackHook unpack_hook = NULL


cdef void set_unpack_hook(UnpackHook hook) noexcept:
    global unpack_hook
    unpack_hook = hook


cdef class Node:
    """A backward function of the recorded graph: the VJP of one operation. Made by operations, never by hand."""

    def __init__(self):
        raise TypeError("cygrad: Nodes are made by recorded operations; they cannot be constructed")

    def name(self) -> str:
        """The name of the backward function, such as ``MulBackward0``."""
        return self.s.type.name.decode()

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """One pair (Node, input number) an input of the forward operation: where its gradient goes next; (None, 0) where it needs none."""
        cdef int i
        cdef list out = []
        for i in range(self.s.n_edges):
            if self.s.edges[i].next == NULL:
                out.append((None, 0))
            else:
                out.append((node_of(self.s.edges[i].next), self.s.edges[i].input_nr))
        return tuple(out)

    @property
    def metadata(self) -> dict[str, object]:
        """A dict of the user's own, kept with the Node."""
        if self.s.meta == NULL:
            created = {}
            Py_INCREF(created)
            self.s.meta = <PyObject*>created
            node_track_late(self)
        return <dict>self.s.meta

    def register_prehook(self, fn):
        """Call ``fn(grad_outputs)`` before this Node runs, with a tuple of the gradients that arrive (None where there is none).

        A tuple of the same length that it returns replaces them. Returns a handle whose ``remove()`` takes the hook away.
        """
        from cygrad.utils.hooks import HookTable, RemovableHandle
        cdef NodeHooks mine = hooks_at(&self.s.pre_hooks)
        if mine.before is None:
            mine.before = HookTable()
        return hook_store(self, RemovableHandle(mine.before), mine.before, fn)

    def register_hook(self, fn):
        """Call ``fn(grad_inputs, grad_outputs)`` after this Node ran, with tuples of the gradients it computed and of those that had arrived.

        A tuple that it returns replaces ``grad_inputs``. Returns a handle whose ``remove()`` takes the hook away.
        """
        from cygrad.utils.hooks import HookTable, RemovableHandle
        if self.s.hooks == NULL:
            created = HookTable()
            Py_INCREF(created)
            self.s.hooks = <PyObject*>created
        return hook_store(self, RemovableHandle(<object>self.s.hooks), <object>self.s.hooks, fn)

    def __call__(self, *grads):
        """The gradients of the inputs for these gradients of the outputs (None where there is none): a tuple, or what one input gets by itself.

        Nothing is freed, no hook runs, no further Node does; recorded where grad mode is on. An AccumulateGrad adds to its leaf's ``.grad``. TypeError for
        another number of gradients than outputs, or for other objects than tensors; RuntimeError if what the Node saved was freed.
        """
        from cygrad._core.python_node import apply_vjp
        from cygrad._core.tensor import Tensor
        cdef int i
        cdef uint64_t need = <uint64_t>-1 if self.s.n_edges > 64 else 0
        if len(grads) != self.s.n_outputs:
            raise TypeError(f"cygrad: {self.name()}: expected {self.s.n_outputs} arguments, got {len(grads)} instead: one gradient an output")
        for k, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, Tensor):
                raise TypeError(f"cygrad: {self.name()}: argument {k} is not a Variable but of type {type(grad).__name__}")
        for i in range(self.s.n_edges if need == 0 else 0):
            if self.s.edges[i].next != NULL:
                need |= <uint64_t>1 << i          # formulas of other inputs may lack what they read
        found = apply_vjp(self, list(grads), need)
        return found[0] if len(found) == 1 else tuple(found)

    @property
    def requires_grad(self) -> bool:
        """Always True: only what needs a gradient has a Node."""
        return True

    @property
    def _input_metadata(self):
        """What the Node is given: for each gradient its shape, dtype and device, those of an output of the forward operation; None for a constant one."""
        from cygrad._core.graph_queries import input_metadata
        return input_metadata(self)

    def _sequence_nr(self) -> int:
        """Nodes made later have larger numbers; the engine runs larger ones first."""
        return self.s.sequence

    def _set_sequence_nr(self, uint64_t sequence_nr) -> None:
        """Give the Node another number, and so another turn among those that are ready; not while a backward runs."""
        self.s.sequence = sequence_nr

    def __repr__(self) -> str:
        return f"<{self.name()} object at {<size_t><void*>self:#x}>"


cdef object hook_store(Node n, object handle, object table, object hook):
    table[handle.id] = hook
    n.s.flags |= FLAG_HOOKS
    node_track_late(n)
    return handle


cdef class SavedTensor:
    """A tensor saved for backward, as the Node keeps it (``_raw_saved_*``)."""

    def __init__(self):
        raise TypeError("cygrad: SavedTensors are made by recorded operations; they cannot be constructed")

    @property
    def data(self) -> object:
        """The saved tensor, unpacked: RuntimeError if it was freed or overwritten since."""
        return unpack_hook(&self.node.s, self.slot)

    def register_hooks(self, pack_hook, unpack_hook) -> None:
        """Replace what is kept by ``pack_hook(tensor)``, called now; the tensor is made again by ``unpack_hook`` on that, whenever it is needed.

        RuntimeError if the tensor was freed, if None was saved, if it has hooks already, or if ``pack_hook`` writes to its argument; TypeError for hooks
        of the wrong signature.
        """
        from cygrad._core.saved_hooks import register
        register(self.node, self.slot, pack_hook, unpack_hook)


# ---- making ---------------------------------------------------------------------------------------------------------

cdef Node node_new(NodeType* t, int n_edges):
    global free_nodes, free_count, next_sequence
    cdef NodeState* s = free_nodes
    cdef PyObject* o
    cdef size_t size
    cdef int i
    cdef char* room
    if likely(s != NULL):
        free_nodes = <NodeState*>s.task
        free_count -= 1
        o = s.object
        revive(o, t.cls)
    else:
        o = gc_new(t.cls)
        if o == NULL:
            raise MemoryError("cygrad: out of memory for a Node of the graph")
        memset(<char*>o + sizeof(PyObject), 0, <size_t>t.cls.tp_basicsize - sizeof(PyObject))
        s = &(<Node>o).s
        s.object = o
    s.type = t
    next_sequence += 1
    s.sequence = next_sequence
    s.flags = 0
    s.lock = 0
    s.released = 0
    s.out_ndim = -1
    s.outputs = NULL
    s.n_edges = n_edges
    s.n_saved = t.n_saved
    s.n_vals = t.n_vals
    s.n_outputs = t.n_outputs
    s.task = NULL
    s.block = NULL
    if likely(n_edges <= 2 and t.n_saved <= 2 and t.n_vals <= 1):
        s.edges = s.edges_inline
        s.saved = s.saved_inline
        s.vals = s.vals_inline
        s.edges_inline[0].next = NULL
        s.edges_inline[1].next = NULL
        s.saved_inline[0].array = NULL
        s.saved_inline[1].array = NULL
        s.vals_inline[0].list = NULL
    else:
        size = n_edges * sizeof(Edge) + t.n_saved * sizeof(SavedArray) + t.n_vals * sizeof(Val)
        s.edges = s.edges_inline
        room = <char*>block_alloc(size)
        if room == NULL:
            s.n_edges = s.n_saved = s.n_vals = 0
            live_add(LIVE_NODES, 1)
            Py_DECREF(<object>o)
            raise_pending()
        memset(room, 0, size)
        s.block = room
        s.block_size = size
        s.edges = <Edge*>room
        s.saved = <SavedArray*>(room + n_edges * sizeof(Edge))
        s.vals = <Val*>(room + n_edges * sizeof(Edge) + t.n_saved * sizeof(SavedArray))
    live_add(LIVE_NODES, 1)
    if unlikely(node_watcher.events & WATCH_CREATED):
        return watched_node(steal_node(o))
    return steal_node(o)


cdef Node watched_node(Node n):
    node_watcher.created(n)
    return n


cdef inline Node steal_node(PyObject* o):
    # The new object's one reference becomes the caller's.
    cdef Node n = <Node>o
    Py_DECREF(n)
    return n


cdef IntList* intlist_save(const Py_ssize_t* v, int n) noexcept nogil:
    cdef IntList* l = <IntList*>block_alloc(sizeof(Py_ssize_t) * (n + 1))
    if l != NULL:
        l.n = n
        memcpy(l.v, v, n * sizeof(Py_ssize_t))
    return l


cdef void intlist_free(IntList* l) noexcept nogil:
    if l != NULL:
        block_free(l, sizeof(Py_ssize_t) * (l.n + 1))


cdef int val_set_ints(NodeState* s, int k, const Py_ssize_t* v, int n) except -1:
    s.vals[k].list = intlist_save(v, n)
    if s.vals[k].list == NULL:
        raise_pending()
    return 0


cdef int node_track(Node n) except -1:
    if not (n.s.flags & FLAG_TRACKED):
        n.s.flags |= FLAG_TRACKED
        PyObject_GC_Track(<PyObject*>n)
    return 0


cdef int node_note_output(Node n, int output_nr, const Array* result) except -1:
    cdef NodeState* s = &n.s
    cdef IntList* facts
    cdef int i
    if s.outputs == NULL:
        s.outputs = <IntList**>block_alloc(s.n_outputs * sizeof(IntList*))
        if s.outputs == NULL:
            raise_pending()
        memset(s.outputs, 0, s.n_outputs * sizeof(IntList*))
    facts = <IntList*>block_alloc(sizeof(Py_ssize_t) * (result.ndim + 2))
    if facts == NULL:
        raise_pending()
    facts.n = result.ndim + 1
    facts.v[0] = result.dtype
    memcpy(&facts.v[1], result.shape, result.ndim * sizeof(Py_ssize_t))
    intlist_free(s.outputs[output_nr])
    s.outputs[output_nr] = facts
    if output_nr == 0:
        s.out_ndim = -1
    return 0


cdef void outputs_free(NodeState* s) noexcept:
    cdef int i
    for i in range(s.n_outputs):
        intlist_free(s.outputs[i])
    block_free(s.outputs, s.n_outputs * sizeof(IntList*))
    s.outputs = NULL


# ---- saved tensors --------------------------------------------------------------------------------------------------

cdef int node_lock_take(NodeState* s) noexcept:
    while not process_trylock(&s.lock):
        with nogil:
            sched_yield()
    return 0


cdef void node_lock_give(NodeState* s) noexcept nogil:
    process_unlock(&s.lock)


cdef void node_release_saved(NodeState* s) noexcept nogil:
    cdef int i
    cdef bint any_saved = False
    for i in range(s.n_saved):
        if s.saved[i].array != NULL and s.type.saved_scalar[i] != c's':       # numbers stay: a graph that saved nothing else can be gone through again
            any_saved = True
            array_decref(s.saved[i].array)
            s.saved[i].array = NULL
            if s.saved[i].version_owner != NULL:
                array_decref(s.saved[i].version_owner)
                s.saved[i].version_owner = NULL
    if unlikely(s.flags & FLAG_PACKED):
        drop_packed(s.pre_hooks)
        any_saved = True
    if s.type.release != NULL:
        s.type.release(s)
    if any_saved:
        s.released = 1


cdef int node_release_with_gil(NodeState* s) noexcept:
    # Freed outside of the lock: the owner of foreign memory may run Python when it goes.
    cdef Array* array
    cdef Array* owner
    cdef int i
    for i in range(s.n_saved):
        if s.type.saved_scalar[i] == c's':
            continue
        node_lock_take(s)
        array = s.saved[i].array
        owner = s.saved[i].version_owner
        s.saved[i].array = NULL
        s.saved[i].version_owner = NULL
        if array != NULL:
            s.released = 1
        node_lock_give(s)
        array_decref(array)
        array_decref(owner)
    if s.type.release != NULL:
        node_lock_take(s)
        s.type.release(s)
        node_lock_give(s)
    if s.flags & FLAG_PACKED:
        s.released = 1
        drop_packed(s.pre_hooks)
    return 0


cdef bint late_links = False


cdef int node_track_late(Node n) except -1:
    late_links_note()
    return node_track(n)


cdef void late_links_note() noexcept:
    global late_links
    late_links = True


cdef bint late_links_take() noexcept:
    global late_links
    cdef bint noted = late_links
    late_links = False
    return noted


cdef int refuse_released(NodeState* s) noexcept nogil:
    cdef char text[512]
    snprintf(text, sizeof(text),
             "cygrad: Trying to backward through the graph a second time: the tensors that %s saved were freed by an earlier backward (or autograd.grad). "
             "Specify retain_graph=True in that earlier call to go through the graph again or to read the saved tensors afterwards.", s.type.name)
    return fail(ERR_RUNTIME, text)


cdef int refuse_stale(NodeState* s, int k) noexcept nogil:
    cdef SavedArray* saved = &s.saved[k]
    cdef char text[1000]
    cdef char sizes[200]
    cdef const char* writer = "not recorded"
    cdef long found = atomic_load(&saved.version.value)
    cdef char origin[128]
    shape_text(sizes, sizeof(sizes), saved.array.ndim, saved.array.shape)
    if saved.version.writer != NULL:
        writer = saved.version.writer
    origin[0] = 0
    if saved.edge == -2:
        snprintf(origin, sizeof(origin), ", which is output %d of %s,", <int>saved.output_nr, s.type.name)
    elif saved.edge >= 0 and s.edges[saved.edge].next != NULL:
        snprintf(origin, sizeof(origin), ", which is output %d of %s,", s.edges[saved.edge].input_nr, s.edges[saved.edge].next.type.name)
    snprintf(text, sizeof(text),
             "cygrad: one of the variables needed for gradient computation has been modified by an inplace operation: %s needs its saved tensor '%s' "
             "[cygrad.%sTensor %s]%s at version %ld, but it is at version %ld; the last write was %s. Work on a clone() there, or write before the value is used.",
             s.type.name, s.type.saved_names[k], dtype_cname(saved.array.dtype), sizes, origin, saved.expected, found, writer)
    return fail(ERR_RUNTIME, text)


cdef int saved_check(NodeState* s, int k) noexcept nogil:
    if unlikely(s.released):
        return refuse_released(s)
    if s.saved[k].array != NULL and unlikely(atomic_load(&s.saved[k].version.value) != s.saved[k].expected):
        return refuse_stale(s, k)
    return 0


cdef Array* unpack_array(NodeState* s, int k) noexcept nogil:
    if unlikely(saved_check(s, k) != 0):
        return NULL
    return s.saved[k].array


# ---- freeing --------------------------------------------------------------------------------------------------------

cdef void node_drop(NodeState* s) noexcept:
    # Everything the Node owns; its next Nodes may reach zero here and are queued by node_dealloc.
    cdef int i
    cdef PyObject* o
    for i in range(s.n_saved):
        if s.saved[i].array != NULL:
            array_decref(s.saved[i].array)
            s.saved[i].array = NULL
            if s.saved[i].version_owner != NULL:
                array_decref(s.saved[i].version_owner)
                s.saved[i].version_owner = NULL
    for i in range(s.n_vals):
        if s.vals[i].list != NULL:
            intlist_free(s.vals[i].list)
            s.vals[i].list = NULL
    for i in range(s.n_edges):
        if s.edges[i].next != NULL:
            o = s.edges[i].next.object
            s.edges[i].next = NULL
            if s.edges[i].shape != NULL:
                intlist_free(s.edges[i].shape)
                s.edges[i].shape = NULL
            Py_DECREF(<object>o)
    if s.payload != NULL or s.pre_hooks != NULL or s.hooks != NULL or s.meta != NULL:
        drop_objects(s)


cdef void drop_objects(NodeState* s) noexcept:
    cdef PyObject* o
    o = s.payload
    s.payload = NULL
    Py_XDECREF(o)
    o = s.pre_hooks
    s.pre_hooks = NULL
    Py_XDECREF(o)
    o = s.hooks
    s.hooks = NULL
    Py_XDECREF(o)
    o = s.meta
    s.meta = NULL
    Py_XDECREF(o)


cdef void node_finish(NodeState* s) noexcept:
    global free_nodes, free_count
    cdef PyObject* o = s.object
    if weakrefs_of(o) != NULL:
        PyObject_ClearWeakRefs(o)
    node_drop(s)
    if s.block != NULL:
        block_free(s.block, s.block_size)
        s.block = NULL
    if s.outputs != NULL:
        outputs_free(s)
    live_add(LIVE_NODES, -1)
    if free_count < FREE_NODES:
        s.task = free_nodes
        free_nodes = s
        free_count += 1
    else:
        PyObject_GC_Del(o)


cdef int node_retype(Node n, NodeType* t) except -1:
    n.s.type = t
    set_type(<PyObject*>n, t.cls)
    return 0


cdef inline PyObject* weakrefs_of(PyObject* o) noexcept:
    return (<PyObject**>(<char*>o + weak_offset))[0]


cdef void node_dealloc(PyObject* o) noexcept:
    # Never recursive: a Node that dies while another is being freed waits in `doomed`. Until its turn comes, Python code may run: the gc must not
    # find a Node without references, nor a leaf its dead AccumulateGrad.
    cdef NodeState* s = <NodeState*>(<char*>o + state_offset)
    if s.flags & FLAG_TRACKED:
        s.flags &= ~FLAG_TRACKED
        PyObject_GC_UnTrack(o)
    if s.type.finalize != NULL:
        s.type.finalize(s)
    if freeing():
        s.task = doomed()
        set_doomed(s)
        return
    set_freeing(True)
    node_finish(s)
    while doomed() != NULL:
        s = <NodeState*>doomed()
        set_doomed(s.task)
        node_finish(s)
    set_freeing(False)


cdef int node_traverse(PyObject* o, visitproc visit, void* arg) noexcept:
    cdef NodeState* s = <NodeState*>(<char*>o + state_offset)
    cdef int i, stop
    for i in range(s.n_edges):
        if s.edges[i].next != NULL:
            stop = visit_one(s.edges[i].next.object, visit, arg)
            if stop:
                return stop
    stop = visit_one(s.payload, visit, arg)
    if not stop:
        stop = visit_one(s.pre_hooks, visit, arg)
    if not stop:
        stop = visit_one(s.hooks, visit, arg)
    if not stop:
        stop = visit_one(s.meta, visit, arg)
    return stop


cdef int node_clear(PyObject* o) noexcept:
    cdef NodeState* s = <NodeState*>(<char*>o + state_offset)
    if s.type != NULL and s.type.finalize != NULL:
        s.type.finalize(s)
    node_drop(s)
    return 0


cdef Py_ssize_t state_offset = 0
cdef Py_ssize_t weak_offset = 0


# ---- classes --------------------------------------------------------------------------------------------------------

cdef object saved_value(object self, void* closure):
    cdef Node n = self
    cdef int k = <int><size_t>closure
    value = unpack_hook(&n.s, k)
    if value is not None and n.s.type.saved_scalar[k] == b"s":
        return value.item()
    return value


cdef SavedTensor saved_tensor_new(Node node, int slot):
    cdef SavedTensor raw = SavedTensor.__new__(SavedTensor)
    raw.node = node
    raw.slot = slot
    return raw


cdef object raw_saved_value(object self, void* closure):
    return saved_tensor_new(self, <int><size_t>closure)


cdef object val_value(object self, void* closure):
    cdef NodeState* s = &(<Node>self).s
    cdef int k = <int><size_t>closure
    cdef int kind = s.type.val_kinds[k] - 48
    cdef int i
    if kind == VAL_INTS or kind == VAL_OPT_INTS:
        if s.vals[k].list == NULL:
            return None if kind == VAL_OPT_INTS else ()
        return tuple([s.vals[k].list.v[i] for i in range(s.vals[k].list.n)])
    if kind == VAL_FLOAT:
        return s.vals[k].d
    if s.vals[k].i == VAL_NONE:
        return None
    if kind == VAL_BOOL:
        return s.vals[k].i != 0
    if kind == VAL_DTYPE:
        return dtype_object(<int>s.vals[k].i)
    return s.vals[k].i


cdef int getset_fill(PyGetSetDef* g, bytes name, void* get, int k) except -1:
    _kept_names.append(name)
    g.name = name
    g.get = <PyObject* (*)(PyObject*, void*) noexcept>get
    g.closure = <void*><size_t>k
    return 0

cdef list _kept_names = []      # C strings that type objects point into
cdef dict _classes = {}


cdef int node_register(NodeType* t) except -1:
    cdef PyGetSetDef* table = <PyGetSetDef*>calloc(2 * t.n_saved + t.n_vals + 1, sizeof(PyGetSetDef))
    cdef PyType_Slot slots[5]
    cdef PyType_Spec spec
    cdef int k, at = 0
    cdef bytes full = b"cygrad.autograd.graph." + t.name
    if table == NULL:
        raise MemoryError()
    for k in range(t.n_saved):
        if t.saved_scalar[k] != b"l":
            getset_fill(&table[at], b"_saved_" + t.saved_names[k], <void*>saved_value, k)
            at += 1
        if t.saved_scalar[k] == b"t":
            getset_fill(&table[at], b"_raw_saved_" + t.saved_names[k], <void*>raw_saved_value, k)
            at += 1
    for k in range(t.n_vals):
        if t.val_names[k][0] == b"!":
            continue               # kept for the formula alone
        getset_fill(&table[at], b"_saved_" + t.val_names[k], <void*>val_value, k)
        at += 1
    t.cubic = t.name.decode().startswith(("Mm", "Bmm", "Addmm", "Baddbmm"))
    slots[0].slot = Py_tp_dealloc
    slots[0].pfunc = <void*>node_dealloc
    slots[1].slot = Py_tp_traverse
    slots[1].pfunc = <void*>node_traverse
    slots[2].slot = Py_tp_clear
    slots[2].pfunc = <void*>node_clear
    slots[3].slot = Py_tp_getset
    slots[3].pfunc = table
    slots[4].slot = 0
    slots[4].pfunc = NULL
    _kept_names.append(full)
    spec.name = full
    spec.basicsize = <int>(<PyTypeObject*>Node).tp_basicsize
    spec.itemsize = 0
    spec.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC
    spec.slots = slots
    cls = PyType_FromSpecWithBases(&spec, (Node,))
    _classes[t.name.decode()] = cls        # classes live as long as the process: Nodes do not count references to them
    Py_INCREF(cls)
    t.cls = <PyTypeObject*>cls
    return 0


def node_classes() -> dict[str, type[Node]]:
    """The Node classes of all recorded operations, by name."""
    return dict(_classes)


cdef int measure() except -1:
    global state_offset, weak_offset
    cdef Node probe = Node.__new__(Node)      # freed by Cython's own dealloc, before the slots are replaced
    state_offset = <char*>&probe.s - <char*><PyObject*>probe
    weak_offset = weak_offset_of(<PyTypeObject*>Node)
    return 0


measure()
set_type_slots(<PyTypeObject*>Node, node_dealloc, node_traverse, node_clear)
