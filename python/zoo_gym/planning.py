"""The seam between what users say and what a network or the engine takes: folders of models, and the
job file of tokens, nodes and money."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _zoo_gym
from .errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from .model import Model

DEFAULT_NODES = 3
DEFAULT_PRICE_PER_PFLOP = "10"
_ROUNDS_WANTED = 20
_STEPS_MIN = 10
_STEPS_MAX = 500

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


@dataclass(frozen=True)
class JobRequest:
    """A job in its owner's words; amounts are decimal texts."""

    name: str
    model: Model
    dataset_root: str
    tokens: int | None
    nodes: int | None
    max_data_price: str
    terms: Mapping[str, Any]
    """Keys of a job file that take the place of what is planned."""


@dataclass(frozen=True)
class Plan:
    """Rounds, nodes, and steps of a node in a round."""

    rounds: int
    slots: int
    steps: int
    model: Model
    """With its schedule over all steps."""


def plan_job(request: JobRequest) -> Plan:
    """Rounds and steps that train on at least the tokens that were asked for.

    Raises:
        InvalidArgumentError: if neither tokens nor rounds and steps are given.
    """
    terms = request.terms
    slots = int(terms.get("slots", request.nodes or DEFAULT_NODES))
    if request.tokens is None and not {"rounds", "steps_per_round"} <= terms.keys():
        raise InvalidArgumentError(
            "how long is the training? Pass budget_tokens=1e9 (tokens to train on), or "
            "job={'rounds': ..., 'steps_per_round': ...}"
        )
    node_steps = -(-(request.tokens or 0) // (request.model.tokens_per_step * slots))
    steps = min(max(-(-node_steps // _ROUNDS_WANTED), _STEPS_MIN), _STEPS_MAX, max(node_steps, 1))
    steps = int(terms.get("steps_per_round", steps))
    rounds = int(terms.get("rounds", max(1, -(-node_steps // steps))))
    return Plan(rounds, slots, steps, request.model.scheduled(rounds * steps))


def job_yaml(request: JobRequest, plan: Plan, budget: str) -> str:
    """The job file (examples/job.yaml explains every key); JSON's values are YAML's, too.

    Raises:
        InvalidArgumentError: for a model that has no model file.
    """
    model = plan.model.yaml
    if model is None:
        raise InvalidArgumentError(
            f"model '{plan.model.name}' is a program without a model file, which a network cannot train yet"
        )
    keys: dict[str, Any] = {
        "name": request.name,
        "dataset": request.dataset_root,
        "workers_min": 1,
        "price_per_pflop": DEFAULT_PRICE_PER_PFLOP,
        "max_data_price": request.max_data_price,
        **request.terms,
        "rounds": plan.rounds,
        "slots": plan.slots,
        "steps_per_round": plan.steps,
        "budget": budget,
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in keys.items()]
    lines += ["model:"] + ["  " + line for line in model.splitlines()]
    return "\n".join(lines) + "\n"


def write_folder(folder: Path, model: Model, state: _zoo_gym.State) -> None:
    """Weights under Hugging Face's names, and the program that they belong to.

    Raises:
        IoError: if a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state.write_safetensors(model.program, str(folder / "model.safetensors"))
    model.save(folder / "program.gym")
