"""The local examples, run small, one after the other."""

import subprocess

from conftest import SOURCE


def run_example(name: str, *arguments: object) -> str:
    done = subprocess.run(
        ["/usr/bin/python3", SOURCE / "examples/python" / name, *map(str, arguments)],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def value_after(words: str, output: str) -> float:
    return float(output.split(words)[1].split()[0])


def test_training_is_exported_and_continued(tmp_path):
    first = run_example("pretrain_local.py", "--steps", 20, "--export", tmp_path / "model")
    second = run_example("continue_local.py", tmp_path / "model", "--steps", 10)
    trained = value_after("validation loss", first)
    assert value_after("before", second) == trained, "the weights that were exported"
    assert value_after("after", second) < trained
