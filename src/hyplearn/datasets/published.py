"""The mammals data set, which is bundled with the package, and the embeddings published with the paper.

The mammals are nouns of WordNet. The paper is by Chien, Pan, Tabaghi and Milenkovic (2021). Published embeddings are
read from disk or downloaded, and their checksums are verified.
"""

import csv
import hashlib
import http.client
import io
import os
import sys
import urllib.request
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from hyplearn.files import write_whole
from hyplearn.types import Array

_MAMMALS = """\
The mammals of WordNet 3.0 in the Poincaré disk
-----------------------------------------------
1170 nodes, 2 features, 13 classes.

Each row is a noun in WordNet's hierarchy of mammals, from the root, "mammal", to breeds of dogs; `parents` holds the
tree. The points are computed from the tree alone, without the labels: the root is the origin, each child lies at
hyperbolic distance 1 from its parent, and the directions away from a parent are divided among its children in
proportion to m^0.7, where m is the number of leaves in the subtree of a child. No two edges cross. The ratio of tree
distance to hyperbolic distance is at least 1, and 1.31 on average over all pairs of nodes; the largest ratio, 61,
occurs for two of the 35 children of "rodent". The farthest point is at hyperbolic distance 8.24 from the origin.

The label of each node is the order to which it belongs. Numbers of nodes:

carnivores 366, even-toed ungulates 185, rodents 139, odd-toed ungulates 116, primates 105, bats 41, marsupials 37,
cetaceans 33, lagomorphs 25, edentates 22, pinnipeds 22, insectivores 21; other 58: nodes that belong to no order
(mammal, ungulate, livestock) and small orders (elephants, sea cows, monotremes).

The orders are those of WordNet, which counts seals as aquatic mammals, not as carnivores. Repeated names are numbered:
"pony", "pony 2". The data file is made by tools/make_mammals.py in the source repository.

WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved. The licence is in the file WORDNET_LICENSE next
to the data.
"""


@overload
def load_mammals(*, return_X_y: Literal[False] = ...) -> Bunch: ...


@overload
def load_mammals(*, return_X_y: Literal[True]) -> tuple[NDArray[np.float64], NDArray[np.str_]]: ...


def load_mammals(*, return_X_y: bool = False) -> Bunch | tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Load the mammals of WordNet 3.0, a tree of 1170 nodes in the Poincaré disk, labelled with their taxonomic orders.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only ``(data, target)``.

    Returns
    -------
    mammals : Bunch
        With the attributes

        data : ndarray of shape (1170, 2)
            Points of the open unit disk (curvature -1); the root is the origin.
        target : ndarray of shape (1170,)
            The taxonomic order of each node, as a string.
        target_names, feature_names : list of str
            The 13 orders, sorted, and ``["x0", "x1"]``.
        names : ndarray of shape (1170,)
            The name of each node.
        parents : ndarray of shape (1170,)
            The row of each node's parent, always an earlier row; -1 for the root.
        DESCR : str
            Description of the data and of their origin.
    (data, target) : tuple of ndarray
        If ``return_X_y`` is true.

    Examples
    --------
    >>> from hyplearn.datasets import load_mammals
    >>> mammals = load_mammals()
    >>> mammals.data.shape
    (1170, 2)
    >>> print(", ".join(mammals.target_names))
    bats, carnivores, cetaceans, edentates, even-toed ungulates, insectivores, lagomorphs, marsupials,
    odd-toed ungulates, other, pinnipeds, primates, rodents
    """
    source = resources.files("hyplearn.datasets") / "data" / "mammals.csv"
    with source.open(encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    names, parents, orders, x0, x1 = zip(*rows, strict=True)
    data = np.column_stack([np.array(x0, dtype=np.float64), np.array(x1, dtype=np.float64)])
    target = np.array(orders)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        target_names=sorted(set(orders)),
        feature_names=["x0", "x1"],
        names=np.array(names),
        parents=np.array(parents, dtype=np.intp),
        DESCR=_MAMMALS,
    )


class Publication(NamedTuple):
    """A set of published files: their base URL, the SHA-256 of each file, and the download timeout in seconds.

    ``paths`` maps names of files to their paths below the URL, for files that were published under other names.
    """

    url: str
    sha256: dict[str, str]
    timeout: float
    paths: Mapping[str, str] = MappingProxyType({})

    def url_of(self, name: str) -> str:
        """Return the URL of a file."""
        return self.url + self.paths.get(name, name)

    def verify(self, content: bytes, name: str, where: str, next_step: str) -> None:
        """Raise an error if the content differs from the published file."""
        if (found := _sha256(content)) != self.sha256[name]:
            raise OSError(
                f"{where} is not the published file: it has {len(content)} bytes with SHA-256 {found}; expected "
                f"{self.sha256[name]}.\n{next_step}"
            )

    def download(self, name: str) -> bytes:
        """Download a file and verify its checksum."""
        url = self.url_of(name)
        by_hand = (
            f"Try again, or save it as {name} in a directory and pass that directory as HYPLEARN_DATA or data_home."
        )
        try:
            with urllib.request.urlopen(url, timeout=self.timeout) as response:
                content: bytes = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise OSError(f"{name} could not be downloaded from {url}: {error}.\n{by_hand}") from error
        self.verify(content, name, f"{name}, as downloaded from {url},", f"The download was discarded. {by_hand}")
        return content


PUBLICATION = Publication(
    url="https://raw.githubusercontent.com/thupchnsky/PoincareLinearClassification/"
    "789be7c6f8505af4e91a94715f225bcd9f095edd/embedding/",
    sha256={
        "olsson_poincare_embedding.npz": "f7d65e26eca92c7a3316794b4bcd64f8812182fc1e778c9a4aa1c47a3e3f9ab4",
        "olsson_reference_points_gt.npy": "5c1296916aab4fe413f2a292316ae8ccfa3fa4f4e60627294db72c1e1d9ab883",
        "cifar_poincare_embedding.npz": "25973eff7e7ab3100e37a4318594f5e47bbdcd43b33bbb4d24c999f7aa0577e7",
        "cifar_reference_points_gt.npy": "c933454f331dbe2d743eae39bd94306bf9ce7e21c7e61f77566b8e5301b5be62",
        "fashion-mnist_poincare_embedding.npz": "ef3a648461a172db2b271bb9bcc5bc7d9bc5de7858e8728cabbd9cebf2a0cc12",
        "fashion-mnist_reference_points_gt.npy": "4e7246d593960638703c238ff896f5a555ff95d04dc4dc683abf42803b10e3bb",
    },
    timeout=30,  # a download fails after this many seconds without new data; the largest file is 1.7 MB
)

_DESCR = """\
{title} in the Poincaré disk
{rule}
{n_train} + {n_test} rows, 2 features, {n_classes} classes.

