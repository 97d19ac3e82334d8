"""Tools of a page (find, colour, select, save, compare), checked against Python."""

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from matplotlib.path import Path as Curve
from selenium.webdriver.common.keys import Keys
from sklearn.neighbors import KNeighborsClassifier

from hyplearn import ConformalClassifier, PoincareLogisticRegression, PoincareSVC, explore
from hyplearn.geometry import distance, geodesic
from support.balls import cloud
from support.explored import rgb, scene_of, waited
from support.luminance import contrast
from support.printed import page_sizes, pictures

DOCS = Path(__file__).resolve().parents[2] / "docs"
N = 150
HOSTILE = '</script><img src=x onerror="window.hacked=1"><b>\'&amp;{{scene}}\u2028'
LASSO = np.array([[200, 150], [420, 130], [450, 330], [330, 260], [230, 400]])


def three():
    """Three overlapping classes."""
    rng = np.random.default_rng(3)
    X = cloud(rng, N, 2, 1.2)
    scores = X @ [[1, -1, 0.2], [0.3, 0, -1]] + [0, 0.1, 0.05] + 0.15 * rng.standard_normal((N, 3))
    return X, np.array(["ant", "bee", "cat"])[np.argmax(scores, axis=1)]


X, Y = three()
TWO = np.where(Y == "ant", "ant", "other insect")
NAMES = [f"animal {i}" for i in range(N)]
SOFTMAX = PoincareLogisticRegression().fit(X, Y)
VALUES = np.where(np.arange(N) % 10 == 0, np.nan, X[:, 0] - 1.5)
KINDS = pd.Categorical(np.where(X[:, 1] > 0.2, "up", "down"), categories=["up", "down", "nowhere"])
COLUMNS = {"height": VALUES, "kind": KINDS, "=odd name": [None if i % 7 == 0 else f"={i % 3}" for i in range(N)]}


