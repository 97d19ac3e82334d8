"""Effect of each fault of the paper's hyperboloid SVM, on the paper's synthetic data.

The points are uniform in the ball of radius R = 0.95, on the two sides of a hyperplane with ‖p‖ = 2R/5 and ε = 0.01;
for these data the paper plots 9 hours against 1 minute at N = 10⁶. The looping baseline (:mod:`looping`) with all its
faults, without one of them, and without both is compared with `HyperboloidSVC`, which solves the same problem at full
speed, and with `PoincareSVC` with the true p. Macro-F1 is measured on the training points, times are CPU seconds of the
fit. The time of a loop is proportional to N and to the number of epochs, which hardly depends on N. Its time at N = 10⁶
is therefore extrapolated from the measured time per epoch and row.

    python experiments handicapped           # half a minute; writes experiments/results/quick/handicapped.{csv,md,json}
    python experiments handicapped --full    # two minutes; writes experiments/results/handicapped.*
"""

import itertools
import warnings
from dataclasses import dataclass
from functools import partial
from time import process_time

import numpy as np
from ledger import fill, two_digits
from looping import LoopingHyperboloidSVC
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from hyplearn import HyperboloidSVC, PoincareSVC
from hyplearn.datasets import make_ball_classification

LOOP, BATCHES, START, MENDED = "loop, as published", "… right batches", "… right start", "… right batches and start"
FAST, OURS = "HyperboloidSVC", "PoincareSVC, true p"
METHODS = (LOOP, BATCHES, START, MENDED, FAST, OURS)
MANY = 1_000_000


@dataclass(frozen=True)
class Config:
    """Pairs of a dimension and a number of points, and the number of draws of each; the default is quick."""

    name: str = "quick"
    sizes: tuple[tuple[int, int], ...] = ((2, 200),)
    runs: int = 1
    epochs: int = 500
    seed: int = 0


FULL = Config(name="full", sizes=((2, 1000), (2, 10_000), (100, 1000), (1000, 1000)))


def classifier(method, p, config):
    """Create a classifier for the given method."""
    mended = {LOOP: (False, False), BATCHES: (True, False), START: (False, True), MENDED: (True, True)}
    if method in mended:
        batches, start = mended[method]
        return LoopingHyperboloidSVC(10.0, epochs=config.epochs, right_batches=batches, right_start=start)
    if method == FAST:
        return HyperboloidSVC(C=10.0, tol=1e-6, calibration=None)
    return PoincareSVC(p, C=1000.0, loss="hinge", calibration=None, n_jobs=1)


def drawn(config, cell):
    """Return the points, labels and true p of a run, which are the same for all methods."""
    rng = np.random.default_rng([config.seed, cell["d"], cell["N"], cell["run"]])
    return make_ball_classification(cell["N"], cell["d"], margin=0.01, reference_norm=0.38, random_state=rng)[:3]


def measure(config, cell):
    """Macro-F1 on the training points in per cent, number of epochs of the loops, and CPU seconds."""
    X, y, p = drawn(config, cell)
    model = classifier(cell["method"], p, config)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # liblinear may stop before it reaches its tolerance
        if cell["method"] in (FAST, OURS):
            model.fit(X, y)  # compiles, so that the timed fit does not
        start = process_time()
        model.fit(X, y)
        seconds = process_time() - start
    score = f1_score(y, model.predict(X), average="macro", zero_division=0)
    epochs = model.n_iter_ if isinstance(model, LoopingHyperboloidSVC) else ""
    return {"train_f1": round(100 * float(score), 4), "epochs": epochs, "seconds": float(f"{seconds:.3g}")}


def all_cells(config):
    """Return one cell for every size, run and method."""
    return [
        {"d": d, "N": n, "run": run, "method": method}
        for (d, n), run, method in itertools.product(config.sizes, range(config.runs), METHODS)
    ]


def run(config, folder):
    """Measure the missing cells, then write the table."""
    cost = {LOOP: 30.0, START: 30.0}
    cells = all_cells(config)
    rows = fill(
        folder,
        "handicapped",
        config,
        cells,
        partial(measure, config),
        cost=lambda cell: cell["N"] * cost.get(cell["method"], 1.0),
        grows=("runs",),
        n_jobs=2,
    )
    (folder / "handicapped.md").write_text(text(rows, config))
    return rows


def text(rows, config):
    """Means over runs, and extrapolated times of the loops for the number of points in the paper."""
    lines = [
        f"The faults of the paper's hyperboloid SVM, {config.name} configuration: ‖p‖ = 2R/5, ε = 0.01, means over the "
        f"runs ({config.runs}); macro-F1 in per cent on the training points, processor seconds. A macro-F1 "
        "below 50 means that the smaller class, even a single point, is missed.",
        "",
        f"| d | N | smaller class | method | macro-F1 | epochs | seconds | hours at N = {MANY:,}, extrapolated |",
        "| --- " * 8 + "|",
    ]
    for d, n, method in dict.fromkeys((row["d"], row["N"], row["method"]) for row in rows):
        own = [row for row in rows if (row["d"], row["N"], row["method"]) == (d, n, method)]
        fewer = np.mean([min(np.bincount(drawn(config, row)[1] > 0, minlength=2)) for row in own])
        score, seconds = (np.mean([row[column] for row in own]) for column in ("train_f1", "seconds"))
        loops = own[0]["epochs"] != ""
        epochs = f"{np.mean([row['epochs'] for row in own]):.0f}" if loops else "–"
        hours = f"{seconds * MANY / n / 3600:.1f}" if loops else "–"
        lines.append(
            f"| {d} | {n:,} | {fewer:.0f} | {method} | {score:.2f} | {epochs} | {two_digits(seconds)} | {hours} |"
        )
    return "\n".join(lines) + "\n"
