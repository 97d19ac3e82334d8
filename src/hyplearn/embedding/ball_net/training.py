"""Training of a network: batches, epochs, early stopping, and checkpoints."""

import copy
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hyplearn.data.checkpoint import digest
from hyplearn.embedding.ball_net.network import Network, to_vector
from hyplearn.files import sealed, unsealed, write_whole
from hyplearn.progress import TaskReporter
from hyplearn.types import Array

# Fraction of the steps during which the learning rate rises; after that, it decays to 0 along a cosine.
WARM_UP = 0.05
# Number of rows per forward pass without gradients, which limits the memory for activations.
BLOCK = 1000
# First bytes of a checkpoint file. Only tensors and basic Python types are loaded from the file, so reading it cannot
# run code.
MAGIC = b"hyplearn network checkpoint 1\n"


@dataclass(frozen=True)
class Settings:
    """Training parameters of a :class:`~hyplearn.embedding.BallNet`, and the seed."""

    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    validation_fraction: float
    patience: int
    seed: int


@dataclass(frozen=True)
class Labelled:
    """Rows and the integer codes of their classes."""

    rows: Array
    codes: Array

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, which: Any) -> "Labelled":
        """Return the selected rows and their codes."""
        return Labelled(self.rows[which], self.codes[which])


class Training:
    """Training loop that updates a network in place, and can be resumed after any epoch from its :meth:`state`."""

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
        """Train for all epochs or until early stopping; if the checkpoint exists, continue from there.

        If rows are held out, the weights with the best score on these rows are restored at the end of training.
        """
        if checkpoint is not None and (state := read_state(checkpoint, identity)) is not None:
            self.resume(state)
        while not self.finished:
            loss, accuracy = self._epoch(known, report)
            if len(held_out):
                self._score(held_out)
            self._report(report, 1.0, loss, accuracy)
            self.losses.append(loss)
            if checkpoint is not None:
                write_state(checkpoint, identity, self.state())
        if self.best is not None:
            self.network.load_state_dict(self.best)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or the held-out score has not improved for ``patience`` epochs."""
        since_best = len(self.scores) - 1 - int(np.argmax(self.scores)) if self.scores else 0
        return len(self.losses) >= self.settings.epochs or since_best >= self.settings.patience

    def state(self) -> dict[str, Any]:
        """Return the state of the training, as numbers and tensors; :meth:`resume` restores it."""
        parts = {"network": self.network.state_dict(), "optimiser": self.optimiser.state_dict()}
        return {**parts, "losses": self.losses, "scores": self.scores, "best": self.best}

    def resume(self, state: dict[str, Any]) -> None:
        """Restore a state that :meth:`state` returned, so that the training continues from there."""
        self.network.load_state_dict(state["network"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.losses, self.scores, self.best = state["losses"], state["scores"], state["best"]

    def _score(self, held_out: Labelled) -> None:
        predicted = np.concatenate([block.argmax(dim=1).numpy() for block in outputs(self.network, held_out.rows)])
        score = float(np.mean(predicted == held_out.codes))
        if not self.scores or score > max(self.scores):
            self.best = copy.deepcopy(self.network.state_dict())
        self.scores.append(score)

    def _epoch(self, known: Labelled, report: TaskReporter) -> tuple[float, float]:
        """Train one epoch, and return its mean loss and accuracy."""
        epoch, n = len(self.losses), len(known)
        # The order of the rows depends only on the seed and the epoch, so a checkpoint does not need to store it.
        seeds = np.random.SeedSequence([self.settings.seed, epoch]).generate_state(1, np.uint64)
        torch.manual_seed(int(seeds[0] >> 1))
        # Batch sizes differ by at most one row, because batch norm would fail on a last batch of one row.
        parts = np.array_split(torch.randperm(n).numpy(), math.ceil(n / self.settings.batch_size))
        self.network.train()
        loss, right, seen = 0.0, 0, 0
        for step, part in enumerate(parts):
            self._set_rate(epoch * len(parts) + step, self.settings.epochs * len(parts))
            rows, codes = torch.from_numpy(known.rows[part]), torch.from_numpy(known.codes[part])
            part_loss, part_right = self._step(rows, codes, f"step {step + 1} of epoch {epoch + 1}")
            loss, right, seen = loss + part_loss * len(part), right + part_right, seen + len(part)
            if step + 1 < len(parts):
                self._report(report, (step + 1) / len(parts), loss / seen, right / seen)
        return loss / n, right / n

    def _report(self, report: TaskReporter, done: float, loss: float, accuracy: float) -> None:
        """Report the mean loss and accuracy so far in this epoch; ``done`` is the finished fraction of the epoch.

        A line is printed only at the end of the epoch.
        """
        epoch, epochs = len(self.losses), self.settings.epochs
        message = f"epoch {epoch + 1} of {epochs}, loss {loss:.3f}, accuracy {accuracy:.1%}"
        if done == 1 and self.scores:
            message += f", {self.scores[-1]:.1%} on held-out rows"
        report(message, (epoch + done) / epochs, line=message if done == 1 else "")

    def _step(self, rows: Tensor, codes: Tensor, when: str) -> tuple[float, int]:
        """Take one step of the optimiser; return the loss and the number of correct predictions before the step.

        ``when`` is a description of the step for error messages.
        """
        logits = self.network(rows)
        loss = nn.functional.cross_entropy(logits, codes)
        if not math.isfinite(value := loss.item()):
            raise ValueError(
                f"The loss is {value} at {when}, with a learning rate of {self.optimiser.param_groups[0]['lr']:.2g}: "
                "the network has diverged.\nLower learning_rate, or check the features that the encoder returns."
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


def train(
    build: Callable[[], Network], data: Labelled, settings: Settings, checkpoint: Path | None, report: TaskReporter
) -> tuple[Array, Array, Array]:
    """Train a new network; return its weights, and the loss and the held-out score (if any) of each epoch."""
    # The state of torch's global random generator is restored at the end.
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


def write_state(path: Path, identity: str, state: dict[str, Any]) -> None:
    """Write a checkpoint atomically, with the state of a training run and the digest that identifies the run."""
    content = io.BytesIO()
    torch.save({"identity": identity, "state": state}, content)
    write_whole(path, sealed(MAGIC, content.getvalue()))


def read_state(path: Path, identity: str) -> dict[str, Any] | None:
    """Read the state from a checkpoint, or return None if the file does not exist.

    An error is raised if the checkpoint belongs to a different training run.
    """
    if not path.exists():
        return None
    known = torch.load(io.BytesIO(unsealed(path, MAGIC)), weights_only=True)
    if known["identity"] != identity:
        raise ValueError(
            f"{path} belongs to a training run with other data, parameters or initial weights.\n"
            "Use the same data and parameters again, pass another path, or remove the file to start again."
        )
    return known["state"]


def _split(data: Labelled, settings: Settings) -> tuple[Labelled, Labelled]:
    """Split rows into held-out rows and training rows."""
    n_held_out = round(settings.validation_fraction * len(data))
    if settings.validation_fraction and not 0 < n_held_out < len(data):
        raise ValueError(
            f"validation_fraction={settings.validation_fraction:g} holds out {n_held_out} of {len(data)} rows.\n"
            "Choose a fraction that leaves both held-out rows and training rows."
        )
    if not n_held_out:
        return data.at(slice(0)), data
    order = torch.randperm(len(data)).numpy()
    return data.at(np.sort(order[:n_held_out])), data.at(np.sort(order[n_held_out:]))


def outputs(function: Any, rows: Array) -> Iterator[Tensor]:
    """Compute the outputs of a network, or of one of its methods, in blocks and without gradients."""
    network = getattr(function, "__self__", function)
    network.eval()
    with torch.no_grad():
        for start in range(0, len(rows), BLOCK):
            # The rows are copied. Otherwise, torch would share their memory, and warn if the memory is read-only, which
            # it is if the rows are read from a file.
            yield function(torch.from_numpy(rows[start : start + BLOCK].copy()))
