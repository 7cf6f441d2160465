"""The table of operations: reads codegen/derivatives/*.yaml, checks every entry, and derives what a node saves.

Why it exists: a mistake in the table must stop the build with file, line and entry, and what follows from a formula
(edges, saved tensors, saved values) must be computed, not written down a second time. The keys of an entry are
described in codegen/derivatives/MANUAL.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from codegen.formula import Call, Constant, Expression, Fact, Function, Parser, Variable, walk
from codegen.kernels import Kernel
from codegen.results import Tangents, read_result
from codegen.schema import Argument, Kind, Signature, TableError, parse_signature, split_commas

KEYS = {
    "name",
    "node",
    "variants",
    "forward",
    "compose",
    "python",
    "view",
    "inplace",
    "expanded",
    "outputs",
    "non_differentiable",
    "nondiff",
    "numbers",
    "choices",
    "exact",
    "doc",
    "constants",
    "saves",
    "aliases",
    "count",
    "shapes",
    "broadcast",
    "refuses",
    "hides",
    "checks",
    "result",
}
# torch gives these functions no out= argument; nor views, lists of results and flags.
WITHOUT_OUT = frozenset(
    {
        "_unsafe_view",
        "adjoint",
        "argsort",
        "argwhere",
        "as_strided",
        "binary_cross_entropy_with_logits",
        "broadcast_tensors",
        "broadcast_to",
        "clone",
        "conj",
        "constant_pad_nd",
        "count_nonzero",
        "detach",
        "diag_embed",
        "diagonal",
        "dropout",
        "elu",
        "equal",
        "flatten",
        "flip",
        "fliplr",
        "flipud",
        "gelu",
        "hardtanh",
        "imag",
        "index_fill",
        "is_same_size",
        "isclose",
        "isfinite",
        "isinf",
        "isnan",
        "leaky_relu",
        "linear",
        "log_sigmoid",
        "masked_fill",
        "masked_scatter",
        "movedim",
        "mse_loss",
        "narrow",
        "nll_loss",
        "permute",
        "positive",
        "ravel",
        "real",
        "relu",
        "relu6",
        "reshape",
        "resolve_conj",
        "roll",
        "rsub",
        "select",
        "put",
        "silu",
        "softplus",
        "squeeze",
        "t",
        "tile",
        "transpose",
        "unflatten",
        "unsqueeze",
        "view_as_complex",
        "view_as_real",
    }
)
HELPER_KEYS = {"name", "body", "python", "several"}
VARIANTS = {"function", "method", "property", "inplace", "none"}  # inplace: `name_` alone
FACT_NAMES = {
    "sizes": "{}_sym_sizes",
    "strides": "{}_sym_strides",
    "size": "{}_sym_argsize_{}",
    "ndim": "{}_dim",
    "numel": "{}_sym_numel",
    "dtype": "{}_scalar_type",
    "is_complex": "{}_is_complex",
    "is_floating": "{}_is_floating_point",
    "offset": "{}_sym_storage_offset",
    "is_contiguous": "{}_is_contiguous",
    "lengths": "{}_lengths",
    "viewable": "{}_viewable",
}


@dataclass(frozen=True)
class Raw:
    """One mapping of a YAML file with the line of each key."""

    file: str
    line: int
    values: Mapping[str, object]
    lines: Mapping[str, int]

    def text(self, key: str) -> str | None:
        """A key's value as text."""
        value = self.values.get(key)
        return None if value is None else str(value)

    def flag(self, key: str) -> bool:
        """A key's value as a bool."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise TableError(f"{key} must be true or false, not {value!r}")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """A key's value as a tuple of names ("a, b" or [a, b])."""
        value = self.values.get(key)
        if value is None:
            return ()
        if isinstance(value, list):
            return tuple(str(v) for v in value)
        return tuple(split_commas(str(value)))


@dataclass(frozen=True)
class SavedTensor:
    """A tensor that the node keeps: an input (number: its edge, -1 for none) or an output."""

    name: str
    is_output: bool
    number: int  # edge of the input, or number of the output
    scalar: bool
    needed_by: frozenset[int]  # edges whose formulas read it


