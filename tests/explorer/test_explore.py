"""Contents of a page: exact, compact and complete; and input that is rejected."""

import json
import os
import re
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

from hyplearn import ConformalClassifier, PoincareLogisticRegression, PoincareSVC, TangentSpace, explore
from hyplearn.decision import Decision, decision_of
from hyplearn.explorer.explore import script_json
from hyplearn.explorer.scene import typed_array
from hyplearn.plotting.palette import label_styles
from support.balls import cloud
from support.explored import decoded, model_of, scene_of


@pytest.fixture(scope="module")
def labelled():
    X = cloud(np.random.default_rng(0), 60, 2, 1.0)
    return X, np.where(X[:, 0] > 0.1, "right", "left")


@pytest.fixture(scope="module")
def softmax(labelled):
    return PoincareLogisticRegression().fit(*labelled)


def test_points_are_encoded_without_loss_up_to_the_rim(softmax):
    turns = np.linspace(0, 6, 20)
    X = (1 - 10.0 ** -np.linspace(1, 15, 20))[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    points = scene_of(explore(softmax, X))["points"]
    assert np.array_equal(np.stack([decoded(points["x"]), decoded(points["y"])], axis=1), X)


def test_typed_arrays_round_trip():
    for dtype in ("<f8", "<f4", "<u4", "<u2", "|u1"):
        values = np.arange(5).astype(dtype)
        assert np.array_equal(decoded(typed_array(values, dtype)), values)


def test_json_of_any_text_is_escaped_and_round_trips():
    texts = ["</script>", "<!--", "]]>", "&amp;", "\u2028\u2029", "Möbius", '"\\', "\x00\x1f", "{{title}}"]
    text = script_json(texts)
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == texts
    assert json.loads(script_json("\ud800")) == "\ud800"  # a lone surrogate, which cannot be written to a file
    script_json("\ud800").encode("utf-8")


def test_the_page_is_self_contained(softmax, labelled):
    text = explore(softmax, *labelled).html
    # Except the SVG namespace, which is not an address, and references within a picture.
    assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|//cdn|@import|url\((?!#)", text)
    assert "connect-src" not in text
    assert "default-src 'none'" in text
    assert not re.search(r"\{\{\w+\}\}", text)


def test_colours_match_the_plots_and_classes_beyond_the_model_come_last(softmax, labelled):
    X, _ = labelled
    found = scene_of(explore(softmax, X[:3], ["left", "up", "right"]))
    assert found["classes"] == ["left", "right", "up"]
    for ground in ("light", "dark"):
        styles = label_styles(found["classes"], dark=ground == "dark").values()
        assert [(one[ground], one["shape"]) for one in found["styles"]] == list(styles)
    assert found["known"] == 2
    assert decoded(found["labels"]).tolist() == [0, 2, 1]


def test_predictions_and_confidences_match_the_estimator(softmax, labelled):
    X, y = labelled
    found = model_of(explore(softmax, X, y))
    assert np.array_equal(softmax.classes_[decoded(found["predicted"])], softmax.predict(X))
    assert np.array_equal(decoded(found["confidence"]), softmax.predict_proba(X).max(axis=1).astype("f4"))
    assert found["top"] is None


def test_fifty_thousand_points_make_a_page_of_less_than_two_megabytes(softmax):
    X = cloud(np.random.default_rng(0), 50_000, 2, 1.0)
    page = explore(softmax, X, softmax.predict(X))
    assert len(page.html.encode()) < 2e6


def test_a_page_without_probabilities_says_so(labelled):
    X, y = labelled
    stream = PoincareSVC("origin", loss="hinge").partial_fit(X, y, classes=["left", "right"])
    found = model_of(explore(stream, X, y))
    assert found["confidence"] is None
    assert found["decision"]["slopes"] is None


def test_searches_pipelines_and_named_columns_are_supported(labelled):
    X, y = labelled
    search = GridSearchCV(PoincareLogisticRegression(), {"C": [1, 10]}, cv=2).fit(X, y)
    assert model_of(explore(search, X, y))["decision"]["link"] == "sphere"
    frame = pd.DataFrame(X, columns=["u", "v"])
    pipeline = make_pipeline(TangentSpace(), LogisticRegression()).fit(frame, y)
    found = model_of(explore(pipeline, frame, y))
    assert found["decision"] is None
    assert found["table"]["size"] == 512
    probabilities = decoded(found["top"]["probabilities"]).reshape(-1, found["top"]["per_point"])
    assert np.allclose(probabilities, np.sort(pipeline.predict_proba(frame), axis=1)[:, ::-1], atol=1e-6)


def test_a_subclass_with_its_own_predict_is_shown_by_its_predictions(labelled):
    class Contrary(PoincareLogisticRegression):
        def predict(self, X):
            return np.array(["left"] * len(X))

    model = Contrary().fit(*labelled)
    assert not isinstance(decision_of(model), Decision)
    codes = decoded(model_of(explore(model, *labelled))["table"]["codes"])
    assert set(codes) == {0, 65535}


def test_a_subclass_with_its_own_probabilities_is_shown_with_them(labelled):
    class Cautious(PoincareSVC):
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    found = model_of(explore(Cautious().fit(*labelled), *labelled))
    assert found["decision"] is None
    assert np.all(decoded(found["top"]["probabilities"]) == 0.5)


def test_saving_replaces_a_page_atomically(softmax, labelled, tmp_path, monkeypatch):
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
        ({"names": ["one"]}, r"names must have one string for each of the 60 rows of X; got shape \(1,\)"),
        ({"names": "sixty"}, "names must have one string"),
        ({"edges": [[0, 60]]}, "edges must contain row numbers from 0 to 59"),
        ({"curvature": -2.0}, "was fitted with curvature=-1.0"),
        ({"of": "test"}, 'The parameter `of` must be "training" or "held-out"; got \'test\''),
        ({"columns": [1, 2]}, "columns must be a mapping of names to values, or a data frame; got list"),
        ({"palette": ["red"]}, "palette must be a mapping of labels to colours; got list"),
        ({"palette": {"ash": "reddish"}}, "'reddish' in palette is not a colour"),
        (
            {"columns": {"depth": [1, 2]}},
            r"Column 'depth' must have one value for each of the 60 rows of X; got shape \(2,",
        ),
        (
            {"parents": [0, 1]},
            r"parents must have one row number \(0 to 59, .* got dtype int64 and shape \(2,\)",
        ),
        ({"parents": np.full(60, 60)}, "from 60 to 60"),
        ({"parents": np.full(60, 0.5)}, "got dtype float64"),
    ],
)
def test_bad_input_raises_a_clear_error(softmax, labelled, change, message):
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


