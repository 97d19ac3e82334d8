"""Speed of the embeddings: trees of 100,000 nodes, and distances of 5,000 points.

All times are CPU times, because wall-clock times depend on other processes. The baselines are a breadth-first search of
the same tree by SciPy, scikit-learn's MDS of 1,000 points with the same number of steps, and one sum over the distance
matrix.
"""

import sys
import warnings
from time import process_time

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order
from sklearn.manifold import MDS
from timing import Times, once, results

from hyplearn.embedding import HyperbolicMDS, TreeEmbedding
from hyplearn.geometry import pairwise_distance
from hyplearn.tangent import from_frame


def cpu_time(function, repeats=1):
    """Measure the CPU time of a function, and return the result of its last call."""
    runs = [once(function, process_time) for _ in range(repeats)]
    return Times.of([time.minimum for time, _ in runs]), runs[-1][1]


def trees(record, n=100_000):
    rng = np.random.default_rng(0)
    kinds = {
        "random": np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(int)],
        "binary": (np.arange(n) - 1) // 2,
        "star": np.r_[-1, np.zeros(n - 1, dtype=int)],
        "path": np.arange(n) - 1,
    }
    TreeEmbedding().fit([-1, 0, 0])
    for kind, parents in kinds.items():
        children = np.arange(1, n)
        graph = csr_array((np.ones(n - 1), (parents[1:], children)), shape=(n, n))
        search, _ = cpu_time(lambda graph=graph: breadth_first_order(graph, 0), repeats=5)
        for d in (2, 5):
            ours, model = cpu_time(lambda d=d, p=parents: TreeEmbedding(d).fit(p))
            columns = {"ours": ours, "scale": model.scale_, "average_distortion": model.average_distortion_}
            columns |= {"worst_distortion": model.worst_distortion_, "search": search, "ours / search": ours / search}
            record(f"trees of {n} nodes", f"{kind}, d = {d}", **columns)


def noisy_distances(n, rng):
    """Generate distances between points in five dimensions, which have no exact embedding in two."""
    return pairwise_distance(from_frame(2 * rng.standard_normal((n, 5)) / np.sqrt(5), np.zeros(5)))


def distances(record, n=5000, n_baseline=1000):
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    HyperbolicMDS(curvature=-1.0).fit(noisy_distances(10, rng))
    D = noisy_distances(n_baseline, rng)
    ours, model = cpu_time(lambda: HyperbolicMDS(curvature=-1.0).fit(D))
    theirs, flat = cpu_time(
        lambda: MDS(dissimilarity="precomputed", n_init=1, normalized_stress=False, max_iter=model.n_iter_).fit(D)
    )
    flat_stress = np.sqrt(flat.stress_ / np.sum(D[np.triu_indices(n_baseline, 1)] ** 2))
    columns = {
        "ours": ours,
        "steps": model.n_iter_,
        "stress": model.stress_,
        "MDS": theirs,
        "stress of MDS": flat_stress,
    }
    record("distances, compared with MDS", f"{n_baseline} points", **columns, **{"ours / MDS": ours / theirs})
    D = noisy_distances(n, rng)
    ours, model = cpu_time(lambda: HyperbolicMDS(curvature=-1.0).fit(D))
    total, _ = cpu_time(D.sum, repeats=5)
    columns = {"ours": ours, "steps": model.n_iter_, "stress at start": model.spectral_stress_, "stress": model.stress_}
    step = Times.of([ours.minimum / max(1, model.n_iter_)])
    record("distances", f"{n} points", **columns, **{"sum of D": total, "step / sum of D": step / total})


if __name__ == "__main__":
    with results("embedding") as record:
        for part in sys.argv[1:] or ["trees", "distances"]:
            globals()[part](record)
