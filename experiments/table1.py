"""Table I of the paper: how many updates the two perceptrons need, beside the theorem's bound.

Data: N = 10,000 points uniform (in the Euclidean sense) in the ball of radius R = 0.95, d = 10; the boundary H(w, p)
has a random w and ‖p‖ of R/5 or 3R/5; points within the margin ε of it are removed, so fewer than N remain. Both
perceptrons pass over the rest in order until a pass has no mistake; the second order takes a = 0, the pseudo-inverse.
Of the hyperboloid perceptron of Weber et al. it is written down whether it converges within 100 passes.

    python experiments/table1.py              # the paper's 20 runs; writes experiments/results/table1.csv and .md
    python experiments/table1.py --runs 3 --output out
"""

import argparse
import csv
import itertools
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from record import write_record
from sklearn.exceptions import ConvergenceWarning

from hyplearn import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.baselines import HyperboloidPerceptron
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import signed_distance
from hyplearn.solvers.perceptron import paper_bound
from hyplearn.tangent import z_features

# Mean and largest number of updates over 20 runs, as printed: (fifths of R, margin) -> (mean, max).
PAPER_FIRST = {
    (1, 1.0): (51, 65), (1, 0.1): (1495, 2495), (1, 0.01): (1.96e4, 3.38e4), (1, 0.001): (1.34e5, 3.56e5),
    (3, 1.0): (82, 138), (3, 0.1): (1158, 2240), (3, 0.01): (1.68e4, 6.65e4), (3, 0.001): (1.46e5, 7.68e5),
}  # fmt: skip
PAPER_SECOND = {
    (1, 1.0): (26, 34), (1, 0.1): (82, 124), (1, 0.01): (342, 548), (1, 0.001): (818, 1505),
    (3, 1.0): (29, 41), (3, 0.1): (101, 159), (3, 0.01): (340, 748), (3, 0.001): (545, 986),
}  # fmt: skip
PAPER_BOUND = {
    (1, 1.0): 594, (1, 0.1): 81749, (1, 0.01): 8.2e6, (1, 0.001): 8.2e8,
    (3, 1.0): 3670, (3, 0.1): 5.05e5, (3, 0.01): 5.07e7, (3, 0.001): 5.07e9,
}  # fmt: skip


@dataclass(frozen=True)
class Config:
    """The paper's setting; ``runs`` and ``n_samples`` are smaller in the tests."""

    n_samples: int = 10_000
    n_features: int = 10
    radius: float = 0.95
    fifths: tuple[int, ...] = (1, 3)
    margins: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001)
    runs: int = 20
    seed: int = 0


@dataclass
class Cell:
    """Updates of both perceptrons over the runs of one setting, with the bounds of each run."""

    fifths: int
    margin: float
    bound: float
    first: list[int] = field(default_factory=list)
    second: list[int] = field(default_factory=list)
    hyperboloid: list[str] = field(default_factory=list)
    data_bound: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


def draw(config, fifths, margin, seed):
    """N points before the margin is cut out, as the paper counts them; what is left of them is returned."""
    norm = fifths * config.radius / 5
    X, y, p, w = make_ball_classification(
        config.n_samples, config.n_features, margin=0, reference_norm=norm, radius=config.radius, random_state=seed
    )
    keep = np.abs(signed_distance(X, w, p)) > margin
    return X[keep], y[keep], p, w


def fill(config, fifths, margin):
    """One cell of the table."""
    cell = Cell(fifths, margin, paper_bound(fifths * config.radius / 5, config.radius, margin))
    seeds = itertools.count(config.seed)
    while len(cell.rows) < config.runs:
        X, y, p, w = draw(config, fifths, margin, next(seeds))
        if len(np.unique(y)) < 2:
            continue  # a wide margin may leave one class empty; the paper needs two
        options = {"max_epochs": 1_000_000, "shuffle": False, "calibration": None}
        cell.first += PoincarePerceptron(p, **options).fit(X, y).n_updates_.tolist()
        cell.second += PoincareSecondOrderPerceptron(p, a=0.0, **options).fit(X, y).n_updates_.tolist()
        cell.hyperboloid.append(hyperboloid_outcome(X, y))
        longest = np.linalg.norm(z_features(X, p), axis=1).max()
        cell.data_bound.append(float((longest / np.sinh(np.min(y * signed_distance(X, w, p)))) ** 2))
        cell.rows.append(len(X))
    return cell


