"""Random points of the ball for the tests, and hypothesis strategies for them."""

import numpy as np
from hypothesis import strategies as st

CURVATURES = (0.3, 1.0, 5.0)


def at_gap(rng, d, gap, c):
    """Random point with the given gap 1 - c‖x‖², up to rounding."""
    direction = rng.standard_normal(d)
    return direction / np.linalg.norm(direction) * np.sqrt((1 - gap) / c)


def cloud(rng, n, d, c, smallest_gap=0.1):
    """n random points with gaps from 1 down to ``smallest_gap``."""
    return np.array([at_gap(rng, d, g, c) for g in rng.uniform(smallest_gap, 1, n)])


@st.composite
def points(draw, d=2, c=1.0, smallest_gap=1e-3):
    """Strategy for a point whose gap is log-uniform between ``smallest_gap`` and 1, or the origin."""
    if draw(st.integers(0, 19)) == 0:
        return np.zeros(d)
    gap = 10 ** draw(st.floats(np.log10(smallest_gap), 0))
    return at_gap(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), d, gap, c)


def vectors(d=2, size=1.0):
    """Strategy for a nonzero vector with a random direction and a length up to ``size``."""

    def build(seed, length):
        direction = np.random.default_rng(seed).standard_normal(d)
        return length * direction / np.linalg.norm(direction)

    return st.builds(build, st.integers(0, 2**32 - 1), st.floats(1e-6 * size, size))
