"""Compiled kernel that computes the softmax loss of a block of rows, its gradient and its Hessian in one pass.

The rows are processed in chunks that stay in the cache, column by column: every inner loop runs over the rows of a
chunk, so that the compiler can vectorise it. For costs C and probabilities π, the Hessian is the sum of
``C (diag π - ππᵀ) ⊗ xxᵀ`` over the rows x. With K classes and D columns it has K² D² entries. For large K and D,
the kernel computes about a quarter of these entries; :func:`completed` fills in the others.
"""

from functools import lru_cache

import numpy as np
from numba import njit

from hyplearn.numerics import exp, log1p
from hyplearn.types import Array

# Number of rows per chunk, small enough that a chunk stays in the cache.
CHUNK = 256


# Numba inlines the helper functions other than _softmax, so that they are compiled only as a part of this function. If
# LLVM inlined them instead, it would optimise them twice: on their own, and as a part of this function.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def point_block(X, p, along, base, times, inverse_root, codes, costs, W, V, hessian):  # type: ignore[no-untyped-def]
    """Add ``Σ α xᵀ`` to V and a part of ``Σ C (diag π - ππᵀ) ⊗ xxᵀ`` to ``hessian``; return ``Σ C log(1/π_y)``.

    Here ``α = C (e_y - π)``, where y is the class of row x and e_y a unit vector. The part of the Hessian consists of
    the entries from which :func:`completed` computes the others. It has one block for each pair of classes k ≥ m, where
    k is not the last class; only the lower triangle of a block is computed.
    """
    (K, D), loss = W.shape, 0.0
    columns, pi, buffers = np.empty((D, CHUNK)), np.empty((K, CHUNK)), np.empty((4, CHUNK))
    others, losses, weights, scaled = buffers[0], buffers[1], buffers[2], buffers[3]
    for start in range(0, X.shape[0], CHUNK):
        part = slice(start, start + CHUNK)
        own_codes, own_costs = codes[part], costs[part]
        _make_columns(X[part], p, along[part], base[part], times[part], inverse_root, columns)
        _score(columns, W, own_codes.size, pi)
        _softmax(pi, own_codes, others, losses, weights)
        for i in range(own_codes.size):
            loss += own_costs[i] * losses[i]
        for k in range(K):
            # Set ``weights`` to element k of α = C (e_y - π), for each row of the chunk.
            for i in range(own_codes.size):
                weights[i] = own_costs[i] * (others[i] if own_codes[i] == k else -pi[k, i])
            for j in range(D):
                total = 0.0
                for i in range(own_codes.size):
                    total += weights[i] * columns[j, i]
                V[k, j] += total
            for m in range(k + 1 if k < K - 1 else 0):
                _add_second_derivatives(k, m, pi, own_costs, columns, weights, scaled, hessian)
    return loss


@njit(inline="always", error_model="numpy")
def _make_columns(X, p, along, base, times, inverse_root, columns):  # type: ignore[no-untyped-def]
    """Write the rows ``(times, along · (x - p) + base · p)``, and the intercept if there is one, to ``columns``."""
    for i in range(times.size):
        columns[0, i] = times[i]
    for j in range(p.size):
        for i in range(times.size):
            columns[1 + j, i] = along[i] * (X[i, j] - p[j]) + base[i] * p[j]
    for j in range(p.size + 1, columns.shape[0]):
        for i in range(times.size):
            columns[j, i] = times[i] + inverse_root * base[i]


@njit(inline="always", error_model="numpy")
def _score(columns, W, size, scores):  # type: ignore[no-untyped-def]
    for k in range(W.shape[0]):
        for i in range(size):
            scores[k, i] = W[k, 0] * columns[0, i]
        for j in range(1, W.shape[1]):
            weight = W[k, j]
            for i in range(size):
                scores[k, i] += weight * columns[j, i]


# Numba must not inline this function. Its caller is compiled with ``reassoc``, so that the compiler may reorder sums,
# but the loss is accurate only if its terms are added in the given order.
@njit(cache=True, nogil=True, error_model="numpy")
def _softmax(scores, codes, others, losses, highest):  # type: ignore[no-untyped-def]
    """Convert scores to probabilities in place; write ``1 - π_y`` to ``others`` and ``log(1/π_y)`` to ``losses``.

    Here y is the class of a row. With ``e = exp(score - highest score)`` for each class, the loss is
    ``log1p(rest + (e_y - 1)) - log e_y``, where ``rest`` is the sum of e over the classes other than y. This formula is
    accurate even for tiny losses, and so is ``rest / (rest + e_y)`` for ``1 - π_y``. The array ``highest`` is
    overwritten.
    """
    for i in range(codes.size):
        highest[i], others[i] = scores[0, i], 0.0
    for k in range(1, scores.shape[0]):
        for i in range(codes.size):
            highest[i] = scores[k, i] if scores[k, i] > highest[i] else highest[i]
    for k in range(scores.shape[0]):
        for i in range(codes.size):
            below, due = scores[k, i] - highest[i], codes[i] == k
            power = exp(below)
            losses[i] = below if due else losses[i]
            others[i] += 0.0 if due else power
            scores[k, i] = power
    inverses = highest
    for i in range(codes.size):
        own, power = losses[i], exp(losses[i])
        losses[i] = log1p(others[i] + (power - 1.0)) - own
        inverses[i] = 1.0 / (others[i] + power)
        others[i] *= inverses[i]
    for k in range(scores.shape[0]):
        for i in range(codes.size):
            scores[k, i] *= inverses[i]


@njit(inline="always", error_model="numpy")
def _add_second_derivatives(k, m, pi, costs, columns, weights, scaled, hessian):  # type: ignore[no-untyped-def]
    """Add ``Σ C π_k (δ_km - π_m) xxᵀ`` to the lower triangle of the Hessian's block for classes k and m."""
    D, delta = columns.shape[0], 1.0 if k == m else 0.0
    for i in range(costs.size):
        weights[i] = costs[i] * pi[k, i] * (delta - pi[m, i])
    for row in range(D):
        for i in range(costs.size):
            scaled[i] = weights[i] * columns[row, i]
        for column in range(row + 1):
            entry = 0.0
            for i in range(costs.size):
                entry += scaled[i] * columns[column, i]
            hessian[k * D + row, m * D + column] += entry


def completed(hessian: Array, K: int) -> Array:
    """Return the full Hessian of K classes, given the part that :func:`point_block` computes.

    The block for classes k and m is symmetric, and equal to the block for m and k. The blocks of the last class follow
    from the others, because for every class k, the blocks for k and m sum to zero over all classes m.
    """
    D = len(hessian) // K
    last = (K - 1) * D
    out, known = np.empty_like(hessian), hessian.ravel()[_sources(K, D)]
    out[:last, :last] = known
    np.negative(known.reshape(K - 1, D, last).sum(axis=0), out=out[last:, :last])
    out[:last, last:] = out[last:, :last].T
    np.negative(out[last:, :last].reshape(D, K - 1, D).sum(axis=1), out=out[last:, last:])
    return out


@lru_cache(maxsize=8)
def _sources(K: int, D: int) -> Array:
    """Return a flat index for each entry of the Hessian that lies outside the blocks of the last class.

    Several of these entries are equal by symmetry, and :func:`point_block` computes only one of them. The index is the
    position of the computed entry.
    """
    row, column = np.divmod(np.arange((K - 1) * D), D)
    classes, places = (np.sort(np.stack(np.meshgrid(i, i)), axis=0) for i in (row, column))
    return (classes[1] * D + places[1]) * (K * D) + classes[0] * D + places[0]
