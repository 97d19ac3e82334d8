"""What the paper claims, what was measured here, and whether the claim holds; from the result files of the others.

python experiments/claims.py           # reads and writes experiments/results/quick
python experiments/claims.py --full    # reads and writes experiments/results
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ledger import read
from synthetic import chosen
from table2 import AUTHORS, HYPERBOLOID, IMAGENET, INTERCEPT, METHODS, OPTIMUM, OURS, PAPER, STRAIGHT

RESULTS = Path(__file__).parent / "results"
HOLDS, HANDICAPPED, FAILS = "holds", "holds only against a handicapped rival", "does not hold"
UNKNOWN = "not measured"
TRUE_P, SVM, RIVAL = "Poincaré SVM, true p", "Poincaré SVM", "hyperboloid SVM"
VARIED = ("d", "N", "margin")
EUCLIDEAN, NO_INTERCEPT = "Euclidean SVM", "Euclidean SVM, no intercept"


@dataclass(frozen=True)
class Finding:
    """What was measured of a claim, whether it holds, and why."""

    measured: str
    verdict: str
    reason: str


def f1(rows, method, column="train_f1", **wanted):
    """Mean over the runs of a setting."""
    return float(np.mean(chosen(rows, column, method=method, **wanted)))


def median_time(rows, method, **wanted):
    return float(np.median(chosen(rows, "seconds", method=method, **wanted)))


def worst(rows, method, column="train_f1"):
    """The lowest mean over all settings, and the setting."""
    means = [f1(rows, method, column, **setting) for setting in settings(rows)]
    return min(means), settings(rows)[int(np.argmin(means))]


def at(results, **varied):
    """A setting in which all that is not varied has its base value."""
    return dict(zip(VARIED, results["base"], strict=True)) | varied


def settings(rows):
    """All settings that were measured."""
    names = (*VARIED, "fifths")
    return [
        dict(zip(names, values, strict=True)) for values in dict.fromkeys(tuple(map(row.get, names)) for row in rows)
    ]


def bound(results):
    """Perceptrons converge to an error-free result, within the bound of the first theorem (Table I)."""
    rows = results["table1"]
    share = max(row["first_order"] / row["bound"] for row in rows)
    return Finding(
        f"all {len(rows)} runs converge; the worst takes {share:.1%} of its bound",
        HOLDS if share <= 1 else FAILS,
        "The bound is loose by far: the updates depend on the points near the margin, the bound on the farthest one.",
    )


def fewer_updates(results):
    """The second-order perceptron needs significantly fewer updates, especially for small margins (Table I)."""
    rows = results["table1"]
    ratios = {}
    for margin in sorted({row["margin"] for row in rows}, reverse=True):
        own = [row for row in rows if row["margin"] == margin]
        ratios[margin] = np.mean([row["first_order"] for row in own]) / np.mean([row["second_order"] for row in own])
    listed = ", ".join(f"{ratio:.3g} × at ε = {margin:g}" for margin, ratio in ratios.items())
    return Finding(
        f"fewer by {listed}",
        HOLDS if min(ratios.values()) > 1.5 and list(ratios.values()) == sorted(ratios.values()) else FAILS,
        "Its metric learns the shape of the cloud of points, which rules the number of updates of the first order.",
    )


def hyperboloid_perceptron(results):
    """The hyperboloid perceptron of Weber et al. does not converge."""
    rows = results["table1"]
    outcomes = [row["hyperboloid"] for row in rows]
    return Finding(
        f"of {len(rows)} runs on separable data {outcomes.count('converged')} converge within 100 passes, "
        f"{outcomes.count('undefined')} end in the root of a negative number",
        HOLDS if "converged" not in outcomes else FAILS,
        "Each of its updates moves the scores of all points to one side, and its normalisation need not exist.",
    )


def optimum(results):
    """The Poincaré SVM provably converges to a global optimum, independent of d, N and ε."""
    rows = results["synthetic"]
    gaps = chosen(rows, "gap", method=TRUE_P) + chosen(rows, "gap", method=SVM)
    return Finding(
        f"largest relative duality gap of {len(gaps)} fits: {max(gaps):.1e}",
        HOLDS if max(gaps) <= 1e-4 else FAILS,
        "The problem is convex, and here every fit carries its proof; the paper's own descent stops after a few steps "
        "(its rule lacks an absolute value), so the claim is true of the problem, not of the printed algorithm.",
    )


def all_accurate(results):
    """The Poincaré SVM has nearly 100 % accuracy for all d, N and ε (synthetic figures)."""
    rows = results["synthetic"]
    (given, _), (found, _) = worst(rows, TRUE_P), worst(rows, SVM)
    (right, where), (low, _) = worst(rows, SVM, "test_accuracy"), worst(rows, SVM, "test_f1")
    return Finding(
        f"worst mean macro-F1 on training points {given:.2f} % with the true p, {found:.2f} % without; on held-out "
        f"points {low:.2f} %, and worst mean accuracy {right:.2f} % (d = {where['d']}, N = {where['N']:,})",
        HOLDS if min(given, found) > 99.5 else FAILS,
        "On training points, and also without being told p. New points, which the paper did not look at, are nearly "
        "all right too; macro-F1 falls where a draw leaves a handful of points to one class and these are missed.",
    )


def speed(results):
    """It is 540 × faster than the hyperboloid SVM at N = 10⁶: 1 minute against 9 hours."""
    rows = results["synthetic"]
    n = max(row["N"] for row in rows)
    times = {m: median_time(rows, m, **at(results, N=n, fifths=2)) for m in (TRUE_P, SVM, RIVAL)}
    ratio = times[RIVAL] / times[TRUE_P]
    return Finding(
        f"at N = {n:,}: {times[TRUE_P]:.2g} s, {times[SVM]:.2g} s with the search for p, hyperboloid SVM "
        f"{times[RIVAL]:.2g} s: {ratio:.0f} × and {times[RIVAL] / times[SVM]:.0f} ×",
        HOLDS if ratio >= 540 else HANDICAPPED,
        "The rival of the paper visits every row 25 times an epoch in a Python loop; vectorised, it takes seconds.",
    )


def fifty_points(results):
    """Its accuracy is higher than the hyperboloid SVM's by as much as 50 %."""
    rows = results["synthetic"]
    most = max(f1(rows, TRUE_P, **setting) - f1(rows, RIVAL, **setting) for setting in settings(rows))
    return Finding(
        f"largest gain in mean macro-F1: {most:.2f} points",
        HOLDS if most > 40 else HANDICAPPED,
        "The rival of the paper starts with the wrong sign of w; from a right start it separates what is separable.",
    )


