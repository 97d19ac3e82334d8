"""Fits that read their points in blocks, against the same fits in memory."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.base import clone

from hyplearn import PoincareLogisticRegression, PoincareSVC, reference, reference_hulls
from hyplearn.data import points
from hyplearn.data.arrays import ArrayPoints
from hyplearn.datasets import make_ball_classification
from hyplearn.estimators import one_vs_rest, streaming
from hyplearn.geometry import exp_map, frechet_mean

SAME = 1e-10


@pytest.fixture(autouse=True)
def nothing_fits_into_memory(monkeypatch):
    monkeypatch.setattr(streaming, "IN_MEMORY", 0)
    monkeypatch.setattr(reference, "HULL_NUMBERS", 0)


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
    """The largest difference between two fits, relative to the size of their coefficients, and of probabilities."""
    scale = np.abs(a.coef_).max()
    return max(np.abs(a.coef_ - b.coef_).max() / scale, np.abs(a.reference_ - b.reference_).max())


ESTIMATORS = {
    "hinge": PoincareSVC(),
    "squared hinge": PoincareSVC(loss="squared_hinge", class_weight="balanced"),
    "exact margin": PoincareSVC(margin="exact", reference="means", C=[1.0, 2.0, 3.0]),
    "costly": PoincareSVC(reference="mean", C=1e6, tol=1e-4, calibration=None),
    "softmax": PoincareLogisticRegression(),
    "softmax without intercept": PoincareLogisticRegression("means", fit_intercept=False, class_weight={"one": 3.0}),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_memory_map_gives_the_coefficients_of_the_array(tmp_path, monkeypatch, name, weighted):
    X, y, weights = clouds()
    weights = weights if weighted else None
    whole = clone(ESTIMATORS[name]).fit(X, y, weights)
    monkeypatch.setattr(points, "BLOCK_NUMBERS", 100)
    fitted = clone(ESTIMATORS[name]).fit(mapped(tmp_path, X), y, weights)
    # Costs of 1e6 magnify the rounding of means, whichever way they are summed.
    assert difference(whole, fitted) < (1e-7 if name == "costly" else SAME)
    assert np.array_equal(whole.classes_, fitted.classes_)
    assert np.all(fitted.dual_gap_ <= fitted.tol)
    assert np.array_equal(whole.predict(X), fitted.predict(X))
    if getattr(fitted, "calibration", None):
        assert np.allclose(whole.predict_proba(X), fitted.predict_proba(X), rtol=0, atol=1e-8)


def test_what_was_made_of_a_memory_map_is_an_array_in_memory(tmp_path):
    """A copy of a map is of its class and has no file; a private map may differ from its file."""
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
@pytest.mark.parametrize("name", ["hinge", "softmax"])
def test_no_cut_into_blocks_changes_the_fit(monkeypatch, rows, dtype, name):
    X, y, _ = clouds(100, 3, K=2, dtype=dtype)
    estimator = ESTIMATORS[name].set_params(n_jobs=2)
    whole = clone(estimator).fit(X, y)
    monkeypatch.setattr(points, "BLOCK_NUMBERS", 3 * rows)
    assert difference(whole, clone(estimator).fit(ArrayPoints(X, y))) < SAME


def test_many_dimensions_and_fewer_rows_than_those(monkeypatch):
    monkeypatch.setattr(points, "BLOCK_NUMBERS", 200)
    for n, d in ((300, 20), (10, 20)):
        X, y, _ = clouds(n, d, K=2)
        for estimator in (PoincareSVC(calibration=None), PoincareLogisticRegression()):
            assert difference(clone(estimator).fit(X, y), estimator.fit(ArrayPoints(X, y))) < SAME


def test_a_hard_margin_and_its_absence_are_found(monkeypatch):
    monkeypatch.setattr(points, "BLOCK_NUMBERS", 200)
    X, y, p, _ = make_ball_classification(1000, 2, margin=0.1, random_state=0)
    hard = PoincareSVC(p, C=np.inf, calibration=None)
    whole = clone(hard).fit(X, y)
    assert difference(whole, hard.fit(ArrayPoints(X, y))) < SAME
    assert hard.margin_ == pytest.approx(whole.margin_)
    y[:3] = -y[:3]
    with pytest.raises(ValueError, match="the hard margin has no solution"):
        hard.fit(ArrayPoints(X, y))


def test_support_vectors_are_those_of_the_array_and_verify_the_certificate(monkeypatch):
    monkeypatch.setattr(points, "BLOCK_NUMBERS", 200)
    X, y, weights = clouds()
    whole, fitted = PoincareSVC().fit(X, y, weights), PoincareSVC().fit(ArrayPoints(X, y, weights))
    assert np.array_equal(whole.support_, fitted.support_)
    assert np.array_equal(whole.support_vectors_, fitted.support_vectors_)
    assert np.allclose(whole.dual_coef_, fitted.dual_coef_, atol=1e-9)
    assert np.array_equal(whole.n_support_, fitted.n_support_)
    assert whole.margin_ == pytest.approx(fitted.margin_)
    assert np.all(fitted.verify(X, y, weights).gap < 1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_dual_variables_too_many_to_keep_are_summed_and_the_gap_is_proven(monkeypatch, loss):
    monkeypatch.setattr("hyplearn.rows.streamed.StreamedRows.most_kept", 10)
    X, y, _ = clouds(K=2)
    svc = PoincareSVC(loss=loss, calibration=None)
    whole, fitted = clone(svc).fit(X, y), svc.fit(ArrayPoints(X, y))
    assert len(fitted.support_) == 0
    assert np.array_equal(fitted.n_support_, whole.n_support_)
    assert fitted.dual_ == pytest.approx(whole.dual_, rel=1e-9)
    assert fitted.dual_gap_[0] < 1e-6
    with pytest.raises(ValueError, match="too many to keep"):
        fitted.verify(X, y)


def test_passes_are_counted_as_they_are_made():
    X, y, _ = clouds(K=2)
    source, blocks = ArrayPoints(X, y), []
    source.on_block = blocks.append
    svc = PoincareSVC([0.0, 0.0], calibration=None).fit(source)
    assert source.n_passes == len(blocks)  # one block each
    # The census before, support vectors and the margin after.
    assert svc.n_passes_[0] == source.n_passes - 3


def test_the_mean_of_blocks_is_the_frechet_mean(monkeypatch):
    monkeypatch.setattr(points, "BLOCK_NUMBERS", 30)
    for d in (2, 20):
        X, y, weights = clouds(d=d)
        fitted = PoincareLogisticRegression().fit(ArrayPoints(X, y, weights))
        assert np.allclose(fitted.reference_[0], frechet_mean(X, weights), atol=1e-11)


def test_few_numbers_are_read_into_memory_at_once(monkeypatch):
    monkeypatch.setattr(streaming, "IN_MEMORY", 10**6)
    X, y, _ = clouds()
    source = ArrayPoints(X, y)
    source.feature_names = ["first", "second"]
    fitted, whole = PoincareSVC().fit(source), PoincareSVC().fit(X, y)
    assert np.array_equal(fitted.coef_, whole.coef_)
    assert source.n_passes == 0
    assert fitted.feature_names_in_.tolist() == ["first", "second"]


def test_probabilities_of_many_rows_are_learned_from_some_that_stand_for_all(monkeypatch):
    X, y, _ = clouds(20_000)
    whole = PoincareSVC().fit(X, y).predict_proba(X)
    for module in (streaming, one_vs_rest):
        monkeypatch.setattr(module, "CALIBRATED_NUMBERS", 6000)
    fewer = PoincareSVC().fit(X, y)
    assert np.abs(fewer.predict_proba(X) - whole).mean() < 0.02
    streamed = PoincareSVC().fit(ArrayPoints(X, y))
    assert np.allclose(streamed.predict_proba(X), fewer.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", ["boundary", "closest", "hull"])
def test_points_between_hulls_are_those_of_memory(monkeypatch, name, d):
    """Samples that are apart do not decide: further passes bring the rows beyond them."""
    monkeypatch.setattr(reference, "HULL_NUMBERS", 2**24)
    monkeypatch.setattr(reference_hulls, "SAMPLE", 20)
    monkeypatch.setattr(points, "BLOCK_NUMBERS", 70 * d)
    X, y, _, _ = make_ball_classification(1000, d, margin=0.2, random_state=0)
    svc = PoincareSVC(name, calibration=None, C=np.inf)
    whole = svc.fit(X, y)
    streamed = clone(svc).fit(ArrayPoints(X, y))
    assert np.abs(whole.reference_ - streamed.reference_).max() < SAME
    assert streamed.margin_ == pytest.approx(whole.margin_, rel=1e-9)


BAD = {
    "project": (PoincareSVC(outside="project"), "taken as they are"),
    "sgd": (PoincareSVC(solver="sgd"), "solved exactly"),
    "warm": (PoincareSVC(warm_start=True), "warm_start=True"),
    "function": (PoincareSVC(frechet_mean), "needs all points in memory"),
    "unknown": (PoincareSVC("middle"), "'middle'"),
    "two points": (PoincareSVC([[0.0, 0.0], [0.1, 0.0]]), "need as many reference points"),
    "a point outside": (PoincareSVC([1.0, 1.0]), "reference point"),
    "boundary of three": (PoincareLogisticRegression("boundary"), "lies between 2 classes"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_done_in_blocks_is_said(name):
    estimator, message = BAD[name]
    X, y, _ = clouds()
    with pytest.raises(ValueError, match=message):
        estimator.fit(ArrayPoints(X, y))


def test_labels_come_with_the_source():
    X, y, weights = clouds()
    with pytest.raises(ValueError, match="brings its own labels"):
        PoincareSVC().fit(ArrayPoints(X, y), y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        PoincareSVC().fit(ArrayPoints(X, np.full(len(X), "one")))
    with pytest.raises(ValueError, match="All 400 weights are 0"):
        PoincareSVC().fit(ArrayPoints(X, y, 0 * weights))


MEMORY = """
import resource, sys
from pathlib import Path
import numpy as np
from hyplearn import PoincareLogisticRegression, PoincareSVC
from hyplearn.datasets import make_ball_classification
from hyplearn.estimators import streaming
from hyplearn.data.points import Block, PointSource

