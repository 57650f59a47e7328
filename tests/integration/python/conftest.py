"""Shared by the tests of the Python package; ctest sets PYTHONPATH to the built package."""

import json
import os
import subprocess
import tempfile
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


def byte_alphabet() -> list[str]:
    """A character for each byte, as byte-level BPE writes them: itself if it can be seen."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return [chr(byte) if byte in seen else chr(256 + hidden.index(byte)) for byte in range(256)]


def write_tokenizer(path, end_of_text: bool = False) -> None:
    """Bytes, and the words "an" and "and"; with the token 258 between documents if there is to be one."""
    vocabulary = {piece: i for i, piece in enumerate([*byte_alphabet(), "an", "and"])}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
             "vocab": vocabulary, "merges": ["a n", "an d"]}  # fmt: skip
    added = [{"id": 258, "content": "<|endoftext|>", "special": True}] if end_of_text else []
    path.write_text(json.dumps({"version": "1.0", "added_tokens": added, "normalizer": None, "post_processor": None,
                                "pre_tokenizer": level, "decoder": level, "model": model}))  # fmt: skip


def other_tokenizer_weights(place: Path, text: Path) -> tuple[Path, Path]:
    """Two tokenizers, in own/ and other/; a folder of weights that were trained with the first one; its model file."""
    import gym

    for name, end_of_text in (("own", False), ("other", True)):
        (place / name).mkdir()
        write_tokenizer(place / name / "tokenizer.json", end_of_text)
    wide = place / "wide.yaml"
    wide.write_text(gym.Model("gpt-nano").yaml.replace("vocabulary: 256", "vocabulary: 259"))
    trainer = gym.DistributedTrainer(
        wide, gym.Dataset.from_file(text, tokenizer=place / "own"), steps=1, network="local", progress=False
    )
    trainer.train()
    trainer.export(place / "weights")
    return place / "weights", wide


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


class Devnet:
    """A network with two workers, whose job owner has a deposit and an API key."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "network"

    def up(self) -> None:
        up = json.loads(run_gym("--json", "devnet", "up", "--root", self.root, "--workers", 2))
        self.api, self.chain, self.deployment = up["api"], up["chain"], up["deployment"]
        self.coordinator = up["coordinator"]
        self.keystore = self.root / "keys" / "job-owner.json"
        self.passphrase = self.root / "keys" / "job-owner.pass"
        self.operator = up["join"].split()[-1]
        self.address = owner = self.address_of(self.keystore)
        key = subprocess.run(
            [BIN / "gym-api", "--config", self.root / "config" / "api.yaml", "keys", "create",
             "--owner", owner, "--label", "python"],
            capture_output=True, text=True, check=True, timeout=60,
        ).stdout.strip()  # fmt: skip
        self.key_file = self.folder / "api.key"
        self.key_file.write_text(key + "\n")
        self.key_file.chmod(0o600)
        self.key = key
        run_gym(
            "wallet", "deposit", 1000, "--keystore", self.keystore, "--passphrase-file", self.passphrase,
            "--chain", self.chain, "--deployment", self.deployment, "--api", self.api,
        )  # fmt: skip

    @staticmethod
    def address_of(keystore: Path) -> str:
        return json.loads(run_gym("--json", "wallet", "show", "--keystore", keystore))["address"]

    def down(self) -> None:
        run_gym("devnet", "down", "--root", self.root)


@pytest.fixture(scope="session")
def devnet():
    with tempfile.TemporaryDirectory(prefix="gym-python-") as folder:
        os.chmod(folder, 0o755)
        network = Devnet(Path(folder))
        try:
            network.up()
            yield network
        finally:
            network.down()


@pytest.fixture
def owner(devnet, monkeypatch, private_home):
    """What a user's shell has."""
    monkeypatch.setenv("GYM_API", devnet.api)
    monkeypatch.setenv("GYM_API_KEY", devnet.key)
    monkeypatch.setenv("GYM_CHAIN", devnet.chain)
    monkeypatch.setenv("GYM_DEPLOYMENT", devnet.deployment)
    home = Path(os.environ["GYM_HOME"])
    home.mkdir(exist_ok=True)
    (home / "key.json").write_bytes(devnet.keystore.read_bytes())
    (home / "key.json").chmod(0o600)
    monkeypatch.setenv("GYM_PASSPHRASE", devnet.passphrase.read_text().strip())
    return devnet
