"""The comparison of embeddings of cells on a part of the digits: every step of the full run, in seconds."""

import warnings

import embedding_cells as experiment
import ledger
import numpy as np
import pytest
from sklearn.manifold import trustworthiness
from sklearn.metrics import euclidean_distances

CONFIG = experiment.Config(every=18, folds=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cells")


@pytest.fixture(scope="module")
def rows(folder):
    """Rows of the table without UMAP, which takes seconds to compile."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(experiment, "with_umap", lambda: False)
        yield experiment.run(CONFIG, folder)


def test_every_embedding_is_measured_by_every_classifier(rows, folder):
    assert [row["embedding"] for row in rows] == ["all features", "PCA", "t-SNE", "PoincareMap"]
    assert ledger.read(folder / "embedding_cells.csv") == rows
    for row in rows:
        assert 10 < row["softmax"] <= 100
        assert 10 < row["15-NN"] <= 100
        assert (row["PoincareLR"] != "") == (row["embedding"] == "PoincareMap")
    assert rows[0]["softmax"] > rows[1]["softmax"]


def test_the_table_says_what_is_missing_and_shows_the_picture(rows, folder):
    text = (folder / "embedding_cells.md").read_text()
    assert text.count("\n| digits |") == len(rows)
    assert experiment.MISSING in text
    assert "](embedding_cells.png)" in text
    assert (folder / "embedding_cells.png").read_bytes().startswith(b"\x89PNG")
    best = max(rows[1:], key=lambda row: row["15-NN"])
    assert f"**{best['15-NN']:.1f} ±" in next(line for line in text.splitlines() if best["embedding"] in line)


def test_trustworthiness_matches_scikit_learn():
    X = np.random.default_rng(0).standard_normal((150, 6))  # all distances are different
    flat = X[:, 1:3] ** 3
    due = trustworthiness(X, flat, n_neighbors=10)
    assert experiment.trustworthiness(X, euclidean_distances(flat)) == pytest.approx(due, rel=1e-12)
    assert experiment.trustworthiness(X, euclidean_distances(X)) == 1


def test_umap_is_included_if_it_is_installed(monkeypatch):
    monkeypatch.setattr(experiment, "with_umap", lambda: True)
    assert list(experiment.embeddings()) == ["all features", "PCA", "t-SNE", "UMAP", "PoincareMap"]
