"""How fluid the explorer is while a hand drags the disk: milliseconds of work per frame, and between two frames.

Run ``python benchmarks/bench_explorer.py [POINTS ...]``; it needs chromium and chromedriver. The browser draws without
a graphics card, and shows a frame each 16.7 ms at most.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from hyplearn import PoincareLogisticRegression, explore

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.balls import cloud
from support.explored import Browser

MOVES = 150
WATCH = """
window.seen = [];
const note = (now) => { window.seen.push(now); window.watching = requestAnimationFrame(note); };
window.watching = requestAnimationFrame(note);
"""


def page_of(n):
    """Three classes that overlap, all over the disk."""
    rng = np.random.default_rng(0)
    X = cloud(rng, n, 2, 1.2)
    y = np.argmax(X @ [[1, -1, 0.2], [0.3, 0, -1]] + 0.15 * rng.standard_normal((n, 3)), axis=1)
    return explore(PoincareLogisticRegression().fit(X[:5000], y[:5000]), X, y)


def dragged(browser):
    """Work of each frame, and time between two frames, while the pointer goes around in a spiral, a step per frame."""
    before = len(browser.ask("frames()"))
    angles = np.linspace(0, 6 * np.pi, MOVES)
    places = [400, 380] + (40 + 8 * angles)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    browser.run(WATCH)
    browser.drag(*places, duration=16)
    seen = browser.run("cancelAnimationFrame(window.watching); return window.seen")
    return browser.ask("frames()")[before:], np.diff(seen)


def main():
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("no browser: apt-get install chromium chromium-driver")
        return
    browser = Browser()
    try:
        browser.resize(1000, 760)
        for n in [int(text) for text in sys.argv[1:]] or [1_000, 10_000, 50_000]:
            with tempfile.TemporaryDirectory() as folder:
                browser.open(page_of(n), Path(folder))
                work, between = dragged(browser)
            print(f"{n:>7,} points, {len(work)} frames: {told('work', work)}; {told('from frame to frame', between)}")
    finally:
        browser.quit()


def told(what, milliseconds):
    median, high = np.percentile(milliseconds, [50, 95])
    return f"{what} {median:.1f} ms, 95 % below {high:.1f}"


if __name__ == "__main__":
    main()
