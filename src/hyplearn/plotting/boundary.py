"""Regions, boundaries and margins of a classifier in the disk."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Self

import numpy as np

from hyplearn.decision import Boundary, Decision, Equidistant, ForeignDecision, Sphere, decision_of
from hyplearn.decision.adapter import fitted_classifier
from hyplearn.estimators.validation import inside_rows
from hyplearn.geometry.border import absolute_curvature
from hyplearn.plotting import canvas
from hyplearn.plotting.arcs import boundary_curve, geodesic_of, hypercycle, minkowski_normal
from hyplearn.plotting.canvas import MOST_MARKERS, Display
from hyplearn.plotting.disk import DiskDisplay, check_labelled
from hyplearn.plotting.plane import Plane, choose_plane, evaluate, predicted_codes, predicted_leads
from hyplearn.plotting.style import TEXT
from hyplearn.types import Array

# Number of pixels along the diameter for which prediction sets are computed. It is small, because prediction sets take
# longer to compute than predictions.
SET_PIXELS = 200
HATCH_INK = "0.6"
HATCHES = {"no class in the set": "xxxx", "several classes in the set": "////"}
# Number of points along the boundary between two classes. Parts of the boundary where a third class is predicted are
# left out. With more points, the remaining parts end closer to the true ends.
CUT_POINTS = 4001


@dataclass(repr=False)
class BoundaryDisplay(Display):
    """Plot of the regions of the disk in which a fitted classifier predicts each class, and of their boundaries.

    Parameters
    ----------
    grid : array of shape (m,)
        Coordinates of the pixel centres, the same in both directions.
    regions : array of shape (m, m)
        Index in ``classes`` of the class that is predicted at ``(grid[column], grid[row])``, or at the innermost corner
        of a pixel whose centre is outside the disk; -1 for pixels that are entirely outside.
    classes : array
        Classes of the classifier.
    curvature : float
        Sectional curvature of the disk.
    points : DiskDisplay, optional
        Points to draw over the regions.
    boundaries : list of arrays of shape (n, 2)
        Points along each boundary: one curve for two classes, and parts of geodesics for more classes.
    margin : float, optional
        Hyperbolic distance of each margin from the uncalibrated boundary.
    margins : list of arrays of shape (n, 2)
        Points along the margin on each side.
    reference, support : arrays of shape (2,) and (k, 2), optional
        Reference point p, and support vectors.
    plane : Plane, optional
        Plane of the plot, for a classifier in more than two dimensions.
    wrong : array of shape (k, 2), optional
        Positions of misclassified points in the plot, if the regions do not show which points are misclassified.
    leads : array of shape (m, m), optional
        Difference between the two highest scores at each pixel that borders on another region, and 1 at all other
        pixels. If the classifier has no scores, or if some predictions do not follow from them, the values are 1 at all
        pixels. The lines between regions are interpolated from these values. If ``leads`` is None, the lines are
        halfway between the pixels.
    set_sizes : array of shape (s, s), optional
        Number of classes in the prediction set at each pixel of the square around the disk, for a classifier with
        ``predict_set``.

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
    wrong: Array | None = None
    leads: Array | None = None
    set_sizes: Array | None = None

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
        r"""Predict the class of every pixel of the disk, and compute the boundaries.

        Parameters
        ----------
        estimator : fitted classifier with `predict` and `classes_`
            Classifier of points in the ball, or a pipeline that ends with such a classifier. Boundaries are drawn as
            arcs if :func:`hyplearn.decision.decision_of` finds them: equidistants of a geodesic, or circles, for two
            classes, and geodesics for more classes. Otherwise, boundaries are visible only as edges of the regions.
        X, y : array-like, optional
            Points to draw over the regions, and their classes. In more than two dimensions X is required, because the
            plane of the plot is chosen from the points.
        curvature : float, optional
            Sectional curvature; by default the curvature of the estimator, or -1 if it has none.
        margin : float, optional
            Hyperbolic distance of the margins from the uncalibrated boundary of two classes. Margins are drawn as
            hypercycles or circles. The default is the distance at which ⟨z, w⟩ = ±1 for an SVM with ``margin="exact"``,
            and ``margin_``, if it is positive, for other classifiers. The lines ⟨f, w⟩ = ±1 of an SVM with
            ``margin="bound"`` are not hypercycles; they are drawn by :class:`TangentDisplay`. The rows z and f are
            defined in :mod:`hyplearn.tangent`.
        resolution : int
            Number of pixels along the diameter of the disk.
        edges, most_markers
            As in :class:`DiskDisplay`.

        Notes
        -----
        The reference point, margins and support vectors are drawn only for two classes. In more than two
        dimensions, the plot shows a geodesic plane, which the title describes:

        - If the boundary between two classes is an equidistant of the hyperplane H(w, p) through p with normal w, the
          plane passes through p and is spanned by w and the direction orthogonal to w in which the points vary most.
          Points are moved into the plane so that their distances to H do not change.
        - If the boundary is a sphere, the plane passes through its centre and is spanned by the two directions in which
          the points vary most, and points are rotated into the plane. In both cases, the side of each point and its
          distance to the boundary are preserved.
        - Otherwise, the plane passes through the mean of the points and is spanned by two directions that separate the
          means of the predicted classes. Points are projected orthogonally. Each pixel shows the class that is
          predicted for most of the 15 nearest points. The title gives the percentage of points that lie in the region
          of their predicted class, and misclassified points are crossed out.

        The prediction sets of a :class:`~hyplearn.ConformalClassifier` are drawn in two dimensions: regions whose
        prediction sets are empty or contain several classes are hatched.
        """
        if not isinstance(resolution, (int, np.integer)) or resolution < 2:
            raise ValueError(
                f"resolution must be an integer of at least 2; got {resolution!r}.\nPass, for example, 600."
            )
        decision, estimator = decision_of(estimator, curvature), fitted_classifier(estimator)
        found, curvature = decision.boundary(), -decision.c
        if margin is not None and found is None:
            raise ValueError(
                f"A margin can be drawn only if the boundary is a hyperplane, an equidistant or a sphere between two "
                f"classes; got margin={margin!r} for {type(estimator).__name__} with {len(decision.classes)} classes.\n"
                "Omit margin."
            )
        X, y = (None, None) if X is None else check_labelled(X, y)
        X = None if X is None else points_inside(estimator, X)
        plane = choose_plane(estimator, found, X, decision.c)
        grid, regions, leads = predicted_regions(estimator, plane, resolution, decision.c)
        display = cls(grid, regions, decision.classes, curvature, plane=plane, leads=leads)
        if plane is None:
            display.set_sizes = set_sizes(estimator, decision.c)
        elif X is not None:
            if y is not None and plane.projection == "nearest":
                display.wrong = plane.project(X)[evaluate(estimator, "predict", None, X) != y]
            X = plane.project(X)
        if X is not None:
            display.points = DiskDisplay.from_points(
                X, y, curvature=curvature, edges=edges, all_classes=display.classes, most_markers=most_markers
            )
        if found is not None:
            display._add_boundary(estimator, decision, found, margin)
        elif plane is None:
            display.boundaries = list(pairwise_arcs(estimator, decision))
        return display

    def _add_boundary(
        self, estimator: Any, decision: Decision | ForeignDecision, found: Boundary, margin: float | None
    ) -> None:
        """Add the boundary of two classes with its margins, reference point and support vectors."""
        c = decision.c
        self.margin = margin_of(estimator, margin, c)
        if self.plane is not None:
            # The plane is drawn with the boundary's point p at the centre; its normal w, if any, points to the right.
            found = found._replace(p=np.zeros(2))
            found = found if isinstance(found, Sphere) else found._replace(w=np.array([1.0, 0.0]))
        self.boundaries = [boundary_curve(found, c=c)]
        if self.margin is not None:
            # Margins are drawn around the hyperplane of the model; a calibration may have moved the boundary away from
            # it.
            middle = (
                found._replace(height=0.0) if decision.has_hyperplanes and isinstance(found, Equidistant) else found
            )
            self.margins = [boundary_curve(middle, c=c, shift=sign * self.margin) for sign in (-1, 1)]
        if decision.through_points:
            self.reference = found.p
        support = support_of(estimator)
        if support is not None:
            self.support = support if self.plane is None else self.plane.project(support)

    def _draw(self, ax: Any, size: float) -> None:
        self._draw_regions(ax)
        if self.points is None:
            canvas.draw_rim(ax, absolute_curvature(self.curvature))
        else:
            self.points.plot(ax, size=size, legend=False)
        if self.points is None or self.points.y is None:
            for label, tint in canvas.class_tints(self.classes).items():
                ax.scatter([], [], marker="s", color=tint, edgecolors="0.6", linewidths=0.5, label=label)
        self._draw_curves(ax)
        if self.set_sizes is not None:
            self._draw_sets(ax)
        if self.wrong is not None and self.points is not None:
            canvas.draw_wrong(ax, self.wrong, len(self.points.X), size)
        if self.support is not None:
            canvas.draw_support(ax, self.support, size)
        if self.reference is not None:
            canvas.draw_reference(ax, self.reference)
        if self.plane is not None:
            ax.set_title(self.plane.statement, fontsize=TEXT)

    def _draw_regions(self, ax: Any) -> None:
        from matplotlib.patches import Circle

        radius = 1 / np.sqrt(absolute_curvature(self.curvature))
        tints = canvas.class_tints(self.classes)
        image = np.array([*(tints[label] for label in self.classes), (1, 1, 1)])[self.regions]
        edge = (-radius, radius, -radius, radius)
        rim = Circle((0, 0), radius, transform=ax.transData)
        ax.imshow(image, extent=edge, origin="lower", interpolation="nearest", zorder=0).set_clip_path(rim)
        for k, side in self.sides():
            style = {"levels": [0.0, np.inf], "colors": [tints[self.classes[k]]], "antialiased": True, "zorder": 0.1}
            ax.contourf(self.grid, self.grid, side, **style).set_clip_path(rim)
        if not self.boundaries:
            self.draw_edges(ax, color="white", linewidth=0.8, zorder=1)

    def draw_edges(self, ax: Any, *, color: Any, linewidth: float, zorder: float) -> None:
        """Draw lines between the regions."""
        from matplotlib.patches import Circle

        rim = Circle((0, 0), 1 / np.sqrt(absolute_curvature(self.curvature)), transform=ax.transData)
        style: dict[str, Any] = {"levels": [0.0], "colors": [color], "linewidths": linewidth, "zorder": zorder}
        for _, side in self.sides():
            ax.contour(self.grid, self.grid, side, **style).set_clip_path(rim)

    def sides(self) -> Iterator[tuple[int, Array]]:
        """Yield each region's class code, and values on the grid: positive in the region, and negative elsewhere.

        Between two pixels of different regions, the interpolated values of both regions are 0 at the same place, so
        that the regions meet there. If the disk has only one region, nothing is yielded.
        """
        outside = self.regions < 0
        regions = _continued(self.regions, outside)
        leads = np.ones(regions.shape) if self.leads is None else _continued(self.leads, outside)
        codes = np.unique(self.regions[~outside])
        for k in codes if len(codes) > 1 else ():
            yield int(k), np.where(regions == k, leads, -leads)

    def _draw_sets(self, ax: Any) -> None:
        """Hatch the regions whose prediction sets are empty or contain several classes."""
        from matplotlib.patches import Circle

        assert self.set_sizes is not None
        radius = 1 / np.sqrt(absolute_curvature(self.curvature))
        centres = radius * pixel_centres(len(self.set_sizes))
        rim = Circle((0, 0), radius, transform=ax.transData)
        for (label, hatch), chosen in zip(HATCHES.items(), (self.set_sizes == 0, self.set_sizes > 1), strict=True):
            if chosen.any():
                drawn = ax.contourf(centres, centres, chosen, levels=[0.5, 1.5], colors="none", hatches=[hatch])
                drawn.set(edgecolor=HATCH_INK, linewidth=0, zorder=1.1)
                drawn.set_clip_path(rim)
                ax.fill([], [], facecolor="none", edgecolor=HATCH_INK, linewidth=0, hatch=hatch, label=label)

    def _draw_curves(self, ax: Any) -> None:
        if len(self.classes) > 2:
            # Boundaries are drawn below markers, but above a density image, which would hide them.
            dense = self.points is not None and self.points.cloud.counts is not None
            for arc in self.boundaries:
                canvas.draw_boundary(ax, arc, None, color="white", linewidth=0.9, zorder=2.2 if dense else 1)
        else:
            for arc in self.boundaries:
                canvas.draw_boundary(ax, arc)
            canvas.draw_margins(ax, self.margins, f"margin {self.margin:.3g}" if self.margins else "")


