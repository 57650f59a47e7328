"""Datasets: texts as tokens, on this machine or registered with a network."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from . import _zoo_gym
from .amounts import Money, decimal_text
from .errors import InvalidArgumentError, NotFoundError
from .progress import say
from .settings import Network, home
from .tokenizer import Tokenizer

_ROOT_CHARACTERS = 66
_BYTES = 256
_PPM = 1_000_000
_TOKEN_FILE = b"GYMDATA"


@dataclass(frozen=True)
class MixShare:
    """What an input gave to a mix.

    Attributes:
        name: of the input.
        root: 0x... commitment to its tokens.
        tokens: of the mix that are its own, with the separators before its documents.
        asked, achieved: its share of the mix's tokens; those of all inputs add up to 1.
    """

    name: str
    root: str
    tokens: int
    asked: float
    achieved: float


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a dataset.

    Attributes:
        root: 0x... commitment to the tokens; names the dataset everywhere.
        tokens: how many tokens.
        vocabulary: tokens are below this.
        name: of a text or file for people; of a registered dataset the one that it was found by.
        licence: SPDX expression; None: not registered.
        price: of a million tokens, in the network's money; None: not registered.
        owner: address of the owner; None: not registered.
        version: of the name; None: the name is only a label.
        visibility: "public", "allow-list" or "private"; None: not registered.
        manifest: root of the manifest that the owner gave: where the documents come from; None: none, or not
            registered.
        tokenizer: root of the tokenizer that made the tokens; None: a token is a byte, or it is not registered.
    """

    root: str
    tokens: int
    vocabulary: int
    name: str
    licence: str | None = None
    price: Decimal | None = None
    owner: str | None = None
    version: int | None = None
    visibility: str | None = None
    manifest: str | None = None
    tokenizer: str | None = None


def _info_of(record: _zoo_gym.DatasetRecord) -> DatasetInfo:
    return DatasetInfo(
        root=record.root,
        tokens=record.tokens,
        vocabulary=record.vocabulary,
        name=record.name,
        licence=record.licence,
        price=record.price,
        owner=record.owner,
        visibility=record.visibility,
        manifest=record.manifest,
        tokenizer=record.tokenizer,
    )


def _named(record: _zoo_gym.DatasetRecord, version: _zoo_gym.DatasetVersion) -> DatasetInfo:
    return replace(_info_of(record), name=version.name, version=version.version)


def is_root(text: str) -> bool:
    digits = text.removeprefix("0x")
    return len(digits) == _ROOT_CHARACTERS - 2 and all(c in "0123456789abcdefABCDEF" for c in digits)


def _find(api: _zoo_gym.Api, reference: str) -> tuple[_zoo_gym.DatasetRecord, _zoo_gym.DatasetVersion]:
    """The dataset of NAME or NAME@VERSION."""
    try:
        version = api.dataset_version(reference)
    except NotFoundError:
        raise NotFoundError(
            f"no dataset is registered under the name '{reference}': Dataset.from_file(...).push(NAME) or "
            "`gym data register FILE --as NAME` registers one"
        ) from None
    record = api.dataset(version.root)
    if record is None:
        raise NotFoundError(f"{reference} is dataset {version.root}, which is not registered")
    return record, version


def _ppm_of(weight: float) -> int:
    ppm = round(weight * _PPM) if 0 < weight <= 100 else 0
    if ppm < 1:
        raise InvalidArgumentError(f"weight: {weight} is not above 0 and at most 100")
    return ppm


def _native(tokenizer: Tokenizer | None) -> _zoo_gym.Tokenizer | None:
    return None if tokenizer is None else tokenizer.native


def _loaded(tokenizer: Tokenizer | str | os.PathLike[str] | None) -> Tokenizer | None:
    if tokenizer is None or isinstance(tokenizer, Tokenizer):
        return tokenizer
    if isinstance(tokenizer, (str, os.PathLike)):
        return Tokenizer.load(tokenizer)
    raise InvalidArgumentError(f"tokenizer: {tokenizer!r} is neither a Tokenizer nor the path of one")


