"""Formulas: Python expressions over tensors, parsed and checked into typed records.

Why it exists: one formula of the table is written out several times (on Arrays without the GIL, on Tensors with
recording); each writer walks these records, and a wrong formula is refused here, once, before anything is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from codegen.schema import Argument, Kind, TableError


@dataclass(frozen=True)
class Expression:
    """Any part of a formula."""

    kind: Kind


@dataclass(frozen=True)
class Variable(Expression):
    """A name in scope: an argument, `grad`, `result`, `grads[i]` (name "grads", index i)."""

    name: str
    index: int = -1


@dataclass(frozen=True)
class Constant(Expression):
    """A number, string, bool or None (kind tells: None is an optional tensor)."""

    value: int | float | complex | str | bool | None


@dataclass(frozen=True)
class Fact(Expression):
    """Something about a tensor that is no tensor: sizes(x), size(x, dim), ndim(x), numel(x), dtype(x)."""

    fact: str
    of: str
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Function:
    """What a formula can call: a kernel, an operation or a helper."""

    name: str
    parameters: tuple[Argument, ...]
    origin: str  # "kernel", "operation", "helper", "runtime"
    several: bool = False  # gives several tensors
    result: Kind = Kind.TENSOR


@dataclass(frozen=True)
class Call(Expression):
    """A call whose arguments are complete and of the parameters' kinds."""

    function: Function
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Arithmetic(Expression):
    """Arithmetic or comparison of C numbers (op as Python spells it; "and", "or", "not" too)."""

    op: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class IsNone(Expression):
    """`x is None` of an optional argument."""

    of: Variable


@dataclass(frozen=True)
class Conditional(Expression):
    """`a if test else b`."""

    test: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class IntsLiteral(Expression):
    """`[dim, dim + 1]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class TensorsLiteral(Expression):
    """`(a, b)`: several results of a composition."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Output(Expression):
    """`call(...)[0]`: one of several results of a composition's part."""

    of: Call
    index: int


@dataclass(frozen=True)
class AsArray(Expression):
    """A C number as a wrapped 0-d Array."""

    of: Expression


FACTS: Mapping[str, tuple[Kind, tuple[Kind, ...]]] = {
    "sizes": (Kind.INTS, ()),
    "strides": (Kind.INTS, ()),
    "size": (Kind.INT, (Kind.INT,)),
    "ndim": (Kind.INT, ()),
    "numel": (Kind.INT, ()),
    "dtype": (Kind.DTYPE, ()),
    "is_complex": (Kind.BOOL, ()),
    "is_floating": (Kind.BOOL, ()),
    "is_contiguous": (Kind.BOOL, ()),
    "lies_as": (Kind.BOOL, (Kind.FORMAT,)),
    "offset": (Kind.INT, ()),
    "lengths": (
        Kind.INTS,
        (Kind.INT,),
    ),  # of a list: the sizes of its tensors along a dim, -1 for those that cat leaves out
    "reversed_dims": (Kind.INTS, ()),
    # these raise for arguments that do not fit, so they need the GIL: compositions alone use them
    "flat_sizes": (Kind.INTS, (Kind.INT, Kind.INT)),
    "unflat_sizes": (Kind.INTS, (Kind.INT, Kind.INTS)),
    "moved_dims": (Kind.INTS, (Kind.INTS, Kind.INTS)),
    "tile_repeats": (Kind.INTS, (Kind.INTS,)),
    "narrow_start": (Kind.INT, (Kind.INT, Kind.INT, Kind.INT)),
    "chunk_size": (Kind.INT, (Kind.INT, Kind.INT)),
    "has_sizes": (Kind.BOOL, (Kind.INTS,)),
    "viewable": (Kind.BOOL, (Kind.INTS,)),  # view(x, sizes) is possible without a copy
}

CHECKED_FACTS = frozenset({"flat_sizes", "unflat_sizes", "moved_dims", "tile_repeats", "narrow_start", "chunk_size"})

