"""Choose C for an SVM without a reference point by the log-loss on held-out rows."""

import math
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.decision.calibration import HeldOut, deal_folds, own_values, sigmoid_loss, without
from hyplearn.solvers.choice import choose_cost
from hyplearn.solvers.platt import Sigmoids
from hyplearn.solvers.svm.together import Problems, solve_together
from hyplearn.types import Array

# Number of held-out rows, summed over all folds, that suffices to choose C.
CHOICE_ROWS = 2000
# Tolerance (relative duality gap) of the fits that choose C. A loose value is enough to compare log-losses.
CHOICE_TOL = 1e-3


def choice_rows(data: TrainingData, most: int) -> LabelledBlock:
    """Subsample of about ``most`` rows for the choice of C, with weights scaled to a mean of 1."""
    block, is_part = data.subsampled(most)
    weights = block.row_weights
    return block._replace(weights=weights * (len(weights) / weights.sum() if is_part else 1.0))


class ChosenCost(NamedTuple):
    """Given or chosen C; if it was chosen, also weights close to the solution, and held-out values of all rows."""

    C: Any
    W: Array | None = None
    held_out: HeldOut | None = None  # None if some rows were not held out, or some of the fits did not converge


def choose_held_out(problems: Problems, n_folds: int, n_classes: int) -> ChosenCost:
    """Choose the power of ten for C with the smallest log-loss on held-out rows, or 1 if no row can be held out.

    ``problems`` contains one binary problem for each positive class, on all rows, with the costs for C = 1.
    """
    codes, weights = problems.codes, problems.costs[:, 0]
    W = solve_together(problems, tol=CHOICE_TOL).W
    values = np.arcsinh(problems.rows @ W.T)
    lengths = np.linalg.norm(problems.rows, axis=1)
    dealt, n_distinct = deal_folds(own_values(values, codes), codes, weights, n_folds, n_classes, spare=lengths)
    used = min(n_folds, -(-CHOICE_ROWS * n_folds // len(codes)))
    held = np.flatnonzero((dealt >= 0) & (dealt < used))
    if not len(held):
        return ChosenCost(1.0, W)
    path = _Path(problems, dealt, held, used, W)
    C = choose_cost(path.log_loss)
    found, W = path.found[C], path.weights[C].reshape(used, *W.shape).mean(axis=0)
    if used < n_folds or found.gap > CHOICE_TOL:
        return ChosenCost(C, W)
    values[held] = found.values
    return ChosenCost(C, W, HeldOut(values, dealt, n_distinct))


class _Found(NamedTuple):
    """Held-out values with a value of C, and the largest duality gap of the fits."""

    values: Array
    gap: float


class _Path:
    """Held-out fits for several values of C, each of which starts from the fits with the nearest one."""

    def __init__(self, problems: Problems, dealt: Array, held: Array, n_folds: int, W: Array) -> None:
        weights = problems.costs[:, 0]
        self.folds = problems.in_folds(np.column_stack([without(weights, dealt == fold) for fold in range(n_folds)]))
        self.rows, self.codes, self.row_weights = problems.rows[held], problems.codes[held], weights[held]
        self.fold, self.shape = dealt[held], (n_folds, *W.shape)
        self.weights, self.found = {1.0: np.tile(W, (n_folds, 1))}, dict[float, _Found]()
        self.sigmoids: Sigmoids | None = None

    def log_loss(self, C: float) -> float:
        """Log-loss of the held-out rows with C."""
        nearest = min(self.weights, key=lambda other: abs(math.log(other / C)))
        fits = solve_together(self.folds.at_costs(C), tol=CHOICE_TOL, start=self.weights[nearest])
        values = np.arcsinh(np.einsum("im,ipm->ip", self.rows, fits.W.reshape(self.shape)[self.fold]))
        self.weights[C], self.found[C] = fits.W, _Found(values, float(fits.gap.max()))
        pinned = values.shape[1] == 1
        loss, self.sigmoids = sigmoid_loss(values, self.codes, self.row_weights, pinned=pinned, start=self.sigmoids)
        return loss
