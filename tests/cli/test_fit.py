"""``hyplearn fit`` and ``hyplearn inspect``."""

import json
import re

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

import hyplearn
from hyplearn.estimators import classifier_named
from support.fitted_models import NAMES, ball

X, codes = ball(60)


def test_the_model_written_is_the_one_fitted_to_all_rows(run, points, model):
    run("fit", points, "-o", "m.hyp")
    written = hyplearn.load("m.hyp")
    assert written.feature_names_in_.tolist() == ["x", "y"]
    del written.feature_names_in_
    assert np.array_equal(written.predict_proba(X), model.predict_proba(X))


def test_accuracy_is_cross_validated_and_the_certificate_belongs_to_the_model(as_json, points, model):
    told = as_json("fit", points, "--label", "kind", "--folds", 3, "--seed", 1, "-o", "m.hyp")
    scores = cross_val_score(model, X, NAMES[codes], cv=StratifiedKFold(3, shuffle=True, random_state=1))
    assert told["cross_validation"]["accuracy"] == pytest.approx(scores.mean())
    assert told["cross_validation"]["accuracy_std"] == pytest.approx(scores.std())
    assert told["certificate"]["status"] == ["optimal"]
    assert told["certificate"]["dual_gap"] == model.dual_gap_.tolist()
    assert told["data"] == {"path": str(points), "n_points": 60, "n_coordinates": 2, "n_without_label": 0}
    assert told["classes"] == NAMES.tolist()


def test_the_output_shows_accuracy_certificate_and_time(run, points):
    text = run("fit", points, "-o", "m.hyp", "--folds", 2).stdout
    for part in (
        "60 points, 2 coordinates, 3 classes",
        "% in 2-fold cross-validation",
        "optimal: proven to be within",
        "fit 0.",
    ):
        assert part in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--model", "softmax", "--c", 7, "--reference", "origin"), {"C": 7.0, "reference": "origin"}),
        (("--model", "svc", "--reference", "0.1,-0.2"), {"reference": [0.1, -0.2]}),
        (("--model", "svc"), {"reference": None, "C": "auto", "trim": True}),
        (("--model", "svc", "--reference", "none", "--c", "auto"), {"reference": None, "C": "auto"}),
        (("--model", "svc", "--reference", "boundary", "--c", "0.5"), {"reference": "boundary", "C": 0.5}),
        (("--model", "perceptron", "--curvature", -0.5), {"curvature": -0.5}),
        (("--model", "second-order", "--outside", "project"), {"outside": "project"}),
        (("--model", "neighbors"), {"n_neighbors": 15}),
    ],
)
def test_options_reach_the_classifier(as_json, points, options, expected):
    told = as_json("fit", points, "-o", "m.hyp", "--folds", 0, *options)
    assert told["cross_validation"] is None
    assert told["parameters"] | expected == told["parameters"]


def test_cells_without_a_label_are_left_out_and_counted(as_json, cells):
    told = as_json("fit", cells, "--label", "kind", "--folds", 0, "-o", "m.hyp")
    assert told["data"]["n_points"] == 50
    assert told["data"]["n_without_label"] == 10
    model = hyplearn.PoincareLogisticRegression().fit(X[10:], NAMES[codes[10:]])
    assert np.array_equal(hyplearn.load("m.hyp").coef_, model.coef_)


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_arrays_and_parquet_are_read(as_json, tmp_path, form):
    if form == "npz":
        np.savez(tmp_path / "points.npz", X=X, y=NAMES[codes])
    else:
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": NAMES[codes]}).to_parquet(tmp_path / "points.parquet")
    assert as_json("fit", tmp_path / f"points.{form}", "-o", "m.hyp", "--folds", 0)["classes"] == NAMES.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "forest"), "'forest' is not one of softmax, softmax-cv, svc"),
        (("--model", "perceptron", "--c", 1), "perceptron has no cost parameter C. Omit --c."),
        (("--model", "neighbors", "--reference", "mean"), "neighbors uses no reference point. Omit --reference."),
        (("--reference", "nowhere"), "'nowhere' is neither a strategy (boundary, closest, hull"),
        (("--c", "cheap"), "'cheap' is neither auto nor a number"),
        (("--folds", "many"), "--folds"),
    ],
)
def test_wrong_options_are_errors_of_usage(run, points, options, message):
    text = run("fit", points, "-o", "m.hyp", *options, code=2).stderr
    assert message in " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label", "sort"), "has no column 'sort'; its columns are 'x', 'y', 'kind'"),
        (("--folds", 40), "--folds must be at least 2 and at most 20, the number of rows of the largest class; got 40"),
        (("--curvature", -9), "lie outside the open ball of curvature -9"),
        (("--curvature", 1), "curvature must be a negative finite number"),
    ],
)
def test_wrong_data_are_errors_without_a_traceback(run, points, tmp_path, options, message):
    result = run("fit", points, "-o", "m.hyp", *options, code=1)
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert not (tmp_path / "m.hyp").exists()


