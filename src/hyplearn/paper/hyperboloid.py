"""Points and boundaries on the hyperboloid, with the ball's precision.

Seen from a point p, a point x has the hyperboloid coordinates ``(cosh ρ, √c z)``, with ``ρ = √c d(x, p)`` and z the
scaled tangent vector at p: all of them exact up to the rim of the ball. A normal n with ``[n, n] > 0`` stands for the
geodesic hyperplane ``[n, x] = 0``, whose distance from p, along n, is ``arsinh(n⁰ / √[n, n])``.
"""

from collections.abc import Mapping

import numpy as np

from hyplearn.decision import Decision
from hyplearn.estimators.validation import absolute_curvature
from hyplearn.geometry import conformal_factor, transport
from hyplearn.paper.classifier import BaselineClassifier
from hyplearn.tangent import from_frame, z_features
from hyplearn.types import Array


def hyperboloid_rows(X: Array, p: Array, c: float) -> Array:
    """Coordinates of points as seen from p, X⁰ first; from p = 0, those of ``ball_to_hyperboloid``."""
    space = np.sqrt(c) * z_features(X, p, c=c)
    return np.column_stack([np.hypot(1, np.linalg.norm(space, axis=1)), space])


def boundary(direction: Array, shift: float, p: Array, c: float) -> tuple[Array, Array]:
    r"""The hyperplane of a normal seen from p, as its foot and its normal in frame coordinates there.

    .. math:: n = (\|v\| \sinh a, \; v \cosh a)

    Parameters
    ----------
    direction : ndarray of shape (d,)
        v, of length √[n, n].
    shift : float
        a, the signed distance from p to the hyperplane along v, times √c.
    p : ndarray of shape (d,)
        Where the normal is seen from.
    c : float
        Absolute curvature.

    Returns
    -------
    w, q : ndarrays of shape (d,)
        The normal, as long as v, and the point of the hyperplane next to p.
    """
    length = float(np.linalg.norm(direction))
    if length == 0:  # nothing was learned, and every point has the score 0
        return direction, p
    q = from_frame(shift / np.sqrt(c) / length * direction, p, c=c)
    unit = transport(direction / length / conformal_factor(p, c=c), p, q, c=c) * conformal_factor(q, c=c)
    return length * unit / np.linalg.norm(unit), q


class HyperboloidClassifier(BaselineClassifier):
    """A baseline whose boundaries are those of normals n, kept as :func:`boundary` gives them."""

    coef_: Array

    def _boundaries(self, fitted: Mapping[str, Array]) -> Decision:
        """``arsinh [n, x]`` for each problem."""
        c, coef = absolute_curvature(self.curvature), fitted["coef_"]
        return Decision(self.classes_, c, "arsinh", coef, fitted["reference_"], np.zeros(len(coef)))
