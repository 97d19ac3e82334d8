"""Unusual environments of users: folders that are not writable, environment variables, interpreted kernels."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hyplearn
from hyplearn import compilation
from hyplearn.data.folding import threads_of

SOURCE = Path(hyplearn.__file__).resolve().parents[1]
NOBODY = 65534
FIT = """
import os
import numpy as np
import hyplearn
from hyplearn import PoincareLogisticRegression, geometry
X, y = np.array([[0.1, 0.2], [-0.3, 0.1]] * 5), np.arange(10) % 2
print(geometry.distance(X[0], X[1]), PoincareLogisticRegression().fit(X, y).score(X, y))
"""
EXPECTED = "0.854510385421 1.0\n"


def run(code, *command, **environment):
    """Run a Python program in a separate process."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "OMP", "XDG"))}
    environment = known | {"PYTHONPATH": str(SOURCE)} | environment
    return subprocess.run(
        [*command, sys.executable, "-c", code], env=environment, cwd="/", capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="util-linux has no setpriv")
def test_a_user_without_a_home_can_import_and_fit(tmp_path):
    """The package belongs to root and HOME does not exist, so the cache is in a temporary folder, with one message."""
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    reading = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]  # Python may be in root's home
    found = run("import hyplearn.geometry", *user, *reading, HOME="/nonexistent", TMPDIR=str(tmp_path))
    assert found.returncode == 0, found.stderr
    assert found.stderr.count("compiled functions are cached in") == 1
    kept = tmp_path / f"hyplearn-{NOBODY}"
    assert kept.stat().st_mode & 0o777 == 0o700
    assert kept.stat().st_uid == NOBODY


def test_functions_are_compiled_without_a_cache_where_nothing_can_be_written():
    spoiled = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
