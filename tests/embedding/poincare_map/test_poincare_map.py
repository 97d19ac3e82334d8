"""PoincareMap: embedded cells, invariances of the map, and errors."""

import numba
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from hyplearn.embedding import PoincareMap
from hyplearn.embedding.poincare_map.cells import connected_graph, neighbours_for
from hyplearn.embedding.poincare_map.divergence import Divergence, forest_accessibilities
from hyplearn.geometry import distance, gap, pairwise_distance

UNLIKE = "ignore:.* cells have the same features", "ignore:The graph of nearest"


@pytest.mark.filterwarnings(*UNLIKE)
@parametrize_with_checks([PoincareMap(n_landmarks=20, max_iter=20, tol=1e-2)])  # some checks have more rows
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


def branches(n=120, seed=0):
    """Cells along three branches from one root, with their times and branches."""
    rng = np.random.default_rng(seed)
    branch, time = np.arange(n) % 3, np.arange(n) / n
    return time[:, None] * 10 * np.eye(5)[branch] + 0.3 * rng.standard_normal((n, 5)), time, branch


@pytest.fixture(scope="module")
def cells():
    return branches()


@pytest.fixture(scope="module")
def model(cells):
    return PoincareMap(n_neighbors=6, root=0).fit(cells[0])


def test_branches_grow_from_the_root_to_the_rim_and_stay_apart(cells, model):
    _, time, branch = cells
    X = model.embedding_
    radius = distance(X, np.zeros(2))
    for k in range(3):
        own = branch == k
        assert np.corrcoef(time[own], radius[own])[0, 1] > 0.9
    late = time > 0.5
    D = pairwise_distance(X[late])
    np.fill_diagonal(D, np.inf)
    assert np.all(branch[late][np.argmin(D, axis=1)] == branch[late])


def test_the_loss_matches_the_points_and_is_far_below_the_initial_loss(cells, model):
    Q = forest_accessibilities(connected_graph(np.unique(cells[0], axis=0), 6, 0.5)[0])
    order = np.lexsort(cells[0].T[::-1])
    loss, _ = Divergence(Q, model.gamma_).value_and_gradient(model.embedding_[order])
    assert loss == pytest.approx(model.loss_, rel=1e-9)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 steps"):
        short = PoincareMap(n_neighbors=6, max_iter=1).fit(cells[0])
    assert short.n_iter_ == 1
    assert model.loss_ < 0.8 * short.loss_
    assert 1 < model.n_iter_ < 500


def test_a_random_start_needs_exaggeration_and_its_seed_decides(cells, model):
    X = cells[0]
    quick = {"n_neighbors": 6, "init": "random", "tol": 1e-3}
    exaggerated = PoincareMap(**quick, random_state=1).fit(X)
    plain = PoincareMap(**quick, random_state=1, early_exaggeration=1.0).fit(X)
    assert exaggerated.loss_ < 0.5 * plain.loss_
    assert exaggerated.loss_ < 2 * model.loss_
    assert np.array_equal(PoincareMap(**quick, random_state=1).fit_transform(X), exaggerated.embedding_)
    assert not np.array_equal(PoincareMap(**quick, random_state=2).fit_transform(X), exaggerated.embedding_)


def test_the_root_is_the_centre_and_does_not_change_distances(cells, model):
    X = cells[0]
    assert np.all(model.embedding_[0] == 0)
    other = PoincareMap(n_neighbors=6).fit(X)
    np.testing.assert_allclose(
        pairwise_distance(other.embedding_), pairwise_distance(model.embedding_), rtol=1e-9, atol=1e-9
    )
    named = pd.DataFrame(X, index=[f"cell{k}" for k in range(len(X))], columns=list("abcde"))
    by_name = PoincareMap(n_neighbors=6, root="cell0").fit(named)
    assert np.array_equal(by_name.embedding_, model.embedding_)
    assert by_name.feature_names_in_.tolist() == list("abcde")


def test_the_order_of_cells_and_their_scale_do_not_matter(cells, model):
    X = cells[0]
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = PoincareMap(n_neighbors=6, root=int(np.argmin(order))).fit(4.0 * X[order])
    assert np.array_equal(shuffled.embedding_, model.embedding_[order])


