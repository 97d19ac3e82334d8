r"""Calibration, which computes probabilities from the values of the binary problems.

A model's values are signed distances, or another number per problem. A calibration makes scores of them, and
probabilities of the scores:

- **two classes**: :math:`s = a v + b`, :math:`P(1) = \sigma(s)`. Where the boundary has to pass through a reference
  point, the offset is the intercept that the geometry denies it: the decision then lies on an equidistant of the
  hyperplane, and every distance, picture and file has it there. Where the boundary separates the training rows, or the
  model has an intercept of its own, the boundary stays where it is: the sigmoid is *pinned*, b = 0.
- **more classes**: :math:`s = A v + b`, :math:`P(k) = \operatorname{softmax}(s)_k`, the softmax regression of the class
  on all values. Values of different problems are not comparable, as each boundary has a side and a scale of its own,
  and the value of one class says something about the others; scores are comparable. The prediction is the class of the
  largest score.

A and b minimise the log-loss of values of rows that the model has not seen (:func:`deal_folds`): a model is too sure of
its training rows. The slope of two classes has Platt's targets, just short of 1 and 0. Those of more classes have a
normal prior, whose variance is chosen as the C of a softmax, together with the share ε of misplaced rows, which keeps
probabilities away from 0 (``hyplearn.solvers.choice``).

``sharpness`` stands for the calibration of version 0.1 and of the paper, where each score has a sigmoid of its own and
:math:`P(k) \propto \sigma(s_k)^\beta`.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from hyplearn.rows import ClassRows
from hyplearn.solvers.choice import choose_softmax_cost, with_floor
from hyplearn.solvers.platt import Sigmoids, fit_sigmoid
from hyplearn.solvers.platt import fit_sigmoids as fit_each
from hyplearn.solvers.softmax import solve_softmax
from hyplearn.types import Array

# Limits on the rows used for calibration. They have at most CALIBRATED_NUMBERS coordinates in total. The number of rows
# is at most ROWS_PER_CLASS per class and CALIBRATED_ROWS in total, or ROWS_PER_ENTRY per element of A if that is
# more. A parameter that is fitted to n rows increases the log-loss by about 1 / 2n.
CALIBRATED_NUMBERS, CALIBRATED_ROWS, ROWS_PER_CLASS, ROWS_PER_ENTRY = 2**21, 2**16, 2**13, 64
# Number of digits to which values are compared: the values of identical rows may differ in their last bits.
SAME_VALUE = 9
# TOL is the relative duality gap at which the final fit of A and b stops, and CHOICE_TOL is this gap for the fits that
# choose the prior variance. LARGEST is log10 of the largest variance, for values divided by their root mean square.
TOL, CHOICE_TOL, LARGEST = 1e-6, 3e-3, 3
# Tolerance (predicted decrease of a mean loss) of the sigmoids of :func:`sigmoid_loss`, well below the differences of
# the loss that decide between two values of C.
SIGMOID_TOL = 1e-6
# Largest rank of A, which matters if there are many classes: further directions of the values take time and change the
# probabilities little.
DIRECTIONS = 24
# Slope used for a binary problem whose held-out values are uninformative: the probabilities are ½ up to rounding, but
# the sign of the distance still decides the prediction.
FLAT = 1e-9


def calibrated_rows(n_classes: int, d: int) -> int:
    """Return the maximum number of rows, of d coordinates each, that are used for calibration."""
    most = max(min(ROWS_PER_CLASS * n_classes, CALIBRATED_ROWS), ROWS_PER_ENTRY * n_classes**2)
    return min(CALIBRATED_NUMBERS // d, most)


@dataclass(frozen=True)
class Calibration:
    """Parameters of a map from values to scores, and from scores to probabilities.

    Attributes
    ----------
    slopes, offsets : ndarrays of shape (P,)
        Scores are ``slopes · values + offsets``.
    mixing : ndarray of shape (P, P) or None
        The matrix A, if scores are ``A values + offsets``; ``slopes`` is its diagonal.
    sharpness : float or None
        None for the softmax of the scores (of one score, its sigmoid); else the power of their sigmoids.
    floor : float
        Share ε of the uniform distribution in the probabilities ``(1 - ε) softmax(s) + ε / K``
        (``hyplearn.solvers.choice``). It does not change which class is the most likely.
    """

    slopes: Array
    offsets: Array
    sharpness: float | None = None
    mixing: Array | None = None
    floor: float = 0.0

    @classmethod
    def identity(cls, n_problems: int, floor: float = 0.0) -> "Calibration":
        """Return the calibration for values that are already log-odds."""
        return cls(np.ones(n_problems), np.zeros(n_problems), floor=floor)

    def scores(self, values: Array) -> Array:
        """Convert values to scores of the same shape."""
        return self.mix(values) + self.offsets

    def mix(self, values: Array) -> Array:
        """Return the scores without their offsets."""
        if self.mixing is None:
            return values * self.slopes
        # BLAS is not used, because the last bits of its results depend on the number of rows.
        return np.einsum("ij,kj->ik", values, self.mixing)

    def log_probabilities(self, scores: Array) -> Array:
        """Return the logarithms of all class probabilities, accurate even if the probabilities underflow."""
        if scores.shape[1] == 1:
            return with_floor(-np.logaddexp(0, np.hstack([scores, -scores])), self.floor, 2)
        logs = scores if self.sharpness is None else -self.sharpness * np.logaddexp(0, -scores)
        return with_floor(log_softmax(logs, axis=1), self.floor, scores.shape[1])


def fit_calibration(values: Array, codes: Array, weights: Array, *, pinned: bool = False) -> Calibration:
    """Fit a calibration to held-out values of shape (n, P) and class codes of the rows, by minimising the log-loss.

    ``pinned`` leaves out the offset of two classes.
    """
    if values.shape[1] > 1:
        return _fit_softmax(values, codes, weights)
    slope, offset = fit_sigmoid(values[:, 0], codes == 1, weights, pinned=pinned)
    if not slope > 0:
        slope, offset = FLAT / (float(np.abs(values).max(initial=0.0)) or 1.0), 0.0
    return Calibration(np.array([slope]), np.array([offset]))


def sigmoid_loss(
    values: Array, codes: Array, weights: Array, *, pinned: bool = False, start: Sigmoids | None = None
) -> tuple[float, Sigmoids]:
    """Fit Platt's sigmoids to all problems; return their log-loss, summed over the problems, and the sigmoids.

    The loss is a fast criterion; ``start`` are sigmoids to start from.
    """
    scores, positive = values.T, _positive(values, codes)
    found = fit_each(scores, positive, weights, pinned=pinned, tol=SIGMOID_TOL, start=start)
    scores = np.where(positive, -1.0, 1.0) * (found.slopes[:, None] * scores + found.offsets[:, None])
    losses = np.maximum(scores, 0.0) + np.log1p(np.exp(-np.abs(scores)))
    return float(np.sum(losses @ weights) / weights.sum()), found


def fit_sigmoids(values: Array, codes: Array, weights: Array) -> Calibration:
    """Fit Platt's sigmoid to each problem separately, as in the paper."""
    return Calibration(*fit_each(values.T, _positive(values, codes), weights), 1.0)


