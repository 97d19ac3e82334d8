"""Choice of C for SVMs without a reference point, by the log-loss on held-out rows."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.decision.calibration import HeldOut, deal_folds, own_values, sigmoid_loss, without
from hyplearn.solvers.choice import choose_cost
from hyplearn.solvers.platt import Sigmoids
from hyplearn.solvers.svm.together import Problems, solve_together
from hyplearn.types import Array

# Number of held-out rows, summed over all folds, that is enough to choose C.
CHOICE_ROWS = 2000
# Tolerance (relative duality gap) of the fits that choose C. A loose value is enough to compare log-losses.
CHOICE_TOL = 1e-3
# CHOICE_FIRST is the exponent of 10 at which the search for C starts. CHOICE_ENOUGH is the minimum relative improvement
# of the log-loss for a step to a smaller C (-1) and to a larger C (1). Smaller values are tried first and larger values
# must be clearly better, because the log-loss of few held-out rows has local minima at large values, where the fits
# follow single rows. A search that started at 10 and took every improvement gave log-losses 2.5 % higher on 60 data
# sets, and 1.6 % higher on 62 others.
CHOICE_FIRST, CHOICE_ENOUGH = 0, {-1: 0.0, 1: 0.02}


def choice_rows(data: TrainingData, most: int) -> LabelledBlock:
    """Return a subsample of about ``most`` rows for the choice of C, with weights scaled to a mean of 1."""
    block, is_part = data.subsampled(most)
    weights = block.row_weights
    return block._replace(weights=weights * (len(weights) / weights.sum() if is_part else 1.0))


class ChosenCost(NamedTuple):
    """Value of C; if it was found by a search, also weights close to the solution and held-out values of all rows."""

    C: Any
    W: Array | None = None
    held_out: HeldOut | None = None  # None if some rows were never held out or some fits did not converge


def choose_held_out(groups: Sequence[Problems], n_folds: int, n_classes: int) -> ChosenCost:
    """Choose a power of ten for C by the log-loss on held-out rows; choose 1 if no row can be held out.

    ``groups`` contain one binary problem for each positive class, on all rows, with the costs for C = 1. The problems
    of a group share their rows.
    """
    codes, weights = groups[0].codes, groups[0].costs[:, 0]
    starts = [solve_together(problems, tol=CHOICE_TOL).W for problems in groups]
    W = np.vstack(starts)
    values = np.arcsinh(np.hstack([problems.rows @ own.T for problems, own in zip(groups, starts, strict=True)]))
    lengths = np.linalg.norm(groups[0].rows, axis=1)
    dealt, n_distinct = deal_folds(own_values(values, codes), codes, weights, n_folds, n_classes, spare=lengths)
    used = min(n_folds, -(-CHOICE_ROWS * n_folds // len(codes)))
    held = np.flatnonzero((dealt >= 0) & (dealt < used))
    if not len(held):
        return ChosenCost(1.0, W)
    path = _Path(groups, dealt, held, used, starts)
    C = choose_cost(path.log_loss, first=CHOICE_FIRST, enough=CHOICE_ENOUGH)
    found, W = path.found[C], np.vstack([own.mean(axis=0) for own in path.weights[C]])
    if used < n_folds or found.gap > CHOICE_TOL:
        return ChosenCost(C, W)
    values[held] = found.values
    return ChosenCost(C, W, HeldOut(values, dealt, n_distinct))


class _Found(NamedTuple):
    """Held-out values for one value of C, and the largest duality gap of the fits."""

    values: Array
    gap: float


class _Path:
    """Held-out fits for several values of C; new fits start from the weights for the nearest earlier value."""

    def __init__(
        self, groups: Sequence[Problems], dealt: Array, held: Array, n_folds: int, starts: Sequence[Array]
    ) -> None:
        weights, codes = groups[0].costs[:, 0], groups[0].codes
        costs = np.column_stack([without(weights, dealt == fold) for fold in range(n_folds)])
        self.folds = [problems.in_folds(costs) for problems in groups]
        self.rows = [problems.rows[held] for problems in groups]
        self.codes, self.row_weights, self.fold = codes[held], weights[held], dealt[held]
        # For each value of C, the weights of all groups, as arrays of shape (folds, problems, columns).
        self.weights = {1.0: [np.tile(own, (n_folds, 1, 1)) for own in starts]}
        self.found = dict[float, _Found]()
        self.sigmoids: Sigmoids | None = None

    def log_loss(self, C: float) -> float:
        """Fit all folds with the given C, and return the log-loss of the held-out rows."""
        nearest = min(self.weights, key=lambda other: abs(math.log(other / C)))
        weights, parts, gap = [], [], 0.0
        for folds, rows, start in zip(self.folds, self.rows, self.weights[nearest], strict=True):
            fits = solve_together(folds.at_costs(C), tol=CHOICE_TOL, start=start.reshape(-1, start.shape[2]))
            weights.append(fits.W.reshape(start.shape))
            parts.append(np.einsum("im,ipm->ip", rows, weights[-1][self.fold]))
            gap = max(gap, float(fits.gap.max()))
        values = np.arcsinh(np.hstack(parts))
        self.weights[C], self.found[C] = weights, _Found(values, gap)
        pinned = values.shape[1] == 1
        loss, self.sigmoids = sigmoid_loss(values, self.codes, self.row_weights, pinned=pinned, start=self.sigmoids)
        return loss
