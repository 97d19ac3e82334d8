"""Choice of C for SVMs without a reference point, by the log-loss on held-out rows."""

import math
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.decision.calibration import HeldOut, deal_folds, own_values, sigmoid_loss, without
from hyplearn.solvers.choice import choose_cost
from hyplearn.solvers.platt import Sigmoids
from hyplearn.solvers.svm.together import Problems, solve_together
from hyplearn.types import Array

# This many held-out rows suffice to choose C. Only as many folds are used as are needed to reach this number.
CHOICE_ROWS = 2000
# Tolerance (relative duality gap) of the fits made to choose C. A loose value is enough to compare log-losses.
CHOICE_TOL = 1e-3
# CHOICE_FIRST is the exponent of 10 at which the search for C starts. CHOICE_ENOUGH is the minimum relative improvement
# of the log-loss for a step to a smaller C (-1) and to a larger C (1). Smaller values are tried first and larger values
# must be clearly better, because the log-loss of few held-out rows has local minima at large values, where the models
# overfit single rows. A search that started at C = 10 and accepted every improvement gave log-losses that were 2.5 %
# higher on 60 data sets, and 1.6 % higher on 62 others.
CHOICE_FIRST, CHOICE_ENOUGH = 0, {-1: 0.0, 1: 0.02}


def choice_rows(data: TrainingData, most: int) -> LabelledBlock:
    """Return the rows on which C is chosen: all rows, or a subsample of about ``most`` rows with a mean weight of 1."""
    block, is_part = data.subsampled(most)
    weights = block.row_weights
    return block._replace(weights=weights * (len(weights) / weights.sum() if is_part else 1.0))


class ChosenCost(NamedTuple):
    """Value of C and, if it was found by a search, results of the search.

    ``W`` contains the starting weights of the final fit, one row per problem. ``held_out`` contains the arsinh of the
    scores of held-out rows, which are used for the calibration.
    """

    C: Any
    W: Array | None = None
    held_out: HeldOut | None = None  # None if some folds were not used, or if some fits did not converge
    problems: Problems | None = None  # all binary problems, with costs for C = 1; None if C was chosen on a subsample


def choose_held_out(problems: Problems, n_folds: int, n_classes: int) -> ChosenCost:
    """Choose a power of ten for C by the log-loss on held-out rows; choose 1 if no row can be held out.

    ``problems`` contains one binary problem for each positive class, with the costs of all rows for C = 1.
    """
    codes, weights = problems.codes, problems.costs[:, 0]
    W = solve_together(problems, tol=CHOICE_TOL).W
    values = np.arcsinh(np.hstack([rows @ W[problems.sets == k].T for k, rows in enumerate(problems.rows)]))
    lengths = np.linalg.norm(problems.rows[0], axis=1)
    dealt, n_distinct = deal_folds(own_values(values, codes), codes, weights, n_folds, n_classes, spare=lengths)
    used = min(n_folds, -(-CHOICE_ROWS * n_folds // len(codes)))
    held = np.flatnonzero((dealt >= 0) & (dealt < used))
    if not len(held):
        return ChosenCost(1.0, W)
    path = _Path(problems, dealt, held, used, W)
    C = choose_cost(path.log_loss, first=CHOICE_FIRST, enough=CHOICE_ENOUGH)
    found, W = path.found[C], path.weights[C].mean(axis=1)
    if used < n_folds or found.gap > CHOICE_TOL:
        return ChosenCost(C, W)
    values[held] = found.values
    return ChosenCost(C, W, HeldOut(values, dealt, n_distinct))


class _Found(NamedTuple):
    """Results for one C: arsinh of the scores of held-out rows, and the largest relative duality gap of the fits."""

    values: Array
    gap: float


class _Path:
    """Fits for several values of C; each fit leaves out one fold.

    A fit starts from the solution for the nearest C, on a logarithmic scale, that has already been tried. The first
    fits start from the solution for all rows with C = 1.
    """

    def __init__(self, problems: Problems, dealt: Array, held: Array, n_folds: int, start: Array) -> None:
        weights, codes = problems.costs[:, 0], problems.codes
        costs = np.column_stack([without(weights, dealt == fold) for fold in range(n_folds)])
        self.folds = problems.in_folds(costs)
        self.rows, self.sets = problems.rows[:, held], problems.sets
        self.codes, self.row_weights, self.fold = codes[held], weights[held], dealt[held]
        # For each value of C, the weights of the fits that leave out one fold, of shape (problems, folds, columns). The
        # entry for C = 1 contains the weights fitted to all rows until the fits for C = 1 replace it.
        self.weights = {1.0: np.repeat(start[:, None], n_folds, axis=1)}
        self.found = dict[float, _Found]()
        self.sigmoids: Sigmoids | None = None

    def log_loss(self, C: float) -> float:
        """Fit all problems for the given C, leaving out each fold in turn; return the log-loss of the held-out rows."""
        start = self.weights[min(self.weights, key=lambda other: abs(math.log(other / C)))]
        fits = solve_together(self.folds.at_costs(C), tol=CHOICE_TOL, start=start.reshape(-1, start.shape[2]))
        self.weights[C] = weights = fits.W.reshape(start.shape)
        margins = [
            np.einsum("im,im->i", self.rows[k], own[self.fold]) for k, own in zip(self.sets, weights, strict=True)
        ]
        values = np.arcsinh(np.column_stack(margins))
        self.found[C] = _Found(values, float(fits.gap.max()))
        pinned = values.shape[1] == 1
        loss, self.sigmoids = sigmoid_loss(values, self.codes, self.row_weights, pinned=pinned, start=self.sigmoids)
        return loss
