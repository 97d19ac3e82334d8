"""Files on the disk: read whole if they are plain files of a sane size, written so that nobody sees half of one."""

import os
import secrets
import stat
from pathlib import Path

from hyplearn.persistence.container import LARGEST_FILE, MAGIC, FlawError


def read_whole(path: Path) -> bytes:
    """The bytes of a regular file of a size that a model can have."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.\nCheck the path; it was looked for from {Path.cwd()}.")
    if not path.is_file():
        raise FlawError("it is not a regular file", "Pass a file that hyplearn.save has written.")
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
            raise FlawError(f"it has {status.st_size:,} bytes; a model file has up to {LARGEST_FILE:,}")
        start = file.read(len(MAGIC))
        # What begins like another kind of file is refused by its beginning.
        return start + file.read(status.st_size + 1) if start == MAGIC else start


def write_in_one_step(path: Path, data: bytes) -> None:
    """Write beside the place, flush to the disk, and move there in one step."""
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent}.\nMake it first.")
    if target.exists() and not target.is_file():
        raise ValueError(f"{path} is not a regular file, and is not replaced.\nPass another path.")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last too, where folders can be flushed."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
