"""Classes with curved boundaries: our classifiers with their defaults and tuned classifiers of scikit-learn.

All classifiers use the same splits: repeated 2-fold cross-validation, stratified by class. For subtrees of WordNet, the
task is to separate one subtree from all other nouns, scored by average precision. C and gamma of the Gaussian SVC are
chosen by a grid search with three folds over 5 by 5 values, on at most ``TUNING_ROWS`` training rows, because its time
grows with the square of their number. The SVC is then fitted to all training rows and calibrated by Platt's method with
three folds. All other classifiers use their defaults. The SVC, the forest and boosting are fitted to the coordinates of
the ball. The full configuration needs scanpy, the published embeddings and the Web of Life's phylogeny in
HYPLEARN_DATA, and the nouns of WordNet (Debian's wordnet-base); the environment variable WORDNET is the path of
``data.noun``.

    python experiments curved           # some minutes; writes experiments/results/quick/curved.{csv,md,json}
    python experiments curved --full    # hours; continues where it was stopped; writes experiments/results/curved.*
"""

import lzma
import os
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from time import process_time

import numpy as np
from ledger import fill
from record import commit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from hyplearn import PoincareKernelClassifier, PoincareKNeighborsClassifier, PoincareLogisticRegression
from hyplearn.datasets import fetch_cifar10, fetch_fashion_mnist, fetch_olsson, load_mammals
from hyplearn.embedding import PoincareMap, TreeEmbedding
from hyplearn.geometry import translate

OURS = ("PoincareKernelClassifier", "PoincareKNeighborsClassifier", "PoincareLogisticRegression")
METHODS = (*OURS, "Gaussian SVC, tuned", "random forest", "histogram boosting")
# Nouns of WordNet (Debian's wordnet-base), and the words whose subtrees are classes.
WORDNET = Path(os.environ.get("WORDNET", "/usr/share/wordnet/data.noun"))
SUBTREES = ("worker", "group", "tree", "occupation", "animal", "artifact", "location", "substance")
# Classes with fewer rows than this are left out.
FEWEST = 10
# Sets with more rows than this have ``large_repeats`` repeats, because their scores vary less between splits. The Web
# of Life has ``life_repeats``, because one repeat of all methods takes 30 to 120 CPU seconds per set.
LARGE = 8000
# Maximum number of rows of sets with so many classes (110) that fits to all rows take minutes.
LIMITS = {"Web of Life, classes, 2-D": 6000, "Web of Life, classes, 10-D": 6000}
# Parameters of the configuration that may differ from those of a run that is continued.
GROWS = ("methods", "repeats", "large_repeats", "life_repeats")
# Maximum number of training rows in the grid search of the SVC.
TUNING_ROWS = 5000


@dataclass(frozen=True)
class Config:
    """Classifiers, data sets with their maximum size, and repeats of 2-fold cross-validation; the default is quick."""

    name: str = "quick"
    methods: tuple[str, ...] = METHODS
    sets: tuple[str, ...] = ("mammals", "nested", "36 overlapping")
    rows: int | None = 600
    repeats: int = 1
    large_repeats: int = 1
    life_repeats: int = 1


SETS = (
    *("Olsson", "CIFAR10", "Fashion-MNIST", "mammals", "digits", "pbmc68k_reduced"),
    *("nested", "36 overlapping", "random tree, 2-D", "random tree, 10-D"),
    *("Web of Life, phyla, 2-D", "Web of Life, phyla, 10-D", "Web of Life, classes, 2-D", "Web of Life, classes, 10-D"),
    *(f"WordNet, {word}, {d}-D" for d in (2, 10) for word in SUBTREES),
)
FULL = Config(name="full", sets=SETS, rows=None, repeats=5, large_repeats=5, life_repeats=5)


def published(fetch):
    """Return all rows of a published embedding."""
    found = fetch()
    return np.concatenate([found.X_train, found.X_test]), np.concatenate([found.y_train, found.y_test])


