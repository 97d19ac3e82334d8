"""The classifiers of the package for points on a Dask cluster."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyplearn.dask.chunks import is_collection
from hyplearn.dask.lazy import lazily
from hyplearn.dask.points import DaskPoints
from hyplearn.estimators import PoincareLogisticRegression, PoincareSVC
from hyplearn.estimators.ball_classifier import BallClassifier

# Of no use to predictions, and as large as the data at worst.
UNUSED = ("support_", "support_vectors_", "dual_coef_")


def check_labelled(estimator: Any, y: Any) -> None:
    """Refuse points without labels."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} learns from labelled points; got no y.\nPass their labels.")


class DaskClassifier(BallClassifier):
    """A classifier that learns as its local twin does, and lets the twin speak of every chunk.

    Comes before the local class among the bases of an estimator, whose parameters and attributes it has.
    """

    local: ClassVar[type[BallClassifier]]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, client: Any = None) -> Self:
        """Learn from points on the workers of a cluster; the model is that of the local estimator, up to rounding.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask dataframe
            Points of the ball, float32 or float64, in chunks of any size; columns of a dataframe become
            ``feature_names_in_``.
        y : dask array of shape (n_samples,), or dask series
            Labels.
        sample_weight : dask array of shape (n_samples,), or dask series, optional
            Factors of C by row: weight k counts as k copies, weight 0 as absence.
        client : distributed.Client, optional
            The cluster; by default the one that was started last.
        """
        check_labelled(self, y)
        twin: Any = self._twin()
        twin.fit(DaskPoints(X, y, sample_weight, client=client))
        self.__dict__.update(vars(twin))
        return self

    def to_local(self) -> Any:
        """The ordinary estimator with the same parameters and the same model, which needs no cluster."""
        check_is_fitted(self)
        twin = self._twin()
        twin.__dict__.update(vars(self))
        return twin

    def _twin(self) -> BallClassifier:
        return self.local(**self.get_params(deep=False))

    def _speaker(self) -> Any:
        """The local estimator with all that predictions need, to be sent to workers."""
        speaker = self.to_local()
        for name in UNUSED:
            vars(speaker).pop(name, None)
        return speaker

    def predict(self, X: Any) -> Any:
        """The most probable class of each point; of a Dask collection lazily, of an array at once.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), dask dataframe, or array-like
            Points of the ball.

        Returns
        -------
        dask array, dask series with the index of X, or ndarray
        """
        return lazily(self._speaker(), "predict", X, None, self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class; of a Dask collection lazily. Columns of a dataframe are the classes.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), dask dataframe, or array-like
            Points of the ball.
        """
        speaker = self._speaker()
        speaker.predict_proba  # noqa: B018, it tells now where there are no probabilities
        return lazily(speaker, "predict_proba", X, self.classes_.tolist(), np.float64)

    def decision_function(self, X: Any) -> Any:
        """Scores whose sign, or of more than two classes whose largest, is the prediction; lazily as in ``predict``.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), dask dataframe, or array-like
            Points of the ball.
        """
        speaker = self._speaker()
        columns = None if len(self.classes_) == 2 else self.classes_.tolist()
        return lazily(speaker, "decision_function", X, columns, np.float64)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of :meth:`predict_proba`, exact where these are too small for a float."""
        return lazily(self._speaker(), "predict_log_proba", X, self.classes_.tolist(), np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy, computed where the points are.

        Parameters
        ----------
        X, y, sample_weight
            Dask collections as in :meth:`fit`, or arrays.
        """
        if not is_collection(X):
            return float(self.to_local().score(X, y, sample_weight))
        right = (self.predict(X) == y).astype(float)
        if sample_weight is None:
            return float(right.mean().compute())
        return float(((right * sample_weight).sum() / sample_weight.sum()).compute())


class DaskPoincareSVC(DaskClassifier, PoincareSVC):
    """:class:`~hyplearn.PoincareSVC` of points on a Dask cluster.

    Parameters and fitted attributes are those of :class:`~hyplearn.PoincareSVC`; ``solver="sgd"``, ``warm_start`` and
    ``outside="project"`` need points in memory, as does a ``reference`` that is a function. ``n_jobs`` does not count:
    every worker uses the threads that it has.

    Examples
    --------
    See :mod:`hyplearn.dask`.
    """

    local = PoincareSVC


class DaskPoincareLogisticRegression(DaskClassifier, PoincareLogisticRegression):
    """:class:`~hyplearn.PoincareLogisticRegression` of points on a Dask cluster.

    Parameters and fitted attributes are those of :class:`~hyplearn.PoincareLogisticRegression`; ``warm_start`` begins
    anew, and ``outside="project"`` needs points in memory. ``n_jobs`` does not count: every worker uses the threads
    that it has.

    Examples
    --------
    See :mod:`hyplearn.dask`.
    """

    local = PoincareLogisticRegression
