r"""Projections of points in more than two dimensions onto a geodesic plane.

The plane passes through p and is spanned by the orthonormal vectors n and e. For a point x, let z be its scaled tangent
vector at p (:func:`hyplearn.tangent.z_features`), and ρ its distance to p in units of 1/√c. Let H be the hyperplane
through p with normal n. The hyperboloid coordinates of x relative to p are:

- the time coordinate :math:`T = \cosh \rho`,
- :math:`a = \langle \sqrt c z, n \rangle`, the hyperbolic sine of the signed distance to H in units of 1/√c,
- :math:`b = \langle \sqrt c z, e \rangle`,
- further coordinates r, which the plot does not show.

They satisfy :math:`T^2 = 1 + a^2 + b^2 + \|r\|^2`. There are three projections, which leave the points of the plane
unchanged:

- along the boundary: :math:`(T, a, b) \mapsto (\lambda T, a, \lambda b)` with :math:`\lambda^2 = (1 + a^2) / (T^2 -
  b^2)`. The foot of x on H is projected orthogonally onto the geodesic along e, and x stays on the same side of H, at
  the same distance. A classifier whose boundary is H or an equidistant of H predicts the same class for a point and
  for its projection.
- around p: :math:`(T, a, b) \mapsto (T, \mu a, \mu b)` with :math:`\mu^2 = (T^2 - 1) / (a^2 + b^2)`. The distance to p
  is preserved, so that a point stays on the same side of every sphere around p.
- nearest: :math:`(T, a, b) / \sqrt{T^2 - a^2 - b^2}` is the nearest point of the plane. The prediction at this point
  may differ from the prediction for x; in ten dimensions most predictions differ. Regions are therefore determined by a
  vote: each pixel has the class that is predicted for most of the nearest points in the plot.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from scipy.linalg import eigh

from hyplearn.decision import Boundary, Sphere
from hyplearn.estimators import PoincareKNeighborsClassifier
from hyplearn.geometry import frechet_mean
from hyplearn.plotting.disk import check_width
from hyplearn.tangent import frame_coordinates, from_frame, z_features
from hyplearn.types import Array

# Maximum number of coordinates that are passed to a method of the classifier at a time (32 MiB), to limit memory use.
BLOCK_NUMBERS = 2**22
# Number of nearest points that vote on the class of a pixel. With more voters, regions are smoother, but small regions
# disappear.
VOTERS = 15
# Maximum number of points that vote on the classes of pixels; this many are enough to find the class of every pixel. If
# there are more points, only evenly spaced rows of X vote.
MOST_VOTERS = 20_000
# Minimum lead of a predicted class (see ``predicted_leads``). To draw the region of a class, leads outside the region
# are negated, and the edge is drawn where the sign changes. A lead of 0 would have no sign.
LEAST_LEAD = 1e-12
# Weight of two regularisation terms, which are added to matrices with trace 1. The second moments of all points are
# added to the second moments of the class means; this matters only if the class means do not determine two directions.
# The identity, divided by the dimension, is added to the second moments within classes, so that this matrix is
# invertible.
SPREAD_WEIGHT = 1e-3


@dataclass(frozen=True)
class Plane:
    """Geodesic plane through p in the ball; the plane is drawn as a disk with p at the centre."""

    p: Array  # the point at the centre of the plot
    basis: Array  # orthonormal directions at p, drawn to the right and upwards, of shape (2, d)
    c: float  # absolute value of the curvature
    projection: Literal["along", "around", "nearest"]
    neighbours: PoincareKNeighborsClassifier | None = None  # determines the regions by a vote if projection="nearest"
    agreement: float = 1.0  # fraction of voting points in the region of their predicted class

    @classmethod
    def across(cls, w: Array, p: Array, X: Array, c: float) -> Self:
        """Return the plane through p spanned by w and the orthogonal direction in which X spreads most around p."""
        n = w / np.linalg.norm(w)
        flat = np.eye(len(n)) - np.outer(n, n)
        # The eigenvalue of n is set to -1, the smallest of all, so that n is never one of the leading eigenvectors.
        leading = _leading(flat @ _spread(frame_coordinates(X, p, c=c)) @ flat - np.outer(n, n))
        return cls(p, np.stack([n, leading[0]]), c, "along")

    @classmethod
    def about(cls, p: Array, X: Array, c: float) -> Self:
        """Return the plane through p spanned by the two orthogonal directions in which X spreads most around p."""
        return cls(p, _leading(_spread(frame_coordinates(X, p, c=c))), c, "around")

    @classmethod
    def between(cls, X: Array, codes: Array, c: float) -> Self:
        """Return a plane through the mean of the points X, chosen to separate the classes that are predicted for X.

        There are two candidates. The result is the candidate in which a vote of the nearest points reproduces the
        predicted class of more points, or the first candidate if only one class is predicted.
        """
        p = frechet_mean(X, c=c)
        planes = [cls(p, basis, c, "nearest") for basis in _class_directions(frame_coordinates(X, p, c=c), codes)]
        if len(np.unique(codes)) == 1:
            return planes[0]  # there is nothing to separate if only one class is predicted
        return max((plane.with_votes(X, codes) for plane in planes), key=lambda plane: plane.agreement)

    def with_votes(self, X: Array, codes: Array) -> Self:
        """Return a copy of the plane whose regions are determined by a vote of the points X.

        ``codes`` contains the predicted classes of these points.
        """
        some = slice(None, None, -(-len(X) // MOST_VOTERS))
        x, codes = self.project(X[some]), codes[some]
        neighbours = PoincareKNeighborsClassifier(min(VOTERS, len(x)), curvature=-self.c).fit(x, codes)
        return replace(self, neighbours=neighbours, agreement=float(np.mean(neighbours.predict(x) == codes)))

    @property
    def statement(self) -> str:
        """Title of the plot, which states how the plane was chosen and how accurately the plot shows the boundary."""
        where = f"{len(self.p)} dimensions on the geodesic plane through"
        if self.projection == "along":
            return (
                f"{where} p\nalong w and the direction of largest spread around p:\n"
                "sides and distances to the boundary are exact"
            )
        if self.projection == "around":
            return (
                f"{where} the centre\nof the spherical boundary, points rotated into the plane:\n"
                "sides and distances to the boundary are exact"
            )
        return (
            f"{where} the mean\nthat best separates the predicted classes. Regions: majority vote\n"
            f"of nearby predictions, which agrees with {self.agreement:.0%} of all predictions"
        )

    def project(self, X: Array) -> Array:
        """Project points of the ball to positions in the plot, of shape (n, 2)."""
        Z = np.sqrt(self.c) * z_features(X, self.p, c=self.c)
        a, b = self.basis @ Z.T
        rest = np.sum((Z - np.stack([a, b], axis=1) @ self.basis) ** 2, axis=1)
        # In the notation of the module docstring, T² = 1 + a² + b² + ‖r‖². Only sums of squares are used below, so that
        # no digits cancel.
        time = np.sqrt(1 + a**2 + b**2 + rest)
        if self.projection == "along":
            shrink = np.sqrt((1 + a**2) / (1 + a**2 + rest))
            T = np.stack([shrink * time, a, shrink * b])
        elif self.projection == "around":
            flat, length = np.hypot(a, b), np.sqrt(a**2 + b**2 + rest)
            # A point without a component in the plane is drawn to the right of p.
            along = np.where(flat > 0, np.stack([a, b]) / np.where(flat > 0, flat, 1.0), [[1.0], [0.0]])
            T = np.stack([time, *(length * along)])
        else:
            T = np.stack([time, a, b]) / np.sqrt(1 + rest)
        return (T[1:] / (1 + T[0])).T / np.sqrt(self.c)

    def embed(self, x: Array) -> Array:
        """Map positions in the plot to the points of the plane in the ball, of shape (n, d)."""
        return from_frame(frame_coordinates(x, np.zeros(2), c=self.c) @ self.basis, self.p, c=self.c)


def choose_plane(estimator: Any, found: Boundary | None, X: Array | None, c: float) -> Plane | None:
    """Choose the plane to draw; return None in two dimensions.

    The plane is chosen from the points X and from ``found``, the boundary of a binary classifier; or, if ``found`` is
    None, from X and the predicted classes of X.
    """
    d = getattr(estimator, "n_features_in_", 2 if X is None else X.shape[1])
    if X is not None:
        check_width(X, d, estimator)
    if d == 2:
        return None
    if X is None:
        raise ValueError(
            f"In {d} dimensions, X is required to choose the plane of the plot; got X=None.\n"
            "Pass X, for example the training points."
        )
    if isinstance(found, Sphere):
        return Plane.about(found.p, X, c)
    if found is not None:
        return Plane.across(found.w, found.p, X, c)
    return Plane.between(X, predicted_codes(estimator, None, X), c)


def predicted_codes(estimator: Any, plane: Plane | None, x: Array) -> Array:
    """Return the codes (indices in ``classes_``) of the classes that are predicted at positions x in the plot.

    If ``plane`` is None, x are points of the ball. If the plane has ``neighbours``, each code is the result of a vote
    of the nearest points, not a prediction of ``estimator``.
    """
    if plane is not None and plane.neighbours is not None:
        return plane.neighbours.predict(x)
    return np.searchsorted(estimator.classes_, evaluate(estimator, "predict", plane, x))


def predicted_leads(estimator: Any, plane: Plane | None, x: Array, codes: Array) -> Array:
    """Return the lead at each position: the score of the predicted class minus the highest score of the other classes.

    Leads are at least LEAST_LEAD. All leads are 1 if the classifier does not compute a score for every class, or if at
    some position another class has a higher score than the predicted class.
    """
    methods = ("decision_function", "predict_proba")
    if plane is not None and plane.neighbours is not None:
        # ``neighbours.classes_`` contains only the codes that are predicted for at least one of the voting points.
        estimator, codes, plane = plane.neighbours, np.searchsorted(plane.neighbours.classes_, codes), None
    method = next((name for name in methods if hasattr(estimator, name)), None)
    scores = None if method is None or len(x) == 0 else evaluate(estimator, method, plane, x)
    if scores is not None and scores.ndim == 1:
        scores = np.stack([-scores, scores], axis=1)
    if scores is None or scores.shape != (len(x), len(estimator.classes_)):
        return np.ones(len(x))
    rows, others = np.arange(len(x)), np.array(scores, dtype=np.float64)
    others[rows, codes] = -np.inf
    leads = scores[rows, codes] - others.max(axis=1)
    return np.maximum(leads, LEAST_LEAD) if np.all(leads >= 0) else np.ones(len(x))


def evaluate(estimator: Any, method: str, plane: Plane | None, x: Array) -> Array:
    """Return the results of a method of the classifier at positions x in the plot, computed in blocks to save memory.

    If ``plane`` is None, x are points of the ball.
    """
    step = max(1, BLOCK_NUMBERS // (x.shape[1] if plane is None else len(plane.p)))
    blocks = (x[i : i + step] for i in range(0, len(x), step))
    with warnings.catch_warnings():
        # Pixels have no column names, so a classifier fitted on named columns would warn.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        results = [getattr(estimator, method)(block if plane is None else plane.embed(block)) for block in blocks]
    return np.concatenate(results)


def _class_directions(F: Array, codes: Array) -> Iterator[Array]:
    """Yield two arrays of shape (2, d), which are the bases of two planes.

    The class means differ most in the first plane. Relative to the spread within classes, they differ most in the
    second plane.
    """
    _, members, counts = np.unique(codes, return_inverse=True, return_counts=True)
    F = F - F.mean(axis=0)
    means = np.stack([F[members == k].mean(axis=0) for k in range(len(counts))])
    between = _spread(np.sqrt(counts)[:, None] * means) + SPREAD_WEIGHT * _spread(F)
    yield _leading(between)
    within = _spread(F - means[members]) + SPREAD_WEIGHT / F.shape[1] * np.eye(F.shape[1])
    yield _signed(np.linalg.qr(eigh(between, within)[1][:, :-3:-1])[0].T)


def _spread(F: Array) -> Array:
    """Return the matrix of second moments of the rows about 0, scaled to trace 1 unless all rows are 0."""
    spread = F.T @ F
    return spread / (np.trace(spread) or 1.0)


def _leading(spread: Array) -> Array:
    """Return the eigenvectors with the two largest eigenvalues, as rows."""
    return _signed(np.linalg.eigh(spread)[1][:, :-3:-1].T)


def _signed(vectors: Array) -> Array:
    """Change the signs of rows so that the element with the largest absolute value in each row is positive."""
    largest = np.take_along_axis(vectors, np.argmax(np.abs(vectors), axis=1)[:, None], axis=1)
    return vectors * np.sign(largest)
