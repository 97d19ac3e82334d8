r"""Spectral embedding of distances in the ball (Keller-Ressel and Nargang, "Hydra", 2020).

Points of the hyperboloid satisfy :math:`\cosh d_{ij} = X^0_i X^0_j - \langle X_i, X_j \rangle`. So the matrix of the
hyperbolic cosines of their distances has one positive eigenvalue, which gives the first coordinate, and as many
negative ones as the space has dimensions, which give the others.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from threadpoolctl import threadpool_limits

from hyplearn.geometry import project
from hyplearn.types import Array

# Number of points up to which the full decomposition is as fast as Lanczos' method for the lowest eigenvalues.
SMALL = 400


class Hydra(NamedTuple):
    """Eigenpairs that give the coordinates: minus the eigenvalues, and the eigenvectors as columns."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, D: Array, d: int) -> Self:
        """Eigenpairs of the d most negative eigenvalues of cosh(D), for distances in curvature -1."""
        # The result of BLAS depends on its number of threads.
        with threadpool_limits(limits=1, user_api="blas"):
            values, vectors = _lowest(np.cosh(D), d)
        # The sign of an eigenvector is arbitrary: make the first coordinate that is not 0 positive.
        signs = np.sign(vectors[np.argmax(np.abs(vectors) > 1e-6 / np.sqrt(len(D)), axis=0), np.arange(d)])
        # Contiguous rows, as in a loaded model file: products with columns of LAPACK would round differently.
        return cls(np.maximum(-values, 0.0), np.ascontiguousarray(vectors * np.where(signs == 0, 1, signs)))

    @property
    def points(self) -> Array:
        """Points of the unit ball."""
        return _ball(self.vectors * np.sqrt(self.values))

    def extend(self, D: Array) -> Array:
        """Points of the unit ball for new rows of distances to the old points; an old row gives its old point."""
        values = np.where(self.values > 0, self.values, np.inf)
        return _ball(-(np.cosh(D) @ self.vectors) / np.sqrt(values))


def _lowest(A: Array, d: int) -> tuple[Array, Array]:
    if len(A) > SMALL:
        try:
            values, vectors = eigsh(A, k=d, which="SA", v0=np.ones(len(A)))
            order = np.argsort(values)
            return values[order], vectors[:, order]
        except ArpackNoConvergence:
            pass  # nearly equal eigenvalues, which the full decomposition handles
    return eigh(A, subset_by_index=(0, d - 1))


def _ball(space: Array) -> Array:
    """Points with the space-like coordinates X on the hyperboloid: ``X / (1 + √(1 + ‖X‖²))``."""
    lengths = np.linalg.norm(space, axis=1, keepdims=True)
    return project(space / (1 + np.hypot(1, lengths)))