class Dataset:
    """A text as tokens. Make one with :meth:`from_text`, :meth:`from_file`, :meth:`build` or :meth:`load`.

    Immutable and safe to share between threads.
    """

    def __init__(
        self,
        info: DatasetInfo,
        tokens: _zoo_gym.Tokens | None,
        tokenizer: Tokenizer | None = None,
        shares: Sequence[MixShare] = (),
        token_file: str | None = None,
    ) -> None:
        self._info = info
        self._token_file = token_file
        self._shares = tuple(shares)
        self._tokens = tokens
        self._tokenizer = tokenizer
        self._tokenizer_files: list[tuple[str, bytes]] | None = None

    @classmethod
    def from_text(
        cls, text: str | bytes, name: str = "text", *, tokenizer: Tokenizer | str | os.PathLike[str] | None = None
    ) -> Dataset:
        """A dataset of ``text`` (UTF-8).

        Args:
            tokenizer: a :class:`Tokenizer`, or its path; None: a token is a byte.

        Raises:
            InvalidArgumentError: for an empty text.
            OutOfRangeError: for a vocabulary that token files cannot hold.
        """
        read = text.encode() if isinstance(text, str) else text
        used = _loaded(tokenizer)
        return cls._of(_zoo_gym.Tokens.from_text(read, _native(used)), name, used)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        name: str | None = None,
        *,
        tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
    ) -> Dataset:
        """A dataset from a token file, a text or documents.

        A text (other names than those below) is taken as it is. Folders, JSON lines, Parquet and compressed
        files hold documents: they are built by the default steps of ``gym data build``, in bounded memory,
        and what was built is kept in ``datasets`` of ``$GYM_HOME`` for as long as the files stay as they are.
        :meth:`build` takes other steps, and has the options for files of another form.

        Args:
            path: a file, a folder, ``https://...`` or ``s3://BUCKET/...``.
            name: for people; default: the file's.
            tokenizer: of the text; None: a token is a byte. A token file must be of this tokenizer.

        Raises:
            NotFoundError, IoError: if a file cannot be read.
            MalformedError, OutOfRangeError: for a damaged token file or a record without a text, which it names.
            InvalidArgumentError: for a token file of another tokenizer, and where no document is left.
        """
        # No Path: it would make one slash of the two in a URL.
        place = os.fspath(path)
        chosen = name or Path(place).name
        used = _loaded(tokenizer)
        if not _zoo_gym.holds_documents(place):
            return cls._of(_zoo_gym.Tokens.load(place, _native(used)), chosen, used, place)
        built = _zoo_gym.build_kept(place, _native(used), str(home() / "datasets"))
        return cls._of_build(built, chosen, used)

    @classmethod
    def build(
        cls,
        inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        path: str | os.PathLike[str],
        *,
        tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
        steps: str | Sequence[str] = "default",
        languages: Sequence[str] = (),
        licence: str | None = None,
        licences: Sequence[str] = (),
        opt_out: str | os.PathLike[str] | None = None,
        format: str = "auto",
        documents: str = "file",
        text_key: str | None = None,
        licence_key: str | None = None,
        skip_malformed: bool = False,
        seed: int = 1,
        threads: int = 0,
        index_memory: str = "1G",
        s3_endpoint: str | None = None,
        context: int = 0,
        pad_to: int = 0,
        padding_token: int | None = None,
    ) -> Dataset:
        """Makes a token file of documents, as ``gym data build`` does: the same inputs and options give the
        same roots. docs/DATA.md describes inputs, steps, licences and the manifest, which is written beside
        it. Memory is bounded; the tokens stay on the disk until they are needed. A call that was interrupted
        continues.

        Args:
            inputs: files, folders, ``https://...``, ``s3://BUCKET/...``: text, JSON lines, Parquet, also
                compressed.
            path: of the token file.
            tokenizer: a :class:`Tokenizer`, or its path; None: a token is a byte.
            steps: names and presets (``gym data steps`` lists them).
            languages: that the step ``language`` keeps.
            licence: of documents that name none. licences: keep only documents under these.
            opt_out: file of ids, URLs and host names, one a line, whose documents are left out.
            format: "text", "jsonl" or "parquet" for all inputs; "auto": by their names.
            documents: where a document of a text ends: "file", "blank-lines", "lines".
            text_key, licence_key: members of a record.
            skip_malformed: leave out records that cannot be read.
            seed: of the step ``minhash``.
            threads: 0: one a core. The result does not depend on it.
            index_memory: for finding duplicates, such as "2G".
            s3_endpoint: default: ``$AWS_ENDPOINT_URL_S3``, else AWS.
            context: refuse data that is too short for a model with this context.
            pad_to, padding_token: put every document into rows of its own, of as many tokens as the model's
                context, filled up with this token: the model's ``padding_token``.

        Raises:
            InvalidArgumentError: for an option that cannot be used, and where no document is left.
            MalformedError: for a record that cannot be read, which it names.
            NotFoundError, IoError: if a file cannot be read or written.
            ConflictError: while another build writes the same file.
        """
        words = _zoo_gym.BuildWords()
        several = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
        words.inputs = [os.fspath(one) for one in several]
        words.output = os.fspath(path)
        words.steps = steps if isinstance(steps, str) else ",".join(steps)
        words.languages, words.licences = list(languages), list(licences)
        words.licence = licence or ""
        words.opt_out = "" if opt_out is None else os.fspath(opt_out)
        words.format, words.documents = format, documents
        words.text_key, words.licence_key = text_key or "", licence_key or ""
        words.skip_malformed = skip_malformed
        words.seed, words.threads, words.context = seed, threads, context
        words.pad_to, words.padding_token = pad_to, padding_token
        words.index_memory, words.s3_endpoint = index_memory, s3_endpoint or ""
        used = _loaded(tokenizer)
        return cls._of_build(_zoo_gym.build(words, _native(used)), Path(path).name, used)

    @classmethod
    def mix(
        cls,
        parts: Sequence[tuple[Dataset | str | os.PathLike[str], float]],
        path: str | os.PathLike[str],
        *,
        tokens: int | None = None,
        whole_documents: bool = False,
        best_effort: bool = False,
    ) -> Dataset:
        """A token file of several, in shares of its tokens, as ``gym data mix`` makes it: the same parts
        give the same root. docs/DATA.md has the rule. ``.shares`` says what came out.

        Args:
            parts: texts, token files or datasets, with their weights: ``[("a.tokens", 0.7), (b, 0.3)]``.
            path: of the token file that is written.
            tokens: exactly so many; None: as many as the shares allow.
            whole_documents: split no document.
            best_effort: accept shares that differ by more than a percentage point.

        Raises:
            InvalidArgumentError: for shares that cannot be met, a weight that is not above 0, other
                tokenizers or vocabularies, or fewer than two parts.
            NotFoundError, IoError: if a file cannot be read or written.
        """
        with tempfile.TemporaryDirectory(prefix="zoo-gym-") as folder:
            inputs = [
                (_token_file(part, Path(folder), str(index)), _ppm_of(weight))
                for index, (part, weight) in enumerate(parts)
            ]
            mixed = _zoo_gym.mix(inputs, os.fspath(path), tokens or 0, whole_documents, best_effort)
        names = [part.info.name if isinstance(part, Dataset) else Path(part).name for part, _ in parts]
        shares = [
            MixShare(name, m.root, m.taken, m.asked_ppm / _PPM, m.achieved_ppm / _PPM)
            for name, m in zip(names, mixed, strict=True)
        ]
        made = cls.from_file(path)
        tokenizer = next((part.tokenizer for part, _ in parts if isinstance(part, Dataset)), None)
        return cls(made._info, made._tokens, tokenizer, shares, os.fspath(path))

    @classmethod
    def mix_registered(
        cls,
        parts: Sequence[tuple[Dataset | str, float]],
        *,
        tokens: int | None = None,
        best_effort: bool = False,
        network: str | Network | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
    ) -> Dataset:
        """A mix of registered datasets that the network makes: nothing is downloaded, and jobs on it pay
        the provider of each part for what was taken of it (docs/DATA.md, "Mixes of the network").

        Args:
            parts: registered datasets, their names (NAME, NAME@VERSION) or roots, with their weights.
            tokens: exactly so many; None: as many as the shares allow.
            best_effort: accept shares that differ by more than a percentage point.
            network, api_key_file: as in :meth:`Network.find`.

        Returns:
            the mix with its price, without its tokens; ``.shares`` says what was taken of each part.

        Raises:
            NotFoundError: for a part that is not registered; PermissionDeniedError: for one whose licence
                leaves training to its owner; InvalidArgumentError: for what cannot be mixed.
        """
        found = network if isinstance(network, Network) else Network.find(network, api_key_file)
        api = found.owner_api()
        weights = [_ppm_of(weight) for _, weight in parts]
        roots = [part.root if isinstance(part, Dataset) else cls.load(part, found).root for part, _ in parts]
        record, taken = api.make_mix(list(zip(roots, weights, strict=True)), tokens or 0, best_effort)
        shares = [
            MixShare(name, root, count, weight / sum(weights), count / record.tokens)
            for (name, root, count), weight in zip(taken, weights, strict=True)
        ]
        return cls(_info_of(record), None, None, shares)

    @classmethod
    def load(cls, name_or_root: str, network: str | Network | None = None) -> Dataset:
        """A dataset that is registered with a network: its record, without its tokens.

        Args:
            name_or_root: the 0x... root; NAME, which is its newest version; or NAME@VERSION.
            network: a stored network, the URL of a gym-api, or None for the default
                (:meth:`Network.find`).

        Raises:
            NotFoundError: if there is none; InvalidArgumentError: for what can be no name.
        """
        found = network if isinstance(network, Network) else Network.find(network)
        api = found.api()
        if not is_root(name_or_root):
            record, version = _find(api, name_or_root)
            return cls(_named(record, version), None)
        registered = api.dataset(name_or_root)
        if registered is None:
            raise NotFoundError(f"dataset {name_or_root} is not registered at {found.url}")
        return cls(_info_of(registered), None)

    @classmethod
    def pull(
        cls,
        name_or_root: str,
        path: str | os.PathLike[str],
        *,
        network: str | Network | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
    ) -> Dataset:
        """Downloads a registered dataset as a token file, manifest and tokenizer beside it, as ``gym data pull``
        does, and checks them. A call that was cut off continues.

        Args:
            name_or_root: as in :meth:`load`.
            path: of the token file.

        Raises:
            UnauthenticatedError: without a key; PermissionDeniedError: for a dataset that only its owner may download.
            MismatchError: if other tokens arrive; NotFoundError: as in :meth:`load`.
        """
        found = network if isinstance(network, Network) else Network.find(network, api_key_file)
        known = cls.load(name_or_root, found)
        info = known._info
        tokens = _zoo_gym.pull_dataset(
            found.url,
            found.api_key() or "",
            info.root,
            info.tokens,
            info.vocabulary,
            info.manifest,
            info.tokenizer,
            os.fspath(path),
        )
        return cls(info, tokens, token_file=os.fspath(path))

    @classmethod
    def _of(
        cls, tokens: _zoo_gym.Tokens, name: str, tokenizer: Tokenizer | None = None, file: str | None = None
    ) -> Dataset:
        info = DatasetInfo(tokens.root, len(tokens), tokens.vocabulary, name)
        return cls(info, tokens, tokenizer, token_file=file)

    @classmethod
    def _of_build(cls, built: _zoo_gym.BuiltFile, name: str, tokenizer: Tokenizer | None) -> Dataset:
        if built.documents is not None:
            kept, read = built.documents
            say(f"{kept} of {read} documents of {name} are kept, {built.tokens} tokens")
        info = DatasetInfo(built.root, built.tokens, built.vocabulary, name)
        return cls(info, None, tokenizer, token_file=built.path)

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
            MismatchError: if the file that was built is another one now.
        """
        if self._tokens is None and self._token_file is not None:
            self._tokens = _zoo_gym.Tokens.load_again(self._token_file, self.root)
        if self._tokens is None:
            raise NotFoundError(
                f"the tokens of dataset '{self._info.name}' ({self.root}) are not on this machine: "
                "download them with Dataset.pull"
            )
        return self._tokens

    @property
    def tokenizer(self) -> Tokenizer | None:
        """What made the tokens: that which was given, or which lies beside the token file; bytes for a
        vocabulary of 256; None: not known here.

        Raises:
            MalformedError, MismatchError: for files beside the token file that are damaged, or of another
                tokenizer.
        """
        if self._tokenizer is None and self.vocabulary == _BYTES:
            return Tokenizer()
        self._look_beside()
        return self._tokenizer

    @property
    def tokenizer_files(self) -> list[tuple[str, bytes]]:
        """Names and contents of the tokenizer's files, for an exported model; also of a SentencePiece model,
        for which :attr:`tokenizer` is None.

        Raises:
            MalformedError, MismatchError: as :attr:`tokenizer`.
        """
        known = self.tokenizer
        return known.files if known is not None else self._tokenizer_files or []

    def _look_beside(self) -> None:
        if self._tokenizer is None and self._tokenizer_files is None and self._token_file is not None:
            native, self._tokenizer_files = _zoo_gym.tokenizer_beside(self._token_file)
            if native is not None:
                self._tokenizer = Tokenizer.of(native)

    def document_separator(self, network: str | Network | None = None) -> int:
        """The token between the documents, by the manifest beside the token file; of a dataset that is not on
        this machine, by the one that its owner gave to the network. It is what ``keep_documents_apart=True``
        of :class:`DistributedTrainer` puts into the model.

        Raises:
            InvalidArgumentError: where there is none, or none of which documents are free; NotFoundError: without
                a manifest; UnauthenticatedError: without the API key that may read it.
        """
        if self.is_here:
            return _zoo_gym.document_separator(self._token_file or self._info.name, self.tokens)
        found = network if isinstance(network, Network) else Network.find(network)
        return _zoo_gym.registered_separator(found.url, found.api_key() or "", self.root, self._info.manifest)

    @property
    def shares(self) -> tuple[MixShare, ...]:
        """What :meth:`mix` or :meth:`mix_registered` made it of; empty for other datasets."""
        return self._shares

    @property
    def is_here(self) -> bool:
        """Whether the tokens are on this machine."""
        return self._tokens is not None or self._token_file is not None

    def __len__(self) -> int:
        return self._info.tokens

    def __repr__(self) -> str:
        return f"Dataset({self._info.name!r}, {len(self)} tokens, {self.root})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a token file, which :meth:`from_file` reads, and beside it the tokenizer's files and the manifest
        if there are any: the documents' licences bind a copy, too.

        Raises:
            IoError: if it cannot be written.
        """
        self.tokens.save(os.fspath(path))
        if self._token_file is not None:
            _zoo_gym.copy_beside(self._token_file, os.fspath(path))
        if self._tokenizer is not None and self._tokenizer.files:
            _zoo_gym.write_tokenizer_beside(os.fspath(path), self._tokenizer.files)

    def push(
        self,
        name: str | None = None,
        *,
        licence: str | None = None,
        price: Money = 0,
        visibility: str | None = None,
        allow: Sequence[str] = (),
        manifest: bool = True,
        network: str | Network | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
    ) -> Dataset:
        """Uploads and registers the dataset, with the files of its tokenizer, so that jobs can train on it,
        and says who sees it (docs/DATA.md, "Visibility").

        Args:
            name: the dataset becomes its next version; NAME@VERSION insists on the number. A name belongs
                to the owner who uses it first. Default: none, only the file's name as a label. Doing it
                again changes nothing.
            licence: SPDX expression such as ``"CC-BY-4.0"``. It may permit no more than the licences of the
                documents that the manifest beside the token file records; None: all of theirs together.
            price: for a million tokens, in the network's money; it can never change.
            visibility: ``"public"``: everybody can list it, train on it and, if it costs nothing, read it;
                ``"private"``: its owner alone; ``"allow-list"``: also the accounts of ``allow``. Nodes that
                hold a task of such a job see the text in any case. None: an allow-list if there are
                accounts; else public, but private under a licence that says so.
            allow: accounts (0x...) of the allow-list.
            manifest: also give the manifest beside the token file: those who may see the dataset can read it.
            network, api_key_file: as in :meth:`Network.find`.

        Returns:
            the dataset with its terms.

        Raises:
            ConflictError: if it is registered under another owner, other terms or another visibility
                (:meth:`set_visibility` changes it), the version is not the next one, or the licence permits
                more than the documents'.
            MismatchError: if the manifest beside the token file is of another one.
            InvalidArgumentError: if nothing names a licence; for a name or terms that the network refuses, and for a text that is not
                public over plain HTTP to another machine.
            PermissionDeniedError: if the name belongs to another owner.
        """
        label = self._info.name if name is None else _zoo_gym.parse_dataset_name(name)
        found = network if isinstance(network, Network) else Network.find(network, api_key_file)
        api = found.owner_api()
        record, version = api.push_data(
            self.tokens,
            self._token_file or "",
            label,
            name or "",
            licence or "",
            decimal_text(price, "price"),
            visibility,
            list(allow),
            # So that models that are trained on it are exported with their tokenizer.
            [] if self._tokenizer is None else self._tokenizer.files,
            manifest,
        )
        say(f"who can see dataset '{label}': {api.who_sees_data(record)}")
        info = _info_of(record) if version is None else _named(record, version)
        return self._registered(info)

    def check_use(self, use: str) -> None:
        """That the licences of the documents in the manifest permit a job for ``use``.

        Args:
            use: "commercial" or "non-commercial".

        Raises:
            ConflictError: with what they forbid; InvalidArgumentError: for another word.
        """
        if self._token_file is not None:
            _zoo_gym.check_documents(self._info.name, self._token_file, self.root, use)

    def _registered(self, info: DatasetInfo) -> Dataset:
        return Dataset(info, self._tokens, self._tokenizer, self._shares, self._token_file)

    def set_visibility(
        self,
        visibility: str,
        allow: Sequence[str] = (),
        *,
        network: str | Network | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
    ) -> Dataset:
        """Changes who may list, train on and read the registered dataset, and says who that is. Copies that
        others have fetched stay with them, and running jobs continue.

        Args:
            visibility, allow: as in :meth:`push`; the accounts take the place of earlier ones.
            network, api_key_file: as in :meth:`Network.find`.

        Returns:
            the dataset with its new visibility.

        Raises:
            NotFoundError: if it is not registered, or not for the key's owner to see.
            PermissionDeniedError: if it belongs to another owner.
            InvalidArgumentError: for an unknown visibility, or accounts without an allow-list.
        """
        found = network if isinstance(network, Network) else Network.find(network, api_key_file)
        api = found.owner_api()
        record = api.set_dataset_access(self.root, visibility, list(allow))
        say(f"who can see dataset '{self._info.name}': {api.who_sees_data(record)}")
        return self._registered(replace(_info_of(record), name=self._info.name, version=self._info.version))


def _token_file(part: Dataset | str | os.PathLike[str], folder: Path, name: str) -> str:
    """The path of a token file; what is none becomes one in ``folder``."""
    if not isinstance(part, Dataset):
        place = os.fspath(part)
        if not _zoo_gym.holds_documents(place):
            try:
                with open(place, "rb") as file:
                    if file.read(len(_TOKEN_FILE)) == _TOKEN_FILE:
                        return place
            except FileNotFoundError:
                raise NotFoundError(f"{place}: no such file") from None
        part = Dataset.from_file(part)
    # With its manifest, if it has one: the mix is by documents then.
    part.save(folder / name)
    return str(folder / name)
