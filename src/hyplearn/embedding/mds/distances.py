"""Read and validate distances, and compute and minimise the stress of an embedding.

Points lie in the ball of curvature -1. Tangent vectors are in frame coordinates.
"""

import math
import warnings
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from scipy.sparse.csgraph import connected_components, shortest_path

from hyplearn.embedding import descent
from hyplearn.embedding.descent import BLOCKS, Descent, map_blocks
from hyplearn.geometry import pairwise_distance
from hyplearn.geometry.ball import step_along
from hyplearn.geometry.kernels import gap_of, row_gaps, shrink, squared_distance
from hyplearn.numerics import uniform
from hyplearn.types import Array

# The triangle inequality is checked for all triples if there are at most ALL_TRIANGLES points, and otherwise for
# TRIANGLES random triples. Fewer triples would take less time but miss more of the rare violations.
ALL_TRIANGLES = 300
TRIANGLES = 1_000_000
# Largest relative violations of symmetry and of the triangle inequality that are accepted as rounding errors.
SYMMETRY_TOLERANCE = 1e-8
TRIANGLE_TOLERANCE = 1e-6
# A pair with a positive given distance counts as distorted if its embedded and given distances differ by more than the
# factor DISTORTED, and the larger of the two exceeds the fraction VISIBLE of the largest given distance. Nearly equal
# points that are placed slightly too far apart are therefore ignored.
DISTORTED = 10
VISIBLE = 0.01
# Maximum number of steps for placing a new point.
MOST_STEPS = 100


def read_distances(source: Any) -> tuple[Array, list[Any] | None]:
    """Read distances or a graph, as in :meth:`HyperbolicMDS.fit`; return the matrix of distances, and the nodes.

    The nodes are None unless the input is a networkx graph.
    """
    if hasattr(source, "adj"):
        labels = list(source.nodes)
        return _along_edges(_adjacency(source, labels), labels), labels
    if sparse.issparse(source):
        return _along_edges(sparse.csr_array(source), None), None
    D = check_lengths(np.asarray(source), "Distances")
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise ValueError(
            f"A matrix of distances must be square; got shape {D.shape}.\n"
            "For rows of features pass sklearn.metrics.pairwise_distances(X) instead."
        )
    D = _symmetric(D)
    _warn_about_triangles(D)
    return D, None


def check_lengths(D: Array, name: str) -> Array:
    """Convert lengths to float64; raise an error if they are not real numbers, or if any is negative or not finite."""
    if D.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be real numbers; got dtype {D.dtype}.\nConvert them to float64 first.")
    D = D.astype(np.float64, copy=False)
    bad = ~(np.isfinite(D) & (D >= 0))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must be finite and not negative, but {np.count_nonzero(bad)} are not; the first is "
            f"{D[where]:g} at {where}.\nCorrect these values, or convert similarities to distances."
        )
    return D


def _symmetric(D: Array) -> Array:
    size = np.max(D, initial=0.0)
    if np.any(np.abs(np.diagonal(D)) > SYMMETRY_TOLERANCE * size):
        row = int(np.argmax(np.diagonal(D)))
        raise ValueError(
            f"The distance of row {row} to itself is {D[row, row]:g}; expected 0.\n"
            "Set the diagonal to 0, or convert similarities to distances."
        )
    off = np.abs(D - D.T)
    i, j = np.unravel_index(int(np.argmax(off)), off.shape) if off.size else (0, 0)
    if size > 0 and off[i, j] > SYMMETRY_TOLERANCE * size:
        raise ValueError(
            f"Distances must be symmetric; D[{i}, {j}] = {D[i, j]:.6g} but D[{j}, {i}] = {D[j, i]:.6g}.\n"
            "Pass (D + D.T) / 2 if the difference does not matter."
        )
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0.0)
    return D


