"""What a training needs to go on after a kill, in a file that is written in one step and holds numbers alone."""

import io
from pathlib import Path
from typing import Any

import torch

from hyplearn.files import sealed, unsealed, write_whole

MAGIC = b"hyplearn network checkpoint 1\n"


def write_state(path: Path, identity: str, state: dict[str, Any]) -> None:
    """Write the state of the training that the identity belongs to."""
    content = io.BytesIO()
    torch.save({"identity": identity, "state": state}, content)
    write_whole(path, sealed(MAGIC, content.getvalue()))


def read_state(path: Path, identity: str) -> dict[str, Any] | None:
    """The state in a checkpoint, or None where there is no file; an error if it belongs to another training."""
    if not path.exists():
        return None
    known = torch.load(io.BytesIO(unsealed(path, MAGIC)), weights_only=True)
    if known["identity"] != identity:
        raise ValueError(
            f"{path} belongs to a training with other data, parameters or initial weights.\n"
            "Use those of that training, pass another path, or remove the file to begin anew."
        )
    return known["state"]
