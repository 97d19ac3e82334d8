"""Faulty HDF5, AnnData and zarr data: wrong shapes, decompression bombs, odd types, cut chunks, broken links."""

import json
import zlib
from functools import cache

import numpy as np
import pytest

from support.mutations import HOSTILE, NUMBERS

# Size of a chunk of a bomb in numbers, and number of chunks: 5 GiB of zeros in about 5 MB.
BOMB_CHUNK, BOMB_CHUNKS = 2**23, 80


def write_store(rng, folder):
    """Write a file or folder of a random kind with one fault; returns its path and the name of the fault."""
    is_zarr, annotated = rng.integers(2) == 0, rng.integers(3) == 0
    faults = dict(FAULTS) | (OF_ZARR if is_zarr else OF_HDF5) | (OF_ANNOTATIONS if annotated else {})
    fault = str(rng.choice(sorted(faults)))
    path = folder / f"points.{'zarr' if is_zarr else 'h5ad' if annotated else 'h5'}"
    with Store(path, is_zarr) as store:
        write_plain(store, annotated)
        name = "obsm/X_poincare" if annotated else "X"
        label = "obs/label/codes" if annotated else "y"
        faults[fault](rng, store, name, label)
    if fault == "cut":
        cut_file(rng, path)
    return path, fault


class Store:
    """Root group of an HDF5 file or zarr store, with one interface to write arrays."""

    def __init__(self, path, is_zarr):
        self.path, self.is_zarr = path, is_zarr

    def __enter__(self):
        if self.is_zarr:
            zarr = pytest.importorskip("zarr")

            self.root = zarr.open_group(str(self.path), mode="w")
        else:
            import h5py

            self.root = h5py.File(self.path, "w")
        return self

    def __exit__(self, *_):
        if not self.is_zarr:
            self.root.close()

    def put(self, name, values):
        self.drop(name)
        if not self.is_zarr:
            self.root.create_dataset(name, data=values)
        elif np.size(values) and np.ndim(values):
            self.root.create_array(name, data=np.asarray(values))
        else:
            self.root.create_array(name, shape=np.shape(values), dtype=np.asarray(values).dtype)

    def drop(self, name):
        if name in self.root:
            del self.root[name]

    def unwritten(self, name, shape, chunks, dtype="f8"):
        """New array without any stored chunk."""
        self.drop(name)
        if self.is_zarr:
            return self.root.create_array(name, shape=shape, chunks=chunks, dtype=dtype)
        return self.root.create_dataset(name, shape=shape, chunks=chunks, dtype=dtype, compression="gzip")


def write_plain(store, annotated):
    X, y = 0.1 * np.arange(24.0).reshape(12, 2) / 12, np.arange(12) % 2
    if not annotated:
        store.put("X", X)
        store.put("y", y)
        return
    store.put("obsm/X_poincare", X)
    store.put("obs/label/codes", y.astype(np.int8))
    store.put("obs/label/categories", np.array([3, 5]))
    store.put("obs/_index", np.arange(12))
    store.root["obs"].attrs["_index"] = "_index"


