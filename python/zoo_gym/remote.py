"""Training on a network: a job that is quoted, submitted, followed."""

from __future__ import annotations

import math
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from . import _zoo_gym, planning
from .amounts import Money, decimal_text, short_text
from .callbacks import Loss
from .dataset import Dataset
from .errors import ConflictError, GymError, NotFoundError, UnavailableError
from .model import Model
from .progress import Progress, Transfer, View, say
from .settings import Network, home
from .state_file import StateFile, Submission
from .training import Evaluation, Events, Quote, TrainingResult, TrainingStatus, Wanted, generate

_POLL_S = 1.0
_SILENCE_S_MAX = 600.0
"""How long a gym-api that restarts, or a network that is gone, is asked again."""
_DEAD = ("cancelled", "failed")


@dataclass(frozen=True)
class JobAsked:
    """A job in its owner's words.

    Attributes:
        init: weights to begin with: what the network has of them, as a job file names it, or their path
            on this machine; None: the model's, else random ones.
        init_name: of weights that the network has: "job:ID[@ROUND]", or NAME@VERSION of a registered model.
        budget: the most money to lock; None: what the quote says that the job costs at most.
        max_data_price: the most for a million tokens of text.
        terms: keys of a job file, in the place of what is planned.
    """

    name: str
    tokens: int | None
    nodes: int | None
    budget: Money | None
    max_data_price: Money
    init: str | Path | None
    terms: Mapping[str, Any]
    init_name: str | None = None


