"""The seam between what users say and what a network or the engine takes: folders of models, and the
job file of tokens, nodes and money."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _zoo_gym
from .errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from .model import Model


def read_folder(folder: Path) -> Model:
    from .model import Model

    program = folder / "program.gym"
    weights = folder / "model.safetensors"
    for path in (program, weights):
        if not path.is_file():
            raise NotFoundError(f"{folder} holds no exported model: {path.name} is missing")
    decoded = _zoo_gym.Program.decode(program.read_bytes())
    state = _zoo_gym.State.read_safetensors(decoded, str(weights))
    return Model._make(folder.name, None, decoded, weights=state)


def job_draft(
    *,
    name: str,
    model: Model,
    dataset_root: str,
    tokens: int | None,
    nodes: int | None,
    budget: str | None,
    max_data_price: str,
    terms: Mapping[str, Any],
) -> str:
    """A job file (examples/job.yaml explains every key) that leaves the rest to the planner.

    Args:
        budget, max_data_price: decimal texts.
        terms: other keys of a job file; they win.

    Raises:
        InvalidArgumentError: for a model that has no model file.
    """
    if model.yaml is None:
        raise InvalidArgumentError(
            f"model '{model.name}' is a program without a model file, which a network cannot train yet"
        )
    keys: dict[str, Any] = {"name": name, "dataset": dataset_root, "max_data_price": max_data_price}
    wishes = (("tokens", tokens, "rounds"), ("nodes", nodes, "slots"), ("max_cost", budget, "budget"))
    for key, value, instead in wishes:
        if value is not None and instead not in terms:
            keys[key] = value
    # JSON's values are YAML's, too.
    lines = [f"{key}: {json.dumps(value)}" for key, value in (keys | dict(terms)).items()]
    lines += ["model:"] + ["  " + line for line in model.yaml.splitlines()]
    return "\n".join(lines) + "\n"


def write_folder(folder: Path, model: Model, state: _zoo_gym.State) -> None:
    """Weights under Hugging Face's names, and the program that they belong to.

    Raises:
        IoError: if a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state.write_safetensors(model.program, str(folder / "model.safetensors"))
    model.save(folder / "program.gym")
