"""Base class of the linear and kernel classifiers, with the scikit-learn methods for points from any data source."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hyplearn.data.folding import one_blas_thread
from hyplearn.data.opening import is_dask
from hyplearn.data.training import TrainingData
from hyplearn.decision import Decision
from hyplearn.estimators.accuracy import AccuracyMixin
from hyplearn.estimators.validation import (
    evaluate,
    lazily,
    restored_on_failure,
    training_data,
    training_points,
)
from hyplearn.progress import FitReporter, report_fit
from hyplearn.scikit_learn import BaseEstimator
from hyplearn.types import Array


def _calibrates(classifier: "BallClassifier") -> bool:
    """Return True if the classifier computes probabilities; raise AttributeError if it has ``calibration=None``."""
    if getattr(classifier, "calibration", "") is None:
        raise AttributeError(
            f'{type(classifier).__name__} has no probabilities with calibration=None.\nPass calibration="cross-fitted".'
        )
    return True


# Number of rows that ``verify`` processes at a time when it recomputes a certificate (the proof of the duality gap).
# The features of these rows are held in memory, so this number limits the memory use.
VERIFIED_ROWS = 10_000
ADVICE = {
    "max_iter": "Raise max_iter, lower C, or rescale the embedding.",
    "stalled": "Limited by rounding errors: lower C, or raise tol.",
}


def warn_unsolved(estimator: "BallClassifier", gap: float, status: str, problems: str = "") -> None:
    """Warn that the solver did not reach the relative duality gap ``estimator.tol``."""
    warnings.warn(
        f"{type(estimator).__name__} reached a relative duality gap of {gap:.1e}, not tol={estimator.tol:.1e} "
        f'({problems}status "{status}").\n{ADVICE[status]}',
        ConvergenceWarning,
        stacklevel=4,
    )


class BallClassifier(AccuracyMixin, BaseEstimator):
    """Base class of the linear and kernel classifiers for points in the ball.

    Subclasses set ``decision_`` at the end of :meth:`fit`; all predictions are computed from it.
    """

    curvature: float
    outside: str
    class_weight: Any
    n_jobs: int | None
    verbose: int = 0
    tol: float = 1.0
    trim: bool = False
    classes_: Array
    decision_: Decision

    @property
    def trims(self) -> bool:
        """Whether ``fit`` ignores rows that lie far beyond the other rows of their class."""
        return bool(self.trim)

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise if a parameter is invalid."""

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to labelled points from any source."""

    @contextmanager
    def _training(self, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[TrainingData, FitReporter]]:
        """Yield the training data and a progress reporter; restore the estimator if ``fit`` fails."""
        self._check_parameters()
        with restored_on_failure(self), one_blas_thread():
            points = training_points(self, X, y, sample_weight, reset=True)
            with report_fit(type(self).__name__, self.tol, self.verbose, points) as report:
                yield training_data(self, points), report
        points.finished()

    @abstractmethod
    def _decide(self) -> Decision:
        """Build the decision from the fitted attributes."""

    def predict(self, X: Any) -> Any:
        """Predict the class of each point, from the argmax (or sign, for two classes) of its decision scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            Points in the ball. Files are read in blocks; for a Dask collection the result is a lazy Dask collection.
        """
        return self._evaluated("predict", X, None, self.classes_.dtype if hasattr(self, "classes_") else None)

    def decision_function(self, X: Any) -> Any:
        """Compute the decision scores, whose argmax (or sign, for two classes) determines the predicted class.

        If the model has probabilities, the scores are log-odds: ``predict_proba`` is their sigmoid or softmax, mixed
        with equal probabilities if ``decision_.calibration.floor`` is positive. Otherwise the scores are not
        calibrated: they are signed distances to the boundaries or, if :class:`~hyplearn.PoincareSVC` uses cone
        coordinates, the arsinh of linear functions of these coordinates. The baselines in :mod:`hyplearn.paper` define
        their own scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            Points in the ball.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, n_classes) for more.
        """
        return self._evaluated("decision_function", X, self._columns(binary=False), np.float64)

    @available_if(_calibrates)
    def predict_proba(self, X: Any) -> Any:
        """Predict the class probabilities, of shape (n_samples, n_classes), with columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            Points in the ball.
        """
        return self._evaluated("predict_proba", X, self._columns(), np.float64)

    @available_if(_calibrates)
    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class; it is finite even if the probability underflows."""
        return self._evaluated("predict_log_proba", X, self._columns(), np.float64)

    def _columns(self, *, binary: bool = True) -> list[Any] | None:
        """Return the column names of a result with one column per class; None if it has only one value per point."""
        check_is_fitted(self)
        return self.classes_.tolist() if binary or len(self.classes_) > 2 else None

    def _evaluated(self, method: str, X: Any, columns: list[Any] | None, dtype: Any) -> Any:
        check_is_fitted(self)
        if is_dask(X):
            return lazily(self, method, X, columns, dtype)
        decision = self.decision_
        if method.endswith("proba") and not decision.has_probabilities:
            raise AttributeError(
                f"{type(self).__name__} has no probabilities after partial_fit: they are calibrated on held-out "
                "scores, which a stream does not provide.\nUse fit, or decision_function."
            )
        functions = {
            "predict": decision.predict,
            "decision_function": decision.decision_function,
            "predict_log_proba": decision.log_probabilities,
            "predict_proba": lambda X, gaps: np.exp(decision.log_probabilities(X, gaps)),
        }
        return evaluate(self, X, functions[method])
