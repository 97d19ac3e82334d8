"""Data sets for the choice of defaults: hierarchies, maps of tables and synthetic classes, none in the README.

A set is a function without parameters that returns points of the ball and their classes. The trees need the Web of
Life's phylogeny in HYPLEARN_DATA and the nouns of WordNet (Debian's wordnet-base).
"""

from collections import Counter
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numba import njit
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from hyplearn.datasets import fetch_web_of_life
from hyplearn.embedding import HyperbolicMDS, PoincareMap, TreeEmbedding
from hyplearn.geometry import translate

WORDNET = Path("/usr/share/wordnet/data.noun")
# Classes with fewer rows than this are left out.
FEWEST = 10
# Settings of the Poincaré embeddings: as in their paper, with fewer epochs. No point is farther out than FARTHEST.
EPOCHS, BURN_IN, RATE, NEGATIVES, FARTHEST = 150, 20, 0.3, 10, 1 - 1e-5


def in_ball(v):
    """Map vectors to points of the ball with the same directions, at hyperbolic distances equal to their lengths."""
    lengths = np.linalg.norm(v, axis=1, keepdims=True)
    return np.tanh(lengths / 2) * v / np.where(lengths > 0, lengths, 1.0)


def directions(rng, n, d):
    """Generate uniformly distributed unit vectors."""
    v = rng.standard_normal((n, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def overlapping(n, classes, d, *, reach=3.5, width=0.5, seed=1):
    """Generate overlapping elongated wrapped normals of different sizes."""
    rng = np.random.default_rng([seed, n, classes, d])
    centres = in_ball(reach * rng.uniform(0.1, 1, (classes, 1)) ** (1 / 2) * directions(rng, classes, d))
    shapes = width * (rng.standard_normal((classes, d, d)) / np.sqrt(d / 2) + 0.6 * np.eye(d))
    y = np.append(np.repeat(np.arange(classes), 4), rng.choice(classes, n, p=rng.dirichlet(np.full(classes, 1.5))))[:n]
    return translate(in_ball(np.einsum("nij,nj->ni", shapes[y], rng.standard_normal((n, d)))), centres[y]), y


def high_dimensional(n, classes, d, *, reach):
    """Isotropic wrapped normals; the typical distance of rows from their centre does not depend on the dimension."""
    rng = np.random.default_rng([8, n, classes, d])
    y = rng.integers(classes, size=n)
    centres = in_ball(reach * directions(rng, classes, d))
    return translate(in_ball(2.5 / np.sqrt(d) * rng.standard_normal((n, d))), centres[y]), y


def imbalanced(n, d):
    """Generate two overlapping wrapped normals, one with a hundred times as many rows as the other."""
    rng = np.random.default_rng([2, n, d])
    y = (np.arange(n) % 101 == 0).astype(int)
    centres = np.stack([np.zeros(d), in_ball(1.5 * directions(rng, 1, d))[0]])
    return translate(in_ball(rng.standard_normal((n, d)) * np.where(y, 0.4, 0.8)[:, None]), centres[y]), y


def nested(n, classes, d):
    """Generate overlapping concentric shells away from the centre of the ball."""
    rng = np.random.default_rng([3, n, classes, d])
    y = rng.integers(classes, size=n)
    radius = 0.8 * (y + 0.5) + 0.25 * rng.standard_normal(n)
    return translate(in_ball(radius[:, None] * directions(rng, n, d)), 0.4 * directions(rng, 1, d)[0]), y


def noisy_sides(n, d, *, wrong=0.1):
    """Points on the two sides of a geodesic hyperplane, with the fraction ``wrong`` of the labels flipped."""
    rng = np.random.default_rng([4, n, d])
    v = 2.5 * rng.uniform(0, 1, (n, 1)) ** (1 / 2) * directions(rng, n, d)
    y = (v[:, 0] > 0).astype(int)
    return translate(in_ball(v), 0.5 * directions(rng, 1, d)[0]), np.where(rng.uniform(size=n) < wrong, 1 - y, y)


def random_tree(n, d, classes, seed):
    """Nodes of a random tree, labelled with the branch that contains them."""
    rng = np.random.default_rng([5, n, seed])
    parents = {0: None} | {k: int(k * rng.uniform() ** 1.3) for k in range(1, n)}
    return tree_points(parents, branches(parents, classes), d)


def tree_points(parents, labels, d, rows=None):
    """Embed a tree; returns the points and labels of at most ``rows`` random nodes that have a label."""
    tree = TreeEmbedding(d).fit(parents)
    y = np.array([labels.get(node, "") for node in tree.labels_]).astype(str)
    return some(tree.embedding_[y != ""], y[y != ""], rows)


def some(X, y, rows):
    """Return at most ``rows`` random rows, which are the same in every call."""
    chosen = np.random.default_rng(6).permutation(len(X))[:rows]
    return X[chosen], y[chosen]


def ancestors(parents, node):
    """Yield the node and all its ancestors, ending at the root."""
    while node is not None:
        yield node
        node = parents[node]


def branches(parents, classes):
    """Branch of each node; the largest branch is split at its root until ``classes`` branches are large enough."""
    sizes, children = Counter(), {}
    for node, parent in parents.items():
        sizes.update(ancestors(parents, node))
        children.setdefault(parent, []).append(node)
    roots = set(children[None])
    while sum(sizes[root] >= FEWEST for root in roots) < classes:
        largest = max(roots, key=lambda root: (sizes[root], str(root)))
        roots = roots - {largest} | set(children.get(largest, []))
    found = {node: next((str(a) for a in ancestors(parents, node) if a in roots), "") for node in parents}
    return {node: root for node, root in found.items() if root}


@lru_cache(maxsize=1)
def hypernyms():
    """First hypernym and first word of every noun synset, by WordNet offset."""
    parents, words = {}, {}
    for line in WORDNET.read_text().splitlines():
        if line.startswith(" "):  # the licence
            continue
        fields = line.split()
        pointers = fields[5 + 2 * int(fields[3], 16) :]
        above = [pointers[k + 1] for k in range(0, len(pointers) - 3, 4) if pointers[k] in ("@", "@i")]
        parents[fields[0]], words[fields[0]] = above[0] if above else None, fields[4]
    return parents, words


@lru_cache(maxsize=4)
def subtree(word):
    """Parents of all nouns in the subtree of a word; of its senses, the one with the largest subtree is used."""
    parents, words = hypernyms()
    below = Counter(a for node in parents for a in ancestors(parents, node) if words[a] == word)
    root = max(below, key=below.__getitem__)
    nodes = [node for node in parents if root in ancestors(parents, node)]
    return {node: None if node == root else parents[node] for node in nodes}


def nouns(word, d, classes):
    """Nouns below a word, embedded as a tree and labelled with their branches."""
    parents = subtree(word)
    return tree_points(parents, branches(parents, classes), d, 2000)


def scaled_nouns(word, d, classes, rows=500):
    """Nouns below a word, embedded by HyperbolicMDS of their tree distances and labelled with their branches."""
    parents = subtree(word)
    labels = branches(parents, classes)
    chosen = np.random.default_rng(7).permutation([node for node in parents if node in labels])[:rows]
    lines = [list(ancestors(parents, node))[::-1] for node in chosen]
    depth = np.array([len(line) for line in lines])
    common = [[sum(a == b for a, b in zip(one, other, strict=False)) for other in lines] for one in lines]
    distances = depth[:, None] + depth - 2.0 * np.array(common)
    found = HyperbolicMDS(d, max_iter=30).fit(distances)
    return np.sqrt(-found.curvature_) * found.embedding_, np.array([labels[node] for node in chosen])


def learned_nouns(word, d, classes, rows=900):
    """Nouns below a word, as Poincaré embeddings of all pairs of a noun and one above it, and their branches."""
    parents = subtree(word)
    labels = branches(parents, classes)
    chosen = np.random.default_rng(9).permutation(list(parents))[:rows].tolist()
    nodes = sorted({above for node in chosen for above in ancestors(parents, node)})
    places = {node: k for k, node in enumerate(nodes)}
    pairs = [(places[node], places[above]) for node in nodes for above in list(ancestors(parents, node))[1:]]
    X = poincare_embedding(np.array(pairs), len(nodes), d, np.random.default_rng(0))
    y = np.array([labels.get(node, "") for node in nodes]).astype(str)
    return X[y != ""], y[y != ""]


def network(sizes, d, inside, between):
    """Poincaré embedding of a network whose communities have more edges inside than between them."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    chances = np.where(y[:, None] == y, inside, between)
    edges = np.triu(np.random.default_rng([10, d]).uniform(size=chances.shape) < chances, 1)
    return poincare_embedding(np.argwhere(edges | edges.T), len(y), d, np.random.default_rng(0)), y


@njit
def poincare_embedding(pairs, n, d, rng):
    """Embed n nodes so that linked ones are near: Riemannian gradient steps for the softmax of negative distances."""
    X = rng.uniform(-1e-3, 1e-3, (n, d))
    nodes, shares, steps = np.empty(NEGATIVES + 2, np.int64), np.empty(NEGATIVES + 2), np.empty((NEGATIVES + 2, d))
    for epoch in range(EPOCHS):
        rate = RATE / 10 if epoch < BURN_IN else RATE
        for pair in rng.permutation(np.arange(len(pairs))):
            nodes[:2] = pairs[pair]
            nodes[2:] = rng.integers(0, n, NEGATIVES)
            x = X[nodes[0]]
            gap_x = 1 - np.sum(x**2)
            for k in range(1, len(nodes)):
                cosh = 1 + 2 * np.sum((x - X[nodes[k]]) ** 2) / gap_x / (1 - np.sum(X[nodes[k]] ** 2))
                shares[k] = 1 / (cosh + np.sqrt(max(cosh**2 - 1, 0.0)))  # exp(-distance)
            shares[1:] /= np.sum(shares[1:])
            steps[0] = 0
            for k in range(1, len(nodes)):
                y = X[nodes[k]]
                gap_y = 1 - np.sum(y**2)
                cosh = 1 + 2 * np.sum((x - y) ** 2) / gap_x / gap_y
                slope = ((k == 1) - shares[k]) * 4 / np.sqrt(max(cosh**2 - 1, 1e-12))
                common = 1 + np.sum(x**2) + np.sum(y**2) - 2 * np.sum(x * y)
                steps[0] += slope / gap_y * ((common - np.sum(x**2)) / gap_x**2 * x - y / gap_x)
                steps[k] = slope / gap_x * ((common - np.sum(y**2)) / gap_y**2 * y - x / gap_y)
            for k in range(len(nodes)):
                point = X[nodes[k]]
                point -= rate * (1 - np.sum(point**2)) ** 2 / 4 * steps[k]
                length = np.sqrt(np.sum(point**2))
                if not length < FARTHEST:
                    point *= FARTHEST / length
    return X


@lru_cache(maxsize=4)
def life_points(d):
    """Return the data of the Web of Life, and the embedding of its phylogeny."""
    life = fetch_web_of_life()
    tree = TreeEmbedding(d).fit(life.newick)
    return life, tree


def web_of_life(rank, d, rows):
    """Return genomes and their ancestors, labelled with their phyla, classes or orders."""
    life, tree = life_points(d)
    own = dict(zip(life.names, life.ranks[:, life.rank_names.index(rank)], strict=True))
    y = np.array([own.get(str(label), "") for label in tree.labels_])
    return some(tree.embedding_[y != ""], y[y != ""], rows)


def mapped(load, d):
    """Return a Poincaré map of the rows of a table, and their classes."""
    X, y = load(return_X_y=True)
    if load is load_diabetes:
        y = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y)
    return PoincareMap(d, random_state=0).fit_transform(StandardScaler().fit_transform(X)), y


MAKERS = {
    **{f"random tree, {k} branches, {d}-D": partial(random_tree, 1500, d, k, seed)
       for seed, (k, d) in enumerate([(4, 2), (12, 2), (30, 2), (12, 5), (12, 10)])},
    **{f"WordNet {word}, tree, {d}-D": partial(nouns, word, d, k)
       for word, k in (("bird", 8), ("vehicle", 12), ("worker", 20)) for d in (2, 10)},
    **{f"WordNet {word}, MDS, {d}-D": partial(scaled_nouns, word, d, k)
       for word, k in (("food", 8), ("tree", 12)) for d in (2, 10)},
    **{f"WordNet {word}, learned, {d}-D": partial(learned_nouns, word, d, k)
       for word, k in (("bird", 8), ("vehicle", 12), ("worker", 20), ("food", 8), ("mammal", 12)) for d in (2, 5, 10)},
    **{f"network, {len(sizes)} of {sum(sizes)}, {d}-D": partial(network, sizes, d, inside, between)
       for sizes, inside, between in (((10,) * 12, 0.8, 0.03), ((49, 43, 13), 0.2, 0.03), ((300, 300), 0.05, 0.008))
       for d in (2, 5)},
    **{f"Web of Life, {rank}, {d}-D": partial(web_of_life, rank, d, rows)
       for rank, d, rows in (("phylum", 2, 3000), ("phylum", 5, 3000), ("class", 10, 3000), ("order", 50, 800),
                             ("order", 2, 3000))},
    **{f"{name}, map, {d}-D": partial(mapped, load, d)
       for name, load in (("iris", load_iris), ("wine", load_wine), ("cancer", load_breast_cancer),
                          ("diabetes", load_diabetes)) for d in (2, 10)},
    **{f"{k} nested, {d}-D": partial(nested, 1000, k, d) for k, d in ((2, 2), (5, 2), (3, 10))},
    **{f"{k} overlapping, {d}-D": partial(overlapping, 1500, k, d)
       for k, d in ((5, 2), (10, 2), (20, 2), (40, 2), (10, 5), (10, 10))},
    **{f"50 rows, {k} overlapping, {d}-D": partial(overlapping, 100, k, d) for k, d in ((2, 2), (4, 5))},
    **{f"1 to 100, {d}-D": partial(imbalanced, 4040, d) for d in (2, 10)},
    **{f"noisy sides, {d}-D": partial(noisy_sides, 600, d) for d in (2, 10)},
    "20 overlapping, 64-D": partial(high_dimensional, 2000, 20, 64, reach=1.0),
    "5 overlapping, 512-D": partial(high_dimensional, 2000, 5, 512, reach=0.6),
    "100,000 rows, 10 overlapping, 2-D": partial(overlapping, 200_000, 10, 2),
}  # fmt: skip


def points(name):
    """Return the points and classes of a data set, without classes that have fewer than FEWEST rows."""
    X, y = MAKERS[name]()
    y = np.unique(y, return_inverse=True)[1]
    kept = np.bincount(y)[y] >= FEWEST
    return np.ascontiguousarray(X[kept], dtype=np.float64), np.unique(y[kept], return_inverse=True)[1]
