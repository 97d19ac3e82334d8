"""Checkpoints, which store the results of passes in a file, so that an interrupted fit can be resumed.

A fit is a sequence of passes over the data, and each pass is determined by the results of earlier passes. The state of
the solver therefore need not be saved: when a fit is resumed, the solver runs again from its start. It gets the results
of the finished passes from the file, and reads the data only for the remaining passes.
"""

import hashlib
import io
import os
import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hyplearn.data.folding import Folding, Merge
from hyplearn.data.points import Block, Build, Function, PointSource, Visitor, on_pieces
from hyplearn.files import place_of, sealed, taking_the_place, unsealed

T = TypeVar("T")
C = TypeVar("C", bound=type)

MAGIC = b"hyplearn checkpoint 2\n"
# Functions and classes that NumPy 1 and 2 use in pickled arrays and scalars. They may be unpickled from a checkpoint.
NUMPY = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
}
_REGISTERED: dict[tuple[str, str], type] = {}


def checkpointable(cls: C) -> C:
    """Register a class, so that its instances can be stored in checkpoints."""
    _REGISTERED[cls.__module__, cls.__qualname__] = cls
    return cls


@checkpointable
@dataclass
class State:
    """State of a fit: the results of the finished passes, and the progress of the current pass.

    ``identity`` is the identity of the source, and ``finished`` contains a pair for each finished pass: the digest of
    its arguments, and its result. ``current`` is the digest of the current pass, which has processed ``n_blocks``
    blocks, and ``pending`` contains its intermediate results.
    """

    identity: tuple[Any, ...]
    finished: list[tuple[str, Any]] = field(default_factory=list)
    current: str = ""
    n_blocks: int = 0
    pending: list[Any] = field(default_factory=list)


class CheckpointedPoints(PointSource):
    """Source of points that saves the results of passes to a file, at most once every ``every`` seconds.

    It is created by :meth:`~hyplearn.data.points.PointSource.checkpointed`. The file is removed when the fit is
    finished.
    """

    def __init__(self, points: PointSource, path: str | os.PathLike[str], every: float) -> None:
        self.points, self.path, self.every = points, Path(path).expanduser(), every
        self.name, self.paths, self.feature_names = points.name, points.paths, points.feature_names
        self.n_rows, self.n_features, self.memory = points.n_rows, points.n_features, points.memory
        place_of(self.path, "a checkpoint")  # if the path is not writable, raise now instead of at the first checkpoint
        self._begin()

    def _begin(self) -> None:
        self.state = read_state(self.path) if self.path.exists() else State(self.identity)
        if self.state.identity != self.identity:
            raise ValueError(
                f"{self.path} was written for other data, or the data have changed: the checkpoint has the identity "
                f"{self.state.identity}, but the data have the identity {self.identity}.\n"
                "Remove the file to start again."
            )
        self.turn, self.saved = 0, time.monotonic()

    @property
    def identity(self) -> tuple[Any, ...]:
        """Identity of the wrapped source."""
        return self.points.identity

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """Iterate over the blocks of the wrapped source."""
        return self.points.blocks(first)

    def fold(self, function: Function, merge: Merge, *arguments: Any, build: Build = None, threads: int = 1) -> Any:
        """Run one pass, resume it if it was interrupted, or return its stored result if it is finished."""
        key = digest((function, merge, build, arguments))
        if build is not None:
            function, arguments = on_pieces, (build, function, merge, arguments)

        def folding(pending: list[Any], first: int) -> Iterator[list[Any]]:
            so_far = Folding(merge, pending, first)
            for part in self.points.map(function, *arguments, threads=threads, first=first):
                so_far.add(part)
                yield so_far.pending

        return self._passed(key, folding, merge)

    def visited(self, function: Visitor[T], state: T, *, threads: int = 1) -> T:
        """Run one sequential pass, resume it if it was interrupted, or return its stored result if it is finished."""

        def visiting(pending: list[T], first: int) -> Iterator[list[T]]:
            begun = pending[0] if pending else state
            for so_far in self.points.visits(function, begun, threads=threads, first=first):
                yield [so_far]

        return self._passed(digest((function, state)), visiting, itemgetter(0))

    def _passed(
        self, key: str, go_on: Callable[[list[Any], int], Iterator[list[Any]]], result: Callable[[list[Any]], Any]
    ) -> Any:
        """Return the result of the current pass: the stored result or, if there is none, a new one.

        To compute a new result, process the blocks that the pass has not processed yet.
        """
        state = self.state
        self.n_passes += 1
        if self.turn < len(state.finished):
            self._check(state.finished[self.turn][0], key)
        else:
            if state.n_blocks:
                self._check(state.current, key)
            self.points.on_block, state.current = self.on_block, key
            for pending in go_on(state.pending, state.n_blocks):
                state.pending, state.n_blocks = pending, state.n_blocks + 1
                if time.monotonic() - self.saved >= self.every:
                    write_state(state, self.path)
                    self.saved = time.monotonic()
            state.finished.append((key, result(state.pending)))
            state.current, state.n_blocks, state.pending = "", 0, []
        self.turn += 1
        return state.finished[self.turn - 1][1]

    def _check(self, known: str, key: str) -> None:
        if known != key:
            raise ValueError(
                f"{self.path} was written by a different fit: pass {self.turn + 1} differs.\n"
                "Use the estimator and the parameters of that fit, or remove the file to start again."
            )

    def finished(self) -> None:
        """Remove the checkpoint file, so that the next fit starts from the beginning."""
        self.path.unlink(missing_ok=True)
        self._begin()


