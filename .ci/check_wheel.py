"""Looks into a built wheel: its size, and that it holds what it should and nothing else.

python .ci/check_wheel.py WHEEL
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

LIMIT = 5_000_000
ALLOWED = (".py", ".pyi", ".pxd", ".so", ".pyd")


def problems(names: list[str]) -> list[str]:
    """What is wrong with the files of the wheel."""
    found = []
    files = [n for n in names if not n.split("/")[0].endswith(".dist-info")]
    found += [f"outside of the package: {n}" for n in files if not n.startswith("cygrad/")]
    found += [f"does not belong in it: {n}" for n in files if not n.endswith((*ALLOWED, "/py.typed"))]
    modules = [n.partition(".")[0] for n in files if n.endswith((".so", ".pyd"))]
    found += [f"no stub for {m}" for m in modules if f"{m}.pyi" not in files]
    found += [f"missing: {n}" for n in ("cygrad/py.typed", "cygrad/_core/tensor.pxd") if n not in files]
    if not modules:
        found.append("no compiled modules")
    return found


def main(path: Path) -> int:
    """Print the size and every problem; 1 if there is one."""
    size = path.stat().st_size
    with zipfile.ZipFile(path) as wheel:
        found = problems(wheel.namelist())
        unpacked = sum(i.file_size for i in wheel.infolist())
    print(f"{path.name}: {size / 1e6:.2f} MB, {unpacked / 1e6:.2f} MB unpacked")
    if size >= LIMIT:
        found.append(f"{size} bytes, {LIMIT} allowed")
    for line in found:
        print(f"check_wheel: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
