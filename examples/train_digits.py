"""Trains a small network on scikit-learn's handwritten digits, and draws how it learned and what it differentiated.

The first thing to run, and a program as people write it for torch: replace `import cygrad as torch` by `import torch`
and it runs unchanged. It leaves two pictures in the output folder, `loss.png` and `backward_graph.svg`, and fails if
fewer than 97 % of the test digits are recognised.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from graph_svg import write_graph
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import cygrad as torch

WIDTHS = (64, 256, 128, 10)
LEARNING_RATE = 2e-3
BATCH = 32
WANTED_ACCURACY = 0.97


class Network:
    """Linear layers with ReLU between them, of the widths above; the initial weights are those of He et al. (2015)."""

    def __init__(self) -> None:
        self.parameters: dict[str, torch.Tensor] = {}
        for layer, (inputs, outputs) in enumerate(pairwise(WIDTHS), start=1):
            weight = torch.randn(inputs, outputs) * (2 / inputs) ** 0.5
            self.parameters[f"weight{layer}"] = weight.requires_grad_()
            self.parameters[f"bias{layer}"] = torch.zeros(outputs, requires_grad=True)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The unnormalised log probabilities of the ten digits (n, 10) for images (n, 64)."""
        last = len(WIDTHS) - 1
        for layer in range(1, last + 1):
            x = x @ self.parameters[f"weight{layer}"] + self.parameters[f"bias{layer}"]
            if layer < last:
                x = x.relu()
        return x


def load_data() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """1,797 images of 8 x 8 pixels, scaled to [0, 1], and their digits; a fifth of each digit is kept for the test."""
    images, digits = load_digits(return_X_y=True)
    parts = train_test_split(
        (images / 16).astype(np.float32), digits.astype(np.int64), test_size=0.2, stratify=digits, random_state=0
    )
    train_x, test_x, train_y, test_y = (torch.from_numpy(part) for part in parts)
    return train_x, train_y, test_x, test_y


def accuracy(network: Network, x: torch.Tensor, y: torch.Tensor) -> float:
    """The share of images whose most probable digit is the right one."""
    with torch.no_grad():
        return (network(x).argmax(1) == y).float().mean().item()


def draw_learning(path: Path, losses: list[float], accuracies: list[float]) -> None:
    """Draws the loss of every step and its mean over each epoch, and the test accuracy after each epoch."""
    epochs = len(accuracies)
    steps = np.linspace(0, epochs, len(losses), endpoint=False)
    means = np.array(losses).reshape(epochs, -1).mean(1)
    figure = Figure(figsize=(7, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    above.semilogy(steps, losses, color="#9dbde0", linewidth=0.7, label="each step")
    above.semilogy(np.arange(epochs) + 0.5, means, color="#1f4e85", linewidth=2, label="mean of the epoch")
    above.set(ylabel="cross-entropy (nats)", title="Training on the handwritten digits of scikit-learn")
    above.legend(frameon=False)
    below.plot(np.arange(1, epochs + 1), 100 * np.array(accuracies), color="#c08a1e", linewidth=2)
    below.axhline(100 * WANTED_ACCURACY, color="#888888", linestyle="--", linewidth=1)
    below.annotate(
        f"{WANTED_ACCURACY:.0%} wanted",
        (epochs, 100 * WANTED_ACCURACY),
        xytext=(0, -4),
        textcoords="offset points",
        ha="right",
        va="top",
        color="#666666",
    )
    below.set(xlabel="epoch", ylabel="test accuracy (%)", xlim=(0, epochs), ylim=(85, 100.5))
    for axes in (above, below):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> int:
    """Trains, draws and reports; returns the exit status."""
    parser = argparse.ArgumentParser(description="Train a ReLU network on scikit-learn's handwritten digits.")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training images (default: 30)")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and batches (default: 0)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="folder for the pictures")
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error("--epochs must be at least 1")
    options.out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(options.seed)
    train_x, train_y, test_x, test_y = load_data()
    network = Network()
    optimizer = torch.optim.AdamW(network.parameters.values(), lr=LEARNING_RATE, weight_decay=0.3)

    losses: list[float] = []
    accuracies: list[float] = []
    graph = options.out / "backward_graph.svg"
    progress = tqdm(range(options.epochs), unit="epoch")
    for epoch in progress:
        # The steps get smaller, down to nothing, so that the last ones settle.
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - epoch / options.epochs)
        # Only whole batches, in a new order each time: the few images left over come up in other epochs.
        order = torch.randperm(len(train_x))[: len(train_x) // BATCH * BATCH]
        for chosen in order.split(BATCH):
            loss = torch.nn.functional.cross_entropy(network(train_x[chosen]), train_y[chosen])
            if not losses and loss.grad_fn is not None:
                write_graph(graph, loss.grad_fn, network.parameters, "Backward graph of one training step")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        accuracies.append(accuracy(network, test_x, test_y))
        progress.set_postfix(loss=f"{losses[-1]:.4f}", accuracy=f"{accuracies[-1]:.2%}")

    draw_learning(options.out / "loss.png", losses, accuracies)
    print(f"test accuracy: {accuracies[-1]:.2%} ({len(test_x)} images)")
    print(f"pictures: {options.out / 'loss.png'}, {graph}")
    if accuracies[-1] < WANTED_ACCURACY:
        print(f"expected at least {WANTED_ACCURACY:.0%}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
