"""Fits on two local Dask workers, compared with the same fits in memory; and the bytes sent in each pass.

The chunks are already on the workers when the timing of the Dask fit starts. The times include the reference point, the
fit, the support vectors and the margin. Both fits use two cores.

    python benchmarks/bench_dask.py            # 10 million rows
    python benchmarks/bench_dask.py 1000000    # fewer
"""

import pickle
import sys

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from sklearn.base import clone
from timing import once, results

from hyplearn import PoincareLogisticRegression, PoincareSVC
from hyplearn.data import dask
from hyplearn.data.dask import DaskPoints
from hyplearn.data.folding import needs_order

CHUNKS = 20
PASSES = []


class CountedPoints(DaskPoints):
    """Points that append to ``PASSES``, for each pass, the bytes sent to a worker and the most bytes returned."""

    def fold(self, function, merge, *arguments, **options):
        """Run one pass and record it."""
        result = super().fold(function, merge, *arguments, **options)
        sent = len(pickle.dumps((function, merge, options.get("build"), arguments)))
        received = max(len(pickle.dumps(parts)) for parts in self.received)
        PASSES.append((function.__name__, needs_order(merge), sent, received))
        return result

    def _gathered(self, futures):
        self.received = super()._gathered(futures)
        return self.received


def overlapping(n, d, seed=0):
    """Generate two classes in float32 that no geodesic separates."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X *= (0.9 * rng.random(n, dtype=np.float32) / np.linalg.norm(X, axis=1))[:, None]
    return X, (X[:, 0] + 0.2 * rng.standard_normal(n, dtype=np.float32) > 0).astype(np.int8)


def record_passes(record, case):
    """Record the number of passes of each kind, and the largest messages in bytes."""
    for kind, ordered in dict.fromkeys((kind, ordered) for kind, ordered, _, _ in PASSES):
        own = [(sent, received) for name, _, sent, received in PASSES if name == kind]
        sent, received = (int(size) for size in np.max(own, axis=0))
        columns = {"passes": len(own), "bytes to a worker": sent, "bytes from a worker": received}
        record(f"passes of {case}", kind, **columns, **{"returns rows": "yes" if ordered else "no"})
    PASSES.clear()


def compare(record, n, d):
    X, y = overlapping(n, d)
    there = [da.from_array(array, chunks=(-(-n // CHUNKS), *array.shape[1:])).persist() for array in (X, y)]
    wait(there)
    for model in (PoincareSVC(calibration=None), PoincareLogisticRegression()):
        clone(model).fit(X[:20_000], y[:20_000])
        clone(model).fit(there[0][:20_000], there[1][:20_000])
        PASSES.clear()
        memory, expected = once(lambda model=model: clone(model).fit(X, y))
        cluster, found = once(lambda model=model: clone(model).fit(*there))
        difference = np.max(np.abs(expected.coef_ - found.coef_)) / np.max(np.abs(expected.coef_))
        columns = {"in memory": memory, "Dask": cluster, "difference of coef_": difference}
        name = type(model).__name__
        record(name, f"{n} × {d}", **columns, **{"Dask / in memory": cluster / memory})
        record_passes(record, f"{name}, {n} × {d}")


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10**7
    dask.DaskPoints = CountedPoints
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster),
        results("dask") as record,
    ):
        for d in (2, 10):
            compare(record, n, d)


if __name__ == "__main__":
    main()
