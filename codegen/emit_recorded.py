"""Writes recorded_<family>.pyx: the VJPs on Tensors, which a backward with create_graph runs, and the JVPs.

Why apart from ops_<family>: the formulas of one family call operations of every other; these modules are imported
when all operations exist.
"""

from __future__ import annotations

from codegen.emit_forward import emit_jvp
from codegen.emit_ops import indented, missing_text, saved_numbers
from codegen.formula import Expression
from codegen.schema import Kind
from codegen.table import Operation, Table
from codegen.writer import HEADER, Module, TensorWriter, local

HEAD = (
    HEADER
    + """from libc.math cimport INFINITY, NAN
from libc.stdint cimport uint64_t
from cygrad._core.array cimport Array, IntList
from cygrad._core.dtypes cimport is_complex_code, is_float_code
from cygrad._core.forward cimport forward_pause, tangent_add, tangent_fresh, tangent_of, tangents_of
from cygrad._core.grad_mode cimport set_thread_modes
from cygrad._core.node cimport NodeState
from cygrad._core.operation cimport *
from cygrad._core.geometry cimport *
from cygrad._core.recording cimport unpack_tensor
from cygrad._core.tensor cimport Tensor, tensor_number, tensor_wrap
"""
)


class RecordedEmitter:
    """One family."""

    def __init__(self, table: Table, family: str) -> None:
        self.table = table
        self.family = family
        self.module = Module(f"recorded_{family}", table)
        self.body: list[str] = []
        self.setup: list[str] = []

    def emit(self) -> str:
        """The .pyx; empty if no operation of the family has a formula."""
        for operation in self.table.of_family(self.family):
            if operation.gradients:
                self.operation(operation)
            if operation.tangents is not None:
                self.body += emit_jvp(self.module, operation)
                self.setup.append(f"NT_{operation.identifier}.jvp = <void*>jvp_{operation.identifier}")
        if not self.setup:
            return ""
        types = ", ".join(f"NT_{o.identifier}" for o in self.table.of_family(self.family) if o.gradients)
        imports = f"from cygrad._core.generated.ops_{self.family} cimport {types}"
        pyx = [
            HEAD,
            imports,
            *self.module.header(),
            *self.body,
            "",
            "cdef int setup_() except -1:",
            *indented(self.setup),
            "    return 0",
            "",
            "setup_()",
            "",
        ]
        return "\n".join(pyx)

    def operation(self, o: Operation) -> None:
        """`recorded_<name>`."""
        saved = {s.name: k for k, s in enumerate(o.saved)}
        tensors = {name: local(name) for name in saved}
        single = len(o.differentiable_outputs) == 1 and not o.returns_list
        if single:
            tensors["grad"] = "grad"
        else:
            tensors["grads"] = "grads_"
            for i in range(max(len(o.outputs), 1)):
                tensors[f"grads[{i}]"] = f"(<Tensor>grads_[{i}])"
        declarations: list[str] = []
        body: list[str] = []
        if o.missing:
            self.body += [
                "",
                f"cdef list recorded_{o.identifier}(NodeState* node_, list grads_, uint64_t need_):",
                f'    raise RuntimeError("{missing_text(o)}")',
                "",
            ]
            self.setup.append(f"NT_{o.identifier}.recorded = recorded_{o.identifier}")
            return
        if single:
            body += [f"grad = <Tensor>grads_[{o.differentiable_outputs[0]}]", "if grad is None:", "    return out_"]
        unpacked: set[str] = set()
        repeated: set[str] = set()
        for edge, expression in enumerate(o.gradients.values()):
            writer = TensorWriter(self.module, saved_numbers(o), tensors, prefix=f"{edge}_")
            text = writer.tensor(expression)
            declarations += writer.declarations
            # Unpacking may run a hook, which shall see each saved tensor once a backward.
            used = [s.name for s in o.saved if edge in s.needed_by]
            unpack = [
                (f"if {local(n)} is None: " if n in unpacked else "") + f"{local(n)} = unpack_tensor(node_, {saved[n]})"
                for n in used
            ]
            repeated.update(unpacked.intersection(used))
            unpacked.update(used)
            if o.list_input:
                body += [*unpack, f"return {text}"]
            else:
                body += [f"if need_ & {1 << edge}:", *indented([*unpack, f"out_[{edge}] = {text}"])]
        if not o.list_input:
            body.append("return out_")
        head = [
            f"cdef list recorded_{o.identifier}(NodeState* node_, list grads_, uint64_t need_):",
            f"    cdef list out_ = [None] * {'node_.n_edges' if o.list_input else len(o.edges)}",
        ]
        if single:
            head.append("    cdef Tensor grad")
        head += [f"    cdef Tensor {local(s.name)}{' = None' if s.name in repeated else ''}" for s in o.saved]
        self.body += ["", *head, *indented(declarations), *indented(body), ""]
        self.setup.append(f"NT_{o.identifier}.recorded = recorded_{o.identifier}")


def is_list(expression: Expression) -> bool:
    """The expression gives a list of tensors."""
    return expression.kind is Kind.TENSORS
