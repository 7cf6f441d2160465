# Anomaly mode. Contract and Note [Anomaly mode]: anomaly.pxd. The context managers are in cygrad/autograd/anomaly_mode.py.

import re
import sys
import traceback
from cygrad._warnings import warn
from libc.stdint cimport uint32_t, uint64_t
from cygrad._core.array cimport Array, array_decref, array_empty, array_incref, shape_text, CONTIGUOUS
from cygrad._core.dtypes cimport FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128, dtype_object
from cygrad._core.errors cimport raise_pending
from cygrad._core.kernels.copy cimport copy_into
from cygrad._core.node cimport Node, node_of, node_watcher, FLAG_ACCUMULATE, WATCH_CREATED, WATCH_VALUES
from cygrad._core.tensor cimport Tensor

cdef extern from * nogil:
    """
    static __thread PyObject *cg_evaluating __attribute__((tls_model("initial-exec"))) = 0;
    static inline PyObject *cg_get_evaluating() { return cg_evaluating; }
    static inline void cg_set_evaluating(PyObject *n) { cg_evaluating = n; }
    """
    PyObject* get_evaluating "cg_get_evaluating"() noexcept      # the Node whose backward runs in this thread, borrowed
    void set_evaluating "cg_set_evaluating"(PyObject* n) noexcept

cdef bint enabled = False
cdef bint nan_checked = True


cdef bint anomaly_is_on() noexcept nogil:
    return enabled


cdef PyObject* anomaly_enter(NodeState* s) noexcept:
    cdef PyObject* outer = get_evaluating()
    set_evaluating(s.object)
    return outer


cdef void anomaly_leave(PyObject* outer) noexcept:
    set_evaluating(outer)


cdef PyObject* anomaly_current() noexcept:
    return get_evaluating()


# ---- what is not finite ------------------------------------------------------------------------------------------------
# An IEEE 754 number is an infinity or NaN where all bits of its exponent are set, and NaN where a bit of its fraction is, too. Bits are compared, since the
# compiler may assume that arithmetic raises no exceptions.

cdef Py_ssize_t count_bits(Array* a, bint infinite, Py_ssize_t* first) noexcept nogil:
    cdef Py_ssize_t i, found = 0, parts = 2 if a.dtype == COMPLEX64 or a.dtype == COMPLEX128 else 1
    cdef uint64_t bits, exponent
    first[0] = -1
    for i in range(a.numel * parts):
        if a.dtype == FLOAT16:
            bits = (<unsigned short*>a.data)[i] & 0x7fff
            exponent = 0x7c00
        elif a.dtype == FLOAT32 or a.dtype == COMPLEX64:
            bits = (<uint32_t*>a.data)[i] & 0x7fffffff
            exponent = 0x7f800000
        else:
            bits = (<uint64_t*>a.data)[i] & <uint64_t>0x7fffffffffffffff
            exponent = <uint64_t>0x7ff0000000000000
        if bits > exponent or (infinite and bits == exponent):
            if first[0] < 0:
                first[0] = i // parts
            found += 1
    return found


cdef Py_ssize_t not_finite(Array* a, bint infinite, Py_ssize_t* first) except -1:
    # How many numbers are NaN (or infinite), and which element is the first, in C order.
    cdef Array* flat
    cdef Py_ssize_t found
    first[0] = -1
    if a.dtype not in (FLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128):
        return 0
    flat = array_incref(a) if a.flags & CONTIGUOUS else contiguous_copy(a)
    found = count_bits(flat, infinite, first)
    array_decref(flat)
    return found


cdef Array* contiguous_copy(Array* a) except NULL:
    cdef Array* copy = array_empty(a.dtype, a.ndim, a.shape)
    if copy == NULL or copy_into(copy, a) != 0:
        array_decref(copy)
        raise_pending()
    return copy


cdef str shape_of(Array* a):
    cdef char text[200]
    shape_text(text, sizeof(text), a.ndim, a.shape)
    return text.decode()


# ---- new Nodes ---------------------------------------------------------------------------------------------------------

cdef int node_created(Node n) except -1:
    cdef PyObject* parent = get_evaluating()
    frame = sys._getframe(0)
    n.metadata["traceback_"] = traceback.format_stack(frame)
    if parent != NULL:
        n.metadata["parent_"] = <Node>parent
    return 0


cdef int value_recorded(Node n, int output_nr, Array* result) except -1:
    cdef Py_ssize_t first
    cdef Py_ssize_t found = not_finite(result, True, &first)
    n.metadata.setdefault("shapes_", {})[output_nr] = shape_of(result)
    if not found:
        return 0
    raise FloatingPointError(
        f"cygrad: anomaly mode: {operation_of(n)} gave {found} of {result.numel} elements that are NaN or infinite, the first at flat index {first}, in its "
        f"result of shape {shape_of(result)} ({dtype_object(result.dtype)}); {inputs_of(n)}. This is the first operation of the recorded forward that did.")


