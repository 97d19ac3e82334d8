import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a kernel compiles it; that is not a slow example.
settings.register_profile("default", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("default")


@pytest.fixture(scope="session")
def published_data():
    """The folder of the published embeddings: HYPLEARN_DATA, or ``shared/data`` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("HYPLEARN_DATA", beside))
    if not folder.is_dir():
        pytest.skip("the published embeddings are not here; set HYPLEARN_DATA to their folder")
    return folder
