"""The Poincaré SVM: the widest margin of a boundary through a point, and a proof that the solver has found it.

Left: two boundaries of the hard-margin SVM. The solid line has the widest hyperbolic margin (dashed lines); the
dash-dotted line maximises the paper's lower bound on the margin. Right: relative excess of the objective over the
optimum after a number of passes over 100,000 rows (C = 1000), for three solvers: PoincareSVC, with the gap that it
proves, scikit-learn's LinearSVC on the same rows, and the paper's algorithm. Writes ``out/svm.png``.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window: the picture goes to a file

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from hyplearn import PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import hyperplane_points
from hyplearn.paper.svc import solve_sgd
from hyplearn.plotting import BoundaryDisplay
from hyplearn.plotting.canvas import draw_legend_under
from hyplearn.plotting.palette import LIGHT
from hyplearn.plotting.style import STYLE, WIDTH
from hyplearn.rows import Rows
from hyplearn.solvers.svm.solve import solve_svm
from hyplearn.tangent import frame_coordinates

C = 1000.0


def draw_margins(ax):
    X, y, p, _ = make_ball_classification(150, 2, margin=0.3, reference_norm=0.57, random_state=5)
    bound, exact = (PoincareSVC(p, C=np.inf, margin=margin).fit(X, y) for margin in ("bound", "exact"))
    BoundaryDisplay.from_estimator(exact, X, y).plot(ax=ax, legend=False)
    label = f"boundary of the lower bound, margin {bound.margin_[0]:.3g}"
    ax.plot(*hyperplane_points(bound.coef_[0], p).T, "-.", color=LIGHT[3], linewidth=1.6, label=label)
    draw_legend_under(ax, 2)
    ax.set_title("The widest margin through p")


def draw_convergence(ax):
    X, y, p, _ = make_ball_classification(100_000, 10, random_state=0)
    features = frame_coordinates(X, p)
    U = y[:, None] * features
    rows, seen = Rows.explicit(U, np.full(len(y), C)), []
    best = solve_svm(rows, tol=1e-12, report=seen.append)

    def above(w):
        return (0.5 * w @ w + C * np.maximum(0, 1 - U @ w).sum()) / best.dual - 1

    passes = [progress.n_passes for progress in seen]
    ax.loglog(
        passes, [max(progress.gap, 1e-16) for progress in seen], "o-", color=LIGHT[0], label="PoincareSVC (proven gap)"
    )
    lengths = (3, 10, 30, 100, 300, 1000, 3000)
    models = [LinearSVC(loss="hinge", C=C, fit_intercept=False, max_iter=n).fit(features, y) for n in lengths]
    ax.loglog(
        lengths,
        [above(model.coef_[0]) for model in models],
        "s-",
        color=LIGHT[1],
        label="LinearSVC (excess over the optimum)",
    )
    steps = (1, 3, 10, 30, 100)
    descents = [solve_sgd(rows, tol=1e-300, max_iter=n, seed=0).w for n in steps]
    ax.loglog(steps, [above(w) for w in descents], "^-", color=LIGHT[2], label="the paper's algorithm (excess)")
    ax.axhline(1e-6, color="0.5", linewidth=1, linestyle=":")
    ax.text(3000, 1.3e-6, "tol", color="0.4", ha="right")
    ax.set(
        xlabel="passes over the data", ylabel="excess relative to the optimum", title="100,000 points in 10 dimensions"
    )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)  # LinearSVC does not converge, as the picture shows
    plt.rcParams.update(STYLE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4.6), layout="constrained")
    draw_margins(left)
    draw_convergence(right)
    path = Path("out") / "svm.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    print(f"The picture is in {path}.")


if __name__ == "__main__":
    main()
