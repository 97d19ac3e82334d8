"""Links to the manuals of other packages without a network: ``inventories.toml`` lists the names that are used here.

From it the build writes one small inventory file for each package, in the format that intersphinx reads.
"""

import tomllib
import zlib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

HEADER = """\
# Sphinx inventory version 2
# Project: {}
# Version: -
# The remainder of this file is compressed using zlib.
"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the inventories before intersphinx looks for them."""
    app.connect("config-inited", configure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def configure(app: Sphinx, config: Config) -> None:
    """Set ``intersphinx_mapping``."""
    listed = Path(app.confdir) / "inventories.toml"
    config.intersphinx_mapping = write_inventories(listed, Path(app.doctreedir) / "inventories")


def write_inventories(listed: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Write the inventories and return the value of ``intersphinx_mapping``."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for package, entry in tomllib.loads(listed.read_text(encoding="utf-8")).items():
        lines = [
            f"{name} py:{kind} 1 {entry['page'] if page is None else page} -\n"
            for kind, names in entry["names"].items()
            for name, page in ((names if isinstance(names, dict) else dict.fromkeys(names)).items())
        ]
        path = folder / f"{package}.inv"
        path.write_bytes(HEADER.format(package).encode() + zlib.compress("".join(lines).encode()))
        mapping[package] = (entry["url"], str(path))
    return mapping