def test_a_palette_colours_classes_and_categories_and_others_keep_their_default(softmax, labelled):
    X, y = labelled
    first, *others = np.unique(y).tolist()
    columns = {"same": y, "side": np.where(X[:, 1] > 0, "above", "below")}
    plain = scene_of(explore(softmax, X, y, columns=columns))
    scene = scene_of(explore(softmax, X, y, columns=columns, palette={first: "red", "side": {"above": "#00Ff00"}}))
    assert scene["styles"] == [{"light": "#ff0000", "dark": "#ff0000", "shape": "circle"}, *plain["styles"][1:]]
    same, side = (column["styles"] for column in scene["columns"])
    assert same == scene["styles"][: 1 + len(others)]  # categories with the name of a class
    assert side == [{"light": "#00Ff00", "dark": "#00Ff00", "shape": "circle"}, plain["columns"][1]["styles"][1]]


def test_sets_and_answers_of_a_conformal_classifier_are_columns_with_the_styles_of_classes(labelled):
    X, y = labelled
    names = np.unique(y).tolist()
    tree = dict.fromkeys(names, "plant")
    model = ConformalClassifier(PoincareLogisticRegression(), coverage=0.6, hierarchy=tree, folds=2).fit(X, y)
    scene = scene_of(explore(model, X, y))
    columns = {one["name"]: one for one in scene["columns"]}
    assert list(columns) == ["set", "set size", "unknown", "answer"]
    for name in ("set", "answer"):
        styles = dict(zip(columns[name]["categories"], columns[name]["styles"], strict=True))
        assert [styles[label] for label in names] == scene["styles"]
        assert styles["unknown"]["shape"] == "cross"
        different = [tuple(style.values()) for style in styles.values()]
        assert len(set(different)) == len(different)
    found = np.array(columns["set"]["categories"])[decoded(columns["set"]["codes"])]
    assert np.array_equal(found == "unknown", ~model.predict_set(X).any(axis=1))


