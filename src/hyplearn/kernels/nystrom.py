r"""Map points to rows of R^m whose dot products approximate a kernel (Nyström's method).

Let :math:`K_{LL} = V \Lambda V^T` be the kernel matrix of landmarks L. If all eigenvectors are used, the dot products
of the rows :math:`K(x, L)\, V \Lambda^{-1/2}` are the inner products of the functions :math:`K(\cdot, x)` after
projection onto the span of the functions :math:`K(\cdot, l)` of all landmarks l. If one of two points is a landmark,
the dot product of their rows equals the kernel. The approximation error at x is :math:`K(x, x) - \|row\|^2 \ge 0`.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hyplearn.cone import cone_coordinates
from hyplearn.geometry import frechet_mean, pairwise_distance
from hyplearn.geometry.kernels import row_gaps
from hyplearn.kernels.functions import PROFILES, log_cosh
from hyplearn.kernels.values import fill_with_distances, fill_with_laplacian, fill_with_secant, landmark_columns
from hyplearn.numerics import uniforms
from hyplearn.types import Array

# Number of rows per chunk, chosen so that their kernel values fit into the cache. It is the same for all data and
# machines, because it affects the last bits of products.
CHUNK = 512
# Ridge that :func:`add_linear_columns` adds to the diagonal of the landmarks' kernel matrix K, relative to the mean
# element of 1 - K. With large weights, the weighted sums of the interpolation would lose digits; the ridge keeps the
# weights small. The interpolation error due to the ridge is too small to change a classifier.
RIDGE = 1e-7
# Maximum number of points whose pairwise distances are computed for the median distance.
MOST_PAIRED = 1000


@dataclass(frozen=True)
class LandmarkKernel:
    """Kernel function between arbitrary points and fixed landmarks.

    Attributes
    ----------
    name : {"laplacian", "secant", "heat"}
        Name of the kernel.
    scale : float
        Scale of the kernel, in units of 1/√c.
    c : float
        Absolute curvature.
    landmarks : ndarray of shape (n_landmarks, d)
        Points of the ball, as float64.
    """

    name: str
    scale: float
    c: float
    landmarks: Array

    @cached_property
    def columns(self) -> Array:
        """Scaled coordinates and inverse gaps ``1 / (1 - c‖l‖²)`` of the landmarks l, one column per landmark."""
        return landmark_columns(self.landmarks, self.c)

    def values(self, X: Array, gaps: Array) -> Array:
        """Compute the kernel values between validated points x and all landmarks, given the gaps ``1 - c‖x‖²``."""
        out = np.empty((len(X), len(self.landmarks)))
        self.fill(X, gaps, out)
        return out

    def fill(self, X: Array, gaps: Array, out: Array) -> None:
        """Write the kernel values to the first columns of ``out``, one per landmark; ``out`` may have more columns."""
        if self.name == "laplacian":
            fill_with_laplacian(X, gaps, self.columns, self.c, 1.0 / self.scale, out)
        elif self.name == "secant":
            fill_with_secant(X, gaps, self.columns, self.c, 1.0 / float(log_cosh(self.scale)), out)
        else:
            values = out[:, : len(self.landmarks)]
            fill_with_distances(X, gaps, self.columns, self.c, out)
            values[:] = PROFILES[self.name](values, self.scale, X.shape[1])

    def products(self, X: Array, gaps: Array, right: Array) -> Array:
        """Return the product of the matrix of kernel values and the matrix ``right``, computed in chunks of rows."""
        out = np.empty((len(X), right.shape[1]))
        for start in range(0, len(X), CHUNK):
            cut = slice(start, start + CHUNK)
            out[cut] = self.values(X[cut], gaps[cut]) @ right
        return out


@dataclass(frozen=True)
class KernelMap:
    """Map from points x to rows ``K(x, L) P``, with the landmarks L and the matrix P, stored as ``projection``."""

    kernel: LandmarkKernel
    projection: Array

    def rows(self, X: Array, gaps: Array) -> Array:
        """Map n points to n rows, in an array of shape (n, m)."""
        return self.kernel.products(X, gaps, self.projection)


def nystrom(landmarks: Array, kernel: str, scale: float, c: float, n_components: int) -> KernelMap:
    """Build the kernel map from the ``n_components`` leading eigenvectors of the landmarks' kernel matrix.

    Eigenvectors with negligible eigenvalues are dropped.
    """
    landmarks = landmarks.astype(np.float64, copy=False)
    rho = np.sqrt(c) * pairwise_distance(landmarks, c=c)
    values, vectors = np.linalg.eigh(PROFILES[kernel](rho, scale, landmarks.shape[1]))
    kept = np.flatnonzero(values > len(values) * np.finfo(float).eps * values[-1])[::-1][:n_components]
    vectors = vectors[:, kept]
    # The sign of an eigenvector is arbitrary. Making its entry of largest absolute value positive gives the same rows
    # on every machine.
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(kept))])
    projection = np.ascontiguousarray(vectors * (signs / np.sqrt(values[kept])))
    return KernelMap(LandmarkKernel(kernel, float(scale), c, landmarks), projection)


def add_linear_columns(found: KernelMap) -> KernelMap:
    r"""Extend the rows of a kernel map with columns that interpolate the cone coordinates of the landmarks.

    The interpolated values are :func:`~hyplearn.cone.cone_coordinates` about the mean of the landmarks, divided by the
    root mean square length of these coordinate vectors. Each new column is the function of smallest norm, in the
    function space of the kernel, that takes the interpolated values at the landmarks (up to the effect of ``RIDGE``).
    Like the existing columns, it is a weighted sum of the kernel values for all landmarks.
    """
    kernel = found.kernel
    L, c = kernel.landmarks, kernel.c
    cone = cone_coordinates(L, frechet_mean(L, c=c), c=c)
    cone /= np.sqrt(np.mean(np.sum(cone**2, axis=1)))
    K = kernel.values(L, row_gaps(L, c))
    ridge = RIDGE * np.mean(1 - K) + len(L) * np.finfo(float).eps
    weights = np.linalg.solve(K + ridge * np.eye(len(L)), cone)
    return replace(found, projection=np.column_stack([found.projection, weights]))


def choose_landmarks(X: Array, codes: Array, n_landmarks: int, sizes: Array | None = None) -> Array:
    """Choose at most ``n_landmarks`` distinct rows of X as landmarks; return their positions in X, sorted.

    The number of landmarks in each class is about proportional to the square root of the size of the class, as a
    compromise between equal numbers, which favour rare classes, and proportional numbers, which neglect them.
    ``sizes`` contains the sizes of all classes; by default, the size of a class is the number of its distinct rows.
    Within a class, landmarks are chosen at random, by a hash of the positions of the rows.
    """
    rows = np.sort(np.unique(X, axis=0, return_index=True)[1])
    own = codes[rows]
    counts = np.bincount(own)
    sizes = counts if sizes is None else sizes
    chance = uniforms(0, rows)
    order = np.lexsort((chance, own))
    ranks = np.empty(len(rows))
    ranks[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    # The rows with the smallest priorities are chosen. One row of every class has the priority 0, so every class gets a
    # landmark unless there are fewer landmarks than classes.
    priorities = ranks / np.sqrt(np.maximum(sizes, 1)[own])
    return np.sort(rows[np.lexsort((chance, priorities))[:n_landmarks]])


def median_distance(X: Array, c: float) -> float:
    """Compute the median distance, in units of 1/√c, between distinct points in a sample of X.

    The result is 1 if all points in the sample are equal.
    """
    some = X[:: -(-len(X) // MOST_PAIRED)]
    distances = pairwise_distance(some.astype(np.float64, copy=False), c=c)
    positive = distances[np.triu_indices(len(some), 1)]
    positive = positive[positive > 0]
    return float(np.sqrt(c) * np.median(positive)) if positive.size else 1.0
