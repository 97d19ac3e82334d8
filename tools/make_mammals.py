"""Make ``mammals.csv``: the mammals of WordNet 3.0, a tree in the Poincaré disk, labelled by order.

Run from the root of the checkout, with the nouns of WordNet 3.0 (Debian: ``apt-get install wordnet-base``)::

    python tools/make_mammals.py /usr/share/wordnet/data.noun src/hyplearn/datasets/data/mammals.csv

The tree
    All synsets that can be reached from "mammal, mammalian" by hyponym pointers. Instances (Secretariat, Lucy) are left
    out. A synset with two parents keeps the parent of the first visit, breadth first, so its path to the root is a
    shortest one. This concerns one synset: the elephant is a pachyderm first and a proboscidean second. Rows are in the
    order of the visit; a parent comes before its children.

The names
    The first lemma of each synset. If several synsets have the same lemma, the second is called "pony 2", the third
    "pony 3".

The labels
    A synset belongs to the order (or WordNet's equivalent of an order) that it is, or that is above it. WordNet puts
    the pinnipeds under aquatic mammals, not under carnivores; this is kept. Only orders of more than 20 synsets have a
    name; "other" holds the 58 synsets above the orders (mammal, placental, ungulate), beside them (livestock,
    yearling) and in small orders (elephants, sea cows, monotremes).

The points
    ``hyplearn.embedding.TreeEmbedding`` with ``layout="wedges"``: the root is the origin and every edge has hyperbolic
    length 1, so a tree distance is a count of edges and the hyperbolic distance never exceeds it. Children share out
    their parent's wedge of directions in proportion to their numbers of leaves to the power 0.7. Wedges are nested,
    subtrees never meet, and no two edges cross.

The bytes
    The layout rounds away the digits in which mathematical libraries differ, so the file is the same on all machines.
"""

import csv
import sys
from collections import Counter, deque
from pathlib import Path
from typing import NamedTuple

from hyplearn.embedding import TreeEmbedding

ROOT = ["mammal", "mammalian"]
ORDERS = {
    "bat": "bats",
    "carnivore": "carnivores",
    "cetacean": "cetaceans",
    "edentate": "edentates",
    "even-toed ungulate": "even-toed ungulates",
    "insectivore": "insectivores",
    "lagomorph": "lagomorphs",
    "marsupial": "marsupials",
    "odd-toed ungulate": "odd-toed ungulates",
    "pinniped mammal": "pinnipeds",
    "primate": "primates",
    "rodent": "rodents",
}
OTHER = "other"


class Synset(NamedTuple):
    """A noun of WordNet: its lemmas, and the offsets of its hyponyms in the file's order."""

    lemmas: list[str]
    hyponyms: list[str]


def read_synsets(path: Path) -> dict[str, Synset]:
    """Read ``data.noun``; the format is described in the manual page wndb(5)."""
    with path.open(encoding="utf-8") as lines:
        # The licence at the head of the file is indented by two spaces.
        records = [line.split(" | ")[0].split() for line in lines if not line.startswith("  ")]
    return {record[0]: parse_synset(record) for record in records}


def parse_synset(record: list[str]) -> Synset:
    """Parse the fields ``offset file type n (lemma id)*n m (symbol offset type source)*m``; n is hexadecimal."""
    end = 4 + 2 * int(record[3], 16)
    lemmas = [lemma.replace("_", " ") for lemma in record[4:end:2]]
    symbols, targets = record[end + 1 :: 4], record[end + 2 :: 4]
    return Synset(lemmas, [target for symbol, target in zip(symbols, targets, strict=True) if symbol == "~"])


def find_root(synsets: dict[str, Synset]) -> str:
    """Find the offset of the synset "mammal, mammalian"."""
    for offset, synset in synsets.items():
        if synset.lemmas == ROOT:
            return offset
    raise SystemExit("No synset 'mammal, mammalian' in this file. Pass the data.noun of WordNet 3.0.")


def visit(synsets: dict[str, Synset], root: str) -> tuple[list[str], list[int]]:
    """Visit the hyponyms of ``root`` breadth first: the offsets in order of first visit, and the row of each parent."""
    parents = {root: -1}
    queue = deque([(0, root)])
    while queue:
        row, offset = queue.popleft()
        for hyponym in synsets[offset].hyponyms:
            if hyponym not in parents:
                queue.append((len(parents), hyponym))
                parents[hyponym] = row
    return list(parents), list(parents.values())


def number_repeats(lemmas: list[str]) -> list[str]:
    """Make names unique: the second "pony" becomes "pony 2"."""
    seen: Counter[str] = Counter()
    names = []
    for lemma in lemmas:
        seen[lemma] += 1
        names.append(lemma if seen[lemma] == 1 else f"{lemma} {seen[lemma]}")
    return names


def label(names: list[str], parents: list[int]) -> list[str]:
    """Label each node by its order, which its descendants inherit."""
    labels: list[str] = []
    for name, parent in zip(names, parents, strict=True):
        inherited = OTHER if parent < 0 else labels[parent]
        labels.append(ORDERS.get(name, OTHER) if inherited == OTHER else inherited)
    return labels


def make(source: Path, target: Path) -> None:
    """Write the csv file ``target`` from WordNet's ``source``."""
    synsets = read_synsets(source)
    offsets, parents = visit(synsets, find_root(synsets))
    names = number_repeats([synsets[offset].lemmas[0] for offset in offsets])
    labels = label(names, parents)
    points = TreeEmbedding(layout="wedges", scale=1.0).fit_transform(parents).tolist()
    rows = zip(names, parents, labels, points, strict=True)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "parent", "order", "x0", "x1"])
        writer.writerows([name, parent, order, repr(x0), repr(x1)] for name, parent, order, (x0, x1) in rows)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("Usage: python tools/make_mammals.py DATA_NOUN MAMMALS_CSV")
    make(Path(sys.argv[1]), Path(sys.argv[2]))
