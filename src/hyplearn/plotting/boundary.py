"""Regions, boundaries and margins of a classifier in the disk."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from hyplearn.decision import Decision, Equidistant, ForeignDecision, decision_of
from hyplearn.decision.adapter import fitted_classifier
from hyplearn.geometry.border import absolute_curvature
from hyplearn.plotting.arcs import hypercycle
from hyplearn.plotting.canvas import (
    Display,
    class_colours,
    draw_boundary,
    draw_legend,
    draw_margins,
    draw_reference,
    draw_rim,
    draw_support,
)
from hyplearn.plotting.cloud import MOST_MARKERS
from hyplearn.plotting.disk import DiskDisplay, check_labelled
from hyplearn.plotting.plane import Plane
from hyplearn.plotting.regions import pairwise_arcs, predicted_regions
from hyplearn.types import Array

# Share of white in the colour of a region.
PALE = 0.76


@dataclass(repr=False)
class BoundaryDisplay(Display):
    """Regions that a fitted classifier assigns to its classes over the whole disk, and the geodesics between them.

    Parameters
    ----------
    grid : array of shape (m,)
        Coordinates of the raster, the same in both directions.
    regions : array of shape (m, m)
        Index of the predicted class at ``(grid[column], grid[row])``, or where that is outside the disk at the corner
        of the pixel that is inside; -1 for pixels that the disk does not touch.
    classes : array
        The classes that the indices stand for.
    curvature : float
        Sectional curvature of the disk.
    points : DiskDisplay, optional
        The points to draw over the regions.
    boundaries : list of arrays of shape (n, 2)
        Points along the geodesics between classes.
    margin : float, optional
        Hyperbolic distance of the margins from the boundary.
    margins : list of arrays of shape (n, 2)
        Points along the hypercycles at that distance, on both sides.
    reference : array of shape (2,), optional
        The reference point p.
    support : array of shape (k, 2), optional
        The support vectors.
    plane : Plane, optional
        The plane of the picture, for a classifier of more than two dimensions.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where ``plot`` has drawn.

    Examples
    --------
    >>> from hyplearn import PoincareSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> from hyplearn.plotting import BoundaryDisplay
    >>> X, y, p, w = make_ball_classification(100, 2, margin=0.2, random_state=0)
    >>> svc = PoincareSVC(p, C=1000, margin="exact").fit(X, y)
    >>> display = BoundaryDisplay.from_estimator(svc, X, y, resolution=100)
    >>> len(display.boundaries), len(display.margins), bool(display.margin > 0.2)
    (1, 2, True)
    """

    grid: Array
    regions: Array
    classes: Array
    curvature: float = -1.0
    points: DiskDisplay | None = None
    boundaries: list[Array] = field(default_factory=list)
    margin: float | None = None
    margins: list[Array] = field(default_factory=list)
    reference: Array | None = None
    support: Array | None = None
    plane: Plane | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        curvature: float | None = None,
        margin: float | None = None,
        edges: Any = None,
        resolution: int = 600,
        most_markers: int = MOST_MARKERS,
    ) -> Self:
        r"""Predict every pixel of the disk, and find the boundaries.

        Parameters
        ----------
        estimator : fitted classifier with `predict` and `classes_`
            Takes points of the ball, alone or at the end of a pipeline. Boundaries are arcs where the decision of the
            classifier has them (:func:`hyplearn.decision.decision_of`): equidistants of a geodesic for two classes,
            geodesics for more. Otherwise the regions show where predictions change.
        X, y : array-like, optional
            Points and classes to show over the regions. In more than two dimensions X is needed to choose the plane.
        curvature : float, optional
            Sectional curvature, -1 by default. An estimator that has a curvature, or wraps one that has, is drawn with
            that.
        margin : float, optional
            Hyperbolic distance from the hyperplane of two classes at which to draw hypercycles. The default is that of
            the SVM's margin, ⟨z, w⟩ = ±1, for ``margin="exact"``, and ``margin_`` for other classifiers, if it is
            positive. The lines ⟨f, w⟩ = ±1 of ``margin="bound"`` are no hypercycles: :class:`TangentDisplay` has them.
        edges : array-like of shape (m, 2), optional
            Pairs of rows of X to join by geodesics.
        resolution : int
            Pixels along the diameter.
        most_markers : int
            Up to this many points are drawn as markers, more as an image of their density.

        Notes
        -----
        Reference point, margins and support vectors are drawn for two classes. A classifier of d > 2 dimensions is
        shown on a geodesic plane, as the title says. If the boundary of two classes is an equidistant of a hyperplane
        H(w, p), it is the plane through p along w and the direction in which the points spread most, with every point
        moved along H: sides and distances to the boundary are true for every point. Otherwise it is the plane of the
        points' two main directions about their mean, with orthogonal projections: regions and boundaries are those on
        the plane, and a point outside it may be drawn in the region of another class than the predicted one.
        """
        if not isinstance(resolution, (int, np.integer)) or resolution < 2:
            raise ValueError(f"resolution must be an integer of at least 2; got {resolution!r}.\nPass 600.")
        decision, estimator = decision_of(estimator, curvature), fitted_classifier(estimator)
        found, curvature = decision.boundary(), -decision.c
        if margin is not None and found is None:
            raise ValueError(
                f"A margin needs a boundary of two classes at one distance from a geodesic, and "
                f"{type(estimator).__name__} of {len(decision.classes)} classes has none; got margin={margin!r}.\n"
                "Leave margin out."
            )
        X, y = (None, None) if X is None else check_labelled(X, y)
        plane = chosen_plane(estimator, found, X, decision.c)
        if plane is not None and X is not None:
            X = plane.project(X)
        regions = predicted_regions(estimator, plane, resolution, decision.c)
        display = cls(*regions, decision.classes, curvature, plane=plane)
        if X is not None:
            display.points = DiskDisplay.from_points(
                X, y, curvature=curvature, edges=edges, all_classes=display.classes, most_markers=most_markers
            )
        if found is None:
            display.boundaries = list(pairwise_arcs(estimator, decision, plane))
        else:
            display._add_boundary(estimator, decision, found, margin)
        return display

    def _add_boundary(
        self, estimator: Any, decision: Decision | ForeignDecision, found: Equidistant, margin: float | None
    ) -> None:
        """The boundary of two classes with its margins, reference point and support vectors."""
        c, (w, p, height) = decision.c, found
        self.margin = margin_of(estimator, margin, c)
        if self.plane is not None:
            w, p = np.array([1.0, 0.0]), np.zeros(2)
        self.boundaries = [hypercycle(w, p, height, c=c)]
        if self.margin is not None:
            self.margins = [hypercycle(w, p, sign * self.margin, c=c) for sign in (-1, 1)]
        if decision.through_points:
            self.reference = p
        if len(getattr(estimator, "support_vectors_", ())):
            support = np.asarray(estimator.support_vectors_, dtype=np.float64)
            self.support = support if self.plane is None else self.plane.project(support)

    def plot(self, ax: Any = None, *, size: float = 10.0, legend: bool = True) -> Self:
        """Draw the regions, boundaries, margins, points, support vectors and p.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default the current axes.
        size : float
            Area of a marker, in square points.
        legend : bool
            Whether to name what is drawn.
        """
        ax = self._take(ax)
        self._draw_regions(ax)
        if self.points is None:
            draw_rim(ax, absolute_curvature(self.curvature))
        else:
            self.points.plot(ax, size=size, legend=False)
        if self.points is None or self.points.y is None:
            self._name_regions(ax)
        self._draw_curves(ax)
        if self.support is not None:
            draw_support(ax, self.support, size)
        if self.reference is not None:
            draw_reference(ax, self.reference)
        if self.plane is not None:
            ax.set_title(self.plane.statement, fontsize="small")
        if legend:
            draw_legend(ax)
        return self

    def _draw_regions(self, ax: Any) -> None:
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Circle

        radius = 1 / np.sqrt(absolute_curvature(self.curvature))
        palette = class_colours(self.classes)
        tints = [PALE + (1 - PALE) * np.array(to_rgb(palette[label])) for label in self.classes]
        image = np.array([*tints, (1, 1, 1)])[self.regions]
        edge = (-radius, radius, -radius, radius)
        rim = Circle((0, 0), radius, transform=ax.transData)
        ax.imshow(image, extent=edge, origin="lower", interpolation="nearest", zorder=0).set_clip_path(rim)
        if self.boundaries:
            return
        for k in range(len(self.classes)):
            if np.any(self.regions == k):
                style = {"levels": [0.5], "colors": "white", "linewidths": 0.8, "zorder": 1}
                ax.contour(self.grid, self.grid, self.regions == k, **style).set_clip_path(rim)

    def _name_regions(self, ax: Any) -> None:
        """Entries of the legend for regions without labelled points."""
        for label, colour in class_colours(self.classes).items():
            ax.scatter([], [], marker="s", color=colour, alpha=1 - PALE, label=label)

    def _draw_curves(self, ax: Any) -> None:
        if len(self.classes) > 2:
            # Below markers, but above an image that would hide it.
            dense = self.points is not None and self.points.cloud.counts is not None
            for arc in self.boundaries:
                draw_boundary(ax, arc, None, color="white", linewidth=0.9, zorder=2.2 if dense else 1)
        else:
            for arc in self.boundaries:
                draw_boundary(ax, arc)
            draw_margins(ax, self.margins, f"margin {self.margin:.3g}" if self.margins else "")


def chosen_plane(estimator: Any, found: Equidistant | None, X: Array | None, c: float) -> Plane | None:
    """The plane of the picture where there are more than two dimensions to choose from."""
    d = getattr(estimator, "n_features_in_", 2 if X is None else X.shape[1])
    if X is not None and X.shape[1] != d:
        raise ValueError(
            f"X must have {d} coordinates, as many as {type(estimator).__name__} was fitted on; got {X.shape[1]}.\n"
            "Pass points of the same ball."
        )
    if d == 2:
        return None
    if X is None:
        raise ValueError(
            f"A picture of {d} dimensions shows a plane that is chosen from the points; got X=None.\n"
            "Pass X, such as the training points."
        )
    return Plane.principal(X, c) if found is None else Plane.across(found.w, found.p, X, c)


def margin_of(estimator: Any, given: float | None, c: float, *, problem: int = 0) -> float | None:
    r"""Hyperbolic distance from the hyperplane of a problem at which to draw the margin; None for none.

    The given distance; for an SVM with ``margin="exact"`` the distance where ⟨z, w⟩ = 1, which is
    :math:`\operatorname{arsinh}(\sqrt c / \|w\|) / \sqrt c`; otherwise ``margin_``, the least distance of a training
    point, if it is positive.
    """
    if given is not None:
        if not 0 < given < np.inf:
            raise ValueError(f"margin must be a positive hyperbolic distance; got {given!r}.\nLeave it out for none.")
        return float(given)
    if getattr(estimator, "margin", None) == "exact":
        return float(np.arcsinh(np.sqrt(c) / np.linalg.norm(estimator.coef_[problem])) / np.sqrt(c))
    least = getattr(estimator, "margin_", None)
    return float(least[problem]) if least is not None and least[problem] > 0 else None
