r"""Calibration, which computes probabilities from the values of the binary problems.

The values of a model are signed distances or similar numbers, one per binary problem. A calibration converts values v
to scores s, and scores to probabilities:

- **Two classes**: :math:`s = a v + b` and :math:`P(1) = \sigma(s)`. If the boundary must pass through a reference
  point, the offset b acts as the intercept that the model lacks: the decision boundary is then an equidistant of the
  fitted hyperplane, and all distances, plots and files use this equidistant. If the hyperplane separates the training
  rows, or if the model has an intercept, the boundary is not moved: the sigmoid is *pinned*, which means that b = 0.
- **More classes**: :math:`s = A v + b` and :math:`P(k) = \operatorname{softmax}(s)_k`, a softmax regression of the
  class on all values. The values of different problems are not comparable, because each boundary has its own scale. The
  scores are comparable, and the score of a class also depends on the values of the other classes. The class with the
  largest score is predicted.

A and b minimise the log-loss on held-out rows (:func:`deal_folds`), because a model is overconfident on its training
rows. With at least 1,000 rows per coordinate the model is not overconfident, and training rows are used instead. For
two classes, the sigmoid is fitted to Platt's targets, which are slightly below 1 and slightly above 0. For more
classes, A has a normal prior. The variance of the prior is chosen like the C of a softmax regression, together with a
share ε of rows that are assumed to have a random class. This share keeps probabilities away from 0
(``hyplearn.solvers.choice``).

The attribute ``sharpness`` of :class:`Calibration` is the exponent β in the calibration of version 0.1 and of the paper
(Chien, Pan, Tabaghi and Milenkovic, 2021), in which each score has a separate sigmoid and
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

# Limits on the number of rows that are used for calibration. For K classes, the limit is ROWS_PER_CLASS · K rows, but
# not more than CALIBRATED_ROWS. It is raised to ROWS_PER_ENTRY · K² if that is larger, because the matrix A, which maps
# values to scores, has K² elements. In addition, all rows together may have at most CALIBRATED_NUMBERS coordinates.
# More rows would hardly improve the probabilities: each parameter that is fitted to n rows increases the log-loss by
# only about 1 / (2n).
CALIBRATED_NUMBERS, CALIBRATED_ROWS, ROWS_PER_CLASS, ROWS_PER_ENTRY = 2**21, 2**16, 2**13, 64
# Values are compared after they have been divided by the largest absolute value and rounded to this number of decimals,
# because identical rows may have values that differ in their last bits.
SAME_VALUE = 9
# TOL is the relative duality gap at which the final fit of the matrix A and the offsets b stops. CHOICE_TOL is the gap
# at which the fits that choose the prior variance of A stop. LARGEST is log10 of the largest prior variance that is
# tried. The variance refers to scaled values: the values of each problem are divided by their root mean square.
TOL, CHOICE_TOL, LARGEST = 1e-6, 3e-3, 3
# Tolerance of the fits in :func:`sigmoid_loss`: a fit stops if the predicted decrease of the mean loss is smaller than
# this value. The mean losses of models with different C differ by much more than this tolerance.
SIGMOID_TOL = 1e-6
# Maximum rank of the matrix A, which maps the values of all problems to scores of the classes. With many classes, a
# higher rank would take more time and hardly change the probabilities.
DIRECTIONS = 24
# Largest absolute score if there are two classes and the held-out values are uninformative, which means that no
# positive slope improves the log-loss. The slope is then positive but so small that both probabilities differ from ½ by
# less than 1e-9. The sign of the value still determines the predicted class.
FLAT = 1e-9


def calibrated_rows(n_classes: int, d: int) -> int:
    """Return the maximum number of rows with d coordinates that are used for calibration."""
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
        Matrix A if scores are ``A values + offsets``, in which case ``slopes`` is the diagonal of A; otherwise None.
    sharpness : float or None
        Exponent β in the probabilities ``P(k) ∝ σ(s_k)^β`` for more than two classes. If it is None, the probabilities
        are the softmax of the scores. For two classes, ``sharpness`` is ignored, and P(1) is the sigmoid of the score.
    floor : float
        Share ε of the uniform distribution in the probabilities, such as ``(1 - ε) softmax(s) + ε / K`` (see
        ``hyplearn.solvers.choice``). It does not change which class is the most likely.
    """

    slopes: Array
    offsets: Array
    sharpness: float | None = None
    mixing: Array | None = None
    floor: float = 0.0

    @classmethod
    def identity(cls, n_problems: int, floor: float = 0.0) -> "Calibration":
        """Return a calibration that uses the values as scores; the values must be log-odds or softmax scores."""
        return cls(np.ones(n_problems), np.zeros(n_problems), floor=floor)

    def scores(self, values: Array) -> Array:
        """Convert values to scores of the same shape."""
        scores = self.mix(values)
        scores += self.offsets
        return scores

    def mix(self, values: Array) -> Array:
        """Compute the scores of the given values without adding the offsets."""
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
    """Fit a calibration by minimising the log-loss on held-out values of shape (n, P) with the given class codes.

    If ``pinned`` is True and there are two classes, the offset is 0.
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
    """Fit Platt's sigmoid to each problem; return the mean log-loss, summed over the problems, and the sigmoids.

    The loss is a fast criterion for choosing the parameter C of the model. If ``start`` is given, the fits start from
    these sigmoids.
    """
    scores, positive = values.T, _positive(values, codes)
    found = fit_each(scores, positive, weights, pinned=pinned, tol=SIGMOID_TOL, start=start)
    scores = np.where(positive, -1.0, 1.0) * (found.slopes[:, None] * scores + found.offsets[:, None])
    losses = np.maximum(scores, 0.0) + np.log1p(np.exp(-np.abs(scores)))
    return float(np.sum(losses @ weights) / weights.sum()), found


def fit_sigmoids(values: Array, codes: Array, weights: Array) -> Calibration:
    """Fit Platt's sigmoid to each problem separately, as in Chien, Pan, Tabaghi and Milenkovic (2021)."""
    return Calibration(*fit_each(values.T, _positive(values, codes), weights), 1.0)


