"""The paper's synthetic figures: accuracy and time of SVMs that separate the two sides of a hyperplane.

The points are uniform (in the Euclidean sense) in the ball of radius R = 0.95, on the two sides of a random H(w, p)
with ‖p‖ of R/5, 2R/5 or 3R/5, and none is nearer to it than ε. One of the dimension d, the number of points N and the
margin ε varies; the other two have their base values. The paper reports macro-F1 on the training points as accuracy,
and gives its SVM the true p. Here the same is measured, and also accuracy and macro-F1 on held-out points of the same
distribution; our SVM is also fitted with a search for p (``reference="boundary"``) instead of the true p, and the
Euclidean SVM also with an intercept, which the paper's lacks. As in the paper, C is 1000, or 10 for the hyperboloid
SVM. The Euclidean SVM with intercept has the hinge loss and our solver, the one without intercept has the squared
hinge, as in the paper. The hyperboloid SVM stops at a relative decrease of 1e-6, after which its accuracy no longer
changes.

Times are CPU seconds of the fit alone, without probabilities and compilation; wall-clock times and the load of the
machine are recorded too. All cells of one run are measured before the next run, so that an interrupted table can be
finished with fewer runs, and more runs can be added later. The most expensive dimensions, which may have fewer runs,
come last.

    python experiments synthetic           # two minutes; writes experiments/results/quick/synthetic*
    python experiments synthetic --full    # the paper's sizes and 20 runs: some hours
"""

import itertools
import os
import warnings
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from time import perf_counter, process_time

import numpy as np
import pictures
from ledger import chosen, fill, two_digits
from matplotlib import pyplot as plt
from threadpoolctl import threadpool_limits

from hyplearn import HyperboloidSVC, PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.paper import EuclideanSVC
from hyplearn.plotting import palette
from hyplearn.plotting.style import WIDTH

NAMES = (
    "Poincaré SVM, true p",
    "Poincaré SVM",
    "hyperboloid SVM",
    "Euclidean SVM",
    "Euclidean SVM, no intercept",
)
METHODS = dict(zip(NAMES, palette.LIGHT, strict=False))
AXES = {"d": "dimension d", "N": "number of points N", "margin": "margin ε"}
# Line widths: the first line is the widest and is drawn first, so that lines that coincide at 100 % remain visible.
WIDTHS = (5.0, 3.4, 2.2, 1.3, 1.3)
PANELS = {
    "train_f1": "macro-F1, training points, %",
    "test_f1": "macro-F1, held-out points, %",
    "seconds": "processor seconds of a fit",
}


@dataclass(frozen=True)
class Config:
    """Values of d, N and the margin, and the base values of those that do not vary; the default is quick."""

    name: str = "quick"
    d: tuple[int, ...] = (2, 10, 100)
    N: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    margin: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001)
    base: tuple[int, int, float] = (2, 10_000, 0.01)
    fifths: tuple[int, ...] = (1, 2, 3)
    radius: float = 0.95
    runs: int = 3
    # Pairs of an expensive dimension and its number of runs.
    fewer: tuple[tuple[int, int], ...] = ()
    held_out: int = 10_000
    seed: int = 0
    # Number of cells that are measured in parallel; this does not affect the CPU seconds of a fit.
    n_jobs: int = 2

    def runs_at(self, d):
        """Return the number of runs in dimension d."""
        return min(self.runs, dict(self.fewer).get(d, self.runs))


FULL = Config(
    name="full",
    d=(2, 10, 100, 300, 1000),
    base=(2, 100_000, 0.01),
    runs=20,
    fewer=((1000, 20),),
)


def settings(config):
    """Return all (d, N, ε) in which at most one value differs from its base value."""
    d, n, margin = config.base
    varied = [(value, n, margin) for value in config.d] + [(d, value, margin) for value in config.N]
    return list(dict.fromkeys(varied + [(d, n, value) for value in config.margin]))


def all_cells(config):
    """One cell for every run, setting, norm of p and method; expensive dimensions last, cells of one draw together."""
    cells = [
        {"d": d, "N": n, "margin": margin, "fifths": fifths, "run": run, "method": method}
        for run, (d, n, margin), fifths in itertools.product(range(config.runs), settings(config), config.fifths)
        if run < config.runs_at(d)
        for method in METHODS
    ]
    return sorted(cells, key=lambda cell: cell["d"] if cell["d"] in dict(config.fewer) else 0)


@lru_cache(maxsize=1)
def draw(config, d, n, margin, fifths, run):
    """Draw N training points and the held-out points, and return them with the true p."""
    rng = np.random.default_rng([config.seed, d, n, round(1e6 * margin), fifths, run])
    norm = fifths * config.radius / 5
    X, y, p, _ = make_ball_classification(
        n + config.held_out, d, margin=margin, reference_norm=norm, radius=config.radius, random_state=rng
    )
    if abs(y[:n].sum()) == n:  # if one side is empty, it gets one of the held-out points
        other = np.flatnonzero(y != y[0])[0]
        X[[0, other]], y[[0, other]] = X[[other, 0]], y[[other, 0]]
    return X[:n], y[:n], X[n:], y[n:], p


def classifier(method, p):
    """Create a classifier for the given method."""
    return {
        "Poincaré SVM, true p": PoincareSVC(p, C=1000, loss="hinge", calibration=None, n_jobs=1),
        "Poincaré SVM": PoincareSVC("boundary", C=1000, loss="hinge", calibration=None, n_jobs=1),
        "hyperboloid SVM": HyperboloidSVC(C=10, tol=1e-6, calibration=None),
        "Euclidean SVM": EuclideanSVC(C=1000, loss="hinge", calibration=None),
        "Euclidean SVM, no intercept": EuclideanSVC(C=1000, fit_intercept=False, calibration=None),
    }[method]


