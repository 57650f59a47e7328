"""Documents become datasets as `gym data build` makes them."""

import gzip
import json
import subprocess

import pytest
from conftest import SOURCE, run_gym, write_tokenizer

import gym
from gym import Dataset, DistributedTrainer, Tokenizer

DOCUMENTS = 400


def lines_of(count: int, licence: str | None = None) -> str:
    rows = ({"text": f"Document {n} says {n * 7919 % 100_003} and then {n * n}.", "id": str(n)} for n in range(count))
    return "".join(json.dumps(row | ({} if licence is None else {"licence": licence})) + "\n" for row in rows)


def told(command: list[object]) -> dict:
    return json.loads(run_gym("--json", "data", "build", *command))


@pytest.fixture
def documents(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text(lines_of(DOCUMENTS) + lines_of(3))  # three come twice
    return path


def kept(tmp_path) -> list:
    return sorted((tmp_path / "home/datasets").glob("*.tokens"))


def test_json_lines_are_documents_and_no_text(documents, tmp_path, capsys):
    dataset = Dataset.from_file(documents)
    assert f"{DOCUMENTS} of {DOCUMENTS + 3} documents of docs.jsonl are kept" in capsys.readouterr().err
    built = told([documents, "-o", tmp_path / "cli.tokens"])
    assert (dataset.root, len(dataset)) == (built["dataset_root"], built["tokens"])
    assert dataset.is_here and bytes(dataset.tokenizer.encode("{"))[0] == ord("{")
    assert Dataset.from_file(documents).root == dataset.root
    assert len(kept(tmp_path)) == 1 and capsys.readouterr().err == "", "it is built once"
    trainer = DistributedTrainer("gpt-nano", documents, steps=2, network="local", progress=False)
    trainer.train()
    assert trainer._training._dataset.root == dataset.root


def test_compressed_files_and_folders_are_built(documents, tmp_path):
    folder = tmp_path / "corpus"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/a.jsonl.gz").write_bytes(gzip.compress(documents.read_bytes()))
    (folder / "b.txt").write_text("Another document.\n" * 3)
    packed = tmp_path / "docs.jsonl.zst"
    subprocess.run(["zstd", "-q", documents, "-o", packed], check=True)
    for path in (folder, packed):
        assert Dataset.from_file(path).root == told([path, "-o", tmp_path / "cli.tokens"])["dataset_root"]
    assert Dataset.from_file(packed).root == Dataset.from_file(documents).root
    mixed = Dataset.mix([(folder, 1), (documents, 1)], tmp_path / "mix.tokens", best_effort=True)
    assert [share.name for share in mixed.shares] == ["corpus", "docs.jsonl"]


def test_parquet_is_read_as_the_same_rows_in_json_lines(documents, tmp_path):
    # Beside the packages, where Node looks for them.
    script = SOURCE / "tests/support/npm" / f"write_{tmp_path.name}.mjs"
    script.write_text(
        "import { parquetWriteFile } from 'hyparquet-writer'\nimport { readFileSync } from 'node:fs'\n"
        f"const rows = readFileSync('{documents}', 'utf8').trim().split('\\n').map(JSON.parse)\n"
        f"await parquetWriteFile({{ filename: '{tmp_path}/docs.parquet', columnData: [\n"
        "  { name: 'text', data: rows.map(r => r.text), type: 'STRING' }] })\n"
    )
    try:
        subprocess.run(["node", script], check=True, timeout=60)
    finally:
        script.unlink()
    assert Dataset.from_file(tmp_path / "docs.parquet").root == Dataset.from_file(documents).root


def test_build_takes_what_the_command_takes_and_writes_the_same_manifest(documents, tmp_path):
    write_tokenizer(tmp_path / "tokenizer.json")
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"body": "And then another one.", "rights": "MIT"}) + "\nno JSON\n")
    options = ["--steps", "normalise,exact-dedup", "--licence", "CC-BY-4.0", "--licence-key", "rights"]
    built = told([documents, "-o", tmp_path / "cli.tokens", "--tokenizer", tmp_path, *options])
    made = Dataset.build(
        [documents], tmp_path / "api.tokens", tokenizer=Tokenizer.load(tmp_path),
        steps=["normalise", "exact-dedup"], licence="CC-BY-4.0", licence_key="rights",
    )  # fmt: skip
    assert made.root == built["dataset_root"] and made.vocabulary == 258
    for ending in ("", ".manifest.jsonl", ".tokenizer"):
        assert (tmp_path / f"api.tokens{ending}").read_bytes() == (tmp_path / f"cli.tokens{ending}").read_bytes()
    assert Dataset.from_file(tmp_path / "api.tokens", tokenizer=made.tokenizer).root == made.root

    with pytest.raises(gym.MalformedError, match="more.jsonl.*2"):
        Dataset.build(more, tmp_path / "no.tokens", text_key="body", steps="none")
    assert len(Dataset.build(more, tmp_path / "one.tokens", text_key="body", steps="none", skip_malformed=True)) == 21
    for wrong, message in (
        ({"steps": "nonsense"}, "nonsense"),
        ({"documents": "pages"}, "documents: expected file"),
        ({"index_memory": "much"}, "index memory: expected a size"),
        ({"licence": "banana"}, "licence: .*banana"),
        ({"format": "csv"}, "csv"),
        ({"context": 10**6}, "window"),
    ):
        with pytest.raises(gym.InvalidArgumentError, match=message):
            Dataset.build(documents, tmp_path / "no.tokens", **wrong)
    with pytest.raises(gym.MalformedError, match="'text'|text"):
        Dataset.from_file(more)
    assert not (tmp_path / "no.tokens").exists()


