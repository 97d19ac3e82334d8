"""How pictures are kept: small, as PNG and as SVG, with the colours they were drawn in."""

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


def test_a_palette_changes_colours_by_little_and_flat_images_not_at_all():
    rng = np.random.default_rng(0)
    dots = np.zeros((200, 200, 4), np.uint8)
    dots[rng.random((200, 200)) < 0.3] = [120, 30, 200, 255]
    for noise, due in ((0, 0), (40, 20)):
        noisy = (dots + rng.integers(0, noise + 1, dots.shape)).clip(0, 255).astype(np.uint8)
        noisy[..., 3] = 255
        file = io.BytesIO()
        Image.fromarray(noisy).save(file, format="PNG")
        small = pictures._smaller(base64.b64encode(file.getvalue()).decode())
        back = np.asarray(Image.open(io.BytesIO(base64.b64decode(small))).convert("RGBA"))
        assert np.abs(back.astype(int) - noisy).mean() <= due
        assert len(small) <= len(base64.b64encode(file.getvalue()))
