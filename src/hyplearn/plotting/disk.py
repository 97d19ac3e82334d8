"""The disk: its points by class, and what a classifier makes of it."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry import geodesic
from hyplearn.geometry.arrays import Array

# Paul Tol's "muted" scheme, made to be told apart by the colour-blind, and five more; grey is left for "other".
COLOURS = (
    "#332288", "#88CCEE", "#117733", "#DDCC77", "#CC6677", "#AA4499", "#44AA99",
    "#882255", "#999933", "#4477AA", "#EE7733", "#661100", "#222222", "#F4A6C0",
)  # fmt: skip
OTHER = "#9A9A9A"


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Drawing needs matplotlib: pip install 'hyplearn[plots]'.") from error
    return plt


def class_colours(classes: Array) -> dict[Any, str]:
    """One colour per class in their order; a class called "other" is grey, and colours repeat beyond fourteen."""
    named = [label for label in classes if str(label) != "other"]
    return {label: COLOURS[i % len(COLOURS)] for i, label in enumerate(named)} | {
        label: OTHER for label in classes if str(label) == "other"
    }


def _frame(ax: Any, radius: float) -> None:
    """The empty disk: its rim, no axes."""
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-1.03 * radius, 1.03 * radius)
    ax.set_ylim(-1.03 * radius, 1.03 * radius)
    rim = np.linspace(0, 2 * np.pi, 721)
    ax.plot(radius * np.cos(rim), radius * np.sin(rim), color="0.25", linewidth=1, zorder=3)


def _check_disk(X: Any) -> Array:
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"The disk shows points of two coordinates; got shape {X.shape}.\nProject X to 2-D first.")
    return X


@dataclass
class DiskDisplay:
    """Points of the Poincaré disk, coloured by class.

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
    ax_: Any = None

    @classmethod
    def from_points(cls, X: Any, y: Any = None, *, curvature: float = -1.0, edges: Any = None) -> Self:
        """Take the points and, where given, their classes and the edges between them."""
        labels, pairs = (None if values is None else np.asarray(values) for values in (y, edges))
        return cls(_check_disk(X), labels, curvature, pairs)

    @property
    def classes(self) -> Array:
        """The classes in their order."""
        return np.unique(self.y) if self.y is not None else np.array([])

    def plot(self, ax: Any = None, *, size: float = 10.0, legend: bool = True) -> Self:
        """Draw the rim and the points; the axes are kept in ``ax_``."""
        self.ax_ = _pyplot().gca() if ax is None else ax
        _frame(self.ax_, 1 / np.sqrt(absolute_curvature(self.curvature)))
        if self.edges is not None:
            self._plot_edges()
        if self.y is None:
            self.ax_.scatter(*self.X.T, s=size, color=COLOURS[0], linewidths=0, zorder=2)
            return self
        for label, colour in class_colours(self.classes).items():
            points = self.X[self.y == label]
            self.ax_.scatter(*points.T, s=size, color=colour, edgecolors="white", linewidths=0.2, label=label, zorder=2)
        if legend:
            self.ax_.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, markerscale=1.8)
        return self

    def _plot_edges(self) -> None:
        from matplotlib.collections import LineCollection

        start, end = self.X[np.asarray(self.edges).T]
        curves = geodesic(start, end, np.linspace(0, 1, 17)[:, None], c=absolute_curvature(self.curvature))
        lines = LineCollection(list(np.swapaxes(curves, 0, 1)), colors="0.35", linewidths=0.35, alpha=0.7, zorder=1.5)
        self.ax_.add_collection(lines)


@dataclass
class BoundaryDisplay:
    """Regions that a fitted classifier assigns to its classes, over the whole disk.

    Parameters
    ----------
    grid : array of shape (m,)
        Coordinates of the raster, the same in both directions.
    regions : array of shape (m, m)
        Index of the predicted class at ``(grid[column], grid[row])``; -1 outside the disk.
    classes : array
        The classes that the indices stand for.
    curvature : float
        Sectional curvature of the disk.
    points : DiskDisplay, optional
        The points to draw over the regions.
    """

    grid: Array
    regions: Array
    classes: Array
    curvature: float = -1.0
    points: DiskDisplay | None = None
    ax_: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        curvature: float = -1.0,
        edges: Any = None,
        resolution: int = 600,
    ) -> Self:
        """Predict every pixel of the disk.

        Parameters
        ----------
        estimator : fitted classifier with `predict` and `classes_`
            Takes points of the disk, alone or at the end of a pipeline.
        X, y : array-like, optional
            Points and classes to show over the regions.
        curvature : float
            Sectional curvature of the disk.
        edges : array-like of shape (m, 2), optional
            Pairs of rows of X to join by geodesics.
        resolution : int
            Pixels along the diameter.
        """
        radius = 1 / np.sqrt(absolute_curvature(curvature))
        # Pixel centres, so that none lies on the rim.
        grid = radius * ((2 * np.arange(resolution) + 1) / resolution - 1)
        pixels = np.stack(np.meshgrid(grid, grid), axis=-1)
        inside = np.sum(pixels**2, axis=-1) < radius**2
        regions = np.full(inside.shape, -1)
        regions[inside] = np.searchsorted(estimator.classes_, estimator.predict(pixels[inside]))
        points = None if X is None else DiskDisplay.from_points(X, y, curvature=curvature, edges=edges)
        return cls(grid, regions, np.asarray(estimator.classes_), curvature, points)

    def plot(self, ax: Any = None, *, size: float = 10.0, legend: bool = True) -> Self:
        """Draw the regions, their boundaries and the points; the axes are kept in ``ax_``."""
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Circle

        self.ax_ = _pyplot().gca() if ax is None else ax
        radius = 1 / np.sqrt(absolute_curvature(self.curvature))
        palette = class_colours(self.classes)
        tints = [0.72 + 0.28 * np.array(to_rgb(palette[label])) for label in self.classes]
        image = np.array([*tints, (1, 1, 1)])[self.regions]
        edge = (-radius, radius, -radius, radius)
        rim = Circle((0, 0), radius, transform=self.ax_.transData)
        self.ax_.imshow(image, extent=edge, origin="lower", interpolation="nearest", zorder=0).set_clip_path(rim)
        for k in range(len(self.classes)):
            lines = self.ax_.contour(
                self.grid, self.grid, self.regions == k, levels=[0.5], colors="white", linewidths=0.8, zorder=1
            )
            lines.set_clip_path(rim)
        if self.points is not None:
            self.points.plot(self.ax_, size=size, legend=legend)
        else:
            _frame(self.ax_, radius)
        return self