def write_state(state: State, path: Path) -> None:
    """Write a checkpoint atomically: after a crash, the file contains either the old or the new state."""
    content = pickle.dumps(state, protocol=5)
    # The temporary file has a fixed name, so that a repeatedly killed process leaves only one such file behind.
    temporary = path.with_name(path.name + ".writing")
    with taking_the_place(temporary, path), temporary.open("wb") as stream:
        stream.write(sealed(MAGIC, content))
        stream.flush()
        os.fsync(stream.fileno())


def read_state(path: Path) -> State:
    """Load the state from a checkpoint; only basic Python types, NumPy arrays and registered classes are unpickled."""
    return _Reader(io.BytesIO(unsealed(path, MAGIC))).load()


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in NUMPY:
            return super().find_class(module, name)
        if (module, name) not in _REGISTERED:
            raise ValueError(
                f"The checkpoint contains an object of an unexpected type, {module}.{name}.\n"
                "Remove the file to start again."
            )
        return _REGISTERED[module, name]


def digest(value: Any) -> str:
    """Return a hash of the arguments of a pass; functions and classes are hashed by name, other objects by value."""
    state = hashlib.sha256()
    _hash_value(value, state.update)
    return state.hexdigest()


def _hash_value(value: Any, update: Callable[[bytes], None]) -> None:
    if isinstance(value, np.ndarray):
        update(f"{value.dtype.str}{value.shape}".encode())
        if value.dtype.hasobject:  # hash the objects, because the bytes of an object array are addresses
            _hash_value(value.tolist(), update)
        else:
            update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        update(type(value).__qualname__.encode())
        for part in fields(value):
            _hash_value(getattr(value, part.name), update)
    elif isinstance(value, (tuple, list)):
        update(f"{len(value)}(".encode())
        for part in value:
            _hash_value(part, update)
    elif isinstance(value, dict):
        _hash_value(list(value.items()), update)
    elif isinstance(value, partial):
        _hash_value((value.func, value.args, value.keywords), update)
    elif callable(value):
        update(f"{value.__module__}.{value.__qualname__}".encode())
    else:
        update(f"{type(value).__name__}:{value!r};".encode())
