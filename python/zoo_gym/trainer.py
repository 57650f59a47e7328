"""The trainer: one class for a network and for this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _zoo_gym
from .amounts import Money
from .callbacks import Callback, Loss
from .dataset import Dataset, is_root
from .errors import InvalidArgumentError, NotFoundError
from .local import LocalTraining
from .model import Model
from .progress import find_view
from .remote import JobAsked, NetworkTraining
from .settings import LOCAL, Network, home
from .tokenizer import Tokenizer
from .training import Evaluation, Quote, Training, TrainingResult, TrainingStatus, Wanted

_TOKENS_MAX = 10**18
_EVALUATE_WINDOWS = 64


class DistributedTrainer:
    """Trains a model on a network of other people's machines, or on this one.

    Args:
        model: a :class:`Model`; or the name of a preset, a model file (``.yaml``), an exported folder. One
            of a TorchScript file (``Model("model.pt", context=128)``) begins with the file's weights.
        dataset: a :class:`Dataset`; or a registered name or 0x... root; for local training also the
            path of a text or token file.
        nodes: machines that train at the same time, at most; default: the live ones, at most 8; locally 1.
        budget_tokens: tokens to train on, all nodes together; rounded up to whole steps.
        budget: the most money that the job may cost; default: what the
            quote says.
        network: a network that was stored with ``gym network add``, or the URL of a gym-api; None:
            ``$GYM_API``, else the default network (:meth:`Network.find`); ``"local"``: train in this
            process, with the same bits as ``gym program run``.
        keystore, passphrase_file: the owner's key, which signs the job's order; default: ``key.json`` in
            ``$GYM_HOME`` (else ``~/.gym``), and ``$GYM_PASSPHRASE``.
        api_key_file: file with the API key, mode 0600; None: ``$GYM_API_KEY``.
        init: weights to begin with: an exported folder, a ``.safetensors`` file, or a state of
            ``gym program run``, which are uploaded when the job is submitted; on a network also
            ``"job:ID"`` or ``"job:ID@ROUND"`` of a job of yours, or the 0x... root of a state that you
            uploaded before. What is not on this machine is the name of a registered model, ``"NAME"`` or
            ``"NAME@VERSION"`` (``gym model registered``). Default: the model's weights, else random ones.
        keep_documents_apart: let no token read another document of its window: the model's document_separator
            is the token between the dataset's documents, by its manifest (docs/DATA.md, "Documents that share a
            window").
        callbacks: see :class:`Callback`.
        steps: local training only: steps, in the place of budget_tokens.
        seed: local training only: 64 hexadecimal digits, or any text; decides weights and batches.
        threads: local training only: 0: all of this machine. Changes no bit.
        device: local training only: "cpu", "cuda" or "cuda:N". Changes no bit.
        state_file: local training only: keeps the run in this file, as ``gym program run --state``
            does; the same trainer in another process continues it.
        licence: of a text that is not registered yet (SPDX); it is registered privately and at price 0
            then.
        visibility: of the trained model on a network: "private" (default), "allow-list" or "public"
            (docs/JOBS.md, "Visibility of the model").
        allow: accounts (0x...) that may list the job and download its model; makes an allow-list.
        max_data_price: the most for a million tokens of the dataset.
        name: of the job, for people; default: the model's and dataset's.
        job: keys of a job file (examples/job.yaml), in the place of what is planned.
        progress: False: show nothing.

    Nothing is sent before :meth:`quote` or :meth:`train`, but for looking up a dataset's name.

    Raises:
        InvalidArgumentError: for arguments that contradict each other, and for a model that no network
            can train.
        MismatchError: for a folder of weights with another tokenizer than the dataset's.
        NotFoundError: for a model or dataset that does not exist.
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        dataset: Dataset | str | os.PathLike[str],
        *,
        nodes: int | None = None,
        budget_tokens: float | None = None,
        budget: Money | None = None,
        network: str | None = None,
        keystore: str | os.PathLike[str] | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
        init: str | os.PathLike[str] | None = None,
        keep_documents_apart: bool = False,
        callbacks: Iterable[Callback] = (),
        steps: int | None = None,
        seed: str = "0",
        threads: int = 0,
        device: str = "cpu",
        state_file: str | os.PathLike[str] | None = None,
        licence: str | None = None,
        visibility: str | None = None,
        allow: Iterable[str] = (),
        max_data_price: Money = 0,
        name: str | None = None,
        job: Mapping[str, Any] | None = None,
        progress: bool = True,
    ) -> None:
        self._callbacks = tuple(callbacks)
        self._view = find_view(progress)
        made = model if isinstance(model, Model) else Model(model)
        tokens = None if budget_tokens is None else _whole_tokens(budget_tokens)
        accounts = list(allow)
        self._training: Training
        if network == LOCAL:
            _refuse("local training", nodes=nodes, budget=budget, job=job, visibility=visibility, allow=accounts or None)
            local = _local_dataset(dataset)
            _check_tokenizer(made, init, local)
            if keep_documents_apart:
                made = made.apart(local.document_separator())
            self._training = LocalTraining(
                made,
                local,
                steps=_local_steps(made, steps, tokens),
                seed=seed,
                init=None if init is None else _read_weights(made, init, api_key_file),
                threads=threads,
                device=device,
                state_file="" if state_file is None else os.fspath(state_file),
                view=self._view,
            )
            return
        _refuse("training on a network", steps=steps, state_file=state_file)
        _check_network(made)
        if nodes is not None:
            _check_nodes(nodes)
        found = Network.find(network, api_key_file, keystore, passphrase_file)
        # First of what is here: what is refused registers nothing.
        if isinstance(dataset, Dataset):
            _check_tokenizer(made, init, dataset)
        if keep_documents_apart and isinstance(dataset, Dataset) and dataset.is_here:
            made = made.apart(dataset.document_separator())
        data = _network_dataset(dataset, found, licence, str((job or {}).get("use", "commercial")))
        _check_tokenizer(made, init, data)
        if keep_documents_apart and not (isinstance(dataset, Dataset) and dataset.is_here):
            made = made.apart(data.document_separator(found))
        weights, weights_name = (None, None) if init is None else _network_weights(init, found)
        asked = JobAsked(
            name=name or f"{made.name} on {data.info.name}"[:128],
            tokens=tokens,
            nodes=nodes,
            budget=budget,
            max_data_price=max_data_price,
            init=weights,
            init_name=weights_name,
            terms=_visibility(visibility, accounts) | dict(job or {}),
        )
        self._training = NetworkTraining(made, data, found, asked, self._view)

    @property
    def model(self) -> Model:
        """The model; a preset's schedule is over the whole training."""
        return self._training.model

    @property
    def losses(self) -> list[Loss]:
        """The losses so far, in order."""
        return self._training.losses

    @property
    def status(self) -> TrainingStatus:
        """Where the training is; asks the network.

        Raises:
            UnavailableError: if the network does not answer.
        """
        return self._training.status

    def quote(self) -> Quote:
        """What the training will take; submits nothing.

        Raises:
            InvalidArgumentError: if neither tokens nor steps are given, or the network has not
                published its rates and there is no ``budget``.
        """
        return self._training.quote()

    def train(self, *, again: bool = False) -> TrainingResult:
        """Trains to the end and shows the progress.

        On a network: submits the job and locks its budget; or follows the job that this trainer
        submitted before, in this process or another one. Returns when all rounds are done. Ctrl-C
        leaves the job running; the same call follows it again.

        Locally: Ctrl-C ends after the step in progress; the same call on the same trainer (with a
        ``state_file``: also in another process) continues there, with the bits of a run that was
        never interrupted.

        Args:
            again: train once more: in a new job, or from the first step.

        Raises:
            KeyboardInterrupt: at Ctrl-C.
            DivergedError: if the loss of a local training becomes NaN or infinite.
            InsufficientFundsError: if the deposit does not cover the budget.
            ConflictError: if the job was cancelled or failed, or the dataset costs more than
                ``max_data_price``.
            UnavailableError: if the network does not answer; the same call tries again, and nothing
                is submitted twice.
        """
        result = self._training.train(_Reporter(self, self._callbacks), again)
        for callback in self._callbacks:
            callback.on_end(self, result)
        return result

    def evaluate(self, windows: int = _EVALUATE_WINDOWS) -> Evaluation:
        """The model on the validation part of the dataset.

        Args:
            windows: local training only: how many windows of ``model.context`` tokens.

        Raises:
            NotFoundError: if a job has not finished a round yet.
        """
        return self._training.evaluate(windows)

    def export(
        self, folder: str | os.PathLike[str], *, round: int | None = None, all_tokenizer_files: bool = False
    ) -> None:
        """Writes the model so far into ``folder``, which Hugging Face's ``from_pretrained`` and
        :meth:`Model.from_folder` read: config.json, model.safetensors (F32), a tokenizer, a model card.

        A job's weights are downloaded; a call that was cut off continues where it stopped. They are
        compared with the chain if ``GYM_CHAIN`` and ``GYM_DEPLOYMENT`` name it.

        Args:
            folder: new, empty, or one that was exported before.
            round: of a job: after which the weights are taken; None: the newest; 0: before all.
            all_tokenizer_files: of a dataset that belongs to somebody else, take also the files beside the
                tokenizer that its owner wrote, such as a chat template. They run in whoever loads the model.

        Raises:
            AlreadyExistsError: for a folder with other files.
            MismatchError: if what arrives is not what was trained.
            IoError: if it cannot be written.
        """
        self._training.export(folder, round, all_tokenizer_files)

    def generate(
        self,
        prompt: str,
        tokens: int = 200,
        *,
        temperature: float = 0.8,
        top_k: int = 0,
        seed: str = "0",
        tokenizer: Tokenizer | None = None,
    ) -> str:
        """Continues ``prompt`` on this machine; the same arguments give the same text everywhere. A
        job's newest weights are downloaded for it.

        Args:
            tokens: how many to append.
            temperature: 0: always the most likely token.
            top_k: sample among so many; 0: among all.
            tokenizer: default: the dataset's.

        Returns:
            the new text alone.
        """
        return self._training.generate(Wanted(prompt, tokens, temperature, top_k, seed, tokenizer))

    def cancel(self) -> None:
        """Ends a training.

        A job: units under way are still checked and paid, the rest of the budget returns, and
        :meth:`train` raises ConflictError. A local training, from a callback: :meth:`train` returns after
        the step in progress with the result so far, and continues from there if it is called again.

        Raises:
            NotFoundError: if no job was submitted, or no local training is running; ConflictError: if the
                job has ended.
        """
        self._training.cancel()


