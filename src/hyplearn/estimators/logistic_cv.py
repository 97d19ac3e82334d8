"""Logistic regression that chooses its C by cross-validation, each fit beginning where the one before has ended."""

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv

from hyplearn.estimators.logistic import PoincareLogisticRegression
from hyplearn.types import Array


class PoincareLogisticRegressionCV(PoincareLogisticRegression):
    """:class:`PoincareLogisticRegression` with the C of the least log-loss on rows that were held out.

    In each fold C rises, and every fit begins at the solution for the C before: a path costs little more than its last
    fit. The model is then fitted to all rows with the best C.

    Parameters
    ----------
    reference : str, callable or array-like, default="mean"
        The centre, as in :class:`PoincareLogisticRegression`, learned anew in every fold.
    Cs : array-like of floats, default=(1, 3, 10, 30, 100, 300, 1000)
        The values of C to try.
    cv : int, splitter or iterable, default=5
        Number of folds, shuffled and stratified by class, or scikit-learn's other ways to cut rows into parts.
    fit_intercept, tol, max_iter, class_weight, n_jobs, curvature, outside, verbose
        As in :class:`PoincareLogisticRegression`.

    Attributes
    ----------
    C_ : float
        The C chosen; of several equally good ones the least.
    Cs_ : ndarray of shape (n_Cs,)
        The values tried, in rising order.
    log_losses_ : ndarray of shape (n_folds, n_Cs)
        Mean log-loss of the rows held out, by fold and C.
    classes_, coef_, intercept_, reference_, status_, primal_, dual_gap_, n_iter_, n_passes_
        Of the fit to all rows, as in :class:`PoincareLogisticRegression`.

    Examples
    --------
    >>> from hyplearn import PoincareLogisticRegressionCV
    >>> from hyplearn.datasets import load_mammals
    >>> X, y = load_mammals(return_X_y=True)
    >>> model = PoincareLogisticRegressionCV(Cs=[1, 10, 100], cv=3).fit(X, y)
    >>> print(model.C_, model.log_losses_.shape)
    100.0 (3, 3)
    """

    C_: float

    def __init__(
        self,
        reference: Any = "mean",
        *,
        Cs: Any = (1, 3, 10, 30, 100, 300, 1000),
        cv: Any = 5,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        curvature: float = -1.0,
        outside: str = "raise",
        verbose: int = 0,
    ) -> None:
        self.reference = reference
        self.Cs = Cs
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.curvature = curvature
        self.outside = outside
        self.verbose = verbose

    # What the single fit is told by its parameters.
    warm_start = False

    @property
    def C(self) -> float:  # type: ignore[override]  # noqa: N802, the name that it has in the single fit
        """The C chosen."""
        return self.C_

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose C by cross-validation, then minimise the penalised log-loss of all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the ball.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows, in the fits and in the log-loss: weight k counts as k copies, weight 0 as absence.
        """
        self.Cs_ = self._checked_costs()
        self.C_ = float(self.Cs_[0])
        self._check_options()
        data = self._labelled_rows(X, y, sample_weight, reset=True)
        weights = np.ones(len(data.X)) if data.weights is None else data.weights
        # Shuffled, as embeddings often come sorted, and a part of a hierarchy does not stand for all of it.
        cut = StratifiedKFold(self.cv, shuffle=True, random_state=0) if isinstance(self.cv, int) else check_cv(self.cv)
        folds = list(cut.split(data.X, data.y))
        paths = [self._path(data.X, data.y, weights, held_out) for _, held_out in folds]
        self.log_losses_ = np.array(paths)
        shares = np.array([weights[held_out].sum() for _, held_out in folds])
        self.C_ = float(self.Cs_[np.argmin(shares @ self.log_losses_)])
        return super().fit(X, y, sample_weight)

    def _path(self, X: Array, y: Array, weights: Array, held_out: Array) -> list[float]:
        """Mean log-loss of the rows held out, for every C."""
        rest = weights.copy()
        rest[held_out] = 0
        model = PoincareLogisticRegression(
            warm_start=True,
            **{name: getattr(self, name) for name in ("fit_intercept", "tol", "max_iter", "n_jobs", "curvature")},
            reference=clone(self.reference, safe=False),
            outside=self.outside,
        )
        columns, own = np.searchsorted(self.classes_, y[held_out]), weights[held_out]
        losses = []
        for C in self.Cs_:
            chances = model.set_params(C=float(C)).fit(X, y, rest).predict_log_proba(X[held_out])
            losses.append(float(-(own @ chances[np.arange(len(own)), columns]) / max(own.sum(), 1e-300)))
        return losses

    def _checked_costs(self) -> Array:
        try:
            costs = np.unique(np.asarray(self.Cs, dtype=np.float64))
        except (TypeError, ValueError):
            costs = np.empty(0)
        if not costs.size or not np.all((costs > 0) & (costs < np.inf)):
            raise ValueError(f"Cs must be positive finite numbers, at least one; got {self.Cs!r}.\nPass a list of C.")
        return costs