def hyperboloid_outcome(X, y):
    """What becomes of Weber et al.'s perceptron in 100 passes: "converged", "max_epochs", or "undefined"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return str(HyperboloidPerceptron(max_epochs=100).fit(X, y).status_[0])
        except ValueError:  # a root of a negative number
            return "undefined"


def run(config, progress=lambda done, total: None):
    """All cells of the table, on all cores."""
    settings = list(itertools.product(config.fifths, config.margins))
    # The smallest margins take longest: they go first, and the rows are sorted again at the end.
    longest_first = sorted(settings, key=lambda setting: setting[1])
    jobs = Parallel(n_jobs=-1, return_as="generator_unordered")(delayed(fill)(config, *s) for s in longest_first)
    cells = []
    for cell in jobs:
        cells.append(cell)
        progress(len(cells), len(settings))
    return sorted(cells, key=lambda cell: settings.index((cell.fifths, cell.margin)))


def table(cells):
    """The table as Markdown, ours beside the paper's: mean (max) number of updates."""
    lines = [
        "| ‖p‖ | ε | second order | paper | perceptron | paper | bound (theorem) | paper | bound (data) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in cells:
        key = (cell.fifths, cell.margin)
        ours = [f"{np.mean(values):,.0f} ({max(values):,})" for values in (cell.second, cell.first)]
        theirs = [f"{mean:,.0f} ({largest:,.0f})" for mean, largest in (PAPER_SECOND[key], PAPER_FIRST[key])]
        fraction = "R/5" if cell.fifths == 1 else f"{cell.fifths}R/5"
        lines.append(
            f"| {fraction} | {cell.margin:g} | {ours[0]} | {theirs[0]} | {ours[1]} | {theirs[1]} "
            f"| {printed(cell.bound)} | {printed(PAPER_BOUND[key])} | {printed(np.mean(cell.data_bound))} |"
        )
    return "\n".join(lines)


def printed(bound):
    """Digits as the paper prints them."""
    return f"{bound:,.0f}" if bound < 1e5 else f"{bound:.3g}"


def write(cells, config, seconds, folder):
    """``table1.csv`` (one row per run), ``table1.md`` and ``table1.json`` (configuration, machine, versions)."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "table1.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        columns = ["rows", "first_order", "second_order", "hyperboloid", "data_bound", "bound"]
        writer.writerow(["fifths_of_R", "margin", "run", *columns])
        for cell in cells:
            runs = zip(cell.rows, cell.first, cell.second, cell.hyperboloid, cell.data_bound, strict=True)
            for i, values in enumerate(runs):
                writer.writerow([cell.fifths, cell.margin, i, *values, cell.bound])
    (folder / "table1.md").write_text(table(cells) + "\n")
    write_record(folder / "table1.json", config, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    config = Config(runs=arguments.runs)
    start = perf_counter()

    def progress(done, total):
        if sys.stderr.isatty():
            print(f"\r{done} of {total} settings, {perf_counter() - start:.0f} s ", end="", file=sys.stderr, flush=True)

    cells = run(config, progress)
    seconds = perf_counter() - start
    print(table(cells))
    runs = [(f, min(b, cell.bound)) for cell in cells for f, b in zip(cell.first, cell.data_bound, strict=True)]
    print(f"\n{sum(f > b for f, b in runs)} of {len(runs)} runs above their bound; {seconds:.0f} s in all.")
    write(cells, config, seconds, arguments.output)


if __name__ == "__main__":
    main()
