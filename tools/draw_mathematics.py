"""Draw the figures of docs/mathematics.md: geodesics and circles of the disk, and the four kinds of boundaries.

python tools/draw_mathematics.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from hyplearn.geometry import geodesic, signed_distance, translate
from hyplearn.plotting import palette
from hyplearn.plotting.canvas import draw_rim
from hyplearn.plotting.style import STYLE, WIDTH

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
INK, FIRST, SECOND = "#222222", *palette.LIGHT[:2]


def circle(centre, radius):
    """Return points on the hyperbolic circle with the given centre and radius."""
    angle = np.linspace(0, 2 * np.pi, 400)
    ring = np.tanh(radius / 2) * np.column_stack([np.cos(angle), np.sin(angle)])
    return translate(ring, np.asarray(centre))


def segment(a, b, ax, **style):
    """Draw the geodesic between two points."""
    path = np.array([geodesic(np.asarray(a), np.asarray(b), t) for t in np.linspace(0, 1, 200)])
    ax.plot(*path.T, **style)


def draw_ball():
    """Draw circles of equal radius and a triangle (left), and a tree (right)."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4.2), layout="constrained")
    draw_rim(left, 1.0)
    for centre in ([0, 0], [0.6, 0], [0.8, 0.35], [-0.85, 0.3], [0.93, -0.2], [-0.3, 0.88]):
        left.plot(*circle(centre, 0.6).T, color=FIRST, linewidth=1)
        left.plot(*centre, "o", color=FIRST, markersize=2)
    corners = [[-0.7, -0.6], [0.75, -0.6], [-0.05, -0.1]]
    for a, b in ((0, 1), (1, 2), (2, 0)):
        segment(corners[a], corners[b], left, color=SECOND, linewidth=1.5)
    left.set_title("Circles of one radius, sides of a triangle")
    draw_rim(right, 1.0)
    branch(right, np.zeros(2), 0.0, 2 * np.pi, 0)
    right.set_title("A tree of depth 4")
    return figure


def branch(ax, point, angle, width, depth, length=1.3):
    """Draw a node and its three children farther from the centre, recursively down to depth 4."""
    ax.plot(*point, "o", color=FIRST, markersize=4 - 0.6 * depth)
    if depth == 4:
        return
    for k in range(3):
        turn = angle + width * (k - 1) / 3
        radius = np.tanh((depth + 1) * length / 2)
        child = radius * np.array([np.cos(turn), np.sin(turn)])
        segment(point, child, ax, color="0.5", linewidth=0.8)
        branch(ax, child, turn, width / 3, depth + 1)


def draw_boundaries():
    """Draw one panel for each kind of boundary, with the regions on its two sides."""
    side = np.linspace(-1, 1, 801)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    inside = np.sum(grid**2, axis=-1) < 1 - 1e-9
    points = grid[inside]
    w, p = np.array([1.0, 0.4]), np.array([0.3, 0.1])
    heights = signed_distance(points, w, p)
    squares = np.sum(points**2, axis=1)
    ideal = np.array([0.8, 0.6])
    busemann = np.log(np.sum((points - ideal) ** 2, axis=1) / (1 - squares))
    centre = np.array([0.4, 0.3])
    radius = np.linalg.norm(translate(points, -centre), axis=1)
    kinds = {
        "geodesic hyperplane": heights,
        "equidistant": heights + 0.9,
        "horosphere": -busemann - 0.7,
        "sphere": np.tanh(0.45) - radius,
    }
    figure, axes = plt.subplots(1, 4, figsize=(WIDTH, 2.4), layout="constrained")
    for ax, (name, values) in zip(axes, kinds.items(), strict=True):
        image = np.full(inside.shape, np.nan)
        image[inside] = values
        draw_rim(ax, 1.0)
        ax.contourf(side, side, image, [-np.inf, 0, np.inf], colors=["#F7D9C4", "#C9D3F2"])
        ax.contour(side, side, image, [0], colors=INK, linewidths=1.5)
        ax.set_title(name)
    return figure


if __name__ == "__main__":
    plt.rcParams.update(STYLE)
    for name, draw in (("ball", draw_ball), ("boundaries", draw_boundaries)):
        path = IMAGES / f"{name}.png"
        draw().savefig(path)
        print(path)
