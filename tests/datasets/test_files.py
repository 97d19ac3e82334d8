import io
import sys

import h5py
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hyplearn import open_points
from hyplearn.datasets import load_points
from support import stored

X = np.array([[0.1, 0.2], [-0.5, 0.3], [0.25, -0.75]])
Y = np.array(["cat", "dog", "cat"])
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": Y})


def written(tmp_path, name, text, encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def npz(tmp_path, **arrays):
    path = tmp_path / "points.npz"
    np.savez(path, **arrays)
    return path


def parquet(tmp_path, frame, **options):
    path = tmp_path / "points.parquet"
    frame.to_parquet(path, **options)
    return path


def assert_loaded(result, X_expected, y_expected):
    X_loaded, y_loaded = result
    assert X_loaded.flags.c_contiguous
    assert X_loaded.dtype in (np.float32, np.float64)
    np.testing.assert_array_equal(X_loaded, X_expected)
    if y_expected is None:
        assert y_loaded is None
    else:
        assert y_loaded.shape == (len(X_loaded),)
        np.testing.assert_array_equal(y_loaded, y_expected)


# Every format returns the saved data.


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "npz"])
def test_saved_points_and_labels_come_back_to_the_last_bit(tmp_path, form):
    rng = np.random.default_rng(0)
    points, labels = rng.uniform(-1, 1, (50, 3)), rng.choice(["cat", "dog", "Käfer, groß"], 50)
    frame = pd.DataFrame(points, columns=["u", "v", "w"]).assign(kind=labels)
    path = tmp_path / f"points.{form.upper()}"
    if form == "npz":
        with path.open("wb") as file:
            np.savez(file, X=points, y=labels)
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
    assert_loaded(load_points(path), points, labels)


@given(
    arrays(
        st.sampled_from([np.float32, np.float64, np.dtype(">f8")]),
        array_shapes(min_dims=2, max_dims=2),
        elements=st.floats(-1, 1, width=32),
    )
)
def test_any_finite_array_comes_back_from_npy(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("npy") / "points.npy"
    np.save(path, np.asfortranarray(array))
    assert_loaded(load_points(path), array, None)


@pytest.mark.parametrize(
    ("stored", "loaded"),
    [
        (np.float32, np.float32),
        (">f4", np.float32),
        (np.float64, np.float64),
        (np.float16, np.float64),
        (np.int8, np.float64),
    ],
)
def test_float32_is_kept_and_other_types_become_float64(tmp_path, stored, loaded):
    np.save(tmp_path / "points.npy", np.zeros((2, 2), dtype=stored))
    dtype = load_points(tmp_path / "points.npy")[0].dtype
    assert dtype == loaded
    assert dtype.isnative


def test_float32_columns_of_parquet_stay_unless_mixed(tmp_path):
    frame = pd.DataFrame(X.astype(np.float32), columns=["a", "b"])
    assert load_points(parquet(tmp_path, frame))[0].dtype == np.float32
    assert load_points(parquet(tmp_path, frame.assign(c=0.5)))[0].dtype == np.float64


# Arrays.


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"X": X, "y": Y}, Y),
        ({"x_train": X, "y_train": Y, "x_test": X[:1], "y_test": Y[:1]}, Y),
        ({"embedding": X, "target": Y}, Y),
        ({"points": X, "distances": np.eye(3), "labels": Y}, Y),
        ({"Z": X, "weights": np.ones(3), "counts": np.ones((3, 2), dtype=int)}, None),
        ({"X": X}, None),
    ],
)
def test_conventional_arrays_are_found(tmp_path, arrays, expected):
    assert_loaded(load_points(npz(tmp_path, **arrays)), X, expected)


