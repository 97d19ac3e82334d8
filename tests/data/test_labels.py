"""Labels of every kind are distinguished by Python's equality in every classifier, or rejected."""

import enum
import pathlib
import uuid
import warnings
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.preprocessing import LabelEncoder

import hyplearn
from hyplearn import (
    ConformalClassifier,
    HyperbolicKernelMap,
    PoincareKNeighborsClassifier,
    PoincareLogisticRegression,
    PoincarePerceptron,
    PoincareSVC,
)
from hyplearn.data.labels import class_sizes
from hyplearn.paper import HyperboloidSVC
from hyplearn.plotting import BoundaryDisplay, DiskDisplay, HullDisplay

Text = enum.Enum("Text", {"A": "a", "B": "b", "D": "c"}, type=str)
Strings = enum.StrEnum("Strings", {"A": "a", "B": "b", "D": "c"})
Numbers = enum.IntEnum("Numbers", {"A": 1, "B": 2, "D": 7})
Flags = enum.IntFlag("Flags", {"A": 1, "B": 2, "D": 4})
Plain = enum.Enum("Plain", {"A": "a", "B": "b", "D": "c"})
Own = type("Own", (str,), {})
OwnInteger = type("OwnInteger", (int,), {})

KINDS = {
    "string enum": list(Text),
    "StrEnum": list(Strings),
    "IntEnum": list(Numbers),
    "IntFlag": list(Flags),
    "enum": list(Plain),
    "string subclass": [Own("a"), Own("b"), Own("c")],
    "integer subclass": [OwnInteger(3), OwnInteger(1), OwnInteger(2)],
    "trailing NUL": ["a", "a\0", "a\0\0"],
    "NUL inside": ["a\0b", "a\0", "b"],
    "empty": ["", "\0", "a"],
    "case": ["a", "A", "á"],
    "composed": ["\u00e9", "e\u0301", "e"],
    "space": ["a", "a ", "a\n"],
    "surrogate": ["\ud800", "a", "b"],
    "emoji": ["🐁", "🐀", "a"],
    "long": ["a" * 5000, "a" * 5001, "b"],
    "direction": ["a\u202e", "a", "b"],
    "digits": ["1", "01", "1.0"],
    "named like missing": ["nan", "None", ""],
    "NumPy strings": [np.str_("a"), np.str_("b"), np.str_("c")],
    "bytes": [b"a", b"b", b"c"],
    "bytes with NUL": [b"a", b"a\0", b"b"],
    "bytes and strings": [b"a", "a", "b"],
    "integers and strings": [1, "1", "2"],
    "booleans": [True, False, True],
    "booleans and integers": [True, 0, 2],
    "integers": [3, 1, 2],
    "negative": [-3, -1, 2],
    "wide": [-(2**62), 0, 2**62],
    "close in float64": [2**53, 2**53 + 1, 2**53 + 2],
    "uint64": [2**63, 2**63 + 1, 2**64 - 1],
    "beyond uint64": [2**64, 2**64 + 1, 2**65],
    "int8": [np.int8(-128), np.int8(0), np.int8(127)],
    "NumPy integers": [np.int64(1), np.int64(2), np.int64(5)],
    "NumPy numbers": [np.int64(1), np.float64(2), np.float32(5)],
    "integers and floats": [1, 2.0, 3],
    "floats": [0.0, 1.0, 2.0],
    "continuous": [0.5, 1.5, 2.5],
    "zeros": [-0.0, 0.0, 1.0],
    "NaN": [1.0, float("nan"), 2.0],
    "infinity": [1.0, float("inf"), 2.0],
    "None and strings": ["a", None, "b"],
    "None and integers": [1, None, 2],
    "NaN and strings": ["a", float("nan"), "b"],
    "NA": ["a", pd.NA, "b"],
    "NaT": [pd.Timestamp("2020"), pd.NaT, pd.Timestamp("2021")],
    "tuples": [(1, 2), (1, 3), (2, 1)],
    "sets": [frozenset({1}), frozenset({2}), frozenset({3})],
    "dates": [date(2020, 1, 1), date(2021, 1, 1), date(2022, 1, 1)],
    "times": [datetime(2020, 1, 1), datetime(2021, 1, 1), datetime(2022, 1, 1)],
    "durations": [timedelta(1), timedelta(2), timedelta(3)],
    "timestamps": [pd.Timestamp("2020"), pd.Timestamp("2021"), pd.Timestamp("2022")],
    "decimals": [Decimal("0.1"), Decimal("0.2"), Decimal("0.10000000000000000001")],
    "fractions": [Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)],
    "complex": [1j, 2j, 3j],
    "UUIDs": [uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=3)],
    "paths": [pathlib.Path("a"), pathlib.Path("b"), pathlib.Path("c")],
}
ALWAYS_STRINGS = [
    "string enum",
    "StrEnum",
    "string subclass",
    "trailing NUL",
    "NUL inside",
    "empty",
    "case",
    "surrogate",
]
CODES = np.repeat([0, 1, 2], 12)


