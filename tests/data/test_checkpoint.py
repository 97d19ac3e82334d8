"""Checkpoints of passes: identical results after any interruption, and no checkpoint is used for a different fit."""

import errno
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from typing import NamedTuple

import numpy as np
import pytest

from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSecondOrderPerceptron, PoincareSVC
from hyplearn.data.arrays import ArrayFile, ArrayPoints
from hyplearn.data.checkpoint import MAGIC, State, checkpointable, digest, read_state, write_state
from hyplearn.datasets import make_ball_classification
from hyplearn.files import sealed


@pytest.fixture
def folder(tmp_path):
    """Folder with points and labels, a fifth of them wrong, that are read in ten blocks."""
    X, y, _, _ = make_ball_classification(3000, 2, random_state=0)
    y = np.where(np.random.default_rng(0).uniform(size=3000) < 0.2, -y, y)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    return tmp_path


def source(folder):
    points = ArrayPoints(ArrayFile.npy(folder / "X.npy"), ArrayFile.npy(folder / "y.npy"))
    return points.limited(block_rows=300, memory=0)


class KilledError(Exception):
    """Error that simulates the end of the process."""


def interrupted(folder, estimator, seed, most=2000):
    """Fit with a checkpoint after every block, repeatedly interrupted after a random number of blocks."""
    rng, path = np.random.default_rng(seed), folder / "fit.checkpoint"
    for kills in range(most):
        left = int(rng.integers(1, 15))

        def count(rows, left=left, state=[0]):  # noqa: B006, one list per definition
            state[0] += 1
            if state[0] > left:
                raise KilledError

        data = source(folder).checkpointed(path, every=0)
        data.on_block = count
        try:
            return estimator.fit(data), kills
        except KilledError:
            continue
    raise AssertionError("no progress")


