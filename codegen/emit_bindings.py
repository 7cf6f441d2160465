"""Writes bindings_<family>.pyx: the Python functions and Tensor methods.

Why it exists: signatures of the table become Python calls here; how arguments are matched and converted is
cygrad/_core/arguments.pyx.
"""

from __future__ import annotations

from codegen.emit_ops import indented
from codegen.formula import default_value
from codegen.schema import Argument, Kind
from codegen.stubs import default_text, is_variadic
from codegen.table import Operation, Table
from codegen.writer import HEADER, number_text

HEAD = (
    HEADER
    + """from libc.math cimport INFINITY, NAN
from cpython.object cimport PyObject
from cygrad._core.arguments cimport (
    Binding, Call, arguments_match, arg_tensor, arg_operand, arg_scalar, arg_tensors, arg_int, arg_ints, arg_bool,
    arg_float, arg_dtype, arg_format, arg_choice, function_new, method_new, property_new)
from cygrad._core.out_argument cimport has_out, out_call
from cygrad._core.operation cimport INT_NONE, ints0, ints1, ints2, ints3
from cygrad._core.tensor cimport Tensor
from cygrad._core.tensor import _install_methods
"""
)

LETTERS = {
    Kind.TENSOR: "T",
    Kind.TENSOR_OPT: "t",
    Kind.TENSORS: "L",
    Kind.SCALAR: "S",
    Kind.SCALAR_OPT: "s",
    Kind.INT: "i",
    Kind.INT_OPT: "j",
    Kind.INTS: "I",
    Kind.INTS_OPT: "J",
    Kind.BOOL: "b",
    Kind.TRUE: "y",
    Kind.FLOAT: "f",
    Kind.DTYPE: "d",
    Kind.DTYPE_OPT: "e",
    Kind.FORMAT: "m",
    Kind.FORMAT_OPT: "o",
    Kind.STR: "r",
    Kind.STR_OPT: "q",
}


def spec_text(operation: Operation) -> str:
    """The signature as cygrad/_core/arguments.pyx reads it."""
    parts: list[str] = []
    if not operation.variants & {"method", "inplace"}:
        parts.append("@function")
    elif "function" not in operation.variants:
        parts.append("@method")
    starred = False
    for a in operation.signature.arguments:
        if a.keyword_only and not starred:
            parts.append("*")
            starred = True
        letter = {"T": "N", "t": "n"}[LETTERS[a.kind]] if a.number_ok else LETTERS[a.kind]
        parts.append(f"{letter}{a.length or ''} {a.name}{'=' if a.default is not None else ''}")
    return ";".join(parts)


def argument_text(a: Argument, k: int, which: int, choices: tuple[str, ...]) -> str:
    """The C value of slot k."""
    default = default_value(a) if a.default is not None else None
    if a.kind in (Kind.TENSOR, Kind.TENSOR_OPT):
        return f"{'arg_operand' if a.number_ok else 'arg_tensor'}(&c, {k})"
    if a.kind in (Kind.SCALAR, Kind.SCALAR_OPT):
        if default is not None:
            return f"(arg_scalar(&c, {k}) if c.slots[{k}] != NULL else {scalar_constant(default)})"
        return f"arg_scalar(&c, {k})"
    if a.kind is Kind.TENSORS:
        return f"arg_tensors(&c, {k})"
    if a.kind in (Kind.INT, Kind.INT_OPT):
        return f"arg_int(&c, {k}, {default if default is not None else 'INT_NONE' if a.kind is Kind.INT_OPT else 0})"
    if a.kind in (Kind.INTS, Kind.INTS_OPT):
        if default is not None:
            items = default if isinstance(default, tuple) else (default,) * (a.length or 1)
            made = f"ints{len(items)}({', '.join([f'&c.lists[{which}]', *(str(i) for i in items)])})"
            return f"(arg_ints(&c, {k}, {which}) if c.slots[{k}] != NULL else {made})"
        return f"arg_ints(&c, {k}, {which})"
    if a.kind in (Kind.BOOL, Kind.TRUE):
        return f"arg_bool(&c, {k}, {bool(default)})"
    if a.kind is Kind.FLOAT:
        return f"arg_float(&c, {k}, {number_text(float(default)) if isinstance(default, int | float) else '0.0'})"
    if a.kind in (Kind.DTYPE, Kind.DTYPE_OPT):
        return f"arg_dtype(&c, {k})"
    if a.kind in (Kind.FORMAT, Kind.FORMAT_OPT):
        return f"arg_format(&c, {k})"
    if isinstance(default, str):
        return (
            f'(arg_choice(&c, {k}, b"{",".join(choices)}") if c.slots[{k}] != NULL else {choices.index(default) + 1})'
        )
    return f'arg_choice(&c, {k}, b"{",".join(choices)}")'


