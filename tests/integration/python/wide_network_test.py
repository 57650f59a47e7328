"""A vocabulary beyond 65,536 on a devnet: text and tokenizer in, a trained model with its tokenizer out."""

import json
from pathlib import Path

import pytest
from conftest import byte_alphabet, run_gym


@pytest.fixture
def wide_tokenizer(tmp_path) -> Path:
    """A tokenizer.json in which every two bytes are a token: 256 + 65,536 tokens and the end of text."""
    letters = byte_alphabet()
    pairs = [(left, right) for left in letters for right in letters]
    tokens = letters + [left + right for left, right in pairs]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    folder = tmp_path / "wide"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0",
        "added_tokens": [{"id": len(tokens), "content": "<|endoftext|>", "special": True}],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {token: id for id, token in enumerate(tokens)},
            "merges": [f"{left} {right}" for left, right in pairs],
            "unk_token": None,
        },
    }))  # fmt: skip
    return folder


def test_a_job_of_32_bit_tokens_trains_and_brings_its_tokenizer(owner, tmp_path, text, wide_tokenizer):
    sets = (
        "rounds=1 slots=2 workers_min=1 steps_per_round=2 checkpoint_every=1 evaluate_windows=4 budget=50 "
        "model.batch=2 model.model.vocabulary=65793 model.model.layers=1 model.model.context=32"
    )
    answer = json.loads(
        run_gym("--json", "job", "submit", "--model", "llama3-nano", "--data", text,
                "--tokenizer", wide_tokenizer, "--licence", "CC0-1.0",
                *(argument for one in sets.split() for argument in ("--set", one)),
                "--keystore", owner.keystore, "--passphrase-file", owner.passphrase)
    )  # fmt: skip
    run_gym("job", "watch", answer["id"])

    detail = json.loads(run_gym("--json", "job", "status", answer["id"]))
    dataset = json.loads(run_gym("--json", "data", "show", detail["dataset_root"]))
    assert dataset["vocabulary"] == 65793
    exported = tmp_path / "exported"
    run_gym("job", "export", answer["id"], "-o", exported)
    shown = [
        json.loads(run_gym("--json", "tokenizer", "show", place)) for place in (wide_tokenizer, exported)
    ]
    assert shown[0]["root"] == shown[1]["root"]
    assert json.loads((exported / "config.json").read_text())["vocab_size"] == 65793
    said = json.loads(
        run_gym("--json", "generate", "--model", exported, "--prompt", "and then", "--tokens", 4)
    )
    assert len(said["tokens"]) >= 4 and max(said["tokens"]) < 65793