class NetworkTraining:
    """One job of a network. Not thread-safe."""

    def __init__(
        self, model: Model, dataset: Dataset, network: Network, asked: JobAsked, view: View
    ) -> None:
        self.model = model
        self._dataset = dataset
        self._network = network
        self._asked = asked
        self._view = view
        self._job: str | None = None
        self._losses: list[Loss] = []
        self._reported_rounds = 0
        self._file = StateFile(
            home() / "trainings",
            {
                "network": network.url,
                "model": model.root,
                "dataset": dataset.root,
                "name": asked.name,
                "tokens": asked.tokens,
                "nodes": asked.nodes,
                "budget": None if asked.budget is None else decimal_text(asked.budget, "budget"),
                "max_data_price": decimal_text(asked.max_data_price, "max_data_price"),
                "terms": dict(asked.terms),
            }
            | _initial(model, asked.init),
        )
        saved = self._file.load()
        if saved is not None:
            self._job = saved.job

    # Before

    def quote(self) -> Quote:
        init = self._asked.init
        if not isinstance(init, Path):
            self._check_init()
            return self._planned(init)[0]
        _zoo_gym.State.read_weights(self.model.program, str(init))  # so that what cannot be submitted has no quote
        return self._planned(None)[0]

    def _check_init(self) -> None:
        """That weights which the network has fit the model, as far as an API key can tell."""
        if self._asked.init_name is not None and self._network.api_key():
            _zoo_gym.check_weights(self._network.owner_api(), self.model.program, self._asked.init_name)

    def _data_price_refusal(self) -> str | None:
        """Why the job is refused for the price of its data."""
        price = self._dataset.info.price
        given = self._asked.terms.get("max_data_price", self._asked.max_data_price)
        agreed = Decimal(decimal_text(given, "max_data_price"))
        if price is None or price <= agreed:
            return None
        accepts = f"{agreed:f} at the most" if agreed else "none"
        return (
            f"dataset '{self._dataset.info.name}' costs {price:f} GYM per million tokens of text, and the job "
            f"agrees to {accepts}: max_data_price={price:f} accepts it"
        )

    def _planned(self, init: str | None) -> tuple[Quote, str]:
        """The quote, and the job file that it is of."""
        asked = self._asked
        draft = planning.job_draft(
            name=asked.name,
            model=self.model,
            dataset_root=self._dataset.root,
            tokens=asked.tokens,
            nodes=asked.nodes,
            budget=None if asked.budget is None else decimal_text(asked.budget, "budget"),
            max_data_price=decimal_text(asked.max_data_price, "max_data_price"),
            init=init,
            terms=asked.terms,
        )
        try:
            plan = _zoo_gym.plan_job(self._network.api(), draft, is_preset=self.model.is_preset)
        except GymError as error:
            raise type(error)(planning.in_keywords(error.message)) from None
        quote = Quote(
            parameters=plan.parameters,
            tokens=plan.tokens,
            flops=round(plan.flops),
            nodes=plan.slots,
            rounds=plan.rounds,
            steps=plan.rounds * plan.steps,
            most=plan.most,
            budget=plan.budget,
            expected=plan.expected,
            seconds=plan.seconds,
            notes=tuple(map(planning.in_keywords, plan.notes)),
            warnings=(*map(planning.in_keywords, plan.warnings), *filter(None, [self._data_price_refusal()])),
            tokens_today=plan.tokens_today,
            nodes_wanted=plan.nodes_wanted,
            seconds_with_all=plan.seconds_with_all,
        )
        return quote, plan.yaml

    # Submission

    def _submitted(self, again: bool) -> str:
        """The id of the job, which is submitted unless it was. Nothing is submitted twice."""
        with self._file.locked():
            saved = self._file.load()
            if saved is not None and saved.job is not None:
                status = self._network.api().job(saved.job).status
                if status not in _DEAD and not again:
                    say(f"job {saved.job} was submitted before; train(again=True) submits another")
                    return saved.job
                saved = None
            if saved is None:
                refusal = self._data_price_refusal()
                if refusal is not None:
                    raise ConflictError(refusal)
                # So that a wrong passphrase, and another account's key, show before a long upload.
                self._network.owner_api().check_signer(self._network.signer())
                quote, yaml = self._planned(self._init())
                say(f"quote: {quote}")
                for note in quote.notes:
                    say(f"note: {note}")
                saved = Submission(self._network.url, secrets.token_hex(16), yaml)
                self._file.save(saved)
            job = self._send(saved, again)
            self._file.save(replace(saved, job=job.id))
            say(f"job {job.id} submitted")
            say(f"who can see it: {self._network.api().who_sees_model(job)}")
            return job.id

    def _init(self) -> str | None:
        """Weights that the network has. Those of this machine are uploaded; a call after an interruption
        continues."""
        init = self._asked.init
        if isinstance(init, str) or (init is None and self.model.weights is None):
            self._check_init()
            return init
        self._planned(None)  # so that a job that cannot be is refused before the upload
        with tempfile.TemporaryDirectory(prefix="zoo-gym-") as folder, self._transfer("uploading the weights") as show:
            if init is None and self.model.weights is not None:
                init = Path(folder) / "weights"
                self.model.weights.save(str(init))
            return _zoo_gym.upload_weights(self._network.owner_api(), self.model.program, str(init), show)

    @contextmanager
    def _transfer(self, verb: str) -> Iterator[Callable[[int, int], None]]:
        """Shows bytes that are up- or downloaded."""
        transfer = Transfer(self._view, verb)
        try:
            yield transfer.show
        finally:
            transfer.close()

    def _send(self, submission: Submission, again: bool) -> _zoo_gym.Job:
        try:
            return self._network.owner_api().submit_job(
                submission.yaml, submission.key, self._network.signer(), again
            )
        except UnavailableError:
            raise  # whether it was submitted is not known: the same is sent next time
        except Exception:
            self._file.forget()
            raise

    # Training

    def train(self, events: Events, again: bool) -> TrainingResult:
        if again:
            self._losses, self._reported_rounds = [], 0
        self._job = self._submitted(again)
        try:
            detail = self._follow(self._job, events)
        except KeyboardInterrupt:
            say(
                f"the job continues on the network: train() or `gym job watch {self._job}` follows it again, "
                f"cancel() or `gym job cancel {self._job}` ends it"
            )
            raise
        return TrainingResult(losses=self.losses, job=self._job, spent=detail.spent)

    def _follow(self, job: str, events: Events) -> _zoo_gym.JobDetail:
        """Until all rounds are done; its last units may still be checked then."""
        api = self._network.api()
        detail = api.job(job)
        progress = Progress(self._view, "round", detail.rounds_done, detail.rounds)
        try:
            while True:
                self._report(detail, events)
                loss = self._losses[-1].value if self._losses else None
                progress.show(detail.rounds_done, loss, _note(detail))
                if detail.status in _DEAD:
                    raise ConflictError(f"the job is {detail.status}: {detail.status_reason}")
                if detail.rounds_done >= detail.rounds and len(self._losses) >= detail.rounds:
                    return detail
                if detail.ended:
                    return detail
                time.sleep(_POLL_S)
                detail = _asked_again(api, job)
        finally:
            progress.close()

    def _report(self, detail: _zoo_gym.JobDetail, events: Events) -> None:
        for entry in sorted(detail.round_list, key=lambda entry: entry.round):
            if entry.validation_loss is None or entry.round <= self._reported_rounds:
                continue
            loss = Loss(entry.round, entry.validation_loss)
            self._losses.append(loss)
            self._reported_rounds = entry.round
            events.loss(loss)
            events.round(entry.round)

    # Meanwhile and after

    @property
    def losses(self) -> list[Loss]:
        return list(self._losses)

    @property
    def status(self) -> TrainingStatus:
        if self._job is None:
            return TrainingStatus("new", 0, 0)
        detail = self._network.api().job(self._job)
        losses = [r.validation_loss for r in detail.round_list if r.validation_loss is not None]
        state = detail.status
        if state == "completed":
            state = "complete"
        elif state == "running" and detail.rounds_done >= detail.rounds:
            state = "settling"
        return TrainingStatus(
            state=state,
            done=detail.rounds_done,
            total=detail.rounds,
            loss=losses[-1] if losses else None,
            job=self._job,
            spent=detail.spent,
            waiting_for=detail.waiting_for,
        )

    def evaluate(self, windows: int) -> Evaluation:
        """The network's own measurement after the newest round."""
        loss = self.status.loss
        if loss is None:
            raise NotFoundError("the job has not finished a round yet")
        return Evaluation(loss, math.exp(loss))

    def export(self, folder: str | os.PathLike[str], round: int | None, all_tokenizer_files: bool) -> None:
        """Downloads the weights, continuing where an earlier call was cut off."""
        if self._job is None:
            raise NotFoundError("no job was submitted")
        with self._transfer("downloading the weights") as show:
            done = _zoo_gym.export_job(
                self._network.owner_api(),
                self._job,
                round=round,
                folder=os.fspath(folder),
                tokenizer=self._dataset.tokenizer_files,
                all_tokenizer_files=all_tokenizer_files,
                chain=self._network.chain or "",
                contracts=self._network.contracts(),
                progress=show,
            )
        for sentence in done.warnings:
            say(f"warning: {sentence}")
        for sentence in done.checks:
            say(f"{'checked' if done.on_chain else 'not checked'}: {sentence}")

    def generate(self, wanted: Wanted) -> str:
        with tempfile.TemporaryDirectory(prefix="zoo-gym-") as folder:
            self.export(folder, None, all_tokenizer_files=False)
            program, state, _ = _zoo_gym.read_folder(folder)
        return generate(program, state, self._dataset.tokenizer, wanted)

    def cancel(self) -> None:
        if self._job is None:
            raise NotFoundError("no job was submitted")
        self._network.owner_api().ask_job(self._job, "cancel")


def _asked_again(api: _zoo_gym.Api, job: str) -> _zoo_gym.JobDetail:
    """The job; asks again while gym-api does not answer."""
    end = time.monotonic() + _SILENCE_S_MAX
    while True:
        try:
            return api.job(job)
        except UnavailableError:
            if time.monotonic() > end:
                raise
            time.sleep(_POLL_S)


def _initial(model: Model, init: str | Path | None) -> dict[str, list[str | int]]:
    """What tells trainings from others that begin with other weights."""
    if init is not None:
        return {"init": _identity(init)}
    return {} if model.weights is None else {"init": [model.weights.root]}


def _identity(init: str | Path) -> list[str | int]:
    """What tells weights from others: of a path also when it was written."""
    if not isinstance(init, Path):
        return [init]
    files = [init, *sorted(init.iterdir())] if init.is_dir() else [init]
    return [str(init.resolve()), max(file.stat().st_mtime_ns for file in files)]


def _note(detail: _zoo_gym.JobDetail) -> str:
    parts = [f"spent {short_text(detail.spent)}"]
    if detail.waiting_for:
        is_settling = detail.waiting_for.startswith("settling")
        parts.append(("" if is_settling else "waiting for ") + detail.waiting_for)
    return "  ".join(parts)
