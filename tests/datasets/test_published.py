import hashlib
import http.server
import io
import os
import socket
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hyplearn.datasets import fetch_cifar10, fetch_fashion_mnist, fetch_olsson, published
from hyplearn.geometry import gap

EMBEDDING, POINTS = "olsson_poincare_embedding.npz", "olsson_reference_points_gt.npy"


def saved(save, *arrays, **named):
    content = io.BytesIO()
    save(content, *arrays, **named)
    return content.getvalue()


@pytest.fixture
def files():
    """Contents of two small files that replace the published ones."""
    return {
        EMBEDDING: saved(
            np.savez,
            x_train=np.array([[0.1, 0.2], [0.3, 0.4], [-0.5, 0.6]]),
            x_test=np.array([[0.7, 0.1]]),
            y_train=np.array([0.0, 1.0, 1.0]),
            y_test=np.array([1.0]),
        ),
        POINTS: saved(np.save, np.array([[0.1, 0.1], [0.2, 0.2]])),
    }


def publication(files, port, timeout=30.0):
    """Description of the files as published at a port of this machine."""
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return published.Publication(f"http://127.0.0.1:{port}/", hashes, timeout)


@pytest.fixture
def olsson(files, free_port):
    """``fetch_olsson`` for the small files, with an address at which no server listens."""
    return partial(published.fetch_embedding, "olsson", publication=publication(files, free_port))


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """Remove all directories, caches, proxies and networks, except those that a test sets up itself."""
    monkeypatch.delenv("HYPLEARN_DATA", raising=False)
    monkeypatch.setenv("HYPLEARN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Server(http.server.ThreadingHTTPServer):
    """Server of ``contents``; it announces ``promised`` bytes more than it sends."""

    def __init__(self, contents):
        super().__init__(("127.0.0.1", 0), Handler)
        self.contents, self.promised, self.delay, self.asked = dict(contents), 0, 0.0, []

    def handle_error(self, *args):
        """Ignore clients that close the connection, which some tests do on purpose."""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.lstrip("/")
        self.server.asked.append(name)
        time.sleep(self.server.delay)
        if name not in self.server.contents:
            self.send_error(404)
            return
        content = self.server.contents[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + self.server.promised))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(files):
    with Server(files) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.publication = publication(files, server.server_port)
        server.fetch = partial(published.fetch_embedding, "olsson", publication=server.publication)
        yield server
        server.shutdown()
        thread.join()


