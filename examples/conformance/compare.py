"""Values of the vectors against computed ones."""
import json
import os
import re

differences = []
checked = []


def expect(where, found, expected):
    checked.append(where)
    if isinstance(found, bytes):
        found = ("0x" if expected.startswith("0x") else "") + found.hex()
    if found != expected:
        differences.append(f"{where}: expected {str(expected)[:200]}, computed {str(found)[:200]}")


def unpack(text):
    """Hexadecimal in which "bb*n," stands for n bytes bb."""
    return bytes.fromhex(re.sub(r"(..)\*(\d+),", lambda found: found[1] * int(found[2]), text))


def read(folder, name):
    with open(os.path.join(folder, "conformance", name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def digest(text):
    return bytes.fromhex(text.removeprefix("0x"))
