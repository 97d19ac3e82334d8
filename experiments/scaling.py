"""Scaling beyond one machine: measured passes over a Dask cluster, and estimates for larger clusters.

A fit is a number of passes. In a pass, every worker processes its own rows, and the cluster sends a message to each
worker and receives one from it; between passes the client solves a working set, which grows like the root of the number
of rows. Each of these three costs is measured here on two overlapping classes: rows on one worker (a process with one
thread), messages on clusters of many workers with hardly any rows (threads of one process, so that two cores do the
work of all of them, and the result is an upper bound), and the client's work on growing data. The sum is compared with
measured fits of many small chunks on two workers, and extrapolated to sizes that do not fit on this machine.

    python experiments scaling           # a minute; writes experiments/results/quick/scaling.{csv,md,json}
    python experiments scaling --full    # some minutes; writes experiments/results/scaling.*
"""

import pickle
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from ledger import fill, two_digits

from hyplearn import PoincareLogisticRegression, PoincareSVC
from hyplearn.data.dask import DaskPoints

MODELS = {"PoincareSVC": PoincareSVC, "PoincareLogisticRegression": PoincareLogisticRegression}
ROWS, MESSAGES, CHUNKS = "rows on one worker", "messages", "small chunks on two workers"
EXPECTED = ((10**9, 10), (10**9, 100), (10**10, 10), (10**10, 100))


@dataclass(frozen=True)
class Config:
    """Numbers of rows and workers of the measurements, and rows and chunks of the check; the default is quick."""

    name: str = "quick"
    d: int = 2
    rows: tuple[int, ...] = (20_000, 80_000)
    workers: tuple[int, ...] = (2, 4)
    rows_per_worker: int = 200
    checked_rows: int = 50_000
    checked_chunks: int = 100
    seed: int = 0


FULL = Config(
    name="full",
    rows=(10**5, 10**6, 10**7),
    workers=(2, 10, 30),
    rows_per_worker=1000,
    checked_rows=10**7,
    checked_chunks=2000,
)


class WatchedPoints(DaskPoints):
    """Points that record the seconds of all passes, and the sizes of the largest messages to and from a worker."""

    seconds, sent, received = 0.0, 0, 0

    def fold(self, function, merge, *arguments, **options):
        """Run and time one pass, and record the sizes of its messages."""
        start = perf_counter()
        found = super().fold(function, merge, *arguments, **options)
        self.seconds += perf_counter() - start
        self.sent = max(self.sent, len(pickle.dumps((function, merge, options.get("build"), arguments))))
        self.received = max(self.received, *(len(pickle.dumps(parts)) for parts in self.gathered_last))
        return found

    def _gathered(self, futures):
        self.gathered_last = super()._gathered(futures)
        return self.gathered_last