def breakdown(results):
    """The hyperboloid SVM fails to learn when d is close to 1,000."""
    rows = results["synthetic"]
    d = max(row["d"] for row in rows)
    score = min(f1(rows, RIVAL, **at(results, d=d, fifths=fifths)) for fifths in (1, 2, 3))
    return Finding(
        f"worst mean macro-F1 at d = {d}: {score:.2f} %",
        HOLDS if score <= 90 else HANDICAPPED if d >= 1000 else UNKNOWN,
        "From a right start and with right batches it learns: nothing in the problem breaks down."
        if d >= 1000
        else "Only the full configuration goes to d = 1,000.",
    )


def wide_margin(results):
    """The hyperboloid SVM performs poorly for ‖p‖ = 3R/5 and ε = 1, as classes are unbalanced."""
    score = f1(results["synthetic"], RIVAL, **at(results, margin=1, fifths=3))
    return Finding(
        f"mean macro-F1 there: {score:.2f} %",
        HANDICAPPED if score > 99 else HOLDS,
        "Classes a distance of 2 apart are the easiest of all, balanced or not, for a descent from a right start.",
    )


def euclidean_below(results):
    """The Euclidean SVM stays below 100 %, more so as ‖p‖ grows and as ε shrinks (synthetic figures)."""
    rows = results["synthetic"]
    n = max(row["N"] for row in rows)
    ours, theirs = (
        [f1(rows, method, **at(results, N=n, fifths=fifths)) for fifths in (1, 2, 3)]
        for method in (EUCLIDEAN, NO_INTERCEPT)
    )
    margins = sorted({row["margin"] for row in rows}, reverse=True)
    narrow = [f1(rows, EUCLIDEAN, **at(results, margin=margin)) for margin in (margins[0], margins[-1])]
    falls = ours[0] > ours[1] > ours[2] and narrow[0] > narrow[1]
    return Finding(
        f"for R/5, 2R/5, 3R/5 {' / '.join(f'{x:.1f}' for x in ours)} % with intercept, "
        f"{' / '.join(f'{x:.1f}' for x in theirs)} % without; from ε = {margins[0]:g} to {margins[-1]:g} "
        f"{narrow[0]:.1f} to {narrow[1]:.1f} %",
        HOLDS if falls and ours[0] < 100 else FAILS,
        "True, but most of what the paper shows is the missing intercept: with one it loses a few points, not tens.",
    )