def _warn_about_triangles(D: Array) -> None:
    n = len(D)
    n_triples = n**3 if n <= ALL_TRIANGLES else TRIANGLES
    count, i, j, k = _long_sides(D, n_triples)
    if count:
        warnings.warn(
            f"The distances are not a metric: D[{i}, {j}] = {D[i, j]:.4g} is longer than the path through row {k}, of "
            f"length {D[i, k] + D[k, j]:.4g}; {count / n_triples:.2%} of {n_triples:,} triples violate the triangle "
            "inequality. No embedding can reproduce such distances.\nCheck stress_, or compute shortest paths first.",
            UserWarning,
            stacklevel=4,
        )


def warn_about_distorted_pairs(X: Array, D: Array, root: float, *, automatic: bool) -> None:
    """Warn about pairs whose distances in the embedding X differ greatly from the given distances D.

    X lies in the unit ball, and D contains the given distances multiplied by ``root``, the square root of the absolute
    curvature. The warning shows distances divided by ``root``. ``automatic`` is True if the curvature was chosen
    automatically.
    """
    rows, columns = np.triu_indices(len(D), 1)
    given, found = D[rows, columns], pairwise_distance(X)[rows, columns]
    most, least = np.maximum(given, found), np.minimum(given, found)
    distorted = (most > DISTORTED * least) & (given > 0) & (most > VISIBLE * np.max(D, initial=0.0))
    if not distorted.any():
        return
    worst = int(np.argmin(np.where(distorted, least / np.maximum(most, np.finfo(float).tiny), 1.0)))
    count = int(np.count_nonzero(distorted))
    pairs = "pair" if count == 1 else "pairs"
    other = "" if automatic else ' or curvature="auto"'
    warnings.warn(
        f"The distances of {count:,} {pairs} of points are wrong by more than a factor of {DISTORTED}; the worst is "
        f"between rows {rows[worst]} and {columns[worst]}: {found[worst] / root:.3g} instead of "
        f"{given[worst] / root:.3g}.\n"
        f"Use more components{other}, or TreeEmbedding if the distances are measured along a tree.",
        UserWarning,
        stacklevel=3,
    )


@njit(cache=True)
def _long_sides(D, n_triples):  # type: ignore[no-untyped-def]
    """Return the number of triples with ``D_ij > D_ik + D_kj``, and the indices i, j, k of the worst of them.

    The worst triple has the largest ``D_ij - D_ik - D_kj``. Differences that may be due to rounding are ignored. All
    triples are checked if ``n_triples`` is n³; otherwise, ``n_triples`` random triples are checked.
    """
    n = D.shape[0]
    count, excess, worst = 0, 0.0, (0, 0, 0)
    for t in range(n_triples):
        if n_triples == n**3:
            i, j, k = t // (n * n), t // n % n, t % n
        else:
            i, j, k = int(n * uniform(0, 3 * t)), int(n * uniform(0, 3 * t + 1)), int(n * uniform(0, 3 * t + 2))
        side, way = D[i, j], D[i, k] + D[k, j]
        if side > way * (1.0 + TRIANGLE_TOLERANCE):
            count += 1
            if side - way > excess:
                excess, worst = side - way, (i, j, k)
    return count, worst[0], worst[1], worst[2]


def _adjacency(graph: Any, labels: list[Any]) -> Any:
    if graph.is_directed():
        raise ValueError(
            "The graph must be undirected, because distances along directed edges are not symmetric.\n"
            "Pass graph.to_undirected()."
        )
    if graph.is_multigraph():
        raise ValueError(
            "The graph must not be a multigraph, which may have several edges between two nodes.\n"
            "Pass networkx.Graph(graph)."
        )
    place = {node: row for row, node in enumerate(labels)}
    triples = [(place[u], place[v], w) for u, v, w in graph.edges(data="weight", default=1.0) if u != v]
    one_way = np.array(triples, dtype=np.float64).reshape(-1, 3)
    u, v, lengths = np.concatenate([one_way, one_way[:, [1, 0, 2]]]).T
    return sparse.coo_array((lengths, (u.astype(int), v.astype(int))), shape=(len(labels), len(labels))).tocsr()


