"""Draw the figure of ``docs/widest_margin.md``: two hyperplanes with their margins, and hulls of balls that touch.

``python tools/draw_widest.py`` writes ``docs/images/widest_margin.svg``.
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from hyplearn.geometry import distance, geodesic, hyperplane_points, quickhull, ray, translate
from hyplearn.plotting.style import STYLE, WIDTH
from hyplearn.reference import separable, widest_margin

IMAGES = Path(__file__).parents[1] / "docs" / "images"
BLUE, GREY, RED, INK = "#2b6cb0", "#718096", "#c05621", "#1a202c"
COLOURS = {0: RED, 1: BLUE}
# Two classes of the disk; the closest points of their hulls are far from the rows that decide the widest margin.
X = np.array(
    [[-0.62, 0.3], [-0.3, 0.66], [-0.55, 0.6], [-0.78, -0.1], [0.28, 0.06], [0.05, -0.62], [0.6, 0.1], [0.45, -0.55]]
)
y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
# Number of points with which a circle is drawn.
POINTS = 91


def circle(centre: Any, radius: float) -> Any:
    """Return points on the hyperbolic circle with the given centre and radius."""
    angles = np.linspace(0, 2 * np.pi, POINTS)
    around = np.tanh(radius / 2) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return translate(around, centre)


def hull(points: Any) -> Any:
    """Return the boundary of the convex hull of points, one geodesic side after the other."""
    corners = points[quickhull(points)]
    pairs = zip(corners, np.roll(corners, -1, axis=0), strict=True)
    return np.concatenate([geodesic(a, b, np.linspace(0, 1, 2 + int(30 * np.linalg.norm(b - a)))) for a, b in pairs])


def equidistant(w: Any, p: Any, margin: float) -> Any:
    """Return points on the curve at a signed distance from the hyperplane H(w, p)."""
    line = hyperplane_points(w, p, n_points=91)[1:-1]
    steps = np.gradient(line, axis=0)
    normals = np.stack([-steps[:, 1], steps[:, 0]], axis=1)
    normals *= np.sign(normals[len(line) // 2] @ w)
    return ray(normals, line, margin)


def prepare(axes: Any) -> None:
    """Draw the rim of the disk and remove everything else from the axes."""
    axes.add_patch(plt.Circle((0, 0), 1, facecolor="none", edgecolor=INK, linewidth=1))
    axes.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), aspect="equal")
    axes.axis("off")


def draw_points(axes: Any) -> None:
    """Draw the rows of both classes."""
    for label, colour in COLOURS.items():
        axes.plot(*X[y == label].T, "o", color=colour, markersize=5, zorder=3)


def draw_margins(axes: Any) -> None:
    """Draw the bisector of the closest points of the hulls, and the widest hyperplane, with margins on both sides."""
    prepare(axes)
    bisector, found = separable(X, y), widest_margin(X, y)
    for label, colour in COLOURS.items():
        axes.plot(*hull(X[y == label]).T, color=colour, linewidth=0.8, alpha=0.6)
    lines = {
        f"bisector of the hulls, margin {bisector.margin:.3f}": (bisector.hyperplane, bisector.margin, GREY, "--"),
        f"widest margin, {found.lower:.3f}": (found.hyperplane, found.lower, INK, "-"),
    }
    for name, ((w, p), margin, colour, style) in lines.items():
        axes.plot(*hyperplane_points(w, p, n_points=91).T, color=colour, linewidth=1.6, linestyle=style, label=name)
        for sign in (-1, 1):
            axes.plot(*equidistant(w, p, sign * margin).T, color=colour, linewidth=0.8, linestyle=":")
    draw_points(axes)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0))


def draw_balls(axes: Any) -> None:
    """Draw the balls of the widest margin around all rows, their hulls, and the contact point with its certificate."""
    prepare(axes)
    found = widest_margin(X, y)
    w, p = found.hyperplane
    for label, colour in COLOURS.items():
        balls = [circle(x, found.upper) for x in X[y == label]]
        for points in balls:
            axes.plot(*points.T, color=colour, linewidth=0.8, alpha=0.7)
        axes.fill(*hull(np.concatenate(balls)).T, color=colour, alpha=0.15, linewidth=0)
    axes.plot(*hyperplane_points(w, p, n_points=91).T, color=INK, linewidth=1.6)
    for row, point in zip(found.support, found.points, strict=True):
        axes.plot(*geodesic(X[row], point, np.linspace(0, 1, 21)).T, color=INK, linewidth=0.8)
        assert distance(X[row], point) <= found.upper
    draw_points(axes)
    axes.plot(*found.points.T, "o", color="white", markeredgecolor=INK, markersize=5, zorder=4)
    axes.plot(*p, "*", color=INK, markersize=10, zorder=5)
    handles = [
        plt.Line2D([], [], marker="o", color="white", markeredgecolor=INK, linestyle="", label="points of the balls"),
        plt.Line2D([], [], marker="*", color=INK, linestyle="", markersize=9, label="contact point p"),
    ]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0))


if __name__ == "__main__":
    mpl.rcParams.update(STYLE | {"svg.hashsalt": "hyplearn"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4.6), layout="constrained")
    draw_margins(left)
    draw_balls(right)
    figure.savefig(IMAGES / "widest_margin.svg", metadata={"Date": None})
