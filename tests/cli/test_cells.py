"""``hyplearn embed``, ``classify`` and ``transfer`` on AnnData files: results are written completely or not at all."""

import warnings

import numpy as np
import pandas as pd
import pytest

anndata = pytest.importorskip("anndata")

import hyplearn.single_cell as hs  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:zarr", "ignore::FutureWarning")


def cells(n, seed):
    rng = np.random.default_rng(seed)
    kinds = np.arange(n) % 2
    X = np.abs(rng.standard_normal((n, 6)) + 2.5 * kinds[:, None] * (np.arange(6) < 3)).astype(np.float32)
    obs = pd.DataFrame({"kind": np.array(["a", "b"])[kinds]}, index=[f"c{seed}_{k}" for k in range(n)])
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=[f"gene{k}" for k in range(6)]))


def written(adata, path):
    pytest.importorskip("zarr" if path.suffix == ".zarr" else "h5py")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (adata.write_zarr if path.suffix == ".zarr" else adata.write_h5ad)(path)


def read(path):
    return (anndata.read_zarr if path.suffix == ".zarr" else anndata.read_h5ad)(path)


@pytest.mark.parametrize("suffix", ["h5ad", "zarr"])
def test_cells_are_embedded_classified_and_transferred_in_their_files(run, as_json, tmp_path, suffix):
    atlas, query = (tmp_path / f"{name}.{suffix}" for name in ("atlas", "query"))
    written(cells(60, 0), atlas)
    written(cells(30, 1), query)
    run("embed", atlas.name, "--method", "map", "--points", "X", "--neighbors", 12, "-o", atlas.name)
    told = as_json("classify", atlas.name, "--label", "kind", "--coverage", 0.8)
    assert told["n_predicted"] == 60
    assert told["held_out_accuracy"] > 0.8
    assert set(told["recall"]) == {"a", "b"}
    assert read(atlas).obs["kind_predicted_unknown"].dtype == bool
    said = run("transfer", atlas.name, query.name, "--label", "kind", "--key", "k", "-o", f"typed.{suffix}").stdout
    assert "60 used for training" in said
    found = read(tmp_path / f"typed.{suffix}")
    expected = cells(30, 1)
    hs.tl.transfer(read(atlas), expected, "kind", key_added="k")
    assert found.obs["k"].tolist() == expected.obs["k"].tolist()
    assert "k" not in read(query).obs
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"atlas.{suffix}", f"query.{suffix}", f"typed.{suffix}"]


def test_a_tree_of_types_is_read_from_a_table(run, tmp_path):
    made = cells(60, 0)
    made.obsm["X_poincare"] = 0.1 * made.X[:, :2]
    written(made, tmp_path / "cells.h5ad")
    (tmp_path / "types.csv").write_text("type,parent\nroot,\na,root\nb,root\n")
    run("classify", "cells.h5ad", "--label", "kind", "--coverage", 0.9, "--hierarchy", "types.csv")
    assert set(read(tmp_path / "cells.h5ad").obs["kind_predicted_answer"].dropna()) <= {"a", "b", "root"}
    said = run("classify", "cells.h5ad", "--label", "kind", "--hierarchy", "types.csv", code=1).stderr
    assert "--hierarchy requires --coverage" in said


@pytest.mark.parametrize("suffix", ["h5ad", "zarr"])
def test_a_file_that_cannot_be_written_is_not_changed(run, tmp_path, suffix, monkeypatch):
    path = tmp_path / f"cells.{suffix}"
    made = cells(60, 0)
    made.obsm["X_poincare"] = 0.1 * made.X[:, :2]
    written(made, path)

    def fail(self, place, **kwargs):
        (place / "half" if suffix == "zarr" else place).parent.mkdir(exist_ok=True)
        (place / "half" if suffix == "zarr" else place).write_bytes(b"half of it")
        raise OSError("No space left on device")

    monkeypatch.setattr(anndata.AnnData, f"write_{suffix}", fail)
    run("classify", path.name, "--label", "kind", code=1)
    assert "kind_predicted" not in read(path).obs
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_bad_files_raise_clear_errors(run, tmp_path):
    assert "There is no file" in run("classify", "none.h5ad", "--label", "kind", code=1).stderr
    (tmp_path / "cells.csv").write_text("x\n1\n")
    assert "must end in one of .h5ad, .zarr" in run("classify", "cells.csv", "--label", "kind", code=2).stderr
