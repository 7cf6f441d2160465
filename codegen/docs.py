"""The operation table as Markdown, for the documentation: `python -m codegen.docs > operations.md`.

Why it exists: what the documentation says of operations, nodes and formulas is read from the table, never written
by hand.
"""

from __future__ import annotations

from codegen.emit_ops import has_apply
from codegen.generate import load_table
from codegen.table import Operation, Table


def row(table: Table, operation: Operation) -> str:
    """One line of the table: signature, node, VJPs, and where the VJP runs."""
    formulas = "; ".join(f"{name}: `{operation.raw.text(name)}`" for name in operation.edges)
    if operation.compose is not None:
        formulas = f"composition: `{operation.raw.text('compose')}`"
    elif not operation.gradients:
        formulas = "no gradient"
    node = operation.node if operation.gradients else ""
    runs = "" if not operation.gradients else "without the GIL" if has_apply(table, operation) else "with the GIL"
    cells = [f"`{operation.signature.text}`", node, formulas, runs]
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"


def operations_markdown(table: Table) -> str:
    """The whole table, a section a family."""
    lines = ["# Operations", ""]
    for family in table.families():
        lines += [f"## {family}", "", "| operation | node | VJP | VJP runs |", "| --- | --- | --- | --- |"]
        lines += [row(table, o) for o in table.of_family(family) if o.variants != {"none"}]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(operations_markdown(load_table()))
