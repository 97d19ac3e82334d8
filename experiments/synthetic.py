"""The paper's synthetic figures: how well and how fast SVMs separate the two sides of a hyperplane.

Points uniform (in the Euclidean sense) in the ball of radius R = 0.95, on the sides of a random H(w, p) with ‖p‖ of
R/5, 2R/5 or 3R/5, none nearer to it than ε. One of the dimension d, the number N and the margin ε varies, the others
have their base values. The paper calls macro-F1 on the training points accuracy, and gives its SVM the true p. Here the
same is measured, and accuracy and macro-F1 on held-out points of the same distribution; our SVM also without knowing p;
the Euclidean SVM also with an intercept, which the paper's lacks. C = 1000, for the hyperboloid SVM 10, as there.

Times are of the fit alone, without probabilities, on one thread; a fit of less than a second is timed twice and the
faster counts, as the first may compile.

    python experiments/synthetic.py           # three minutes; writes experiments/results/quick/synthetic*
    python experiments/synthetic.py --full    # the paper's sizes and 20 runs: most of a day; in experiments/results
"""

import argparse
import itertools
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import perf_counter

import numpy as np
import pictures
from ledger import fill
from matplotlib import pyplot as plt
from sklearn.metrics import f1_score

from hyplearn import HyperboloidSVC, PoincareSVC
from hyplearn.baselines import EuclideanSVC
from hyplearn.datasets import make_ball_classification

RESULTS = Path(__file__).parent / "results"
METHODS = {
    "Poincaré SVM, true p": "#332288",
    "Poincaré SVM": "#44AA99",
    "hyperboloid SVM": "#EE7733",
    "Euclidean SVM": "#882255",
    "Euclidean SVM, no intercept": "#999933",
}
AXES = {"d": "dimension d", "N": "number of points N", "margin": "margin ε"}
# Lines that coincide, as many do at 100 %, are all seen: the first lies widest and lowest.
WIDTHS = (6.0, 4.0, 2.4, 1.5, 1.5)
PANELS = {
    "train_f1": "macro-F1 on the training points, %",
    "test_f1": "macro-F1 on held-out points, %",
    "seconds": "seconds of a fit",
}


@dataclass(frozen=True)
class Config:
    """What varies, and the values of the others while one varies; the default is the quick setting."""

    name: str = "quick"
    d: tuple[int, ...] = (2, 10, 100)
    N: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    margin: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001)
    base: tuple[int, int, float] = (2, 10_000, 0.01)
    fifths: tuple[int, ...] = (1, 2, 3)
    radius: float = 0.95
    runs: int = 5
    held_out: int = 10_000
    # Quasi-Newton steps are the better solver of the hyperboloid SVM, but slow above this dimension.
    stages_up_to: int = 10
    seed: int = 0


FULL = Config(
    name="full",
    d=(2, 10, 100, 300, 1000),
    base=(2, 100_000, 0.01),
    runs=20,
)


def settings(config):
    """Each (d, N, ε) in which at most one differs from its base value."""
    d, n, margin = config.base
    varied = [(value, n, margin) for value in config.d] + [(d, value, margin) for value in config.N]
    return list(dict.fromkeys(varied + [(d, n, value) for value in config.margin]))


def all_cells(config):
    """One cell for every setting, norm of p, run and method; cells of one draw follow each other."""
    return [
        {"d": d, "N": n, "margin": margin, "fifths": fifths, "run": run, "method": method}
        for (d, n, margin), fifths, run in itertools.product(settings(config), config.fifths, range(config.runs))
        for method in METHODS
    ]


@lru_cache(maxsize=1)
def draw(config, d, n, margin, fifths, run):
    """N training points, held-out points, and the true p."""
    rng = np.random.default_rng([config.seed, d, n, round(1e6 * margin), fifths, run])
    norm = fifths * config.radius / 5
    X, y, p, _ = make_ball_classification(
        n + config.held_out, d, margin=margin, reference_norm=norm, radius=config.radius, random_state=rng
    )
    if abs(y[:n].sum()) == n:  # of few points one side may be empty; it gets one of the held-out
        other = np.flatnonzero(y != y[0])[0]
        X[[0, other]], y[[0, other]] = X[[other, 0]], y[[other, 0]]
    return X[:n], y[:n], X[n:], y[n:], p


def classifier(method, config, d, p):
    """The classifier of that name."""
    solver = "stages" if d <= config.stages_up_to else "projected_gradient"
    return {
        "Poincaré SVM, true p": PoincareSVC(p, C=1000, calibration=None, n_jobs=1),
        "Poincaré SVM": PoincareSVC(C=1000, calibration=None, n_jobs=1),
        "hyperboloid SVM": HyperboloidSVC(C=10, solver=solver, calibration=None),
        "Euclidean SVM": EuclideanSVC(C=1000, calibration=None),
        "Euclidean SVM, no intercept": EuclideanSVC(C=1000, fit_intercept=False, calibration=None),
    }[method]


