"""CPU time of `import hyplearn`, `hyplearn --help` and first fits, which compile; each in its own processes.

First fits find an empty cache of compiled functions, as after an installation. They are compared with the import of
the estimators in the same process. `python benchmarks/bench_import.py first` measures first fits only.
"""

import json
import os
import subprocess
import sys
import tempfile

from timing import Ratio, Times, results

REPEATS = 3
DEPENDENCIES = "import sklearn.svm, numba"
STATEMENTS = {
    DEPENDENCIES: DEPENDENCIES,
    "import hyplearn": "import hyplearn",
    "hyplearn --help": "import sys; sys.argv = ['hyplearn', '--help']; from hyplearn.cli import main; main()",
}
TIMED = """
import contextlib, io, time
start = time.process_time()
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    exec({!r})
print(1e3 * (time.process_time() - start))
"""
# Prints the times of the import, of the first fit and of the same fit again, after other fits in the same process.
FIRST_FIT = """
import time
start = time.process_time()
from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSVC
times = [1e3 * (time.process_time() - start)]
from hyplearn.datasets import load_mammals, make_ball_classification

def made(n, d, dtype="float64"):
    X, y, _, _ = make_ball_classification(n, d, random_state=0)
    return X.astype(dtype), y

mammals = load_mammals(return_X_y=True)
for model, (X, y) in [{before}]:
    model.fit(X, y)
model, (X, y) = {last}
for _ in range(2):
    start = time.process_time()
    model.fit(X, y)
    times.append(1e3 * (time.process_time() - start))
print(times)
"""
MODELS = {
    "SVC without probabilities": "PoincareSVC(calibration=None)",
    "SVC": "PoincareSVC()",
    "softmax": "PoincareLogisticRegression()",
    "perceptron": "PoincarePerceptron()",
}
DATA = {"mammals": "mammals", "100,000 × 2": "made(100_000, 2)"}
AGAIN = {"3 dimensions": "made(2_000, 3)", "10 dimensions": "made(2_000, 10)", "float32": "made(2_000, 2, 'float32')"}


def run(code, **environment):
    command = [sys.executable, "-W", "ignore", "-c", code]
    return json.loads(subprocess.check_output(command, env=os.environ | environment))


def measure_imports(record):
    times = {
        name: Times.of([run(TIMED.format(statement)) for _ in range(REPEATS)]) for name, statement in STATEMENTS.items()
    }
    for name, cpu in times.items():
        record("CPU time", name, ours=cpu, **{"ours / dependencies": cpu / times[DEPENDENCIES]})


def measure_first_fits(record):
    for name, model in MODELS.items():
        for data, made in DATA.items():
            record_first_fit(record, "first fit, empty cache", f"{name}, {data}", f"({model}, {made})")
    for name in ("SVC", "softmax", "perceptron"):
        model = MODELS[name]
        for data, made in AGAIN.items():
            before = f"({model}, made(2_000, 2))"
            record_first_fit(record, "after a fit in 2 dimensions", f"{name}, {data}", f"({model}, {made})", before)


def record_first_fit(record, table, case, last, before=""):
    runs = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(run(FIRST_FIT.format(before=before, last=last), NUMBA_CACHE_DIR=folder))
    imports, first, again = map(Times.of, zip(*runs, strict=True))
    ratios = sorted(times[1] / times[0] for times in runs)
    ratio = Ratio(ratios[0], ratios[len(ratios) // 2])
    record(table, case, **{"import": imports}, first=first, again=again, **{"first / import": ratio})


def main(record):
    if sys.argv[1:] != ["first"]:
        measure_imports(record)
    measure_first_fits(record)


if __name__ == "__main__":
    with results("import") as record:
        main(record)