def test_columns_of_a_data_frame_are_numbers_or_categories(softmax, labelled):
    X, y = labelled
    frame = pd.DataFrame({"depth": np.arange(60), "share": np.linspace(0, 1, 60), "is old": np.arange(60) > 30, 4: y})
    found = scene_of(explore(softmax, X, y, columns=frame))["columns"]
    assert [(one["name"], one["kind"]) for one in found] == [
        ("depth", "number"), ("share", "number"), ("is old", "category"), ("4", "category"),
    ]  # fmt: skip
    assert decoded(found[0]["values"]).tolist() == list(range(60))
    assert found[2]["categories"] == ["False", "True"]
    assert [found[3]["categories"][code] for code in decoded(found[3]["codes"])] == y.tolist()


def test_parents_are_edges_and_a_root_has_none(softmax, labelled):
    X, y = labelled
    edges = decoded(scene_of(explore(softmax, X[:4], y[:4], parents=[-1, 0, 0, 3]))["edges"])
    assert edges.reshape(-1, 2).tolist() == [[1, 0], [2, 0]]


def test_a_page_shows_one_model_or_two(softmax, labelled):
    for models in ([], [softmax] * 3):
        with pytest.raises(ValueError, match="one or two models; got"):
            explore(models, *labelled)
    names = [one["name"] for one in scene_of(explore((softmax, softmax), *labelled))["models"]]
    assert names == ["PoincareLogisticRegression 1", "PoincareLogisticRegression 2"]


def test_a_page_reports_its_size(softmax, labelled):
    page = explore(softmax, *labelled)
    assert f'data-size="{len(page.html.encode()) / 1e6:.1f} MB"' in page.html


def test_a_selection_is_a_sorted_array_of_rows_and_part_of_the_page(softmax, labelled):
    page = explore(softmax, *labelled)
    assert page.selection.dtype == np.int64
    assert page.selection.size == 0
    page.selection = [7, 3, 7]
    assert page.selection.tolist() == [3, 7]
    assert '<script type="application/json" id="selection">[3,7]</script>' in page.html
    page.selection = np.arange(60) > 57
    assert page.selection.tolist() == [58, 59]
    for wrong in ([60], [-1], [0.5], [[1, 2]], np.ones(3, dtype=bool)):
        with pytest.raises(ValueError, match="selection must be row numbers of X, from 0 to 59"):
            page.selection = wrong
    assert page.selection.tolist() == [58, 59]


class Anywidget:
    """Replacement for anywidget, with attributes that both Python and a notebook can set."""

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def _repr_mimebundle_(self, **_):
        return {"application/vnd.jupyter.widget-view+json": {}}


class Trait:
    def __init__(self, *_):
        pass

    def tag(self, **_):
        return self


def test_with_anywidget_a_notebook_and_python_share_the_selection(softmax, labelled, monkeypatch, widget_source):
    monkeypatch.setitem(sys.modules, "anywidget", types.SimpleNamespace(AnyWidget=Anywidget))
    monkeypatch.setitem(sys.modules, "traitlets", types.SimpleNamespace(Unicode=Trait, Int=Trait, Bytes=Trait))
    page = explore(softmax, *labelled)
    page.selection = [1]
    assert "application/vnd.jupyter.widget-view+json" in page._repr_mimebundle_()
    widget = page.widget()
    assert page.widget() is widget
    assert type(widget)._esm == widget_source
    assert widget.html == page.html
    assert widget.selection == bytes([1, 0, 0, 0])
    widget.selection = bytes([2, 0, 0, 0, 0, 0, 0, 0])  # from the notebook
    assert page.selection.tolist() == [0, 2]
    page.selection = [58]
    assert widget.selection == bytes([58, 0, 0, 0])


def test_without_anywidget_a_notebook_shows_the_page_and_an_error_names_the_package_to_install(
    softmax, labelled, monkeypatch
):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    page = explore(softmax, *labelled)
    assert page._repr_mimebundle_() == {}
    with pytest.raises(ImportError, match=r"pip install 'hyplearn\[notebook\]'"):
        page.widget()
