"""TorchScript files as models: the import runs in a process of its own, ``gym-torch-import``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _zoo_gym
from .errors import InvalidArgumentError, MalformedError, NotFoundError

_PROGRAM = "gym-torch-import"
_UNFIT = 2
"""The exit code for a model that no program can be."""
_SECONDS_MAX = 600
_BATCH = 8


def is_torchscript(path: Path) -> bool:
    """Whether the file is a zip archive, as TorchScript's files are."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def _found(names: tuple[str, ...], folders: tuple[Path, ...]) -> Path | None:
    places = (folder / name for folder in folders for name in names)
    return next((place for place in places if place.is_file()), None)


def _importer() -> tuple[Path, Path | None]:
    """The program, and libgym_ops.so for models made of its ops; installed, or in the build tree."""
    build = Path(__file__).resolve().parents[2] / "bin"
    installed = shutil.which(_PROGRAM)
    importer = _found((_PROGRAM,), (build,)) or (Path(installed) if installed else None)
    if importer is None:
        raise NotFoundError(
            f"{_PROGRAM} is not there, which reads TorchScript: install gym, built with libtorch, and have its "
            "programs in PATH"
        )
    prefix = importer.parent.parent
    folders = (prefix / "lib", prefix / "lib" / "gym", *sorted((prefix / "lib").glob("*/gym")))
    return importer, _found(("libgym_ops.so",), folders)


def read(
    path: str | os.PathLike[str],
    context: int | None,
    batch: int | None,
    optimizer: Mapping[str, Any] | None,
) -> tuple[str, _zoo_gym.State]:
    """The model file of a TorchScript model, with the program in it, and the model's weights.

    Raises:
        InvalidArgumentError: without a context; naming the first op that programs do not have.
        MalformedError: for a file that is not TorchScript; NotFoundError: without gym-torch-import.
    """
    if context is None:
        raise InvalidArgumentError(
            f"{os.fspath(path)} is a TorchScript model: say how many tokens it reads at a time, such as context=128"
        )
    windows = _BATCH if batch is None else batch
    importer, ops = _importer()
    with tempfile.TemporaryDirectory(prefix="zoo-gym-") as folder:
        program, state = Path(folder) / "program", Path(folder) / "weights"
        command = [importer, path, program, state, ops or "none", f"i64[{windows},{context}]"]
        done = subprocess.run(
            [os.fspath(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={name: value for name, value in os.environ.items() if name not in _zoo_gym.SECRET_VARIABLES},
            timeout=_SECONDS_MAX,
            check=False,
        )
        if done.returncode != 0:
            said = done.stdout.decode(errors="replace").strip() or f"{_PROGRAM} ended without an answer"
            raise (InvalidArgumentError if done.returncode == _UNFIT else MalformedError)(said)
        forward = _zoo_gym.Program.decode(program.read_bytes())
        weights = _zoo_gym.State.load(os.fspath(state))
    model = {
        "architecture": "imported",
        "forward": Path(path).name,
        "root": forward.root,
        "program": _zoo_gym.program_text(forward),
    }
    keys: dict[str, Any] = {"model": model, "batch": windows}
    if optimizer:
        keys["optimizer"] = dict(optimizer)
    # JSON's values are YAML's, too.
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items()), weights