_BINARY: Mapping[type, tuple[str, str]] = {
    ast.Add: ("+", "add"),
    ast.Sub: ("-", "sub"),
    ast.Mult: ("*", "mul"),
    ast.Div: ("/", "div"),
    ast.Pow: ("**", "pow"),
    ast.FloorDiv: ("//", "floor_divide"),
    ast.Mod: ("%", "remainder"),
}
_COMPARE: Mapping[type, tuple[str, str]] = {
    ast.Eq: ("==", "eq"),
    ast.NotEq: ("!=", "ne"),
    ast.Lt: ("<", "lt"),
    ast.LtE: ("<=", "le"),
    ast.Gt: (">", "gt"),
    ast.GtE: (">=", "ge"),
}

# Functions of cygrad/_core/operation.pxd on Arrays and numbers, by the name that formulas use.
RUNTIME: Mapping[str, Function] = {
    f.name: f
    for f in (
        # a * number + b, computed in double precision (or exactly, for integers); still a number
        Function(
            "number_linear",
            (Argument("number", Kind.SCALAR), Argument("a", Kind.INT), Argument("b", Kind.INT)),
            "runtime",
            result=Kind.SCALAR,
        ),
        Function(
            "number_is", (Argument("number", Kind.SCALAR), Argument("value", Kind.FLOAT)), "runtime", result=Kind.BOOL
        ),
        Function(
            "number_value",
            (Argument("number", Kind.SCALAR_OPT), Argument("default", Kind.FLOAT, "0.0")),
            "runtime",
            result=Kind.FLOAT,
        ),
        # how many elements of a tensor of those sizes make one of its reduction over the dims (None or empty: all)
        Function(
            "reduced_count", (Argument("sizes", Kind.INTS), Argument("dim", Kind.INTS_OPT)), "runtime", result=Kind.INT
        ),
    )
}

Scope = Mapping[str, Kind]
Resolver = Callable[[str], Function | None]


