"""The tests of an experiment share its results, so that they run one after the other in one process."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """Keep each module of this folder together."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
