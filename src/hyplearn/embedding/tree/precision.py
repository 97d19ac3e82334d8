"""How large a tree may be drawn in the ball before float64 no longer tells its nodes apart."""

import numpy as np
from scipy.special import lambertw

from hyplearn.embedding.tree.rooted import RootedTree
from hyplearn.embedding.tree.spherical_code import spherical_code
from hyplearn.types import Array

# Rounding may change no edge by more than this part of its length.
EDGE_TOLERANCE = 0.01
DIGITS = 53


def largest_scale(depths: Array, lengths: Array, d: int) -> float:
    r"""The largest s at which float64 holds every edge of length :math:`s w`, its far end at radius :math:`s a`.

    The coordinates of both ends are rounded by up to :math:`2^{-54}`, which at radius r is a hyperbolic length of about
    :math:`\kappa e^r` with :math:`\kappa = \sqrt d \, 2^{-54}`. So s is the largest with

    .. math:: \kappa e^{s a} \le \tfrac{1}{100} s w

    for all edges: a value of Lambert's function W. NaN if there is none.
    """
    ratio = _kappa(d) * depths / (EDGE_TOLERANCE * lengths)
    if np.any(ratio > np.exp(-1)):
        return np.nan
    # Where the ratio underflows, the upper branch of W is its logarithm as far as anybody can tell.
    upper = -lambertw(-np.maximum(ratio, 1e-300), k=-1).real / depths
    lower = -lambertw(-ratio, k=0).real / depths
    return float(np.min(upper)) if np.min(upper) >= np.max(lower) else np.nan


def digits_needed(depths: Array, lengths: Array, scale: float, d: int) -> int:
    """Binary digits of floats that would hold every edge at a scale."""
    missing = np.max(scale * depths - np.log(EDGE_TOLERANCE * scale * lengths / _kappa(d))) / np.log(2)
    return int(np.ceil(DIGITS + missing))


def scale_of_free_branches(tree: RootedTree, d: int) -> float:
    r"""The scale from which on Sarkar's branches do not meet: edges of :math:`2 \ln \cot(\theta / 4)`.

    The angle between two neighbours of a node is at least :math:`\theta`, that of its spherical code.
    """
    largest = int(np.max(tree.counts + (np.arange(len(tree.counts)) > 0)))
    if largest < 2:
        return 0.0
    code = spherical_code(largest, d)
    cosine = max(float(np.max(code[i + 1 :] @ code[i], initial=-1.0)) for i in range(largest))
    return float(2 * np.log(1 / np.tan(np.arccos(min(cosine, 1.0)) / 4)) / np.min(tree.lengths[1:]))


def _kappa(d: int) -> float:
    return float(np.sqrt(d) * 2.0 ** -(DIGITS + 1))
