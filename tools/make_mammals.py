r"""Make ``mammals.csv``: the mammals of WordNet 3.0, a tree in the Poincaré disk, labelled by order.

Run from the root of the checkout, with the nouns of WordNet 3.0 (Debian: ``apt-get install wordnet-base``)::

    python tools/make_mammals.py /usr/share/wordnet/data.noun src/hyplearn/datasets/data/mammals.csv

The tree
    Everything below the synset "mammal, mammalian" by hyponym pointers. Instances (Secretariat, Lucy) are left out. A
    synset met twice keeps the parent of the first visit, breadth first, so its path to the root is a shortest one. That
    concerns one synset: the elephant is a pachyderm first and a proboscidean second. Rows stand in the order of the
    visit; a parent stands before its children.

The names
    The first lemma of each synset. Where a lemma repeats, its second bearer is called "pony 2", its third "pony 3".

The labels
    A synset belongs to the order (or what WordNet has in its place) that it is, or is below of. WordNet files the
    pinnipeds under aquatic mammals, not under carnivores; they stay there. Only orders of more than 20 synsets have a
    name; "other" holds the 58 synsets above the orders (mammal, placental, ungulate), beside them (livestock,
    yearling) and in small orders (elephants, sea cows, monotremes).

The points
    The root is the origin and every edge has hyperbolic length 1, so a tree distance is a count of edges and the
    hyperbolic distance never exceeds it. A node owns a wedge of the directions at its point, bisected by the direction
    away from its parent; the root owns all of them. The children share out their parent's wedge, each in proportion to
    its number of leaves to the power 0.7, and stand on the bisectors of their shares. A child's own wedge ends in the
    same ideal points as its share: one edge of length :math:`\ell` farther out, a half-angle :math:`h` has opened to

    .. math:: \tan\tfrac{h'}{2} = e^{\ell} \tan\tfrac{h}{2}.

    So wedges are nested, subtrees never meet, and no two edges cross.

The bytes
    Mathematical libraries disagree in the last digit of tan and pow. Their results are rounded to nine decimals before
    use; what follows is +, −, ×, ÷ and √, which IEEE 754 fixes. The same file comes out everywhere.
"""

import csv
import math
import sys
from collections import Counter, deque
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

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

# With power 1 the small orders get slivers, with 0 the dogs get no more room than the aardvark. Between 0.5 and 0.8 the
# distortion of tree distances hardly changes; 0.7 fills the disk best.
SHARE_POWER = 0.7
EXP_EDGE = math.e  # exp of the edge's length, 1
TANH_HALF_EDGE = (EXP_EDGE - 1) / (EXP_EDGE + 1)
DECIMALS = 9

Vector = tuple[float, float]


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
    """Take the fields ``offset file type n (lemma id)*n m (symbol offset type source)*m`` apart; n is hexadecimal."""
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


def list_children(parents: list[int]) -> list[list[int]]:
    """List the children of each node, in row order."""
    children: list[list[int]] = [[] for _ in parents]
    for row, parent in enumerate(parents[1:], start=1):
        children[parent].append(row)
    return children


def count_leaves(children: list[list[int]]) -> list[int]:
    """Count the leaves below each node; a leaf counts itself."""
    leaves = [0] * len(children)
    for row in reversed(range(len(children))):
        leaves[row] = sum(leaves[child] for child in children[row]) or 1
    return leaves


def embed(parents: list[int]) -> list[Vector]:
    """Place the tree in the disk, the root at the origin, as "The points" above describes."""
    children = list_children(parents)
    shares = [count**SHARE_POWER for count in count_leaves(children)]
    points, outward, wedges = [(0.0, 0.0)], [(1.0, 0.0)], [math.pi]
    # Breadth-first rows: the children of row 0, of row 1, ... are the rows 1, 2, 3, ..., so appending keeps the order.
    for row, siblings in enumerate(children):
        for angle, half in split(wedges[row], [shares[child] for child in siblings]):
            direction = turn(outward[row], angle)
            point = mobius_add(points[row], scale(TANH_HALF_EDGE, direction))
            points.append(point)
            outward.append(unit(scale(-1, mobius_add(scale(-1, point), points[row]))))
            wedges.append(2 * math.atan(EXP_EDGE * math.tan(half / 2)))
    return points


def split(half: float, shares: list[float]) -> list[tuple[float, float]]:
    """Share out the wedge from ``-half`` to ``half``: the bisector and the half-angle of each part."""
    total = sum(shares)
    halves = [half * share / total for share in shares]
    ends = [-half]
    for part in halves:
        ends.append(ends[-1] + 2 * part)
    return [((start + end) / 2, part) for (start, end), part in zip(pairwise(ends), halves, strict=True)]


def turn(u: Vector, angle: float) -> Vector:
    r"""Turn ``u`` by the angle whose half has the tangent :math:`t`, rounded.

    .. math:: (\cos, \sin) = \left( \tfrac{1 - t^2}{1 + t^2}, \tfrac{2t}{1 + t^2} \right)
    """
    t = round(math.tan(angle / 2), DECIMALS)
    cos, sin = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    return (cos * u[0] - sin * u[1], sin * u[0] + cos * u[1])


def mobius_add(x: Vector, y: Vector) -> Vector:
    r"""Möbius addition, with no cancellation in the denominator.

    .. math:: x \oplus y = \frac{(1 - \|x\|^2) \, t + \|t\|^2 x}{(1 - \|x\|^2)(1 - \|y\|^2) + \|t\|^2}, \quad t = x + y
    """
    t = (x[0] + y[0], x[1] + y[1])
    gap_x, gap_y, square = 1 - dot(x, x), 1 - dot(y, y), dot(t, t)
    denominator = gap_x * gap_y + square
    return ((gap_x * t[0] + square * x[0]) / denominator, (gap_x * t[1] + square * x[1]) / denominator)


def scale(r: float, x: Vector) -> Vector:
    """Multiply by a number."""
    return (r * x[0], r * x[1])


def unit(x: Vector) -> Vector:
    """Divide by the norm."""
    return scale(1 / math.sqrt(dot(x, x)), x)


def dot(x: Vector, y: Vector) -> float:
    """Euclidean inner product."""
    return x[0] * y[0] + x[1] * y[1]


def make(source: Path, target: Path) -> None:
    """Write the csv file ``target`` from WordNet's ``source``."""
    synsets = read_synsets(source)
    offsets, parents = visit(synsets, find_root(synsets))
    names = number_repeats([synsets[offset].lemmas[0] for offset in offsets])
    labels = label(names, parents)
    rows = zip(names, parents, labels, embed(parents), strict=True)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "parent", "order", "x0", "x1"])
        writer.writerows([name, parent, order, repr(x0), repr(x1)] for name, parent, order, (x0, x1) in rows)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("Usage: python tools/make_mammals.py DATA_NOUN MAMMALS_CSV")
    make(Path(sys.argv[1]), Path(sys.argv[2]))