def test_messages_name_options_of_the_command_line(run, points):
    told = run("fit", points, "-o", "m.hyp", "--curvature", -2, code=1).stderr
    assert 'pass --outside "project", or set --curvature to that of your embedding.' in told


def test_missing_files_and_other_formats_raise_clear_errors(run, tmp_path, points):
    assert "There is no file" in run("fit", tmp_path / "none.csv", "-o", "m.hyp", code=1).stderr
    assert "m.bin must end in one of .hyp" in run("fit", points, "-o", "m.bin", code=2).stderr
    assert "There is no file" in run("fit", tmp_path / "none.h5ad", "-o", "m.hyp", code=1).stderr


def test_cells_need_the_name_of_their_labels(run, cells):
    told = run("fit", cells, "-o", "m.hyp", code=1).stderr
    assert "Cannot find labels in " in told
    assert "cells.h5ad.\nPass --label with the name of the label column or array." in told


@pytest.mark.parametrize("stream", [(), ("--stream",)])
@pytest.mark.parametrize("suffix", ["csv", "npz", "zarr"])
def test_a_fit_reads_what_open_points_reads(as_json, tmp_path, suffix, stream):
    path = tmp_path / f"points.{suffix}"
    if suffix == "csv":
        lines = [f"{a!r},{b!r},{kind}" for (a, b), kind in zip(X.tolist(), codes, strict=True)]
        path.write_text("\n".join(["u,v,label", *lines]))
    elif suffix == "npz":
        np.savez_compressed(path, X=X, y=codes)
    else:
        group = pytest.importorskip("zarr").open_group(str(path), mode="w")
        group.create_array("X", data=X)
        group.create_array("y", data=codes + 1)
    told = as_json("fit", path, "-o", "m.hyp", "--folds", 0, *stream)
    assert told["data"]["n_points"] == 60
    expected = hyplearn.PoincareLogisticRegression().fit(hyplearn.open_points(path))
    found = hyplearn.load("m.hyp")
    assert np.array_equal(found.coef_, expected.coef_)
    assert np.array_equal(found.classes_, expected.classes_)
    assert getattr(found, "feature_names_in_", None) is None or found.feature_names_in_.tolist() == ["u", "v"]


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_an_unwritable_output_is_reported_before_the_fit(run, tmp_path, stream):
    (tmp_path / "folder.hyp").mkdir()
    assert "There is no folder" in run("fit", "none.csv", "-o", "nowhere/m.hyp", *stream, code=1).stderr
    assert "not a regular file" in run("fit", "none.csv", "-o", "folder.hyp", *stream, code=1).stderr


def test_an_unwritable_folder_is_reported_before_the_fit(run, monkeypatch):
    monkeypatch.setattr("hyplearn.files.os.access", lambda path, mode: False)
    assert "is not writable" in run("fit", "none.csv", "-o", "m.hyp", code=1).stderr


def test_points_outside_the_ball_are_reported_with_row_numbers_of_the_file(run, as_json, points):
    inside = points.read_text().splitlines()
    points.write_text("\n".join([*inside, "1.5,0,ash"]))
    told = run("fit", points, "-o", "m.hyp", code=1).stderr
    assert "coordinates 'x', 'y': 1 of 61 points lies outside" in told
    assert "row 60" in told
    warned = as_json("fit", points, "-o", "m.hyp", "--outside", "project")["warnings"]
    # This point is moved to the rim, far beyond all others.
    assert [message[:19] for message in warned] == ["1 of 61 points lies", "1 of 61 rows lies f"]
    assert "row 60 (class ash)" in warned[1]


