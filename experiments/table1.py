"""Table I of the paper: the number of updates of the two perceptrons, and the bound of the theorem.

The data are N = 10,000 points, uniform (in the Euclidean sense) in the ball of radius R = 0.95, with d = 10. The
boundary H(w, p) has a random w and ‖p‖ of R/5 or 3R/5; points within the margin ε are removed, so fewer than N remain.
Both perceptrons pass over the remaining points in order until a pass has no mistake; the second-order perceptron has
a = 0, the pseudo-inverse. For the hyperboloid perceptron of Weber et al., the table records whether it converges within
100 passes.

    python experiments table1           # a minute; writes experiments/results/quick/table1.{csv,md,json}
    python experiments table1 --full    # the paper's 20 runs; writes experiments/results/table1.*
"""

import itertools
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from ledger import fill
from sklearn.exceptions import ConvergenceWarning

from hyplearn import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import signed_distance
from hyplearn.paper import HyperboloidPerceptron
from hyplearn.solvers.perceptron import paper_bound
from hyplearn.tangent import z_features

# Numbers of updates in the paper, over 20 runs: (fifths of R, margin) -> (mean, max).
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
    """Parameters of the paper's experiment; the default (quick) has fewer runs."""

    name: str = "quick"
    n_samples: int = 10_000
    n_features: int = 10
    radius: float = 0.95
    fifths: tuple[int, ...] = (1, 3)
    margins: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001)
    runs: int = 3
    seed: int = 0


FULL = Config(name="full", runs=20)


def all_cells(config):
    """Return one cell for every run of every setting."""
    return [
        {"fifths_of_R": fifths, "margin": margin, "run": run}
        for fifths, margin, run in itertools.product(config.fifths, config.margins, range(config.runs))
    ]


def draw(config, fifths, margin, seed):
    """Draw N points and remove those within the margin; as in the paper, N counts the removed points too."""
    norm = fifths * config.radius / 5
    X, y, p, w = make_ball_classification(
        config.n_samples, config.n_features, margin=0, reference_norm=norm, radius=config.radius, random_state=seed
    )
    keep = np.abs(signed_distance(X, w, p)) > margin
    return X[keep], y[keep], p, w


def draw_of_run(config, fifths, margin, run):
    """Draw the data of a run; draws in which a wide margin leaves one class empty are skipped and not counted."""
    draws = (draw(config, fifths, margin, seed) for seed in itertools.count(config.seed))
    return next(itertools.islice((one for one in draws if len(np.unique(one[1])) == 2), run, None))


def measure(config, cell):
    """Numbers of updates of both perceptrons, the outcome of Weber et al.'s perceptron, and the bounds."""
    fifths, margin = cell["fifths_of_R"], cell["margin"]
    X, y, p, w = draw_of_run(config, fifths, margin, cell["run"])
    options = {"max_epochs": 1_000_000, "shuffle": False, "calibration": None}
    longest = np.linalg.norm(z_features(X, p), axis=1).max()
    return {
        "rows": len(X),
        "first_order": int(PoincarePerceptron(p, **options).fit(X, y).n_updates_[0]),
        "second_order": int(PoincareSecondOrderPerceptron(p, a=0.0, **options).fit(X, y).n_updates_[0]),
        "hyperboloid": hyperboloid_outcome(X, y),
        "data_bound": float((longest / np.sinh(np.min(y * signed_distance(X, w, p)))) ** 2),
        "bound": float(paper_bound(fifths * config.radius / 5, config.radius, margin)),
    }


def hyperboloid_outcome(X, y):
    """Outcome of Weber et al.'s perceptron after at most 100 passes: "converged", "max_epochs", or "undefined"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return str(HyperboloidPerceptron(max_epochs=100).fit(X, y).status_[0])
        except ValueError:  # the square root of a negative number
            return "undefined"


def run(config, folder):
    """Measure the missing cells on all cores, then write the table."""
    rows = fill(
        folder,
        "table1",
        config,
        all_cells(config),
        partial(measure, config),
        cost=lambda cell: 1 / cell["margin"],
        grows=("runs",),
        n_jobs=-1,
    )
    (folder / "table1.md").write_text(text(rows))
    return rows


def text(rows):
    """Format a Markdown table of mean (max) numbers of updates, next to the numbers in the paper."""
    lines = [
        "| ‖p‖ | ε | second order | paper | perceptron | paper | bound (theorem) | paper | bound (data) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for setting in dict.fromkeys((row["fifths_of_R"], row["margin"]) for row in rows):
        own = [row for row in rows if (row["fifths_of_R"], row["margin"]) == setting]
        updates = ([row[order] for row in own] for order in ("second_order", "first_order"))
        ours = [f"{np.mean(values):,.0f} ({max(values):,})" for values in updates]
        theirs = [f"{mean:,.0f} ({largest:,.0f})" for mean, largest in (PAPER_SECOND[setting], PAPER_FIRST[setting])]
        fraction = "R/5" if setting[0] == 1 else f"{setting[0]}R/5"
        bounds = map(printed, (own[0]["bound"], PAPER_BOUND[setting], np.mean([row["data_bound"] for row in own])))
        entries = [fraction, f"{setting[1]:g}", ours[0], theirs[0], ours[1], theirs[1], *bounds]
        lines.append(f"| {' | '.join(entries)} |")
    above = sum(row["first_order"] > min(row["data_bound"], row["bound"]) for row in rows)
    return "\n".join([*lines, "", f"{above} of {len(rows)} runs are above their bound."]) + "\n"


def printed(bound):
    """Format a bound as in the paper."""
    return f"{bound:,.0f}" if bound < 1e5 else f"{bound:.3g}"
