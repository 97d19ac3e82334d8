"""Choose C for an SVM without a reference point by the log-loss on held-out rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.decision.calibration import deal_folds, own_values, sigmoid_loss, without
from hyplearn.solvers.choice import choose_cost
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


def choose_held_out(problems: Problems, n_folds: int, n_classes: int) -> float:
    """Return the power of ten for C with the smallest log-loss on held-out rows, or 1 if no row can be held out.

    ``problems`` contains one binary problem for each positive class, on all rows, with the costs for C = 1.
    """
    codes, weights, P = problems.codes, problems.costs[:, 0], len(problems.positives)
    values = np.arcsinh(problems.rows @ solve_together(problems, tol=CHOICE_TOL).W.T)
    lengths = np.linalg.norm(problems.rows, axis=1)
    dealt, _ = deal_folds(own_values(values, codes), codes, weights, n_folds, n_classes, spare=lengths)
    n_folds = min(n_folds, -(-CHOICE_ROWS * n_folds // len(codes)))
    held = np.flatnonzero((dealt >= 0) & (dealt < n_folds))
    if not len(held):
        return 1.0
    folds = _folds(problems, [without(weights, dealt == fold) for fold in range(n_folds)])
    start: Array | None = None

    def log_loss(C: float) -> float:
        nonlocal start
        start = solve_together(replace(folds, costs=C * folds.costs), tol=CHOICE_TOL, start=start).W
        W = start.reshape(n_folds, P, -1)[dealt[held]]
        values = np.arcsinh(np.einsum("im,ipm->ip", problems.rows[held], W))
        return sigmoid_loss(values, codes[held], weights[held], pinned=P == 1)

    return choose_cost(log_loss)


def _folds(problems: Problems, weights: Sequence[Array]) -> Problems:
    return Problems.of_folds(problems.rows, problems.codes, problems.positives, np.column_stack(weights))