def _along_edges(adjacency: Any, labels: list[Any] | None) -> Array:
    """Compute the lengths of all shortest paths; raise an error if ``adjacency`` is not valid or not connected."""
    n = adjacency.shape[0]
    if adjacency.shape != (n, n):
        raise ValueError(
            f"An adjacency matrix must be square; got shape {adjacency.shape}.\nPass one row and one column per node."
        )
    weights = check_lengths(adjacency.data, "Edge weights")
    if np.any(weights == 0):
        raise ValueError(
            f"Edge weights must be positive; {np.count_nonzero(weights == 0)} entries of the adjacency matrix are "
            "stored as 0.\nMerge the nodes of these edges or, if they are not edges, call eliminate_zeros()."
        )
    asymmetry = abs(adjacency - adjacency.T)
    if asymmetry.nnz and asymmetry.max() > SYMMETRY_TOLERANCE * weights.max():
        raise ValueError(
            f"The adjacency matrix must be symmetric; it differs from its transpose by up to {asymmetry.max():.6g}.\n"
            "Pass adjacency.maximum(adjacency.T) if edges have no direction."
        )
    parts, part = connected_components(adjacency, directed=False)
    if parts > 1:
        row = int(np.argmax(part == np.argmin(np.bincount(part))))
        name = f"row {row}" if labels is None else repr(labels[row])
        raise ValueError(
            f"The graph has {parts} connected components, and distances between them are not defined; {name} is in "
            "the smallest.\nEmbed the largest component alone, or add edges."
        )
    return np.asarray(shortest_path(adjacency.astype(np.float64), method="D", directed=False))


def normalise(value: float, D: Array, relative: bool) -> float:
    """Normalise the stress ``value``: return ``√(value / total)``.

    Here ``total`` is the stress of an embedding in which all points coincide. If all given distances are 0, the result
    is 0.
    """
    total = np.count_nonzero(D) / 2 if relative else float(np.sum(D**2)) / 2
    return math.sqrt(value / total) if total > 0 else 0.0


def stress_and_gradient(X: Array, D: Array, relative: bool) -> tuple[float, Array]:
    """Compute the stress ``Σ_{i<j} w (d(x_i, x_j) - D_ij)²`` and its gradient.

    The weight w is 1 if ``relative`` is False. Otherwise, it is ``1 / D_ij²``, or 0 if D_ij is 0.
    """
    gaps, gradients = row_gaps(X, 1.0), np.zeros((BLOCKS, *X.shape))
    # ``_pairs`` adds to an existing array, because numba does not handle interrupts while a function returns a tuple
    # that contains an array.
    values = map_blocks(lambda block, n: _pairs(X, gaps, D, relative, block, n, gradients[block]), len(X))
    return sum(values), gradients.sum(axis=0)


@njit(cache=True, nogil=True, error_model="numpy")
def _pairs(X, gaps, D, relative, first, stride, gradient):  # type: ignore[no-untyped-def]
    """Return the stress of some pairs (i, j), and add the gradient of this stress to ``gradient``.

    The pairs are those with j > i and i = first, first + stride, first + 2 stride, and so on.
    """
    n, d = X.shape
    value, bends = 0.0, np.zeros(n)
    for i in range(first, n, stride):
        for j in range(i + 1, n):
            square = squared_distance(X, j, X[i])
            error, sinh = _error(square / (gaps[i] * gaps[j]), D[i, j])
            weight = _weight(D[i, j], relative)
            value += weight * error * error
            # The gradient is not defined at coincident points, so such pairs do not contribute to it.
            if sinh > 0.0:
                pull = 4.0 * weight * error / sinh
                pull_i, pull_j = pull / gaps[j], pull / gaps[i]
                bends[i] += pull_i * square / gaps[i]
                bends[j] += pull_j * square / gaps[j]
                for k in range(d):
                    gradient[i, k] -= pull_i * (X[j, k] - X[i, k])
                    gradient[j, k] += pull_j * (X[j, k] - X[i, k])
    for i in range(n):
        for k in range(d):
            gradient[i, k] += bends[i] * X[i, k]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _weight(due, relative):  # type: ignore[no-untyped-def]
    """Return the weight of the squared error of a distance in the stress.

    The weight is 1 if ``relative`` is False. Otherwise, it is ``1 / due²`` for the given distance ``due``, or 0 if
    ``due`` is 0.
    """
    if not relative:
        return 1.0
    return 1.0 / (due * due) if due > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _error(u2, due):  # type: ignore[no-untyped-def]
    """Return ``ρ - due`` and ``sinh ρ``, where ``sinh²(ρ/2) = u2``.

    ρ is the distance in the embedding, and ``due`` is the given distance.
    """
    sinh = 2.0 * math.sqrt(u2 * (1.0 + u2))
    return shrink(u2) * sinh - due, sinh