def margin_of(estimator: Any, given: float | None, c: float, *, problem: int = 0) -> float | None:
    r"""Return the hyperbolic distance from the boundary of a binary problem to its margins.

    If ``given`` is not None, it is returned. Otherwise, the distance for an SVM with ``margin="exact"`` is
    :math:`\operatorname{arsinh}(\sqrt c / \|w\|) / \sqrt c`, where ⟨z, w⟩ = 1. For other classifiers, it is
    ``margin_``, the smallest signed distance from a training point to the boundary. If the classifier has no
    ``margin_``, or if ``margin_`` is not positive, there are no margins, and None is returned.
    """
    if given is not None:
        if not 0 < given < np.inf:
            raise ValueError(
                f"margin must be a positive finite hyperbolic distance; got {given!r}.\n"
                "Pass such a distance, or omit margin."
            )
        return float(given)
    if getattr(estimator, "margin", None) == "exact":
        return float(np.arcsinh(np.sqrt(c) / np.linalg.norm(estimator.coef_[problem])) / np.sqrt(c))
    least = getattr(estimator, "margin_", None)
    return float(least[problem]) if least is not None and least[problem] > 0 else None


def support_of(estimator: Any) -> Array | None:
    """Return the support vectors of an estimator, or None if it has no support vectors."""
    vectors = np.asarray(getattr(estimator, "support_vectors_", ()), dtype=np.float64)
    return vectors if len(vectors) else None


