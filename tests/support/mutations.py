"""Numbered mutations of model files, and checks of what happens when they are loaded.

``python tests/support/mutations.py 100000`` runs that number of mutations and counts the outcomes.
"""

import copy
import hashlib
import json
import math
import struct
import sys
import tempfile
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

import hyplearn
from hyplearn.embedding import BallNet
from hyplearn.persistence import ModelFileError
from hyplearn.persistence.container import DIGEST_BYTES, MAGIC, PREFIX, SCHEMA_VERSION
from hyplearn.persistence.files import to_bytes
from support.fitted_models import fitted, rows_like_those_of

HOSTILE = [
    None, True, False, 0, 1, -1, 2, 3, 5, 10**9, 2**31, 2**62, 2**64, -(2**63) - 1, 10**40, 0.5, -0.5, -0.0, 1e-320,
    1e308, -1e308, "", "ash", "origin", "exact", "training", "nan", "a" * 300, "\u0000", "\ud800", "__class__", [],
    [[]], [0, 1], [[[[[[0]]]]]], {}, {"float": "nan"}, {"float": "inf"}, {"float": 1}, {"array": 0}, {"array": 7},
    {"array": -1}, {"array": True}, {"scalar": 0}, {"text": [10**9, ["a"]]}, {"text": [1, ["ash", "birch"]]},
    {"text": [5, ["ash", 1]]}, {"text": [8, ["optimal"]]}, {"objects": ["x", "y"]}, {"objects": [1]}, {"tuple": [1, 2]},
    {"tuple": {}}, {"dict": [[1, 2], [1, 3]]}, {"dict": [[[1], 2]]}, {"dict": [["ash", 2.0], ["birch", 1]]},
    {"dict": 5}, {"pickle": "gASVAAAA"}, {"array": 0, "scalar": 0}, {"dtype": "|O", "shape": [1]},
    {"dtype": "<f8", "shape": [2**40, 2**40]}, {"dtype": "<f8", "shape": [-1]}, {"dtype": "|S99999", "shape": [3]},
]  # fmt: skip
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1e-320, 0.999999, 1.000001, 1e18, -5.0]
DTYPES = ["<f8", "<i8", "<u8", "<f4", "<i4", "|b1", "|u1", "<f2", "|S8", "|O", ">f8", "<c16", "<M8[s]", "f8", "<U2"]


def summed(body):
    """The bytes followed by their correct checksum."""
    return body + hashlib.sha256(body).digest()


def opened(data):
    _, _, header_bytes, _ = PREFIX.unpack_from(data)
    start = PREFIX.size + header_bytes
    return json.loads(data[PREFIX.size : start]), data[start:-DIGEST_BYTES]


def closed(header, arrays, version=SCHEMA_VERSION):
    text = json.dumps(header).encode()
    return summed(PREFIX.pack(MAGIC, version, len(text), len(arrays)) + text + arrays)


def bits_flipped(rng, data, other):
    changed = bytearray(data)
    for place in rng.integers(len(changed), size=rng.integers(1, 9)):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def cut_off(rng, data, other):
    return data[: rng.integers(len(data))]


def grown(rng, data, other):
    return data + rng.bytes(rng.integers(1, 50))


def spliced(rng, data, other):
    return data[: rng.integers(len(data))] + other[rng.integers(len(other)) :]


def blotted(rng, data, other):
    start = int(rng.integers(len(data)))
    stop = start + int(rng.integers(1, 64))
    return data[:start] + bytes([int(rng.choice([0, 255, 0x5B, 0x22]))]) * (min(stop, len(data)) - start) + data[stop:]


def prefix_changed(rng, data, other):
    fields = list(PREFIX.unpack_from(data))
    fields[1] = int(rng.choice([fields[1], 0, 2, 2**32 - 1]))
    fields[2] = int(rng.choice([fields[2], 0, fields[2] + 1, fields[2] - 8, 2**32 - 1]))
    fields[3] = int(rng.choice(np.array([fields[3], 0, fields[3] + 8, fields[3] + 16, 2**63], dtype=np.uint64)))
    return PREFIX.pack(*fields) + data[PREFIX.size :]


def entries(node, path=()):
    """All entries of a JSON value, at any depth."""
    yield path
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from entries(child, (*path, key))