def in_disk(v):
    """Map vectors to points of the disk with the same directions, at hyperbolic distances equal to their lengths."""
    lengths = np.linalg.norm(v, axis=1, keepdims=True)
    return np.tanh(lengths / 2) * v / lengths


def nested(n=4000, classes=5):
    """Generate overlapping concentric classes away from the centre of the disk."""
    rng = np.random.default_rng(7)
    y = rng.integers(classes, size=n)
    radius, angle = 0.7 * (y + 0.5) + 0.25 * rng.standard_normal(n), rng.uniform(0, 2 * np.pi, n)
    return translate(in_disk(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)), [0.4, 0.2]), y


def overlapping(n=8000, classes=36):
    """Generate overlapping elongated classes of different sizes."""
    rng = np.random.default_rng(7)
    angle, radius = rng.uniform(0, 2 * np.pi, classes), 3.5 * np.sqrt(rng.uniform(0.05, 1, classes))
    centres = in_disk(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
    y = rng.choice(classes, n, p=rng.dirichlet(np.full(classes, 1.5)))
    shapes = 0.5 * rng.standard_normal((classes, 2, 2)) + 0.3 * np.eye(2)
    return translate(in_disk(np.einsum("nij,nj->ni", shapes[y], rng.standard_normal((n, 2)))), centres[y]), y


def random_tree(d, n=4000, classes=10):
    """Nodes of a random tree, each labelled with the smallest of some random subtrees that contains it."""
    rng = np.random.default_rng(7)
    parents = {"0": None} | {str(i): str(rng.integers(i)) for i in range(1, n)}
    sizes = Counter()
    for line in (ancestors(parents, code) for code in parents):
        sizes.update(line)
    roots = set(rng.choice([code for code, _ in sizes.most_common(3 * classes)], classes, replace=False)) | {"0"}
    tree = TreeEmbedding(d).fit(parents)
    labels = {code: next(one for one in ancestors(parents, code) if one in roots) for code in parents}
    return tree.embedding_, np.array([labels[str(code)] for code in tree.labels_])


def ancestors(parents, code):
    """Return a node and all nodes above it."""
    line = [code]
    while parents[line[-1]] is not None:
        line.append(parents[line[-1]])
    return line


def web_of_life(rank, d):
    """Return the nodes of the phylogeny, labelled with their phyla or classes."""
    folder = Path(os.environ.get("HYPLEARN_DATA", "."), "wol")
    tree = TreeEmbedding(d).fit((folder / "tree.nwk").read_text())
    with lzma.open(folder / "ranks.tsv.xz", "rt") as lines:
        ranks = {line.split("\t")[0]: line.rstrip("\n").split("\t")[{"phyla": 2, "classes": 3}[rank]] for line in lines}
    y = np.array([ranks.get(str(label), "") for label in tree.labels_])
    return tree.embedding_[y != ""], y[y != ""]


@lru_cache(maxsize=2)
def wordnet(d):
    """Nouns as a tree of first hypernyms, each labelled with the smallest of the chosen subtrees that contains it."""
    parents, words = {}, {}
    for line in WORDNET.read_text().splitlines():
        if line.startswith(" "):  # the licence
            continue
        fields = line.split()
        n_words = int(fields[3], 16)
        words[fields[0]] = fields[4]
        pointers = fields[5 + 2 * n_words :]
        above = [pointers[k + 1] for k in range(0, len(pointers) - 3, 4) if pointers[k] in ("@", "@i")]
        parents[fields[0]] = above[0] if above else None
    labels = subtree_labels(parents, words)
    tree = TreeEmbedding(d).fit(parents)
    return tree.embedding_, np.array([labels[code] for code in tree.labels_])


def subtree_labels(parents, words):
    """Word of the nearest subtree root at or above each node; a word's root is its sense with the most nodes below."""
    lines, sizes = {}, Counter()
    for code in parents:
        lines[code] = ancestors(parents, code)
        sizes.update(lines[code])
    senses = {word: [code for code, own in words.items() if own == word] for word in SUBTREES}
    roots = {max(codes, key=sizes.__getitem__): word for word, codes in senses.items()}
    return {code: next((roots[one] for one in line if one in roots), "other") for code, line in lines.items()}


def subtree(word, d):
    """Nouns, and whether the smallest of the chosen subtrees that contains each noun is the subtree of ``word``."""
    X, y = wordnet(d)
    return X, y == word


def cells():
    """Return a Poincaré map of blood cells, and their types."""
    import scanpy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = scanpy.datasets.pbmc68k_reduced()
    return PoincareMap(random_state=0).fit_transform(data.obsm["X_pca"]), np.asarray(data.obs["bulk_labels"], str)


def digits():
    """Return a Poincaré map of handwritten digits, and their classes."""
    X, y = load_digits(return_X_y=True)
    return PoincareMap(random_state=0).fit_transform(X), y


MAKERS = {
    "Olsson": partial(published, fetch_olsson),
    "CIFAR10": partial(published, fetch_cifar10),
    "Fashion-MNIST": partial(published, fetch_fashion_mnist),
    "mammals": partial(load_mammals, return_X_y=True),
    "digits": digits,
    "nested": nested,
    "36 overlapping": overlapping,
    "pbmc68k_reduced": cells,
    **{f"random tree, {d}-D": partial(random_tree, d) for d in (2, 10)},
    **{f"Web of Life, {rank}, {d}-D": partial(web_of_life, rank, d) for rank in ("phyla", "classes") for d in (2, 10)},
    **{f"WordNet, {word}, {d}-D": partial(subtree, word, d) for word in SUBTREES for d in (2, 10)},
}


def is_subtree(name):
    """Return whether a data set is one subtree against all other nouns."""
    return name.startswith("WordNet")


@cache
def points(name, rows):
    """Return at most ``rows`` random rows of a set (all if None), without small classes, with integers as labels."""
    X, y = MAKERS[name]()
    most = min(rows or len(X), LIMITS.get(name, len(X)))
    chosen = np.random.default_rng(0).permutation(len(X))[:most]
    X = np.ascontiguousarray(np.asarray(X, dtype=np.float64)[chosen])
    y = np.unique(np.asarray(y)[chosen], return_inverse=True)[1]
    kept = np.bincount(y)[y] >= FEWEST
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def fit(method, X, y):
    """Fit a new classifier."""
    if method == "Gaussian SVC, tuned":
        grid = {"C": [0.1, 1, 10, 100, 1000], "gamma": [0.1, 1, 10, 100, 1000]}
        some = np.random.default_rng(0).permutation(len(X))[:TUNING_ROWS]
        search = GridSearchCV(SVC(kernel="rbf"), grid, cv=3, refit=False).fit(X[some], y[some])
        return SVC(kernel="rbf", **search.best_params_).fit(X, y)
    model = {
        "PoincareKernelClassifier": PoincareKernelClassifier(),
        "PoincareKNeighborsClassifier": PoincareKNeighborsClassifier(),
        "PoincareLogisticRegression": PoincareLogisticRegression(),
        "random forest": RandomForestClassifier(random_state=0),
        "histogram boosting": HistGradientBoostingClassifier(random_state=0),
    }[method]
    return model.fit(X, y)


def measure(config, cell):
    """Measure the accuracy or average precision in per cent, the log-loss, and the seconds of the fits."""
    X, y = points(cell["set"], config.rows)
    folds = StratifiedKFold(2, shuffle=True, random_state=cell["repeat"])
    found = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for train, test in folds.split(X, y):
            start = process_time()
            model = fit(cell["method"], X[train], y[train])
            seconds = process_time() - start
            quality = np.mean(model.predict(X[test]) == y[test])
            if isinstance(model, SVC):
                model = CalibratedClassifierCV(model, cv=3, ensemble=False).fit(X[train], y[train])
            # A probability of 0 counts as half a training row.
            raw = model.predict_proba(X[test])
            probabilities = np.maximum(raw, 0.5 / len(train))
            probabilities /= probabilities.sum(axis=1, keepdims=True)
            if is_subtree(cell["set"]):
                quality = average_precision_score(y[test], raw[:, 1])
            found.append((100 * quality, log_loss(y[test], probabilities, labels=np.unique(y[train])), seconds))
    quality, loss, seconds = np.mean(found, axis=0)
    measured = {"quality": round(quality, 2), "log_loss": round(loss, 4), "seconds": round(seconds, 2)}
    # The code may change between the cells of a run, which takes hours.
    return {"n": len(X), **measured, "commit": commit()}


def repeats_of(name, config):
    """Return the number of repeats of 2-fold cross-validation on a set."""
    if name.startswith("Web of Life"):
        return config.life_repeats
    return config.large_repeats if len(points(name, config.rows)[0]) > LARGE else config.repeats


def run(config, folder):
    """Measure the missing cells, then write the table."""
    repeats = {name: repeats_of(name, config) for name in config.sets}
    # Baselines come first, because they do not change with this library. Each repeat covers all sets before the next.
    cells = [
        {"set": name, "repeat": repeat, "method": method}
        for methods in (config.methods[1:], config.methods[:1])
        for repeat in range(max(repeats.values()))
        for name in config.sets
        for method in methods
        if repeat < repeats[name]
    ]
    rows = fill(folder, "curved", config, cells, partial(measure, config), grows=GROWS)
    (folder / "curved.md").write_text(text(rows, config))
    return rows


def text(rows, config):
    """Tables of accuracies, average precisions, log-losses and times, one column per classifier, and the mean ranks."""
    names = [name for name in config.sets if any(row["set"] == name for row in rows)]
    subtrees = [name for name in names if is_subtree(name)]
    others = [name for name in names if not is_subtree(name)]
    size = "the rows" if config.rows is None else f"at most {config.rows:,} rows"
    lines = [
        f"Classes whose boundaries curve, {config.name} configuration: repeated 2-fold cross-validation on {size} of "
        f"each set. The SVC is tuned on at most {TUNING_ROWS:,} training rows and fitted to all. The best of a row is "
        "in bold; rank 1 is the best. The last table has the commits at which a row was measured; curved.csv has the "
        "commit of each cell."
    ]
    for title, metric, sign, form, own in (
        ("accuracy", "quality", -1, "{:.1f}", others),
        ("average precision", "quality", -1, "{:.1f}", subtrees),
        ("log-loss", "log_loss", 1, "{:.3f}", names),
        ("CPU seconds", "seconds", 1, "{:.1f}", names),
    ):
        if own:
            lines += ["", *table(rows, config.methods, own, title, metric, sign, form)]
    return "\n".join(lines) + "\n"


def table(rows, methods, names, title, metric, sign, form):
    """Return the lines of one table."""
    last = ["commits"] if metric == "seconds" else []
    head = [title, "rows", "repeats", *methods, *last]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    ranks = []
    for name in names:
        own = np.array([mean_of(rows, name, method, metric) for method in methods])
        ranks.append([1 + np.sum(sign * own < sign * value) for value in own])
        shown = [f"**{form.format(v)}**" if r == 1 else form.format(v) for v, r in zip(own, ranks[-1], strict=True)]
        sizes = [row["n"] for row in rows if (row["set"], row["method"]) == (name, methods[0])]
        commits = [", ".join(sorted({row["commit"] for row in rows if row["set"] == name}))] if last else []
        lines.append(f"| {' | '.join([name, f'{sizes[0]:,}', str(len(sizes)), *shown, *commits])} |")
    if metric != "seconds":
        lines.append(f"| mean rank | | | {' | '.join(f'{rank:.1f}' for rank in np.mean(ranks, axis=0))} |")
    return lines


def mean_of(rows, name, method, metric):
    """Return the mean over the repeats."""
    return np.mean([float(row[metric]) for row in rows if (row["set"], row["method"]) == (name, method)])