def predicted_regions(estimator: Any, plane: Plane | None, resolution: int, c: float) -> tuple[Array, Array, Array]:
    """Return the pixel centres along one side, and the class code and the lead of each pixel; codes outside are -1.

    Leads (see :func:`predicted_leads`) are computed only for pixels next to another region; other leads are 1. A pixel
    on the rim whose centre is outside the disk gets the class of its innermost corner. If such pixels were left empty,
    the rim would look notched.
    """
    radius = 1 / np.sqrt(c)
    grid = radius * pixel_centres(resolution)
    pixels = np.stack(np.meshgrid(grid, grid), axis=-1)
    outside = np.sum(pixels**2, axis=-1) >= radius**2
    pixels[outside] -= np.sign(pixels[outside]) * radius / resolution
    touched = np.sum(pixels**2, axis=-1) < radius**2
    regions = np.full(touched.shape, -1)
    regions[touched] = predicted_codes(estimator, plane, pixels[touched])
    leads, beside = np.ones(regions.shape), _beside_another(regions)
    leads[beside] = predicted_leads(estimator, plane, pixels[beside], regions[beside])
    return grid, regions, leads


def _beside_another(regions: Array) -> Array:
    """Return a mask of the pixels next to a pixel of another region."""
    beside = np.zeros(regions.shape, dtype=bool)
    for one, other in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        differs = (regions[one] != regions[other]) & (regions[one] >= 0) & (regions[other] >= 0)
        beside[one] |= differs
        beside[other] |= differs
    return beside


