"""Draw the figures of ``docs/internals``: the calls from ``fit`` to a kernel, and the working sets of the hinge solver.

``python tools/draw_internals.py`` writes ``docs/images/call_stack.svg`` and ``docs/images/working_sets.svg``.
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from hyplearn import PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.plotting.style import SMALL, STYLE, WIDTH
from hyplearn.solvers.svm import hinge
from hyplearn.solvers.svm.margin_scan import MarginScan
from hyplearn.tangent import frame_coordinates

IMAGES = Path(__file__).parents[1] / "docs" / "images"
BLUE, GREY, RED, INK = "#2b6cb0", "#a0aec0", "#c05621", "#1a202c"
CALLS = [
    ("fit", "estimators/svc.py", "one problem per class"),
    ("solve_svm", "solvers/svm/solve.py", "which loss, which kind of margin"),
    ("working_sets", "solvers/svm/hinge.py", "gather, solve, scan, until the gap is closed"),
    ("fold", "data/ or rows/", "one pass: map over blocks, then reduce"),
    ("map, or a Dask worker", "data/points.py, data/dask.py", "blocks in threads, or where they lie"),
    ("on_pieces", "data/points.py", "a piece of points becomes rows that stay in the cache"),
    ("scan_block", "solvers/svm/margin_scan.py", "arrays for the kernel, and its result as a value"),
    ("scan_kernel", "solvers/svm/margin_scan.py", "compiled: margins, loss, counts, clamped sums"),
]


def draw_call_stack(path: Path) -> None:
    """Draw a box for each call from ``fit`` to the kernel, outermost first."""
    figure, axes = plt.subplots(figsize=(WIDTH, 5.2))
    for i, (name, place, purpose) in enumerate(CALLS):
        y = -i
        axes.add_patch(plt.Rectangle((0, y - 0.36), 2.6, 0.72, facecolor="#ebf4ff", edgecolor=BLUE))
        axes.text(1.3, y, name, ha="center", va="center", family="monospace", color=INK)
        axes.text(2.8, y + 0.14, purpose, va="center", color=INK)
        axes.text(2.8, y - 0.17, place, va="center", fontsize=SMALL, color="#4a5568", family="monospace")
        if i:
            axes.annotate("", (1.3, y + 0.36), (1.3, y + 0.64), arrowprops={"arrowstyle": "-|>", "color": BLUE})
    axes.set(xlim=(-0.1, 8.2), ylim=(-len(CALLS) + 0.5, 0.6))
    axes.axis("off")
    figure.savefig(path)
    plt.close(figure)


def record_working_sets(X: Any, y: Any, p: Any) -> tuple[list[MarginScan], list[tuple[int, float, int]], Any]:
    """Margin scans of a fit over all rows, and passes, gaps and sizes of its working sets."""
    scans, steps, solve = [], [], hinge._solve

    def solved(seen: MarginScan, *arguments: Any) -> Any:
        if seen.counts.sum() == len(X):
            scans.append(seen)
        return solve(seen, *arguments)

    hinge._solve = solved
    try:
        svc = PoincareSVC(p, C=10.0, loss="hinge", calibration=None, n_jobs=1, verbose=0)
        with svc._training(X, y, None) as (data, _):
            svc.reference_, svc.C_ = svc._references(data), np.array([svc.C])

            def report(name: str, progress: Any) -> None:
                steps.append((progress.n_passes, progress.gap, progress.n_working))

            next(svc._solvers(data, {}, None, report, 1))()
    finally:
        hinge._solve = solve
    return scans, steps, frame_coordinates(X, p) * y[:, None]


def draw_working_sets(path: Path) -> None:
    """Draw margins of all rows at the last scan, by treatment (left), and gaps and sizes of working sets (right)."""
    X, y, p, _ = make_ball_classification(200_000, 2, margin=0.0, random_state=0)
    wrong = np.random.default_rng(0).uniform(size=len(y)) < 0.03
    y = np.where(wrong, -y, y)
    scans, steps, rows = record_working_sets(X, y, p)
    seen = scans[-1]
    margins = rows @ seen.w
    distances = (margins - 1) / np.linalg.norm(rows, axis=1)
    gathered = (distances >= -seen.band.below) & (distances <= seen.band.above)
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.4), layout="constrained")
    bins = np.linspace(-4, 6, 101)
    kinds = {"clamped": (margins < 1) & ~gathered, "gathered": gathered, "ignored": (margins >= 1) & ~gathered}
    labels = [f"{name} ({mask.sum():,})" for name, mask in kinds.items()]
    left.hist([margins[mask] for mask in kinds.values()], bins, color=[RED, BLUE, GREY], label=labels, stacked=True)
    left.axvline(1, color=INK, linewidth=1)
    left.set(xlabel="margin ⟨u, w⟩ at the last scan", ylabel="rows")
    left.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1.0), columnspacing=0.8, handlelength=1.2)
    passes, gaps, sizes = zip(*steps, strict=True)
    right.semilogy(passes, gaps, "o-", color=BLUE)
    for x, gap, size in zip(passes, gaps, sizes, strict=True):
        right.annotate(f"{size:,} rows", (x, gap), xytext=(6, 4), textcoords="offset points")
    right.axhline(1e-6, color=INK, linewidth=1, linestyle=":")
    right.annotate("tol", (passes[0], 1e-6), xytext=(0, 4), textcoords="offset points")
    right.set(xlabel="passes over all rows", ylabel="relative duality gap", xlim=(passes[0] - 0.3, passes[-1] + 1.2))
    right.set_xticks(passes)
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    mpl.rcParams.update(STYLE | {"svg.hashsalt": "hyplearn"})
    draw_call_stack(IMAGES / "call_stack.svg")
    draw_working_sets(IMAGES / "working_sets.svg")