def test_named_arrays_are_used_with_their_matching_labels(tmp_path):
    path = npz(tmp_path, x_train=X, y_train=Y, x_test=X[:1], y_test=Y[:1], kinds=np.arange(3))
    assert_loaded(load_points(path, points="x_test"), X[:1], Y[:1])
    assert_loaded(load_points(path, points="x_train", label="kinds"), X, np.arange(3))


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        (
            {"X": X, "points": X},
            {},
            "Cannot tell which array of .* holds the points; candidates: 'X', 'points' \\(available: .*\nPass points=",
        ),
        ({"P": X, "Q": X, "r": Y}, {}, "holds the points; candidates: 'P', 'Q' \\(available: 'P', 'Q', 'r'\\)"),
        ({"r": Y}, {}, "holds the points; candidates: none \\(available: 'r'\\)"),
        ({"P": X, "label": Y, "target": Y}, {}, "holds the labels; candidates: 'label', 'target' \\(available: 'P',"),
        ({"X": X}, {"points": "Z"}, "has no array 'Z'; it contains 'X'"),
        ({"X": X}, {"label": "Z"}, "has no array 'Z'; it contains 'X'"),
        ({"X": X, "y": Y[:2]}, {}, r"array 'y' must hold 3 numbers or strings, one per point; got shape \(2,\)"),
        ({"X": X, "y": X}, {}, r"array 'y' must hold 3 numbers or strings, one per point; got shape \(3, 2\)"),
        ({"X": X, "y": Y.astype(bytes)}, {}, r"must hold 3 numbers or strings, .* got shape \(3,\) and dtype \|S3"),
        (
            {"X": X, "y": np.array([0, np.nan, np.nan])},
            {},
            "array 'X' lacks 2 of 3 labels; the first missing label is in row 1",
        ),
        ({"X": X.reshape(1, 3, 2), "y": Y}, {}, r"one point per row; got shape \(1, 3, 2\)"),
        ({"X": np.float64(1), "y": Y}, {}, r"one point per row; got shape \(\)"),
        ({"X": Y}, {}, r"one point per row; got shape \(3,\) and dtype <U3"),
        ({"X": np.ones(3)}, {}, r"one point per row; got shape \(3,\) and dtype float64"),
        ({"X": X.astype(complex)}, {}, r"real numbers, one point per row; got shape \(3, 2\) and dtype complex128"),
        ({"X": X[:0]}, {}, r"holds no coordinates: its shape is \(0, 2\)"),
        ({"X": np.array([[1, None]])}, {}, "holds Python objects, which are not loaded"),
        ({"X": X, "y": np.array(["a", 1, None])}, {}, "holds Python objects, which are not loaded"),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, arrays, options, message):
    with pytest.raises(ValueError, match=message):
        load_points(npz(tmp_path, **arrays), **options)


def test_an_array_without_names_takes_no_names(tmp_path):
    np.save(tmp_path / "points.npy", X)
    with pytest.raises(ValueError, match=r"points does not apply to .*; got points='X'"):
        load_points(tmp_path / "points.npy", points="X")


def test_labels_of_an_npy_file_are_in_a_second_file(tmp_path):
    np.save(tmp_path / "points.npy", X)
    np.save(tmp_path / "kinds.npy", np.array(Y))
    found = load_points(tmp_path / "points.npy", label=str(tmp_path / "kinds.npy"))
    assert np.array_equal(found[0], X)
    assert found[1].tolist() == list(Y)


@pytest.mark.parametrize("label", ["y", "none.npy", "points.csv"])
def test_labels_of_an_npy_file_must_be_a_file(tmp_path, label):
    np.save(tmp_path / "points.npy", X)
    (tmp_path / "points.csv").write_text("1\n")
    with pytest.raises(ValueError, match=f"existing .npy files; got '.*{label}'"):
        load_points(tmp_path / "points.npy", label=str(tmp_path / label))


def test_there_must_be_one_label_per_row(tmp_path):
    np.save(tmp_path / "points.npy", X)
    np.save(tmp_path / "kinds.npy", np.array(Y)[:2])
    with pytest.raises(ValueError, match=r"kinds\.npy must hold 3 numbers or strings"):
        load_points(tmp_path / "points.npy", label=str(tmp_path / "kinds.npy"))


# Tables of text.


@pytest.mark.parametrize(
    ("text", "y"),
    [
        ("a,b,kind\n0.1,0.2,cat\n-0.5,0.3,dog\n0.25,-0.75,cat\n", Y),
        ("0.1,0.2,cat\n-0.5,0.3,dog\n0.25,-0.75,cat", Y),
        ("\n0.1,0.2,cat\r\n\r\n-0.5,0.3,dog\r\n,,\r\n0.25,-0.75,cat\r\n\r\n", Y),
        ('"kind", "a", "b"\n"cat", "0.1", 0.2\n"dog",-0.5,"0.3"\n"cat", 0.25,-0.75', Y),
        ("\ufeffa,b\n0.1,2e-1\n-.5,+0.3\n0.25,-0.75\n", None),
        ("0.1,0.2\n-0.5,0.3\n0.25,-0.75\n", None),
        ("0,1\n0.1,0.2\n-0.5,0.3\n0.25,-0.75\n", None),
        ("0,1,kind\n0.1,0.2,cat\n-0.5,0.3,dog\n0.25,-0.75,cat\n", Y),
        ("x,y,label\n0.1,0.2,1\n-0.5,0.3,2\n0.25,-0.75,1\n", np.array([1, 2, 1])),
        ("name,x,y,class\nTom,0.1,0.2,cat\nRex,-0.5,0.3,dog\nKitty,0.25,-0.75,cat\n", Y),
    ],
)
def test_tables_are_read_as_they_are_written(tmp_path, text, y):
    assert_loaded(load_points(written(tmp_path, "points.csv", text)), X, y)
    if '"' not in text:
        assert_loaded(load_points(written(tmp_path, "points.tsv", text.replace(",", "\t"))), X, y)


