"""``hyplearn predict``, ``evaluate``, ``plot`` and ``explore``: applying a model to points."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score

import hyplearn
from hyplearn.cli.evaluate import calibration_error
from support.fitted_models import NAMES, ball, images, networks

X, codes = ball(60)
y = NAMES[codes]


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_labels_and_probabilities_go_to_csv_bit_for_bit(run, points, model_file, model):
    run("predict", model_file, points, "-o", "out.csv")
    rows = read("out.csv")
    assert [row["label"] for row in rows] == model.predict(X).tolist()
    found = [[float(row[f"p_{name}"]) for name in NAMES] for row in rows]
    assert np.array_equal(found, model.predict_proba(X))
    assert [row["row"] for row in rows] == [str(k) for k in range(60)]


def test_without_an_output_file_predictions_go_to_stdout(run, points, model_file):
    run("predict", model_file, points, "-o", "out.csv")
    with open("out.csv") as file:
        assert run("predict", model_file, points).stdout == file.read()


def test_labels_and_probabilities_go_to_npy_and_parquet(run, points, model_file, model):
    run("predict", model_file, points, "-o", "out.npy")
    rows = np.load("out.npy", allow_pickle=False)
    assert np.array_equal(rows["label"], model.predict(X))
    assert np.array_equal(rows["probabilities"], model.predict_proba(X))
    pandas = pytest.importorskip("pandas")
    run("predict", model_file, points, "-o", "out.parquet")
    table = pandas.read_parquet("out.parquet")
    assert table["label"].tolist() == model.predict(X).tolist()
    assert np.array_equal(table[[f"p_{name}" for name in NAMES]], model.predict_proba(X))


def test_all_cells_are_predicted_by_name(run, cells, model_file, model):
    run("predict", model_file, cells, "-o", "out.csv")
    assert [(row["name"], row["label"]) for row in read("out.csv")] == [
        (f"cell{k}", label) for k, label in enumerate(model.predict(X))
    ]


def test_a_model_of_a_stream_predicts_without_probabilities(run, points):
    model = hyplearn.PoincarePerceptron("origin").partial_fit(X, y, classes=NAMES)
    hyplearn.save(model, "stream.hyp")
    run("predict", "stream.hyp", points, "-o", "out.csv")
    assert list(read("out.csv")[0]) == ["row", "label"]


def test_predictions_can_be_printed_as_json(as_json, points, model_file, model):
    told = as_json("predict", model_file, points)
    assert told["labels"] == model.predict(X).tolist()
    assert told["probabilities"] == model.predict_proba(X).tolist()
    assert sum(told["counts"].values()) == told["n_points"] == 60


@pytest.mark.parametrize("command", ["predict", "evaluate", "plot", "explore"])
def test_points_of_another_dimension_are_rejected(run, tmp_path, model_file, command):
    np.savez(tmp_path / "deep.npz", X=np.zeros((3, 5)), y=["ash", "ash", "cedar"])
    output = {"plot": ["-o", "a.png"], "explore": ["-o", "a.html"]}.get(command, [])
    message = run(command, model_file, tmp_path / "deep.npz", *output, code=1).stderr
    assert "points with 5 coordinates; the model was fitted on 2" in message


@pytest.mark.parametrize(("command", "name"), [("predict", "a.txt"), ("plot", "a.bmp"), ("explore", "a.png")])
def test_outputs_of_unknown_kind_are_errors_of_usage(run, points, model_file, command, name):
    assert "must end in one of" in run(command, model_file, points, "-o", name, code=2).stderr


def test_a_transformer_is_rejected(run, points):
    hyplearn.save(hyplearn.ExpMap().fit(X), "map.hyp")
    assert "contains an estimator of class ExpMap, not a classifier" in run("predict", "map.hyp", points, code=1).stderr


def test_evaluation_scores_the_saved_model(as_json, points, model_file, model):
    told = as_json("evaluate", model_file, points, "--folds", 0)
    (score,) = told["scores"]
    chances, predicted = model.predict_proba(X), model.predict(X)
    assert score["accuracy"] == np.mean(predicted == y)
    assert score["log_loss"] == pytest.approx(log_loss(y, chances))
    assert score["calibration_error"] == calibration_error(chances.max(axis=1), predicted == y)
    assert told["confusion"]["matrix"] == confusion_matrix(y, predicted).tolist()
    assert told["report"]["ash"]["support"] == 20
    assert told["report"]["ash"]["recall"] == np.mean(predicted[y == "ash"] == "ash")


def test_baselines_are_evaluated_on_the_same_folds(run, as_json, points, model_file, model):
    told = as_json("evaluate", model_file, points, "--folds", 2)
    accuracies = {score["name"]: score["accuracy"] for score in told["scores"]}
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    found = cross_val_score(model, X, y, cv=folds).mean()
    assert accuracies["saved model, refitted"] == pytest.approx(found, rel=1e-12)
    assert accuracies["largest class"] == pytest.approx(1 / 3)
    assert accuracies["Euclidean softmax, tuned"] > 0.6
    assert accuracies["Euclidean SVM, tuned"] > 0.6


def test_the_output_shows_classes_confusions_and_calibration(run, tmp_path, model_file, model):
    labels = np.where(np.arange(60) % 15 == 0, "birch", y)
    np.savez(tmp_path / "more.npz", X=X, y=labels)
    text = run("evaluate", model_file, tmp_path / "more.npz", "--folds", 0).stdout
    for part in ("precision", "Largest confusions", "log-loss", "ECE: expected calibration error."):
        assert part in text
    matrix = confusion_matrix(labels, model.predict(X))
    np.fill_diagonal(matrix, 0)
    true, predicted = np.unravel_index(np.argmax(matrix), matrix.shape)
    first = text[text.index("Largest confusions") :].splitlines()[4].split()
    classes, largest = model.classes_.tolist(), matrix.max()
    assert first[:4] == [classes[true], "→", classes[predicted], str(largest)]
    assert first[4] == f"{largest / np.sum(labels == classes[true]):.1%}"


def test_a_model_without_errors_has_no_confusions(run, tmp_path, model_file, model):
    np.savez(tmp_path / "right.npz", X=X, y=model.predict(X))
    text = run("evaluate", model_file, tmp_path / "right.npz", "--folds", 0).stdout
    assert "All points are predicted correctly." in text
    assert "Largest confusions" not in text


def test_an_evaluation_of_many_classes_with_long_names_fits_into_80_columns(run, tmp_path):
    rng = np.random.default_rng(0)
    names = np.array([f"class {k} whose name is as long as a sentence of words" for k in range(13)])
    labels = names[rng.integers(13, size=200)]
    Z = 0.5 * rng.uniform(-1, 1, (200, 2))
    np.savez(tmp_path / "many.npz", X=Z, y=labels)
    hyplearn.save(hyplearn.PoincareLogisticRegression().fit(Z, labels), "many.hyp")
    text = run("evaluate", "many.hyp", tmp_path / "many.npz", "--folds", 2).stdout
    assert "Largest confusions: 10 of" in text
    after = text[text.index("Largest confusions") :]
    assert max(map(len, after.splitlines())) <= 80


def test_labels_that_the_model_does_not_know_count_as_errors(run, as_json, tmp_path, model_file, model):
    labels = np.where(np.arange(60) < 6, "yew", y)
    np.savez(tmp_path / "more.npz", X=X, y=labels)
    told = as_json("evaluate", model_file, tmp_path / "more.npz", "--folds", 0)
    assert told["scores"][0]["accuracy"] == np.mean(model.predict(X) == labels)
    assert told["scores"][0]["log_loss"] == pytest.approx(log_loss(y[6:], model.predict_proba(X[6:])))
    warned = "Labels that are not classes of the model: 'yew'. Rows with these labels (6) count as errors"
    assert warned in told["warnings"][0]
    np.savez(tmp_path / "none.npz", X=X, y=codes)
    message = run("evaluate", model_file, tmp_path / "none.npz", code=1).stderr
    assert "is a class of the model; the labels are 0, 1, 2, but the classes are 'ash', 'birch', 'cedar'" in message


def test_calibration_error_by_hand():
    """Two bins with two rows each: confidence 0.6 with half of them correct, and 0.9 with both correct."""
    confidence, right = np.array([0.6, 0.6, 0.9, 0.9]), np.array([True, False, True, True])
    assert calibration_error(confidence, right) == pytest.approx(0.5 * 0.1 + 0.5 * 0.1)


@pytest.mark.parametrize(("name", "magic"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_plots_are_written(run, points, model_file, name, magic):
    run("plot", model_file, points, "-o", name)
    with open(name, "rb") as file:
        assert file.read(len(magic)) == magic


@pytest.mark.parametrize(("command", "name"), [("plot", "disk.svg"), ("explore", "disk.html")])
def test_requested_labels_are_shown_and_unlabelled_cells_are_reported(run, cells, model_file, command, name):
    shown = run(command, model_file, cells, "--label", "kind", "-o", name)
    assert "note: cells.h5ad: 10 unlabelled points are not shown. Omit --label to show all." in shown.stderr
    assert run(command, model_file, cells, "-o", f"all_{name}").stderr == ""


def test_a_page_with_labels_shows_which_points_are_misclassified(run, cells, model_file, tmp_path):
    run("explore", model_file, cells, "--label", "kind", "-o", "labels.html")
    run("explore", model_file, cells, "-o", "none.html")
    scenes = [(tmp_path / name).read_text() for name in ("labels.html", "none.html")]
    assert ['"labels":null' in scene.replace(" ", "") for scene in scenes] == [False, True]


def test_a_picture_is_written_atomically(run, points, model_file, tmp_path, monkeypatch):
    def broken(figure, file, **options):
        file.write(b"half") if hasattr(file, "write") else Path(file).write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", broken)
    run("plot", model_file, points, "-o", "disk.png", code=1)
    assert not (tmp_path / "disk.png").exists()
    assert "There is no folder" in run("plot", model_file, points, "-o", "nowhere/disk.png", code=1).stderr


def test_a_page_shows_another_model_beside_and_says_what_the_points_are(run, cells, model_file, tmp_path):
    hyplearn.save(hyplearn.PoincareLogisticRegression(C=0.1).fit(X, y), "other.hyp")
    run("explore", model_file, cells, "-o", "side_by_side.html", "--beside", "other.hyp", "--of", "held-out")
    text = (tmp_path / "side_by_side.html").read_text()
    assert '"of":"held-out"' in text
    assert text.count('"predicted":{') == 2
    assert "got 'test'" in run("explore", model_file, cells, "-o", "a.html", "--of", "test", code=1).stderr


def test_a_page_to_explore_is_written_with_the_names_of_cells(run, cells, model_file):
    run("explore", model_file, cells, "-o", "page.html", "--title", "My cells")
    with open("page.html", encoding="utf-8") as file:
        text = file.read()
    assert "<title>My cells" in text
    assert "cell59" in text


def test_a_network_can_predict_but_cannot_be_drawn(run, as_json, tmp_path):
    pytest.importorskip("torch")
    rows, _, of_images, _ = networks()
    hyplearn.save(rows, "net.hyp")
    hyplearn.save(of_images, "images.hyp")
    pictures, kinds = images()
    features = pictures.reshape(len(pictures), -1)[:, ::9]
    np.savez(tmp_path / "features.npz", X=features.astype(float), y=NAMES[kinds])
    assert as_json("predict", "net.hyp", "features.npz")["labels"] == rows.predict(features).tolist()
    run("evaluate", "net.hyp", "features.npz", "--folds", 0)
    for command in (["evaluate", "--folds", "2"], ["plot", "-o", "a.png"], ["explore", "-o", "a.html"]):
        message = run(command[0], "net.hyp", "features.npz", *command[1:], code=1).stderr
        assert "net.hyp contains a BallNet, which takes features; this command needs a classifier" in message
    assert "takes images of shape (1, 8, 9)" in run("predict", "images.hyp", "features.npz", code=1).stderr


@pytest.mark.parametrize("command", ["predict", "evaluate", "plot", "explore", "classify", "embed"])
def test_advice_for_points_outside_names_only_options_of_the_command(run, command, points, cells, model_file):
    points.write_text(points.read_text() + "\n1.5,0,ash")
    if command == "classify":
        anndata = pytest.importorskip("anndata")
        table = anndata.read_h5ad(cells)
        table.obsm["X_poincare"][3] = [1.5, 0.0]
        table.write_h5ad(cells)
    arguments = {
        "predict": (model_file, points, "-o", "out.csv"),
        "evaluate": (model_file, points),
        "plot": (model_file, points, "-o", "out.png"),
        "explore": (model_file, points, "-o", "out.html"),
        "classify": (cells, "--label", "kind"),
        "embed": (points, "--method", "klein", "-o", "out.csv"),
    }
    message = run(command, *arguments[command], code=1).stderr
    assert "outside the open ball" in message
    advice = re.sub("hyplearn fit --outside project or --curvature", "", message.splitlines()[1])
    offered = run(command, "--help").output
    assert all(option in offered for option in re.findall(r"--\w+", advice))
    assert "model=" not in advice