class _Reporter:
    """Hands events to the callbacks."""

    def __init__(self, trainer: DistributedTrainer, callbacks: tuple[Callback, ...]) -> None:
        self._trainer = trainer
        self._callbacks = callbacks

    def loss(self, loss: Loss) -> None:
        for callback in self._callbacks:
            callback.on_loss(self._trainer, loss)

    def round(self, number: int) -> None:
        for callback in self._callbacks:
            callback.on_round(self._trainer, number)


def _whole_tokens(tokens: float) -> int:
    if not isinstance(tokens, (int, float)):
        raise InvalidArgumentError(f"budget_tokens: {tokens!r} is no number")
    if not 1 <= tokens <= _TOKENS_MAX:
        raise InvalidArgumentError(f"budget_tokens: {tokens} is not between 1 and 1e18")
    return int(tokens)


def _check_nodes(nodes: object) -> None:
    if isinstance(nodes, bool) or not isinstance(nodes, int):
        raise InvalidArgumentError(f"nodes: {nodes!r} is no whole number")
    if nodes < 1:
        raise InvalidArgumentError(f"nodes: {nodes} is less than 1")


def _refuse(where: str, **arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidArgumentError(f"{name}: {where} does not take it")


def _check_network(model: Model) -> None:
    """That a network can train the model, before anything else of it is looked at."""
    if model.program.network_limit:
        raise InvalidArgumentError(
            f"no network can train model '{model.name}': {model.program.network_limit}; train it with "
            'network="local", or take a smaller one (`gym model list`)'
        )


def _check_tokenizer(model: Model, init: str | os.PathLike[str] | None, dataset: Dataset) -> None:
    """That weights in a folder of this machine and the dataset have one tokenizer, where both name theirs. Of
    weights that the network has, the network knows it."""
    folder = model.folder if init is None else os.fspath(init)
    if folder is None or not Path(folder).is_dir():
        return
    root = dataset.info.tokenizer
    if root is None and dataset.is_here:
        root = dataset.tokens.tokenizer
    _zoo_gym.check_weights_tokenizer(folder, root or "", f"dataset '{dataset.info.name}'")


def _local_steps(model: Model, steps: int | None, tokens: int | None) -> int:
    if (steps is None) == (tokens is None):
        raise InvalidArgumentError("how long is the training? Pass either steps or budget_tokens")
    if steps is not None:
        if not isinstance(steps, int):
            raise InvalidArgumentError(f"steps: {steps!r} is no whole number")
        return steps
    return -(-(tokens or 0) // model.tokens_per_step)


def _local_dataset(dataset: Dataset | str | os.PathLike[str]) -> Dataset:
    return dataset if isinstance(dataset, Dataset) else Dataset.from_file(dataset)


def _visibility(visibility: str | None, allow: list[str]) -> dict[str, Any]:
    """As keys of a job file."""
    keys: dict[str, Any] = {} if visibility is None else {"visibility": visibility}
    return keys if not allow else {"visibility": "allow-list"} | keys | {"allowed": allow}


def _network_dataset(
    dataset: Dataset | str | os.PathLike[str], network: Network, licence: str | None, use: str
) -> Dataset:
    """Registered; a dataset of this machine is, if there is a licence for it that permits the job."""
    if not isinstance(dataset, Dataset):
        return _registered_dataset(os.fspath(dataset), network)
    if network.api().dataset(dataset.root) is not None:
        return Dataset.load(dataset.root, network)
    dataset.check_use(use)
    try:
        return dataset.push(licence=licence, visibility="private", network=network)
    except InvalidArgumentError as error:
        if licence is not None:
            raise
        raise InvalidArgumentError(
            f"dataset '{dataset.info.name}' is not registered: pass licence='CC-BY-4.0' (an SPDX expression) to "
            f"register it privately and at price 0, or use Dataset.push ({error.message})"
        ) from None


def _registered_dataset(name: str, network: Network) -> Dataset:
    try:
        return Dataset.load(name, network)
    except (NotFoundError, InvalidArgumentError) as error:
        if not Path(name).exists():
            raise
        raise type(error)(
            f"{error.message}; {name} is a file of this machine: to register it privately for this job, pass "
            f"Dataset.from_file({name!r}) and licence='CC-BY-4.0' (an SPDX expression)"
        ) from None


def _network_weights(init: str | os.PathLike[str], network: Network) -> tuple[str | Path, str | None]:
    """What the network has, by its name in a job file, with the name that tells what it is of; what is on
    this machine, by its path. A model's name stands for its weights of now: its next version changes
    nothing."""
    text = os.fspath(init)
    if text.startswith("job:"):
        job = _zoo_gym.find_init_job(network.api(), text)
        return job, job
    if is_root(text):
        return _zoo_gym.parse_init(text), None
    if Path(text).exists():
        return Path(text), None
    name = _model_name(text)
    try:
        found = network.api().model_version(name)
        return found.state_root, f"{found.name}@{found.version}"
    except NotFoundError as error:
        raise NotFoundError(f"init: there is no file or folder {text}, and as a model's name: {error.message}") from None


def _model_name(text: str) -> str:
    try:
        return _zoo_gym.parse_model_name(text)
    except InvalidArgumentError:
        raise NotFoundError(
            f"init: {text}: no such file or folder; it may also be the name of a registered model, 'job:ID', "
            "'job:ID@ROUND', or the 0x... root of an uploaded state"
        ) from None


def _read_weights(
    model: Model, init: str | os.PathLike[str], api_key_file: str | os.PathLike[str] | None
) -> _zoo_gym.State:
    path = Path(init)
    if not path.exists():
        path = _fetched(os.fspath(init), api_key_file)
    if path.is_dir():
        return _zoo_gym.read_folder(str(path))[1]
    if path.suffix == ".safetensors":
        return _zoo_gym.State.read_weights(model.program, str(path))
    return _zoo_gym.State.load(str(path))


def _fetched(text: str, api_key_file: str | os.PathLike[str] | None) -> Path:
    """The weights of a registered model of the default network, which are kept on this machine."""
    name = _model_name(text)
    network = Network.find(None, api_key_file)
    if not network.api_key():
        raise NotFoundError(
            f"init: there is no file or folder {text}; to look it up as the name of a registered model, pass "
            "api_key_file=FILE or set GYM_API_KEY"
        )
    try:
        return Path(_zoo_gym.cached_model(network.owner_api(), name, str(home() / "models"), lambda done, total: None))
    except NotFoundError as error:
        raise NotFoundError(f"init: there is no file or folder {text}, and as a model's name: {error.message}") from None