@dataclass(frozen=True)
class SavedValue:
    """A number, flag, dtype or list of integers that the node keeps."""

    name: str
    kind: Kind
    fact: Fact | None  # None: the argument of that name
    choices: tuple[str, ...] = ()
    shown_for: int | None = None  # saved only where that input needs a gradient, since torch shows it only then


@dataclass
class Helper:
    """A function that only formulas call: a composition of operations; a kernel of the same name where there is one."""

    raw: Raw
    signature: Signature
    body: Expression | None  # None: a function of cygrad/ops/formulas.py
    several: bool = False  # gives a list of tensors


@dataclass
class Operation:
    """A checked entry."""

    raw: Raw
    family: str
    signature: Signature
    node: str
    variants: frozenset[str]
    forward: Expression | None
    compose: Expression | None
    python: str | None
    gradients: dict[str, Expression] = field(default_factory=dict)  # by input, in the order of the edges
    saved: tuple[SavedTensor, ...] = ()
    values: tuple[SavedValue, ...] = ()
    outputs: tuple[str, ...] = ()  # names of several results
    differentiable_outputs: tuple[int, ...] = (0,)
    refuses: tuple[str, ...] = ()  # inputs that must not require grad while others do
    broadcast: bool = False  # formulas give the shape to which the inputs broadcast, which is not the result's
    view: bool = False
    inplace: bool = False
    expanded: bool = False  # in place it writes expanded memory, too, and warns
    count: Expression | None = None  # how many results, where that is known at run time only
    constants: Mapping[str, str] = field(default_factory=dict)  # _saved_<name> that are always the same
    aliases: tuple[str, ...] = ()
    checks: tuple[tuple[Expression, str], ...] = ()  # conditions on the arguments, and the refusal where one fails
    hides: frozenset[str] = frozenset()  # saved values that torch does not show
    shapes: tuple[str, ...] = ()  # inputs whose sizes and strides torch shows where they need a gradient
    missing: bool = False  # torch has no derivative: the node refuses
    exact: frozenset[str] = frozenset()
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tangents: Tangents | None = None  # how forward mode goes through it; None: nothing to differentiate, or refused
    doc: str = ""

    @property
    def identifier(self) -> str:
        """Name of the C function."""
        return self.signature.identifier

    @property
    def edges(self) -> list[str]:
        """Differentiable inputs in order."""
        return list(self.gradients)

    @property
    def list_input(self) -> str | None:
        """The differentiable input that is a list of tensors."""
        return next(
            (a.name for a in self.signature.arguments if a.kind is Kind.TENSORS and a.name in self.gradients), None
        )

    @property
    def takes_out(self) -> bool:
        """The function form has the argument out=."""
        listed = self.returns_list or self.signature.returns == ("bool",)
        return not (self.view or listed or self.signature.name in WITHOUT_OUT)

    @property
    def returns_list(self) -> bool:
        """The result is a list of tensors whose number is known at run time."""
        return self.signature.returns == ("Tensor[]",)


@dataclass
class Table:
    """All operations and helpers, by identifier, and the kernels they call."""

    operations: dict[str, Operation]
    helpers: dict[str, Helper]
    kernels: dict[str, Kernel]
    enums: dict[str, str] = field(default_factory=dict)  # enumerator -> module

    def families(self) -> list[str]:
        """Names of the families in order of the files."""
        return sorted({o.family for o in self.operations.values()})

    def of_family(self, family: str) -> list[Operation]:
        """A family's operations in order of the table."""
        return [o for o in self.operations.values() if o.family == family]


def kernel_callable(kernel: Kernel) -> Function:
    """A kernel as formulas see it."""
    parameters = tuple(
        Argument(name, Kind.TENSOR_OPT if kind is Kind.TENSOR else kind) for name, kind in kernel.parameters
    )
    return Function(kernel.name, parameters, "kernel", kernel.several, kernel.result)


def operation_callable(signature: Signature, origin: str, outputs: Sequence[str] = ()) -> Function:
    """An operation or helper as formulas see it."""
    return Function(
        signature.identifier, signature.arguments, origin, len(outputs) > 1 or signature.returns == ("Tensor[]",)
    )


