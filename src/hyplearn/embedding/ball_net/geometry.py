r"""The ball in torch, as far as a network needs it; held to :mod:`hyplearn.geometry` by tests.

Points are given by their frame coordinates v at the origin, :math:`x = \exp_0(v / 2)`: the norm of v is the hyperbolic
distance of x from the origin. So no gap :math:`1 - c\|x\|^2` is ever taken in float32, where it loses its digits.
"""

import torch
from torch import Tensor

# Below this length sinh(r) / r and tanh(r / 2) / r are 1 and 1/2 to the last digit of float32 and to 12 digits of
# float64, and the quotient needs no case of its own at 0.
TINY = 1e-6


def clip_radius(v: Tensor, radius: float) -> Tensor:
    r"""``v`` shortened to the given length where it is longer: :math:`v \min(1, R / \|v\|)` (Guo et al., 2022)."""
    return v * (radius / norms(v).clamp_min(radius))


def norms(v: Tensor) -> Tensor:
    """Euclidean norms along the last axis, which is kept."""
    return torch.linalg.vector_norm(v, dim=-1, keepdim=True)


def exp_map(v: Tensor, c: float) -> Tensor:
    r"""Points of the ball at hyperbolic distance :math:`\|v\|` from the origin, in the direction of v.

    .. math:: x = \tfrac{1}{\sqrt c} \tanh\Bigl(\frac{\sqrt c \|v\|}{2}\Bigr) \frac{v}{\|v\|}
    """
    r = c**0.5 * norms(v).clamp_min(TINY)
    return v * (torch.tanh(r / 2) / r)


def hyperboloid(v: Tensor, c: float) -> tuple[Tensor, Tensor]:
    r"""Time-like and space-like coordinates of the same points, on the hyperboloid of curvature -1.

    .. math:: X^0 = \cosh(\sqrt c \|v\|), \qquad X = \sinh(\sqrt c \|v\|) \frac{v}{\|v\|}
    """
    r = c**0.5 * norms(v).clamp_min(TINY)
    return torch.cosh(r), c**0.5 * v * (torch.sinh(r) / r)


def signed_distances(v: Tensor, a: Tensor, q: Tensor, c: float) -> Tensor:
    r"""Signed distances of points to the hyperplanes :math:`H(a_k, p_k)`, one column for each.

    .. math:: \sqrt c \, d_k = \operatorname{arsinh} \bigl( \langle X, n_k \rangle
              - \langle P_k, n_k \rangle (X^0 - \sqrt c \langle X, p_k \rangle) \bigr), \qquad n_k = a_k / \|a_k\|

    with hyperboloid coordinates of the points and of :math:`p_k`: the z feature of ``hyplearn.geometry``, which is
    linear in them, so that two matrix products serve a batch.

    Parameters
    ----------
    v : tensor of shape (n, d)
        Frame coordinates of the points.
    a, q : tensors of shape (K, d)
        Normal vectors, and frame coordinates of the points :math:`p_k`.
    c : float
        Absolute curvature.
    """
    time, space = hyperboloid(v, c)
    _, reference = hyperboloid(q, c)
    normal = a / norms(a)
    bend = (reference * normal).sum(dim=-1)
    height = space @ normal.T - bend * (time - c**0.5 * space @ exp_map(q, c).T)
    return torch.asinh(height) / c**0.5
