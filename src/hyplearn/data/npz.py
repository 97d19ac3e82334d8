"""Arrays within a ``.npz`` archive that is not compressed: each is a part of the file, which can be read row by row."""

import struct
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from hyplearn.data.arrays import ArrayFile, ArrayPoints
from hyplearn.data.columns import Names, damage_named, label_name, listed, points_name

# The fixed part of the header before each file of an archive, and where the lengths of the rest of it stand.
LOCAL_HEADER, LENGTHS_AT = 30, 26
CHUNK = 2**20


def npz_points(path: Path, points: Names, label: str | None, weight: str | None) -> ArrayPoints:
    """Points, labels and weights of an archive, by their names or by convention."""
    with damage_named(path), ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    names = list(members)

    def array(name: str) -> ArrayFile:
        if name not in members:
            raise ValueError(f"{path} has no array {name!r}; it holds {listed(names)}.\nName one of these.")
        return _member(path, members[name])

    name = points if isinstance(points, str) else points_name(path, names, array)
    label = label_name(path, names, name) if label is None else label
    return ArrayPoints(array(name), *(None if one is None else array(one) for one in (label, weight)))


def _member(path: Path, info: ZipInfo) -> ArrayFile:
    if info.compress_type != ZIP_STORED:
        raise ValueError(
            f"{path} is compressed, so that {info.filename} cannot be read row by row.\n"
            "Save it with numpy.save as .npy, or with numpy.savez; or read it whole with hyplearn.datasets.load_points."
        )
    with damage_named(path):
        _verify(path, info)
        with path.open("rb") as stream:
            stream.seek(info.header_offset + LENGTHS_AT)
            header = info.header_offset + LOCAL_HEADER + sum(struct.unpack("<HH", stream.read(4)))
    return ArrayFile.npy(path, at=header)


def _verify(path: Path, info: ZipInfo) -> None:
    """Read the array once: the archive compares its checksum at the end."""
    with ZipFile(path) as archive, archive.open(info) as stream:
        while stream.read(CHUNK):
            pass
