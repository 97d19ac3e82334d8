import networkx as nx
import numpy as np

from hyplearn.embedding import hyperbolicity
from hyplearn.plotting import HyperbolicityDisplay
from support.drawn import legend


def test_exact_distances_are_drawn_at_1(ax):
    found = hyperbolicity(nx.balanced_tree(2, 4))
    display = HyperbolicityDisplay(found).plot(ax)
    flat, hyperbolic, tree = display.curves().values()
    assert np.allclose(tree[1], 1)
    assert np.abs(hyperbolic[1] - 1).max() < np.abs(flat[1] - 1).max()
    assert [line.get_ydata().tolist() for line in ax.lines[1:]] == [
        r[:, 1].tolist() for _, r in (flat, hyperbolic, tree)
    ]
    assert legend(ax) == list(display.curves())
    assert legend(ax)[2].startswith("tree: distortion 0.00 (star 0.")
    assert ax.get_title() == "2δ/diameter: largest 0.00, mean 0.00"


def test_equal_distances_form_one_group_and_copies_are_skipped(ax):
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 3, axis=0)
    display = HyperbolicityDisplay(hyperbolicity(X, metric="euclidean")).plot(ax, legend=False)
    x, _ = next(iter(display.curves().values()))
    assert np.allclose(x, [1, np.sqrt(2)])
    assert ax.get_legend() is None
