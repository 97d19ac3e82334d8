"""Plot of the tangent space at the reference point of a classifier. The classifier's hyperplane is a straight line."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from hyplearn.decision import Decision, Equidistant, ForeignDecision, decision_of
from hyplearn.decision.adapter import fitted_classifier
from hyplearn.decision.boundary import plane_boundary
from hyplearn.geometry.border import absolute_curvature
from hyplearn.plotting import canvas
from hyplearn.plotting.boundary import margin_of, support_of
from hyplearn.plotting.canvas import MOST_MARKERS, Cloud, Display
from hyplearn.plotting.disk import check_labelled, check_width
from hyplearn.plotting.plane import Plane
from hyplearn.plotting.style import TEXT
from hyplearn.tangent import frame_coordinates
from hyplearn.types import Array

# Ratio of the width of the plot to the extent of the points and p.
BORDER = 1.08


@dataclass(repr=False)
class TangentDisplay(Display):
    r"""Plot of points in frame coordinates at a reference point p, with the boundary and margins of a classifier.

    The frame coordinates of a point are the components, in an orthonormal basis, of the tangent vector at p whose
    direction and length are the direction and the distance from p to the point
    (:func:`hyplearn.tangent.frame_coordinates`). Geodesics through p are straight lines. In two dimensions, each point
    of the disk is drawn in its true direction from p, at its true distance.

    Parameters
    ----------
    cloud : Cloud
        Points in frame coordinates, with p at the origin.
    dimensions : int
        Dimension of the ball. If it is more than 2, the coordinates are along the normal w of the hyperplane H(w, p),
        and along the direction orthogonal to w in which the points vary most.
    boundary : array of shape (n, 2), optional
        Points along the boundary; only the two ends if the boundary is straight. In more than two dimensions, two
        points on H(w, p), even if the boundary is an equidistant of H(w, p).
    margins : list of arrays of shape (n, 2)
        Points along the margins. For an SVM with ``margin="bound"``, whose features f are the frame coordinates, they
        are the lines ⟨f, w⟩ = ±1, unless ``margin`` is passed to :meth:`from_estimator`. Other margins are hypercycles,
        which are curved in frame coordinates, and are drawn only in two dimensions.
    boundary_name, margin_name : str
        Entries in the legend.
    support : array of shape (k, 2), optional
        Support vectors of a binary classifier, in the same coordinates as the points.

    Examples
    --------
    >>> from hyplearn.plotting import TangentDisplay
    >>> display = TangentDisplay.from_points([[0.6, 0.0], [0.0, 0.0]], p=[0.0, 0.0])
    >>> display.cloud.X
    array([[1.39, 0.  ],
           [0.  , 0.  ]])
    """

    cloud: Cloud
    dimensions: int = 2
    boundary: Array | None = None
    boundary_name: str = "decision boundary"
    margins: list[Array] = field(default_factory=list)
    margin_name: str = ""
    support: Array | None = None

    @classmethod
    def from_points(
        cls, X: Any, y: Any = None, p: Any = None, *, curvature: float = -1.0, most_markers: int = MOST_MARKERS
    ) -> Self:
        """Create a display of points in frame coordinates at p (by default the centre), without a classifier.

        Parameters
        ----------
        X, y, curvature, most_markers
            As in :class:`DiskDisplay`.
        p : array-like of shape (2,), optional
            Reference point.
        """
        X, y = check_labelled(X, y)
        if X.shape[1] != 2:
            raise ValueError(
                f"Without a classifier, X must have two columns; got shape {X.shape}.\n"
                "Project X to 2-D first, or pass a fitted classifier to TangentDisplay.from_estimator."
            )
        p = np.zeros(2) if p is None else np.asarray(p, dtype=np.float64)
        F = frame_coordinates(X, p, c=absolute_curvature(curvature))
        return cls(_cloud(F, y, None, most_markers))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        label: Any = None,
        curvature: float | None = None,
        margin: float | None = None,
        most_markers: int = MOST_MARKERS,
    ) -> Self:
        """Create a display of points in frame coordinates at the reference point p of a classifier, with its boundary.

        Parameters
        ----------
        estimator : fitted classifier
            Classifier whose boundary is a geodesic hyperplane H(w, p), or an equidistant of H(w, p). If there are more
            than two classes, each class must have such a hyperplane.
        X, y, curvature, most_markers
            As in :meth:`BoundaryDisplay.from_estimator`.
        label : object, optional
            Class whose boundary against all other classes is drawn. Required if there are more than two classes.
        margin : float, optional
            Hyperbolic distance from the hyperplane at which hypercycles are drawn instead of the margins of the
            estimator. Supported only in two dimensions: in more dimensions, the hypercycles would be correct only for
            points in the plane of the plot.
        """
        decision, estimator = decision_of(estimator, curvature), fitted_classifier(estimator)
        X, y = check_labelled(X, y)
        k, (w, p, height, _) = _problem(estimator, decision, label)
        c = decision.c
        check_width(X, len(p), estimator)
        if margin is not None and len(p) > 2:
            raise ValueError(
                f"A margin at a hyperbolic distance is a curve, which can be drawn only in two dimensions; got "
                f"margin={margin!r} in {len(p)} dimensions.\nOmit margin, or use BoundaryDisplay."
            )
        basis = np.eye(2) if len(p) == 2 else Plane.across(w, p, X, c).basis
        display = cls(_cloud(frame_coordinates(X, p, c=c) @ basis.T, y, decision.classes, most_markers), len(p))
        support = support_of(estimator) if decision.is_binary else None
        if support is not None:
            display.support = frame_coordinates(support, p, c=c) @ basis.T
        normal = basis @ w / np.linalg.norm(w)
        display._add_boundary(normal, height, c)
        display._add_margins(estimator, normal, c, margin, k)
        if not decision.is_binary:
            display.boundary_name = f"boundary of {label} against the rest"
        return display

    def _add_boundary(self, normal: Array, height: float, c: float) -> None:
        """Add the boundary at the signed distance ``height`` from the hyperplane through p with unit normal ``normal``.

        In more than two dimensions, the hyperplane itself is added, and the legend gives the distance if it is not 0.
        """
        if height == 0:
            self.boundary = self._line(normal)
        elif self.dimensions == 2:
            self.boundary = self._curve(normal, height, c)
        else:
            self.boundary, self.boundary_name = self._line(normal), f"H(w, p); the boundary is at distance {height:.3g}"

    def _add_margins(self, estimator: Any, normal: Array, c: float, margin: float | None, problem: int) -> None:
        """Add the margins of the given binary problem."""
        if margin is None and getattr(estimator, "margin", None) == "bound":
            offset = normal / np.linalg.norm(estimator.coef_[problem])
            self.margins = [self._line(normal) - offset, self._line(normal) + offset]
            self.margin_name = "margin, ⟨f, w⟩ = ±1"
            return
        distance = margin_of(estimator, margin, c, problem=problem)
        if distance is not None and self.dimensions == 2:
            self.margins = [self._curve(normal, sign * distance, c) for sign in (-1, 1)]
            self.margin_name = f"margin {distance:.3g}"

    @property
    def _far(self) -> float:
        """Upper bound on the distance from p to any point of the plot."""
        return float(np.linalg.norm(self.cloud.extent))

    def _line(self, normal: Array) -> Array:
        along = np.array([normal[1], -normal[0]])
        return np.stack([-self._far * along, self._far * along])

    def _curve(self, normal: Array, height: float, c: float) -> Array:
        return _hypercycle_in_frame(height, self._far, c) @ np.stack([normal, [normal[1], -normal[0]]])

    def _draw(self, ax: Any, size: float) -> None:
        left, right, lower, upper = self.cloud.extent
        ax.set_facecolor(canvas.GROUND)
        self.cloud.draw(ax, size)
        if self.boundary is not None:
            canvas.draw_boundary(ax, self.boundary, self.boundary_name)
        canvas.draw_margins(ax, self.margins, self.margin_name)
        if self.support is not None:
            canvas.draw_support(ax, self.support, size)
        canvas.draw_reference(ax, np.zeros(2))
        ax.set_aspect("equal")
        ax.set_xlim(left, right)
        ax.set_ylim(lower, upper)
        ax.spines[["top", "right"]].set_visible(False)
        if self.dimensions == 2:
            ax.set(xlabel="first frame coordinate at p", ylabel="second frame coordinate at p")
        else:
            ax.set(xlabel="frame coordinate along w", ylabel="along the direction of largest spread orthogonal to w")
            ax.set_title(f"Two of {self.dimensions} frame coordinates at p", fontsize=TEXT)


def _cloud(F: Array, y: Array | None, classes: Array | None, most_markers: int) -> Cloud:
    """Return the points with the limits of the plot: the smallest square around the points and p, plus a border."""
    low, high = np.minimum(F.min(axis=0), 0), np.maximum(F.max(axis=0), 0)
    middle, reach = (low + high) / 2, BORDER * np.max(high - low) / 2
    return Cloud.of(F, y, classes, middle, float(reach) or 1.0, most_markers)


def _problem(estimator: Any, decision: Decision | ForeignDecision, label: Any) -> tuple[int, Equidistant]:
    """Return the index of the binary problem to draw, and its boundary."""
    classes = decision.classes.tolist()
    if decision.is_binary:
        found = decision.boundary()
        if isinstance(found, Equidistant):
            return 0, found
    elif decision.has_hyperplanes:
        if label not in classes:
            raise ValueError(
                f"Each of the {len(classes)} classes has a separate tangent space; got label={label!r}.\n"
                f"Pass one of the classes as label: {', '.join(map(repr, classes[:5]))}"
                f"{', ...' if len(classes) > 5 else ''}."
            )
        k = classes.index(label)
        if np.any(decision.weights[k]):
            return k, plane_boundary(decision.weights[k], decision.points[k])
    raise ValueError(
        f"{type(estimator).__name__} has no hyperplane through a reference point, so no tangent space can be shown.\n"
        "Pass a classifier that has such a hyperplane, or use TangentDisplay.from_points with p."
    )


def _hypercycle_in_frame(distance: float, far: float, c: float) -> Array:
    r"""Return the curve at a signed distance from a geodesic through p, in coordinates across and along the geodesic.

    .. math:: \frac{1}{\sqrt c} \frac{\rho}{\sinh \rho} (\sinh h, s), \qquad \sinh \rho = \|(\sinh h, s)\|

    where h is ``distance`` times √c. The parameter s covers the interval from -sinh(√c far) to sinh(√c far), so
    that the distances of both ends of the curve from p are at least ``far``.
    """
    s = np.sinh(np.sqrt(c) * np.linspace(-far, far, 401))
    rows = np.stack([np.full_like(s, np.sinh(np.sqrt(c) * distance)), s], axis=1)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.arcsinh(length) / length / np.sqrt(c)