def _positive(values: Array, codes: Array) -> Array:
    """Return whether each row belongs to the positive class of each problem, as an array of shape (P, n)."""
    positives = np.array([1]) if values.shape[1] == 1 else np.arange(values.shape[1])
    return positives[:, None] == codes


def _fit_softmax(values: Array, codes: Array, weights: Array) -> Calibration:
    """Fit a softmax regression of the classes on the values, with the matrix A and the offsets b."""
    kept = np.flatnonzero(weights > 0)
    values, codes, weights = values[kept], codes[kept].astype(np.int64), weights[kept]
    K = values.shape[1]
    scales = np.sqrt(weights @ values**2 / weights.sum())
    scales[scales == 0] = 1.0
    scaled = values / scales
    # Keep the directions in which the values differ most: the others matter little if there are many classes.
    directions = np.linalg.eigh((weights[:, None] * scaled).T @ scaled)[1][:, ::-1][:, :DIRECTIONS]
    rows = np.column_stack([scaled @ directions, np.ones(len(values))])

    C, start, floor = choose_softmax_cost(rows, codes, weights, K, tol=CHOICE_TOL, highest=LARGEST)
    W = solve_softmax(ClassRows.of(rows, codes, C * weights, K), tol=TOL, start=start).W
    mixing = W[:, :-1] @ directions.T / scales
    return Calibration(np.diag(mixing).copy(), W[:, -1].copy(), mixing=mixing, floor=floor)


