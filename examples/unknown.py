"""What a classifier does not know: prediction sets of the mammals, with the primates left out of the training.

Left, the number of orders in the set of each mammal, by distance, at a coverage of 0.9: most sets hold one, those
between orders two or more. Middle and right, which mammals have an empty set, so that they are unlike all orders: by
distance most of the primates, which the model has never seen; by probability hardly any, since far out one of the known
orders is always the most probable. Writes ``out/unknown.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
import numpy as np

from hyplearn import ConformalClassifier, PoincareLogisticRegression
from hyplearn.datasets import load_mammals
from hyplearn.plotting.canvas import draw_rim

SIZES = {0: ("none", "#CC3311"), 1: ("one", "#BBBBBB"), 2: ("two", "#4477AA"), 3: ("three or more", "#332288")}


def draw_points(ax, X, chosen, colour, label):
    ax.scatter(*X[chosen].T, s=9, color=colour, linewidths=0, label=f"{label} ({chosen.sum()})", zorder=2)


def main():
    X, y = load_mammals(return_X_y=True)
    primates = y == "primates"
    figure, axes = plt.subplots(1, 3, figsize=(14, 5.2), layout="constrained")
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
        draw_points(ax, X, ~unknown & ~primates, "#DDDDDD", "known")
        draw_points(ax, X, unknown & ~primates, "#EE7733", "known, called unknown")
        draw_points(ax, X, ~unknown & primates, "#88CCEE", "primates, missed")
        draw_points(ax, X, unknown & primates, "#CC3311", "primates, called unknown")
        ax.set_title(f"Unknown by {conformity}")
        print(f"By {conformity}: {unknown[primates].mean():.0%} of the primates are called unknown.")
    for ax in axes:
        draw_rim(ax, 1.0)
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False, fontsize="small", markerscale=2
        )
    path = Path("out") / "unknown.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
