"""Check the format of files, detect changes while files are read, and write files atomically."""

import errno
import glob
import hashlib
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

# The unpacked size of a compressed file is limited to LARGEST_UNPACKED bytes or MOST_TIMES times the packed size,
# whichever is larger. Files of points are far below this limit, because points usually compress to half their size.
# Files that are crafted to exhaust the memory exceed it; a file of zeros, for example, compresses a thousandfold.
LARGEST_UNPACKED = 2**30
MOST_TIMES = 100
# Advice that NO_DAMAGE gives for more than one error.
_OPEN, _PERMISSION = "Raise the limit (ulimit -n), or close other files", "Check the permissions of the file"
# System errors (errno codes) that do not mean that a file is damaged, each with the advice for the user.
NO_DAMAGE = {errno.EMFILE: _OPEN, errno.ENFILE: _OPEN, errno.EACCES: _PERMISSION, errno.EPERM: _PERMISSION}
NO_DAMAGE |= dict.fromkeys((errno.ENOMEM, errno.EINTR, errno.ETIMEDOUT), "Try again")


def missing_file(path: Path) -> FileNotFoundError:
    """Return the error that is raised if a file does not exist."""
    return FileNotFoundError(f"There is no file {path}.\nCheck the path; the working directory is {Path.cwd()}.")


def check_kind(path: Path, magic: bytes = b"") -> None:
    """Raise an error if a file is missing or empty, or does not start with the magic bytes of its format."""
    if not path.is_file():
        raise missing_file(path)
    with path.open("rb") as stream:
        start = stream.read(max(1, len(magic)))
    if not start:
        raise ValueError(f"{path} is empty.\nWrite the file again.")
    if not start.startswith(magic):
        raise ValueError(
            f"{path} is not a {path.suffix} file, although its name ends like one.\nCheck the name of the file."
        )


@contextmanager
def damage_named(path: Path | str) -> Iterator[None]:
    """Turn an exception raised by a reader into an error that names ``path`` and says that the file is damaged.

    MemoryError and ImportError are raised unchanged. The system errors in ``NO_DAMAGE`` do not mean damage; they keep
    their error numbers, and the advice in ``NO_DAMAGE`` is added to their messages.
    """
    try:
        yield
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_DAMAGE:
            raise OSError(error.errno, f"{os.strerror(error.errno)}.\n{NO_DAMAGE[error.errno]}", str(path)) from error
        raise ValueError(f"{path} is damaged: {error}.\nWrite the file again, or get a complete copy.") from error


@contextmanager
def surprises_named(path: Path | str) -> Iterator[None]:
    """Turn an unexpected exception raised by a library into an error that says that the file is damaged.

    ValueError, OSError, MemoryError and ImportError are raised unchanged.
    """
    try:
        yield
    except (ValueError, OSError, MemoryError, ImportError):
        raise
    except Exception:
        with damage_named(path):
            raise


def check_unpacked(name: str, unpacked: int, packed: int, advice: str) -> None:
    """Raise an error if the unpacked size of a file exceeds the limit, which protects against decompression bombs."""
    if unpacked > LARGEST_UNPACKED and unpacked > MOST_TIMES * packed:
        raise ValueError(
            f"{name} unpacks to {unpacked / 2**30:.1f} GiB, {unpacked // max(packed, 1):,} times its size; the "
            f"limit is the larger of {LARGEST_UNPACKED / 2**30:.0f} GiB and {MOST_TIMES} times its size.\n{advice}"
        )


class Watched(ABC):
    """A file or folder that must not change after it has been opened."""

    kind: str

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.state = self._state()

    @abstractmethod
    def _state(self) -> Any:
        """Return a value that changes when the contents change.

        It is computed from file sizes, modification times and inode numbers.
        """

    def check(self) -> None:
        """Raise an error if the contents were changed or removed."""
        with suppress(FileNotFoundError):  # another process may remove the file at any time
            if self._state() == self.state:
                return
        if not self.path.exists():
            raise FileNotFoundError(
                f"{self.path} was removed while it was being read.\nRestore the {self.kind} and try again."
            )
        raise OSError(
            f"{self.path} was changed while it was being read, so the result was discarded.\n"
            f"Try again when no other process is writing to the {self.kind}."
        )


