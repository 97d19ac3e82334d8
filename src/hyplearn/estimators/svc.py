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

from hyplearn.data.folding import in_any_order
from hyplearn.data.training import LabelledBlock, TrainingData
from hyplearn.decision import Boundary, Decision
from hyplearn.estimators.ball_classifier import VERIFIED_ROWS, warn_unsolved
from hyplearn.estimators.cost_choice import ChosenCost, choice_rows, choose_held_out
from hyplearn.estimators.depth import warn_of_depth
from hyplearn.estimators.stream import StreamClassifier
from hyplearn.estimators.svc_rows import FreeRows, PointRows, RowKind, WidestRows
from hyplearn.estimators.validation import InfeasibleError, absolute_curvature, check_stopping, known_data
from hyplearn.progress import FitReporter
from hyplearn.rows.built import ClassRowBuilder, RowBuilder, build_rows, row_costs
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
from hyplearn.solvers.svm.together import Problems, solutions_of, solve_together
from hyplearn.types import Array, EachCostOrAuto

# Largest number of elements (rows times columns) for which all problems are solved together. For larger data, it is
# faster to solve each problem separately.
TOGETHER_NUMBERS = 2**20
# Relative duality gap at which the held-out fits of the calibration stop if they are solved together. A loose value is
# enough: each held-out fit starts from the fit to all rows, and its first Newton step covers most of the difference
# between these two fits.
HELD_OUT_TOL = 1e-3
# Maximum size of the subsample on which C is chosen: CHOICE_NUMBERS elements (rows times columns), to limit the time,
# or CHOICE_FEWEST rows if that is more. In many dimensions the time depends mainly on the number of rows, and fewer
# than CHOICE_FEWEST rows would not be enough to choose C.
CHOICE_NUMBERS, CHOICE_FEWEST = 2**17, 500


def _is_auto(C: EachCostOrAuto) -> bool:
    return isinstance(C, str) and C == "auto"


def _streams(svc: "PoincareSVC") -> bool:
    """Return True if the parameters support ``partial_fit``, and raise AttributeError otherwise."""
    if svc.loss == "hinge" and (_is_auto(svc.C) or np.all(np.isfinite(svc.C))):
        return True
    raise AttributeError(
        f'partial_fit supports only loss="hinge" with a finite C; got loss="{svc.loss}", C={svc.C}.\n'
        'Pass loss="hinge" and a finite C, or use fit.'
    )


