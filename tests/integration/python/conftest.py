"""Shared by the tests of the Python package; ctest sets PYTHONPATH to the built package."""

import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["GYM_SOURCE_DIR"])
BIN = Path(os.environ["GYM_BINARY_DIR"]) / "bin"


def run_gym(*arguments: object) -> str:
    """Standard output of the built `gym`."""
    done = subprocess.run(
        [BIN / "gym", *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(autouse=True)
def private_home(tmp_path, monkeypatch):
    """No test reads or writes the user's own keys, networks and trainings."""
    monkeypatch.setenv("GYM_HOME", str(tmp_path / "home"))
    for name in ("GYM_API", "GYM_API_KEY", "GYM_CHAIN", "GYM_DEPLOYMENT", "GYM_PASSPHRASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def text(tmp_path) -> Path:
    """A text whose lines all differ."""
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{n * 7919 % 100_000} and then comes {n}.\n" for n in range(2000)))
    return path