def fit_time(model, X, y):
    """Seconds of a fit; of a short one the smaller of two."""
    seconds = np.inf
    for _ in range(2):
        start = perf_counter()
        model.fit(X, y)
        seconds = min(seconds, perf_counter() - start)
        if seconds > 1:
            break
    return seconds


def measure(config, cell):
    """Accuracy and macro-F1 in per cent on both kinds of points, the certificate, the time."""
    X, y, X_test, y_test, p = draw(config, *(cell[name] for name in ("d", "N", "margin", "fifths", "run")))
    model = classifier(cell["method"], config, cell["d"], p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is not optimal shows in its gap and its accuracy
        seconds = fit_time(model, X, y)
    scores = {}
    for part, points, labels in (("train", X, y), ("test", X_test, y_test)):
        predicted = model.predict(points)
        scores[f"{part}_accuracy"] = round(100 * float(np.mean(predicted == labels)), 4)
        scores[f"{part}_f1"] = round(100 * float(f1_score(labels, predicted, average="macro", zero_division=0)), 4)
    gap = getattr(model, "dual_gap_", None)
    return scores | {"gap": "" if gap is None else float(f"{gap.max():.2g}"), "seconds": float(f"{seconds:.3g}")}


def run(config, folder):
    """Measure what is missing, then write the table and the pictures."""
    rows = fill(
        folder,
        "synthetic",
        config,
        all_cells(config),
        lambda cell: measure(config, cell),
        cost=lambda cell: cell["d"] * cell["N"] + 10_000,
    )
    (folder / "synthetic.md").write_text(text(rows, config))
    for fifths in config.fifths:
        pictures.save(picture(rows, config, fifths), folder, f"synthetic_{fifths}")
    return rows


def chosen(rows, value, **wanted):
    """The values of all rows that have what is wanted."""
    return [row[value] for row in rows if all(row[name] == what for name, what in wanted.items())]


def fraction(fifths):
    """The norm of p as the paper writes it."""
    return "R/5" if fifths == 1 else f"{fifths}R/5"


def text(rows, config):
    """Means of all settings as a table, the paper's quantity first."""
    lines = [
        f"Synthetic data, {config.name} configuration, {config.runs} runs. Each entry: mean macro-F1 in per cent on "
        "the training points (what the paper calls accuracy) / on held-out points, and the median time of a fit.",
        "",
        f"| ‖p‖ | d | N | ε | {' | '.join(METHODS)} |",
        "| --- " * (4 + len(METHODS)) + "|",
    ]
    for fifths, (d, n, margin) in itertools.product(config.fifths, settings(config)):
        entries = []
        for method in METHODS:
            wanted = {"d": d, "N": n, "margin": margin, "fifths": fifths, "method": method}
            train, test, seconds = (chosen(rows, value, **wanted) for value in PANELS)
            entries.append(f"{np.mean(train):.2f} / {np.mean(test):.2f}, {np.median(seconds):.2g} s")
        lines.append(f"| {fraction(fifths)} | {d} | {n:,} | {margin:g} | {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


def picture(rows, config, fifths):
    """Three rows for what varies, three columns for what is measured: medians, quartile bands, means as crosses."""
    figure, panels = plt.subplots(3, 3, figsize=(13, 10.5), layout="constrained")
    for line, (axis, axis_name) in zip(panels, AXES.items(), strict=True):
        base = {"d": config.base[0], "N": config.base[1], "margin": config.base[2], "fifths": fifths}
        for ax, (value, title) in zip(line, PANELS.items(), strict=True):
            for width, (method, colour) in zip(WIDTHS, METHODS.items(), strict=True):
                places = sorted(getattr(config, axis))
                values = np.array([chosen(rows, value, **{**base, axis: at, "method": method}) for at in places])
                low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=1)
                ax.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
                ax.plot(places, middle, color=colour, linewidth=1.6 if value == "seconds" else width, label=method)
                ax.plot(places, values.mean(axis=1), "x", color=colour, markersize=6)
            ax.set(xscale="log", xlabel=axis_name, yscale="log" if value == "seconds" else "linear")
            if axis == "d":
                ax.set_title(title, fontsize="medium", pad=10)
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(alpha=0.25)
            if axis == "margin":
                ax.invert_xaxis()
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(METHODS), frameon=False)
    d, n, margin = config.base
    figure.suptitle(
        f"‖p‖ = {fraction(fifths)}; where they do not vary, d = {d}, N = {n:,}, ε = {margin:g}. "
        f"Medians and quartiles of {config.runs} runs ({config.name}), × means"
    )
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the paper's sizes and runs")
    parser.add_argument("--runs", type=int, help="fewer runs, or more")
    parser.add_argument("--output", type=Path, help="folder of the results")
    arguments = parser.parse_args()
    config = FULL if arguments.full else Config()
    config = replace(config, runs=arguments.runs or config.runs)
    folder = arguments.output or (RESULTS if arguments.full else RESULTS / "quick")
    run(config, folder)
    print((folder / "synthetic.md").read_text())


if __name__ == "__main__":
    main()