import importlib.util
spec = importlib.util.spec_from_file_location("spoiled", {compilation.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module._is_writable, module._temporary_folder = (lambda folder: False), (lambda: None)
module.choose_cache()
from numba import njit
@njit(cache=True)
def twice(x): return 2 * x
print(twice(21), twice._cache)
"""
    found = run(spoiled)
    assert found.stdout.startswith("42 <numba.core.caching.NullCache"), found.stderr
    assert found.stderr == (
        "hyplearn: no writable cache folder, so functions are compiled again in every process. "
        "Set NUMBA_CACHE_DIR to a writable folder.\n"
    )


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no user ids")
def test_a_folder_that_others_may_write_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(compilation.tempfile, "gettempdir", lambda: str(tmp_path))
    own = compilation._temporary_folder()
    assert own == tmp_path / f"hyplearn-{os.getuid()}"
    assert compilation._temporary_folder() == own
    own.chmod(0o777)
    other = compilation._temporary_folder()
    assert other != own
    assert other.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(own)
    own.symlink_to(other)
    assert compilation._temporary_folder() not in (own, other)


@pytest.mark.parametrize(("value", "most"), [("4,2", 4), ("1", 1), (" 3 ", 3), ("0", None), ("abc", None), ("", None)])
def test_openmp_limits_threads_where_its_value_is_legal(monkeypatch, value, most):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    everything = threads_of(None)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert threads_of(None) == (everything if most is None else min(everything, most))


def test_kernels_run_interpreted():
    """NUMBA_DISABLE_JIT=1, as debuggers and coverage need it, gives the same results to rounding."""
    found = run(FIT, NUMBA_DISABLE_JIT="1")
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    compiled = run(FIT)
    assert [float(a) for a in found.stdout.split()] == pytest.approx([float(a) for a in compiled.stdout.split()])


def test_interpreted_functions_are_those_that_numba_compiles():
    from hyplearn import interpreted, numerics

    rng = np.random.default_rng(0)
    for x in np.concatenate([-rng.exponential(10, 20), [-0.0, -707.9, -709.0]]):
        assert interpreted.exp(x) == pytest.approx(numerics.exp(x), rel=4e-16)
        assert interpreted.log1p(-x) == pytest.approx(numerics.log1p(-x), rel=4e-16)
    for seed, number in rng.integers(2**62, size=(20, 2)).tolist():
        assert interpreted.uniform(seed, number) == numerics.uniform(seed, number)
    assert interpreted.float_of(interpreted.bits_of(-1.5)) == -1.5
    for a, b in rng.standard_normal((20, 2)).tolist():
        product = a * b
        assert interpreted.fma(a, b, -product) == pytest.approx(float_error(a, b), abs=0)


def float_error(a, b):
    """Exact rounding error of a product."""
    from fractions import Fraction

    return float(Fraction(a) * Fraction(b) - Fraction(a * b))


def test_names_are_imported_when_they_are_used():
    code = "import sys, hyplearn; print('numpy' in sys.modules); from hyplearn import PoincareSVC, geometry, save"
    assert run(code).stdout == "False\n"
    assert set(hyplearn.__all__) <= set(dir(hyplearn))
    for name in hyplearn.__all__:
        assert getattr(hyplearn, name).__name__ == name
    assert hyplearn.geometry.distance([0.0], [0.0]) == 0
    with pytest.raises(AttributeError, match="module 'hyplearn' has no attribute 'rubbish'"):
        hyplearn.rubbish  # noqa: B018
    space = {}
    exec("from hyplearn import *", space)
    assert set(hyplearn.__all__) <= set(space)


@pytest.mark.parametrize("n_jobs", [0, "all", 1.5])
def test_a_number_of_threads_that_is_none_says_what_to_pass(n_jobs):
    with pytest.raises(ValueError, match=r"n_jobs must be None or an integer other than 0; got .*\nPass None"):
        hyplearn.PoincareSVC(n_jobs=n_jobs).fit([[0.1, 0.2], [-0.3, 0.1]], [0, 1])


COLD_FIT = """
import time
import numpy as np
from numba.core import event
from hyplearn import PoincareSVC

class Slow(event.Listener):  # so that the compilation takes more than a second on any machine
    def on_start(self, event):
        time.sleep(0.1)

    def on_end(self, event):
        pass

event.register("numba:compile", Slow())
rng = np.random.default_rng(0)
X, y = rng.uniform(-0.5, 0.5, (60, 2)), np.arange(60) % 3
PoincareSVC(calibration=None).fit(X, y)
PoincareSVC(calibration=None).fit(X, y)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_first_fit_in_a_terminal_says_once_that_it_compiles(tmp_path):
    ours, theirs = os.openpty()
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", COLD_FIT], env=environment, stderr=theirs, check=True)
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        said = terminal.read(10_000).decode()
    assert said == f"hyplearn: compiling (first use, about {compilation.ABOUT_SECONDS} s) …\r\n"


ANNOUNCED = """
import io
import logging
import sys
from numba import njit
from hyplearn.compilation import announce_compilation
logging.basicConfig(level={level}, format="%(name)s %(levelname)s %(message)s")
closed = io.StringIO()
closed.close()
sys.stderr = {stderr}
announce_compilation(patience=0.0)
for module in ({modules}):
    exec("def f(x): return x + 1", space := {{"__name__": module}})
    njit(space["f"])(1)
print("compiled")
"""


@pytest.mark.parametrize(
    ("level", "modules", "said"),
    [
        (20, "'hyplearn.a', 'hyplearn.b'", "hyplearn INFO compiling (first use, about 3 s) …\n"),
        (30, "'hyplearn.a', 'hyplearn.b'", ""),
        (20, "'others.a',", ""),
    ],
)
def test_programs_log_a_compilation_of_hyplearn_once(level, modules, said):
    found = run(ANNOUNCED.format(level=level, modules=modules, stderr="sys.stderr"))
    assert (found.stdout, found.stderr) == ("compiled\n", said)


@pytest.mark.parametrize("stderr", ["None", "object()", "closed"])
def test_a_process_without_a_usable_stderr_compiles(stderr):
    found = run(ANNOUNCED.format(level=30, modules="'hyplearn.a',", stderr=stderr))
    assert (found.stdout, found.stderr) == ("compiled\n", "")


def test_compilation_is_timed():
    from numba import njit

    with compilation.timed_compilation() as seconds:
        njit(lambda x: x + 1)(1)
    assert seconds[0] > 0
    with compilation.timed_compilation() as seconds:
        pass
    assert seconds == [0.0]
