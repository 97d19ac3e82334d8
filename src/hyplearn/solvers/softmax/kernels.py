"""Compiled kernel of the softmax: loss, gradient and Hessian of a block of rows, in one pass.

It processes the rows in chunks that stay in the cache, column by column: every loop runs over the rows of a chunk, so
that the compiler can vectorise it. The Hessian is a sum of ``(diag π - ππᵀ) ⊗ xxᵀ``, so a quarter of its K² d² entries
determines the rest.
"""

import numpy as np
from numba import njit

from hyplearn.numerics import exp, log1p
from hyplearn.tangent import element

# Number of rows per chunk, small enough that a chunk stays in the cache.
CHUNK = 256


@njit(cache=True, nogil=True, error_model="numpy")
def point_block(X, p, along, base, times, inverse_root, codes, costs, W, V, hessian):  # type: ignore[no-untyped-def]
    """Add ``Σ α xᵀ`` to V and ``Σ C (diag π - ππᵀ) ⊗ xxᵀ`` to the hessian; return ``Σ C log(1/π_y)``."""
    (K, D), loss = W.shape, 0.0
    columns, probabilities, buffers = np.empty((D, CHUNK)), np.empty((K, CHUNK)), np.empty((5, CHUNK))
    for start in range(0, X.shape[0], CHUNK):
        part = slice(start, min(start + CHUNK, X.shape[0]))
        size = part.stop - start
        own_codes, own_costs = codes[part], costs[part]
        own, rest, whole = buffers[0, :size], buffers[1, :size], buffers[2, :size]
        weights, scaled = buffers[3, :size], buffers[4, :size]
        _make_columns(X[part], p, along[part], base[part], times[part], inverse_root, columns)
        _probabilities(columns, W, own_codes, probabilities, own, rest, whole)
        loss += _loss(own, rest, own_costs)
        for k in range(K):
            _alphas(k, probabilities[k], rest, whole, own_codes, own_costs, weights)
            for j in range(D):
                V[k, j] += _dot(weights, columns[j])
            for m in range(k + 1):
                _second_derivatives(probabilities[k], probabilities[m], k == m, own_costs, weights)
                for i in range(D):
                    _products(weights, columns[i], scaled)
                    for j in range(i + 1):
                        hessian[k * D + i, m * D + j] += _dot(scaled, columns[j])
    _mirror(hessian, K, D)
    return loss


@njit(cache=True, nogil=True, error_model="numpy")
def _make_columns(X, p, along, base, times, inverse_root, columns):  # type: ignore[no-untyped-def]
    """Write the rows ``(times, along (x - p) + base p)``, and the intercept if there is one, to ``columns``."""
    d, first = len(p), columns[0]
    for i in range(times.size):
        first[i] = times[i]
    for j in range(d):
        column = columns[1 + j]
        for i in range(times.size):
            column[i] = element(X, p, along, base, i, j)
    if columns.shape[0] > d + 1:
        last = columns[d + 1]
        for i in range(times.size):
            last[i] = times[i] + inverse_root * base[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _probabilities(columns, W, codes, probabilities, own, rest, whole):  # type: ignore[no-untyped-def]
    """Compute the softmax of the scores, and the terms from which the loss is computed.

    With e = exp(score - highest score) of each class, ``own`` receives log e of the row's class, ``rest`` the sum of e
    over the other classes, and ``whole`` the sum of e over all classes.
    """
    K, highest = W.shape[0], whole
    for i in range(own.size):
        highest[i] = -np.inf
        rest[i] = 0.0
    for k in range(K):
        _score(columns, W[k], probabilities[k], highest)
    for k in range(K):
        _exponential(k, probabilities[k], codes, highest, own, rest)
    for i in range(own.size):
        whole[i] = rest[i] + exp(own[i])
    for k in range(K):
        _share(probabilities[k], whole)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})
def _score(columns, w, score, highest):  # type: ignore[no-untyped-def]
    first, weight = columns[0], w[0]
    for i in range(highest.size):
        score[i] = weight * first[i]
    for j in range(1, w.size):
        column, weight = columns[j], w[j]
        for i in range(highest.size):
            score[i] += weight * column[i]
    for i in range(highest.size):
        highest[i] = max(highest[i], score[i])


@njit(cache=True, nogil=True, error_model="numpy")
def _exponential(k, score, codes, highest, own, rest):  # type: ignore[no-untyped-def]
    for i in range(own.size):
        below, due = score[i] - highest[i], codes[i] == k
        power = exp(below)
        own[i] = below if due else own[i]
        rest[i] += 0.0 if due else power
        score[i] = power


@njit(cache=True, nogil=True, error_model="numpy")
def _share(probability, whole):  # type: ignore[no-untyped-def]
    for i in range(whole.size):
        probability[i] /= whole[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _loss(own, rest, costs):  # type: ignore[no-untyped-def]
    """Return ``Σ C (log1p(rest + e^own - 1) - own)``, which is accurate even if the loss is tiny."""
    total = 0.0
    for i in range(own.size):
        total += costs[i] * (log1p(rest[i] + (exp(own[i]) - 1.0)) - own[i])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _alphas(k, probability, rest, whole, codes, costs, out):  # type: ignore[no-untyped-def]
    """Write ``α = C (δ_ky - π_k)`` of each row to ``out``; 1 - π_y is summed from the other classes, not subtracted."""
    for i in range(out.size):
        others = rest[i] / whole[i]
        out[i] = costs[i] * (others if codes[i] == k else -probability[i])


@njit(cache=True, nogil=True, error_model="numpy")
def _second_derivatives(one, other, same, costs, out):  # type: ignore[no-untyped-def]
    """Write the second derivative ``C π_k (δ_km - π_m)`` of each row's loss to ``out``."""
    delta = 1.0 if same else 0.0
    for i in range(out.size):
        out[i] = costs[i] * one[i] * (delta - other[i])


@njit(cache=True, nogil=True, error_model="numpy")
def _products(x, y, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = x[i] * y[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _dot(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _mirror(hessian, K, D):  # type: ignore[no-untyped-def]
    """Fill in the rest of the Hessian by symmetry, from the lower triangles of its lower blocks."""
    for k in range(K):
        for m in range(k + 1):
            for i in range(D):
                for j in range(i + 1):
                    value = hessian[k * D + i, m * D + j]
                    hessian[k * D + j, m * D + i] = value
                    hessian[m * D + i, k * D + j] = value
                    hessian[m * D + j, k * D + i] = value
