"""The example as a user runs it, with cygrad and with torch, and the pictures that it leaves.

It is a promise of its own that one import line is all that differs between the two.
"""

import importlib.util
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

import cygrad

EXAMPLES = Path(__file__).parents[1] / "examples"
SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {
    "weight1": "64 \N{MULTIPLICATION SIGN} 256",
    "bias1": "256",
    "weight2": "256 \N{MULTIPLICATION SIGN} 128",
    "bias2": "128",
    "weight3": "128 \N{MULTIPLICATION SIGN} 10",
    "bias3": "10",
}


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a script as a program of its own, on the cygrad that is under test."""
    package = str(Path(cygrad.__file__).parents[1])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def script_for(library: str, folder: Path) -> Path:
    """The example itself, or a copy of it in which torch takes cygrad's place."""
    if library == "cygrad":
        return EXAMPLES / "train_digits.py"
    source = (EXAMPLES / "train_digits.py").read_text(encoding="utf-8")
    assert len(re.findall(r"^import cygrad as torch$", source, re.MULTILINE)) == 1
    script = folder / "train_digits.py"
    script.write_text(source.replace("import cygrad as torch\n", "import torch\n"), encoding="utf-8")
    (folder / "graph_svg.py").write_text((EXAMPLES / "graph_svg.py").read_text(encoding="utf-8"), encoding="utf-8")
    return script


def texts(picture: ET.Element, kind: str) -> list[str]:
    """The texts of one class in an SVG picture, in order."""
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text") if text.get("class") == kind]


@pytest.mark.parametrize("library", ["cygrad", "torch"])
def test_example_learns_and_draws(library: str, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    done = run(script_for(library, tmp_path), "--out", str(out), "--seed", "1")
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"^test accuracy: ([\d.]+)% \(360 images\)$", done.stdout, re.MULTILINE)
    assert accuracy is not None and float(accuracy[1]) >= 97
    assert "30/30" in done.stderr, "no progress bar"
    assert sorted(path.name for path in out.iterdir()) == ["backward_graph.svg", "loss.png"]

    png = (out / "loss.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and len(png) > 10_000

    picture = ET.parse(out / "backward_graph.svg").getroot()
    assert texts(picture, "root") == ["NllLossBackward0"]
    operations = {"LogSoftmaxBackward0": 1, "AddBackward0": 3, "MmBackward0": 3, "ReluBackward0": 2}
    assert Counter(texts(picture, "operation")) == operations
    assert dict(zip(texts(picture, "leaf"), texts(picture, "shape"), strict=True)) == SHAPES
    edges = [path for path in picture.iter(f"{SVG}path") if path.get("class") == "edge"]
    assert len(edges) == 15


def test_too_little_training_is_a_failure(tmp_path: Path) -> None:
    done = run(EXAMPLES / "train_digits.py", "--epochs", "1", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "expected at least 97%" in done.stderr and "test accuracy: " in done.stdout


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    for arguments in (["--epochs", "0"], ["--speed", "3"]):
        done = run(EXAMPLES / "train_digits.py", "--out", str(tmp_path / "out"), *arguments)
        assert done.returncode == 2 and "usage:" in done.stderr
    assert not (tmp_path / "out").exists()


class Leaf:
    """A parameter as the writer of graphs sees it."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


class Fake:
    """A node of a graph made up for a test."""

    def __init__(self, name: str, *inputs: "Fake | None") -> None:
        self._name = name
        self.next_functions: Sequence[tuple[Fake | None, int]] = [(node, 0) for node in inputs]

    def name(self) -> str:
        return self._name


class FakeLeaf(Fake):
    """The node of a leaf made up for a test."""

    def __init__(self, variable: Leaf) -> None:
        super().__init__("AccumulateGrad")
        self.variable = variable


@pytest.fixture(scope="module")
def graph_svg() -> ModuleType:
    """The module beside the example, which is in no package."""
    spec = importlib.util.spec_from_file_location("graph_svg", EXAMPLES / "graph_svg.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["graph_svg"] = module
    spec.loader.exec_module(module)
    return module


def test_graph_with_joins_skips_and_double_edges(graph_svg: ModuleType, tmp_path: Path) -> None:
    named, other = Leaf(3, 4), Leaf()
    x, y = FakeLeaf(named), FakeLeaf(other)
    square = Fake("MulBackward0", x, x)
    chain = square
    for _ in range(6):
        chain = Fake("TanhBackward0", chain)
    branch = Fake("SumBackward0", square, None)
    root = Fake("Custom<&>Backward", chain, branch, y, x)
    count = graph_svg.write_graph(tmp_path / "graph.svg", root, {"a & b": named}, "Skips & joins")

    picture = ET.parse(tmp_path / "graph.svg").getroot()
    assert count == 11
    assert texts(picture, "title") == ["Skips & joins"]
    assert texts(picture, "root") == ["Custom<&>Backward"]
    assert sorted(texts(picture, "operation")) == ["MulBackward0", "SumBackward0", *["TanhBackward0"] * 6]
    assert dict(zip(texts(picture, "leaf"), texts(picture, "shape"), strict=True)) == {
        "a & b": "3 \N{MULTIPLICATION SIGN} 4",
        "leaf": "scalar",
    }
    edges = [path.get("d", "") for path in picture.iter(f"{SVG}path") if path.get("class") == "edge"]
    assert len(edges) == 13
    for edge in edges:
        heights = [float(y) for y in re.findall(r",(-?[\d.]+)", edge)]
        assert heights == sorted(heights), "an edge goes up"

    boxes = [
        tuple(float(rect.get(key, "nan")) for key in ("x", "y", "width", "height"))
        for rect in picture.iter(f"{SVG}rect")
        if rect.get("class")
    ]
    assert len(boxes) == count
    width, height = float(picture.get("width", "nan")), float(picture.get("height", "nan"))
    for index, (left, top, wide, high) in enumerate(boxes):
        assert left >= 0 and left + wide <= width and top >= 0 and top + high <= height
        for other_left, other_top, other_wide, other_high in boxes[:index]:
            apart = left + wide <= other_left or other_left + other_wide <= left
            assert apart or top + high <= other_top or other_top + other_high <= top, "two boxes overlap"


def test_graph_of_a_long_chain(graph_svg: ModuleType, tmp_path: Path) -> None:
    node: Fake = FakeLeaf(Leaf(2))
    for _ in range(3000):
        node = Fake("AddBackward0", node)
    assert graph_svg.write_graph(tmp_path / "graph.svg", node, {}, "Deep") == 3001
    assert len(texts(ET.parse(tmp_path / "graph.svg").getroot(), "operation")) == 2999
