import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from support.balls import cloud


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


@pytest.fixture
def labelled():
    X = cloud(np.random.default_rng(0), 80, 2, 1.0)
    return X, np.where(X[:, 0] > 0.1, "right", "left")
