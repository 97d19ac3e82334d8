"""Damaged, hostile or newer model files: each is rejected with one clear error before a model is built."""

import hashlib
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hyplearn
from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSecondOrderPerceptron, PoincareSVC
from hyplearn.decision.calibration import Calibration
from hyplearn.geometry import project
from hyplearn.persistence import ModelFileError
from hyplearn.persistence.container import DIGEST_BYTES, LARGEST_FILE, PREFIX, SCHEMA_VERSION
from hyplearn.persistence.files import to_bytes
from hyplearn.persistence.kinds import LARGEST_NUMBER
from support.fitted_models import NAMES, ball, quietly_fitted
from support.mutations import closed, opened

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hyp"


# Positions of the fields in the prefix of a file.
VERSION, HEADER_BYTES, ARRAY_BYTES = 1, 2, 3


def with_prefix(data, field, value):
    fields = list(PREFIX.unpack_from(data))
    fields[field] = value
    body = PREFIX.pack(*fields) + data[PREFIX.size : -DIGEST_BYTES]
    return body + hashlib.sha256(body).digest()


def edited(data, *place, value):
    header, arrays = opened(data)
    node = header
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return closed(header, arrays)


def refused(path, data, message):
    """Check that loading raises one error of two lines and needs little memory."""
    path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=message) as caught:
        hyplearn.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**7
    first, *rest = str(caught.value).split("\n")
    assert first.startswith(f"{path} is not a usable model: ")
    assert len(rest) == 1


@pytest.fixture(scope="module")
def svc_bytes():
    X, y = ball()
    return to_bytes(PoincareSVC().fit(X, NAMES[y]))


def test_damaged_foreign_and_newer_files_raise_different_errors(svc_bytes, path):
    refused(path, b"", "it is not a model file")
    refused(path, b"PK\x03\x04" + svc_bytes, "it is not a model file")
    refused(path, svc_bytes[:40], "the file ends after 40 bytes; a model file has at least 56 bytes")
    refused(path, svc_bytes[:-1], "checksum does not match")
    refused(path, svc_bytes + b"\n", "checksum does not match")
    refused(path, svc_bytes[:500] + b"\x00" + svc_bytes[501:], "checksum does not match")
    refused(path, with_prefix(svc_bytes, VERSION, 3), r"schema version is 3, but (.|\n)*Upgrade hyplearn")
    refused(path, with_prefix(svc_bytes, VERSION, 0), "versions start at 1")
    refused(path, edited(svc_bytes, "class", value="PoincareForest"), r"unknown class(.|\n)*Upgrade hyplearn")
    refused(path, edited(svc_bytes, "note", value=1), "the header has the entries")
    refused(path, edited(svc_bytes, "library", value="1.0\n"), "the library version .* in the header is invalid")


