r"""Rows whose lengths or costs differ so much that float64 cannot judge them as they are.

The margin of a row is known to about :math:`\epsilon \|u\| \|w\|`, so that of a row longer than
:math:`1 / (\epsilon \|w\|)` is unknown; and high costs magnify the rounding of others. The cure is a problem that is
slightly harder or softer than the given one, and whose bounds hold for that too:

- A row that is shorter by a factor σ at a cost higher by 1/σ never costs less, and its α times σ is feasible for the
  row itself. Far rows are shortened until their margins have digits.
- A cost above what the row can make use of, about :math:`\|w\| / \|u\|`, magnifies rounding and changes nothing else.
- w a little longer moves rows that stand on the margin above it, whatever rounding did.

The squared hinge loss is the hard margin of rows with one more column for each row,
:math:`(u_i, \; e_i / \sqrt{2 C_i})`.
"""

from typing import NamedTuple

import numpy as np

from hyplearn.rows import Rows
from hyplearn.solvers.certificate import EPSILON, ROW_ERROR, Proof, certificate_sums, certify
from hyplearn.solvers.svm.interior_point import solve_box
from hyplearn.solvers.svm.proof import strict_gap
from hyplearn.types import Array

# Largest ‖u‖ ‖w‖: half of the digits are left to margins, half to the rows that have been shortened.
REACH = 1e8
# Costs in units of ‖w‖ / ‖u‖, tried one after the other: higher ones magnify rounding, lower ones may be paid.
CAPS = (1e4, 1e7, 1e10)
# Lengths of w that are tried for one cap; w is known to this factor when it has settled.
ROUNDS, SETTLED = 8, 1.5
# Numbers up to which rows are solved in this way, and rows of the squared hinge loss.
MOST_NUMBERS, MOST_SQUARED = 2**21, 500


class Candidate(NamedTuple):
    """A normal vector with dual variables of all rows, and what they prove."""

    w: Array
    alpha: Array
    proof: Proof
    proven_gap: float  # with what rounding can have done to it


def applies(rows: tuple[int, int], loss: str) -> bool:
    """Whether rows of a shape are few enough."""
    n, d = rows
    return n * d <= MOST_NUMBERS and (loss == "hinge" or n <= MOST_SQUARED)


def solve_uneven(rows: Rows, loss: str, tol: float) -> Candidate:
    """The best solution found for explicit rows in memory; rows without a cost have α = 0."""
    paid = np.flatnonzero(rows.costs > 0)
    U, C = rows.X[paid], rows.costs[paid]
    hard = bool(np.isinf(C[0]))
    squared = loss == "squared_hinge" and not hard
    inner, costs = (np.hstack([U, np.diag(np.sqrt(0.5 / C))]), np.full(len(C), np.inf)) if squared else (U, C)
    lengths = np.linalg.norm(inner, axis=1)
    safe = np.where(lengths > 0, lengths, 1.0)
    norm = float(np.max(np.minimum(1 / safe, costs * safe)))
    best = Candidate(np.zeros(U.shape[1]), np.zeros(len(C)), Proof(np.inf, 0.0, np.inf, 0.0, np.inf), np.inf)
    for cap in CAPS:
        for _ in range(ROUNDS):
            w, alpha = _solve_in_reach(inner, costs, safe, norm, cap, tol)
            for candidate in _judged(U, C, w[: U.shape[1]], alpha, "squared_hinge" if squared else "hinge"):
                if candidate.proven_gap <= best.proven_gap:
                    best = candidate
            before, norm = norm, max(float(np.linalg.norm(w)), norm / SETTLED**2)
            if best.proven_gap <= tol or before / SETTLED <= norm <= SETTLED * before:
                break
        if best.proven_gap <= tol:
            break
    spread = np.zeros(len(rows.costs))
    spread[paid] = best.alpha
    return best._replace(alpha=spread)


def _solve_in_reach(U: Array, C: Array, lengths: Array, norm: float, cap: float, tol: float) -> tuple[Array, Array]:
    """Solve shortened rows with capped costs, in units in which w has about the length 1; returns w and α."""
    shorter = np.minimum(1.0, REACH / (lengths * norm))
    costs = np.minimum(C / shorter / norm**2, cap / (lengths * shorter * norm))
    box = solve_box((shorter * norm)[:, None] * U, costs, tol=tol / 4)
    return norm * box.w, np.minimum(norm**2 * shorter * box.alpha, C)


def _judged(U: Array, C: Array, w: Array, alpha: Array, loss: str) -> list[Candidate]:
    """Candidates with w as it is, and longer by what rounding leaves unknown about rows on the margin."""
    length = float(np.linalg.norm(w))
    margins, lengths = U @ w, np.linalg.norm(U, axis=1)
    blur = (ROW_ERROR + np.sqrt(len(w))) * EPSILON * lengths * length
    near = np.abs(margins - 1) <= 2 * blur + REACH * EPSILON
    longer = 2 * float(np.max(blur[near & (blur < 1)], initial=0.0))
    hard, out = bool(np.isinf(C[0])), []
    for factor in (1.0, 1.0 + longer, 1.0 + 4 * longer):
        proof = certify(certificate_sums(U, alpha, C, factor * w, loss), factor * w, hard)
        out.append(Candidate(factor * w, alpha, proof, sum(strict_gap(proof, hard))))
    return out
