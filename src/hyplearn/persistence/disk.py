"""Model files on the disk: read whole if they are plain files of a sane size."""

import os
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
