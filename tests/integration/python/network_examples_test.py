"""The examples for a network, in YAML and in Python, run small one after the other on one devnet."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import SOURCE, run_gym

from gym import Dataset

SMALL = (
    "rounds=1 slots=2 workers_min=1 steps_per_round=4 checkpoint_every=2 evaluate_windows=4 budget=5 model.batch=2 "
    "model.model.layers=1 model.model.context=64"
).split()


@pytest.fixture
def folder(tmp_path, text) -> Path:
    """A copy of examples/ with two texts, which do not overlap."""
    place = tmp_path / "examples"
    shutil.copytree(SOURCE / "examples", place, ignore=shutil.ignore_patterns("conformance", "torch"))
    shutil.copy(text, place / "kjv.txt")
    words = ("seven", "ships", "sail", "for", "silver", "shores", "and", "salt")
    lines = (" ".join(words[n * step % 8] for step in range(1, 9)) + f" {n}" for n in range(1200))
    (place / "other.txt").write_text(".\n".join(lines))
    return place


def submit(owner, folder: Path, name: str) -> str:
    """The id of the job in a file, which was trained when this returns."""
    sets = [argument for one in SMALL for argument in ("--set", one)]
    answer = json.loads(
        run_gym("--json", "job", "submit", folder / name, *sets, "--licence", "CC0-1.0",
                "--keystore", owner.keystore, "--passphrase-file", owner.passphrase)
    )  # fmt: skip
    run_gym("job", "watch", answer["id"])
    return answer["id"]


def losses(job: str) -> list[float]:
    detail = json.loads(run_gym("--json", "job", "status", job))
    return [entry["validation_loss"] for entry in detail["round_list"]]


def mix_of(root: str) -> list[dict]:
    """The parts of a mix that the network made."""
    return json.loads(run_gym("--json", "data", "show", root))["parts"]


def test_job_files_pretrain_continue_and_train_on_a_mix(owner, folder):
    first = submit(owner, folder, "job.yaml")
    run_gym("job", "export", first, "-o", folder / "exported")
    second = submit(owner, folder, "continue-job.yaml")
    assert losses(second)[0] < losses(first)[0], "it begins where the first one ended"

    third = submit(owner, folder, "mix-job.yaml")
    assert len(losses(third)) == 1
    for name in ("kjv", "other"):
        run_gym("data", "build", "--text", folder / f"{name}.txt", "-o", folder / f"{name}.tokens")
    run_gym("data", "mix", f"{folder}/kjv.tokens:0.7", f"{folder}/other.tokens:0.3", "-o", folder / "mix.tokens")
    mixed = json.loads(run_gym("--json", "data", "show", folder / "mix.tokens"))
    assert json.loads(run_gym("--json", "job", "status", third))["dataset_root"] == mixed["dataset_root"]

    # A list with a registered dataset: the network mixes, and pays for what is taken of it. Other weights, as the
    # mix above is a dataset of its own now.
    Dataset.from_file(folder / "kjv.txt").push("examples-kjv", licence="CC0-1.0")
    job = folder / "mix-job.yaml"
    listed = job.read_text()
    for old, new in {"kjv.txt, weight: 0.7": "examples-kjv, weight: 0.6", "weight: 0.3": "weight: 0.4"}.items():
        assert old in listed
        listed = listed.replace(old, new)
    job.write_text(listed)
    fourth = submit(owner, folder, "mix-job.yaml")
    detail = json.loads(run_gym("--json", "job", "status", fourth))
    assert [part["weight_ppm"] for part in mix_of(detail["dataset_root"])] == [600_000, 400_000]


def run_example(folder: Path, name: str, *arguments: object) -> str:
    done = subprocess.run(
        ["/usr/bin/python3", folder / "python" / name, *map(str, arguments), "--tokens", "4000"],
        cwd=folder, env=os.environ, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def loss_in(output: str) -> float:
    return float(output.split(": loss ")[1].split(",")[0])


def test_python_pretrains_continues_and_trains_on_a_mix(owner, folder):
    Dataset.from_file(folder / "kjv.txt").push("examples-text", licence="CC0-1.0")
    first = run_example(folder, "pretrain_network.py", "examples-text")
    job = first.split("job ")[1].split(":")[0]
    run_gym("job", "export", job, "-o", folder / "exported")
    second = run_example(folder, "continue_network.py", "exported", "examples-text", "--export", "again")
    assert loss_in(second) < loss_in(first)
    assert (folder / "again" / "model.safetensors").exists()

    third = run_example(folder, "mix_network.py", "kjv.txt", "other.txt", "--licence", "CC0-1.0")
    assert "kjv.txt: " in third and "70.00% of the mix, asked 70.00%" in third
    assert "registered as my-mix@1" in third
    assert loss_in(third) < 5.6
