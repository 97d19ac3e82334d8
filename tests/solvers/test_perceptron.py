"""The perceptrons, compared with Algorithm 1 of the paper and its two theorems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyplearn.datasets import make_ball_classification
from hyplearn.solvers.perceptron import Perceptron, paper_bound, second_order_bound
from hyplearn.tangent import TangentRows, implicit_rows, z_features
from support import naive
from support.balls import CURVATURES, at_gap, cloud


def problem(seed, n=150, d=4, c=1.0):
    """Points with labels that no hyperplane separates."""
    rng = np.random.default_rng(seed)
    X, p = cloud(rng, n, d, c), at_gap(rng, d, 0.6, c)
    y = np.where(X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return implicit_rows(X, p, features="z", c=c), z_features(X, p, c=c), y


@given(st.integers(0, 10**6), st.sampled_from(CURVATURES))
def test_first_order_follows_the_papers_rule(seed, c):
    rows, Z, y = problem(seed, c=c)
    perceptron = Perceptron.first_order(4)
    perceptron.visit(rows, y)
    w, updates = naive.perceptron(Z, y)
    assert perceptron.n_updates == updates
    assert np.allclose(perceptron.w, w, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 100.0]))
def test_second_order_follows_algorithm_1(seed, a):
    rows, Z, y = problem(seed, n=60)
    perceptron = Perceptron.second_order(4, a)
    perceptron.visit(rows, y)
    w, mistaken = naive.second_order_perceptron(Z, y, a)
    assert perceptron.n_updates == len(mistaken)
    assert np.allclose(perceptron.w, w, rtol=1e-6, atol=1e-8)
    S = Z[mistaken].T
    assert np.allclose(perceptron.inverse @ (a * np.eye(4) + S @ S.T), np.eye(4), atol=1e-7)


@given(st.integers(0, 10**6))
def test_second_order_without_regularisation_follows_algorithm_1_with_the_pseudo_inverse(seed):
    rows, Z, y = problem(seed, n=60)
    perceptron = Perceptron.second_order(4, 0.0)
    perceptron.visit(rows, y)
    w, mistaken = naive.second_order_perceptron(Z, y, 0.0)
    assert perceptron.n_updates == len(mistaken)
    assert np.allclose(perceptron.w, w, rtol=1e-5, atol=1e-7)


@given(st.integers(0, 10**6), st.sampled_from([1e-2, 1.0]))
def test_the_current_row_inside_the_inverse_does_not_change_the_sign(seed, a):
    """Sherman and Morrison: ⟨(A + zzᵀ)⁻¹ξ, z⟩ = ⟨A⁻¹ξ, z⟩ / (1 + zᵀA⁻¹z)."""
    _, Z, y = problem(seed, n=40)
    with_row = naive.second_order_perceptron(Z, y, a)[1]
    without = naive.second_order_perceptron(Z, y, a, current_row_inside=False)[1]
    assert np.array_equal(with_row, without)


def test_every_row_of_a_new_direction_is_a_mistake_without_regularisation():
    rows, _, y = problem(0, n=200, d=30)
    perceptron = Perceptron.second_order(30, 0.0)
    perceptron.visit(part_of(rows, 30), y[:30])
    assert perceptron.n_updates == 30
    assert np.abs(perceptron.outside).max() < 1e-9


def part_of(rows, stop, start=0):
    """Some of the rows, as implicit rows."""
    return type(rows)(rows.X[start:stop], rows.p, rows.along[start:stop], rows.base[start:stop])


@pytest.mark.parametrize(("off", "rank"), [(1e-6, 2), (1e-8, 2), (1e-12, 1), (0.0, 1)])
def test_a_direction_is_new_unless_it_is_rounding(off, rank):
    rows = implicit_rows(np.array([[0.5, 0.0], [0.4, 0.4 * off]]), np.zeros(2), features="z")
    perceptron = Perceptron.second_order(2, 0.0)
    perceptron.visit(rows, np.ones(2))
    assert 2 - round(np.trace(perceptron.outside)) == rank
    assert perceptron.n_updates == rank


def test_pseudo_inverse_is_exact_for_rows_of_low_rank():
    """All points are in a plane through the centre, so the rank is 2 of 5; repeated directions do not raise it."""
    rng = np.random.default_rng(1)
    plane = np.linalg.qr(rng.standard_normal((5, 2)))[0].T
    X, p = cloud(rng, 80, 2, 1.0) @ plane, np.array([0.1, 0.2]) @ plane
    y = np.where(rng.uniform(size=80) > 0.4, 1.0, -1.0)
    perceptron = Perceptron.second_order(5, 0.0)
    perceptron.visit(implicit_rows(X, p, features="z"), y)
    assert round(np.trace(perceptron.outside)) == 3
    w, mistaken = naive.second_order_perceptron(z_features(X, p), y, 0.0)
    assert perceptron.n_updates == len(mistaken)
    S = z_features(X, p)[mistaken].T
    assert np.allclose(perceptron.inverse, np.linalg.pinv(S @ S.T, rcond=1e-12, hermitian=True), atol=1e-9)
    assert np.allclose(perceptron.w, w, atol=1e-8)


@pytest.mark.parametrize("a", [None, 0.0, 1.0])
@pytest.mark.parametrize("sizes", [[1] * 60, [7, 0, 13, 40], [60]])
def test_a_stream_in_chunks_ends_in_the_same_bits_as_one_pass(a, sizes):
    rows, _, y = problem(3, n=60, d=6)
    whole = Perceptron.first_order(6) if a is None else Perceptron.second_order(6, a)
    parts = Perceptron.first_order(6) if a is None else Perceptron.second_order(6, a)
    whole.visit(rows, y)
    for start, stop in zip(np.cumsum([0, *sizes[:-1]]), np.cumsum(sizes), strict=True):
        chunk = implicit_rows(rows.X[start:stop], rows.p, features="z")
        parts.visit(chunk, y[start:stop])
    assert np.array_equal(whole.w, parts.w)
    assert np.array_equal(whole.average, parts.average)
    assert np.array_equal(whole.counts, parts.counts)


@pytest.mark.parametrize("a", [None, 0.0, 1.0])
def test_weight_k_acts_like_k_copies(a):
    rows, _, y = problem(4, n=50)
    weights = np.random.default_rng(0).integers(0, 4, 50)
    weighted = Perceptron.first_order(4) if a is None else Perceptron.second_order(4, a)
    copied = Perceptron.first_order(4) if a is None else Perceptron.second_order(4, a)
    weighted.visit(rows, y, weights.astype(float))
    copied.visit(implicit_rows(np.repeat(rows.X, weights, axis=0), rows.p, features="z"), np.repeat(y, weights))
    assert np.array_equal(weighted.w, copied.w)
    assert np.array_equal(weighted.counts, copied.counts)
    assert np.allclose(weighted.average, copied.average, rtol=1e-12)


def test_the_fraction_of_a_weight_shortens_the_step():
    rows, Z, y = problem(6, n=40)
    half = np.full(40, 0.5)
    whole, halved = Perceptron.first_order(4), Perceptron.first_order(4)
    whole.visit(rows, y)
    halved.visit(rows, y, half)
    assert np.allclose(halved.w, whole.w / 2, rtol=1e-12)
    assert halved.n_updates == whole.n_updates
    for a in (0.0, 1.0):
        halved = Perceptron.second_order(4, a)
        mistaken = [i for i in range(40) if halved.visit(part_of(rows, i + 1, i), y[i : i + 1], half[:1])]
        S = Z[mistaken].T
        assert np.allclose(halved.inverse @ (a * np.eye(4) + 0.5 * S @ S.T), np.eye(4), atol=1e-8)
        assert np.allclose(halved.w, halved.inverse @ (0.5 * S @ y[mistaken]), rtol=1e-8)


@pytest.mark.parametrize("order", [1, 2])
def test_average_is_the_mean_of_the_weights_or_unit_normals_after_each_visit(order):
    rows, _, y = problem(5, n=40)
    perceptron, seen = Perceptron.first_order(4) if order == 1 else Perceptron.second_order(4, 1.0), []
    for i in range(40):
        perceptron.visit(implicit_rows(rows.X[i : i + 1], rows.p, features="z"), y[i : i + 1])
        seen.append(perceptron.w / (np.linalg.norm(perceptron.w) if order == 2 else 1.0))
    assert np.allclose(perceptron.average, np.mean(seen, axis=0), rtol=1e-12)


@pytest.mark.parametrize("n", [50, 20_001])
def test_a_shuffled_pass_visits_every_row_once(n):
    """With w = 0 and a row that is never correct (x = p), every visit is an update that changes nothing."""
    p = np.array([0.1, 0.2])
    rows = implicit_rows(np.tile(p, (n, 1)), p, features="z")
    perceptron = Perceptron.first_order(2)
    assert perceptron.visit(rows, np.ones(n), rng=np.random.default_rng(0)) == n
    assert perceptron.counts[2] == n


def test_paper_bound_gives_the_eight_bounds_of_table_1():
    printed = {(1, 1.0): 594, (1, 0.1): 81749, (3, 1.0): 3670}
    for (fifths, margin), bound in printed.items():
        assert round(paper_bound(fifths * 0.95 / 5, 0.95, margin)) == bound
    rounded = {(1, 0.01): 8.2e6, (1, 0.001): 8.2e8, (3, 0.1): 5.05e5, (3, 0.01): 5.07e7, (3, 0.001): 5.07e9}
    for (fifths, margin), bound in rounded.items():
        digits = 2 if fifths == 1 else 3
        assert float(f"{paper_bound(fifths * 0.95 / 5, 0.95, margin):.{digits - 1}e}") == bound


@given(st.integers(0, 10**6), st.floats(0.02, 1.0), st.integers(1, 6))
def test_first_order_stays_below_its_mistake_bound(seed, margin, d):
    """By the first theorem, with the margin of the hyperplane that labelled the data."""
    X, y, p, w = make_ball_classification(60, d, margin=margin, reference_norm=0.2, random_state=seed)
    rows = implicit_rows(X, p, features="z")
    perceptron = Perceptron.first_order(d)
    while perceptron.visit(rows, y.astype(float)):
        pass
    longest = np.linalg.norm(z_features(X, p), axis=1).max()
    least = np.min(y * (rows @ w)) / np.linalg.norm(w)
    bound = (longest / least) ** 2
    assert (
        perceptron.n_updates
        <= bound
        <= paper_bound(0.2, np.linalg.norm(X, axis=1).max(), np.arcsinh(least)) * (1 + 1e-9)
    )


@given(st.integers(0, 10**6), st.floats(0.02, 1.0), st.integers(1, 6), st.sampled_from([0.01, 1.0, 30.0]))
def test_second_order_stays_below_its_mistake_bound(seed, margin, d, a):
    """By the second theorem, with the eigenvalues of the mistaken rows."""
    X, y, p, w = make_ball_classification(60, d, margin=margin, reference_norm=0.2, random_state=seed)
    Z, sequence = z_features(X, p), []
    perceptron = Perceptron.second_order(d, a)
    for _ in range(200):
        before = perceptron.n_updates
        sequence += [
            i
            for i in range(60)
            if perceptron.visit(implicit_rows(X[i : i + 1], p, features="z"), y[i : i + 1].astype(float))
        ]
        if perceptron.n_updates == before:
            break
    S, normal = Z[sequence].T, w / np.linalg.norm(w)
    eigenvalues = np.linalg.eigvalsh(S @ S.T).clip(0)
    least = np.min(y * (Z @ normal))
    bound = np.sqrt((a + np.sum((S.T @ normal) ** 2)) * np.log1p(eigenvalues / a).sum()) / least
    assert perceptron.n_updates == len(sequence) <= bound
    assert second_order_bound(perceptron, normal, a, least) == pytest.approx(bound, rel=1e-7)


def test_second_order_bound_keeps_the_eigenvalues_of_rows_at_the_rim():
    """Rows of length 2^50 beside a = 1: in the inverse, 2^-100 beside 1, these eigenvalues are nothing but rounding."""
    rng, length, d = np.random.default_rng(0), 2.0**50, 8
    Z = length * np.linalg.qr(rng.standard_normal((d, d)))[0][:5]
    perceptron = Perceptron.second_order(d, 1.0)
    for z in Z:
        row = TangentRows(z[None], np.zeros(d), np.ones(1), np.zeros(1))
        assert perceptron.visit(row, np.array([-1.0 if perceptron.w @ z > 0 else 1.0])) == 1
    normal = Z[0] / length
    expected = np.sqrt((1 + length**2) * 5 * np.log1p(length**2))
    assert second_order_bound(perceptron, normal, 1.0, 1.0) == pytest.approx(expected, rel=1e-12)