def euclidean_in_many_dimensions(results):
    """The Euclidean SVM improves with d, at the price of high execution time."""
    rows = results["synthetic"]
    low, high = min(row["d"] for row in rows), max(row["d"] for row in rows)
    scores = [f1(rows, EUCLIDEAN, **at(results, d=d)) for d in (low, high)]
    slower = median_time(rows, EUCLIDEAN, **at(results, d=high)) / median_time(rows, TRUE_P, **at(results, d=high))
    return Finding(
        f"from {scores[0]:.1f} % at d = {low} to {scores[1]:.1f} % at d = {high}, in {slower:.2g} × the time of the "
        "Poincaré SVM with the true p",
        HOLDS if scores[1] > scores[0] and slower > 3 else f"{FAILS} (the time)",
        "With N fixed, more dimensions make any two classes separable; by the same solver the Euclidean problem takes "
        "about as long.",
    )


def complexity(results):
    """Its complexity is comparable to that of its Euclidean counterpart."""
    rows = results["synthetic"]
    n, d = (max(row[name] for row in rows) for name in ("N", "d"))
    ratios = [
        median_time(rows, method, **where) / median_time(rows, EUCLIDEAN, **where)
        for method in (TRUE_P, SVM)
        for where in (at(results, N=n), at(results, d=d))
    ]
    return Finding(
        f"times over the Euclidean SVM's: with the true p {ratios[0]:.2g} at N = {n:,} and {ratios[1]:.2g} at d = {d}; "
        f"with the search for p {ratios[2]:.2g} and {ratios[3]:.2g}",
        HOLDS if max(ratios[:2]) < 5 else FAILS,
        "Given p it is a Euclidean SVM on other rows; to find p, which the paper leaves out of its times, costs more.",
    )


def accuracy(rows, name, method):
    """Mean accuracy in the official split."""
    return float(np.mean(chosen(rows, "accuracy", data=name, method=method, protocol="official")))


def published(rows):
    return [name for name in dict.fromkeys(row["data"] for row in rows) if (name, AUTHORS) in PAPER]


def table_again(results):
    """Table II: 89.77, 91.84 and 87.82 % on Olsson's cells, CIFAR10 and Fashion-MNIST."""
    rows = results["table2"]
    ours = {name: accuracy(rows, name, AUTHORS) for name in published(rows)}
    away = max(abs(value - PAPER[name, AUTHORS][0]) for name, value in ours.items())
    return Finding(
        ", ".join(f"{name} {value:.2f} %" for name, value in ours.items()),
        HOLDS if away < 0.05 else FAILS,
        "With the published reference points, which the paper's algorithm does not give, and the authors' settings.",
    )


def gain(results):
    """Gains as high as 47.91 % over the Euclidean SVM (Fashion-MNIST)."""
    rows = results["table2"]
    gains = [
        {name: accuracy(rows, name, AUTHORS) - accuracy(rows, name, rival) for name in published(rows)}
        for rival in (STRAIGHT, INTERCEPT)
    ]
    (first, most), (second, fair) = (max(one.items(), key=lambda item: item[1]) for one in gains)
    return Finding(
        f"{most:.2f} points without intercept ({first}); with one, at most {fair:.2f} ({second}), and "
        f"{gains[1][first]:.2f} on {first}",
        HOLDS if fair > 40 else HANDICAPPED,
        "The rival of the paper has no intercept, and sigmoids that may fall with the score.",
    )


