"""Contents of the pictures that need no data files, and all pictures if the files exist."""

import json

import figures
import numpy as np
import pytest
from matplotlib import pyplot as plt

from hyplearn.geometry import signed_distance
from support.drawn import legend, lines, markers


@pytest.fixture
def config():
    return figures.Config(only=("hulls",), resolution=60)


@pytest.fixture
def drawn(config):
    yield lambda name: figures.PICTURES[name](config).axes
    plt.close("all")


def test_disk_and_tangent_space_show_one_boundary(drawn, config):
    disk, plane = drawn("tangent")
    (arc,), (line,) = lines(disk, "decision boundary"), lines(plane, "decision boundary")
    _, y, p, _ = figures.two_sides(config)
    np.testing.assert_allclose(markers(disk, "reference point p"), [p])
    assert np.linalg.matrix_rank(np.diff(arc[::100], axis=0), tol=1e-3) == 2
    assert np.linalg.det(line) == pytest.approx(0, abs=1e-9)  # through p, the origin
    assert len(markers(disk, "positive")) == len(markers(plane, "positive")) == np.sum(y == "positive")


def test_boundaries_pass_through_each_choice_of_p(drawn):
    axes = drawn("reference")
    assert len(axes) == 6
    shares = [int(ax.get_title().split("\n")[1].split(" ")[0]) for ax in axes[:3]]
    assert shares == sorted(shares)
    assert shares[-1] == 100
    for ax in axes[:3]:
        (p,), (arc,) = markers(ax, "reference point p"), lines(ax, "decision boundary")
        assert np.min(np.linalg.norm(arc - p, axis=1)) < 0.01
    assert np.linalg.norm(markers(axes[0], "reference point p")) == 0


def test_hulls_that_meet_have_no_closest_points(drawn):
    apart, overlapping = (ax.get_legend_handles_labels()[1] for ax in drawn("hulls"))
    assert "closest points of the hulls" in apart
    assert "closest points of the hulls" not in overlapping
    assert "closest vertices of the hulls" in overlapping


def test_boundaries_bend_with_p_and_margins_have_their_width(drawn, config):
    left, right = drawn("boundaries")
    heights = [lines(left, f"‖p‖ = {name}")[0] for name in ("R/5", "2R/5", "3R/5")]
    depths = [arc[:, 1].max() - arc[:, 1].min() for arc in heights]
    assert depths == sorted(depths)
    w, p = np.array([0.0, 1.0]), np.array([0.0, 0.38])
    for margin in (1, 0.5, 0.1):
        band = next(patch for patch in right.patches if patch.get_label() == f"ε = {margin:g}").get_xy()
        inside = band[np.linalg.norm(band, axis=1) < 0.999]
        np.testing.assert_allclose(np.abs(signed_distance(inside, w, p)), margin, rtol=1e-6)


def test_pictures_are_written_small_as_png_and_svg_with_their_setting(config, tmp_path):
    (row,) = figures.run(config, tmp_path)
    assert row == {"picture": "hulls", "shows": figures.hulls.__doc__}
    assert json.loads((tmp_path / "figures.json").read_text())["config"]["resolution"] == 60
    assert f"![{row['shows']}](figures/hulls.png)" in (tmp_path / "figures.md").read_text()
    png, svg = ((tmp_path / "figures" / f"hulls.{kind}").read_bytes() for kind in ("png", "svg"))
    assert png.startswith(b"\x89PNG")
    assert b"<svg" in svg
    assert len(svg) < 300_000
    figures.run(config, tmp_path)
    assert (tmp_path / "figures" / "hulls.svg").read_bytes() == svg


def test_published_sets_are_drawn_with_all_their_classes(drawn, published_data, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    axes = drawn("datasets")
    assert len(axes) == 4
    assert [len(legend(ax)) for ax in axes] == [8, 10, 10, 13]
    assert sorted(figures.CLOTHES) == legend(axes[2])


@pytest.mark.slow
def test_geodesics_beat_lines_and_lines_beat_lines_through_the_centre(drawn, published_data, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))
    shares = [float(ax.get_title().split("\n")[1].split(" ")[0]) for ax in drawn("regions")]
    assert shares == sorted(shares, reverse=True)
    assert shares[1] > shares[2] + 20
