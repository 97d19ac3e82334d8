"""The Web of Life; skipped if its files are missing."""

import numpy as np
import pytest

from hyplearn.datasets import fetch_web_of_life


@pytest.fixture(scope="module")
def life():
    try:
        return fetch_web_of_life(download_if_missing=False)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def test_the_tree_is_connected_and_its_nodes_have_ranks(life):
    assert life.names.shape == life.parents.shape == life.lengths.shape == (20603,)
    assert life.ranks.shape == (20603, 7)
    assert life.parents[0] == -1
    assert np.all(life.parents[1:] < np.arange(1, 20603))
    tips = np.setdiff1d(np.arange(20603), life.parents)
    assert len(tips) == 10575
    assert all(name.startswith("G") for name in life.names[tips])
    assert set(life.ranks[tips, 0]) == {"Archaea", "Bacteria"}
    assert life.rank_names == ["kingdom", "phylum", "class", "order", "family", "genus", "species"]
    assert "BSD 3-Clause" in life.DESCR


def test_missing_files_are_reported_with_their_source(tmp_path, monkeypatch):
    monkeypatch.delenv("HYPLEARN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"(?s)wol/tree.nwk is not in.*biocore/wol/.*astral.cons.nid.e5p50.nwk"):
        fetch_web_of_life(data_home=tmp_path, download_if_missing=False)
