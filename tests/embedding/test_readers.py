from types import SimpleNamespace

import numpy as np
import pytest

from hyplearn.embedding import from_ball, from_gensim, from_half_space, from_hyperboloid, from_klein
from hyplearn.geometry import ball_to_hyperboloid, ball_to_klein, pairwise_distance
from support.balls import cloud


@pytest.fixture
def X():
    return cloud(np.random.default_rng(0), 30, 3, 1.0, 1e-3)


@pytest.mark.parametrize("c", [0.25, 1.0, 3.0])
def test_models_of_any_curvature_round_trip(X, c):
    near = {"rtol": 0, "atol": 1e-13}
    np.testing.assert_allclose(from_ball(X / np.sqrt(c), curvature=-c), X, **near)
    np.testing.assert_allclose(from_klein(ball_to_klein(X) / np.sqrt(c), curvature=-c), X, **near)
    hyperboloid = ball_to_hyperboloid(X) / np.sqrt(c)
    np.testing.assert_allclose(from_hyperboloid(hyperboloid, curvature=-c), X, **near)
    last = np.column_stack([hyperboloid[:, 1:], hyperboloid[:, 0]])
    np.testing.assert_allclose(from_hyperboloid(last, curvature=-c, time="last"), X, **near)


def test_the_half_space_keeps_its_distances():
    rng = np.random.default_rng(0)
    Y = np.column_stack([rng.normal(size=(20, 2)), np.exp(rng.normal(size=20))])
    squares = np.sum((Y[:, None] - Y[None]) ** 2, axis=2)
    due = np.arccosh(1 + squares / (2 * Y[:, None, -1] * Y[None, :, -1]))
    np.testing.assert_allclose(pairwise_distance(from_half_space(Y)), due, atol=1e-7)


def test_float32_stays_float32(X):
    assert from_ball(X.astype(np.float32), curvature=-0.9).dtype == np.float32


def test_rows_off_the_hyperboloid_are_named_with_their_deviation(X):
    rows = ball_to_hyperboloid(X)
    rows[7, 0] += 0.1
    with pytest.raises(ValueError, match=r"1 of 30 rows do not lie on the hyperboloid.*the worst is row 7 with X⁰ = "):
        from_hyperboloid(rows)
    with pytest.raises(ValueError, match="do not lie on the hyperboloid"):
        from_hyperboloid(ball_to_hyperboloid(X), curvature=-2.0)
    with pytest.raises(ValueError, match='time must be "first" or "last"'):
        from_hyperboloid(rows, time="middle")


@pytest.mark.parametrize("reader", [from_ball, from_klein])
def test_rows_outside_the_ball_are_named_with_their_norm(X, reader):
    X[4] = [0.0, 3.0, 4.0]
    with pytest.raises(ValueError, match=r"1 of 30 points lies outside.*row 4 with norm 5"):
        reader(X)
    with pytest.raises(ValueError, match=r"radius 2.5\); the farthest is row 4 with norm 5"):
        reader(X, curvature=-0.16)


def test_rows_below_the_half_space_are_named():
    with pytest.raises(ValueError, match=r"1 of 3 rows do not lie in the half-space; the worst is row 1 with .* -0.5"):
        from_half_space([[0.0, 1.0], [0.0, -0.5], [1.0, 2.0]])


def test_nan_is_rejected(X):
    X[3, 1] = np.nan
    for reader in (from_ball, from_klein, from_half_space, from_hyperboloid):
        with pytest.raises(ValueError, match="NaN"):
            reader(X)


def test_key_vectors_and_models_of_gensim_are_read(X):
    vectors = SimpleNamespace(vectors=X.astype(np.float32), index_to_key=[f"w{i}" for i in range(30)])
    for source in (vectors, SimpleNamespace(kv=vectors)):
        points, names = from_gensim(source)
        np.testing.assert_array_equal(points, X.astype(np.float32))
        assert names[:2] == ["w0", "w1"]


def test_a_real_model_of_gensim_is_read(tmp_path):
    poincare = pytest.importorskip("gensim.models.poincare", reason="gensim is not installed")
    model = poincare.PoincareModel([("dog", "mammal"), ("big cat", "mammal"), ("mammal", "animal")], size=2, negative=1)
    model.train(epochs=2)
    model.kv.save_word2vec_format(str(tmp_path / "vectors.txt"))
    points, names = from_gensim(model)
    read, same = from_gensim(tmp_path / "vectors.txt")
    assert sorted(names) == sorted(same) == ["animal", "big cat", "dog", "mammal"]
    rows = [names.index(name) for name in same]  # gensim writes frequent names first
    np.testing.assert_allclose(read, points[rows], rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "does not start with the numbers"),
        ("a b c\n", "does not start with the numbers"),
        ("2 2\na 0.1 0.2\n", "declares 2 rows but has 1"),
        ("1 2\na 0.1 0.2\nb 0.1 0.2\n", "line 3: expected 1 rows"),
        ("1 3\na 0.1\n", "line 2: expected 1 rows, each with a name and 3 coordinates; got 'a 0.1'"),
        ("1 2\na 0.1 x\n", "line 2: could not convert string to float: 'x'"),
        ("1 2\na 0.1 nan\n", "NaN"),
        ("1 2\na 1.1 0\n", "outside the open ball"),
    ],
)
def test_damaged_text_files_are_rejected(tmp_path, text, problem):
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=problem):
        from_gensim(path)


def test_objects_not_made_by_gensim_are_rejected(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        from_gensim(tmp_path / "nothing.txt")
    with pytest.raises(TypeError, match=r"Expected gensim's PoincareModel.*got list"):
        from_gensim([1, 2])