def descend(X: Array, D: Array, relative: bool, *, tol: float, max_iter: int) -> Descent:
    """Minimise the stress with L-BFGS; see :func:`hyplearn.embedding.descent.descend`."""
    # The second derivative of the stress with respect to one of the n points is about 2n times the mean weight.
    stiffness = 2 * len(X) * (float(np.mean(D[D > 0] ** -2.0)) if relative and np.any(D) else 1.0)
    objective = partial(stress_and_gradient, D=D, relative=relative)
    return descent.descend(X, objective, stiffness=stiffness, tol=tol, max_iter=max_iter)


def place(D: Array, X: Array, relative: bool) -> Array:
    """Place each new point so that its stress is minimal.

    Each row of D contains the distances from one new point to the points X. The search starts at the nearest of these
    points.
    """
    gaps, starts = row_gaps(X, 1.0), X[np.argmin(D, axis=1)]
    points = [_place_row(due, X, gaps, relative, x) for due, x in zip(D, starts, strict=True)]
    return np.array(points).reshape(starts.shape)


def _place_row(due: Array, X: Array, gaps: Array, relative: bool, x: Array) -> Array:
    """Minimise the stress of one new point with damped Gauss-Newton steps, starting at x.

    Each step v is the solution of ``(U W Uᵀ + μ I) v = U W r`` with Levenberg's damping μ; see :func:`_equations` for
    U, W and r.
    """
    value, matrix, vector = _equations(due, X, gaps, relative, x)
    size = float(np.trace(matrix))
    damping = 1e-3 * size
    for _ in range(MOST_STEPS if vector.any() else 0):
        step = np.linalg.solve(matrix + damping * np.eye(len(x)), vector)
        moved = step_along(step * row_gaps(x[None], 1.0)[0] / 2, x)
        new = _equations(due, X, gaps, relative, moved)
        if new[0] < value:
            x, damping = moved, damping / 10
            value, matrix, vector = new
        else:
            damping *= 10
        if np.linalg.norm(step) < 1e-13 or damping > 1e12 * size:
            break
    return x


def _equations(due: Array, X: Array, gaps: Array, relative: bool, x: Array) -> tuple[float, Array, Array]:
    """Return the stress ``Σ w r²`` of a new point at x, and the terms ``U W Uᵀ`` and ``U W r`` of a Gauss-Newton step.

    The columns of U are the unit vectors from x to the rows of X. The elements of r are the errors of the distances
    between x and these rows, and W is the diagonal matrix of the weights w of the errors.
    """
    matrix, vector = np.zeros((len(x), len(x))), np.zeros(len(x))
    return _add_equations(due, X, gaps, relative, x, matrix, vector), matrix, vector


@njit(cache=True, error_model="numpy")
def _add_equations(due, X, gaps, relative, x, matrix, vector):  # type: ignore[no-untyped-def]
    d = X.shape[1]
    gap = gap_of(x.reshape(1, d), 0, x, 1.0)
    value, unit = 0.0, np.zeros(d)
    for j in range(X.shape[0]):
        square = squared_distance(X, j, x)
        error, sinh = _error(square / (gap * gaps[j]), due[j])
        weight = _weight(due[j], relative)
        value += weight * error * error
        if sinh > 0.0:
            for k in range(d):
                unit[k] = 2.0 * ((X[j, k] - x[k]) - square / gap * x[k]) / (gaps[j] * sinh)
            for k in range(d):
                vector[k] += weight * error * unit[k]
                for m in range(d):
                    matrix[k, m] += weight * unit[k] * unit[m]
    return value
