"""Mammals in the disk: a real hierarchy, classified by order with hyperbolic and Euclidean classifiers.

The 1,170 mammals of WordNet are embedded in the Poincaré disk as a tree. All classifiers use the same two coordinates
and the same folds. The baselines tune C by an inner cross-validation, so that none is at a disadvantage; the hyperbolic
classifiers use their defaults. Writes ``out/mammals.png`` and the interactive page ``out/mammals.html``.
"""

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from hyplearn import PoincareLogisticRegression, PoincareSVC, TangentSpace, explore
from hyplearn.compilation import timed_compilation
from hyplearn.datasets import load_mammals
from hyplearn.plotting.beside import draw_beside

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
COSTS = 10.0 ** np.arange(-2, 7, 2)
# Folds for tuning C. The rows are shuffled, because the mammals are in the order of the tree.
INNER = StratifiedKFold(3, shuffle=True, random_state=0)


def tuned(*steps):
    """Return a search that chooses the C of the last step of a pipeline by cross-validation in the training fold."""
    model = make_pipeline(*steps)
    return GridSearchCV(model, {f"{model.steps[-1][0]}__C": COSTS}, cv=INNER)


def softmax(**kwargs):
    """Return multinomial logistic regression fitted by Newton's method, which also converges for large coordinates."""
    return LogisticRegression(solver="newton-cholesky", max_iter=1000, **kwargs)


MODELS = {
    "largest class": DummyClassifier(),
    "Euclidean SVM (LinearSVC), tuned": tuned(LinearSVC(dual=False, max_iter=10_000)),
    "Euclidean softmax, tuned": tuned(softmax()),
    "softmax in the tangent space at the mean, tuned": tuned(TangentSpace("mean"), softmax()),
    "PoincareSVC": PoincareSVC(),
    "PoincareLogisticRegression": PoincareLogisticRegression(),
}


def main():
    warnings.filterwarnings("ignore", "Classes with fewer distinct rows")  # some orders have only a few members
    mammals = load_mammals()
    X, y = mammals.data, mammals.target
    print(f"{len(X)} mammals of WordNet in the Poincaré disk, {len(mammals.target_names)} classes.")
    print("Accuracy by 5-fold cross-validation; baselines tune C inside each training fold.\n")
    print(f"{'classifier':50} accuracy    std   time")
    accuracies = {}
    for name, model in MODELS.items():
        start = time.perf_counter()
        with timed_compilation() as compiling:  # compilation at first use is not counted
            scores = cross_val_score(model, X, y, cv=FOLDS)
        seconds = time.perf_counter() - start - compiling[0]
        accuracies[name] = scores.mean()
        print(f"{name:50} {scores.mean():7.1%} {scores.std():6.1%} {seconds:5.1f} s", flush=True)
    out = Path("out")
    out.mkdir(exist_ok=True)
    shown = {name: MODELS[name].fit(X, y) for name in ("Euclidean softmax, tuned", "PoincareLogisticRegression")}
    edges = np.stack([np.arange(1, len(X)), mammals.parents[1:]], axis=1)  # each mammal except the root, and its parent
    draw_beside(out / "mammals.png", shown, X, y, accuracies=accuracies, edges=edges)
    print("\nThe regions of two of the classifiers are drawn in out/mammals.png.")
    details = {"names": mammals.names, "parents": mammals.parents, "of": "training", "title": "Mammals of WordNet"}
    explore(shown["PoincareLogisticRegression"], X, y, **details, path=out / "mammals.html")
    print("Open out/mammals.html in a browser to explore the disk.")


if __name__ == "__main__":
    main()
