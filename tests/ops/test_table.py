"""The table of samples itself: complete over the operation table of the code generator, and sound.

Why it exists: a formula without a row would be a formula nobody checks.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from ops.samples import TABLE

DERIVATIVES = Path(__file__).resolve().parents[2] / "codegen" / "derivatives"
ENTRY = re.compile(r"^(\w+)(?:\.\w+)?\(")
# Functions that only formulas call: they have no gradient of their own, and every formula that calls them is checked.
HELPERS = "helpers.yaml"
# Steps that only other operations take; their formulas run in the second derivatives of those.
INTERNAL = re.compile(r"^  variants: none$", re.MULTILINE)


def formula_names() -> set[str]:
    """Names of all public operations of the generator's table, without their overloads."""
    texts = [path.read_text() for path in sorted(DERIVATIVES.glob("*.yaml")) if path.name != HELPERS]
    blocks = [block for text in texts for block in re.split(r"^- name: ", text, flags=re.MULTILINE)[1:]]
    found = [ENTRY.match(block) for block in blocks if not INTERNAL.search(block)]
    return {match[1] for match in found if match is not None}


def covered_names() -> set[str]:
    """Names that the rows say they exercise."""
    found: set[str] = set()
    for entry in TABLE:
        found.update((entry.name, *entry.covers))
        found.update(path.rpartition(".")[2] for path in entry.fns)
        if entry.method is not None:
            found.add(entry.method)
    return found


def test_every_formula_has_samples() -> None:
    names = formula_names()
    assert len(names) > 10, f"no entries found under {DERIVATIVES}: has their form changed?"
    missing = sorted(names - covered_names())
    assert not missing, f"operations without a row in tests/ops/samples_*.py: {missing}"


def test_rows_have_distinct_names() -> None:
    twice = [name for name, count in Counter(entry.name for entry in TABLE).items() if count > 1]
    assert not twice, f"rows of the same name: {twice}"


def test_rows_can_be_called_and_have_samples() -> None:
    for entry in TABLE:
        assert entry.forms(), f"row {entry.name} says no way to call it"
        assert entry.samples or entry.bad, f"row {entry.name} has no samples"
        if entry.grad:
            assert any(sample.check for sample in entry.samples), f"row {entry.name}: nothing for finite differences"
