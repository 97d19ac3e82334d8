"""Figures of the paper: embedded data, tangent spaces, reference points, hulls and margins.

python experiments figures           # half a minute; writes experiments/results/quick/figures/*.png and *.svg
python experiments figures --full    # finer; in experiments/results/figures
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pictures
from ledger import fill
from matplotlib import pyplot as plt
from published import all_rows

from hyplearn import PoincareSVC
from hyplearn.datasets import (
    fetch_cifar10,
    fetch_fashion_mnist,
    fetch_olsson,
    load_mammals,
    make_ball_classification,
)
from hyplearn.geometry import geodesic
from hyplearn.paper import EuclideanSVC
from hyplearn.plotting import BoundaryDisplay, DiskDisplay, HullDisplay, TangentDisplay, palette
from hyplearn.plotting.arcs import hypercycle
from hyplearn.plotting.canvas import draw_boundary, draw_legend, draw_reference
from hyplearn.plotting.style import WIDTH

CLOTHES = np.array(
    ["T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"]
)
THINGS = np.array(["plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "lorry"])
SHADES = palette.LIGHT[:3]
TINTS = ("#FBDCC7", "#BFE3DD", "#9C95CC")


@dataclass(frozen=True)
class Config:
    """Pictures, resolution of their regions, and radius R of the paper's synthetic ball; the default is quick."""

    name: str = "quick"
    only: tuple[str, ...] = ("datasets", "regions", "tangent", "reference", "hulls", "boundaries")
    radius: float = 0.95
    resolution: int = 150


FULL = Config(name="full", resolution=400)


def datasets(config):
    """Draw the embedded data sets, coloured by class; sets with more than 20,000 points are drawn as densities."""
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 6.6), layout="constrained")
    cells, things, clothes, mammals = fetch_olsson(), fetch_cifar10(), fetch_fashion_mnist(), load_mammals()
    X, y = all_rows(cells)
    edges = np.stack([np.arange(1, len(mammals.data)), mammals.parents[1:]], axis=1)
    shown = {
        f"Olsson's cells, {len(X)}": DiskDisplay.from_points(X, np.char.add("cell type ", y.astype(str))),
        f"CIFAR10, {len(things.X_train):,} pictures": DiskDisplay.from_points(things.X_train, THINGS[things.y_train]),
        f"Fashion-MNIST, {len(clothes.X_train):,} pictures": DiskDisplay.from_points(
            clothes.X_train, CLOTHES[clothes.y_train]
        ),
        f"Mammals of WordNet, {len(mammals.data):,}": DiskDisplay.from_points(
            mammals.data, mammals.target, edges=edges
        ),
    }
    for ax, (title, display) in zip(axes.flat, shown.items(), strict=True):
        display.plot(ax, size=6, grid=True)
        ax.set_title(title)
    return figure


def regions(config):
    """Regions of three SVMs on Fashion-MNIST: bounded by geodesics, by lines, and by lines through the centre."""
    figure, axes = plt.subplots(1, 3, figsize=(WIDTH, 3.7), layout="constrained")
    clothes = fetch_fashion_mnist()
    models = {
        "PoincareSVC": PoincareSVC(),
        "Euclidean SVM": EuclideanSVC(5),
        "Euclidean SVM, no intercept": EuclideanSVC(5, fit_intercept=False, calibration="training"),
    }
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        model.fit(clothes.X_train, CLOTHES[clothes.y_train])
        X, y = clothes.X_test, CLOTHES[clothes.y_test]
        display = BoundaryDisplay.from_estimator(model, X, y, resolution=config.resolution)
        display.plot(ax, size=2, legend=ax is axes[-1])
        ax.set_title(f"{title}:\n{100 * model.score(X, y):.1f} % of test pictures right")
    legend_below(figure, axes[-1:], 5)
    return figure


def legend_below(figure, axes, ncols):
    """Put one legend below the figure, that of the first axes, and remove the legends of all axes."""
    handles = axes[0].get_legend().legend_handles
    names = [text.get_text() for text in axes[0].get_legend().get_texts()]
    for ax in axes:
        ax.get_legend().remove()
    figure.legend(handles, names, loc="outside lower center", ncols=ncols)


def two_sides(config, fifths=3, margin=0.3, n=150):
    """Generate the paper's synthetic data, with names for the two sides as labels."""
    X, y, p, w = make_ball_classification(
        n, 2, margin=margin, reference_norm=fifths * config.radius / 5, radius=config.radius, random_state=5
    )
    return X, np.where(y > 0, "positive", "negative"), p, w


