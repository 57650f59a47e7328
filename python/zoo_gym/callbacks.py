"""What a trainer reports while it trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trainer import DistributedTrainer
    from .training import TrainingResult


@dataclass(frozen=True)
class Loss:
    """One loss.

    Attributes:
        index: of a local training, the step (from 1); on a network, the round (from 1).
        value: nats per token (per row for a classifier). Local: the training loss of the step;
            network: the validation loss after the round.
    """

    index: int
    value: float

    def __float__(self) -> float:
        return self.value


class Callback:
    """Override what you need; an exception ends :meth:`DistributedTrainer.train`, not the job.

    All methods run in the thread that called ``train()``.
    """

    def on_loss(self, trainer: DistributedTrainer, loss: Loss) -> None:
        """Called for each new loss, in order, once."""

    def on_round(self, trainer: DistributedTrainer, round: int) -> None:
        """Called after each round of a network's job; local training has no rounds."""

    def on_end(self, trainer: DistributedTrainer, result: TrainingResult) -> None:
        """Called once, when the training is complete."""
