"""Inputs that once failed are replayed: files are read or rejected, and labels are distinguished."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import hyplearn
from hyplearn.persistence import ModelFileError
from support import fuzz
from support.mutations import check_usable

CORPUS = sorted(path for path in fuzz.CORPUS.iterdir() if path.suffix != ".md")


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_inputs_that_once_failed_are_read_or_rejected(path):
    if path.suffix != ".hyp":
        assert fuzz.read_points(path) in ("read", "refused")
        return
    with suppress(ModelFileError):
        check_usable(hyplearn.load(path))


@pytest.mark.parametrize("group", fuzz.GROUPS)
def test_a_few_inputs_of_every_group_are_fuzzed(group):
    if group == "pages" and not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("no browser: apt-get install chromium chromium-driver")
    if group == "pages":
        pytest.importorskip("selenium")
    if group == "hdf5" and not hasattr(os, "fork"):
        pytest.skip("no fork")
    counts = [fuzz.GROUPS[group](number) for number in range(5)]
    assert all(sum(count.values()) == 1 for count in counts)


def test_failures_are_found_and_kept(tmp_path):
    fuzz.keep("points", {"failed": 3, "error": "ValueError: odd"}, tmp_path / "out")
    assert len(list(Path(tmp_path, "out").iterdir())) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_file_is_read_in_a_process_that_ends(tmp_path, monkeypatch):
    path = tmp_path / "points.csv"
    path.write_text("u,v,label\n0.1,0.2,a\n0.2,0.1,b\n")
    assert fuzz.read_in_a_process(path) == "read"
    assert fuzz.read_in_a_process(tmp_path / "nowhere.csv") == "refused"
    monkeypatch.setattr(fuzz, "read_points", lambda path: 1 / 0)
    with pytest.raises(AssertionError, match="ZeroDivisionError: division by zero"):
        fuzz.read_in_a_process(path)
    monkeypatch.setattr(fuzz, "read_points", lambda path: sum(iter(int, 1)))  # in C, as in a library
    assert fuzz.read_in_a_process(path, seconds=1) == "no end in HDF5's library"
    monkeypatch.setattr(fuzz, "read_points", lambda path: any(False for _ in itertools.repeat(None)))
    with pytest.raises(AssertionError, match="ended with status 75"):
        fuzz.read_in_a_process(path, seconds=1)


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="no limit of CPU time")
def test_an_input_that_does_not_end_is_named():
    """The limit is one of CPU time, so that a busy machine is not taken for a failure."""
    code = (
        "import itertools; from support import fuzz; fuzz.SECONDS = 1; endless = itertools.repeat(None); "
        "fuzz.GROUPS['labels'] = lambda seed: {'fine': 1} if seed < 7 else any(False for _ in endless); "
        "fuzz.child('labels', 5)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=fuzz.TESTS, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"failed": 7, "error": "TimeoutError: no end after 1 s of CPU time"}
