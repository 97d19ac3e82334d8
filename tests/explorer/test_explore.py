"""What Python puts into a page: exact, compact, whole; and what it refuses."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

from hyplearn import PoincareLogisticRegression, PoincareSVC, TangentSpace, explore
from hyplearn.decision import Decision, decision_of
from hyplearn.explorer.explore import script_json
from hyplearn.explorer.scene import typed_array
from hyplearn.plotting.palette import LIGHT
from support.balls import cloud
from support.explored import decoded, scene_of


@pytest.fixture(scope="module")
def labelled():
    X = cloud(np.random.default_rng(0), 60, 2, 1.0)
    return X, np.where(X[:, 0] > 0.1, "right", "left")


@pytest.fixture(scope="module")
def softmax(labelled):
    return PoincareLogisticRegression().fit(*labelled)


def test_points_travel_without_loss_up_to_the_rim(softmax):
    turns = np.linspace(0, 6, 20)
    X = (1 - 10.0 ** -np.linspace(1, 15, 20))[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    points = scene_of(explore(softmax, X))["points"]
    assert np.array_equal(np.stack([decoded(points["x"]), decoded(points["y"])], axis=1), X)


def test_typed_arrays_are_what_they_were():
    for dtype in ("<f8", "<f4", "<u4", "<u2"):
        values = np.arange(5).astype(dtype)
        assert np.array_equal(decoded(typed_array(values, dtype)), values)


def test_json_of_any_text_stays_inside_its_script_and_reads_back():
    texts = ["</script>", "<!--", "]]>", "&amp;", "\u2028\u2029", "Möbius", '"\\', "\x00\x1f", "{{title}}"]
    text = script_json(texts)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == texts
    assert json.loads(script_json("\ud800")) == "\ud800"  # half a pair, which no file could hold as it is
    script_json("\ud800").encode("utf-8")


def test_the_page_needs_nothing_from_elsewhere(softmax, labelled):
    text = explore(softmax, *labelled).html
    assert not re.search(r"https?:|//cdn|@import|url\(", text)
    assert "connect-src" not in text
    assert "default-src 'none'" in text
    assert not re.search(r"\{\{\w+\}\}", text)


def test_colours_are_those_of_the_plots_and_classes_beyond_the_model_come_last(softmax, labelled):
    X, _ = labelled
    found = scene_of(explore(softmax, X[:3], ["left", "up", "right"]))
    assert found["classes"] == ["left", "right", "up"]
    assert found["colours"] == list(LIGHT[:3])
    assert found["known"] == 2
    assert decoded(found["labels"]).tolist() == [0, 2, 1]


def test_predictions_and_confidences_are_those_of_the_estimator(softmax, labelled):
    X, y = labelled
    found = scene_of(explore(softmax, X, y))
    assert np.array_equal(softmax.classes_[decoded(found["predicted"])], softmax.predict(X))
    assert np.array_equal(decoded(found["confidence"]), softmax.predict_proba(X).max(axis=1).astype("f4"))
    assert found["top"] is None


def test_fifty_thousand_points_make_a_page_of_less_than_two_megabytes(softmax):
    X = cloud(np.random.default_rng(0), 50_000, 2, 1.0)
    page = explore(softmax, X, softmax.predict(X))
    assert len(page.html.encode()) < 2e6


def test_a_stream_without_probabilities_says_so(labelled):
    X, y = labelled
    stream = PoincareSVC("origin", loss="hinge").partial_fit(X, y, classes=["left", "right"])
    found = scene_of(explore(stream, X, y))
    assert found["confidence"] is None
    assert found["decision"]["slopes"] is None


def test_searches_pipelines_and_named_columns_are_welcome(labelled):
    X, y = labelled
    search = GridSearchCV(PoincareLogisticRegression(), {"C": [1, 10]}, cv=2).fit(X, y)
    assert scene_of(explore(search, X, y))["decision"]["link"] == "sphere"
    frame = pd.DataFrame(X, columns=["u", "v"])
    pipeline = make_pipeline(TangentSpace(), LogisticRegression()).fit(frame, y)
    found = scene_of(explore(pipeline, frame, y))
    assert found["decision"] is None
    assert found["table"]["size"] == 512
    probabilities = decoded(found["top"]["probabilities"]).reshape(-1, found["top"]["per_point"])
    assert np.allclose(probabilities, np.sort(pipeline.predict_proba(frame), axis=1)[:, ::-1], atol=1e-6)


def test_a_subclass_may_decide_otherwise_and_is_shown_by_its_predictions(labelled):
    class Contrary(PoincareLogisticRegression):
        def predict(self, X):
            return np.array(["left"] * len(X))

    model = Contrary().fit(*labelled)
    assert not isinstance(decision_of(model), Decision)
    codes = decoded(scene_of(explore(model, *labelled))["table"]["codes"])
    assert set(codes) == {0, 65535}


def test_a_subclass_with_probabilities_of_its_own_is_shown_with_these(labelled):
    class Cautious(PoincareSVC):
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    found = scene_of(explore(Cautious().fit(*labelled), *labelled))
    assert found["decision"] is None
    assert np.all(decoded(found["top"]["probabilities"]) == 0.5)


def test_saving_replaces_a_page_whole_or_not_at_all(softmax, labelled, tmp_path, monkeypatch):
    page = explore(softmax, *labelled, path=tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    (tmp_path / "page.html").write_text("before")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        page.save(tmp_path / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "before"


def test_representations_are_short_in_a_terminal_and_framed_in_a_notebook(softmax, labelled):
    page = explore(softmax, *labelled)
    assert re.fullmatch(r"<Explorer: a page of 0\.\d MB; save\(path\) writes it>", repr(page))
    framed = page._repr_html_()
    assert framed.startswith("<iframe ")
    assert "<script" not in framed
    assert 'sandbox="allow-scripts allow-downloads"' in framed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[0.5, 0.0], [1.2, 0.0]], "y": ["left", "left"]}, "1 of 2 points lies outside"),
        ({"X": [[0.5, 0.0, 0.1]], "y": ["left"]}, "X must have 2 coordinates"),
        ({"X": [[0.5, np.nan]], "y": ["left"]}, "finite"),
        ({"y": ["left"]}, "y must hold one label for each of the 60 rows"),
        ({"names": ["one"]}, r"names must hold one string for each of the 60 rows of X; got shape \(1,\)"),
        ({"names": "sixty"}, "names must hold one string"),
        ({"edges": [[0, 60]]}, "edges must name rows of X, 0 to 59"),
        ({"curvature": -2.0}, "was fitted with curvature=-1.0"),
    ],
)
def test_bad_input_is_named(softmax, labelled, change, message):
    given = {"X": labelled[0], "y": labelled[1]} | change
    with pytest.raises(ValueError, match=message):
        explore(softmax, given.pop("X"), given.pop("y"), **given)


def test_only_fitted_classifiers_are_shown(labelled):
    with pytest.raises(NotFittedError):
        explore(PoincareSVC(), *labelled)
    with pytest.raises(ValueError, match="needs a classifier with predict and classes_; got SVR"):
        explore(SVR().fit(labelled[0], np.zeros(60)), *labelled)


def test_exploring_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import hyplearn\n"
        "model = hyplearn.PoincareLogisticRegression().fit([[0.5, 0.1], [-0.5, 0.2]], [0, 1])\n"
        "print(len(hyplearn.explore(model, [[0.1, 0.2]]).html) > 10_000)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "True"
