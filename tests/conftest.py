import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a kernel compiles it; that is not a slow example.
settings.register_profile("default", deadline=None, max_examples=60, derandomize=True)
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
