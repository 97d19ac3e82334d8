"""Perceptrons: one epoch from raw points, compared with scikit-learn's Perceptron on ready-made z rows.

Our times include validation and features. Both libraries shuffle by default; scikit-learn moves single rows, hyplearn
moves runs of 32 rows. For the second-order perceptron, the time per mistake in 1,000 dimensions is compared with a
symmetric rank-one update by BLAS.
"""

import warnings

import numpy as np
from scipy.linalg.blas import dsyr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as SklearnPerceptron
from threadpoolctl import threadpool_limits
from timing import Times, once, results, timed

from hyplearn import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.datasets import make_ball_classification
from hyplearn.solvers.perceptron import Perceptron
from hyplearn.tangent import implicit_rows, z_features

warnings.simplefilter("ignore", ConvergenceWarning)


def epochs(record):
    for n, d in ((1_000_000, 2), (100_000, 100)):
        X, y, p, _ = make_ball_classification(n, d, random_state=0)
        Z = z_features(X, p)
        for shuffle in (True, False):
            baseline = timed(lambda s=shuffle, Z=Z, y=y: SklearnPerceptron(max_iter=1, tol=None, shuffle=s).fit(Z, y))
            first, second = (
                timed(lambda s=shuffle, c=classifier, X=X, y=y, p=p: c(p, max_epochs=1, shuffle=s).fit(X, y))
                for classifier in (PoincarePerceptron, PoincareSecondOrderPerceptron)
            )
            columns = {"scikit-learn": baseline, "first order": first, "second order": second}
            ratios = {"first / scikit-learn": first / baseline, "second / scikit-learn": second / baseline}
            record("one epoch", f"{n} × {d}{', shuffled' * shuffle}", **columns, **ratios)


def predictions(record):
    for n, d in ((1_000_000, 2), (100_000, 100)):
        X, y, p, w = make_ball_classification(n, d, random_state=0)
        model = PoincarePerceptron(p, max_epochs=1, calibration=None).fit(X, y)
        predict, features, product = (
            timed(f)
            for f in (
                lambda X=X, model=model: model.predict(X),
                lambda X=X, p=p: implicit_rows(X, p, features="z"),
                lambda X=X, w=w: X @ w,
            )
        )
        columns = {"predict": predict, "features": features, "X @ w": product}
        record("predict", f"{n} × {d}", **columns, **{"predict / (features + X @ w)": predict / (features + product)})


def mistakes(record, d=1000, n=2200):
    X, _, p, _ = make_ball_classification(n, d, random_state=0)
    rows, y = implicit_rows(X, p, features="z"), np.random.default_rng(0).choice([-1.0, 1.0], n)
    Perceptron.second_order(d, 1.0).visit(rows, y)
    u = np.random.default_rng(0).standard_normal(d) / d
    for threads in (1, 2):
        with threadpool_limits(threads):
            perceptron = Perceptron.second_order(d, 1.0)
            total, count = once(lambda perceptron=perceptron: perceptron.visit(rows, y))
            updates, _ = once(lambda count=count: rank_one_updates(u, count))
            ours, blas = (Times.of([time.minimum / count]) for time in (total, updates))
            case = f"d = {d}, {threads} threads"
            record("second order, per mistake", case, mistakes=count, ours=ours, dsyr=blas, ratio=ours / blas)


def rank_one_updates(u, count):
    A = np.asfortranarray(np.eye(len(u)))
    for _ in range(count):
        A = dsyr(1e-3, u, a=A, overwrite_a=True)


if __name__ == "__main__":
    with results("perceptron") as record:
        epochs(record)
        predictions(record)
        mistakes(record)
