"""Comparison of our classifiers with the usual alternatives, on embeddings with many classes.

All classifiers use the same splits: the official ones, and 5 × 2-fold cross-validation over all rows (seeds 0 to 4).
The parameters of the Euclidean softmax and of the RBF-SVM are tuned by 3-fold cross-validation on the training rows;
the other classifiers use their defaults. Linear baselines and the forest are fitted to the coordinates of the ball, the
RBF-SVM to logarithms at the origin; neighbours are found by hyperbolic distance. The probabilities of SVMs are
cross-fitted by Platt's method; "Platt on training" is the paper's method, for comparison. The table shows accuracy,
macro-F1, log-loss, the expected calibration error (15 bins of equal width of the largest probability), and the seconds
of the fit.

    python experiments comparison           # a minute; writes experiments/results/quick/comparison.{csv,md,json}
    python experiments comparison --full    # a quarter of an hour; writes experiments/results/comparison.*
"""

import itertools
import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from time import perf_counter

import numpy as np
from ledger import fill
from published import PUBLISHED, all_rows, folds, official
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from hyplearn import PoincareKernelClassifier, PoincareLogisticRegression, PoincareSVC
from hyplearn.datasets import load_mammals
from hyplearn.geometry import log_map
from hyplearn.paper import EuclideanSVC, PaperSVC

# Maximum number of rows for the RBF-SVM: fits to all 60,000 rows, repeated for its probabilities, would take most of
# the run.
RBF_ROWS = 5_000
# Parameters of the baselines that are tuned, and the folds for tuning.
COSTS = [1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6]
INNER = StratifiedKFold(3, shuffle=True, random_state=0)
RBF_GRID = {"svc__C": [1.0, 10.0, 100.0, 1000.0], "svc__gamma": [0.1, 1.0, 10.0]}
METRICS = ("accuracy", "macro-F1", "log-loss", "calibration error", "seconds")
NOTE = f"""Accuracy and macro-F1 in per cent, means over splits; the best value in each column of a table is in bold.
The RBF-SVM is fitted to {RBF_ROWS:,} rows if there are more. Its C and γ, and the C of the Euclidean softmax, are tuned
by 3-fold cross-validation; the other classifiers use their defaults. The features of PoincareSVC and
PoincareLogisticRegression, and the rules by which they choose C, were chosen on other sets: branches of trees, subtrees
of WordNet, the Web of Life, overlapping, nested and noisy normals. Shares of 0 (neighbours, forest) count as half a
training row in the log-loss. The seconds are those of one run on two cores that were also busy with other work."""


class HyperbolicNeighbours(ClassifierMixin, BaseEstimator):
    """k nearest neighbours by hyperbolic distance, found by brute force."""

    def __init__(self, k=15, block=200):
        self.k = k
        self.block = block

    def fit(self, X, y):
        """Store the training points."""
        self.X_, self.room_ = X, 1 - np.sum(X**2, axis=1)
        self.classes_, self.codes_ = np.unique(y, return_inverse=True)
        return self

    def predict_proba(self, X):
        """Return the shares of the classes among the nearest points."""
        return np.concatenate([self._shares(X[i : i + self.block]) for i in range(0, len(X), self.block)])

    def _shares(self, X):
        # cosh d - 1 is ‖x - y‖² / (1 - ‖y‖²) times a factor that depends on x alone and does not change the order.
        squares = np.sum(X**2, axis=1)[:, None] - 2 * X @ self.X_.T + (1 - self.room_)
        nearest = np.argpartition(squares / self.room_, min(self.k, len(self.X_) - 1), axis=1)[:, : self.k]
        return np.stack([np.mean(self.codes_[nearest] == code, axis=1) for code in range(len(self.classes_))], axis=1)

    def predict(self, X):
        """Predict the class with the largest share."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class OfASample(ClassifierMixin, BaseEstimator):
    """Classifier that is fitted to a stratified sample if there are more than ``most`` rows."""

    def __init__(self, classifier, most=RBF_ROWS):
        self.classifier = classifier
        self.most = most

    def fit(self, X, y):
        """Fit the classifier to the sample."""
        if len(X) > self.most:
            sample, _ = next(StratifiedShuffleSplit(1, train_size=self.most, random_state=0).split(X, y))
            X, y = X[sample], y[sample]
        self.classifier.fit(X, y)
        self.classes_ = self.classifier.classes_
        return self

    def predict_proba(self, X):
        """Return the probabilities that the classifier predicts."""
        return self.classifier.predict_proba(X)


class Calibrated(ClassifierMixin, BaseEstimator):
    """Classifier with the best parameters of a search and cross-fitted probabilities."""

    def __init__(self, search):
        self.search = search

    def fit(self, X, y):
        """Search once, then calibrate with the parameters that were found."""
        found = self.search.fit(X, y).best_params_
        best = clone(self.search.estimator).set_params(**found)
        self.classifier_ = CalibratedClassifierCV(best, ensemble=False).fit(X, y)
        self.classes_ = self.classifier_.classes_
        return self

    def predict_proba(self, X):
        """Probabilities predicted by the calibrated classifier."""
        return self.classifier_.predict_proba(X)


def at_origin(X):
    return log_map(X, np.zeros(X.shape[1]))


def classifiers():
    """Return all classifiers by name, with the baselines first."""
    softmax = LogisticRegression(solver="newton-cholesky", max_iter=1000)
    rbf = make_pipeline(FunctionTransformer(at_origin), SVC())
    return {
        "largest class": DummyClassifier(strategy="prior"),
        "Euclidean SVM": EuclideanSVC(),
        "Euclidean softmax, tuned": GridSearchCV(softmax, {"C": COSTS}, scoring="neg_log_loss", cv=INNER),
        "RBF-SVM, tuned": OfASample(Calibrated(GridSearchCV(rbf, RBF_GRID, cv=INNER, refit=False))),
        "15 neighbours": HyperbolicNeighbours(),
        "random forest": RandomForestClassifier(random_state=0, n_jobs=-1),
        "PoincareSVC, Platt on training": PaperSVC("boundary"),
        "PoincareSVC": PoincareSVC(),
        "PoincareLogisticRegression": PoincareLogisticRegression(),
        "PoincareKernelClassifier": PoincareKernelClassifier(),
    }


@dataclass(frozen=True)
class Config:
    """Data sets, folds and repeats of the cross-validation; the default (quick) uses the two smallest sets once."""

    name: str = "quick"
    sets: tuple[str, ...] = ("olsson", "mammals")
    repeats: int = 1
    folds: int = 2


FULL = Config(name="full", sets=(*PUBLISHED, "mammals"), repeats=5)


def protocols(name, config):
    """Names of the protocols of all splits of a set: the official split if there is one, then cross-validation."""
    return ["official split"] * (name in PUBLISHED) + [f"{config.repeats} × {config.folds}-fold"] * (
        config.repeats * config.folds
    )


@lru_cache(maxsize=1)
def splits(name, config):
    """Return all splits (X_train, y_train, X_test, y_test) of a data set, in the order of their protocols."""
    data = PUBLISHED[name]() if name in PUBLISHED else None
    X, y = load_mammals(return_X_y=True) if data is None else all_rows(data)
    crossed = [folds(X, y, config.folds, seed) for seed in range(config.repeats)]
    return ([] if data is None else [official(data)]) + list(itertools.chain(*crossed))


def all_cells(config):
    """Return one cell for every set, split and classifier; splits are numbered across all protocols of a set."""
    return [
        {"set": name, "protocol": protocol, "split": i, "classifier": label}
        for name in config.sets
        for i, protocol in enumerate(protocols(name, config))
        for label in classifiers()
    ]


def measure(config, cell):
    """Fit the classifier of a cell, and return its metrics by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # baselines that do not converge; small classes
        values = measured(classifiers()[cell["classifier"]], *splits(cell["set"], config)[cell["split"]])
    return {metric: float(f"{value:.6g}") for metric, value in zip(METRICS, values, strict=True)}