def test_declared_sizes_are_checked_before_memory_is_allocated(svc_bytes, path):
    refused(path, with_prefix(svc_bytes, HEADER_BYTES, 2**32 - 1), "the declared header of 4,294,967,295 bytes")
    refused(path, with_prefix(svc_bytes, ARRAY_BYTES, 2**63), "and arrays of [0-9,]+ bytes")
    header, arrays = opened(svc_bytes)
    huge = {"dtype": "<f8", "shape": [2**31, 2**31]}
    refused(path, closed({**header, "arrays": [huge, *header["arrays"]]}, arrays), "the arrays need")
    refused(path, edited(svc_bytes, "arrays", 0, "shape", value=[2**40]), "an array has the invalid shape")
    refused(path, edited(svc_bytes, "arrays", 0, "dtype", value="|O"), "an array has the unsupported dtype")
    text = {"text": [2**30, ["ash", "birch", "cedar"]]}
    refused(path, edited(svc_bytes, "attributes", "classes_", value=text), "the invalid width of 1073741824 characters")
    strings = ["x" * 50_000, *["y"] * 10_000]  # an array would make all as long as the first
    refused(path, edited(svc_bytes, "parameters", "reference", value=strings), "reference must be a strategy's name")


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (LARGEST_FILE, "it is not a model file"),
        (LARGEST_FILE + 1, "the file has 4,294,967,297 bytes; the limit for a model file is 4,294,967,296 bytes"),
    ],
)
def test_a_huge_file_of_another_kind_is_rejected_without_reading_it(size, message, path):
    with path.open("wb") as file:
        file.truncate(size)  # sparse: nothing is written
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=message):
            hyplearn.load(path)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_a_header_is_plain_json(svc_bytes, path):
    _, arrays = opened(svc_bytes)
    for text, message in (
        (b"[]", r"the header must be a JSON object; it is \[\]"),
        (b'{"a":1,"a":2}', "a name occurs twice"),
        (b'{"a":NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "not plain JSON"),
        (b'{"a":' + b"9" * 5000 + b"}", "not plain JSON"),
        (b'\xff{"a":1}', "not plain JSON"),
    ):
        body = PREFIX.pack(svc_bytes[:8], SCHEMA_VERSION, len(text), len(arrays)) + text + arrays
        refused(path, body + hashlib.sha256(body).digest(), message)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("parameters", "C"), "cheap", "C must be a positive number"),
        (("parameters", "trim"), "none", "trim must be True, False"),
        (("parameters", "tol"), {"float": "nan"}, "tol must be"),
        (("parameters", "n_jobs"), 0, "n_jobs must be an integer from -1048576 to 1048576 other than 0, or None"),
        (("parameters", "margin"), "wide", 'margin must be one of "bound", "exact"'),
        (("parameters", "calibration"), "training", 'calibration must be one of "cross-fitted", None'),
        (("parameters", "reference"), "__import__('os')", "reference must be a strategy's name"),
        (("parameters", "reference"), [[0.1, 0.2], [0.3]], "reference must be a strategy's name"),
        (("parameters", "curvature"), 1.0, "curvature must be"),
        (("parameters", "curvature"), -100.0, "support_vectors_ must be points inside the ball"),
        (("parameters", "class_weight"), {"dict": [[[1], 2]]}, "key of a dict is not a number, a boolean or a string"),
        (("parameters", "class_weight"), {"dict": [[1, 2], [1.0, 2]]}, "a key of a dict occurs twice"),
        (("parameters", "n_estimators"), 1, r"do not match the class of the estimator: 'n_estimators' \(unknown\)\."),
        (("parameters",), [], "the parameters in the header must be a JSON object"),
        (("parameters", "C"), [[[[[1]]]]], "nested more than 4 levels deep"),
        (("parameters", "C"), 2**64, "more than 64 bits"),
        (
            ("attributes", "classes_"),
            {"text": [5, ["birch", "ash", "cedar"]]},
            "classes_ must be two or more distinct, sorted labels",
        ),
        (
            ("attributes", "classes_"),
            {"text": [5, ["ash", "birch"]]},
            r"coef_ must be float64 numbers from -1e\+60 to 1e\+60 of shape",
        ),
        (("attributes", "n_features_in_"), 3, "decision_.points must be points"),
        (("attributes", "n_features_in_"), True, "n_features_in_ must be the positive integer d"),
        (("attributes", "decision_.sharpness"), 0.0, "decision_.sharpness must be a finite float above 0 and below 1e"),
        (("attributes", "decision_.sharpness"), 0.5, "a decision with a mixing matrix must have .*but no sharpness"),
        (("attributes", "decision_.link"), "exec", "decision_.link must be one of arsinh"),
        (("attributes", "decision_.through_points"), 1, "decision_.through_points must be True or False"),
        (("attributes", "_n_rows"), 5, "support_ must be distinct, sorted row numbers below 5"),
        (("attributes", "status_"), {"text": [9, ["brilliant"] * 3]}, "status_ must be strings, each one of optimal"),
        (
            ("attributes", "feature_names_in_"),
            {"objects": ["x"]},
            "feature_names_in_ must be strings in an object array",
        ),
        (("attributes", "feature_names_in_"), {"objects": ["x", 1]}, "not a list of strings"),
        (("attributes", "__class__"), "x", "cannot be stored in a model file: .'__class__'"),
        (("attributes", "coef_"), {"array": 1}, "a value refers to array 1, but 0 of"),
        (("attributes", "coef_"), {"pickle": "x"}, "does not encode a value"),
        (("certificate", "dual_gap_"), [0.0, 0.0, 0.0], "certificate in the header differs"),
    ],
)
def test_a_hostile_header_with_a_right_checksum_is_rejected(svc_bytes, place, value, message, path):
    refused(path, edited(svc_bytes, *place, value=value), message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("coef_", np.nan, r"coef_ must be float64 numbers from -1e\+60 to 1e\+60(.|\n)*with NaN or infinite numbers"),
        ("reference_", 0.9999, "reference_ must be points inside the ball"),
        ("reference_", np.inf, "reference_ must be points inside the ball"),
        ("support_vectors_", 1.5, "support_vectors_ must be points inside the ball"),
        ("support_", -1, "support_ must be non-negative integers"),
        ("support_", 59, "support_ must be distinct, sorted row numbers"),
        ("decision_.slopes", np.inf, "decision_.slopes must be float64 numbers"),
        ("decision_.slopes", 0.5, "slopes of the decision must be the diagonal of the mixing matrix"),
        ("decision_.mixing", np.nan, "decision_.mixing must be float64 numbers"),
        ("C_", 0.0, "C_ must be positive float64 numbers"),
        ("C_", np.nan, "C_ must be positive float64 numbers"),
        ("dual_coef_", np.nan, "dual_coef_ must be float64 numbers"),
        ("decision_.weights", 1e308, r"decision_.weights must be float64 numbers from -1e\+60 to 1e\+60"),
        ("decision_.slopes", -1e61, r"decision_.slopes must be float64 numbers from -1e\+60 to 1e\+60"),
        ("decision_.offsets", 1e308, "decision_.offsets must be float64 numbers"),
        ("n_iter_", -1, "n_iter_ must be non-negative integers"),
    ],
)
def test_a_wrong_number_with_a_right_checksum_is_rejected(svc_bytes, name, value, message, path):
    header, arrays = opened(svc_bytes)
    number = header["attributes"][name]["array"]
    sizes = [np.dtype(a["dtype"]).itemsize * int(np.prod(a["shape"])) for a in header["arrays"]]
    start, changed = sum(sizes[:number]), bytearray(arrays)
    for k in range(2):  # a point with two coordinates of 0.9999 is outside the ball
        changed[start + 8 * k : start + 8 * k + 8] = np.array(
            [value], dtype=header["arrays"][number]["dtype"]
        ).tobytes()
    refused(path, closed(header, bytes(changed)), message)


