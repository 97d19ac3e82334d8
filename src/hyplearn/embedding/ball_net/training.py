"""The training of a network: batches, steps, epochs, early stop."""

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from hyplearn.data.checkpoint import digest
from hyplearn.embedding.ball_net.checkpoint import read_state, write_state
from hyplearn.embedding.ball_net.network import Network, to_vector
from hyplearn.progress import TaskReporter
from hyplearn.types import Array

# The learning rate rises over this part of all steps, and then falls along a cosine to 0.
WARM_UP = 0.05
# Rows at a time where no gradients are needed.
BLOCK = 1000


@dataclass(frozen=True)
class Settings:
    """How to train; ``patience`` counts epochs without a better score of held-out rows."""

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    validation_fraction: float
    patience: int
    seed: int


@dataclass(frozen=True)
class Labelled:
    """Rows and the numbers of their classes."""

    rows: Array
    codes: Array

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, which: Any) -> tuple[Tensor, Tensor]:
        """Some of them as tensors."""
        return torch.from_numpy(self.rows[which]), torch.from_numpy(self.codes[which])


class EpochProgress(NamedTuple):
    """Position in an epoch, with mean loss and accuracy over its steps so far, and the accuracy on held-out rows."""

    epoch: int
    step: int
    n_steps: int
    loss: float
    accuracy: float
    score: float | None = None

    def __str__(self) -> str:
        held_out = "" if self.score is None else f", {self.score:.1%} of held-out rows"
        return f"loss {self.loss:.3f}, accuracy {self.accuracy:.1%}{held_out}"


