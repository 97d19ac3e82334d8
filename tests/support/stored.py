"""Store the same labelled points in every format; ``limits`` are block_rows and memory of the source."""

from pathlib import Path

import numpy as np
import pytest

from hyplearn import open_points


def assert_same(a, b):
    """Check that nested dicts have the same values, as they are after reading a file."""
    if isinstance(a, dict):
        assert set(a) == set(b)
        for name in a:
            assert_same(a[name], b[name])
    else:
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def parquet(folder, X, y, **limits):
    """Write three Parquet files with several row groups each, and checksums."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, part in enumerate(np.array_split(np.arange(len(X)), 3)):
        columns = {"u": X[part, 0], "v": X[part, 1], "kind": y[part]}
        path = Path(folder, f"part-{number}.parquet")
        pq.write_table(pa.table(columns), path, row_group_size=5, write_page_checksum=True, compression="none")
    return open_points(Path(folder, "part-*.parquet"), label="kind", **limits)


def npy(folder, X, y, **limits):
    np.save(Path(folder, "X.npy"), X)
    np.save(Path(folder, "y.npy"), y)
    return open_points(Path(folder, "X.npy"), label=Path(folder, "y.npy"), **limits)


def npz(folder, X, y, **limits):
    np.savez(Path(folder, "points.npz"), X=X, y=y)
    return open_points(Path(folder, "points.npz"), **limits)


def packed(folder, X, y, **limits):
    np.savez_compressed(Path(folder, "packed.npz"), X=X, y=y)
    return open_points(Path(folder, "packed.npz"), **limits)


def csv(folder, X, y, **limits):
    lines = [f"{a!r},{b!r},{kind}" for (a, b), kind in zip(X.tolist(), y, strict=True)]
    Path(folder, "points.csv").write_text("\n".join(["u,v,kind", *lines]))
    return open_points(Path(folder, "points.csv"), **limits)


def hdf5(folder, X, y, **limits):
    import h5py

    with h5py.File(Path(folder, "points.h5"), "w") as file:
        file.create_dataset("X", data=X, chunks=(6, 2), fletcher32=True)
        file["y"] = y.astype(object)
    return open_points(Path(folder, "points.h5"), **limits)


def zarr(folder, X, y, **limits):
    zarr = pytest.importorskip("zarr")

    group = zarr.open_group(str(Path(folder, "points.zarr")), mode="w")
    group.create_array("X", data=X, chunks=(6, 2))
    group.create_array("y", data=np.searchsorted(np.unique(y), y) + 1, chunks=(6,))
    return open_points(Path(folder, "points.zarr"), **limits)


def blocks(folder, X, y, **limits):
    return open_points([(X[i : i + 7], y[i : i + 7]) for i in range(0, len(X), 7)], **limits)


def written(kind, folder, X, y, weights=None):
    """Write the points to a new file; returns its path and the names that ``open_points`` needs."""
    columns, names = {"X": X, "y": y}, {}
    if weights is not None:
        columns["mass"], names["weight"] = weights, "mass"
    path = Path(folder, f"points.{kind}")
    if kind == "npz":
        np.savez(path, **columns)
    elif kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        del columns["X"]
        coordinates = {f"x{j}": column for j, column in enumerate(X.T)}
        pq.write_table(pa.table(coordinates | columns), path, row_group_size=29)
        names["label"] = "y"
    elif kind == "hdf5":
        import h5py

        with h5py.File(path, "w") as file:
            for name, column in columns.items():
                file.create_dataset(name, data=column, chunks=(23, *column.shape[1:]))
    else:
        zarr = pytest.importorskip("zarr")

        group = zarr.open_group(str(path), mode="w")
        for name, column in columns.items():
            group.create_array(name, data=column, chunks=(23, *column.shape[1:]))
    return path, names


FORMATS = {one.__name__: one for one in (parquet, npy, npz, packed, csv, hdf5, zarr, blocks)}


def separated(n=40, dtype=np.float64, seed=0):
    """Points of two slightly overlapping classes of the disk, in random order."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.6, 0.6, (n, 2)).astype(dtype)
    return X, np.where(X[:, 0] + 0.1 * rng.standard_normal(n) > 0, "blood", "nerve")
