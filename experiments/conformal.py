"""Prediction sets: coverage, size, unknown classes, and answers in a tree, measured on random splits.

ConformalClassifier around PoincareLogisticRegression with the coverage 0.9, on Olsson's cells, the mammals, and
Poincaré maps of the digits (30 principal components) and of scanpy's blood cells (`pbmc68k_reduced`, ten types). 30 %
of the rows are held out at random, so that rows are exchangeable. "coverage" is the share of held-out rows whose set
contains their class, ± the standard error over the splits. "attained" is the coverage that the theorem guarantees for
the numbers of rows of these splits: 0.9 rounded up to a multiple of 1 / (n + 1) (by class, classes with fewer than nine
rows are calibrated together). "least class" is the coverage of the class with the lowest coverage. "size" is the mean
number of classes in a set, "one" and "none" are the shares of sets with one class and with no class.

For unknown classes, each class in turn is left out of the training rows. "new" is the share of its rows with an empty
set, "known" the same share among held-out rows of the other classes. The threshold calls a row unknown if its largest
probability is below a value, which is chosen so that as many held-out rows of known classes are called unknown as by
distance.

For the tree, genomes of the Web of Life are embedded in two and in ten dimensions by TreeEmbedding. The classes are the
taxa of one rank with at least twenty genomes, for each of the seven ranks, and the hierarchy is the taxonomy above
them. "depth" is the mean rank of the answers (kingdom 1, phylum 2, class 3, order 4, family 5, genus 6, species 7; 0
for the root), "at class" the fraction of answers that are a single class. The classifier is
PoincareKNeighborsClassifier, and also PoincareLogisticRegression for the two ranks with few classes: with 55 families,
one of its fits takes a minute. Sets by distance do not depend on the classifier. Sets by the probabilities of
neighbours are large if neighbours disagree: if some training rows of a class have no neighbour of the same class, the
class has probability 0 among them, and is then in every set.

Sets by MAPIE (LAC, whose score is the probability) with five folds, and with 30 % of the rows held out, are measured on
the same splits if mapie is installed. MAPIE has no sets by class.

    python experiments conformal           # a minute; into experiments/results/quick
    python experiments conformal --full    # minutes; writes experiments/results/conformal.*
"""

import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import count, islice

import numpy as np
from embedding_cells import data as features
from ledger import fill
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from hyplearn import ConformalClassifier, PoincareKNeighborsClassifier, PoincareLogisticRegression
from hyplearn.datasets import fetch_olsson, fetch_web_of_life, load_mammals
from hyplearn.decision.conformal import calibration_groups
from hyplearn.embedding import PoincareMap, TreeEmbedding

COVERAGE = 0.9
# Depth of each rank in the tree of life, and minimum number of genomes of a class.
RANKS = {"kingdom": 1, "phylum": 2, "class": 3, "order": 4, "family": 5, "genus": 6, "species": 7}
LEAST_GENOMES = 20
LIFE_CLASSIFIERS = {"neighbours": PoincareKNeighborsClassifier, "softmax": PoincareLogisticRegression}
# Ranks with few classes (2 and 12). Only these use the softmax, because a fit with 55 classes takes a minute.
FEW_CLASSES = ("kingdom", "species")
MAPIE = {"MAPIE cross": "cross", "MAPIE split": "split"}


@dataclass(frozen=True)
class Config:
    """Data sets and number of splits; the default is the quick configuration."""

    name: str = "quick"
    sets: tuple[str, ...] = ("mammals",)
    splits: int = 4
    distance_splits: int = 4  # sets by distance need no fits, so that many splits take little time
    life: bool = False


FULL = Config(
    name="full", sets=("olsson", "mammals", "digits", "pbmc68k_reduced"), splits=200, distance_splits=500, life=True
)


@lru_cache
def points(name):
    """Return points in the disk and their classes as integers."""
    if name == "mammals":
        X, y = load_mammals(return_X_y=True)
    elif name == "olsson":
        found = fetch_olsson()
        X, y = np.r_[found.X_train, found.X_test], np.r_[found.y_train, found.y_test]
    else:
        X, y = features(name, 1)
        X = PCA(30, random_state=0).fit_transform(X) if name == "digits" else X
        X = PoincareMap(random_state=0).fit_transform(X)
    return X, np.unique(y, return_inverse=True)[1]