@pytest.mark.parametrize("n", [50, 20_007])
def test_rows_after_the_first_batch_are_read_too(tmp_path, n):
    points, labels = np.random.default_rng(0).uniform(-1, 1, (n, 2)), np.arange(n) % 3
    pd.DataFrame(points).assign(label=labels).to_csv(tmp_path / "points.csv", index=False)
    assert_loaded(load_points(tmp_path / "points.csv"), points, labels)
    source = open_points(tmp_path / "points.csv", block_rows=7)
    assert source.n_rows == n
    assert {len(block.X) for block in source.blocks()} == {7, n % 7}
    assert_loaded(source.gathered()[:2], points, labels)


def test_rows_of_a_table_without_labels_are_counted_by_its_first_pass(tmp_path):
    source = open_points(written(tmp_path, "points.csv", "a,b\n0.1,0.2\n0.3,0.4\n0.5,0.6\n"), block_rows=2)
    assert source.n_rows is None
    assert list(source.blocks(2)) == []
    assert source.n_rows is None
    source.gathered(labelled=False)
    assert source.n_rows == 3


def test_labels_of_one_line_far_down_decide_the_type_of_all(tmp_path):
    text = "a,b,label\n" + "0.1,0.2,7\n" * 10_500 + "0.1,0.2,7b\n"
    blocks = list(open_points(written(tmp_path, "points.csv", text), block_rows=1000).blocks())
    assert {block.y.dtype.kind for block in blocks} == {"U"}


@pytest.mark.parametrize("form", sorted(set(stored.FORMATS) - {"blocks"}))
def test_every_format_of_open_points_is_loaded(tmp_path, form):
    points, labels = stored.separated(40)
    source = stored.FORMATS[form](tmp_path, points, labels)
    path = tmp_path / "part-*.parquet" if form == "parquet" else tmp_path / "points.zarr"
    if form not in ("parquet", "zarr"):
        path = {"npy": "X.npy", "npz": "points.npz", "packed": "packed.npz", "csv": "points.csv", "hdf5": "points.h5"}[
            form
        ]
        path = tmp_path / path
    label = str(tmp_path / "y.npy") if form == "npy" else None
    expected = source.gathered()
    assert_loaded(load_points(path, label=label), expected.X, expected.y)
    assert load_points(path, labelled=False)[1] is None


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_can_be_named(tmp_path, form):
    frame = FRAME.assign(note="none", group=[3, 1, 2])
    path = parquet(tmp_path, frame) if form == "parquet" else written(tmp_path, "points.csv", frame.to_csv(index=False))
    assert_loaded(load_points(path, points=["b", "a"], label="kind"), X[:, ::-1], Y)
    assert_loaded(load_points(path, points="b", label="group"), X[:, 1:], [3, 1, 2])
    assert_loaded(load_points(path, label="kind"), np.c_[X, [3, 1, 2]], Y)
    with pytest.raises(ValueError, match="holds the labels; candidates: 'kind', 'note' \\(available: 'a', 'b', 'kind'"):
        load_points(path)
    with pytest.raises(ValueError, match="has no column 'z'; its columns are 'a', 'b', 'kind', 'note', 'group'"):
        load_points(path, points=["a", "z"])
    with pytest.raises(ValueError, match="has no column 'z'; its columns are"):
        load_points(path, label="z")
    with pytest.raises(
        ValueError, match=r"holds no numbers in 'kind', 'note'\.\nPass points= with the names of the coordinate columns"
    ):
        load_points(path, points=["a", "note"], label="kind")


def test_a_byte_order_mark_is_ignored(tmp_path):
    path = written(tmp_path, "points.csv", "\ufeffa,b\n0.1,0.2\n-0.5,0.3\n0.25,-0.75\n")
    assert_loaded(load_points(path, points=["a", "b"]), X, None)


