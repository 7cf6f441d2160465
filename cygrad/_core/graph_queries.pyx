# Questions about the recorded graph from outside of a backward: what a Node's output looks like, what it keeps alive; and bumping a version by hand.
#
# Why it exists: the answers lie in C fields of Nodes; asking is rare, so it has no place in the modules that record and run.

from typing import NamedTuple

from cpython.ref cimport Py_DECREF
from cygrad._core.array cimport IntList
from cygrad._core.dtypes cimport dtype_object
from cygrad._core.memory cimport Storage
from cygrad._core.node cimport Node, NodeState, node_of, node_lock_take, node_lock_give, FLAG_ACCUMULATE
from cygrad._core.inplace cimport version_bump
from cygrad._core.recording cimport gradient_edge
from cygrad._core.tensor cimport Tensor

from cygrad._core.device import device
from cygrad._core.function import FunctionCtx


def edge_of_tensor(Tensor tensor not None) -> tuple[Node, int] | None:
    """Where the gradient of a tensor goes: a Node and which of its outputs; a leaf's is its AccumulateGrad. None: nowhere."""
    cdef int nr
    cdef NodeState* s = gradient_edge(tensor, &nr)
    cdef Node n
    if s == NULL:
        return None
    n = node_of(s)
    Py_DECREF(n)
    return n, nr


def n_outputs(Node node not None) -> int:
    """How many outputs the forward operation had: the gradients that the Node takes."""
    return node.s.n_outputs


def output_facts(Node node not None, output_nr: int) -> tuple[tuple[int, ...], object] | None:
    """Shape and dtype of an output of the forward operation; None where it has no gradient."""
    cdef NodeState* s = &node.s
    cdef Tensor leaf
    cdef IntList* facts
    cdef int i, nr = output_nr
    if s.flags & FLAG_ACCUMULATE:
        leaf = <Tensor>s.payload
        return tuple([leaf.a.shape[i] for i in range(leaf.a.ndim)]), dtype_object(leaf.a.dtype)
    if nr == 0 and s.out_ndim >= 0:
        return tuple([s.out_shape[i] for i in range(s.out_ndim)]), dtype_object(s.out_dtype)
    if s.outputs == NULL or s.outputs[nr] == NULL:
        return None
    facts = s.outputs[nr]
    return tuple([facts.v[i] for i in range(1, facts.n)]), dtype_object(<int>facts.v[0])


class InputMetadata(NamedTuple):
    """What is known of an output of a forward operation, and so of the gradient that comes in there."""

    shape: list
    dtype: object
    device: object
    is_nested_tensor: object = False         # torch has tensors of tensors
    is_cpp_nested_tensor: object = False


def input_metadata(Node node not None) -> tuple[InputMetadata | None, ...]:
    """Of each gradient that the Node is given; None for an output of a custom Function that has none."""
    cdef list found = []
    for nr in range(node.s.n_outputs):
        facts = output_facts(node, nr)
        found.append(None if facts is None else InputMetadata(list(facts[0]), facts[1], device("cpu")))
    if node.s.payload == NULL or not isinstance(<object>node.s.payload, FunctionCtx):
        while found and found[len(found) - 1] is None:
            found.pop()                      # indices and the like, which never have a gradient
    return tuple(found)


def view_origin(Tensor tensor not None) -> tuple[str | None, int]:
    """Name and output number of the Node that made a view (None: nothing was recorded then), without making it again."""
    return (None if tensor.grad_fn_ is None else tensor.grad_fn_.name()), tensor.output_nr_


def view_kind(Tensor tensor not None) -> int:
    """The ViewKind of a view."""
    return tensor.view_kind


def saved_bytes(Node node not None) -> list[tuple[str, int, int]]:
    """For each tensor that a Node saved and still holds: its name, the bytes of its storage, and a number that tells storages apart."""
    cdef int k
    cdef Storage* storage
    cdef bint numbered
    cdef list out = []
    node_lock_take(&node.s)
    for k in range(node.s.n_saved):
        if node.s.saved[k].array == NULL:
            continue
        storage = node.s.saved[k].array.storage
        numbered = node.s.type.saved_scalar[k] == b"l"          # one of a list of tensors: the custom Function's saved_tensors
        out.append((node.s.type.saved_names[k].decode() + (f"[{k}]" if numbered else ""), storage.nbytes, <size_t>storage))
    node_lock_give(&node.s)
    return out


def set_version(Tensor tensor not None, version: int) -> None:
    """Say how often the tensor's memory was written; RuntimeError for inference tensors and for numbers that are no count."""
    if tensor.a.storage.inference:
        raise RuntimeError("cygrad: Inference tensors do not track version counter.")
    if version < 0:
        raise RuntimeError(f"cygrad: a version is a count of writes and cannot be {version}")
    tensor.version.value = version


def bump_version(Tensor tensor not None) -> None:
    """One write to the tensor's memory that cygrad did not see. Nothing happens to inference tensors."""
    if not tensor.a.storage.inference:
        version_bump(tensor, b"increment_version")