def split(n, seed):
    return train_test_split(np.arange(n), test_size=0.3, random_state=seed)


def splits(y, number):
    """Yield random splits; those with fewer than two training rows of a class cannot be calibrated, and are skipped."""
    drawn = (split(len(y), seed) for seed in count())
    return islice((parts for parts in drawn if np.bincount(y[parts[0]], minlength=y.max() + 1).min() > 1), number)


def sets_of(method, by_class, X, y, new):
    """Compute the prediction sets of new rows."""
    if method in MAPIE:
        return mapie_sets(MAPIE[method], X, y, new)
    model = ConformalClassifier(PoincareLogisticRegression(), conformity=method, by_class=by_class, coverage=COVERAGE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about small classes
        return model.fit(X, y).predict_set(new)


def mapie_sets(kind, X, y, new):
    from mapie.classification import CrossConformalClassifier, SplitConformalClassifier

    model = PoincareLogisticRegression()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "cross":
            found = CrossConformalClassifier(model, confidence_level=COVERAGE, cv=5, random_state=0).fit_conformalize(
                X, y
            )
        else:
            train, rest = train_test_split(np.arange(len(X)), test_size=0.3, random_state=0, stratify=y)
            found = SplitConformalClassifier(model, confidence_level=COVERAGE, prefit=False).fit(X[train], y[train])
            found = found.conformalize(X[rest], y[rest])
        return found.predict_set(new)[1][:, :, 0]


def attained(counts):
    """Return the guaranteed coverage for n training rows, whose p-values are multiples of 1 / (n + 1)."""
    return 1 - np.floor(np.round((1 - COVERAGE) * (counts + 1), 9)) / (counts + 1)


def attained_by_class(codes):
    """Return the guaranteed coverage of each class, or of the group with which it is calibrated."""
    counts = np.bincount(codes)
    groups = calibration_groups(counts, COVERAGE)
    return attained(np.bincount(groups, counts)[groups])


def coverage(config, cell):
    """Measure the mean coverage and the mean set sizes over the splits."""
    X, y = points(cell["set"])
    by_class = cell["by class"] == "yes"
    found, proven, hits, sizes = [], [], [], []
    for old, new in splits(y, config.distance_splits if cell["sets by"] == "distance" else config.splits):
        sets = sets_of(cell["sets by"], by_class, X[old], y[old], X[new])
        hit = sets[np.arange(len(new)), y[new]]
        found.append(hit.mean())
        proven.append(attained_by_class(y[old])[y[new]].mean() if by_class else attained(len(old)))
        hits.append((hit, y[new]))
        sizes.append([sets.sum(axis=1).mean(), np.mean(sets.sum(axis=1) == 1), np.mean(sets.sum(axis=1) == 0)])
    hit, codes = (np.concatenate(part) for part in zip(*hits, strict=True))
    size, one, none = np.mean(sizes, axis=0)
    return {
        "coverage": round(float(np.mean(found)), 4),
        "±": round(float(np.std(found, ddof=1) / np.sqrt(len(found))), 4),
        "attained": round(float(np.mean(proven)), 4),
        "least class": round(min(float(hit[codes == k].mean()) for k in np.unique(codes)), 3),
        "size": round(float(size), 2),
        "one": round(float(one), 3),
        "none": round(float(none), 3),
    }


def unknown(config, cell):
    """Measure the shares of empty sets when each class in turn is left out of the training rows."""
    X, y = points(cell["set"])
    shares = []
    for left_out in np.unique(y):
        known = np.flatnonzero(y != left_out)
        codes = np.unique(y[known], return_inverse=True)[1]
        old, held = split(len(known), int(left_out))
        new = np.concatenate([X[known][held], X[y == left_out]])
        by_distance = ~sets_of("distance", True, X[known][old], codes[old], new).any(axis=1)
        if cell["unknown by"] == "threshold":
            best = PoincareLogisticRegression().fit(X[known][old], codes[old]).predict_proba(new).max(axis=1)
            empty = best < np.quantile(best[: len(held)], by_distance[: len(held)].mean())
        elif cell["unknown by"] == "probability":
            empty = ~sets_of("probability", True, X[known][old], codes[old], new).any(axis=1)
        else:
            empty = by_distance
        shares.append([empty[: len(held)].mean(), empty[len(held) :].mean()])
    known_share, new_share = np.mean(shares, axis=0)
    return {"known": round(float(known_share), 3), "new": round(float(new_share), 3)}


@lru_cache
def life(depth, dimensions):
    """Points, classes and taxonomy of the genomes; the classes are the taxa of one rank with enough genomes."""
    found = fetch_web_of_life()
    tips = np.setdiff1d(np.arange(len(found.names)), found.parents)
    X = TreeEmbedding(dimensions).fit(found.newick).embedding_
    own = found.ranks[tips, depth - 1]
    names, counts = np.unique(own, return_counts=True)
    kept = tips[np.isin(own, names[(counts >= LEAST_GENOMES) & (names != "")])]
    lineages = [tuple(ranks[:depth]) for ranks in found.ranks[kept].tolist()]
    parents = {}
    for lineage in lineages:
        for rank in range(depth):
            parents["/".join(lineage[: rank + 1])] = "/".join(lineage[:rank]) or "life"
    return X[kept], np.array(["/".join(lineage) for lineage in lineages]), parents


def life_cells():
    """Return one cell for every measurement in the tree of life."""
    near = [(rank, d, "neighbours", by) for d in (2, 10) for rank in RANKS for by in ("distance", "probability")]
    cells = near + [(rank, 10, "softmax", "probability") for rank in FEW_CLASSES]
    return [dict(zip(("classes", "dimensions", "classifier", "sets by"), cell, strict=True)) for cell in cells]


def tree(config, cell):
    """Measure the coverage of the prediction sets and of the answers, and the mean rank of the answers."""
    X, y, parents = life(RANKS[cell["classes"]], cell["dimensions"])
    classifier, rows = LIFE_CLASSIFIERS[cell["classifier"]](), []
    for seed in range(min(10, config.splits)):
        old, new = split(len(X), seed)
        model = ConformalClassifier(classifier, conformity=cell["sets by"], hierarchy=parents, coverage=COVERAGE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[old], y[old])
        sets = model.predict_set(X[new])
        hit = sets[np.arange(len(new)), np.searchsorted(model.classes_, y[new])]
        answers = model.predict_answer(X[new])
        right = [
            answer == "life" or (answer is not None and f"{true}/".startswith(f"{answer}/"))
            for answer, true in zip(answers, y[new], strict=True)
        ]
        depth = [0 if answer == "life" else answer.count("/") + 1 for answer in answers if answer is not None]
        accuracy, sizes = np.mean(model.predict(X[new]) == y[new]), sets.sum(axis=1)
        at_class = np.mean(np.array(depth) == RANKS[cell["classes"]])
        rows.append([accuracy, hit.mean(), sizes.mean(), np.mean(right), np.mean(depth), at_class, np.mean(sizes == 0)])
    names = ("accuracy", "coverage of sets", "size", "coverage of answers", "depth", "at class", "none")
    return {"number": len(np.unique(y))} | {
        name: round(float(value), 3) for name, value in zip(names, np.mean(rows, axis=0), strict=True)
    }


def run(config, folder):
    """Run all measurements and write the three tables."""
    ours = [(by, own) for by in ("probability", "distance") for own in ("yes", "no")]
    theirs = [(name, "no") for name in MAPIE] if find_spec("mapie") else []
    cells = [{"set": name, "sets by": by, "by class": own} for name in config.sets for by, own in ours + theirs]
    tables = [fill(folder, "conformal_coverage", config, cells, partial(coverage, config))]
    cells = [{"set": s, "unknown by": by} for s in config.sets for by in ("distance", "probability", "threshold")]
    tables.append(fill(folder, "conformal_unknown", config, cells, partial(unknown, config)))
    if config.life:
        tables.append(fill(folder, "conformal_life", config, life_cells(), partial(tree, config)))
    notes = __doc__.split("\n\n", 1)[1].rsplit("\n\n    python", 1)[0]
    (folder / "conformal.md").write_text("\n\n".join([*map(text, tables), notes]) + "\n")
    return tables


def text(rows):
    """Format the rows as a Markdown table."""
    lines = [f"| {' | '.join(rows[0])} |", "| --- " * len(rows[0]) + "|"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row.values()))} |" for row in rows])