def load_file(path: Path) -> list[Raw]:
    """The entries of one YAML file, with lines."""
    document = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    if document is None:
        return []
    if not isinstance(document, yaml.SequenceNode):
        raise TableError(f"{path.name}: must be a list of entries")
    entries: list[Raw] = []
    for item in document.value:
        line = item.start_mark.line + 1
        if not isinstance(item, yaml.MappingNode):
            raise TableError(f"{path.name}:{line}: an entry must be a mapping")
        values: dict[str, object] = {}
        lines: dict[str, int] = {}
        for key, value in item.value:
            if key.value in values:
                raise TableError(
                    f"{path.name}:{key.start_mark.line + 1}: key {key.value!r} is given twice in one entry"
                )
            values[key.value] = _plain(value)
            lines[key.value] = key.start_mark.line + 1
        if "name" not in values:
            raise TableError(f"{path.name}:{line}: an entry needs a name")
        entries.append(Raw(path.name, line, values, lines))
    return entries


def _plain(node: yaml.Node) -> object:
    """Lists, mappings, true and false as they are; everything else as the text it was written as."""
    if isinstance(node, yaml.SequenceNode):
        return [_plain(v) for v in node.value]
    if isinstance(node, yaml.MappingNode):
        return {k.value: _plain(v) for k, v in node.value}
    if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:bool" and node.style is None:
        return str(node.value).lower() in ("true", "yes", "on")
    return str(node.value)


def camel_case(identifier: str) -> str:
    """Torch's way to name nodes: masked_fill -> MaskedFill."""
    return "".join(part[:1].upper() + part[1:] for part in identifier.split("_") if part)


class _Context:
    """Adds file, line and entry to a TableError."""

    def __init__(self, raw: Raw, key: str = "name") -> None:
        self.raw, self.key = raw, key

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TableError) and not error.located:
            located = TableError(
                f"{self.raw.file}:{self.raw.lines.get(self.key, self.raw.line)}: {self.raw.text('name')}: "
                f"{self.key}: {error}",
                located=True,
            )
            raise located from None


def build_table(folder: Path, kernels: dict[str, Kernel], enums: Mapping[str, str] | None = None) -> Table:
    """Read and check the whole table.

    Raises:
        TableError: an entry is wrong; the message starts with file and line and names the entry.

    """
    raws: list[tuple[str, Raw]] = [
        (path.stem, raw) for path in sorted(folder.glob("*.yaml")) for raw in load_file(path)
    ]
    signatures: dict[str, tuple[Signature, str, tuple[str, ...]]] = {}
    parsed: list[tuple[str, Raw, Signature]] = []
    for family, raw in raws:
        with _Context(raw):
            if family == "helpers":
                signature = helper_signature(raw)
            else:
                signature = parse_signature(raw.text("name") or "", raw.flag("numbers"))
            if signature.identifier in signatures:
                raise TableError(f"the name {signature.identifier!r} is taken already")
            outputs = ("several", "several") if family == "helpers" and raw.flag("several") else raw.names("outputs")
            signatures[signature.identifier] = (signature, "helper" if family == "helpers" else "operation", outputs)
            parsed.append((family, raw, signature))

    def resolve(name: str) -> Function | None:
        if name in signatures:
            signature, origin, outputs = signatures[name]
            return operation_callable(signature, origin, outputs)
        return None

    def resolve_forward(name: str) -> Function | None:
        if name in kernels:
            return kernel_callable(kernels[name])
        return resolve(name)

    table = Table({}, {}, kernels, dict(enums or {}))
    for family, raw, signature in parsed:
        if family == "helpers":
            table.helpers[signature.identifier] = build_helper(raw, signature, resolve)
        else:
            table.operations[signature.identifier] = build_operation(
                raw, family, signature, table, resolve, resolve_forward
            )
    return table


def helper_signature(raw: Raw) -> Signature:
    """A helper is written `name(grad, int dim)`: arguments without a type are tensors."""
    head, _, rest = (raw.text("name") or "").partition("(")
    arguments = ", ".join(a if " " in a.strip() else f"Tensor? {a}" for a in split_commas(rest.rstrip(")")))
    return parse_signature(f"{head}({arguments}) -> Tensor")


