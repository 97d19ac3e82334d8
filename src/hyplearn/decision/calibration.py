r"""From values to probabilities.

A model's values are signed distances, or another number per problem. A calibration makes scores of them,
:math:`s_k = a_k v_k + b_k`, and probabilities of the scores:

- **two classes**: :math:`P(1) = \sigma(s)`. Where the boundary has to pass through a reference point, the offset is the
  intercept that the geometry denies it: the decision then lies on an equidistant of the hyperplane, and every distance,
  picture and file has it there. Where the boundary separates the training rows, or the model has an intercept of its
  own, the boundary stays where it is: the sigmoid is *pinned*, b = 0.
- **more classes**: :math:`P(k) = \operatorname{softmax}(s)_k`, a slope and an offset per class, learned together.
  Values of different problems are not comparable, as each boundary has a side and a scale of its own; scores are. The
  prediction is the class of the largest score.

Slopes and offsets minimise the log-loss of values of rows that the model has not seen (:func:`held_out_values`): a
model is too sure of its training rows. The slope of two classes has Platt's targets, just short of 1 and 0; those of
more classes are drawn to a common slope, and the offsets to 0, by a ridge that matters where rows are few. So slopes
stay finite where classes are separated.

``sharpness`` stands for the calibration of version 0.1 and of the paper, where each score has a sigmoid of its own and
:math:`P(k) \propto \sigma(s_k)^\beta`.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import log_softmax

from hyplearn.data.training import LabelledBlock
from hyplearn.solvers.platt import fit_sigmoid, minimise_newton
from hyplearn.types import Array

# Numbers of coordinates of the rows that calibrate at most: two parameters per class need no more.
CALIBRATED_NUMBERS = 2**21
# Digits to which two values are equal: copies of a row, whose last bits may depend on their position.
SAME_VALUE = 9
# Penalty of slopes away from their common one, and of offsets, in units of one row; values are divided by their root
# mean square. Between 0.01 and 1 held-out log-loss over 37 sets hardly changes; without it, few rows and separated
# classes have steep slopes.
RIDGE = 0.1
# Rows, spread evenly, from which the parameters of many more start.
SAMPLE = 20_000
# Slope of a binary problem whose held-out values are uninformative: probabilities of ½, and the sign of the distance
# still decides.
FLAT = 1e-9


@dataclass(frozen=True)
class Calibration:
    """Scores and probabilities from values.

    Attributes
    ----------
    slopes, offsets : ndarrays of shape (P,)
        Scores are ``slopes · values + offsets``.
    sharpness : float or None
        None for the softmax of the scores (of one score, its sigmoid); else the power of their sigmoids.
    """

    slopes: Array
    offsets: Array
    sharpness: float | None = None

    @classmethod
    def identity(cls, n_problems: int) -> "Calibration":
        """Values that are scores already: log-odds."""
        return cls(np.ones(n_problems), np.zeros(n_problems))

    def scores(self, values: Array) -> Array:
        """``slopes · values + offsets``."""
        return values * self.slopes + self.offsets

    def log_probabilities(self, scores: Array) -> Array:
        """Logarithms of the probabilities of all classes, exact where these are too small for a float."""
        if scores.shape[1] == 1:
            return -np.logaddexp(0, np.hstack([scores, -scores]))
        return log_softmax(scores if self.sharpness is None else -self.sharpness * np.logaddexp(0, -scores), axis=1)


def fit_calibration(values: Array, codes: Array, weights: Array, *, pinned: bool = False) -> Calibration:
    """The calibration of least log-loss, from held-out values of shape (n, P) and the classes of their rows.

    ``pinned`` leaves out the offset of two classes.
    """
    if values.shape[1] > 1:
        return _fit_softmax(values, codes, weights)
    slope, offset = fit_sigmoid(values[:, 0], codes == 1, weights, pinned=pinned)
    if not slope > 0:
        slope, offset = FLAT / (float(np.abs(values).max(initial=0.0)) or 1.0), 0.0
    return Calibration(np.array([slope]), np.array([offset]))


def fit_sigmoids(values: Array, codes: Array, weights: Array) -> Calibration:
    """Platt's sigmoid for each problem by itself, as the paper has it."""
    positives = [1] if values.shape[1] == 1 else range(values.shape[1])
    found = [fit_sigmoid(values[:, k], codes == own, weights) for k, own in enumerate(positives)]
    slopes, offsets = np.array(found).T
    return Calibration(slopes.copy(), offsets.copy(), 1.0)


