"""How far it is from ``fit`` to the kernel, on every kind of source."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import hyplearn
from hyplearn import PoincareSVC
from hyplearn.solvers.svm import margin_scan
from support.sources import arguments

HOUSE = str(Path(hyplearn.__file__).parent)
MOST_CALLS = 7


def callers(frame):
    """Functions of the package on the stack of a thread, from the outermost to the innermost."""
    found = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(HOUSE) and not frame.f_code.co_name.startswith("<"):
            found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found[::-1]


@pytest.fixture
def road(monkeypatch):
    """The longest chain of calls from fit to the kernel; a thread begins where its task was handed over."""
    submit, kernel, longest = ThreadPoolExecutor.submit, margin_scan.scan_kernel, []
    handed_over = threading.local()

    def submitted(pool, function, /, *args, **kwargs):
        ahead = [*getattr(handed_over, "callers", []), *callers(sys._getframe(1))]

        def task(*args, **kwargs):
            handed_over.callers = ahead
            return function(*args, **kwargs)

        return submit(pool, task, *args, **kwargs)

    def counted(*args):
        chain = [*getattr(handed_over, "callers", []), *callers(sys._getframe(1)), "scan_kernel"]
        if "scan_block" in chain and len(chain) > len(longest):
            longest[:] = chain
        return kernel(*args)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submitted)
    monkeypatch.setattr(margin_scan, "scan_kernel", counted)
    return longest


@pytest.mark.parametrize("kind", ["array", "memmap", "parquet"])
def test_few_calls_lead_from_fit_to_the_kernel(kind, tmp_path, road):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.6, 0.6, (3000, 2))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(3000) > 0, "right", "left")
    PoincareSVC([0.0, 0.0], calibration=None).fit(*arguments(kind, tmp_path, X, y, rows=500))
    chain = road[road.index("fit") :]
    assert chain[-2:] == ["scan_block", "scan_kernel"]
    assert len(chain) - 1 <= MOST_CALLS, " -> ".join(chain)
