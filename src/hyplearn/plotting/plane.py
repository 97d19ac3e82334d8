r"""Projections of points of more than two dimensions onto a geodesic plane.

In hyperboloid coordinates about p, with the plane spanned by the unit vectors n and e, a point has the time
:math:`T = \cosh \rho`, the coordinates :math:`a = \langle \sqrt c z, n \rangle`, which is the hyperbolic sine of its
signed distance to the hyperplane H(n, p), and :math:`b = \langle \sqrt c z, e \rangle`, and further coordinates r that
the picture does not show; :math:`T^2 = 1 + a^2 + b^2 + \|r\|^2`. Two projections keep the points of the plane:

- along the boundary: :math:`(T, a, b) \mapsto (\lambda T, a, \lambda b)`, :math:`\lambda^2 = (1 + a^2) / (T^2 - b^2)`.
  The foot of x on H is projected orthogonally onto the geodesic along e, and x keeps its distance to H and its side.
  A classifier whose boundary is H predicts the same for a point and for its projection.
- orthogonal: :math:`(T, a, b) / \sqrt{T^2 - a^2 - b^2}`, the nearest point of the plane.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hyplearn.decision import Boundary, Equidistant
from hyplearn.geometry import ball_to_hyperboloid, frechet_mean, minkowski
from hyplearn.plotting.arcs import minkowski_normal
from hyplearn.plotting.disk import check_width
from hyplearn.tangent import frame_coordinates, from_frame, z_features
from hyplearn.types import Array


@dataclass(frozen=True)
class Plane:
    """A geodesic plane of the ball, seen as a disk with p at its centre."""

    p: Array  # the point at the centre of the picture
    basis: Array  # orthonormal directions at p, to the right and upwards; of shape (2, d)
    c: float  # absolute curvature
    along_boundary: bool  # project along the hyperplane orthogonal to the first direction, not orthogonally

    @classmethod
    def across(cls, w: Array, p: Array, X: Array, c: float) -> Self:
        """The plane through p along w and the direction, orthogonal to w, in which the points spread most about p."""
        n = w / np.linalg.norm(w)
        F = frame_coordinates(X, p, c=c)
        spread = F.T @ F
        spread /= np.trace(spread) or 1.0
        flat = np.eye(len(n)) - np.outer(n, n)
        # The eigenvalue of n is set to -1, so that n comes last.
        return cls(p, np.stack([n, _leading(flat @ spread @ flat - np.outer(n, n))[0]]), c, True)

    @classmethod
    def principal(cls, X: Array, c: float) -> Self:
        """The plane through the mean of the points along the two directions in which they spread most."""
        p = frechet_mean(X, c=c)
        F = frame_coordinates(X, p, c=c)
        return cls(p, _leading(F.T @ F), c, False)

    @property
    def statement(self) -> str:
        """Title of the picture, which says how points were projected."""
        if self.along_boundary:
            return (
                f"{len(self.p)} dimensions on the geodesic plane through p\n"
                "along w and the main spread of the points about p:\n"
                "sides and distances to the boundary are true"
            )
        return (
            f"{len(self.p)} dimensions on the geodesic plane through the mean\n"
            "along the two main directions of the points:\n"
            "regions are cut by the plane, points projected orthogonally"
        )

    def project(self, X: Array) -> Array:
        """Positions of points of the ball in the picture, shape (n, 2)."""
        Z = np.sqrt(self.c) * z_features(X, self.p, c=self.c)
        a, b = self.basis @ Z.T
        rest = np.sum((Z - np.stack([a, b], axis=1) @ self.basis) ** 2, axis=1)
        # Sums of squares, so that nothing cancels: T² - b² = 1 + a² + ‖r‖².
        time = np.sqrt(1 + a**2 + b**2 + rest)
        if self.along_boundary:
            shrink = np.sqrt((1 + a**2) / (1 + a**2 + rest))
            T = np.stack([shrink * time, a, shrink * b])
        else:
            T = np.stack([time, a, b]) / np.sqrt(1 + rest)
        return (T[1:] / (1 + T[0])).T / np.sqrt(self.c)

    def embed(self, x: Array) -> Array:
        """The points of the ball at positions of the picture, shape (n, d)."""
        return from_frame(frame_coordinates(x, np.zeros(2), c=self.c) @ self.basis, self.p, c=self.c)

    def cut(self, N: Array) -> Array:
        """The hyperplane ``[N, X] = 0`` in the three hyperboloid coordinates of the picture."""
        frame = [minkowski_normal(b, self.p, c=self.c) for b in self.basis]
        time = -minkowski(N, ball_to_hyperboloid(self.p, c=self.c))
        return np.array([time, *(minkowski(N, b) for b in frame)])


def choose_plane(estimator: Any, found: Boundary | None, X: Array | None, c: float) -> Plane | None:
    """The plane of the picture, or None in two dimensions."""
    d = getattr(estimator, "n_features_in_", 2 if X is None else X.shape[1])
    if X is not None:
        check_width(X, d, estimator)
    if d == 2:
        return None
    if X is None:
        raise ValueError(
            f"A picture of {d} dimensions shows a plane that is chosen from the points; got X=None.\n"
            "Pass X, such as the training points."
        )
    return Plane.across(found.w, found.p, X, c) if isinstance(found, Equidistant) else Plane.principal(X, c)


def _leading(spread: Array) -> Array:
    """The two eigenvectors of largest eigenvalue as rows, each with its largest entry positive."""
    vectors = np.linalg.eigh(spread)[1][:, :-3:-1].T
    largest = np.take_along_axis(vectors, np.argmax(np.abs(vectors), axis=1)[:, None], axis=1)
    return vectors * np.sign(largest)
