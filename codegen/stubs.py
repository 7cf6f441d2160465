"""Writes the .pyi of what the table makes: function forms, Tensor methods, named results.

Why it exists: types come from the same records as the code, so that they cannot disagree with it. Overloads that a
checker could never choose, because an earlier one takes all that they take, are left out.
"""

from __future__ import annotations

from codegen.formula import default_value
from codegen.schema import Argument, Kind
from codegen.table import Operation, Table

HEAD = """from collections.abc import Sequence
from typing import Literal, SupportsIndex, overload

from cygrad import return_types
from cygrad._core.dtypes import _DTypeLike
from cygrad._core.options import memory_format
from cygrad._core.tensor import Tensor, _Operand, _Scalar

"""
RETURNS_HEAD = """from typing import NamedTuple

from cygrad._core.tensor import Tensor

def return_type(name: str, fields: tuple[str, ...]) -> type[tuple[object, ...]]: ...
"""
ANNOTATIONS = {
    Kind.TENSOR: "Tensor",
    Kind.TENSORS: "Sequence[Tensor]",
    Kind.SCALAR: "_Scalar",
    Kind.INT: "SupportsIndex",
    Kind.INTS: "Sequence[SupportsIndex]",
    Kind.BOOL: "bool",
    Kind.TRUE: "Literal[True]",
    Kind.FLOAT: "float",
    Kind.DTYPE: "_DTypeLike",
    Kind.FORMAT: "memory_format",
    Kind.STR: "str",
}
RETURNS = {"Tensor": "Tensor", "Tensor[]": "tuple[Tensor, ...]", "bool": "bool", "int": "int", "float": "float"}
# What the wider annotation takes, the narrower one takes too.
WIDER = {"_Operand": {"Tensor", "_Scalar"}, "_Scalar": {"float"}}
LINE = 120


def annotation(a: Argument, choices: tuple[str, ...]) -> str:
    """The type of an argument."""
    plain = Kind(a.kind.value.removesuffix("?"))
    text = "_Operand" if a.number_ok else ANNOTATIONS[plain]
    if plain is Kind.STR and choices:
        text = f"Literal[{', '.join(repr(c) for c in choices)}]".replace("'", '"')
    if plain is Kind.INTS and a.length:
        text += " | SupportsIndex"
    if a.kind.is_optional:
        text += " | None"
    return text


def returned(o: Operation) -> str:
    """The type of the result."""
    if o.outputs:
        return f"return_types.{o.signature.name}"
    texts = [RETURNS[r] for r in o.signature.returns]
    return texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"


def is_variadic(o: Operation) -> bool:
    """Whether the method form takes integers one by one: x.view(2, 3)."""
    positional = [a for a in o.signature.arguments if not a.keyword_only]
    return len(positional) == 2 and positional[1].kind in (Kind.INTS, Kind.INTS_OPT)


def default_text(a: Argument) -> str:
    """A default as Python shows it, in a form that is a literal."""
    value = default_value(a)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "1e999" if value > 0 else "-1e999"
    return repr(value)


class Form:
    """One signature as a stub shows it."""

    def __init__(self, o: Operation, method: bool, result: str, one_by_one: bool = False) -> None:
        self.method = method
        self.result = result
        self.names: list[str] = []
        self.types: list[str] = []
        self.defaults: list[str | None] = []
        self.keyword_only: list[bool] = []
        for i, a in enumerate(o.signature.arguments):
            if method and i == 0:
                continue
            name = "input" if a.name == "self" else a.name
            if one_by_one and i == 1:
                self.add(f"*{name}", "SupportsIndex", None, False)
                continue
            default = None if a.default is None else default_text(a)
            text = annotation(a, o.choices.get(a.name, ()))
            if a.default is not None and default_value(a) is None and not text.endswith("None"):
                text += " | None"
            self.add(name, text, default, a.keyword_only or one_by_one)

    def add(self, name: str, text: str, default: str | None, keyword_only: bool) -> None:
        """One more parameter."""
        self.names.append(name)
        self.types.append(text)
        self.defaults.append(default)
        self.keyword_only.append(keyword_only)

    def parameters(self) -> list[str]:
        """The parameters, as they stand between the parentheses."""
        parts = ["self"] if self.method else []
        starred = False
        for name, text, default, keyword_only in zip(
            self.names, self.types, self.defaults, self.keyword_only, strict=True
        ):
            if keyword_only and not starred and not any(n.startswith("*") for n in self.names):
                parts.append("*")
                starred = True
            parts.append(f"{name}: {text}" + (f" = {default}" if default is not None else ""))
        return parts

    def exclude_flags(self, earlier: list[Form]) -> None:
        """A flag for whose True an earlier form of the same first parameters stands can only be False here."""
        for form in earlier:
            if form.names == self.names[: len(form.names)]:
                for k, (text, before) in enumerate(zip(self.types, form.types, strict=False)):
                    if text == "bool" and before == "Literal[True]":
                        self.types[k] = "Literal[False]"

    def covers(self, other: Form) -> bool:
        """Whether every call of `other` is one of this form, too."""
        if self.result != other.result or len(other.names) > len(self.names):
            return False
        if any(d is None for d in self.defaults[len(other.names) :]) or self.names[: len(other.names)] != other.names:
            return False
        if self.keyword_only[: len(other.names)] != other.keyword_only:
            return False
        if any(mine is None and its is not None for mine, its in zip(self.defaults, other.defaults, strict=False)):
            return False
        return all(takes(mine, its) for mine, its in zip(self.types, other.types, strict=False))


