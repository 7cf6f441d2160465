"""The key `result:` of the table: how the tangent of a result follows from those of the inputs.

Why apart from table.py: VJPs and JVPs are read by different rules. A JVP is linear in the tangents, so it is a sum with
one term for each input; a term is computed only where its input has a tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from codegen.formula import Expression, Function, Parser
from codegen.schema import Kind, TableError

LINEAR = "auto_linear"
ELEMENT_WISE = "auto_element_wise"
PRODUCT = "auto_product"


@dataclass(frozen=True)
class Term:
    """What the tangent of one input adds to that of one result."""

    output: int
    input: str
    formula: Expression


@dataclass(frozen=True)
class Tangents:
    """How the tangents of an operation's results are computed: a rule's name, or terms."""

    rule: str | None
    terms: tuple[Term, ...] = ()


def tangent_name(name: str) -> str:
    """The name of an input's tangent in formulas."""
    return f"{name}_t"


def read_result(
    value: object,
    inputs: Mapping[str, Kind],
    scope: Mapping[str, Kind],
    outputs: Sequence[str],
    differentiable: Sequence[int],
    resolve: Callable[[str], Function | None],
    choices: Mapping[str, tuple[str, ...]],
) -> Tangents:
    """The checked value of `result:` for an operation with those differentiable inputs.

    Raises:
        TableError: a rule that does not apply, a missing or surplus term, a formula that is none.

    """
    if isinstance(value, str) and value.startswith("auto_"):
        return check_rule(value, inputs, outputs)
    if Kind.TENSORS in inputs.values():
        raise TableError(f"the tangents of a list follow by {LINEAR} only")
    names = list(outputs) or ["result"]
    tables: dict[int, object] = {}
    if isinstance(value, dict) and outputs and set(value) <= set(outputs):
        tables = {names.index(str(k)): v for k, v in value.items()}
        if sorted(tables) != sorted(differentiable):
            raise TableError(f"needs a formula for each of: {', '.join(names[i] for i in differentiable)}")
    elif len(differentiable) == 1:
        tables = {differentiable[0]: value}
    else:
        raise TableError(f"must map the results to formulas: {', '.join(names)}")
    terms: list[Term] = []
    for output, by_input in tables.items():
        if not isinstance(by_input, dict):
            if len(inputs) != 1:
                raise TableError(f"must map the differentiable inputs to their terms: {', '.join(inputs)}")
            by_input = {next(iter(inputs)): by_input}
        if set(by_input) != set(inputs):
            raise TableError(f"needs a term for each of: {', '.join(inputs)}; there are: {', '.join(by_input)}")
        for name, text in by_input.items():
            here = {**scope, tangent_name(name): Kind.TENSOR}
            formula = Parser(here, resolve, choices).parse(str(text))
            if not formula.kind.is_array:
                raise TableError(f"the term of {name!r} gives no tensor")
            terms.append(Term(output, name, formula))
    return Tangents(None, tuple(terms))


def check_rule(rule: str, inputs: Mapping[str, Kind], outputs: Sequence[str]) -> Tangents:
    """A rule that applies to such inputs and results."""
    if rule not in (LINEAR, ELEMENT_WISE, PRODUCT):
        raise TableError(f"unknown rule {rule!r}; there are {LINEAR}, {ELEMENT_WISE} and {PRODUCT}")
    listed = Kind.TENSORS in inputs.values()
    if rule == LINEAR and len(inputs) != 1:
        raise TableError(f"{LINEAR} is for operations with one differentiable input: give a term for each")
    if rule != LINEAR and (listed or outputs):
        raise TableError(f"{rule} is for operations on tensors with one result")
    return Tangents(rule)