@pytest.fixture(scope="module")
def page():
    parents = np.r_[-1, np.arange(N - 1) // 2]
    return explore(SOFTMAX, X, Y, names=NAMES, columns=COLUMNS, parents=parents, title="Animals")


def test_a_search_suggests_names_and_flies_to_the_point_along_a_geodesic(browser, tmp_path, page):
    browser.open(page, tmp_path)
    browser.keys("#search", "mal 12")
    texts = browser.run("return [...document.querySelectorAll('#suggestions li')].map((one) => one.textContent)")
    assert texts == ["animal 12", *(f"animal {i}" for i in range(120, 127))]
    browser.run("window.seen = []; const note = () => { seen.push(hyplearnExplorer.state().centre); "
                "window.watch = requestAnimationFrame(note); }; note()")  # fmt: skip
    browser.keys("#search", Keys.ARROW_DOWN, Keys.ENTER)
    state = browser.ask("state()")
    assert state["pinned"] == 120
    assert np.allclose(state["centre"], X[120])
    assert "animal 120" in browser.text("card")
    seen = np.array(browser.run("cancelAnimationFrame(window.watch); return window.seen"))
    # A geodesic from the origin is a straight line in the disk.
    assert np.abs(seen @ [-X[120][1], X[120][0]]).max() < 1e-12
    between = browser.run("return hyplearnExplorer.geometry.between(...arguments)", X[3].tolist(), X[5].tolist(), 0.3)
    assert np.allclose(between, geodesic(X[3], X[5], 0.3))
    browser.keys("#search", Keys.CONTROL + "a" + Keys.NULL, "zebra")
    assert browser.text("suggestions") == "No such point"


def test_a_search_shows_a_point_that_was_hidden(browser, tmp_path):
    browser.open(explore(SOFTMAX, X, Y), tmp_path)
    browser.click("#legend li:nth-child(1) button")
    i = int(np.flatnonzero(Y == "ant")[0])
    browser.keys("#search", f"point {i}", Keys.ENTER)
    assert browser.ask("state().pinned") == i
    assert browser.ask("state().hidden") == []


def test_colours_have_the_values_that_python_computes(browser, tmp_path, page):
    browser.open(page, tmp_path)
    values = lambda key: np.array(browser.ask(f"values('{key}')"), dtype=float)  # noqa: E731
    predicted = SOFTMAX.predict(X)
    codes = np.searchsorted(SOFTMAX.classes_, predicted)
    assert np.array_equal(values("class"), np.searchsorted(SOFTMAX.classes_, Y))
    assert np.array_equal(values("predicted"), codes)
    assert np.array_equal(values("right"), predicted != Y)
    assert np.allclose(values("probability"), SOFTMAX.predict_proba(X).max(axis=1), atol=1e-6)
    scores = np.sort(SOFTMAX.decision_function(X), axis=1)
    assert np.allclose(values("lead"), scores[:, -1] - scores[:, -2], atol=1e-5)
    assert np.allclose(values("column1"), VALUES, atol=1e-6, equal_nan=True)
    assert np.array_equal(values("column2"), KINDS.codes)
    columns = scene_of(page)["columns"]
    assert columns[1]["categories"] == ["up", "down", "nowhere"]
    assert columns[2]["categories"] == ["=0", "=1", "=2", "missing"]


def test_margins_and_sets_can_be_coloured_by(browser, tmp_path):
    svc = PoincareSVC("means", folds=2).fit(X, TWO)
    browser.open(explore(svc, X, TWO), tmp_path)
    assert np.allclose(browser.ask("values('lead')"), np.abs(svc.distances(X)[:, 0]), atol=1e-5)
    assert "distance to the boundary" in browser.text("colour")
    conformal = ConformalClassifier(KNeighborsClassifier(9), folds=2).fit(X, Y)
    browser.open(explore(conformal, X, Y), tmp_path)
    sizes = conformal.predict_set(X).sum(axis=1)
    assert browser.ask("values('column2')") == sizes.tolist()
    best = np.sort(conformal.predict_proba(X), axis=1)
    assert np.allclose(browser.ask("values('lead')"), best[:, -1] - best[:, -2], atol=1e-6)
    browser.choose("colour", "column2")
    assert f"set size{sizes[4]}" in browser.ask("told(4).text")


def clear_points(browser, apart=14):
    places = browser.screen(X)
    away = np.linalg.norm(places[:, None] - places, axis=-1) + 1e9 * np.eye(N)
    return np.flatnonzero((away.min(axis=1) > apart) & (np.linalg.norm(X, axis=1) < 0.9)), places


def test_numbers_are_coloured_with_a_labelled_ramp_and_missing_values_are_grey(browser, tmp_path, page):
    browser.open(page, tmp_path)
    browser.choose("colour", "column1")
    low, high = np.nanmin(VALUES), np.nanmax(VALUES)
    assert browser.text("colouring") == f"{float(f'{low:.4g}')}{float(f'{high:.4g}')}15 missing, in grey"
    ramp = np.array(browser.ask("ramp()"))
    rows, places = clear_points(browser)
    assert len(rows) > 20
    for i, colour in zip(rows, browser.pixels(places[rows])[:, :3], strict=True):
        step = min(255, int((VALUES[i] - low) / (high - low) * 256)) if np.isfinite(VALUES[i]) else None
        near = [rgb("#8A8A8A")] if step is None else ramp[max(0, step - 1) : step + 2]
        assert np.abs(np.asarray(near) - colour).max(axis=1).min() <= 1


def test_a_lasso_selects_what_lies_inside_its_curve(browser, tmp_path, page):
    browser.open(page, tmp_path)
    places = browser.screen(X)
    inside = Curve(LASSO).contains_points(places)
    assert 10 < inside.sum() < N - 10
    browser.click("[data-tool=lasso]")
    browser.drag(*LASSO)
    assert browser.ask("state().selection") == np.flatnonzero(inside).tolist()
    assert browser.text("selected") == f"{inside.sum()} points selected"
    counts = {label: int(np.sum(Y[inside] == label)) for label in np.unique(Y[inside])}
    parts = "(one) => [...one.children].map((part) => part.textContent)"
    lines = browser.run(f"return [...document.querySelectorAll('#selected-classes li')].map({parts})")
    assert {name: int(count) for name, count in lines} == counts
    # Shift adds a box, Alt removes one; the disk itself has not moved.
    x, y = places.T
    browser.click("[data-tool=box]")
    browser.drag([300, 300], [500, 500], key=Keys.SHIFT)
    more = inside | ((x > 300) & (x < 500) & (y > 300) & (y < 500))
    assert more.sum() > inside.sum()
    assert browser.ask("state().selection") == np.flatnonzero(more).tolist()
    browser.drag([250, 100], [400, 320], key=Keys.ALT)
    fewer = more & ~((x > 250) & (x < 400) & (y > 100) & (y < 320))
    assert fewer.sum() < more.sum()
    assert browser.ask("state().selection") == np.flatnonzero(fewer).tolist()
    assert browser.ask("state().centre") == [0, 0]
    browser.click("#invert")
    assert browser.ask("state().selection") == np.flatnonzero(~fewer).tolist()
    browser.click("#clear")
    assert browser.ask("state().selection") == []


def test_hidden_points_are_not_selected_and_touch_can_extend_a_selection(browser, tmp_path, page):
    browser.resize(390, 844, touch=True)
    browser.open(page, tmp_path)
    browser.run("document.querySelector('#legend li:nth-child(2) button').click()")
    browser.run("document.querySelector('[data-tool=box]').click()")
    x, y = browser.screen(X).T
    shown = Y != "bee"
    browser.swipe([[60, 60]], [[200, 200]])
    first = shown & (x > 60) & (x < 200) & (y > 60) & (y < 200)
    assert browser.ask("state().selection") == np.flatnonzero(first).tolist()
    browser.choose("how", "add")
    browser.swipe([[200, 200]], [[330, 300]])
    second = first | (shown & (x > 200) & (x < 330) & (y > 200) & (y < 300))
    assert browser.ask("state().selection") == np.flatnonzero(second).tolist()
    assert second.sum() > first.sum() > 0


def test_keys_select_points_too(browser, tmp_path, page):
    browser.open(page, tmp_path)
    i = int(np.argmin(distance(X, np.zeros(2))))
    browser.keys("#stage", "x")
    assert browser.ask("state().selection") == [i]
    browser.keys("#stage", "x")
    assert browser.ask("state().selection") == []
    browser.keys("#select-shown", Keys.ENTER)
    assert len(browser.ask("state().selection")) == N


STEP, FINE = 20, 4  # pixels per arrow key, without and with Shift
RIGHT, LEFT, UP, DOWN = Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_UP, Keys.ARROW_DOWN


def middle_of_stage(browser):
    left, top, right, bottom = browser.box("#stage")
    return np.array([(right - left) / 2, (bottom - top) / 2])


def test_a_box_is_drawn_with_keys(browser, tmp_path, page):
    browser.open(page, tmp_path)
    x, y = browser.screen(X).T
    cx, cy = middle_of_stage(browser)
    browser.keys("#stage", "b", 3 * LEFT, 2 * UP, Keys.SPACE)
    assert browser.is_shown("hint")
    assert "Arrow keys resize the box. Enter selects" in browser.text("hint")
    browser.keys("#stage", 10 * RIGHT, 6 * DOWN, Keys.SHIFT + 2 * RIGHT + Keys.NULL)
    left, top = cx - 3 * STEP, cy - 2 * STEP
    right, bottom = left + 10 * STEP + 2 * FINE, top + 6 * STEP
    edge = [((left + right) / 2, top), (right, (top + bottom) / 2)]
    assert all(
        browser.pixels(np.add(edge[k], [[d * k, d * (1 - k)] for d in (-1, 0, 1)]), "pen")[:, 3].any() for k in (0, 1)
    )
    inside = (x > left) & (x < right) & (y > top) & (y < bottom)
    assert 5 < inside.sum() < N - 5
    browser.keys("#stage", Keys.ENTER)
    assert browser.ask("state().selection") == np.flatnonzero(inside).tolist()
    # With Shift, the next box is added; the cursor is at the end of the last box.
    browser.keys("#stage", Keys.SPACE, 4 * RIGHT, 4 * DOWN, Keys.SHIFT + Keys.ENTER + Keys.NULL)
    more = inside | ((x > right) & (x < right + 4 * STEP) & (y > bottom) & (y < bottom + 4 * STEP))
    assert browser.ask("state().selection") == np.flatnonzero(more).tolist()
    browser.keys("#stage", Keys.SPACE, 14 * LEFT, 10 * UP, Keys.ALT + Keys.ENTER + Keys.NULL)
    fewer = more & ~(
        (x > right - 10 * STEP) & (x < right + 4 * STEP) & (y > bottom - 6 * STEP) & (y < bottom + 4 * STEP)
    )
    assert browser.ask("state().selection") == np.flatnonzero(fewer).tolist()
    assert browser.ask("state().centre") == [0, 0]


def test_a_lasso_is_drawn_with_keys_and_cancelled(browser, tmp_path, page):
    browser.open(page, tmp_path)
    places, at = browser.screen(X), middle_of_stage(browser)
    moves = [(-6, -4), (10, 1), (2, 8), (-5, -3), (-6, 5)]
    browser.keys(
        "#stage", "L", 6 * LEFT, 4 * UP, Keys.SPACE, 10 * RIGHT, DOWN, Keys.SPACE, 2 * RIGHT, 8 * DOWN, Keys.SPACE
    )
    browser.keys("#stage", 5 * LEFT, 3 * UP, Keys.SPACE, 6 * LEFT, 5 * DOWN)
    assert "4 corners; Space sets the next one" in browser.text("hint")
    inside = Curve(at + STEP * np.cumsum(moves, axis=0)).contains_points(places)
    assert 5 < inside.sum() < N - 5
    browser.keys("#stage", Keys.ENTER)
    assert browser.ask("state().selection") == np.flatnonzero(inside).tolist()
    browser.keys("#stage", Keys.SPACE, 9 * UP, Keys.SPACE, 9 * RIGHT, Keys.ESCAPE, Keys.ENTER)
    assert browser.ask("state().selection") == np.flatnonzero(inside).tolist()
    # Without a curve, Enter pins the point nearest to the cursor, and X adds it to the selection or removes it.
    cursor = at + STEP * np.sum([*moves, (9, -9)], axis=0)
    i = int(np.argmin(np.linalg.norm(places - cursor, axis=1)))
    assert browser.ask("state().pinned") == i
    inside[i] = not inside[i]
    browser.keys("#stage", "x", Keys.ESCAPE)
    assert browser.ask("state().selection") == np.flatnonzero(inside).tolist()
    browser.keys("#stage", "m", RIGHT)
    assert not browser.is_shown("hint")
    assert browser.ask("state().centre")[0] > 0


def test_keys_move_p_and_show_a_class_alone(browser, tmp_path):
    svc = PoincareSVC("means", folds=2).fit(X, TWO)
    browser.open(explore(svc, X, TWO), tmp_path)
    browser.keys("#stage", RIGHT, UP, "p")
    state = browser.ask("state()")
    assert state["isWhatIf"]
    assert np.allclose(state["p"], state["centre"])
    browser.run("document.querySelector('#legend li:nth-child(2) button').focus()")
    for hidden in ([0], []):
        browser._chain().key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()
        browser.rest()
        assert browser.ask("state().hidden") == hidden


def test_the_table_of_a_selection_has_its_points_and_escapes_formulas(browser, tmp_path, page):
    page.selection = [3, 7, 10, 21]
    browser.downloads(tmp_path)
    browser.open(page, tmp_path)
    page.selection = []
    assert browser.ask("state().selection") == [3, 7, 10, 21]
    browser.click("#csv")
    text = waited(tmp_path / "hyplearn-selection.csv").read_bytes().decode()
    assert text == browser.ask("csv()")
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["row", "name", "class", "predicted", "probability", "height", "kind", "'=odd name"]
    assert [row[0] for row in rows] == ["3", "7", "10", "21"]
    for row in rows:
        i = int(row[0])
        assert row[1:4] == [NAMES[i], Y[i], SOFTMAX.predict(X[i : i + 1])[0]]
        assert float(row[4]) == pytest.approx(SOFTMAX.predict_proba(X[i : i + 1]).max(), rel=1e-6)
        assert row[5] == "" if np.isnan(VALUES[i]) else float(row[5]) == pytest.approx(VALUES[i], rel=1e-6)
        assert row[6:] == [KINDS[i], "missing" if i % 7 == 0 else f"'={i % 3}"]
    assert float(rows[0][5]) < 0  # a negative number is not escaped as a formula


def test_a_link_opens_the_same_view(browser, tmp_path, page):
    browser.open(page, tmp_path)
    browser.drag([300, 300], [420, 260])
    browser.wheel([400, 300], -300)
    browser.choose("colour", "column1")
    browser.click("#legend li:nth-child(2) button")
    browser.keys("#sure", Keys.HOME + 90 * Keys.ARROW_RIGHT)
    before, link = browser.ask("state()"), browser.driver.current_url
    pixels = browser.pixels(np.mgrid[50:600:25, 50:600:25].reshape(2, -1).T)
    browser.driver.get("about:blank")
    browser.driver.get(link)
    browser.rest()
    assert browser.ask("state()") == before
    assert before["colour"] == "column1"
    assert before["hidden"] == [1]
    assert before["zoom"] > 1
    assert np.array_equal(browser.pixels(np.mgrid[50:600:25, 50:600:25].reshape(2, -1).T), pixels)


@pytest.mark.parametrize(
    "fragment",
    [
        "centre=2,0",
        "centre=NaN,0&zoom=9",
        "%00",
        "centre=0.1,0&zoom=1e9&colour=<img>&hidden=7,x,-1",
        "centre=0,0&selected=%F0%9F%98%80",
        "centre=0,0&selected=A",
        "centre=0,0&selected=AP__fw",  # a run of two million points
    ],
)
def test_an_invalid_link_is_ignored(browser, tmp_path, page, fragment):
    browser.driver.get(f"{page.save(tmp_path / 'page.html').as_uri()}#{fragment}")
    browser.rest()
    state = browser.ask("state()")
    assert np.hypot(*state["centre"]) < 1
    assert [state["zoom"], state["colour"], state["hidden"], state["selection"]] == [1, "class", [], []]


@pytest.mark.parametrize("rows", [[], [0], [N - 1], [3, 4, 5, 6, 80], range(N), range(0, N, 2)])
def test_a_link_opens_the_same_selection(browser, tmp_path, page, rows):
    page.selection = [1, 2]  # the default of the page, for links without a selection
    browser.open(page, tmp_path)
    page.selection = []
    assert "selected" not in browser.driver.current_url
    browser.run("hyplearnExplorer.select(arguments[0])", list(rows))
    browser.rest()
    link = browser.driver.current_url
    assert "selected=" in link
    browser.driver.get("about:blank")
    browser.driver.get(link)
    browser.rest()
    assert browser.ask("state().selection") == list(rows)


def test_a_selection_too_large_for_a_link_is_left_out_and_said_to_be(browser, tmp_path):
    rng = np.random.default_rng(0)
    points = cloud(rng, 20_000, 2, 1.0)
    browser.open(explore(SOFTMAX, points), tmp_path)
    few, many = np.sort(rng.choice(20_000, 1500, replace=False)), np.arange(0, 20_000, 2)
    browser.run("hyplearnExplorer.select(arguments[0])", few.tolist())
    browser.rest()
    link = browser.driver.current_url
    assert len(link.split("selected=")[1]) < 6000
    assert not browser.is_shown("left-out")
    browser.run("hyplearnExplorer.select(arguments[0])", many.tolist())
    browser.rest()
    assert "selected" not in browser.driver.current_url
    assert browser.is_shown("left-out")
    # Undo restores any selection, even if it is too long for a link.
    browser.run("hyplearnExplorer.select([])")
    browser.rest()
    browser.click("#undo")
    assert browser.ask("state().selection") == many.tolist()
    browser.click("#undo")
    assert browser.ask("state().selection") == few.tolist()
    assert browser.driver.current_url == link
    browser.click("#redo")
    assert browser.ask("state().selection") == many.tolist()


def test_views_can_be_undone_and_redone(browser, tmp_path, page):
    browser.open(page, tmp_path)
    states = [browser.ask("state()")]
    browser.drag([300, 300], [420, 260])
    states.append(browser.ask("state()"))
    browser.choose("colour", "probability")
    states.append(browser.ask("state()"))
    browser.click("#undo")
    assert browser.ask("state()") == states[1]
    browser.keys("body", Keys.CONTROL + "z" + Keys.NULL)
    assert browser.ask("state()") == states[0]
    assert not browser.find("#undo").is_enabled()
    browser.click("#redo")
    browser.click("#redo")
    assert browser.ask("state()") == states[2]
    assert not browser.find("#redo").is_enabled()


RENDER = """
const done = arguments[arguments.length - 1];
hyplearnExplorer.svg(arguments[0]).then((text) => {
  const picture = new Image();
  picture.onload = () => {
    const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    canvas.drawImage(picture, 0, 0);
    const { data, width } = canvas.getImageData(0, 0, picture.width, picture.height);
    done([text, arguments[1].map(([x, y]) => [...data.slice(4 * (y * width + x), 4 * (y * width + x) + 3)])]);
  };
  picture.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
});"""


def test_vector_graphics_show_what_the_page_shows_with_text_as_text(browser, tmp_path):
    labels = np.where(Y == "ant", HOSTILE, Y)
    model = PoincareLogisticRegression().fit(X, labels)
    browser.open(explore(model, X, labels, title="Tom & <Jerry>"), tmp_path)
    browser.drag([300, 300], [380, 280])
    places = np.mgrid[40:640:15, 60:660:15].reshape(2, -1).T
    width = browser.run("return document.getElementById('pixels').width") + 230
    text, colours = browser.driver.execute_async_script(RENDER, width, places.tolist())
    found = ElementTree.fromstring(text)
    words = [one.text for one in found.iter("{http://www.w3.org/2000/svg}text")]
    assert "Tom & <Jerry>" in words
    assert any(word.startswith(HOSTILE[:27]) for word in words)
    assert found.get("width") == str(width)
    assert not list(found.iter("{http://www.w3.org/2000/svg}image"))
    same = np.abs(browser.pixels(places)[:, :3] - np.array(colours)).max(axis=1) <= 3
    assert same.mean() > 0.96


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_pictures_have_the_size_that_was_chosen(browser, tmp_path, page, kind):
    browser.downloads(tmp_path)
    browser.open(page, tmp_path)
    browser.click("#picture")
    browser.choose("keep-kind", kind)
    browser.run("document.getElementById('keep-width').value = 1234")
    browser.click("#keep-save")
    file = waited(tmp_path / f"hyplearn-explorer.{kind}")
    if kind == "svg":
        assert ElementTree.fromstring(file.read_text()).get("width") == "1234"
        return
    image = imread(file)
    assert image.shape[1] == 1234
    assert np.unique(image[..., :3].reshape(-1, 3), axis=0).shape[0] > 50


def test_two_models_are_shown_side_by_side_with_one_view(browser, tmp_path):
    other = KNeighborsClassifier(15).fit(X, Y)
    browser.open(explore([SOFTMAX, other], X, Y, names=NAMES), tmp_path)
    disagree = SOFTMAX.predict(X) != other.predict(X)
    assert disagree.any()
    assert browser.text("disagree-count") == str(disagree.sum())
    assert np.array_equal(np.array(browser.ask("values('agree')")), disagree)
    wrongs = [int(np.sum(model.predict(X) != Y)) for model in (SOFTMAX, other)]
    assert browser.ask("state().counts.wrongs") == wrongs
    for k, model in enumerate((SOFTMAX, other)):
        facts = browser.run(f"return [...Array({N}).keys()].map((i) => hyplearnExplorer.facts(i, {k}).predicted)")
        assert np.array_equal(model.classes_[facts], model.predict(X))
        assert f"{type(model).__name__}: {100 * model.score(X, Y):.1f} % of these points" in browser.text("accuracy")
    left, top, *_ = browser.box("#stage2")
    browser.drag([left + 150, top + 300], [left + 190, top + 280])
    assert browser.ask("state().centre") != [0, 0]
    # The regions of each model are its own predictions, with stripes exactly where the models disagree.
    V = cloud(np.random.default_rng(1), 300, 2, 1.0)
    browser.click("#reset")
    codes = [np.array(browser.map("classOf", [[*v, k] for v in V])) for k in (0, 1)]
    assert np.array_equal(SOFTMAX.classes_[codes[0]], SOFTMAX.predict(V))
    browser.click("#disagree")
    assert browser.ask("state().counts.shown") == disagree.sum()
    with pytest.raises(ValueError, match="must have the same classes and the same curvature"):
        explore([SOFTMAX, PoincareLogisticRegression().fit(X, TWO)], X, Y)


def test_stripes_mark_where_two_models_disagree(browser, tmp_path):
    other = PoincareLogisticRegression(C=1e-3).fit(X, Y)
    browser.open(explore([SOFTMAX, other], X[:2], Y[:2]), tmp_path)
    width, height = browser.run("const c = document.getElementById('pixels'); return [c.width, c.height]")
    radius = min(width, height) / 2 - 14
    places = np.mgrid[0:width:3, 0:height:3].reshape(2, -1).T + 0.5
    V = (places - [width / 2, height / 2]) / radius * [1, -1]
    inside = np.linalg.norm(V, axis=1) < 0.95
    differ = SOFTMAX.predict(V[inside]) != other.predict(V[inside])
    assert 0.05 < differ.mean() < 0.9
    before = browser.pixels(places[inside])[:, :3]
    browser.click("#disputed")
    changed = np.any(before != browser.pixels(places[inside])[:, :3], axis=1)
    assert not np.any(changed & ~differ)
    assert 0.35 < changed[differ].mean() < 0.65


def test_forty_classes_differ_in_colour_or_shape_and_stand_out_from_the_ground(browser, tmp_path):
    rng = np.random.default_rng(0)
    points = cloud(rng, 400, 2, 1.0)
    labels = np.array([f"class {k}" for k in range(40)])[np.arange(400) % 40]
    browser.open(explore(KNeighborsClassifier(3).fit(points, labels), points, labels), tmp_path)
    for scheme, ground in (("light", "#FFFFFF"), ("dark", "#191C22")):
        browser.resize(1000, 760, scheme=scheme)
        browser.next_frames()
        assert browser.ask("state().isDark") == (scheme == "dark")
        styles = browser.ask("styles()")
        assert len({(*style["colour"], style["shape"]) for style in styles}) == 40
        assert min(contrast(style["colour"], rgb(ground)) for style in styles) >= 3
    assert browser.run("return document.querySelectorAll('#legend polygon').length") >= 30


def test_the_legend_is_on_the_first_screen_and_a_long_one_scrolls(browser, tmp_path):
    browser.resize(1440, 800)
    for many in (13, 40):
        labels = np.array([f"class {k}" for k in range(many)])[np.arange(N) % many]
        model = PoincareLogisticRegression(C=1.0).fit(X, labels)
        browser.open(explore(model, X, labels, title="A title of two lines in the panel"), tmp_path)
        assert browser.box("#legend")[1] < 400
        assert (browser.box("#legend li:last-child")[3] <= 800) == (many == 13)
        # The controls below follow within a screen, however many classes there are.
        assert browser.box("#selecting")[1] < 1200


def legend(browser):
    script = "return [...document.querySelectorAll('#legend li')].map((one) => one.querySelector('.name').textContent)"
    return browser.run(script)


def test_the_legend_can_be_sorted_and_searched(browser, tmp_path):
    labels = np.array([f"class {k}" for k in range(12)])[np.minimum(np.arange(N) // 7, 11)]
    browser.open(explore(KNeighborsClassifier(3).fit(X, labels), X, labels), tmp_path)
    sizes = {str(label): int(np.sum(labels == label)) for label in np.unique(labels)}
    assert legend(browser) == sorted(sizes)
    browser.choose("sort", "name")
    assert legend(browser) == [f"class {k}" for k in range(12)]
    browser.choose("sort", "count")
    assert legend(browser)[0] == "class 11"
    browser.run("const one = document.getElementById('seek'); one.value = '1'; one.dispatchEvent(new Event('input'))")
    assert sorted(legend(browser)) == ["class 1", "class 10", "class 11"]
    assert browser.run("return document.querySelector('#legend .count').textContent") == str(sizes["class 11"])


@pytest.mark.parametrize("model", [SOFTMAX, KNeighborsClassifier(9).fit(X, Y)], ids=["own", "foreign"])
def test_pointing_at_a_class_fades_the_others(browser, tmp_path, model):
    page = explore(model, X, Y)
    browser.open(page, tmp_path)
    rows, places = clear_points(browser)
    browser.run("document.querySelector('#legend li:nth-child(1) button').focus()")
    browser.rest()
    colours = {
        label: rgb(style["light"]) for label, style in zip(model.classes_, scene_of(page)["styles"], strict=True)
    }
    found = browser.pixels(places[rows])[:, :3]
    for label, colour in zip(Y[rows], found, strict=True):
        assert np.array_equal(colour, colours[label]) == (label == "ant")


def test_a_button_zooms_to_a_class(browser, tmp_path, page):
    browser.open(page, tmp_path)
    browser.click("#legend li:nth-child(2) .fly")
    state = browser.ask("state()")
    members = X[Y == "bee"]
    assert np.mean(distance(members, np.array(state["centre"]))) < np.mean(distance(members, np.zeros(2)))
    # Nine in ten of the points are in view.
    width, height = browser.run("const c = document.getElementById('pixels'); return [c.width, c.height]")
    x, y = browser.screen(members).T
    assert np.mean((x > 0) & (x < width) & (y > 0) & (y < height)) >= 0.9


def test_edges_to_parents_are_geodesics(browser, tmp_path):
    parents = np.r_[-1, np.arange(5) // 2]
    browser.open(explore(SOFTMAX, X[:6], Y[:6], parents=parents), tmp_path)
    for child in range(1, 6):
        shares = np.linspace(0.2, 0.8, 9)[:, None]
        curve = geodesic(np.tile(X[child], (9, 1)), np.tile(X[parents[child]], (9, 1)), shares[:, 0])
        alpha = browser.pixels(browser.screen(curve), layer="pen")[:, 3]
        assert (alpha > 10).mean() > 0.6
    browser.click("#edges")
    assert browser.pixels(browser.screen(curve), layer="pen")[:, 3].max() == 0


def test_the_theme_follows_the_url_the_embedding_page_and_the_switch(browser, tmp_path, page):
    file = page.save(tmp_path / "page.html")
    browser.driver.get(f"{file.as_uri()}?theme=dark")
    browser.rest()
    assert browser.ask("state().isDark")
    browser.click("#theme")
    assert not browser.ask("state().isDark")
    assert browser.pixels([(2, 2)])[0, :3].min() > 200
    around = tmp_path / "around.html"
    frame = "<iframe class='live' src='page.html' width=900 height=600></iframe>"
    script = (DOCS / "_static" / "theme.js").read_text(encoding="utf-8")  # the manual's
    around.write_text(f"<!DOCTYPE html><script>{script}</script><body data-theme='auto'>{frame}")
    browser.driver.get(around.as_uri())
    browser.driver.switch_to.frame(0)
    browser.rest()
    assert not browser.ask("state().isDark")
    browser.driver.switch_to.default_content()
    for theme, is_dark in (("dark", True), ("auto", False)):
        browser.run("document.body.dataset.theme = arguments[0]", theme)
        browser.driver.switch_to.frame(0)
        browser.next_frames()
        assert browser.ask("state().isDark") == is_dark
        browser.driver.switch_to.default_content()


# Sides of a printed disk and its radius, in pixels of its picture.
PAPER, RADIUS = 1920, 918


def drawn_and_coloured(pixels, points, labels):
    """Whether each pixel is not white, and whether each point has the colour of its class."""
    colours = np.array([rgb(one["light"]) for one in scene_of(explore(SOFTMAX, X, Y))["styles"]])
    column, row = (PAPER / 2 + RADIUS * points * [1, -1]).astype(int).T
    wanted = colours[np.searchsorted(SOFTMAX.classes_, labels)]
    return (pixels < 250).any(axis=2), (pixels[row, column] == wanted).all(axis=1)


@pytest.mark.parametrize(("width", "height"), [(8.27, 11.69), (8.5, 11), (11.69, 8.27)])
@pytest.mark.parametrize("size", [(1440, 800), (390, 844)])
def test_printed_disks_are_round_and_complete(browser, tmp_path, size, width, height):
    browser.resize(*size, scheme="dark")
    browser.open(explore(SOFTMAX, X, Y), tmp_path)
    pdf = browser.print(paperWidth=width, paperHeight=height, printBackground=False)
    assert len(page_sizes(pdf)) == 1
    [(pixels, (left, bottom, right, top))] = pictures(pdf)
    assert pixels.shape == (PAPER, PAPER, 3)
    assert right - left == pytest.approx(top - bottom, rel=0.005)
    assert right - left > 72 * 0.5 * min(width, height)
    assert 0 < left < right < 72 * width
    assert 0 < bottom < top < 72 * height
    is_drawn, is_coloured = drawn_and_coloured(pixels, X, Y)
    across, down = np.flatnonzero(is_drawn.any(axis=0)), np.flatnonzero(is_drawn.any(axis=1))
    for places in (across, down):
        assert np.allclose([places[0], places[-1]], [PAPER / 2 - RADIUS, PAPER / 2 + RADIUS], atol=3)
    assert is_drawn.mean() == pytest.approx(np.pi * (RADIUS / PAPER) ** 2, rel=0.02)
    assert is_coloured.mean() > 0.9
    browser.next_frames()
    assert browser.ask("state().isDark")
    assert browser.run("return document.getElementById('paper').children.length") == 0


def test_printed_pages_of_two_models_have_both_disks(browser, tmp_path):
    browser.open(explore([SOFTMAX, PoincareSVC("means", folds=2).fit(X, Y)], X, Y), tmp_path)
    pdf = browser.print()
    (one, first), (other, second) = pictures(pdf)
    assert len(page_sizes(pdf)) == 1
    assert first[2] < second[0]
    assert first[1] == second[1]
    assert (one != other).any()


def test_printed_pages_have_the_title_and_the_legend_but_no_buttons(browser, tmp_path, page):
    browser.open(page, tmp_path)
    browser.choose("colour", "column1")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.next_frames()
    lines = browser.run("return document.body.innerText").splitlines()
    assert {"Animals", "Colour by", "ant", "bee", "cat", "Showing 150 of 150 points"} <= set(lines)
    assert not {"Move", "Lasso", "Find a point", "Save as CSV", "What am I looking at?"} & set(lines)
    assert browser.run("return document.querySelector('.bar').getBoundingClientRect().width") > 100
    left, top, right, bottom = browser.box("#paper canvas")
    assert right - left == pytest.approx(bottom - top)
    assert right - left > 300
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    browser.next_frames()
    assert "Lasso" in browser.run("return document.body.innerText")


def test_all_controls_have_accessible_names_and_keyboard_focus(browser, tmp_path, page):
    browser.open(page, tmp_path)
    nodes = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {"button", "checkbox", "combobox", "searchbox", "slider", "spinbutton", "application"}
    controls = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert len(controls) > 20
    assert all(node.get("name", {}).get("value") for node in controls)
    unreachable = """
        const all = [...document.querySelectorAll("button, input, select, .stage")];
        return all.filter((one) => one.offsetParent !== null && !one.disabled && one.tabIndex < 0).length"""
    assert browser.run(unreachable) == 0
    browser.keys("#zoom-in", Keys.TAB)
    assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_very_long_names_do_not_widen_the_page(browser, tmp_path):
    long = "n" * 20_000
    labels = np.where(Y == "ant", long, Y)
    model = PoincareLogisticRegression().fit(X, labels)
    page = explore(model, X, labels, names=[long] * N, columns={long: labels}, title=long)
    for size in ((390, 844), (1000, 760)):
        browser.resize(*size)
        browser.open(page, tmp_path)
        browser.choose("colour", "column1")
        browser.run("hyplearnExplorer.mark(3)")
        assert browser.run("return document.documentElement.scrollWidth") <= size[0]
        left, _, right, bottom = browser.box("#card")
        assert left >= 0
        assert right <= size[0]
        assert bottom <= size[1]
        assert browser.run("const a = document.querySelector('aside'); return a.scrollWidth <= a.clientWidth")


WIDGET = """<!DOCTYPE html><meta charset="utf-8"><body><div id="el"></div>
<script type="module">
{source}
const values = {{ html: {html}, height: 680, selection: new DataView(new Uint32Array([2, 5]).buffer) }};
const heard = new Set();
window.sent = [];
const model = {{
  get: (name) => values[name],
  set: (name, value) => {{ values[name] = value; heard.forEach((act) => act()); }},
  save_changes: () => window.sent.push([...new Uint32Array(values.selection.buffer)]),
  on: (_, act) => heard.add(act), off: (_, act) => heard.delete(act),
}};
window.model = model;
window.cleanUp = widget.render({{ model, el: document.getElementById("el") }});
</script>"""


@pytest.fixture
def notebook(browser, tmp_path, page, widget_source):
    """Browser with the widget of a page. Its model is like anywidget's; only the connection to Jupyter is missing.

    The page was made without a selection; the model's selection is [2, 5], as if Python had set it since then.
    """
    source = widget_source.replace("export default { render };", "const widget = { render };")
    file = tmp_path / "notebook.html"
    text = json.dumps(page.html).replace("</", "<\\/").replace("<!--", "<\\!--")
    file.write_text(WIDGET.format(source=source, html=text), encoding="utf-8")
    browser.driver.get(file.as_uri())
    return browser


def framed_selection(browser):
    """Enter the widget's frame, wait until it has loaded, and return the selection that its page shows."""
    browser.driver.switch_to.frame(0)
    browser.run("return new Promise((done) => document.readyState === 'complete' ? done() : (window.onload = done))")
    browser.next_frames()
    return browser.ask("state().selection")


def test_a_widget_shows_the_current_selection_whenever_its_frame_loads(notebook):
    assert framed_selection(notebook) == [2, 5]
    notebook.run("hyplearnExplorer.select([9])")
    notebook.next_frames()
    notebook.driver.switch_to.default_content()
    assert notebook.run("return window.sent") == [[9]]
    notebook.run("const el = document.getElementById('el'); el.append(el.firstChild)")  # moving a frame reloads it
    assert framed_selection(notebook) == [9]
    notebook.driver.switch_to.default_content()
    assert notebook.run("return window.sent.length") == 1


def test_a_widget_passes_the_selection_to_python_and_back(notebook):
    assert framed_selection(notebook) == [2, 5]
    notebook.run("document.getElementById('invert').click()")
    notebook.next_frames()
    notebook.driver.switch_to.default_content()
    rest = [i for i in range(N) if i not in (2, 5)]
    assert notebook.run("return window.sent") == [rest]
    notebook.run("model.set('selection', new DataView(new Uint32Array([7, 11]).buffer))")
    assert framed_selection(notebook) == [7, 11]
    notebook.driver.switch_to.default_content()
    assert notebook.run("return window.sent.length") == 1  # a selection from Python is not sent back
