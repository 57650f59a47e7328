#!/usr/bin/env python3
"""Writes merkle.txt, the vectors of the Merkle trees, from docs/PROTOCOL.md with hashlib alone.

A second implementation, on purpose as plain as the text: whole padded trees, no caches, no streaming.
"""
import hashlib
import os


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


ABSENT = sha(b"\x03", b"gym absent leaf")
CHUNK = 1024
DTYPES = {"f32": (1, 4), "i32": (2, 4), "i64": (3, 8), "i16": (4, 2), "u8": (5, 1), "u16": (6, 2), "u32": (7, 4)}


def pattern(size):
    """Bytes without a short period, so that swapped chunks change the root."""
    return bytes((i * 131 + (i >> 8) * 17 + 7) & 255 for i in range(size))


def padded(leaves):
    size = 1
    while size < len(leaves):
        size *= 2
    return leaves + [ABSENT] * (size - len(leaves))


def levels(leaves):
    out = [padded(leaves)]
    while len(out[-1]) > 1:
        last = out[-1]
        out.append([sha(b"\x01", last[i], last[i + 1]) for i in range(0, len(last), 2)])
    return out


def root(leaves):
    return levels(leaves)[-1][0]


def chunk_leaves(data):
    chunks = [data[i:i + CHUNK] for i in range(0, len(data), CHUNK)]
    return [sha(b"\x00", c.ljust(CHUNK, b"\0")) for c in chunks]


def tensor_root(name, dims, data):
    code, width = DTYPES[name]
    elements = 1
    for dim in dims:
        elements *= dim
    assert elements * width == len(data)
    header = bytes([2, code, len(dims)]) + b"".join(d.to_bytes(8, "big") for d in dims)
    return sha(header, root(chunk_leaves(data)))


def leaf(i):
    return sha(b"leaf", i.to_bytes(8, "big"))


def main():
    lines = ["# Written by make_merkle_vectors.py (hashlib). Bytes are pattern(size), leaves leaf(i)."]
    lines.append(f"absent {ABSENT.hex()}")
    for size in (0, 1, 55, 56, 63, 64, 65, 1023, 1024, 4096):
        lines.append(f"sha256 {size} {hashlib.sha256(pattern(size)).hexdigest()}")
    for count in list(range(0, 18)) + [31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 1000]:
        lines.append(f"root {count} {root([leaf(i) for i in range(count)]).hex()}")
    for size in (0, 1, 1023, 1024, 1025, 2048, 2049, 3072, 5000, 65536, 1048577):
        lines.append(f"chunks {size} {root(chunk_leaves(pattern(size))).hex()}")
    for name, dims in (("f32", (2, 3)), ("f32", (3, 2)), ("f32", (6,)), ("i32", (6,)), ("f32", ()), ("i64", (129,)),
                       ("i16", (1, 1, 1, 513)), ("u8", (0,)), ("u8", (4, 0, 7)), ("u16", (1500,)),
                       ("u32", (256, 256)), ("u8", (1, 1, 1, 1, 1, 1, 1, 9))):
        size = DTYPES[name][1]
        for dim in dims:
            size *= dim
        text = "x".join(map(str, dims)) or "scalar"
        lines.append(f"tensor {name} {text} {tensor_root(name, dims, pattern(size)).hex()}")
    for count, index in ((1, 0), (2, 1), (3, 2), (5, 4), (8, 3), (9, 8), (100, 63), (100, 99)):
        tree = levels([leaf(i) for i in range(count)])
        path = [tree[d][(index >> d) ^ 1].hex() for d in range(len(tree) - 1)]
        lines.append(f"proof {count} {index} {tree[-1][0].hex()} {' '.join(path)}".rstrip())
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "merkle.txt"), "w") as out:
        out.write("\n".join(lines) + "\n")


main()
