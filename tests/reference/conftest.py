import numpy as np
import pytest

from support.balls import cloud


@pytest.fixture
def labelled():
    """Points of two classes, one with 25 rows and one with 5."""
    X = cloud(np.random.default_rng(0), 30, 2, 1.0)
    return X, np.repeat(["a", "b"], [25, 5])