def test_a_column_named_as_a_coordinate_is_not_the_label(tmp_path):
    path = written(tmp_path, "points.csv", "a,label\n0.1,0.2\n-0.5,0.3\n0.25,-0.75\n")
    assert_loaded(load_points(path, points=["a", "label"]), X, None)


def test_columns_without_names_are_numbered(tmp_path):
    path = written(tmp_path, "points.csv", "5,0.1,0.2\n6,-0.5,0.3\n5,0.25,-0.75\n")
    assert_loaded(load_points(path, label="0"), X, [5, 6, 5])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["7", "-3", "0"], np.array([7, -3, 0])),
        (["1.0", "-1.0", "1.000e+00"], np.array([1.0, -1.0, 1.0])),
        (["007", "7", "07"], np.array(["007", "7", "07"])),
        (["1_0", "2_0", "3_0"], np.array(["1_0", "2_0", "3_0"])),
        (["1", "B", "nan"], np.array(["1", "B", "nan"])),
        (["9" * 30, "1", "2"], np.array(["9" * 30, "1", "2"])),
        ([" cat ", "dog", "cat"], Y),
    ],
)
def test_labels_become_numbers_only_if_nothing_is_lost(tmp_path, labels, expected):
    text = "a,b,kind\n" + "".join(f"{a},{b},{label}\n" for (a, b), label in zip(X, labels, strict=True))
    _, y = load_points(written(tmp_path, "points.csv", text), label="kind")
    assert y.dtype.kind == expected.dtype.kind
    np.testing.assert_array_equal(y, expected)


def test_names_that_python_reads_as_numbers_are_still_names(tmp_path):
    path = written(tmp_path, "points.csv", "a,b,cluster\n0.1,0.2,1_2\n-0.5,0.3,1_1\n0.25,-0.75,1_2\n")
    assert_loaded(load_points(path), X, ["1_2", "1_1", "1_2"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n0.1,0.2\n\n0.3\n", r"points\.csv, line 4: found 1 fields, but the first line has 2"),
        ("a,b\n0.1,0.2,0.3\n", r"points\.csv, line 2: found 3 fields, but the first line has 2"),
        ("a,b\n0.1,0.2\n0.3,n/a\n", r"points\.csv, line 3, column 'b': 'n/a' is not a number"),
        ("a,b\n0.1,n/a\n0.3,0.4\n", r"points\.csv, line 2, column 'b': 'n/a' is not a number"),
        ("0.1,0.2\n0.3,\n", r"points\.csv, line 2, column '1': '' is not a number"),
        ("a1,1\n0.3,0.5\n", r"points\.csv, line 1, column '0': 'a1' is not a number"),
        ("a,b,kind\n0.1,0.2,cat\n0.3,0.4,\n", r"points\.csv, line 3, column 'kind': the label is missing"),
        ('a,b\n0.1,"0.2\n0.3,0.4\n', r"points\.csv, line 3: unexpected end of data"),
        (
            "a,b\n0.1,0.2\n0.3,nan\n",
            "holds 1 row with NaN or infinite coordinates; the first is row 1, counted from 0",
        ),
        ("a,b\n", "holds no points: it has no rows of numbers"),
        ("\n\n", "holds no points: it has no rows of numbers"),
        ("", "is empty"),
        ("a;b\n0.1;0.2\n", "line 1: 'a;b' is one field, because fields in .csv files are separated by ',', not by ';'"),
        ("\na;b\n0,1;0,2\n", "line 2: 'a;b' is one field"),
        ("a\tb\n0.1\t0.2\n", r"'a\\tb' is one field.*\nSave the file with commas as .csv, or with tabs as .tsv"),
        ("label\n1\n2\n", "holds no numbers in any column except labels and weights"),
        (
            ",a,b\n0,0.1,0.2\n1,0.3,0.4\n",
            "without a name, or with the same name; its coordinate columns are '', 'a', 'b'.\nPass points=",
        ),
        ("a,a\n0.1,0.2\n", "without a name, or with the same name; its coordinate columns are 'a', 'a'"),
        ("a,b\n0.1,0.2\n".encode("utf-16"), "is not UTF-8 text"),
    ],
)
def test_errors_in_a_table_report_the_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load_points(written(tmp_path, "points.csv", text))


def test_a_name_that_occurs_twice_cannot_be_asked_for(tmp_path):
    with pytest.raises(ValueError, match="has more than one column 'a'"):
        load_points(written(tmp_path, "points.csv", "a,a\n0.1,0.2\n"), points="a")


# Parquet.


