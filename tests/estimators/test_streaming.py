"""Fits that read their points in blocks, compared with the same fits in memory."""

import subprocess
import sys
import textwrap
from dataclasses import dataclass, fields

import numpy as np
import pytest
from sklearn.base import clone

from hyplearn import PoincareLogisticRegression, PoincareSVC, open_points
from hyplearn.data.training import TrainingData
from hyplearn.datasets import make_ball_classification
from hyplearn.decision.calibration import fit_calibration
from hyplearn.estimators import svc as svc_module
from hyplearn.geometry import exp_map, frechet_mean
from hyplearn.reference.convex import boundary_point
from hyplearn.reference.hulls import separation
from hyplearn.rows.built import StreamedRows, build_rows
from support.sources import in_blocks

SAME = 1e-10


def clouds(n=400, d=2, K=3, dtype=np.float64, seed=0):
    """Overlapping classes of different sizes, and weights."""
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.integers(0, K + 1, n), K - 1)
    X = exp_map(0.5 * rng.normal(size=(K, d))[codes] + 0.4 * rng.normal(size=(n, d)), np.zeros(d))
    return np.ascontiguousarray(X, dtype=dtype), np.array(["one", "three", "two", "zwei"])[codes], rng.uniform(size=n)


def mapped(folder, X):
    path = folder / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def difference(a, b):
    """Largest difference of two fits: of coefficients, relative to their size, and of reference points."""
    scale = np.abs(a.coef_).max()
    return max(np.abs(a.coef_ - b.coef_).max() / scale, np.abs(a.reference_ - b.reference_).max())


