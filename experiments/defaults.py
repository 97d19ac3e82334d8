"""Compare the default C, features and calibration with alternatives, on the data sets on which they were chosen.

Each data set is split into two stratified halves (seed 0), and every method is fitted to the first ``splits`` of them
and tested on the other half. The default classifiers are compared with four alternatives:

- "oracle C": the value of C from a grid with the best result on the test rows, separately for accuracy and log-loss;
- "SVC, means": the SVM whose boundaries pass through points between the class means;
- "LinearSVC": scikit-learn's linear SVM with its default parameters, which fits an intercept;
- "Euclidean softmax": logistic regression with C chosen from powers of ten by 5-fold cross-validation.

The module ``made_sets.py`` generates the data sets; the full configuration also needs the Web of Life data set in
HYPLEARN_DATA and Debian's package wordnet-base. A run that was interrupted continues where it stopped.

    python experiments defaults           # a minute; writes experiments/results/quick/defaults.{csv,md,json}
    python experiments defaults --full    # ten minutes; writes experiments/results/defaults.*
"""

import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from time import process_time

import made_sets
import numpy as np
from ledger import fill
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from hyplearn import PoincareLogisticRegression, PoincareSVC

GRID = tuple(10.0**k for k in range(-2, 6))
SVC, SOFTMAX, EUCLIDEAN = "PoincareSVC", "PoincareLogisticRegression", "Euclidean softmax, C by CV"
ORACLES = {"SVC, oracle C": PoincareSVC, "softmax, oracle C": PoincareLogisticRegression}
METHODS = {
    SVC: PoincareSVC,
    SOFTMAX: PoincareLogisticRegression,
    "LinearSVC": LinearSVC,
    EUCLIDEAN: lambda: LogisticRegressionCV(Cs=GRID, cv=5, scoring="neg_log_loss", max_iter=1000),
    "SVC, means": lambda: PoincareSVC("means"),
}
COLUMNS = (SVC, "SVC, oracle C", SOFTMAX, "softmax, oracle C", *list(METHODS)[2:])
# On data sets with more than MANY_SCORES scores (rows × coordinates × classes) or MANY_PAIRS pairs of classes (rows ×
# classes²), only the methods in QUICKEST are fitted, because the other methods would take most of the time.
MANY_SCORES, MANY_PAIRS = 2 * 10**5, 10**6
QUICKEST = (SVC, SOFTMAX, "LinearSVC")
# A method is reported as worse than another if its accuracy is lower by more than POINTS percentage points, or if its
# log-loss is higher by more than the factor SHARE and by more than LOSS.
POINTS, SHARE, LOSS = 1.0, 1.05, 0.01


@dataclass(frozen=True)
class Config:
    """Data sets, methods, and number of halves of each data set to fit; the default is the quick configuration."""

    name: str = "quick"
    sets: tuple[str, ...] = ("random tree, 4 branches, 2-D", "wine, map, 10-D", "5 nested, 2-D", "noisy sides, 2-D")
    methods: tuple[str, ...] = COLUMNS
    splits: int = 1


FULL = Config(name="full", sets=tuple(made_sets.MAKERS))


@lru_cache(maxsize=1)
def halves(name):
    """Return the two splits of a data set into training and test rows."""
    X, y = made_sets.points(name)
    folds = StratifiedKFold(2, shuffle=True, random_state=0).split(X, y)
    return [(X[train], y[train], X[test], y[test]) for train, test in folds]


def scores(model, X, y):
    """Return the accuracy in per cent and the log-loss, which is NaN if the model has no probabilities."""
    accuracy = 100 * np.mean(model.predict(X) == y)
    if not hasattr(model, "predict_proba"):
        return accuracy, np.nan
    return accuracy, -np.mean(np.log(np.maximum(model.predict_proba(X)[np.arange(len(y)), y], 1e-300)))


def methods_of(X, n_classes):
    """Return the methods that are fast enough for a data set."""
    is_large = len(X) * n_classes**2 > MANY_PAIRS or X.size * n_classes > MANY_SCORES
    return QUICKEST if is_large else COLUMNS


