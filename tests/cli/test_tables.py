"""Tables with more columns than a model needs: which columns are used or ignored, and the messages about them."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hyplearn
from hyplearn.datasets import load_points
from support.explored import decoded
from support.fitted_models import NAMES, ball

pd = pytest.importorskip("pandas")
X, codes = ball(60)
KINDS = NAMES[codes]
CLASSES = "p_ash,p_birch,p_cedar"
UNUSED = "coordinates are 'u', 'v'; not used: "


def table():
    """Table with text columns, and with coordinate columns among other columns."""
    names = [f"plant {k}" for k in range(60)]
    return pd.DataFrame(
        {"site": "wood", "v": X[:, 1], "kind": KINDS, "age": np.arange(60), "u": X[:, 0], "name": names}
    )


@pytest.fixture(params=["csv", "tsv", "parquet"])
def wide(request, tmp_path):
    """Path of the table as a file."""
    path = tmp_path / f"wide.{request.param}"
    if request.param == "parquet":
        table().to_parquet(path)
    else:
        table().to_csv(path, sep={"csv": ",", "tsv": "\t"}[request.param], index=False)
    return path


@pytest.fixture
def known(run, tmp_path):
    """Model fitted by the command line to the columns u and v."""
    pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "kind": KINDS}).to_csv(tmp_path / "narrow.csv", index=False)
    run("fit", "narrow.csv", "-o", "known.hyp", "--folds", 0)
    return tmp_path / "known.hyp"


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_fit_keeps_the_names_of_columns(known):
    assert hyplearn.load(known).feature_names_in_.tolist() == ["u", "v"]


def test_a_model_finds_its_columns_and_the_rest_is_not_used(run, known, wide, model):
    told = run("predict", known, wide, "-o", "out.csv")
    rows = read("out.csv")
    assert [row["label"] for row in rows] == model.predict(X).tolist()
    assert [row["name"] for row in rows][:2] == ["plant 0", "plant 1"]
    assert np.array_equal([float(row["p_ash"]) for row in rows], model.predict_proba(X)[:, 0])
    assert f"{UNUSED}'site', 'kind', 'age'." in told.stderr


def test_pipes_and_json_use_the_same_columns(as_json, known, tmp_path):
    table().to_csv(tmp_path / "wide.csv", index=False)
    command = [sys.executable, "-m", "hyplearn.cli", "predict", known, "wide.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"name,label,{CLASSES}")
    assert done.stderr == f"note: wide.csv: {UNUSED}'site', 'kind', 'age'.\n"
    assert as_json("predict", known, "wide.csv")["notes"] == [f"wide.csv: {UNUSED}'site', 'kind', 'age'."]


def test_the_label_column_contains_classes_of_the_model(run, as_json, known, wide):
    told = as_json("evaluate", known, wide, "--folds", 0)
    assert told["confusion"]["labels"] == NAMES.tolist()
    assert told["notes"] == [f"{wide.name}: {UNUSED}'site', 'age'."]
    assert f"{UNUSED}'site', 'age'." in run("plot", known, wide, "-o", "a.svg").stderr
    assert f"{UNUSED}'site', 'age'." in run("explore", known, wide, "-o", "a.html").stderr
    with open("a.html", encoding="utf-8") as file:
        assert "plant 59" in file.read()


def test_string_columns_without_classes_are_not_labels(run, known, tmp_path):
    table().drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    assert f"{UNUSED}'site', 'age'." in run("explore", known, "new.csv", "-o", "a.html").stderr
    assert "Cannot find labels in new.csv.\nPass --label with" in run("evaluate", known, "new.csv", code=1).stderr


def test_two_columns_of_classes_are_an_error_if_labels_are_needed(run, known, tmp_path):
    table().assign(guess=KINDS[::-1]).to_csv(tmp_path / "two.csv", index=False)
    problem = "Cannot tell which column of two.csv holds the labels; candidates: 'kind', 'guess' (available:"
    assert problem in run("evaluate", known, "two.csv", code=1).stderr
    run("evaluate", known, "two.csv", "--label", "kind", "--folds", 0)
    run("predict", known, "two.csv")


def test_columns_of_other_names_are_an_error_that_shows_both(run, known, tmp_path):
    table().rename(columns={"u": "x"}).to_csv(tmp_path / "other.csv", index=False)
    problem = (
        "other.csv has no column 'u'; the model was fitted on 'u', 'v', and the columns of this file are 'site', 'v'"
    )
    assert problem in run("predict", known, "other.csv", code=1).stderr
    table().to_csv(tmp_path / "swapped.csv", index=False)
    swapped = run("predict", known, "swapped.csv", "--points", "v,u", code=1).stderr
    assert "swapped.csv has the coordinates 'v', 'u'; PoincareLogisticRegression was fitted on 'u', 'v'" in swapped


def test_a_model_without_names_uses_all_numeric_columns_or_raises(run, model_file, model, tmp_path):
    two = table()[["site", "u", "kind", "v"]]
    two.to_csv(tmp_path / "two.csv", index=False)
    run("predict", model_file, "two.csv", "-o", "out.csv")
    assert [row["label"] for row in read("out.csv")] == model.predict(X).tolist()
    table().to_csv(tmp_path / "three.csv", index=False)
    message = run("predict", model_file, "three.csv", code=1).stderr
    assert "three.csv has points with 3 coordinates; the model was fitted on 2 coordinates.\nPass --points" in message
    run("predict", model_file, "three.csv", "--points", "u,v", "-o", "named.csv")
    assert [row["label"] for row in read("named.csv")] == model.predict(X).tolist()


def test_a_table_without_names_is_read_by_position(run, known, tmp_path):
    pd.DataFrame(X).to_csv(tmp_path / "bare.csv", index=False, header=False)
    assert run("predict", known, "bare.csv").stdout.startswith(f"row,label,{CLASSES}\n")
    pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "kind": KINDS}).to_csv(tmp_path / "bare2.csv", index=False, header=False)
    run("fit", "bare2.csv", "-o", "bare.hyp", "--folds", 0)
    assert not hasattr(hyplearn.load(tmp_path / "bare.hyp"), "feature_names_in_")


def test_blocks_are_read_by_the_same_columns(run, known, model_file, model, tmp_path):
    table().to_parquet(tmp_path / "wide.parquet")
    told = run("predict", known, "wide.parquet", "--stream", "-o", "out.npy").stdout
    assert "read in blocks, coordinates u, v" in told
    assert np.load("out.npy").tolist() == model.predict(X).tolist()
    table()[["site", "u", "kind", "v"]].to_parquet(tmp_path / "two.parquet")
    run("predict", model_file, "two.parquet", "--stream", "-o", "two.npy")
    assert np.load("two.npy").tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_named_label_column_is_not_a_coordinate(run, model_file, model, tmp_path, suffix):
    numbers = table()[["u", "v", "age"]]
    numbers.to_csv(tmp_path / "t.csv", index=False) if suffix == "csv" else numbers.to_parquet(tmp_path / "t.parquet")
    for options in ((), ("--stream",)):
        run("predict", model_file, f"t.{suffix}", "--label", "age", "-o", "out.npy", *options)
        found = np.load("out.npy")
        assert (found if options else found["label"]).tolist() == model.predict(X).tolist()


def test_labels_of_arrays_are_not_needed_to_predict(run, model_file, tmp_path):
    np.savez(tmp_path / "odd.npz", X=X, y=np.zeros((60, 3)))
    run("predict", model_file, "odd.npz")
    assert "must hold 60 numbers or strings" in run("evaluate", model_file, "odd.npz", code=1).stderr


def scene(name):
    text = Path(name).read_text(encoding="utf-8")
    start = text.index('id="scene">') + len('id="scene">')
    return json.loads(text[start : text.index("</script>", start)])


def test_a_page_is_coloured_by_columns_and_searched_by_any_names(run, known, wide):
    shown = run("explore", known, wide, "--columns", "age, site", "--names", "site", "-o", "a.html")
    assert UNUSED not in shown.stderr
    found = scene("a.html")
    assert [(one["name"], one["kind"]) for one in found["columns"]] == [("age", "number"), ("site", "category")]
    assert found["names"] == table()["site"].astype(str).tolist()
    assert "has no column 'width'" in run("explore", known, wide, "--columns", "width", "-o", "a.html", code=1).stderr


def test_columns_follow_the_rows_that_have_labels(run, cells, model_file):
    run("explore", model_file, cells, "--label", "kind", "--columns", "kind", "-o", "a.html")
    found = scene("a.html")
    assert len(found["names"]) == 50
    assert [(one["name"], "missing" in one["categories"]) for one in found["columns"]] == [("kind", False)]


@pytest.mark.parametrize("kind", ["parents", "edges", "newick"])
def test_edges_join_points_by_their_names(run, known, wide, kind):
    names = table()["name"].tolist()
    if kind == "newick":
        text = f"(('{names[1]}','{names[2]}')'{names[0]}',(rose,tulip)'{names[3]}')plant;"
        Path("tree.nwk").write_text(text)
    else:
        rows = [f"{names[k]},{names[0]}" for k in (1, 2)] + [f"rose,{names[3]}", f"tulip,{names[3]}"]
        head = "name,parent" if kind == "parents" else "source,target"
        Path("tree.csv").write_text("\n".join([head, *rows, *([f"{names[3]},"] if kind == "parents" else [])]))
    file = "tree.nwk" if kind == "newick" else "tree.csv"
    shown = run("explore", known, wide, "--edges", file, "-o", "a.html")
    assert f"{file}: the page omits {4 if kind == 'newick' else 2} edges to nodes without a point." in shown.stderr
    edges = decoded(scene("a.html")["edges"]).reshape(-1, 2)
    assert sorted(map(sorted, edges.tolist())) == [[0, 1], [0, 2]]


def test_an_embedded_tree_has_all_its_edges_though_inner_nodes_have_no_names(run, tmp_path):
    Path("tree.nwk").write_text("((a,b),(c,d),e);")
    run("embed", "tree.nwk", "--method", "tree", "-o", "tree.csv")
    points, _ = load_points("tree.csv", points=["x0", "x1"])
    hyplearn.save(hyplearn.PoincareLogisticRegression(C=1.0).fit(points, list("uuuvvvuv")[: len(points)]), "tree.hyp")
    shown = run("explore", "tree.hyp", "tree.csv", "--points", "x0,x1", "--edges", "tree.nwk", "-o", "a.html")
    assert "without a point" not in shown.stderr
    edges = decoded(scene("a.html")["edges"]).reshape(-1, 2)
    assert edges.tolist() == [[1, 0], [2, 1], [3, 1], [4, 0], [5, 4], [6, 4], [7, 0]]


def test_edges_without_names_or_points_say_what_is_missing(run, points, model_file, known, wide):
    Path("edges.csv").write_text("source,target\nrose,tulip\n")
    assert (
        "Pass --names with a column of names."
        in run("explore", model_file, points, "--edges", "edges.csv", "-o", "a.html", code=1).stderr
    )
    told = run("explore", known, wide, "--edges", "edges.csv", "-o", "a.html", code=1).stderr
    assert "No edge of edges.csv connects two of the points." in told
    Path("edges.csv").write_text("source,target\nwood,stone\n")
    told = run("explore", known, wide, "--names", "site", "--edges", "edges.csv", "-o", "a.html", code=1).stderr
    assert "several points are called 'wood' (number of repeated names: 1)" in told
