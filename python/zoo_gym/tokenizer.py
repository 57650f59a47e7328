"""Text to tokens and back."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import _zoo_gym


class Tokenizer:
    """A tokenizer: of bytes (a token is a byte of the UTF-8 text), or a byte-level BPE (:meth:`load`).

    Immutable and safe to share between threads. The same text gives the same tokens on every machine.
    """

    def __init__(self) -> None:
        self._tokenizer = _zoo_gym.Tokenizer.bytes()

    @classmethod
    def load(cls, path: str | os.PathLike[str], encoding: str | None = None) -> Tokenizer:
        """A byte-level BPE tokenizer, as GPT-2's and Llama 3's (docs/TOKENIZERS.md).

        Args:
            path: a tokenizer.json, a tiktoken rank file, or a folder with one of them.
            encoding: of a rank file whose name does not say it, such as ``"cl100k_base"``.

        Raises:
            NotFoundError, IoError: if the file cannot be read.
            MalformedError: for a damaged file; InvalidArgumentError: for another kind of tokenizer.
        """
        return cls.of(_zoo_gym.Tokenizer.load(os.fspath(path), encoding or ""))

    @classmethod
    def of(cls, native: _zoo_gym.Tokenizer) -> Tokenizer:
        """For an object of the engine."""
        self = cls.__new__(cls)
        self._tokenizer = native
        return self

    @property
    def native(self) -> _zoo_gym.Tokenizer:
        """The engine's own object."""
        return self._tokenizer

    @property
    def vocabulary(self) -> int:
        """Tokens are below this."""
        return self._tokenizer.vocabulary

    @property
    def name(self) -> str:
        """For people."""
        return self._tokenizer.name

    @property
    def root(self) -> str:
        """The 0x... commitment to how text becomes tokens."""
        return self._tokenizer.root

    @property
    def special_tokens(self) -> dict[str, int]:
        """Tokens that stand for their whole text, such as ``"<|endoftext|>"``."""
        return self._tokenizer.special_tokens

    @property
    def end_of_text(self) -> int | None:
        """The token between documents."""
        return self._tokenizer.end_of_text

    @property
    def files(self) -> list[tuple[str, bytes]]:
        """Names and contents of the files that Hugging Face's tokenizers read."""
        return self._tokenizer.files

    def encode(self, text: str | bytes, *, special_tokens: bool = False) -> list[int]:
        """The tokens of ``text``.

        Args:
            special_tokens: whether "<|endoftext|>" in the text is that token, not text.
        """
        return self._tokenizer.encode(
            text.encode() if isinstance(text, str) else text, special_tokens=special_tokens
        )

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of ``tokens``. Bytes that are not UTF-8 become U+FFFD.

        Raises:
            OutOfRangeError: for a token that does not exist.
        """
        return self._tokenizer.decode(list(tokens)).decode(errors="replace")

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r}, {self.vocabulary} tokens)"
