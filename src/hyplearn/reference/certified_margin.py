"""The widest margin, its lower and upper bound, and a certificate from which plain NumPy code recomputes the bounds.

Apart from the validation of X and y, this module shares no code with the search for the margin, so that the
verification is independent of the search.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from hyplearn.geometry.closest import HalfSpace
from hyplearn.reference.hulls import two_classes
from hyplearn.types import Array, Points

Status: TypeAlias = Literal["optimal", "inseparable", "stalled"]
EPS = float(np.finfo(float).eps)
# Bound on the number of rounding errors in a feature that _seen_from computes. A sum of n terms adds n rounding errors,
# so the error of a sum of features or rows is at most (n + OPERATIONS) * EPS times the sizes that _seen_from returns.
OPERATIONS = 16
# Number of rows per block, which limits the memory use of verify.
CHUNK = 2**16
# Factor that splits a float64 into two halves of 26 bits, whose products are exact.
SPLITTER = 2.0**27 + 1


class MarginInterval(NamedTuple):
    """Bounds on the widest margin, as returned by :meth:`hyplearn.reference.WidestMargin.verify`.

    Attributes
    ----------
    lower : float
        Smallest distance of a row to the hyperplane, minus a bound on its rounding error; 0 if there is no hyperplane,
        or if a row is not proven to lie on the correct side of it.
    upper : float
        Upper bound on the margin of every geodesic hyperplane; infinite if the certificate does not prove a bound.
    """

    lower: float
    upper: float


@dataclass(frozen=True)
class WidestMargin:
    r"""The geodesic hyperplane with the widest margin between two classes, with proven lower and upper bounds.

    The widest margin is the radius for which the hulls of the balls around the rows of the two classes touch.

    Attributes
    ----------
    separable : bool
        Whether every row lies strictly on its side of ``hyperplane``.
    hyperplane : tuple (w, p) or None
        Hyperplane with the widest margin, which is unique; None if no separating hyperplane was found.
        ``signed_distance(X, w, p)`` is positive for the rows of the class that sorts last and negative for the other
        rows. The point p is equal to ``contact``, unless an earlier pass found a better hyperplane than the last pass.
    lower, upper : float
        Lower and upper bound on the widest margin. The distance of every row to the hyperplane is at least ``lower``,
        and no geodesic hyperplane has a margin above ``upper``. Both bounds account for all rounding errors: they are
        valid for the hyperplane, the weights and the points as they are stored.
    support : ndarray of int
        Indices of the rows that determine the margin: the rows nearest to the hyperplane, around which the touching
        balls lie. If there is no hyperplane, these are rows of both classes whose hulls have a common point.
    weights : ndarray
        Weights λ of these rows, which are positive and sum to 1. If there is a hyperplane, they are the multipliers of
        the margin: if a row is moved away from the hyperplane by a small distance, the margin grows by λ times this
        distance.
    points : ndarray of shape (len(support), d)
        One point a in the ball of radius ``upper`` about each row of the support, or the row itself if there is no
        hyperplane. On the hyperboloid, the sums of λ a over the two classes are equal up to rounding, which proves
        ``upper``.
    contact : ndarray of shape (d,)
        Point at which the hulls of the balls touch, which is the sum of λ a scaled onto the hyperboloid. If no
        hyperplane separates the classes, this is a common point of their hulls.
    status : str
        "optimal" if the interval from ``lower`` to ``upper`` is at most 1e-9 wide in units of 1/√c, or 1e-9 times
        ``lower`` if ``lower`` is above 1 in these units. Near the rim, where ``contact`` is stored less precisely, the
        width may be up to 64 spacings of float64, measured in hyperbolic distance at ``contact``, but at most 1e-6.
        "inseparable" if no hyperplane was found and the interval from 0 to ``upper`` is equally narrow. "stalled" if
        rounding errors prevent such a narrow interval. A stalled result without a hyperplane leaves open whether the
        classes are separable.
    n_passes : int
        Number of passes over all rows.
    c : float
        Absolute curvature.
    """

    separable: bool
    hyperplane: HalfSpace | None
    lower: float
    upper: float
    support: Array
    weights: Array
    points: Array
    contact: Array
    status: Status
    n_passes: int
    c: float

    @property
    def witness(self) -> Array | None:
        """A common point of the hulls of both classes if ``status`` is "inseparable", otherwise None."""
        return self.contact if self.status == "inseparable" else None

    def verify(self, X: Points, y: Any) -> MarginInterval:
        """Recompute ``lower`` and ``upper`` in plain NumPy from X, y and the stored hyperplane and certificate.

        The certificate consists of ``support``, ``weights``, ``points`` and ``contact``.

        Parameters
        ----------
        X, y
            The points and labels from which the margin was computed, in the same order.

        Returns
        -------
        MarginInterval
            The bounds ``lower`` and ``upper``. A lower bound that cannot be proven is 0, and an upper bound that cannot
            be proven is infinity.

        Examples
        --------
        >>> from hyplearn.datasets import make_ball_classification
        >>> from hyplearn.reference import widest_margin
        >>> X, y, p, w = make_ball_classification(1000, 5, margin=0.2, random_state=0)
        >>> found = widest_margin(X, y)
        >>> lower, upper = found.verify(X, y)
        >>> print(upper - lower < 1e-9)
        True
        """
        X, codes, _ = two_classes(X, y, self.c, "verify()")
        if self.support.max() >= len(X):
            last = self.support.max()
            raise ValueError(
                f"verify() needs the X from which the margin was computed, which has at least {last + 1} rows; got "
                f"{len(X)} rows.\nPass the same X and y in the same order."
            )
        return self.interval(X, codes > 0)

    def interval(self, X: Array, second: Array) -> MarginInterval:
        """Compute the result of :meth:`verify` without validating X; ``second`` marks the rows of the second class."""
        return MarginInterval(_lower_end(self, X, second), _upper_end(self, X, second))


def _lower_end(found: WidestMargin, X: Array, second: Array) -> float:
    """Compute the lower bound on the margin, from the distances of all rows to the hyperplane.

    The result is the smallest distance minus a bound on its rounding error. It is 0 if there is no hyperplane, or if a
    row is not proven to lie on the correct side of it.
    """
    if found.hyperplane is None:
        return 0.0
    w, p = found.hyperplane
    length, least = np.linalg.norm(w), np.inf
    if not (0 < length < np.inf and _gaps(p[None], found.c)[0] > 0):
        return 0.0
    for start in range(0, len(X), CHUNK):
        part = slice(start, start + CHUNK)
        z, size = _seen_from(X[part].astype(np.float64), p, found.c)
        heights = np.where(second[part], 1.0, -1.0) * (z @ (w / length))
        least = min(least, np.min(heights - (X.shape[1] + OPERATIONS) * EPS * size))
    return float(np.arcsinh(least) * (1 - OPERATIONS * EPS) / np.sqrt(found.c)) if least > 0 else 0.0


def _upper_end(found: WidestMargin, X: Array, second: Array) -> float:
    """Compute an upper bound on the margin M from the inequality ``Σ λ sinh(M - r) ≤ cosh(D + δ) ‖A - B‖``.

    All lengths are in units of 1/√c. The sum runs over the support rows, whose indices are ``found.support``. Each of
    them has a weight λ and a point a in ``found.points``, and r is the distance between the row and a. A and B are the
    sums of λ a over the two classes, on the hyperboloid. D is the larger of the distances from A and from B to the
    contact point. A hyperplane with the margin M passes between A and B, or beyond one of them by at most δ. The
    documentation page on the widest margin derives the inequality. The result is infinite if no bound follows from the
    inequality, and 0 if the classes are proven inseparable.
    """
    rows, side, weights, c = X[found.support].astype(np.float64), second[found.support], found.weights, found.c
    p = found.contact
    inside = np.all(_gaps(np.vstack([found.points, p]), c) > 0)
    valid = inside and np.all(np.isfinite(weights)) and np.all(weights >= 0)
    if not (valid and weights[side].sum() > 0 and weights[~side].sum() > 0):
        return np.inf
    z, size = _seen_from(found.points, p, c)
    if np.array_equal(found.points, rows) and _cancel(z, size, np.where(side, weights, -weights)):
        return 0.0
    time = np.sqrt(1 + np.sum(z**2, axis=1))
    weights = np.where(side, weights / (weights[side] @ time[side]), weights / (weights[~side] @ time[~side]))
    A, B = weights[side] @ z[side], weights[~side] @ z[~side]
    error = (len(rows) + OPERATIONS) * EPS * (weights @ (size + time))
    reach = max(np.linalg.norm(A), np.linalg.norm(B)) + error
    if not reach < 1:
        return np.inf
    apart = np.sqrt(np.sum((found.points - rows) ** 2, axis=1))
    radii = 2 * np.arcsinh(np.sqrt(c) * apart / np.sqrt(_gaps(found.points, c) * _gaps(rows, c)))
    shift = radii - radii.max()
    grown, shrunk = weights @ np.exp(shift), weights @ np.exp(-shift)
    mean = np.log(grown / shrunk) / 2
    delta = np.arcsinh(abs(weights[side] @ np.sinh(mean - shift[side])) / np.sqrt(1 - reach**2))
    right = np.cosh(np.arctanh(reach) + delta) * (np.linalg.norm(A - B) + error)
    upper = radii.max() + mean + np.arcsinh(right / np.sqrt(grown * shrunk))
    return float(upper * (1 + OPERATIONS * EPS) / np.sqrt(c))


def _cancel(z: Array, size: Array, weights: Array) -> bool:
    """Return whether it is proven that the weighted sum of the points is 0 for some weights near ``weights``.

    These weights must have the same signs as ``weights``. The sum is that of hyperboloid coordinates. Each column of a
    matrix M consists of a 1 and the Klein coordinates of one point. The vector u contains each weight times the first
    hyperboloid coordinate of its point, so that the sum is 0 if M u = 0. If M has more columns than rows and full rank,
    ``u - M⁺ M u`` satisfies this equation exactly. M has full rank despite its rounding errors if its smallest singular
    value exceeds a bound on these errors. No sign changes if the norm of the correction ``M⁺ M u`` is smaller than the
    smallest absolute value in u.
    """
    time = np.sqrt(1 + np.sum(z**2, axis=1))
    M, u = np.column_stack([np.ones(len(z)), z / time[:, None]]).T, weights * time
    error = OPERATIONS * EPS * np.linalg.norm(1 + size / time)
    smallest = np.linalg.svd(M, compute_uv=False)[-1] - error
    off = np.linalg.norm(M @ u) + (len(u) * EPS + error) * np.linalg.norm(u)
    return bool(len(u) > len(M) and smallest > 0 and off < smallest * np.abs(u).min())


def _seen_from(X: Array, p: Array, c: float) -> tuple[Array, Array]:
    """Return the features ``√c z`` of each point, and a size for each point.

    The vector z contains the z features (:mod:`hyplearn.tangent`) of a point x, with p as the reference point. The
    vector √c z is a multiple of x - p minus a multiple of p, and the size is the sum of the norms of these two terms.
    Bounds on the rounding errors of the features are multiples of the size.
    """
    s, norm_p = X - p, np.linalg.norm(p)
    square = np.sum(s**2, axis=1)
    bend, factor = c * square / _gaps(p[None], c), 2 * np.sqrt(c) / _gaps(X, c)
    return factor[:, None] * (s - bend[:, None] * p), factor * (np.sqrt(square) + bend * norm_p)


def _gaps(X: Array, c: float) -> Array:
    """Return ``1 - c‖x‖²`` for each row, computed in twice the working precision."""
    total, error = np.zeros(len(X)), np.zeros(len(X))
    for column in X.T:
        square, low = _product(column, column)
        total, lost = _sum(total, square)
        error += lost + low
    scaled, low = _product(c, total)
    gaps: Array = (1 - scaled) - (low + c * error)
    return gaps


def _product(a: Array | float, b: Array) -> tuple[Array, Array]:
    """Return the rounded product and its rounding error (Dekker, 1971)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(a: Array | float) -> tuple[Array | float, Array | float]:
    high = SPLITTER * a - (SPLITTER * a - a)
    return high, a - high


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum and its rounding error (Knuth, 1969)."""
    total = a + b
    arrived = total - a
    return total, (a - (total - arrived)) + (b - arrived)
