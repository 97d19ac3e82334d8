"""Directions that keep away from one another: where the neighbours of a node go."""

import numpy as np
from scipy.special import betaincinv

from hyplearn.types import Array

# Up to so many points repel one another, at n² a step; a longer lattice is good enough and stays as it is.
MOST_REPELLED = 64
REPULSION_STEPS = 200
# The potential 1/r^8 is felt by the nearest points almost alone: what grows is the least distance.
REPULSION_POWER = 8


def spherical_code(n: int, d: int) -> Array:
    """Points of the unit sphere of R^d, n of them, well apart, the same on every call.

    In the plane evenly spaced angles. In more dimensions a regular simplex for up to d + 1 points, the cross-polytope
    for up to 2d, which are optimal (Rankin, 1955); for more, a lattice of equal shares of the sphere, on S² the
    Fibonacci lattice, whose points then repel one another if they are few. The hypercube codes of Sala et al. (2018)
    have a length that is a power of two and no use below 2d points, where most nodes of a tree are.

    Examples
    --------
    >>> from hyplearn.embedding.tree.spherical_code import spherical_code
    >>> spherical_code(4, 2).round(3) + 0.0
    array([[ 1.,  0.],
           [ 0.,  1.],
           [-1.,  0.],
           [ 0., -1.]])
    """
    if d == 2:
        angles = 2 * np.pi * np.arange(n) / max(n, 1)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if n <= d + 1:
        return _simplex(n, d)
    if n <= 2 * d:
        return np.stack([np.eye(d), -np.eye(d)], axis=1).reshape(2 * d, d)[:n]
    points = _lattice(n, d)
    return _repelled(points) if n <= MOST_REPELLED else points


def _simplex(n: int, d: int) -> Array:
    """The n corners of a regular simplex about the origin, one after another by their products of -1/(n-1)."""
    corners = np.zeros((n, d))
    for i in range(min(n, d)):
        corners[i, i] = np.sqrt(max(0.0, 1 - float(corners[i, :i] @ corners[i, :i])))
        if corners[i, i] > 0:
            for j in range(i + 1, n):
                corners[j, i] = (-1 / (n - 1) - corners[i, :i] @ corners[j, :i]) / corners[i, i]
    return corners / np.linalg.norm(corners, axis=1, keepdims=True)


def _lattice(n: int, d: int) -> Array:
    """Kronecker's sequence with the powers of a generalised golden ratio, laid on the sphere by equal volumes.

    On S^m the cosine of the polar angle is ``2b - 1`` with b distributed as Beta(m/2, m/2).
    """
    shares = np.empty((n, d - 1))
    shares[:, 0] = (np.arange(n) + 0.5) / n
    for k in range(1, d - 1):
        shares[:, k] = (0.5 + np.arange(n) * _golden(d - 2) ** -k) % 1
    points, radius = np.empty((n, d)), np.ones(n)
    for k in range(d - 2):
        m = d - 1 - k
        cosine = 2 * betaincinv(m / 2, m / 2, shares[:, k]) - 1
        points[:, k] = radius * cosine
        radius = radius * np.sqrt(1 - cosine**2)
    points[:, d - 2] = radius * np.cos(2 * np.pi * shares[:, d - 2])
    points[:, d - 1] = radius * np.sin(2 * np.pi * shares[:, d - 2])
    return points


def _golden(k: int) -> float:
    """The positive root of ``x^(k+1) = x + 1``; the golden ratio for k = 1."""
    x = 1.5
    for _ in range(64):
        x = (1 + x) ** (1 / (k + 1))
    return x


def _repelled(points: Array) -> Array:
    """Let the points push one another apart, in steps that shrink."""
    apart = 4 * np.eye(len(points))  # no two points of the sphere have a larger squared distance
    for step in range(REPULSION_STEPS):
        squares = 2 - 2 * points @ points.T + apart
        nearest = np.min(squares)
        push = (nearest / squares) ** (REPULSION_POWER / 2 + 1)
        force = np.sum(push, axis=1, keepdims=True) * points - push @ points
        force -= np.sum(force * points, axis=1, keepdims=True) * points
        largest = np.max(np.linalg.norm(force, axis=1))
        if largest == 0:
            break
        points = points + 0.2 * np.sqrt(nearest) * (1 - step / REPULSION_STEPS) / largest * force
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points
