"""Perceptrons in the disk: boundaries that are learned online, with few updates.

Left: two classes with a margin. The second-order perceptron finds a boundary after a few updates; the dotted line is
the boundary from which the data were generated. Right: Table I of the paper as a plot, with the number of updates in
each of 20 runs (from experiments/results) and their mean, the means in the paper, and the bound of the theorem on the
number of updates of the first-order perceptron. Writes ``out/perceptrons.png``.
"""

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
import numpy as np

from hyplearn import PoincareSecondOrderPerceptron
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import hyperplane_points
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.canvas import draw_legend_under
from hyplearn.plotting.palette import LIGHT
from hyplearn.plotting.style import STYLE, WIDTH

ROOT = Path(__file__).resolve().parents[1]
PAPER = {"first_order": (51, 1495, 1.96e4, 1.34e5), "second_order": (26, 82, 342, 818)}


def draw_boundary(ax):
    X, y, p, w = make_ball_classification(400, 2, margin=0.1, reference_norm=0.57, random_state=1)
    model = PoincareSecondOrderPerceptron(reference=p).fit(X, y)
    BoundaryDisplay.from_estimator(model, X, y).plot(ax=ax, legend=False)
    ax.plot(*hyperplane_points(w, p).T, ":", color=LIGHT[3], linewidth=2, label="true boundary")
    draw_legend_under(ax, 2)
    ax.set_title(f"{model.n_updates_[0]} updates, training accuracy {model.score(X, y):.0%}")


def draw_table(ax):
    with (ROOT / "experiments" / "results" / "table1.csv").open() as file:
        runs = [row for row in csv.DictReader(file) if row["fifths_of_R"] == "1"]
    margin = np.array([float(row["margin"]) for row in runs])
    margins = sorted(set(margin.tolist()), reverse=True)
    ax.loglog(margin, [float(row["bound"]) for row in runs], "-", color="0.4", label="bound of the theorem")
    for name, label, colour in (("first_order", "perceptron", LIGHT[1]), ("second_order", "second order", LIGHT[0])):
        updates = np.array([float(row[name]) for row in runs])
        ax.loglog(margin, updates, ".", color=colour, alpha=0.35)
        ax.loglog(margins, [updates[margin == m].mean() for m in margins], "-", color=colour, label=f"{label}, mean")
        ax.loglog(margins, PAPER[name], "x", color=colour, markersize=8, label=f"{label}, the paper's mean")
    ax.invert_xaxis()
    ax.set(xlabel="margin ε", ylabel="updates until a pass without mistakes", title="Table I, ‖p‖ = R/5, 20 runs")
    ax.legend()


def main():
    plt.rcParams.update(STYLE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4.6), layout="constrained")
    draw_boundary(left)
    draw_table(right)
    path = Path("out") / "perceptrons.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