class WatchedFile(Watched):
    """A file that must not change after it has been opened."""

    kind = "file"

    def _state(self) -> tuple[int, int, int]:
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns, found.st_ino

    def read_into(self, buffer: memoryview, place: int) -> None:
        """Fill a buffer with bytes of the file, from offset ``place`` on."""
        with self._opened() as stream:
            stream.seek(place)
            while len(buffer):
                count = stream.readinto(buffer)
                if not count:
                    self.check()
                    raise OSError(f"{self.path} ended {len(buffer)} bytes too early.\nWrite or copy the file again.")
                buffer = buffer[count:]

    def _opened(self) -> FileIO:
        try:
            return FileIO(self.path)
        except FileNotFoundError:
            self.check()
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Check the file for changes before and after it is read.

        If reading raises a ValueError or FileNotFoundError and the file was changed, the error about the change is
        raised instead.
        """
        self.check()
        try:
            yield
        except (ValueError, FileNotFoundError):
            self.check()
            raise
        self.check()


class WatchedFolder(Watched):
    """A folder that must not change after it has been opened: no file in it may be changed, added or removed."""

    kind = "folder"

    def _state(self) -> str:
        digest = hashlib.sha256()
        for folder, folders, files in os.walk(self.path):
            folders.sort()
            for name in sorted(files):
                try:
                    found = os.stat(os.path.join(folder, name))
                except FileNotFoundError:  # the file was removed after the folder was listed
                    continue
                digest.update(f"{folder}/{name} {found.st_size} {found.st_mtime_ns} {found.st_ino}\n".encode())
        return digest.hexdigest()


# The package atomicwrites is not used, because it is archived, changes the mode of a file from 0644 to 0600, and
# replaces symbolic links with files.
def place_of(path: str | os.PathLike[str], kind: str = "") -> Path:
    """Return the absolute path, with symbolic links resolved, of a file to be written later.

    Raise an error if its folder is missing or not writable, or if the path exists and is not a regular file. ``kind``
    describes the file in the message about a missing folder.
    """
    target, wanted = Path(path).resolve(), f" for {kind}" if kind else ""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent}{wanted}.\nCreate the folder first.")
    if target.exists() and not target.is_file():
        raise ValueError(f"{path} is not a regular file, so it cannot be replaced.\nPass another path.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"The folder {target.parent} is not writable.\nPass a path in another folder.")
    return target


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that atomically replaces ``path`` on leaving the context, unless an error occurs.

    If the system supports it, the temporary file has no name until it is complete, so that a process that is killed
    while it writes leaves no file behind.
    """
    target = place_of(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(8)}")
    _remove_left_behind(target)
    with taking_the_place(temporary, target), _nameless(target.parent) or temporary.open("x+b") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
        _give_name(file, temporary)


def _nameless(folder: Path) -> BinaryIO | None:
    """Open an unnamed file, which is deleted when it is closed; return None if the system has no such files."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    except OSError:
        return None


def _give_name(file: BinaryIO, path: Path) -> None:
    if path.exists():
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # os.link follows the symbolic link in /proc only if dst_dir_fd is passed.
        os.link(f"/proc/self/fd/{file.fileno()}", path.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _remove_left_behind(target: Path) -> None:
    """Remove temporary files for ``target`` that were left behind by processes that have ended."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.*-{'[0-9a-f]' * 16}"):
        number = path.name.removeprefix(f".{target.name}.").partition("-")[0]
        if number.isdecimal() and not _runs(int(number)):
            path.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process belongs to another user
        return True
    return True


@contextmanager
def taking_the_place(temporary: Path, target: Path) -> Iterator[None]:
    """Rename ``temporary`` to ``target`` on leaving the context, or remove ``temporary`` if an error occurs."""
    try:
        yield
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(target)  # some errors, such as ENOSPC (disk full), contain no path
        raise
    sync_folder(target.parent)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically: a reader sees either the old file or the complete new file."""
    with replacing(path) as file:
        file.write(data)


def sealed(magic: bytes, body: bytes) -> bytes:
    """Return the content of a file: the magic bytes of its format, the SHA-256 hash of the body, and the body."""
    return magic + hashlib.sha256(body).digest() + body


def unsealed(path: Path, magic: bytes) -> bytes:
    """Return the body of a file made by :func:`sealed`; raise an error if its format differs or it was changed."""
    content = path.read_bytes()
    head = len(magic) + hashlib.sha256().digest_size
    if content[: len(magic)] != magic or hashlib.sha256(content[head:]).digest() != content[len(magic) : head]:
        raise ValueError(f"{path} is not a checkpoint of this version, or is damaged.\nRemove the file to start again.")
    return content[head:]


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk (POSIX only), so that a new file in it survives a crash."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
