"""How many calls lead from ``fit`` to the kernel, on every kind of source.

Only functions of the package on the stack are counted. A task that is submitted to a thread pool or to a Dask worker
continues the stack of the function that submitted it, so a submission counts as one call. Functions of the standard
library and of Dask in between are not counted.
"""

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

try:
    import distributed
except ImportError:
    distributed = None

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
def call_chain(monkeypatch):
    """Longest chain of calls from fit to the kernel; a task continues the chain of its submission."""
    submit, kernel, longest = ThreadPoolExecutor.submit, margin_scan.scan_kernel, []
    handed_over, to_cluster = threading.local(), []

    def submitted(pool, function, /, *args, **kwargs):
        ahead = [*getattr(handed_over, "callers", []), *callers(sys._getframe(1))]

        def task(*args, **kwargs):
            handed_over.callers = ahead
            return function(*args, **kwargs)

        return submit(pool, task, *args, **kwargs)

    def counted(*args):
        chain = [*getattr(handed_over, "callers", []), *callers(sys._getframe(1)), "scan_kernel"]
        if "fit" not in chain:  # on a worker
            chain = [*to_cluster, *chain]
        if "scan_block" in chain and len(chain) > len(longest):
            longest[:] = chain
        return kernel(*args)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submitted)
    monkeypatch.setattr(margin_scan, "scan_kernel", counted)
    if distributed is not None:
        send = distributed.Client.submit

        def sent(client, function, /, *args, **kwargs):
            # A fit waits for a pass before it submits the next one, so a task always belongs to the last submission.
            to_cluster[:] = callers(sys._getframe(1))
            return send(client, function, *args, **kwargs)

        monkeypatch.setattr(distributed.Client, "submit", sent)
    return longest


@pytest.fixture
def cluster():
    """Cluster with one worker in this process, so that the calls on both sides can be counted."""
    pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"):
        yield


def fit(kind, folder):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.6, 0.6, (3000, 2))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(3000) > 0, "right", "left")
    PoincareSVC([0.0, 0.0], loss="hinge", calibration=None).fit(*arguments(kind, folder, X, y, rows=500))


def assert_few(chain):
    assert chain[-2:] == ["scan_block", "scan_kernel"]
    assert len(chain) - 1 <= MOST_CALLS, " -> ".join(chain)


@pytest.mark.parametrize("kind", ["array", "memmap", "parquet"])
def test_the_call_stack_from_fit_to_the_kernel_is_short(kind, tmp_path, call_chain):
    fit(kind, tmp_path)
    assert_few(call_chain[call_chain.index("fit") :])


@pytest.mark.usefixtures("cluster")
def test_the_call_stack_from_fit_to_the_kernel_on_a_worker_is_short(tmp_path, call_chain):
    fit("dask", tmp_path)
    assert "_fold_on_worker" in call_chain
    assert_few(call_chain[call_chain.index("fit") :])
