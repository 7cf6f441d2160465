"""Writes ops_<family>.pyx/.pxd: for each operation its function on Tensors, its VJP on Arrays and its NodeType.

Why it exists: this is the code that runs for every operation a user calls; it must be what one would write by hand.
"""

from __future__ import annotations

from codegen.formula import AsArray, Call, Constant, Expression, Variable, walk
from codegen.forward_calls import after_write, before_write, give_tangents, jvp_type
from codegen.schema import Argument, Kind, TableError
from codegen.table import Operation, SavedValue, Table, fact_name
from codegen.writer import (
    HEADER,
    ArrayWriter,
    Module,
    TensorWriter,
    direct_kernel,
    is_nogil,
    local,
    nogil_target,
    parameters_text,
)

PXD_HEAD = (
    HEADER
    + """from libc.stdint cimport uint64_t
from cygrad._core.array cimport Array, IntList
from cygrad._core.node cimport NodeState, NodeType
from cygrad._core.tensor cimport Tensor
"""
)

PYX_HEAD = (
    HEADER
    + """from libc.math cimport INFINITY, NAN
from libc.stdint cimport uint64_t
from cygrad._core.array cimport (
    Array, IntList, array_incref, array_decref, scalar_bool, scalar_int, scalar_double, scalar_complex)
from cygrad._core.dtypes cimport is_complex_code, is_float_code
from cygrad._core.errors cimport raise_pending, error_pending, fail, ERR_RUNTIME
from cygrad._core.atomics cimport unlikely
from cygrad._core.forward cimport (
    forward_open, forward_on, boxed, any_boxed, forward_refuse, tangent_set, tangents_set, tangent_set_view,
    tangents_set_views, tangent_write, written_old)
from cygrad._core.grad_mode cimport grad_enabled, inference_used
from cygrad._core.node cimport (
    Node, NodeState, NodeType, node_new, node_watcher, unpack_array, saved_check, val_set_int, val_set_float,
    VAL_NONE, WATCH_VALUES)
from cygrad._core.operation cimport *
from cygrad._core.geometry cimport *
from cygrad._core.kernels.formats cimport lies_as
from cygrad._core.inplace cimport (
    inplace_check, inplace_check_recorded, inplace_check_graph, inplace_history, inplace_saved, overlap_check,
    overlap_warn)
from cygrad._core.recording cimport edge_set, save_input, save_output, history_set, view_set, view_set_kind
from cygrad._core.tensor cimport Tensor, tensor_wrap, tensor_number, is_inference, needs_grad, VIEW_MULTI_OUTPUT
"""
)

APPLY_PARAMETERS = "NodeState* node_, Array** grads_, Array** gout, uint64_t need_"

VAL_KINDS = {
    Kind.INT: "0",
    Kind.BOOL: "1",
    Kind.FLOAT: "2",
    Kind.INTS: "3",
    Kind.DTYPE: "4",
    Kind.INT_OPT: "5",
    Kind.INTS_OPT: "6",
    Kind.STR: "7",
    Kind.STR_OPT: "7",
    Kind.DTYPE_OPT: "4",
}


def indented(lines: list[str], by: int = 1) -> list[str]:
    """The lines, moved right."""
    return ["    " * by + line if line else line for line in lines]


def has_apply(table: Table, operation: Operation) -> bool:
    """Whether the VJP has a form without the GIL."""
    if operation.missing:
        return True
    for expression in operation.gradients.values():
        if expression.kind is Kind.TENSORS:
            if not list_kernel(table, expression):
                return False
        elif operation.returns_list:
            if not (isinstance(expression, Call) and expression.function.name in table.kernels):
                return False
        elif not is_nogil(table, expression):
            return False
    return bool(operation.gradients)


def list_kernel(table: Table, expression: Expression) -> bool:
    """The formula of a list input is one kernel `int name(..., Array** gout)`."""
    return (
        isinstance(expression, Call)
        and expression.function.name in table.kernels
        and table.kernels[expression.function.name].several
    )


def value_text(value: SavedValue, k: int) -> str:
    """A saved value as a C expression."""
    if value.kind in (Kind.INTS, Kind.INTS_OPT):
        return f"(<const IntList*>node_.vals[{k}].list)"
    if value.kind is Kind.FLOAT:
        return f"node_.vals[{k}].d"
    if value.kind in (Kind.DTYPE, Kind.DTYPE_OPT, Kind.STR, Kind.STR_OPT):
        return f"<int>node_.vals[{k}].i"
    return f"node_.vals[{k}].i"