@dataclass(eq=False, repr=False)
class PoincareSVC(StreamClassifier):
    r"""Support vector machine in the Poincaré ball, with a certificate of optimality.

    For features :math:`f_i` of the points and labels :math:`y_i = \pm 1`, the weights w solve

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i \langle f_i, w \rangle)^2

    or, with ``loss="hinge"``, the same problem in which the maximum is not squared. By default the features are
    :func:`~hyplearn.cone.cone_coordinates` about the mean of all points, or about the mean of the class that is
    separated from the rest, if there are more than two classes and their means are far from the mean of all points.
    The boundary is then a generalised sphere: a geodesic hyperplane, an equidistant (a hypersurface at constant
    distance from a geodesic hyperplane), a horosphere or a sphere (see ``boundaries_``). With ``fit_intercept=False``
    it is always a geodesic hyperplane. With ``reference=`` the features are coordinates relative to a reference point
    p, and the boundary is the geodesic hyperplane through p with normal w: the SVM of Chien, Pan, Tabaghi and
    Milenkovic (2021), called the paper below.

    The model also keeps dual variables α, which prove how close w is to the optimum: ``dual_gap_`` is a proven bound,
    and :meth:`verify` recomputes it.

    Parameters
    ----------
    reference : str, callable, array-like or None, default=None
        None for boundaries that need not pass through a given point. Otherwise the point p through which each boundary
        passes. "boundary": a point on a hyperplane that is fitted without a given p; if the convex hulls of the two
        sides are disjoint, the midpoint of their closest points. "means": the point between the means of the two sides
        at which both sides are equally likely. "hull": as in the paper, the midpoint of the closest vertices of the two
        hulls, in up to five dimensions. "closest": the midpoint of the closest points of the two hulls. "mean": the
        mean of all points. "origin": the centre of the ball. A callable gets the points, their labels ±1, their weights
        (None if all are equal) and c = -curvature, and returns the point. An array contains one point for all problems,
        with shape (n_features,), or one point per problem, with shape (n_problems, n_features). See
        :mod:`hyplearn.reference`.
    C : float, array-like of shape (n_problems,) or "auto", default="auto"
        Cost of margin violations: one value for all binary problems, or one value per problem. ``numpy.inf`` gives the
        hard margin, which exists only if the classes are separable. "auto": with ``reference=None`` and the squared
        hinge, a power of ten that is chosen by the log-loss on held-out folds; otherwise 1. ``C_`` contains the values
        used.
    fit_intercept : bool, default=True
        Whether to fit an intercept, for ``reference=None``; without one the boundaries are geodesic hyperplanes.
        Boundaries through a reference point never have an intercept.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss: the squared hinge, as in the code of the paper's authors, or the hinge, as in the paper's theorem.
    margin : {"bound", "exact"}, default="bound"
        The margin to maximise for boundaries through a reference point p. "bound": the paper's lower bound on the
        hyperbolic margin; the features are frame coordinates, whose norm is the distance d from p. "exact": the
        hyperbolic margin itself; the norm of the features is ``sinh(√c d) / √c`` with c = -curvature, so points far
        from p dominate. With ``reference=None``, "bound" has no effect, and "exact" requires ``C=numpy.inf``: it finds
        the widest margin of all geodesic hyperplanes (:func:`~hyplearn.reference.widest_margin`), and the fitted
        attributes are those of a model with reference points.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of Newton steps (squared hinge) or working sets (hinge, or hard margin) for each problem.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply C and ``sample_weight``.
    calibration : "cross-fitted" or None, default="cross-fitted"
        How to turn uncalibrated scores into probabilities. "cross-fitted": with an affine map that is fitted to the
        scores of held-out rows (:mod:`hyplearn.decision.calibration`), at the cost of ``folds`` more fits. With at
        least 1,000 rows per coordinate, the scores of training rows are used instead. None: no probabilities, and
        uncalibrated scores (see :meth:`decision_function`).
    folds : int, default=5
        Number of folds for ``calibration="cross-fitted"``, and for the choice of C with ``C="auto"``.
    n_jobs : int, default=None
        Number of threads; None for all cores, or as many as OMP_NUM_THREADS allows. Results do not depend on it.
    trim : bool, default=True
        Whether to leave out rows that lie far beyond the other rows of their class (``hyplearn.data.far_rows``), with a
        warning that lists them. The hard margin always uses all rows.
    random_state : int, RandomState instance or None, default=0
        Seed of the subsamples from which the starting weights are computed for large data. Solutions for different
        seeds may differ, but the relative duality gap of each is at most ``tol``.
    warm_start : bool, default=False
        Whether ``fit`` starts from the previous solution.
    curvature : float, default=-1.0
        Sectional curvature of the space in which the points were embedded.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim of the ball: raise an error that lists them, or move them to the
        largest representable radius with a warning.
    verbose : int, default=0
        Whether to report progress: as bars if rich is installed, as lines otherwise.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels. Two classes give one binary problem; K > 2 classes give K problems, one class against the
        rest in each.
    coef_ : ndarray of shape (n_problems, n_features), or (n_problems, n_features + 1) for cone coordinates
        Normal vector w of each boundary, in frame coordinates at its reference point. With ``reference=None`` and
        ``margin="bound"``, the coefficients of the cone coordinates.
    intercept_ : ndarray of shape (n_problems,)
        Coefficients of the constant column of the cone coordinates; absent if cone coordinates are not used.
    reference_ : ndarray of shape (n_problems, n_features)
        The reference points. For cone coordinates, each row is the mean of all points; or the mean of the class, if
        there are more than two classes and their means lie more than 2.75 radii of curvature (root mean square) from
        the mean of all points.
    status_ : ndarray of str of shape (n_problems,)
        "optimal" if the tolerance is reached; otherwise "max_iter", "stalled" (limited by rounding), "infeasible" (the
        hard margin has no solution) or "online" (after ``partial_fit``).
    primal_, dual_, dual_gap_ : ndarrays of shape (n_problems,)
        Primal objective P(w), dual objective D(α), and the relative duality gap ``(P - D) / max(1, |P|)``.
    n_support_ : ndarray of shape (n_problems,)
        Number of rows with α > 0 in each problem.
    support_ : ndarray of shape (n_support,)
        Indices of the rows with α > 0 in at least one problem. Empty if the data are read in blocks and some problem
        has more than 2 million such rows; ``dual_gap_`` is then computed from sums over these rows.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Points of the rows in ``support_``.
    dual_coef_ : ndarray of shape (n_problems, n_support)
        ``y α`` of the rows in ``support_``. If the hard margin is infeasible, α proves it: ``Σ y α f`` is zero up to
        rounding.
    margin_ : ndarray of shape (n_problems,)
        Smallest signed hyperbolic distance from a training point to the boundary before calibration; negative if a
        point is on the wrong side.
    C_ : ndarray of shape (n_problems,)
        Value of C used in each problem.
    boundaries_ : tuple of length n_problems
        The boundary of each problem with its ``kind`` ("hyperplane", "equidistant", "horosphere" or "sphere") and its
        geodesic ``hyperplane`` (w, p) if it has one; None if the whole ball is on one side.
    calibration_ : Calibration
        Affine map from uncalibrated to calibrated scores; absent without calibration and after ``partial_fit``.
    decision_ : Decision
        The fitted model as an immutable object; predictions, plots and model files are computed from it.
    n_iter_, n_passes_ : ndarrays of shape (n_problems,)
        Number of Newton steps or working sets (see ``max_iter``), and number of passes that the solver makes over
        the data, including passes that only draw a sample. Passes that choose reference points or C, or compute
        margins or probabilities, are not counted.

    Examples
    --------
    >>> from hyplearn import PoincareSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(10_000, 5, margin=0.1, random_state=0)
    >>> svc = PoincareSVC(reference=p, C=1000).fit(X, y)
    >>> print(svc.score(X, y), svc.status_[0], bool(svc.dual_gap_[0] < 1e-6))
    1.0 optimal True
    """

    reference: Any = None
    _: KW_ONLY
    C: EachCostOrAuto = "auto"
    fit_intercept: bool = True
    loss: str = "squared_hinge"
    margin: str = "bound"
    tol: float = 1e-6
    max_iter: int = 100
    class_weight: Any = None
    calibration: str | None = "cross-fitted"
    folds: int = 5
    trim: bool = True
    n_jobs: int | None = None
    random_state: Any = 0
    warm_start: bool = False
    curvature: float = -1.0
    outside: str = "raise"
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Solve every binary problem until its relative duality gap is at most ``tol``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or any source
            Points in the ball: an array, a data frame, a path, the result of :func:`hyplearn.open_points`, an array on
            disk, an iterable of blocks, or a Dask array or data frame. Data that exceed the memory budget of their
            source are read in blocks, in a few passes per problem.
        y : array-like of shape (n_samples,), or name of the labels in a file
            Labels; omit them if the source contains them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, which multiply C. A weight of k is equivalent to k copies of the row; rows with weight
            0 are left out.
        """
        starts = self._W if self.warm_start and hasattr(self, "coef_") else None
        with self._training(X, y, sample_weight) as (data, report):
            self._check_number_of_costs()
            self.reference_ = self._references(data)
            if isinstance(self._rows, FreeRows):
                warn_of_depth(self, data)
            chosen = self._chosen_cost(data)
            self.C_ = self._costs(chosen.C)
            if starts is not None and starts.shape != (self._n_problems, self._rows.n_columns(data.n_features)):
                starts = None
            solved = self._solve_together(data, chosen) if starts is None else {}
            with self._problem_map(data) as (each, threads):
                solvers = self._solvers(data, solved, chosen.W if starts is None else starts, report, threads)
                self._keep_solutions(data, list(each(operator.call, solvers)))
            self._descents: list[Descent] = []
            self._forget_calibration()
            self.decision_ = self._decide()
            self._report_status()
            self._calibrate(data, warned=bool((self.status_ != "optimal").any()), known=chosen.held_out)
            self.decision_ = self._decide()
        return self

    @property
    def _rows(self) -> RowKind:
        """Kind of rows that the binary problems use."""
        if self.reference is None and self.margin == "exact":
            return WidestRows(None, "z")
        if self.reference is None:
            return FreeRows(self.fit_intercept)
        return PointRows(self.reference, "frame" if self.margin == "bound" else "z")

    def _solve_together(self, data: TrainingData, chosen: ChosenCost) -> dict[int, Solution]:
        """Solve all problems together if they are small; return the solutions that reached the tolerance.

        The keys are the indices of the problems. If the problems are not small, return {}.
        """
        if not self._are_small(data):
            return {}
        problems = self._problems(data.gathered(), data.c) if chosen.problems is None else chosen.problems
        problems = problems.at_costs(self.C_)
        found = solve_together(problems, tol=self.tol, max_iter=self.max_iter, start=chosen.W)
        solutions = solutions_of(problems, found, self.tol)
        return {k: solution for k, solution in enumerate(solutions) if solution.status == "optimal"}

    def _solvers(
        self,
        data: TrainingData,
        solved: Mapping[int, Solution],
        starts: Array | None,
        report: FitReporter | None,
        threads: int,
    ) -> Iterator[Callable[[], Solution]]:
        """Yield one function per problem: it returns the solution in ``solved`` or, if there is none, computes it."""
        for k in range(self._n_problems):
            if k in solved:
                yield partial(solved.__getitem__, k)
                continue
            n_columns = self._rows.n_columns(data.n_features)
            yield partial(
                solve_svm,
                build_rows(data, self._builder(k, data.c), self._cost(k), n_columns, threads=threads),
                loss=self.loss,  # type: ignore[arg-type]
                tol=self.tol,
                max_iter=self.max_iter,
                start=None if starts is None else starts[k],
                seed=int(check_random_state(self.random_state).randint(2**31)),
                report=None if report is None else partial(report, f"class {self._positive(k)}"),
                threads=threads,
            )

    def _are_small(self, data: TrainingData) -> bool:
        """Return whether all problems can be solved together.

        This requires cone coordinates, the squared hinge loss, finite values of C, and small data in memory.
        """
        fits = data.in_memory and data.n_rows * self._rows.n_columns(data.n_features) <= TOGETHER_NUMBERS
        return fits and self.reference is None and self.loss == "squared_hinge" and bool(np.all(np.isfinite(self.C_)))

    def _problems(self, block: LabelledBlock, c: float) -> Problems:
        """Return the binary problems with C = 1; if they have the same centre, they share one array of rows."""
        positives, codes = np.array(self._positives), block.codes.astype(np.int64, copy=False)
        shared = bool(np.all(self.reference_ == self.reference_[0]))
        rows = [
            ClassRowBuilder(centre, c, 1.0, self.fit_intercept, 2)(block)[:]
            for centre in (self.reference_[:1] if shared else self.reference_)
        ]
        return Problems.of_classes(rows[0] if shared else np.stack(rows), codes, positives, block.row_weights)

    def _chosen_cost(self, data: TrainingData) -> ChosenCost:
        """Return the given C or, if it is "auto", choose a power of ten by the log-loss on held-out rows.

        With a reference point or the hinge loss, "auto" means C = 1.
        """
        if not _is_auto(self.C):
            return ChosenCost(self.C)
        if self.reference is not None or self.loss != "squared_hinge":
            return ChosenCost(1.0)
        rows = choice_rows(data, max(CHOICE_FEWEST, CHOICE_NUMBERS // self._rows.n_columns(data.n_features)))
        problems = self._problems(rows, data.c)
        chosen = choose_held_out(problems, self.folds, data.n_classes)
        is_part = len(rows.X) < data.n_rows
        return chosen._replace(held_out=None) if is_part else chosen._replace(problems=problems)

    def _refits(self, data: TrainingData, weights: Sequence[Array]) -> Iterator[Decision]:
        found = self._refit_together(data, weights) if weights and self._are_small(data) else None
        for fold, own in enumerate(weights):
            if found is not None and found[1][fold] <= HELD_OUT_TOL:
                yield self._decision_of(found[0][fold])
            else:
                yield self._refit(data.reweighted(own))

    def _refit_together(self, data: TrainingData, weights: Sequence[Array]) -> tuple[Array, Array]:
        """Solve all problems together, leaving out each fold in turn.

        ``weights`` contains one array of row weights per fold, in which the rows of the fold have weight 0. Return the
        solutions as an array of shape (n_folds, n_problems, n_columns), and the largest relative duality gap for each
        fold. The problems are also fitted to all rows, for comparison; the gaps of these fits are included in
        every maximum.
        """
        # If ``data`` is a subsample of the training data, all fits to it deviate in about the same way from fits to all
        # training data. The fit that holds out no row shows this deviation, because it can be compared with
        # ``self._W``, the fit to all training data. The deviation is subtracted from the fits that hold out a fold.
        rows, n = data.gathered(), len(weights) + 1
        folds = self._problems(rows, data.c).in_folds(np.column_stack([*weights, rows.row_weights]))
        start = np.repeat(self._W, n, axis=0)
        found = solve_together(folds.at_costs(np.repeat(self.C_, n)), tol=HELD_OUT_TOL, start=start)
        W = np.swapaxes(found.W.reshape(-1, n, start.shape[1]), 0, 1)
        gaps = found.gap.reshape(-1, n).max(axis=0)
        return self._W + (W[:-1] - W[-1]), np.maximum(gaps[:-1], gaps[-1])

    def _refit(self, data: TrainingData) -> Decision:
        with self._problem_map(data) as (each, threads):
            solvers = self._solvers(data, {}, self._W, None, threads)
            solutions = list(each(operator.call, solvers))
        unsolved = [solution.gap for solution in solutions if solution.status != "optimal"]
        if unsolved:
            warnings.warn(
                f"The relative duality gap is {max(unsolved):.1e}, which exceeds tol={self.tol:.1e}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self._decision_of(np.stack([solution.w for solution in solutions]))

    def _decision_of(self, W: Array) -> Decision:
        """Return the uncalibrated decision with the given weights."""
        weights = self._rows.attributes(W, self.reference_.shape[1])
        return self._boundaries({**weights, "reference_": self.reference_})

    def _references(self, data: TrainingData) -> Array:
        return self._rows.references(data, self._sides(data))

    def _builder(self, k: int, c: float) -> RowBuilder:
        """Return the row builder of problem k."""
        return self._rows.builder(self._positives[k], self.reference_[k], c, self._cost(k))

    @property
    def _W(self) -> Array:  # noqa: N802, the symbol in the formulas
        """Fitted weights in the form used by the solver, one row per problem; the intercept, if any, comes last."""
        rows = FreeRows(self.fit_intercept) if hasattr(self, "intercept_") else PointRows(self.reference, "frame")
        return rows.weights({"coef_": self.coef_, "intercept_": getattr(self, "intercept_", np.empty(0))})

    def _set_weights(self, W: Array) -> None:
        """Set ``coef_``, and set ``intercept_`` if cone coordinates are used; otherwise remove ``intercept_``."""
        self.__dict__.pop("intercept_", None)
        self.__dict__.update(self._rows.attributes(W, self.reference_.shape[1]))

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        return self._rows.decision(self.classes_, absolute_curvature(self.curvature), fitted)

    @property
    def boundaries_(self) -> tuple[Boundary | None, ...] | None:
        """Boundary of each problem; None instead of a tuple if some boundaries are not generalised spheres."""
        check_is_fitted(self)
        boundaries = self.decision_.boundaries
        return None if boundaries is None else tuple(boundaries)

    @property
    def trims(self) -> bool:
        """Whether ``fit`` leaves out rows that lie far from the other rows of their class; False for a hard margin."""
        return bool(self.trim) and (_is_auto(self.C) or bool(np.all(np.isfinite(self.C))))

    partial_fit = available_if(_streams)(StreamClassifier.partial_fit)

    def _start_stream(self, d: int) -> Sequence[Descent]:
        self.C_ = self._costs(1.0 if _is_auto(self.C) else self.C)
        return [Descent(np.zeros(self._rows.n_columns(d))) for _ in range(self._n_problems)]

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
            The training data, in the same order as in ``fit``, from any source.

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
        if "online" in self.status_:
            raise ValueError("partial_fit computes no certificate to verify.\nCall fit, then pass its data to verify.")
        if data.n_rows != self._n_rows:
            raise ValueError(
                f"verify() needs the training data ({self._n_rows} rows); got {data.n_rows} rows.\n"
                "Pass the data to which the model was fitted."
            )
        if self.n_support_.any() and not len(self.support_):
            raise ValueError(
                f"The {self.n_support_.max()} positive dual variables of a problem were too many to keep, so they "
                "cannot be verified; dual_gap_ was computed from sums over them.\n"
                "Fit to points in memory, for which all dual variables are kept."
            )
        found = [self._verify_problem(data, k) for k in range(self._n_problems)]
        return Certificate(*(np.array(column) for column in zip(*found, strict=True)))

    def _verify_problem(self, data: TrainingData, k: int) -> Proof:
        w, rows_of = self._W[k], self._rows.explicit(self.reference_[k], data.c)
        problem = VerifiedProblem(self._positives[k], rows_of, w, self._cost(k), self.loss)
        sums = data.fold(_sums_of_block, merge_certificates, problem, self.support_, self.dual_coef_[k])
        return certify(sums, w, hard=not np.isfinite(self._cost(k)))

    def _check_parameters(self) -> None:
        self._check_calibration()
        for name, allowed in (("loss", ("hinge", "squared_hinge")), ("margin", ("bound", "exact"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {getattr(self, name)!r}.")
        C = np.asarray(1.0 if _is_auto(self.C) else self.C)
        if C.dtype.kind not in "iuf" or C.ndim > 1 or not C.size or not np.all(C > 0):
            raise ValueError(
                f'C must be a positive number, one number per binary problem, or "auto"; got {self.C!r}.\n'
                "Pass numpy.inf for the hard margin."
            )
        if self.reference is None and self.margin == "exact" and (_is_auto(self.C) or np.any(np.isfinite(C))):
            raise ValueError(
                f'margin="exact" without a reference point needs a hard margin; got C={self.C!r}.\n'
                'Pass C=numpy.inf, a reference, or margin="bound".'
            )
        check_stopping(self.tol, self.max_iter)

    def _check_number_of_costs(self) -> None:
        C = np.asarray(self.C)
        if C.ndim and len(C) != self._n_problems:
            raise ValueError(
                f"C has {len(C)} entries; expected {self._n_problems} (one per binary problem).\n"
                "Pass one number for all problems, or one per problem (with two classes, there is one problem)."
            )

    def _cost(self, k: int) -> float:
        """Return the value of C for problem k."""
        return float(self.C_[k])

    def _costs(self, C: Any) -> Array:
        """Return an array with the value of C for each problem."""
        return np.broadcast_to(np.asarray(C, dtype=np.float64), (self._n_problems,)).copy()

    def _keep_solutions(self, data: TrainingData, solutions: list[Solution]) -> None:
        """Set the fitted attributes from the solutions."""
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
            same = len(solution.support) == len(self.support_)
            places = slice(None) if same else np.searchsorted(self.support_, solution.support)
            signs = np.where(codes[places] == self._positives[k], 1.0, -1.0)
            self.dual_coef_[k, places] = signs * solution.alpha
        self.margin_ = data.fold(_least_distances, _least, self._boundaries(vars(self)), np.array(self._positives))

    def _report_status(self) -> None:
        """Raise if a hard-margin problem has no solution, and warn if a problem did not reach the tolerance."""
        infeasible = np.flatnonzero(self.status_ == "infeasible")
        if infeasible.size:
            boundary = "boundary" if self.reference is None else "geodesic hyperplane through the reference point"
            raise InfeasibleError(
                f"No {boundary} separates the classes ({self._names(infeasible)}): the hard margin has no solution, "
                "and dual_coef_ proves it.\n"
                "Use a soft margin, such as C=1000, or change the reference point if there is one."
            )
        unsolved = np.flatnonzero(self.status_ != "optimal")
        if unsolved.size:
            worst = unsolved[np.argmax(self.dual_gap_[unsolved])]
            warn_unsolved(self, self.dual_gap_[worst], self.status_[worst], f"{self._names(unsolved)}; ")


def _descend(
    block: LabelledBlock, state: Sequence[Descent], threads: int, *, builders: Sequence[RowBuilder]
) -> list[Descent]:
    """In every problem, take a gradient step for each row of a block; return a new state without changing ``state``."""
    following = [replace(descent, w=descent.w.copy()) for descent in state]
    for descent, build in zip(following, builders, strict=True):
        descent.stream(build(block))
    return following


@dataclass(frozen=True)
class VerifiedProblem:
    """A binary problem whose certificate :meth:`PoincareSVC.verify` recomputes."""

    positive: int
    rows_of: Callable[[Array], Array]  # computes rows for float64 points, without multiplying them by labels ±1
    w: Array
    C: float
    loss: str


def _sums_of_block(block: LabelledBlock, problem: VerifiedProblem, support: Array, dual_coef: Array) -> CertificateSums:
    """Return the contribution of a block to the sums from which the certificate of a problem is computed."""
    y, costs = np.where(block.codes == problem.positive, 1.0, -1.0), row_costs(block, problem.C)
    alpha = np.zeros(len(y))
    first, last = np.searchsorted(support, [block.start, block.start + len(y)])
    own = support[first:last] - block.start
    alpha[own] = y[own] * dual_coef[first:last]
    cuts = [slice(start, start + VERIFIED_ROWS) for start in range(0, len(y), VERIFIED_ROWS)]
    rows = ((y[cut, None] * problem.rows_of(block.X[cut].astype(np.float64)), alpha[cut], costs[cut]) for cut in cuts)
    return merge_certificates([certificate_sums(*part, problem.w, problem.loss) for part in rows])


def _least_distances(block: LabelledBlock, boundaries: Decision, positives: Array) -> Array:
    """Return, for each problem, the smallest signed distance of a point of the block from the boundary.

    Distances are negative for points on the wrong side of the boundary. Points with weight 0 are left out.
    """
    signs = (2 * (block.codes == k).view(np.int8) - 1 for k in positives)
    own = signs if block.weights is None else (own * (block.weights > 0) for own in signs)
    return boundaries.margins(block.X, block.gaps, own)


@in_any_order
def _least(parts: Sequence[Array]) -> Array:
    return np.min(parts, axis=0)


def _union(supports: Sequence[Array]) -> Array:
    """Return the sorted union of sorted index arrays; NumPy's stable sort is fast here, because it merges runs."""
    if len(supports) == 1:
        return supports[0].astype(np.int64)
    merged = np.sort(np.concatenate(supports).astype(np.int64), kind="stable")
    return merged[np.append(True, merged[1:] != merged[:-1])] if len(merged) else merged