@cache
def warm():
    """Compile all functions that the fits use, once per process."""
    X, y, p, _ = make_ball_classification(200, 3, random_state=0)
    for method in METHODS:
        classifier(method, p).fit(X, y).predict(X)


def fit_times(model, X, y):
    """Measure the CPU seconds and the wall-clock seconds of a fit."""
    clock, start = perf_counter(), process_time()
    model.fit(X, y)
    return process_time() - start, perf_counter() - clock


def scores(part, labels, predicted):
    """Accuracy and macro-F1 in per cent; a class that is neither present nor predicted has an F1 of 0."""
    hits = [np.sum((labels == side) & (predicted == side)) for side in (-1, 1)]
    sizes = [np.sum(labels == side) + np.sum(predicted == side) for side in (-1, 1)]
    f1 = [2 * hit / max(size, 1) for hit, size in zip(hits, sizes, strict=True)]
    return {
        f"{part}_accuracy": round(100 * float(sum(hits)) / len(labels), 4),
        f"{part}_f1": round(100 * float(np.mean(f1)), 4),
    }


def measure(config, cell):
    """Accuracy and macro-F1 on training and held-out points, duality gap, times, and load of the machine."""
    X, y, X_test, y_test, p = draw(config, *(cell[name] for name in ("d", "N", "margin", "fifths", "run")))
    model = classifier(cell["method"], p)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # the table shows the gap and the accuracy of fits that are not optimal
        warm()
        seconds, clock = fit_times(model, X, y)
        found = scores("train", y, model.predict(X)) | scores("test", y_test, model.predict(X_test))
    gap = getattr(model, "dual_gap_", None)
    return found | {
        "gap": "" if gap is None else float(f"{gap.max():.2g}"),
        "seconds": float(f"{seconds:.3g}"),
        "clock": float(f"{clock:.3g}"),
        "load": round(os.getloadavg()[0], 1),
    }


def run(config, folder):
    """Measure the missing cells, then write the table and the pictures."""
    rows = fill(
        folder,
        "synthetic",
        config,
        all_cells(config),
        partial(measure, config),
        cost=lambda cell: cell["d"] * cell["N"] + 10_000,
        grows=("runs", "fewer", "n_jobs"),
        n_jobs=config.n_jobs,
    )
    (folder / "synthetic.md").write_text(text(rows, config))
    for fifths in config.fifths:
        pictures.save(picture(rows, config, fifths), folder, f"synthetic_{fifths}")
    return rows


def fraction(fifths):
    """Format the norm of p in the notation of the paper."""
    return "R/5" if fifths == 1 else f"{fifths}R/5"


def text(rows, config):
    """Table of the means of all settings; the paper's measure, macro-F1 on the training points, comes first."""
    lines = [
        f"Synthetic data, {config.name} configuration. Each entry: mean macro-F1 in per cent on the training points "
        "(what the paper calls accuracy) / on held-out points, and the median time of a fit in processor seconds. The "
        f"load of the machine meanwhile: {np.median([row['load'] for row in rows]):.0f} (median).",
        "",
        f"| ‖p‖ | d | N | ε | runs | {' | '.join(METHODS)} |",
        "| --- " * (5 + len(METHODS)) + "|",
    ]
    for fifths, (d, n, margin) in itertools.product(config.fifths, settings(config)):
        entries = []
        for method in METHODS:
            wanted = {"d": d, "N": n, "margin": margin, "fifths": fifths, "method": method}
            train, test, seconds = (chosen(rows, value, **wanted) for value in PANELS)
            entries.append(f"{np.mean(train):.2f} / {np.mean(test):.2f}, {two_digits(np.median(seconds))} s")
        lines.append(f"| {fraction(fifths)} | {d} | {n:,} | {margin:g} | {config.runs_at(d)} | {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


def picture(rows, config, fifths):
    """Panels for each varied parameter (rows) and measurement (columns), with medians, quartile bands and means."""
    figure, panels = plt.subplots(3, 3, figsize=(WIDTH, 7.6), layout="constrained")
    for line, (axis, axis_name) in zip(panels, AXES.items(), strict=True):
        base = {"d": config.base[0], "N": config.base[1], "margin": config.base[2], "fifths": fifths}
        for ax, (value, title) in zip(line, PANELS.items(), strict=True):
            for width, (method, colour) in zip(WIDTHS, METHODS.items(), strict=True):
                places = sorted(getattr(config, axis))
                values = [chosen(rows, value, **{**base, axis: at, "method": method}) for at in places]
                low, middle, high = np.transpose([np.quantile(v, [0.25, 0.5, 0.75]) for v in values])
                ax.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
                ax.plot(places, middle, color=colour, linewidth=1.6 if value == "seconds" else width, label=method)
                ax.plot(places, list(map(np.mean, values)), "x", color=colour, markersize=4)
            ax.set(xscale="log", xlabel=axis_name, yscale="log" if value == "seconds" else "linear")
            if axis == "d":
                ax.set_title(title, pad=8)
            ax.grid(alpha=0.25)
            if axis == "margin":
                ax.invert_xaxis()
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    d, n, margin = config.base
    figure.suptitle(
        f"‖p‖ = {fraction(fifths)}; where they do not vary, d = {d}, N = {n:,}, ε = {margin:g}.\n"
        f"Medians and quartiles of {runs_in_words(config)} ({config.name}), × means"
    )
    return figure


def runs_in_words(config):
    """Describe the number of runs, and the entries with fewer runs."""
    fewer = [f"{config.runs_at(d)} at d = {d}" for d, _ in config.fewer if config.runs_at(d) < config.runs]
    return f"{config.runs} runs" + (f", {', '.join(fewer)}" if fewer else "")
