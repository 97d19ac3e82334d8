"""The Poincaré support vector machine."""

import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hyplearn.cone import INTERCEPT, plain_cone_rows
from hyplearn.data.folding import in_any_order
from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.decision import Decision
from hyplearn.estimators.ball_classifier import VERIFIED_ROWS, warn_unsolved
from hyplearn.estimators.stream import StreamClassifier
from hyplearn.estimators.validation import InfeasibleError, absolute_curvature, check_stopping, known_data
from hyplearn.progress import FitReporter
from hyplearn.reference import reference_points
from hyplearn.rows.built import ConeRowBuilder, RowBuilder, SignedRowBuilder, build_rows, row_costs
from hyplearn.solvers.certificate import (
    Certificate,
    CertificateSums,
    Proof,
    certificate_sums,
    certify,
    merge_certificates,
)
from hyplearn.solvers.sgd import Descent
from hyplearn.solvers.svm import Solution, solve_svm
from hyplearn.tangent import Features, frame_coordinates, z_features
from hyplearn.types import Array


def _streams(svc: "PoincareSVC") -> bool:
    """Whether these parameters allow a stream; otherwise an error that says why not."""
    if svc.loss == "hinge" and np.all(np.isfinite(svc.C)):
        return True
    raise AttributeError(
        f'partial_fit supports only loss="hinge" with a finite C; got loss="{svc.loss}", C={svc.C}.\n'
        "Use fit for the squared hinge and the hard margin."
    )


