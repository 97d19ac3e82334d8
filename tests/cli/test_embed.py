"""``hyplearn embed``: common file formats become points that the other commands can read."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from hyplearn.datasets import load_points
from hyplearn.embedding import HyperbolicMDS, PoincareMap, TreeEmbedding
from hyplearn.geometry import pairwise_distance
from support.fitted_models import NAMES, ball

NEWICK = "((cat:1,lion:1)feline:2,(dog:1,wolf:1)canine:2)carnivore;"
TABLE = """animal,parent,family,length
carnivore,,none,
feline,carnivore,cats,2
canine,carnivore,dogs,2
cat,feline,cats,1
lion,feline,cats,1
dog,canine,dogs,1
wolf,canine,dogs,1
"""


def read_csv(path):
    lines = [line.split(",") for line in path.read_text().splitlines()]
    return lines[0], lines[1:]


def arrays(path):
    with np.load(path) as archive:
        return dict(archive)


def test_newick_text_becomes_named_points(run, tmp_path):
    (tmp_path / "tree.nwk").write_text(NEWICK)
    said = run("embed", "tree.nwk", "--method", "tree", "-o", "points.csv").stdout
    expected = TreeEmbedding().fit(NEWICK)
    names, rows = read_csv(tmp_path / "points.csv")
    assert names == ["name", "x0", "x1"]
    assert [row[0] for row in rows] == expected.labels_
    assert np.array_equal(np.array([row[1:] for row in rows], dtype=float), expected.embedding_)
    assert f"average distortion {expected.average_distortion_:.3g}" in said
    assert "Next" not in said


def test_a_table_of_parents_keeps_its_labels_and_can_be_fitted(run, as_json, tmp_path):
    (tmp_path / "tree.csv").write_text(TABLE)
    options = ("--label", "family", "--root", "cat", "--dimensions", 3)
    told = as_json("embed", "tree.csv", "--method", "tree", "-o", "points.npz", *options)
    found = arrays(tmp_path / "points.npz")
    assert told["n_points"] == 7
    assert told["n_coordinates"] == 3
    assert not found["X"][list(found["names"]).index("cat")].any()
    assert dict(zip(found["names"].tolist(), found["y"].tolist(), strict=True))["wolf"] == "dogs"
    D, scale = pairwise_distance(found["X"]), told["scale"]
    cat, wolf = (list(found["names"]).index(name) for name in ("cat", "wolf"))
    assert D[cat, wolf] / scale == pytest.approx(6, rel=0.1)
    assert (
        "Next: hyplearn fit points.npz"
        in run("embed", "tree.csv", "--method", "tree", "-o", "points.npz", *options).stdout
    )
    run("fit", "points.npz", "--folds", 0, "-o", "model.hyp")


@pytest.mark.parametrize("label", ["x0", "name"])
def test_labels_take_no_column_of_names_or_coordinates(run, tmp_path, label):
    (tmp_path / "tree.csv").write_text(f"node,parent,{label}\nr,,u\na,r,u\nb,r,v\n")
    told = run("embed", "tree.csv", "--method", "tree", "--label", label, "-o", "points.csv").stdout
    assert "Next: hyplearn fit points.csv --label label -o model.hyp" in told
    X, y = load_points(tmp_path / "points.csv", label="label")
    assert X.shape == (3, 2)
    assert sorted(y) == ["u", "u", "v"]


@pytest.mark.parametrize("form", ["npy", "npz", "matrix", "named", "tsv"])
def test_distances_in_any_form_become_points(run, tmp_path, form):
    D = pairwise_distance(ball(12)[0])
    names = [f"point {k}" for k in range(12)]
    rows = [[repr(value) for value in row] for row in D.tolist()]
    path = tmp_path / {"npy": "D.npy", "npz": "D.npz", "tsv": "D.tsv"}.get(form, "D.csv")
    if form == "npy":
        np.save(path, D)
    elif form == "npz":
        np.savez(path, D)
    else:
        comma = "\t" if form == "tsv" else ","
        if form == "named":
            rows = [["", *names], *([name, *row] for name, row in zip(names, rows, strict=True))]
        path.write_text("\n".join(comma.join(row) for row in rows))
    run("embed", path, "--method", "mds", "-o", "points.npz")
    found = arrays(tmp_path / "points.npz")
    assert np.allclose(found["X"], HyperbolicMDS().fit(D).embedding_, rtol=0, atol=1e-12)
    assert ("names" in found) == (form == "named")


def test_edges_become_points_by_shortest_paths(run, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\na,b,1\nb,c,2\nc,d,1\nb,c,2\n")
    run("embed", "edges.csv", "--method", "mds", "-o", "points.npz")
    found = arrays(tmp_path / "points.npz")
    assert found["names"].tolist() == ["a", "b", "c", "d"]
    # In the unit ball, distances are those of the graph times a factor given by the estimated curvature.
    distances = pairwise_distance(found["X"])[0]
    assert np.allclose(distances / distances[1], [0, 1, 3, 4], atol=1e-2)


def test_features_become_a_map_with_the_root_in_the_middle(run, tmp_path):
    wine = load_wine()
    np.savez(tmp_path / "wine.npz", X=wine.data, y=wine.target_names[wine.target])
    run("embed", "wine.npz", "--method", "map", "--root", 7, "--neighbors", 10, "--seed", 3, "-o", "points.csv")
    X, y = load_points(tmp_path / "points.csv", label="label")
    assert np.array_equal(y, wine.target_names[wine.target])
    assert np.array_equal(X, PoincareMap(n_neighbors=10, root=7, random_state=3).fit_transform(wine.data))
    assert np.allclose(X[7], 0, atol=1e-12)


def test_names_are_not_labels_and_are_kept_with_the_points(run, tmp_path):
    """A table with names and kinds becomes points, a model, and predictions with the same names."""
    X, codes = ball(60)
    lines = [f"cell{k},{NAMES[code]},{x[0]},{x[1]}" for k, (x, code) in enumerate(zip(X, codes, strict=True))]
    (tmp_path / "features.csv").write_text("\n".join(["name,kind,a,b", *lines]))
    run("embed", "features.csv", "--method", "map", "--neighbors", 8, "--root", "cell5", "-o", "points.npz")
    found = arrays(tmp_path / "points.npz")
    assert found["names"][5] == "cell5"
    assert np.array_equal(found["y"], NAMES[codes])
    run("fit", "points.npz", "--folds", 0, "-o", "model.hyp")
    run("predict", "model.hyp", "points.npz", "-o", "predicted.csv")
    assert (tmp_path / "predicted.csv").read_text().splitlines()[6].startswith("cell5,")


def test_cells_are_mapped_from_their_principal_components(run, tmp_path):
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    X, codes = ball(60)
    obs = pd.DataFrame({"kind": NAMES[codes]}, index=[f"cell{k}" for k in range(60)])
    anndata.AnnData(np.ones((60, 1)), obs=obs, obsm={"X_pca": 3 * X}).write_h5ad(tmp_path / "cells.h5ad")
    options = ("--label", "kind", "--root", "cell5", "-o", "points.npz")
    run("embed", "cells.h5ad", "--method", "map", "--neighbors", 8, *options)
    found = arrays(tmp_path / "points.npz")
    assert found["names"][5] == "cell5"
    assert np.allclose(found["X"][5], 0, atol=1e-12)
    assert np.array_equal(found["y"], NAMES[codes])


@pytest.mark.parametrize(
    ("text", "name", "method", "message"),
    [
        ("animal,mother\na,\n", "t.csv", "tree", "no column 'parent'; its columns are animal, mother."),
        ("animal,parent\na,\na,\n", "t.csv", "tree", "contains 'a' more than once."),
        ("animal,parent,length\na,,\nb,a,long\n", "t.csv", "tree", "contains 'long' where a number is expected."),
        ("animal,parent\na,b\nb,a\n", "t.csv", "tree", "root"),
        ("x", "t.txt", "tree", "Cannot read a tree from t.txt; supported suffixes are .nwk"),
        ("animal,parent\n", "t.csv", "tree", "t.csv has 1 non-blank line; expected a header and at least one row."),
        ("\n \n", "t.csv", "tree", "t.csv has 0 non-blank lines; expected a header and at least one row."),
        ("source,target,length\na,b,1\na,b,2\n", "e.csv", "mds", "between 'a' and 'b' twice, with different lengths."),
        ("0,1,2\n1,0,3\n", "d.csv", "mds", "square"),
        ("x,y,z\n1,2,3\n4,5,6\n", "f.csv", "map", "minimum of 3"),
    ],
)
def test_invalid_trees_distances_and_tables_raise_clear_errors(run, tmp_path, text, name, method, message):
    (tmp_path / name).write_text(text)
    told = run("embed", name, "--method", method, "-o", "points.npz", code=1).stderr
    assert message in told
    assert "Traceback" not in told
    assert not (tmp_path / "points.npz").exists()


def test_wrong_methods_outputs_and_roots_raise_clear_errors(run, tmp_path):
    (tmp_path / "tree.nwk").write_text(NEWICK)
    assert "is not one of tree, mds, map" in run("embed", "tree.nwk", "--method", "x", "-o", "p.npz", code=2).stderr
    assert "must end in one of .npz, .csv" in run("embed", "tree.nwk", "--method", "tree", "-o", "p.txt", code=2).stderr
    assert "puma" in run("embed", "tree.nwk", "--method", "tree", "--root", "puma", "-o", "p.npz", code=1).stderr
    np.savez(tmp_path / "x.npz", X=ball(30)[0])
    assert (
        "the name of a cell; got 'puma' (cells have no names)"
        in run("embed", "x.npz", "--method", "map", "--root", "puma", "-o", "p.npz", code=1).stderr
    )
