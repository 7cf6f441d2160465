# Cycles through Nodes that the gc does not see: found at the start of a full collection. Contract: Note [Garbage collection of the graph] in node.pxd.
#
# Why it exists: a Node is untracked until it can lie on a cycle, and Nodes that point to a tracked one are tracked when they are made. A hook, a gradient with
# a graph or an attribute that comes later tracks a Node to which others point already: those must follow, and a Node does not know who points to it. So the
# registration leaves a note (late_links), and before the next full collection everything that the gc sees is asked for the untracked Nodes it holds, and
# those, depth first, for the tracked ones they lead to. A program that registers nothing pays nothing.

import gc
import sys

from cpython.object cimport PyObject, PyTypeObject, visitproc
from libc.stdlib cimport free, realloc
from cygrad._core.node cimport Node, NodeState, node_of, node_track, late_links_take, FLAG_TRACKED

cdef extern from "Python.h":
    ctypedef int (*traverseproc)(PyObject*, visitproc, void*) noexcept
    ctypedef struct PyTypeTraverse "PyTypeObject":
        traverseproc tp_traverse
    PyTypeTraverse* Py_TYPE(PyObject*)
    bint PyObject_TypeCheck(PyObject*, PyTypeObject*)
    bint PyList_CheckExact(PyObject*)

cdef enum:
    FLAG_SEEN = 1 << 20      # of NodeState.flags, during a walk alone

cdef struct Frame:
    NodeState* node
    int edge                 # the next one to look at; past the last: the payload

cdef struct Walk:
    Frame* stack             # from the Node that was found to the one being looked at
    Py_ssize_t depth
    Py_ssize_t room
    NodeState** seen
    Py_ssize_t n_seen
    Py_ssize_t room_seen
    bint failed              # out of memory: the walk ends, and the next collection tries again


cdef int push(Walk* w, NodeState* s) noexcept:
    cdef Frame* stack
    cdef NodeState** seen
    if w.depth == w.room:
        stack = <Frame*>realloc(w.stack, (2 * w.room + 64) * sizeof(Frame))
        if stack == NULL:
            w.failed = True
            return -1
        w.stack = stack
        w.room = 2 * w.room + 64
    if w.n_seen == w.room_seen:
        seen = <NodeState**>realloc(w.seen, (2 * w.room_seen + 64) * sizeof(NodeState*))
        if seen == NULL:
            w.failed = True
            return -1
        w.seen = seen
        w.room_seen = 2 * w.room_seen + 64
    s.flags |= FLAG_SEEN
    w.seen[w.n_seen] = s
    w.n_seen += 1
    w.stack[w.depth].node = s
    w.stack[w.depth].edge = 0
    w.depth += 1
    return 0


cdef NodeState* neighbour(NodeState* s, int k) noexcept:
    # What edge k leads to; past the last: the payload, if that is a Node (of a CopySlices).
    if k < s.n_edges:
        return s.edges[k].next
    if s.payload != NULL and PyObject_TypeCheck(s.payload, <PyTypeObject*>Node):
        return &(<Node>s.payload).s
    return NULL


cdef int follow(Walk* w, NodeState* start) noexcept:
    # Depth first, without recursion. A Node is tracked when all behind it is known and one of its neighbours is tracked.
    cdef Frame* top
    cdef NodeState* s
    cdef NodeState* after
    cdef int k
    cdef bint leads
    if start.flags & (FLAG_TRACKED | FLAG_SEEN) or push(w, start) != 0:
        return 0
    while w.depth:
        top = &w.stack[w.depth - 1]
        s = top.node
        if top.edge <= s.n_edges:
            after = neighbour(s, top.edge)
            top.edge += 1
            if after != NULL and not after.flags & (FLAG_TRACKED | FLAG_SEEN) and push(w, after) != 0:
                return -1
            continue
        leads = False
        for k in range(s.n_edges + 1):
            after = neighbour(s, k)
            if after != NULL and after.flags & FLAG_TRACKED:
                leads = True
        if leads:
            node_track(node_of(s))
        w.depth -= 1
    return 0


cdef int visit(PyObject* held, void* arg) noexcept:
    cdef Walk* w = <Walk*>arg
    if not w.failed and PyObject_TypeCheck(held, <PyTypeObject*>Node):
        follow(w, &(<Node>held).s)
    return 0


def track_late(phase: str, info: dict[str, int]) -> None:
    """What the gc calls before and after each collection."""
    cdef Walk w
    cdef Py_ssize_t k
    cdef object held
    if phase != "start" or info["generation"] < OLDEST or not late_links_take():
        return
    w.stack = NULL
    w.seen = NULL
    w.depth = w.room = w.n_seen = w.room_seen = 0
    w.failed = False
    for held in gc.get_objects():
        if Py_TYPE(<PyObject*>held).tp_traverse != NULL:
            Py_TYPE(<PyObject*>held).tp_traverse(<PyObject*>held, <visitproc>visit, &w)
        if w.failed:
            break
    for k in range(w.n_seen):
        w.seen[k].flags &= ~FLAG_SEEN
    free(w.stack)
    free(w.seen)


# From 3.14 on the gc that runs by itself works in steps, which count as the middle generation.
cdef int OLDEST = 2 if sys.version_info < (3, 14) else 1
gc.callbacks.append(track_late)