def _continued(values: Array, outside: Array) -> Array:
    """Return a copy of ``values`` that is continued to pixels outside the disk.

    Each of these pixels has the value of its diagonal neighbour towards the centre.
    """
    row, column = np.nonzero(outside)
    inwards = (i - np.sign(2 * i + 1 - len(values)) for i in (row, column))
    values = values.copy()
    values[row, column] = values[tuple(inwards)]
    return values


def pixel_centres(n: int) -> Array:
    """Return the centres of n equal pixels from -1 to 1."""
    return (2 * np.arange(n) + 1) / n - 1


def set_sizes(estimator: Any, c: float) -> Array | None:
    """Return the size of each pixel's prediction set (1 outside the disk), or None if there are no prediction sets."""
    if not hasattr(estimator, "predict_set"):
        return None
    centres = pixel_centres(SET_PIXELS) / np.sqrt(c)
    pixels = np.stack(np.meshgrid(centres, centres), axis=-1)
    inside = c * np.sum(pixels**2, axis=-1) < 1
    sizes = np.ones(inside.shape, dtype=int)
    sizes[inside] = evaluate(estimator, "predict_set", None, pixels[inside]).sum(axis=1)
    return sizes


def points_inside(estimator: Any, X: Array) -> Array:
    """Move points outside the ball into it, with a warning, if the classifier has ``outside="project"``."""
    return inside_rows(estimator, X)[0] if getattr(estimator, "outside", "") == "project" else X


