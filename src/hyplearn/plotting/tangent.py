"""What a classifier sees: points in the tangent space at p, where its boundary is straight."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from hyplearn.estimators.validation import absolute_curvature
from hyplearn.plotting.canvas import (
    GROUND,
    Display,
    draw_boundary,
    draw_legend,
    draw_margins,
    draw_reference,
    draw_support,
)
from hyplearn.plotting.cloud import MOST_MARKERS, Cloud
from hyplearn.plotting.disk import check_labelled
from hyplearn.plotting.fitted import (
    curvature_of,
    fitted_classifier,
    has_hyperplanes,
    height_of_change,
    hyperplane,
    margin_of,
)
from hyplearn.plotting.plane import Plane
from hyplearn.tangent import frame_coordinates
from hyplearn.types import Array

# Room around the farthest point, as a share of its distance.
ROOM = 1.08


@dataclass(repr=False)
class TangentDisplay(Display):
    r"""Frame coordinates of points at p, with the boundary, which is a straight line through p there, and the margins.

    A point of the disk stands in its true direction from p, at its true distance. Made to be placed beside the disk.

    Parameters
    ----------
    cloud : Cloud
        The points in frame coordinates, p being 0.
    dimensions : int
        The dimension of the ball; above 2 the coordinates are those along w and along the direction, orthogonal to w,
        in which the points spread most.
    boundary : array of shape (n, 2), optional
        Points along the boundary in the picture, the two ends where it is straight. Where predictions of two classes
        change at a distance from the geodesic through p, it is bent, as that equidistant.
    boundary_name : str
        What it is, for the legend: of several classes, whose boundary; of more dimensions, where equidistants cannot be
        drawn, the geodesic hyperplane.
    margins : list of arrays of shape (n, 2)
        Points along the margins. The lines ⟨f, w⟩ = ±1 of an SVM with ``margin="bound"``, whose rows f are these
        coordinates; of others the images of the hypercycles that :class:`BoundaryDisplay` draws, which bend.
    margin_name : str
        What the margins are, for the legend.
    support : array of shape (k, 2), optional
        The support vectors of two classes.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where ``plot`` has drawn.

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
        """Points of the disk as seen from p (by default its centre), without a classifier.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Points of the disk.
        y : array-like of shape (n,), optional
            Their classes.
        p : array-like of shape (2,), optional
            The reference point.
        curvature : float
            Sectional curvature of the disk.
        most_markers : int
            Up to this many points are drawn as markers, more as an image of their density.
        """
        X, y = check_labelled(X, y)
        if X.shape[1] != 2:
            raise ValueError(
                f"Without a classifier the tangent space is drawn in two dimensions; got shape {X.shape}.\n"
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
        """Points as a fitted classifier sees them from its reference point, with its boundary.

        Parameters
        ----------
        estimator : fitted classifier with ``coef_`` and ``reference_``, or ``hyperplane_between`` for two classes
            Whose boundary is a geodesic hyperplane through p with normal w.
        X, y : array-like
            Points of the ball and, where given, their classes.
        label : object, optional
            Of more than two classes, the one whose boundary against the rest is meant.
        curvature : float, optional
            Sectional curvature; that of the estimator where it has one.
        margin : float, optional
            Hyperbolic distance from the boundary at which to draw hypercycles in place of the estimator's own margins.
            In two dimensions only, as are all margins that bend: in more they would not hold off the plane.
        most_markers : int
            Up to this many points are drawn as markers, more as an image of their density.
        """
        estimator = fitted_classifier(estimator)
        c = absolute_curvature(curvature_of(estimator, curvature))
        X, y = check_labelled(X, y)
        k, (w, p) = _problem(estimator, label)
        if X.shape[1] != len(p):
            raise ValueError(
                f"X must have {len(p)} coordinates, as many as {type(estimator).__name__} was fitted on; "
                f"got {X.shape[1]}.\nPass points of the same ball."
            )
        if margin is not None and len(p) > 2:
            raise ValueError(
                f"At a hyperbolic distance margins bend, and of {len(p)} dimensions only straight ones can be drawn; "
                f"got margin={margin!r}.\nLeave margin out, or use BoundaryDisplay."
            )
        basis = np.eye(2) if len(p) == 2 else Plane.across(w, p, X, c).basis
        display = cls(_cloud(frame_coordinates(X, p, c=c) @ basis.T, y, estimator.classes_, most_markers), len(p))
        if len(estimator.classes_) == 2 and len(getattr(estimator, "support_vectors_", ())):
            support = np.asarray(estimator.support_vectors_, dtype=np.float64)
            display.support = frame_coordinates(support, p, c=c) @ basis.T
        normal = basis @ w / np.linalg.norm(w)
        display._add_hyperplane(estimator, w, normal, c, margin, k)
        if len(estimator.classes_) > 2:
            display.boundary_name = f"boundary of {label} against the rest"
        return display

    def _add_hyperplane(
        self, estimator: Any, w: Array, normal: Array, c: float, margin: float | None, problem: int
    ) -> None:
        """The boundary with the given unit normal in the picture, and its margins."""
        along, far = np.array([normal[1], -normal[0]]), float(np.linalg.norm(self.cloud.extent))
        straight = np.stack([-far * along, far * along])
        height = (height_of_change(estimator) or 0.0) if len(estimator.classes_) == 2 else 0.0
        if height == 0:
            self.boundary = straight
        elif self.dimensions == 2:
            self.boundary = _hypercycle_in_frame(height, far, c) @ np.stack([normal, along])
        else:
            self.boundary, self.boundary_name = straight, f"H(w, p); classes change {height:.3g} from it"
        if margin is None and getattr(estimator, "margin", None) == "bound":
            offset = normal / np.linalg.norm(w)
            self.margins = [straight - offset, straight + offset]
            self.margin_name = "margin, ⟨f, w⟩ = ±1"
            return
        distance = margin_of(estimator, w, margin, c, problem=problem)
        if distance is not None and self.dimensions == 2:
            curve = _hypercycle_in_frame(distance, far, c)
            self.margins = [curve @ np.stack([sign * normal, along]) for sign in (-1, 1)]
            self.margin_name = f"margin {distance:.3g}"

    def plot(self, ax: Any = None, *, size: float = 10.0, legend: bool = True) -> Self:
        """Draw the points, p at the origin, the boundary and the margins.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default the current axes.
        size : float
            Area of a marker, in square points.
        legend : bool
            Whether to name what is drawn.
        """
        ax, (left, right, lower, upper) = self._take(ax), self.cloud.extent
        ax.set_facecolor(GROUND)
        self.cloud.draw(ax, size)
        if self.boundary is not None:
            draw_boundary(ax, self.boundary, self.boundary_name)
        draw_margins(ax, self.margins, self.margin_name)
        if self.support is not None:
            draw_support(ax, self.support, size)
        draw_reference(ax, np.zeros(2))
        ax.set_aspect("equal")
        ax.set_xlim(left, right)
        ax.set_ylim(lower, upper)
        ax.spines[["top", "right"]].set_visible(False)
        if self.dimensions == 2:
            ax.set(xlabel="first frame coordinate at p", ylabel="second frame coordinate at p")
        else:
            ax.set(xlabel="frame coordinate along w", ylabel="along the main spread orthogonal to w")
            ax.set_title(f"Two of {self.dimensions} frame coordinates at p", fontsize="small")
        if legend:
            draw_legend(ax)
        return self


def _cloud(F: Array, y: Array | None, classes: Array | None, most_markers: int) -> Cloud:
    """The points in the least square that holds them and p, and some room around it."""
    low, high = np.minimum(F.min(axis=0), 0), np.maximum(F.max(axis=0), 0)
    middle, reach = (low + high) / 2, ROOM * np.max(high - low) / 2
    return Cloud.of(F, y, classes, (float(middle[0]), float(middle[1])), float(reach) or 1.0, most_markers)


def _problem(estimator: Any, label: Any) -> tuple[int, tuple[Array, Array]]:
    """The number of the binary problem to show and its hyperplane (w, p)."""
    classes = np.asarray(estimator.classes_)
    if len(classes) == 2:
        found = hyperplane(estimator)
        if found is not None:
            return 0, found
    elif has_hyperplanes(estimator):
        if label not in classes.tolist():
            raise ValueError(
                f"Each of the {len(classes)} classes has its own tangent space; got label={label!r}.\n"
                f"Choose one of {classes.tolist()[:5]}{', ...' if len(classes) > 5 else ''}."
            )
        k = classes.tolist().index(label)
        if np.any(estimator.coef_[k]):
            return k, (estimator.coef_[k], estimator.reference_[k])
    raise ValueError(
        f"{type(estimator).__name__} has no geodesic boundary to be read, so no tangent space of its own.\n"
        "Pass an estimator with coef_ and reference_, or use TangentDisplay.from_points with a p."
    )


def _hypercycle_in_frame(distance: float, far: float, c: float) -> Array:
    r"""Frame coordinates, across and along the boundary, of the points at a distance from it.

    .. math:: \frac{1}{\sqrt c} \frac{\rho}{\sinh \rho} (\sinh h, s), \qquad \sinh \rho = \|(\sinh h, s)\|

    with h the distance times √c, for all s: the first entry is the sinh of the distance to the boundary.
    """
    s = np.sinh(np.sqrt(c) * np.linspace(-far, far, 401))
    rows = np.stack([np.full_like(s, np.sinh(np.sqrt(c) * distance)), s], axis=1)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.arcsinh(length) / length / np.sqrt(c)
