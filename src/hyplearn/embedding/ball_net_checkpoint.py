"""What a training needs to go on after a kill, in a file that is written in one step and holds numbers alone."""

import hashlib
import io
from pathlib import Path
from typing import Any

import torch

from hyplearn.writing import write_whole

MAGIC = b"hyplearn network checkpoint 1\n"


def write_state(path: Path, identity: str, state: dict[str, Any]) -> None:
    """Write the state of the training that the identity belongs to."""
    content = io.BytesIO()
    torch.save({"identity": identity, "state": state}, content)
    body = content.getvalue()
    write_whole(path, MAGIC + hashlib.sha256(body).digest() + body)


def read_state(path: Path, identity: str) -> dict[str, Any] | None:
    """The state in a checkpoint, or None where there is no file; an error if it belongs to another training."""
    if not path.exists():
        return None
    content = path.read_bytes()
    head = len(MAGIC) + hashlib.sha256().digest_size
    if content[: len(MAGIC)] != MAGIC or hashlib.sha256(content[head:]).digest() != content[len(MAGIC) : head]:
        raise ValueError(f"{path} is no checkpoint of this version, or is damaged.\nRemove it to begin anew.")
    known = torch.load(io.BytesIO(content[head:]), weights_only=True)
    if known["identity"] != identity:
        raise ValueError(
            f"{path} belongs to a training with other data, parameters or initial weights.\n"
            "Use those of that training, pass another path, or remove the file to begin anew."
        )
    return known["state"]
