"""Solution of an SVM with its certificate, and the progress that solvers report.

The rows u of an SVM are feature vectors times their labels ±1, and α contains one dual variable per row. The primal
objective P and the dual objective D are defined in :mod:`hyplearn.solvers.svm.solve`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal, NamedTuple, TypeAlias

from hyplearn.types import Array

Status: TypeAlias = Literal["optimal", "max_iter", "stalled", "stopped", "infeasible"]


@dataclass(frozen=True)
class Solution:
    """Normal vector with a proof of how close it is to the optimum.

    The status is "optimal" if the tolerance was reached. Otherwise it is "max_iter" (no steps left), "stalled" (limited
    by rounding), "stopped" (the objective hardly changes any more), or "infeasible" (the hard margin has no solution).
    α proves the status "infeasible": ``Σ α u`` is zero up to rounding, and the rows with α > 0 have full column rank
    (apart from columns of zeros), or are two opposite rows or a single row of zeros
    (:func:`~hyplearn.solvers.svm.proof.refutation`).

    ``gap`` is the duality gap divided by max(1, P) or, for hard margins, by a number between P and 2 P. If it is at
    most the tolerance, but not provably so, a bound on its rounding error is added, and the status is not "optimal".
    """

    w: Array  # normal vector, of shape (d,)
    support: Array  # positions of the rows with α > 0, in order; empty if there are too many to keep
    alpha: Array  # α of the rows in ``support``
    v: Array  # Σ α u, which equals w at the optimum
    primal: float  # P(w)
    dual: float  # D(α)
    gap: float  # relative duality gap
    status: Status
    n_iter: int  # number of working sets, Newton steps or epochs
    n_passes: int  # number of passes over all rows, including those that only draw a sample
    n_support: int  # number of rows with α > 0
    rounding: float = inf  # bound on the rounding error of the gap; infinite if unknown

    @property
    def total(self) -> float:
        """Sum of all α; valid only for the hinge loss and for hard margins."""
        return self.dual + 0.5 * float(self.v @ self.v)


class Progress(NamedTuple):
    """State of a solver after an iteration.

    Depending on the solver, ``n_working`` counts the rows of the working set, the active rows, or all rows. It is 0 for
    stochastic gradient descent.
    """

    n_passes: int
    primal: float
    dual: float
    gap: float
    n_working: int


Report: TypeAlias = Callable[[Progress], None]


def relative_gap(primal: float, dual: float) -> float:
    """Return the relative duality gap ``(P - D) / max(1, |P|)``, or infinity if P or D is infinite or NaN."""
    return (primal - dual) / max(1.0, abs(primal)) if isfinite(primal) and isfinite(dual) else inf
