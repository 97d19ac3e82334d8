"""Every display once: what each shows of the mammals of WordNet and of the paper's synthetic balls.

Writes ``out/gallery_*.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the pictures go to files

import matplotlib.pyplot as plt
import numpy as np

from hyplearn import PoincareSecondOrderPerceptron, PoincareSVC
from hyplearn.datasets import load_mammals, make_ball_classification
from hyplearn.plotting import BoundaryDisplay, DiskDisplay, HullDisplay, TangentDisplay
from hyplearn.tangent import from_frame


def disk():
    """A tree with its edges over the grid, and 120,000 points of three classes as a density."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(14.5, 6), layout="constrained")
    mammals = load_mammals()
    edges = np.stack([np.arange(1, len(mammals.data)), mammals.parents[1:]], axis=1)
    DiskDisplay.from_points(mammals.data, mammals.target, edges=edges).plot(left, grid=True)
    left.set_title("1,170 mammals and their tree")
    rng = np.random.default_rng(0)
    centres = np.array([[-0.6, 0.0], [0.4, 0.5], [0.3, -0.4]])
    X = np.concatenate([from_frame(0.8 * rng.standard_normal((40_000, 2)), p) for p in centres])
    DiskDisplay.from_points(X, np.repeat(["left", "upper", "lower"], 40_000)).plot(right, grid=True)
    right.set_title("120,000 points")
    return figure


def boundary():
    """The exact margin of an SVM, a perceptron in a disk of another curvature, and thirteen classes."""
    figure, axes = plt.subplots(1, 3, figsize=(22, 5.6), layout="constrained")
    X, y, p, _ = make_ball_classification(150, 2, margin=0.3, reference_norm=0.57, random_state=5)
    svc = PoincareSVC(p, C=np.inf, margin="exact").fit(X, y)
    BoundaryDisplay.from_estimator(svc, X, y).plot(axes[0])
    axes[0].set_title("PoincareSVC, hard margin")
    perceptron = PoincareSecondOrderPerceptron(2 * p, curvature=-0.25).fit(2 * X, y)
    BoundaryDisplay.from_estimator(perceptron, 2 * X, y).plot(axes[1])
    axes[1].set_title("PoincareSecondOrderPerceptron, curvature -1/4")
    mammals = load_mammals()
    svc = PoincareSVC(C=10).fit(mammals.data, mammals.target)
    BoundaryDisplay.from_estimator(svc, mammals.data, mammals.target).plot(axes[2])
    axes[2].set_title("PoincareSVC, each class against the rest")
    return figure


def plane():
    """An SVM in ten dimensions on a plane, in the ball and in the tangent space."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(15, 5.8), layout="constrained")
    X, y, p, _ = make_ball_classification(400, 10, margin=0.2, random_state=0)
    svc = PoincareSVC(p, C=1000).fit(X, y)
    BoundaryDisplay.from_estimator(svc, X, y).plot(left)
    TangentDisplay.from_estimator(svc, X, y).plot(right)
    return figure


def hulls():
    """Two classes apart, their hulls, closest pairs and the boundaries halfway."""
    figure, ax = plt.subplots(figsize=(8.5, 5.8), layout="constrained")
    X, y, _, _ = make_ball_classification(60, 2, margin=0.4, reference_norm=0.4, radius=0.9, random_state=4)
    HullDisplay.from_points(X, y).plot(ax)
    return figure


def tangent():
    """The disk beside the tangent space at p: the same boundary and margin."""
    X, y, p, _ = make_ball_classification(150, 2, margin=0.3, reference_norm=0.57, random_state=5)
    figure, axes = plt.subplots(2, 2, figsize=(15, 11), layout="constrained")
    for row, margin in zip(axes, ("exact", "bound"), strict=True):
        svc = PoincareSVC(p, C=1000, margin=margin).fit(X, y)
        BoundaryDisplay.from_estimator(svc, X, y).plot(row[0], legend=False)
        TangentDisplay.from_estimator(svc, X, y).plot(row[1])
        row[0].set_title(f'margin="{margin}": the disk')
        row[1].set_title(f'margin="{margin}": the tangent space at p')
    return figure


def main():
    folder = Path("out")
    folder.mkdir(exist_ok=True)
    for draw in (disk, boundary, plane, hulls, tangent):
        figure = draw()
        path = folder / f"gallery_{draw.__name__}.png"
        figure.savefig(path, dpi=110)
        plt.close(figure)
        print(f"{path}: {draw.__doc__}")


if __name__ == "__main__":
    main()
