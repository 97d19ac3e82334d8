r"""SVMs that cannot be solved directly in float64, because the norms or costs of their rows differ too much.

The computed margin :math:`\langle u, w \rangle` of a row u has an error of about :math:`\epsilon \|u\| \|w\|`, where ε
is the machine epsilon. For a row longer than :math:`1 / (\epsilon \|w\|)`, the margin has no correct digits, and high
costs magnify its error. The remedy is to solve a slightly harder or softer problem, whose w and α also give bounds for
the given problem:

- If a row is multiplied by a factor σ < 1 and its cost is divided by σ, its loss does not decrease, and σ times the α
  of the shortened row is feasible for the original row. Long rows are shortened in this way until their margins have
  correct digits.
- Costs are capped, because the α of a row is at most about :math:`\|w\| / \|u\|`, and a higher cost only magnifies
  rounding errors.
- w is scaled up slightly, so that rows on the margin lie above it despite rounding errors.

A problem with the squared hinge loss is solved as a hard-margin problem with one more column per row: its rows are
:math:`(u_i, \; e_i / \sqrt{2 C_i})`, where :math:`e_i` is the i-th unit vector.
"""

from typing import NamedTuple

import numpy as np

from hyplearn.rows import Rows
from hyplearn.solvers.certificate import EPSILON, ROW_ERROR, Proof, certificate_sums, certify
from hyplearn.solvers.svm.interior_point import solve_box
from hyplearn.solvers.svm.proof import strict_gap
from hyplearn.types import Array

# Rows u are shortened until ‖u‖ ‖w‖ is at most REACH, so that about half of the digits of their margins are correct.
REACH = 1e8
# Caps on costs, in units of ‖w‖ / ‖u‖, which are tried in turn. High caps magnify rounding errors; low caps may soften
# the margin.
CAPS = (1e4, 1e7, 1e10)
# For each cap, the problem is solved at most ROUNDS times, each time scaled by the norm of the previous w, until this
# norm changes by at most the factor SETTLED.
ROUNDS, SETTLED = 8, 1.5
# solve_uneven() is used only for problems with at most MOST_NUMBERS elements and, for the squared hinge loss, at most
# MOST_SQUARED rows.
MOST_NUMBERS, MOST_SQUARED = 2**21, 500


class Candidate(NamedTuple):
    """Candidate solution: w, α, and the certificate computed from them."""

    w: Array
    alpha: Array
    proof: Proof
    proven_gap: float  # relative gap plus a bound on its rounding error


def applies(rows: tuple[int, int], loss: str) -> bool:
    """Return whether a problem with the given numbers of rows and columns is small enough for :func:`solve_uneven`."""
    n, d = rows
    return n * d <= MOST_NUMBERS and (loss == "hinge" or n <= MOST_SQUARED)


def solve_uneven(rows: Rows, loss: str, tol: float) -> Candidate:
    """Return the best solution found for rows stored as the matrix ``rows.X``; rows with cost 0 have α = 0."""
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
    """Solve the problem with shortened rows and capped costs; convert its w and α to those of the original problem.

    The problem is also scaled by ``norm``, an estimate of ‖w‖, so that the norm of its solution is about 1.
    """
    shorter = np.minimum(1.0, REACH / (lengths * norm))
    costs = np.minimum(C / shorter / norm**2, cap / (lengths * shorter * norm))
    box = solve_box((shorter * norm)[:, None] * U, costs, tol=tol / 4)
    return norm * box.w, np.minimum(norm**2 * shorter * box.alpha, C)


def _judged(U: Array, C: Array, w: Array, alpha: Array, loss: str) -> list[Candidate]:
    """Return three candidates: one with w itself, and two with w scaled up.

    If ``⟨u, w⟩`` is 1 up to rounding errors for a row u, scaling w up makes it clearly larger than 1.
    """
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