def test_rotated_features_and_constant_ones_give_the_same_map(cells, model):
    X = cells[0]
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    turned = PoincareMap(n_neighbors=6, tol=1e-7, max_iter=5000).fit(X @ turn)
    due = PoincareMap(n_neighbors=6, tol=1e-7, max_iter=5000).fit(X)
    assert turned.loss_ == pytest.approx(due.loss_, rel=1e-4)
    np.testing.assert_allclose(pairwise_distance(turned.embedding_), pairwise_distance(due.embedding_), atol=0.05)
    wider = PoincareMap(n_neighbors=6, root=0).fit(np.column_stack([X, np.full(len(X), 3.0)]))
    np.testing.assert_allclose(wider.embedding_, model.embedding_, atol=1e-9)


def test_the_same_bits_for_any_number_of_threads(cells, model):
    X, threads = cells[0], numba.get_num_threads()
    new = branches(20, seed=1)[0]
    try:
        numba.set_num_threads(1)
        alone = PoincareMap(n_neighbors=6, root=0).fit(X)
        assert np.array_equal(alone.embedding_, model.embedding_)
        few = alone.transform(new)
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(few, model.transform(new))


def test_cells_of_the_map_are_transformed_to_their_points(cells, model):
    assert np.array_equal(model.transform(cells[0][::-1]), model.embedding_[::-1])


def test_new_cells_are_placed_on_their_branch_independently_of_each_other(cells, model):
    new, time, branch = branches(90, seed=1)
    placed = model.transform(new)
    nearest = np.argmin(pairwise_distance(placed, model.embedding_), axis=1)
    late = time > 0.4
    assert np.all(cells[2][nearest][late] == branch[late])
    assert np.corrcoef(time, distance(placed, np.zeros(2)))[0, 1] > 0.9
    np.testing.assert_allclose(model.transform(new[7:8])[0], placed[7], atol=1e-6)


def test_a_held_out_cell_is_placed_near_its_fitted_point(cells, model):
    """The points differ slightly, because the other rows change without the held-out cell."""
    X = cells[0]
    left = PoincareMap(n_neighbors=6, root=0).fit(np.delete(X, 60, axis=0))
    off = distance(left.transform(X[60:61])[0], np.delete(left.embedding_, [0], axis=0)).min()
    nearest = np.sort(pairwise_distance(model.embedding_)[60])[1]
    assert off < 5 * nearest


def test_landmarks_are_embedded_and_the_others_placed_among_them():
    X, time, branch = branches(300)
    model = PoincareMap(n_neighbors=6, n_landmarks=60, gamma=2.0, root=0, random_state=0).fit(X)
    assert len(set(model.landmarks_)) == 60
    assert np.all(model.embedding_[0] == 0)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
    radius = distance(model.embedding_, np.zeros(2))
    assert min(np.corrcoef(time[branch == k], radius[branch == k])[0, 1] for k in range(3)) > 0.9
    same = PoincareMap(n_neighbors=6, n_landmarks=60, gamma=2.0, root=0, random_state=0).fit(X)
    assert np.array_equal(same.embedding_, model.embedding_)
    other = PoincareMap(n_neighbors=6, n_landmarks=60, root=0, random_state=1).fit(X)
    assert not np.array_equal(other.landmarks_, model.landmarks_)
    # With as many landmarks as cells, all cells are landmarks.
    every = [PoincareMap(n_neighbors=6, n_landmarks=n, max_iter=30, tol=1e-3).fit(X[:50]) for n in (50, None, "auto")]
    assert np.array_equal(every[0].embedding_, every[1].embedding_)
    assert np.array_equal(every[0].embedding_, every[2].embedding_)


def test_copies_of_a_cell_share_its_point_with_a_warning(cells, model):
    X = cells[0]
    with pytest.warns(UserWarning, match=r"2 of 122 cells have the same features as an earlier cell"):
        again = PoincareMap(n_neighbors=6, root=0).fit(X[[*range(120), 5, 7]])
    assert np.array_equal(again.embedding_, model.embedding_[[*range(120), 5, 7]])
    zeros = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0], [1.0, 5.0], [4.0, 4.0]])
    with pytest.warns(UserWarning, match="1 of 5 cells have the same features"):
        assert distance(*PoincareMap(n_neighbors=2).fit_transform(zeros)[:2]) == 0
    few = PoincareMap(n_neighbors=2).fit(zeros[[0, 2, 3, 4]])
    assert np.array_equal(few.transform(zeros[1:2]), few.embedding_[:1])


