r"""Decisions: immutable objects that compute the scores, probabilities and boundaries of fitted models.

A model consists of one or more binary problems. The value of problem k at a point x depends on the link of the model.
In this table, p is the reference point of the problem, z are the z features and f the frame coordinates of x at p (see
``hyplearn.tangent``), g is the gain, and ρ is the distance between x and p in units of 1/√c:

========  ===============================================  =================================================
link      value of problem k                               zero set
========  ===============================================  =================================================
arsinh    g arsinh(√c ⟨z, w⟩); the signed distance if      the geodesic hyperplane through p with normal w
          ‖w‖ = 1 and g = 1/√c
frame     ⟨f, w⟩                                           the same as for arsinh
z         ⟨z, w⟩ (files of version 0.1)                    the same as for arsinh
sphere    φ (w₀ cosh ρ + √c ⟨z, w⟩ + b) with               a generalised sphere; a geodesic hyperplane if
          φ = ρ / sinh ρ; this value is linear in          b = 0
          ``cone_coordinates``
sphere-   arsinh of the value for sphere                   the same as for sphere
arsinh
cone      φ (w₀ cosh ρ + √c ⟨z, w⟩) + b with φ = 1 for     a geodesic hyperplane if b = 0
          ρ ≤ 4 and φ = (ρ - 4 + sinh 4) / sinh ρ for
          ρ > 4 (files of version 0.1)
ball      ⟨x, w⟩ + b                                       a Euclidean hyperplane, which is an equidistant
kernel    Σ w_l k(x, l) + b over landmarks l               a surface of any shape
========  ===============================================  =================================================

Without a calibration, the scores are the values. With a calibration, they are linear functions of the values, such as
``slope_k · value_k + offset_k``, and probabilities are functions of the scores. For two classes there is one problem,
and the second class is predicted if the score is positive; for more classes, the class with the largest score is
predicted.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from hyplearn.cone import cone_rows, shortening
from hyplearn.decision.boundary import (
    Boundary,
    Equidistant,
    Hyperplane,
    boundaries_of,
    least_distance,
    plane_boundary,
    touching_hyperplane,
)
from hyplearn.decision.calibration import Calibration
from hyplearn.kernels.nystrom import LandmarkKernel
from hyplearn.tangent import implicit_rows, z_dot
from hyplearn.types import Array

Link = Literal["arsinh", "frame", "z", "sphere", "sphere-arsinh", "cone", "ball", "kernel"]
# Number of rows whose cone coordinates are multiplied by the weights at a time, which limits the memory use.
SCORED_ROWS = 10_000
# For two classes and the link "arsinh", predictions are computed from the levels ‖w‖ sinh(√c d), where d is the signed
# distance to the hyperplane, because levels are faster to compute than scores. If the level of a row differs from the
# level l of the boundary by at most LEVEL_ERROR · (1 + |l|), the row is predicted from its score, because rounding may
# have moved its level across the boundary. Levels are not used for a boundary that is farther than FARTHEST from its
# hyperplane, in units of 1/√c, because beyond this distance there are hardly any points in float64.
LEVEL_ERROR, FARTHEST = 1e-9, 40.0


# Distance ρ from the centre, in units of 1/√c, beyond which the link "cone" has a factor φ below 1.
NEAR = 4.0


@dataclass(frozen=True)
class Decision:
    """Fitted model, which computes values, scores, probabilities and boundaries.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Sorted class labels.
    c : float
        Absolute value of the curvature.
    link : {"arsinh", "frame", "z", "sphere", "sphere-arsinh", "cone", "ball", "kernel"}
        Definition of the values; see the table in the module docstring.
    weights : ndarray of shape (P, m)
        Weights, one row per problem. There is one problem for two classes, and K problems for more classes.
    points : ndarray of shape (P, d)
        Reference point or centre of each problem.
    intercepts : ndarray of shape (P,)
        Intercepts b of the links "sphere", "sphere-arsinh", "cone", "ball" and "kernel".
    gain : float
        Factor g of the link "arsinh".
    calibration : Calibration or None
        Map from values to scores and probabilities. If None, the scores are the values, and there are no probabilities.
    through_points : bool
        Whether the model was fitted so that its boundaries pass through ``points``.
    kernel : LandmarkKernel or None
        Kernel and landmarks of the link "kernel", which has one weight per landmark.
    """

    classes: Array
    c: float
    link: Link
    weights: Array
    points: Array
    intercepts: Array
    gain: float = 1.0
    calibration: Calibration | None = None
    through_points: bool = False
    kernel: LandmarkKernel | None = None

    @classmethod
    def of_hyperplanes(cls, classes: Array, c: float, normals: Array, points: Array) -> "Decision":
        """Return a decision whose values are signed distances to geodesic hyperplanes through the given points."""
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        units, nothing = normals / np.where(lengths > 0, lengths, 1.0), np.zeros(len(normals))
        return cls(classes, c, "arsinh", units, points, nothing, 1 / math.sqrt(c), through_points=True)

    @property
    def n_features(self) -> int:
        """Number of coordinates of a point."""
        return int(self.points.shape[1])

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes, and hence one score."""
        return len(self.classes) == 2

    @property
    def has_probabilities(self) -> bool:
        """Whether the model predicts probabilities."""
        return self.calibration is not None

    @property
    def has_hyperplanes(self) -> bool:
        """Whether the zero set of each problem is a geodesic hyperplane through the reference point of the problem."""
        return self.link in ("arsinh", "frame", "z")

    def values(self, X: Array, gaps: Array) -> Array:
        """Compute the values of all problems, of shape (n, P), for validated points with the gaps 1 - c‖x‖²."""
        if self.link in ("sphere", "sphere-arsinh"):
            values = self._sphere_values(X, gaps)
            return np.arcsinh(values, out=values) if self.link == "sphere-arsinh" else values
        if self.link == "cone":
            return self._values_of_0_1(X, gaps)
        if self.kernel is not None:
            return self.kernel.products(X, gaps, self.weights.T) + self.intercepts
        columns = [self._value(X, gaps, k) for k in range(len(self.weights))]
        return columns[0][:, None] if len(columns) == 1 else np.stack(columns, axis=1)

    def _value(self, X: Array, gaps: Array, k: int) -> Array:
        w, p = self.weights[k], self.points[k]
        if self.link == "arsinh":
            values = self._levels_at(X, gaps, k)
            np.arcsinh(values, out=values)
            return np.multiply(values, self.gain, out=values)
        if self.link in ("frame", "z"):
            return implicit_rows(X, p, features=self.link, c=self.c, gaps=gaps) @ w
        return X @ w + self.intercepts[k]

    def _levels_at(self, X: Array, gaps: Array, k: int) -> Array:
        """Return the levels ``‖w‖ sinh(√c d)`` for the signed distances d to the hyperplane of problem k."""
        return z_dot(X, np.sqrt(self.c) * self.weights[k], self.points[k], c=self.c, gaps=gaps)

    def _sphere_values(self, X: Array, gaps: Array) -> Array:
        out, P = np.empty((len(X), len(self.weights))), len(self.weights)
        shared = bool(np.all(self.points == self.points[0]))
        for own in [slice(P)] if shared else [slice(k, k + 1) for k in range(P)]:
            self._fill_sphere_values(X, gaps, own, out)
        return out

    def _fill_sphere_values(self, X: Array, gaps: Array, own: slice, out: Array) -> None:
        """Write the values of the problems ``own``, which all have the same centre, to their columns of ``out``."""
        weights, intercepts = self.weights[own], self.intercepts[own]
        space, times = cone_rows(X, self.points[own.start or 0], c=self.c, gaps=gaps)
        constant = shortening(space, times, self.c) if np.any(self.intercepts) else None
        for start in range(0, len(X), SCORED_ROWS):
            cut = slice(start, start + SCORED_ROWS)
            out[cut, own] = times[cut, None] * weights[:, 0] + space.products(cut, weights[:, 1:])
            if constant is not None:
                out[cut, own] += constant[cut, None] * intercepts

    def _values_of_0_1(self, X: Array, gaps: Array) -> Array:
        z = implicit_rows(X, self.points[0], features="z", c=self.c, gaps=gaps)
        cosh = 1.0 - z.base
        sinh = np.sqrt((cosh - 1) * (cosh + 1))
        far = cosh > np.cosh(NEAR)
        factor = np.where(far, (np.sinh(NEAR) - NEAR + np.log(cosh + sinh)) / np.where(far, sinh, 1.0), 1.0)
        products = np.stack([z @ w for w in np.sqrt(self.c) * self.weights[:, 1:]], axis=1)
        return factor[:, None] * (cosh[:, None] * self.weights[:, 0] + products) + self.intercepts

    def scores(self, X: Array, gaps: Array) -> Array:
        """Compute the scores of all problems, of shape (n, P)."""
        values = self.values(X, gaps)
        return values if self.calibration is None else self.calibration.scores(values)

    def decision_function(self, X: Array, gaps: Array) -> Array:
        """Compute the scores, of shape (n, P), or (n,) for two classes."""
        scores = self.scores(X, gaps)
        return scores[:, 0] if self.is_binary else scores

    def codes(self, scores: Array) -> Array:
        """Return the index of the predicted class of each row, given the scores."""
        return (scores[:, 0] > 0).astype(np.int64) if self.is_binary else np.argmax(scores, axis=1)

    def predict(self, X: Array, gaps: Array) -> Array:
        """Return the predicted labels."""
        threshold = self._threshold
        codes = self.codes(self.scores(X, gaps)) if threshold is None else self._codes_beyond(threshold, X, gaps)
        return self.classes[codes]

    @property
    def _threshold(self) -> float | None:
        """Level at which the score of a binary model is 0; None if predictions cannot be computed from levels.

        The level of a point is ``‖w‖ sinh(√c d)``, where d is its signed distance to the hyperplane. Levels can be used
        for the link "arsinh", if the score increases with this distance and the boundary is not too far from the
        hyperplane (see FARTHEST).
        """
        if self.link != "arsinh" or not self.is_binary:
            return None
        slope, offset = 1.0, 0.0
        if self.calibration is not None:
            slope, offset = float(self.calibration.slopes[0]), float(self.calibration.offsets[0])
        if not slope > 0 or not abs(offset) <= FARTHEST * slope * self.gain:
            return None
        return math.sinh(-offset / (slope * self.gain))

    def _codes_beyond(self, threshold: float, X: Array, gaps: Array) -> Array:
        """Return code 1 for rows with levels above the threshold, and code 0 for the others.

        Scores take longer to compute. They are used only for rows whose levels are so near the threshold that rounding
        matters.
        """
        levels, error = self._levels_at(X, gaps, 0), LEVEL_ERROR * (1 + abs(threshold))
        codes = levels > threshold + error
        maybe = levels > threshold - error
        codes, is_near = codes.astype(np.int64), np.count_nonzero(codes) < np.count_nonzero(maybe)
        if is_near:
            near = np.flatnonzero(codes != maybe)
            codes[near] = self.codes(self.scores(X[near], gaps[near]))
        return codes

    def log_probabilities(self, X: Array, gaps: Array) -> Array:
        """Return the logarithms of the class probabilities, of shape (n, K)."""
        assert self.calibration is not None
        return self.calibration.log_probabilities(self.scores(X, gaps))

    def distances(self, X: Array, gaps: Array) -> Array:
        """Return the signed hyperbolic distances to all boundaries, of shape (n, P); requires :attr:`has_distances`.

        For a problem without a boundary, distances are infinite. For two classes, a distance is positive if the second
        class is predicted for the point.
        """
        boundaries = self.boundaries
        assert boundaries is not None
        columns = np.empty((len(X), len(boundaries)))
        if None in boundaries:
            scores = self.scores(X, gaps) if self.is_binary else self.values(X, gaps)
            columns = np.where(scores > 0, np.inf, -np.inf)
        for k, found in enumerate(boundaries):
            if found is not None:
                columns[:, k] = found.distances(X, gaps, self.c)
        return columns

    def margins(self, X: Array, gaps: Array, own: Iterable[Array]) -> Array:
        """Return, for each problem, the smallest signed distance of the points from the boundary.

        Distances are negative for points on the wrong side of the boundary. For each problem, ``own`` yields an array
        with 1 for points of the positive class, -1 for points of the other classes, and 0 for points to leave out.
        """
        boundaries = self.boundaries
        assert boundaries is not None
        if None in boundaries:
            pairs = zip(self.distances(X, gaps).T, own, strict=True)
            return np.array([np.min(np.where(s > 0, d, -d), where=s != 0, initial=np.inf) for d, s in pairs])
        pairs = zip((boundary for boundary in boundaries if boundary is not None), own, strict=True)
        return np.array([least_distance(boundary, X, gaps, sides, self.c) for boundary, sides in pairs])

    @property
    def has_distances(self) -> bool:
        """Whether signed distances to the boundaries are available; False if :attr:`boundaries` is None."""
        return self.boundaries is not None

    def boundary(self) -> Boundary | None:
        """Return the boundary of a binary model if it is a generalised sphere, else None."""
        boundaries = self.boundaries if self.is_binary else None
        return None if boundaries is None else boundaries[0]

    @cached_property
    def boundaries(self) -> list[Boundary | None] | None:
        """Boundaries of all problems, as a list; an element is None if the boundary is empty.

        The boundary is the zero set of the score if there are two classes, and otherwise the zero set of the value of
        the problem. The whole result is None if some boundaries are not generalised spheres. It is also None if there
        are more than two classes and the link is "sphere" or "cone": the scores of these links are only compared with
        each other, so their zeros have no meaning.
        """
        if self.link == "kernel":
            return None
        slopes, offsets = np.ones(len(self.weights)), np.zeros(len(self.weights))
        if self.is_binary and self.calibration is not None:
            slopes, offsets = self.calibration.slopes, self.calibration.offsets
        if self.link in ("sphere", "cone") and not self.is_binary:
            return None  # the scores of a softmax are only compared with each other, so their zeros have no meaning
        if self.link in ("sphere", "sphere-arsinh", "cone"):
            if np.any(offsets) or (self.link == "cone" and np.any(self.intercepts)):
                return None
            return boundaries_of(slopes[:, None] * self.weights, slopes * self.intercepts, self.points, c=self.c)
        if self.link == "ball":
            levels = slopes * self.intercepts + offsets
            return [_chord(w, b, self.c) for w, b in zip(slopes[:, None] * self.weights, levels, strict=True)]
        if self.link == "frame" and np.any(slopes * offsets) and np.any(self.weights):
            return None
        parts = zip(self.weights, self.points, slopes, offsets, strict=True)
        return [self._equidistant(*part) for part in parts]

    def _equidistant(self, w: Array, p: Array, slope: float, offset: float) -> Equidistant | None:
        """Return the zero set of the score ``slope · value + offset`` of a problem.

        The link must be "arsinh" or "z", or "frame" if the offset is 0.
        """
        length, root = np.linalg.norm(w), np.sqrt(self.c)
        if length == 0 or slope == 0:
            return None
        value = 0.0 - offset / slope
        with np.errstate(over="ignore"):
            sine = np.sinh(value / self.gain) if self.link == "arsinh" else root * value
        sign = np.sign(slope)
        if not np.isfinite(sine):  # sinh overflows only at distances that no float64 point can have
            return None
        return plane_boundary(sign * w, p, float(sign * np.arcsinh(sine / length) / root))

    def hyperplane_between(self, a: int, b: int) -> Hyperplane | None:
        """Return the geodesic hyperplane tangent to the boundary between a and b at its point nearest to the centre.

        Here a and b are class codes. The link must be "sphere", or "cone" without intercepts. If :attr:`is_pairwise` is
        True, the hyperplane is the boundary itself. The result is None if there is no boundary between a and b, or if
        float64 cannot represent any of its points.
        """
        u, level = self._class_weights(a) - self._class_weights(b), self._class_level(a) - self._class_level(b)
        return touching_hyperplane(u, level, self.points[0], c=self.c)

    def _class_weights(self, code: int) -> Array:
        weights = self.weights if self.calibration is None else self.calibration.mix(self.weights.T).T
        return weights[code] if not self.is_binary else (code - 0.5) * weights[0]

    def _class_level(self, code: int) -> float:
        levels = self._levels()
        return float(levels[code] if not self.is_binary else (code - 0.5) * levels[0])

    def _levels(self) -> Array:
        """Return the intercept of each score: ``intercepts``, converted to scores if there is a calibration."""
        return self.intercepts if self.calibration is None else self.calibration.scores(self.intercepts[None])[0]

    @property
    def is_pairwise(self) -> bool:
        """Whether :meth:`hyperplane_between` returns the exact boundary for every pair of classes."""
        if self.link not in ("sphere", "cone"):
            return False
        levels = self._levels()
        return not np.any(levels if self.is_binary else levels - levels[0])

    def leader(self, a: int, b: int) -> int | None:
        """Return the code of the class, a or b, that has the higher score; None if the scores are equal.

        Call this method only if there is no boundary between the two classes. The scores are compared at the centre or,
        if they are equal there, far from the centre.
        """
        ahead = self._class_weights(a)[0] - self._class_weights(b)[0]
        total = ahead + self._class_level(a) - self._class_level(b) or ahead
        return None if total == 0 else a if total > 0 else b

    def steepness(self) -> Array | None:
        """Return one factor f per class such that ``f sinh(√c d)`` ranks the classes in the same order as their scores.

        Here d is the signed distance to the hyperplane of the class. The result is None for two classes, or if there
        are no such factors. The function ``f sinh(√c d)`` is linear in hyperboloid coordinates, so the boundary between
        any two classes is a geodesic hyperplane.
        """
        if self.link != "arsinh" or self.is_binary or not np.all(np.any(self.weights, axis=1)):
            return None
        calibration = self.calibration
        if calibration is not None:
            slopes, offsets = calibration.slopes, calibration.offsets
            if (
                calibration.mixing is not None
                or np.any(slopes != slopes[0])
                or slopes[0] <= 0
                or np.any(offsets != offsets[0])
            ):
                return None
        return np.linalg.norm(self.weights, axis=1)


def _chord(w: Array, b: float, c: float) -> Equidistant | None:
    r"""Return the zero set of ``⟨x, w⟩ + b``, an equidistant of the geodesic hyperplane with the same ends on the rim.

    Let τ / √c be the Euclidean distance from the centre of the ball to the zero set. The Euclidean distance from the
    centre to the geodesic hyperplane is then :math:`\tau / (1 + \sqrt{1 - \tau^2})` / √c, and the hyperbolic distance
    between the zero set and this hyperplane is artanh(τ) / √c. The result is None if the zero set does not meet the
    ball.
    """
    length, root = np.linalg.norm(w), np.sqrt(c)
    tau = -root * b / length if length > 0 else np.inf
    if not abs(tau) < 1:
        return None
    p = tau / (1 + np.sqrt((1 - tau) * (1 + tau))) / (root * length) * w
    return plane_boundary(w, p, float(np.arctanh(tau) / root))
