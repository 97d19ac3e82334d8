"""Cases of ``compare.py``, and the process that runs them in one source tree.

A case uses only public functions that old and new versions share. Its data are made once, by this checkout, and read
from files in both trees, so that both fit the same bits. The process reads requests from its standard input and writes
replies to its standard output, a JSON object per line::

    {"do": "prepare", "case": "olsson-svc", "folder": "/tmp/x"}   build the case and call it once, to compile
    {"do": "time"}                                                time one call of it
    {"do": "peak", "case": "olsson-svc", "folder": "/tmp/x"}      peak memory of the case; in a fresh process
"""

import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet
from threadpoolctl import ThreadpoolController
from timing import once, peak_memory

import hyplearn
from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSVC, datasets, open_points
from hyplearn.reference import reference_point

# Number of rows in a first call, which loads libraries before memory is measured.
FEW = 3000
BLOCK = 50_000


class Data(NamedTuple):
    """Points, labels, the reference point (None for published data), and the folder of their files."""

    X: np.ndarray
    y: np.ndarray
    p: np.ndarray | None
    folder: Path


class Case(NamedTuple):
    """Data and the function that makes a call from them.

    Attributes
    ----------
    make_data : callable
        Returns points, labels and the reference point.
    prepare : callable
        Returns the function to time; its result is the model, the point or the predictions.
    memory : bool
        Whether to measure the peak memory too.
    large : bool
        Whether the case needs ``--large``.
    """

    make_data: Callable[[], tuple[Any, Any, Any]]
    prepare: Callable[[Data], Callable[[], Any]]
    memory: bool = False
    large: bool = False


def ball(n, d, wrong=0.0):
    """Generate the paper's synthetic data, with the fraction ``wrong`` of the labels flipped."""

    def make():
        X, y, p, _ = datasets.make_ball_classification(n, d, random_state=0)
        return X, np.where(np.random.default_rng(0).random(n) < wrong, -y, y), p

    return make


def blobs(n, d, K):
    """Generate overlapping classes around points at distance 2 from the origin."""

    def make():
        rng = np.random.default_rng(0)
        centers = rng.standard_normal((K, d))
        centers *= 2 / np.linalg.norm(centers, axis=1, keepdims=True)
        y = rng.integers(0, K, n)
        V = centers[y] + 0.8 * rng.standard_normal((n, d))
        lengths = np.linalg.norm(V, axis=1, keepdims=True)
        return np.tanh(lengths / 2) * V / lengths, y, np.zeros(d)

    return make


def mammals():
    return *datasets.load_mammals(return_X_y=True), None


def olsson():
    data = datasets.fetch_olsson()
    return data.X_train, data.y_train, None


def fashion():
    data = datasets.fetch_fashion_mnist()
    return data.X_train, data.y_train, None


def fit(make_model):
    """Call that fits a new model, made from the reference point."""
    return lambda data: lambda: make_model(data.p).fit(data.X, data.y)


def svc(**options):
    return fit(lambda p: PoincareSVC(**options))


def svc_at_p(C=1.0, **options):
    return fit(lambda p: PoincareSVC(reference=p, C=C, **{"loss": "hinge", "calibration": None, **options}))


def softmax(**options):
    return fit(lambda p: PoincareLogisticRegression(**options))


def perceptron(*, shuffle):
    return fit(lambda p: PoincarePerceptron(reference=p, shuffle=shuffle, max_epochs=5, calibration=None))


def reference(strategy):
    """Call that computes a reference point as a fit does: all cores for our kernels, one for BLAS."""

    def prepare(data):
        # Finding the BLAS libraries takes milliseconds, so it is done only once.
        y, threads, libraries = data.y.astype(float), os.cpu_count(), ThreadpoolController()

        def call():
            with libraries.limit(limits=1, user_api="blas"):
                return reference_point(strategy, data.X, y, None, 1.0, threads=threads)

        return call

    return prepare


def predictions(method):
    def prepare(data):
        model = PoincareSVC(reference=data.p, calibration="cross-fitted").fit(data.X[:20_000], data.y[:20_000])
        return lambda: getattr(model, method)(data.X)

    return prepare


def from_source(open_source):
    """Call that opens a source and fits the SVC to it."""
    return lambda data: (
        lambda: PoincareSVC(reference=data.p, C=1.0, loss="hinge", calibration=None).fit(open_source(data))
    )


def npy_file(data):
    return open_points(data.folder / "X.npy", label=data.y)


def blocks(data):
    return open_points([(data.X[i : i + BLOCK], data.y[i : i + BLOCK]) for i in range(0, len(data.X), BLOCK)])


def parquet(data):
    """Call that fits the SVC to a Parquet file."""
    path = data.folder / "points.parquet"
    if not path.exists():
        columns = {f"x{i}": data.X[:, i] for i in range(data.X.shape[1])}
        pyarrow.parquet.write_table(pyarrow.table(columns | {"label": data.y}), path)
    return from_source(lambda data: open_points(path, label="label"))(data)


