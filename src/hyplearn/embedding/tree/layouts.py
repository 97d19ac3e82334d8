"""Where the nodes of a tree go in the ball of curvature -1, once the lengths of its edges are chosen.

Both layouts walk down from the root, which is the origin. Every child is placed from the very floats of its parent, so
rounding does not add up: an edge is as exact as its two ends.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numba import njit

from hyplearn.embedding.tree.rooted import RootedTree
from hyplearn.embedding.tree.spherical_code import spherical_code
from hyplearn.geometry.kernels import gap_of
from hyplearn.types import Array

# With power 1 small branches of a tree get slivers, with 0 large ones get no more room than a leaf. Between 0.5 and 0.8
# the distortion of tree distances hardly changes; 0.7 fills the disk best.
SHARE_POWER = 0.7
DECIMALS = 9
# Above this gap a plain sum of squares knows it to 13 digits.
NEAR_THE_RIM = 1e-3


class Codes(NamedTuple):
    """Directions for the neighbours of every node: those of the root, then those of each number of neighbours."""

    points: list[Array]
    which: Array

    @classmethod
    def of(cls, tree: RootedTree, d: int) -> Self:
        """The spherical codes that a tree needs in d dimensions."""
        sizes, which = np.unique(tree.counts[1:] + 1, return_inverse=True)
        points = [spherical_code(int(size), d) for size in (tree.counts[0], *sizes)]
        return cls(points, np.concatenate([[0], which + 1]))

    def narrowed(self, spread: float) -> Self:
        """Angles to the direction away from the parent, which is the first neighbour, multiplied by ``spread``."""
        return self._replace(points=[self.points[0], *(_narrowed(code, spread) for code in self.points[1:])])


def _narrowed(code: Array, spread: float) -> Array:
    away, children = -code[0], code[1:]
    along = np.clip(children @ away, -1, 1)
    across = children - along[:, None] * away
    length = np.linalg.norm(across, axis=1)
    angle = spread * np.arctan2(length, along)
    sides = across / np.where(length > 0, length, 1)[:, None]
    return np.concatenate([code[:1], np.cos(angle)[:, None] * away + np.sin(angle)[:, None] * sides])


def sarkar(tree: RootedTree, lengths: Array, codes: Codes) -> Array:
    """Sarkar's construction (2011): the neighbours of a node, its parent among them, in directions well apart.

    The directions are those of a spherical code, turned so that the first shows to the parent. Narrowed codes make
    paths straighter, of which a long one gains at each of its nodes; siblings come closer, by which it loses at its
    highest node alone.
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
            # The reflection that takes the code's first direction to that of the parent.
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
            _walk(X, v, child, lengths[first[v] + k], first[v] + k)


@njit(cache=True, error_model="numpy")
def _direction(X, v, u, out):  # type: ignore[no-untyped-def]
    """Unit vector at row v of the geodesic to row u: along ``s - ‖s‖²/g x``, ``s = u - v``."""
    square = 0.0
    for j in range(X.shape[1]):
        square += (X[u, j] - X[v, j]) ** 2
    bend = square / gap_of(X, v, X[v], 1.0)
    length = 0.0
    for j in range(X.shape[1]):
        out[j] = (X[u, j] - X[v, j]) - bend * X[v, j]
        length += out[j] ** 2
    out /= math.sqrt(length)


@njit(cache=True, error_model="numpy")
def _walk(X, v, u, length, target):  # type: ignore[no-untyped-def]
    """Write the point at a distance from row v in direction u into a row: ``x + g τ m / ‖m‖²`` with ``m = u + τ x``."""
    tau = math.tanh(length / 2.0)
    square = 0.0
    for j in range(X.shape[1]):
        square += (u[j] + tau * X[v, j]) ** 2
    step = gap_of(X, v, X[v], 1.0) * tau / square
    for j in range(X.shape[1]):
        X[target, j] = X[v, j] + step * (u[j] + tau * X[v, j])


def wedges(tree: RootedTree, lengths: Array) -> Array:
    r"""Nested wedges of the disk: no two edges cross, whatever the lengths.

    A node owns a wedge of the directions at its point, bisected by the direction away from its parent; the root owns
    all of them. The children share out their parent's wedge, each in proportion to its number of leaves to the power
    0.7, and stand on the bisectors of their shares. A child's own wedge ends in the same ideal points as its share: one
    edge of length :math:`\ell` farther out, a half-angle :math:`h` has opened to

    .. math:: \tan\tfrac{h'}{2} = e^{\ell} \tan\tfrac{h}{2}.

    Mathematical libraries disagree in the last digit of tan and pow: the tangents of half the angles are rounded to
    nine decimals. What follows is +, −, ×, ÷ and √, which IEEE 754 fixes, so that the same points come out everywhere.
    """
    turns = [round(math.tan(angle / 2), DECIMALS) for angle in _bisectors(tree, lengths)]
    # The constants of an edge of length 1 are those of math.e, as they have always been in the packaged data.
    growths = [math.e**length for length in lengths.tolist()]
    steps = np.array([(growth - 1) / (growth + 1) for growth in growths])
    X = np.zeros((len(turns), 2))
    _wedges(X, np.zeros((len(turns), 2)), tree.parents, np.array(turns), steps)
    return X


def _bisectors(tree: RootedTree, lengths: Array) -> list[float]:
    """The angle of each node's edge to the direction away from its grandparent."""
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
    """Count the leaves below each node; a leaf counts itself."""
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
        X[v, 0], X[v, 1] = _mobius_add(X[u, 0], X[u, 1], _room(X, u), s0, s1, 1 - (s0 * s0 + s1 * s1))
        b0, b1 = _mobius_add(-X[v, 0], -X[v, 1], _room(X, v), X[u, 0], X[u, 1], _room(X, u))
        scale = 1 / math.sqrt(b0 * b0 + b1 * b1)
        outward[v, 0], outward[v, 1] = scale * -b0, scale * -b1


@njit(cache=True, error_model="numpy")
def _room(X, i):  # type: ignore[no-untyped-def]
    room = 1 - (X[i, 0] * X[i, 0] + X[i, 1] * X[i, 1])
    return room if room > NEAR_THE_RIM else gap_of(X, i, X[i], 1.0)


@njit(cache=True, error_model="numpy")
def _mobius_add(x0, x1, room_x, y0, y1, room_y):  # type: ignore[no-untyped-def]
    """``x ⊕ y`` from the gaps of both, as in :func:`hyplearn.geometry.mobius_add`."""
    t0, t1 = x0 + y0, x1 + y1
    square = t0 * t0 + t1 * t1
    denominator = room_x * room_y + square
    return (room_x * t0 + square * x0) / denominator, (room_x * t1 + square * x1) / denominator
