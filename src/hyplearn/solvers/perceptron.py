r"""First- and second-order perceptrons on implicit rows, which are not stored but computed from the points.

Both algorithms are from the paper by Chien, Pan, Tabaghi and Milenkovic (2021), "the paper" below. A perceptron visits
one row z with label y = ±1 at a time, and changes its weights w only on a mistake, that is, if
:math:`y\langle w, z\rangle \le 0` (for an exception, see :class:`Perceptron`). A :class:`Perceptron` contains all state
that is kept between rows, so processing a stream in chunks gives bitwise the same result as one pass over all rows.

A row with weight k is visited k times in succession, as if there were k copies of the row. If the weight has a
fractional part, the row is visited once more, and this fraction scales the step.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.linalg import solve_triangular

from hyplearn.data.checkpoint import checkpointable
from hyplearn.data.points import BLOCK_NUMBERS
from hyplearn.geometry.kernels import dot
from hyplearn.numerics import bits_of
from hyplearn.tangent import TangentRows, element, row_product
from hyplearn.types import Array

# A row counts as outside the span of the earlier rows if the norm of its component outside the span is more than this
# fraction of its norm. The value is far above the rounding error of a projection, and far below the fraction that rows
# of real data reach when they add a new direction.
NEW_DIRECTION = 1e-9
IN_ORDER = np.empty(0, dtype=np.int64)
EQUAL_WEIGHTS = np.empty(0)
# With at least MANY_ROWS rows, runs of RUN consecutive rows are shuffled instead of single rows: a pass then takes a
# fifth of the time, because neighbours share cache lines. With fewer rows, single rows are shuffled, in an order
# that depends on their coordinates and not on their positions, so that duplicate rows follow one another.
MANY_ROWS, RUN = 10_000, 32


@checkpointable
@dataclass
class Perceptron:
    r"""State of a perceptron, which is updated with every row.

    On a mistake, a first-order perceptron is updated by :math:`w \leftarrow w + y z`.

    In a second-order perceptron, :math:`w = A^{-1} \xi` with :math:`A = aI + SS^T` and a parameter a ≥ 0. The columns
    of S are the rows z of all mistakes so far, and ξ is the sum of their y z. On a mistake, the update with
    :math:`u = A^{-1} z` and :math:`q = \langle z, u \rangle` is

    .. math:: A^{-1} \leftarrow A^{-1} - \frac{u u^T}{1 + q}, \qquad
              w \leftarrow w + \frac{y - \langle w, z \rangle}{1 + q}\, u

    For a > 0 the inverse is stored as :math:`A^{-1} = M^T M`, and the rank-one update is applied to M, row by row in
    one pass (Carlson, 1973). :math:`M^T M` is positive definite by construction. If the inverse itself were updated,
    rounding could make it indefinite for rows of very different lengths.

    For a = 0 the inverse is the pseudo-inverse, and the number of non-zero rows of M is the rank of S. The paper
    adds a row z to S before it computes the score of z. If z has a component :math:`e = (I - AA^+) z` outside the span
    of the earlier columns, this score is 0 in exact arithmetic. The row therefore counts as a mistake, and the update
    is

    .. math:: M \leftarrow \begin{pmatrix} M - M z\, e^T / \|e\|^2 \\ e^T / \|e\|^2 \end{pmatrix}, \qquad
              w \leftarrow w + \frac{y - \langle w, z \rangle}{\|e\|^2}\, e

    The projector :math:`I - AA^+` is stored, and is applied twice so that e is orthogonal to the span up to rounding.
    It is not computed from a decomposition of :math:`SS^T`, because small eigenvalues of this matrix are noise.
    """

    w: Array  # current weights
    root: Array  # M: triangular if a > 0; if a = 0, only the first rank(S) rows are non-zero; empty if first-order
    outside: Array  # the projector I - AA⁺ of a second-order perceptron with a = 0; otherwise empty
    total: Array = field(init=False)  # sum of w (or of w / ‖w‖ if second-order) over all visits before the last update
    # Number of updates, sum of the row weights over the visits since the last update, and this sum over all visits.
    counts: Array = field(init=False)

    def __post_init__(self) -> None:
        self.total, self.counts = np.zeros_like(self.w), np.zeros(3)

    @classmethod
    def first_order(cls, d: int) -> "Perceptron":
        """Create a first-order perceptron with w = 0."""
        return cls(np.zeros(d), np.empty((0, 0)), np.empty((0, 0)))

    @classmethod
    def second_order(cls, d: int, a: float) -> "Perceptron":
        """Create a second-order perceptron with w = 0."""
        if a > 0:
            return cls(np.zeros(d), np.eye(d) / np.sqrt(a), np.empty((0, 0)))
        return cls(np.zeros(d), np.zeros((d, d)), np.eye(d))

    @property
    def inverse(self) -> Array:
        """Inverse of aI + SSᵀ, or its pseudo-inverse for a = 0."""
        return self.root.T @ self.root

    @property
    def n_updates(self) -> int:
        """Number of updates so far."""
        return int(self.counts[0])

    @property
    def average(self) -> Array:
        """Mean over all visits: of w in a first-order perceptron, and of w / ‖w‖ in a second-order perceptron.

        In a second-order perceptron, the norm of w decreases by orders of magnitude as the matrix A (see
        :class:`Perceptron`) grows, so the mean of w would depend almost only on the first mistakes. In a first-order
        perceptron, the norm of w is large when mistakes are rare. The mean of w gives these vectors more weight, and
        therefore varies less with the order of the rows than the mean of w / ‖w‖ would.
        """
        length = float(np.linalg.norm(self.w)) if self.root.size else 1.0
        return (self.total + self.counts[1] * self.w / (length or 1.0)) / max(self.counts[2], 1.0)

    def visit(
        self, rows: TangentRows, y: Array, weights: Array = EQUAL_WEIGHTS, rng: np.random.Generator | None = None
    ) -> int:
        """Make one pass over the rows, in order or shuffled by ``rng``; return the number of misclassified rows."""
        run = RUN if len(rows) >= MANY_ROWS else 1
        runs = IN_ORDER if rng is None else _shuffled(rows.X, run, rng)
        visits, step, mistakes = runs.size * run or len(rows), max(1, BLOCK_NUMBERS // rows.shape[1]), 0
        # The pass is split into several calls of compiled code, because the user can interrupt it only between calls.
        for start in range(0, visits, step):
            # Pass None instead of an empty array, so that numba leaves out the updates that this perceptron never
            # makes.
            root, outside = (matrix if matrix.size else None for matrix in (self.root, self.outside))
            missing = 0 if outside is None else round(np.trace(outside))
            mistakes += _visit(
                rows.X, rows.p, rows.along, rows.base, y, weights, runs, run, start,
                min(start + step, visits), self.w, root, outside, missing, self.total, self.counts,
            )  # fmt: skip
        return int(mistakes)


def _shuffled(X: Array, run: int, rng: np.random.Generator) -> Array:
    """Divide the rows into runs of ``run`` consecutive rows, and return the indices of the runs in random order.

    The last run may have fewer rows. For ``run=1`` the order depends only on the coordinates of the rows and on
    ``rng``.
    """
    if run > 1:
        return rng.permutation(-(-len(X) // run))
    hashes = np.empty(len(X), dtype=np.uint64)
    _fill_hashes(X, np.uint64(rng.integers(2**63)), hashes)
    return np.argsort(hashes, kind="stable")


@njit(cache=True, nogil=True)
def _fill_hashes(X, seed, out):  # type: ignore[no-untyped-def]
    """Write a hash for each row to ``out``, computed from the seed and the coordinates as in splitmix64."""
    for i in range(X.shape[0]):
        state = seed
        for j in range(X.shape[1]):
            state = (state ^ bits_of(np.float64(X[i, j]))) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state ^= state >> np.uint64(31)
        out[i] = state


class MistakeBounds(NamedTuple):
    r"""Upper bounds on the number of updates of a perceptron, given a hyperplane that separates the rows.

    Let w be the unit normal of the hyperplane, p the reference point, Z the largest :math:`\|z\|`, and R the largest
    :math:`\sqrt c \|x\|` of a point x. Let m be the smallest :math:`|\langle z, w \rangle|` of all rows. It is equal to
    :math:`\sinh(\sqrt c \varepsilon) / \sqrt c`, where ε is the margin of the hyperplane. The bounds are

    - ``data``, for a first-order perceptron: :math:`(Z / m)^2`;
    - ``paper``, for a first-order perceptron: :math:`\bigl(2 R_p / ((1 - R_p^2) \sqrt c\, m)\bigr)^2` with
      :math:`R_p = (\sqrt c \|p\| + R) / (1 + \sqrt c \|p\| R)`; the bound replaces Z by its largest possible value for
      points with :math:`\sqrt c \|x\| \le R`;
    - ``second_order``: :math:`\sqrt{(a + \lambda_w) \sum_j \log(1 + \lambda_j / a)} / m` with a and S of
      :class:`Perceptron`, the eigenvalues :math:`\lambda_j` of :math:`SS^T`, and :math:`\lambda_w = w^T S S^T w`; NaN
      for a first-order perceptron and for a = 0.

    All bounds are NaN if no separating hyperplane is known.
    """

    data: float
    paper: float
    second_order: float


NO_BOUNDS = MistakeBounds(np.nan, np.nan, np.nan)


def paper_bound(reference_norm: float, radius: float, margin: float) -> float:
    """Return the mistake bound of the paper's first theorem, for curvature -1.

    The arguments are ‖p‖, R and ε; see ``paper`` in :class:`MistakeBounds`, where R_p is also defined. The factor 1 -
    R_p² is computed without cancellation.

    Examples
    --------
    >>> from hyplearn.solvers.perceptron import paper_bound
    >>> print(round(paper_bound(0.19, 0.95, 1.0)), round(paper_bound(0.57, 0.95, 1.0)))
    594 3670
    """
    joined = 1 + reference_norm * radius
    R_p = (reference_norm + radius) / joined
    gap = (1 - reference_norm**2) * (1 - radius**2) / joined**2
    return float((2 * R_p / (gap * np.sinh(margin))) ** 2)


def second_order_bound(perceptron: Perceptron, normal: Array, a: float, sinh_margin: float) -> float:
    r"""Return the mistake bound of the paper's second theorem, for the unit normal of a separating hyperplane.

    The bound is ``second_order`` in :class:`MistakeBounds`, where ``sinh_margin`` is called m. Its terms are computed
    from the triangular root M of the inverse of :math:`A = aI + SS^T`, and from the normal w:
    :math:`a + \lambda_w = \|M^{-T} w\|^2` and :math:`\sum_j \log(1 + \lambda_j / a) = -\sum_i \log(a M_{ii}^2)`. For
    long rows, the eigenvalues of the inverse itself would be lost to rounding.
    """
    if a == 0:
        return np.nan
    root = perceptron.root
    along_normal = np.linalg.norm(solve_triangular(root, normal, trans="T"))
    volume = max(0.0, -np.sum(np.log(a * np.diag(root) ** 2)))
    return float(along_normal * np.sqrt(volume) / sinh_margin)


@njit(cache=True, nogil=True, error_model="numpy")
def _visit(  # type: ignore[no-untyped-def]
    X, p, along, base, y, weights, runs, run, start, stop, w, root, outside, missing, total, counts
):
    """Visit rows and update the state of the perceptron in place; return the number of misclassified rows.

    If ``runs`` is empty, visit k reads row k. Otherwise, the rows are divided into runs of ``run`` consecutive rows,
    and visit k reads row ``k % run`` of the run with index ``runs[k // run]``. This call makes the visits ``start`` to
    ``stop - 1``. For the second-order perceptron with a = 0, ``missing`` is the number of dimensions outside the span
    of earlier rows; a row that adds a dimension always counts as a mistake.
    """
    n = X.shape[0]
    mistakes = 0
    z, e = np.empty(w.size), np.empty(w.size)
    p_dot_w = dot(p, w)
    for k in range(start, stop):
        i = k if runs.size == 0 else runs[k // run] * run + k % run
        if i >= n:  # the last run may have fewer rows
            continue
        weight = weights[i] if weights.size else 1.0
        mistaken = False
        while weight > 0.0:
            margin = _margin(X, p, along, base, i, w, p_dot_w)
            new = False
            if outside is not None and missing > 0:
                _write_row(X, i, p, along, base, z)
                new = _is_new(outside, z, e)
            if not new and y[i] * margin > 0.0:
                # The remaining copies of the row are classified correctly too, so w does not change until the next row.
                counts[1] += weight
                counts[2] += weight
                break
            mistaken = True
            step = min(weight, 1.0)
            weight -= step
            length = 1.0 if root is None else math.sqrt(dot(w, w))
            if length > 0.0:
                _add_multiple(total, counts[1] / length, w)
            _write_row(X, i, p, along, base, z)
            if root is None:
                _add_multiple(w, step * y[i], z)
            elif outside is None:
                _turn(w, root, z, y[i] - margin, step, True)
            elif new:
                _widen(w, root, outside, z, e, y[i] - margin, step, w.size - missing)
                missing -= 1
            else:
                _turn(w, root, z, y[i] - margin, step, False)
            p_dot_w = dot(p, w)
            counts[0] += 1
            counts[1] = step
            counts[2] += step
        mistakes += mistaken
    return mistakes


# A loop is used instead of an array expression, which numba would take seconds to compile.
@njit(inline="always", error_model="numpy")
def _add_multiple(out, factor, x):  # type: ignore[no-untyped-def]
    """Add ``factor · x`` to ``out``."""
    for j in range(out.size):
        out[j] += factor * x[j]


# This is a separate function because it is five times slower when numba inlines it into the loops of _visit.
@njit(cache=True, error_model="numpy")
def _margin(X, p, along, base, i, w, p_dot_w):  # type: ignore[no-untyped-def]
    """Return the margin ``⟨z, w⟩`` of row i."""
    return row_product(X, p, along, base, i, w, p_dot_w)


@njit(cache=True, error_model="numpy")
def _write_row(X, i, p, along, base, z):  # type: ignore[no-untyped-def]
    for j in range(len(p)):
        z[j] = element(X, p, along, base, i, j)


@njit(cache=True, error_model="numpy")
def _turn(w, root, z, residual, step, triangular):  # type: ignore[no-untyped-def]
    """Make a second-order update that leaves the rank of A unchanged: add ``step · z zᵀ`` to A, and update w.

    The matrix ``root`` is M, with ``A⁻¹ = MᵀM``, and ``residual`` is ``y - ⟨w, z⟩``. The loop goes from the last row of
    M to the first, so that a triangular M stays triangular. At the end of the loop, u is ``A⁻¹ z`` with the inverse
    before the update, and ``alpha`` is ``1 / step + ⟨z, u⟩``.
    """
    u, alpha = np.zeros(w.size), 1.0 / step
    for i in range(w.size - 1, -1, -1):
        start = i if triangular else 0
        row, tail = root[i, start:], u[start:]
        f = dot(row, z[start:])
        grown = alpha + f * f
        shrink, turn = math.sqrt(alpha / grown), f / math.sqrt(alpha * grown)
        for j in range(row.size):
            old = row[j]
            row[j] = shrink * old - turn * tail[j]
            tail[j] += f * old
        alpha = grown
    _add_multiple(w, residual / alpha, u)


@njit(cache=True, error_model="numpy")
def _is_new(outside, z, e):  # type: ignore[no-untyped-def]
    """Write the component of z outside the span of the earlier rows to ``e``; return whether z extends this span."""
    for j in range(e.size):
        e[j] = 0.0
    for i in range(z.size):
        # As the projector is symmetric, this loop over its rows multiplies z by the projector twice.
        _add_multiple(e, dot(outside[i], z), outside[i])
    return dot(e, e) > NEW_DIRECTION**2 * dot(z, z)


@njit(cache=True, error_model="numpy")
def _widen(w, root, outside, z, e, residual, step, rank):  # type: ignore[no-untyped-def]
    """Make a second-order update for a row z outside the current span (Meyer, 1973).

    ``e`` is the component of z outside the span, and ``rank`` is the dimension of the span before the update. The
    update changes w, adds a row to M (``root``), and removes the direction of e from the projector (``outside``).
    """
    square = dot(e, e)
    _add_multiple(w, residual / square, e)
    for i in range(rank):
        _add_multiple(root[i], -(dot(root[i], z) / square), e)
    for j in range(e.size):
        root[rank, j] = e[j] / (math.sqrt(step) * square)
    for i in range(w.size):
        _add_multiple(outside[i], -(e[i] / square), e)
