# What surrounds the VJP of one Node, and who watches saving and writing. Contract: node_hooks.pxd.

from cpython.ref cimport Py_INCREF

cdef extern from * nogil:
    """
    static __thread int cg_watched __attribute__((tls_model("initial-exec"))) = 0;
    static inline int cg_get_watched() { return cg_watched; }
    static inline void cg_set_watched(int events) { cg_watched = events; }
    """
    int get_watched "cg_get_watched"() noexcept
    void set_watched "cg_set_watched"(int events) noexcept


cdef class NodeHooks:
    """The hooks and packed saved tensors of one Node."""


cdef NodeHooks hooks_at(PyObject** place):
    cdef NodeHooks made
    if place[0] == NULL:
        made = NodeHooks.__new__(NodeHooks)
        Py_INCREF(made)
        place[0] = <PyObject*>made
    return <NodeHooks>place[0]


cdef void drop_packed(PyObject* hooks) noexcept with gil:
    if hooks != NULL:
        (<NodeHooks>hooks).packed = None


cdef int watched() noexcept nogil:
    return get_watched()


cdef void watch(int events) noexcept nogil:
    # A thread that ends inside of a context stays counted: the count only says that looking is worth while.
    if (events != 0) != (get_watched() != 0):
        watchers.threads += 1 if events else -1
    set_watched(events)
