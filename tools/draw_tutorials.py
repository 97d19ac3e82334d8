"""Draw the pictures of the tutorials by running the code of their pages: python tools/draw_tutorials.py.

Writes ``docs/images/NAME.png`` for each page ``docs/NAME.md`` that is a notebook and shows that picture.
"""

import base64
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).resolve().parents[1] / "docs"
RUNNER = DOCS / "extensions" / "notebooks.py"


def last_figure(page):
    """Run the code of a page; returns its last figure as PNG, or None if there is none."""
    with TemporaryDirectory() as folder:
        target = Path(folder) / "page.ipynb"
        subprocess.run([sys.executable, RUNNER, page, target], check=True)
        cells = json.loads(target.read_text(encoding="utf-8"))["cells"]
    found = [out["data"].get("image/png") for cell in cells for out in cell.get("outputs", ()) if "data" in out]
    return next((base64.b64decode(picture) for picture in reversed(found) if picture), None)


def main():
    """Draw the pictures of all tutorials."""
    for page in sorted(DOCS.glob("*.md")):
        if "```{notebook}\n" in page.read_text(encoding="utf-8"):
            picture = last_figure(page)
            if picture and f"images/{page.stem}.png" in page.read_text(encoding="utf-8"):
                (DOCS / "images" / f"{page.stem}.png").write_bytes(picture)
                print(f"docs/images/{page.stem}.png")


if __name__ == "__main__":
    main()
