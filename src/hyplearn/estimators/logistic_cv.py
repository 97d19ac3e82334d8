"""Logistic regression that chooses C by cross-validation, with warm starts along a path of values of C."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.decision.calibration import without
from hyplearn.estimators.depth import warn_of_depth
from hyplearn.estimators.logistic import ConeClassifier
from hyplearn.estimators.validation import check_stopping
from hyplearn.types import Array


@dataclass(eq=False, repr=False)
class PoincareLogisticRegressionCV(ConeClassifier):
    """:class:`PoincareLogisticRegression` with C chosen by cross-validation, to minimise the held-out log-loss.

    In each fold, the values of C are tried in increasing order and every fit starts from the previous solution, so that
    all fits of a fold together take little more time than the fit with the largest C alone. The model is then fitted to
    all rows with the best C. The data must fit into memory.

    Parameters
    ----------
    reference : str, callable or array-like, default="mean"
        The centre, as in :class:`PoincareLogisticRegression`; it is computed separately for every fold.
    Cs : array-like of floats, default=(1, 3, 10, 30, 100, 300, 1000)
        The values of C to try.
    cv : int, splitter or iterable, default=5
        Number of shuffled and stratified folds; or a cross-validation splitter or an iterable of splits, as in
        scikit-learn.
    fit_intercept, tol, max_iter, class_weight, trim, n_jobs, curvature, outside, verbose
        As in :class:`PoincareLogisticRegression`.

    Attributes
    ----------
    C_ : float
        The chosen C; the smallest if several are equally good.
    Cs_ : ndarray of shape (n_Cs,)
        The values tried, in increasing order.
    log_losses_ : ndarray of shape (n_folds, n_Cs)
        Mean held-out log-loss for each fold and C.
    classes_, coef_, intercept_, reference_, status_, primal_, dual_gap_, n_iter_, n_passes_
        Results of the fit to all rows, as in :class:`PoincareLogisticRegression`.

    Examples
    --------
    >>> from hyplearn import PoincareLogisticRegressionCV
    >>> from hyplearn.datasets import load_mammals
    >>> X, y = load_mammals(return_X_y=True)
    >>> model = PoincareLogisticRegressionCV(Cs=[1, 10, 100], cv=3).fit(X, y)
    >>> print(model.C_, model.log_losses_.shape)
    100.0 (3, 3)
    """

    reference: Any = "mean"
    _: KW_ONLY
    Cs: Any = (1, 3, 10, 30, 100, 300, 1000)
    cv: Any = 5
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 100
    class_weight: Any = None
    trim: bool = True
    n_jobs: int | None = None
    curvature: float = -1.0
    outside: str = "raise"
    verbose: int = 0

    def _chosen_cost(self, data: TrainingData, centre: Array) -> tuple[float, Array | None, float]:
        return self.C_, None, 0.0

    def _check_parameters(self) -> None:
        self._checked_costs()
        check_stopping(self.tol, self.max_iter)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose C by cross-validation, then minimise the penalised log-loss of all rows.

        Parameters
        ----------
        X, y : as in :meth:`PoincareLogisticRegression.fit`
            Points in the ball that fit into memory, and their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, in the fits and in the log-loss. A weight of k is equivalent to k copies of the row in
            the same fold; rows with weight 0 are left out.
        """
        with self._training(X, y, sample_weight) as (data, report):
            self._check_memory(data)
            self.Cs_, rows = self._checked_costs(), data.gathered()
            # The rows are shuffled, because embeddings are often sorted by the branches of a tree, and a fold that
            # contains only one branch would not be representative.
            shuffled = StratifiedKFold(self.cv, shuffle=True, random_state=0) if isinstance(self.cv, int) else self.cv
            folds = [held_out for _, held_out in check_cv(shuffled).split(rows.X, self.classes_[rows.codes])]
            self.log_losses_ = np.array([self._path(data, rows, held_out) for held_out in folds])
            shares = np.array([rows.row_weights[held_out].sum() for held_out in folds])
            self.C_ = float(self.Cs_[np.argmin(shares @ self.log_losses_)])
            self._minimise(data, None, report)
            warn_of_depth(self, data)
            self._report_status()
        return self

    def _check_memory(self, data: TrainingData) -> None:
        if not data.in_memory:
            raise ValueError(
                f"{type(self).__name__} needs the data in memory for its folds; {data.points.name}, with "
                f"{data.n_rows:,} rows, is read in blocks.\nPass an array, raise memory= in open_points, or fit "
                "PoincareLogisticRegression with a C of your choice."
            )

    def _path(self, data: TrainingData, rows: LabelledBlock, held_out: Array) -> list[float]:
        """Return the mean log-loss on the held-out rows for each value of C."""
        part, held = data.reweighted(without(rows.row_weights, held_out)), rows.taken(held_out)
        weights, own, losses, start = held.row_weights, np.arange(len(held_out)), [], None
        for C in self.Cs_:
            self.C_ = float(C)
            self._minimise(part, start, None)
            logs, start = self.decision_.log_probabilities(held.X, held.gaps), self._W
            losses.append(float(-(weights @ logs[own, held.codes]) / max(weights.sum(), 1e-300)))
        return losses

    def _checked_costs(self) -> Array:
        try:
            costs = np.unique(np.asarray(self.Cs, dtype=np.float64))
        except (TypeError, ValueError):
            costs = np.empty(0)
        if not costs.size or not np.all((costs > 0) & (costs < np.inf)):
            raise ValueError(f"Cs must be a non-empty list of positive finite numbers; got {self.Cs!r}.")
        return costs