def overlapping(n, d, seed):
    """Float32 rows of two classes of the ball that no geodesic hyperplane separates."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X *= (0.9 * rng.random(n, dtype=np.float32) / np.linalg.norm(X, axis=1))[:, None]
    return X, (X[:, 0] + 0.2 * rng.standard_normal(n, dtype=np.float32) > 0).astype(np.int8)


def measure(config, cell):
    """Number of passes, seconds of the passes and of the client between them, and largest messages in bytes."""
    processes = cell["what"] != MESSAGES
    with (
        LocalCluster(
            n_workers=cell["workers"],
            threads_per_worker=1,
            processes=processes,
            dashboard_address=":0",
            memory_limit=None,  # each worker in one process would count the memory of the whole process
        ) as cluster,
        Client(cluster) as client,
    ):
        few = overlapping(4000, config.d, config.seed)
        _fitted(cell["model"], few, max(8, 2 * cell["workers"]), client)  # compiles on all workers before the timed fit
        points, seconds = _fitted(
            cell["model"], overlapping(cell["rows"], config.d, config.seed), cell["chunks"], client
        )
    return {
        "passes": points.n_passes,
        "pass_seconds": round(points.seconds, 4),
        "client_seconds": round(seconds - points.seconds, 4),
        "bytes_to_a_worker": points.sent,
        "bytes_from_a_worker": points.received,
    }


def _fitted(model, data, chunks, client):
    """Put the data on the workers and fit; returns the points and the seconds of the fit."""
    size = -(-len(data[0]) // chunks)
    there = [da.from_array(array, chunks=(size, *array.shape[1:])).persist() for array in data]
    wait(there)
    points = WatchedPoints(*there, client=client)
    options = {"calibration": None} if model == "PoincareSVC" else {}
    start = perf_counter()
    MODELS[model](**options).fit(points)
    return points, perf_counter() - start


def all_cells(config):
    """Return one cell for every measurement of every model."""
    cells = []
    for model in MODELS:
        cells += [_cell(model, ROWS, 1, n, 8) for n in config.rows]
        cells += [_cell(model, MESSAGES, w, w * config.rows_per_worker, 2 * w) for w in config.workers]
        cells.append(_cell(model, CHUNKS, 2, config.checked_rows, config.checked_chunks))
    return cells


def _cell(model, what, workers, rows, chunks):
    return {"model": model, "what": what, "workers": workers, "rows": rows, "chunks": chunks}


def _cost(cell):
    """Return the relative cost of a cell, where starting a cluster counts as a million rows."""
    return 1e6 + cell["rows"]


def run(config, folder):
    """Measure the missing cells, then write the table."""
    rows = fill(folder, "scaling", config, all_cells(config), partial(measure, config), cost=_cost, grows=("workers",))
    (folder / "scaling.md").write_text(text(rows, config))
    return rows


@dataclass(frozen=True)
class Law:
    """Cost model of a fit: seconds per row and pass, seconds per worker and pass, and seconds of the client."""

    passes: int
    per_row: float
    per_worker: float
    client: float
    client_rows: int

    @classmethod
    def of(cls, rows):
        """Estimate the costs: of rows from the largest measurement, of messages from the slope over workers."""
        largest = max((row for row in rows if row["what"] == ROWS), key=lambda row: row["rows"])
        messages = [row for row in rows if row["what"] == MESSAGES]
        each = [row["pass_seconds"] / row["passes"] / row["workers"] for row in messages]
        return cls(
            max(row["passes"] for row in rows),
            largest["pass_seconds"] / largest["passes"] / largest["rows"],
            float(np.max(each)),
            largest["client_seconds"],
            largest["rows"],
        )

    def parts(self, rows, workers):
        """Return the seconds of a fit that are spent on rows, on messages, and by the client."""
        on_rows = self.passes * self.per_row * rows / workers
        return on_rows, self.passes * self.per_worker * workers, self.client * np.sqrt(rows / self.client_rows)


def text(rows, config):
    """Format tables of the measurements, the check, and the estimates for larger clusters."""
    lines = [
        f"Fits on a Dask cluster, {config.name} configuration, {config.d} dimensions, float32, two classes that "
        "overlap. One thread per worker; a pass is one task per worker. Bytes are those of the largest message.",
        "",
        "| model | measured | workers | rows | chunks | passes | a pass, s | client, s | bytes to a worker | from it |",
        "| --- " * 10 + "|",
        *map(_measured, rows),
        "",
        "| model | rows | workers | rows, s | messages, s | client, s | a fit | a worker holds |",
        "| --- " * 8 + "|",
    ]
    for model in MODELS:
        own = [row for row in rows if row["model"] == model]
        law, checked = Law.of(own), next(row for row in own if row["what"] == CHUNKS)
        parts = law.parts(checked["rows"], 2)
        took = checked["pass_seconds"] + checked["client_seconds"]
        lines.append(_line(model, checked["rows"], 2, parts, config, f"{sum(parts):.2g} s; **measured {took:.2g} s**"))
        for n, workers in EXPECTED:
            parts = law.parts(n, workers)
            lines.append(_line(model, n, workers, parts, config, _duration(sum(parts))))
    return "\n".join([*lines, "", *NOTES]) + "\n"


def _measured(row):
    names = ("model", "what", "workers", "rows", "chunks", "passes")
    sizes = [f"{row[name]:,}" if isinstance(row[name], int) else row[name] for name in names]
    seconds = [f"{row['pass_seconds'] / row['passes']:.3g}", f"{row['client_seconds']:.2g}"]
    bytes_sent = [f"{row[name]:,}" for name in ("bytes_to_a_worker", "bytes_from_a_worker")]
    return f"| {' | '.join(sizes + seconds + bytes_sent)} |"


def _line(model, n, workers, parts, config, fit):
    held = n * (4 * config.d + 1) / workers / 1e9
    seconds = " | ".join(two_digits(part) for part in parts)
    return f"| {model} | {n:.0e} | {workers} | {seconds} | {fit} | {held:.2g} GB |"


def _duration(seconds):
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


NOTES = [
    "The second table adds three costs: rows as measured on one worker, messages at the highest measured rate per",
    "worker, and the client's work scaled with the root of the number of rows. The first line of each model was also",
    "measured, on many small chunks. The others are estimates for cores like these, with the largest number of passes",
    "that was measured here. Points in the memory of the workers are not read again. If the network is slower than the",
    "loopback of this machine, each pass also takes the time to send the bytes in the first table.",
]
