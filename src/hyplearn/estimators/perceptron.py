"""First- and second-order Poincaré perceptrons."""

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.decision import Decision
from hyplearn.estimators.epochs import (
    Extremes,
    KeptEpochs,
    Learned,
    Pass,
    Problems,
    StreamedEpochs,
    find_extremes,
    learn,
    visit_problems,
)
from hyplearn.estimators.stream import StreamClassifier
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.solvers.perceptron import NO_BOUNDS, MistakeBounds, Perceptron, paper_bound, second_order_bound
from hyplearn.types import Array


@dataclass(eq=False, repr=False)
class PerceptronClassifier(StreamClassifier):
    """Base class of the perceptrons, which are trained in passes over the data or on a stream."""

    converged_: Array = field(init=False)
    _perceptrons: list[Perceptron] = field(init=False)
    reference: Any = "means"
    _: KW_ONLY
    max_epochs: int = 1000
    shuffle: bool = True
    random_state: Any = 0
    keep: str = "auto"
    class_weight: Any = None
    calibration: str | None = "cross-fitted"
    folds: int = 5
    trim: bool = True
    n_jobs: int | None = None
    warm_start: bool = False
    curvature: float = -1.0
    outside: str = "raise"
    verbose: int = 0

    @abstractmethod
    def _start(self, d: int) -> Perceptron:
        """Return a new, untrained perceptron for d coordinates."""

    @abstractmethod
    def _bound_of_its_theorem(self, bounds: MistakeBounds) -> float:
        """Return the mistake bound that applies to this kind of perceptron."""

    def _second_order_bound(self, perceptron: Perceptron, normal: Array, sinh_margin: float) -> float:
        return np.nan

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Make passes over the data until a pass has no mistakes, or until ``max_epochs`` is reached.

        Unless ``keep="last"``, training also ends when two numbers have stopped decreasing: the number of mistakes in a
        pass, and the number of training errors of the weights that ``keep`` selects.

        Parameters
        ----------
        X, y
            Points in the ball and labels, as in :meth:`PoincareSVC.fit`. Data that are read in blocks are visited in
            order, which requires ``shuffle=False``.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows. A row with weight k is visited k times in succession, like k copies; rows with weight
            0 are left out. If a weight has a fractional part, the row is visited once more, and the fraction scales
            the step of this visit.
        """
        previous = None
        if self.warm_start and hasattr(self, "_perceptrons"):
            previous = self.classes_, self.reference_, copy.deepcopy(self._perceptrons)
        with self._training(X, y, sample_weight) as (data, _):
            self._check_order(data)
            continued = previous is not None and np.array_equal(previous[0], self.classes_)
            if previous is not None and continued:
                _, self.reference_, self._perceptrons = previous
            else:
                self.reference_ = self._references(data)
                self._perceptrons = [self._start(data.n_features) for _ in range(self._n_problems)]
            problems = Problems(self._positives, self.reference_, data.c)
            learned = self._pass(data, problems, self._perceptrons, self._print_mistakes)
            normals = {k: _unit(found.w) for k, found in enumerate(learned) if not found.mistakes}
            seen = find_extremes(data, problems, normals)
            ends = [self._end(seen.get(k), normals.get(k), k, continued) for k in range(self._n_problems)]
            bounds, margins = zip(*ends, strict=True)
            self._keep_learned(learned, bounds, margins)
            self._calibrate(data, warned=not self.converged_.all())
            self.decision_ = self._decide()
        return self

    def _check_order(self, data: TrainingData) -> None:
        if self.shuffle and not data.in_memory:
            raise ValueError(
                f"shuffle=True needs all points in memory; {data.points.name} is read in blocks.\n"
                "Raise memory= in open_points, pass an array, or mix the rows of all classes and pass shuffle=False."
            )

    def _pass(
        self, data: TrainingData, problems: Problems, perceptrons: list[Perceptron], report: Callable[..., Any]
    ) -> list[Learned]:
        """Train the perceptrons in passes over the data, in place; return the result of each problem."""
        options: dict[str, Any] = {"max_epochs": self.max_epochs, "keep": self.keep}
        if not data.in_memory:
            return learn(StreamedEpochs(data, problems), perceptrons, **options, report=report)
        block = data.gathered()

        def learn_one(k: int) -> Learned:
            epochs, own = KeptEpochs(problems.rows(block, k), self._rng()), [perceptrons[k]]
            (learned,) = learn(epochs, own, **options, report=lambda _, epoch, count: report(k, epoch, count))
            return learned

        with self._problem_map(data) as (each, _):
            return list(each(learn_one, range(self._n_problems)))

    def _refit(self, data: TrainingData) -> Decision:
        perceptrons = [self._start(data.n_features) for _ in range(self._n_problems)]
        problems = Problems(self._positives, self.reference_, data.c)
        learned = self._pass(data, problems, perceptrons, lambda *_: None)
        if any(found.mistakes for found in learned):
            warnings.warn("The perceptron still made mistakes in the last pass.", ConvergenceWarning, stacklevel=2)
        return self._boundaries({"coef_": np.stack([found.w for found in learned]), "reference_": self.reference_})

    def _rng(self) -> np.random.Generator | None:
        if not self.shuffle:
            return None
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    def _print_mistakes(self, k: int, epoch: int, mistakes: int) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: {self._positive(k)}, pass {epoch}, {mistakes} mistakes")  # noqa: T201

    def _keep_learned(
        self, learned: Sequence[Learned], bounds: Sequence[MistakeBounds], margins: Sequence[float]
    ) -> None:
        """Set the fitted attributes, and warn if mistakes were made in the last pass."""
        self.coef_ = np.stack([found.w for found in learned])
        self.n_iter_ = np.array([found.epochs for found in learned])
        self.n_updates_ = np.array([p.n_updates for p in self._perceptrons])
        last_mistakes = np.array([found.mistakes for found in learned])
        self.converged_ = last_mistakes == 0
        self._set_bounds(bounds, margins)
        if not self.converged_.all():
            self._warn(last_mistakes)

    def _start_stream(self, d: int) -> list[Perceptron]:
        return [self._start(d) for _ in range(self._n_problems)]

    def _stream_state(self) -> list[Perceptron]:
        return self._perceptrons

    def _visit(self) -> Callable[[LabelledBlock, Sequence[Perceptron], int], Sequence[Perceptron]]:
        problems = Problems(self._positives, self.reference_, absolute_curvature(self.curvature))
        return partial(_visit_stream, problems=problems)

    def _end_stream(self, state: Sequence[Perceptron], d: int) -> None:
        self._perceptrons = list(state)
        self.coef_ = np.stack([p.w if self.keep == "last" else p.average for p in self._perceptrons])
        self.n_updates_ = np.array([p.n_updates for p in self._perceptrons])
        self.n_iter_ = np.ones(self._n_problems, dtype=int)
        self.converged_ = np.zeros(self._n_problems, dtype=bool)
        self._set_bounds([NO_BOUNDS] * self._n_problems, np.full(self._n_problems, np.nan))

    def _check_parameters(self) -> None:
        self._check_calibration()
        if self.keep not in ("auto", "last", "average", "best"):
            raise ValueError(f'keep must be "auto", "last", "average" or "best"; got {self.keep!r}.')
        if not isinstance(self.max_epochs, (int, np.integer)) or self.max_epochs < 1:
            raise ValueError(f"max_epochs must be an integer of at least 1; got {self.max_epochs!r}.")

    def _end(self, seen: Extremes | None, normal: Array | None, k: int, continued: bool) -> tuple[MistakeBounds, float]:
        """Return the mistake bounds and the margin of problem k; all are NaN if the last pass made mistakes.

        The bounds are also NaN if the final boundary misclassifies a row, if a row weight is not an integer, or if the
        fit was continued from an earlier one.
        """
        if seen is None or normal is None:
            return NO_BOUNDS, np.nan
        root = np.sqrt(absolute_curvature(self.curvature))
        margin = float(np.arcsinh(root * seen.least) / root)
        if seen.least <= 0 or not seen.copies or continued:
            return NO_BOUNDS, margin
        longest, p = np.sqrt(seen.longest) / root, self.reference_[k]
        radius = np.sqrt(1 - seen.gap)  # largest √c‖x‖
        bounds = MistakeBounds(
            data=float((longest / seen.least) ** 2),
            paper=paper_bound(root * float(np.linalg.norm(p)), radius, np.arcsinh(root * seen.least)),
            second_order=self._second_order_bound(self._perceptrons[k], normal, seen.least),
        )
        return bounds, margin

    def _set_bounds(self, bounds: Sequence[MistakeBounds], margins: Any) -> None:
        self.margin_ = np.array(margins)
        self.mistake_bound_ = np.array([self._bound_of_its_theorem(b) for b in bounds])
        self.mistake_bounds_ = {name: np.array([getattr(b, name) for b in bounds]) for name in MistakeBounds._fields}

    def _warn(self, mistakes: Array) -> None:
        unsolved = np.flatnonzero(mistakes)
        named = ", ".join(f"{self._positive(k)}: {mistakes[k]} in pass {self.n_iter_[k]}" for k in unsolved[:5])
        more = ", ..." if len(unsolved) > 5 else ""
        if np.all(self.n_iter_[unsolved] < self.max_epochs):
            reason = "Passes ended before max_epochs because mistakes no longer decreased: choose another reference, "
        else:
            reason = (
                "Either no geodesic hyperplane through the reference point separates the classes, or more passes are "
                "needed: raise max_epochs, choose another reference, "
            )
        warnings.warn(
            f"{type(self).__name__} still made mistakes in its last pass ({named}{more}).\n"
            f'{reason}or accept the weights chosen by keep="{self.keep}".',
            ConvergenceWarning,
            stacklevel=3,
        )


def _visit_stream(
    block: LabelledBlock, state: Sequence[Perceptron], threads: int, *, problems: Problems
) -> list[Perceptron]:
    """Train all perceptrons on a block of a stream; return the updated perceptrons."""
    begun, numbers = Pass(list(state), [0] * len(state)), list(range(len(state)))
    return visit_problems(block, begun, threads, problems=problems, numbers=numbers).perceptrons


def _unit(w: Array) -> Array:
    return w / (np.linalg.norm(w) or 1.0)


class PoincarePerceptron(PerceptronClassifier):
    """Poincaré perceptron: an online linear classifier in hyperbolic space.

    Each mistake adds ``y z`` to the normal vector, where y = ±1 is the label of the point x, and z is the tangent
    vector at the reference point that points to x. With the distance d between the two points and ``c = -curvature``,
    z has the length ``sinh(√c d) / √c``. If a geodesic hyperplane through the reference point separates the classes
    with margin ε, at most ``(max sinh(√c d) / sinh(√c ε))²`` mistakes are ever made.

    Parameters
    ----------
    reference : str, callable or array-like, default="means"
        The point through which each boundary passes: the name of a strategy, a callable or an array, as in
        :class:`PoincareSVC`. "means" is the point between the means of the two sides at which both sides are equally
        likely.
    max_epochs : int, default=1000
        Maximum number of passes over the data.
    shuffle : bool, default=True
        Whether to shuffle the rows before each pass. With fewer than 10,000 rows, the shuffled order depends only on
        the rows and the seed: the fit does not change if the rows are permuted, or if weights are replaced with copies
        of rows. With more rows, blocks of 32 consecutive rows are shuffled, which is several times as fast.
    random_state : int, RandomState instance or None, default=0
        Seed of the shuffling.
    keep : {"auto", "last", "average", "best"}, default="auto"
        Which weights become ``coef_``. "last": the last weights. "average": the average over all visits. "best": the
        weights after the pass with the fewest training errors. "auto": the average, because the last weights depend
        strongly on the last rows visited. If only the last weights separate the training rows, they are used instead.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply ``sample_weight``.
    calibration : "cross-fitted" or None, default="cross-fitted"
        How to turn distances into probabilities, as in :class:`PoincareSVC`; None for no probabilities.
    folds : int, default=5
        Number of folds for ``calibration="cross-fitted"``.
    warm_start : bool, default=False
        Whether ``fit`` continues from the previous fit.
    verbose : int, default=0
        Whether to print a line per pass.
    trim, n_jobs, curvature, outside
        As in :class:`PoincareSVC`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels. Two classes give one binary problem; K > 2 classes give K, each class against the rest.
    coef_ : ndarray of shape (n_problems, n_features)
        Normal vector of each boundary, in frame coordinates at its reference point.
    reference_ : ndarray of shape (n_problems, n_features)
        The reference points.
    n_updates_ : ndarray of shape (n_problems,)
        Number of updates.
    converged_ : ndarray of shape (n_problems,)
        Whether the last pass made no mistake.
    n_iter_ : ndarray of shape (n_problems,)
        Number of passes.
    margin_ : ndarray of shape (n_problems,)
        Smallest signed hyperbolic distance from a training point to the boundary; NaN if the last pass made mistakes,
        and after ``partial_fit``.
    calibration_ : Calibration
        Affine map from distances to calibrated scores; absent without calibration and after ``partial_fit``.
    decision_ : Decision
        The fitted model as an immutable object; predictions, plots and model files are computed from it.
    mistake_bound_ : ndarray of shape (n_problems,)
        Upper bound on the number of updates, ``mistake_bounds_["data"]``, computed for the separating hyperplane that
        was found. NaN if none was found, if weights are not integers, and after a continued fit or ``partial_fit``.
    mistake_bounds_ : dict of str to ndarray
        All bounds: "data" (from the longest z), "paper" (from the radius of the data, as stated by Chien, Pan, Tabaghi
        and Milenkovic, 2021) and "second_order" (NaN here).

    Examples
    --------
    >>> from hyplearn import PoincarePerceptron
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(1000, 5, margin=0.1, random_state=0)
    >>> perceptron = PoincarePerceptron(reference=p).fit(X, y)
    >>> print(perceptron.score(X, y), bool(perceptron.n_updates_[0] <= perceptron.mistake_bound_[0]))
    1.0 True
    """

    def _start(self, d: int) -> Perceptron:
        return Perceptron.first_order(d)

    def _bound_of_its_theorem(self, bounds: MistakeBounds) -> float:
        return bounds.data


@dataclass(eq=False, repr=False, kw_only=True)
class PoincareSecondOrderPerceptron(PerceptronClassifier):
    """Poincaré second-order perceptron, which uses correlations of the mistakes so far to avoid further mistakes.

    Its normal vector is ``(aI + S Sᵀ)⁻¹ ξ``. The columns of S are the vectors z of all mistakes so far, and ξ is the
    sum of the vectors ``y z`` of these mistakes, with y and z as in :class:`PoincarePerceptron`. In d dimensions, a
    mistake takes O(d²) operations, and any other row takes O(d). With ``a=0``, every row takes O(d²) until the columns
    of S span the space.

    Parameters
    ----------
    reference : str, callable or array-like, default="means"
        The point through which each boundary passes, as in :class:`PoincarePerceptron`.
    a : float, default=1.0
        Regularisation of the inverse, in units of ``‖z‖²``. With 0 the pseudo-inverse is used, as in the experiments of
        Chien, Pan, Tabaghi and Milenkovic (2021); there is no mistake bound in this case.
    max_epochs, shuffle, random_state, keep, class_weight, calibration, folds, trim, n_jobs, warm_start
        As in :class:`PoincarePerceptron`, except that an average is taken over normal vectors of length 1.
    curvature, outside, verbose
        As in :class:`PoincarePerceptron`.

    Attributes
    ----------
    classes_, coef_, reference_, n_updates_, converged_, n_iter_, margin_, calibration_, decision_
        As in :class:`PoincarePerceptron`.
    mistake_bound_ : ndarray of shape (n_problems,)
        Upper bound on the number of updates from the second-order theorem, ``mistake_bounds_["second_order"]``. NaN for
        ``a=0``, and in all cases in which the bound of :class:`PoincarePerceptron` is NaN.
    mistake_bounds_ : dict of str to ndarray
        All bounds: "second_order", and for comparison the bounds "data" and "paper" of the first-order perceptron.

    Examples
    --------
    >>> from hyplearn import PoincareSecondOrderPerceptron
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(1000, 5, margin=0.1, random_state=0)
    >>> perceptron = PoincareSecondOrderPerceptron(reference=p).fit(X, y)
    >>> print(perceptron.score(X, y), bool(perceptron.n_updates_[0] <= perceptron.mistake_bound_[0]))
    1.0 True
    """

    a: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0 <= self.a < np.inf:
            raise ValueError(f"a must be a finite non-negative number; got {self.a!r}.\nPass 0 for the pseudo-inverse.")

    def _start(self, d: int) -> Perceptron:
        return Perceptron.second_order(d, self.a)

    def _bound_of_its_theorem(self, bounds: MistakeBounds) -> float:
        return bounds.second_order

    def _second_order_bound(self, perceptron: Perceptron, normal: Array, sinh_margin: float) -> float:
        return second_order_bound(perceptron, normal, self.a, sinh_margin)
