"""Models: shape, optimizer and, once read from a folder, weights."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _zoo_gym, torchscript
from .errors import InvalidArgumentError, NotFoundError
from .settings import Network
from .tokenizer import Tokenizer


class Model:
    """A model with its optimizer, as training needs it.

    Args:
        name: a preset (:meth:`presets`), a model file (``.yaml``), a TorchScript file, or a folder
            that :meth:`DistributedTrainer.export` wrote.
        context, batch, optimizer: of a TorchScript file alone (:meth:`from_torchscript`).

    Immutable and safe to share between threads. Sizes: a step trains on ``batch`` windows of
    ``context`` tokens.

    Raises:
        NotFoundError: for a name that is neither; InvalidArgumentError: for a file with a wrong key.
    """

    _name: str
    _yaml: str | None
    _program: _zoo_gym.Program
    _weights: _zoo_gym.State | None
    _is_preset: bool
    _separator: int | None
    _folder: str | None

    def __init__(
        self,
        name: str | os.PathLike[str],
        *,
        context: int | None = None,
        batch: int | None = None,
        optimizer: Mapping[str, Any] | None = None,
    ) -> None:
        if torchscript.is_torchscript(Path(name)):
            made = Model.from_torchscript(name, context=context, batch=batch, optimizer=optimizer)
        else:
            for key, value in {"context": context, "batch": batch, "optimizer": optimizer}.items():
                if value is not None:
                    raise InvalidArgumentError(f"{key}: only a TorchScript file takes it; '{os.fspath(name)}' has its own")
            made = _resolve(os.fspath(name))
        self._name, self._yaml = made._name, made._yaml
        self._program, self._weights, self._is_preset = made._program, made._weights, made._is_preset
        self._separator, self._folder = made._separator, made._folder

    @classmethod
    def _make(
        cls,
        name: str,
        yaml: str | None,
        program: _zoo_gym.Program,
        *,
        weights: _zoo_gym.State | None = None,
        is_preset: bool = False,
        folder: str | None = None,
    ) -> Model:
        self = cls.__new__(cls)
        self._name, self._yaml, self._program = name, yaml, program
        self._weights, self._is_preset, self._separator = weights, is_preset, None
        self._folder = folder
        return self

    @staticmethod
    def presets() -> dict[str, str]:
        """The built-in models: names, and a line about each."""
        return dict(_zoo_gym.presets())

    @classmethod
    def from_preset(cls, name: str) -> Model:
        """A built-in model. Its schedule follows the length of the training.

        Raises:
            NotFoundError: naming the presets that there are.
        """
        yaml = _zoo_gym.preset_text(name)
        return cls._make(name, yaml, _zoo_gym.Program.from_yaml(yaml, name), is_preset=True)

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Model:
        """A model file (examples/gpt-tiny.yaml explains every key), used as it is.

        Raises:
            NotFoundError: if the file does not exist; InvalidArgumentError: with line and key.
        """
        try:
            text = Path(path).read_text()
        except FileNotFoundError:
            raise NotFoundError(f"no model file {os.fspath(path)}") from None
        return cls._make(Path(path).stem, text, _zoo_gym.Program.from_yaml(text, os.fspath(path)))

    @classmethod
    def from_torchscript(
        cls,
        path: str | os.PathLike[str],
        *,
        context: int | None = None,
        batch: int | None = None,
        optimizer: Mapping[str, Any] | None = None,
    ) -> Model:
        """The model and weights in a TorchScript file (``torch.jit.script(model).save(path)``), as
        ``gym job submit --model FILE.pt`` reads it (docs/TORCH.md). Training begins with its weights.

        Args:
            context: tokens that the model reads at a time; needed.
            batch: windows of a training step; default 8.
            optimizer: keys of a model file's ``optimizer``, such as ``{"learning_rate": 1e-3}``.

        Raises:
            InvalidArgumentError: naming the first op that programs do not have, and its place in the
                source; MalformedError: for another kind of file; NotFoundError: without it, or where gym
                is installed without libtorch.
        """
        if not Path(path).is_file():
            raise NotFoundError(f"no file {os.fspath(path)}")
        yaml, weights = torchscript.read(path, context, batch, optimizer)
        program = _zoo_gym.Program.from_yaml(yaml, os.fspath(path))
        return cls._make(Path(path).stem, yaml, program, weights=weights)

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> Model:
        """The model and weights in a folder that :meth:`DistributedTrainer.export` or
        ``gym job export`` wrote.

        Raises:
            NotFoundError: if it holds no model; MismatchError: if a file was changed since;
            ConflictError: if its writing was interrupted.
        """
        program, weights, name = _zoo_gym.read_folder(os.fspath(folder))
        return cls._make(name or Path(folder).name, None, program, weights=weights, folder=os.fspath(folder))

    @classmethod
    def pull(
        cls,
        name: str,
        folder: str | os.PathLike[str],
        *,
        network: str | Network | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Downloads a registered model as a folder for Hugging Face's ``from_pretrained``, as ``gym model
        pull`` does, and checks it. A call that was cut off continues.

        Args:
            name: NAME, which is its newest version, or NAME@VERSION.
            folder: new, empty, or of an export.
            network, api_key_file: as in :meth:`Network.find`.

        Raises:
            NotFoundError: if there is none, or none that the key's owner may see; MismatchError: if other
                weights arrive.
        """
        found = network if isinstance(network, Network) else Network.find(network, api_key_file)
        _zoo_gym.pull_model(found.owner_api(), name, os.fspath(folder), lambda done, total: None)
        return cls.from_folder(folder)

    def push(
        self,
        name: str,
        *,
        licence: str = "private",
        visibility: str | None = None,
        tokenizer: Tokenizer | None = None,
        network: str | Network | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
    ) -> str:
        """Registers the model's weights under a name, for jobs to begin from (``init="NAME"``), as ``gym
        model push`` does. Doing it again changes nothing.

        Args:
            name: the weights become its next version; NAME@VERSION insists on the number. A name belongs
                to the owner who uses it first.
            licence: SPDX expression such as ``"Apache-2.0"``, or ``"private"``.
            visibility: ``"public"`` or ``"private"``; None: private under a private licence, else public.
            tokenizer: of the model's tokens.
            network, api_key_file: as in :meth:`Network.find`.

        Returns:
            NAME@VERSION.

        Raises:
            InvalidArgumentError: for a model without weights, and terms that the network refuses.
            PermissionDeniedError: if the name belongs to another owner.
        """
        if self._weights is None:
            raise InvalidArgumentError(f"model '{self._name}' has no weights: read it from an exported folder")
        found = network if isinstance(network, Network) else Network.find(network, api_key_file)
        with tempfile.TemporaryDirectory(prefix="zoo-gym-") as place:
            state = os.path.join(place, "weights")
            self._weights.save(state)
            version = _zoo_gym.push_model(
                found.owner_api(),
                self._program,
                state,
                name,
                licence,
                visibility or "",
                [] if tokenizer is None else tokenizer.files,
                lambda done, total: None,
            )
        return f"{version.name}@{version.version}"

    @property
    def name(self) -> str:
        """For people."""
        return self._name

    @property
    def is_preset(self) -> bool:
        """Whether the learning-rate schedule follows the length of the training."""
        return self._is_preset

    @property
    def yaml(self) -> str | None:
        """The text of the model file; None for a model that came as a program."""
        return self._yaml

    @property
    def root(self) -> str:
        """The 0x... commitment to the program: every operation of a training step."""
        return self._program.root

    @property
    def parameters(self) -> int:
        """Numbers that training changes."""
        return self._program.parameters

    @property
    def flops(self) -> int:
        """Floating-point operations of one training step, as a network counts and prices them."""
        return self._program.flops_per_step

    @property
    def state_bytes(self) -> int:
        """Bytes of parameters and optimizer state."""
        return self._program.state_bytes

    @property
    def batch(self) -> int:
        """Windows of a training step."""
        return self._program.shape[0]

    @property
    def context(self) -> int:
        """Tokens of a window."""
        return self._program.shape[1]

    @property
    def tokens_per_step(self) -> int:
        """Tokens that a training step learns from: batch * context."""
        return self.batch * self.context

    @property
    def vocabulary(self) -> int:
        """The tokens of a dataset must be below this."""
        return self._program.shape[2]

    @property
    def program(self) -> _zoo_gym.Program:
        """The operations of a training step."""
        return self._program

    @property
    def weights(self) -> _zoo_gym.State | None:
        """The weights that training begins with; None: those of the seed."""
        return self._weights

    @property
    def folder(self) -> str | None:
        """The exported folder that the model was read from; None: it came otherwise."""
        return self._folder

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program file that ``gym program run`` takes.

        Raises:
            OSError: if it cannot be written.
        """
        Path(path).write_bytes(self._program.encode())

    def scheduled(self, steps: int) -> Model:
        """A preset with its learning-rate schedule over ``steps`` steps; other models as they are."""
        if not self._is_preset:
            return self
        yaml = _zoo_gym.preset_text(self._name, steps)
        made = self._with_file(yaml)
        return made if self._separator is None else made.apart(self._separator)

    def apart(self, separator: int) -> Model:
        """The model with ``separator`` between documents that do not read each other (docs/DATA.md, "Documents
        that share a window"): another program.

        Raises:
            InvalidArgumentError: for a model without a model file, and one that names a separator already.
        """
        if self._yaml is None:
            raise InvalidArgumentError(
                f"keep_documents_apart: model '{self._name}' is a program without a model file: name its preset or "
                "model file, and its weights with init=FOLDER"
            )
        made = self._with_file(_zoo_gym.keep_documents_apart(self._yaml, self._name, separator))
        made._separator = separator
        return made

    def _with_file(self, yaml: str) -> Model:
        program = _zoo_gym.Program.from_yaml(yaml, self._name)
        return self._make(
            self._name, yaml, program, weights=self._weights, is_preset=self._is_preset, folder=self._folder
        )

    def __repr__(self) -> str:
        return f"Model({self._name!r}, {self.parameters} parameters)"


def _resolve(name: str) -> Model:
    path = Path(name)
    if path.is_dir():
        return Model.from_folder(path)
    if path.suffix in (".yaml", ".yml"):
        return Model.from_yaml(path)
    try:
        return Model.from_preset(name)
    except NotFoundError as error:
        raise NotFoundError(f"{error.message}; '{name}' is no .yaml file and no folder either") from None