X_train, X_test   coordinates in the Poincaré disk of curvature -1; the largest norm is {largest_norm:.4f}.
y_train, y_test   class numbers from 0. The authors split the data into training and test rows.
reference_points  row k is the authors' reference point for class k against the rest.
                  {points_note}

{origin}

Source: E. Chien, C. Pan, P. Tabaghi, O. Milenkovic, "Highly Scalable and Provably Accurate Classification in Poincaré
Balls", ICDM 2021; https://github.com/thupchnsky/PoincareLinearClassification, MIT licence, © 2021 Chao Pan.
"""
_ON_A_LATTICE = "These points lie on a pixel grid and are not the output of an algorithm in the paper."
_SETS = {
    "olsson": {
        "title": "Olsson's single cells",
        "origin": "RNA of single cells (Olsson et al., Nature, 2016), embedded as in Klimovskaia et al. (2020).",
        "points_note": "It is the midpoint of two vertices of Euclidean hulls: one of class k, and one of the rest.",
    },
    "cifar": {
        "title": "CIFAR10",
        "origin": "Images of ten kinds of objects (Krizhevsky, 2009), embedded as in Khrulkov et al. (2020).",
        "points_note": _ON_A_LATTICE,
    },
    "fashion-mnist": {
        "title": "Fashion-MNIST",
        "origin": "Images of ten kinds of clothing (Xiao et al., 2017), embedded as in Khrulkov et al. (2020).",
        "points_note": _ON_A_LATTICE,
    },
}


def fetch_olsson(*, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True) -> Bunch:
    """Load Olsson's single cells in the Poincaré disk: 231 training and 88 test cells in 8 classes.

    Parameters
    ----------
    data_home : path, optional
        Directory in which downloaded files are stored. The default is the directory named by the environment variable
        ``HYPLEARN_CACHE`` or, if it is not set, ``hyplearn`` in the platform's cache directory. The directory named by
        the environment variable ``HYPLEARN_DATA`` is searched first.
    download_if_missing : bool
        Whether to download files (7 kB in total) that are in neither directory, and to replace damaged files in
        `data_home`. If False, an error is raised instead.

    Returns
    -------
    Bunch
        Object with the fields ``X_train``, ``y_train``, ``X_test``, ``y_test``, ``reference_points`` (one per class)
        and ``DESCR``.

    Raises
    ------
    OSError
        If a file is missing and cannot be downloaded, or if its SHA-256 differs from that of the published file.
    """
    return fetch_embedding("olsson", data_home, download_if_missing)


def fetch_cifar10(*, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True) -> Bunch:
    """Load CIFAR10 in the Poincaré disk: 50,000 training and 10,000 test images in 10 classes.

    Parameters
    ----------
    data_home, download_if_missing
        As in :func:`fetch_olsson`; the size of the download is 1.4 MB.

    Returns
    -------
    Bunch
        Object with the same fields as the result of :func:`fetch_olsson`.
    """
    return fetch_embedding("cifar", data_home, download_if_missing)


def fetch_fashion_mnist(*, data_home: str | os.PathLike[str] | None = None, download_if_missing: bool = True) -> Bunch:
    """Load Fashion-MNIST in the Poincaré disk: 60,000 training and 10,000 test images in 10 classes.

    Parameters
    ----------
    data_home, download_if_missing
        As in :func:`fetch_olsson`; the size of the download is 1.7 MB.

    Returns
    -------
    Bunch
        Object with the same fields as the result of :func:`fetch_olsson`.
    """
    return fetch_embedding("fashion-mnist", data_home, download_if_missing)


def fetch_embedding(
    prefix: str, data_home: Any = None, download_if_missing: bool = True, publication: Publication = PUBLICATION
) -> Bunch:
    """Load the published dataset whose file names start with the given prefix."""
    home = cache_directory() if data_home is None else Path(data_home).expanduser()
    embedding, points = (
        np.load(
            io.BytesIO(published_content(prefix + ending, home, download_if_missing, publication)), allow_pickle=False
        )
        for ending in ("_poincare_embedding.npz", "_reference_points_gt.npy")
    )
    bunch = Bunch(
        X_train=embedding["x_train"],
        y_train=_integers(embedding["y_train"]),
        X_test=embedding["x_test"],
        y_test=_integers(embedding["y_test"]),
        reference_points=points,
    )
    bunch.DESCR = _DESCR.format(
        **_SETS[prefix],
        rule="-" * len(f"{_SETS[prefix]['title']} in the Poincaré disk"),
        n_train=len(bunch.X_train),
        n_test=len(bunch.X_test),
        n_classes=len(points),
        largest_norm=max(np.linalg.norm(X, axis=1).max() for X in (bunch.X_train, bunch.X_test)),
    )
    return bunch


def _integers(labels: Array) -> Array:
    """Convert class numbers to integers; two of the three datasets store them as floats."""
    integers = labels.astype(np.int64)
    if not np.array_equal(integers, labels):
        raise ValueError(
            f"Class numbers must be integers; got {labels[integers != labels][0]}.\nDownload the published file again."
        )
    return integers


# Pooch is not used here, because it would add 8 packages and save only about 30 lines. Moreover, it has no equivalent
# of ``download_if_missing=False``, and the error that it raises without a network connection does not suggest a next
# step (pooch 1.9).
def published_content(name: str, home: Path, download_if_missing: bool, publication: Publication) -> bytes:
    """Return the contents of a published file, which is read from HYPLEARN_DATA or ``home``, or downloaded to ``home``.

    A file that is missing, or damaged in ``home``, is downloaded if ``download_if_missing`` is True; otherwise an error
    is raised.
    """
    first = os.environ.get("HYPLEARN_DATA")
    if first and (given := Path(first).expanduser() / name).is_file():
        content = given.read_bytes()
        publication.verify(content, name, f"{given}, found through HYPLEARN_DATA,", "Replace or remove the file.")
        return content
    kept = home / name
    if kept.is_file():
        content = kept.read_bytes()
        if not download_if_missing:
            publication.verify(content, name, str(kept), "Pass download_if_missing=True to replace the file.")
        if _sha256(content) == publication.sha256[name]:
            return content
    elif not download_if_missing:
        where = f" or in HYPLEARN_DATA={first}" if first else ", and HYPLEARN_DATA is not set"
        raise FileNotFoundError(
            f"{name} is not in {home}{where}.\n"
            f"Pass download_if_missing=True, or save {publication.url_of(name)} as {kept}."
        )
    content = publication.download(name)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, content)
    except OSError as error:
        raise OSError(
            f"{kept} could not be written: {error}.\n"
            "Pass another directory as data_home or in the environment variable HYPLEARN_CACHE."
        ) from error
    return content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def cache_directory() -> Path:
    """Return the cache directory: HYPLEARN_CACHE if set, else ``hyplearn`` in the platform's cache directory."""
    if named := os.environ.get("HYPLEARN_CACHE"):
        return Path(named).expanduser()
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "hyplearn"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "hyplearn"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "hyplearn"
