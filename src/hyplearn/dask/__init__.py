"""Classifiers of points that lie on the workers of a Dask cluster: the same solvers, and the same models.

``fit`` takes Dask arrays or dataframes and leaves their chunks where they are. A fit is a handful of passes; in a pass
every worker gets w (or what else is asked at) and sends one answer, merged from all of its chunks. In bytes, for d
features, K classes and s rows near the margin:

=================================================  ==============================================================
pass                                               bytes from each worker
=================================================  ==============================================================
hinge (:class:`DaskPoincareSVC`)                   3 kB + 8 d + 8 (d + 2) s
squared hinge                                      0.5 kB + 8 d² + 8 d
class means                                        0.5 kB + 8 K (d² + d)
softmax (:class:`DaskPoincareLogisticRegression`)  0.5 kB + 8 (K (d + 2))² up to 300 weights; 8 d² + 8 K d beyond
=================================================  ==============================================================

and about 1 kB + 8 K d to each; s is at most 2²⁴ / (d + 16), unless so few rows do not suffice to get on. Once in a
fit come rows: one in 16, at most 8 million numbers, from which a solver begins; for each binary problem with the
reference "boundary", as many rows as its convex fit is made of, 2 million numbers or 200 rows for each dimension;
positions and dual variables of the support vectors, 16 bytes each, and these themselves, unless they are more than 2
million; at most 4 million numbers for probabilities; 20,000 rows for the means; of up to 10,000 rows all, for the
reference point. ``benchmarks/bench_dask.py`` measures these.

Chunks should fit into the memory of their workers. A worker that is lost costs the time to compute its chunks again;
where they cannot be computed again, the fit ends with an error.

Examples
--------
>>> import dask.array as da
>>> from distributed import Client
>>> from hyplearn.dask import DaskPoincareSVC
>>> from hyplearn.datasets import make_ball_classification
>>> X, y, p, w = make_ball_classification(1000, 2, random_state=0)
>>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
...     X, y = da.from_array(X, chunks=(400, 2)), da.from_array(y, chunks=400)
...     svc = DaskPoincareSVC(reference=p, C=1000).fit(X, y)
...     accuracy = (svc.predict(X) == y).mean().compute()
>>> print(float(accuracy), type(svc.to_local()).__name__)
1.0 PoincareSVC
"""

from importlib.util import find_spec

if any(find_spec(name) is None for name in ("dask", "distributed", "pandas", "pyarrow")):
    raise ImportError("Distributed fitting needs Dask: pip install 'hyplearn[dask]'.")

from hyplearn.dask.classifiers import DaskPoincareLogisticRegression, DaskPoincareSVC
from hyplearn.dask.perceptrons import DaskPoincarePerceptron, DaskPoincareSecondOrderPerceptron
from hyplearn.dask.points import DaskPoints

__all__ = [
    "DaskPoincareLogisticRegression",
    "DaskPoincarePerceptron",
    "DaskPoincareSVC",
    "DaskPoincareSecondOrderPerceptron",
    "DaskPoints",
]