@dataclass(eq=False, repr=False)
class PoincareSVC(StreamClassifier):
    r"""Support vector machine of the Poincaré ball, solved to a certificate of optimality.

    With the rows :math:`f_i` of points seen from a reference point p, finds the normal vector w of

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i \langle f_i, w \rangle)

    The boundary is the geodesic hyperplane through p with normal w. Next to w the model keeps dual variables α, whose
    value proves how close w is to the optimum: ``dual_gap_`` is that proven distance, and :meth:`verify` recomputes it.

    With ``reference=None`` rows are those of :class:`PoincareLogisticRegression`: cone coordinates about the mean of
    all points, and a constant for the intercept. Boundaries then need not pass through any point: they are geodesic
    hyperplanes, or with an intercept spheres, horospheres and equidistants (within the distance 4 of the mean).
    ``loss="squared_hinge"`` with ``C=100`` is a good start.

    Parameters
    ----------
    reference : str, callable, array-like or None, default="boundary"
        The point through which each boundary passes; None for boundaries that need not pass through any point (see
        below). "boundary": on the hyperplane of a convex fit for which p is free,
        halfway between the hulls of the two sides where these do not meet. "means": between the means of the two sides,
        where both are equally likely. "hull": the paper's, the midpoint of the closest vertices of their hulls, in up
        to five dimensions. "closest": the midpoint of the closest points of their hulls. "mean": the mean of all
        points. "origin": the centre of the ball. A function of the points, their labels ±1, their weights (None where
        equal) and c = -curvature that returns the point; or the point itself, of shape (n_features,) for all problems,
        or (n_classes, n_features). See :mod:`hyplearn.reference`.
    C : float or array-like of shape (n_problems,), default=1.0
        Cost of a violated margin, for all binary problems or for each; ``numpy.inf`` asks for the hard margin, which
        exists only where a geodesic through the reference point separates the classes.
    fit_intercept : bool, default=True
        With ``reference=None``: whether scores have an intercept; without one the boundaries are geodesic hyperplanes.
        Boundaries through a reference point have none.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of the paper's theorem, or that of the authors' code, whose terms are squared.
    margin : {"bound", "exact"}, default="bound"
        What is maximised: "bound", the paper's lower bound of the hyperbolic margin, on rows of frame coordinates, as
        long as points are far; or "exact", the hyperbolic margin itself, on rows as long as its sinh, which points far
        from p dominate.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Largest number of working sets or Newton steps.
    class_weight : dict or "balanced", default=None
        Factors of C by class, multiplied with ``sample_weight``.
    calibration : "cross-fitted" or None, default="cross-fitted"
        How distances become probabilities. "cross-fitted": slopes and offsets fitted to the signed distances of rows
        from boundaries that have not seen them (:mod:`hyplearn.decision.calibration`); it costs ``folds`` more fits.
        None: no probabilities; scores are signed distances.
    folds : int, default=5
        Number of folds of "cross-fitted".
    n_jobs : int, default=None
        Number of threads; None for all cores, or as many as OMP_NUM_THREADS allows. It changes no bit of the result.
    random_state : int, RandomState instance or None, default=0
        Seed of the samples from which a large fit starts. It changes the solution within ``tol`` only.
    warm_start : bool, default=False
        Whether ``fit`` starts from the previous solution.
    curvature : float, default=-1.0
        Sectional curvature of the space the points were embedded in.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim: an error that names them, or move them onto the largest
        representable radius and warn.
    verbose : int, default=0
        Whether to report progress: bars where rich is installed, or lines.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes. Two make one binary problem, K > 2 make K, each class against the rest.
    coef_ : ndarray of shape (n_problems, n_features), or (n_problems, n_features + 1) with ``reference=None``
        Normal vector w of each boundary, in frame coordinates at its reference point; or coefficients of cone
        coordinates.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts; only with ``reference=None``.
    reference_ : ndarray of shape (n_problems, n_features)
        The reference points; with ``reference=None`` the mean of all points, once per problem.
    status_ : ndarray of str of shape (n_problems,)
        "optimal" where the certificate holds; else "max_iter", "stalled" (limited by rounding), "infeasible" (no hard
        margin) or "online" (after ``partial_fit``).
    primal_, dual_, dual_gap_ : ndarrays of shape (n_problems,)
        P(w), D(α) and ``(P - D) / max(1, |P|)``.
    n_support_ : ndarray of shape (n_problems,)
        Number of rows with α > 0 in each problem.
    support_ : ndarray of shape (n_support,)
        Rows with α > 0 in some problem. Empty where points are read in blocks and there are more than 2 million: the
        gap is proven by sums over them.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Those points.
    dual_coef_ : ndarray of shape (n_problems, n_support)
        Their ``y α``. Where the hard margin is infeasible, α is the proof of it: ``Σ y α f`` is zero to rounding.
    margin_ : ndarray of shape (n_problems,)
        Least signed hyperbolic distance of a training point to its boundary; negative where one is on the wrong side,
        and NaN if boundaries have an intercept.
    calibration_ : Calibration
        Slopes and offsets that make scores of distances; absent without calibration and after ``partial_fit``.
    decision_ : Decision
        The fitted model as a frozen value, which every prediction, picture and file reads.
    n_iter_, n_passes_ : ndarrays of shape (n_problems,)
        Number of working sets or Newton steps, and of passes over the data.

    Examples
    --------
    >>> from hyplearn import PoincareSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(10_000, 5, margin=0.1, random_state=0)
    >>> svc = PoincareSVC(reference=p, C=1000).fit(X, y)
    >>> print(svc.score(X, y), svc.status_[0], bool(svc.dual_gap_[0] < 1e-6))
    1.0 optimal True
    """

    reference: Any = "boundary"
    _: KW_ONLY
    C: float = 1.0
    fit_intercept: bool = True
    loss: str = "hinge"
    margin: str = "bound"
    tol: float = 1e-6
    max_iter: int = 100
    class_weight: Any = None
    calibration: str | None = "cross-fitted"
    folds: int = 5
    n_jobs: int | None = None
    random_state: Any = 0
    warm_start: bool = False
    curvature: float = -1.0
    outside: str = "raise"
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Solve every binary problem to the tolerance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            Points of the ball: an array, a data frame, a path, :func:`hyplearn.open_points`, an array on disk, an
            iterable of blocks, a Dask array or data frame. Those beyond the memory budget of their source are read in
            blocks, in a handful of passes per problem.
        y : array-like of shape (n_samples,), or name of the labels in a file
            Labels; omitted for sources that bring their own.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C by row: weight k counts as k copies, weight 0 as absence.
        """
        starts = self._W if self.warm_start and hasattr(self, "coef_") else None
        with self._training(X, y, sample_weight) as (data, report):
            self._check_number_of_costs()
            self.reference_ = self._references(data)
            if starts is not None and starts.shape != (self._n_problems, self._n_columns(data.n_features)):
                starts = None
            with self._problem_map(data) as (each, threads):
                problems = self._problems(data, starts, report, threads)
                solutions = list(each(operator.call, problems))
            self._keep_solutions(data, solutions)
            self._descents: list[Descent] = []
            self._forget_calibration()
            self.decision_ = self._decide()
            self._report_status()
            self._calibrate(data, warned=bool((self.status_ != "optimal").any()))
            self.decision_ = self._decide()
        return self

    def _problems(
        self, data: TrainingData, starts: Array | None, report: FitReporter | None, threads: int
    ) -> Iterator[Callable[[], Solution]]:
        """Solvers of the binary problems, whose rows are built when they are called."""
        for k in range(self._n_problems):
            build, n_columns = self._builder(k, data.c), self._n_columns(data.n_features)
            yield partial(
                solve_svm,
                build_rows(data, build, self._cost(k), n_columns, threads=threads),
                loss=self.loss,  # type: ignore[arg-type]
                tol=self.tol,
                max_iter=self.max_iter,
                start=None if starts is None else starts[k],
                seed=int(check_random_state(self.random_state).randint(2**31)),
                report=None if report is None else partial(report, f"class {self._positive(k)}"),
                threads=threads,
            )

    def _refit(self, data: TrainingData) -> Decision:
        with self._problem_map(data) as (each, threads):
            solutions = list(each(operator.call, self._problems(data, self._W, None, threads)))
        unsolved = [solution.gap for solution in solutions if solution.status != "optimal"]
        if unsolved:
            warnings.warn(f"The relative duality gap is {max(unsolved):.1e}.", ConvergenceWarning, stacklevel=2)
        weights = self._as_attributes(np.stack([solution.w for solution in solutions]))
        return self._boundaries({**weights, "reference_": self.reference_})

    def _references(self, data: TrainingData) -> Array:
        """One reference point per problem, or the mean of all points as the centre of their rows."""
        if self.reference is not None:
            return super()._references(data)
        return reference_points("mean", data, [np.zeros(data.n_classes, dtype=np.int64)] * self._n_problems)

    def _n_columns(self, d: int) -> int:
        """Number of columns of the rows for d coordinates."""
        return d if self.reference is not None else d + 1 + self.fit_intercept

    def _builder(self, k: int, c: float) -> RowBuilder:
        """Builds the rows of problem k."""
        problem = self._positives[k], self.reference_[k]
        if self.reference is None:
            return ConeRowBuilder(*problem, c, self._cost(k), INTERCEPT if self.fit_intercept else 0.0)
        return SignedRowBuilder(*problem, self._features, c, self._cost(k))

    @property
    def _W(self) -> Array:  # noqa: N802, as in the mathematics
        """Weights of all problems, as the solver has them."""
        if "intercept_" not in vars(self) or not self.fit_intercept:
            return self.coef_
        return np.column_stack([self.coef_, self.intercept_ / INTERCEPT])

    def _as_attributes(self, W: Array) -> dict[str, Array]:
        """Fitted attributes that hold the weights of the solver."""
        if self.reference is not None:
            return {"coef_": W}
        d = self.reference_.shape[1]
        intercepts = INTERCEPT * W[:, d + 1] if self.fit_intercept else np.zeros(len(W))
        return {"coef_": np.ascontiguousarray(W[:, : d + 1]), "intercept_": intercepts}

    def _set_weights(self, W: Array) -> None:
        """Set the attributes of the weights; an intercept of an earlier fit is dropped."""
        self.__dict__.pop("intercept_", None)
        self.__dict__.update(self._as_attributes(W))

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        if self.reference is not None:
            return super()._boundaries(fitted)
        c = absolute_curvature(self.curvature)
        return Decision(self.classes_, c, "cone-arsinh", fitted["coef_"], fitted["reference_"], fitted["intercept_"])

    partial_fit = available_if(_streams)(StreamClassifier.partial_fit)

    def _start_stream(self, d: int) -> Sequence[Descent]:
        return [Descent(np.zeros(self._n_columns(d))) for _ in range(self._n_problems)]

    def _stream_state(self) -> Sequence[Descent]:
        return self._descents or [Descent(w.copy(), self._n_rows, self._n_rows) for w in self._W]

    def _visit(self) -> Callable[[LabelledBlock, Sequence[Descent], int], Sequence[Descent]]:
        self._check_number_of_costs()
        c = absolute_curvature(self.curvature)
        return partial(_descend, builders=[self._builder(k, c) for k in range(self._n_problems)])

    def _end_stream(self, state: Sequence[Descent], d: int) -> None:
        self._descents = list(state)
        unknown = np.full(self._n_problems, np.nan)
        self._set_weights(np.stack([descent.w.copy() for descent in self._descents]))
        self.status_ = np.full(self._n_problems, "online")
        self.primal_, self.dual_, self.dual_gap_, self.margin_ = (unknown.copy() for _ in range(4))
        self.n_support_ = np.zeros(self._n_problems, dtype=int)
        self.support_, self.support_vectors_ = np.empty(0, dtype=np.int64), np.empty((0, d))
        self.dual_coef_ = np.empty((self._n_problems, 0))
        self.n_iter_ = self.n_passes_ = np.ones(self._n_problems, dtype=int)

    def verify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from scratch, in plain NumPy, from ``coef_`` and ``dual_coef_``.

        Parameters
        ----------
        X, y, sample_weight
            The training data, in the same order, from any source.

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
        data = known_data(self, X, y, sample_weight)
        if "online" in self.status_ or data.n_rows != self._n_rows:
            seen = "was fitted on a stream" if "online" in self.status_ else f"was fitted on {self._n_rows} rows"
            raise ValueError(f"verify() needs the training data; {type(self).__name__} {seen}, got {data.n_rows}.")
        if self.n_support_.any() and not len(self.support_):
            raise ValueError(
                f"The {self.n_support_.max()} dual variables were too many to keep, so there is nothing to verify; "
                "dual_gap_ was proven by their sums.\nFit on points in memory to keep them."
            )
        found = [self._verify_problem(data, k) for k in range(self._n_problems)]
        return Certificate(*(np.array(column) for column in zip(*found, strict=True)))

    def _verify_problem(self, data: TrainingData, k: int) -> Proof:
        p, w = self.reference_[k], self._W[k]
        if self.reference is None:
            rows_of = partial(plain_cone_rows, centre=p, c=data.c, intercept=self.fit_intercept)
        else:
            rows_of = partial(frame_coordinates if self.margin == "bound" else z_features, p=p, c=data.c)
        problem = VerifiedProblem(self._positives[k], rows_of, w, self._cost(k), self.loss)
        sums = data.fold(_sums_of_block, merge_certificates, problem, self.support_, self.dual_coef_[k])
        return certify(sums, w, hard=not np.isfinite(self._cost(k)))

    @property
    def _features(self) -> Features:
        return "frame" if self.margin == "bound" else "z"

    def _check_parameters(self) -> None:
        self._check_calibration()
        for name, allowed in (("loss", ("hinge", "squared_hinge")), ("margin", ("bound", "exact"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {getattr(self, name)!r}.")
        if self.reference is None and self.margin == "exact":
            raise ValueError(
                'margin="exact" needs a reference point; got reference=None.\nPass reference=, or margin="bound".'
            )
        C = np.asarray(self.C)
        if C.dtype.kind not in "iuf" or C.ndim > 1 or not C.size or not np.all(C > 0):
            raise ValueError(
                f"C must be a positive number, or one for each binary problem; got {self.C!r}.\n"
                "Pass numpy.inf for the hard margin."
            )
        check_stopping(self.tol, self.max_iter)

    def _check_number_of_costs(self) -> None:
        C = np.asarray(self.C)
        if C.ndim and len(C) != self._n_problems:
            raise ValueError(
                f"C has {len(C)} entries; expected {self._n_problems} (one per binary problem).\n"
                "Pass one number for all, or one per class (one in all for two classes)."
            )

    def _cost(self, k: int) -> float:
        """C of problem k."""
        C = np.asarray(self.C, dtype=np.float64)
        return float(C[k] if C.ndim else C)

    def _keep_solutions(self, data: TrainingData, solutions: list[Solution]) -> None:
        """Set the fitted attributes."""
        self._n_rows = data.n_rows
        self._set_weights(np.stack([solution.w for solution in solutions]))
        self.status_ = np.array([solution.status for solution in solutions])
        for name in ("primal", "dual", "n_iter", "n_passes", "n_support"):
            setattr(self, f"{name}_", np.array([getattr(solution, name) for solution in solutions]))
        self.dual_gap_ = np.array([solution.gap for solution in solutions])
        kept = all(len(solution.support) == solution.n_support for solution in solutions)
        self.support_ = _union([solution.support if kept else np.empty(0) for solution in solutions])
        self.support_vectors_, codes = data.taken(self.support_)
        self.dual_coef_ = np.zeros((len(solutions), len(self.support_)))
        for k, solution in enumerate(solutions if len(self.support_) else []):
            places = np.searchsorted(self.support_, solution.support)
            signs = np.where(codes[places] == self._positives[k], 1.0, -1.0)
            self.dual_coef_[k, places] = signs * solution.alpha
        boundaries = self._boundaries(vars(self))
        self.margin_ = np.full(self._n_problems, np.nan)
        if boundaries.has_distances:
            self.margin_ = data.fold(_least_distances, _least, boundaries, np.array(self._positives))

    def _report_status(self) -> None:
        """Raise where the hard margin has no solution, warn where the certificate is not reached."""
        infeasible = np.flatnonzero(self.status_ == "infeasible")
        if infeasible.size:
            boundary = "boundary" if self.reference is None else "geodesic through the reference point"
            raise InfeasibleError(
                f"No {boundary} separates the classes ({self._names(infeasible)}): the hard margin has no solution, "
                "and dual_coef_ proves it.\nTake a soft margin, such as C=1000, or another reference."
            )
        unsolved = np.flatnonzero(self.status_ != "optimal")
        if unsolved.size:
            worst = unsolved[np.argmax(self.dual_gap_[unsolved])]
            warn_unsolved(self, self.dual_gap_[worst], self.status_[worst], f"{self._names(unsolved)}; ")


def _descend(
    block: LabelledBlock, state: Sequence[Descent], threads: int, *, builders: Sequence[RowBuilder]
) -> list[Descent]:
    """The state after a step on each row of a block in every problem; the given one is unchanged."""
    following = [replace(descent, w=descent.w.copy()) for descent in state]
    for descent, build in zip(following, builders, strict=True):
        descent.stream(build(block))
    return following


@dataclass(frozen=True)
class VerifiedProblem:
    """A binary problem whose certificate is recomputed."""

    positive: int
    rows_of: Callable[[Array], Array]  # explicit rows of float64 points
    w: Array
    C: float
    loss: str


def _sums_of_block(block: LabelledBlock, problem: VerifiedProblem, support: Array, dual_coef: Array) -> CertificateSums:
    """Contributions of a block to the certificate of a problem."""
    y, costs = np.where(block.codes == problem.positive, 1.0, -1.0), row_costs(block, problem.C)
    alpha = np.zeros(len(y))
    first, last = np.searchsorted(support, [block.start, block.start + len(y)])
    own = support[first:last] - block.start
    alpha[own] = y[own] * dual_coef[first:last]
    cuts = [slice(start, start + VERIFIED_ROWS) for start in range(0, len(y), VERIFIED_ROWS)]
    rows = ((y[cut, None] * problem.rows_of(block.X[cut].astype(np.float64)), alpha[cut], costs[cut]) for cut in cuts)
    return merge_certificates([certificate_sums(*part, problem.w, problem.loss) for part in rows])


def _least_distances(block: LabelledBlock, boundaries: Decision, positives: Array) -> Array:
    """For each problem the least signed distance to its boundary of a row of the block that has a weight."""
    distances = boundaries.distances(block.X, block.gaps)
    own = np.where(block.codes[:, None] == positives, distances, -distances)
    return own.min(axis=0, where=block.present[:, None], initial=np.inf)


@in_any_order
def _least(parts: Sequence[Array]) -> Array:
    return np.min(parts, axis=0)


def _union(supports: Sequence[Array]) -> Array:
    """All positions once, sorted: a stable sort merges sequences that are sorted already."""
    merged = np.sort(np.concatenate(supports).astype(np.int64), kind="stable")
    return merged[np.append(True, merged[1:] != merged[:-1])] if len(merged) else merged
