"""Writes the JVPs of a family: for each operation the tangent of its result, from those of its inputs.

They stand in recorded_<family>.pyx, since they are of the same make as the recorded VJPs: formulas on Tensors that call
operations of every family. NodeType.jvp leads to them.
"""

from __future__ import annotations

from codegen.emit_ops import indented
from codegen.formula import Expression
from codegen.forward_calls import jvp_parameters, jvp_result
from codegen.results import ELEMENT_WISE, LINEAR, PRODUCT, tangent_name
from codegen.schema import Argument, Kind
from codegen.table import Operation
from codegen.writer import Module, TensorWriter, local


def emit_jvp(module: Module, o: Operation) -> list[str]:
    """`jvp_<name>`: None where no input has a tangent."""
    return JvpWriter(module, o).write()


class JvpWriter:
    """One operation."""

    def __init__(self, module: Module, o: Operation) -> None:
        self.module = module
        self.o = o
        self.declarations: list[str] = []

    def write(self) -> list[str]:
        """The function: it runs with forward mode off, so that the primals it reads count as plain tensors."""
        o = self.o
        assert o.tangents is not None
        rule = o.tangents.rule
        body = self.linear() if rule == LINEAR else self.sums()
        inputs = [a for a in o.signature.arguments if a.name in o.gradients]
        self.declarations.append("cdef int modes_")
        for a in inputs:
            kind, read = ("list", "tangents_of") if a.kind is Kind.TENSORS else ("Tensor", "tangent_of")
            self.declarations.append(f"cdef {kind} {tangent_name(a.name)} = {read}({local(a.name)})")
        lines = [
            *self.declarations,
            f"if {' and '.join(f'{tangent_name(a.name)} is None' for a in inputs)}:",
            "    return None",
            "modes_ = forward_pause()",
            "try:",
            *indented(body),
            "finally:",
            "    set_thread_modes(modes_)",
        ]
        return ["", f"cdef {jvp_result(o)} jvp_{o.identifier}({jvp_parameters(o)}):", *indented(lines), ""]

    def writer(self, number: int, tensors: dict[str, str]) -> TensorWriter:
        """A writer of formulas that read the operation's arguments."""
        arguments = self.o.signature.arguments
        numbers = {a.name: local(a.name) for a in arguments if not a.kind.is_array and a.kind is not Kind.TENSORS}
        named = {a.name: local(a.name) for a in arguments if a.kind.is_array or a.kind is Kind.TENSORS}
        if self.o.outputs:
            named |= {name: f"(<Tensor>result_[{i}])" for i, name in enumerate(self.o.outputs)}
        else:
            named["result"] = "result_"
        return TensorWriter(self.module, numbers, {**named, **tensors}, prefix=f"{number}_")

    def own_call(self, replaced: Argument) -> str:
        """The operation itself, on a tangent in place of its primal."""
        given = [tangent_name(a.name) if a is replaced else local(a.name) for a in self.o.signature.arguments]
        return f"{self.module.recorded(self.o.identifier)}({', '.join(given)})"

    def linear(self) -> list[str]:
        """The operation itself, on the tangents."""
        argument = next(a for a in self.o.signature.arguments if a.name in self.o.gradients)
        call = self.own_call(argument)
        if len(self.o.outputs) < 2 or len(self.o.differentiable_outputs) == len(self.o.outputs):
            return [f"return {call}"]
        silent = [i for i in range(len(self.o.outputs)) if i not in self.o.differentiable_outputs]
        self.declarations.append("cdef list out_")
        return [f"out_ = {call}", *(f"out_[{i}] = None" for i in silent), "return out_"]

    def sums(self) -> list[str]:
        """A sum of terms, one for each input that has a tangent."""
        o = self.o
        assert o.tangents is not None
        several = bool(o.outputs)
        terms: list[tuple[int, str, list[str], str]] = []
        for k, argument in enumerate(a for a in o.signature.arguments if a.name in o.gradients):
            name = argument.name
            tangent = tangent_name(name)
            if o.tangents.rule == PRODUCT:
                terms.append((0, name, [], self.own_call(argument)))
            elif o.tangents.rule == ELEMENT_WISE:
                conj = self.module.recorded("conj")
                self.declarations.append(f"cdef Tensor g_{k}_")
                text = self.formula(k, o.gradients[name], {"grad": f"g_{k}_"})
                # the derivative of a holomorphic function: the VJP gives its conjugate times the gradient
                terms.append((0, name, [f"g_{k}_ = {conj}({tangent})"], f"{conj}({text})"))
            else:
                for j, term in enumerate(t for t in o.tangents.terms if t.input == name):
                    text = self.formula(10 * k + j, term.formula, {tangent: tangent})
                    terms.append((term.output, name, [], text))
        outputs = range(len(o.outputs)) if several else [0]
        self.declarations += [f"cdef Tensor sum_{i}_ = None" for i in outputs]
        lines: list[str] = []
        begun: set[int] = set()
        for output, name, before, text in terms:
            total, tangent = f"sum_{output}_", tangent_name(name)
            if not o.view:
                text = f"tangent_fresh({text}, {tangent})"
            value = f"tangent_add({total}, {text})" if output in begun else text
            begun.add(output)
            statements = [*before, f"{total} = {value}"]
            one = len(o.gradients) == 1  # whose tangent is there, or nothing is computed
            lines += statements if one else [f"if {tangent} is not None:", *indented(statements)]
        return [*lines, f"return [{', '.join(f'sum_{i}_' for i in outputs)}]" if several else "return sum_0_"]

    def formula(self, number: int, expression: Expression, tensors: dict[str, str]) -> str:
        """One formula."""
        writer = self.writer(number, tensors)
        text = writer.tensor(expression)
        self.declarations += writer.declarations
        return text