def takes(wide: str, narrow: str) -> bool:
    """Whether the annotation `wide` has all types of `narrow`."""
    have = set(wide.split(" | "))
    for name in tuple(have):
        have |= WIDER.get(name, set())
        for inner in WIDER.get(name, set()):
            have |= WIDER.get(inner, set())
    return set(narrow.split(" | ")) <= have


def forms(operations: list[Operation], method: bool, inplace: bool) -> list[Form]:
    """The signatures of one name, without those that an earlier one covers."""
    found: list[Form] = []
    for o in operations:
        result = "Tensor" if inplace else returned(o)
        variants = [Form(o, method, result)]
        if method and is_variadic(o):
            variants.insert(0, Form(o, method, result, one_by_one=True))
        if not method and o.takes_out:
            several = "tuple[Tensor, ...] | list[Tensor]" if o.outputs else "Tensor"
            for form in variants:
                form.add("out", f"{several} | None", "None", keyword_only=True)
        for form in variants:
            form.exclude_flags(found)
        found += [f for f in variants if not any(earlier.covers(f) for earlier in found)]
    return found


def define(name: str, found: list[Form]) -> list[str]:
    """The lines that define a function, with an overload a form."""
    lines: list[str] = []
    for form in found:
        if len(found) > 1:
            lines.append("@overload")
        parts = form.parameters()
        line = f"def {name}({', '.join(parts)}) -> {form.result}: ..."
        if len(line) + 4 <= LINE:
            lines.append(line)
        else:
            lines += [f"def {name}(", *(f"    {p}," for p in parts), f") -> {form.result}: ..."]
    return lines


def grouped(operations: list[Operation]) -> dict[str, list[Operation]]:
    """Operations by name, overloads in the order in which bindings try them."""
    groups: dict[str, list[Operation]] = {}
    for o in operations:
        if o.variants != {"none"}:
            groups.setdefault(o.signature.name, []).append(o)
    return {
        name: sorted(group, key=lambda o: sum(a.kind is Kind.SCALAR for a in o.signature.arguments))
        for name, group in groups.items()
    }


def names_of(operations: list[Operation]) -> list[str]:
    """The name of a group and its aliases."""
    return [operations[0].signature.name, *(alias for o in operations for alias in o.aliases)]


def bindings_stub(table: Table, family: str) -> str:
    """The .pyi of bindings_<family>: the function forms."""
    names: list[str] = []
    lines: list[str] = []
    for group in grouped(table.of_family(family)).values():
        functions = [o for o in group if "function" in o.variants]
        if functions:
            for name in names_of([o for o in group if o.variants & {"function", "method"}]):
                names.append(name)
                lines += define(name, forms(functions, method=False, inplace=False))
    exported = ["__all__ = [", *(f'    "{n}",' for n in names), "]"] if names else ["__all__: list[str] = []"]
    return HEAD + "\n".join([*exported, "", *lines]) + "\n"


def methods_of(table: Table) -> list[str]:
    """The lines of the class Tensor that come from the table, without indentation."""
    lines: list[str] = []
    for family in table.families():
        lines.append(f"# ---- {family}")
        for group in grouped(table.of_family(family)).values():
            methods = [o for o in group if "method" in o.variants]
            inplace = [o for o in group if o.inplace]
            properties = [o for o in group if "property" in o.variants]
            if methods:
                for name in names_of([o for o in group if o.variants & {"function", "method"}]):
                    lines += define(name, forms(methods, method=True, inplace=False))
            for o in properties:
                lines += ["@property", f"def {o.signature.name}(self) -> Tensor: ..."]
            if inplace:
                for name in names_of(inplace):
                    lines += define(f"{name}_", forms(inplace, method=True, inplace=True))
    return lines


def tensor_methods() -> list[str]:
    """`methods_of` the table of this checkout."""
    from codegen.generate import load_table

    return methods_of(load_table())


def return_types_stub(table: Table) -> str:
    """The .pyi of cygrad/return_types.py: the named tuples of operations with several results."""
    lines: list[str] = []
    seen: dict[str, tuple[str, ...]] = {}
    for o in table.operations.values():
        if o.outputs and o.variants != {"none"} and o.signature.name not in seen:
            seen[o.signature.name] = o.outputs
            lines += ["", f"class {o.signature.name}(NamedTuple):", *(f"    {output}: Tensor" for output in o.outputs)]
    return RETURNS_HEAD + "\n".join(lines) + "\n"
