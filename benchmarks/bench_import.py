"""CPU time of `import hyplearn` and `hyplearn --help`, and of importing the dependencies, each in its own processes."""

import subprocess
import sys

from timing import Times, results

REPEATS = 5
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


def milliseconds(statement):
    output = subprocess.run([sys.executable, "-c", TIMED.format(statement)], check=True, stdout=subprocess.PIPE).stdout
    return float(output)


def main(record):
    times = {
        name: Times.of([milliseconds(statement) for _ in range(REPEATS)]) for name, statement in STATEMENTS.items()
    }
    for name, cpu in times.items():
        record("CPU time", name, ours=cpu, **{"ours / dependencies": cpu / times[DEPENDENCIES]})


if __name__ == "__main__":
    with results("import") as record:
        main(record)
