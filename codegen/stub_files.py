"""Lays the stubs of the compiled modules beside them, where type checkers look and the package ships them.

Why it exists: a stub is written by hand in stubs/, written by the generator, or both (Tensor: data and identity by
hand, operations from the table). Every compiled module needs one: a module that only C code uses gets an empty stub
here, and stubtest sees to it that it has no Python names.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
STUBS = ROOT / "stubs"
CORE = ROOT / "cygrad" / "_core"
# Stands in the body of a class in stubs/cygrad/_core/tensor.pyi; the generated methods come in its place.
METHODS_MARK = "    # The methods of the operations follow: codegen.stubs.tensor_methods().\n"
METHODS_IMPORTS = "from typing import Literal\nfrom cygrad import return_types\n"
# Types whose names are methods or properties of Tensor too; inside of the class they go by the aliases of tensor.pyi.
# Not what defines such a name: a method, or a parameter, whose colon is not followed by the body.
HIDDEN = re.compile(r"(?<!def )(?<![\w.])(bool|int|float|dtype|device|layout)\b(?!\()(?!:(?! \.\.\.))")
ONLY_C = "# Only C code uses this module: its contract is the .pxd of the same name.\n__pyx_capi__: dict[str, object]\n"
NO_NAMES = "# Importing this module is all that there is to it.\n"


def tensor_stub(by_hand: str) -> str:
    """The stub of Tensor: what was written by hand, with the generated methods at the mark.

    Raises:
        ValueError: the mark is missing, or there twice.

    """
    if by_hand.count(METHODS_MARK) != 1:
        raise ValueError(f"stubs/cygrad/_core/tensor.pyi must hold this line once: {METHODS_MARK.strip()}")
    from codegen.stubs import tensor_methods

    methods = "".join(f"    {line}\n" if line else "\n" for line in tensor_methods())
    return METHODS_IMPORTS + by_hand.replace(METHODS_MARK, HIDDEN.sub(r"_\1", methods))


def empty_stub(module: Path) -> str:
    """The stub of a compiled module without Python names."""
    return ONLY_C if module.with_suffix(".pxd").exists() else NO_NAMES


def stub_texts() -> dict[Path, str]:
    """The text of every stub outside of generated/, by the path that it ships under."""
    texts = {ROOT / path.relative_to(STUBS): path.read_text(encoding="utf-8") for path in sorted(STUBS.rglob("*.pyi"))}
    tensor = CORE / "tensor.pyi"
    if tensor in texts:
        texts[tensor] = tensor_stub(texts[tensor])
    for module in sorted(CORE.rglob("*.pyx")):
        if module.parent.name != "generated":
            texts.setdefault(module.with_suffix(".pyi"), empty_stub(module))
    from codegen.generate import load_table
    from codegen.stubs import return_types_stub

    texts[ROOT / "cygrad" / "return_types.pyi"] = return_types_stub(load_table())
    # The generator has written the stubs of generated modules that have Python names.
    for module in sorted((CORE / "generated").glob("*.pyx")):
        if not module.with_suffix(".pyi").exists():
            texts[module.with_suffix(".pyi")] = empty_stub(module)
    return texts


def install() -> None:
    """Write the stubs that changed, and take away those whose module is gone."""
    texts = stub_texts()
    for path in CORE.rglob("*.pyi"):
        if path.parent.name != "generated" and path not in texts:
            path.unlink()
    for path, text in texts.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