def build_helper(raw: Raw, signature: Signature, resolve: object) -> Helper:
    """Check a helper."""
    with _Context(raw):
        unknown = set(raw.values) - HELPER_KEYS
        if unknown:
            raise TableError(f"unused key {min(unknown)!r}")
    with _Context(raw, "body"):
        body = raw.text("body")
        if (body is None) == (not raw.flag("python")):
            raise TableError("a helper needs a body, or `python: true`")
        scope = {a.name: a.kind for a in signature.arguments}
        assert callable(resolve)
        expression = Parser(scope, resolve).parse(body) if body is not None else None
        if expression is not None and not expression.kind.is_array:
            raise TableError("a helper gives a tensor")
    return Helper(raw, signature, expression, raw.flag("several"))


def build_operation(
    raw: Raw, family: str, signature: Signature, table: Table, resolve: object, resolve_forward: object
) -> Operation:
    """Check one operation."""
    assert callable(resolve) and callable(resolve_forward)
    inputs = {a.name for a in signature.arguments}
    with _Context(raw):
        for key in raw.values:
            if key not in KEYS and not set(split_commas(key)) <= inputs:
                raise TableError(
                    f"unused key {key!r}: neither a key of the table nor an input of {signature.identifier}"
                )
        variants = frozenset(raw.names("variants") or ("function", "method"))
        if not variants <= VARIANTS:
            raise TableError(f"unknown variant {min(variants - VARIANTS)!r}")
        if sum(k in raw.values for k in ("forward", "compose", "python")) > 1:
            raise TableError("forward, compose and python exclude each other")
    choices = read_choices(raw, signature)
    outputs = raw.names("outputs")
    operation = Operation(
        raw,
        family,
        signature,
        raw.text("node") or f"{camel_case(signature.identifier)}Backward0",
        variants,
        None,
        None,
        raw.text("python"),
        outputs=outputs,
        view=raw.flag("view"),
        inplace=raw.flag("inplace"),
        expanded=raw.flag("expanded"),
        choices=choices,
        doc=raw.text("doc") or "",
        aliases=raw.names("aliases"),
        shapes=raw.names("shapes"),
        broadcast=raw.flag("broadcast"),
        refuses=raw.names("refuses"),
    )
    scope = {a.name: a.kind for a in signature.arguments}
    if "compose" in raw.values:
        with _Context(raw, "compose"):
            operation.compose = Parser(scope, resolve, choices).parse(raw.text("compose") or "")
    elif operation.python is None:
        with _Context(raw, "forward"):
            text = raw.text("forward") or default_forward(signature, table.kernels)
            operation.forward = Parser(
                {**scope, **dict.fromkeys(table.enums, Kind.DTYPE)}, resolve_forward, choices
            ).parse(text)
            check_forward(operation)
    with _Context(raw, "count"):
        if operation.returns_list != ("count" in raw.values) and operation.compose is None:
            raise TableError("count tells the number of results of an operation that returns Tensor[]")
        if "count" in raw.values:
            operation.count = Parser(scope, resolve_forward, choices).parse(raw.text("count") or "")
    with _Context(raw, "checks"):
        checks = raw.values.get("checks", {})
        if not isinstance(checks, dict):
            raise TableError("checks must map conditions to messages")
        parser = Parser(scope, resolve, choices)
        operation.checks = tuple((parser.flag(parser.parse(str(k))), str(v)) for k, v in checks.items())
    with _Context(raw, "constants"):
        constants = raw.values.get("constants", {})
        if not isinstance(constants, dict):
            raise TableError("constants must map names to values")
        operation.constants = {str(k): str(v) for k, v in constants.items()}
    read_gradients(operation, scope, resolve)
    return operation


def read_choices(raw: Raw, signature: Signature) -> dict[str, tuple[str, ...]]:
    """The strings that string arguments may be."""
    with _Context(raw, "choices"):
        value = raw.values.get("choices", {})
        if not isinstance(value, dict):
            raise TableError("choices must map arguments to lists of strings")
        choices = {str(k): tuple(str(s) for s in v) for k, v in value.items()}
        strings = {a.name for a in signature.arguments if a.kind in (Kind.STR, Kind.STR_OPT)}
        if set(choices) != strings:
            raise TableError(
                f"choices must name the string arguments, which are: {', '.join(sorted(strings)) or 'none'}"
            )
    return choices


