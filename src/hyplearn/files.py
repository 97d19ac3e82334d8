"""Files that appear whole or not at all."""

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


# Not atomicwrites: it is archived, turns a file of mode 0644 into 0600, and replaces symbolic links by files.
def place_of(path: str | os.PathLike[str], kind: str = "") -> Path:
    """The place of a file that is to be written; an error if there can be none, for who has work to do before."""
    target, wanted = Path(path).resolve(), f" for {kind}" if kind else ""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent}{wanted}.\nMake it first.")
    if target.exists() and not target.is_file():
        raise ValueError(f"{path} is not a regular file, and is not replaced.\nPass another path.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(
            f"The folder {target.parent} cannot be written to: it takes no new files from you.\n"
            "Pass a path in another folder."
        )
    return target


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file beside ``path`` that takes its place in one step, unless something goes wrong while it is written."""
    target = place_of(path)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    with taking_the_place(beside, target), beside.open("x+b") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def taking_the_place(beside: Path, target: Path) -> Iterator[None]:
    """Put a file that is written meanwhile in the place of another one; or, if that fails, leave nothing of it."""
    try:
        yield
        os.replace(beside, target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(target)  # a full disk names none
        raise
    sync_folder(target.parent)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file in one step: whoever looks sees the old one, or none, or the whole new one."""
    with replacing(path) as file:
        file.write(data)


def sealed(magic: bytes, body: bytes) -> bytes:
    """A body behind the first bytes of its kind and its SHA-256."""
    return magic + hashlib.sha256(body).digest() + body


def unsealed(path: Path, magic: bytes) -> bytes:
    """The body of a checkpoint; an error if it is of another kind or was changed."""
    content = path.read_bytes()
    head = len(magic) + hashlib.sha256().digest_size
    if content[: len(magic)] != magic or hashlib.sha256(content[head:]).digest() != content[len(magic) : head]:
        raise ValueError(f"{path} is no checkpoint of this version, or is damaged.\nRemove it to begin anew.")
    return content[head:]


def sync_folder(folder: Path) -> None:
    """Make the new name last too, where folders can be flushed."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