def header_edited(rng, data, other):
    """Replace, remove or rename up to three values, or take them from another file, and correct all checksums."""
    header, arrays = opened(data)
    foreign = opened(other)[0]
    for _ in range(rng.integers(1, 4)):
        places = [path for path in entries(header) if path]
        path = places[rng.integers(len(places))]
        node = header
        for key in path[:-1]:
            node = node[key]
        change, key = rng.integers(5), path[-1]
        if change == 0:
            del node[key]
        elif change == 1 and isinstance(node, dict):
            node[str(HOSTILE[rng.integers(len(HOSTILE))])[:20]] = node.pop(key)
        elif change == 2:
            source = [p for p in entries(foreign) if p]
            value = foreign
            for step in source[rng.integers(len(source))]:
                value = value[step]
            node[key] = copy.deepcopy(value)
        elif change == 3 and isinstance(node[key], (int, float)):
            node[key] = node[key] * float(rng.choice([2, -1, 0.5])) if rng.integers(2) else node[key] + 1
        else:
            node[key] = copy.deepcopy(HOSTILE[rng.integers(len(HOSTILE))])
    return closed(header, arrays)


def value_replaced(rng, data, other):
    """Replace one parameter or attribute by a value of another one, and correct all checksums."""
    header, arrays = opened(data)
    part = header[str(rng.choice(["parameters", "attributes"]))]
    values = [*HOSTILE, *opened(other)[0]["parameters"].values()]
    part[str(rng.choice(list(part)))] = copy.deepcopy(values[rng.integers(len(values))])
    return closed(header, arrays)


def header_text_edited(rng, data, other):
    """Change some characters of the JSON text, and correct all checksums."""
    header, arrays = opened(data)
    text = bytearray(json.dumps(header).encode())
    for place in rng.integers(len(text), size=rng.integers(1, 5)):
        text[place] = rng.choice(list(b'0123456789[]{}",:.-eE \\tfnu\xff'))
    return summed(PREFIX.pack(MAGIC, SCHEMA_VERSION, len(text), len(arrays)) + bytes(text) + arrays)