X, y, _, _ = make_ball_classification(50_000, 2, random_state=0)
X = X.astype(np.float32)
y = np.where(np.random.default_rng(0).uniform(size=len(y)) < 0.05, -y, y)

class Copies(PointSource):
    name, n_features = "copies", 2
    def __init__(self, times):
        self.times = times
    def blocks(self, first=0):
        for i in range(first, self.times):
            yield Block(X * np.float32(1 - 1e-6 * i), y, None, i * len(X))

streaming.IN_MEMORY = 0
models = PoincareSVC([0.0, 0.0], calibration=None, n_jobs=1), PoincareLogisticRegression("origin", n_jobs=1)
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
from hyplearn.estimators import streaming
from hyplearn.data.arrays import ArrayPoints

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
streaming.IN_MEMORY = 0
for model in models:
    model.fit(ArrayPoints(*small))
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
def test_half_a_gigabyte_suffices_for_a_file_of_twenty_times_that(tmp_path):
    """Needs 11 GB of disk and some minutes."""
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
from hyplearn.estimators import streaming
from hyplearn.datasets import make_ball_classification
from hyplearn.data import points
from hyplearn.data.arrays import ArrayPoints

X, y, _, _ = make_ball_classification(3000, 2, margin=0.1, random_state=0)
streaming.IN_MEMORY, points.BLOCK_NUMBERS = 0, 2000

def fits(times):
    for _ in range(times):
        PoincareSVC(calibration=None).fit(ArrayPoints(X, y))
        PoincareLogisticRegression().fit(ArrayPoints(X, y))
        PoincarePerceptron([0.0, 0.0], shuffle=False, max_epochs=1, calibration=None).fit(ArrayPoints(X, y)).predict(X)
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
    # One block of points kept by each fit would be 16 kB of each, some megabytes in all.
    assert int(found.stdout) < 2**20
