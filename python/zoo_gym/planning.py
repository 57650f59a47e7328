"""From what users say to the job file that the planner completes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .model import Model


def job_draft(
    *,
    name: str,
    model: Model,
    dataset_root: str,
    tokens: int | None,
    nodes: int | None,
    budget: str | None,
    max_data_price: str,
    init: str | None,
    terms: Mapping[str, Any],
) -> str:
    """A job file (examples/job.yaml explains every key) that leaves the rest to the planner.

    Args:
        budget, max_data_price: decimal texts.
        init: weights that the network has, as a job file names them; None: random ones.
        terms: other keys of a job file; they win.

    Raises:
        InvalidArgumentError: for a model that has no model file.
    """
    if model.yaml is None:
        raise InvalidArgumentError(
            f"model '{model.name}' is a program without a model file, which a network cannot train: name "
            "its preset or model file, and its weights with init=FOLDER"
        )
    keys: dict[str, Any] = {"name": name, "dataset": dataset_root, "max_data_price": max_data_price}
    if init is not None:
        keys["init"] = init
    wishes = (("tokens", tokens, "rounds"), ("nodes", nodes, "slots"), ("max_cost", budget, "budget"))
    for key, value, instead in wishes:
        if value is not None and instead not in terms:
            keys[key] = value
    # JSON's values are YAML's, too.
    lines = [f"{key}: {json.dumps(value)}" for key, value in (keys | dict(terms)).items()]
    lines += ["model:"] + ["  " + line for line in model.yaml.splitlines()]
    return "\n".join(lines) + "\n"


def in_keywords(text: str) -> str:
    """What the planner says in options of the command line, in keywords of :class:`DistributedTrainer`."""
    for option, keyword in _KEYWORDS:
        text = option.sub(keyword, text)
    return text


# A number ends before the sentence's comma or full stop.
_NUMBER = r"(\d[\w.]*\w|\d)"
_KEYWORDS = tuple(
    (re.compile(option), keyword)
    for option, keyword in (
        (r"--set model\.([\w.]+)=" + _NUMBER, r"`\1: \2` in the model file"),
        (r"--set model\.([\w.]+)=(\w+)", r"`\1: \2` in the model file"),
        (r"--set ([\w.]+)=" + _NUMBER, r'job={"\1": \2}'),
        (r"--tokens " + _NUMBER, r"budget_tokens=\1"),
        (r"--nodes " + _NUMBER, r"nodes=\1"),
        (r"--max-cost " + _NUMBER, r"budget=\1"),
        (r"--price " + _NUMBER, r'job={"price_per_pflop": \1}'),
        (r"--tokens\b", "budget_tokens"),
        (r"--nodes\b", "nodes"),
        (r"--max-cost\b", "budget"),
        (r"--price\b", 'job={"price_per_pflop": ...}'),
    )
)
