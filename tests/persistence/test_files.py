"""Model files: bit-exact round trips, atomic writing, and models that cannot be saved."""

import dataclasses
import hashlib
import json
import os
import pickle
import stat
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

import hyplearn
from hyplearn import (
    ExpMap,
    PoincareKernelClassifier,
    PoincareLogisticRegression,
    PoincareLogisticRegressionCV,
    PoincarePerceptron,
    PoincareSecondOrderPerceptron,
    PoincareSVC,
    TangentSpace,
)
from hyplearn.embedding import BallNet, PoincareMap, TreeEmbedding
from hyplearn.geometry import pairwise_distance
from hyplearn.persistence import ModelFileError, read_metadata
from hyplearn.persistence.container import DIGEST_BYTES, SCHEMA_VERSION
from hyplearn.persistence.files import to_bytes
from hyplearn.persistence.schema import SCHEMAS
from support.fitted_models import HAS_TORCH, NAMES, ball, estimators, fitted, quietly_fitted, rows_like_those_of
from support.two_classes import nested, overlapping

quiet = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Classes with fewer distinct rows"
)
pytestmark = quiet


@pytest.fixture(scope="module")
def models():
    return fitted()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hyp"


def through_a_file(model, path):
    hyplearn.save(model, path)
    return hyplearn.load(path)


