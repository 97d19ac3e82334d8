"""Run each page of the manual in its own temporary folder."""

import pytest


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Where the blocks of a page write their files."""
    monkeypatch.chdir(tmp_path)