class Parser:
    """Parses one formula in a scope.

    `resolve` finds functions by name; `choices` lists the strings an argument may be.
    """

    def __init__(self, scope: Scope, resolve: Resolver, choices: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.scope = scope
        self.resolve = resolve
        self.choices = choices or {}

    def parse(self, text: str) -> Expression:
        """The typed records of a formula.

        Raises:
            TableError: syntax, unknown names, wrong arity or kinds.

        """
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except SyntaxError as error:
            raise TableError(f"cannot read the formula {text!r}: {error.msg}") from None
        return self.visit(tree.body)

    def visit(self, node: ast.expr) -> Expression:
        """Dispatch on the syntax."""
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.BinOp):
            spelled, function = self.lookup(_BINARY, type(node.op), ast.unparse(node))
            return self.binary(spelled, function, self.visit(node.left), self.visit(node.right))
        if isinstance(node, ast.Compare):
            return self.compare(node)
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.BoolOp):
            op = "and" if isinstance(node.op, ast.And) else "or"
            return Arithmetic(Kind.BOOL, op, tuple(self.flag(self.visit(v)) for v in node.values))
        if isinstance(node, ast.IfExp):
            return self.conditional(node)
        if isinstance(node, ast.List):
            return IntsLiteral(
                Kind.INTS, tuple(self.coerce(self.visit(v), Kind.INT, "a list's item") for v in node.elts)
            )
        if isinstance(node, ast.Tuple):
            return TensorsLiteral(
                Kind.TENSORS, tuple(self.coerce(self.visit(v), Kind.TENSOR, "a result") for v in node.elts)
            )
        raise TableError(f"formulas have no {type(node).__name__}: {ast.unparse(node)!r}")

    def lookup(self, table: Mapping[type, tuple[str, str]], key: type, text: str) -> tuple[str, str]:
        """The operator's spelling and function."""
        if key not in table:
            raise TableError(f"formulas have no operator as in {text!r}")
        return table[key]

    def constant(self, node: ast.Constant) -> Expression:
        """A literal."""
        value = node.value
        if isinstance(value, bool):
            return Constant(Kind.BOOL, value)
        if isinstance(value, int):
            return Constant(Kind.INT, value)
        if isinstance(value, float):
            return Constant(Kind.FLOAT, value)
        if isinstance(value, complex):
            return Constant(Kind.SCALAR, value)
        if isinstance(value, str):
            return Constant(Kind.STR, value)
        if value is None:
            return Constant(Kind.TENSOR_OPT, None)
        raise TableError(f"formulas have no literal {value!r}")

    def name(self, name: str) -> Expression:
        """A variable."""
        if name not in self.scope:
            raise TableError(f"the name {name!r} is not in scope (there are: {', '.join(sorted(self.scope))})")
        return Variable(self.scope[name], name)

    def subscript(self, node: ast.Subscript) -> Expression:
        """`grads[i]`, or one result of a call that gives several."""
        if (
            isinstance(node.value, ast.Call)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, int)
        ):
            called = self.visit(node.value)
            if isinstance(called, Call) and called.function.several:
                return Output(Kind.TENSOR, called, node.slice.value)
        if not (
            isinstance(node.value, ast.Name)
            and node.value.id == "grads"
            and "grads" in self.scope
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, int)
        ):
            raise TableError(
                f"only grads[number] and calls with several results can be subscripted, not {ast.unparse(node)!r}"
            )
        return Variable(Kind.TENSOR, "grads", node.slice.value)

    def call(self, node: ast.Call) -> Expression:
        """A fact or a function."""
        if not isinstance(node.func, ast.Name):
            raise TableError(f"cannot call {ast.unparse(node.func)!r}")
        name = node.func.id
        if name in FACTS:
            kind, kinds = FACTS[name]
            if len(node.args) != len(kinds) + 1 or node.keywords or not isinstance(node.args[0], ast.Name):
                raise TableError(
                    f"{name}() takes {' and '.join(['the name of a tensor', *(k.value for k in kinds)])}: "
                    f"{ast.unparse(node)!r}"
                )
            of = self.name(node.args[0].id)
            if (of.kind is not Kind.TENSORS) if name == "lengths" else not of.kind.is_array:
                raise TableError(
                    f"{name}({node.args[0].id}): {node.args[0].id!r} is no "
                    f"{'list of tensors' if name == 'lengths' else 'tensor'}"
                )
            extra = tuple(self.coerce(self.visit(a), k, f"{name}()") for a, k in zip(node.args[1:], kinds, strict=True))
            return Fact(kind, name, node.args[0].id, extra)
        if name == "length":
            value = self.visit(node.args[0]) if len(node.args) == 1 else None
            if value is None or value.kind is not Kind.INTS:
                raise TableError("length() takes a list of integers")
            return Arithmetic(Kind.INT, "length", (value,))
        if name == "choice":
            # the number of a string among its choices, from 0 on
            if len(node.args) != 1 or not isinstance(node.args[0], ast.Name) or node.args[0].id not in self.choices:
                raise TableError("choice() takes the name of a string argument")
            return Arithmetic(Kind.INT, "-", (Variable(Kind.INT, node.args[0].id), Constant(Kind.INT, 1)))
        if name == "scalar":
            if len(node.args) != 1:
                raise TableError("scalar() takes one number")
            return self.coerce(self.visit(node.args[0]), Kind.SCALAR, "scalar()")
        function = RUNTIME.get(name) or self.resolve(name)
        if function is None:
            raise TableError(f"unknown function {name!r}")
        return self.complete(
            function, [self.visit(a) for a in node.args], {k.arg or "**": self.visit(k.value) for k in node.keywords}
        )

    def complete(self, function: Function, positional: list[Expression], keywords: dict[str, Expression]) -> Call:
        """Check arity, fill defaults, convert to the parameters' kinds."""
        if len(positional) > len(function.parameters):
            raise TableError(
                f"{function.name}() takes {len(function.parameters)} arguments, but {len(positional)} are given"
            )
        given: list[Expression] = []
        for i, parameter in enumerate(function.parameters):
            if i < len(positional):
                value = positional[i]
            elif parameter.name in keywords:
                value = keywords.pop(parameter.name)
            elif parameter.default is not None:
                value = default_expression(parameter)
            else:
                raise TableError(
                    f"{function.name}() misses its argument {parameter.name!r} "
                    f"(it takes {len(function.parameters)}, {len(positional)} are given)"
                )
            given.append(self.coerce(value, parameter.kind, f"argument {parameter.name!r} of {function.name}()"))
        if keywords:
            raise TableError(f"{function.name}() has no argument {next(iter(keywords))!r}")
        return Call(Kind.TENSORS if function.several else function.result, function, tuple(given))

    def coerce(self, value: Expression, kind: Kind, where: str) -> Expression:
        """The value as that kind, or a refusal."""
        have = value.kind
        if isinstance(value, Constant) and value.value is None:
            if not kind.is_optional and kind is not Kind.INTS and kind is not Kind.DTYPE:
                raise TableError(f"{where} cannot be None")
            return Constant(kind, None)
        if have == kind:
            return value
        if kind.is_array:
            if have in (Kind.TENSOR, Kind.TENSOR_OPT) and kind in (Kind.SCALAR, Kind.SCALAR_OPT):
                raise TableError(f"{where} must be a number: a tensor there would lose its gradient")
            if have.is_array:
                return value
            if have.is_number:
                return AsArray(Kind.SCALAR, value)
        if kind in (Kind.INT, Kind.INT_OPT, Kind.FLOAT, Kind.DTYPE, Kind.DTYPE_OPT) and have in (Kind.INT, Kind.BOOL):
            return value
        if {kind, have} in (
            {Kind.INTS, Kind.INTS_OPT},
            {Kind.DTYPE, Kind.DTYPE_OPT},
            {Kind.DTYPE, Kind.FORMAT},  # kernels take both as an int
            {Kind.DTYPE, Kind.FORMAT_OPT},
            {Kind.FORMAT, Kind.FORMAT_OPT},
            {Kind.INT, Kind.INT_OPT},
            {Kind.STR, Kind.STR_OPT},
        ):
            return value
        if kind is Kind.BOOL and have is Kind.INT:
            return value
        if kind is Kind.INTS and have is Kind.INT:
            return IntsLiteral(Kind.INTS, (value,))
        raise TableError(f"{where} must be {kind.value}, not {have.value}")

    def flag(self, value: Expression) -> Expression:
        """The value as a condition."""
        if not value.kind.is_number:
            raise TableError(f"a condition must be bool or int, not {value.kind.value}")
        return value

    def binary(self, spelled: str, function: str, left: Expression, right: Expression) -> Expression:
        """Arithmetic of numbers stays C arithmetic; anything with a tensor is a call."""
        if (
            left.kind in (Kind.INT, Kind.FLOAT, Kind.BOOL)
            and right.kind in (Kind.INT, Kind.FLOAT, Kind.BOOL)
            and spelled != "**"
        ):
            kind = Kind.FLOAT if spelled == "/" or Kind.FLOAT in (left.kind, right.kind) else Kind.INT
            return Arithmetic(kind, spelled, (left, right))
        resolved = self.resolve(function)
        if resolved is None:
            raise TableError(f"the operator {spelled} needs the function {function!r}, which does not exist")
        return self.complete(resolved, [left, right], {})

    def compare(self, node: ast.Compare) -> Expression:
        """`a == b` of numbers or strings, `x is None`, or a comparison of tensors."""
        if len(node.ops) != 1:
            raise TableError(f"write chained comparisons with and: {ast.unparse(node)!r}")
        left, right = self.visit(node.left), self.visit(node.comparators[0])
        op = node.ops[0]
        if isinstance(op, ast.Is | ast.IsNot):
            if not (
                isinstance(left, Variable)
                and isinstance(right, Constant)
                and right.value is None
                and left.kind.is_optional
            ):
                raise TableError(f"`is` compares an optional argument with None only: {ast.unparse(node)!r}")
            test: Expression = IsNone(Kind.BOOL, left)
            return test if isinstance(op, ast.Is) else Arithmetic(Kind.BOOL, "not", (test,))
        spelled, function = self.lookup(_COMPARE, type(op), ast.unparse(node))
        if left.kind.value.startswith("str") and isinstance(left, Variable) and isinstance(right, Constant):
            allowed = self.choices.get(left.name, ())
            if right.value not in allowed:
                raise TableError(f"{left.name!r} is never {right.value!r}; its choices are {', '.join(allowed)}")
            return Arithmetic(
                Kind.BOOL,
                spelled,
                (Variable(Kind.INT, left.name), Constant(Kind.INT, allowed.index(str(right.value)) + 1)),
            )
        if left.kind.is_number and right.kind.is_number:
            return Arithmetic(Kind.BOOL, spelled, (left, right))
        resolved = self.resolve(function)
        if resolved is None:
            raise TableError(f"the operator {spelled} needs the function {function!r}, which does not exist")
        return self.complete(resolved, [left, right], {})

    def unary(self, node: ast.UnaryOp) -> Expression:
        """`-x`, `not flag`."""
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return Arithmetic(Kind.BOOL, "not", (self.flag(value),))
        if not isinstance(node.op, ast.USub):
            raise TableError(f"formulas have no operator as in {ast.unparse(node)!r}")
        if (
            isinstance(value, Constant)
            and isinstance(value.value, int | float | complex)
            and not isinstance(value.value, bool)
        ):
            return Constant(value.kind, -value.value)
        if value.kind.is_number:
            return Arithmetic(value.kind, "neg", (value,))
        resolved = self.resolve("neg")
        if resolved is None:
            raise TableError("the operator - needs the function 'neg', which does not exist")
        return self.complete(resolved, [value], {})

    def conditional(self, node: ast.IfExp) -> Expression:
        """`a if test else b`; both sides of one kind."""
        test, then, otherwise = self.flag(self.visit(node.test)), self.visit(node.body), self.visit(node.orelse)
        if then.kind.is_array or otherwise.kind.is_array:
            none = Kind.TENSOR_OPT  # one side may be None
            then, otherwise = self.coerce(then, none, "one side of if"), self.coerce(otherwise, none, "one side of if")
            scalars = (Kind.SCALAR, Kind.SCALAR_OPT)
            return Conditional(
                Kind.SCALAR if then.kind in scalars and otherwise.kind in scalars else Kind.TENSOR,
                test,
                then,
                otherwise,
            )
        if {then.kind, otherwise.kind} == {Kind.INT, Kind.INT_OPT}:
            return Conditional(Kind.INT, test, then, otherwise)  # the test tells that it is not None
        if then.kind.is_number and otherwise.kind.is_number:
            return Conditional(
                Kind.FLOAT if Kind.FLOAT in (then.kind, otherwise.kind) else then.kind, test, then, otherwise
            )
        if then.kind != otherwise.kind and {then.kind, otherwise.kind} != {Kind.INTS, Kind.INTS_OPT}:
            raise TableError(
                f"the sides of {ast.unparse(node)!r} differ in kind: {then.kind.value} and {otherwise.kind.value}"
            )
        return Conditional(then.kind, test, then, otherwise)


