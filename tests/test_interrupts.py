"""Ctrl-C while kernels run always raises a KeyboardInterrupt, even while numba converts their results."""

import ast
import os
import signal
import subprocess
import sys
import time
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest

import hyplearn
from hyplearn.data.folding import threads_of
from hyplearn.geometry.hull import quickhull
from hyplearn.solvers.platt import fit_sigmoid

MAKES_ARRAYS = {"array", "arange", "empty", "empty_like", "full", "ones", "where", "zeros", "zeros_like", "copy"}


@pytest.fixture
def alarm():
    """Function that raises a KeyboardInterrupt after a number of seconds; the timer stops with the test."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def rim(n):
    """Points on a circle: all of them are vertices of their hull."""
    angles = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return 0.9 * np.column_stack([np.cos(angles), np.sin(angles)])


CALLS = {
    "quickhull": lambda: quickhull(rim(20_000)),
    "sigmoid": lambda: fit_sigmoid(np.linspace(-1, 1, 400_000), np.arange(400_000) % 3 == 0, np.ones(400_000)),
}


@pytest.mark.skipif(os.name != "posix", reason="sets an alarm")
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_in_a_kernel_is_a_keyboard_interrupt(name, alarm):
    CALLS[name]()

    def until_interrupted():
        alarm(0.05)
        for _ in repeat(None):
            CALLS[name]()

    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            until_interrupted()


def is_kernel(node):
    return isinstance(node, ast.FunctionDef) and any("njit" in ast.unparse(d) for d in node.decorator_list)


def returns_arrays_among_others(kernel):
    """Whether the source of a kernel returns a tuple with an array that the kernel allocates."""

    def makes(node):
        called = [n.func for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
        return any(function.attr in MAKES_ARRAYS for function in called)

    made = set()
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign) and makes(node.value):
            pairs = [(node.targets[0], node.value)]
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(node.targets[0].elts, node.value.elts, strict=True))
            made |= {target.id for target, value in pairs if isinstance(target, ast.Name) and makes(value)}
    tuples = [node.value for node in ast.walk(kernel) if isinstance(node, ast.Return)]
    parts = [part for value in tuples if isinstance(value, ast.Tuple) for part in value.elts]
    return any(makes(part) or (isinstance(part, ast.Name) and part.id in made) for part in parts)


def called_from_python(tree):
    """Names that are used by code outside kernels."""
    found, left = set(), [tree]
    while left:
        node = left.pop()
        if is_kernel(node):
            continue
        if isinstance(node, ast.Name):
            found.add(node.id)
        left.extend(ast.iter_child_nodes(node))
    return found


def test_no_kernel_hands_python_an_array_in_a_tuple():
    """Python handles an interrupt in the numba function that wraps the array, which then fails.

    For an array alone the interrupt is passed on; in a tuple it becomes a SystemError. Such kernels write to arrays
    that they are given.
    """
    trees = {path: ast.parse(path.read_text()) for path in Path(hyplearn.__file__).parent.rglob("*.py")}
    kernels = [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if is_kernel(node)]
    assert len(kernels) > 50
    for path, kernel in kernels:
        if returns_arrays_among_others(kernel):
            users = [trees[path]] if kernel.name.startswith("_") else trees.values()
            called = any(kernel.name in called_from_python(user) for user in users)
            assert not called, f"{path.name}: {kernel.name} returns a tuple with an array to Python"


# Repeats a call until it is interrupted, again and again; whoever runs the tests may ignore interrupts.
REPEATING = """
import signal
import numpy as np
from hyplearn import PoincareKNeighborsClassifier, PoincareSVC
from hyplearn.geometry import pairwise_distance
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, ({n}, {d})) / {d} ** 0.5
y = X[:, 0] + 0.1 * rng.standard_normal({n}) > 0
call = lambda X, y: {call}
call(X[:1000], y[:1000])
while True:
    print("ready", flush=True)
    try:
        while True:
            call(X, y)
    except KeyboardInterrupt:
        print("answered", flush=True)
"""


def cpu_seconds(pid):
    """CPU time of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(delays, call, **sizes):
    """Return the CPU seconds per thread from interrupts, sent after ``delays`` in CPU seconds, to their answers."""
    script, times = REPEATING.format(call=call, **sizes), []
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        for delay in delays:
            assert process.stdout.readline() == "ready\n"
            before = begun = cpu_seconds(process.pid)
            while before < begun + delay:
                time.sleep(0.01)
                before = cpu_seconds(process.pid)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "answered\n"
            times.append((cpu_seconds(process.pid) - before) / threads_of(None))
        process.kill()
    return times


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_an_interrupt_stops_a_fit_at_once():
    call = 'PoincareSVC("origin", C=1000.0, trim=False).fit(X, y)'
    assert max(interrupted([0.5], call, n=8000, d=400)) < 0.5


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_an_interrupt_stops_a_fit_to_ten_million_rows_within_half_a_second():
    assert max(interrupted([0.1, 0.4, 0.9, 1.6, 2.5, 4.0, 8.0], "PoincareSVC().fit(X, y)", n=10**7, d=10)) < 0.5


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
@pytest.mark.parametrize(
    ("call", "n"), [("pairwise_distance(X)", 20_000), ("PoincareKNeighborsClassifier().fit(X, y)", 10**6)]
)
def test_an_interrupt_stops_functions_without_passes_within_half_a_second(call, n):
    assert max(interrupted([0.1, 0.3, 0.7, 1.2], call, n=n, d=10)) < 0.5
