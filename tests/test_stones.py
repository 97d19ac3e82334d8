"""Small obstacles for new users that were removed, one test each."""

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV

import hyplearn
from hyplearn import ExpMap, PoincareLogisticRegression
from hyplearn.embedding import PoincareMap
from hyplearn.explorer.typed import MOST_LETTERS
from hyplearn.geometry import gap
from hyplearn.persistence import export_onnx
from hyplearn.plotting import BoundaryDisplay
from support.explored import scene_of
from support.fitted_models import ball

X, Y = ball(60)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "transformer", [ExpMap(), PoincareMap(n_neighbors=5, max_iter=3)], ids=lambda t: type(t).__name__
)
def test_the_first_row_that_is_not_finite_is_named(transformer, bad):
    rows = X.copy()
    rows[7, 1] = bad
    message = rf"^X holds 1 row with NaN or infinite coordinates; the first is row 7, counted from 0, with {bad}\.\n"
    with pytest.raises(ValueError, match=message):
        transformer.fit(rows)


def test_the_repr_of_a_page_is_short(capsys):
    page = hyplearn.explore(PoincareLogisticRegression().fit(X, Y), X, Y)
    assert str(page) == repr(page) == "<Explorer: a page of 0.1 MB; save(path) writes it>"
    assert page.html.startswith("<!DOCTYPE html>")


def test_an_estimator_in_place_of_the_points_is_reported():
    with pytest.raises(ValueError, match=r"needs a classifier with predict and classes_; got ndarray\."):
        hyplearn.explore(X, PoincareLogisticRegression().fit(X, Y), Y)


def test_names_of_any_length_fit_into_a_page():
    labels = np.array(["a" * 20_000, "b", "c"], dtype=object)[Y]
    page = hyplearn.explore(PoincareLogisticRegression().fit(X, labels), X, labels, names=["n" * 5000] * len(X))
    scene = scene_of(page)
    assert max(map(len, scene["classes"] + scene["names"])) == MOST_LETTERS


@pytest.mark.filterwarnings("ignore:.* far beyond the others of its class")
def test_a_model_that_moves_points_inside_is_drawn_and_explored():
    rows = X.copy()
    rows[:3] *= 3 / np.linalg.norm(rows[:3], axis=1, keepdims=True)
    with pytest.warns(DataConversionWarning, match="3 of 60 points lie outside"):
        model = PoincareLogisticRegression(outside="project").fit(rows, Y)
    with pytest.warns(DataConversionWarning, match="3 of 60 points lie outside"):
        display = BoundaryDisplay.from_estimator(model, rows, Y, resolution=20)
    assert np.all(gap(display.points.X) > 0)
    with pytest.warns(DataConversionWarning, match="3 of 60 points lie outside"):
        hyplearn.explore(model, rows, Y)


def test_the_error_for_a_search_says_what_to_save(tmp_path):
    search = GridSearchCV(PoincareLogisticRegression(), {"C": [1.0, 10.0]}, cv=2).fit(X, Y)
    with pytest.raises(
        TypeError, match=r"got GridSearchCV\.\nSave its best_estimator_; the supported classes are PoincareSVC, "
    ):
        hyplearn.save(search, tmp_path / "search.hyp")
    hyplearn.save(search.best_estimator_, tmp_path / "search.hyp")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_graph_takes_points_of_the_type_it_was_exported_for(tmp_path, dtype):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = PoincareLogisticRegression().fit(X, Y)
    export_onnx(model, tmp_path / "model.onnx", dtype=dtype)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    label, decision, probabilities = session.run(None, {"X": X.astype(dtype)})
    assert np.array_equal(label, model.predict(X))
    assert decision.dtype == probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities, model.predict_proba(X.astype(dtype)), rtol=1e-6)


def test_a_graph_of_another_type_is_rejected(tmp_path):
    with pytest.raises(ValueError, match="dtype must be"):
        export_onnx(PoincareLogisticRegression().fit(X, Y), tmp_path / "model.onnx", dtype="float16")


def test_a_missing_key_raises_a_two_line_error():
    anndata = pytest.importorskip("anndata")
    from hyplearn.single_cell import tl

    cells = anndata.AnnData(np.ones((60, 2)))
    with pytest.raises(KeyError) as caught:
        tl.classify(cells, "cell_type")
    assert "\\n" not in str(caught.value)
    assert "\n" in str(caught.value)


def test_a_title_with_a_lone_surrogate_is_supported(tmp_path):
    model = PoincareLogisticRegression().fit(X, Y)
    page = hyplearn.explore(model, X, Y, title="odd \ud800", path=tmp_path / "page.html")
    assert "<title>odd ?</title>" in page.html
