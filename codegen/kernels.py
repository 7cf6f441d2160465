"""The kernels that formulas may call, read from the declarations in cygrad/_core/kernels/*.pxd.

Why it exists: a kernel is declared once, in its .pxd; the generator checks calls against that declaration and cimports
from that module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from codegen.schema import Kind

_DECLARATION = re.compile(
    r"^cdef\s+(?P<result>Array\s*\*|int|Py_ssize_t)\s+(?P<name>\w+)\((?P<arguments>[^)]*)\)\s*noexcept\s+nogil"
)
_C_KINDS = {
    "Array*": Kind.TENSOR,
    "const IntList*": Kind.INTS,
    "IntList*": Kind.INTS,
    "Py_ssize_t": Kind.INT,
    "int64_t": Kind.INT,
    "bint": Kind.BOOL,
    "double": Kind.FLOAT,
    "int": Kind.DTYPE,
    "Array**": Kind.TENSORS,
    "const Py_ssize_t*": Kind.INTS_OPT,  # with the count after it: a list of integers
}


@dataclass(frozen=True)
class Kernel:
    """One declared kernel."""

    name: str
    module: str  # "cygrad._core.kernels.ufuncs"
    parameters: tuple[tuple[str, Kind], ...]  # without outs and out
    several: bool  # writes `Array** outs` and returns 0 or -1
    has_out: bool  # last parameter is `Array* out`, which may be NULL
    result: Kind = Kind.TENSOR  # INT: a number (-1: error), where it is no Array
    plain_lists: frozenset[str] = frozenset()  # lists of integers that are passed as pointer and count


def parse_declaration(line: str, module: str) -> Kernel | None:
    """The kernel that a line of a .pxd declares, or None if it is no kernel a formula can call."""
    match = _DECLARATION.match(line)
    if match is None:
        return None
    parameters: list[tuple[str, Kind]] = []
    for part in match["arguments"].split(","):
        if not part.strip():
            continue
        split = re.match(r"^(?P<type>.*?[\s*])(?P<name>\w+)$", part.strip())
        kind = _C_KINDS.get(re.sub(r"\s*\*", "*", split["type"].strip())) if split else None
        if split is None or kind is None:
            return None
        parameters.append((split["name"], kind))
    several = bool(parameters) and parameters[-1][1] is Kind.TENSORS and match["result"] == "int"
    if several:
        parameters.pop()
    has_out = bool(parameters) and parameters[-1] == ("out", Kind.TENSOR)
    if has_out:
        parameters.pop()
    counted = (Kind.TENSORS, Kind.INTS_OPT)  # followed by their count
    listed: list[tuple[str, Kind]] = []
    plain: set[str] = set()
    for i, (name, kind) in enumerate(parameters):
        if i and parameters[i - 1][1] in counted:
            continue
        if kind in counted and not (i + 1 < len(parameters) and parameters[i + 1][1] in (Kind.DTYPE, Kind.INT)):
            return None
        if kind is Kind.INTS_OPT:
            plain.add(name)
        listed.append((name, Kind.INTS if kind is Kind.INTS_OPT else kind))
    result = Kind.TENSOR if several or match["result"].startswith("Array") else Kind.INT
    return Kernel(match["name"], module, tuple(listed), several, has_out, result, frozenset(plain))


def read_kernels(folder: Path) -> dict[str, Kernel]:
    """All kernels declared in the folder's .pxd files, by name."""
    kernels: dict[str, Kernel] = {}
    for path in sorted(folder.glob("*.pxd")):
        module = f"cygrad._core.kernels.{path.stem}"
        text = re.sub(r",\s*(#[^\n]*)?\n\s+", ", ", path.read_text(encoding="utf-8"))
        for line in text.splitlines():
            kernel = parse_declaration(line, module)
            if kernel is not None:
                kernels.setdefault(kernel.name, kernel)
    return kernels


def read_enums(folder: Path) -> dict[str, str]:
    """The enumerators (UF_EXP) that the folder's .pxd files define, and their modules."""
    names: dict[str, str] = {}
    for path in sorted(folder.glob("*.pxd")):
        inside = False
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.match(r"^cdef enum \w+:", line):
                inside = True
            elif inside and line.startswith("    "):
                for part in line.split("#")[0].split(","):
                    name = part.split("=")[0].strip()
                    if name:
                        names[name] = f"cygrad._core.kernels.{path.stem}"
            else:
                inside = False
    return names
