import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from hyplearn.estimators import validation
from support.balls import cloud

# The first call of a kernel compiles it; that is not a slow example.
settings.register_profile("default", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("default")


# Read before any test changes the environment.
GIVEN = os.environ.get("HYPLEARN_DATA")


@pytest.fixture(scope="session")
def published_data():
    """The folder of the published embeddings: HYPLEARN_DATA, or ``shared/data`` beside the checkout."""
    folder = Path(GIVEN or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the published embeddings are not here: name their folder by HYPLEARN_DATA")
    return folder


@pytest.fixture
def inside_the_ball(monkeypatch):
    """Whatever passes scikit-learn's validation is scaled into the ball: its checks draw points all over R^d."""
    checked = validation.validate_data

    def scaled(*args, **kwargs):
        result = checked(*args, **kwargs)
        X, *y = result if isinstance(result, tuple) else (result,)
        with np.errstate(invalid="ignore"):  # NaN and infinity are the estimator's to refuse
            inside = X / (1 + np.linalg.norm(X, axis=1, keepdims=True))
        return (inside, *y) if y else inside

    monkeypatch.setattr(validation, "validate_data", scaled)


@pytest.fixture
def overlapping():
    """Two classes of the disk that no geodesic separates."""
    rng = np.random.default_rng(0)
    X = cloud(rng, 600, 2, 1.0)
    return X, np.where(X[:, 0] + 0.3 * rng.standard_normal(600) > 0, "right", "left")