def array_edited(rng, data, other):
    """Replace one number in the arrays, and correct all checksums."""
    header, arrays = opened(data)
    changed = bytearray(arrays)
    if len(changed) >= 8:
        start = 8 * int(rng.integers(len(changed) // 8))
        number = struct.pack("<d", rng.choice(NUMBERS)) if rng.integers(2) else struct.pack("<q", rng.integers(-9, 99))
        changed[start : start + 8] = number
    return closed(header, bytes(changed))


def table_edited(rng, data, other):
    """Change the shape or dtype of an array, with the same number of bytes if possible, and correct all checksums."""
    header, arrays = opened(data)
    table = header["arrays"]
    if table:
        entry = table[rng.integers(len(table))]
        change = rng.integers(4)
        if change == 0:
            entry["shape"] = entry["shape"][::-1]
        elif change == 1:
            entry["shape"] = [int(np.prod(entry["shape"])), *([1] * int(rng.integers(4)))]
        elif change == 2:
            entry["dtype"] = DTYPES[rng.integers(len(DTYPES))]
        else:
            k = rng.integers(len(table))
            table[k], entry["dtype"] = dict(entry), table[k]["dtype"]
    return closed(header, arrays)


def class_changed(rng, data, other):
    """Combine the attributes of one class with the name or the parameters of another."""
    header, arrays = opened(data)
    foreign = opened(other)[0]
    for key in ("class", "parameters", "attributes", "certificate", "arrays"):
        if rng.integers(3) == 0:
            header[key] = foreign[key]
    return closed(header, arrays)


RAW = [bits_flipped, cut_off, grown, spliced, blotted, prefix_changed]
MENDED = [header_edited, value_replaced, header_text_edited, array_edited, table_edited, class_changed]


def mutation(files, number):
    """Kind and bytes of the mutation with the given number. Half of the raw mutations get a correct checksum."""
    rng = np.random.default_rng(number)
    data, other = files[rng.integers(len(files))], files[rng.integers(len(files))]
    kinds = RAW if rng.integers(3) == 0 else MENDED
    kind = kinds[rng.integers(len(kinds))]
    changed = kind(rng, data, other)
    if kind in RAW and rng.integers(2):
        return f"{kind.__name__}, mended", summed(changed[:-DIGEST_BYTES])
    return kind.__name__, changed


def check_usable(model):
    """Check that a loaded model works, and that it is the same after saving and loading again."""
    data = to_bytes(model)
    again = hyplearn.persistence.files.from_bytes(data)
    assert to_bytes(again) == data
    repr(model)
    if isinstance(model, BallNet):
        check_network(model)
        return
    # The arrays of an ExpMap do not determine the number of features.
    if not hasattr(model, "n_features_in_") or model.n_features_in_ > 10**4:
        return
    X = np.zeros((2, model.n_features_in_))
    curvature = getattr(model, "curvature_", getattr(model, "curvature", -1.0))
    X[1, 0] = 0.5 / np.sqrt(-float(curvature))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if hasattr(model, "transform"):
            check_transform(model, X)
            return
        assert np.isin(model.predict(X), model.classes_).all()
        scores = (model.decision_function if hasattr(model, "decision_") else model.predict_proba)(X)
        assert len(scores) == 2
        assert np.all(np.isfinite(scores))
        calibrated = hasattr(model, "decision_") and model.decision_.has_probabilities
        if calibrated and getattr(model, "calibration", "") is not None:
            assert model.predict_proba(X).shape == (2, len(model.classes_))
            assert not np.any(np.isnan(model.predict_proba(X)))
        if getattr(model, "_descents", None) or hasattr(model, "_perceptrons"):
            go_on(model, X)


def check_network(model):
    """Check that a network runs, or raises an error about rows that its weights map too far out."""
    if not hasattr(model, "weights_") or math.prod(model.input_shape_) > 10**6:
        return
    X = rows_like_those_of(model, 2)
    refusal = ""
    try:
        model.set_output(transform="default")
        assert model.transform(X).shape == (2, model.n_components)
        assert np.isin(model.predict(X), model.classes_).all()
    except ValueError as error:
        refusal = str(error)
    assert not refusal or "out of the ball" in refusal, refusal


def check_transform(model, X):
    columns = model.embedding_.shape[1] if hasattr(model, "embedding_") else X.shape[1]
    columns = model.projection_.shape[1] if hasattr(model, "projection_") else columns
    if hasattr(model, "set_output"):
        model.set_output(transform="default")
    refusal = ""
    try:
        assert model.transform(X).shape == (2, columns)
    except ValueError as error:
        refusal = str(error)
    # With parameters other than those of its fit, the cells of a map may be too far apart.
    assert not refusal or "so far along the graph" in refusal, refusal


def go_on(model, X):
    """Check that ``partial_fit`` continues, or raises an error about a parameter."""
    refusal = ""
    try:
        model.partial_fit(X, model.classes_[[0, 1]])
    except (ValueError, AttributeError) as error:
        refusal = str(error)
    spoken_of = (
        "has no attribute 'partial_fit'",
        "must be",
        "needs a hard margin",
        "binary problems need",
        "one per binary problem",
        "weight",
    )
    assert not refusal or any(words in refusal for words in spoken_of), refusal


def outcome(data, path):
    """Load the bytes as a file: "refused", or "loaded" and usable. Anything else raises."""
    path.write_bytes(data)
    try:
        model = hyplearn.load(path)
    except ModelFileError:
        return "refused"
    check_usable(model)
    return "loaded"


@cache
def originals():
    """Return the bytes of the files of all fitted models."""
    return [to_bytes(model) for model in fitted()]


def run(count, first=0):
    """Outcomes of mutations by kind; an exception names the number of its mutation."""
    files, found = originals(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mutated.hyp")
        for number in range(first, first + count):
            kind, data = mutation(files, number)
            try:
                result = outcome(data, path)
            except Exception as error:
                raise AssertionError(f"mutation {number} ({kind})") from error
            assert result == "refused" or kind not in [k.__name__ for k in RAW] or data in files, f"mutation {number}"
            found[kind, result] += 1
    return found


if __name__ == "__main__":
    import resource

    # A load that takes too much memory ends in a MemoryError, which does not count as a rejection.
    resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
    outcomes = run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for (kind, result), times in sorted(outcomes.items()):
        sys.stdout.write(f"{kind:30} {result:10} {times:8,}\n")
    sys.stdout.write(f"{outcomes.total():,} mutated files\n")