def tangent(config):
    """Draw an SVM in the disk, where its boundary is an arc, and in the tangent space at p, where it is a line."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.7), layout="constrained", width_ratios=(1, 1.2))
    X, y, p, _ = two_sides(config)
    svc = PoincareSVC(p, C=1000, loss="hinge", margin="exact", calibration=None).fit(X, y)
    BoundaryDisplay.from_estimator(svc, X, y, resolution=config.resolution).plot(left, size=8, legend=False)
    TangentDisplay.from_estimator(svc, X, y).plot(right, size=8)
    left.set_title("The Poincaré disk")
    right.set_title("The tangent space at p")
    return figure


def reference(config):
    """The same points for three choices of p: the tangent space at p, and the best boundary through p."""
    figure, axes = plt.subplots(2, 3, figsize=(WIDTH, 6.0), layout="constrained")
    X, y, p, _ = two_sides(config)
    for column, t in zip(axes.T, (0.0, 0.5, 1.0), strict=True):
        q = geodesic(np.zeros(2), p, t)
        svc = PoincareSVC(q, C=1000, loss="hinge", margin="exact", calibration=None).fit(X, y)
        BoundaryDisplay.from_estimator(svc, X, y, resolution=config.resolution).plot(column[0], size=6, legend=False)
        TangentDisplay.from_estimator(svc, X, y).plot(column[1], size=6, legend=False)
        where = {0.0: "p at the centre", 0.5: "p halfway", 1.0: "p on the true boundary"}[t]
        column[0].set_title(f"{where}:\n{100 * svc.score(X, y):.0f} % of training points right")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    labels = [label.split(" ")[0] if label.startswith("margin") else label for label in labels]  # margins differ
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def hulls(config):
    """Draw hulls, closest pairs and their midpoints, for separable classes and for overlapping classes."""
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 4.9), layout="constrained")
    X, y, _, _ = make_ball_classification(60, 2, margin=0.4, reference_norm=0.4, radius=0.9, random_state=4)
    HullDisplay.from_points(X, np.where(y > 0, "positive", "negative")).plot(axes[0], size=8)
    axes[0].set_title("Closest vertices need not be\nclosest points")
    X, y, _, _ = two_sides(config, fifths=1, margin=0.0, n=120)
    y[np.random.default_rng(0).choice(len(y), 4, replace=False)] = "positive"
    HullDisplay.from_points(X, y).plot(axes[1], size=8)
    axes[1].set_title("Where classes overlap,\nthe closest vertices say little")
    legend_below(figure, axes, 3)
    return figure


def boundaries(config):
    """Boundaries for different p with the same w, and margins of different width about one boundary."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.6), layout="constrained")
    w = np.array([0.0, 1.0])
    for ax in (left, right):
        DiskDisplay.from_points(np.zeros((1, 2))).plot(ax, size=0, grid=True)
    for fifths, colour in zip((1, 2, 3), SHADES, strict=True):
        p = fifths * config.radius / 5 * w
        name = f"‖p‖ = {'' if fifths == 1 else fifths}R/5"
        draw_boundary(left, hypercycle(w, p), name, color=colour, linewidth=2.2)
        draw_reference(left, p, None, colour)
    left.set_title("The farther p, the more its boundary bends")
    p = 2 * config.radius / 5 * w
    for margin, colour in zip((1.0, 0.5, 0.1), TINTS, strict=True):
        lower, upper = (hypercycle(w, p, sign * margin) for sign in (-1, 1))
        band = np.concatenate([lower, upper[::-1]])
        right.fill(*band.T, color=colour, linewidth=0, label=f"ε = {margin:g}", zorder=1.1)
    draw_boundary(right, hypercycle(w, p))
    draw_reference(right, p)
    right.set_title("Points nearer to the boundary than ε")
    for ax in (left, right):
        draw_legend(ax)
    return figure


PICTURES = {draw.__name__: draw for draw in (datasets, regions, tangent, reference, hulls, boundaries)}


def draw(config, folder, cell):
    """Draw and write one picture."""
    drawing = PICTURES[cell["picture"]]
    pictures.save(drawing(config), folder / "figures", cell["picture"])
    return {"shows": drawing.__doc__}


def run(config, folder):
    """Draw the missing pictures, then write the list of pictures."""
    cells = [{"picture": name} for name in config.only]
    rows = fill(folder, "figures", config, cells, partial(draw, config, folder))
    parts = [f"![{row['shows']}](figures/{row['picture']}.png)\n\n*{row['shows']}*\n" for row in rows]
    (folder / "figures.md").write_text("\n".join(parts))
    return rows
