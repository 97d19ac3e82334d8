"""Contents of disk displays: positions and colours of points, and numbers of points per pixel."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from hyplearn.geometry import distance
from hyplearn.plotting import DiskDisplay
from hyplearn.plotting.canvas import INK, class_colours, draw_legend_below, draw_legend_under
from hyplearn.plotting.palette import GREY, LIGHT
from support.balls import cloud
from support.drawn import legend, markers


def test_points_are_drawn_where_they_are_in_their_class_colour(ax, labelled):
    X, y = labelled
    display = DiskDisplay.from_points(X, y).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert np.array_equal(markers(ax, "left"), X[y == "left"])
    assert np.array_equal(markers(ax, "right"), X[y == "right"])
    for collection, colour in zip(ax.collections, LIGHT[:2], strict=True):
        assert np.allclose(collection.get_facecolor()[0, :3], to_rgb(colour))
    assert legend(ax) == ["left", "right"]


def test_class_names_are_not_parsed_as_formulas(ax, labelled):
    X, y = labelled
    DiskDisplay.from_points(X, np.where(y == y[0], r"$\frac{$", "$x_10$")).plot(ax)
    ax.figure.savefig(io.BytesIO(), format="png")
    assert legend(ax) == [r"$\frac{$", "$x_10$"]


def test_unlabelled_points_have_no_legend(ax, labelled):
    DiskDisplay.from_points(labelled[0]).plot(ax)
    assert np.array_equal(ax.collections[0].get_offsets(), labelled[0])
    assert ax.get_legend() is None


def test_edges_are_drawn_as_geodesics(ax, labelled):
    X, _ = labelled
    DiskDisplay.from_points(X, edges=[[0, 1], [2, 3]]).plot(ax)
    for drawn, (a, b) in zip(ax.collections[0].get_segments(), [X[:2], X[2:4]], strict=True):
        assert np.allclose(drawn[[0, -1]], [a, b], rtol=0, atol=1e-15)
        assert np.allclose(distance(drawn, a) + distance(drawn, b), distance(a, b))


def test_rim_has_the_radius_of_the_curvature(ax, labelled):
    DiskDisplay.from_points(labelled[0] * 2, curvature=-0.25).plot(ax)
    rim = ax.lines[0].get_xydata()
    assert np.allclose(np.linalg.norm(rim, axis=1), 2)


def test_grid_circles_have_the_radius_that_they_name(ax):
    c = 0.25
    DiskDisplay.from_points([[0.0, 0.0]], curvature=-c).plot(ax, grid=True)
    circles = [s for s in ax.collections[0].get_segments() if len(s) > 2]
    named = [float(text.get_text()) for text in ax.texts]
    assert named == [2, 4, 6]
    for circle, radius in zip(circles, named, strict=False):
        assert np.allclose(distance(circle, [0.0, 0.0], c=c), radius)
    diameters = [s for s in ax.collections[0].get_segments() if len(s) == 2]
    assert np.allclose(np.linalg.norm(diameters, axis=2), 2)
    assert np.allclose(np.sum(diameters, axis=1), 0)


def test_more_points_than_the_limit_are_drawn_as_a_density(ax):
    X = cloud(np.random.default_rng(0), 11, 2, 1.0)
    assert DiskDisplay.from_points(X[:10], most_markers=10).cloud.counts is None
    display = DiskDisplay.from_points(X, most_markers=10).plot(ax)
    assert display.cloud.counts.sum() == 11
    assert sum(len(c.get_offsets()) for c in ax.collections) == 0


def test_density_counts_the_points_of_each_class_in_each_pixel(ax):
    # Radius 2 and 200 pixels of 0.02: (1.01, -0.51) is in column 150 and row 74, counted from the lower left.
    X = np.array([[1.01, -0.51]] * 6 + [[-1.97, 0.01]] * 2)
    display = DiskDisplay.from_points(X, [0, 0, 0, 1, 1, 1, 1, 1], curvature=-0.25, most_markers=1).plot(ax)
    counts = display.cloud.counts
    assert counts.shape == (2, 200, 200)
    assert counts[:, 74, 150].tolist() == [3, 3]
    assert counts[:, 100, 1].tolist() == [0, 2]
    image = ax.images[0]
    assert np.allclose(image.get_extent(), [-2, 2, -2, 2])
    assert image.origin == "lower"
    pixels, (first, second) = image.get_array(), (np.array(to_rgb(colour)) for colour in LIGHT[:2])
    assert np.allclose(pixels[74, 150], [*(first + second) / 2, 1])  # equal shares mixed, most points: opaque
    assert np.allclose(pixels[100, 1, :3], second)
    assert 0.3 < pixels[100, 1, 3] < 1
    assert np.isclose(pixels[100, 1, 3], 0.3 + 0.7 * np.log(2) / np.log(6))
    assert np.count_nonzero(pixels[..., 3]) == 2


def test_density_keeps_the_legend_of_the_classes(ax):
    X = cloud(np.random.default_rng(0), 30, 2, 1.0)
    y = np.repeat(["a", "other", "z"], 10)
    DiskDisplay.from_points(X, y, most_markers=5).plot(ax)
    assert legend(ax) == ["a", "z", "other"]
    named = dict(zip(legend(ax), ax.get_legend().legend_handles, strict=True))
    for label, colour in class_colours(np.unique(y)).items():
        assert np.allclose(named[label].get_facecolor()[0, :3], to_rgb(colour))


def test_a_class_called_other_is_grey_in_the_density_too():
    X = np.array([[0.305, 0.305], [-0.305, 0.305], [0.305, -0.305]])
    image = DiskDisplay.from_points(X, ["a", "other", "z"], most_markers=1).cloud.image()
    shown = [image[130, 130], image[130, 69], image[69, 130]]
    for pixel, colour in zip(shown, (LIGHT[0], GREY, LIGHT[1]), strict=True):
        assert np.allclose(pixel[:3], to_rgb(colour))


def test_twenty_thousand_points_are_markers_and_one_more_is_a_density():
    X = np.random.default_rng(0).uniform(-0.7, 0.7, (20_001, 2))
    assert DiskDisplay.from_points(X[1:]).cloud.counts is None
    assert DiskDisplay.from_points(X).cloud.counts is not None


def test_a_class_called_other_is_grey_and_all_colours_differ():
    colours = class_colours(np.array([*"abcdefghij", "other"]))
    assert colours["other"] == GREY
    assert len(set(colours.values())) == 11


def test_classes_that_share_a_colour_have_markers_of_another_shape(ax):
    X, y = cloud(np.random.default_rng(0), 45, 2, 1.0), np.arange(45)
    DiskDisplay.from_points(X, y).plot(ax)
    looks = {(tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in ax.collections}
    assert len(looks) == 45


def check_legend_is_beside_the_disk_and_in_the_figure(ax):
    figure = ax.figure
    figure.canvas.draw()
    box, page = ax.get_legend().get_window_extent(), figure.bbox
    assert page.x0 <= box.x0
    assert box.x1 <= page.x1
    assert page.y0 <= box.y0
    assert box.y1 <= page.y1
    right = ax.transData.transform([1.0, 0.0])[0]
    assert right <= box.x0
    return right - ax.transData.transform([-1.0, 0.0])[0]


THIRTY = [f"class {i} of thirty" for i in range(29)] + ["a class whose name is longer than anybody will ever read"]


@pytest.mark.parametrize("size", [(6.4, 4.8), (6.4, 2.4), (3.0, 4.8)])
def test_thirty_classes_have_a_legend_in_columns_that_leaves_the_disk_its_size(size):
    X = cloud(np.random.default_rng(0), 30, 2, 1.0)
    with plt.rc_context({"figure.figsize": size}):
        display = DiskDisplay.from_points(X, THIRTY).plot()
    diameter = check_legend_is_beside_the_disk_and_in_the_figure(display.ax_)
    plt.close(display.figure_)
    assert diameter > 0.9 * min(size) * display.figure_.dpi


@pytest.mark.parametrize("layout", [None, "compressed", "constrained"])
def test_a_legend_fits_into_a_figure_of_the_users(layout):
    figure, axes = plt.subplots(1, 2, figsize=(18, 5), layout=layout)
    X = cloud(np.random.default_rng(0), 30, 2, 1.0)
    for ax in axes:
        DiskDisplay.from_points(X, THIRTY).plot(ax)
    figure.canvas.draw()
    for ax in axes:
        check_legend_is_beside_the_disk_and_in_the_figure(ax)
    between = axes[0].get_legend().get_window_extent().x1, axes[1].transData.transform([-1.0, 0.0])[0]
    plt.close(figure)
    assert between[0] <= between[1]


def test_only_the_middle_of_a_very_long_name_is_left_out(ax):
    names = ["a class whose name is longer than anybody will ever read", "forty letters are still short enough now"]
    DiskDisplay.from_points([[0.1, 0.2], [0.3, 0.1]], names).plot(ax)
    assert legend(ax) == ["a class whose name i…body will ever read", names[1]]


@pytest.mark.parametrize("base", [6, 10, 14])
def test_no_text_is_smaller_than_eight_points(base):
    with plt.rc_context({"font.size": base}):
        display = DiskDisplay.from_points([[0.1, 0.2], [0.3, 0.1]], ["a", "b"]).plot(grid=True)
    texts = [*display.ax_.texts, *display.ax_.get_legend().get_texts()]
    plt.close(display.figure_)
    assert len(texts) == 5
    assert min(text.get_fontsize() for text in texts) >= 8


def test_text_stays_text_in_vector_graphics(tmp_path):
    display = DiskDisplay.from_points([[0.1, 0.2], [0.3, 0.1]], ["shrews", "moles"])
    with pytest.raises(ValueError, match="has not been drawn"):
        display.save(tmp_path / "disk.svg")
    display.plot()
    for name in ("disk.svg", "disk.pdf", "disk.png"):
        display.save(tmp_path / name)
    plt.close(display.figure_)
    assert ">shrews</text>" in (tmp_path / "disk.svg").read_text()
    assert b"/FontFile2" in (tmp_path / "disk.pdf").read_bytes()  # outlines of TrueType: Type 42
    assert b"/Type3" not in (tmp_path / "disk.pdf").read_bytes()


def test_one_legend_below_names_the_classes_of_all_axes_once():
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    for ax, names in zip(axes, (["a", "b"], ["b", "c"]), strict=True):
        DiskDisplay.from_points([[0.1, 0.2], [0.3, 0.1]], names, all_classes=["a", "b", "c"]).plot(ax, legend=False)
    found = draw_legend_below(figure, axes, 3)
    figure.canvas.draw()
    box = found.get_window_extent()
    below = min(ax.transData.transform([0.0, -1.0])[1] for ax in axes)
    plt.close(figure)
    assert [text.get_text() for text in found.get_texts()] == ["a", "b", "c"]
    assert box.y1 <= below


def test_a_figure_with_a_layout_keeps_it():
    figure, ax = plt.subplots(layout="tight")
    DiskDisplay.from_points([[0.0, 0.0]]).plot(ax)
    engine = figure.get_layout_engine()
    plt.close(figure)
    assert type(engine).__name__ == "TightLayoutEngine"


def test_points_without_a_class_have_no_class_colour(ax):
    DiskDisplay.from_points([[0.1, 0.2], [0.3, 0.1]]).plot(ax)
    (points,) = ax.collections
    assert np.allclose(points.get_facecolor()[0, :3], to_rgb(INK))
    assert to_rgb(INK) not in {to_rgb(colour) for colour in LIGHT}


def test_labels_of_circles_are_drawn_above_the_points(ax):
    DiskDisplay.from_points(cloud(np.random.default_rng(0), 50, 2, 1.0), most_markers=5).plot(ax, grid=True)
    assert min(text.get_zorder() for text in ax.texts) > max(image.get_zorder() for image in ax.images)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.zeros((5, 3))}, r"two coordinates; got shape \(5, 3\)"),
        ({"X": np.zeros(4)}, r"got shape \(4,\)"),
        ({"X": np.zeros((0, 2))}, r"at least one row and two columns"),
        ({"X": [[0.1, 0.2], [1.1, 0.2]]}, "1 of 2 points lies outside the open ball"),
        ({"X": [[0.1, np.nan]]}, "NaN"),
        ({"X": [[0.1, 0.2]], "y": [1, 2]}, "one label for each of the 1 rows"),
        ({"X": np.zeros((3, 2)), "y": ["a", None, "b"]}, r"1 of 3 labels is missing; the first is in row 1"),
        ({"X": np.zeros((3, 2)), "y": [np.nan, 1.0, np.nan]}, r"2 of 3 labels are missing; the first is in row 0"),
        ({"X": np.zeros((2, 2)), "y": pd.array(["a", pd.NA])}, r"1 of 2 labels is missing; the first is in row 1"),
        ({"X": [[0.1, 0.2]], "curvature": 1.0}, "curvature must be a negative finite number"),
        ({"X": [[0.1, 0.2]], "edges": [[0, 1]]}, "row numbers from 0 to 0; got 0 to 1"),
        ({"X": [[0.1, 0.2]], "edges": [0, 1]}, "pairs of row numbers"),
    ],
)
def test_inputs_that_cannot_be_drawn_raise_clear_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        DiskDisplay.from_points(**arguments)


def test_nothing_is_drawn_before_plot_and_then_in_a_new_figure(labelled):
    before = plt.get_fignums()
    display = DiskDisplay.from_points(*labelled)
    assert plt.get_fignums() == before
    figure, ax = plt.subplots()
    try:
        assert display.plot().figure_ is not figure
        assert not ax.collections
        assert display.plot(ax).figure_ is figure
        empty = plt.figure(figsize=(3, 3))
        assert display.plot().figure_ is not empty
    finally:
        plt.close("all")


def test_a_legend_below_a_picture_is_not_truncated(ax):
    name = "a description of a curve that is longer than forty letters"
    for _ in range(2):
        ax.plot([0, 1], [0, 1], label=name)
    draw_legend_under(ax)
    assert legend(ax) == [name, name]
