"""Gallery of displays: each display once, on the mammals of WordNet and on synthetic data from the paper.

Writes ``out/gallery_*.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the pictures go to files

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from hyplearn import ExpMap, PoincareLogisticRegression, PoincareSecondOrderPerceptron, PoincareSVC
from hyplearn.datasets import load_mammals, make_ball_classification
from hyplearn.plotting import BoundaryDisplay, DiskDisplay, HullDisplay, TangentDisplay
from hyplearn.plotting.canvas import draw_legend_below, draw_legend_under
from hyplearn.plotting.style import STYLE, WIDTH
from hyplearn.tangent import from_frame


def disk():
    """Draw a tree with its edges on a grid, and 120,000 points of three classes as a density image."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 5.2), layout="constrained")
    mammals = load_mammals()
    edges = np.stack([np.arange(1, len(mammals.data)), mammals.parents[1:]], axis=1)
    DiskDisplay.from_points(mammals.data, mammals.target, edges=edges).plot(left, grid=True, legend=False, size=7)
    left.set_title("1,170 mammals and their tree")
    rng = np.random.default_rng(0)
    centres = np.array([[-0.6, 0.0], [0.4, 0.5], [0.3, -0.4]])
    X = np.concatenate([from_frame(0.8 * rng.standard_normal((40_000, 2)), p) for p in centres])
    DiskDisplay.from_points(X, np.repeat(["left", "upper", "lower"], 40_000)).plot(right, grid=True, legend=False)
    right.set_title("120,000 points of three classes, as a density")
    draw_legend_below(figure, [left], 5)
    return figure


def boundary():
    """Draw an SVM with its exact margin, a perceptron in a disk of curvature -1/4, and an SVM of thirteen classes."""
    figure, axes = plt.subplots(1, 3, figsize=(WIDTH, 4.4), layout="constrained")
    X, y, p, _ = make_ball_classification(150, 2, margin=0.3, reference_norm=0.57, random_state=5)
    svc = PoincareSVC(p, C=np.inf, margin="exact").fit(X, y)
    BoundaryDisplay.from_estimator(svc, X, y).plot(axes[0], legend=False)
    axes[0].set_title("PoincareSVC,\nhard margin")
    perceptron = PoincareSecondOrderPerceptron(2 * p, curvature=-0.25).fit(2 * X, y)
    BoundaryDisplay.from_estimator(perceptron, 2 * X, y).plot(axes[1], legend=False)
    axes[1].set_title("Second-order perceptron,\ncurvature -1/4")
    mammals = load_mammals()
    svc = PoincareSVC(C=10).fit(mammals.data, mammals.target)
    BoundaryDisplay.from_estimator(svc, mammals.data, mammals.target).plot(axes[2], legend=False, size=5)
    axes[2].set_title("PoincareSVC,\neach class against the rest")
    for ax, ncols in zip(axes, (1, 1, 2), strict=True):
        draw_legend_under(ax, ncols)
    return figure


def plane():
    """Draw classifiers in ten dimensions, projected onto a plane: an SVM with two classes, and a softmax with ten."""
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 5.4), layout="constrained")
    X, y, p, _ = make_ball_classification(400, 10, margin=0.2, random_state=0)
    BoundaryDisplay.from_estimator(PoincareSVC(p, C=1000).fit(X, y), X, y).plot(axes[0], legend=False)
    digits = load_digits()
    X = ExpMap().fit_transform(0.05 * PCA(10).fit_transform(digits.data))
    softmax = PoincareLogisticRegression().fit(X, digits.target)
    BoundaryDisplay.from_estimator(softmax, X, digits.target).plot(axes[1], legend=False, size=5)
    for ax, ncols in zip(axes, (2, 5), strict=True):
        draw_legend_under(ax, ncols)
    return figure


def hulls():
    """Draw the hulls of two separable classes, the closest vertices and the closest points, and their bisectors."""
    figure, ax = plt.subplots(figsize=(0.8 * WIDTH, 4.2), layout="constrained")
    X, y, _, _ = make_ball_classification(60, 2, margin=0.4, reference_norm=0.4, radius=0.9, random_state=4)
    HullDisplay.from_points(X, y).plot(ax)
    return figure


def tangent():
    """Draw the boundary and the margins of two SVMs, each in the disk and in the tangent space at p."""
    X, y, p, _ = make_ball_classification(150, 2, margin=0.3, reference_norm=0.57, random_state=5)
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 7.2), layout="constrained")
    for row, margin in zip(axes, ("exact", "bound"), strict=True):
        svc = PoincareSVC(p, C=1000, margin=margin).fit(X, y)
        BoundaryDisplay.from_estimator(svc, X, y).plot(row[0], legend=False)
        TangentDisplay.from_estimator(svc, X, y).plot(row[1], legend=False)
        row[0].set_title(f'margin="{margin}": the disk')
        row[1].set_title(f'margin="{margin}": the tangent space at p')
    draw_legend_below(figure, axes[1:, 1], 3)
    return figure


def main():
    folder = Path("out")
    folder.mkdir(exist_ok=True)
    plt.rcParams.update(STYLE)
    for draw in (disk, boundary, plane, hulls, tangent):
        figure = draw()
        path = folder / f"gallery_{draw.__name__}.png"
        figure.savefig(path)
        plt.close(figure)
        print(f"{path}: {draw.__doc__}")


if __name__ == "__main__":
    main()