def assert_same(a, b):
    """Check for equal types, shapes, bits and memory order (which affects the rounding of products), at any depth."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.flags.c_contiguous) == (b.dtype, b.shape, b.flags.c_contiguous)
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    elif isinstance(a, dict):
        assert list(a) == list(b)
        assert_same(list(a.values()), list(b.values()))
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for left, right in zip(a, b, strict=True):
            assert_same(left, right)
    elif hasattr(a, "get_params"):
        assert_same_model(a, b)
    elif dataclasses.is_dataclass(a):
        assert_same(vars(a), vars(b))
    else:
        assert a == b or (a != a and b != b)


def assert_same_model(a, b):
    assert_same(a.get_params(), b.get_params())
    a, b = ({name: value for name, value in vars(model).items() if name != "_tree"} for model in (a, b))  # rebuilt
    assert set(a) == set(b)
    for name, value in a.items():
        assert_same(value, b[name])


def test_every_estimator_round_trips_bit_for_bit(models, path):
    X, _ = ball(200, seed=1)
    rows = {"HyperbolicMDS": pairwise_distance(X[:5], X[:20])}  # it takes distances
    assert {type(model).__name__ for model in models} == set(SCHEMAS) - ({"BallNet"} if not HAS_TORCH else set())
    for model in models:
        loaded = through_a_file(model, path)
        assert_same_model(model, loaded)
        methods = ["predict", "decision_function", "transform", "distances", "kneighbors"]
        if getattr(vars(model).get("decision_"), "has_probabilities", False):
            methods += ["predict_proba", "predict_log_proba"]
        if isinstance(model, BallNet):
            methods += ["predict_proba"]
            rows["BallNet"] = np.random.default_rng(0).random(rows_like_those_of(model, 30).shape)
        for name in methods:
            if hasattr(model, name):
                given = rows.get(type(model).__name__, X)
                assert_same(getattr(model, name)(given), getattr(loaded, name)(given))


def test_every_public_estimator_has_a_schema():
    from hyplearn import embedding, paper

    public = {name for module in (hyplearn, paper, embedding) for name in module.__all__ if name[0].isupper()}
    assert public - {"Hyperbolicity"} == set(SCHEMAS)  # a measurement, not an estimator


@pytest.mark.parametrize(
    "labels",
    [
        np.array([7, -3, 40]),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([1, 2, 3], dtype=">i4"),
        np.array([5.0, 1.0, -2.0]),
        np.array(["zebra", "ñandú", "a much longer name"]),
        np.array(["ash", "birch", "cedar"], dtype=object),
        np.array([b"x", b"yy", b"z"]),
        np.array([False, True]),
    ],
    ids=lambda labels: labels.dtype.str,
)
def test_labels_of_every_type_round_trip(labels, path):
    X, y = ball(classes=len(labels))
    for estimator in (PoincareLogisticRegression("mean"), PoincarePerceptron("mean", max_epochs=2, calibration=None)):
        model = estimator.fit(X, labels[y])
        loaded = through_a_file(model, path)
        assert_same(model.predict(X).tolist(), loaded.predict(X).tolist())
        assert loaded.classes_.dtype == model.classes_.dtype.newbyteorder("=")


@pytest.mark.parametrize(
    "stream",
    [
        PoincareSVC("origin", loss="hinge"),
        PoincareSVC("boundary", loss="hinge", C=3.0),
        PoincareSVC(loss="hinge"),
        PoincareSVC(loss="hinge", C=3.0),
        PoincareSVC(loss="hinge", fit_intercept=False),
        PoincarePerceptron("origin", keep="last"),
        PoincarePerceptron("origin"),
        PoincareSecondOrderPerceptron("origin"),
        PoincareSecondOrderPerceptron("origin", a=0.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_continues_with_identical_bits(stream, classes, path):
    X, y = ball(90, classes)
    model = clone(stream).partial_fit(X[:1], y[:1], classes=np.arange(classes))
    for k in range(1, 90, 20):
        loaded = through_a_file(model, path)
        for one in (model, loaded):
            one.partial_fit(X[k : k + 20], y[k : k + 20])
        assert_same_model(model, loaded)


def test_a_stream_after_a_fit_continues_with_identical_bits(path):
    X, y = ball(90)
    perceptrons = PoincarePerceptron(max_epochs=3), PoincareSecondOrderPerceptron(max_epochs=3)
    for estimator in (PoincareSVC("boundary", loss="hinge"), PoincareSVC(loss="hinge"), *perceptrons):
        model = estimator.fit(X, y)
        loaded = through_a_file(model, path)
        assert_same_model(model.partial_fit(X, y), loaded.partial_fit(X, y))


def test_a_hard_margin_round_trips(path):
    X, y = [[0.5, 0.0], [0.6, 0.1], [-0.5, 0.0], [-0.4, 0.1]], [0, 0, 1, 1]
    for reference, margin in product((None, "boundary"), ("bound", "exact")):
        model = PoincareSVC(reference, C=np.inf, margin=margin).fit(X, y)
        assert_same_model(model, loaded := through_a_file(model, path))
        assert np.isinf(loaded.C_).all()
        assert loaded.verify(X, y).gap < 1e-6
        assert read_metadata(path)["certificate"]["status_"] == ["optimal"]


@pytest.mark.parametrize(
    ("kind", "data", "changes"),
    [("sphere", nested, {}), ("equidistant", overlapping, {}), ("hyperplane", overlapping, {"fit_intercept": False})],
)
def test_boundaries_of_every_kind_round_trip(kind, data, changes, path):
    model = PoincareSVC(**changes).fit(*data())
    loaded = through_a_file(model, path)
    (boundary,) = loaded.boundaries_
    assert boundary.kind == kind
    assert_same(tuple(boundary), tuple(model.boundaries_[0]))


def test_a_warm_start_and_a_proof_continue_from_a_file(path):
    X, y = ball(90)
    svcs = PoincareSVC("boundary", warm_start=True), PoincareSVC(warm_start=True)
    for model in (*svcs, PoincareLogisticRegression(warm_start=True)):
        loaded = through_a_file(model.fit(X, y), path)
        assert_same(model.verify(X, y)._asdict(), loaded.verify(X, y)._asdict())
        assert_same_model(model.set_params(C=2.0).fit(X, y), loaded.set_params(C=2.0).fit(X, y))


@pytest.mark.parametrize(
    "estimator",
    [
        PoincareSVC([0.1, 0.2], C=np.float32(2.5), class_weight={0: 2, 1: 1.0, np.int64(2): np.float64(0.5)}),
        PoincareSVC(np.array([[0.1, 0.2], [0.0, 0.0], [-0.1, 0.3]]), C=np.array([1.0, 2.0, 3.0]), n_jobs=2),
        PoincareSVC(((0.1, 0.2), (0.0, 0.0), (-0.1, 0.3)), C=(1, 2, 3), verbose=False, tol=np.float64(1e-4)),
        PoincareSVC(C=(1, 2, 3), trim=np.bool_(False)),
        PoincareLogisticRegression("means", class_weight="balanced", C=10, curvature=-0.5),
        PoincarePerceptron("mean", random_state=np.int64(3), max_epochs=np.int32(4), shuffle=np.bool_(True)),
        PoincarePerceptron("mean", random_state=None, shuffle=False, calibration=None, outside="project"),
        PoincareLogisticRegressionCV(Cs=np.array([1.0, 10.0]), cv=2),
        PoincareLogisticRegressionCV(Cs=[1, 10.0], cv=2),
    ],
    ids=lambda e: type(e).__name__,
)
def test_parameters_keep_their_types(estimator, path):
    X, y = ball()
    for model in (clone(estimator), estimator.fit(X, y)):
        assert_same_model(model, through_a_file(model, path))


@pytest.mark.parametrize("estimator", estimators(), ids=lambda e: type(e).__name__)
def test_an_estimator_that_is_not_fitted_yet_can_be_saved(estimator, path):
    loaded = through_a_file(estimator, path)
    assert_same_model(estimator, loaded)
    X, y = ball()
    assert_same_model(quietly_fitted(estimator, X, y), quietly_fitted(loaded, X, y))


def test_feature_names_are_stored_and_checked(path):
    X, y = ball()
    table = pd.DataFrame(X, columns=["höhe", "breite"])
    for estimator in (PoincareLogisticRegression(), TangentSpace()):
        loaded = through_a_file(estimator.fit(table, y), path)
        assert loaded.feature_names_in_.tolist() == ["höhe", "breite"]
        with pytest.raises(ValueError, match="feature names"):
            getattr(loaded, "predict" if hasattr(loaded, "predict") else "transform")(table[["breite", "höhe"]])
    assert read_metadata(path)["feature_names"] == ["höhe", "breite"]


def test_a_transformer_keeps_its_kind_of_output(path):
    X, _ = ball()
    for transformer in (ExpMap().set_output(transform="pandas"), TangentSpace().set_output(transform="pandas").fit(X)):
        loaded = through_a_file(transformer, path)
        pd.testing.assert_frame_equal(loaded.fit(X).transform(X), transformer.fit(X).transform(X))


def test_certificates_and_provenance_are_in_the_metadata(path):
    X, y = ball()
    model = PoincareSVC(C=2.0).fit(X, NAMES[y])
    hyplearn.save(model, path)
    found = read_metadata(path)
    assert found["certificate"]["status_"] == ["optimal"] * 3
    assert found["certificate"]["dual_gap_"] == model.dual_gap_.tolist()
    assert (found["class"], found["classes"], found["n_features"]) == ("PoincareSVC", NAMES.tolist(), 2)
    assert (found["library_version"], found["schema_version"]) == (hyplearn.__version__, SCHEMA_VERSION)
    assert found["parameters"] == model.get_params()
    assert found["sha256"] == hashlib.sha256(path.read_bytes()[:-DIGEST_BYTES]).hexdigest()
    stream = PoincareSVC("origin", loss="hinge").partial_fit(X, y, classes=[0, 1, 2])
    hyplearn.save(stream, path)
    assert read_metadata(path)["certificate"]["dual_gap_"] == ["nan"] * 3


def test_equal_estimators_give_equal_bytes(models, path):
    for model in models:
        hyplearn.save(model, path)
        first = path.read_bytes()
        hyplearn.save(hyplearn.load(path), path)
        assert path.read_bytes() == first


def test_a_file_is_replaced_in_one_step_or_not_at_all(path, monkeypatch):
    X, y = ball()
    model = PoincareLogisticRegression().fit(X, y)
    hyplearn.save(model, path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        hyplearn.save(ExpMap(), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_file_is_flushed_before_it_is_renamed(path, monkeypatch):
    steps = []
    flush, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (steps.append("flush"), flush(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append("move"), replace(a, b)))
    hyplearn.save(ExpMap(), path)
    assert steps[:2] == ["flush", "move"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_new_file_has_the_default_permissions(path):
    (path.parent / "plain").touch()
    hyplearn.save(ExpMap(), path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((path.parent / "plain").stat().st_mode)


def test_a_link_is_followed(path):
    link = path.with_name("link.hyp")
    hyplearn.save(ExpMap(), path)
    link.symlink_to(path)
    hyplearn.save(TangentSpace(), link)
    assert link.is_symlink()
    assert isinstance(hyplearn.load(path), TangentSpace)


def of_a_function(X, y, weights, c):
    return np.zeros(X.shape[1])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (PoincareSVC(of_a_function), r"reference must be a strategy's name(.|\n)*reference=model.reference_"),
        (PoincareSVC("nowhere"), "reference must be a strategy's name"),
        (PoincareSVC([2.0, 0.0]), "reference contains points outside the ball"),
        (PoincareSVC(class_weight={0: np.inf}), "a dict from labels to finite, non-negative weights; it is {0: inf}"),
        (PoincareSVC(n_jobs=2**21), "n_jobs must be an integer from -1048576 to 1048576 other than 0, or None"),
        (PoincareSVC(curvature=-np.inf), r"curvature must be a number in \(-inf, 0\); it is -inf"),
        (PoincareSVC(random_state=np.random.RandomState(0)), r"random_state must(.|\n)*set_params\(random_state=0\)"),
        (PoincarePerceptron(random_state=np.random.default_rng(0)), "random_state must be an integer"),
        (PoincareLogisticRegressionCV(cv=StratifiedKFold(3)), r"cv must be(.|\n)*number of folds"),
        (PoincareSVC(class_weight={0: -1.0}), "class_weight must be"),
        (PoincareSVC(class_weight={(0, 1): 1.0}), "class_weight must be"),
        (PoincareSVC(tol=np.nan), r"tol must be a number in \(0, inf\)"),
        (PoincareSVC(curvature=1.0), "curvature must be"),
        (PoincareSVC(calibration="isotonic"), 'calibration must be one of "cross-fitted"'),
        (PoincareSVC(loss=["hinge"]), "loss must be"),
        (PoincareSVC(C="best"), r'C must be a positive number.*, or "auto"; it is '),
        (PoincareSVC(trim=None), "trim must be"),
        (PoincareMap(sigma=0.0), r"sigma must be a number in \[0.05, inf\), or None; it is 0.0"),
        (PoincareMap(random_state=np.random.RandomState(0)), "random_state must be an integer"),
        (
            BallNet(encoder=of_a_function),
            r'encoder must be one of "mlp", "conv"; it is <function(.|\n)*does not store code',
        ),
        (BallNet(checkpoint="here"), r"checkpoint must be None; it is 'here'\.\nSet it with set_params"),
        (TreeEmbedding(root=("a", 1)), r"root must be None, a string or an integer(.|\n)*relabel the nodes"),
        (TreeEmbedding().fit({("a", 1): None, "b": ("a", 1)}), "labels_ must be a list of strings or integers"),
    ],
)  # fmt: skip
def test_unsupported_values_raise_before_anything_is_written(estimator, message, path):
    with pytest.raises(ValueError, match=message):
        hyplearn.save(estimator, path)
    assert not list(path.parent.iterdir())


def test_fitted_reference_points_can_replace_a_function(path):
    X, y = ball()
    model = PoincareSVC(of_a_function).fit(X, y)
    model.set_params(reference=model.reference_)
    assert_same_model(model, through_a_file(model, path))


def test_incomplete_or_foreign_estimators_are_rejected(path):
    X, y = ball()
    with pytest.raises(TypeError, match=r"one hyplearn estimator; got Pipeline\.\nSave the steps"):
        hyplearn.save(make_pipeline(ExpMap(), PoincareSVC()), path)

    class Mine(PoincareSVC):
        pass

    Mine.__name__ = "PoincareSVC"
    with pytest.raises(TypeError, match="one hyplearn estimator"):
        hyplearn.save(Mine(), path)
    model = PoincareLogisticRegression().fit(X, y)
    del model.intercept_
    with pytest.raises(ValueError, match=r"only partly fitted: intercept_ is missing\.\nFit the estimator again"):
        hyplearn.save(model, path)
    for model in (PoincareSVC("origin"), PoincareKernelClassifier(n_components=9)):
        del model.fit(X, y).decision_
        with pytest.raises(ValueError, match=r"only partly fitted: decision_\.link is missing"):
            hyplearn.save(model, path)
    model = PoincareLogisticRegression().fit(X, y)
    model.note_ = "mine"
    with pytest.raises(ValueError, match=r"cannot be stored in a model file: \['note_'\]\.\nDelete these attributes"):
        hyplearn.save(model, path)
    with pytest.raises(ValueError, match=r"end in \.hyp; got 'model.pkl'\.\nPass '.*model\.hyp'"):
        hyplearn.save(ExpMap(), path.with_suffix(".pkl"))
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        hyplearn.save(ExpMap(), path.parent / "none" / "model.hyp")
    mixed = PoincareLogisticRegression().fit(X, np.array([1, 2, 3], dtype=object)[y].tolist())
    mixed.classes_ = np.array([1, 2, 3], dtype=object)
    with pytest.raises(ValueError, match=r"cannot store an array of dtype object(.|\n)*Pass labels as strings"):
        hyplearn.save(mixed, path)
    (path.parent / "folder.hyp").mkdir()
    with pytest.raises(ValueError, match="is not a regular file"):
        hyplearn.save(ExpMap(), path.parent / "folder.hyp")


@pytest.mark.parametrize(
    ("attribute", "change", "problem"),
    [
        ("landmarks_", lambda rows: rows * 0, "landmarks_ must be three or more distinct row numbers below 60"),
        ("landmarks_", lambda rows: rows + 1, "landmarks_ must be three or more distinct row numbers below 60"),
        ("landmarks_", lambda rows: rows[:2], r"_cells must be .* of shape \(m, d\)"),
        (
            "_cells",
            lambda cells: cells[::-1],
            "_cells must be float64 numbers from -1e\\+150 to 1e\\+150, with distinct, sorted rows",
        ),
        ("_cells", lambda cells: 1e151 * cells, "_cells must be float64 numbers from -1e\\+150 to 1e\\+150"),
        ("embedding_", lambda points: points + 1, "embedding_ must be points inside the ball"),
    ],
)
def test_a_map_that_could_not_place_cells_is_rejected(attribute, change, problem):
    model = PoincareMap(n_neighbors=4, tol=1e-2).fit(ball()[0])
    setattr(model, attribute, change(getattr(model, attribute)))
    with pytest.raises(ValueError, match=problem):
        to_bytes(model)


@pytest.fixture(scope="module")
def svc_bytes():
    X, y = ball()
    return to_bytes(PoincareSVC().fit(X, NAMES[y]))


def test_a_reader_written_from_the_format_description_gives_the_same_model(svc_bytes):
    """docs/format.md in fifteen lines of Python, without hyplearn."""
    import struct

    magic, version, header_bytes, array_bytes = struct.unpack("<8sIIQ", svc_bytes[:24])
    assert (magic, version) == (b"\x89HYP\r\n\x1a\n", 2)
    header = json.loads(svc_bytes[24 : 24 + header_bytes])
    place, arrays = 24 + header_bytes, []
    for entry in header["arrays"]:
        size = np.dtype(entry["dtype"]).itemsize * int(np.prod(entry["shape"]))
        arrays.append(np.frombuffer(svc_bytes[place : place + size], entry["dtype"]).reshape(entry["shape"]))
        place += size
    assert place == 24 + header_bytes + array_bytes == len(svc_bytes) - 32
    assert hashlib.sha256(svc_bytes[:-32]).digest() == svc_bytes[-32:]
    X, y = ball()
    model = PoincareSVC().fit(X, NAMES[y])
    assert np.array_equal(arrays[header["attributes"]["coef_"]["array"]], model.coef_)
    assert header["attributes"]["classes_"]["text"] == [5, model.classes_.tolist()]


def test_the_description_of_the_format_names_every_attribute_and_parameter():
    text = (Path(__file__).resolve().parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    for name, schema in SCHEMAS.items():
        section = text.split(f"\n### {name}\n")[1].split("\n### ")[0]
        for attribute, kind in {**schema.fitted, **schema.settings}.items():
            absent = "; may be absent" if kind.optional else ""
            assert f"| `{attribute}` | {kind.words}{absent} |" in section, (name, attribute)
        assert section.count("| `") == len({**schema.fitted, **schema.settings})
        for parameter, kind in schema.parameters.items():
            assert f"- `{parameter}`: {kind.words}\n" in section, (name, parameter)


def test_loading_needs_no_pickle(models, path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    for name in ("load", "loads", "Unpickler", "dump", "dumps", "Pickler"):
        monkeypatch.setattr(pickle, name, refuse)
    for model in models:
        assert type(through_a_file(model, path)) is type(model)


OLD = Path(__file__).parent / "version_0_1"


@pytest.mark.parametrize("file", sorted(OLD.glob("*.hyp")), ids=lambda file: file.stem)
def test_files_of_version_0_1_load_and_predict_as_they_did(file, path):
    expected, model = np.load(OLD / "expected.npz"), hyplearn.load(file)
    for method in ("predict", "predict_proba"):
        if (name := f"{file.stem}.{method}") in expected:
            found = getattr(model, method)(expected["X"])
            if method == "predict":
                assert found.tolist() == expected[name].tolist()
            else:
                np.testing.assert_allclose(found, expected[name], rtol=1e-12, atol=1e-300)
    assert_same_model(model, through_a_file(model, path))
    assert read_metadata(path)["schema_version"] == SCHEMA_VERSION


def test_files_of_version_0_1_leave_out_no_rows_and_keep_their_cost():
    svc = hyplearn.load(OLD / "svc-three.hyp")
    assert (svc.trim, svc.loss, svc.reference) == (False, "hinge", "means")
    assert svc.C_.tolist() == 3 * [svc.C]
    softmax = hyplearn.load(OLD / "softmax.hyp")
    assert not softmax.trim
    assert softmax.C_ == softmax.C
    assert softmax.decision_.link == "cone"


def test_a_model_of_version_0_1_continues_to_learn(path):
    X, y = ball()
    model = hyplearn.load(OLD / "svc-training.hyp").set_params(reference="means")
    assert model.calibration == "cross-fitted"
    assert model.fit(X, NAMES[y]).predict_proba(X).shape == (len(X), 3)
    stream = hyplearn.load(OLD / "svc-stream.hyp")
    labels = stream.classes_[(X[:, 0] > 0).astype(int)]
    assert (stream.partial_fit(X, labels).status_ == "online").all()


def test_a_damaged_file_of_version_0_1_is_rejected(path):
    from support.mutations import closed, opened

    header, arrays = opened((OLD / "svc-two.hyp").read_bytes())
    del header["attributes"]["coef_"]
    data = bytearray(closed(header, arrays))
    data[8:12] = (1).to_bytes(4, "little")
    body = bytes(data[:-DIGEST_BYTES])
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ModelFileError, match="is not a usable model"):
        hyplearn.load(path)


def test_saving_with_swapped_arguments_explains_their_order():
    with pytest.raises(TypeError, match=r"path must be a path; got PoincareSVC\.\nPass the estimator first"):
        hyplearn.save("model.hyp", PoincareSVC())


@pytest.mark.parametrize("path", [np.zeros(3), None, 3, b"model.hyp", PoincareSVC()])
def test_loading_from_anything_but_a_path_names_what_was_passed(path):
    with pytest.raises(TypeError, match=f"must be the path of a model file; got {type(path).__name__}"):
        hyplearn.load(path)