def default_forward(signature: Signature, kernels: Mapping[str, Kernel]) -> str:
    """The kernel of the operation's name with all arguments."""
    name = next((n for n in (signature.identifier, signature.name) if n in kernels), None)
    if name is None:
        raise TableError(f"there is no kernel {signature.identifier!r}: give forward, compose or python")
    return f"{name}({', '.join(a.name for a in signature.arguments)})"


def check_forward(operation: Operation) -> None:
    """The forward gives what the signature promises."""
    assert operation.forward is not None
    forward = operation.forward
    if forward.kind is Kind.TENSORS:
        if not operation.outputs and not operation.returns_list:
            raise TableError("the forward gives several tensors, but the entry names no outputs")
    elif operation.signature.returns == ("bool",):
        if not (isinstance(forward, Call) and forward.kind is Kind.INT):
            raise TableError("an operation that returns bool calls a kernel that returns int")
    elif not forward.kind.is_array:
        raise TableError("the forward gives no tensor")


def read_gradients(operation: Operation, scope: Mapping[str, Kind], resolve: object) -> None:
    """Parse the formulas; compute edges and what is saved."""
    raw, signature = operation.raw, operation.signature
    assert callable(resolve)
    count = len(operation.outputs) or 1
    with _Context(raw, "non_differentiable"):
        silent = {int(v) for v in raw.names("non_differentiable")}
        operation.differentiable_outputs = tuple(i for i in range(count) if i not in silent)
    nondiff = raw.names("nondiff")
    with _Context(raw, "nondiff"):
        for name in nondiff:
            if name != "all" and name not in scope:
                raise TableError(f"{name!r} is no input")
    formula_scope = dict(scope)
    single = len(operation.differentiable_outputs) == 1 and not operation.returns_list
    if single:
        formula_scope["grad"] = Kind.TENSOR
    else:
        formula_scope["grads"] = Kind.TENSORS
    for name in operation.outputs or ("result",):
        formula_scope[name] = Kind.TENSOR
    formulas: dict[str, tuple[str, str]] = {}
    for key in raw.values:
        if key not in KEYS:
            formulas[key] = (key, raw.text(key) or "")
    composed = operation.compose is not None or signature.returns == ("bool",)
    for argument in signature.arguments:
        if argument.kind not in (Kind.TENSOR, Kind.TENSOR_OPT, Kind.TENSORS):
            if argument.name in formulas:
                with _Context(raw, argument.name):
                    raise TableError("only tensors have formulas")
            continue
        if argument.name in formulas:
            with _Context(raw, argument.name):
                if composed:
                    raise TableError("a composition has no formulas of its own: its gradient is that of its parts")
                text = formulas[argument.name][1]
                if text == "not_implemented":
                    operation.missing = True
                    text = "None"
                expression = Parser(formula_scope, resolve, operation.choices).parse(text)
                wanted = argument.kind is Kind.TENSORS
                if (expression.kind is Kind.TENSORS) != wanted or not (wanted or expression.kind.is_array):
                    raise TableError("the formula of a list gives a list, that of a tensor a tensor")
                operation.gradients[argument.name] = expression
        elif not composed and argument.name not in nondiff and nondiff != ("all",):
            with _Context(raw):
                raise TableError(f"the input {argument.name!r} has no formula; give one, or list it under nondiff")
    with _Context(raw, "result"):
        given = raw.values.get("result")
        if (given is None) != (not operation.gradients or operation.missing):
            raise TableError(
                "a differentiable operation needs `result:`, the tangent of its result"
                if given is None
                else "only operations with derivatives have tangents"
            )
        if given is not None:
            operation.tangents = read_result(
                given,
                {n: k for n, k in scope.items() if n in operation.gradients},
                {**scope, **dict.fromkeys(operation.outputs or ("result",), Kind.TENSOR)},
                operation.outputs,
                operation.differentiable_outputs,
                resolve,
                operation.choices,
            )
    with _Context(raw, "exact"):
        exact = raw.names("exact")
        operation.exact = frozenset(operation.edges if exact == ("True",) or raw.values.get("exact") is True else exact)
        if not operation.exact <= set(operation.edges):
            raise TableError(f"{min(operation.exact - set(operation.edges))!r} is no differentiable input")
    with _Context(raw, "saves"):
        shown = [Parser(formula_scope, resolve, operation.choices).parse(text) for text in raw.names("saves")]
        compute_saved(operation, shown)


