"""Datasets of HDF5 files: read block by block, and refused where parts of them were never written."""

from pathlib import Path
from typing import Any

import numpy as np

from hyplearn.data.arrays import StoredArray, WatchedFile
from hyplearn.data.columns import damage_named
from hyplearn.types import Array


class Hdf5Array(StoredArray):
    """A dataset of an open HDF5 file; text is read as text.

    Parameters
    ----------
    dataset : h5py.Dataset
        The dataset.
    """

    def __init__(self, dataset: Any) -> None:
        import h5py

        if not dataset:
            raise ValueError("The file of an HDF5 dataset was closed.\nOpen it again, and keep it open for the fit.")
        path = Path(dataset.file.filename)
        self.name = f"{path}, {dataset.name}"
        # Some files are in memory alone.
        self.file = WatchedFile(path) if path.is_file() else None
        is_text = h5py.check_string_dtype(dataset.dtype) is not None
        self.dataset = dataset.asstr() if is_text else dataset
        self.dtype, self.shape = np.dtype(str) if is_text else dataset.dtype, dataset.shape
        _check_whole(dataset, self.name)

    def read(self, start: int, stop: int) -> Array:
        """Some rows. HDF5 reads zeros beyond the end of a file that was cut, so the file is looked at after each."""
        with self.reading():
            rows = np.ascontiguousarray(self.dataset[start:stop])
        self.check()
        return rows.astype(str) if self.dtype.kind == "U" else rows

    def check(self) -> None:
        """Raise if the file is not what it was."""
        if self.file is not None:
            self.file.check()

    @property
    def state(self) -> tuple[Any, ...]:
        """That of the file."""
        return () if self.file is None else self.file.state


def opened_hdf5(path: Path) -> Any:
    """The root group of a file."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError("Reading HDF5 needs h5py: pip install 'hyplearn[hdf5]'.") from error
    WatchedFile(path)
    with damage_named(path):
        return h5py.File(path, "r")


def _check_whole(dataset: Any, name: str) -> None:
    """Refuse what HDF5 would fill with zeros in silence."""
    if dataset.is_virtual or dataset.external:
        raise ValueError(
            f"{name} lies in other files, which HDF5 replaces by zeros where they are missing.\n"
            "Copy it into one dataset, or pass the files one by one as blocks."
        )
    if dataset.chunks is None:
        expected, found = int(dataset.size > 0), int(dataset.id.get_storage_size() > 0)
    else:
        expected = int(np.prod([-(-n // m) for n, m in zip(dataset.shape, dataset.chunks, strict=True)]))
        found = dataset.id.get_num_chunks()
    if found < expected:
        raise ValueError(
            f"{name}: {expected - found} of {expected} chunks were never written, and would be read as zeros.\n"
            "Write the missing rows, or make the dataset as long as what was written."
        )
