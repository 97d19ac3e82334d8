"""Two classes, their hyperbolic hulls and what lies between them."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hyplearn.geometry import closest_points, closest_vertices, graham_scan, midpoint
from hyplearn.geometry.border import absolute_curvature
from hyplearn.plotting.arcs import bisector, hypercycle, outline, segment
from hyplearn.plotting.canvas import INK, Display, class_colours, draw_boundary, draw_legend, draw_reference
from hyplearn.plotting.cloud import MOST_MARKERS
from hyplearn.plotting.disk import DiskDisplay
from hyplearn.types import Array

# Pairs nearer than this to one another are one pair to the eye: both closest points are vertices.
SAME = 1e-6
STYLES: dict[str, dict[str, Any]] = {
    "vertices": {"color": "#CC3377", "linestyle": (0, (4, 2))},
    "points": {"color": INK, "linestyle": "-"},
}


@dataclass(repr=False)
class HullDisplay(Display):
    """Two convex hulls in the disk, their closest pair, its midpoint p, and the boundary halfway.

    Parameters
    ----------
    points : DiskDisplay
        The points and their two classes.
    hulls : list of two arrays of shape (n, 2)
        Vertices of the hull of each class, counter-clockwise.
    pairs : dict of str to array of shape (2, 2)
        "vertices": the closest vertices of the hulls, whose midpoint is the paper's reference point. "points": the
        closest points of the hulls, which may lie on edges; missing where the hulls intersect.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where ``plot`` has drawn.

    Examples
    --------
    >>> from hyplearn.plotting import HullDisplay
    >>> X = [[-0.5, 0.25], [-0.5, -0.3], [0.5, 0.0], [0.7, 0.2]]
    >>> display = HullDisplay.from_points(X, ["a", "a", "b", "b"])
    >>> print(display.pairs["points"].round(3) + 0.0)
    [[-0.455 -0.011]
     [ 0.5    0.   ]]
    >>> print(display.pairs["vertices"])
    [[-0.5   0.25]
     [ 0.5   0.  ]]
    """

    points: DiskDisplay
    hulls: list[Array]
    pairs: dict[str, Array]

    @classmethod
    def from_points(cls, X: Any, y: Any, *, curvature: float = -1.0, most_markers: int = MOST_MARKERS) -> Self:
        """Compute the hulls of two classes and their closest pairs.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Points of the disk.
        y : array-like of shape (n,)
            Their classes, two of them.
        curvature : float
            Sectional curvature of the disk.
        most_markers : int
            Up to this many points are drawn as markers, more as an image of their density.
        """
        points = DiskDisplay.from_points(X, y, curvature=curvature, most_markers=most_markers)
        if len(points.classes) != 2:
            raise ValueError(
                f"Hulls are drawn of exactly 2 classes; y holds {len(points.classes)}: {points.classes.tolist()[:5]}.\n"
                "Pass the labels of one against the rest, such as y == label."
            )
        c = absolute_curvature(curvature)
        members = [points.X[points.y == label] for label in points.classes]
        V_a, V_b = (rows[graham_scan(rows, c=c)] for rows in members)
        i, j = closest_vertices(V_a, V_b, c=c)
        pairs = {"vertices": np.stack([V_a[i], V_b[j]])}
        closest = closest_points(V_a, V_b, c=c)
        if closest.lower_bound > 0:
            pairs["points"] = np.stack([closest.a, closest.b])
        return cls(points, [V_a, V_b], pairs)

    def reference(self, pair: str) -> Array:
        """The midpoint p of a pair."""
        return midpoint(*self.pairs[pair], c=absolute_curvature(self.points.curvature))

    def boundary(self, pair: str) -> Array:
        """Points along the geodesic halfway between a pair, from rim to rim."""
        c = absolute_curvature(self.points.curvature)
        return hypercycle(*bisector(*self.pairs[pair], c=c), c=c)

    def plot(
        self,
        ax: Any = None,
        *,
        pairs: tuple[str, ...] = ("vertices", "points"),
        boundary: bool = True,
        size: float = 10.0,
        legend: bool = True,
    ) -> Self:
        """Draw the points, the hulls, the closest pairs, their midpoints and the boundaries.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default the current axes.
        pairs : tuple of str
            Which pairs to draw, of those that exist; one that is the same to the eye as the other is drawn once.
        boundary : bool
            Whether to draw the geodesic through p halfway between the pair.
        size : float
            Area of a marker, in square points.
        legend : bool
            Whether to name what is drawn.
        """
        if isinstance(pairs, str) or not set(pairs) <= set(STYLES):
            raise ValueError(f"pairs must name some of {list(STYLES)}; got {pairs!r}.\nPass a tuple of these names.")
        ax, c = self._take(ax), absolute_curvature(self.points.curvature)
        self.points.plot(ax, size=size, legend=False)
        colours = class_colours(self.points.classes)
        for V, label in zip(self.hulls, self.points.classes, strict=True):
            edge = outline(V, c=c)
            ax.fill(*edge.T, facecolor=colours[label], alpha=0.13, edgecolor="none", zorder=1)
            ax.plot(*edge.T, color=colours[label], linewidth=1.2, zorder=1.6)
        for pair, name in self._named(pairs).items():
            self._draw_pair(ax, pair, name, boundary, c)
        if legend:
            draw_legend(ax)
        return self

    def _named(self, pairs: tuple[str, ...]) -> dict[str, str]:
        """The pairs to draw and their names in the legend."""
        present = [pair for pair in STYLES if pair in pairs and pair in self.pairs]
        if len(present) == 2 and np.allclose(self.pairs["vertices"], self.pairs["points"], rtol=0, atol=SAME):
            return {"points": "closest points, both vertices"}
        return {pair: f"closest {pair} of the hulls" for pair in present}

    def _draw_pair(self, ax: Any, pair: str, name: str, boundary: bool, c: float) -> None:
        style, (a, b) = STYLES[pair], self.pairs[pair]
        ax.plot(*segment(a, b, c=c).T, color=style["color"], linewidth=1.8, zorder=2.3)
        ring = {"markersize": 7, "markerfacecolor": "white", "markeredgewidth": 1.5, "linestyle": "none"}
        ax.plot(*self.pairs[pair].T, "o", color=style["color"], **ring, label=name, zorder=2.5)
        draw_reference(ax, self.reference(pair), "their midpoint p", style["color"])
        if boundary and np.any(a != b):  # nothing is halfway between a point of both classes and itself
            draw_boundary(ax, self.boundary(pair), "boundary halfway", **style, linewidth=1.5)
