"""Fuzz model files, files and stores of points, labels and pages for a limited time, in processes with little memory.

``python tests/support/fuzz.py --minutes 10`` runs all groups in turn, prints the counts of outcomes, and writes
failed inputs to ``out/fuzz``; move them into ``tests/corpus``, which every test run replays.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS)]
CORPUS, FAILURES = TESTS / "corpus", TESTS.parent / "out" / "fuzz"
# Number of inputs per process, and its limits in CPU seconds and in bytes of address space, which stop bombs.
BATCH, SECONDS, MEMORY = 500, 300, 6 * 2**30
# Seconds after which a process is stopped that waits without using its CPU time.
PATIENCE = 3600
REFUSED = (ValueError, OSError, ImportError)


def models(seed):
    """Check that a mutated model file either loads as a working model or is rejected."""
    from support.mutations import run

    return {result: n for (_, result), n in run(1, first=seed).items()}


def points(seed):
    """Check that a mutated file of points is either read or rejected with a clear error."""
    import numpy as np

    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = mutated_points(rng, Path(folder))
        return {read_points(path): 1}


def hdf5(seed):
    """Check that a mutated HDF5 file is read or rejected with a clear error, unless HDF5's own library hangs on it."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = mutated_points(np.random.default_rng(seed), Path(folder), {"hdf5": "points.h5"})
        return {read_in_a_process(path): 1}


def read_in_a_process(path, seconds=5):
    """The outcome of reading a file in a process with little CPU time; code of ours that does not end is an error."""
    import resource

    import hyplearn.datasets  # noqa: F401  # so that not every process has to import it

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        # The interpreter handles the first signal when it gets control back, so not inside a library, which is killed.
        signal.signal(signal.SIGXCPU, lambda *_: os._exit(os.EX_TEMPFAIL))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, 2 * seconds))
        try:
            os.write(writing, read_points(path).encode())
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}"[:500].encode())
        os._exit(os.EX_OK)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        outcome = pipe.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == -signal.SIGKILL:
        return "no end in HDF5's library"
    assert status == os.EX_OK, f"ended with status {status}"
    assert outcome in ("read", "refused"), outcome
    return outcome


FORMATS = {
    "packed": "packed.npz",
    "npz": "points.npz",
    "csv": "points.csv",
    "npy": "X.npy",
    "parquet": "part-0.parquet",
}


def mutated_points(rng, folder, formats=FORMATS):
    """A valid file of one of the formats with some bytes changed, cut off, or repeated."""
    from support import stored

    name = str(rng.choice(sorted(formats)))
    getattr(stored, name)(folder, *stored.separated(12))
    path = folder / formats[name]
    data = bytearray(path.read_bytes())
    change = rng.integers(4)
    if change == 0:
        data = data[: rng.integers(len(data))]
    elif change == 1:
        start = int(rng.integers(len(data)))
        data[start:start] = data[start : start + int(rng.integers(1, 200))] * int(rng.integers(1, 4))
    for place in rng.integers(len(data), size=rng.integers(1, 9)) if len(data) and change > 1 else ():
        data[place] = int(rng.choice([0, 1, 0x7F, 0xFF, int(rng.integers(256))]))
    path.write_bytes(bytes(data))
    return path


def stores(seed):
    """Check that HDF5, AnnData or zarr data with a wrong value are either read or rejected with a clear error."""
    import numpy as np

    from support.hostile_stores import write_store

    with tempfile.TemporaryDirectory() as folder:
        path, fault = write_store(np.random.default_rng(seed), Path(folder))
        return {f"{fault} {read_points(path)}": 1}


def read_points(path):
    """Outcome of reading a file: what was read, or the class of a clear error."""
    from hyplearn.datasets import load_points

    try:
        X, _ = load_points(path)
    except REFUSED as error:
        return "refused" if str(error).strip() else "refused without a message"
    assert X.ndim == 2
    return "read"


