r"""Distances into the ball by one eigendecomposition (Keller-Ressel and Nargang, "Hydra", 2020).

Points of the hyperboloid with the Gram matrix of their Minkowski products have :math:`\cosh d_{ij} = X^0_i X^0_j -
\langle X_i, X_j \rangle`. So the matrix of the hyperbolic cosines of hyperbolic distances has one positive eigenvalue,
which gives the first coordinate, and as many negative ones as the space has dimensions, which give the others.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from threadpoolctl import threadpool_limits

from hyplearn.geometry import project
from hyplearn.types import Array

# Up to so many points the whole decomposition is as fast as Lanczos' method for its ends.
SMALL = 400


class Hydra(NamedTuple):
    """The eigenpairs that make the coordinates: of each direction a row, minus the eigenvalue, and the eigenvectors."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, D: Array, d: int) -> Self:
        """The d most negative eigenvalues of cosh(D), for distances in curvature -1."""
        # Several threads of BLAS give other bits.
        with threadpool_limits(limits=1, user_api="blas"):
            values, vectors = _lowest(np.cosh(D), d)
        # An eigenvector is known up to its sign: the first point with a coordinate at all has it positive.
        signs = np.sign(vectors[np.argmax(np.abs(vectors) > 1e-6 / np.sqrt(len(D)), axis=0), np.arange(d)])
        # LAPACK writes columns. Row by row, as they come out of a file, products with them have the same bits.
        return cls(np.maximum(-values, 0.0), np.ascontiguousarray(vectors * np.where(signs == 0, 1, signs)))

    @property
    def points(self) -> Array:
        """Points of the unit ball."""
        return _ball(self.vectors * np.sqrt(self.values))

    def extended(self, D: Array) -> Array:
        """Points of the unit ball for new rows of distances to the old points: the old ones for the old rows."""
        values = np.where(self.values > 0, self.values, np.inf)
        return _ball(-(np.cosh(D) @ self.vectors) / np.sqrt(values))


def _lowest(A: Array, d: int) -> tuple[Array, Array]:
    if len(A) > SMALL:
        try:
            values, vectors = eigsh(A, k=d, which="SA", v0=np.ones(len(A)))
            order = np.argsort(values)
            return values[order], vectors[:, order]
        except ArpackNoConvergence:
            pass  # eigenvalues that are nearly the same: the whole decomposition does not mind
    return eigh(A, subset_by_index=(0, d - 1))


def _ball(space: Array) -> Array:
    """Points with the given coordinates X of the hyperboloid: ``X / (1 + √(1 + ‖X‖²))``."""
    lengths = np.linalg.norm(space, axis=1, keepdims=True)
    return project(space / (1 + np.hypot(1, lengths)))
