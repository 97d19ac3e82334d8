"""Layouts of a tree in the ball of curvature -1, for given hyperbolic lengths of its edges.

The layouts "sarkar" and "wedges" place the root at the origin and then the other nodes, parents first. A child is
placed relative to the rounded coordinates of its parent, so rounding errors do not add up along a path: the error of an
edge is due only to the rounding of its two ends.
"""

import math
from decimal import Context, Decimal
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from scipy.special import betaincinv

from hyplearn.embedding.tree.sources import RootedTree
from hyplearn.geometry.kernels import gap_of, walk
from hyplearn.types import Array

# In the layout "wedges", each branch gets a share of the directions proportional to this power of its number of leaves.
# With 1, small branches get very narrow wedges; with 0, a large branch gets no more than a leaf. Layouts with powers
# from 0.5 to 0.8 hardly differ; 0.7 fills the disk best.
SHARE_POWER = 0.7
# Number of decimals to which tangents are rounded, so that all mathematical libraries give the same results.
DECIMALS = 9
# Decimal arithmetic with 20 digits, three more than float64. Its results are the same on all machines.
TWENTY_DIGITS = Context(prec=20)
# If the gap of a point is above this value, the plain formula, 1 minus the sum of squares, is accurate to 13 digits.
NEAR_THE_RIM = 1e-3
# The n points of a lattice on the sphere (:func:`_lattice`) are moved apart by repulsion if n is at most MOST_REPELLED.
# This takes at most REPULSION_STEPS steps of n² operations each. Larger lattices are good enough without repulsion.
MOST_REPELLED = 64
REPULSION_STEPS = 200
# Exponent of the repulsive potential 1/r^8. With such a large exponent, almost only the nearest points repel each
# other, so that the smallest distance grows.
REPULSION_POWER = 8


class Codes(NamedTuple):
    """Spherical codes, which are the directions from nodes to their neighbours.

    The root has its own code. Other nodes share a code if they have the same number of neighbours; the first direction
    of such a code points to the parent. ``points`` contains the codes, and ``which`` the index of each node's code.
    """

    points: list[Array]
    which: Array

    @classmethod
    def of(cls, tree: RootedTree, d: int) -> Self:
        """Build the spherical codes for all nodes of a tree in d dimensions."""
        sizes, which = np.unique(tree.counts[1:] + 1, return_inverse=True)
        points = [spherical_code(int(size), d) for size in (tree.counts[0], *sizes)]
        return cls(points, np.concatenate([[0], which + 1]))

    def narrow(self, spread: float) -> Self:
        """Return new codes: each child's angle from the direction away from the parent is multiplied by ``spread``.

        The code of the root is not changed, because the root has no parent.
        """
        # A path in the tree goes up to its highest node and down again. With a spread below 1, the path is bent more at
        # the highest node, because siblings are closer together, but it is straighter at all other inner nodes. The
        # distortion can therefore decrease.
        return self._replace(points=[self.points[0], *(_narrow(code, spread) for code in self.points[1:])])


def _narrow(code: Array, spread: float) -> Array:
    """Multiply the angles between ``-code[0]`` and the directions ``code[1:]`` by ``spread``; return the new code.

    The direction ``code[0]`` points to the parent, so ``-code[0]`` points directly away from it.
    """
    away, children = -code[0], code[1:]
    along = np.clip(children @ away, -1, 1)
    across = children - along[:, None] * away
    length = np.linalg.norm(across, axis=1)
    angle = spread * np.arctan2(length, along)
    sides = across / np.where(length > 0, length, 1)[:, None]
    return np.concatenate([code[:1], np.cos(angle)[:, None] * away + np.sin(angle)[:, None] * sides])


def sarkar(tree: RootedTree, lengths: Array, codes: Codes) -> Array:
    """Lay out a tree with Sarkar's construction (2011).

    The edges of each node point in the directions of its spherical code.
    """
    X = np.zeros((len(tree.parents), codes.points[0].shape[1]))
    starts = np.cumsum([0, *(len(code) for code in codes.points)])[codes.which]
    _sarkar(X, tree.parents, tree.counts, tree.first_children, lengths, np.concatenate(codes.points), starts)
    return X


