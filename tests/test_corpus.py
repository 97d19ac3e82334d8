"""Inputs that once failed, replayed: files of points and model files are read or refused, labels are told apart."""

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

import hyplearn
from hyplearn.persistence import ModelFileError
from support import fuzz
from support.mutations import check_usable

CORPUS = sorted(path for path in fuzz.CORPUS.iterdir() if path.suffix != ".md")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_an_input_that_once_failed_is_read_or_refused(path):
    if path.suffix != ".hyp":
        assert fuzz.read_points(path) in ("read", "refused")
        return
    with suppress(ModelFileError):
        check_usable(hyplearn.load(path))


@pytest.mark.parametrize("group", fuzz.GROUPS)
def test_a_few_inputs_of_every_group(group):
    if group == "pages" and not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("no browser: apt-get install chromium chromium-driver")
    counts = [fuzz.GROUPS[group](number) for number in range(5)]
    assert all(sum(count.values()) == 1 for count in counts)


def test_failures_are_found_and_kept(tmp_path):
    fuzz.keep("points", {"failed": 3, "error": "ValueError: odd"}, tmp_path / "out")
    assert len(list(Path(tmp_path, "out").iterdir())) == 2
