"""Plots of points in the Poincaré disk, and of the hyperbolic hulls of two classes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from hyplearn.data.labels import as_labels, check_present
from hyplearn.geometry import closest_points, closest_vertices, gap, graham_scan, midpoint
from hyplearn.geometry.border import absolute_curvature
from hyplearn.plotting import canvas
from hyplearn.plotting.arcs import bisector, hypercycle, outline, segment
from hyplearn.plotting.canvas import MOST_MARKERS, Cloud, Display
from hyplearn.plotting.style import SMALL
from hyplearn.types import Array

# GRID_CIRCLES contains the hyperbolic radii of the grid circles, in units of 1/√c. GRID_DIAMETERS is the number of
# diameters in the grid.
GRID_CIRCLES = (1, 2, 3, 4, 5)
GRID_DIAMETERS = 6
# The pair of closest points and the pair of closest vertices of two hulls are drawn as a single pair if none of their
# coordinates differ by more than this.
SAME = 1e-6
STYLES: dict[str, dict[str, Any]] = {
    "vertices": {"color": "#CC3377", "linestyle": (0, (4, 2))},
    "points": {"color": canvas.INK, "linestyle": "-"},
}


@dataclass(repr=False)
class DiskDisplay(Display):
    """Plot of points in the Poincaré disk, coloured by class; many points are drawn as a density image.

    Parameters
    ----------
    X : array of shape (n, 2)
        Coordinates of the points.
    y : array of shape (n,), optional
        Classes of the points.
    curvature : float
        Sectional curvature of the disk.
    edges : array of shape (m, 2), optional
        Pairs of row numbers. The two points of each pair, such as child and parent in a tree, are connected by a
        geodesic.
    all_classes : array, optional
        All classes in the order of their colours; by default the classes in y. Pass it if y may not contain all
        classes.
    most_markers : int
        Maximum number of points that are drawn as markers. If there are more, their density is drawn as an image: each
        pixel mixes the colours of its classes in proportion to their numbers of points, and its opacity grows with the
        logarithm of the total number.

    Examples
    --------
    >>> from hyplearn.datasets import load_mammals
    >>> from hyplearn.plotting import DiskDisplay
    >>> mammals = load_mammals()
    >>> display = DiskDisplay.from_points(mammals.data, mammals.target)
    >>> display.classes[:3]
    array(['bats', 'carnivores', 'cetaceans'], dtype='<U...')
    """

    X: Array
    y: Array | None = None
    curvature: float = -1.0
    edges: Array | None = None
    all_classes: Array | None = None
    most_markers: int = MOST_MARKERS

    @classmethod
    def from_points(
        cls,
        X: Any,
        y: Any = None,
        *,
        curvature: float = -1.0,
        edges: Any = None,
        all_classes: Any = None,
        most_markers: int = MOST_MARKERS,
    ) -> Self:
        """Validate points, classes and edges, and create a display; for the parameters, see :class:`DiskDisplay`."""
        c = absolute_curvature(curvature)
        X, y = check_labelled(X, y)
        if X.shape[1] != 2:
            raise ValueError(
                f"DiskDisplay needs points with two coordinates; got shape {X.shape}.\n"
                "Project X to 2-D first, or use BoundaryDisplay, which projects points for a classifier."
            )
        gap(X, c=c)  # raises ValueError if a point lies outside the disk
        return cls(X, y, curvature, None if edges is None else check_edges(edges, len(X)), all_classes, most_markers)

    @property
    def classes(self) -> Array:
        """Classes in the order of their colours."""
        return self.cloud.classes

    @cached_property
    def cloud(self) -> Cloud:
        """Points and classes with the limits of the plot, to be drawn as markers or as a density image."""
        radius = float(1 / np.sqrt(absolute_curvature(self.curvature)))
        return Cloud.of(self.X, self.y, self.all_classes, np.zeros(2), radius, self.most_markers)

    def plot(self, ax: Any = None, *, size: float = 10.0, legend: bool = True, grid: bool = False) -> Self:
        """Draw the rim, the edges and the points.

        Parameters
        ----------
        ax, size, legend
            As in :meth:`BoundaryDisplay.plot`.
        grid : bool
            Whether to draw diameters and circles around the centre. The inner circles are labelled with their
            hyperbolic radii.
        """
        return self._plot(ax, size, legend, grid=grid)

    def _draw(self, ax: Any, size: float, *, grid: bool = False) -> None:
        from matplotlib.collections import LineCollection

        c = absolute_curvature(self.curvature)
        canvas.draw_rim(ax, c)
        if grid:
            _draw_grid(ax, c)
        if self.edges is not None:
            lines = list(segment(*self.X[np.asarray(self.edges).T], c=c))
            ax.add_collection(LineCollection(lines, colors="0.35", linewidths=0.35, alpha=0.7, zorder=1.5))
        self.cloud.draw(ax, size)


def _draw_grid(ax: Any, c: float) -> None:
    """Draw diameters and circles; a circle of hyperbolic radius d has Euclidean radius ``tanh(√c d / 2) / √c``."""
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    around = np.linspace(0, 2 * np.pi, 361)
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)
    radii = np.tanh(np.array(GRID_CIRCLES) / 2) / np.sqrt(c)
    turns = np.arange(GRID_DIAMETERS) * np.pi / GRID_DIAMETERS
    ends = np.stack([np.cos(turns), np.sin(turns)], axis=1) / np.sqrt(c)
    curves = [radius * circle for radius in radii] + [np.stack([-end, end]) for end in ends]
    ax.add_collection(LineCollection(curves, colors="0.83", linewidths=0.5, zorder=1.2))
    # Labels are drawn on top of the points, with a light outline that keeps them readable.
    edge = withStroke(linewidth=1.5, foreground=canvas.GROUND)
    style = {"color": "0.4", "fontsize": SMALL, "ha": "left", "va": "bottom", "zorder": 2.7, "path_effects": [edge]}
    for distance, radius in zip(GRID_CIRCLES[:3], radii, strict=False):
        ax.text(0, radius, f"{distance / np.sqrt(c):.3g}", **style)


@dataclass(repr=False)
class HullDisplay(Display):
    """Plot of the convex hulls of two classes, the closest points of the hulls, their midpoint p, and their bisector.

    Parameters
    ----------
    points : DiskDisplay
        Points of two classes.
    hulls : list of two arrays of shape (n, 2)
        Vertices of the hull of each class, counter-clockwise.
    pairs : dict of str to array of shape (2, 2)
        The pair "vertices" contains the closest vertices of the hulls, whose midpoint is the reference point of Chien,
        Pan, Tabaghi and Milenkovic (2021). The pair "points" contains the closest points of the hulls, which may lie on
        edges. This pair is missing if the hulls intersect.

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
        """Compute the hulls of two classes, and their closest vertices and points.

        Parameters
        ----------
        X, y, curvature, most_markers
            As in :class:`DiskDisplay`, with two classes.
        """
        points = DiskDisplay.from_points(X, y, curvature=curvature, most_markers=most_markers)
        if len(points.classes) != 2:
            names = [repr(label) for label in points.classes.tolist()]
            shown = ", ".join(names if len(names) <= 5 else [*names[:5], "..."])
            raise ValueError(
                f"HullDisplay needs exactly 2 classes; got {len(names)} in y: {shown or 'none'}.\n"
                "Pass labels of one class against the rest, such as y == label."
            )
        c = absolute_curvature(curvature)
        codes = canvas.positions(np.asarray(points.y), points.classes)
        members = [points.X[codes == k] for k in (0, 1)]
        V_a, V_b = (rows[graham_scan(rows, c=c)] for rows in members)
        i, j = closest_vertices(V_a, V_b, c=c)
        pairs = {"vertices": np.stack([V_a[i], V_b[j]])}
        closest = closest_points(V_a, V_b, c=c)
        if closest.lower_bound > 0:
            pairs["points"] = np.stack([closest.a, closest.b])
        return cls(points, [V_a, V_b], pairs)

    def reference(self, pair: str) -> Array:
        """Return the midpoint p of one of the ``pairs``; ``pair`` is its name, "vertices" or "points"."""
        return midpoint(*self.pairs[pair], c=absolute_curvature(self.points.curvature))

    def boundary(self, pair: str) -> Array:
        """Return points, from rim to rim, along the bisector of one of the ``pairs``; ``pair`` is its name."""
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
        ax, size, legend
            As in :meth:`BoundaryDisplay.plot`.
        pairs : tuple of str
            Names of the pairs to draw, if they exist. If both pairs look the same, only one is drawn.
        boundary : bool
            Whether to draw the bisector of each pair.
        """
        if isinstance(pairs, str) or not set(pairs) <= set(STYLES):
            raise ValueError(
                f'pairs must be a tuple of "vertices", "points" or both; got {pairs!r}.\n'
                'Pass a tuple, such as ("points",).'
            )
        return self._plot(ax, size, legend, pairs=pairs, boundary=boundary)

    def _draw(self, ax: Any, size: float, *, pairs: tuple[str, ...], boundary: bool) -> None:
        c = absolute_curvature(self.points.curvature)
        self.points.plot(ax, size=size, legend=False)
        colours = canvas.class_colours(self.points.classes)
        for V, label in zip(self.hulls, self.points.classes, strict=True):
            edge = outline(V, c=c)
            ax.fill(*edge.T, facecolor=colours[label], alpha=0.13, edgecolor="none", zorder=1)
            ax.plot(*edge.T, color=colours[label], linewidth=1.2, zorder=1.6)
        for pair, name in self._named(pairs).items():
            self._draw_pair(ax, pair, name, boundary, c)

    def _named(self, pairs: tuple[str, ...]) -> dict[str, str]:
        """Return the legend label of each pair that is drawn, as a dict whose keys are the names of the pairs."""
        present = [pair for pair in STYLES if pair in pairs and pair in self.pairs]
        if len(present) == 2 and np.allclose(self.pairs["vertices"], self.pairs["points"], rtol=0, atol=SAME):
            return {"points": "closest points, both vertices"}
        return {pair: f"closest {pair} of the hulls" for pair in present}

    def _draw_pair(self, ax: Any, pair: str, name: str, boundary: bool, c: float) -> None:
        style, (a, b) = STYLES[pair], self.pairs[pair]
        ax.plot(*segment(a, b, c=c).T, color=style["color"], linewidth=1.8, zorder=2.3)
        ring = {"markersize": 7, "markerfacecolor": "white", "markeredgewidth": 1.5, "linestyle": "none"}
        ax.plot(*self.pairs[pair].T, "o", color=style["color"], **ring, label=name, zorder=2.5)
        canvas.draw_reference(ax, self.reference(pair), "their midpoint p", style["color"])
        if boundary and np.any(a != b):  # if the two points are equal, they have no bisector
            canvas.draw_boundary(ax, self.boundary(pair), "boundary halfway", **style, linewidth=1.5)


def check_labelled(X: Any, y: Any) -> tuple[Array, Array | None]:
    """Validate points and labels; return the points as float64, and the labels as an array or None."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 2 or len(X) == 0:
        raise ValueError(
            f"X must have at least one row and two columns; got shape {X.shape}.\n"
            "Pass an array of shape (n, d), one point per row."
        )
    if y is None:
        return X, None
    y = np.asarray(as_labels(y))
    if y.shape != X.shape[:1]:
        raise ValueError(
            f"y must hold one label for each of the {len(X)} rows of X; got shape {y.shape}.\nPass one label per row."
        )
    if y.dtype.kind in "Of":
        check_present(y.tolist())
    return X, y


def check_width(X: Array, d: int, estimator: Any) -> None:
    """Check that X has d columns, like the data that the estimator was fitted on; raise ValueError otherwise."""
    if X.shape[1] != d:
        raise ValueError(
            f"X must have {d} coordinates per point, like the training data of {type(estimator).__name__}; "
            f"got {X.shape[1]}.\n"
            "Pass points in the ball of the training data."
        )


def check_edges(edges: Any, n: int) -> Array:
    """Validate edges between n points; return them as an array of pairs of row indices."""
    edges = np.asarray(edges)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"edges must be pairs of row numbers; got shape {edges.shape} and dtype {edges.dtype}.\n"
            "Pass integers of shape (m, 2)."
        )
    if edges.size and not 0 <= edges.min() <= edges.max() < n:
        raise ValueError(
            f"edges must contain row numbers from 0 to {n - 1}; got {edges.min()} to {edges.max()}.\nCount rows from 0."
        )
    return edges
