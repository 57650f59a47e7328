"""Every kind of model as a job of a devnet: two workers train it, a verifier runs their units again, the owner
exports it."""

import json
import math
import subprocess
import time
from pathlib import Path

import pytest
from conftest import SOURCE, run_gym

SMALL = (
    "rounds=1 slots=2 workers_min=1 steps_per_round=3 checkpoint_every=3 evaluate_windows=16 price_per_pflop=10 budget=5"
).split()
ROWS = 400
VERIFIED_S_MAX = 60


def rows(tokens: int, classes: int) -> bytes:
    """Rows with a label that can be learnt."""
    made = bytearray()
    for n in range(ROWS):
        label = n % classes
        made += bytes((n * step + label * 60) % 251 for step in range(tokens)) + bytes([label])
    return bytes(made)


def torchscript(folder: Path) -> Path:
    done = subprocess.run(
        ["/usr/bin/python3", SOURCE / "tests/integration/app/gym/torchscript_models.py", folder],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode == 77:
        pytest.skip("/usr/bin/python3 has no torch: `make setup` installs Debian's python3-torch")
    assert done.returncode == 0, done.stderr
    return folder / "next-byte.pt"


def model_and_data(kind: str, folder: Path) -> tuple[Path, bytes, list[str]]:
    text = b"".join(b"%d and then comes %d.\n" % (n * 7919 % 100_000, n) for n in range(400))
    if kind == "torchscript":
        return torchscript(folder), text, ["model.model.context=16", "model.batch=4"]
    data = {
        "bert-nano": text,
        "classifier-nano": rows(32, 4),
        "embedding-nano": rows(64, 1),
        "reranker-nano": rows(128, 4),
        "mlp-nano": rows(16, 4),
    }[kind]
    return SOURCE / f"examples/{kind}.yaml", data, []


def verified_units(job: str) -> dict[str, int]:
    """Of the job's units by their states, once none waits for its verification."""
    end = time.monotonic() + VERIFIED_S_MAX
    while True:
        units = json.loads(run_gym("--json", "job", "status", job))["units"]
        if set(units) <= {"verified", "final"} or time.monotonic() > end:
            return units
        time.sleep(0.5)


@pytest.mark.parametrize(
    "kind", ["torchscript", "bert-nano", "reranker-nano", "embedding-nano", "classifier-nano", "mlp-nano"]
)
def test_a_job_trains_it_and_its_units_are_verified(owner, tmp_path, kind):
    model, data, more = model_and_data(kind, tmp_path)
    (tmp_path / "data.bin").write_bytes(data)
    sets = [argument for one in [*SMALL, *more] for argument in ("--set", one)]
    job = json.loads(
        run_gym("--json", "job", "submit", "--model", model, "--data", tmp_path / "data.bin", "--name", kind, *sets,
                "--licence", "CC0-1.0", "--keystore", owner.keystore, "--passphrase-file", owner.passphrase)
    )["id"]  # fmt: skip
    run_gym("job", "watch", job)
    (loss,) = (r["validation_loss"] for r in json.loads(run_gym("--json", "job", "status", job))["round_list"])
    assert 0 < loss < 8 and math.isfinite(loss)
    run_gym("job", "export", job, "-o", tmp_path / "exported")
    assert (tmp_path / "exported/model.safetensors").stat().st_size > 4096
    assert sum(verified_units(job).values()) == 2 and set(verified_units(job)) <= {"verified", "final"}