ESTIMATORS = {
    "svc": PoincareSVC(),
    "svc of geodesics": PoincareSVC(fit_intercept=False, C=[1.0, 2.0, 3.0]),
    "hinge": PoincareSVC("boundary", C=1.0, loss="hinge"),
    "squared hinge": PoincareSVC("boundary", loss="squared_hinge", class_weight="balanced"),
    "exact margin": PoincareSVC("means", loss="hinge", margin="exact", C=[1.0, 2.0, 3.0]),
    "costly": PoincareSVC("mean", loss="hinge", C=1e6, tol=1e-4, calibration=None),
    "softmax": PoincareLogisticRegression(),
    "softmax without intercept": PoincareLogisticRegression("means", fit_intercept=False, class_weight={"one": 3.0}),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_memory_map_gives_the_coefficients_of_the_array(tmp_path, name, weighted):
    X, y, weights = clouds()
    weights = weights if weighted else None
    whole = clone(ESTIMATORS[name]).fit(X, y, weights)
    source = open_points(mapped(tmp_path, X), label=y, weight=weights, block_rows=50, memory=0)
    fitted = clone(ESTIMATORS[name]).fit(source)
    # Costs of 1e6 magnify the rounding errors of means.
    assert difference(whole, fitted) < (1e-7 if name == "costly" else SAME)
    assert np.array_equal(whole.classes_, fitted.classes_)
    assert np.all(fitted.dual_gap_ <= fitted.tol)
    assert np.array_equal(whole.predict(X), fitted.predict(X))
    if getattr(fitted, "calibration", None):
        assert np.allclose(whole.predict_proba(X), fitted.predict_proba(X), rtol=0, atol=1e-8)


def test_attributes_of_a_fit_on_a_memory_map_are_arrays_in_memory(tmp_path):
    """A copy of a memory map has the same class but no file; a private map may differ from its file."""
    X, y, _ = clouds()
    due = PoincareSVC().fit(0.5 * X, y)
    file = mapped(tmp_path, X)
    private = np.load(tmp_path / "X.npy", mmap_mode="c")
    private *= 0.5
    halved = file.copy()
    assert isinstance(halved, np.memmap)
    halved *= 0.5
    np.save(tmp_path / "y.npy", np.unique(y, return_inverse=True)[1])
    labels = np.load(tmp_path / "y.npy", mmap_mode="r").copy()
    for made in (halved, 0.5 * file.astype(np.float64), private, private[:]):
        assert np.array_equal(PoincareSVC().fit(made, y).coef_, due.coef_)
        assert np.array_equal(PoincareSVC().fit(made, labels).coef_, due.coef_)


@pytest.mark.parametrize("rows", [1, 33, 99, 10**6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["svc", "hinge", "softmax"])
def test_no_cut_into_blocks_changes_the_fit(rows, dtype, name):
    X, y, _ = clouds(100, 3, K=2, dtype=dtype)
    estimator = ESTIMATORS[name].set_params(n_jobs=2)
    whole = clone(estimator).fit(X, y)
    assert difference(whole, clone(estimator).fit(in_blocks(X, y, rows=rows))) < SAME


def test_fewer_rows_than_dimensions_are_supported():
    for n, d in ((300, 20), (10, 20)):
        X, y, _ = clouds(n, d, K=2)
        svcs = PoincareSVC(calibration=None), PoincareSVC("boundary", loss="hinge", calibration=None)
        for estimator in (*svcs, PoincareLogisticRegression()):
            assert difference(clone(estimator).fit(X, y), estimator.fit(in_blocks(X, y, rows=10))) < SAME


def test_feasible_and_infeasible_hard_margins_are_found():
    X, y, p, _ = make_ball_classification(1000, 2, margin=0.1, random_state=0)
    hard = PoincareSVC(p, C=np.inf, loss="hinge", calibration=None)
    whole = clone(hard).fit(X, y)
    assert difference(whole, hard.fit(in_blocks(X, y, rows=100))) < SAME
    assert hard.margin_ == pytest.approx(whole.margin_)
    y[:3] = -y[:3]
    with pytest.raises(ValueError, match="the hard margin has no solution"):
        hard.fit(in_blocks(X, y, rows=100))


@pytest.mark.parametrize("name", ["svc", "hinge"])
def test_support_vectors_match_the_array_and_verify_the_certificate(name):
    X, y, weights = clouds()
    source = in_blocks(X, y, weights, rows=100)
    whole, fitted = clone(ESTIMATORS[name]).fit(X, y, weights), clone(ESTIMATORS[name]).fit(source)
    assert np.array_equal(whole.support_, fitted.support_)
    assert np.array_equal(whole.support_vectors_, fitted.support_vectors_)
    assert np.allclose(whole.dual_coef_, fitted.dual_coef_, atol=1e-9)
    assert np.array_equal(whole.n_support_, fitted.n_support_)
    assert whole.margin_ == pytest.approx(fitted.margin_)
    for data in ((X, y, weights), (source,)):
        assert np.all(fitted.verify(*data).gap < 1e-6)
        assert not fitted.verify(*data).violation.any()


@dataclass(frozen=True)
class FewKept(StreamedRows):
    """Rows for which a solution keeps at most ten dual variables."""

    most_kept: float = 10


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_dual_variables_too_many_to_keep_are_summed_and_the_gap_is_proven(monkeypatch, loss):
    def build_few(*arguments, **options):
        rows = build_rows(*arguments, **options)
        return FewKept(**{part.name: getattr(rows, part.name) for part in fields(rows) if part.name != "most_kept"})

    X, y, _ = clouds(K=2)
    svc = PoincareSVC("boundary", loss=loss, calibration=None)
    whole = clone(svc).fit(X, y)
    monkeypatch.setattr(svc_module, "build_rows", build_few)
    fitted = svc.fit(in_blocks(X, y))
    assert len(fitted.support_) == 0
    assert np.array_equal(fitted.n_support_, whole.n_support_)
    assert fitted.dual_ == pytest.approx(whole.dual_, rel=1e-9)
    assert fitted.dual_gap_[0] < 1e-6
    with pytest.raises(ValueError, match="too many to keep"):
        fitted.verify(X, y)


def test_the_number_of_passes_is_counted():
    X, y, _ = clouds(K=2)
    source, blocks = in_blocks(X, y), []
    source.on_block = blocks.append
    svc = PoincareSVC([0.0, 0.0], loss="hinge", calibration=None).fit(source)
    assert source.n_passes == len(blocks)  # one block per pass
    # Four more passes: class counts and sample before the fit; support vectors and the margin after it. The sample
    # proves that no row is far, so there is no pass for far rows.
    assert svc.n_passes_[0] == source.n_passes - 4
    counted = in_blocks(X, y)
    svc.set_params(trim=False).fit(counted)
    assert svc.n_passes_[0] == counted.n_passes - 3


@pytest.mark.parametrize("model", ["hinge", "squared_hinge", "softmax"])
def test_passes_that_draw_a_sample_are_counted(model):
    """With 40,000 rows, every solver starts from the solution of a sample, for which the source is read once."""
    X, y, _ = clouds(40_000, K=2)
    source = in_blocks(X, y, rows=5000)
    if model == "softmax":
        fitted, others = PoincareLogisticRegression([0.0, 0.0], C=1.0, trim=False).fit(source), 1  # the class counts
    else:  # also the support vectors and the margin
        svc, others = PoincareSVC([0.0, 0.0], loss=model, C=1.0, trim=False, calibration=None), 3
        fitted = svc.fit(source)
    assert fitted.n_passes_[0] == source.n_passes - others


def test_the_mean_of_blocks_is_the_frechet_mean():
    for d in (2, 20):
        X, y, weights = clouds(d=d)
        fitted = PoincareLogisticRegression().fit(in_blocks(X, y, weights, rows=15))
        assert np.allclose(fitted.reference_[0], frechet_mean(X, weights), atol=1e-11)


def test_sources_within_their_memory_budget_are_read_once():
    X, y, _ = clouds()
    source, blocks = in_blocks(X, y).limited(memory=X.nbytes), []
    source.feature_names = ["first", "second"]
    source.on_block = blocks.append
    fitted, whole = PoincareSVC().fit(source), PoincareSVC().fit(X, y)
    assert np.array_equal(fitted.coef_, whole.coef_)
    assert source.n_passes == 0
    assert not blocks
    assert fitted.feature_names_in_.tolist() == ["first", "second"]
    beyond = in_blocks(X, y).limited(memory=X.nbytes - 1)
    PoincareSVC(calibration=None).fit(beyond)
    assert beyond.n_passes > 3


def test_probabilities_of_many_rows_are_learned_from_a_subsample():
    X, y, _ = clouds(20_000)
    model = PoincareSVC("boundary", loss="hinge", calibration=None).fit(X, y)
    codes = np.searchsorted(model.classes_, y)
    data = TrainingData.of_arrays(X, codes, None, 1.0, n_classes=3)
    rows, is_sample = data.subsampled(3000)
    assert is_sample
    assert 2500 < len(rows.X) < 3500
    few, all_rows = (fit_calibration(model.distances(x), own, w) for x, own, w in (
        (rows.X, rows.codes, rows.row_weights), (X, codes, np.ones(len(X)))))  # fmt: skip
    chances = [np.exp(one.log_probabilities(one.scores(model.distances(X)))) for one in (few, all_rows)]
    assert np.abs(chances[0] - chances[1]).mean() < 0.02


@pytest.mark.parametrize("rows", [None, 70])
@pytest.mark.parametrize("name", ["svc", "hinge"])
def test_probabilities_of_blocks_match_memory(rows, name):
    X, y, weights = clouds()
    streamed = clone(ESTIMATORS[name]).fit(in_blocks(X, y, weights, rows=rows))
    whole = clone(ESTIMATORS[name]).fit(X, y, weights)
    assert np.allclose(streamed.predict_proba(X), whole.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", ["boundary", "closest", "hull"])
def test_points_between_hulls_match_memory(name, d):
    X, y, _, _ = make_ball_classification(1000, d, margin=0.2, random_state=0)
    svc = PoincareSVC(name, loss="hinge", calibration=None, C=np.inf)
    whole = svc.fit(X, y)
    streamed = clone(svc).fit(in_blocks(X, y, rows=70))
    assert np.abs(whole.reference_ - streamed.reference_).max() < SAME
    assert streamed.margin_ == pytest.approx(whole.margin_, rel=1e-9)


@pytest.mark.parametrize("d", [2, 3])
def test_separable_samples_do_not_imply_separable_data(d):
    """Further passes add the rows outside the half-spaces of the sample."""
    X, y, _, _ = make_ball_classification(1000, d, margin=0.2, random_state=0)
    codes, sides = (y > 0).astype(int), np.array([0, 1])
    data = TrainingData.of_arrays(X, codes, None, 1.0, n_classes=2)
    whole, few = separation(data, sides), separation(data, sides, sample=20)
    assert np.abs(whole.hyperplane[1] - few.hyperplane[1]).max() < SAME
    assert few.margin == pytest.approx(whole.margin, rel=1e-9)
    assert np.abs(boundary_point(data, sides) - whole.hyperplane[1]).max() < SAME


def test_options_work_in_blocks_as_in_memory():
    """The options are outside, warm_start, a function as reference, and verify."""
    X, y, _ = clouds()
    X[7] *= 1.5 / np.linalg.norm(X[7])
    for make in (lambda: (X, y), lambda: (in_blocks(X, y, rows=30),)):
        with pytest.raises(ValueError, match="1 of 400 points lies outside the open ball"):
            PoincareSVC().fit(*make())
    fitted = []
    for make in (lambda: (X, y), lambda: (in_blocks(X, y, rows=30),)):
        with pytest.warns(UserWarning, match="1 of 400 points lies outside(.|\n)*moved to the largest"):
            fitted.append(PoincareSVC("mean", outside="project", trim=False, calibration=None).fit(*make()))
    assert difference(*fitted) < SAME
    X, y, _ = clouds()
    warm = PoincareSVC("mean", warm_start=True, calibration=None)
    again = [clone(warm).fit(X, y).fit(X, y), warm.fit(X, y).fit(in_blocks(X, y, rows=30))]
    assert difference(*again) < SAME
    assert again[1].n_iter_.max() <= 1

    def first(X, y, weights, c):
        return 0.5 * X[0]

    source = in_blocks(X, y, rows=30).limited(memory=2**20)
    assert difference(PoincareSVC(first).fit(X, y), PoincareSVC(first).fit(source)) < SAME


BAD = {
    "function": (PoincareSVC(frechet_mean), "needs all points in memory"),
    "unknown": (PoincareSVC("middle"), "'middle'"),
    "two points": (PoincareSVC([[0.0, 0.0], [0.1, 0.0]]), "reference has 2 points; expected 3"),
    "a point outside": (PoincareSVC([1.0, 1.0]), "reference point"),
    "boundary of three": (PoincareLogisticRegression("boundary"), "needs exactly 2 classes"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(name):
    estimator, message = BAD[name]
    X, y, _ = clouds()
    before = dict(vars(estimator))
    with pytest.raises(ValueError, match=message):
        estimator.fit(in_blocks(X, y))
    assert vars(estimator) == before


def test_labels_come_with_the_source():
    X, y, weights = clouds()
    with pytest.raises(ValueError, match="labels and weights of a source must be passed to open_points"):
        PoincareSVC().fit(in_blocks(X, y), y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        PoincareSVC().fit(in_blocks(X, np.full(len(X), "one")))
    with pytest.raises(ValueError, match="All 400 weights are zero"):
        PoincareSVC().fit(in_blocks(X, y, 0 * weights))


MEMORY = """
import resource, sys
from pathlib import Path
import numpy as np
from hyplearn import PoincareLogisticRegression, PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.data.points import Block, PointSource

X, y, _, _ = make_ball_classification(50_000, 2, random_state=0)
X = X.astype(np.float32)
y = np.where(np.random.default_rng(0).uniform(size=len(y)) < 0.05, -y, y)

class Copies(PointSource):
    name, n_features, memory = "copies", 2, 0
    def __init__(self, times):
        self.times = times
    def blocks(self, first=0):
        for i in range(first, self.times):
            yield Block(X * np.float32(1 - 1e-6 * i), y, None, i * len(X))

models = (
    PoincareSVC([0.0, 0.0], loss="hinge", calibration=None, n_jobs=1),
    PoincareLogisticRegression("origin", n_jobs=1),
)
for model in models:
    model.fit(Copies(2))
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
allowed = size + int(sys.argv[1]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))
for model in models:
    model.fit(Copies(int(sys.argv[2])))
    print(model.dual_gap_.max() <= model.tol)
"""


LARGE_FILE = """
import resource, sys
from pathlib import Path
import numpy as np
from hyplearn import PoincareLogisticRegression, PoincareSVC, open_points, predict_to_file
from hyplearn.datasets import make_ball_classification

folder, ceiling, n, d, each = Path(sys.argv[1]), 512 * 2**20, int(sys.argv[2]), 20, 100_000
X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n, d))
y = np.lib.format.open_memmap(folder / "y.npy", mode="w+", dtype=np.int8, shape=(n,))
points, labels, _, _ = make_ball_classification(each, d, random_state=0)
wrong = np.random.default_rng(0).uniform(size=each) < 0.05
for i, start in enumerate(range(0, n, each)):
    X[start : start + each] = points * (1 - 1e-6 * i)
    y[start : start + each] = np.where(wrong, -labels, labels)
small = X[: 2 * each].copy(), y[: 2 * each].copy()
del X, y
models = PoincareSVC(calibration=None), PoincareLogisticRegression()
np.save(folder / "small.npy", small[0])
for model in models:
    model.fit(open_points(folder / "small.npy", label=small[1], memory=0))
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + ceiling, size + ceiling))
print((folder / "X.npy").stat().st_size / ceiling)
for model in models:
    model.fit(open_points(folder / "X.npy", label=folder / "y.npy"))
    print(model.dual_gap_.max() <= model.tol)
predict_to_file(models[0], folder / "X.npy", folder / "predicted.npy")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited by Linux's means")
def test_a_file_of_ten_gigabytes_is_fitted_in_half_a_gigabyte(tmp_path):
    """This test needs 11 GB of disk space and some minutes."""
    script, n = tmp_path / "fit.py", 100_000 * (20 * 2**29 // 8_000_000 + 1)
    script.write_text(textwrap.dedent(LARGE_FILE))
    found = subprocess.run([sys.executable, script, tmp_path, str(n)], check=True, stdout=subprocess.PIPE, text=True)
    ratio, *optimal = found.stdout.split()
    assert float(ratio) >= 20
    assert optimal == ["True", "True"]
    predicted, y = (np.load(tmp_path / name, mmap_mode="r") for name in ("predicted.npy", "y.npy"))
    assert len(predicted) == n
    assert np.mean(predicted[::1001] == y[::1001]) > 0.9


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited by Linux's means")
def test_memory_stays_below_a_small_ceiling(tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(textwrap.dedent(MEMORY))
    found = subprocess.run([sys.executable, script, "128", "10"], check=True, capture_output=True, text=True)
    assert found.stdout.split() == ["True", "True"]


SOAK = """
import gc, resource, sys
from pathlib import Path
import numpy as np
from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSVC
from hyplearn.data.arrays import ArrayPoints
from hyplearn.datasets import make_ball_classification

X, y, _, _ = make_ball_classification(3000, 2, margin=0.1, random_state=0)

def blocks():
    points = ArrayPoints(X, y)
    points.in_memory = False
    return points.limited(block_rows=1000, memory=0)

def fits(times):
    for _ in range(times):
        PoincareSVC(calibration=None).fit(blocks())
        PoincareLogisticRegression().fit(blocks())
        PoincarePerceptron([0.0, 0.0], shuffle=False, max_epochs=1, calibration=None).fit(blocks()).predict(X)
        gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

before = fits(int(sys.argv[1]) // 4)
print(fits(int(sys.argv[1])) - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read by Linux's means")
@pytest.mark.parametrize("times", [8, pytest.param(1000, marks=pytest.mark.slow)])
def test_repeated_fits_leave_no_memory_behind(tmp_path, times):
    script = tmp_path / "soak.py"
    script.write_text(textwrap.dedent(SOAK))
    found = subprocess.run([sys.executable, script, str(times)], check=True, capture_output=True, text=True)
    # If each fit kept one block of points (16 kB), it would be some megabytes in all.
    assert int(found.stdout) < 2**20
