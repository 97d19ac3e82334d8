"""Support vector machines of the paper (Chien, Pan, Tabaghi and Milenkovic, 2021), and the Euclidean baseline.

:class:`PaperSVC` is the paper's SVM as printed, and :class:`AuthorsSVC` is the SVM used for the paper's tables.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from hyplearn.decision import Decision
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry import gap, log_map
from hyplearn.paper.classifier import BaselineClassifier, BaselineRows, check_choice, check_count, check_positive
from hyplearn.rows import Rows
from hyplearn.rows.built import SignedRowBuilder, build_rows
from hyplearn.solvers.sgd import Descent
from hyplearn.solvers.svm import Progress, Report, Solution, Status, relative_gap, solve_svm
from hyplearn.solvers.svm.hinge import collect
from hyplearn.solvers.svm.margin_scan import NOTHING, MarginScan, merge_scans, scan_block
from hyplearn.types import Array, EachCost

# Value of the constant column for the intercept, in units of the ball's radius. The intercept of a boundary that
# intersects the ball is at most ‖w‖ times the radius, so the weight of the constant column is at most ‖w‖ / 100, and
# its penalty is at most a ten-thousandth of the penalty of w.
INTERCEPT_COLUMN = 100.0


@dataclass(eq=False, repr=False)
class PaperSVC(BaselineClassifier):
    r"""SVM of the paper (Chien et al., 2021) on frame coordinates f, with the scores :math:`\langle f, w \rangle`.

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i \langle f_i, w \rangle)^q, \qquad q \in \{1, 2\}

    This class is for comparisons; use :class:`~hyplearn.PoincareSVC` in practice. By default, as in the paper,
    probabilities come from Platt's sigmoids fitted to training scores. ``solver="sgd"`` is the paper's algorithm for
    the soft margin: it visits one random row at a time until the objective stops changing.

    Parameters
    ----------
    reference : str, callable or array-like, default="hull"
        The point through which each boundary passes, as in :class:`~hyplearn.PoincareSVC`. "hull" is the midpoint of
        the closest hull vertices, as in the paper, and is available in up to five dimensions.
    C : float or array-like of shape (n_problems,), default=1.0
        Cost of a violated margin: one number for all binary problems, or one number per problem. The paper's C, which
        applies to logarithmic maps, is this C times ``conformal_factor(p)**2``.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        "hinge" (q = 1) is the loss of the paper's theorem; "squared_hinge" (q = 2) is used in the authors' code.
    solver : {"exact", "sgd"}, default="exact"
        "exact" stops when the duality gap is at most ``tol``; "sgd" is the paper's algorithm, for the hinge loss only.
    tol : float, default=1e-6
        Relative duality gap at which to stop; for "sgd", the relative change of the objective over an epoch.
    max_iter : int, default=100
        Maximum number of working sets for the hinge loss, of Newton steps for the squared hinge loss, and of epochs for
        "sgd".
    random_state : int, RandomState instance or None, default=0
        Seed of the random choice of rows.
    class_weight, calibration, folds, curvature, outside
        As in :class:`~hyplearn.HyperboloidSVC`, but with ``calibration="training"`` by default, as in the paper.

    Attributes
    ----------
    classes_, coef_, reference_, status_, primal_, dual_, dual_gap_, n_iter_, n_passes_
        As in :class:`~hyplearn.PoincareSVC`; with ``solver="sgd"``, ``status_`` is "stopped" if the objective stopped
        changing before the duality gap reached ``tol``.

    Examples
    --------
    >>> from hyplearn.datasets import make_ball_classification
    >>> from hyplearn.paper import PaperSVC
    >>> X, y, p, w = make_ball_classification(1000, 2, margin=0.1, random_state=0)
    >>> print(PaperSVC(p, C=1000).fit(X, y).score(X, y))
    1.0
    """

    reference: Any = "hull"
    _: KW_ONLY
    C: EachCost = 1.0
    loss: str = "hinge"
    solver: str = "exact"
    tol: float = 1e-6
    max_iter: int = 100
    random_state: Any = 0
    calibration: str | None = "training"

    def _check_parameters(self) -> None:
        self._check_calibration()
        for C in np.ravel(self.C).tolist():
            check_positive(C=C)
        check_positive(tol=self.tol)
        check_count("max_iter", self.max_iter)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        check_choice("solver", self.solver, ("exact", "sgd"))
        if self.solver == "sgd" and self.loss != "hinge":
            raise ValueError(f'solver="sgd" supports only loss="hinge"; got loss="{self.loss}".\nPass solver="exact".')

    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        reference = self._references(rows.data)
        if np.ndim(self.C) and np.size(self.C) != len(reference):
            raise ValueError(
                f"C has {np.size(self.C)} entries; expected {len(reference)} (one per binary problem).\n"
                "Pass one number for all problems, or one per problem."
            )
        solutions = [self._solve(rows, p, k) for k, p in enumerate(reference)]
        names = ("status", "primal", "dual", "n_iter", "n_passes")
        found = self._certificates(solutions, names, 'Pass solver="exact", raise max_iter, or lower C.')
        return {"coef_": np.stack([solution.w for solution in solutions]), "reference_": reference, **found}

    def _solve(self, rows: BaselineRows, p: Array, k: int) -> Solution:
        C = float(np.broadcast_to(self.C, self._n_problems)[k])
        build = SignedRowBuilder(self._positives[k], p, "frame", rows.data.c, C)
        seed = int(check_random_state(self.random_state).randint(2**31))
        if self.solver == "sgd":
            signed = build(rows.data.gathered())
            return solve_sgd(signed, tol=self.tol, max_iter=self.max_iter, seed=seed)
        return solve_svm(
            build_rows(rows.data, build, C, rows.X.shape[1]),
            loss=self.loss,  # type: ignore[arg-type]
            tol=self.tol,
            max_iter=self.max_iter,
            seed=seed,
            threads=rows.data.threads,
        )

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """Return the decision whose scores are ``⟨f, w⟩``, where f are frame coordinates at the reference point."""
        c, coef = absolute_curvature(self.curvature), fitted["coef_"]
        nothing = np.zeros(len(coef))
        return Decision(self.classes_, c, "frame", coef, fitted["reference_"], nothing, through_points=True)


def solve_sgd(
    source: Rows, *, tol: float, max_iter: int, seed: int, start: Array | None = None, report: Report | None = None
) -> Solution:
    """Run SGD until an epoch changes the objective P by at most ``tol`` times max(1, P), or for ``max_iter`` epochs.

    An epoch has as many steps as there are rows. The status is "optimal" if the relative duality gap is at most
    ``tol`` at the end, otherwise "stopped" or "max_iter".
    """
    n, d = source.shape
    rng, descent = np.random.default_rng(seed), Descent(np.zeros(d) if start is None else start.copy())
    here, epoch = source.fold(scan_block, merge_scans, descent.w, NOTHING, 0), 0
    status: Status = "max_iter"
    for epoch in range(1, max_iter + 1):
        descent.visit(source, rng.integers(n, size=n), n)
        there = source.fold(scan_block, merge_scans, descent.w.copy(), NOTHING, 0)
        change, here = abs(there.primal - here.primal), there
        if report is not None:
            bound = _dual_bound(here)[1]
            report(Progress(2 * epoch + 1, here.primal, bound, relative_gap(here.primal, bound), 0))
        if change <= tol * max(1.0, here.primal):
            status = "stopped"
            break
    scale, dual = _dual_bound(here)
    kept = collect(source, here, np.array([scale * here.clamped_cost]))
    dual_gap, passes = relative_gap(here.primal, dual), 2 * epoch + 2
    if dual_gap <= tol:
        status = "optimal"
    return Solution(
        here.w, kept.support, kept.alpha, kept.v, here.primal, dual, dual_gap, status, epoch, passes, kept.n_support
    )


def _dual_bound(here: MarginScan) -> tuple[float, float]:
    """Return the factor t between 0 and 1 that maximises the dual objective, and the maximum.

    The multipliers of the rows inside the margin are ``α = t C``, and those of all other rows are 0.
    """
    square = float(here.clamped @ here.clamped)
    t = min(1.0, here.clamped_cost / square) if square > 0 else float(here.clamped_cost > 0)
    return t, t * here.clamped_cost - 0.5 * t * t * square


@dataclass(eq=False, repr=False)
class AuthorsSVC(BaselineClassifier):
    r"""SVM for the tables of the paper (Chien et al., 2021): liblinear with the squared hinge loss on logarithmic maps.

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i \langle v_i, w \rangle)^2, \qquad v_i = \log_p(x_i)

    The score of a point is :math:`\langle \log_p(x), w \rangle`. With Platt scaling of training scores and the
    published reference points, this classifier reproduces the paper's second table to within one unit of the last digit
    (89.77, 91.85 and 87.82 % for Olsson's cells, CIFAR10 and Fashion-MNIST). Unlike :class:`~hyplearn.PoincareSVC`, it
    uses logarithmic maps in coordinates of the ball, which are not invariant under isometries, and relies on
    liblinear's stopping rule instead of a certificate. If all rows of a problem have the same label, its scores are 0.

    Parameters
    ----------
    C : float, default=5.0
        Cost of a violated margin; the default is the value used for the paper's real data sets.
    drop_intercept : bool, default=False
        Whether to fit w together with an intercept, and then drop the intercept. The boundary still passes through p,
        but w is not optimal for a boundary through p. The paper's table was computed without an intercept. If an
        intercept is fitted and dropped, the accuracies are 86.4, 91.9 and 88.4 %.
    tol, max_iter, random_state
        Parameters of liblinear, as in scikit-learn's LinearSVC; the defaults are 1e-4, 1000 and 0.
    reference, class_weight, calibration, folds, curvature, outside
        As in :class:`PaperSVC`.

    Attributes
    ----------
    classes_, coef_, reference_
        As in :class:`~hyplearn.PoincareSVC`, with w in coordinates of the ball.
    dropped_intercept_ : ndarray of shape (n_problems,)
        The dropped intercepts, which are not used in scores; 0 if ``drop_intercept`` is False.
    n_iter_ : ndarray of shape (n_problems,)
        Number of iterations of liblinear.

    Examples
    --------
    >>> from hyplearn.paper import AuthorsSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(1000, 2, margin=0.1, random_state=0)
    >>> print(AuthorsSVC(p, C=1000).fit(X, y).score(X, y))
    1.0
    """

    reference: Any = "hull"
    _: KW_ONLY
    C: float = 5.0
    drop_intercept: bool = False
    tol: float = 1e-4
    max_iter: int = 1000
    random_state: Any = 0
    calibration: str | None = "training"

    def _check_parameters(self) -> None:
        self._check_calibration()
        check_positive(C=self.C, tol=self.tol)
        check_count("max_iter", self.max_iter)

    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        reference, n = self._references(rows.data), self._n_problems
        coef, intercepts, n_iter = np.zeros((n, rows.X.shape[1])), np.zeros(n), np.zeros(n, dtype=int)
        for k, p in enumerate(reference):
            y = self._signs(rows, k)
            if np.all(y == y[0]):
                continue
            svc = LinearSVC(
                C=self.C,
                fit_intercept=self.drop_intercept,
                tol=self.tol,
                max_iter=self.max_iter,
                random_state=self.random_state,
            ).fit(log_map(rows.X, p, c=rows.data.c), y, rows.weights)
            coef[k], intercepts[k], n_iter[k] = svc.coef_[0], np.sum(svc.intercept_), svc.n_iter_
        return {"coef_": coef, "reference_": reference, "dropped_intercept_": intercepts, "n_iter_": n_iter}

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """Return the decision whose scores are ``⟨log_p(x), w⟩``.

        The scores are ``⟨f, w⟩`` times half the gap of p, where f are the frame coordinates of x at p.
        """
        c, reference = absolute_curvature(self.curvature), fitted["reference_"]
        scaled = gap(reference, c=c)[:, None] / 2 * fitted["coef_"]
        return Decision(self.classes_, c, "frame", scaled, reference, np.zeros(len(scaled)), through_points=True)


@dataclass(eq=False, repr=False)
class EuclideanSVC(BaselineClassifier):
    r"""Linear support vector machine on the coordinates of the ball, solved to proven optimality.

    .. math:: \min_{w, b} \tfrac12 \|w\|^2 + \tfrac12 (b / (100 r))^2
              + C \sum_i \max(0, 1 - y_i (\langle x_i, w \rangle + b))^q

    Here r is the radius of the ball, and q is 2 or 1. Boundaries are Euclidean instead of geodesic hyperplanes, so a
    comparison shows the benefit of hyperbolic geometry. In the paper (Chien et al., 2021), this SVM has no intercept,
    so that all boundaries pass through the origin.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a violated margin.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss, q = 2 or 1. The default is the same as in scikit-learn's LinearSVC, and works better with
        many classes.
    fit_intercept : bool, default=True
        Whether boundaries may have an intercept. Pass False to reproduce the paper's tables.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of Newton steps for the squared hinge loss, and of working sets for the hinge loss.
    class_weight, calibration, folds, curvature, outside
        As in :class:`~hyplearn.HyperboloidSVC`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_problems, n_features)
        Normal vector w of each boundary, in coordinates of the ball.
    intercept_ : ndarray of shape (n_problems,)
        Intercept b of each boundary; 0 if ``fit_intercept`` is False.
    classes_, primal_, dual_gap_, status_, n_iter_
        As in :class:`~hyplearn.PoincareSVC`.

    Examples
    --------
    >>> from hyplearn.paper import EuclideanSVC
    >>> from hyplearn.datasets import make_ball_classification
    >>> X, y, p, w = make_ball_classification(1000, 2, reference_norm=0.57, random_state=0)
    >>> print(EuclideanSVC(C=1000).fit(X, y).score(X, y))
    0.96...
    """

    C: float = 1.0
    _: KW_ONLY
    loss: str = "squared_hinge"
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 100

    def _check_parameters(self) -> None:
        self._check_calibration()
        check_positive(C=self.C, tol=self.tol)
        check_count("max_iter", self.max_iter)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))

    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        column = INTERCEPT_COLUMN / np.sqrt(rows.data.c) if self.fit_intercept else 0.0
        X = np.column_stack([rows.X, np.full(len(rows.X), column)])
        solutions = []
        for k in range(self._n_problems):
            signed = Rows.explicit(self._signs(rows, k)[:, None] * X, self.C * rows.weights)
            solutions.append(solve_svm(signed, loss=self.loss, tol=self.tol, max_iter=self.max_iter))  # type: ignore[arg-type]
        W = np.stack([solution.w for solution in solutions])
        found = self._certificates(solutions, ("primal", "status", "n_iter"), "Raise max_iter or tol, or lower C.")
        return {"coef_": W[:, :-1].copy(), "intercept_": column * W[:, -1], **found}

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """Return the decision whose scores are ``⟨x, w⟩ + b``."""
        c, coef = absolute_curvature(self.curvature), fitted["coef_"]
        return Decision(self.classes_, c, "ball", coef, np.zeros_like(coef), fitted["intercept_"])