def test_parts_that_were_joined_cause_a_warning(cells):
    X, _, branch = cells
    with pytest.warns(
        UserWarning, match=r"has 3 connected components, the smallest with 40 cells.*\nRaise n_neighbors"
    ):
        model = PoincareMap(n_neighbors=6).fit(X + 1e3 * np.eye(5)[branch])
    assert np.all(np.isfinite(model.embedding_))
    assert np.all(np.isfinite(model.transform(X[:3])))  # without a warning, because the graph is the same


def test_more_neighbours_than_cells_cause_a_warning_and_all_are_taken(cells):
    X = cells[0][:10]
    with pytest.warns(
        UserWarning,
        match=r"n_neighbors=15, but only 10 different cells .* has only 9 neighbours\.\nLower n_neighbors",
    ):
        model = PoincareMap(n_neighbors=15).fit(X)
    assert np.array_equal(model.embedding_, PoincareMap(n_neighbors=9).fit_transform(X))


def test_neighbours_follow_the_number_of_cells_that_are_embedded_together(cells):
    assert [neighbours_for("auto", n) for n in (4, 11, 100, 400, 480, 600, 10**6)] == [3, 10, 10, 10, 12, 15, 15]
    X = cells[0]
    for options, n_neighbors in (({}, 10), ({"n_landmarks": 9}, 8)):
        chosen = PoincareMap(**options, random_state=0).fit(X[:100])
        given = PoincareMap(**options, n_neighbors=n_neighbors, random_state=0).fit(X[:100])
        assert np.array_equal(chosen.embedding_, given.embedding_)
        assert np.array_equal(chosen.transform(X[100:]), given.transform(X[100:]))


@pytest.mark.filterwarnings("ignore:The loss did not converge")
@pytest.mark.parametrize("sigma", [0.5, None])
def test_a_long_line_stays_inside_the_ball(sigma):
    """The ends of a line have the largest possible distance in the graph."""
    line = np.column_stack([np.arange(200.0), np.zeros(200)])
    model = PoincareMap(n_neighbors=2, sigma=sigma, gamma=0.2, max_iter=100, tol=1e-3).fit(line)
    assert np.all(np.isfinite(model.embedding_))
    assert gap(model.embedding_).min() > 0
    assert np.isfinite(model.loss_)
    assert np.all(gap(model.transform(line + 0.2)) > 0)


@pytest.mark.filterwarnings("ignore:The loss did not converge")
@pytest.mark.parametrize("d", [1, 4])
def test_maps_of_other_dimensions_are_computed(cells, d):
    model = PoincareMap(d, n_neighbors=6, max_iter=40, tol=1e-3).fit(cells[0])
    assert model.embedding_.shape == (120, d)
    assert model.transform(cells[0][:2] + 0.01).shape == (2, d)


def test_a_map_that_stalls_at_the_limit_of_float64_causes_a_warning():
    """With a small gamma, the distances of the map are several times the largest radius."""
    X = np.random.default_rng(0).standard_normal((12, 3))
    message = r"did not converge: after \d+ steps, .* largest hyperbolic radius is 3[56].*\nRaise gamma"
    with pytest.warns(ConvergenceWarning, match=message):
        PoincareMap(gamma=0.003, tol=1e-7, max_iter=3000).fit(X)


def test_columns_have_names_in_pandas_and_in_a_pipeline(cells):
    X = cells[0]
    steps = make_pipeline(StandardScaler(), PoincareMap(n_neighbors=6, max_iter=40, tol=1e-3))
    table = steps.set_output(transform="pandas").fit_transform(
        pd.DataFrame(X, index=np.arange(120) + 7).add_prefix("f")
    )
    assert table.columns.tolist() == ["poincaremap0", "poincaremap1"]
    assert table.index.tolist() == list(range(7, 127))
    assert steps.get_feature_names_out().tolist() == ["poincaremap0", "poincaremap1"]


