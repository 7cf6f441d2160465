"""Draws the backward graph of a tensor as an SVG picture: nodes in layers, the root on top, leaves with their shapes.

It walks `grad_fn.next_functions`, as any program may, and needs nothing but Python: no Graphviz, no plotting library.
The steps are those of Sugiyama, Tagawa & Toda, "Methods for visual understanding of hierarchical system structures"
(1981): layers, order within the layers, positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Protocol, runtime_checkable

ROW = 62.0
GAP = 26.0
MARGIN = 36.0
HEADER = 64.0
BOX_HEIGHT = 32.0
PADDING = 15.0
LETTER = 7.6

STYLE = """
text { font: 13px "Helvetica Neue", Helvetica, Arial, sans-serif; fill: #1d2733; text-anchor: middle; }
text.title { font-size: 16px; font-weight: bold; text-anchor: start; }
text.note { font-size: 12px; fill: #5b6878; text-anchor: start; }
rect.operation { fill: #e3edf9; stroke: #3b6ea8; stroke-width: 1.2; }
rect.root { fill: #3b6ea8; stroke: #27507f; stroke-width: 1.2; }
text.root { fill: #ffffff; font-weight: bold; }
rect.leaf { fill: #fdf0d2; stroke: #c08a1e; stroke-width: 1.2; }
text.leaf { font-weight: bold; text-anchor: start; }
text.shape { fill: #7a5a14; text-anchor: end; }
path.edge { fill: none; stroke: #8795a5; stroke-width: 1.4; }
"""


class Tensor(Protocol):
    """What is asked of a leaf."""

    @property
    def shape(self) -> Sequence[int]:
        """The lengths of the axes."""


class Node(Protocol):
    """What is asked of a node of the backward graph; any library with torch's names has it."""

    def name(self) -> str:
        """What the node is called."""

    @property
    def next_functions(self) -> Sequence[tuple[Node | None, int]]:
        """The nodes that gradients go to from here, each with the number of its input; None where none is wanted."""


@runtime_checkable
class LeafNode(Protocol):
    """The node that adds up the gradient of a leaf."""

    @property
    def variable(self) -> Tensor:
        """The leaf."""


@dataclass(eq=False)
class Box:
    """One thing in the picture: a node, or a bend of an edge that crosses a layer (then `kind` is "bend")."""

    kind: str
    text: str = ""
    shape: str = ""
    below: list[Box] = field(default_factory=list)
    above: list[Box] = field(default_factory=list)
    layer: int = 0
    x: float = 0.0

    @property
    def width(self) -> float:
        """The width of the box, in pixels."""
        if self.kind == "bend":
            return 8.0
        # The renderer's font is not known here, so the box takes a wide one; bold letters are wider still.
        bold = self.kind in ("root", "leaf")
        return 2 * PADDING + LETTER * (
            (1.12 if bold else 1.0) * len(self.text) + len(self.shape) + 2 * bool(self.shape)
        )

    @property
    def weight(self) -> float:
        """How much the box insists on its place: operations make a straight spine, leaves stand beside it."""
        return 1.0 if self.kind == "leaf" else 1e5


def write_graph(path: Path, root: Node, names: Mapping[str, Tensor], title: str) -> int:
    """Writes the graph below `root` to `path` and returns the number of its nodes.

    `names` names the leaves, which are found by identity; others are called "leaf".
    """
    boxes = read_boxes(root, names)
    layers = make_layers(boxes)
    order_layers(layers)
    place(layers)
    path.write_text(draw(boxes, layers, title), encoding="utf-8")
    return len(boxes)


def read_boxes(root: Node, names: Mapping[str, Tensor]) -> list[Box]:
    """Walks the graph and returns a box for each node, in an order in which every node comes before what it feeds."""
    boxes: dict[Node, Box] = {}
    indegree: dict[Node, int] = {root: 0}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        boxes[node] = box_of(node, names, node is root)
        for following, _ in node.next_functions:
            if following is not None:
                if following not in indegree:
                    indegree[following] = 0
                    waiting.append(following)
                indegree[following] += 1
    ordered: list[Box] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        box = boxes[node]
        ordered.append(box)
        # Backwards onto the stack, so that the first input is taken first, and drawn first from the left.
        for following, _ in reversed(node.next_functions):
            if following is not None:
                other = boxes[following]
                box.below.insert(0, other)
                other.above.append(box)
                indegree[following] -= 1
                if not indegree[following]:
                    waiting.append(following)
    return ordered


def box_of(node: Node, names: Mapping[str, Tensor], is_root: bool) -> Box:
    """How a node is labelled."""
    if not isinstance(node, LeafNode):
        return Box("root" if is_root else "operation", node.name())
    leaf = node.variable
    name = next((name for name, tensor in names.items() if tensor is leaf), "leaf")
    return Box("leaf", name, " \N{MULTIPLICATION SIGN} ".join(str(length) for length in leaf.shape) or "scalar")


def make_layers(boxes: list[Box]) -> list[list[Box]]:
    """Puts every box below the lowest of those that point to it, and a bend wherever an edge crosses a layer."""
    for box in boxes:
        box.layer = max((above.layer + 1 for above in box.above), default=0)
    layers: list[list[Box]] = [[] for _ in range(max(box.layer for box in boxes) + 1)]
    for box in boxes:
        layers[box.layer].append(box)
        for position, target in enumerate(box.below):
            bends = [Box("bend", layer=layer) for layer in range(box.layer + 1, target.layer)]
            if bends:
                chain = [box, *bends, target]
                box.below[position] = bends[0]
                target.above[target.above.index(box)] = bends[-1]
                for above, bend, below in zip(chain, bends, chain[2:], strict=False):
                    bend.above, bend.below = [above], [below]
                    layers[bend.layer].append(bend)
    return layers


def order_layers(layers: list[list[Box]]) -> None:
    """Orders each layer by the mean position of its neighbours, down and up, and keeps the order that crosses least."""

    def positions() -> dict[Box, int]:
        return {box: position for layer in layers for position, box in enumerate(layer)}

    def crossings() -> int:
        at, count = positions(), 0
        for layer in layers:
            ends = [(at[box], at[other]) for box in layer for other in box.below]
            count += sum(a[0] < b[0] and a[1] > b[1] for a in ends for b in ends)
        return count

    best, fewest = [list(layer) for layer in layers], crossings()
    for sweep in range(8):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            at = positions()
            keys = {}
            for box in layer:
                near = box.above if downwards else box.below
                keys[box] = sum(at[other] for other in near) / len(near) if near else float(at[box])
            layer.sort(key=lambda box: keys[box])
        count = crossings()
        if count < fewest:
            best, fewest = [list(layer) for layer in layers], count
    for layer, order in zip(layers, best, strict=True):
        layer[:] = order


def place(layers: list[list[Box]]) -> None:
    """Moves every box towards its neighbours, down and up, as far as its own layer leaves room."""
    for sweep in range(24):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            wanted = []
            for box in layer:
                near = box.above if downwards else box.below
                weight = sum(other.weight for other in near)
                wanted.append(sum(other.weight * other.x for other in near) / weight if near else box.x)
            spread(layer, wanted)
    left = min(box.x - box.width / 2 for layer in layers for box in layer)
    for layer in layers:
        for box in layer:
            box.x += MARGIN - left


def spread(layer: list[Box], wanted: Sequence[float]) -> None:
    """Gives the boxes of a layer the positions nearest to the wanted ones (least squares) at which none overlap.

    Without the widths this is isotonic regression, which the pooling of adjacent violators solves.
    """
    offset, offsets = 0.0, []
    for index, box in enumerate(layer):
        if index:
            offset += (layer[index - 1].width + box.width) / 2 + GAP
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []
    for box, target, shift in zip(layer, wanted, offsets, strict=True):
        mean, weight, count = target - shift, box.weight, 1
        while pools and pools[-1][0] > mean:
            other_mean, other_weight, other_count = pools.pop()
            mean = (mean * weight + other_mean * other_weight) / (weight + other_weight)
            weight, count = weight + other_weight, count + other_count
        pools.append((mean, weight, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    for box, mean, shift in zip(layer, means, offsets, strict=True):
        box.x = mean + shift


def draw(boxes: list[Box], layers: list[list[Box]], title: str) -> str:
    """Writes the picture."""
    leaves = sum(box.kind == "leaf" for box in boxes)
    note = f"{len(boxes) - leaves} operations and {leaves} leaves with their shapes"
    right = max(box.x + box.width / 2 for layer in layers for box in layer)
    width = max(right, LETTER * 1.25 * len(title) + MARGIN, LETTER * len(note) + MARGIN) + MARGIN
    height = HEADER + ROW * len(layers) + MARGIN

    def y(box: Box) -> float:
        return HEADER + ROW * (box.layer + 0.5)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
        ),
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        (
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0,0.6 L7.4,4 L0,7.4 Z" fill="#8795a5"/></marker></defs>'
        ),
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text class="title" x="{MARGIN}" y="32">{escape(title)}</text>',
        f'<text class="note" x="{MARGIN}" y="52">{escape(note)}</text>',
    ]
    for box in boxes:
        for following in box.below:
            points = [(box.x, y(box) + BOX_HEIGHT / 2)]
            while following.kind == "bend":
                points += [(following.x, y(following) + side * BOX_HEIGHT / 2) for side in (-1, 1)]
                following = following.below[0]
            points.append((following.x, y(following) - BOX_HEIGHT / 2))
            parts.append(f'<path class="edge" d="{curve(points)}" marker-end="url(#arrow)"/>')
    for box in boxes:
        left, top = box.x - box.width / 2, y(box) - BOX_HEIGHT / 2
        radius = BOX_HEIGHT / 2 if box.kind == "leaf" else 6
        parts.append(
            f'<rect class="{box.kind}" x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{BOX_HEIGHT}" '
            f'rx="{radius}"/>'
        )
        baseline = f'y="{y(box) + 4.5:.1f}"'
        start = left + PADDING if box.kind == "leaf" else box.x
        parts.append(f'<text class="{box.kind}" x="{start:.1f}" {baseline}>{escape(box.text)}</text>')
        if box.shape:
            end = box.x + box.width / 2 - PADDING
            parts.append(f'<text class="shape" x="{end:.1f}" {baseline}>{escape(box.shape)}</text>')
    parts.append("</svg>\n")
    return "\n".join(parts)


def curve(points: Sequence[tuple[float, float]]) -> str:
    """A smooth path that leaves and arrives vertically: it bends between the layers and goes straight through them."""
    (x, y), *rest = points
    path = f"M{x:.1f},{y:.1f}"
    for next_x, next_y in rest:
        middle = (y + next_y) / 2
        straight = f" L{next_x:.1f},{next_y:.1f}"
        curved = f" C{x:.1f},{middle:.1f} {next_x:.1f},{middle:.1f} {next_x:.1f},{next_y:.1f}"
        path += straight if x == next_x else curved
        x, y = next_x, next_y
    return path
