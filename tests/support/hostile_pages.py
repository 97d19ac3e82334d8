"""Check in a real browser that a page with hostile names shows them as plain text."""

import atexit
from functools import cache
from pathlib import Path

import numpy as np

from hyplearn import PoincareLogisticRegression, explore
from support.explored import Browser

PIECES = (
    "</script><script>window.hacked=1</script>", '<img src=x onerror="window.hacked=1">', "<svg onload='hacked=1'>",
    "<!--", "-->", "]]>", "\"'`", "${window.hacked=1}", "{{scene}}", "{{title}}", "&lt;", "\u2028", "\u2029", "\u202e",
    "\u200f", "\0", "\x1b[31m", "\ud800", "\udfff", "\ufeff", "🐁", "é\u0301", "\\u003c", "javascript:hacked=1",
    "__proto__", "constructor", "toString", "=1+1", "\r\n", "\t", "", " ", "x" * 20_000, "null", "NaN", "0",
)  # fmt: skip


def hostile_text(rng):
    return "".join(rng.choice(np.array(PIECES, dtype=object), rng.integers(1, 4)))


def check_page(rng, folder):
    """Open a page of hostile names, hover over points and search; raise if a script ran or the page logged an error."""
    classes = sorted({hostile_text(rng) for _ in range(3)} | {"plain", "other"})
    y = np.array([classes[k] for k in np.arange(30) % len(classes)], dtype=object)
    angles = 2 * np.pi * (np.arange(30) % len(classes)) / len(classes)
    X = 0.5 * np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(scale=0.05, size=(30, 2))
    columns = {hostile_text(rng): [hostile_text(rng) for _ in range(30)], hostile_text(rng) + "n": np.arange(30.0)}
    names = [hostile_text(rng) for _ in range(30)]
    model = PoincareLogisticRegression(C=1.0).fit(X, y)
    page = explore(model, X, y, names=names, columns=columns, title=hostile_text(rng))
    window = browser()
    window.forget()
    window.open(page, Path(folder))
    for place in window.screen(X[:3]):
        window.hover(place)
    ran = window.run("return [window.hacked ?? null, document.images.length, ({}).hacked ?? null]")
    assert ran == [None, 0, None], ran
    assert window.complaints() == []
    assert window.requests() == []


@cache
def browser():
    window = Browser()
    atexit.register(window.quit)
    window.resize(1000, 760)
    return window
