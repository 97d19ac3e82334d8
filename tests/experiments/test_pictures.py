"""Saved pictures are small, are PNG and SVG files, and keep their colours."""

import base64
import io

import numpy as np
import pictures
import pytest
from matplotlib import pyplot as plt
from PIL import Image


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    figure, ax = plt.subplots(figsize=(4, 4))
    rng = np.random.default_rng(0)
    ax.scatter(*rng.random((2, 5000)), c=rng.random(5000), s=9)
    ax.plot([0, 1], [0, 1], label="a line")
    pictures.save(figure, folder, "many")
    return folder


def test_many_points_are_an_image_with_a_palette_and_lines_stay_lines(folder):
    svg = (folder / "many.svg").read_text()
    (image,) = pictures.EMBEDDED.findall(svg)
    assert Image.open(io.BytesIO(base64.b64decode(image))).mode == "P"
    assert svg.count("<path") < 50
    assert len(svg) < 200_000
    assert (folder / "many.png").read_bytes().startswith(b"\x89PNG")


def embedded(pixels):
    """Image encoded as in an SVG."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    return base64.b64encode(file.getvalue()).decode()


def pixels_of(image):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(image))).convert("RGBA")).astype(int)


def test_a_palette_changes_colours_by_little_and_tints_of_regions_not_at_all():
    rng = np.random.default_rng(0)
    tints = rng.integers(200, 256, (12, 4), np.uint8)
    regions = np.repeat(np.repeat(tints[rng.integers(12, size=(10, 10))], 40, axis=0), 40, axis=1)
    assert np.array_equal(pixels_of(pictures._smaller(embedded(regions))), regions)
    noisy = rng.integers(0, 256, (200, 200, 4), np.uint8)
    noisy[..., 3] = 255
    small = pictures._smaller(embedded(noisy))
    assert np.abs(pixels_of(small) - noisy).mean() < 20
    assert len(small) < len(embedded(noisy)) / 3
