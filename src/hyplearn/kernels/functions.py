"""Kernels of hyperbolic space, computed between all rows of two arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hyplearn.geometry import pairwise_distance
from hyplearn.geometry.border import as_real, border, check_parameter
from hyplearn.kernels.heat import LARGEST_DIMENSION, heat_profile
from hyplearn.types import Array, Points

# Type of a function that computes a kernel from distances (in units of 1/√c), scale and dimension.
Profile = Callable[[Array, float, int], Array]


def laplacian_profile(rho: Array, scale: float, dimension: int) -> Array:
    """Compute ``exp(-ρ / scale)``; the dimension is not used."""
    return np.exp(rho / -scale)


def secant_profile(rho: Array, scale: float, dimension: int) -> Array:
    """Compute ``(cosh ρ)^(-1 / log cosh scale)``; the dimension is not used."""
    return np.exp(log_cosh(rho) / -log_cosh(scale))


def log_cosh(rho: Any) -> Any:
    """Compute ``log cosh ρ`` accurately for both small and large distances."""
    near = np.minimum(rho, 1.0)
    return np.where(rho < 1, np.log1p(2 * np.sinh(near / 2) ** 2), np.logaddexp(rho, -rho) - np.log(2))


PROFILES: dict[str, Profile] = {"laplacian": laplacian_profile, "secant": secant_profile, "heat": heat_profile}


@border("X", "Y")
def laplacian_kernel(X: Points, Y: Points | None = None, *, scale: float = 1.0, c: float = 1.0) -> Array:
    r"""Compute the Laplacian kernel between each row of X and each row of Y; Y defaults to X.

    .. math:: k(x, y) = e^{-\rho / s}, \qquad \rho = \sqrt c\, d(x, y)

    The kernel is positive definite on hyperbolic space of every dimension, because the distance is conditionally
    negative definite (Faraut and Harzallah, 1974). Functions in the span of the kernel have a kink at every data point,
    and boundaries between classes may have any shape.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, as float32 or float64.
    Y : array-like of shape (m, d), optional
        Other points; X by default.
    scale : float, default=1.0
        Distance s at which the kernel is 1/e, in units of 1/√c.
    c : float, default=1.0
        Absolute curvature.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> from hyplearn.kernels import laplacian_kernel
    >>> laplacian_kernel([[0.0, 0.0], [0.6, 0.0]])
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    >>> from sklearn.svm import SVC
    >>> from hyplearn.datasets import load_mammals
    >>> X, y = load_mammals(return_X_y=True)
    >>> print(SVC(kernel=laplacian_kernel).fit(X, y).score(X, y) > 0.9)
    True
    """
    return _of_pairs(laplacian_profile, X, Y, scale, c)


@border("X", "Y")
def secant_kernel(X: Points, Y: Points | None = None, *, scale: float = 1.0, c: float = 1.0) -> Array:
    r"""Compute the secant kernel between each row of X and each row of Y; Y defaults to X.

    .. math:: k(x, y) = (\cosh \rho)^{-\lambda}, \quad \lambda = \frac{1}{\log \cosh s}, \quad \rho = \sqrt c\, d(x, y)

    The kernel is positive definite on hyperbolic space of every dimension for every λ > 0. To see this, let
    :math:`(x_0, \bar x)` be the hyperboloid coordinates of x, and :math:`u_x = \bar x / x_0`, a vector of norm below 1.
    Then

    .. math:: (\cosh \rho)^{-\lambda} = (x_0 y_0)^{-\lambda} (1 - \langle u_x, u_y \rangle)^{-\lambda}

    and the last factor is a power series in :math:`\langle u_x, u_y \rangle` with positive coefficients. Functions in
    the span of the kernel are smooth. At large distances the kernel decreases exponentially, like
    :func:`laplacian_kernel`; for small scales it approximates the Gaussian :math:`e^{-\rho^2 / s^2}`.

    Parameters
    ----------
    X, Y, scale, c
        As in :func:`laplacian_kernel`.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> from hyplearn.kernels import secant_kernel
    >>> secant_kernel([[0.0, 0.0], [0.6, 0.0]])
    array([[1.  , 0.17],
           [0.17, 1.  ]])
    """
    return _of_pairs(secant_profile, X, Y, scale, c)


@border("X", "Y")
def heat_kernel(X: Points, Y: Points | None = None, *, scale: float = 1.0, c: float = 1.0) -> Array:
    r"""Compute the heat kernel between each row of X and each row of Y; Y defaults to X.

    .. math:: k(x, y) = \frac{\rho}{\sinh \rho}\, e^{-\rho^2 / (2 s^2)}, \qquad \rho = \sqrt c\, d(x, y)

    in two and three dimensions. This is the temperature at y divided by the temperature at x, at time :math:`s^2 / 2`,
    if all heat is at x at time 0 and then diffuses in three-dimensional hyperbolic space. In other dimensions d, the
    function computes the heat kernel :math:`k_n` of the smallest odd dimension :math:`n \ge d`,

    .. math:: k_{n+2} \propto -\frac{1}{\sinh \rho} \frac{\partial k_n}{\partial \rho}, \qquad
              k_1 = e^{-\rho^2 / (2 s^2)}

    The kernel is positive definite, because every heat kernel is positive definite, and because hyperbolic space of
    dimension d is a subspace of hyperbolic space of dimension n. Functions in the span of the kernel are smooth. In
    contrast, the Gaussian :math:`e^{-\rho^2 / (2 s^2)}` of the distance is positive definite only in one dimension.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points of the ball, as float32 or float64, in up to 1001 dimensions.
    scale : float, default=1.0
        Distance s over which heat spreads, in units of 1/√c.
    Y, c
        As in :func:`laplacian_kernel`.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> from hyplearn.kernels import heat_kernel
    >>> heat_kernel([[0.0, 0.0], [0.6, 0.0]])
    array([[1.  , 0.28],
           [0.28, 1.  ]])
    """
    check_dimension("heat", np.shape(X)[-1])
    return _of_pairs(heat_profile, X, Y, scale, c)


def kernel_between(name: str, X: Points, Y: Points, *, scale: float, c: float) -> Array:
    """Compute the kernel with the given name between each row of X and each row of Y."""
    kernels = {"laplacian": laplacian_kernel, "secant": secant_kernel, "heat": heat_kernel}
    return kernels[name](X, Y, scale=scale, c=c)


def _of_pairs(profile: Profile, X: Any, Y: Any, scale: Any, c: float) -> Array:
    check_parameter("scale", scale, 0 < as_real(scale) < np.inf, "a positive finite number")
    rho = pairwise_distance(X, Y, c=c)
    rho *= np.sqrt(c)
    return profile(rho, float(scale), np.shape(X)[-1])


def check_dimension(kernel: str, d: int) -> None:
    """Raise an error if the kernel cannot be computed in d dimensions."""
    if kernel == "heat" and d > LARGEST_DIMENSION:
        raise ValueError(
            f"The heat kernel can be computed in up to {LARGEST_DIMENSION} dimensions; got {d} dimensions.\n"
            "Use the secant or the Laplacian kernel, which can be computed in every dimension."
        )