def lying_shape(rng, store, name, label):
    rows = int(rng.choice([13, 10**6, 2**31, 2**40, 2**55]))
    columns = int(rng.choice([1, 2, 10**4]))
    chosen = store.unwritten(name, (rows, columns), (min(rows, int(rng.choice([1, 1000, 10**5]))), columns))
    if rows * columns < 10**5:
        chosen[: rows // 2] = 0.5


def bomb(rng, store, name, label):
    """Replace an array by a bomb: chunks of zeros that are all stored as the same few bytes."""
    array = store.unwritten(name, (BOMB_CHUNKS * BOMB_CHUNK // 2, 2), (BOMB_CHUNK // 2, 2))
    if not store.is_zarr:
        for k in range(BOMB_CHUNKS):
            array.id.write_direct_chunk((k * BOMB_CHUNK // 2, 0), zeros_compressed())
        return
    folder = store.path / name
    array[:2] = 0.5  # writes the first chunk, which is then copied
    chunk = (folder / "c" / "0" / "0").read_bytes()
    for k in range(1, BOMB_CHUNKS):
        (folder / "c" / str(k)).mkdir()
        (folder / "c" / str(k) / "0").write_bytes(chunk)


@cache
def zeros_compressed():
    return zlib.compress(bytes(8 * BOMB_CHUNK), 4)


def odd_type(rng, store, name, label):
    made = [
        np.ones((12, 2), complex), np.ones((12, 2), bool), np.ones((12, 2), "i1"), np.ones((12, 2), "f2"),
        np.full((12, 2), 2**63, "u8"), np.full((12, 2), b"a"), np.ones((12, 2), ">f4"), np.ones(12, "u2"),
    ]  # fmt: skip
    if not store.is_zarr:
        made += [np.zeros((12, 2), [("a", "f8"), ("b", "i4")]), np.ones((12, 2), "g"), np.zeros((12, 2), "V7")]
        made += [np.array([["é", ""]] * 12, dtype=object)]
    store.put(name if rng.integers(2) else label, made[rng.integers(len(made))])


def odd_shape(rng, store, name, label):
    shapes = [(), (0,), (12,), (0, 2), (12, 0), (1, 1), (12, 2, 1), (11, 2), (13,), (12, 1), (1,) * 9]
    store.put(name if rng.integers(2) else label, np.full(shapes[rng.integers(len(shapes))], 0.5))


def odd_values(rng, store, name, label):
    if rng.integers(2):
        store.put(name, rng.choice(NUMBERS, (12, 2)))
    else:
        store.put(label, rng.choice(NUMBERS, 12))


def group_in_place(rng, store, name, label):
    chosen = name if rng.integers(2) else label
    store.drop(chosen)
    store.root.create_group(f"{chosen}/inner" if rng.integers(2) else chosen)


def missing(rng, store, name, label):
    store.drop(str(rng.choice([name, label, name.split("/")[0], label.split("/")[0]])))


FAULTS = {
    "shape": lying_shape, "bomb": bomb, "type": odd_type, "dimensions": odd_shape, "values": odd_values,
    "group": group_in_place, "missing": missing,
}  # fmt: skip


def link(rng, store, name, label):
    import h5py

    store.drop(name)
    links = [h5py.SoftLink("/nowhere"), h5py.SoftLink(f"/{name}"), h5py.SoftLink("/"), h5py.ExternalLink("no.h5", "/X")]
    links += [h5py.ExternalLink(str(store.path), "/")]
    store.root[name] = links[rng.integers(len(links))]


def wrong_chunk(rng, store, name, label):
    """Write chunks with bytes that their filters cannot decode."""
    array = store.unwritten(name, (12, 2), (6, 2))
    for row in (0, 6):
        packed = [zlib.compress(bytes(8 * int(rng.choice([0, 1, 12, 10**6])))), rng.bytes(50), b"\0"]
        array.id.write_direct_chunk((row, 0), packed[rng.integers(len(packed))])


def nothing(rng, store, name, label):
    """Leave the store unchanged; the fault is made in the closed file."""


OF_HDF5 = {"link": link, "chunk": wrong_chunk, "cut": nothing}


def cut_file(rng, path):
    data = path.read_bytes()
    path.write_bytes(data[: rng.integers(len(data))])


def bytes_of_zarr(rng, store, name, label):
    """Cut, empty, remove or overwrite a random file of the store."""
    files = sorted(path for path in store.path.rglob("*") if path.is_file())
    path = files[rng.integers(len(files))]
    data = path.read_bytes()
    change = rng.integers(4)
    if change == 3:
        path.unlink()
    else:
        path.write_bytes([data[: rng.integers(len(data))], b"", rng.bytes(len(data))][change])


def metadata(rng, store, name, label):
    """Replace one value in the metadata of an array by a hostile one."""
    path = store.path / str(rng.choice([name, label, "."])) / "zarr.json"
    description = json.loads(path.read_text())
    place = description
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.integers(len(keys))]
        if not isinstance(place[key], (dict, list)) or not place[key] or rng.integers(3) == 0:
            break
        place = place[key]
    place[key] = HOSTILE[rng.integers(len(HOSTILE))]
    path.write_text(json.dumps(description))


OF_ZARR = {"bytes": bytes_of_zarr, "metadata": metadata}


def wrong_codes(rng, store, name, label):
    codes = [np.arange(12), -np.arange(12), np.full(12, 2**40), np.full(12, 0.5), np.full(12, np.nan), np.arange(5)]
    codes += [np.zeros((12, 2), "i1"), np.full(12, 255, "u1"), np.full(12, b"x")]
    store.put(label, codes[rng.integers(len(codes))])


def wrong_categories(rng, store, name, label):
    categories = [np.empty(0), np.array([np.nan, np.nan]), np.array([1, 1]), np.ones((2, 2)), np.full(2, b"\xff\x00")]
    categories += [np.array(7), np.array([1j, 2])]
    store.put("obs/label/categories", categories[rng.integers(len(categories))])


def wrong_index(rng, store, name, label):
    hostile = ["", "nowhere", "label", "/", "..", 0, -1, 0.5, True, "a" * 300]
    store.root["obs"].attrs["_index"] = hostile[rng.integers(len(hostile))]


OF_ANNOTATIONS = {"codes": wrong_codes, "categories": wrong_categories, "index": wrong_index}
