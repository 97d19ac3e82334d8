"""Choosing the reference point: two classes, their hyperbolic hulls, and reference points between them.

Left: separable classes. The pink points are the closest vertices of the hulls. Their midpoint is the paper's reference
point, and the dashed line is the boundary of an SVM through this point. The black points are the closest points of the
hulls. Their midpoint is the reference point of the strategy ``"boundary"``, and the black line is the boundary of an
SVM through it. Right: overlapping classes, as in most real data. The closest vertices are outliers; the reference point
of ``"boundary"`` lies on a hyperplane that is fitted without a given point. Writes ``out/hulls.png``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
import numpy as np

from hyplearn import PoincareSVC
from hyplearn.geometry import hyperplane_points, signed_distance
from hyplearn.plotting import HullDisplay
from hyplearn.plotting.canvas import draw_legend_under
from hyplearn.plotting.style import STYLE, WIDTH
from hyplearn.reference import reference_point
from hyplearn.tangent import from_frame


def apart(rng):
    """Sample points on both sides of a geodesic of the disk, all at a distance of more than 0.4 from the geodesic."""
    X = from_frame(1.1 * rng.standard_normal((140, 2)), [0.25, 0.1])
    heights = signed_distance(X, [1.0, 0.5], [0.3, 0.15])
    keep = np.abs(heights) > 0.4
    return X[keep], np.where(heights[keep] > 0, 1, 0)


def overlapping(rng):
    """Sample two overlapping classes: normal distributions in the tangent spaces at two points."""
    y = np.repeat([0, 1], 150)
    means = np.array([[-0.35, -0.2], [0.55, 0.3]])
    return np.concatenate([from_frame(rng.standard_normal((150, 2)), m) for m in means]), y


def draw_boundary(ax, X, y, p, style, label):
    """Draw p and the boundary of the SVM through p; the legend gives the number of misclassified points."""
    svc = PoincareSVC(p, C=1000).fit(X, y)
    wrong = int(np.sum(svc.predict(X) != y))
    name = f"SVM through {label}: {wrong} of {len(y)} misclassified"
    ax.plot(*hyperplane_points(svc.coef_[0], p).T, linewidth=1.5, zorder=2.2, **style, label=name)
    ax.plot(*p, "*", markersize=13, color=style["color"], markeredgecolor="white", zorder=2.6)


def draw(ax, X, y, title):
    display = HullDisplay.from_points(X, y).plot(ax, boundary=False, legend=False, size=14)
    paper, own = display.reference("vertices"), reference_point("boundary", X, y, None, 1.0)
    draw_boundary(ax, X, y, paper, {"color": "#CC3377", "linestyle": "--"}, "the paper's p")
    draw_boundary(ax, X, y, own, {"color": "k"}, 'p of "boundary"')
    draw_legend_under(ax)
    ax.set_title(title)


def main():
    plt.rcParams.update(STYLE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 5.6), layout="constrained")
    draw(left, *apart(np.random.default_rng(3)), "Separable classes")
    draw(right, *overlapping(np.random.default_rng(1)), "Overlapping classes")
    path = Path("out") / "hulls.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