@njit(cache=True, error_model="numpy")
def _sarkar(X, parents, counts, first, lengths, codes, starts):  # type: ignore[no-untyped-def]
    d = X.shape[1]
    back, mirror, child = np.zeros(d), np.zeros(d), np.zeros(d)
    for v in range(X.shape[0]):
        used = starts[v]
        mirror[:] = 0.0
        if v > 0:
            _direction(X, v, parents[v], back)
            # ``mirror`` is the normal of the reflection that maps the first direction of the node's spherical code to
            # the direction of the parent.
            for j in range(d):
                mirror[j] = codes[used, j] - back[j]
            length = math.sqrt(np.sum(mirror**2))
            if length > 0.0:
                mirror /= length
            used += 1
        for k in range(counts[v]):
            along = 2.0 * np.sum(codes[used + k] * mirror)
            for j in range(d):
                child[j] = codes[used + k, j] - along * mirror[j]
            X[first[v] + k] = walk(X[v], child, lengths[first[v] + k])


@njit(cache=True, error_model="numpy")
def _direction(X, v, u, out):  # type: ignore[no-untyped-def]
    """Write to ``out`` the unit vector at node v that points to node u.

    The vector is parallel to ``s - (‖s‖² / g) v``, where ``s = u - v`` and ``g = 1 - ‖v‖²``.
    """
    square = 0.0
    for j in range(X.shape[1]):
        square += (X[u, j] - X[v, j]) ** 2
    bend = square / gap_of(X, v, X[v], 1.0)
    length = 0.0
    for j in range(X.shape[1]):
        out[j] = (X[u, j] - X[v, j]) - bend * X[v, j]
        length += out[j] ** 2
    out /= math.sqrt(length)


def wedges(tree: RootedTree, lengths: Array) -> Array:
    r"""Lay out a tree in nested wedges of the disk, so that edges never cross, whatever their lengths.

    Each node has a wedge of directions, which is bisected by the direction away from its parent; the wedge of the root
    contains all directions. The wedge of a node is divided into one share per child, in proportion to the child's
    number of leaves raised to the power 0.7. Each child lies on the bisector of its share. The wedge of the child ends
    at the same two ideal points as its share. If the share has the half-angle :math:`h`, and the edge to the child has
    the length :math:`\ell`, the half-angle :math:`h'` of the child's wedge is therefore given by

    .. math:: \tan\tfrac{h'}{2} = e^{\ell} \tan\tfrac{h}{2}.

    Mathematical libraries disagree in the last digit of tan, exp and pow. The angles of :func:`_bisectors` are
    therefore replaced with the tangents of their halves, rounded to nine decimals, and the exponentials of the lengths
    are computed in decimal arithmetic. The results of the remaining operations (+, −, ×, ÷ and √) are fixed by IEEE
    754, so points are the same on every machine.
    """
    turns = [round(math.tan(angle / 2), DECIMALS) for angle in _bisectors(tree, lengths)]
    # Exponentials in decimal arithmetic are slow, so they are computed only once for each distinct length.
    distinct, which = np.unique(lengths, return_inverse=True)
    growths = np.array([float(TWENTY_DIGITS.exp(Decimal(length))) for length in distinct.tolist()])
    steps = ((growths - 1) / (growths + 1))[which]
    X = np.zeros((len(turns), 2))
    _wedges(X, np.zeros((len(turns), 2)), tree.parents, np.array(turns), steps)
    return X


def _bisectors(tree: RootedTree, lengths: Array) -> list[float]:
    """Return the direction of each node as seen from its parent: a signed angle from a reference direction.

    The reference direction at the parent points directly away from the grandparent; for children of the root, it is
    the first axis. The angle of the root itself is 0.
    """
    shares = [count**SHARE_POWER for count in _count_leaves(tree.parents, tree.counts).tolist()]
    halves, angles = [math.pi] * len(shares), [0.0] * len(shares)
    for node, (first, count) in enumerate(zip(tree.first_children.tolist(), tree.counts.tolist(), strict=True)):
        total = sum(shares[first : first + count])
        start = -halves[node]
        for child in range(first, first + count):
            half = halves[node] * shares[child] / total
            end = start + 2 * half
            angles[child] = (start + end) / 2
            halves[child] = 2 * math.atan(math.e ** float(lengths[child]) * math.tan(half / 2))
            start = end
    return angles


@njit(cache=True)
def _count_leaves(parents, counts):  # type: ignore[no-untyped-def]
    """Return the number of leaves below each node; for a leaf, the number is 1."""
    leaves = np.where(counts == 0, 1, 0)
    for v in range(parents.size - 1, 0, -1):
        leaves[parents[v]] += leaves[v]
    return leaves