def scalar_constant(default: object) -> str:
    """A default number as a Tensor; `number_constant` makes it once."""
    return f"N_{_constant_name(default)}"


def _constant_name(value: object) -> str:
    return repr(value).replace("-", "m").replace(".", "p").replace("+", "")


def documentation(operations: list[Operation], method: bool, inplace: bool = False) -> str:
    """Docstring with the signature that inspect understands."""
    o = operations[0]
    name = o.signature.name + ("_" if inplace else "")
    arguments = o.signature.arguments if len(operations) == 1 else ()
    parts: list[str] = ["$self"] if method else []
    if len(operations) > 1 or (method and is_variadic(o)):
        text = ""  # no single signature tells how it may be called
    else:
        starred = False
        for i, a in enumerate(arguments):
            if method and i == 0:
                continue
            if a.keyword_only and not starred:
                parts.append("*")
                starred = True
            shown = "input" if a.name == "self" else a.name
            default = "" if a.default is None else f"={default_text(a)}"
            parts.append(shown + default)
        if not method and o.takes_out:
            parts += ["out=None"] if starred else ["*", "out=None"]
        text = f"{name}({', '.join(parts)})\n--\n\n"
    body = "\n\n".join(dict.fromkeys(x.doc for x in operations if x.doc)) or f"{name} of tensors."
    if inplace:
        body = f"In-place form of :meth:`{o.signature.name}`: writes the result into this tensor and returns it."
    return text + body


