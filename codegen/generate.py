"""Runs the generator: reads the table and the kernels' declarations, writes cygrad/_core/generated.

Why it exists: setup.py calls generate() before anything is translated; files whose content did not change keep their
time stamp, so that a rebuild compiles only what changed.
"""

from __future__ import annotations

from pathlib import Path

from codegen.emit_bindings import BindingsEmitter
from codegen.emit_ops import HelpersEmitter, OpsEmitter, has_apply
from codegen.emit_recorded import RecordedEmitter
from codegen.kernels import read_enums, read_kernels
from codegen.stubs import bindings_stub
from codegen.table import Table, build_table

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "codegen" / "derivatives"
KERNELS = ROOT / "cygrad" / "_core" / "kernels"
GENERATED = ROOT / "cygrad" / "_core" / "generated"


def load_table() -> Table:
    """The checked table of this checkout."""
    return build_table(TABLE, read_kernels(KERNELS), read_enums(KERNELS))


def render(table: Table) -> dict[str, str]:
    """All generated files, by name."""
    families = table.families()
    files: dict[str, str] = {"__init__.pxd": "", "__init__.py": package(families, table)}
    files["functions.py"] = function_list(families, table)
    files["ops_helpers.pyx"], files["ops_helpers.pxd"] = HelpersEmitter(table).emit()
    for family in families:
        files[f"ops_{family}.pyx"], files[f"ops_{family}.pxd"] = OpsEmitter(table, family).emit()
        recorded = RecordedEmitter(table, family).emit()
        if recorded:
            files[f"recorded_{family}.pyx"] = recorded
        files[f"bindings_{family}.pyx"] = BindingsEmitter(table, family).emit()
        files[f"bindings_{family}.pyi"] = bindings_stub(table, family)
    return files


def package(families: list[str], table: Table) -> str:
    """The __init__.py: imports everything in order and lists the functions."""
    lines = [
        '"""Generated operations: see codegen/. Importing this installs the Tensor methods and completes the VJPs."""',
        "",
    ]
    lines += [f"from cygrad._core.generated import ops_{f}  # noqa: F401" for f in families]
    lines += [
        f"from cygrad._core.generated import recorded_{f}  # noqa: F401"
        for f in families
        if any(o.gradients for o in table.of_family(f))
    ]
    lines += [f"from cygrad._core.generated import bindings_{f}  # noqa: F401" for f in families]
    return "\n".join(lines) + "\n"


def function_list(families: list[str], table: Table) -> str:
    """The functions.py: every operation's function form by its name, for cygrad/__init__.py."""
    lines = ['"""The function forms of the generated operations."""', ""]
    names: list[str] = []
    for family in families:
        public = [o for o in table.of_family(family) if "function" in o.variants]
        here = sorted({name for o in public for name in (o.signature.name, *o.aliases)})
        if here:
            lines.append(f"from cygrad._core.generated.bindings_{family} import {', '.join(here)}")
            names += here
    lines += ["", f"__all__ = [{', '.join(repr(n) for n in sorted(names))}]"]
    return "\n".join(lines).replace("'", '"') + "\n"


def without_apply(table: Table) -> list[str]:
    """Operations whose VJP runs on Tensors only (with the GIL)."""
    return [o.identifier for o in table.operations.values() if o.gradients and not has_apply(table, o)]


def generate() -> None:
    """Write what changed; say which VJPs have no form without the GIL.

    Raises:
        TableError: the table is wrong.

    """
    table = load_table()
    files = render(table)
    GENERATED.mkdir(exist_ok=True)
    for path in GENERATED.iterdir():
        if path.suffix in (".pyx", ".pxd") and path.name not in files:
            path.unlink()
    for name, text in files.items():
        path = GENERATED / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    slow = without_apply(table)
    if slow:
        print(f"codegen: VJPs with the GIL only: {', '.join(slow)}")


if __name__ == "__main__":
    generate()
