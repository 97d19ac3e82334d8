"""Speed of the embedders: trees of 100,000 nodes, and distances of 5,000 points beside scikit-learn's MDS of 1,000.

CPU seconds stand beside those of the clock, which on a busy machine tell little.
"""

import sys
import warnings
from time import perf_counter, process_time

import numpy as np
from sklearn.manifold import MDS

from hyplearn.embedding import HyperbolicMDS, TreeEmbedding
from hyplearn.geometry import pairwise_distance
from hyplearn.tangent import from_frame


def timed(function):
    start, busy = perf_counter(), process_time()
    result = function()
    return result, perf_counter() - start, process_time() - busy


def trees(n=100_000):
    rng = np.random.default_rng(0)
    kinds = {
        "random": np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(int)],
        "binary": (np.arange(n) - 1) // 2,
        "star": np.r_[-1, np.zeros(n - 1, dtype=int)],
        "path": np.arange(n) - 1,
    }
    TreeEmbedding().fit([-1, 0, 0])
    for kind, parents in kinds.items():
        for d in (2, 5):
            model, seconds, busy = timed(lambda d=d, p=parents: TreeEmbedding(d).fit(p))
            print(
                f"{kind:7} {n:,} nodes, {d}-D: {seconds:5.1f} s, {busy:5.1f} s of CPU; scale {model.scale_:.3g}, "
                f"distortion {model.average_distortion_:.3f} on average, {model.worst_distortion_:.3g} at worst",
                flush=True,
            )


def noisy_distances(n, rng):
    """Distances of points of five dimensions: two do not hold them."""
    return pairwise_distance(from_frame(2 * rng.standard_normal((n, 5)) / np.sqrt(5), np.zeros(5)))


def distances(n=5000, n_theirs=1000):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    HyperbolicMDS().fit(noisy_distances(10, rng))
    D = noisy_distances(n_theirs, rng)
    ours, seconds, busy = timed(lambda: HyperbolicMDS().fit(D))
    theirs, _, their_busy = timed(
        lambda: MDS(dissimilarity="precomputed", n_init=1, normalized_stress=False, max_iter=ours.n_iter_).fit(D)
    )
    above = np.triu_indices(n_theirs, 1)
    flat = np.sqrt(theirs.stress_ / np.sum(D[above] ** 2))
    print(
        f"{n_theirs:,} points: {seconds:.1f} s, {busy:.1f} s of CPU, {ours.n_iter_} steps, stress {ours.stress_:.3f}; "
        f"{busy / their_busy:.2f} × the CPU time of scikit-learn's MDS, which ends at {flat:.3f} in the plane",
        flush=True,
    )
    D = noisy_distances(n, rng)
    ours, seconds, busy = timed(lambda: HyperbolicMDS().fit(D))
    print(
        f"{n:,} points: {seconds:.1f} s, {busy:.1f} s of CPU, {ours.n_iter_} steps, stress {ours.spectral_stress_:.3f} "
        f"before and {ours.stress_:.3f} after"
    )


if __name__ == "__main__":
    for part in sys.argv[1:] or ["trees", "distances"]:
        globals()[part]()
