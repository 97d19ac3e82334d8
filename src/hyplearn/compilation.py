"""Compilation with numba: choice of the cache folder, and a message to the user while functions are compiled.

numba stores compiled functions next to the source or in the user's cache folder. If neither folder is writable, as in
many containers, numba raises an error when a module with such functions is imported.
"""

import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import current_process
from pathlib import Path
from time import perf_counter
from typing import Any

# Folders in which a temporary cache folder is created if Python's default folder for temporary files is not writable.
MORE_FOLDERS = ("/dev/shm", "/run/user/{uid}")
# Approximate compilation time of a first fit, in seconds, on one core of a 2024 machine: 1 to 3 for an SVM, 2 for a
# softmax, 4 to 5 for a perceptron (``benchmarks/bench_import.py``).
ABOUT_SECONDS = 3
# Compilation time in seconds after which a message is shown to the user. A shorter pause needs no explanation.
PATIENCE = 1.0


def choose_cache() -> None:
    """If none of numba's usual cache folders is writable, make numba use a temporary folder, or no cache at all."""
    if os.environ.get("NUMBA_CACHE_DIR") or any(_is_writable(place) for place in _usual_places()):
        return
    folder = _temporary_folder()
    if folder is None:
        sys.stderr.write(
            "hyplearn: no writable cache folder, so functions are compiled again in every process. "
            "Set NUMBA_CACHE_DIR to a writable folder.\n"
        )
        _compile_without_cache()
        return
    sys.stderr.write(f"hyplearn: compiled functions are cached in {folder}. Set NUMBA_CACHE_DIR to change this.\n")
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)


def _usual_places() -> list[Path]:
    """Return numba's usual cache folders: the folder next to the source, and the user's cache folder."""
    home = Path(os.path.expanduser("~"))
    if not home.is_absolute():  # the user has no home folder
        home = Path(os.devnull)
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or home)
    elif sys.platform == "darwin":
        cache = home / "Library" / "Caches"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return [Path(__file__).parent / "geometry" / "__pycache__", cache / "numba"]


def _is_writable(folder: Path) -> bool:
    """Return whether files can be created in a folder, which need not exist yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _temporary_folder() -> Path | None:
    """Return a temporary folder to which only this user can write, or None if no folder can be created.

    All processes of the user get the same folder. If that folder is not safe to use, for example because it belongs to
    another user, each process gets a new folder.
    """
    uid = os.getuid() if hasattr(os, "getuid") else 0
    try:
        parents = [tempfile.gettempdir()]
    except OSError:
        parents = []
    for parent in [*parents, *(folder.format(uid=uid) for folder in MORE_FOLDERS)]:
        folder = Path(parent, f"hyplearn-{uid}")
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            state = folder.lstat()
            if stat.S_ISDIR(state.st_mode) and _is_own(state, uid) and os.access(folder, os.W_OK):
                return folder
            return Path(tempfile.mkdtemp(prefix="hyplearn-", dir=parent))
        except OSError:
            continue
    return None


def _is_own(state: os.stat_result, uid: int) -> bool:
    return not hasattr(os, "getuid") or (state.st_uid == uid and not state.st_mode & 0o077)


def _compile_without_cache() -> None:
    """Make numba ignore ``cache=True``, for systems without a writable folder."""
    from numba.core.dispatcher import Dispatcher

    setattr(Dispatcher, "enable_caching", lambda self: None)  # noqa: B010, mypy rejects an assignment to a method


def announce_compilation(patience: float = PATIENCE) -> None:
    """Show a message, once per process, when the compilation of hyplearn's functions has taken ``patience`` seconds.

    The message is written to stderr in a terminal or an interactive session. Other processes, such as services, log it
    at level INFO; workers of a pool are silent.
    """
    from numba.core import event

    event.register("numba:compile", _listener(event.Listener)(_announce_after(patience), of_hyplearn=True))


@contextmanager
def timed_compilation() -> Iterator[list[float]]:
    """Measure the compilation time within the context.

    The yielded list has one element, the time so far in seconds.
    """
    from numba.core import event

    listener = _listener(event.Listener)(lambda seconds: None, of_hyplearn=False)
    with event.install_listener("numba:compile", listener):
        yield listener.seconds


def _announce_after(patience: float) -> Callable[[float], None]:
    announced = False

    def check(seconds: float) -> None:
        nonlocal announced
        if announced or seconds < patience or current_process().name != "MainProcess":
            return
        announced = True
        message = f"compiling (first use, about {ABOUT_SECONDS} s) …"
        if not _is_interactive():
            logging.getLogger("hyplearn").info(message)
            return
        with suppress(OSError, ValueError):  # a closed terminal must not end a fit
            sys.stderr.write(f"hyplearn: {message}\n")
            sys.stderr.flush()

    return check


def _is_interactive() -> bool:
    """Return whether stderr is shown to a user, as in a terminal, an interactive session or a notebook."""
    try:
        return hasattr(sys, "ps1") or sys.stderr.isatty()
    except (AttributeError, ValueError):  # stderr is None, closed, or an object without isatty
        return False


def _listener(base: Any) -> Any:
    class Listener(base):
        """Listener that sums compilation times; the time of a nested compilation is counted once.

        With ``of_hyplearn``, only functions of hyplearn are counted, together with the functions that are compiled
        because a function of hyplearn calls them. Whenever the compilation of a counted function begins, ``check`` is
        called with the sum so far. No lock is needed, because numba compiles one function at a time, even with threads.
        """

        def __init__(self, check: Callable[[float], None], *, of_hyplearn: bool) -> None:
            self.check, self.of_hyplearn = check, of_hyplearn
            self.seconds, self.depth, self.start = [0.0], 0, 0.0

        def on_start(self, event: Any) -> None:
            now = perf_counter()
            if self.depth:
                self.depth += 1
                self.check(self.seconds[0] + now - self.start)
            elif not self.of_hyplearn or event.data["dispatcher"].py_func.__module__.startswith("hyplearn."):
                self.depth, self.start = 1, now
                self.check(self.seconds[0])

        def on_end(self, event: Any) -> None:
            if self.depth:
                self.depth -= 1
                if self.depth == 0:
                    self.seconds[0] += perf_counter() - self.start

    return Listener
