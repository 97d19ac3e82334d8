import runpy
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hyplearn.datasets import load_mammals

EDGE = 1.0
CHECKOUT = Path(__file__).parents[2]
DATA_NOUN = Path("/usr/share/wordnet/data.noun")


@pytest.fixture(scope="module")
def mammals():
    return load_mammals()


def distance(x, y):
    """2 arsinh(‖x − y‖ / √((1 − ‖x‖²)(1 − ‖y‖²))), row by row."""
    gaps = (1 - np.sum(x**2, axis=-1)) * (1 - np.sum(y**2, axis=-1))
    return 2 * np.arcsinh(np.linalg.norm(x - y, axis=-1) / np.sqrt(gaps))


def count_edges(parents):
    """Tree distances: a node is one edge farther than its parent from all earlier rows."""
    edges = np.zeros((len(parents), len(parents)))
    for row in range(1, len(parents)):
        edges[row, :row] = edges[:row, row] = edges[parents[row], :row] + 1
    return edges


def test_parents_form_a_tree_with_the_mammal_as_root(mammals):
    # If parents are in earlier rows, there are no cycles, and every path upwards ends at row 0.
    assert mammals.parents[0] == -1
    assert mammals.names[0] == "mammal"
    assert np.all(mammals.parents[1:] >= 0)
    assert np.all(mammals.parents[1:] < np.arange(1, len(mammals.parents)))


def test_names_are_unique(mammals):
    assert len(set(mammals.names)) == len(mammals.names)


def test_known_lineage_is_found(mammals):
    row = list(mammals.names).index("Siamese cat")
    lineage = []
    while row >= 0:
        lineage.append(str(mammals.names[row]))
        row = mammals.parents[row]
    assert lineage == ["Siamese cat", "domestic cat", "cat", "feline", "carnivore", "placental", "mammal"]


def test_root_is_the_origin(mammals):
    assert np.array_equal(mammals.data[0], [0.0, 0.0])


def test_points_lie_in_the_disk_within_the_stated_radius(mammals):
    radius = 2 * np.arctanh(np.linalg.norm(mammals.data, axis=1).max())  # nan or inf on and beyond the rim
    assert radius == pytest.approx(8.24, abs=0.005)


def test_points_are_distinct(mammals):
    assert len(np.unique(mammals.data, axis=0)) == len(mammals.data)


def test_every_edge_has_length_one(mammals):
    lengths = distance(mammals.data[1:], mammals.data[mammals.parents[1:]])
    np.testing.assert_allclose(lengths, EDGE, rtol=1e-9)


def test_no_two_edges_cross(mammals):
    # Geodesics are straight in Klein coordinates. Two segments cross if each has its ends on both sides of the other.
    klein = 2 * mammals.data / (1 + np.sum(mammals.data**2, axis=1, keepdims=True))
    start, end = klein[mammals.parents[1:]], klein[1:]

    def side(point):
        """Side of each edge (rows) on which each point (columns) lies."""
        along, across = (end - start)[:, None], point[None] - start[:, None]
        return np.sign(along[..., 0] * across[..., 1] - along[..., 1] * across[..., 0])

    apart = side(start) * side(end) < 0
    # Edges with a common node meet at it, and rounding must not decide on which side it lies.
    nodes = np.column_stack([mammals.parents[1:], np.arange(1, len(klein))])
    touching = np.any(nodes[:, None, :, None] == nodes[None, :, None, :], axis=(2, 3))
    assert not np.any(apart & apart.T & ~touching)


def test_tree_distances_are_distorted_as_described(mammals):
    above = np.triu_indices(len(mammals.data), 1)
    ratios = EDGE * count_edges(mammals.parents)[above] / distance(mammals.data[above[0]], mammals.data[above[1]])
    assert ratios.min() >= 1 - 1e-9  # a path is at least as long as the geodesic
    assert ratios.mean() == pytest.approx(1.31, abs=0.005)
    assert ratios.max() == pytest.approx(61, abs=0.5)


def test_descendants_belong_to_the_order_of_their_ancestor(mammals):
    above, own = mammals.target[mammals.parents[1:]], mammals.target[1:]
    assert np.all((above == own) | (above == "other"))


def test_each_order_is_one_subtree(mammals):
    heads = [
        str(mammals.names[row])
        for row in range(1, len(mammals.names))
        if mammals.target[row] not in ("other", mammals.target[mammals.parents[row]])
    ]
    assert sorted(heads) == [
        "bat",
        "carnivore",
        "cetacean",
        "edentate",
        "even-toed ungulate",
        "insectivore",
        "lagomorph",
        "marsupial",
        "odd-toed ungulate",
        "pinniped mammal",
        "primate",
        "rodent",
    ]


def test_counts_of_the_orders_are_those_described(mammals):
    counts = {
        "carnivores": 366,
        "even-toed ungulates": 185,
        "rodents": 139,
        "odd-toed ungulates": 116,
        "primates": 105,
        "other": 58,
        "bats": 41,
        "marsupials": 37,
        "cetaceans": 33,
        "lagomorphs": 25,
        "edentates": 22,
        "pinnipeds": 22,
        "insectivores": 21,
    }
    assert Counter(mammals.target.tolist()) == counts
    assert mammals.target_names == sorted(counts)
    assert all(f"{name} {count}" in mammals.DESCR.replace("\n", " ") for name, count in counts.items())


def test_columns_have_the_shapes_and_types_documented(mammals):
    assert mammals.data.shape == (1170, 2)
    assert mammals.data.dtype == np.float64
    assert mammals.feature_names == ["x0", "x1"]
    assert mammals.target.shape == mammals.names.shape == mammals.parents.shape == (1170,)
    assert mammals.target.dtype.kind == mammals.names.dtype.kind == "U"
    assert mammals.parents.dtype.kind == "i"


def test_data_and_target_alone_are_the_same(mammals):
    X, y = load_mammals(return_X_y=True)
    assert np.array_equal(X, mammals.data)
    assert np.array_equal(y, mammals.target)


def test_every_load_is_a_fresh_copy():
    load_mammals().data[:] = 0
    assert load_mammals().data.any()


def test_the_file_is_reproduced_byte_for_byte_from_wordnet(tmp_path):
    if not DATA_NOUN.exists():
        pytest.skip(f"{DATA_NOUN} is absent; on Debian: apt-get install wordnet-base")
    tool = runpy.run_path(str(CHECKOUT / "tools" / "make_mammals.py"))
    tool["make"](DATA_NOUN, tmp_path / "mammals.csv")
    shipped = CHECKOUT / "src" / "hyplearn" / "datasets" / "data" / "mammals.csv"
    assert (tmp_path / "mammals.csv").read_bytes() == shipped.read_bytes()
