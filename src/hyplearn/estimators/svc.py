"""The Poincaré support vector machine."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hyplearn.data.labelled import Labelled
from hyplearn.data.opening import point_source
from hyplearn.estimators.ball_classifier import LabelledRows
from hyplearn.estimators.classifier import TangentClassifier
from hyplearn.estimators.streaming import InfeasibleError, least_heights, points_at, rows_for_probabilities
from hyplearn.estimators.threads import one_blas_thread
from hyplearn.estimators.validation import absolute_curvature, check_stopping
from hyplearn.progress import FitReporter, report_fit
from hyplearn.rows import Rows, RowSource
from hyplearn.rows.streamed import SignedRows
from hyplearn.solvers.sgd import Descent, solve_sgd
from hyplearn.solvers.svm.solution import Solution, relative_gap
from hyplearn.solvers.svm.solve import solve_svm
from hyplearn.tangent import Features, frame_coordinates, z_features
from hyplearn.types import Array

# Rows per block when a certificate is verified.
VERIFIED_ROWS = 10_000
# A hard margin holds if rows keep it to this share.
ROUNDING = 1e-9


def _streams(svc: "PoincareSVC") -> bool:
    """Whether the paper's algorithm covers these parameters."""
    if svc.loss == "hinge" and np.all(np.isfinite(svc.C)):
        return True
    raise AttributeError(
        f'partial_fit knows the hinge loss with a finite C only; got loss="{svc.loss}", C={svc.C}.\n'
        "Use fit for the squared hinge and the hard margin."
    )


class Certificate(NamedTuple):
    """What :meth:`hyplearn.PoincareSVC.verify` finds, one entry per binary problem.

    Attributes
    ----------
    primal, dual : ndarray
        P(w) of ``coef_`` and D(α) of ``dual_coef_``, from scratch; no w has a lower P than D.
    gap : ndarray
        ``(P - D) / max(1, |P|)``: how far P can be from the optimum.
    violation : ndarray
        How far α leaves its box [0, C], relative to the largest α; 0 makes D a proof.
    """

    primal: Array
    dual: Array
    gap: Array
    violation: Array


