#!/usr/bin/env python3
"""Prints the roots of two tokenizers, from docs/TOKENIZERS.md ("Root") with hashlib alone.

A second implementation, for tests/unit/tokenizer/tokenizer_test.cpp: the tokenizer of bytes, and the one of
tests/support/small_tokenizer.hpp.
"""
import hashlib
import struct

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
MERGES = [b"h e", b"l l", b"he ll", b"hell o", b"\x20 w", b"o r", b"\x20w or", b"l d", b"\x20wor ld"]


def u32(value):
    return struct.pack(">I", value)


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return u32(len(value)) + value


def items(values, encode):
    return u32(len(values)) + b"".join(encode(value) for value in values)


def root(patterns, tokens, merges, added):
    out = text("gym tokenizer 1") + bytes([0, 0])
    out += items(patterns, lambda pattern: bytes([0]) + text(pattern))
    out += items(tokens, text)
    out += items(merges, lambda merge: b"".join(map(u32, merge)))
    out += items(added, lambda token: u32(token[0]) + text(token[1]) + bytes([1, 0]))
    return "0x" + hashlib.sha256(out).hexdigest()


def main():
    tokens = [bytes([byte]) for byte in range(256)]
    print(root([], tokens, [], []))
    merges = []
    for merge in MERGES:
        left, right = merge.rsplit(b" ", 1)
        tokens.append(left + right)
        merges.append((tokens.index(left), tokens.index(right), len(tokens) - 1))
    print(root([GPT2], tokens, merges, [(len(tokens), "<|endoftext|>")]))


main()
