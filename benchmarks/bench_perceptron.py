"""Perceptrons: one epoch from raw points beside scikit-learn's Perceptron on ready-made z rows, in one run.

The times of ours hold validation and features. Shuffled is the default of both; scikit-learn moves single rows, we move
runs of 32. Second order: 1,000 mistakes in 1,000 dimensions beside as many symmetric rank-one updates by BLAS.
"""

import warnings
from time import perf_counter

import numpy as np
from scipy.linalg.blas import dsyr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron as SklearnPerceptron
from threadpoolctl import threadpool_limits
from timing import best

from hyplearn import PoincarePerceptron, PoincareSecondOrderPerceptron
from hyplearn.datasets import make_ball_classification
from hyplearn.solvers.perceptron import Perceptron
from hyplearn.tangent import implicit_rows, z_features

warnings.simplefilter("ignore", ConvergenceWarning)


def epochs():
    print(f"{'shape':>14} {'shuffled':>9} {'sklearn':>9} {'first':>9} {'second':>9}   first/sklearn")
    for n, d in ((1_000_000, 2), (100_000, 100)):
        X, y, p, _ = make_ball_classification(n, d, random_state=0)
        Z = z_features(X, p)
        for shuffle in (True, False):
            sklearn = best(lambda s=shuffle, Z=Z, y=y: SklearnPerceptron(max_iter=1, tol=None, shuffle=s).fit(Z, y))
            first, second = (
                best(lambda s=shuffle, c=classifier, X=X, y=y, p=p: c(p, max_epochs=1, shuffle=s).fit(X, y))
                for classifier in (PoincarePerceptron, PoincareSecondOrderPerceptron)
            )
            print(f"{n:>9} × {d:<4} {shuffle!s:>7} {sklearn:9.1f} {first:9.1f} {second:9.1f}   {first / sklearn:13.2f}")


def predictions():
    print(f"\n{'shape':>14} {'predict':>9} {'features':>9} {'X @ w':>9}   predict / (features + X @ w)")
    for n, d in ((1_000_000, 2), (100_000, 100)):
        X, y, p, w = make_ball_classification(n, d, random_state=0)
        model = PoincarePerceptron(p, max_epochs=1, calibration=None).fit(X, y)
        predict, features, product = (
            best(f)
            for f in (
                lambda X=X, model=model: model.predict(X),
                lambda X=X, p=p: implicit_rows(X, p, features="z"),
                lambda X=X, w=w: X @ w,
            )
        )
        print(f"{n:>9} × {d:<4} {predict:9.1f} {features:9.1f} {product:9.1f}   {predict / (features + product):28.2f}")


def mistakes(d=1000, n=2200):
    X, _, p, _ = make_ball_classification(n, d, random_state=0)
    rows, y = implicit_rows(X, p, features="z"), np.random.default_rng(0).choice([-1.0, 1.0], n)
    Perceptron.second_order(d, 1.0).visit(rows, y)
    u = np.random.default_rng(0).standard_normal(d) / d
    print(f"\n{'second order':>14} {'threads':>9} {'mistakes':>9} {'ms each':>9} {'dsyr':>9}   ratio")
    for threads in (1, 2):
        with threadpool_limits(threads):
            perceptron = Perceptron.second_order(d, 1.0)
            start = perf_counter()
            count = perceptron.visit(rows, y)
            ours = 1e3 * (perf_counter() - start) / count
            A = np.asfortranarray(np.eye(d))
            start = perf_counter()
            for _ in range(count):
                A = dsyr(1e-3, u, a=A, overwrite_a=True)
            blas = 1e3 * (perf_counter() - start) / count
            print(f"{f'd = {d}':>14} {threads:>9} {count:>9} {ours:9.3f} {blas:9.3f}   {ours / blas:5.2f}")


if __name__ == "__main__":
    epochs()
    predictions()
    mistakes()
