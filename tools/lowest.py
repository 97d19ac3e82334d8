"""Print constraints for pip that pin every dependency of hyplearn to the lowest version that pyproject.toml allows.

``python tools/lowest.py > lowest.txt; pip install -c lowest.txt '.[plots,parquet,cli]'``
"""

import re
import tomllib
from pathlib import Path

EXTRAS = ("plots", "parquet", "cli", "hdf5", "onnx")


def lowest(requirement: str) -> str:
    """Convert a requirement such as ``numpy>=1.26`` to ``numpy==1.26.*``."""
    found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
    if found is None:
        raise SystemExit(f"{requirement!r} has no lower bound.\nWrite it as name>=version.")
    return f"{found[1]}=={found[2]}.*"


def main() -> None:
    """Print one constraint per line."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in EXTRAS:
        wanted += project["optional-dependencies"][extra]
    print("\n".join(map(lowest, wanted)))


if __name__ == "__main__":
    main()