def best(results):
    """The Poincaré SVM is consistently the most accurate on all real sets."""
    rows = results["table2"]
    parts, verdict = [], HOLDS
    for name in published(rows):
        ours = max(accuracy(rows, name, method) for method in (AUTHORS, OURS))
        rival, theirs = max(((m, accuracy(rows, name, m)) for m in (INTERCEPT, HYPERBOLOID)), key=lambda pair: pair[1])
        parts.append(f"{name} {ours:.2f} against {theirs:.2f} % ({rival})")
        verdict = HANDICAPPED if theirs > accuracy(rows, name, AUTHORS) else verdict
    return Finding(
        "; ".join(parts),
        verdict,
        "Rivals with an intercept and a right start come within a few tenths of a point on the pictures or pass the "
        "paper's protocol; on Olsson's cells the lead is real.",
    )


def ten_times(results):
    """It is roughly 10 × faster than the hyperboloid SVM on real sets."""
    rows = results["table2"]
    official = [row for row in rows if row["protocol"] == "official"]
    ratios = {
        name: median_time(official, HYPERBOLOID, data=name) / median_time(official, OPTIMUM, data=name)
        for name in published(rows)
    }
    return Finding(
        ", ".join(f"{name} {ratio:.1f} ×" for name, ratio in ratios.items()),
        HOLDS if min(ratios.values()) > 7 else HANDICAPPED,
        "A vectorised rival is several times slower, not ten; neither time has the search for p.",
    )


def no_spread(results):
    """The standard deviation of the convex methods over trials is zero."""
    rows = [row for row in results["table2"] if row["protocol"] == "official"]
    trials = len({row["trial"] for row in rows})
    spread = max(np.std(chosen(rows, "accuracy", data=d, method=m)) for d in published(rows) for m in METHODS)
    return Finding(
        f"largest standard deviation over trials ({trials}): {spread:.2g}",
        UNKNOWN if trials < 2 else HOLDS if spread == 0 else FAILS,
        "A trial repeats the same split: it says nothing of how the accuracy varies with the data, which resampled "
        "splits do.",
    )


def pictures_in_many_dimensions(results):
    """On mini-ImageNet (512-d) the Poincaré SVM has 63.59 %, the Euclidean one 63.33 %, the hyperboloid one 31.75 %."""
    rows = results["table2"]
    if IMAGENET not in published(rows):
        return Finding("the embedding was never published", UNKNOWN, "Whoever has it can: see load_mini_imagenet.")
    values = [accuracy(rows, IMAGENET, method) for method in (AUTHORS, INTERCEPT, HYPERBOLOID)]
    close = max(abs(v - p) for v, p in zip(values[:2], (63.59, 63.33), strict=True)) < 1
    return Finding(
        " / ".join(f"{value:.2f} %" for value in values),
        (HANDICAPPED if values[2] > 50 else HOLDS) if close else FAILS,
        "The hyperboloid SVM needs a right start there.",
    )


CLAIMS = (
    bound, fewer_updates, hyperboloid_perceptron, optimum, all_accurate, speed, fifty_points, breakdown, wide_margin,
    euclidean_below, euclidean_in_many_dimensions, complexity, table_again, gain, best, ten_times, no_spread,
    pictures_in_many_dimensions,
)  # fmt: skip


def text(findings, names):
    """The claims as a table."""
    settings = ", ".join(f"{experiment}: {name}" for experiment, name in names.items())
    lines = [f"Computed from results of {settings}.", "", "| | the paper claims | measured here | verdict | why |"]
    lines.append("| --- " * 5 + "|")
    for i, (claim, finding) in enumerate(zip(CLAIMS, findings, strict=True), start=1):
        entries = [str(i), claim.__doc__, finding.measured, f"**{finding.verdict}**", finding.reason]
        lines.append(f"| {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


def run(folder):
    """Read the results of the folder, judge every claim, write ``claims.md``."""
    experiments = ("table1", "synthetic", "table2")
    results = {name: read(folder / f"{name}.csv") for name in experiments}
    records = {name: json.loads((folder / f"{name}.json").read_text()) for name in experiments}
    names = {name: f"{record['config'].get('name', 'full')}, {record['date']}" for name, record in records.items()}
    results["base"] = records["synthetic"]["config"]["base"]
    findings = [claim(results) for claim in CLAIMS]
    (folder / "claims.md").write_text(text(findings, names))
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="from the results of the full configurations")
    parser.add_argument("--output", type=Path, help="folder of the results, old and new")
    arguments = parser.parse_args()
    folder = arguments.output or (RESULTS if arguments.full else RESULTS / "quick")
    run(folder)
    print((folder / "claims.md").read_text())


if __name__ == "__main__":
    main()
