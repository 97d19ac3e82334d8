"""ConformalClassifier: prediction sets with guaranteed coverage, for any classifier."""

import numbers
import os
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, assert_all_finite, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from hyplearn.data import labels
from hyplearn.data.opening import is_dask, point_source
from hyplearn.data.points import PointSource
from hyplearn.decision.conformal import (
    HeldOut,
    Neighbours,
    calibration_groups,
    deal_in_turn,
    distance_p_values,
    least_rows,
    p_values,
    prediction_sets,
)
from hyplearn.estimators.accuracy import AccuracyMixin
from hyplearn.estimators.hierarchy import Hierarchy
from hyplearn.estimators.validation import absolute_curvature, inside_rows, prediction_points, restored_on_failure
from hyplearn.scikit_learn import BaseEstimator, MetaEstimatorMixin
from hyplearn.types import Array


class SmallClassWarning(UserWarning):
    """Warning that a class has too few rows for a coverage guarantee of its own."""


def _has(name: str) -> Any:
    """Return a decorator that makes a method available only if the wrapped classifier has the method ``name``."""

    def check(classifier: "ConformalClassifier") -> bool:
        getattr(getattr(classifier, "estimator_", classifier.estimator), name)
        return True

    return available_if(check)


@dataclass(eq=False, repr=False)
class ConformalClassifier(MetaEstimatorMixin, AccuracyMixin, BaseEstimator):
    r"""Conformal prediction: sets of classes that contain the true class with a given probability, for any classifier.

    ``predict`` uses the classifier fitted to all rows. ``predict_set`` returns all classes that a row may belong to;
    the set is empty for a row that is unlike all classes. With a tree of classes, ``predict_answer`` returns the
    root of the smallest subtree that contains the set: for example "lymphocyte" if T and B cells cannot be
    distinguished.

    Parameters
    ----------
    estimator : estimator
        A classifier of hyplearn or scikit-learn; it is cloned.
    coverage : float, default=0.9
        Requested probability that the set of a row contains its true class; the Notes state what is guaranteed.
    by_class : bool, default=True
        Whether the guarantee holds for each class separately. If False, it holds only on average over all rows: the
        sets are smaller, but rare classes may be missed more often.
    hierarchy : mapping, networkx.DiGraph or str, optional
        Tree of the classes, for :meth:`predict_answer`: a mapping from each node to its parent; a graph with edges from
        parent to child; or a Newick string. In a mapping or a graph, nodes may have several parents, as in the Cell
        Ontology; the values of the mapping are then lists.
    conformity : {"probability", "distance"}, default="probability"
        Measure of how well a row fits a class. "probability": the predicted probability of the class (or its decision
        score, for classifiers without probabilities). "distance": the mean distance to the five nearest training rows
        of the class; distances are hyperbolic if the classifier has a curvature, and Euclidean otherwise. Distances
        also detect rows of classes that were not in the training data.
    folds : int, default=5
        Number of folds for ``conformity="probability"``. Each row is scored by a model fitted to the other folds.

    Attributes
    ----------
    estimator_ : estimator
        The classifier fitted to all rows.
    estimators_ : list of estimators
        One classifier per fold, fitted to the other folds; empty for ``conformity="distance"``.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    scores_ : ndarray of shape (n_samples,)
        Nonconformity score of each training row for its own class: the lower the score, the better the row fits the
        class. The score is computed with the model that was fitted without the fold of this row or, for
        ``conformity="distance"``, from the distances to other rows of the class.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X has them.

    Notes
    -----
    The guarantee holds for rows that are exchangeable with the training rows. With :math:`\alpha = 1 -` coverage:

    - ``conformity="distance"`` is full conformal prediction: the coverage is at least :math:`1 - \alpha` and, if no
      distances are equal, exceeds it by at most :math:`1 / (n + 1)`, where n is the number of rows of the class (of all
      rows with ``by_class=False``).
    - ``conformity="probability"`` is cross-conformal prediction (Vovk, 2015). The proven coverage is
      :math:`1 - 2 \alpha - 2 (1 - 1/K) / (n/K + 1)` with K folds and the same n
      (:func:`hyplearn.decision.conformal.proved_coverage`); the measured coverage is :math:`1 - \alpha` or slightly
      more.

    The set is empty for up to a fraction :math:`\alpha` of the rows of known classes. If the p-values of a class with
    fewer than :math:`1/\alpha - 1` rows were computed only from these rows, the class would be in every set. All such
    classes are therefore calibrated together, if necessary with the next larger classes. Coverage is then guaranteed
    for these classes taken together, not for each of them, and a ``SmallClassWarning`` names them. The rows of a class
    are assigned to the folds in turn; nothing is random.

    Sample weights are passed to the classifier, and also weight the rows in the p-values.

    Examples
    --------
    >>> from hyplearn import ConformalClassifier, PoincareLogisticRegression
    >>> from hyplearn.datasets import load_mammals
    >>> import numpy as np
    >>> X, y = load_mammals(return_X_y=True)
    >>> new = np.random.default_rng(0).permutation(len(X)) < 300
    >>> model = ConformalClassifier(PoincareLogisticRegression(), conformity="distance").fit(X[~new], y[~new])
    >>> sets = model.predict_set(X[new])
    >>> hit = sets[np.arange(300), np.searchsorted(model.classes_, y[new])]
    >>> print(f"{hit.mean():.0%} of the sets hold the order; {sets.sum(axis=1).mean():.2f} orders in a set")
    90% of the sets hold the order; 1.00 orders in a set
    """

    estimator: Any
    _: KW_ONLY
    coverage: float = 0.9
    by_class: bool = True
    hierarchy: Any = None
    conformity: str = "probability"
    folds: int = 5

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the classifier to all rows, and compute a held-out score of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source that fits into memory
            The rows, in any form that the classifier accepts.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        """
        self._check_parameters()
        with restored_on_failure(self):
            X, y, weights = self._training_rows(X, y, sample_weight)
            self.classes_, self._codes = labels.distinct(y)
            self._weights = np.ones(len(y)) if weights is None else weights
            self._check_classes()
            self.estimator_ = _fitted(self.estimator, X, y, weights, np.arange(len(y)))
            (self._calibrate_by_distance if self.conformity == "distance" else self._calibrate)(X, y, weights)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the class of each row, with the classifier that was fitted to all rows."""
        X = self._checked(X)
        return self.estimator_.predict(X)

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class, with the classifier that was fitted to all rows."""
        X = self._checked(X)
        return self.estimator_.predict_proba(X)

    @_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Array:
        """Predict the log-probability of each class, with the classifier that was fitted to all rows."""
        X = self._checked(X)
        return self.estimator_.predict_log_proba(X)

    @_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """Compute the decision scores, with the classifier that was fitted to all rows."""
        X = self._checked(X)
        return self.estimator_.decision_function(X)

    @property
    def decision_(self) -> Any:
        """Decision object of the classifier that was fitted to all rows; it is used for plots."""
        return self.estimator_.decision_

    def p_values(self, X: Any) -> Array:
        """Compute the p-value of each class for each row, as an array of shape (n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        """
        X = self._checked(X)
        if is_dask(X):
            raise ValueError("Prediction sets are computed in memory; got a Dask collection.\nPass X.compute().")
        if hasattr(self, "_near"):
            return distance_p_values(self._points(X), self._near, len(self.classes_), self._c, self._groups)
        scores = [self._scores_without(fold, X) for fold in range(len(self.estimators_))]
        return p_values(scores, HeldOut(self.scores_, self._codes, self._folds, self._weights), self._groups)

    def predict_set(self, X: Any, *, as_labels: bool = False) -> Any:
        """Predict the set of classes that each row may belong to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        as_labels : bool, default=False
            Whether to return the labels of each set rather than a matrix.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes), or list of lists of labels
            The sets, with columns in the order of ``classes_``. An empty set means that the row is unlike all classes.
        """
        sets = prediction_sets(self.p_values(X), self.coverage)
        return [self.classes_[row].tolist() for row in sets] if as_labels else sets

    def predict_answer(self, X: Any) -> Array:
        """Return, for each row, the root of the smallest subtree of the hierarchy that contains its prediction set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of object of shape (n_samples,)
            Names of nodes; None for rows with an empty set. An unnamed node is named after the classes below it.
        """
        check_is_fitted(self, "scores_")
        if self.hierarchy is None:
            raise ValueError("predict_answer needs a tree of classes.\nPass hierarchy=, or call predict_set.")
        return Hierarchy.of(self.hierarchy, self.classes_).answers(self.predict_set(X))

    def set_columns(self, sets: Array) -> dict[str, Array]:
        """Convert prediction sets to columns with one entry per row, for tables and plots.

        Parameters
        ----------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Sets from :meth:`predict_set`.

        Returns
        -------
        dict
            "set": class names joined by " | ", None for an empty set; "set size": number of classes; "unknown": whether
            the set is empty; with a hierarchy also "answer": the node that :meth:`predict_answer` returns, or None.
        """
        names = np.array([labels.plain_string(label) for label in self.classes_.tolist()], dtype=object)
        joined = [" | ".join(names[row]) if row.any() else None for row in sets]
        size = sets.sum(axis=1)
        columns = {"set": np.array(joined, dtype=object), "set size": size, "unknown": size == 0}
        if self.hierarchy is not None:
            answers = Hierarchy.of(self.hierarchy, self.classes_).answers(sets)
            named = [None if answer is None else str(answer) for answer in answers]
            columns["answer"] = np.array(named, dtype=object)
        return columns

    def _check_parameters(self) -> None:
        coverage, folds = self.coverage, self.folds
        if not isinstance(coverage, numbers.Real) or isinstance(coverage, bool) or not 0 < coverage < 1:
            raise ValueError(f"coverage must be a number above 0 and below 1; got {coverage!r}.")
        if not isinstance(folds, numbers.Integral) or isinstance(folds, bool) or folds < 2:
            raise ValueError(f"folds must be an integer of at least 2; got {folds!r}.")
        if self.conformity not in ("probability", "distance"):
            raise ValueError(f'conformity must be "probability" or "distance"; got {self.conformity!r}.')
        if not hasattr(self.estimator, "fit") or not hasattr(self.estimator, "predict"):
            raise TypeError(
                f"estimator must be a classifier with fit and predict; got {self.estimator!r:.80}.\n"
                "Pass an instance, such as PoincareLogisticRegression()."
            )

    def _training_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
        """Return the rows in an indexable form, their labels, and their weights (None if no weights are given)."""
        source = point_source(X, y, sample_weight)
        if source is not None:
            block = source.within_memory()
            if block is None:
                raise ValueError(
                    f"{type(self).__name__} needs all rows in memory, but {source.name} does not fit.\n"
                    "Pass a sample of its rows; a few hundred per class are enough."
                )
            X, y, sample_weight = block.X, block.y, block.weights
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        validate_data(self, X, skip_check_array=True)
        labels.check_one_label_per_row(X, y)
        y = column_or_1d(labels.as_labels(y), warn=True)
        assert_all_finite(y, input_name="y")
        X, y = indexable(X, y)
        check_classification_targets(y)
        if sample_weight is None:
            return X, y, None
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"{type(self.estimator).__name__} does not support sample_weight.\nDo not pass weights.")
        return X, y, _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _check_classes(self) -> None:
        """Raise if there are too few classes or rows, or if a class is not in the hierarchy.

        Warn if a class has too few rows for a guarantee of its own.
        """
        counts = np.bincount(self._codes)
        if len(counts) < 2 or counts.min() < 2 or len(self._codes) < self.folds:
            k = int(np.argmin(counts))
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes, 2 rows in each class and {self.folds} rows in total; "
                f"got {len(counts)} class{'es' if len(counts) > 1 else ''}, {len(self._codes)} rows in total, and "
                f"{counts[k]} in the smallest class, {self.classes_.tolist()[k]!r}.\n"
                "Pass more rows, or leave this class out."
            )
        if self.hierarchy is not None:
            Hierarchy.of(self.hierarchy, self.classes_)
        totals = self._totals
        few = np.flatnonzero(totals < least_rows(self.coverage))
        if self.by_class and len(few):
            named = ", ".join(f"{self.classes_.tolist()[k]!r} ({totals[k]:g})" for k in few[:5])
            groups = self._groups
            joined = [repr(self.classes_.tolist()[k]) for k in np.flatnonzero(groups == groups[few[0]]) if k not in few]
            warnings.warn(
                f"Classes with fewer than {least_rows(self.coverage)} rows have no per-class guarantee at coverage="
                f"{self.coverage}: {named}{', ...' if len(few) > 5 else ''}. They are calibrated together"
                f"{' with ' + ', '.join(joined) if joined else ''}.\n"
                "Pass more rows of these classes, or a lower coverage.",
                SmallClassWarning,
                stacklevel=3,
            )

    @property
    def _totals(self) -> Array:
        """Total weight of each class."""
        return np.bincount(self._codes, weights=self._weights, minlength=len(self.classes_))

    @property
    def _groups(self) -> Array:
        """Index of the group to which each class belongs; the classes of a group are calibrated together."""
        return calibration_groups(self._totals, self.coverage) if self.by_class else np.zeros(len(self.classes_), int)

    def _calibrate(self, X: Any, y: Array, weights: Array | None) -> None:
        """For each fold, fit a model to the other folds, and compute the scores of the fold's rows with this model."""
        self.__dict__.pop("_near", None)  # remove the neighbours of an earlier fit
        self._folds = deal_in_turn(self._codes, self.folds)
        others = [np.flatnonzero(self._folds != fold) for fold in range(self.folds)]
        self.estimators_ = [_fitted(self.estimator, X, y, weights, rows) for rows in others]
        self.scores_ = np.empty(len(y))
        for fold in range(self.folds):
            held = np.flatnonzero(self._folds == fold)
            found = self._scores_without(fold, _safe_indexing(X, held))
            self.scores_[held] = found[np.arange(len(held)), self._codes[held]]

    def _calibrate_by_distance(self, X: Any, y: Array, weights: Array | None) -> None:
        """Score each row by its mean distance to the nearest other rows of its class."""
        self._near = Neighbours.of(self._points(X), self._codes, self._weights, self._c)
        self._folds = np.zeros(len(y), dtype=np.int64)
        self.estimators_, self.scores_ = [], self._near.means

    def _scores_without(self, fold: int, X: Any) -> Array:
        """Return the scores of all classes for each row, from the model fitted without ``fold``.

        Low scores mean a good fit.
        """
        model, K = self.estimators_[fold], len(self.classes_)
        if hasattr(model, "predict_proba"):
            found = -model.predict_proba(X)
        elif hasattr(model, "decision_function"):
            found = -model.decision_function(X)
            found = np.column_stack([-found, found]) if found.ndim == 1 else found
        else:
            raise TypeError(
                f"{type(model).__name__} has neither predict_proba nor decision_function.\n"
                'Pass conformity="distance", or another classifier.'
            )
        # A class that does not occur in the other folds, to which the model was fitted, gets the worst score.
        scores = np.full((len(found), K), np.inf)
        scores[:, np.searchsorted(self.classes_, model.classes_)] = found
        return scores

    @property
    def _c(self) -> float | None:
        curvature = getattr(self.estimator, "curvature", None)
        return None if curvature is None else absolute_curvature(curvature)

    def _points(self, X: Any) -> Array:
        """Validate the rows for ``conformity="distance"``; for a hyperbolic classifier they must lie in the ball."""
        X = check_array(X, dtype=np.float64, order="C", estimator=self, input_name="X")
        return X if self._c is None else inside_rows(self.estimator, X)[0]

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "scores_")
        if isinstance(X, (str, os.PathLike, PointSource)):
            return prediction_points(self, X).gathered(labelled=False).X
        if getattr(X, "ndim", 2) != 1 and not is_dask(X):  # the classifier raises an error if X is 1D
            validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.input_tags.sparse &= self.conformity == "probability"
        return tags


def _fitted(estimator: Any, X: Any, y: Array, weights: Array | None, rows: Array) -> Any:
    """Clone the classifier, fit the clone to the rows with the indices ``rows``, and return it."""
    given = {} if weights is None else {"sample_weight": weights[rows]}
    return clone(estimator).fit(_safe_indexing(X, rows), y[rows], **given)