CASES = {
    "mammals-svc-default": Case(mammals, svc()),
    "mammals-svc": Case(mammals, svc(reference="boundary", C=1.0, loss="hinge")),
    "mammals-svc-no-calibration": Case(mammals, svc(reference="boundary", C=1.0, loss="hinge", calibration=None)),
    "olsson-svc-default": Case(olsson, svc()),
    "olsson-svc": Case(olsson, svc(reference="boundary", C=1.0, loss="hinge")),
    "olsson-softmax": Case(olsson, softmax(reference="mean", C=100.0)),
    "fashion-softmax": Case(fashion, softmax(reference="mean", C=100.0)),
    "fashion-svc": Case(fashion, svc(reference="boundary", C=1.0, loss="hinge")),
    "svc-1e5x2-separable": Case(ball(100_000, 2), svc_at_p(C=1000.0)),
    "svc-1e6x2-separable": Case(ball(1_000_000, 2), svc_at_p(C=1000.0), memory=True),
    "svc-1e5x10-separable": Case(ball(100_000, 10), svc_at_p(C=1000.0)),
    "svc-1e5x100-separable": Case(ball(100_000, 100), svc_at_p(C=1000.0), memory=True),
    "svc-1e5x2-overlapping": Case(ball(100_000, 2, 0.02), svc_at_p()),
    "svc-1e6x2-overlapping": Case(ball(1_000_000, 2, 0.02), svc_at_p(), memory=True),
    "svc-1e5x10-overlapping": Case(ball(100_000, 10, 0.02), svc_at_p()),
    "svc-1e5x100-overlapping": Case(ball(100_000, 100, 0.02), svc_at_p(), memory=True),
    "boundary-1e5x2": Case(ball(100_000, 2, 0.02), reference("boundary")),
    "boundary-1e5x10": Case(ball(100_000, 10, 0.02), reference("boundary")),
    "boundary-1e5x2-separable": Case(ball(100_000, 2), reference("boundary")),
    "boundary-1e5x10-separable": Case(ball(100_000, 10), reference("boundary")),
    "means-1e5x2": Case(ball(100_000, 2, 0.02), reference("means")),
    "means-1e5x10": Case(ball(100_000, 10, 0.02), reference("means")),
    "squared-hinge-1e5x10": Case(ball(100_000, 10, 0.02), svc_at_p(loss="squared_hinge")),
    "hard-margin-1e5x10": Case(ball(100_000, 10), svc_at_p(C=np.inf)),
    "softmax-1e6x2-10-classes": Case(blobs(1_000_000, 2, 10), softmax(reference="mean", C=100.0), memory=True),
    "softmax-2e4x100-5-classes": Case(blobs(20_000, 100, 5), softmax(reference="mean", C=100.0)),
    "perceptron-1e5x10": Case(ball(100_000, 10, 0.02), perceptron(shuffle=False)),
    "perceptron-1e5x10-shuffled": Case(ball(100_000, 10, 0.02), perceptron(shuffle=True)),
    "predict-1e6x2": Case(ball(1_000_000, 2, 0.02), predictions("predict")),
    "predict_proba-1e6x2": Case(ball(1_000_000, 2, 0.02), predictions("predict_proba")),
    "blocks-1e6x2": Case(ball(1_000_000, 2, 0.02), from_source(blocks), memory=True),
    "parquet-1e6x2": Case(ball(1_000_000, 2, 0.02), parquet, memory=True),
    "svc-3e7x2-in-memory": Case(ball(30_000_000, 2, 0.02), svc_at_p(), memory=True, large=True),
    "svc-3e7x2-npy-file": Case(ball(30_000_000, 2, 0.02), from_source(npy_file), memory=True, large=True),
    "svc-1e5x1000": Case(ball(100_000, 1000), svc_at_p(C=1000.0), memory=True, large=True),
}


def write_data(name, folder):
    """Make the data of a case and write them to a folder."""
    X, y, p = CASES[name].make_data()
    for array_name, array in (("X", X), ("y", y), ("p", p)):
        if array is not None:
            np.save(Path(folder) / f"{array_name}.npy", np.asarray(array))


def read_data(folder):
    folder = Path(folder)
    p = np.load(folder / "p.npy") if (folder / "p.npy").exists() else None
    return Data(np.load(folder / "X.npy"), np.load(folder / "y.npy"), p, folder)


def first_rows(data):
    """Write the first rows to separate files."""
    folder = data.folder / "few"
    folder.mkdir(exist_ok=True)
    np.save(folder / "X.npy", data.X[:FEW])
    return Data(data.X[:FEW], data.y[:FEW], data.p, folder)


def summary(result):
    """Return a number that is equal in both trees if they solve the same problem."""
    array = np.asarray(getattr(result, "coef_", result), dtype=float)
    # The smallest entry is subtracted, because labels -1 and 1 have the same norm for all predictions.
    return float(np.linalg.norm(array - array.min()))


class Runner:
    """Handler of requests, with the data of one case at a time."""

    def prepare(self, case, folder):
        """Build the case and call it once."""
        self.call = None
        self.call = CASES[case].prepare(read_data(folder))
        return {"summary": summary(self.call())}

    def time(self, cpu):
        """Time one call of the prepared case, by the CPU's clock or by the wall's."""
        return {"ms": once(self.call, process_time if cpu else perf_counter)[0].minimum}

    def peak(self, case, folder):
        """Peak memory of a call on all rows, after one on a few rows that loads libraries."""
        data = read_data(folder)
        CASES[case].prepare(first_rows(data))()
        call = CASES[case].prepare(data)
        return {"peak": peak_memory(call), "data": data.X.nbytes}


def serve(requests, replies):
    """Answer requests until the input ends; failures are also sent as replies."""
    runner = Runner()
    print(json.dumps({"hyplearn": hyplearn.__file__}), file=replies, flush=True)
    for line in requests:
        request = json.loads(line)
        try:
            reply = getattr(runner, request.pop("do"))(**request)
        except Exception:
            reply = {"error": traceback.format_exc()}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["--data"]:
        write_data(*sys.argv[2:])
    else:
        # Replies use a separate file descriptor: output of the library must not mix with them.
        replies = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        serve(sys.stdin, replies)