class Training:
    """A network on its way; between two epochs all that is needed to go on is in :meth:`state`.

    Parameters
    ----------
    network : torch.nn.Module
        Rows to logits; changed in place.
    settings : Settings
        How to train.
    """

    def __init__(self, network: nn.Module, settings: Settings) -> None:
        self.network, self.settings = network, settings
        self.optimiser = torch.optim.AdamW(
            network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.losses: list[float] = []
        self.scores: list[float] = []
        self.best: dict[str, Tensor] | None = None

    def run(
        self, known: Labelled, held_out: Labelled, checkpoint: Path | None, identity: str, report: TaskReporter
    ) -> None:
        """Train until all epochs are done or the held-out rows say so, and take the best weights by these."""
        if checkpoint is not None and (state := read_state(checkpoint, identity)) is not None:
            self.resume(state)
        while not self.finished:
            last = self._epoch(known, report)
            self.losses.append(last.loss)
            if len(held_out):
                self._judge(held_out)
                last = last._replace(score=self.scores[-1])
            self._report(last, report)
            if checkpoint is not None:
                write_state(checkpoint, identity, self.state())
        if self.best is not None:
            self.network.load_state_dict(self.best)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or too many of them without a better score."""
        since_best = len(self.scores) - 1 - int(np.argmax(self.scores)) if self.scores else 0
        return len(self.losses) >= self.settings.epochs or since_best >= self.settings.patience

    def state(self) -> dict[str, Any]:
        """Numbers and tensors from which :meth:`resume` goes on."""
        return {
            "network": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "losses": self.losses,
            "scores": self.scores,
            "best": self.best,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.network.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.losses, self.scores, self.best = state["losses"], state["scores"], state["best"]

    def _judge(self, held_out: Labelled) -> None:
        predicted = np.concatenate([block.argmax(dim=1).numpy() for block in outputs(self.network, held_out.rows)])
        score = float(np.mean(predicted == held_out.codes))
        if not self.scores or score > max(self.scores):
            self.best = copy.deepcopy(self.network.state_dict())
        self.scores.append(score)

    def _epoch(self, known: Labelled, report: TaskReporter) -> EpochProgress:
        """One pass over all rows. Its order is that of seed and epoch, so that none has to be remembered."""
        epoch, n = len(self.losses), len(known)
        torch.manual_seed(_mixed(self.settings.seed, epoch))
        # As even as can be: batch norm knows nothing of a last batch of one row.
        batches = torch.randperm(n).numpy()
        parts = np.array_split(batches, math.ceil(n / self.settings.batch_size))
        self.network.train()
        loss, right, seen = 0.0, 0, 0
        for step, part in enumerate(parts):
            self._set_rate(epoch * len(parts) + step, self.settings.epochs * len(parts))
            rows, codes = known.batch(part)
            part_loss, part_right = self._step(rows, codes, f"step {step + 1} of epoch {epoch + 1}")
            loss, right, seen = loss + part_loss * len(part), right + part_right, seen + len(part)
            now = EpochProgress(epoch + 1, step + 1, len(parts), loss / seen, right / seen)
            if step + 1 < len(parts):
                self._report(now, report)
        return now

    def _report(self, now: EpochProgress, report: TaskReporter) -> None:
        message = f"epoch {now.epoch} of {self.settings.epochs}, {now}"
        share = (now.epoch - 1 + now.step / now.n_steps) / self.settings.epochs
        # Lines are printed at the end of an epoch only.
        report(message, share, line=message if now.step == now.n_steps else "")

    def _step(self, rows: Tensor, codes: Tensor, when: str) -> tuple[float, int]:
        """One step of the optimiser; loss and number of right predictions before it."""
        logits = self.network(rows)
        loss = nn.functional.cross_entropy(logits, codes)
        if not math.isfinite(value := loss.item()):
            raise ValueError(
                f"The loss is {value} at {when}, with the learning rate {self.optimiser.param_groups[0]['lr']:.2g}: "
                "the network has left the ball.\nLower learning_rate, or look at what the encoder gives."
            )
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return value, int((logits.argmax(dim=1) == codes).sum())

    def _set_rate(self, step: int, n_steps: int) -> None:
        done = (step + 1) / n_steps
        rate = self.settings.learning_rate * min(1.0, done / WARM_UP) * (1 + math.cos(math.pi * done)) / 2
        for group in self.optimiser.param_groups:
            group["lr"] = rate


def trained(
    build: Callable[[], Network], data: Labelled, settings: Settings, checkpoint: Path | None, report: TaskReporter
) -> tuple[Array, Array, Array]:
    """Build a network and train it: its numbers, the loss of each epoch, the scores of held-out rows.

    The generator that all of torch shares is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = build()
        held_out, known = _split(data, settings)
        if network.mean.ndim:
            network.standardise(known.rows)
        identity = digest((settings, data, to_vector(network), str(network))) if checkpoint else ""
        training = Training(network, settings)
        training.run(known, held_out, checkpoint, identity, report)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return to_vector(network), np.array(training.losses), np.array(training.scores)


def _split(data: Labelled, settings: Settings) -> tuple[Labelled, Labelled]:
    """Held-out rows and the others."""
    n_held_out = round(settings.validation_fraction * len(data))
    if settings.validation_fraction and not 0 < n_held_out < len(data):
        raise ValueError(
            f"validation_fraction={settings.validation_fraction:g} of {len(data)} rows holds out {n_held_out}.\n"
            "Choose it so that there are rows to judge by and rows to train on."
        )
    if not n_held_out:
        return Labelled(data.rows[:0], data.codes[:0]), data
    order = torch.randperm(len(data)).numpy()
    held_out, known = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    return Labelled(data.rows[held_out], data.codes[held_out]), Labelled(data.rows[known], data.codes[known])


def _mixed(seed: int, epoch: int) -> int:
    """A seed of its own for every epoch, far from those of other seeds."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> 1)


def outputs(function: Any, rows: Array) -> Iterator[Tensor]:
    """What a network, or one of its methods, gives for rows, block by block, without gradients."""
    network = getattr(function, "__self__", function)
    network.eval()
    with torch.no_grad():
        for start in range(0, len(rows), BLOCK):
            # A copy, since torch shares memory and rows of a file may not be written to.
            yield function(torch.from_numpy(rows[start : start + BLOCK].copy()))
