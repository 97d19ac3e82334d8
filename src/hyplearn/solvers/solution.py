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

    The status is "optimal" if the gap was reached. Otherwise steps ran out ("max_iter"), rounding forbids more
    ("stalled"), the objective ceased to change ("stopped", the paper's rule), or the hard margin has no solution
    ("infeasible"): then α proves it, as ``Σ α u`` is zero up to its rounding and the rows with α > 0 span their space,
    or are two of which one is the negative of the other.
    """

    w: Array  # normal vector, of shape (d,)
    support: Array  # positions of the rows with α > 0, in order; empty if more than the source keeps
    alpha: Array  # α of those rows
    v: Array  # Σ α u, which is w up to the gap
    primal: float  # P(w)
    dual: float  # D(α)
    gap: float  # (P - D) / max(1, |P|), with the rounding if that forbids more; hard: in the unit that is stricter
    status: Status
    n_iter: int  # problems solved on the way
    n_passes: int  # passes over all rows
    n_support: int  # number of rows with α > 0
    rounding: float = inf  # how far rounding can have moved the gap, as far as that is known

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