def labels(seed):
    """Check that random labels are distinguished as by Python's equality, or rejected."""
    import numpy as np

    from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSVC

    rng = np.random.default_rng(seed)
    pieces = ["a", "A", "\0", "\u0301", "é", " ", "1", "nan", "\ud800", "🐁", "\n", "0", "-"]
    made = {"".join(rng.choice(pieces, rng.integers(0, 4))) for _ in range(rng.integers(2, 6))}
    kinds = sorted(made) if len(made) > 1 else ["a", "b"]
    y = [kinds[k] for k in np.arange(40) % len(kinds)]
    angles = 2 * np.pi * (np.arange(40) % len(kinds)) / len(kinds)
    X = 0.5 * np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(scale=0.01, size=(40, 2))
    model = [PoincareLogisticRegression(), PoincareSVC(calibration=None), PoincarePerceptron(calibration=None)]
    model = model[rng.integers(3)].fit(X, y)
    assert model.classes_.tolist() == kinds
    assert model.predict(X).tolist() == y
    return {"learned": 1}


def pages(seed):
    """Check that a page shows hostile names as text, without an error in the browser."""
    import numpy as np

    from support.hostile_pages import check_page

    with tempfile.TemporaryDirectory() as folder:
        check_page(np.random.default_rng(seed), folder)
    return {"shown": 1}


GROUPS = {"models": models, "points": points, "hdf5": hdf5, "stores": stores, "labels": labels, "pages": pages}
# A browser reserves more addresses than it uses.
UNLIMITED = ("pages",)
# Groups with fewer inputs per process: a page takes a second, an HDF5 file on which its library does not end ten.
FEWER = {"pages": 50, "hdf5": 200}


def child(group, first):
    """Run a batch and print the counts of outcomes, or the number of the failed input."""
    import resource

    if group not in UNLIMITED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGXCPU, out_of_time)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 60))  # the second limit kills a library that hangs
    warnings.simplefilter("ignore")
    outcomes = Counter()
    for number in range(first, first + FEWER.get(group, BATCH)):
        try:
            outcomes.update(GROUPS[group](number))
        except Exception as error:
            print(json.dumps({"failed": number, "error": f"{type(error).__name__}: {error}"[:500]}))
            return
    print(json.dumps(outcomes))


def out_of_time(*_):
    """Raise an error, which names the input, when the CPU time of a process is used up."""
    raise TimeoutError(f"no end after {SECONDS} s of CPU time")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6 * 10**6)
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--child", nargs=2, metavar=("GROUP", "FIRST"))
    given = parser.parse_args()
    if given.child:
        child(given.child[0], int(given.child[1]))
        return
    end, first, totals, failures = time.monotonic() + 60 * given.minutes, given.seed, Counter(), []
    while True:
        for group in given.groups:
            found = run_child(group, first)
            if "failed" in found:
                failures.append({"group": group, **found})
                keep(group, found)
            else:
                totals.update({f"{group}: {outcome}": n for outcome, n in found.items()})
        first += BATCH
        if time.monotonic() > end:
            break
    for name, number in sorted(totals.items()):
        print(f"{name:34} {number:10,}")
    for failure in failures:
        print(f"FAILED {failure}")
    sys.exit(bool(failures))


def run_child(group, first):
    """Outcome of a batch; a crash or a hanging process is a failure too."""
    command = [sys.executable, __file__, "--child", group, str(first)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=os.environ, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": first, "error": f"no end after {PATIENCE} s"}
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else {"failed": first, "error": done.stderr[-500:]}


def keep(group, found, folder=FAILURES):
    """Write the input of a failure to the folder of failures."""
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{group}-{found['failed']}.json").write_text(json.dumps(found, indent=2))
    if group in ("points", "hdf5"):
        formats = {"hdf5": "points.h5"} if group == "hdf5" else FORMATS
        with tempfile.TemporaryDirectory() as scratch:
            path = mutated_points(np.random.default_rng(found["failed"]), Path(scratch), formats)
            (folder / f"{group}-{found['failed']}{path.suffix}").write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
