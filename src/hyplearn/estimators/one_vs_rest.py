"""Base class of the one-vs-rest classifiers: one binary problem per class, and a calibration for probabilities."""

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
from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.decision import Decision
from hyplearn.decision.calibration import (
    HeldOut,
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

# Problems with up to this many coordinates (rows times features) in memory are solved in parallel, one thread each.
# Other problems are solved one after the other, each on all threads. A keyboard interrupt then takes effect quickly,
# whereas with parallel problems it would have to wait until the other threads have finished.
SMALL_PROBLEM = 10**7
# With at least this many rows per coordinate, the calibration is fitted to values (uncalibrated scores) of training
# rows instead of held-out rows, because the model is then not overconfident on training rows. The values of held-out
# rows come from several fits, and the calibration of many classes magnifies the differences between these fits. On 10
# synthetic data sets with 10,000 and 40,000 rows, calibrating on training rows gave a mean log-loss 10 % lower, and an
# accuracy up to 5 percentage points higher, than calibrating on held-out rows. With 200 rows per coordinate, training
# rows gave worse results.
SEEN_ROWS = 1000


def _has_distances(classifier: "OneVsRest") -> bool:
    """Return True, or raise AttributeError if the fitted boundaries are not generalised spheres."""
    if hasattr(classifier, "decision_") and not classifier.decision_.has_distances:
        raise AttributeError(
            f"{type(classifier).__name__} has no distances, because its boundaries are not generalised "
            "spheres.\nUse decision_function."
        )
    return True


class OneVsRest(BallClassifier):
    """Base class of the one-vs-rest classifiers, with a calibration that computes probabilities.

    Two classes give one problem, whose positive class is ``classes_[1]``; K > 2 classes give K problems. Subclasses fit
    ``coef_`` and ``reference_``, with one row per problem. The calibration converts the values of the problems, which
    are signed distances or similar numbers, to comparable scores; see :mod:`hyplearn.decision.calibration`.
    """

    reference: Any
    calibration: str | None
    folds: int
    coef_: Array
    reference_: Array

    @abstractmethod
    def _refit(self, data: TrainingData) -> Decision:
        """Fit to ``data``, in which held-out rows have weight 0; return the decision without calibration."""

    def _refits(self, data: TrainingData, weights: Sequence[Array]) -> Iterator[Decision]:
        """Yield the decision of :meth:`_refit` for each array of weights."""
        return (self._refit(data.reweighted(own)) for own in weights)

    @property
    def _n_problems(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    @property
    def _positives(self) -> list[int]:
        """Index of the positive class of each problem."""
        return [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

    def _positive(self, k: int) -> Any:
        """Return the label of the positive class of problem k."""
        return self.classes_[self._positives[k]]

    def _references(self, data: TrainingData) -> Array:
        """Return the reference points, one per problem."""
        return reference_points(self.reference, data, self._sides(data))

    def _sides(self, data: TrainingData) -> list[Array]:
        """Return, for each problem, an array with 1 for the positive class and 0 for the other classes."""
        return [(np.arange(data.n_classes) == k).astype(np.int64) for k in self._positives]

    @contextmanager
    def _problem_map(self, data: TrainingData) -> Iterator[tuple[Callable[..., Iterable[Any]], int]]:
        """Yield a function like ``map`` to solve the problems, and the number of threads that each problem may use.

        For several problems on small data in memory, the function works in parallel, with one thread per problem.
        """
        is_large = data.n_rows * data.n_features > SMALL_PROBLEM
        if self._n_problems == 1 or not data.in_memory or is_large:
            yield map, data.threads
            return
        with ThreadPoolExecutor(min(data.threads, self._n_problems)) as pool:
            yield pool.map, 1

    def _names(self, problems: Array) -> str:
        """Return a string that lists the positive classes of the given problems, for messages."""
        named = ", ".join(str(self._positive(k)) for k in problems[:5])
        rest = "" if len(self.classes_) == 2 else " against the rest"
        return f"class {named}{', ...' if len(problems) > 5 else ''}{rest}"

    @available_if(_has_distances)
    def distances(self, X: Any) -> Array:
        """Compute the signed hyperbolic distance from each point to the boundary of each problem.

        For two classes, the boundary is where the prediction changes: the fitted boundary or, if the calibration has an
        offset, a hypersurface at constant distance from the fitted hyperplane. With more classes, each one-vs-rest
        problem has its own boundary. Distances are infinite for a problem without a boundary.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            Points in the ball.

        Returns
        -------
        ndarray of shape (n_samples, n_problems)
            Distances, which are positive on the side of the positive class of the problem.
        """
        self._columns()
        return evaluate(self, X, self.decision_.distances)

    def _decide(self) -> Decision:
        decision = self._boundaries(vars(self))
        return replace(decision, calibration=getattr(self, "calibration_", None))

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """Return the uncalibrated decision, whose scores are signed distances to hyperplanes."""
        c = absolute_curvature(self.curvature)
        return Decision.of_hyperplanes(self.classes_, c, fitted["coef_"], fitted["reference_"])

    def _check_calibration(self) -> None:
        if self.calibration not in ("cross-fitted", None):
            raise ValueError(f'calibration must be "cross-fitted" or None; got {self.calibration!r}.')
        if not isinstance(self.folds, (int, np.integer)) or self.folds < 2:
            raise ValueError(f"folds must be an integer of at least 2; got {self.folds!r}.")

    def _forget_calibration(self) -> None:
        """Remove the calibration of an earlier fit."""
        self.__dict__.pop("calibration_", None)

    def _warn_of_constant_problems(self, problems: Array) -> None:
        if len(problems):
            warnings.warn(
                f"All rows have the same score ({self._names(problems)}): the weights of the boundary are zero.\n"
                "Raise C, or choose another reference.",
                UserWarning,
                stacklevel=5,
            )

    def _calibrate(self, data: TrainingData, *, warned: bool, known: HeldOut | None = None) -> None:
        """Fit ``calibration_`` to uncalibrated scores of held-out rows, here called held-out values.

        The values are taken from ``known`` if it is given and the calibration uses all rows; otherwise they are
        computed. If there are many rows (see ``SEEN_ROWS``), the scores of training rows are used instead. ``warned``
        is True if a convergence warning was already given.
        """
        self._forget_calibration()
        if self.calibration is None:
            return
        rows, is_part = data.subsampled(calibrated_rows(data.n_classes, data.n_features))
        boundaries = self._boundaries(vars(self))
        values = boundaries.values(rows.X, rows.gaps)
        own = own_values(values, rows.codes)
        constant = constant_problems(values[rows.present])
        is_large = data.n_rows >= SEEN_ROWS * data.n_features
        if known is None or is_part or is_large:
            spare = distances_to_centre(rows, data.c) if len(constant) else None
            dealt, n_distinct = deal_folds(own, rows.codes, rows.row_weights, self.folds, data.n_classes, spare=spare)
            held_out = values if is_large else self._held_out_values(data, rows, dealt, warned)
        else:
            held_out, dealt, n_distinct = known
        warn_of_few_rows(n_distinct, self.folds, self.classes_)
        # Do not warn about constant scores if the positive class of a problem has no weight, or if only one class has
        # weight: the scores are then constant for every choice of parameters.
        absent = np.flatnonzero(n_distinct[self._positives] == 0)
        if np.count_nonzero(n_distinct) > 1:
            self._warn_of_constant_problems(np.setdiff1d(constant, absent))
        # For two classes, a boundary through a reference point has no intercept; the offset of the calibration takes
        # its place. The offset is fixed at 0 (``pinned``) if the model has an intercept, and also if the boundary
        # separates the training rows, because an offset would move the boundary and change the margin.
        separates = not np.any((np.where(rows.codes == 1, own, -own) <= 0) & rows.present)
        pinned = separates or not boundaries.through_points
        values = np.where(dealt[:, None] >= 0, held_out, values)
        self.calibration_ = fit_calibration(values, rows.codes, rows.row_weights, pinned=pinned)

    def _held_out_values(self, data: TrainingData, rows: LabelledBlock, dealt: Array, warned: bool) -> Array:
        """Return the uncalibrated scores of each row from the fit without its fold; 0 for rows that are in no fold."""
        part = TrainingData.of_arrays(
            rows.X, rows.codes, rows.row_weights, data.c, n_classes=data.n_classes, threads=data.threads
        )
        values = np.zeros((len(rows.X), self._n_problems))
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
        if unfinished and not warned:
            warnings.warn(
                f"{len(unfinished)} of the {self.folds} fits for calibrating the probabilities did not converge. The "
                f"first warning is:\n{unfinished[0]}",
                ConvergenceWarning,
                stacklevel=5,
            )
        return values
