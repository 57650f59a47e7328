"""Datasets: texts as tokens, on this machine or registered with a network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from . import _zoo_gym
from .amounts import Money, decimal_text
from .errors import ConflictError, InvalidArgumentError, NotFoundError
from .settings import Network
from .tokenizer import Tokenizer

_PAGES_MAX = 1000
_ROOT_CHARACTERS = 66
_BYTES = 256


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a dataset.

    Attributes:
        root: 0x... commitment to the tokens; names the dataset everywhere.
        tokens: how many tokens.
        vocabulary: tokens are below this.
        name: for people; a network's names need not be unique.
        licence: SPDX expression; None: not registered.
        price: of a million tokens, in the network's money; None: not registered.
        owner: address of the owner; None: not registered.
    """

    root: str
    tokens: int
    vocabulary: int
    name: str
    licence: str | None = None
    price: Decimal | None = None
    owner: str | None = None


def _info_of(record: _zoo_gym.DatasetRecord) -> DatasetInfo:
    return DatasetInfo(
        root=record.root,
        tokens=record.tokens,
        vocabulary=record.vocabulary,
        name=record.name,
        licence=record.licence,
        price=record.price,
        owner=record.owner,
    )


def _is_root(text: str) -> bool:
    digits = text.removeprefix("0x")
    return len(digits) == _ROOT_CHARACTERS - 2 and all(c in "0123456789abcdefABCDEF" for c in digits)


def _records(api: _zoo_gym.Api) -> Iterator[_zoo_gym.DatasetRecord]:
    """All registered datasets, newest first."""
    for page in range(_PAGES_MAX):
        records = api.datasets(_zoo_gym.PAGE_ITEMS_MAX, page * _zoo_gym.PAGE_ITEMS_MAX)
        yield from records
        if len(records) < _zoo_gym.PAGE_ITEMS_MAX:
            return


def _find(api: _zoo_gym.Api, name: str) -> _zoo_gym.DatasetRecord:
    """The newest dataset of this name, which no second owner uses."""
    found = [record for record in _records(api) if record.name == name]
    if not found:
        raise NotFoundError(
            f"no dataset is registered under the name '{name}': `gym data list` shows the names; "
            "Dataset.from_file(...).push(...) registers one"
        )
    if len({record.owner for record in found}) > 1:
        roots = ", ".join(record.root for record in found)
        raise ConflictError(f"several owners have a dataset named '{name}': name it by its root: {roots}")
    return found[0]


