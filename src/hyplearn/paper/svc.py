"""The paper's support vector machine: through a reference point, with Platt's sigmoids of training scores."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from hyplearn.decision import Decision
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.paper.classifier import BaselineClassifier, BaselineRows, check_choice, check_count, check_positive
from hyplearn.paper.sgd import solve_sgd
from hyplearn.rows.built import SignedRowBuilder, build_rows
from hyplearn.solvers.svm import Solution, solve_svm
from hyplearn.types import Array


class PaperSVC(BaselineClassifier):
    r"""The paper's SVM on frame coordinates, scored by :math:`\langle f, w \rangle`.

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i \langle f_i, w \rangle)^q, \qquad q \in \{1, 2\}

    It differs from :class:`~hyplearn.PoincareSVC` in what the paper does and a user would not want: probabilities come
    from Platt's sigmoids of training scores, and ``solver="sgd"`` is the paper's algorithm for the soft margin, one
    random row at a time until the objective ceases to change.

    Parameters
    ----------
    reference : str, callable or array-like, default="hull"
        The point through which each boundary passes, as in :class:`~hyplearn.PoincareSVC`.
    C : float or array-like of shape (n_problems,), default=1.0
        Cost of a violated margin, for all binary problems or for each. The paper's C on logarithms is this one times
        ``conformal_factor(p)**2``.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of the paper's theorem, or that of the authors' code.
    solver : {"exact", "sgd"}, default="exact"
        "exact" stops when the certificate holds; "sgd" is the paper's algorithm, for the hinge loss.
    tol : float, default=1e-6
        Relative duality gap at which to stop; for "sgd" the relative change of the objective over an epoch.
    max_iter : int, default=100
        Largest number of working sets, Newton steps or epochs.
    random_state : int, RandomState instance or None, default=0
        Seed of the samples.
    class_weight : dict or "balanced", default=None
        Factors of C by class, multiplied with ``sample_weight``.
    calibration : {"training", "cross-fitted"} or None, default="training"
        Platt's sigmoids of training scores as in the paper, the calibration of :class:`~hyplearn.PoincareSVC`, or none.
    folds : int, default=5
        Number of folds of "cross-fitted".
    curvature : float, default=-1.0
        Sectional curvature of the space the points were embedded in.
    outside : {"raise", "project"}, default="raise"
        What to do with points on or outside the rim.

    Attributes
    ----------
    classes_, coef_, reference_, status_, primal_, dual_, dual_gap_, n_iter_, n_passes_
        As in :class:`~hyplearn.PoincareSVC`; ``status_`` may be "stopped" ("sgd").

    Examples
    --------
    >>> from hyplearn.datasets import make_ball_classification
    >>> from hyplearn.paper import PaperSVC
    >>> X, y, p, w = make_ball_classification(1000, 2, margin=0.1, random_state=0)
    >>> print(PaperSVC(p, C=1000).fit(X, y).score(X, y))
    1.0
    """

    def __init__(
        self,
        reference: Any = "hull",
        *,
        C: Any = 1.0,
        loss: str = "hinge",
        solver: str = "exact",
        tol: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = 0,
        class_weight: Any = None,
        calibration: str | None = "training",
        folds: int = 5,
        curvature: float = -1.0,
        outside: str = "raise",
    ) -> None:
        self.reference = reference
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.class_weight = class_weight
        self.calibration = calibration
        self.folds = folds
        self.curvature = curvature
        self.outside = outside

    def _check_parameters(self) -> None:
        self._check_calibration()
        for C in np.ravel(self.C).tolist():
            check_positive("C", C)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        check_choice("solver", self.solver, ("exact", "sgd"))
        if self.solver == "sgd" and self.loss != "hinge":
            raise ValueError(f'solver="sgd" supports only loss="hinge"; got loss="{self.loss}".\nPass solver="exact".')

    def _train(self, rows: BaselineRows) -> dict[str, Array]:
        reference = self._references(rows.data)
        if np.ndim(self.C) and len(self.C) != len(reference):
            raise ValueError(f"C has {len(self.C)} entries; expected {len(reference)} (one per binary problem).")
        solutions = [self._solve(rows, p, k) for k, p in enumerate(reference)]
        names = ("status", "primal", "dual", "n_iter", "n_passes")
        found = {f"{name}_": np.array([getattr(one, name) for one in solutions]) for name in names}
        gaps = np.array([solution.gap for solution in solutions])
        unsolved = np.flatnonzero(found["status_"] != "optimal")
        if unsolved.size:
            warnings.warn(
                f"{type(self).__name__} reached a relative duality gap of {gaps[unsolved].max():.1e}, not tol="
                f'{self.tol:.1e} ({self._names(unsolved)}).\nTake solver="exact", raise max_iter, or lower C.',
                ConvergenceWarning,
                stacklevel=3,
            )
        coef = np.stack([solution.w for solution in solutions])
        return {"coef_": coef, "reference_": reference, "dual_gap_": gaps, **found}

    def _solve(self, rows: BaselineRows, p: Array, k: int) -> Solution:
        C = float(np.broadcast_to(self.C, self._n_problems)[k])
        build = SignedRowBuilder(self._positives[k], p, "frame", rows.data.c, C)
        seed = int(check_random_state(self.random_state).randint(2**31))
        if self.solver == "sgd":
            signed = build(rows.data.gathered())
            return solve_sgd(signed, tol=self.tol, max_iter=self.max_iter, seed=seed)
        signed_rows = build_rows(rows.data, build, C, rows.X.shape[1])
        return solve_svm(
            signed_rows,
            loss=self.loss,  # type: ignore[arg-type]
            tol=self.tol,
            max_iter=self.max_iter,
            seed=seed,
            threads=rows.data.threads,
        )

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """``⟨f, w⟩`` for each problem."""
        c, coef = absolute_curvature(self.curvature), fitted["coef_"]
        nothing = np.zeros(len(coef))
        return Decision(self.classes_, c, "frame", coef, fitted["reference_"], nothing, through_points=True)
