"""One class against the rest: K binary problems whose boundaries pass through reference points."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from hyplearn.data.far_rows import distances_to_centre
from hyplearn.data.training import TrainingData
from hyplearn.decision import Decision
from hyplearn.decision.calibration import (
    calibrated_rows,
    constant_problems,
    deal_folds,
    fit_calibration,
    own_values,
    warn_of_few_rows,
    without,
)
from hyplearn.estimators.ball_classifier import BallClassifier
from hyplearn.estimators.validation import absolute_curvature, evaluate
from hyplearn.reference import reference_points
from hyplearn.types import Array

# Problems of up to this many numbers are solved side by side; larger ones one after the other, each on all threads, so
# that an interrupt is answered at once.
SMALL_PROBLEM = 10**7


def _has_distances(classifier: "OneVsRest") -> bool:
    """Whether boundaries are equidistants of hyperplanes; otherwise an error that says so."""
    if hasattr(classifier, "decision_") and not classifier.decision_.has_distances:
        raise AttributeError(
            f"{type(classifier).__name__} has no distances: its predictions change at no fixed distance from a "
            "hyperplane.\nUse decision_function."
        )
    return True


class OneVsRest(BallClassifier):
    """A classifier of binary problems whose distances become probabilities.

    Two classes make one problem, whose positive class is ``classes_[1]``; K > 2 classes make K problems. Subclasses
    learn ``coef_`` and ``reference_``, one row per problem; :mod:`hyplearn.decision.calibration` explains how scores
    of different problems become comparable.
    """

    reference: Any
    calibration: str | None
    folds: int
    coef_: Array
    reference_: Array

    @abstractmethod
    def _refit(self, data: TrainingData) -> Decision:
        """The decision, without calibration, learned from other weights of the same rows: a fold of the calibration."""

    def _refits(self, data: TrainingData, weights: Sequence[Array]) -> Iterator[Decision]:
        """The decision of :meth:`_refit` for each array of weights."""
        return (self._refit(data.reweighted(own)) for own in weights)

    @property
    def _n_problems(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    @property
    def _positives(self) -> list[int]:
        """Code of the positive class of each problem."""
        return [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

    def _positive(self, k: int) -> Any:
        """Positive class of problem k."""
        return self.classes_[self._positives[k]]

    def _references(self, data: TrainingData) -> Array:
        """One reference point per problem."""
        return reference_points(self.reference, data, self._sides(data))

    def _sides(self, data: TrainingData) -> list[Array]:
        """For each problem the side of every class: 1 for the positive one, 0 for the others."""
        return [(np.arange(data.n_classes) == k).astype(np.int64) for k in self._positives]

    @contextmanager
    def _problem_map(self, data: TrainingData) -> Iterator[tuple[Callable[..., Iterable[Any]], int]]:
        """A map over problems, and the threads of each: side by side, or of large data one after the other."""
        is_large = data.n_rows * data.n_features > SMALL_PROBLEM
        if self._n_problems == 1 or not data.in_memory or is_large:
            yield map, data.threads
            return
        with ThreadPoolExecutor(min(data.threads, self._n_problems)) as pool:
            yield pool.map, 1

    def _names(self, problems: Array) -> str:
        """The positive classes of some problems, for a message."""
        named = ", ".join(str(self._positive(k)) for k in problems[:5])
        rest = "" if len(self.classes_) == 2 else " against the rest"
        return f"class {named}{', ...' if len(problems) > 5 else ''}{rest}"

    @available_if(_has_distances)
    def distances(self, X: Any) -> Array:
        """Signed hyperbolic distance of each point to the boundary of each problem.

        The boundary of two classes is where predictions change: the hyperplane, or where the calibration has an
        offset, an equidistant of it. With more classes, each problem has its own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            Points of the ball.

        Returns
        -------
        ndarray of shape (n_samples, n_problems), positive on the side of the problem's own class.
        """
        self._columns()
        return evaluate(self, X, self.decision_.distances)

    def _decide(self) -> Decision:
        decision = self._boundaries(vars(self))
        return replace(decision, calibration=getattr(self, "calibration_", None))

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """The decision without calibration: signed distances to hyperplanes."""
        c = absolute_curvature(self.curvature)
        return Decision.of_hyperplanes(self.classes_, c, fitted["coef_"], fitted["reference_"])

    def _check_calibration(self) -> None:
        if self.calibration not in ("cross-fitted", None):
            raise ValueError(f'calibration must be "cross-fitted" or None; got {self.calibration!r}.')
        if not isinstance(self.folds, (int, np.integer)) or self.folds < 2:
            raise ValueError(f"folds must be an integer of at least 2; got {self.folds!r}.")

    def _forget_calibration(self) -> None:
        """Drop the probabilities of an earlier fit."""
        self.__dict__.pop("calibration_", None)

    def _warn_of_constant_problems(self, problems: Array) -> None:
        if len(problems):
            warnings.warn(
                f"All rows have the same score ({self._names(problems)}): the weights of the boundary are zero.\n"
                "Raise C, or choose another reference.",
                UserWarning,
                stacklevel=5,
            )

    def _calibrate(self, data: TrainingData, *, warned: bool) -> None:
        """Learn ``calibration_`` from held-out values; ``warned`` if the fit has reported that it did not converge."""
        self._forget_calibration()
        if self.calibration is None:
            return
        rows, _ = data.subsampled(calibrated_rows(data.n_classes, data.n_features))
        part = TrainingData.of_arrays(
            rows.X, rows.codes, rows.row_weights, data.c, n_classes=data.n_classes, threads=data.threads
        )
        boundaries = self._boundaries(vars(self))
        values = boundaries.values(rows.X, rows.gaps)
        own = own_values(values, rows.codes)
        constant = constant_problems(values[rows.present])
        spare = distances_to_centre(rows, data.c) if len(constant) else None
        dealt, n_distinct = deal_folds(own, rows.codes, rows.row_weights, self.folds, data.n_classes, spare=spare)
        warn_of_few_rows(n_distinct, self.folds, self.classes_)
        if np.count_nonzero(n_distinct) > 1:  # of a single class nothing is to be learned
            self._warn_of_constant_problems(constant)
        # A boundary through a reference point has no intercept of its own, and the offset of the calibration is one;
        # but where it separates the training rows, it stays where their margin put it.
        separates = not np.any((np.where(rows.codes == 1, own, -own) <= 0) & rows.present)
        pinned = separates or not boundaries.through_points
        folds = [np.flatnonzero(dealt == fold) for fold in range(self.folds) if np.any(dealt == fold)]
        weights = [without(rows.row_weights, held) for held in folds]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            for fold, decision in enumerate(self._refits(part, weights)):
                held = rows.taken(folds[fold])
                values[folds[fold]] = decision.values(held.X, held.gaps)
                if self.verbose:
                    print(f"{type(self).__name__}: probabilities, fold {fold + 1} of {self.folds}")  # noqa: T201
        unfinished = [str(warning.message) for warning in caught]
        self.calibration_ = fit_calibration(values, rows.codes, rows.row_weights, pinned=pinned)
        if unfinished and not warned:
            warnings.warn(
                f"{len(unfinished)} of the {self.folds} fits for probabilities did not converge. One of them:\n"
                f"{unfinished[0]}",
                ConvergenceWarning,
                stacklevel=4,
            )
