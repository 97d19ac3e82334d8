"""Atomic writing of files, and system errors that are not reported as faults of the files."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hyplearn
from hyplearn import files, open_points
from hyplearn.files import WatchedFile, damage_named, replacing, write_whole
from support.stored import separated

KILLED = """
import os, signal, sys
from hyplearn.files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), {signal})
"""
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def run(code, *arguments):
    environment = os.environ | {"PYTHONPATH": str(Path(hyplearn.__file__).resolve().parents[1])}
    return subprocess.run([sys.executable, "-c", code, *arguments], env=environment, check=False).returncode


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_killed_leaves_the_old_file_and_nothing_else(tmp_path, number):
    path = tmp_path / "old.npy"
    path.write_bytes(b"old")
    assert run(KILLED.format(signal=int(number)), str(path)) == -number
    write_whole(tmp_path / "other", b"")  # the next write removes temporary files that were left behind
    assert path.read_bytes() == b"old"
    named = not hasattr(os, "O_TMPFILE")
    assert named or sorted(file.name for file in tmp_path.iterdir()) == ["old.npy", "other"]


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_temporary_files_of_a_dead_process_are_removed_by_the_next_write(tmp_path, number):
    path = tmp_path / "old.npy"
    code = "import hyplearn.files as files\nfiles._nameless = lambda folder: None\n" + KILLED.format(signal=int(number))
    run(code, str(path))
    assert len(list(tmp_path.iterdir())) == 1
    own = tmp_path / f".old.npy.{os.getpid()}-{'0' * 16}"
    own.write_bytes(b"in use")
    write_whole(path, b"new")
    assert sorted(file.name for file in tmp_path.iterdir()) == [own.name, "old.npy"]
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("nameless", [True, False])
def test_a_file_is_replaced_with_the_rights_of_a_new_one(tmp_path, nameless, monkeypatch):
    if not nameless:
        monkeypatch.setattr(files, "_nameless", lambda folder: None)
    path, plain = tmp_path / "a b*[x].bin", tmp_path / "plain"
    plain.touch()
    for content in (b"one", b"two"):
        write_whole(path, content)
        assert path.read_bytes() == content
    assert path.stat().st_mode == plain.stat().st_mode
    with pytest.raises(TypeError), replacing(path) as file:
        file.write("no bytes")
    assert path.read_bytes() == b"two"
    assert len(list(tmp_path.iterdir())) == 2


@posix
def test_many_files_need_few_descriptors(tmp_path):
    resource = pytest.importorskip("resource")
    X, y = separated(6)
    frame = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "kind": y})
    frame.to_parquet(tmp_path / "0.parquet")
    for number in range(1, 120):
        os.link(tmp_path / "0.parquet", tmp_path / f"{number}.parquet")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 60
    highest = max((int(name) for name in os.listdir("/proc/self/fd")), default=opened) if opened else 60
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, before[1]))
    try:
        block = open_points(tmp_path).limited(memory=0).gathered()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len(block.X) == 720
    assert np.array_equal(block.X[:6], X)


def test_a_file_that_disappears_during_the_check_is_named(tmp_path, monkeypatch):
    path = tmp_path / "points.npy"
    path.write_bytes(b"points")
    watched, answers = WatchedFile(path), iter([True])
    path.unlink()
    monkeypatch.setattr(Path, "exists", lambda self: next(answers, False))  # it was still there a moment ago
    with pytest.raises(OSError, match=r"points\.npy was (changed|removed) while it was being read"):
        watched.check()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES, errno.ENOMEM])
def test_a_system_error_is_not_reported_as_damage(number):
    with pytest.raises(OSError, match=r"^\[Errno") as caught, damage_named("cells.parquet"):
        raise OSError(number, "Failed to open")
    assert caught.value.errno == number
    assert caught.value.filename == "cells.parquet"
    assert "damaged" not in str(caught.value)
    assert ("ulimit -n" in str(caught.value)) == (number == errno.EMFILE)
    assert ("permissions" in str(caught.value)) == (number == errno.EACCES)


def test_other_errors_of_readers_name_the_file():
    with pytest.raises(ValueError, match=r"cells\.parquet is damaged: odd"), damage_named("cells.parquet"):
        raise OSError("odd")
