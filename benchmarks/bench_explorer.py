"""Frame rate of the explorer while the disk is dragged, at one and two pixels per CSS pixel.

Run ``python benchmarks/bench_explorer.py [POINTS ...]``; it needs chromium and chromedriver. The browser renders
without a graphics card and shows at most one frame per 16.7 ms. ``work`` is the time of the page's own computation per
frame while the disk moves, and ``cpu`` the CPU time of the same frames, which other processes do not affect. ``pause``
is the longest CPU time during which the page does not respond while the final picture is drawn, ``between`` the time
between two frames, ``at rest`` the time to draw all points at full density after the movement, and ``load`` the time
from opening the file to its first picture. The ratio is the worst CPU time of a frame over 16.7 ms.
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
    """Return a page with three overlapping classes that fill the disk."""
    rng = np.random.default_rng(0)
    X = cloud(rng, n, 2, 1.2)
    y = np.argmax(X @ [[1, -1, 0.2], [0.3, 0, -1]] + 0.15 * rng.standard_normal((n, 3)), axis=1)
    return explore(PoincareLogisticRegression().fit(X[:5000], y[:5000]), X, y)


def drag(browser):
    """Work per frame and time between frames in milliseconds, while the pointer moves along a spiral."""
    before = len(browser.ask("frames()"))
    angles = np.linspace(0, 6 * np.pi, MOVES)
    positions = [330, 330] + (40 + 8 * angles)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    browser.run(WATCH)
    browser.drag(*positions, duration=16)
    seen = browser.run("cancelAnimationFrame(window.watching); return window.seen")
    return browser.ask("frames()")[before:], np.diff(seen)


def measure(browser, record, n, ratio):
    browser.resize(1000, 760, ratio=ratio)
    with tempfile.TemporaryDirectory() as folder:
        page = make_page(n)
        browser.open(page, Path(folder))
        browser.run("console.timeStamp('drag')")
        work, between = drag(browser)
        at_rest, load = browser.ask("rests()")[-1], browser.ask("started()")
        cpu = browser.cpu_times("drag")
    # The shortest frames are those in which only the frame counter ran.
    frames = np.sort(cpu["FireAnimationFrame"])[-len(work) :]
    columns = {"frames": len(work), "work_ms": np.median(work), "95_%_of_work": np.percentile(work, 95)}
    columns |= {"worst_work": max(work), "cpu_ms": np.median(frames), "worst_cpu": frames[-1]}
    columns |= {"pause_ms": max(cpu["TimerFire"]), "between_ms": np.median(between), "at_rest_ms": at_rest}
    columns |= {"load_ms": load, "file_MB": len(page.html) / 1e6}
    ratios = {"worst cpu / 16.7 ms": Ratio(frames[-1] / FRAME)}
    record(f"dragging, {ratio} × density", f"{n} points", **columns, **ratios)


def main(record):
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("Cannot find chromium and chromedriver. Run apt-get install chromium chromium-driver.")
        return
    browser = Browser(traced=True)
    try:
        for n in [int(argument) for argument in sys.argv[1:]] or [1_000, 60_000, 1_000_000]:
            for ratio in (1, 2):
                measure(browser, record, n, ratio)
    finally:
        browser.quit()


if __name__ == "__main__":
    with results("explorer") as record:
        main(record)
