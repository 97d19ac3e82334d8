"""Take the picture of the explorer, docs/images/explorer.png: python tools/draw_explorer.py.

Opens the page of ``examples/explore.py`` and searches for the carnivores; needs chromium and chromedriver.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from selenium.webdriver.common.keys import Keys

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.explored import Browser

ROOT = Path(__file__).resolve().parents[1]
SIZE = (1280, 800)


def main():
    """Take the picture."""
    browser = Browser()
    try:
        browser.resize(*SIZE)
        with TemporaryDirectory() as folder:
            subprocess.run([sys.executable, ROOT / "examples" / "explore.py"], cwd=folder, check=True)
            browser.driver.get((Path(folder) / "out" / "explore.html").as_uri())
            browser.rest()
            browser.keys("#search", "carnivore", Keys.ENTER)
            browser.driver.save_screenshot(str(ROOT / "docs" / "images" / "explorer.png"))
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
