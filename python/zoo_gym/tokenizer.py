"""Text to tokens and back."""

from __future__ import annotations

from collections.abc import Sequence


class Tokenizer:
    """A tokenizer of bytes: a token is a byte of the UTF-8 text, the vocabulary is 256.

    Immutable and safe to share between threads.
    """

    vocabulary: int = 256
    """Tokens are below this."""

    def encode(self, text: str | bytes) -> list[int]:
        """The tokens of ``text``, one a byte."""
        return list(text.encode() if isinstance(text, str) else text)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of ``tokens``. Bytes that are not UTF-8 become U+FFFD.

        Raises:
            ValueError: for a token outside the vocabulary.
        """
        return bytes(tokens).decode(errors="replace")
