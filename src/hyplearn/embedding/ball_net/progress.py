"""Telling a user how the training of a network goes: a bar where somebody watches, a line per epoch elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from hyplearn.bars import watched_bars


class Told(NamedTuple):
    """Where a training is: loss and accuracy are means over the epoch so far, the score is that of held-out rows."""

    epoch: int
    step: int
    n_steps: int
    loss: float
    accuracy: float
    score: float | None = None

    def __str__(self) -> str:
        held_out = "" if self.score is None else f", {self.score:.1%} of held-out rows"
        return f"loss {self.loss:.3f}, accuracy {self.accuracy:.1%}{held_out}"


Teller: TypeAlias = Callable[[Told], None]


@contextmanager
def told(name: str, epochs: int, verbose: int) -> Iterator[Teller]:
    """A teller for the time of a training; silent unless ``verbose``."""
    if not verbose:
        yield lambda now: None
    elif (bars := watched_bars()) is not None:
        with bars:
            task = bars.add_task(name, total=float(epochs), told="")
            yield lambda now: bars.update(
                task,
                completed=now.epoch - 1 + now.step / now.n_steps,
                told=f"epoch {now.epoch} of {epochs}, {now}",
            )
    else:
        yield lambda now: _print_line(name, epochs, now)


def _print_line(name: str, epochs: int, now: Told) -> None:
    if now.step == now.n_steps:
        print(f"{name}: epoch {now.epoch} of {epochs}, {now}", flush=True)  # noqa: T201