def points():
    corners = np.array([[0.5, 0.0], [-0.3, 0.4], [-0.3, -0.4]])
    return corners[CODES] + np.random.default_rng(0).normal(scale=0.03, size=(len(CODES), 2))


def objects(labels):
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


FORMS = {"list": list, "tuple": tuple, "objects": objects, "series": lambda labels: pd.Series(labels, dtype=object)}


def fitted(model, y, X=None):
    """Classifier fitted to separable points, or the expected error; any other exception fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(points() if X is None else X, y)
        except (ValueError, TypeError) as error:
            return error


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_used_unchanged_or_rejected(kind, form):
    labels = [KINDS[kind][k] for k in CODES]
    y = FORMS[form](labels)
    model = fitted(PoincareLogisticRegression(), y)
    if isinstance(model, Exception):
        assert kind not in ALWAYS_STRINGS
        return
    assert len(model.classes_) == len(set(KINDS[kind]))
    assert kind == "bytes" or model.score(points(), y) == 1.0  # scikit-learn's metrics do not support bytes
    encoder = LabelEncoder().fit(y) if form in ("objects", "series") else LabelEncoder().fit(objects(labels))
    assert np.array_equal(encoder.transform(model.predict(points())), encoder.transform(objects(labels)))


CLASSIFIERS = [
    PoincareSVC(calibration=None),
    PoincareSVC(reference="means", calibration=None),
    PoincarePerceptron(calibration=None),
    PoincareKNeighborsClassifier(3),
    ConformalClassifier(PoincareKNeighborsClassifier(3), conformity="distance"),
    HyperboloidSVC(),
]


@pytest.mark.parametrize("kind", ALWAYS_STRINGS)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_classifier_distinguishes_strings(model, kind, classes):
    kept = np.less(CODES, classes)
    labels = [KINDS[kind][k] for k in CODES[kept]]
    model = fitted(model, labels, points()[kept])
    assert model.predict(points()[kept]).tolist() == labels
    assert model.score(points()[kept], labels) == 1.0


@pytest.mark.parametrize("kind", ALWAYS_STRINGS)
def test_a_stream_distinguishes_strings(kind):
    labels = [KINDS[kind][k] for k in CODES]
    model = PoincarePerceptron(reference="origin")
    for _ in range(10):
        model.partial_fit(points(), labels, classes=KINDS[kind])
    assert model.predict(points()).tolist() == labels


@pytest.mark.parametrize("kind", ALWAYS_STRINGS)
def test_pictures_and_hyperplanes_distinguish_strings(kind):
    labels = [KINDS[kind][k] for k in CODES]
    model = fitted(PoincareLogisticRegression(), labels)
    model.hyperplane_between(*model.classes_[:2])
    ax = Figure().add_subplot()
    DiskDisplay.from_points(points(), labels).plot(ax, legend=False)
    assert [len(one.get_offsets()) for one in ax.collections] == [12, 12, 12]
    BoundaryDisplay.from_estimator(model, points(), labels, resolution=20)
    hulls = HullDisplay.from_points(
        points()[CODES < 2], [label for label, k in zip(labels, CODES, strict=True) if k < 2]
    )
    assert all(len(vertices) >= 3 for vertices in hulls.hulls)
    assert hyplearn.explore(model, points(), labels).html


@pytest.mark.parametrize("kind", ALWAYS_STRINGS)
def test_model_files_preserve_strings(tmp_path, kind):
    labels = [KINDS[kind][k] for k in CODES]
    hyplearn.save(fitted(PoincareLogisticRegression(), labels), tmp_path / "model.hyp")
    assert hyplearn.load(tmp_path / "model.hyp").predict(points()).tolist() == labels


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("kind", ALWAYS_STRINGS)
def test_files_of_predictions_preserve_strings_or_are_not_written(tmp_path, kind, suffix):
    labels, path = [KINDS[kind][k] for k in CODES], tmp_path / f"out{suffix}"
    model = fitted(PoincareLogisticRegression(), labels)
    np.save(tmp_path / "points.npy", points())
    if any("\0" in label or "\ud800" in label for label in labels):
        with pytest.raises(ValueError, match="cannot be written: it contains a NUL or a surrogate"):
            hyplearn.predict_to_file(model, tmp_path / "points.npy", path)
        return
    hyplearn.predict_to_file(model, tmp_path / "points.npy", path)
    found = np.load(path).tolist() if suffix == ".npy" else pd.read_parquet(path)["prediction"].tolist()
    assert found == labels


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_the_first_missing_label_is_reported(missing):
    labels = ["a"] * 30 + [missing] * 2 + ["b"] * 4
    assert str(fitted(PoincareSVC(), labels)) == (
        f"2 of 36 labels are missing; the first is in row 30: {missing!r}.\n"
        "Remove these rows, or give them a label such as 'other'."
    )


@pytest.mark.parametrize(
    ("labels", "told"), [([1, "1"], "of one type; got int, str"), (list(Plain), "comparable; got Plain")]
)
def test_labels_that_have_no_order_are_rejected(labels, told):
    assert str(fitted(PoincareSVC(), objects((labels * 18)[:36]))) == (
        f"Labels must be {told}.\nConvert them to strings or integers."
    )


def test_objects_that_are_no_strings_are_rejected():
    assert str(fitted(PoincareSVC(), objects([1, 2] * 18))) == (
        "Unknown label type: y holds objects of type int; expected strings, or an array of numbers.\n"
        "Pass y.astype(str), or y.astype(int) if the labels are integers."
    )


@pytest.mark.parametrize("form", [np.array, list, pd.Series], ids=["array", "list", "series"])
@pytest.mark.parametrize(
    "model", [*CLASSIFIERS[:-1], PoincareLogisticRegression(), HyperbolicKernelMap()], ids=lambda m: type(m).__name__
)
def test_an_error_for_labels_of_another_length_gives_both_lengths(model, form):
    told = "X has 36 rows, but y has 1 label.\nPass one label per row of X."
    assert str(fitted(model, form(["a"]))) == told
    if hasattr(model, "score"):
        with pytest.raises(ValueError, match=told):
            model.fit(points(), CODES).score(points(), form(["a"]))


@pytest.mark.parametrize(
    "y",
    [
        np.array([1.0, -1.0, 1.0]), np.array([0.0, -0.0, 2.5]), np.array([7.0]), np.array([3, 3, 9], dtype=np.uint8),
        np.array([2**63, 5], dtype=np.uint64), np.array([-(2**62), 2**62, 2**62]), np.array([4, 1, 4, 2]),
        np.array([1.5, 0.5, 2.5, 0.5]), np.array([True, False, True]),
    ],
    ids=str,
)  # fmt: skip
def test_class_sizes_are_those_of_numpy(y):
    classes, sizes = class_sizes(y)
    expected, counts = np.unique(y, return_counts=True)
    assert classes.dtype == y.dtype
    assert np.array_equal(classes, expected)
    assert np.array_equal(sizes, counts)