def _positive(values: Array, codes: Array) -> Array:
    """Return a mask of shape (P, n) of the rows that belong to the positive class of each problem."""
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
    # Keep only the directions with the largest variation, because the others hardly change the probabilities.
    directions = np.linalg.eigh((weights[:, None] * scaled).T @ scaled)[1][:, ::-1][:, :DIRECTIONS]
    rows = np.column_stack([scaled @ directions, np.ones(len(values))])

    C, start, floor = choose_softmax_cost(rows, codes, weights, K, tol=CHOICE_TOL, highest=LARGEST)
    W = solve_softmax(ClassRows.of(rows, codes, C * weights, K), tol=TOL, start=start).W
    mixing = W[:, :-1] @ directions.T / scales
    return Calibration(np.diag(mixing).copy(), W[:, -1].copy(), mixing=mixing, floor=floor)


def own_values(values: Array, codes: Array) -> Array:
    """Return the value of each row in the binary problem of its class.

    For two classes, there is only one problem, and its values are returned.
    """
    return values[np.arange(len(values)), codes] if values.shape[1] > 1 else values[:, 0]


def without(weights: Array, held: Array) -> Array:
    """Return a copy of the weights in which held-out rows have weight 0."""
    rest = weights.copy()
    rest[held] = 0
    return rest


def deal_folds(
    values: Array, codes: Array, weights: Array, folds: int, n_classes: int, *, spare: Array | None = None
) -> tuple[Array, Array]:
    """Return the fold in which each row is held out (-1 for never), and the number of distinct rows of each class.

    Rows count as distinct if their values differ. The distinct rows of each class are assigned to the folds in turn, in
    the order of their values. If a class has enough distinct rows, every fold therefore contains rows of this class
    both near the boundary and far from it. Copies of a row are in the same fold. The folds depend neither on the order
    of rows nor on the choice of coordinates.

    If all rows of a class have the same values, for example because all coefficients of the model are 0, ``spare`` is
    used instead of ``values``, provided that it is given. A class with a single distinct row is never held out, because
    nothing could be learned about the class without this row. Rows of weight 0 are never held out either.
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

    The fits that choose C for an SVM provide such values, so that the calibration needs no further fits.
    """

    # Values of all problems, of shape (n, P). The values of rows that are never held out are ignored.
    values: Array
    dealt: Array
    n_distinct: Array


def constant_problems(values: Array) -> Array:
    """Return the indices of problems in which all rows have the same value, for example if all coefficients are 0."""
    scale = np.max(np.abs(values), initial=0.0) or 1.0
    return np.flatnonzero(np.ptp(values, axis=0) <= 10.0**-SAME_VALUE * scale)


def _ranks(values: Array, rows: Array) -> Array:
    """Rank the given rows by their values; rows with values that are equal up to rounding have equal ranks."""
    scale = np.max(np.abs(values), initial=0.0) or 1.0
    return np.ravel(np.unique(np.round(values[rows] / scale, SAME_VALUE), return_inverse=True)[1])


def warn_of_few_rows(n_distinct: Array, folds: int, classes: Array) -> None:
    """Warn about classes with fewer distinct rows than folds."""
    few = [f"{label} ({n})" for label, n in zip(classes, n_distinct, strict=True) if 0 < n < folds]
    if few:
        warnings.warn(
            f"Classes with fewer distinct rows than folds ({folds}) have unreliable probabilities: "
            f"{', '.join(few[:5])}{', ...' if len(few) > 5 else ''}.\n"
            "A class with a single distinct row is calibrated on the training score of this row.\n"
            "Pass more rows, or fewer folds.",
            UserWarning,
            stacklevel=5,
        )
