"""Random points of two classes of the ball."""

import numpy as np

from hyplearn.datasets import make_ball_classification
from hyplearn.tangent import from_frame


def overlapping(seed=0, n=300, d=2, c=1.0):
    """Two wrapped normals away from the centre of the ball; one has three times as many rows as the other."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.25, 1.0, -1.0)
    at = from_frame(rng.standard_normal(d) / np.sqrt(c * d), np.zeros(d), c=c)
    shift = np.zeros(d)
    shift[0] = 0.7 / np.sqrt(c)
    return from_frame(y[:, None] * shift + rng.standard_normal((n, d)) / np.sqrt(c * d), at, c=c), y


def apart(seed=0, n=300, d=2):
    X, y, _, _ = make_ball_classification(n, d, random_state=seed)
    return X, y.astype(float)


def nested(seed=0, n=200, c=1.0):
    """Two classes of the disk, one around the other, away from the centre; a circle separates them, but no geodesic."""
    rng = np.random.default_rng(seed)
    inner = np.arange(n) % 2 == 0
    directions = rng.standard_normal((n, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = (np.where(inner, 0.5, 2.0) + 0.3 * rng.random(n)) / np.sqrt(c)
    return from_frame(radii[:, None] * directions, np.array([0.3, 0.1]) / np.sqrt(c), c=c), inner
