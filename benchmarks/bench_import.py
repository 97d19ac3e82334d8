"""What `import hyplearn` and `hyplearn --help` cost beside the dependencies, each in processes of its own.

Run ``python benchmarks/bench_import.py``.
"""

import subprocess
import sys

ROUNDS = 5
STATEMENTS = {
    "import sklearn.svm, numba": "import sklearn.svm, numba",
    "import hyplearn": "import hyplearn",
    "hyplearn --help": "import sys; sys.argv = ['hyplearn', '--help']; from hyplearn.cli import main; main()",
}
TIMED = """
import contextlib, io, time
start = time.process_time()
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    exec({!r})
print(time.process_time() - start)
"""


def seconds(statement):
    found = subprocess.run([sys.executable, "-c", TIMED.format(statement)], check=True, stdout=subprocess.PIPE)
    return float(found.stdout)


def main():
    least = {name: min(seconds(statement) for _ in range(ROUNDS)) for name, statement in STATEMENTS.items()}
    known = least["import sklearn.svm, numba"]
    for name, took in least.items():
        print(f"{name:<28} {took:6.2f} CPU seconds, {took / known:5.2f} x the dependencies")


if __name__ == "__main__":
    main()
