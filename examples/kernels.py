"""Kernels of hyperbolic space: their values around three points, and the regions of three classifiers.

Top: the Laplacian and the secant kernel of scale 1, and a Gaussian of the coordinates, each around three points. The
level sets of the two kernels are hyperbolic circles, so these kernels reach equally far near the rim and at the centre;
the Gaussian reaches across the rim. Bottom: three arms of a spiral, classified by a linear softmax, a softmax with a
kernel, and 15 nearest neighbours. Writes ``out/kernels.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
import numpy as np

from hyplearn import PoincareKernelClassifier, PoincareKNeighborsClassifier, PoincareLogisticRegression
from hyplearn.kernels import laplacian_kernel, secant_kernel
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.palette import LIGHT
from hyplearn.plotting.style import STYLE, WIDTH

CENTRES = np.array([[0.0, 0.0], [0.6, 0.4], [-0.93, 0.1]])


def gaussian(X, Y):
    return np.exp(-2 * np.sum((X[:, None] - Y) ** 2, axis=2))


def draw_kernel(ax, kernel, title):
    side = np.linspace(-1, 1, 401)
    points = np.stack(np.meshgrid(side, side), axis=-1)
    inside = np.sum(points**2, axis=-1) < 1
    values = np.full(inside.shape, np.nan)
    values[inside] = kernel(points[inside], CENTRES).max(axis=1)
    ax.contourf(side, side, values, np.linspace(0, 1, 11), cmap="Blues")
    ax.contour(side, side, values, [0.2, 0.4, 0.6, 0.8], colors=LIGHT[0], linewidths=0.8)
    ax.plot(*CENTRES.T, "o", color=LIGHT[0], markersize=3)
    ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="#444444"))
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(title)


def spiral(n=900):
    """Sample three arms of a spiral that wind outwards to the rim."""
    rng = np.random.default_rng(0)
    y, radius = rng.integers(3, size=n), rng.uniform(0.3, 4, n)
    angle = 1.3 * radius + 2 * np.pi * y / 3 + 0.2 * rng.standard_normal(n)
    return np.tanh(radius / 2)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), y


def main():
    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(2, 3, figsize=(WIDTH, 6.1), layout="constrained")
    kernels = (laplacian_kernel, secant_kernel, gaussian)
    for ax, kernel, title in zip(
        axes[0], kernels, ("Laplacian kernel", "secant kernel", "Gaussian of coordinates"), strict=True
    ):
        draw_kernel(ax, kernel, title)
    X, y = spiral()
    train = np.arange(len(X)) % 2 == 0
    for ax, model in zip(
        axes[1],
        (PoincareLogisticRegression(), PoincareKernelClassifier(), PoincareKNeighborsClassifier()),
        strict=True,
    ):
        model.fit(X[train], y[train])
        BoundaryDisplay.from_estimator(model, X[~train], y[~train]).plot(ax=ax, legend=False, size=6)
        ax.set_title(f"{type(model).__name__}\n{model.score(X[~train], y[~train]):.0%} held-out accuracy")
    Path("out").mkdir(exist_ok=True)
    figure.savefig("out/kernels.png")
    print("The picture is in out/kernels.png.")


if __name__ == "__main__":
    main()
