"""Points of the plane by class: a marker each, or where they are too many an image of their density."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hyplearn.plotting.canvas import INK, class_colours, class_markers
from hyplearn.types import Array

# More points than this are an image: markers would cover one another and make a vector graphic of megabytes.
MOST_MARKERS = 20_000
# Pixels along one side of that image.
PIXELS = 200
# Opacity of a pixel that holds one point, so that outliers stay visible beside the crowd.
FAINTEST = 0.3


@dataclass(frozen=True)
class Cloud:
    """Points with their classes.

    Parameters
    ----------
    X : array of shape (n, 2)
        Where the points are drawn.
    y : array of shape (n,) or None
        Their classes.
    classes : array
        All classes, in the order of their colours; some may have no points here.
    centre, reach : tuple of float, float
        The picture is the square that far about the centre, in both directions.
    counts : array of shape (n_classes, m, m) or None
        Points of each class in each pixel, rows from the bottom; None where points are few enough for markers.
    """

    X: Array
    y: Array | None
    classes: Array
    centre: tuple[float, float]
    reach: float
    counts: Array | None = None

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array | None,
        classes: Array | None,
        centre: tuple[float, float],
        reach: float,
        most_markers: int,
    ) -> Self:
        """Count more than ``most_markers`` points by pixel; classes of y that are not given come last."""
        classes = all_classes(y, classes)
        if len(X) <= most_markers:
            return cls(X, y, classes, centre, reach)
        codes = np.zeros(len(X), dtype=int) if y is None else positions(y, classes)
        column, row = np.clip((((X - centre) / reach + 1) * PIXELS / 2).astype(int), 0, PIXELS - 1).T
        shape = (max(1, len(classes)), PIXELS, PIXELS)
        places = np.ravel_multi_index((codes, row, column), shape)
        return cls(X, y, classes, centre, reach, np.bincount(places, minlength=np.prod(shape)).reshape(shape))

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, lower and upper end of the picture."""
        (x, y), reach = self.centre, self.reach
        return x - reach, x + reach, y - reach, y + reach

    def image(self) -> Array:
        """Colours of the pixels, with opacity: those of the classes mixed by their share, the log of the count."""
        from matplotlib.colors import to_rgb

        assert self.counts is not None
        colours = class_colours(self.classes)
        palette = np.array([to_rgb(colours[label]) for label in self.classes] or [to_rgb(INK)])
        total = self.counts.sum(axis=0)
        mixed = np.tensordot(self.counts, palette, axes=(0, 0)) / np.maximum(total, 1)[..., None]
        depth = np.log(np.maximum(total, 1)) / np.log(max(total.max(), 2))
        return np.dstack([mixed, np.where(total > 0, FAINTEST + (1 - FAINTEST) * depth, 0)])

    def draw(self, ax: Any, size: float) -> None:
        """Draw the points below the rim and above everything else, each class with its label, those of none in ink."""
        if self.counts is not None:
            ax.imshow(self.image(), extent=self.extent, origin="lower", interpolation="nearest", zorder=2)
        shown = self.X if self.counts is None else np.empty((0, 2))
        if self.y is None:
            ax.scatter(*shown.T, s=size, color=INK, linewidths=0, zorder=2)
            return
        style, shapes = {"s": size, "edgecolors": "white", "linewidths": 0.2, "zorder": 2}, class_markers(self.classes)
        for label, colour in class_colours(self.classes).items():
            points = shown[self.y == label] if self.counts is None else shown
            ax.scatter(*points.T, color=colour, marker=shapes[label], label=label, **style)


def all_classes(y: Array | None, classes: Array | None) -> Array:
    """The classes given, and after them those of y that are not among them."""
    present = np.array([]) if y is None else np.unique(y)
    if y is None or classes is None:
        return present
    known = np.asarray(classes).tolist()
    return np.array(known + [label for label in present.tolist() if label not in known], dtype=object)


def positions(y: Array, classes: Array) -> Array:
    """Number of the class of each point."""
    present, inverse = np.unique(y, return_inverse=True)
    return np.array([classes.tolist().index(label) for label in present.tolist()])[inverse]
