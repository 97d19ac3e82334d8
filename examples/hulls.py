"""Where the reference point comes from: two classes, their hyperbolic hulls, and what lies between them.

Left, classes that a geodesic separates: the closest vertices of the hulls and their midpoint, which is the paper's
reference point (dashed), and the closest points of the hulls themselves (solid); the boundaries are the SVM's through
each of the two. Right, classes that overlap, as real ones do: the paper's pair are two stray points, and the default
lies on the hyperplane of a convex fit. Writes ``out/hulls.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
import numpy as np

from hyplearn import PoincareSVC
from hyplearn.geometry import closest_vertices, geodesic, graham_scan, hyperplane_points, midpoint, signed_distance
from hyplearn.plotting import DiskDisplay
from hyplearn.plotting.disk import class_colours
from hyplearn.reference import closest_points, reference_point
from hyplearn.tangent import from_frame

COLOURS = {"paper": "#CC6677", "default": "k"}


def apart(rng):
    """Points of the disk on two sides of a geodesic, at some distance from it."""
    X = from_frame(1.1 * rng.standard_normal((140, 2)), [0.25, 0.1])
    heights = signed_distance(X, [1.0, 0.5], [0.3, 0.15])
    keep = np.abs(heights) > 0.25
    return X[keep], np.where(heights[keep] > 0, 1, 0)


def overlapping(rng):
    y = np.repeat([0, 1], 150)
    means = np.array([[-0.35, -0.2], [0.55, 0.3]])
    return np.concatenate([from_frame(rng.standard_normal((150, 2)), m) for m in means]), y


def draw_hull(ax, V, colour):
    t = np.linspace(0, 1, 40)
    outline = np.concatenate([geodesic(a, b, t) for a, b in zip(V, np.roll(V, -1, axis=0), strict=True)])
    ax.fill(*outline.T, facecolor=colour, alpha=0.13, edgecolor="none")
    ax.plot(*outline.T, color=colour, linewidth=1.2)


def draw_pair(ax, a, b, kind, label):
    ends = geodesic(a, b, np.linspace(0, 1, 40))
    ax.plot(*ends.T, color=COLOURS[kind], linewidth=2)
    ax.plot(*np.stack([a, b]).T, "o", markersize=7, markerfacecolor="w", color=COLOURS[kind], label=label)


def draw_boundary(ax, X, y, p, kind, label):
    svc = PoincareSVC(p, C=1000).fit(X, y)
    style = "--" if kind == "paper" else "-"
    ax.plot(*hyperplane_points(svc.coef_[0], p).T, style, color=COLOURS[kind], linewidth=1.5)
    wrong = int(np.sum(svc.predict(X) != y))
    ax.plot(*p, "*", markersize=14, color=COLOURS[kind], label=f"{label}: {wrong} of {len(y)} on the wrong side")


def draw(ax, X, y, title):
    DiskDisplay.from_points(X, y).plot(ax=ax, legend=False, size=14)
    V_a, V_b = (X[y == k][graham_scan(X[y == k])] for k in (0, 1))
    for V, colour in zip((V_a, V_b), class_colours(np.unique(y)).values(), strict=True):
        draw_hull(ax, V, colour)
    i, j = closest_vertices(V_a, V_b)
    pair = closest_points(V_a, V_b)
    draw_pair(ax, V_a[i], V_b[j], "paper", "closest vertices of the hulls")
    if pair.lower_bound > 0:
        draw_pair(ax, pair.a, pair.b, "default", "closest points of the hulls")
    draw_boundary(ax, X, y, midpoint(V_a[i], V_b[j]), "paper", "p of the paper")
    draw_boundary(ax, X, y, reference_point("boundary", X, y, None, 1.0), "default", 'p of "boundary"')
    handles, labels = ax.get_legend_handles_labels()
    told = [k for k, text in enumerate(labels) if text not in ("0", "1")]
    ax.legend(
        [handles[k] for k in told],
        [labels[k] for k in told],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        frameon=False,
    )
    ax.set_title(title)


def main():
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 8), layout="constrained")
    draw(left, *apart(np.random.default_rng(3)), "Classes apart")
    draw(right, *overlapping(np.random.default_rng(1)), "Classes that overlap")
    path = Path("out") / "hulls.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
