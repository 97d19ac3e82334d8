"""The Poincaré disk and points in it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from hyplearn.geometry import gap
from hyplearn.geometry.border import absolute_curvature
from hyplearn.plotting.arcs import segment
from hyplearn.plotting.canvas import GROUND, Display, draw_legend, draw_rim
from hyplearn.plotting.cloud import MOST_MARKERS, Cloud
from hyplearn.types import Array

# The grid: circles at these distances from the centre, in units of the curvature's radius, and so many diameters.
GRID_CIRCLES = (1, 2, 3, 4, 5)
GRID_DIAMETERS = 6


@dataclass(repr=False)
class DiskDisplay(Display):
    """Points of the Poincaré disk, coloured by class; many of them as an image of their density.

    Parameters
    ----------
    X : array of shape (n, 2)
        The points.
    y : array of shape (n,), optional
        Their classes.
    curvature : float
        Sectional curvature of the disk.
    edges : array of shape (m, 2), optional
        Pairs of rows to join by geodesics, such as a tree's children and parents.
    all_classes : array, optional
        All classes in the order of their colours, if y may lack some; by default those of y.
    most_markers : int
        Up to this many points are drawn as markers. Of more, an image shows the density: the mixture of the classes'
        colours by their share in each pixel, stronger with the logarithm of the count.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where ``plot`` has drawn.

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
        """Take the points and, where given, their classes and the edges between them."""
        c = absolute_curvature(curvature)
        X, y = check_labelled(X, y)
        if X.shape[1] != 2:
            raise ValueError(
                f"The disk shows points of two coordinates; got shape {X.shape}.\n"
                "Project X to 2-D first; BoundaryDisplay does so for a classifier of more dimensions."
            )
        gap(X, c=c)  # refuses points outside
        return cls(X, y, curvature, None if edges is None else check_edges(edges, len(X)), all_classes, most_markers)

    @property
    def classes(self) -> Array:
        """The classes in their order."""
        return self.cloud.classes

    @cached_property
    def cloud(self) -> Cloud:
        """What is drawn of the points."""
        radius = float(1 / np.sqrt(absolute_curvature(self.curvature)))
        return Cloud.of(self.X, self.y, self.all_classes, (0.0, 0.0), radius, self.most_markers)

    def plot(self, ax: Any = None, *, size: float = 10.0, legend: bool = True, grid: bool = False) -> Self:
        """Draw the rim, the edges and the points.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default the current axes.
        size : float
            Area of a marker, in square points.
        legend : bool
            Whether to name the classes.
        grid : bool
            Whether to draw diameters, and circles about the centre that are named by their hyperbolic radius.
        """
        ax, c = self._take(ax), absolute_curvature(self.curvature)
        draw_rim(ax, c)
        if grid:
            _draw_grid(ax, c)
        if self.edges is not None:
            self._draw_edges(ax, c)
        self.cloud.draw(ax, size)
        if legend:
            draw_legend(ax)
        return self

    def _draw_edges(self, ax: Any, c: float) -> None:
        from matplotlib.collections import LineCollection

        start, end = self.X[np.asarray(self.edges).T]
        lines = LineCollection(list(segment(start, end, c=c)), colors="0.35", linewidths=0.35, alpha=0.7, zorder=1.5)
        ax.add_collection(lines)


def _draw_grid(ax: Any, c: float) -> None:
    """Geodesics through the centre and circles about it, at radius ``tanh(√c d / 2) / √c`` for the distance d."""
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    around = np.linspace(0, 2 * np.pi, 361)
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)
    radii = np.tanh(np.array(GRID_CIRCLES) / 2) / np.sqrt(c)
    turns = np.arange(GRID_DIAMETERS) * np.pi / GRID_DIAMETERS
    ends = np.stack([np.cos(turns), np.sin(turns)], axis=1) / np.sqrt(c)
    curves = [radius * circle for radius in radii] + [np.stack([-end, end]) for end in ends]
    ax.add_collection(LineCollection(curves, colors="0.83", linewidths=0.5, zorder=1.2))
    # Above the points, which would hide them, with a light edge to be read there.
    edge = withStroke(linewidth=1.5, foreground=GROUND)
    style = {"color": "0.5", "fontsize": 7, "ha": "left", "va": "bottom", "zorder": 2.7, "path_effects": [edge]}
    for distance, radius in zip(GRID_CIRCLES[:3], radii, strict=False):
        ax.text(0, radius, f"{distance / np.sqrt(c):.3g}", **style)


def check_labelled(X: Any, y: Any) -> tuple[Array, Array | None]:
    """Rows of float64 and one label for each, or an error."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 2 or len(X) == 0:
        raise ValueError(
            f"X must hold at least one point of two coordinates or more; got shape {X.shape}.\n"
            "Pass an array of shape (n, d), rows being points."
        )
    if y is None:
        return X, None
    y = np.asarray(y)
    if y.shape != X.shape[:1]:
        raise ValueError(f"y must hold one label for each of the {len(X)} rows of X; got shape {y.shape}.\nCheck y.")
    missing = np.flatnonzero([_is_missing(label) for label in y] if y.dtype.kind in "Of" else [])
    if missing.size:
        are = "is" if missing.size == 1 else "are"
        raise ValueError(
            f"{missing.size} of {len(y)} labels {are} missing; the first is that of row {missing[0]}.\n"
            "Leave these rows out, or give them a name such as 'other'."
        )
    return X, y


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or pandas' NA, which says of nothing whether it is equal."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def check_edges(edges: Any, n: int) -> Array:
    """Pairs of rows, or an error."""
    edges = np.asarray(edges)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"edges must hold pairs of row numbers; got shape {edges.shape} of {edges.dtype}.\n"
            "Pass integers of shape (m, 2)."
        )
    if edges.size and not 0 <= edges.min() <= edges.max() < n:
        raise ValueError(
            f"edges must name rows of X, 0 to {n - 1}; got {edges.min()} to {edges.max()}.\nCount rows from 0."
        )
    return edges