class Dataset:
    """A text as tokens. Make one with :meth:`from_text`, :meth:`from_file` or :meth:`load`.

    Immutable and safe to share between threads.
    """

    def __init__(
        self, info: DatasetInfo, tokens: _zoo_gym.Tokens | None, tokenizer: Tokenizer | None = None
    ) -> None:
        self._info = info
        self._tokens = tokens
        self._tokenizer = tokenizer

    @classmethod
    def from_text(
        cls, text: str | bytes, name: str = "text", *, tokenizer: Tokenizer | None = None
    ) -> Dataset:
        """A dataset of ``text`` (UTF-8).

        Args:
            tokenizer: None: a token is a byte.

        Raises:
            InvalidArgumentError: for an empty text.
            OutOfRangeError: for a vocabulary that token files cannot hold.
        """
        if tokenizer is not None:
            tokens = _zoo_gym.Tokens.from_tokens(
                tokenizer.encode(text), tokenizer.vocabulary, tokenizer.root
            )
            return cls._of(tokens, name, tokenizer)
        return cls._of(_zoo_gym.Tokens.from_text(text.encode() if isinstance(text, str) else text), name)

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], name: str | None = None, *, tokenizer: Tokenizer | None = None
    ) -> Dataset:
        """A dataset from a text or a token file (``gym data build``).

        Args:
            tokenizer: of a text; None: a token is a byte.

        Raises:
            NotFoundError, IoError: if the file cannot be read.
            MalformedError, OutOfRangeError: for a damaged token file.
        """
        chosen = name or Path(path).name
        if tokenizer is not None:
            try:
                return cls.from_text(Path(path).read_bytes(), chosen, tokenizer=tokenizer)
            except FileNotFoundError:
                raise NotFoundError(f"{os.fspath(path)}: no such file") from None
        return cls._of(_zoo_gym.Tokens.load(os.fspath(path)), chosen)

    @classmethod
    def load(cls, name_or_root: str, network: str | Network | None = None) -> Dataset:
        """A dataset that is registered with a network: its record, without its tokens.

        Args:
            name_or_root: the 0x... root, or a name that one owner alone uses: the newest of it.
            network: URL of gym-api, or None for the default (:meth:`Network.find`).

        Raises:
            NotFoundError: if there is none; ConflictError: if several owners use the name.
        """
        found = network if isinstance(network, Network) else Network.find(network)
        api = found.api()
        if not _is_root(name_or_root):
            return cls(_info_of(_find(api, name_or_root)), None)
        record = api.dataset(name_or_root)
        if record is None:
            raise NotFoundError(f"dataset {name_or_root} is not registered at {found.url}")
        return cls(_info_of(record), None)

    @classmethod
    def _of(cls, tokens: _zoo_gym.Tokens, name: str, tokenizer: Tokenizer | None = None) -> Dataset:
        info = DatasetInfo(tokens.root, len(tokens), tokens.vocabulary, name)
        return cls(info, tokens, tokenizer)

    @property
    def info(self) -> DatasetInfo:
        """Root, size, and the terms if it is registered."""
        return self._info

    @property
    def root(self) -> str:
        """The 0x... commitment to the tokens."""
        return self._info.root

    @property
    def vocabulary(self) -> int:
        """Tokens are below this."""
        return self._info.vocabulary

    @property
    def tokens(self) -> _zoo_gym.Tokens:
        """The tokens on this machine.

        Raises:
            NotFoundError: for a dataset of which only the record is here.
        """
        if self._tokens is None:
            raise NotFoundError(
                f"the tokens of dataset '{self._info.name}' ({self.root}) are not on this machine: "
                "read them with Dataset.from_file"
            )
        return self._tokens

    @property
    def tokenizer(self) -> Tokenizer | None:
        """What made the tokens; bytes for a vocabulary of 256; None: not known here."""
        if self._tokenizer is None and self.vocabulary == _BYTES:
            return Tokenizer()
        return self._tokenizer

    @property
    def is_here(self) -> bool:
        """Whether the tokens are on this machine."""
        return self._tokens is not None

    def __len__(self) -> int:
        return self._info.tokens

    def __repr__(self) -> str:
        return f"Dataset({self._info.name!r}, {len(self)} tokens, {self.root})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a token file, which :meth:`from_file` reads.

        Raises:
            IoError: if it cannot be written.
        """
        self.tokens.save(os.fspath(path))

    def push(
        self,
        name: str | None = None,
        *,
        licence: str,
        price: Money = 0,
        network: str | Network | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
    ) -> Dataset:
        """Uploads and registers the dataset; everybody on the network can then train on it and
        read it.

        Args:
            name: 1 to 128 bytes; default: the file's name. Doing it again changes nothing.
            licence: SPDX expression such as ``"CC-BY-4.0"``.
            price: for a million tokens, in the network's money; it can never change.
            network, api_key_file: as in :meth:`Network.find`.

        Returns:
            the dataset with its terms.

        Raises:
            ConflictError: if it is registered under another owner or other terms.
            InvalidArgumentError: for terms that the network refuses.
        """
        if not licence:
            raise InvalidArgumentError("licence: name one, such as 'CC-BY-4.0'")
        found = network if isinstance(network, Network) else Network.find(network, api_key_file)
        record = found.owner_api().register_dataset(
            self.tokens, name or self._info.name, licence, decimal_text(price, "price")
        )
        return Dataset(_info_of(record), self._tokens, self._tokenizer)