def test_a_verbose_fit_reports_its_progress(cells, capsys, monkeypatch):
    PoincareMap(n_neighbors=6, n_landmarks=100, random_state=0).fit(cells[0])
    assert capsys.readouterr().out == ""
    PoincareMap(n_neighbors=6, n_landmarks=100, random_state=0, verbose=1).fit(cells[0])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("PoincareMap: descent, step 10, loss 0.")
    assert lines[-1] == "PoincareMap: other cells, 20 of 20 placed"
    rich_progress = pytest.importorskip("rich.progress")
    drawn = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(rich_progress.Progress, "update", lambda self, task, **fields: drawn.append(fields))
    PoincareMap(n_neighbors=6, n_landmarks=100, random_state=0, verbose=1).fit(cells[0])
    assert drawn[-1] == {"completed": 1.0, "message": "20 of 20 placed"}
    assert 0 < drawn[0]["completed"] < 1


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda X: X[:2], "minimum of 3 is required by PoincareMap"),
        (lambda X: np.where(X > 5, np.nan, X), "NaN or infinite coordinates; the first is row"),
        (lambda X: np.where(X > 5, np.inf, X), "NaN or infinite coordinates; the first is row"),
        (lambda X: 1e200 * X, r"features as large as \d.*e\+200, .* overflow float64.*\nScale the features"),
    ],
)
def test_invalid_features_are_rejected(cells, spoil, problem):
    with pytest.raises(ValueError, match=problem):
        PoincareMap(n_neighbors=6).fit(spoil(cells[0]))


@pytest.mark.filterwarnings("ignore:.* cells have the same features")
def test_cells_with_identical_features_are_rejected():
    with pytest.raises(ValueError, match=r"at least 3 different cells as landmarks; got 1\.\n.*constant"):
        PoincareMap().fit(np.ones((20, 4)))
    with pytest.raises(ValueError, match="5 components needs at least 6 different cells as landmarks; got 5"):
        PoincareMap(5).fit(np.eye(5))
    with pytest.raises(ValueError, match="5 components needs at least 6 different cells as landmarks; got 4"):
        PoincareMap(5, n_landmarks=4).fit(branches()[0])


def test_gamma_is_the_published_value_unless_the_hierarchy_is_deep():
    """Along a line of 300 cells, the forest distances exceed those that fit into the disk."""
    line = np.c_[np.arange(300.0), np.zeros(300)]
    quick = {"n_neighbors": 4, "tol": 1e-3}
    deep, wide = PoincareMap(**quick).fit(line), PoincareMap(**quick, gamma=2.0).fit(line)
    shallow = PoincareMap(n_neighbors=20).fit(line[:60])
    assert deep.gamma_ > 4
    assert pairwise_distance(deep.embedding_).max() < 12 < pairwise_distance(wide.embedding_).max()
    assert shallow.gamma_ == 2.0
    given = PoincareMap(**quick, gamma=deep.gamma_).fit(line)
    assert np.array_equal(given.embedding_, deep.embedding_)
    assert np.array_equal(given.transform(line[::7] + 0.3), deep.transform(line[::7] + 0.3))


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1; got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be an integer"),
        ({"max_iter": True}, "max_iter must be an integer"),
        ({"sigma": 0.01}, "sigma must be a finite number of at least 0.05, or None"),
        ({"gamma": -1.0}, 'gamma must be a number from 0.001 to 1000, or "auto"; got -1.0'),
        ({"gamma": "deep"}, "gamma must be a number from 0.001 to 1000, or \"auto\"; got 'deep'"),
        ({"tol": np.nan}, "tol must be a positive finite number"),
        ({"n_landmarks": 2}, 'n_landmarks must be "auto"'),
        ({"n_landmarks": "all"}, 'n_landmarks must be "auto"'),
        ({"init": "pca"}, 'init must be "spectral" or "random"'),
        ({"early_exaggeration": 0.5}, "early_exaggeration must be a number from 1 to 1000; got 0.5"),
        ({"root": 120}, r"row from 0 to 119, or the name of a cell; got 120.*\nPass the row number of the root"),
        ({"root": "stem"}, r"got 'stem' \(cells have no names\)"),
        ({"root": True}, "got True"),
        ({"sigma": 0.05}, "Raise sigma or n_neighbors"),
    ],
)
def test_bad_parameters_are_rejected(cells, parameters, problem):
    with pytest.raises(ValueError, match=problem):
        PoincareMap(**{"n_neighbors": 6, **parameters}).fit(cells[0])


def test_an_unknown_name_is_an_error_with_some_known_names(cells):
    table = pd.DataFrame(cells[0], index=[f"cell{k}" for k in range(120)])
    with pytest.raises(ValueError, match=r"got 'stem' \(the first cells are called 'cell0', 'cell1', 'cell2'\)"):
        PoincareMap(n_neighbors=6, root="stem").fit(table)
