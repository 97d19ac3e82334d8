r"""Rows of R^m whose products approximate a kernel (Nyström's method).

With the kernel matrix :math:`K_{LL} = V \Lambda V^T` of landmarks L, the rows :math:`K(x, L)\, V \Lambda^{-1/2}` have
the products of the kernel's functions projected onto the span of :math:`K(\cdot, l)`: exactly those of the kernel if
one of the points is a landmark. What is lost at x is :math:`k(x, x) - \|row\|^2 \ge 0`.
"""

from dataclasses import dataclass

import numpy as np

from hyplearn.geometry import pairwise_distance
from hyplearn.geometry.kernels import half_sinh_pairs, row_gaps
from hyplearn.kernels.functions import PROFILES
from hyplearn.numerics import uniforms
from hyplearn.types import Array

# Rows at a time: their kernel values stay in the cache; the number changes last bits of products, so it is fixed.
CHUNK = 512
# Landmarks among which distances are computed for the scale.
MOST_PAIRED = 1000


@dataclass(frozen=True)
class LandmarkKernel:
    """A kernel between points and landmarks.

    Attributes
    ----------
    name : {"laplacian", "heat"}
        The kernel.
    scale : float
        Its scale, in units of the curvature's radius.
    c : float
        Absolute curvature.
    landmarks : ndarray of shape (n_landmarks, d)
        Points of the ball, float64.
    """

    name: str
    scale: float
    c: float
    landmarks: Array

    def values(self, X: Array, gaps: Array) -> Array:
        """Kernel between validated points with the given gaps and all landmarks, of shape (n, n_landmarks)."""
        rho = np.empty((len(X), len(self.landmarks)))
        columns, own_gaps = np.ascontiguousarray(self.landmarks.T), row_gaps(self.landmarks, self.c)
        half_sinh_pairs(X.astype(np.float64, copy=False), columns, gaps, own_gaps, self.c, rho)
        np.arcsinh(rho, out=rho)
        rho *= 2.0
        return PROFILES[self.name](rho, self.scale, X.shape[1])

    def products(self, X: Array, gaps: Array, right: Array) -> Array:
        """Kernel values times a matrix, some rows at a time."""
        out = np.empty((len(X), right.shape[1]))
        for start in range(0, len(X), CHUNK):
            cut = slice(start, start + CHUNK)
            out[cut] = self.values(X[cut], gaps[cut]) @ right
        return out


@dataclass(frozen=True)
class KernelMap:
    """Rows ``K(x, L) P`` of points x, with landmarks L and a projection P of shape (n_landmarks, m)."""

    kernel: LandmarkKernel
    projection: Array

    def rows(self, X: Array, gaps: Array) -> Array:
        """The rows of points, of shape (n, m)."""
        return self.kernel.products(X, gaps, self.projection)


def nystrom(landmarks: Array, kernel: str, scale: float, c: float, n_components: int) -> KernelMap:
    """Map onto the leading components of the landmarks; those whose eigenvalue is lost in rounding are left out."""
    landmarks = landmarks.astype(np.float64, copy=False)
    rho = np.sqrt(c) * pairwise_distance(landmarks, c=c)
    values, vectors = np.linalg.eigh(PROFILES[kernel](rho, scale, landmarks.shape[1]))
    kept = np.flatnonzero(values > len(values) * np.finfo(float).eps * values[-1])[::-1][:n_components]
    vectors = vectors[:, kept]
    # An eigenvector has either sign; the one whose largest entry is positive makes rows the same everywhere.
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(kept))])
    projection = np.ascontiguousarray(vectors * (signs / np.sqrt(values[kept])))
    return KernelMap(LandmarkKernel(kernel, float(scale), c, landmarks), projection)


def choose_landmarks(X: Array, codes: Array, n_landmarks: int, sizes: Array | None = None) -> Array:
    """Positions of landmarks among the rows of X, sorted: different points, and some of every class.

    The number from each class is proportional to the root of its size, between equal shares, which spend landmarks on
    rare classes, and proportional ones, which neglect them. Within a class they are random, by a hash of the position.
    """
    rows = np.sort(np.unique(X, axis=0, return_index=True)[1])
    own = codes[rows]
    counts = np.bincount(own)
    sizes = counts if sizes is None else sizes
    chance = uniforms(0, rows)
    order = np.lexsort((chance, own))
    ranks = np.empty(len(rows))
    ranks[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    # One row of every class comes first.
    priorities = ranks / np.sqrt(np.maximum(sizes, 1)[own])
    return np.sort(rows[np.lexsort((chance, priorities))[:n_landmarks]])


def median_distance(X: Array, c: float) -> float:
    """Median distance between different points, of up to a thousand rows, in units of the curvature's radius."""
    some = X[:: -(-len(X) // MOST_PAIRED)]
    distances = pairwise_distance(some.astype(np.float64, copy=False), c=c)
    positive = distances[np.triu_indices(len(some), 1)]
    positive = positive[positive > 0]
    return float(np.sqrt(c) * np.median(positive)) if positive.size else 1.0