def measured(classifier, X_train, y_train, X_test, y_test):
    """Compute the metrics of one fit."""
    start = perf_counter()
    classifier.fit(X_train, y_train)
    seconds = perf_counter() - start
    probabilities = classifier.predict_proba(X_test)
    predicted = classifier.classes_[np.argmax(probabilities, axis=1)]
    # Shares of neighbours and trees may be 0, which has no logarithm; they count as half a training row.
    raised = np.where(probabilities > 0, probabilities, 0.5 / len(X_train))
    raised /= raised.sum(axis=1, keepdims=True)
    return (
        100 * np.mean(predicted == y_test),
        100 * f1_score(y_test, predicted, average="macro"),
        log_loss(y_test, raised, labels=classifier.classes_),
        calibration_error(probabilities.max(axis=1), predicted == y_test),
        seconds,
    )


def calibration_error(confidence, right, bins=15):
    """Return the mean of |confidence - accuracy| over bins of the confidence, weighted by their numbers of rows."""
    which = np.minimum((bins * confidence).astype(int), bins - 1)
    return sum(
        np.mean(which == b) * abs(confidence[which == b].mean() - right[which == b].mean()) for b in np.unique(which)
    )


def run(config, folder):
    """Measure the missing cells, then write the table."""
    rows = fill(folder, "comparison", config, all_cells(config), partial(measure, config))
    (folder / "comparison.md").write_text(f"{table(rows)}\n{NOTE}\n")
    return rows


def table(rows):
    """Format one table per set and protocol, with one row per classifier."""
    lines = []
    for name, protocol in dict.fromkeys((row["set"], row["protocol"]) for row in rows):
        lines += [f"### {name}, {protocol}", "", f"| classifier | {' | '.join(METRICS)} |", "| --- " * 6 + "|"]
        own = [row for row in rows if (row["set"], row["protocol"]) == (name, protocol)]
        labels = list(dict.fromkeys(row["classifier"] for row in own))
        values = {label: [[row[m] for m in METRICS] for row in own if row["classifier"] == label] for label in labels}
        means = np.array([np.mean(values[label], axis=0) for label in labels])
        best = np.concatenate([means[:, :2].max(axis=0), means[:, 2:].min(axis=0)])
        digits = (2, 2, 4, 4, 2)
        for label, values in zip(labels, means, strict=True):
            cells = [f"{v:.{k}f}" for v, k in zip(values, digits, strict=True)]
            cells = [f"**{c}**" if v == b else c for c, v, b in zip(cells[:4], values, best, strict=False)] + cells[4:]
            lines.append(f"| {label} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)