def own_values(values: Array, codes: Array) -> Array:
    """Return the value of each row in the problem of its class; with two classes there is only one problem."""
    return values[np.arange(len(values)), codes] if values.shape[1] > 1 else values[:, 0]


def without(weights: Array, held: Array) -> Array:
    """Return the weights, with the weights of held-out rows set to 0."""
    rest = weights.copy()
    rest[held] = 0
    return rest


def deal_folds(
    values: Array, codes: Array, weights: Array, folds: int, n_classes: int, *, spare: Array | None = None
) -> tuple[Array, Array]:
    """Return the fold in which each row is held out (-1 for never), and the number of distinct rows of each class.

    The rows of a class are dealt out in the order of their values: every fold has its share of all classes, near and
    far, copies of a row stay together, and neither the order of rows nor an isometry changes anything. Where all rows
    of a class have one value, as with weights of zero, ``spare`` values order them. The only row of a class is never
    held out, as nothing could be learned of its class without it.
    """
    dealt, n_distinct = np.full(len(values), -1), np.zeros(n_classes, dtype=np.int64)
    for k in range(n_classes):
        rows = np.flatnonzero((codes == k) & (weights > 0))
        ranks = _ranks(values, rows)
        if spare is not None and not ranks.any():
            ranks = _ranks(spare, rows)
        n_distinct[k] = ranks.max(initial=-1) + 1
        if n_distinct[k] > 1:
            dealt[rows] = (ranks + k) % folds
    return dealt, n_distinct


class HeldOut(NamedTuple):
    """Values of rows that were held out of the fit, and the assignment of rows to folds (:func:`deal_folds`).

    The fits that choose C of an SVM have such values, so that the calibration needs no further fits.
    """

    values: Array  # values of all problems, of shape (n, P); rows that are never held out are ignored
    dealt: Array
    n_distinct: Array


def constant_problems(values: Array) -> Array:
    """Return the problems in which all rows have the same value, for example because the weights are zero."""
    scale = np.max(np.abs(values), initial=0.0) or 1.0
    return np.flatnonzero(np.ptp(values, axis=0) <= 10.0**-SAME_VALUE * scale)


def _ranks(values: Array, rows: Array) -> Array:
    """Return the ranks of the values of the given rows; values that are equal up to rounding have equal ranks."""
    scale = np.max(np.abs(values), initial=0.0) or 1.0
    return np.ravel(np.unique(np.round(values[rows] / scale, SAME_VALUE), return_inverse=True)[1])


def warn_of_few_rows(n_distinct: Array, folds: int, classes: Array) -> None:
    """Warn about classes with fewer distinct rows than folds."""
    few = [f"{label} ({n})" for label, n in zip(classes, n_distinct, strict=True) if 0 < n < folds]
    if few:
        warnings.warn(
            f"Classes with fewer distinct rows than the {folds} folds have unreliable probabilities: "
            f"{', '.join(few[:5])}{', ...' if len(few) > 5 else ''}.\n"
            "Probabilities of a class with a single row come from its training score. Pass more rows, or fewer folds.",
            UserWarning,
            stacklevel=5,
        )
