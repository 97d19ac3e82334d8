"""Unknown classes: prediction sets of the mammals, if the primates are left out of the training data.

Left: the number of orders in the prediction set of each mammal, with sets based on distances and a coverage of 0.9.
Most sets contain one order; those of mammals between two orders contain two or more. Middle and right: mammals whose
set is empty, which means that they are unlike all known orders. If sets are based on distances, most primates are among
them. If sets are based on probabilities, no primate is: even far from the data, one of the known orders has a high
probability. Writes ``out/unknown.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
import numpy as np

from hyplearn import ConformalClassifier, PoincareLogisticRegression
from hyplearn.datasets import load_mammals
from hyplearn.plotting.canvas import draw_legend_under, draw_rim
from hyplearn.plotting.palette import LIGHT
from hyplearn.plotting.style import STYLE, WIDTH

# Blue, orange, wine and sky of the palette, and a light grey for points that need no attention.
BLUE, ORANGE, WINE, SKY, PALE = LIGHT[0], LIGHT[1], LIGHT[3], LIGHT[4], "#BBBBBB"
SIZES = {0: ("none", WINE), 1: ("one", PALE), 2: ("two", SKY), 3: ("three or more", BLUE)}


def draw_points(ax, X, chosen, colour, label):
    ax.scatter(*X[chosen].T, s=6, color=colour, linewidths=0, label=f"{label} ({chosen.sum()})", zorder=2)


def main():
    X, y = load_mammals(return_X_y=True)
    primates = y == "primates"
    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(1, 3, figsize=(WIDTH, 3.9), layout="constrained")
    empty = {}
    for conformity in ("distance", "probability"):
        model = ConformalClassifier(PoincareLogisticRegression(), conformity=conformity)
        sizes = model.fit(X[~primates], y[~primates]).predict_set(X).sum(axis=1)
        empty[conformity] = sizes == 0
        if conformity == "distance":
            for size, (label, colour) in SIZES.items():
                draw_points(axes[0], X, np.minimum(sizes, 3) == size, colour, label)
    axes[0].set_title("Orders in the set")
    for ax, (conformity, unknown) in zip(axes[1:], empty.items(), strict=True):
        draw_points(ax, X, ~unknown & ~primates, PALE, "known orders")
        draw_points(ax, X, unknown & ~primates, ORANGE, "known orders, called unknown")
        draw_points(ax, X, ~unknown & primates, SKY, "primates, missed")
        draw_points(ax, X, unknown & primates, WINE, "primates, called unknown")
        ax.set_title(f"Unknown by {conformity}")
        print(f"By {conformity}: {unknown[primates].mean():.0%} of the primates are called unknown.")
    for ax in axes:
        draw_rim(ax, 1.0)
        draw_legend_under(ax)
    path = Path("out") / "unknown.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