def saved_numbers(operation: Operation) -> dict[str, str]:
    """Saved values by the name that formulas use."""
    return {
        (f"{fact_name(v.fact)}()" if v.fact is not None else v.name): value_text(v, k)
        for k, v in enumerate(operation.values)
    }


def uses(expression: Expression, name: str) -> int:
    """How often a variable is read."""
    return sum(isinstance(e, Variable) and e.name == name for e in walk(expression))


def missing_text(operation: Operation) -> str:
    """The refusal to go back through an operation that has no derivative."""
    name = operation.signature.name
    return f"cygrad: derivative for {name} is not implemented: detach() its inputs if no gradient is wanted"


def refusal_text(operation: Operation, name: str) -> str:
    """The refusal of an input that requires grad and has no derivative."""
    function = operation.signature.name.removesuffix("_forward")
    return (
        f"cygrad: the function '{function}' is not differentiable with respect to argument '{name}'. "
        "This input cannot have requires_grad True: detach() it"
    )


class OpsEmitter:
    """One family."""

    def __init__(self, table: Table, family: str) -> None:
        self.table = table
        self.family = family
        self.operations = table.of_family(family)
        own = {o.identifier for o in self.operations}
        self.module = Module(f"ops_{family}", table, own)
        self.pxd: list[str] = []
        self.body: list[str] = []
        self.setup: list[str] = []
        self.setup_late: list[str] = []

    def emit(self) -> tuple[str, str]:
        """The .pyx and the .pxd."""
        for operation in self.operations:
            self.operation(operation)
        self.setup += self.setup_late
        pyx = [PYX_HEAD, *self.module.header(), *self.body, ""]
        if self.setup:
            pyx += ["cdef int setup_() except -1:", *indented(self.setup), "    return 0", "", "setup_()", ""]
        return "\n".join(pyx), PXD_HEAD + "\n" + "\n".join(self.pxd) + "\n"

    # ---- one operation

    def operation(self, o: Operation) -> None:
        """Everything of one operation."""
        if nogil_target(self.table, o.identifier) == f"fwd_{o.identifier}":
            self.forward_function(o)
        if o.gradients:
            self.pxd.append(f"cdef NodeType NT_{o.identifier}")
            apply = "NULL"
            if has_apply(self.table, o):
                self.apply(o)
                apply = f"apply_{o.identifier}"
            saved = ",".join(s.name for s in o.saved)
            for v in o.values:
                if v.choices:
                    self.setup_late.append(
                        f'node_type_choices(&NT_{o.identifier}, b"{v.name}", b"{",".join(v.choices)}")'
                    )
            for name, value in o.constants.items():
                self.setup_late.append(f'node_type_constant(&NT_{o.identifier}, b"{name}", {value})')
            kinds = "".join("s" if s.scalar else "t" for s in o.saved)
            values = ",".join(("!" if v.name in o.hides else "") + v.name for v in o.values)
            value_kinds = "".join(VAL_KINDS[v.kind] for v in o.values)
            outputs = max(len(o.outputs), 1)
            self.body.append(f"cdef NodeType NT_{o.identifier}")
            if o.tangents is not None:
                self.pxd.append(jvp_type(o))
            self.setup.append(
                f'node_type_set(&NT_{o.identifier}, b"{o.node}", {apply}, {outputs}, '
                f'b"{saved}", b"{kinds}", b"{values}", b"{value_kinds}")'
            )
        self.function(o, inplace=False)
        if o.inplace:
            self.function(o, inplace=True)

    def forward_function(self, o: Operation) -> None:
        """`fwd_<name>`: the forward on Arrays, where it is more than one kernel call."""
        expression = o.forward or o.compose
        assert expression is not None
        arguments = o.signature.arguments
        writer = ArrayWriter(self.module, *scopes(arguments, nogil=True))
        result = writer.result(expression)
        signature = f"cdef Array* fwd_{o.identifier}({parameters_text(arguments, True)}) noexcept nogil"
        self.pxd.append(signature)
        self.body += ["", signature + ":", *indented([*writer.declarations, *writer.lines])]
        cleanup = writer.cleanup()
        if cleanup:
            self.body += indented([f"cdef Array* result_ = {result}", *cleanup, "return result_"])
        else:
            self.body += indented([f"return {result}"])
        self.body.append("")

    # ---- the VJP

    def apply(self, o: Operation) -> None:
        """`apply_<name>`: the formulas on Arrays."""
        if o.missing:
            self.body += [
                "",
                f"cdef int apply_{o.identifier}({APPLY_PARAMETERS}) noexcept nogil:",
                f'    return fail(ERR_RUNTIME, b"{missing_text(o)}")',
                "",
            ]
            return
        listed = o.list_input is not None
        single = len(o.differentiable_outputs) == 1 and not o.returns_list
        saved = {s.name: k for k, s in enumerate(o.saved)}
        numbers = saved_numbers(o)
        writers: list[tuple[str, Expression, ArrayWriter, str]] = []
        tensors = {name: local(name) for name in saved}
        if single:
            tensors["grad"] = "grad"
        for i in range(max(len(o.outputs), 1)):
            tensors[f"grads[{i}]"] = f"grads_[{i}]"
        declarations: list[str] = []
        for edge, (name, expression) in enumerate(o.gradients.items()):
            writer = ArrayWriter(self.module, numbers, tensors, prefix=f"{edge}_")
            if o.returns_list:
                assert isinstance(expression, Call)
                kernel = self.table.kernels[expression.function.name]
                text = f"{self.module.kernel(kernel.name)}({', '.join(writer.arguments(expression, kernel))})"
                writers.append((name, expression, writer, text))
            elif not listed:
                writers.append((name, expression, writer, writer.result(expression)))
            else:
                assert isinstance(expression, Call)
                kernel = self.table.kernels[expression.function.name]
                text = (
                    f"{self.module.kernel(kernel.name)}({', '.join([*writer.arguments(expression, kernel), 'gout'])})"
                )
                writers.append((name, expression, writer, text))
            declarations += writer.declarations
        lines = [f"cdef int apply_{o.identifier}({APPLY_PARAMETERS}) noexcept nogil:"]
        body: list[str] = []
        if single:
            body += [f"cdef Array* grad = grads_[{o.differentiable_outputs[0]}]", "cdef int rc_ = 0"]
        else:
            body.append("cdef int rc_ = 0")
        body += [f"cdef Array* {local(s.name)} = NULL" for s in o.saved]
        body += declarations
        if single:
            body += ["if grad == NULL:", "    return 0"]
        guard = single and self.reuses_grad(o)
        if guard:
            body.append(
                "array_incref(grad)  # a kernel may overwrite a gradient that nobody else holds; it is read twice here"
            )
        if listed:
            (_, expression, writer, text) = writers[0]
            body += [self.unpack(s.name, saved) for s in o.saved]
            body += writer.lines
            body += [f"if {text} != 0:", "    rc_ = -1", *writer.cleanup()]
        else:
            unpacked: set[str] = set()
            everywhere = [s for s in o.saved if len(o.gradients) > 1 and len(s.needed_by) > 1]
            for s in everywhere:
                mask = sum(1 << e for e in s.needed_by)
                body += [f"if need_ & {mask}:", f"    {self.unpack(s.name, saved)}"]
                unpacked.add(s.name)
            for edge, (_, expression, writer, text) in enumerate(writers):
                inner = [self.unpack(s.name, saved) for s in o.saved if edge in s.needed_by and s.name not in unpacked]
                inner += writer.lines
                inner += [f"gout[{edge}] = {text}"]
                inner += writer.cleanup()
                if not self.may_be_null(expression):
                    inner += [f"if gout[{edge}] == NULL:", "    rc_ = -1"]
                else:
                    inner += [f"if gout[{edge}] == NULL and error_pending():", "    rc_ = -1"]
                body += [f"if need_ & {1 << edge}:", *indented(inner)]
        if guard:
            body.append("array_decref(grad)")
        body.append("return rc_")
        self.body += ["", *lines, *indented(body), ""]

    def unpack(self, name: str, saved: dict[str, int]) -> str:
        """The statement that fetches a saved Array."""
        return f"{local(name)} = unpack_array(node_, {saved[name]})"

    def may_be_null(self, expression: Expression) -> bool:
        """The formula may say None: no gradient."""
        return any(isinstance(e, Constant) and e.value is None and e.kind.is_array for e in walk(expression))

    def reuses_grad(self, o: Operation) -> bool:
        """Some `..._backward...` kernel is called, and the gradient is read more than once."""
        reads = sum(uses(e, "grad") for e in o.gradients.values())
        kernels = any(
            isinstance(part, Call) and "_backward" in part.function.name
            for e in o.gradients.values()
            for part in walk(e)
        )
        return reads > 1 and kernels

    # ---- the function on Tensors

    def function(self, o: Operation, inplace: bool) -> None:
        """The operation itself."""
        name = o.identifier + ("_" if inplace else "")
        arguments = o.signature.arguments
        result = (
            "list"
            if (o.outputs or o.returns_list) and not inplace
            else "object"
            if o.signature.returns == ("bool",)
            else "Tensor"
        )
        signature = f"cdef {result} {name}({parameters_text(arguments, False)})"
        self.pxd.append(signature)
        lines: list[str] = []
        declarations: list[str] = []
        for condition, message in o.checks:
            checker = TensorWriter(self.module, *scopes(arguments, nogil=False))
            lines += [f"if not {checker.value(condition)}:", f'    raise RuntimeError("cygrad: {message}")']
        if o.compose is not None:
            if inplace:
                self.inplace_composition(o, lines, declarations)
            else:
                writer = TensorWriter(self.module, *scopes(arguments, nogil=False))
                text = writer.tensor(o.compose)
                declarations += writer.declarations
                lines.append(f"return {text}.item()" if result == "object" else f"return {text}")
        elif inplace:
            self.inplace_body(o, lines, declarations)
        else:
            self.forward_body(o, lines, declarations)
        self.body += ["", signature + ":", *indented([*declarations, *lines]), ""]

    def inplace_composition(self, o: Operation, lines: list[str], declarations: list[str]) -> None:
        """The in-place variant of a composition: that of its outermost operation."""
        call = o.compose
        inner = self.table.operations.get(call.function.name) if isinstance(call, Call) else None
        first = o.signature.arguments[0].name
        if (
            not isinstance(call, Call)
            or inner is None
            or not inner.inplace
            or not (isinstance(call.arguments[0], Variable) and call.arguments[0].name == first)
        ):
            raise TableError(
                f"{o.raw.file}:{o.raw.line}: {o.raw.text('name')}: inplace: "
                f"the composition must end in an in-place operation on {first!r}"
            )
        writer = TensorWriter(self.module, *scopes(o.signature.arguments, nogil=False))
        name = self.module.recorded(call.function.name, inplace=True)
        text = f"return {name}({', '.join(writer.arguments(call))})"
        declarations += writer.declarations
        lines.append(text)

    def forward_body(self, o: Operation, lines: list[str], declarations: list[str]) -> None:
        """Forward, wrapping, recording."""
        several = bool(o.outputs) or o.returns_list
        if o.signature.returns == ("bool",):
            assert isinstance(o.forward, Call)
            writer = TensorWriter(self.module, *scopes(o.signature.arguments, nogil=False))
            text = f"{self.module.kernel(o.forward.function.name)}({', '.join(self.flag_arguments(o.forward, writer))})"
            declarations += ["cdef int out_", *writer.declarations]
            lines += [f"out_ = {text}", "if out_ < 0:", "    raise_pending()", "return out_ != 0"]
            return
        for name in o.refuses:
            lines += [
                f"if needs_grad({local(name)}) and grad_enabled():",
                f'    raise RuntimeError("{refusal_text(o, name)}")',
            ]
        if o.returns_list:
            self.counted_forward(o, lines, declarations)
        elif several:
            self.several_forward(o, lines, declarations)
        else:
            lines += self.run_forward(o, declarations)
            declarations.append("cdef Tensor result_")
            if o.gradients:
                lines += ["if out_ == NULL:", f"    stale_refuse(({', '.join(map(local, o.edges))},))"]
            lines.append(f'result_ = result_wrap(out_, b"{o.signature.name}")')
            if o.view:
                lines.append(f"view_set(result_, {local(o.signature.arguments[0].name)})")
        if o.gradients:
            lines += self.record(o, declarations, several)
            lines += give_tangents(o)
        lines += [*self.watch(o, several), "return result_"]

    def run_forward(self, o: Operation, declarations: list[str]) -> list[str]:
        """Statements that leave the result in `out_`."""
        arguments = o.signature.arguments
        arrays = [a for a in arguments if a.kind.is_array]
        declarations.append("cdef Array* out_")
        listed = [a for a in arguments if a.kind is Kind.TENSORS]
        if listed:
            return self.list_forward(o, listed[0], declarations)
        kernel = direct_kernel(o)
        if (
            kernel is not None
            and "_backward" not in kernel
            and len(arrays) == len(arguments) <= 3
            and all(a.kind is Kind.TENSOR or a.kind is Kind.SCALAR for a in arrays)
            and not self.table.kernels[kernel].has_out
        ):
            given = ", ".join(f"{local(a.name)}.a" for a in arrays)
            return [f"out_ = run{len(arrays)}({self.module.kernel(kernel)}, {given})"]
        target = nogil_target(self.table, o.identifier)
        simple = isinstance(o.forward, Call) and all(_is_leaf(a) for a in o.forward.arguments)
        before: list[str] = []
        names: dict[str, str] = {}
        for a in arrays:
            names[a.name] = f"a_{a.name}_"
            declarations.append(
                f"cdef Array* a_{a.name}_ = "
                + (f"array_of({local(a.name)})" if a.kind.is_optional else f"{local(a.name)}.a")
            )
        if simple:
            assert isinstance(o.forward, Call)
            writer = ArrayWriter(self.module, scopes(arguments, nogil=False)[0], names)
            text = writer.call(o.forward)
            declarations += writer.declarations
            before = writer.lines
            if writer.temporaries:
                raise TableError(f"{o.identifier}: internal: temporaries in a simple forward")
        elif target is not None:
            passed = [names[a.name] if a.kind.is_array else local(a.name) for a in arguments]
            text = f"{target}({', '.join(passed)})"
        else:
            raise TableError(f"{o.raw.file}:{o.raw.line}: {o.raw.text('name')}: forward: has no form on Arrays")
        statements = self.guarded(f"out_ = {text}", list(names.values()), declarations)
        if arrays and any(
            isinstance(e, Call) and "_backward" in e.function.name for e in walk(o.forward or Constant(Kind.BOOL, True))
        ):
            first = names[
                arrays[0].name
            ]  # such kernels may write into a gradient that nobody else holds; here a Tensor does
            statements = [f"array_incref({first})", *statements, f"array_decref({first})"]
        return [*before, *statements]

    def guarded(self, statement: str, arrays: list[str], declarations: list[str]) -> list[str]:
        """The call of a kernel, without the GIL where the work is large."""
        if not arrays:
            return [statement]
        size = " + ".join(f"elements_of({a})" for a in arrays)
        declarations.append("cdef PyThreadState* thread_")
        return [f"thread_ = gil_leave({size})", statement, "gil_return(thread_)"]

    def list_forward(self, o: Operation, listed: Argument, declarations: list[str]) -> list[str]:
        """The forward of an operation on a list of tensors."""
        if not isinstance(o.forward, Call) or o.forward.function.origin != "kernel":
            raise TableError(
                f"{o.raw.file}:{o.raw.line}: {o.raw.text('name')}: forward: an operation on a list calls one kernel"
            )
        name = local(listed.name)
        declarations += ["cdef Array** arrays_", "cdef int count_"]
        numbers = scopes(o.signature.arguments, nogil=False)[0]
        writer = ArrayWriter(
            self.module,
            numbers,
            {a.name: f"array_of({local(a.name)})" for a in o.signature.arguments if a.kind.is_array},
        )
        writer.lists[listed.name] = "arrays_, count_"
        given = writer.arguments(o.forward, self.table.kernels[o.forward.function.name])
        declarations += writer.declarations
        return [
            f"count_ = <int>len({name})",
            f'arrays_ = arrays_take({name}, b"{o.signature.name}")',
            *writer.lines,
            f"out_ = {self.module.kernel(o.forward.function.name)}({', '.join(given)})",
            "arrays_give(arrays_, count_)",
        ]

    def several_forward(self, o: Operation, lines: list[str], declarations: list[str]) -> None:
        """The forward of an operation with several results, through `int kernel(..., Array** outs)`."""
        if not isinstance(o.forward, Call) or o.forward.function.origin != "kernel":
            raise TableError(
                f"{o.raw.file}:{o.raw.line}: {o.raw.text('name')}: forward: several results need one kernel with outs"
            )
        arrays = {a.name: f"a_{a.name}_" for a in o.signature.arguments if a.kind.is_array}
        declarations += [
            f"cdef Array* {arrays[a.name]} = array_of({local(a.name)})"
            for a in o.signature.arguments
            if a.kind.is_array
        ]
        writer = ArrayWriter(self.module, scopes(o.signature.arguments, nogil=False)[0], arrays)
        given = writer.arguments(o.forward, self.table.kernels[o.forward.function.name])
        declarations += writer.declarations
        count = len(o.outputs)
        declarations += [f"cdef Array* outs_[{count}]", "cdef int status_", "cdef list result_"]
        lines += writer.lines
        lines += self.guarded(
            f"status_ = {self.module.kernel(o.forward.function.name)}({', '.join([*given, 'outs_'])})",
            list(arrays.values()),
            declarations,
        )
        stale = [f"    stale_refuse(({', '.join(map(local, o.edges))},))"] if o.gradients else []
        lines += ["if status_ != 0:", *stale, "    raise_pending()", f"result_ = tensors_wrap(outs_, {count})"]
        lines += writer.cleanup()

    def flag_arguments(self, call: Call, writer: TensorWriter) -> list[str]:
        """The arguments of a kernel that gives a number, with the GIL."""
        return [
            writer.array_text(a.name) if p.kind.is_array and isinstance(a, Variable) else writer.number_argument(a, p)
            for a, p in zip(call.arguments, call.function.parameters, strict=True)
        ]

    def counted_forward(self, o: Operation, lines: list[str], declarations: list[str]) -> None:
        """The forward of an operation whose results are counted at run time (split, unbind)."""
        if not isinstance(o.forward, Call) or o.forward.function.origin != "kernel" or o.count is None:
            raise TableError(
                f"{o.raw.file}:{o.raw.line}: {o.raw.text('name')}: forward: "
                "a list of results needs one kernel with outs, and a count"
            )
        stale = [f"    stale_refuse(({', '.join(map(local, o.edges))},))"] if o.gradients else []
        numbers, tensors = scopes(o.signature.arguments, nogil=False)
        counter = TensorWriter(self.module, numbers, tensors)
        writer = ArrayWriter(self.module, numbers, {name: f"{text}.a" for name, text in tensors.items()})
        given = writer.arguments(o.forward, self.table.kernels[o.forward.function.name])
        source = local(o.signature.arguments[0].name)
        declarations += [
            *counter.declarations,
            *writer.declarations,
            "cdef Py_ssize_t count_",
            "cdef Py_ssize_t i_",
            "cdef Array** outs_",
            "cdef int status_",
            "cdef list result_",
        ]
        lines += [
            f"count_ = {counter.value(o.count)}",
            "if count_ < 0:",
            *stale,
            "    raise_pending()",
            "outs_ = arrays_new(count_)",
            *writer.lines,
            f"status_ = {self.module.kernel(o.forward.function.name)}({', '.join([*given, 'outs_'])})",
            "if status_ != 0:",
            "    arrays_free(outs_, count_)",
            *stale,
            "    raise_pending()",
            "result_ = tensors_wrap(outs_, <int>count_)",
            "arrays_free(outs_, count_)",
        ]
        if o.view:
            made = f"view_set_kind(<Tensor>result_[i_], {source}, VIEW_MULTI_OUTPUT)"
            lines += ["for i_ in range(count_):", f"    {made}"]

    def condition(self, o: Operation) -> str:
        """Whether some input needs a gradient."""
        tests = []
        for a in o.signature.arguments:
            if a.name in o.gradients:
                name = local(a.name)
                tests.append(f"any_needs_grad({name})" if a.kind is Kind.TENSORS else f"needs_grad({name})")
        return tests[0] if len(tests) == 1 else "(" + " or ".join(tests) + ")"

    def record(self, o: Operation, declarations: list[str], several: bool) -> list[str]:
        """Statements that make the node."""
        declarations.append("cdef Node n_")
        edges = o.edges
        inner = [f"n_ = node_new(&NT_{o.identifier}, {'count_' if o.list_input else len(edges)})"]
        tensor_inputs = [e for e in edges if e not in o.exact]
        broadcast = len([a for a in o.signature.arguments if a.kind.is_array]) > 1 and not several
        if o.list_input:
            declarations.append("cdef int i_")
            inner += ["for i_ in range(count_):", f"    edge_set(n_, i_, <Tensor>{local(o.list_input)}[i_], NULL)"]
        else:
            for k, name in enumerate(edges):
                if o.broadcast:
                    inner.append(f"edge_set_broadcast(n_, {k}, {local(name)})")
                else:
                    inner.append(
                        f"edge_set(n_, {k}, {local(name)}, "
                        f"{'result_.a' if broadcast and name in tensor_inputs else 'NULL'})"
                    )
        inner += self.save_inputs(o, old=None)
        inner += self.save_values(o)
        if o.returns_list:
            inner += [
                "n_.s.n_outputs = <unsigned short>count_",
                "for i_ in range(count_):",
                "    history_set(<Tensor>result_[i_], n_, <int>i_)",
            ]
        elif several:
            for i in o.differentiable_outputs:
                inner.append(f"history_set(<Tensor>result_[{i}], n_, {i})")
        else:
            inner.append("history_set(result_, n_, 0)")
        inner += self.save_outputs(o, "result_", several)
        plain = f"not (inference_used and {self.all_inference(o)})"
        return [f"if grad_enabled() and {self.condition(o)} and {plain}:", *indented(inner)]

    def all_inference(self, o: Operation) -> str:
        """Whether all inputs are inference tensors."""
        tests = []
        for a in o.signature.arguments:
            if a.kind is Kind.TENSORS:
                tests.append(f"all_inference({local(a.name)})")
            elif a.kind.is_array and a.kind is not Kind.SCALAR:
                tests.append(f"is_inference({local(a.name)})")
        return " and ".join(tests)

    def watch(self, o: Operation, several: bool) -> list[str]:
        """Statements that show an unrecorded result to whoever watches (anomaly mode)."""
        given = ", ".join(local(a.name) for a in o.signature.arguments if a.kind.is_array or a.kind is Kind.TENSORS)
        name = f'b"{o.signature.name}"'
        results = "results_watched" if several else "result_watched"
        return ["if node_watcher.events & WATCH_VALUES:", f"    {results}({name}, result_, [{given}])"]

    def needed(self, o: Operation, needed_by: frozenset[int]) -> str | None:
        """The condition under which something is saved; None: always."""
        if len(needed_by) == len(o.edges):
            return None
        tests = [f"needs_grad({local(o.edges[e])})" for e in sorted(needed_by)]
        return " or ".join(tests)

    def save_inputs(self, o: Operation, old: str | None) -> list[str]:
        """Saved inputs, each where a formula that is wanted reads it."""
        lines = []
        for k, s in enumerate(o.saved):
            if s.is_output:
                continue
            tensor = old if old is not None and s.name == o.signature.arguments[0].name else local(s.name)
            statement = f"save_input(n_, {k}, {tensor}, {s.number})"
            test = None if s.scalar else self.needed(o, s.needed_by)
            lines += [statement] if test is None else [f"if {test}:", f"    {statement}"]
        return lines

    def save_outputs(self, o: Operation, result: str, several: bool) -> list[str]:
        """Saved results: always, as torch does, whichever input needs a gradient."""
        lines = []
        for k, s in enumerate(o.saved):
            if s.is_output:
                tensor = f"<Tensor>{result}[{s.number}]" if several else result
                statement = f"save_output(n_, {k}, {tensor}, {s.number})"
                if several and s.number not in o.differentiable_outputs:
                    statement = f"save_input(n_, {k}, {tensor}, -1)"
                lines.append(statement)
        return lines

    def save_values(self, o: Operation) -> list[str]:
        """Saved values."""
        lines = []
        for k, v in enumerate(o.values):
            if v.fact is not None:
                of = local(v.fact.of)
                if v.fact.fact == "lengths":
                    writer = TensorWriter(self.module, scopes(o.signature.arguments, nogil=False)[0], {})
                    lines.append(f"val_save_lengths(&n_.s, {k}, {of}, {writer.value(v.fact.arguments[0])})")
                elif v.fact.fact in ("sizes", "strides"):
                    statement = f"val_save_{v.fact.fact}(&n_.s, {k}, {of})"
                    test = None if v.shown_for is None else self.needed(o, frozenset([v.shown_for]))
                    lines += [statement] if test is None else [f"if {test}:", f"    {statement}"]
                else:
                    writer = TensorWriter(self.module, scopes(o.signature.arguments, nogil=False)[0], {v.fact.of: of})
                    lines.append(f"val_set_int(&n_.s, {k}, {writer.fact(v.fact)})")
            elif v.kind in (Kind.INTS, Kind.INTS_OPT):
                lines.append(f"val_save_ints(&n_.s, {k}, {local(v.name)})")
            elif v.kind is Kind.FLOAT:
                lines.append(f"val_set_float(&n_.s, {k}, {local(v.name)})")
            elif v.kind is Kind.DTYPE_OPT:
                lines.append(f"val_set_int(&n_.s, {k}, {local(v.name)} if {local(v.name)} >= 0 else VAL_NONE)")
            else:
                lines.append(f"val_set_int(&n_.s, {k}, {local(v.name)})")
        return lines

    # ---- in place

    def inplace_body(self, o: Operation, lines: list[str], declarations: list[str]) -> None:
        """The in-place variant: checks, the out-of-place kernel, the write, and a node of the same type."""
        this = local(o.signature.arguments[0].name)
        name = f'b"{o.signature.name}_"'
        check = "inplace_check_recorded" if o.gradients else "inplace_check"
        if o.expanded:
            check = "inplace_check_graph"
        recorded = f"grad_enabled() and {self.condition(o)}, " if o.gradients else ""
        lines.append(f"{check}({this}, {recorded}{name})")
        if o.expanded:
            lines.append(f"overlap_warn({this}, {name})")
        lines += [
            f"overlap_check({this}, {local(a.name)}, {o.family == 'indexing'}, {name})"
            for a in o.signature.arguments[1:]
            if a.kind is Kind.TENSOR and not (o.expanded and a.name == "value")  # which is read before the write
        ]
        lines += before_write(o, declarations)
        if o.gradients:
            # inputs are saved before the write, so that one which is the written tensor itself is stale at once
            declarations.append("cdef Node n_ = None")
            inner = [f"n_ = node_new(&NT_{o.identifier}, {len(o.edges)})"]
            broadcast = len([a for a in o.signature.arguments if a.kind.is_array]) > 1
            for k, edge in enumerate(o.edges):
                inner.append(
                    f"edge_set(n_, {k}, {local(edge)}, {this + '.a' if broadcast and edge not in o.exact else 'NULL'})"
                )
            inner += [*self.save_inputs(o, old=f"inplace_old({this})"), *self.save_values(o)]
            lines += [f"if grad_enabled() and {self.condition(o)}:", *indented(inner)]
        lines += self.inplace_kernel(o, declarations) or [
            *self.run_forward(o, declarations),
            f"inplace_write({this}, out_, {name})",
        ]
        if o.gradients:
            saved = self.save_outputs(o, this, False)
            if saved:
                saved.append(f"inplace_saved({this}, n_)")
            lines += ["if n_ is not None:", *indented([f"inplace_history({this}, n_)", *saved])]
        lines += after_write(o)
        others = ", ".join(local(a.name) for a in o.signature.arguments[1:] if a.kind.is_array)
        lines += ["if node_watcher.events & WATCH_VALUES:", f"    result_watched({name}, {this}, [{others}])"]
        lines.append(f"return {this}")

    def inplace_kernel(self, o: Operation, declarations: list[str]) -> list[str]:
        """The kernel that writes in place, where there is one: it has the name of the forward's, with an underscore."""
        forward = o.forward
        if not (
            isinstance(forward, Call) and forward.function.origin == "kernel" and all(map(_is_leaf, forward.arguments))
        ):
            return []
        kernel = self.table.kernels.get(forward.function.name + "_")
        if kernel is None or kernel.result is not Kind.INT or kernel.parameters[0] != ("target", Kind.TENSOR):
            return []
        arguments = o.signature.arguments
        names: dict[str, str] = {}
        for a in arguments:
            if a.kind.is_array:
                names[a.name] = f"a_{a.name}_"
                declarations.append(
                    f"cdef Array* a_{a.name}_ = "
                    + (f"array_of({local(a.name)})" if a.kind.is_optional else f"{local(a.name)}.a")
                )
        writer = ArrayWriter(self.module, scopes(arguments, nogil=False)[0], names)
        given = ", ".join(writer.arguments(forward, None))
        declarations += [*writer.declarations, "cdef int status_"]
        name = f'b"{o.signature.name}_"'
        return [
            *writer.lines,
            *self.guarded(f"status_ = {self.module.kernel(kernel.name)}({given})", list(names.values()), declarations),
            f"inplace_written({local(arguments[0].name)}, status_, {name})",
        ]


