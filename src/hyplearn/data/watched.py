"""Files that are being read: of the kind that their suffix names, unchanged, and whole."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any


def check_kind(path: Path, magic: bytes = b"") -> None:
    """Raise if a file is missing or empty, or does not begin with the bytes of its format."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.\nCheck the path; the working directory is {Path.cwd()}.")
    with path.open("rb") as stream:
        start = stream.read(max(1, len(magic)))
    if not start:
        raise ValueError(f"{path} is empty.\nWrite it again.")
    if not start.startswith(magic):
        raise ValueError(
            f"{path} is not a {path.suffix} file: it begins with {start!r}, not with {magic!r}.\nCheck its suffix."
        )


@contextmanager
def damage_named(path: Path | str) -> Iterator[None]:
    """Name the file in any error of its reader; libraries raise a dozen kinds of errors."""
    try:
        yield
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        raise ValueError(f"{path} is damaged: {error}.\nWrite it again, or get a complete copy.") from error


class Watched(ABC):
    """A file or folder that must not change after it was opened."""

    kind: str

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.state = self._state()

    @abstractmethod
    def _state(self) -> Any:
        """Value that changes with the contents."""

    def check(self) -> None:
        """Raise if the contents were changed or removed."""
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} was removed while it was read.\nPut it back and run this again.")
        if self._state() != self.state:
            raise OSError(
                f"{self.path} was changed while it was read; nothing was kept.\n"
                f"Run this again when nothing writes to the {self.kind}."
            )


class WatchedFile(Watched):
    """A file that must not change after it was opened."""

    kind = "file"

    def _state(self) -> tuple[int, int, int]:
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns, found.st_ino

    def read_into(self, buffer: memoryview, place: int) -> None:
        """Fill a buffer with the bytes from a place on."""
        with self._opened() as stream:
            stream.seek(place)
            while len(buffer):
                count = stream.readinto(buffer)
                if not count:
                    self.check()
                    raise OSError(f"{self.path} ended {len(buffer)} bytes too early.\nWrite or copy it again.")
                buffer = buffer[count:]

    def _opened(self) -> FileIO:
        try:
            return FileIO(self.path)
        except FileNotFoundError:
            self.check()
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Check the file before and after; an error of a file that was changed says so."""
        self.check()
        try:
            yield
        except (ValueError, FileNotFoundError):
            self.check()
            raise
        self.check()


class WatchedFolder(Watched):
    """A folder whose files must not change, be added or be removed after it was opened."""

    kind = "folder"

    def _state(self) -> str:
        digest = hashlib.sha256()
        for folder, folders, files in os.walk(self.path):
            folders.sort()
            for name in sorted(files):
                try:
                    found = os.stat(os.path.join(folder, name))
                except FileNotFoundError:  # removed since the folder was listed
                    continue
                digest.update(f"{folder}/{name} {found.st_size} {found.st_mtime_ns} {found.st_ino}\n".encode())
        return digest.hexdigest()
