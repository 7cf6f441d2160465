"""What a typed project downstream sees: tests/typing under mypy --strict and under pyright's strict mode.

Why it exists: annotations that one checker believes may mean something else to the other. The files there assert the
types that come out, and mark the lines that must be refused; a refusal that does not come is an error as well.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent / "typing"
WRONG = """from typing import assert_type

import cygrad

x = cygrad.ones(3, requires_grad=True)
assert_type(x + 1, int)
cygrad.autograd.grad(x, "inputs")
x.no_such_method()
"""
WRONG_LINES = [6, 7, 8]


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The checker's answer; it may take minutes on a slow machine without caches."""
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=project, capture_output=True, text=True, check=False, timeout=900
    )


def mypy(project: Path) -> subprocess.CompletedProcess[str]:
    return run(project, "mypy", "--config-file", "pyproject.toml")


def pyright(project: Path) -> subprocess.CompletedProcess[str]:
    return run(project, "basedpyright", "--pythonpath", sys.executable, "--project", "pyproject.toml")


def test_mypy_accepts_the_downstream_project() -> None:
    done = mypy(PROJECT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"no issues found in {len(list(PROJECT.glob('*.py')))} source files" in done.stdout


def test_pyright_accepts_the_downstream_project() -> None:
    done = pyright(PROJECT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors, 0 warnings" in done.stdout


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_checkers_refuse_what_is_wrong(
    checker: Callable[[Path], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    # If cygrad were not found, or untyped, everything would be Any, and the tests above would pass for nothing.
    root = str(PROJECT.parent.parent)
    settings = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    settings = settings.replace("$MYPY_CONFIG_FILE_DIR/../..", root).replace("../..", root)
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    done = checker(tmp_path)
    found = re.findall(r"wrong\.py:(\d+)(?::\d+)?(?: -)?:? error", done.stdout)
    assert sorted({int(line) for line in found}) == WRONG_LINES, done.stdout + done.stderr