def default_expression(argument: Argument) -> Expression:
    """The default of an argument as an expression."""
    text = argument.default
    if text is None:
        raise TableError(f"argument {argument.name!r} has no default")
    value = default_value(argument)
    if value is None:
        return Constant(argument.kind, None)
    if isinstance(value, bool):
        return Constant(Kind.BOOL, value)
    if isinstance(value, int):
        return Constant(Kind.INT, value)
    if isinstance(value, float):
        return Constant(Kind.FLOAT, value)
    if isinstance(value, str):
        return Constant(Kind.STR, value)
    return IntsLiteral(Kind.INTS, tuple(Constant(Kind.INT, v) for v in value))


def default_value(argument: Argument) -> int | float | bool | str | tuple[int, ...] | None:
    """The default of an argument as a Python value."""
    text = argument.default or "None"
    if text in ("inf", "-inf"):
        return float(text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise TableError(f"argument {argument.name!r} has the unreadable default {text!r}") from None
    if isinstance(value, list):
        value = tuple(value)
    if value is None or isinstance(value, int | float | bool | str | tuple):
        return value
    raise TableError(f"argument {argument.name!r} has the unreadable default {text!r}")


def walk(e: Expression) -> Iterator[Expression]:
    """The expression and all its parts."""
    yield e
    parts: tuple[Expression, ...] = ()
    if isinstance(e, Call):
        parts = e.arguments
    elif isinstance(e, Arithmetic):
        parts = e.operands
    elif isinstance(e, IsNone):
        parts = (e.of,)
    elif isinstance(e, Conditional):
        parts = (e.test, e.then, e.otherwise)
    elif isinstance(e, IntsLiteral | TensorsLiteral):
        parts = e.items
    elif isinstance(e, AsArray | Output):
        parts = (e.of,)
    elif isinstance(e, Fact):
        parts = e.arguments
    for part in parts:
        yield from walk(part)