class BindingsEmitter:
    """One family."""

    def __init__(self, table: Table, family: str) -> None:
        self.table = table
        self.family = family
        self.body: list[str] = []
        self.setup: list[str] = []
        self.bindings: list[str] = []
        self.cimports: list[str] = []
        self.constants: dict[str, str] = {}
        self.functions: list[str] = []

    def emit(self) -> str:
        """The .pyx."""
        groups: dict[str, list[Operation]] = {}
        for o in self.table.of_family(self.family):
            if o.variants != {"none"}:
                groups.setdefault(o.signature.name, []).append(o)
        for name, operations in groups.items():
            # as torch: a tensor is tried as a tensor before it is tried as a number
            self.group(
                name, sorted(operations, key=lambda o: sum(a.kind is Kind.SCALAR for a in o.signature.arguments))
            )
        lines = [HEAD]
        for names in (self.cimports,):
            lines.append(f"from cygrad._core.generated.ops_{self.family} cimport (")
            lines += [f"    {n} as c_{n}," for n in names]
            lines.append(")")
        if self.constants:
            lines.append("from cygrad._core.tensor cimport tensor_number")
            lines += [f"cdef Tensor {name} = tensor_number({value})" for name, value in self.constants.items()]
        lines += ["cdef dict methods_ = {}", "cdef dict functions_ = {}", *self.bindings, *self.body]
        lines += [
            "",
            "cdef int setup_() except -1:",
            *indented(self.setup),
            "    _install_methods(methods_)",
            "    return 0",
            "",
            "setup_()",
            "",
        ]
        lines += ["globals().update(functions_)", "__all__ = list(functions_)", ""]
        return "\n".join(lines)

    def group(self, name: str, operations: list[Operation]) -> None:
        """All overloads of one name."""
        plain = [o for o in operations if o.variants & {"function", "method"}]
        if plain:
            self.binding(name, plain, inplace=False)
        for o in operations:
            if "property" in o.variants:
                self.property(name, o)
        inplace = [o for o in operations if o.inplace]
        if inplace:
            self.binding(name, inplace, inplace=True)

    def binding(self, name: str, operations: list[Operation], inplace: bool) -> None:
        """One C function for the function and the method form."""
        suffix = "_" if inplace else ""
        spec = "|".join(spec_text(o) for o in operations)
        self.bindings += [f"cdef Binding B_{name}{suffix}"]
        self.setup += [f'B_{name}{suffix}.name = b"{name}{suffix}"', f'B_{name}{suffix}.spec = b"{spec}"']
        lines = [
            f"cdef object b_{name}{suffix}(PyObject* self, PyObject** args, Py_ssize_t nargs, PyObject* kwnames):",
            "    cdef Call c",
        ]
        several = len(operations) > 1
        if not inplace and any(o.takes_out for o in operations):
            lines += [
                "    if kwnames != NULL and self == NULL and has_out(kwnames):",
                f'        return out_call(b_{name}, b"{name}", args, nargs, kwnames)',
            ]
        match = f"arguments_match(&c, &B_{name}{suffix}, self, args, nargs, kwnames)"
        lines.append(f"    cdef int which = {match}" if several else f"    {match}")
        for i, o in enumerate(operations):
            text = self.call(o, inplace)
            if several and i + 1 < len(operations):
                lines += [f"    if which == {i}:", f"        return {text}"]
            else:
                lines.append(f"    return {text}")
        self.body += ["", *lines, ""]
        names = [name, *(x for o in operations for x in o.aliases)]
        doc = documentation(operations, False, inplace)
        if not inplace and any("function" in o.variants for o in operations):
            self.setup += [f'functions_["{n}"] = function_new(b"{n}", b_{name}, {literal(doc)})' for n in names]
        if inplace or any("method" in o.variants for o in operations):
            doc = documentation(operations, True, inplace)
            self.setup += [
                f'methods_["{n}{suffix}"] = method_new(b"{n}{suffix}", b_{name}{suffix}, {literal(doc)})' for n in names
            ]

    def call(self, o: Operation, inplace: bool) -> str:
        """The operation on the converted arguments."""
        identifier = o.identifier + ("_" if inplace else "")
        if identifier not in self.cimports:
            self.cimports.append(identifier)
        arguments: list[str] = []
        lists = 0
        for k, a in enumerate(o.signature.arguments):
            if k == 0 and inplace:
                arguments.append("<Tensor>c.slots[0]")
                continue
            if a.kind in (Kind.SCALAR, Kind.SCALAR_OPT) and a.default is not None and default_value(a) is not None:
                value = default_value(a)
                assert isinstance(value, int | float)
                self.constants[scalar_constant(value)] = number_text(value)
            arguments.append(argument_text(a, k, lists, o.choices.get(a.name, ())))
            lists += a.kind in (Kind.INTS, Kind.INTS_OPT)
        text = f"c_{identifier}({', '.join(arguments)})"
        if o.outputs and not inplace:
            return f"R_{self.returned(o)}._make({text})"
        return f"tuple({text})" if o.returns_list and not inplace else text

    def returned(self, o: Operation) -> str:
        """The named tuple of several results."""
        name = o.signature.name
        line = f"cdef object R_{name} = None"
        if line not in self.bindings:
            self.bindings.append(line)
            self.setup += ["global R_" + name, f'R_{name} = return_type("{name}", {o.outputs!r})']
            if "from cygrad.return_types import return_type" not in self.bindings:
                self.bindings.insert(0, "from cygrad.return_types import return_type")
        return name

    def property(self, name: str, o: Operation) -> None:
        """An attribute such as x.T."""
        if o.identifier not in self.cimports:
            self.cimports.append(o.identifier)
        self.body += [
            "",
            f"cdef object p_{name}(PyObject* self, void* closure):",
            f"    return c_{o.identifier}(<Tensor>self)",
            "",
        ]
        self.setup.append(f'methods_["{name}"] = property_new(b"{name}", p_{name}, {literal(o.doc or name)})')


def literal(text: str) -> str:
    """A bytes literal."""
    return repr(text.encode())