def test_row_labels_that_pandas_adds_to_parquet_are_no_coordinates(tmp_path):
    assert_loaded(load_points(parquet(tmp_path, FRAME.set_index(np.array([5, 7, 1])))), X, Y)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(pd.Categorical(Y), Y), ([3, 1, 2], [3, 1, 2]), ([True, False, True], [True, False, True])],
)
def test_labels_of_parquet_keep_their_type(tmp_path, labels, expected):
    frame = FRAME.assign(kind=labels)
    assert_loaded(load_points(parquet(tmp_path, frame), label="kind"), X, expected)


def test_missing_values_of_parquet_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"row 1 \(counted from 0\), column 'kind': the value is missing"):
        load_points(parquet(tmp_path, FRAME.assign(kind=["cat", None, "dog"])))
    with pytest.raises(ValueError, match=r"row 2 \(counted from 0\), column 'b': the value is missing"):
        load_points(parquet(tmp_path, FRAME.assign(b=[0.1, 0.2, None])))


def test_labels_of_parquet_must_be_numbers_or_strings(tmp_path):
    with pytest.raises(ValueError, match=r"column 'kind': labels must be numbers or strings; got date32\[day\]"):
        load_points(parquet(tmp_path, FRAME.assign(kind=pd.to_datetime(["2020", "2021", "2022"]).date)))


def test_parquet_without_pyarrow_names_the_package_to_install(tmp_path, monkeypatch):
    path = parquet(tmp_path, FRAME)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"Reading Parquet needs pyarrow: pip install 'hyplearn\[parquet\]'\."):
        load_points(path)


# Missing, unknown and incomplete files.


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*points\.csv"):
        load_points(tmp_path / "points.csv")


def test_an_unknown_suffix_lists_the_known_ones(tmp_path):
    with pytest.raises(
        ValueError,
        match=r"has the suffix '\.xlsx'; supported suffixes are \.npz, \.npy, \.csv, \.tsv, \.parquet, \.pq, \.h5",
    ):
        load_points(written(tmp_path, "points.xlsx", "a,b"))


def saved(form):
    content = io.BytesIO()
    if form == "npy":
        np.save(content, X)
    elif form == "npz":
        np.savez_compressed(content, X=X, y=Y)
    elif form == "h5":
        with h5py.File(content, "w") as file:
            file["X"], file["y"] = X, Y.astype(object)
    else:
        FRAME.to_parquet(content)
    return content.getvalue()


@pytest.mark.parametrize("form", ["npy", "npz", "parquet", "h5"])
@pytest.mark.parametrize("size", [0, 8, 60, -5])
def test_a_truncated_file_is_named(tmp_path, form, size):
    with pytest.raises(ValueError, match=rf"points\.{form} is (empty|damaged)"):
        load_points(written(tmp_path, f"points.{form}", saved(form)[:size]))


@pytest.mark.parametrize("form", ["npy", "npz", "parquet", "h5"])
@pytest.mark.parametrize("content", [b"<html>", b"\x80\x04N.", b"a,b\n0.1,0.2\n"])
def test_a_file_of_another_kind_is_named(tmp_path, form, content):
    with pytest.raises(ValueError, match=rf"points\.{form} is not a \.{form} file, although its name ends like one"):
        load_points(written(tmp_path, f"points.{form}", content))


def complaint(path):
    try:
        load_points(path)
    except (ValueError, OSError) as error:
        return str(error)


@pytest.mark.parametrize("form", ["npy", "npz", "parquet"])
def test_a_flipped_byte_gives_points_or_an_error_that_names_the_file(tmp_path, form):
    content = saved(form)
    for position in range(0, len(content), max(1, len(content) // 200)):
        damaged = bytearray(content)
        damaged[position] ^= 0xFF
        path = written(tmp_path, f"points.{form}", bytes(damaged))
        assert complaint(path) is None or str(path) in complaint(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_counted_and_the_first_is_named(tmp_path, bad):
    points = np.zeros((5, 3))
    points[3, 1] = points[4, 0] = bad
    np.save(tmp_path / "points.npy", points)
    with pytest.raises(
        ValueError, match=f"holds 2 rows with NaN or infinite .* first is row 3, counted from 0, with {bad}"
    ):
        load_points(tmp_path / "points.npy")


def test_a_memory_error_is_not_reported_as_damage(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise MemoryError

    path = tmp_path / "points.npz"
    np.savez_compressed(path, X=X)
    monkeypatch.setattr(np.lib.format, "read_array", refuse)
    with pytest.raises(MemoryError):
        load_points(path)