cdef int value_unrecorded(const char* operation, Array* result, list inputs) except -1:
    # Only what an operation made of finite inputs: nothing is known of where others came from. Nothing of what backward formulas compute.
    cdef Py_ssize_t first, found
    if get_evaluating() != NULL:
        return 0
    found = not_finite(result, True, &first)
    if not found:
        return 0
    shapes = []
    for given in inputs:
        for t in given if isinstance(given, list) else [given]:
            if t is not None and not_finite((<Tensor>t).a, True, &first):
                return 0
            shapes.append("none" if t is None else shape_of((<Tensor>t).a))
    not_finite(result, True, &first)
    raise FloatingPointError(
        f"cygrad: anomaly mode: {operation.decode()} gave {found} of {result.numel} elements that are NaN or infinite, the first at flat index {first}, in its "
        f"result of shape {shape_of(result)} ({dtype_object(result.dtype)}), from finite inputs of shapes {', '.join(shapes)}; it is not recorded.")


cdef str operation_of(Node n):
    return re.sub(r"Backwards?\d*$", "", n.name()) + f" (Function '{n.name()}')"


cdef str inputs_of(Node n):
    cdef int k
    cdef list parts = []
    cdef Node following
    for k in range(n.s.n_edges):
        if n.s.edges[k].next == NULL:
            parts.append(f"input {k} needs no gradient")
            continue
        following = node_of(n.s.edges[k].next)
        if n.s.edges[k].shape != NULL:
            shape = str([n.s.edges[k].shape.v[i] for i in range(n.s.edges[k].shape.n)])
        elif following.s.flags & FLAG_ACCUMULATE:
            shape = shape_of((<Tensor>following.s.payload).a)
        else:
            shape = following.metadata.get("shapes_", {}).get(n.s.edges[k].input_nr, "unknown")
        parts.append(f"input {k} has shape {shape} and came from {following.name()}")
    for k in range(n.s.n_saved):
        if n.s.saved[k].array != NULL:
            parts.append(f"saved '{n.s.type.saved_names[k].decode()}' has shape {shape_of(n.s.saved[k].array)}")
    return "; ".join(parts)


# ---- backward ----------------------------------------------------------------------------------------------------------

cdef int anomaly_check(NodeState* s, list out) except -1:
    cdef int k
    cdef Py_ssize_t first
    if not nan_checked:
        return 0
    for k in range(len(out)):
        if out[k] is not None and not_finite((<Tensor>out[k]).a, False, &first):
            raise RuntimeError(f"cygrad: Function '{s.type.name.decode()}' returned nan values in its {k}th output.")
    return 0


cdef int anomaly_explain(NodeState* s, object error) except -1:
    # Once an exception: a backward inside of a backward has told of the Node that really failed.
    cdef Node n = node_of(s)
    cdef list stacks = []
    cdef object at = n
    if hasattr(error, "forward_stacks"):
        return 0
    while at is not None:
        metadata = (<Node>at).metadata
        stacks.append((at.name(), tuple(metadata.get("traceback_", ()))))
        at = metadata.get("parent_")
    try:
        error.forward_stacks = tuple(stacks)
        for k, (name, lines) in enumerate(stacks):
            if k == 0:
                head = f"cygrad: the error was in {name}"
            else:
                head = f"cygrad: {stacks[k - 1][0]} was recorded while the backward of {name} ran"
            if lines:
                error.add_note(f"{head}. Traceback of forward call that recorded {name} (most recent call last):\n" + "".join(lines))
            else:
                error.add_note(f"{head}. No forward pass information available for {name}: enable detect anomaly during the forward pass, too.")
    except AttributeError:
        pass                         # an exception class without attributes
    try:
        for k, (name, lines) in enumerate(stacks):
            head = f"Previous calculation was induced by {name}. " if k else f"Error detected in {name}. "
            what = "induced the previous calculation" if k else "caused the error"
            warn(head + (f"Traceback of forward call that {what}:\n" + "".join(lines) if lines else
                         "No forward pass information available. Enable detect anomaly during forward pass for more information."), UserWarning)
    except UserWarning:
        pass                         # where warnings are errors, the error itself is the better one
    return 0


# ---- switches ----------------------------------------------------------------------------------------------------------

def set_anomaly(mode: bool, check_nan: bool, check_forward: bool) -> None:
    """Switch anomaly mode of the process; ``check_forward`` looks at recorded results, too."""
    global enabled, nan_checked
    enabled = mode
    nan_checked = check_nan
    node_watcher.events = (WATCH_CREATED if mode else 0) | (WATCH_VALUES if mode and check_forward else 0)


def anomaly_state() -> tuple[bool, bool, bool]:
    """Whether anomaly mode is on, looks for NaN in backward, looks at forward."""
    return enabled, nan_checked, node_watcher.events & WATCH_VALUES != 0


node_watcher.created = node_created
node_watcher.recorded = value_recorded
node_watcher.unrecorded = value_unrecorded