@pytest.mark.parametrize(
    "estimator",
    [
        PoincareSVC(calibration=None),
        PoincareSVC(calibration=None, loss="squared_hinge", reference="means"),
        PoincareSVC(calibration=None, C=1e4, reference=[0.0, 0.0]),
        PoincareLogisticRegression(),
        PoincareSecondOrderPerceptron(calibration=None, shuffle=False, max_epochs=4, keep="best"),
    ],
    ids=["hinge", "squared hinge", "costly", "softmax", "perceptron"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_was_ended_many_times_gives_identical_results(folder, estimator):
    whole = pickle.loads(pickle.dumps(estimator)).fit(source(folder))
    fitted, kills = interrupted(folder, estimator, seed=1)
    assert kills >= 5
    assert np.array_equal(fitted.coef_, whole.coef_)
    assert np.array_equal(fitted.reference_, whole.reference_)
    for name in ("dual_gap_", "n_updates_"):
        assert np.array_equal(getattr(fitted, name, None), getattr(whole, name, None))
    assert np.array_equal(fitted.predict(np.array([[0.1, 0.2]])), whole.predict(np.array([[0.1, 0.2]])))
    assert not (folder / "fit.checkpoint").exists()


def test_a_perceptron_without_mistakes_resumes_in_its_last_passes(folder):
    X, y, p, _ = make_ball_classification(3000, 2, margin=0.2, random_state=0)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    perceptron = PoincarePerceptron(reference=p, shuffle=False)
    whole = pickle.loads(pickle.dumps(perceptron)).fit(source(folder))
    fitted, _ = interrupted(folder, perceptron, seed=1)
    assert np.array_equal(fitted.coef_, whole.coef_)
    assert fitted.margin_ == whole.margin_ > 0


def test_an_interrupted_hard_margin_fit_resumes(folder):
    X, y, _, _ = make_ball_classification(3000, 2, margin=0.2, random_state=0)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    svc = PoincareSVC("closest", C=np.inf, calibration=None)
    whole = pickle.loads(pickle.dumps(svc)).fit(source(folder))
    fitted, kills = interrupted(folder, svc, seed=1)
    assert kills >= 5
    assert np.array_equal(fitted.coef_, whole.coef_)
    assert np.array_equal(fitted.reference_, whole.reference_)


def half_done(folder, n_blocks=30, **options):
    """Checkpoint of a fit that was interrupted after ``n_blocks`` blocks."""
    data = source(folder).checkpointed(folder / "fit.checkpoint", every=0)

    def count(rows, state=[0]):  # noqa: B006, one list per definition
        state[0] += 1
        if state[0] > n_blocks:
            raise KilledError

    data.on_block = count
    with pytest.raises(KilledError):
        PoincareSVC(calibration=None, **options).fit(data)
    return folder / "fit.checkpoint"


def test_finished_passes_are_not_read_again(folder):
    path, read = half_done(folder), []
    data = source(folder).checkpointed(path, every=0)
    data.on_block = read.append
    PoincareSVC(calibration=None).fit(data)
    again = []
    fresh = source(folder)
    fresh.on_block = again.append
    PoincareSVC(calibration=None).fit(fresh)
    assert len(again) - len(read) == 30


def test_a_checkpoint_of_another_fit_is_rejected(folder):
    path = half_done(folder, n_blocks=60, reference=[0.0, 0.0])  # the first passes do not depend on the point
    with pytest.raises(ValueError, match="written by a different fit"):
        PoincareSVC(calibration=None, reference=[0.0, 0.1]).fit(source(folder).checkpointed(path))


def test_a_checkpoint_of_data_that_were_changed_is_rejected(folder):
    path = half_done(folder)
    y = np.load(folder / "y.npy")
    np.save(folder / "y.npy", -y)
    with pytest.raises(ValueError, match="was written for other data, or the data have changed"):
        source(folder).checkpointed(path)


def test_a_checkpoint_with_other_labels_in_memory_is_rejected(folder):
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    path = folder / "fit.checkpoint"
    write_state(State(ArrayPoints(X, y).identity), path)
    ArrayPoints(X.copy(), y.copy()).checkpointed(path)
    with pytest.raises(ValueError, match="was written for other data"):
        ArrayPoints(X, np.where(np.arange(len(y)) == 7, -y, y)).checkpointed(path)


def test_a_checkpoint_that_could_not_be_written_is_rejected_before_the_fit(folder, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*nowhere for a checkpoint"):
        source(folder).checkpointed(folder / "nowhere" / "fit.checkpoint")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"The folder .* is not writable"):
        source(folder).checkpointed(folder / "fit.checkpoint")


def test_a_tilde_in_the_checkpoint_path_is_expanded(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    assert source(folder).checkpointed("~/fit.checkpoint").path == folder / "fit.checkpoint"


def test_a_full_disk_raises_and_keeps_the_old_checkpoint(folder, monkeypatch):
    path = half_done(folder)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*fit\.checkpoint'"):
        PoincareSVC(calibration=None).fit(source(folder).checkpointed(path, every=0))
    assert path.read_bytes() == before
    assert not path.with_name("fit.checkpoint.writing").exists()


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_a_damaged_checkpoint_is_rejected(folder, damage):
    path = half_done(folder)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    damaged = {"flip": bytes(content), "cut": path.read_bytes()[:-1], "empty": b"", "other": b"x" * 100}[damage]
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"not a checkpoint of this version, or is damaged\.\nRemove"):
        source(folder).checkpointed(path)


def test_a_checkpoint_of_version_0_1_is_rejected(folder):
    path = folder / "fit.checkpoint"
    path.write_bytes(sealed(b"hyplearn checkpoint 1\n", pickle.dumps(None)))
    with pytest.raises(ValueError, match=r"fit\.checkpoint is not a checkpoint of this version.*\nRemove the file"):
        source(folder).checkpointed(path)


@checkpointable
class Registered(NamedTuple):
    total: float
    rows: np.ndarray


class Unregistered(NamedTuple):
    total: float


def test_a_checkpoint_may_contain_registered_classes_and_numpy_objects(tmp_path):
    found = [
        ("first", Registered(np.float64(0.1), np.arange(3.0))),
        ("second", (np.array(["one", "two"], dtype=object), np.float32(2), np.zeros((2, 0)), None)),
    ]
    write_state(State(("points", 2), found), tmp_path / "state")
    back = read_state(tmp_path / "state")
    assert back.identity == ("points", 2)
    assert type(back.finished[0][1]) is Registered
    assert digest(back.finished) == digest(found)


def test_a_checkpoint_may_contain_nothing_else(tmp_path):
    for foreign in (Unregistered(0.1), Registered(0.1, Unregistered), PoincareSVC(), pickle.loads, os.system):
        write_state(State(("points", 2), [("first", foreign)]), tmp_path / "state")
        with pytest.raises(
            ValueError, match=r"contains an object of an unexpected type.*\nRemove the file to start again"
        ):
            read_state(tmp_path / "state")


def test_a_name_inside_a_registered_module_is_not_reached(tmp_path):
    """Names in pickles may contain dots, for example ``os.system`` inside one of our modules."""
    module, name = b"hyplearn.data.checkpoint", b"os.system"
    body = b"\x80\x04" + b"".join(b"\x8c" + bytes([len(one)]) + one for one in (module, name)) + b"\x93."
    (tmp_path / "state").write_bytes(sealed(MAGIC, body))
    with pytest.raises(ValueError, match=r"unexpected type, hyplearn\.data\.checkpoint\.os\.system"):
        read_state(tmp_path / "state")


class Acts:
    def __reduce__(self):
        return os.system, ("touch acted",)


def test_a_checkpoint_that_would_run_code_is_rejected(folder, monkeypatch):
    monkeypatch.chdir(folder)
    path = folder / "hostile"
    write_state(Acts(), path)
    assert path.read_bytes().startswith(MAGIC)
    with pytest.raises(ValueError, match=r"unexpected type, posix\.system"):
        read_state(path)
    assert not (folder / "acted").exists()


def test_a_digest_depends_on_values_not_on_object_identity():
    a, b = np.arange(3.0), np.arange(3.0)
    assert digest((summed_twice, a, 1)) == digest((summed_twice, b, 1))
    different = [(a, 1.0), (a, 1), (a,), (a[:2],), (a.astype(int),), ("a",), (None,), (summed_twice,), ((a,),)]
    assert len({digest(value) for value in different}) == len(different)
    words = [np.array(["one", word * 2], dtype=object) for word in ("two", "two", "zwei")]
    assert digest(words[0]) == digest(words[1]) != digest(words[2])
    many = np.zeros(5000)
    other = many.copy()
    other[2500] = 1e-12
    assert digest({0: many}) == digest({0: many.copy()})
    assert len({digest({0: many}), digest({0: other}), digest({1: many})}) == 3


def summed_twice():
    """Function that is used in a pass."""


SCRIPT = """
import sys
import numpy as np
from hyplearn import PoincareSVC
from hyplearn.data.arrays import ArrayFile, ArrayPoints

points = ArrayPoints(ArrayFile.npy("X.npy"), ArrayFile.npy("y.npy")).limited(block_rows=300, memory=0)
data = points.checkpointed("fit.checkpoint", every=0)
import time
data.on_block = lambda rows: time.sleep(0.01)
print("ready", flush=True)
np.save("coef.npy", PoincareSVC(calibration=None).fit(data).coef_)
"""


def kill_again_and_again(folder, kills):
    """Run the fit in a separate process that is killed by SIGKILL at random moments, and finally let it finish."""
    (folder / "fit.py").write_text(textwrap.dedent(SCRIPT))
    rng, killed = np.random.default_rng(0), 0
    while killed < kills:
        process = subprocess.Popen([sys.executable, "fit.py"], cwd=folder, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode == 0:
            break
        killed += 1
    subprocess.run([sys.executable, "fit.py"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return killed


def test_a_fit_killed_by_the_system_gives_identical_results(folder):
    """The reference is another process, because kernels compiled in a process and loaded from the cache may differ."""
    PoincareSVC(calibration=None).fit(source(folder))  # fills the cache of compiled kernels
    assert kill_again_and_again(folder, 1) == 1
    killed = np.load(folder / "coef.npy")
    subprocess.run([sys.executable, "fit.py"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    assert np.array_equal(killed, np.load(folder / "coef.npy"))
    assert np.allclose(killed, PoincareSVC(calibration=None).fit(source(folder)).coef_, rtol=1e-9)


@pytest.mark.parametrize("estimator", [PoincareSVC("origin", loss="hinge"), PoincarePerceptron("origin")])
def test_partial_fit_rejects_a_checkpoint(folder, estimator):
    points = source(folder).checkpointed(folder / "fit.checkpoint")
    with pytest.raises(ValueError, match=r"writes no checkpoint; got a checkpoint at .*fit\.checkpoint"):
        estimator.partial_fit(points, classes=[-1, 1])
    assert not hasattr(estimator, "classes_")


@pytest.mark.slow
def test_a_fit_killed_fifty_times_gives_identical_results(folder):
    kills, attempt = 0, 0
    while kills < 50:
        attempt += 1
        kills += kill_again_and_again(folder, 1 + attempt % 3)
        (folder / "fit.checkpoint").unlink(missing_ok=True)
        assert np.array_equal(np.load(folder / "coef.npy"), PoincareSVC(calibration=None).fit(source(folder)).coef_)
        (folder / "coef.npy").unlink()