def pairwise_arcs(estimator: Any, decision: Decision | ForeignDecision) -> Iterator[Array]:
    """Yield the arcs on which two classes are equally likely and no other class is predicted, as arrays of points."""
    for i, j, N in pairwise_normals(decision):
        line = geodesic_of(N, c=decision.c)
        if line is None:
            continue
        arc = hypercycle(*line, c=decision.c, n_points=CUT_POINTS)
        # No prediction is possible on the rim, so each of the two ends is kept only if its neighbour is kept.
        valid = np.pad(np.isin(predicted_codes(estimator, None, arc[1:-1]), [i, j]), 1, mode="edge")
        cuts = np.flatnonzero(np.diff(valid, prepend=False, append=False))
        yield from (arc[start:stop] for start, stop in cuts.reshape(-1, 2) if stop - start > 1)


def pairwise_normals(decision: Decision | ForeignDecision) -> Iterator[tuple[int, int, Array]]:
    """Yield the codes of each pair of classes and a vector N; the classes are equally likely where ``[N, X] = 0``.

    X denotes hyperboloid coordinates, and [N, X] the Minkowski product. There are two cases. If the score of each class
    can be replaced with a multiple of sinh(√c d), where d is the signed distance to the hyperplane of the class, these
    multiples are linear in X, and N is the difference of two scaled normals (see :meth:`Decision.steepness`).
    Otherwise, N is the normal of the hyperplane between the two classes. Pairs without such a hyperplane are left out.
    """
    pairs, steepness = combinations(range(len(decision.classes)), 2), decision.steepness()
    if steepness is not None:
        planes = zip(steepness, decision.weights, decision.points, strict=True)
        normals = [factor * minkowski_normal(w, p, c=decision.c) for factor, w, p in planes]
        yield from ((i, j, normals[j] - normals[i]) for i, j in pairs)
    elif decision.is_pairwise:
        found = ((i, j, decision.hyperplane_between(i, j)) for i, j in pairs)
        yield from ((i, j, minkowski_normal(*plane, c=decision.c)) for i, j, plane in found if plane is not None)
