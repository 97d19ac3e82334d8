"""One class against the rest: K binary problems, and the probabilities that make their scores comparable."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hyplearn.data.labelled import Labelled
from hyplearn.estimators.ball_classifier import FEW_ROWS, BallClassifier, LabelledRows
from hyplearn.estimators.streaming import CALIBRATED_NUMBERS
from hyplearn.estimators.threads import one_blas_thread, threads_of
from hyplearn.estimators.validation import absolute_curvature, ball_rows
from hyplearn.geometry.kernels import gaps
from hyplearn.reference import checked_point, reference_point
from hyplearn.reference.passes import streamed_references
from hyplearn.rows.subsample import standing, standing_strides
from hyplearn.solvers.platt import Sigmoid, fit_sigmoid
from hyplearn.types import Array

T = TypeVar("T")
CALIBRATIONS = ("cross-fitted", "training", None)
# Problems of up to this many numbers are solved side by side; larger ones one after the other, each on all threads, so
# that an interrupt is answered at once.
SMALL_PROBLEM = 10**7
# Bounds of the exponent of probabilities: on few rows without an error the best would be infinite.
SHARPNESS = (0.1, 10.0)
# Standard deviations of chance beyond which a class loses clearly: three and not two, as each of many classes is asked.
CLEAR_LOSS = 3.0
# Digits to which two scores are one: copies of a row, whose last bits may depend on where they stand.
SAME_SCORE = 9


def _calibrates(classifier: "OneVsRest") -> bool:
    if classifier.calibration is not None:
        return True
    raise AttributeError(
        f'{type(classifier).__name__} has no probabilities with calibration=None.\nPass calibration="cross-fitted".'
    )


class OneVsRest(BallClassifier):
    """A classifier of binary problems whose scores become probabilities and, with them, predictions.

    Two classes make one problem, whose positive class is ``classes_[1]``; K > 2 classes make K problems. Scores of
    different problems are not comparable, as each boundary has a side and a scale of its own; probabilities are. So
    the prediction is the most probable class, and the class of the highest score only without calibration.

    Rows that were held out decide what sigmoids may change. Of two classes both are equally likely on the boundary
    itself, unless such rows say clearly that they are so at some distance from it: on one of its equidistants, which
    then is where ``predict`` changes. Of more, each class has a sigmoid of its own, unless the largest distance is
    clearly right more often: then one sigmoid serves all. The sigmoids of a point are scaled to the sum 1, after they
    were raised to the power that makes held-out rows most likely, unless those of some class clearly lose by it: they
    would pay for the others, and do so dearly where new rows are harder than those of training. That changes no
    prediction.

    Subclasses learn boundaries, know the distances to them, and call :meth:`_calibrate` at the end of ``fit``.
    """

    calibration: str | None
    folds: int
    n_jobs: int | None
    reference_: Array
    sigmoids_: Array
    sharpness_: float
    shift_: float

    @abstractmethod
    def _plain_scores(self, X: Array, rooms: Array) -> Array:
        """What decides without probabilities: scores of points with the given gaps, of shape (n, n_problems)."""

    def _platt_scores(self, X: Array, rooms: Array) -> Array:
        """What the sigmoids see, positive on the positive side."""
        return self._plain_scores(X, rooms)

    def _sines_at(self, score: float) -> Array | None:
        r"""For each problem the value of :math:`\sinh(\sqrt c\, d)` at the distance d from its boundary of that score.

        Up to factors of the problems it is one growing function of what decides. None if points of one score are not
        equally far from a boundary.
        """
        return None

    def _checked(self, X: Any) -> tuple[Array, Array]:
        """Points as a user passes them, checked, and their gaps."""
        check_is_fitted(self)
        X, rooms, _, _ = ball_rows(self, X, reset=False)
        return X, rooms

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn boundaries, then their sigmoids."""

    @property
    def _n_problems(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _positive(self, k: int) -> Any:
        """The positive class of problem k."""
        return self.classes_[self._positives[k]]

    def _binary_labels(self, data: LabelledRows, k: int) -> Array:
        return np.where(data.y == self._positive(k), 1.0, -1.0)

    def _reference_points(self, data: LabelledRows) -> Array:
        """One reference point per problem: a strategy sees the two classes of each, an array is one point or K."""
        c = absolute_curvature(self.curvature)
        given = self._given_points()
        if given is not None and given.ndim == 2:
            self._check_number_of_points(given)
            return np.stack([reference_point(p, data.X, None, None, c) for p in given])

        def learned(k: int, threads: int) -> Array:
            return self._reference_point(data, self._binary_labels(data, k), threads)

        with one_blas_thread():
            return np.stack(list(self._per_problem(data, learned)))

    def _streamed_references(self, data: Labelled) -> Array:
        """One reference point per problem, of points in blocks; as in memory where these stay and are few."""
        given = self._given_points()
        if given is not None:
            given = np.tile(given, (self._n_problems, 1)) if given.ndim == 1 else given
            self._check_number_of_points(given)
            return np.stack([checked_point(p, data.points.n_features, data.c) for p in given])
        if data.points.stays and data.n_rows <= FEW_ROWS:
            return self._reference_points(self._gathered_rows(data))
        sides = [np.arange(data.n_classes) == k for k in self._positives]
        return np.stack(streamed_references(self.reference, data, [side.astype(int) for side in sides]))

    @property
    def _positives(self) -> list[int]:
        """The number of the positive class of each problem."""
        return [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

    def _check_number_of_points(self, given: Array) -> None:
        if len(given) != self._n_problems:
            raise ValueError(
                f"{self._n_problems} binary problems need as many reference points; got {len(given)}.\n"
                "Pass one point for all, or one per class (one in all for two classes)."
            )

    def _per_problem(self, data: LabelledRows, solve: Callable[[int, int], T]) -> Iterator[T]:
        """``solve(k, threads)`` of every problem k: side by side, or of large data one after the other."""
        threads, problems = threads_of(self.n_jobs), range(self._n_problems)
        if len(problems) == 1 or data.X.size > SMALL_PROBLEM:
            for k in problems:
                yield solve(k, threads)
            return
        with ThreadPoolExecutor(min(threads, len(problems))) as pool:
            yield from pool.map(lambda k: solve(k, 1), problems)

    def _named(self, problems: Array) -> str:
        """The positive classes of some problems, for a message."""
        named = ", ".join(str(self._positive(k)) for k in problems[:5])
        return f"class {named}{', ...' if len(problems) > 5 else ''}"

    def predict(self, X: Any) -> Array:
        """The most probable class of each point.

        After ``partial_fit`` and with ``calibration=None`` there are no probabilities: then the side of the boundary
        that the point is on, or of more than two classes the one on whose side it is farthest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the ball.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.where(scores > 0, self.classes_[1], self.classes_[0])
        return self.classes_[np.argmax(scores, axis=1)]

    def decision_function(self, X: Any) -> Array:
        """Scores whose sign, or of more than two classes whose largest, is the prediction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the ball.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes: the signed hyperbolic distance to where both are equally likely,
        positive on the side of ``classes_[1]``. Of shape (n_samples, n_classes) for more: the logarithms of the
        probabilities; without them, the signed distance to the boundary of each class.
        """
        if self._is_calibrated and len(self.classes_) > 2:
            return self._log_chances(X)
        X, rooms = self._checked(X)
        if self._is_calibrated and self.calibration == "training":
            return _logits(self._platt_scores(X, rooms), self.sigmoids_)[:, 0]
        scores = self._plain_scores(X, rooms)
        return scores[:, 0] - getattr(self, "shift_", 0.0) if len(self.classes_) == 2 else scores

    @available_if(_calibrates)
    def predict_proba(self, X: Any) -> Array:
        """Probability of each class: Platt's sigmoids of the scores, of more than two classes scaled to the sum 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of the ball.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(_calibrates)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of :meth:`predict_proba`, exact where these are too small for a float."""
        check_is_fitted(self)
        if not self._is_calibrated:
            raise AttributeError(
                f"{type(self).__name__} has no probabilities after partial_fit: a stream has no held-out scores.\n"
                "Use fit, or decision_function."
            )
        return self._log_chances(X)

    @property
    def _is_calibrated(self) -> bool:
        return hasattr(self, "sigmoids_")

    def _log_chances(self, X: Any) -> Array:
        logits = _logits(self._platt_scores(*self._checked(X)), self.sigmoids_)
        if len(self.classes_) == 2:
            return _log_sigmoids(np.hstack([-logits, logits]))
        chances = self.sharpness_ * _log_sigmoids(logits)
        return chances - logsumexp(chances, axis=1, keepdims=True)

    def _check_calibration(self) -> None:
        if self.calibration not in CALIBRATIONS:
            raise ValueError(f'calibration must be "cross-fitted", "training" or None; got {self.calibration!r}.')
        if not isinstance(self.folds, (int, np.integer)) or self.folds < 2:
            raise ValueError(f"folds must be a whole number of at least 2; got {self.folds!r}.")

    def _forget_calibration(self) -> None:
        """Probabilities of an earlier fit hold no more."""
        for name in ("sigmoids_", "sharpness_", "shift_"):
            if hasattr(self, name):
                delattr(self, name)

    def _calibrate(self, X: Array, y: Array, weights: Array | None, *, warned: bool) -> None:
        """Learn ``sigmoids_`` from validated data; ``warned`` if the fit has said that it did not converge."""
        self._forget_calibration()
        if self.calibration is None:
            return
        weights = np.ones(len(X)) if weights is None else weights
        X, y, weights = self._standing_rows(X, y, weights)
        scores = self._platt_scores(X, gaps(X, absolute_curvature(self.curvature)))
        held_out = scores
        if self.calibration == "cross-fitted":
            held_out = self._held_out_scores(X, y, weights, scores, warned)
        positive = y[:, None] == np.array([self._positive(k) for k in range(self._n_problems)])
        sigmoids = np.array(
            [self._sigmoid(scores[:, k], held_out[:, k], positive[:, k], weights) for k in range(self._n_problems)]
        )
        self.sigmoids_, self.sharpness_ = sigmoids, 1.0
        if self.calibration == "cross-fitted" and len(self.classes_) > 2:
            chances = _log_sigmoids(_logits(held_out, sigmoids))
            if _errs_clearly_less(_argmax_is_right(held_out, positive), _argmax_is_right(chances, positive), weights):
                repeated = np.repeat(weights, self._n_problems)
                sigmoids[:] = fit_sigmoid(held_out.ravel(), positive.ravel(), repeated, pinned=True)
                chances = _log_sigmoids(_logits(held_out, sigmoids))
            self.sharpness_ = _harmless_sharpness(chances, positive, weights)
        if len(self.classes_) == 2:
            slope, offset = sigmoids[0]
            self.shift_ = float(-offset / slope) if slope > 0 else 0.0

    def _standing_rows(self, X: Array, y: Array, weights: Array) -> tuple[Array, Array, Array]:
        """All rows, or where they are many some that stand for them."""
        if X.size <= CALIBRATED_NUMBERS:
            return X, y, weights
        codes = np.searchsorted(self.classes_, y)
        counts = np.bincount(codes, minlength=len(self.classes_))
        strides = standing_strides(counts, CALIBRATED_NUMBERS // X.shape[1])
        kept = standing(0, codes, strides)
        return X[kept], y[kept], weights[kept] * strides[codes[kept]]

    def _sigmoid(self, scores: Array, held_out: Array, positive: Array, weights: Array) -> Sigmoid:
        apart = not np.any((np.where(positive, scores, -scores) <= 0) & (weights > 0))
        if apart and self.calibration == "cross-fitted":
            return fit_sigmoid(held_out, positive, weights, pinned=True)
        free = fit_sigmoid(held_out, positive, weights)
        if self.calibration == "training" or len(self.classes_) > 2:
            return free
        shifted, plain = (free.slope * held_out + free.offset > 0) == positive, (held_out > 0) == positive
        if _errs_clearly_less(shifted, plain, weights):
            return free
        return fit_sigmoid(held_out, positive, weights, pinned=True)

    def _held_out_scores(self, X: Array, y: Array, weights: Array, scores: Array, warned: bool) -> Array:
        """Scores of rows by classifiers that have not seen them."""
        codes = np.searchsorted(self.classes_, y)
        own = scores[np.arange(len(y)), codes] if scores.shape[1] > 1 else scores[:, 0]
        folds = self._dealt(own, codes, weights)
        held_out = scores.copy()
        unfinished: list[str] = []
        for fold in range(self.folds):
            held = np.flatnonzero(folds == fold)
            if not held.size:
                continue
            rest = weights.copy()
            rest[held] = 0
            if getattr(self, "verbose", 0):
                print(f"{type(self).__name__}: probabilities, fold {fold + 1} of {self.folds}")  # noqa: T201
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                part = clone(self).set_params(**self._parameters_of_a_fold()).fit(X, y, sample_weight=rest)
            unfinished += [str(warning.message) for warning in caught]
            held_out[held] = part._platt_scores(X[held], gaps(X[held], absolute_curvature(self.curvature)))
        if unfinished and not warned:
            warnings.warn(
                f"{len(unfinished)} of the {self.folds} fits for probabilities did not converge. One of them:\n"
                f"{unfinished[0]}",
                ConvergenceWarning,
                stacklevel=4,
            )
        return held_out

    def _parameters_of_a_fold(self) -> dict[str, Any]:
        """What differs in the fits without a fold.

        Class weights are in the weights of rows already, and scores by boundaries through other points would be others.
        """
        plain: dict[str, Any] = {"calibration": None, "class_weight": None, "warm_start": False, "verbose": 0}
        if hasattr(self, "reference_"):
            plain["reference"] = self.reference_
        return {name: value for name, value in plain.items() if name in self.get_params(deep=False)}

    def _dealt(self, scores: Array, codes: Array, weights: Array) -> Array:
        """The fold in which each row is held out, -1 where in none.

        The rows of a class are dealt out in the order of their scores: every fold has its share of all classes, near
        and far, copies of a row stay together, and neither the order of rows nor an isometry changes anything. The
        only row of a class is never held out, as nothing could be learned of its class without it.
        """
        folds, few = np.full(len(scores), -1), []
        scale = np.max(np.abs(scores), initial=0.0) or 1.0
        for k, label in enumerate(self.classes_):
            rows = np.flatnonzero((codes == k) & (weights > 0))
            different, ranks = np.unique(np.round(scores[rows] / scale, SAME_SCORE), return_inverse=True)
            if 0 < len(different) < self.folds:
                few.append(f"{label} ({len(different)})")
            if len(different) > 1:
                folds[rows] = (np.ravel(ranks) + k) % self.folds
        if few:
            warnings.warn(
                f"Probabilities of classes with fewer different rows than the {self.folds} folds rest on little: "
                f"{', '.join(few[:5])}{', ...' if len(few) > 5 else ''}.\n"
                "Where it is a single row, they rest on the score that it has in training. Pass more rows, or fewer "
                "folds.",
                UserWarning,
                stacklevel=5,
            )
        return folds


def _logits(scores: Array, sigmoids: Array) -> Array:
    """Slope times score plus offset, for each problem."""
    return scores * sigmoids[:, 0] + sigmoids[:, 1]


def _log_sigmoids(logits: Array) -> Array:
    """Logarithms of the sigmoids, exact where these are too small for a float."""
    return -np.logaddexp(0, -logits)


def _harmless_sharpness(chances: Array, positive: Array, weights: Array) -> float:
    r"""The exponent β of the least log-loss of :math:`P_k \propto \sigma_k^\beta`, given logarithms of the sigmoids.

    Of K answers to K questions asked one by one, each is less sure than their consensus; β = 1 would leave it at that.
    It does where the rows of some class have a clearly larger loss with the best β than with 1.
    """
    found = minimize_scalar(
        lambda log_beta: float(weights @ _losses(np.exp(log_beta) * chances, positive)) / float(weights.sum()),
        bounds=np.log(SHARPNESS),
        method="bounded",
        options={"xatol": 1e-6},
    )
    beta = float(np.exp(found.x))
    worse = _losses(beta * chances, positive) - _losses(chances, positive)
    sums, squares = (weights * worse) @ positive, (weights * worse**2) @ positive
    return 1.0 if np.any(sums > CLEAR_LOSS * np.sqrt(squares)) else beta


def _losses(scores: Array, positive: Array) -> Array:
    """Negative log-likelihood of each row by the softmax of its scores."""
    losses: Array = logsumexp(scores, axis=1) - scores[positive]
    return losses


def _argmax_is_right(scores: Array, positive: Array) -> Array:
    """Whether the largest score of each row is that of its class."""
    right: Array = positive[np.arange(len(scores)), np.argmax(scores, axis=1)]
    return right


def _errs_clearly_less(right: Array, right_otherwise: Array, weights: Array) -> bool:
    """Whether one rule mends more rows than it spoils, by two standard deviations of chance (McNemar's test)."""
    mended, spoilt = weights[right & ~right_otherwise].sum(), weights[~right & right_otherwise].sum()
    return bool(mended - spoilt > 2 * np.sqrt(mended + spoilt))