class PoincareSVC(TangentClassifier):
    r"""Support vector machine of the Poincaré ball, solved to a certificate of optimality.

    With the rows :math:`f_i` of points seen from a reference point p, finds the normal vector w of

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i \langle f_i, w \rangle)

    The boundary is the geodesic hyperplane through p with normal w. Next to w the model keeps dual variables α, whose
    value proves how close w is to the optimum: ``dual_gap_`` is that proven distance, and :meth:`verify` recomputes it.

    Parameters
    ----------
    reference : str, callable or array-like, default="boundary"
        The point through which each boundary passes. "boundary": on the hyperplane of a convex fit for which p is free,
        halfway between the hulls of the two sides where these do not meet. "means": between the means of the two sides,
        where both are equally likely. "hull": the paper's, the midpoint of the closest vertices of their hulls, in up
        to five dimensions. "closest": the midpoint of the closest points of their hulls. "mean": the mean of all
        points. "origin": the centre of the ball. A function of the points, their labels ±1, their weights (None where
        equal) and c = -curvature that returns the point; or the point itself, of shape (n_features,) for all problems,
        or (n_classes, n_features). See :mod:`hyplearn.reference`.
    C : float or array-like of shape (n_problems,), default=1.0
        Cost of a violated margin, for all binary problems or for each; ``numpy.inf`` asks for the hard margin, which
        exists only where a geodesic through the reference point separates the classes.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of the paper's theorem, or that of the authors' code, whose terms are squared.
    margin : {"bound", "exact"}, default="bound"
        What is maximised: "bound", the paper's lower bound of the hyperbolic margin, on rows of frame coordinates, as
        long as points are far; or "exact", the hyperbolic margin itself, on rows as long as its sinh, which points far
        from p dominate.
    solver : {"exact", "sgd"}, default="exact"
        "exact" stops when the certificate holds. "sgd" is the paper's algorithm for the soft margin, one random row at
        a time until the objective ceases to change, with the gap it reaches told by a warning.
    tol : float, default=1e-6
        Relative duality gap at which to stop; for "sgd" the relative change of the objective over an epoch.
    max_iter : int, default=100
        Largest number of working sets, Newton steps or epochs.
    class_weight : dict or "balanced", default=None
        Factors of C by class, multiplied with ``sample_weight``.
    calibration : {"cross-fitted", "training"} or None, default="cross-fitted"
        How distances become probabilities, and these predictions. "cross-fitted": Platt's sigmoid for each binary
        problem, fitted to the signed distances of rows from boundaries that have not seen them; it costs ``folds`` more
        fits. "training": as the paper does, fitted to the values ⟨f, w⟩ of the rows of training. None: no
        probabilities; ``predict`` goes by signed distances.
    folds : int, default=5
        Number of folds of "cross-fitted".
    n_jobs : int, default=None
        Threads to use; None for all cores (or as many as OMP_NUM_THREADS allows). The result is the same bits for any
        number of them.
    random_state : int, RandomState instance or None, default=0
        Seed of the samples from which a large fit begins, and of "sgd". It changes what is found within ``tol`` only.
    warm_start : bool, default=False
        Whether ``fit`` begins at the previous solution.
    curvature : float, default=-1.0
        Sectional curvature of the space the points were embedded in.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim: an error that names them, or move them onto the largest
        representable radius and warn.
    verbose : int, default=0
        Whether to tell the progress: bars where rich is installed, or lines. Of points in blocks: rows per second.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes. Two make one binary problem, K > 2 make K, each class against the rest.
    coef_ : ndarray of shape (n_problems, n_features)
        Normal vector w of each boundary, in frame coordinates at its reference point.
    reference_ : ndarray of shape (n_problems, n_features)
        The reference points.
    status_ : ndarray of str of shape (n_problems,)
        "optimal" where the certificate holds; else "max_iter", "stalled" (rounding forbids more), "stopped" ("sgd"),
        "infeasible" (no hard margin) or "online" (after ``partial_fit``).
    primal_, dual_, dual_gap_ : ndarrays of shape (n_problems,)
        P(w), D(α) and ``(P - D) / max(1, |P|)``.
    n_support_ : ndarray of shape (n_problems,)
        Number of rows with α > 0 in each problem.
    support_ : ndarray of shape (n_support,)
        Rows with α > 0 in some problem. Of points that are read in blocks, none if there are more than 2 million: the
        gap is proven by sums over them.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Those points.
    dual_coef_ : ndarray of shape (n_problems, n_support)
        Their ``y α``. Where the hard margin is infeasible, α is the proof of it: ``Σ y α f`` is zero to rounding.
    margin_ : ndarray of shape (n_problems,)
        Least signed hyperbolic distance of a training point to its boundary; negative where one is on the wrong side.
    sigmoids_ : ndarray of shape (n_problems, 2)
        Slope and offset of each sigmoid; not there without calibration and after ``partial_fit``.
    sharpness_ : float
        Of more than two classes: the power of the sigmoids to which probabilities are proportional; 1 for "training",
        and where held-out rows of some class would clearly lose by the power that is best for all.
    shift_ : float
        Of two classes: the score at which both are equally likely, for "cross-fitted" the signed distance from the
        boundary; 0 unless held-out rows clearly ask for another. There with ``sigmoids_``.
    n_iter_, n_passes_ : ndarrays of shape (n_problems,)
        Number of working sets, Newton steps or epochs, and of passes over the data.

    Examples
    --------
    >>> from hyplearn import PoincareSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(10_000, 5, margin=0.1, random_state=0)
    >>> svc = PoincareSVC(reference=p, C=1000).fit(X, y)
    >>> print(svc.score(X, y), svc.status_[0], bool(svc.dual_gap_[0] < 1e-6))
    1.0 optimal True
    """

    support_: Array

    def __init__(
        self,
        reference: Any = "boundary",
        *,
        C: float = 1.0,
        loss: str = "hinge",
        margin: str = "bound",
        solver: str = "exact",
        tol: float = 1e-6,
        max_iter: int = 100,
        class_weight: Any = None,
        calibration: str | None = "cross-fitted",
        folds: int = 5,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        curvature: float = -1.0,
        outside: str = "raise",
        verbose: int = 0,
    ) -> None:
        self.reference = reference
        self.C = C
        self.loss = loss
        self.margin = margin
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.calibration = calibration
        self.folds = folds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.curvature = curvature
        self.outside = outside
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Solve every binary problem to the tolerance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or what :func:`hyplearn.open_points` takes or returns
            Points of the ball. Files, arrays on disk and iterables of blocks are read in blocks, in a handful of passes
            per problem.
        y : array-like of shape (n_samples,), or name of the labels in a file
            Labels; a source or an iterable of blocks brings its own.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C by row: weight k counts as k copies, weight 0 as absence.
        """
        self._check_options()
        if (points := point_source(X, y, sample_weight)) is not None:
            return self._fit_source(points)
        previous = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        data = self._labelled_rows(X, y, sample_weight, reset=True)
        self._check_number_of_costs()
        self.reference_ = self._reference_points(data)
        starts: Any = [None] * self._n_problems
        if previous is not None and previous.shape == self.reference_.shape:
            starts = previous
        self._descents: list[Descent] = []
        with one_blas_thread(), report_fit(type(self).__name__, self.tol, self.verbose) as tell:
            solve = partial(self._solve, data, starts, tell)
            solutions = list(self._per_problem(data, solve))
        self._keep(data, solutions)
        self._complain()
        self._calibrate(data.X, data.y, data.weights, warned=bool((self.status_ != "optimal").any()))
        return self

    def _fit_points(self, data: Labelled, tell: FitReporter) -> None:
        if self.solver != "exact" or self.warm_start:
            given = f'solver="{self.solver}"' if self.solver != "exact" else "warm_start=True"
            raise ValueError(
                f"Points that are read in blocks are solved exactly, from the start; got {given}.\n"
                'Take solver="exact" and warm_start=False, or pass an array.'
            )
        self._check_number_of_costs()
        d, solutions = data.points.n_features, []
        self.reference_ = self._streamed_references(data)
        for k, (positive, p) in enumerate(zip(self._positives, self.reference_, strict=True)):
            make = SignedRows(data.weighing, positive, p, self._features, data.c, self._cost(k))
            before = data.points.n_passes
            solution = self._solved(data.rows(make, self._cost(k), d), None, tell, k, data.threads)
            solutions.append(replace(solution, n_passes=data.points.n_passes - before))
        self._keep_solutions(data.n_rows, solutions)
        self._keep_support(solutions, *points_at(data, self.support_))
        least = least_heights(data, self._positives, self.coef_, self.reference_)
        self.margin_ = np.arcsinh(least) / np.sqrt(data.c)
        rows = None if self.calibration is None else rows_for_probabilities(data)
        self._complain()
        if rows is not None:
            self._calibrate(*rows, warned=bool((self.status_ != "optimal").any()))

    @available_if(_streams)
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """One step of the paper's algorithm on each row, in order: a stream.

        N of the algorithm is the number of rows seen so far. A stream has no certificate: ``dual_gap_`` is NaN and
        ``status_`` "online". The reference point is learned from the first chunk, unless it is given. After
        :meth:`fit`, the stream goes on from what was found. For the hinge loss with a finite C only.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, needed in the first call
            All classes that the stream can bring.
        """
        self._check_options()
        if (points := point_source(X, y, sample_weight)) is not None:
            return self._stream(points, classes)
        first = not hasattr(self, "classes_")
        self._check_stream(classes, first)
        data = self._labelled_rows(X, y, sample_weight, classes=classes, reset=first)
        self._check_number_of_costs()
        if first:
            self.reference_ = self._reference_points(data)
            self._descents = [Descent(np.zeros(data.X.shape[1])) for _ in range(self._n_problems)]
        elif not self._descents:
            self._descents = [Descent(w.copy(), self._n_rows, self._n_rows) for w in self.coef_]
        for k, descent in enumerate(self._descents):
            descent.stream(self._signed_rows(data, k, threads=1))
        self._forget_calibration()
        d, unknown = data.X.shape[1], np.full(self._n_problems, np.nan)
        self.coef_ = np.stack([descent.w.copy() for descent in self._descents])
        self.status_ = np.full(self._n_problems, "online")
        self.primal_, self.dual_, self.dual_gap_, self.margin_ = (unknown.copy() for _ in range(4))
        self.n_support_ = np.zeros(self._n_problems, dtype=int)
        self.support_, self.support_vectors_ = np.empty(0, dtype=np.int64), np.empty((0, d), dtype=data.X.dtype)
        self.dual_coef_ = np.empty((self._n_problems, 0))
        self.n_iter_ = self.n_passes_ = np.ones(self._n_problems, dtype=int)
        return self

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from scratch, in plain NumPy, from ``coef_`` and ``dual_coef_``.

        Parameters
        ----------
        X, y, sample_weight
            The data of :meth:`fit`, in the same order.

        Examples
        --------
        >>> from hyplearn import PoincareSVC
        >>> from hyplearn.datasets import make_ball_classification
        >>> X, y, p, w = make_ball_classification(1000, 2, random_state=0)
        >>> certificate = PoincareSVC(reference=p, C=10).fit(X, y).verify(X, y)
        >>> print(certificate.gap < 1e-6, certificate.violation)
        [ True] [0.]
        """
        check_is_fitted(self)
        data = self._labelled_rows(X, y, sample_weight, reset=False)
        if "online" in self.status_ or len(data.X) != self._n_rows:
            seen = "a stream" if "online" in self.status_ else f"{self._n_rows} rows"
            raise ValueError(
                f"A certificate speaks of the data of fit, {seen}; got {len(data.X)} rows.\nPass the data of fit."
            )
        if self.n_support_.any() and not len(self.support_):
            raise ValueError(
                f"The {self.n_support_.max()} dual variables were too many to keep, so there is nothing to verify; "
                "dual_gap_ was proven by their sums.\nFit on points in memory to keep them."
            )
        found = [self._verified(data, k) for k in range(self._n_problems)]
        return Certificate(*(np.array(column) for column in zip(*found, strict=True)))

    def _verified(self, data: LabelledRows, k: int) -> tuple[float, float, float, float]:
        y, C, w, p = self._binary_labels(data, k), self._costs(data, k), self.coef_[k], self.reference_[k]
        alpha = np.zeros(len(y))
        alpha[self.support_] = y[self.support_] * self.dual_coef_[k]
        features = frame_coordinates if self._features == "frame" else z_features
        below, v, penalty, hard = 0.0, np.zeros_like(w), 0.0, not np.isfinite(self._cost(k))
        for start in range(0, len(y), VERIFIED_ROWS):
            cut = slice(start, start + VERIFIED_ROWS)
            paid = np.flatnonzero(C[cut] > 0)
            rows = features(data.X[cut].astype(np.float64), p, c=absolute_curvature(self.curvature)) * y[cut, None]
            room = np.maximum(0, 1 - rows @ w)[paid]
            v += alpha[cut] @ rows
            if hard:
                below = max(below, float(room.max(initial=0)))
            elif self.loss == "hinge":
                below += float(C[cut][paid] @ room)
            else:
                below += float(C[cut][paid] @ room**2)
                penalty += float(np.sum(alpha[cut][paid] ** 2 / (4 * C[cut][paid])))
        primal = 0.5 * float(w @ w) + (below if not hard else 0.0 if below <= ROUNDING else np.inf)
        dual = float(alpha.sum() - 0.5 * (v @ v) - penalty)
        most = C if self.loss == "hinge" else np.inf
        excess = float(np.max(np.maximum(-alpha, alpha - most)) / max(np.max(np.abs(alpha)), 1e-300))
        return primal, dual, relative_gap(primal, dual), max(0.0, excess)

    @property
    def _features(self) -> Features:
        return "frame" if self.margin == "bound" else "z"

    def _check_options(self) -> None:
        self._check_calibration()
        for name, allowed in (
            ("loss", ("hinge", "squared_hinge")),
            ("margin", ("bound", "exact")),
            ("solver", ("exact", "sgd")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {getattr(self, name)!r}.")
        C = np.asarray(self.C)
        if C.dtype.kind not in "iuf" or C.ndim > 1 or not C.size or not np.all(C > 0):
            raise ValueError(
                f"C must be a positive number, or one for each binary problem; got {self.C!r}.\n"
                "Pass numpy.inf for the hard margin."
            )
        check_stopping(self.tol, self.max_iter)
        if self.solver == "sgd" and (self.loss != "hinge" or not np.all(np.isfinite(C))):
            raise ValueError(
                f'solver="sgd" knows the hinge loss with a finite C; got loss="{self.loss}", C={self.C}.\n'
                'Take solver="exact".'
            )

    def _check_number_of_costs(self) -> None:
        C = np.asarray(self.C)
        if C.ndim and len(C) != self._n_problems:
            raise ValueError(
                f"{self._n_problems} binary problems need as many C; got {len(C)}.\n"
                "Pass one number for all, or one per class (one in all for two classes)."
            )

    def _solve(self, data: LabelledRows, starts: Any, tell: FitReporter, k: int, threads: int) -> Solution:
        rows = self._signed_rows(data, k, threads)
        if self.solver == "exact":
            return self._solved(rows, starts[k], tell, k, threads)
        return solve_sgd(
            rows,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self._seed(),
            start=starts[k],
            report=partial(tell, f"class {self._positive(k)}"),
        )

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _solved(self, rows: RowSource, start: Array | None, tell: FitReporter, k: int, threads: int) -> Solution:
        report = partial(tell, f"class {self._positive(k)}")
        return solve_svm(
            rows,
            loss=self.loss,  # type: ignore[arg-type]
            tol=self.tol,
            max_iter=self.max_iter,
            start=start,
            seed=self._seed(),
            report=report,
            threads=threads,
        )

    def _signed_rows(self, data: LabelledRows, k: int, threads: int) -> Rows:
        rows = self._rows(data, k)
        return Rows.labelled(rows, self._binary_labels(data, k), self._costs(data, k), threads=threads)

    def _cost(self, k: int) -> float:
        """C of problem k."""
        C = np.asarray(self.C, dtype=np.float64)
        return float(C[k] if C.ndim else C)

    def _costs(self, data: LabelledRows, k: int) -> Array:
        if data.weights is None:
            return np.full(len(data.X), self._cost(k))
        costs = np.zeros(len(data.X))
        paid = data.weights > 0  # an infinite C times 0 is no number
        costs[paid] = self._cost(k) * data.weights[paid]
        return costs

    def _keep(self, data: LabelledRows, solutions: list[Solution]) -> None:
        """Set the fitted attributes."""
        self._keep_solutions(len(data.X), solutions)
        self._keep_support(solutions, data.X[self.support_], data.y[self.support_])
        self.margin_ = np.empty(len(solutions))
        present = slice(None) if data.weights is None else data.weights > 0
        root = np.sqrt(absolute_curvature(self.curvature))
        for k, heights in enumerate(self._heights(data.X, data.rooms)):
            self.margin_[k] = np.arcsinh(np.min((self._binary_labels(data, k) * heights)[present])) / root

    def _keep_solutions(self, n_rows: int, solutions: list[Solution]) -> None:
        self._n_rows = n_rows
        self.coef_ = np.stack([solution.w for solution in solutions])
        self.status_ = np.array([solution.status for solution in solutions])
        for name in ("primal", "dual", "n_iter", "n_passes", "n_support"):
            setattr(self, f"{name}_", np.array([getattr(solution, name) for solution in solutions]))
        self.dual_gap_ = np.array([solution.gap for solution in solutions])
        kept = all(len(solution.support) == solution.n_support for solution in solutions)
        self.support_ = _union([solution.support if kept else np.empty(0) for solution in solutions])

    def _keep_support(self, solutions: list[Solution], vectors: Array, labels: Array) -> None:
        self.support_vectors_ = vectors
        self.dual_coef_ = np.zeros((len(solutions), len(self.support_)))
        for k, solution in enumerate(solutions if len(self.support_) else []):
            places = np.searchsorted(self.support_, solution.support)
            signs = np.where(labels[places] == self._positive(k), 1.0, -1.0)
            self.dual_coef_[k, places] = signs * solution.alpha

    def _complain(self) -> None:
        """An error where the hard margin has no solution, a warning where the certificate is not reached."""
        infeasible = np.flatnonzero(self.status_ == "infeasible")
        if infeasible.size:
            raise InfeasibleError(
                f"No geodesic through the reference point separates the classes ({self._names(infeasible)}): the hard "
                "margin has no solution, and dual_coef_ proves it.\n"
                "Take a soft margin, such as C=1000, or another reference point."
            )
        unsolved = np.flatnonzero(self.status_ != "optimal")
        if unsolved.size:
            worst = unsolved[np.argmax(self.dual_gap_[unsolved])]
            advice = {
                "max_iter": "Raise max_iter, lower C, or rescale the embedding.",
                "stalled": "Rounding allows no more: lower C, or raise tol.",
                "stopped": 'The objective ceased to change before the optimum: take solver="exact".',
            }
            warnings.warn(
                f"{type(self).__name__} reached a relative duality gap of {self.dual_gap_[worst]:.1e}, not tol="
                f'{self.tol:.1e} ({self._names(unsolved)}; status "{self.status_[worst]}").\n'
                f"{advice[self.status_[worst]]}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _names(self, problems: Array) -> str:
        return self._named(problems) + ("" if len(self.classes_) == 2 else " against the rest")


def _union(supports: Sequence[Array]) -> Array:
    """All positions once, in order: the merge of what is in order already, as a stable sort takes it."""
    merged = np.sort(np.concatenate(supports).astype(np.int64), kind="stable")
    return merged[np.append(True, merged[1:] != merged[:-1])] if len(merged) else merged
