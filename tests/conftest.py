import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from hyplearn.estimators import validation
from support.balls import cloud

# No deadline: the first call of a kernel compiles it, which takes longer than the examples.
settings.register_profile("default", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("default")


# Value of HYPLEARN_DATA, read before any test changes the environment.
GIVEN = os.environ.get("HYPLEARN_DATA")


@pytest.fixture(scope="session")
def published_data():
    """Folder of the published embeddings: HYPLEARN_DATA, or ``shared/data`` beside the checkout."""
    folder = Path(GIVEN or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the published embeddings were not found: set HYPLEARN_DATA to their folder")
    return folder


@pytest.fixture
def most_outside(monkeypatch):
    """Project any number of training rows, as predict does, because most rows of scikit-learn's checks are outside."""
    report = validation.report_outside
    monkeypatch.setattr(validation, "report_outside", lambda *arguments, training=False: report(*arguments))


@pytest.fixture
def inside_the_ball(monkeypatch):
    """Scale all points into the ball after scikit-learn's validation or after they are read from a file.

    The checks of scikit-learn draw points from all of R^d.
    """
    checked, loaded = validation.validate_data, validation._loaded

    def scaled(*args, **kwargs):
        result = checked(*args, **kwargs)
        X, *y = result if isinstance(result, tuple) else (result,)
        return (inside(X), *y) if y else inside(X)

    def inside(X):
        with np.errstate(invalid="ignore"):  # the estimator rejects NaN and infinity itself
            return X / (1 + np.linalg.norm(X, axis=1, keepdims=True))

    monkeypatch.setattr(validation, "validate_data", scaled)
    monkeypatch.setattr(validation, "_loaded", lambda points, block: loaded(points, block._replace(X=inside(block.X))))


@pytest.fixture
def overlapping():
    """Two classes of the disk that no geodesic separates."""
    rng = np.random.default_rng(0)
    X = cloud(rng, 600, 2, 1.0)
    return X, np.where(X[:, 0] + 0.3 * rng.standard_normal(600) > 0, "right", "left")
