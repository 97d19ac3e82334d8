"""Certificates for SVM solutions, with the rounding errors of float64 taken into account.

The status "optimal" must hold in exact arithmetic. The computed margins of long rows have few correct digits, and high
costs magnify their errors, so a bound on the rounding error is added to the gap.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hyplearn.data.folding import columns_joined, in_any_order, summed
from hyplearn.rows import Costs, Rows, RowSource
from hyplearn.solvers.certificate import (
    EPSILON,
    ROUNDING,
    ROW_ERROR,
    CertificateSums,
    Proof,
    certificate_sums,
    certify,
    merge_certificates,
)
from hyplearn.solvers.solution import Solution
from hyplearn.types import Array

# If the smallest eigenvalue of the scaled matrix M in refutation() is at most this fraction of the largest, it may be a
# rounding error, and M may be singular.
SINGULAR = 1e-12
# A weighted sum of rows counts as zero if it can be made exactly zero by changing each coefficient by at most this
# fraction.
CHANGE = 0.5
# Number of passes that refutation() takes.
REFUTATION_PASSES = 2


def proven(source: RowSource, solution: Solution, loss: str, tol: float) -> Solution:
    """Return the solution with a gap that allows for rounding errors, and with the status that this gap justifies.

    The status is "optimal" only if the gap plus the bound on its rounding error is at most ``tol``. The certificate is
    recomputed, except in two cases: the bound in the given solution is already small enough, or some of the positive α
    are missing from the solution.
    """
    settled = solution.status == "optimal" and solution.gap + solution.rounding <= tol
    if settled or len(solution.support) < solution.n_support:
        unproven = solution.status == "optimal" and not settled
        gap = solution.gap + solution.rounding
        return replace(solution, status="stalled", gap=gap) if unproven else solution
    hard = source.cost_range.highest == np.inf
    arguments = solution.support, solution.alpha, solution.w, loss
    proof = certify(source.fold(_sums_of_block, merge_certificates, *arguments), solution.w, hard)
    return replace(judged(solution, proof, hard, tol), n_passes=solution.n_passes + 1)


def judged(solution: Solution, proof: Proof, hard: bool, tol: float) -> Solution:
    """Return the solution with P, D and the gap of ``proof``, and with the status that they justify."""
    gap, rounding = strict_gap(proof, hard)
    closed = gap + rounding <= tol and proof.violation == 0
    return replace(
        solution,
        primal=proof.primal,
        dual=proof.dual,
        gap=gap if closed or gap > tol else gap + rounding,
        rounding=rounding,
        status="optimal" if closed else "stalled" if solution.status == "optimal" else solution.status,
    )


def strict_gap(proof: Proof, hard: bool) -> tuple[float, float]:
    """Return the relative gap, at least 0, and a bound on its rounding error.

    For a hard margin, both are relative to P itself instead of max(1, P), because P is far below 1 if rows are long.
    """
    unit = max(1.0, 1 / proof.primal) if hard and proof.primal > 0 else 1.0
    return unit * max(0.0, proof.gap), unit * proof.rounding


def squared_rounding(solution: Solution, longest: float, costs: Costs, n: int) -> float:
    r"""Return a bound on the rounding error of the gap for the squared hinge loss.

    ``longest`` is the norm of the longest row, and ``n`` is the number of rows. Since :math:`\alpha_i = 2 C_i s_i`,
    where :math:`s_i` is the slack, an error e in the slack causes an error :math:`2 C_i e` in :math:`\alpha_i`.
    """
    length, n_columns = float(np.linalg.norm(solution.w)), len(solution.w)
    error = (ROW_ERROR + np.sqrt(n_columns)) * EPSILON * (longest * length + 1)
    # Σ α ≤ √(Σ 2C · Σ α² / (2C)) by the Cauchy-Schwarz inequality. The second sum is twice the loss, and therefore at
    # most 2 P.
    total = np.sqrt(4 * costs.total * max(0.0, solution.primal))
    v_error = longest * (2 * costs.highest * error * solution.n_support + (ROW_ERROR + np.sqrt(n)) * EPSILON * total)
    apart = np.sqrt(2 * solution.gap * max(1.0, solution.primal))
    between = v_error * (apart + 0.5 * v_error) + 2 * n * costs.highest * error**2
    return float(between + ROW_ERROR * EPSILON * solution.primal) / max(1.0, solution.primal)


def hard_rounding(solution: Solution, longest: float, n: int) -> float:
    """Return a bound on the rounding error of the gap for a hard margin.

    ``longest`` is the norm of the longest row, and ``n`` is the number of rows.
    """
    length, total = float(np.linalg.norm(solution.w)), solution.total
    error = (ROW_ERROR + np.sqrt(len(solution.w))) * EPSILON * (longest * length + 1)
    if not np.isfinite(solution.primal) or error > ROUNDING:
        return np.inf
    sum_error = (ROW_ERROR + np.sqrt(n)) * EPSILON
    v_error = sum_error * (total * longest + length)
    apart = float(np.linalg.norm(solution.w - solution.v))
    # Rounding errors of the margins affect the gap twice: w is divided by the smallest margin, which changes P by at
    # most 3 P · error, and each α is multiplied by a slack, which changes the gap by at most Σ α · error.
    moved = (3 * solution.primal + total) * error + v_error * (apart + 0.5 * v_error)
    return float(moved + sum_error * (total + solution.primal)) / solution.primal


def _sums_of_block(block: Rows, support: Array, alpha: Array, w: Array, loss: str) -> CertificateSums:
    own, coefficients = _support_of_block(block, support, alpha)
    spread = np.zeros(len(block.X))
    spread[own] = coefficients
    return certificate_sums(block[:], spread, block.costs, w, loss)


def _support_of_block(block: Rows, support: Array, alpha: Array) -> tuple[Array, Array]:
    """Return the support rows that lie in a block, as indices within the block, and their α."""
    first, last = np.searchsorted(support, [block.start, block.start + len(block.X)])
    return support[first:last] - block.start, alpha[first:last]


class Combination(NamedTuple):
    """Sums over the rows with α > 0: ``Σ α u``, ``Σ α² u uᵀ``, ``Σ α ‖u‖`` and the number of rows."""

    v: Array
    moments: Array
    length: float
    n_rows: int


def refutation(source: RowSource, support: Array, alpha: Array) -> tuple[Array, Array] | None:
    r"""Prove that no w gives every row a positive margin: find rows and α > 0 with :math:`\sum \alpha_i u_i = 0`.

    Because of rounding errors, the sum :math:`v = \sum \alpha_i u_i` is not exactly zero. However, if
    :math:`M = \sum \alpha_i^2 u_i u_i^T` has full rank (apart from columns of zeros), then the sum with the
    coefficients :math:`\alpha_i (1 - \alpha_i \langle u_i, M^{-1} v \rangle)` is exactly zero, and these coefficients
    are positive if :math:`v^T M^{-1} v < 1`. If both conditions are clearly satisfied, they also hold in exact
    arithmetic. Otherwise, a row of zeros or two exactly opposite rows can serve as the proof. Returns the positions of
    the rows and their α, or None if no proof is found.
    """
    if not len(support):
        return None
    sums = source.fold(_combination, _merge_combinations, support, alpha)
    change = _change(sums)
    if change is not None:
        return support, source.fold(_corrected, np.concatenate, support, alpha, change)
    return _opposite(*source.fold(_rows_at, columns_joined, support))


def _change(sums: Combination) -> Array | None:
    """Return ``M⁻¹ v``, from which :func:`_corrected` computes coefficients that make the sum of the rows exactly zero.

    M and v are defined in :func:`refutation`. The result is None if M may be singular, or if the new coefficients might
    not be positive.
    """
    scale = np.sqrt(np.diag(sums.moments))
    kept = scale > 0  # leave out columns of zeros
    scale = scale[kept]
    if not len(scale) or not np.all(np.isfinite(scale)):
        return None
    values, vectors = np.linalg.eigh(sums.moments[np.ix_(kept, kept)] / np.outer(scale, scale))
    if values[0] <= SINGULAR * values[-1]:
        return None
    white = (vectors.T @ (sums.v[kept] / scale)) / np.sqrt(values)
    error = (ROW_ERROR + np.sqrt(sums.n_rows)) * EPSILON * sums.length / (np.min(scale) * np.sqrt(values[0]))
    if np.linalg.norm(white) + error > CHANGE:
        return None
    change = np.zeros(len(kept))
    change[kept] = (vectors @ (white / np.sqrt(values))) / scale
    return change


def _combination(block: Rows, support: Array, alpha: Array) -> Combination:
    own, coefficients = _support_of_block(block, support, alpha)
    terms = coefficients[:, None] * block[own]
    return Combination(terms.sum(axis=0), terms.T @ terms, float(np.linalg.norm(terms, axis=1).sum()), len(own))


@in_any_order
def _merge_combinations(parts: Sequence[Combination]) -> Combination:
    return Combination(*(summed(column) for column in zip(*parts, strict=True)))


def _corrected(block: Rows, support: Array, alpha: Array, change: Array) -> Array:
    own, coefficients = _support_of_block(block, support, alpha)
    return coefficients * (1 - coefficients * (block[own] @ change))


def _rows_at(block: Rows, support: Array) -> tuple[Array, Array]:
    """Return the positions in ``support`` that lie in a block, and the rows at these positions."""
    own, positions = _support_of_block(block, support, support)
    return positions, block[own]


def _opposite(positions: Array, rows: Array) -> tuple[Array, Array] | None:
    """Find a row of zeros or two opposite rows; return their positions and α, or None if there are none."""
    zeros = np.flatnonzero(~rows.any(axis=1))
    if len(zeros):
        return positions[zeros[:1]], np.ones(1)
    seen: dict[bytes, int] = {}
    for i, row in enumerate(rows + 0.0):  # adding 0.0 turns -0.0 into 0.0
        other = seen.get((0.0 - row).tobytes())
        if other is not None:
            return positions[[other, i]], np.ones(2)
        seen[row.tobytes()] = i
    return None