def kept(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def write(folder, contents):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


def test_a_missing_file_is_downloaded_once_and_kept(server, files, tmp_path):
    cells = server.fetch(data_home=tmp_path / "new" / "home")
    np.testing.assert_array_equal(cells.X_train, [[0.1, 0.2], [0.3, 0.4], [-0.5, 0.6]])
    np.testing.assert_array_equal(cells.X_test, [[0.7, 0.1]])
    np.testing.assert_array_equal(cells.reference_points, [[0.1, 0.1], [0.2, 0.2]])
    assert kept(tmp_path / "new" / "home") == [EMBEDDING, POINTS]
    server.fetch(data_home=tmp_path / "new" / "home", download_if_missing=False)
    assert server.asked == [EMBEDDING, POINTS]


def test_labels_stored_as_floats_become_integers(server, tmp_path):
    cells = server.fetch(data_home=tmp_path)
    for labels, expected in ((cells.y_train, [0, 1, 1]), (cells.y_test, [1])):
        assert labels.dtype == np.int64
        np.testing.assert_array_equal(labels, expected)


def test_labels_that_are_not_integers_are_rejected(files, free_port, tmp_path):
    broken = saved(np.savez, x_train=np.zeros((1, 2)), x_test=np.zeros((1, 2)), y_train=[0.5], y_test=[0.0])
    files = {**files, EMBEDDING: broken}
    write(tmp_path, files)
    with pytest.raises(ValueError, match=r"Class numbers must be integers; got 0\.5"):
        published.fetch_embedding("olsson", tmp_path, publication=publication(files, free_port))


def test_the_cache_is_used_when_no_home_is_given(server, tmp_path):
    server.fetch()
    assert kept(tmp_path / "cache") == [EMBEDDING, POINTS]


@pytest.mark.parametrize("alter", [lambda c: b"p" + c[1:], lambda c: c[: len(c) // 2], lambda c: b""])
def test_an_altered_download_is_named_and_not_kept(server, files, tmp_path, alter):
    server.contents[EMBEDDING] = alter(files[EMBEDDING])
    with pytest.raises(OSError, match=f"{EMBEDDING}, as downloaded from http.*is not the published file.*") as caught:
        server.fetch(data_home=tmp_path / "home")
    assert server.publication.sha256[EMBEDDING] in str(caught.value)
    assert hashlib.sha256(server.contents[EMBEDDING]).hexdigest() in str(caught.value)
    assert kept(tmp_path / "home") == []


def test_a_truncated_download_is_named_and_not_kept(server, tmp_path):
    server.promised = 10
    with pytest.raises(OSError, match=rf"{EMBEDDING} could not be downloaded from http://127.*10 more expected"):
        server.fetch(data_home=tmp_path / "home")
    assert kept(tmp_path / "home") == []


def test_a_file_gone_from_the_server_is_an_error_with_the_next_step(server, tmp_path):
    del server.contents[POINTS]
    with pytest.raises(OSError, match=rf"{POINTS} could not be downloaded.*404.*\n.*HYPLEARN_DATA or data_home"):
        server.fetch(data_home=tmp_path)


def test_no_network_is_one_error_with_the_next_step(olsson, tmp_path):
    with pytest.raises(
        OSError, match=r"could not be downloaded from http://127.*\n.*HYPLEARN_DATA or data_home"
    ) as caught:
        olsson(data_home=tmp_path)
    assert f"{olsson.keywords['publication'].url}{EMBEDDING}" in str(caught.value)


def test_a_server_that_does_not_answer_times_out(server, tmp_path):
    impatient = server.publication._replace(timeout=0.1)
    server.delay = 0.5
    with pytest.raises(OSError, match=rf"{EMBEDDING} could not be downloaded.*timed out"):
        server.fetch(data_home=tmp_path, publication=impatient)


def test_a_damaged_kept_file_is_downloaded_again(server, files, tmp_path):
    write(tmp_path, {**files, POINTS: b"damaged"})
    server.fetch(data_home=tmp_path)
    assert server.asked == [POINTS]
    assert (tmp_path / POINTS).read_bytes() == files[POINTS]
    assert kept(tmp_path) == [EMBEDDING, POINTS]


def test_a_damaged_kept_file_is_an_error_if_nothing_may_be_downloaded(server, files, tmp_path):
    write(tmp_path, {**files, POINTS: b"damaged"})
    with pytest.raises(OSError, match=rf"{POINTS} is not the published file.*\nPass download_if_missing=True"):
        server.fetch(data_home=tmp_path, download_if_missing=False)
    assert server.asked == []


def test_a_missing_file_is_an_error_if_nothing_may_be_downloaded(server, tmp_path):
    with pytest.raises(
        FileNotFoundError,
        match=rf"{EMBEDDING} is not in .*, and HYPLEARN_DATA is not set\.\nPass download_if_missing=True",
    ):
        server.fetch(data_home=tmp_path, download_if_missing=False)
    assert server.asked == []


def test_hyplearn_data_is_searched_first(server, files, monkeypatch, tmp_path):
    write(tmp_path / "given", files)
    write(tmp_path / "home", {EMBEDDING: b"damaged", POINTS: b"damaged"})
    monkeypatch.setenv("HYPLEARN_DATA", str(tmp_path / "given"))
    assert len(server.fetch(data_home=tmp_path / "home").X_train) == 3
    assert server.asked == []


def test_a_wrong_file_in_hyplearn_data_is_an_error_with_both_hashes(server, files, monkeypatch, tmp_path):
    write(tmp_path / "given", {**files, EMBEDDING: b"other"})
    monkeypatch.setenv("HYPLEARN_DATA", str(tmp_path / "given"))
    with pytest.raises(OSError, match="found through HYPLEARN_DATA, is not the published file") as caught:
        server.fetch(data_home=tmp_path / "home")
    for part in (
        str(tmp_path / "given" / EMBEDDING),
        hashlib.sha256(b"other").hexdigest(),
        server.publication.sha256[EMBEDDING],
    ):
        assert part in str(caught.value)
    assert server.asked == []


def test_files_missing_in_hyplearn_data_are_read_from_the_next_folder(server, files, monkeypatch, tmp_path):
    write(tmp_path / "given", {POINTS: files[POINTS]})
    monkeypatch.setenv("HYPLEARN_DATA", str(tmp_path / "given"))
    server.fetch(data_home=tmp_path / "home")
    assert server.asked == [EMBEDDING]
    assert kept(tmp_path / "home") == [EMBEDDING]


def test_a_home_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(OSError, match=rf"{EMBEDDING} could not be written.*\nPass another directory as data_home"):
        server.fetch(data_home=tmp_path / "file" / "home")


def test_a_failed_write_leaves_nothing_behind(server, monkeypatch, tmp_path):
    def refuse(*_):
        raise PermissionError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="could not be written: no"):
        server.fetch(data_home=tmp_path / "home")
    assert kept(tmp_path / "home") == []


@pytest.mark.parametrize("fetch", [fetch_olsson, fetch_cifar10, fetch_fashion_mnist])
def test_data_home_and_download_if_missing_are_passed_on(fetch, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=rf"is not in {tmp_path / 'home'}, .*\n.*https://raw\.githubusercontent"
    ):
        fetch(data_home=tmp_path / "home", download_if_missing=False)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"HYPLEARN_CACHE": "/named"}, "/named"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/hyplearn"),
        ("linux", {}, "/me/.cache/hyplearn"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "/me/Library/Caches/hyplearn"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/hyplearn"),
        ("win32", {}, "/me/AppData/Local/hyplearn"),
    ],
)
def test_the_cache_lies_where_the_platform_keeps_caches(monkeypatch, platform, variables, expected):
    for name in ("HYPLEARN_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Path, "home", lambda: Path("/me"))
    monkeypatch.setattr(sys, "platform", platform)
    assert published.cache_directory() == Path(expected)


@pytest.fixture
def real(nowhere, published_data, monkeypatch):
    monkeypatch.setenv("HYPLEARN_DATA", str(published_data))


SETS = [
    (fetch_olsson, 231, 88, 8, "Olsson's single cells"),
    (fetch_cifar10, 50_000, 10_000, 10, "CIFAR10"),
    (fetch_fashion_mnist, 60_000, 10_000, 10, "Fashion-MNIST"),
]


@pytest.mark.parametrize(("fetch", "n_train", "n_test", "n_classes", "title"), SETS)
def test_the_published_files_are_complete(real, fetch, n_train, n_test, n_classes, title):
    data = fetch(download_if_missing=False)
    assert data.X_train.shape == (n_train, 2)
    assert data.X_test.shape == (n_test, 2)
    assert data.reference_points.shape == (n_classes, 2)
    for labels in (data.y_train, data.y_test):
        assert labels.dtype == np.int64
        np.testing.assert_array_equal(np.unique(labels), np.arange(n_classes))
    assert (len(data.y_train), len(data.y_test)) == (n_train, n_test)
    assert data.DESCR.startswith(f"{title} in the Poincaré disk\n")
    assert f"{n_train} + {n_test} rows, 2 features, {n_classes} classes." in data.DESCR
    assert "MIT licence, © 2021 Chao Pan" in data.DESCR
    assert max(map(len, data.DESCR.splitlines())) <= 120


@pytest.mark.parametrize("fetch", [fetch_olsson, fetch_cifar10, fetch_fashion_mnist])
def test_all_published_points_lie_inside_the_open_disk(real, fetch):
    data = fetch(download_if_missing=False)
    for points in (data.X_train, data.X_test, data.reference_points):
        assert gap(points).min() > 0