def test_the_largest_numbers_that_load_have_finite_scores_everywhere_in_the_ball():
    X, y = ball()
    for model in (PoincareSVC(folds=2), PoincareLogisticRegression(), PoincarePerceptron(max_epochs=5, folds=2)):
        decision = quietly_fitted(model, X, y).decision_
        signs = np.where(np.arange(decision.weights.size).reshape(decision.weights.shape) % 2, -1.0, 1.0)
        numbers = LARGEST_NUMBER * signs
        largest = Calibration(numbers[:, 0], -numbers[:, 0])
        model.decision_ = replace(decision, weights=numbers, intercepts=numbers[:, 0], calibration=largest)
        far = project(np.vstack([X, 2 * X]))
        assert np.all(np.isfinite(model.decision_function(far)))
        assert not np.any(np.isnan(model.predict_proba(far)))


@pytest.mark.parametrize("value", [np.diag([4e7, 0.0]), [[0.0, 1.0], [0.0, 0.0]], np.full((2, 2), 1e59), -np.eye(2)])
def test_a_perceptron_with_a_matrix_that_is_no_projector_is_rejected(value):
    X, y = ball()
    model = PoincareSecondOrderPerceptron(max_epochs=2, a=0.0).fit(X, y)
    model._perceptrons[0].outside[:] = value
    with pytest.raises(ValueError, match=r"the matrices in _perceptrons\.outside must be orthogonal projectors"):
        to_bytes(model)


@pytest.mark.parametrize("d", [2, 30])
def test_the_projectors_of_perceptrons_load(path, d):
    """Also after rows that are almost in the span of earlier ones, which magnify rounding errors."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((200, d)) * np.logspace(0, -12, d)
    X *= 0.9 / np.linalg.norm(X, axis=1).max()
    model = PoincareSecondOrderPerceptron(reference="origin", max_epochs=3, a=0.0, calibration=None)
    quietly_fitted(model, X, rng.integers(2, size=200))
    path.write_bytes(to_bytes(model))
    assert np.array_equal(hyplearn.load(path)._perceptrons[0].outside, model._perceptrons[0].outside)


def test_booleans_must_be_0_or_1(path):
    X, y = ball()
    model = PoincarePerceptron(max_epochs=2).fit(X, y)
    header, arrays = opened(to_bytes(model))
    number = header["attributes"]["converged_"]["array"]
    start = sum(np.dtype(a["dtype"]).itemsize * int(np.prod(a["shape"])) for a in header["arrays"][:number])
    refused(path, closed(header, arrays[:start] + b"\x02" + arrays[start + 1 :]), "bytes other than 0 and 1")


def test_paths_that_are_not_files_raise_clear_errors(path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        hyplearn.load(path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        hyplearn.load(path.parent)
    if Path("/dev/zero").exists():
        with pytest.raises(ModelFileError, match="not a regular file"):
            hyplearn.load("/dev/zero")
