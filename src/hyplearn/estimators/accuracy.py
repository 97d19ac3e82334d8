"""Mixin class whose ``score`` method returns the accuracy of a classifier."""

from typing import Any

from sklearn.metrics import accuracy_score

from hyplearn.data.labels import as_labels, check_one_label_per_row
from hyplearn.data.opening import is_dask
from hyplearn.scikit_learn import ClassifierMixin


class AccuracyMixin(ClassifierMixin):
    """Mixin class that defines ``score`` as the accuracy, for labels of any type and for Dask collections."""

    def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            The rows, in any form that ``predict`` accepts.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        """
        predicted = self.predict(X)
        if not is_dask(X):
            check_one_label_per_row(predicted, y)
            return float(accuracy_score(as_labels(y), predicted, sample_weight=sample_weight))
        right = (predicted == y).astype(float)
        if sample_weight is None:
            return float(right.mean().compute())
        return float(((right * sample_weight).sum() / sample_weight.sum()).compute())
