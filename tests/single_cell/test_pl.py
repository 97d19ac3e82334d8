"""Cells drawn in the disk, by hyplearn and by scanpy."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from hyplearn import PoincareLogisticRegression, PoincareSVC
from support.explored import decoded, scene_of
from support.fitted_models import NAMES, ball

anndata = pytest.importorskip("anndata")

import hyplearn.single_cell as hs  # noqa: E402

X, codes = ball(60)
COLOURS = ["#ff0000", "#00ff00", "#0000ff"]


@pytest.fixture
def cells():
    obs = pd.DataFrame({"kind": pd.Categorical(NAMES[codes]), "depth": np.arange(60.0)}, index=map(str, range(60)))
    var = pd.DataFrame(index=["Gata1"])
    return anndata.AnnData(np.arange(60.0)[:, None][::-1], obs=obs, var=var, obsm={"X_poincare": X})


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def drawn(ax):
    """Points of each label with their colour."""
    return {
        c.get_label(): (np.asarray(c.get_offsets()), to_hex(c.get_facecolor()[0]))
        for c in ax.collections
        if hasattr(c, "get_offsets") and not c.get_label().startswith("_")
    }


def test_categories_are_drawn_in_the_colours_of_scanpy(cells, ax):
    cells.uns["kind_colors"] = COLOURS
    assert hs.pl.disk(cells, "kind", ax=ax) is ax
    found = drawn(ax)
    for k, name in enumerate(NAMES):
        assert np.array_equal(found[name][0], X[codes == k])
        assert found[name][1] == COLOURS[k]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == NAMES.tolist()


def test_drawing_writes_nothing(cells, ax):
    hs.pl.disk(cells, "kind", ax=ax)
    assert not cells.uns


def test_cells_without_a_category_are_grey_with_a_legend_entry(cells, ax):
    cells.obs["kind"] = cells.obs["kind"].where(codes > 0)
    hs.pl.disk(cells, "kind", ax=ax)
    assert np.array_equal(drawn(ax)["NA"][0], X[codes == 0])
    assert drawn(ax)["NA"][1] == "#d3d3d3"


@pytest.mark.parametrize(("color", "values"), [("depth", np.arange(60.0)), ("Gata1", np.arange(60.0)[::-1])])
def test_numbers_and_genes_have_a_colour_bar_and_the_largest_is_on_top(cells, ax, color, values):
    hs.pl.disk(cells, color, ax=ax)
    points = ax.collections[-1]
    order = np.argsort(values)
    assert np.array_equal(points.get_array(), values[order])
    assert np.array_equal(points.get_offsets(), X[order])
    assert len(ax.child_axes) == 1


@pytest.mark.parametrize("model", [PoincareSVC(folds=2), PoincareLogisticRegression(fit_intercept=False)])
def test_boundaries_match_the_stored_model(cells, ax, model):
    """The predictions on the two sides of a drawn line are different."""
    hs.tl.classify(cells, "kind", model=model)
    hs.pl.disk(cells, "kind", boundaries="kind_predicted", ax=ax)
    fitted = hs.stored_model(cells, "kind_predicted")
    points = np.concatenate(_lines(ax))
    points = points[np.linalg.norm(points, axis=1) < 0.95][::25]
    assert len(points) > 5
    around = 0.01 * np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [1, -1], [-1, -1]])
    assert all(len(set(fitted.predict(point + around))) > 1 for point in points)


def _lines(ax):
    """All lines except the rim: arcs, and edges of regions."""
    arcs = [line.get_xydata() for line in ax.lines[1:]]
    paths = [path.vertices for c in ax.collections if hasattr(c, "levels") for path in c.get_paths()]
    return arcs + [path for path in paths if len(path)]


def test_boundaries_need_a_classification(cells, ax):
    with pytest.raises(KeyError, match="no classification 'kind'"):
        hs.pl.disk(cells, "kind", boundaries=True, ax=ax)
    with pytest.raises(ValueError, match="True if color is such a key; got boundaries=True and color=None"):
        hs.pl.disk(cells, boundaries=True, ax=ax)
    with pytest.raises(ValueError, match=r"boundaries must be False, .*; got boundaries=3 and color='kind'"):
        hs.pl.disk(cells, "kind", boundaries=3, ax=ax)


def test_bad_input_raises_a_clear_error(cells, ax):
    with pytest.raises(KeyError, match="'type' is neither a column of obs nor a gene"):
        hs.pl.disk(cells, "type", ax=ax)
    bare = cells.copy()
    bare.obs = bare.obs[[]]
    with pytest.raises(KeyError, match="nor a gene; obs is empty\\.\nPass a name in var_names as color="):
        hs.pl.disk(bare, "type", ax=ax)
    cells.obsm["X_deep"] = np.zeros((60, 5))
    with pytest.raises(ValueError, match="needs points with two coordinates; the points in 'deep' have 5"):
        hs.pl.disk(cells, basis="deep", ax=ax)
    cells.obsm["X_out"] = np.ones((60, 2))
    with pytest.raises(ValueError, match="60 of 60 points lie outside"):
        hs.pl.disk(cells, basis="out", ax=ax)


@pytest.fixture
def figures():
    """All figures that a test makes, closed after it."""
    plt.close("all")
    yield plt.get_fignums
    plt.close("all")


def test_a_new_figure_is_made_unless_axes_are_given(cells, ax, figures):
    first, second = hs.pl.disk(cells, "kind"), hs.pl.disk(cells, "kind")
    assert first.figure is not second.figure
    assert len(figures()) == 2


def test_panels_with_the_same_colours_share_one_legend_whose_names_fit(cells, figures):
    cells.uns["kind_colors"] = COLOURS
    names = {"ash": "a rather long name of a type of cell", "birch": "birch", "cedar": "cedar"}
    cells.obs["kind"] = cells.obs["kind"].cat.rename_categories(names)
    hs.tl.classify(cells, "kind")
    axes = hs.pl.disk(cells, ["kind", "kind_predicted", "depth"])
    figure = axes[0].figure
    assert [one.get_title() for one in axes] == ["kind", "kind_predicted", "depth"]
    assert [one.get_legend() is None for one in axes] == [True, False, True]
    legend = axes[1].get_legend()
    assert {text.get_text() for text in legend.get_texts()} == set(names.values())
    figure.canvas.draw()
    box = legend.get_window_extent()
    assert box.x0 > 0
    assert box.x1 <= figure.bbox.x1 + 1
    assert all(not one.get_window_extent().overlaps(box) for one in axes)


def test_panels_with_different_categories_have_separate_legends(cells, figures):
    cells.obs["other"] = pd.Categorical(np.where(codes > 1, "ash", "yew"))
    cells.uns["other_colors"], cells.uns["kind_colors"] = ["#123456", "#654321"], COLOURS
    axes = hs.pl.disk(cells, ["kind", "other"])
    assert axes[0].get_legend() is not None
    assert [text.get_text() for text in axes[1].get_legend().get_texts()] == ["ash", "yew"]


@pytest.mark.parametrize(
    ("palette", "expected"),
    [
        ({"ash": "red", "birch": "lime", "cedar": "blue"}, COLOURS),
        (["red", "lime", "blue", "black"], COLOURS),
        ("tab10", ["#1f77b4", "#ff7f0e", "#2ca02c"]),
    ],
)
def test_a_palette_can_be_passed(cells, ax, palette, expected):
    hs.pl.disk(cells, "kind", palette=palette, ax=ax)
    assert [drawn(ax)[name][1] for name in NAMES] == expected


def test_true_values_are_highlighted(cells, ax):
    cells.obs["unknown"] = codes == 0
    hs.pl.disk(cells, "unknown", ax=ax)
    assert drawn(ax)["False"][1] == "#d3d3d3"


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_a_file_is_written_with_text_as_text(cells, figures, tmp_path, suffix):
    hs.pl.disk(cells, ["kind"], save=tmp_path / f"cells.{suffix}")
    content = (tmp_path / f"cells.{suffix}").read_bytes()
    assert len(content) > 1000
    if suffix == "svg":
        assert b">birch</text>" in content
    if suffix == "pdf":
        assert b"/Type0" in content or b"/TrueType" in content  # Type 42, not Type 3


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_sets_are_coloured_by_their_size_and_unknown_cells_are_marked(cells, figures):
    hs.tl.classify(cells, "kind", coverage=0.8)
    sets = cells.obsm["kind_predicted_sets"].copy()
    sets[:7] = False
    cells.obsm["kind_predicted_sets"] = sets
    cells.obs["kind_predicted_unknown"] = ~sets.any(axis=1)
    unknown = cells.obs["kind_predicted_unknown"].to_numpy()
    for color in ("kind_predicted", "kind_predicted_set", "kind_predicted_probability"):
        ax = hs.pl.disk(cells, color)
        assert np.array_equal(drawn(ax)["unknown"][0], X[unknown])
        assert "unknown" in texts(ax)
    (sizes,) = [c.get_array() for c in hs.pl.disk(cells, "kind_predicted_set").collections if c.get_array() is not None]
    assert np.array_equal(np.sort(sizes), np.sort(sets.sum(axis=1)[~unknown]))
    assert "unknown" not in drawn(hs.pl.disk(cells, "kind_predicted", unknown=False))
    assert "unknown" not in drawn(hs.pl.disk(cells, "kind"))


def test_answers_that_are_types_keep_their_colours_and_branches_are_squares(cells, figures):
    cells.uns["kind_colors"] = COLOURS
    tree = {"ash": "broad", "birch": "broad", "broad": "wood", "cedar": "wood"}
    hs.tl.classify(cells, "kind", coverage=0.9, hierarchy=tree)
    cells.obs["kind_predicted_answer"] = pd.Categorical(np.where(codes == 0, "ash", "broad"))
    ax = hs.pl.disk(cells, "kind_predicted_answer")
    found = drawn(ax)
    assert found["ash"][1] == COLOURS[0]
    corners = {c.get_label(): len(c.get_paths()[0].vertices) for c in ax.collections}
    assert corners["broad"] == 5 < corners["ash"]


def test_beyond_ten_categories_shapes_differ(cells, ax):
    cells.obs["many"] = pd.Categorical([f"type {k % 12:02}" for k in range(60)])
    hs.pl.disk(cells, "many", ax=ax)
    found = {c.get_label(): (to_hex(c.get_facecolor()[0]), len(c.get_paths()[0].vertices)) for c in ax.collections}
    assert found["type 00"][0] == found["type 10"][0]
    assert found["type 00"][1] != found["type 10"][1]


def test_panels_legends_and_titles_do_not_overlap_whatever_the_length_of_names(cells, figures):
    long = {name: f"{name}, with a name much longer than a panel of the figure is wide, as sets have" for name in NAMES}
    cells.obs["long"] = cells.obs["kind"].cat.rename_categories(long)
    axes = hs.pl.disk(cells, ["long", "kind", "depth"], ncols=2)
    figure = axes[0].figure
    figure.canvas.draw()
    boxes = [one.get_tightbbox() for one in axes]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[k + 1 :])
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    sides = [one.get_window_extent() for one in axes]
    assert all(abs(side.width - side.height) < 1 and side.width > 3 * figure.dpi for side in sides)


def test_bad_palettes_and_axes_raise_clear_errors(cells, ax):
    with pytest.raises(ValueError, match="palette lacks 2 categories; the first is 'birch'"):
        hs.pl.disk(cells, "kind", palette={"ash": "red"}, ax=ax)
    with pytest.raises(ValueError, match="palette has 1 colours for 3 categories"):
        hs.pl.disk(cells, "kind", palette=["red"], ax=ax)
    with pytest.raises(ValueError, match="Only one panel can be drawn in ax; got 2 colourings"):
        hs.pl.disk(cells, ["kind", "depth"], ax=ax)


def test_a_page_shows_a_classification_with_genes_and_columns_of_obs(cells, tmp_path):
    hs.tl.classify(cells, "kind", model=PoincareLogisticRegression())
    page = hs.pl.explore(cells, "kind_predicted", columns=["Gata1", "depth", "kind"], path=tmp_path / "cells.html")
    scene = scene_of(page)
    assert [(one["name"], one["kind"]) for one in scene["columns"]] == [
        ("Gata1", "number"), ("depth", "number"), ("kind", "category"),
    ]  # fmt: skip
    assert decoded(scene["columns"][0]["values"]).tolist() == list(range(59, -1, -1))
    assert scene["names"][:2] == ["0", "1"]
    assert scene["labels"] is not None
    assert (tmp_path / "cells.html").exists()
    cells.obs.loc["3", "kind"] = np.nan
    assert scene_of(hs.pl.explore(cells, "kind_predicted"))["labels"] is None
    with pytest.raises(KeyError, match="neither a column of obs nor a gene"):
        hs.pl.explore(cells, "kind_predicted", columns=["Gata7"])


def classified(cells, **options):
    hierarchy = dict.fromkeys(NAMES[:2], "wood") | {"wood": "plant", NAMES[2]: "plant"}
    hs.tl.classify(cells, "kind", model=PoincareLogisticRegression(), coverage=0.9, hierarchy=hierarchy, **options)
    return scene_of(hs.pl.explore(cells, "kind_predicted"))


def test_a_page_offers_sets_answers_and_unknown_cells_by_itself(cells):
    cells.obs["kind"] = cells.obs["kind"].where(cells.obs_names != "3")  # the set of a cell that was not trained on
    columns = {one["name"]: one for one in classified(cells)["columns"]}
    assert list(columns) == ["set", "answer", "set size", "unknown"]
    sizes = cells.obsm["kind_predicted_sets"].sum(axis=1)
    assert decoded(columns["set size"]["values"]).tolist() == sizes.tolist()
    answers = np.array(columns["answer"]["categories"])[decoded(columns["answer"]["codes"])]
    assert answers.tolist() == cells.obs["kind_predicted_answer"].astype(object).fillna("unknown").tolist()


def test_answers_that_are_classes_have_their_colours_on_the_page(cells):
    cells.uns["kind_colors"] = COLOURS
    scene = classified(cells)
    assert [style["light"] for style in scene["styles"]] == COLOURS
    answer = next(one for one in scene["columns"] if one["name"] == "answer")
    styles = dict(zip(answer["categories"], answer["styles"], strict=True))
    assert all(styles[name] == style for name, style in zip(NAMES, scene["styles"], strict=True) if name in styles)


@pytest.mark.filterwarnings("ignore:Neither the reference nor the query contains the map")
def test_a_page_has_the_stored_colours_of_classes_and_columns(cells):
    cells.obs["batch"] = pd.Categorical(np.arange(60) % 2)
    cells.uns |= {"kind_colors": COLOURS, "batch_colors": ["red", "#123456"]}
    hs.tl.classify(cells, "kind", model=PoincareLogisticRegression())
    scene = scene_of(hs.pl.explore(cells, "kind_predicted", columns=["batch"]))
    assert [style["dark"] for style in scene["styles"]] == COLOURS
    assert [style["light"] for style in scene["columns"][0]["styles"]] == ["#ff0000", "#123456"]
    # The query of a transfer has the colours in the column of predictions.
    query = anndata.AnnData(np.zeros((60, 1)), obsm={"X_poincare": X})
    hs.tl.transfer(cells, query, "kind", model=PoincareLogisticRegression())
    assert [style["light"] for style in scene_of(hs.pl.explore(query, "kind_predicted"))["styles"]] == COLOURS


@pytest.mark.filterwarnings("ignore:Neither the reference nor the query contains the map")
def test_a_page_says_whether_its_cells_are_training_cells(cells):
    query = cells.copy()
    hs.tl.classify(cells, "kind", model=PoincareLogisticRegression())
    hs.tl.transfer(cells, query, "kind", model=PoincareLogisticRegression())
    assert scene_of(hs.pl.explore(cells, "kind_predicted"))["of"] == "training"
    assert scene_of(hs.pl.explore(query, "kind_predicted"))["of"] == "held-out"
    assert scene_of(hs.pl.explore(cells, "kind_predicted", of="held-out"))["of"] == "held-out"


def test_the_legend_of_unknown_cells_stays_with_their_panel(cells):
    hs.tl.classify(cells, "kind", coverage=0.6)
    assert cells.obs["kind_predicted_unknown"].any()
    cells.obs["phase"] = pd.Categorical(np.arange(60) % 2)
    axes = hs.pl.disk(cells, ["kind_predicted_set", "phase"])
    found = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in axes]
    assert found == [["unknown"], ["0", "1"]]
    plt.close(axes[0].figure)
