"""Readers with and without colour blindness can distinguish classes by colour or by shape."""

from pathlib import Path

import numpy as np
import pytest
from colour_vision import READERS, ciede2000, contrast, distances, least_distances, linear, seen, to_lab

from hyplearn.plotting import palette
from hyplearn.plotting.palette import class_styles, label_styles, ramp

ROOT = Path(__file__).parents[2]
GROUNDS = {False: palette.LIGHT_GROUND, True: palette.DARK_GROUND}
on_both_grounds = pytest.mark.parametrize("dark", [False, True])


def ground(dark):
    return linear([GROUNDS[dark]])[0]


def colours(styles):
    return linear([style.colour for style in styles])


def test_ciede2000_has_the_published_values():  # pairs 1, 7, 17, 19 and 34 of Sharma, Wu and Dalal (2005), table 1
    first = [[50, 2.6772, -79.7751], [50, 0, 0], [50, 2.5, 0], [50, 2.5, 0], [2.0776, 0.0795, -1.1350]]
    second = [[50, 0, -82.7485], [50, -1, 2], [73, 25, -18], [58, 24, 15], [0.9033, -0.0636, -0.5514]]
    found = ciede2000(np.array(first), np.array(second))
    assert np.allclose(found, [2.0425, 2.3669, 27.1492, 19.4535, 0.9082], atol=5e-5)


def test_contrast_of_black_and_white_is_21():
    assert np.isclose(contrast(linear(["#000000"]), linear(["#FFFFFF"])[0])[0], 21)


@on_both_grounds
def test_every_colour_has_a_contrast_of_three_to_its_ground(dark):
    styles = [*class_styles(80, dark=dark), *label_styles(["other"], dark=dark).values()]
    assert contrast(colours(styles), ground(dark)).min() >= 3
    assert contrast(linear(ramp(dark=dark)), ground(dark)).min() >= 3


def test_the_dark_ground_matches_the_explorer():
    style = (ROOT / "src" / "hyplearn" / "explorer" / "page" / "style.css").read_text()
    assert palette.DARK_GROUND.lower() in style.lower()


@on_both_grounds
@pytest.mark.parametrize("reader", READERS)
def test_ten_classes_differ_by_colour_alone_for_every_reader(reader, dark):
    found = distances(colours(class_styles(10, dark=dark)), reader) + 100 * np.eye(10)
    assert found.min() > (21 if reader == "normal" else 13)


@on_both_grounds
def test_forty_classes_differ_by_shape_or_clearly_by_colour(dark):
    styles = class_styles(40, dark=dark)
    shapes = np.array([style.shape for style in styles])
    same_shape = shapes[:, None] == shapes
    assert len(set(styles)) == 40
    assert least_distances(colours(styles))[same_shape].min() > 13


@on_both_grounds
def test_grey_differs_from_the_colours(dark):
    styles = label_styles(["other", *range(10)], dark=dark)
    assert styles["other"].colour not in {styles[k].colour for k in range(10)}
    assert [styles[k] for k in range(10)] == class_styles(10, dark=dark)
    assert list(styles)[-1] == "other"
    assert least_distances(colours(styles.values()))[-1].min() > 7


def test_styles_repeat_beyond_eighty_classes():
    assert len(set(class_styles(80))) == 80
    assert class_styles(81)[80] == class_styles(1)[0]


@on_both_grounds
@pytest.mark.parametrize("reader", READERS)
def test_the_ramp_has_even_steps_away_from_the_ground(reader, dark):
    lab = to_lab(seen(linear(ramp(dark=dark)), reader))
    steps = ciede2000(lab[:-1], lab[1:])
    assert np.all(np.diff(lab[:, 0]) * (1 if dark else -1) > 0)
    if reader == "normal":
        assert steps.max() / steps.min() < 1.2
