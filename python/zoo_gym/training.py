"""What a training says about itself, and what a trainer needs of one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from . import _zoo_gym
from .amounts import short_text
from .callbacks import Loss
from .errors import InvalidArgumentError
from .model import Model
from .progress import counted, duration
from .tokenizer import Tokenizer


@dataclass(frozen=True)
class Quote:
    """What a training will take.

    Attributes:
        parameters: of the model.
        tokens: that will be trained on, all nodes together.
        flops: floating-point operations of all training steps.
        nodes: that train at the same time: those that you want, or the live ones if they are fewer,
            so that all tokens are trained.
        nodes_wanted: those that you want, where fewer are live; else None.
        seconds_with_all: the same as ``seconds`` with all of them.
        rounds: after each of which the nodes' results are averaged; 1 for local training.
        steps: of each node, in all rounds.
        most: the most that the job can cost, in GYM; 0 for local training, None: the network has not
            published its rates.
        budget: GYM that the job locks at submission; the rest returns.
        expected: what it costs with the verification that is expected; 0 for local training.
        seconds: from the fastest to the slowest likely; None: not known.
        notes: sentences to read before paying.
        warnings: the same about tokens that today's workers do not train, and memory that they do not lend;
            :func:`str` shows them.
        tokens_today: that the workers which are live now train, if no others come; None: not known.
    """

    parameters: int
    tokens: int
    flops: int
    nodes: int
    rounds: int
    steps: int
    most: Decimal | None
    budget: Decimal
    expected: Decimal
    seconds: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tokens_today: int | None = None
    nodes_wanted: int | None = None
    seconds_with_all: tuple[float, float] | None = None

    def __str__(self) -> str:
        steps = counted(self.steps // self.rounds, "step")
        parts = [
            f"{self.parameters:,} parameters, {self.tokens:,} tokens, {self.flops / 1e15:.6g} PFLOP",
            f"{counted(self.nodes, 'node')}, {counted(self.rounds, 'round')} of {steps}",
        ]
        if self.seconds is not None:
            low, high = self.seconds
            parts.append(f"{duration(low)} to {duration(high)}")
        if self.budget:
            most = "unknown" if self.most is None else f"{short_text(self.most)} GYM"
            parts.append(
                f"costs about {short_text(self.expected)} GYM, at most {most}, budget {short_text(self.budget)} GYM"
            )
        return "\nwarning: ".join(["; ".join(parts), *self.warnings])


@dataclass(frozen=True)
class TrainingStatus:
    """Where a training is.

    Attributes:
        state: "new", "running", "interrupted" or "complete"; of a job also "submitted", "paused",
            "cancelled", "failed" and "settling" (trained; its last units are being checked).
        done, total: steps of a local training, rounds of a job.
        loss: the newest one, see :class:`Loss`.
        job: id of the job.
        spent: money so far.
        waiting_for: what the job waits for; may be empty.
    """

    state: str
    done: int
    total: int
    loss: float | None = None
    job: str | None = None
    spent: Decimal | None = None
    waiting_for: str = ""


@dataclass(frozen=True)
class TrainingResult:
    """A complete training.

    Attributes:
        losses: all of them, see :class:`Loss`.
        job: id of the job; None for local training.
        state_root: of a local training: the commitment to the training state, equal for everybody
            who takes the same steps, on any machine.
        spent: money so far; the last units of a job are still being checked.
    """

    losses: list[Loss] = field(repr=False)
    job: str | None = None
    state_root: str | None = None
    spent: Decimal | None = None


@dataclass(frozen=True)
class Evaluation:
    """How well a model predicts the validation part of a dataset, its last tenth.

    Attributes:
        loss: nats per token (per row for a classifier).
        perplexity: exp(loss).
        windows: how many windows were looked at; None: as many as the job says.
        accuracy: share of rows predicted right; None unless the model is a classifier.
    """

    loss: float
    perplexity: float
    windows: int | None = None
    accuracy: float | None = None


@dataclass(frozen=True)
class Wanted:
    """A text to generate, as :meth:`DistributedTrainer.generate` documents it."""

    prompt: str
    tokens: int
    temperature: float
    top_k: int
    seed: str
    tokenizer: Tokenizer | None


def generate(
    program: _zoo_gym.Program, state: _zoo_gym.State, known: Tokenizer | None, wanted: Wanted
) -> str:
    """The text, with the tokenizer that is wanted, else the dataset's."""
    tokenizer = wanted.tokenizer or known
    if tokenizer is None:
        raise InvalidArgumentError(
            "the dataset does not say which tokenizer made it: pass tokenizer=Tokenizer.load(...)"
        )
    made = _zoo_gym.generate(
        program,
        state,
        tokenizer.encode(wanted.prompt),
        tokens=wanted.tokens,
        temperature=wanted.temperature,
        top_k=wanted.top_k,
        seed=wanted.seed,
        threads=0,
        tokenizer=tokenizer.native,
    )
    return tokenizer.decode(made)


class Events(Protocol):
    """What a training reports, in order and once each."""

    def loss(self, loss: Loss) -> None: ...

    def round(self, number: int) -> None: ...


class Training(Protocol):
    """A training on this machine or on a network."""

    model: Model

    @property
    def losses(self) -> list[Loss]: ...

    @property
    def status(self) -> TrainingStatus: ...

    def quote(self) -> Quote: ...

    def train(self, events: Events, again: bool) -> TrainingResult: ...

    def evaluate(self, windows: int) -> Evaluation: ...

    def export(self, folder: str | os.PathLike[str], round: int | None, all_tokenizer_files: bool) -> None: ...

    def generate(self, wanted: Wanted) -> str: ...

    def cancel(self) -> None: ...