class HelpersEmitter:
    """ops_helpers: functions that only formulas call."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.module = Module("ops_helpers", table, set(table.helpers))

    def emit(self) -> tuple[str, str]:
        """The .pyx and the .pxd."""
        body: list[str] = []
        pxd: list[str] = []
        for name, helper in self.table.helpers.items():
            if helper.body is None:  # a function of cygrad/ops/formulas.py
                continue
            arguments = helper.signature.arguments
            if nogil_target(self.table, name) == f"fwd_{name}":
                writer = ArrayWriter(self.module, *scopes(arguments, nogil=True))
                result = writer.result(helper.body)
                signature = f"cdef Array* fwd_{name}({parameters_text(arguments, True)}) noexcept nogil"
                pxd.append(signature)
                cleanup = writer.cleanup()
                body += ["", signature + ":", *indented([*writer.declarations, *writer.lines])]
                body += indented(
                    [f"cdef Array* result_ = {result}", *cleanup, "return result_"] if cleanup else [f"return {result}"]
                )
            recorded = TensorWriter(self.module, *scopes(arguments, nogil=False))
            text = recorded.tensor(helper.body)
            signature = f"cdef Tensor {name}({parameters_text(arguments, False)})"
            pxd.append(signature)
            body += ["", signature + ":", *indented([*recorded.declarations, f"return {text}"]), ""]
        return "\n".join([PYX_HEAD, *self.module.header(), *body, ""]), PXD_HEAD + "\n" + "\n".join(pxd) + "\n"


def _is_leaf(e: Expression) -> bool:
    """Needs no temporary Array."""
    if isinstance(e, Variable):
        return True
    if isinstance(e, AsArray):
        return isinstance(e.of, Constant)
    if isinstance(e, Constant):
        return True
    return not e.kind.is_array and e.kind is not Kind.TENSORS


def scopes(arguments: tuple[Argument, ...], nogil: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Names of numbers and of tensors inside a function with those parameters."""
    numbers = {a.name: local(a.name) for a in arguments if not a.kind.is_array and a.kind is not Kind.TENSORS}
    tensors = {a.name: local(a.name) for a in arguments if a.kind.is_array or (a.kind is Kind.TENSORS and not nogil)}
    return numbers, tensors