def test_what_was_built_is_read_from_the_disk_when_it_is_needed(documents, tmp_path):
    made = Dataset.build(documents, tmp_path / "a.tokens")
    assert made._tokens is None and made.is_here and len(made) > 0
    assert len(made.tokens) == len(made)
    again = Dataset.build(documents, tmp_path / "a.tokens")
    Dataset.from_text("Something else. " * 100).save(tmp_path / "a.tokens")
    with pytest.raises(gym.MismatchError, match="a.tokens"):
        again.tokens  # noqa: B018


def test_a_token_file_of_another_tokenizer_is_refused(documents, tmp_path):
    write_tokenizer(tmp_path / "tokenizer.json")
    Dataset.build(documents, tmp_path / "a.tokens")
    with pytest.raises(gym.InvalidArgumentError, match="a.tokens.*not by"):
        Dataset.from_file(tmp_path / "a.tokens", tokenizer=Tokenizer.load(tmp_path))
    assert Dataset.from_file(tmp_path / "a.tokens", tokenizer=Tokenizer()).vocabulary == 256


def test_a_saved_copy_is_bound_by_the_licences_of_its_documents(tmp_path):
    source = tmp_path / "nc.jsonl"
    source.write_text(lines_of(50, "CC-BY-NC-4.0"))
    made = Dataset.build(source, tmp_path / "a.tokens", steps="none")
    made.save(tmp_path / "copy.tokens")
    for dataset in (made, Dataset.from_file(tmp_path / "copy.tokens"), Dataset.from_file(source)):
        dataset.check_use("non-commercial")
        with pytest.raises(gym.ConflictError, match="50 documents are under CC-BY-NC-4.0"):
            dataset.check_use("commercial")
    # A mix of them is by documents, as of files at the command line, and so it keeps their licences.
    other = Dataset.build(source, tmp_path / "b.tokens", steps="none", licence_key="none", licence="MIT", text_key="id")
    mixed = Dataset.mix([(made, 0.9), (other, 0.1)], tmp_path / "mix.tokens", best_effort=True)
    with pytest.raises(gym.ConflictError, match="under CC-BY-NC-4.0"):
        mixed.check_use("commercial")
    Dataset.from_text("Nothing binds this. " * 100).check_use("commercial")
