"""The solution of an SVM with its certificate, and the progress that solvers report."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal, NamedTuple, TypeAlias

from hyplearn.types import Array

Status: TypeAlias = Literal["optimal", "max_iter", "stalled", "stopped", "infeasible"]


@dataclass(frozen=True)
class Solution:
    """A normal vector with the proof of how good it is.

    Attributes
    ----------
    w : ndarray of shape (d,)
        Normal vector.
    support, alpha : ndarrays of shape (n_support,)
        Positions of the rows with α > 0, in order, and their α; where the problem is infeasible, the α ≥ 0 that proves
        it: no w has ``⟨u_i, w⟩ > 0`` for all rows by more than ``‖Σ α_i u_i‖ ‖w‖ / Σ α_i``. Empty where there are more
        than the source allows to keep.
    v : ndarray of shape (d,)
        ``Σ α_i u_i``, which is w up to the gap.
    primal, dual, gap : float
        P(w), D(α) and ``(P - D) / max(1, |P|)``; for the hard margin in units of the longest row, where that is
        stricter.
    status : {"optimal", "max_iter", "stalled", "stopped", "infeasible"}
        Whether the gap was reached; if not, whether passes ran out, rounding forbids more, the objective ceased to
        change (the paper's rule), or the hard margin has no solution.
    n_iter, n_passes : int
        Number of problems solved on the way, and of passes over all rows.
    n_support : int
        Number of rows with α > 0.
    """

    w: Array
    support: Array
    alpha: Array
    v: Array
    primal: float
    dual: float
    gap: float
    status: Status
    n_iter: int
    n_passes: int
    n_support: int

    @property
    def total(self) -> float:
        """``Σ α``, of the hinge loss."""
        return self.dual + 0.5 * float(self.v @ self.v)


class Progress(NamedTuple):
    """State of a solver after a pass over all rows."""

    n_passes: int
    primal: float
    dual: float
    gap: float
    n_working: int


Report: TypeAlias = Callable[[Progress], None]


def relative_gap(primal: float, dual: float) -> float:
    """``(P - D) / max(1, |P|)``; infinite while either is unknown or not a number."""
    return (primal - dual) / max(1.0, abs(primal)) if isfinite(primal) and isfinite(dual) else inf