def measure(cell):
    """Measure accuracy, log-loss, C and CPU seconds of a fit; return empty strings if the method is too slow."""
    X_train, y_train, X_test, y_test = halves(cell["set"])[cell["split"]]
    method = cell["method"]
    if method not in methods_of(X_train, len(np.unique(y_train))):
        return {"accuracy": "", "log_loss": "", "C": "", "seconds": ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = process_time()
        if method in ORACLES:
            found = [scores(ORACLES[method](C=C).fit(X_train, y_train), X_test, y_test) for C in GRID]
            accuracy, loss = max(found)[0], min(found, key=lambda pair: pair[1])[1]
            C = ""
        else:
            model = METHODS[method]().fit(X_train, y_train)
            C = float(np.ravel(getattr(model, "C_", [np.nan]))[0])
        seconds = process_time() - start
        if method not in ORACLES:
            accuracy, loss = scores(model, X_test, y_test)
    return {"accuracy": round(accuracy, 2), "log_loss": round(loss, 5), "C": C, "seconds": round(seconds, 3)}


def run(config, folder):
    """Measure all cells that are not in the results yet, then write the tables."""
    cells = [
        {"set": name, "split": split, "method": method}
        for split in range(config.splits)
        for name in config.sets
        for method in config.methods
    ]
    rows = fill(folder, "defaults", config, cells, measure, grows=("splits",))
    (folder / "defaults.md").write_text(text(rows))
    return rows


def means(rows, metric):
    """Return the sets, the methods, and the mean over splits for each of them; NaN if a method was left out."""
    sets, columns = (list(dict.fromkeys(row[key] for row in rows)) for key in ("set", "method"))
    own = partial(_own_values, rows, metric)
    return sets, columns, np.array([[np.mean(own(name, method)) for method in columns] for name in sets])


def _own_values(rows, metric, name, method):
    found = [row[metric] for row in rows if (row["set"], row["method"]) == (name, method)]
    return [np.nan if value == "" else float(value) for value in found]


def text(rows):
    """Return tables of accuracies, log-losses and times as Markdown, followed by a summary."""
    lines = []
    for metric, form in (("accuracy", "{:.1f}"), ("log_loss", "{:.3f}"), ("seconds", "{:.2f}")):
        sets, columns, table = means(rows, metric)
        unit = {"accuracy": "accuracy, per cent", "log_loss": "log-loss", "seconds": "CPU seconds of the fit"}[metric]
        lines += ["", f"| {unit} | {' | '.join(columns)} |", "| --- " * (len(columns) + 1) + "|"]
        shown = [
            *zip(sets, table, strict=True),
            ("mean of complete rows", table[~np.isnan(table[:, :4]).any(1)].mean(0)),
        ]
        for name, values in shown:
            lines.append(f"| {name} | {' | '.join('–' if np.isnan(v) else form.format(v) for v in values)} |")
    return "\n".join([*lines[1:], "", *verdict(rows)]) + "\n"


def verdict(rows):
    """Summarise how much worse the defaults are than the best C, and on which data sets other methods are better."""
    sets, columns, accuracy = means(rows, "accuracy")
    loss = means(rows, "log_loss")[2]
    at = {method: k for k, method in enumerate(columns)}
    lines = []
    for default, oracle in ((SVC, "SVC, oracle C"), (SOFTMAX, "softmax, oracle C")):
        if default not in at or oracle not in at:
            continue
        known = ~np.isnan(accuracy[:, at[oracle]])
        points = np.mean((accuracy[:, at[oracle]] - accuracy[:, at[default]])[known])
        ratio = loss[known, at[default]].sum() / loss[known, at[oracle]].sum()
        lines.append(
            f"- {default} is {points:.2f} points of accuracy and {100 * (ratio - 1):.1f} % of the mean log-loss behind "
            f"the best C of the grid, which was chosen on the test rows ({known.sum()} sets)."
        )
    for ours, other, by in ((SVC, "LinearSVC", 0), (SVC, SOFTMAX, 1), (SOFTMAX, EUCLIDEAN, 2)):
        if ours not in at or other not in at:
            continue
        a, b = at[ours], at[other]
        less = accuracy[:, b] - accuracy[:, a] > (2 * POINTS if by == 1 else POINTS)
        if by == 2:
            less |= (loss[:, a] > SHARE * loss[:, b]) & (loss[:, a] > loss[:, b] + LOSS)
        named = "; ".join(name for name, is_less in zip(sets, less, strict=True) if is_less)
        known = int((~np.isnan(accuracy[:, b])).sum())
        margin = "two points" if by == 1 else "a point" + " or 5 % and 0.01 of log-loss" * (by == 2)
        lines.append(
            f"- {ours} is behind {other} by more than {margin} on {less.sum()} of {known} sets. {named}".strip()
        )
    return lines
