r"""Heat kernel of odd-dimensional hyperbolic space, as a function of the distance.

Let :math:`x = \cosh \rho` and :math:`s = 1/(4t)`. Up to a factor that depends only on the time t, the heat kernel
:math:`K_n` of dimension :math:`n = 2m + 1` is

.. math:: K_n(\rho) \propto \Bigl(-\frac{1}{\sinh \rho} \frac{\partial}{\partial \rho}\Bigr)^m e^{-s \rho^2}
          = \Bigl(-\frac{d}{dx}\Bigr)^m e^{-s \operatorname{arcosh}^2 x}

If these derivatives are written out, the terms of the result cancel at small distances. However, the derivatives of
arcosh² alternate in sign,

.. math:: \gamma_k = \frac{(-1)^{k-1}}{(k-1)!} \frac{d^k}{dx^k} \operatorname{arcosh}^2 x
          = \int_{-\infty}^{\infty} \frac{dv}{(\cosh v + x)^k} > 0

so the Taylor coefficients :math:`\Phi_j` of :math:`e^{-s \operatorname{arcosh}^2(x - z)}` in z, relative to the first,
are sums of positive terms, :math:`j \Phi_j = s \sum_{k=1}^j \gamma_k \Phi_{j-k}`, and :math:`K_n \propto m!\, \Phi_m
e^{-s \rho^2}` is computed without cancellation. With :math:`\hat\gamma_k = (x + 1)^k \gamma_k` and :math:`\tau =
\tanh^2(\rho/2)`, the differential equation of arcosh² gives

.. math:: k\, \hat\gamma_k = (k + \tfrac12)(1 + \tau)\, \hat\gamma_{k+1} - (k + 1)\, \tau\, \hat\gamma_{k+2},
          \qquad \hat\gamma_1 = 2 \rho \coth(\rho / 2)

Rounding errors introduce a second solution of this recurrence, which grows by a factor of :math:`\tau^{-k}` relative to
:math:`\hat\gamma_k`. The recurrence is therefore evaluated for increasing k (upwards) if :math:`\tau^{-m}` is small,
and otherwise for decreasing k (downwards), starting with the ratio :math:`\hat\gamma_{k+1} / \hat\gamma_k = 1`, which
is the limit of these ratios for large k.
"""

import numpy as np

from hyplearn.types import Array

# The recurrence is evaluated upwards if rounding errors grow by at most the factor GROWTH. Otherwise τ^m < 1/GROWTH,
# and it is evaluated downwards from k = STEPS * m. Each step multiplies the error of the starting ratio by about τ, so
# the 9m steps to k = m multiply it by about τ^(9m) < 1e-18, and it becomes negligible.
GROWTH = 100.0
STEPS = 10
# Largest supported dimension. In tests, intermediate results overflowed in 3,000 dimensions, but not in 2,500.
LARGEST_DIMENSION = 1001
# Number of distances per chunk, chosen so that the coefficients of a chunk fit into the cache.
CHUNK = 2**12


def heat_profile(rho: Array, scale: float, dimension: int) -> Array:
    """Compute the heat kernel at distances ρ, divided by its value at 0, in the smallest odd dimension ≥ ``dimension``.

    Distances are in units of 1/√c. The time t of the heat kernel is ``scale² / 2``.
    """
    m, s = dimension // 2, 0.5 / scale**2
    if m == 0:
        return np.exp(-s * rho**2)
    if m == 1:
        return np.exp(-s * rho**2) * np.divide(rho, np.sinh(rho), out=np.ones_like(rho), where=rho > 0)
    flat, out = rho.reshape(-1), np.empty(rho.size)
    highest = _log_profile(np.zeros(1), s, m)
    for start in range(0, rho.size, CHUNK):
        cut = slice(start, start + CHUNK)
        out[cut] = np.where(flat[cut] > 0, np.exp(_log_profile(flat[cut], s, m) - highest), 1.0)
    return out.reshape(rho.shape)


def _log_profile(rho: Array, s: float, m: int) -> Array:
    """Compute ``log(Φ_m e^{-sρ²})`` (see the module docstring), up to a constant that does not depend on ρ.

    The array ``terms`` contains ``Φ_j (cosh ρ + 1)^j step^j`` for each j. The powers of ``step`` keep
    these numbers within the range of floats.
    """
    gammas = heat_coefficients(rho, m)
    step = np.minimum(1.0, (m / np.e + 1) / (1 + s * gammas[0]))
    weights = s * step ** np.arange(1, m + 1)[:, None] * gammas
    terms = np.empty((m + 1, len(rho)))
    terms[0] = 1.0
    for j in range(1, m + 1):
        terms[j] = np.einsum("kn,kn->n", weights[:j], terms[j - 1 :: -1]) / j
    # log_sum is log(cosh ρ + 1) + log 2.
    log_sum = rho + 2 * np.log1p(np.exp(-rho))
    return np.log(terms[m]) - m * (np.log(step) + log_sum) - s * rho**2


def heat_coefficients(rho: Array, m: int) -> Array:
    """Compute the coefficients ``γ̂_k`` of the module docstring for k from 1 to m, as an array of shape (m, n).

    Here n is the number of distances ``rho``.
    """
    tau = np.tanh(rho / 2) ** 2
    out = np.empty((m, len(rho)))
    out[0] = np.divide(2 * rho, np.tanh(rho / 2), out=np.full_like(rho, 4.0), where=rho > 0)
    far = tau**m * GROWTH >= 1
    out[:, far] = _upwards(out[0, far], tau[far], m)
    out[:, ~far] = _downwards(out[0, ~far], tau[~far], m)
    return out


def _upwards(first: Array, tau: Array, m: int) -> Array:
    out = np.empty((m, len(first)))
    out[0], out[1] = first, (first * (1 + tau) / 2 - 2) / tau
    for k in range(1, m - 1):
        out[k + 1] = ((k + 0.5) * (1 + tau) * out[k] - k * out[k - 1]) / ((k + 1) * tau)
    return out


def _downwards(first: Array, tau: Array, m: int) -> Array:
    out, ratio = np.empty((m, len(first))), np.ones_like(first)
    for k in range(STEPS * m, 0, -1):
        ratio = k / ((k + 0.5) * (1 + tau) - (k + 1) * tau * ratio)
        if k < m:
            out[k] = ratio
    out[0] = first
    return np.cumprod(out, axis=0)
