"""Frame rate of the explorer while the disk is dragged: time of work per frame, and time between two frames.

Run ``python benchmarks/bench_explorer.py [POINTS ...]``; it needs chromium and chromedriver. The browser renders
without a graphics card and shows at most one frame per 16.7 ms. The table has medians and 95th percentiles; the ratio
is the median work over 16.7 ms.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from timing import Ratio, results

from hyplearn import PoincareLogisticRegression, explore

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.balls import cloud
from support.explored import Browser

MOVES = 150
FRAME = 1000 / 60  # milliseconds between two frames of the display
WATCH = """
window.seen = [];
const note = (now) => { window.seen.push(now); window.watching = requestAnimationFrame(note); };
window.watching = requestAnimationFrame(note);
"""


def make_page(n):
    """Page of three overlapping classes that fill the disk."""
    rng = np.random.default_rng(0)
    X = cloud(rng, n, 2, 1.2)
    y = np.argmax(X @ [[1, -1, 0.2], [0.3, 0, -1]] + 0.15 * rng.standard_normal((n, 3)), axis=1)
    return explore(PoincareLogisticRegression().fit(X[:5000], y[:5000]), X, y)


def drag(browser):
    """Work per frame and time between frames in milliseconds, while the pointer moves along a spiral."""
    before = len(browser.ask("frames()"))
    angles = np.linspace(0, 6 * np.pi, MOVES)
    positions = [400, 380] + (40 + 8 * angles)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    browser.run(WATCH)
    browser.drag(*positions, duration=16)
    seen = browser.run("cancelAnimationFrame(window.watching); return window.seen")
    return browser.ask("frames()")[before:], np.diff(seen)


def main(record):
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("Cannot find chromium and chromedriver. Run apt-get install chromium chromium-driver.")
        return
    browser = Browser()
    try:
        browser.resize(1000, 760)
        for n in [int(argument) for argument in sys.argv[1:]] or [1_000, 10_000, 50_000]:
            with tempfile.TemporaryDirectory() as folder:
                browser.open(make_page(n), Path(folder))
                work, between = drag(browser)
            (work_median, work_high), (median, high) = (np.percentile(values, [50, 95]) for values in (work, between))
            columns = {"frames": len(work), "work_ms": work_median, "95_%_of_work": work_high}
            columns |= {"between_ms": median, "95_%_of_between": high, "work / 16.7 ms": Ratio(work_median / FRAME)}
            record("frames while dragging", f"{n} points", **columns)
    finally:
        browser.quit()


if __name__ == "__main__":
    with results("explorer") as record:
        main(record)