def test_debug_shows_a_traceback(run, points):
    result = run("fit", points, "--label", "sort", "-o", "m.hyp", "--debug", code=1)
    assert isinstance(result.exception, ValueError)
    assert result.exception.__traceback__ is not None


def test_inspect_shows_the_contents_of_the_file(run, as_json, model_file, model):
    told = as_json("inspect", model_file)
    assert told["class"] == "PoincareLogisticRegression"
    assert told["classes"] == NAMES.tolist()
    assert told["certificate"]["dual_gap_"] == model.dual_gap_.tolist()
    text = run("inspect", model_file).stdout
    assert "ash, birch, cedar" in text
    assert told["sha256"] in text


def test_inspect_rejects_other_files(run, points):
    assert "is not a usable model" in run("inspect", points, code=1).stderr


@pytest.mark.parametrize("name", ["softmax", "svc", "perceptron"])
@pytest.mark.parametrize("suffix", ["npz", "parquet", "h5ad"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_data_read_in_blocks_give_the_same_model_as_in_memory(as_json, run, tmp_path, cells, name, suffix):
    X, codes = ball(60)
    path = tmp_path / f"cells.{suffix}"
    if suffix == "npz":
        np.savez(path, X=X, y=NAMES[codes])
    elif suffix == "parquet":
        frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b"]).assign(kind=NAMES[codes])
        frame.to_parquet(path)
    else:
        anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
        obs = pd.DataFrame({"kind": pd.Categorical(NAMES[codes])}, index=[f"cell{k}" for k in range(60)])
        anndata.AnnData(np.ones((60, 1)), obs=obs, obsm={"X_poincare": X}).write_h5ad(path)
    label = () if suffix == "npz" else ("--label", "kind")
    told = as_json("fit", path, *label, "--model", name, "--stream", "--memory", 0, "-o", "m.hyp")
    assert told["cross_validation"] is None
    assert told["data"] | {"path": ""} == {"path": "", "n_points": 60, "n_coordinates": 2, "n_without_label": 0}
    options = {"shuffle": False} if name == "perceptron" else {}
    expected = classifier_named(name, **options).fit(X, NAMES[codes])
    found = hyplearn.load(tmp_path / "m.hyp")
    assert np.allclose(found.coef_, expected.coef_, rtol=1e-8, atol=1e-10)
    assert found.verbose == 0
    run("predict", "m.hyp", path, *label, "--stream", "-o", "p.npy")
    assert np.array_equal(np.load(tmp_path / "p.npy"), expected.predict(X))


def test_a_stream_of_predictions_needs_a_file(run, model_file, points, tmp_path):
    np.save(tmp_path / "x.npy", ball(60)[0])
    assert "Pass --output" in run("predict", model_file, "x.npy", "--stream", code=2).stderr
    assert "one of .npy, .parquet" in run("predict", model_file, "x.npy", "--stream", "-o", "p.csv", code=2).stderr


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_an_array_is_fitted_with_the_labels_of_another_file(as_json, tmp_path, options):
    np.save(tmp_path / "points.npy", X)
    np.save(tmp_path / "kinds.npy", codes)
    told = as_json("fit", "points.npy", "--label", "kinds.npy", "--folds", 0, "-o", "m.hyp", *options)
    assert told["data"]["n_points"] == len(X)
    assert hyplearn.load(tmp_path / "m.hyp").score(X, codes) > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "m.bin"), "m.bin must end in one of .hyp"),
        ((), "Missing option '--output'"),
        (("-o", "m.hyp", "--folds", "many"), "Invalid value for '--folds'"),
        (("-o", "m.hyp", "--cost", 3), r"No such option:? '?--cost"),
    ],
)
def test_usage_errors_are_json_with_json_output(run, arguments, message):
    result = run("fit", "none.csv", *arguments, "--json", code=2)
    assert re.search(message, json.loads(result.stdout)["error"])
    assert "Usage: " in result.stderr


def test_errors_are_json_with_json_output(run, tmp_path):
    result = run("fit", tmp_path / "none.csv", "-o", "m.hyp", "--json", code=1)
    assert "There is no file" in json.loads(result.stdout)["error"]
    assert "There is no file" in result.stderr