def _fit_softmax(values: Array, codes: Array, weights: Array) -> Calibration:
    """Slopes, none of them negative, and offsets of least penalised log-loss of the softmax."""
    kept = np.flatnonzero(weights > 0)
    values, codes, weights = values[kept], codes[kept], weights[kept]
    K, total = values.shape[1], weights.sum()
    scales = np.sqrt(weights @ values**2 / total)
    scaled = values / np.where(scales > 0, scales, 1.0)
    free, parameters = np.ones(2 * K, dtype=bool), np.zeros(2 * K)
    ridge = np.eye(2 * K)
    ridge[:K, :K] -= 1 / (K + 1)  # slopes are drawn to a common one, which is itself drawn to 0
    ridge *= RIDGE / total
    stride = len(values) // SAMPLE
    if stride > 1:
        some = slice(None, None, stride)
        part = partial(_equations, scaled[some], codes[some], weights[some] / weights[some].sum(), ridge)
        parameters = minimise_newton(part, parameters, free)
    equations = partial(_equations, scaled, codes, weights / total, ridge)
    while True:
        parameters = minimise_newton(equations, parameters, free)
        falling = np.flatnonzero(parameters[:K] < 0)
        if not falling.size:
            break
        # A class that becomes less likely on its own side: its value tells nothing, and its slope is 0.
        free[falling], parameters[falling] = False, 0.0
    slopes = np.where(scales > 0, parameters[:K] / np.where(scales > 0, scales, 1.0), 0.0)
    return Calibration(slopes, parameters[K:].copy())


def _equations(
    values: Array, codes: Array, shares: Array, ridge: Array, parameters: Array
) -> tuple[float, Array, Array]:
    """Mean penalised log-loss with its gradient and Hessian."""
    K, rows = values.shape[1], np.arange(len(values))
    logs = log_softmax(values * parameters[:K] + parameters[K:], axis=1)
    pi = np.exp(logs)
    loss = -float(shares @ logs[rows, codes])
    weighted = shares[:, None] * pi
    difference = weighted.copy()
    difference[rows, codes] -= shares
    gradient = np.concatenate([np.sum(difference * values, axis=0), difference.sum(axis=0)])
    columns = np.hstack([pi * values, pi])
    hessian = -(columns.T * shares) @ columns
    i = np.arange(K)
    cross = np.sum(weighted * values, axis=0)
    hessian[i, i] += np.sum(weighted * values**2, axis=0)
    hessian[i, i + K] += cross
    hessian[i + K, i] += cross
    hessian[i + K, i + K] += weighted.sum(axis=0)
    pull = ridge @ parameters
    return loss + 0.5 * float(parameters @ pull), gradient + pull, hessian + ridge


def held_out_values(
    rows: LabelledBlock, values: Array, dealt: Array, refit: Callable[[Array], Callable[[LabelledBlock], Array]]
) -> Iterator[tuple[int, Array]]:
    """Values of rows by models that have not seen them, fold by fold, written into ``values``.

    Parameters
    ----------
    rows : LabelledBlock
        The rows that calibrate.
    values : ndarray of shape (n, P)
        Their values by the model itself: those of rows that are never held out remain.
    dealt : ndarray of int of shape (n,)
        Fold in which each row is held out, from :func:`deal_folds`.
    refit : callable
        Learns from the rows with other weights, 0 for those held out, and returns the values of a block.

    Yields
    ------
    fold : int
        Number of the fold that was held out.
    held : ndarray of int
        Its rows.
    """
    for fold in np.unique(dealt[dealt >= 0]).tolist():
        held = np.flatnonzero(dealt == fold)
        rest = rows.row_weights.copy()
        rest[held] = 0
        values[held] = refit(rest)(rows.taken(held))
        yield fold, held


def deal_folds(values: Array, codes: Array, weights: Array, folds: int, n_classes: int) -> tuple[Array, Array]:
    """The fold in which each row is held out, -1 where in none; and the number of distinct rows of each class.

    The rows of a class are dealt out in the order of their values: every fold has its share of all classes, near and
    far, copies of a row stay together, and neither the order of rows nor an isometry changes anything. The only row of
    a class is never held out, as nothing could be learned of its class without it.
    """
    dealt, n_distinct = np.full(len(values), -1), np.zeros(n_classes, dtype=np.int64)
    scale = np.max(np.abs(values), initial=0.0) or 1.0
    for k in range(n_classes):
        rows = np.flatnonzero((codes == k) & (weights > 0))
        different, ranks = np.unique(np.round(values[rows] / scale, SAME_VALUE), return_inverse=True)
        n_distinct[k] = len(different)
        if len(different) > 1:
            dealt[rows] = (np.ravel(ranks) + k) % folds
    return dealt, n_distinct


def warn_of_few_rows(n_distinct: Array, folds: int, classes: Array) -> None:
    """Warn of classes with fewer distinct rows than folds."""
    few = [f"{label} ({n})" for label, n in zip(classes, n_distinct, strict=True) if 0 < n < folds]
    if few:
        warnings.warn(
            f"Classes with fewer distinct rows than the {folds} folds have unreliable probabilities: "
            f"{', '.join(few[:5])}{', ...' if len(few) > 5 else ''}.\n"
            "Those of a single row come from its training score. Pass more rows, or fewer folds.",
            UserWarning,
            stacklevel=5,
        )