def compute_saved(operation: Operation, shown: list[Expression]) -> None:
    """Which tensors and values the formulas read, and for which inputs; `shown`: saved only to be seen, as in torch."""
    arguments = {a.name: a for a in operation.signature.arguments}
    results = list(operation.outputs or ("result",))
    edges = operation.edges
    readers: dict[str, set[int]] = {}
    values: dict[str, SavedValue] = {}
    formulas = [*enumerate(operation.gradients.values()), *((len(edges) - 1, e) for e in shown if edges)]
    for edge, expression in formulas:
        read = {v.name for v in walk(expression) if isinstance(v, Variable)}
        for part in walk(expression):
            if isinstance(part, Fact) and part.of in read:
                continue  # read off the tensor, which is saved anyhow
            if isinstance(part, Fact) and (part.of in arguments or part.of in results):
                name = fact_name(part)
                values.setdefault(name, SavedValue(name, part.kind, part))
                if part.of in results:
                    raise TableError(f"{part.fact}({part.of}): only inputs have facts that are saved")
            elif isinstance(part, Variable) and part.name not in ("grad", "grads"):
                argument = arguments.get(part.name)
                if part.name in results or (argument is not None and argument.kind.is_array):
                    readers.setdefault(part.name, set()).add(edge)
                elif argument is not None and argument.kind is not Kind.TENSORS:
                    values.setdefault(
                        part.name, SavedValue(part.name, argument.kind, None, operation.choices.get(part.name, ()))
                    )
                elif argument is not None:
                    with _Context(operation.raw, edges[edge]):
                        raise TableError(f"the list {part.name!r} cannot be saved")
    saved: list[SavedTensor] = []
    for name in [*arguments, *results]:
        if name in readers:
            is_output = name not in arguments
            scalar = not is_output and arguments[name].kind in (Kind.SCALAR, Kind.SCALAR_OPT)
            number = results.index(name) if is_output else edges.index(name) if name in edges else -1
            saved.append(SavedTensor(name, is_output, number, scalar, frozenset(readers[name])))
    # In torch's order, which pack hooks see: inputs by name, then results.
    operation.saved = tuple(sorted(saved, key=lambda s: (s.is_output, s.name)))
    for name in operation.shapes:
        for fact in ("sizes", "strides"):
            shape = Fact(Kind.INTS, fact, name)
            values.setdefault(
                fact_name(shape),
                SavedValue(fact_name(shape), Kind.INTS, shape, (), edges.index(name) if fact == "strides" else None),
            )
    operation.values = tuple(values.values())
    hidden = [
        Parser({a.name: a.kind for a in operation.signature.arguments}, lambda _: None).parse(t)
        for t in operation.raw.names("hides")
    ]
    operation.hides = frozenset(fact_name(f) if isinstance(f, Fact) else getattr(f, "name", "") for f in hidden)
    if not operation.hides <= set(values):
        raise TableError(f"hides: {min(operation.hides - set(values))!r} is not saved")


def fact_name(fact: Fact) -> str:
    """Torch's name of a saved fact: self_sym_sizes."""
    argument: object = "dim"
    if fact.arguments and isinstance(fact.arguments[0], Variable):
        argument = fact.arguments[0].name
    elif fact.arguments and isinstance(fact.arguments[0], Constant):
        argument = fact.arguments[0].value
    return FACT_NAMES.get(fact.fact, "{}_" + fact.fact).format(fact.of, argument)


def calls(expression: Expression) -> list[Call]:
    """All calls in an expression."""
    return [e for e in walk(expression) if isinstance(e, Call)]