@njit(cache=True, error_model="numpy")
def _wedges(X, outward, parents, turns, steps):  # type: ignore[no-untyped-def]
    outward[0, 0] = 1.0
    for v in range(1, X.shape[0]):
        u, t = parents[v], turns[v]
        cos, sin = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
        a0, a1 = outward[u, 0], outward[u, 1]
        s0, s1 = steps[v] * (cos * a0 - sin * a1), steps[v] * (sin * a0 + cos * a1)
        X[v, 0], X[v, 1] = _mobius_add(X[u, 0], X[u, 1], _gap(X, u), s0, s1, 1 - (s0 * s0 + s1 * s1))
        b0, b1 = _mobius_add(-X[v, 0], -X[v, 1], _gap(X, v), X[u, 0], X[u, 1], _gap(X, u))
        scale = 1 / math.sqrt(b0 * b0 + b1 * b1)
        outward[v, 0], outward[v, 1] = scale * -b0, scale * -b1


@njit(cache=True, error_model="numpy")
def _gap(X, i):  # type: ignore[no-untyped-def]
    gap = 1 - (X[i, 0] * X[i, 0] + X[i, 1] * X[i, 1])
    return gap if gap > NEAR_THE_RIM else gap_of(X, i, X[i], 1.0)


@njit(cache=True, error_model="numpy")
def _mobius_add(x0, x1, gap_x, y0, y1, gap_y):  # type: ignore[no-untyped-def]
    """Compute ``x ⊕ y`` as in :func:`hyplearn.geometry.mobius_add`, given the gaps of x and y."""
    t0, t1 = x0 + y0, x1 + y1
    square = t0 * t0 + t1 * t1
    denominator = gap_x * gap_y + square
    return (gap_x * t0 + square * x0) / denominator, (gap_x * t1 + square * x1) / denominator


def spherical_code(n: int, d: int) -> Array:
    """Return n well-separated points on the unit sphere of R^d, the same on every call.

    In the plane the angles are evenly spaced. In more dimensions, up to d + 1 points form a regular simplex, and up to
    2d points are taken from the cross-polytope; both are optimal (Rankin, 1955). More than 2d points form a lattice in
    which every point represents an equal share of the sphere; for d = 3 it is the Fibonacci lattice. If there are at
    most 64 points, the lattice is improved by repulsion. The hypercube codes of Sala et al. (2018) are not used: the
    length of their code words must be a power of two, and they are not better than the points above for n up to 2d.
    Most nodes of a tree have at most 2d neighbours.

    Examples
    --------
    >>> from hyplearn.embedding.tree.layouts import spherical_code
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
    return _repel(points) if n <= MOST_REPELLED else points


def _simplex(n: int, d: int) -> Array:
    """Compute the n corners of a regular simplex on the unit sphere, one by one, from their inner products -1/(n-1)."""
    corners = np.zeros((n, d))
    for i in range(min(n, d)):
        corners[i, i] = np.sqrt(max(0.0, 1 - float(corners[i, :i] @ corners[i, :i])))
        if corners[i, i] > 0:
            for j in range(i + 1, n):
                corners[j, i] = (-1 / (n - 1) - corners[i, :i] @ corners[j, :i]) / corners[i, i]
    return corners / np.linalg.norm(corners, axis=1, keepdims=True)


def _lattice(n: int, d: int) -> Array:
    """Return n evenly distributed points on the unit sphere of R^d: a lattice in a unit cube, mapped to the sphere.

    In the cube, the first coordinates of the points are evenly spaced, and the other coordinates form Kronecker's
    sequence with powers of a generalised golden ratio. The map to the sphere turns equal volumes into equal areas. It
    is based on the polar angle of a uniformly distributed point on S^m: the cosine of this angle is ``2b - 1``, where b
    has the distribution Beta(m/2, m/2).
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
    """Return the positive solution of ``x^(k+1) = x + 1``, which is the golden ratio for k = 1."""
    x = 1.5
    for _ in range(64):
        x = (1 + x) ** (1 / (k + 1))
    return x


def _repel(points: Array) -> Array:
    """Move points on the sphere away from one another in steps of decreasing length, and return their new positions."""
    # The squared distance of each point from itself is raised from 0 to 4, the largest squared distance on the sphere,
    # so that no point counts as its own nearest point.
    apart = 4 * np.eye(len(points))
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
