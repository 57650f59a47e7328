"""Training in this process: the steps, and so the bits, of ``gym program run``."""

from __future__ import annotations

import os
from decimal import Decimal

from . import _zoo_gym
from .callbacks import Loss
from .dataset import Dataset
from .errors import DivergedError, InvalidArgumentError, NotFoundError
from .model import Model
from .progress import Progress, View, counted, say
from .training import Evaluation, Events, Quote, TrainingResult, TrainingStatus, Wanted, generate


class LocalTraining:
    """Steps of one node, with the seed's or given weights. Not thread-safe."""

    def __init__(
        self,
        model: Model,
        dataset: Dataset,
        *,
        steps: int,
        seed: str,
        init: _zoo_gym.State | None,
        threads: int,
        device: str,
        state_file: str,
        view: View,
    ) -> None:
        if steps < 1:
            raise InvalidArgumentError(f"a training takes at least one step, not {steps}")
        self.model = model.scheduled(steps)
        self._dataset = dataset
        self._steps = steps
        self._seed = seed
        self._init = init if init is not None else model.weights
        self._threads, self._device = threads, device
        self._state_file = state_file
        self._view = view
        self._run: _zoo_gym.LocalRun | None = None
        self._losses: list[Loss] = []
        self._is_running = False
        self._is_cancelled = False

    def quote(self) -> Quote:
        tokens = self._steps * self.model.tokens_per_step
        return Quote(
            parameters=self.model.parameters,
            tokens=tokens,
            flops=self._steps * self.model.flops,
            nodes=1,
            rounds=1,
            steps=self._steps,
            most=Decimal(0),
            budget=Decimal(0),
            expected=Decimal(0),
        )

    @property
    def losses(self) -> list[Loss]:
        return list(self._losses)

    @property
    def status(self) -> TrainingStatus:
        done = 0 if self._run is None else self._run.steps_done
        if done == self._steps:
            state = "complete"
        elif self._is_running:
            state = "running"
        else:
            state = "interrupted" if done else "new"
        loss = self._losses[-1].value if self._losses else None
        return TrainingStatus(state, done, self._steps, loss)

    def train(self, events: Events, again: bool) -> TrainingResult:
        if again:
            self._run, self._losses = None, []
        run = self._opened(restart=again)
        progress = Progress(self._view, "step", run.steps_done, self._steps)
        self._is_running, self._is_cancelled = True, False
        try:
            self._report(run, events)
            self._check_finite(run)
            while run.steps_done < self._steps and not self._is_cancelled:
                run.step()
                self._report(run, events)
                self._check_finite(run)
                progress.show(run.steps_done, self._losses[-1].value)
        except KeyboardInterrupt:
            progress.close()
            # Another process takes what the state file has as reported.
            self._report(run, events)
            say(
                f"interrupted after {run.steps_done} of {counted(self._steps, 'step')}; train() continues from there"
                + (f", also in another process: {self._state_file}" if self._state_file else "")
            )
            raise
        finally:
            self._is_running = False
            progress.close()
            run.save()
        return TrainingResult(
            losses=self.losses,
            state_root=run.state().root,
        )

    def _opened(self, restart: bool) -> _zoo_gym.LocalRun:
        if self._run is None:
            start = self._start()
            self._run = _zoo_gym.LocalRun(
                self.model.program,
                start,
                self._dataset.tokens,
                seed=self._seed,
                steps=self._steps,
                threads=self._threads,
                device=self._device,
                state_file=self._state_file,
                restart=restart,
            )
            # What the file has was reported by the process that took the steps.
            self._losses = [_loss_of(self._run.record(i)) for i in range(len(self._run))]
        return self._run

    def _check_finite(self, run: _zoo_gym.LocalRun) -> None:
        why = run.divergence
        if why is None:
            return
        if self._state_file and os.path.exists(self._state_file):
            why += f"; {self._state_file} keeps the last state that was saved before: init= begins with it"
        raise DivergedError(why)

    def _start(self) -> _zoo_gym.State:
        if self._init is not None:
            return self._init
        return _zoo_gym.State.initial(self.model.program, self._seed)

    def _report(self, run: _zoo_gym.LocalRun, events: Events) -> None:
        """What the run has and was not reported; an interrupt between them loses nothing."""
        while len(self._losses) < len(run):
            loss = _loss_of(run.record(len(self._losses)))
            self._losses.append(loss)
            events.loss(loss)

    @property
    def state(self) -> _zoo_gym.State:
        """The training state after the steps so far."""
        return self._start() if self._run is None else self._run.state()

    def evaluate(self, windows: int) -> Evaluation:
        found = _zoo_gym.evaluate(
            self.model.program,
            self.state,
            self._dataset.tokens,
            windows=windows,
            threads=self._threads,
            device=self._device,
        )
        return Evaluation(found.loss, found.perplexity, found.windows, found.accuracy)

    def export(self, folder: str | os.PathLike[str], round: int | None, all_tokenizer_files: bool) -> None:
        """The tokenizer's files are those beside the data, on this machine: all of them are taken."""
        if round is not None:
            raise InvalidArgumentError("round: a local training has no rounds")
        info = self._dataset.info
        _zoo_gym.write_folder(
            os.fspath(folder),
            self.model.program,
            self.state,
            name=self.model.name,
            dataset=(info.root, info.name, info.licence or ""),
            tokenizer=self._dataset.tokenizer_files,
        )

    def generate(self, wanted: Wanted) -> str:
        return generate(self.model.program, self.state, self._dataset.tokenizer, wanted)

    def cancel(self) -> None:
        """After the step in progress; the steps so far are kept."""
        if not self._is_running:
            raise NotFoundError("no training is running: cancel() ends a local one from a callback")
        self._is_cancelled = True


def _loss_of(record: _zoo_gym.StepRecord) -> Loss:
    return Loss(record.step + 1, record.loss)
