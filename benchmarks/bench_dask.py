"""Fits on two local Dask workers beside the same fits in memory, in one run; and the bytes that travel.

Times of Dask begin with chunks that lie on the workers and hold everything else: the reference point, the fit, the
support vectors, the margin. Both sides have two cores.

    python benchmarks/bench_dask.py            # 10 million rows
    python benchmarks/bench_dask.py 1000000    # fewer
"""

import pickle
import sys
from time import perf_counter

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from sklearn.base import clone

from hyplearn import PoincareLogisticRegression, PoincareSVC
from hyplearn.data.dask import DaskPoints

CHUNKS = 20


PASSES = []


def counted(on_workers):
    """Passes that leave a record of the bytes to each worker, and of the most that one sends."""

    def on_workers_counted(self, load):
        function, _, in_order, *_ = pickle.loads(load)
        found = on_workers(self, load)
        PASSES.append((function.__name__, in_order, len(load), max(len(pickle.dumps(parts)) for parts in found)))
        return found

    return on_workers_counted


def overlapping(n, d, seed=0):
    """Two classes of the ball whose rows of float32 no geodesic separates."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X *= (0.9 * rng.random(n, dtype=np.float32) / np.linalg.norm(X, axis=1))[:, None]
    return X, (X[:, 0] + 0.2 * rng.standard_normal(n, dtype=np.float32) > 0).astype(np.int8)


def timed(fit):
    start = perf_counter()
    model = fit()
    return perf_counter() - start, model


def tell_passes():
    print(f"    {'what a pass asks of a block':<28} {'passes':>6} {'bytes to a worker':>18} {'bytes from one':>15}")
    for kind, once in dict.fromkeys((kind, once) for kind, once, _, _ in PASSES):
        own = [(sent, received) for name, _, sent, received in PASSES if name == kind]
        sent, received = np.max(own, axis=0)
        print(f"    {kind:<28} {len(own):6d} {sent:18,d} {received:15,d}{'  (rows)' if once else ''}")
    PASSES.clear()


def beside_memory(n, d):
    X, y = overlapping(n, d)
    there = [da.from_array(array, chunks=(-(-n // CHUNKS), *array.shape[1:])).persist() for array in (X, y)]
    wait(there)
    for model in (PoincareSVC(calibration=None), PoincareLogisticRegression()):
        clone(model).fit(X[:20_000], y[:20_000])
        clone(model).fit(there[0][:20_000], there[1][:20_000])
        PASSES.clear()
        memory, expected = timed(lambda model=model: clone(model).fit(X, y))
        cluster, found = timed(lambda model=model: clone(model).fit(*there))
        apart = np.max(np.abs(expected.coef_ - found.coef_)) / np.max(np.abs(expected.coef_))
        print(
            f"{n:,} × {d} {type(model).__name__}: {memory:.2f} s in memory, {cluster:.2f} s on two workers, ratio "
            f"{cluster / memory:.2f}; coefficients differ by {apart:.0e} of the largest"
        )
        tell_passes()


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10**7
    DaskPoints.on_workers = counted(DaskPoints.on_workers)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        for d in (2, 10):
            beside_memory(n, d)


if __name__ == "__main__":
    main()
