"""Local training: the bits of `gym program run`, interrupts, evaluation, weights out and in."""

import json
import math
import signal
import subprocess
import sys
import threading

import pytest
from conftest import BIN, SOURCE, other_tokenizer_weights, run_gym, write_tokenizer

import gym
import zoo_gym
from gym import Callback, Dataset, DistributedTrainer, Model, Tokenizer

STEPS = 12


def make_trainer(text, **other) -> DistributedTrainer:
    arguments = {"model": "gpt-nano", "dataset": text, "steps": STEPS, "network": "local", "progress": False}
    return DistributedTrainer(**(arguments | other))


def test_takes_the_steps_of_gym_program_run(text, tmp_path):
    trainer = make_trainer(text, seed="any words")
    trainer.model.save(tmp_path / "p.gym")
    lines = run_gym(
        "--json", "program", "run", tmp_path / "p.gym", "--data", text, "--steps", STEPS, "--seed", "any words"
    ).splitlines()
    result = trainer.train()
    records, end = [json.loads(line) for line in lines[:-1]], json.loads(lines[-1])
    assert result.state_root == end["final_state_root"]
    assert [loss.index for loss in result.losses] == list(range(1, STEPS + 1))
    for loss, record in zip(result.losses, records, strict=True):
        assert math.isclose(loss.value, record["loss"], rel_tol=1e-7), "the same f32"


def test_a_loss_that_is_not_finite_ends_the_training(text, tmp_path):
    model = tmp_path / "wild.yaml"
    model.write_text(
        "batch: 2\nmodel: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 16}\n"
        "optimizer: {learning_rate: 100, warmup_steps: 0, inner_warmup_steps: 0}\n"
    )
    state = tmp_path / "run.state"
    trainer = make_trainer(text, model=model, steps=80, state_file=state)
    for _ in range(2):  # the same trainer does not step on from NaN
        with pytest.raises(gym.DivergedError, match=r"the loss of step \d+ is not finite.*learning_rate"):
            trainer.train()
    assert not math.isfinite(trainer.losses[-1].value)
    assert all(math.isfinite(loss.value) for loss in trainer.losses[:-1])
    assert not state.exists(), "nothing finite was saved"


def test_threads_change_no_bit_and_the_seed_changes_all(text):
    one = make_trainer(text, threads=1).train().state_root
    assert make_trainer(text, threads=3).train().state_root == one
    assert make_trainer(text, seed="1").train().state_root != one


def test_budget_tokens_are_rounded_up_to_whole_steps(text):
    per_step = Model("gpt-nano").tokens_per_step
    quote = make_trainer(text, steps=None, budget_tokens=3 * per_step + 1).quote()
    assert (quote.steps, quote.tokens) == (4, 4 * per_step)
    assert quote.flops == 4 * Model("gpt-nano").flops


class InterruptAt(Callback):
    """Presses Ctrl-C after a step; `seen` is every loss that was reported."""

    def __init__(self, step):
        self.step, self.seen, self.ended = step, [], 0

    def on_loss(self, trainer, loss):
        self.seen.append(loss.index)
        if loss.index == self.step:
            signal.raise_signal(signal.SIGINT)

    def on_end(self, trainer, result):
        self.ended += 1


def test_continues_after_ctrl_c_with_the_bits_of_a_run_without_it(text, capsys):
    whole = make_trainer(text).train()
    callback = InterruptAt(5)
    trainer = make_trainer(text, callbacks=[callback])
    assert trainer.status.state == "new"
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert (trainer.status.state, trainer.status.done) == ("interrupted", 5)
    assert "after 5 of 12 steps; train() continues" in capsys.readouterr().err
    assert callback.ended == 0

    result = trainer.train()
    assert result.state_root == whole.state_root
    assert result.losses == whole.losses
    assert callback.seen == list(range(1, STEPS + 1)), "each loss once"
    assert callback.ended == 1
    assert trainer.status.state == "complete"


class CancelAt(InterruptAt):
    def on_loss(self, trainer, loss):
        self.seen.append(loss.index)
        if loss.index == self.step:
            trainer.cancel()


def test_a_callback_ends_a_training_which_continues_later(text):
    whole = make_trainer(text).train()
    callback = CancelAt(5)
    trainer = make_trainer(text, callbacks=[callback])
    with pytest.raises(gym.NotFoundError, match="no training is running"):
        trainer.cancel()
    result = trainer.train()
    assert ([loss.index for loss in result.losses], callback.ended) == (list(range(1, 6)), 1)
    assert trainer.status.state == "interrupted"
    assert trainer.train().state_root == whole.state_root
    assert callback.seen == list(range(1, STEPS + 1)), "each loss once"


def test_arguments_of_another_kind_are_named(text):
    with pytest.raises(gym.InvalidArgumentError, match="steps: 'x' is no whole number"):
        make_trainer(text, steps="x")
    with pytest.raises(gym.InvalidArgumentError, match="budget_tokens: 'x' is no number"):
        make_trainer(text, steps=None, budget_tokens="x")
    with pytest.raises(gym.InvalidArgumentError, match="tokenizer: 3 is neither"):
        Dataset.from_text("text", tokenizer=3)


def test_a_tokenizer_is_also_named_by_its_path(tmp_path):
    path = tmp_path / "tokenizer.json"
    write_tokenizer(path)
    text = "some text " * 50
    assert Dataset.from_text(text, tokenizer=path).root == Dataset.from_text(text, tokenizer=Tokenizer.load(path)).root


def test_a_state_file_is_continued_by_another_trainer_and_by_gym_program_run(text, tmp_path):
    whole = make_trainer(text).train()
    file = tmp_path / "run.state"
    callback = InterruptAt(5)
    with pytest.raises(KeyboardInterrupt):
        make_trainer(text, callbacks=[callback], state_file=file).train()

    other = InterruptAt(0)
    result = make_trainer(text, callbacks=[other], state_file=file).train()
    assert result.state_root == whole.state_root and result.losses == whole.losses
    assert other.seen == list(range(6, STEPS + 1)), "each loss once, whichever process"

    trainer = make_trainer(text, state_file=file)
    trainer.model.save(tmp_path / "p.gym")
    arguments = ["program", "run", tmp_path / "p.gym", "--data", text, "--seed", "0", "--state", file]
    longer = json.loads(run_gym("--json", *arguments, "--steps", STEPS + 3).splitlines()[-1])
    assert longer["steps_done"] == STEPS + 3, "continued, not started over"
    with pytest.raises(gym.InvalidArgumentError, match="15 steps, which is more than 12"):
        trainer.train()
    assert trainer.train(again=True).state_root == whole.state_root
    with pytest.raises(gym.ConflictError, match="another seed"):
        make_trainer(text, seed="1", state_file=file).train()
    before = file.read_bytes()
    with pytest.raises(gym.ConflictError, match=r'(?s)schedule at `steps`.*init=".*run\.state".*overwrites'):
        make_trainer(text, steps=STEPS + 1, state_file=file).train()
    assert file.read_bytes() == before
    longer = make_trainer(text, steps=STEPS + 1, init=file, state_file=tmp_path / "other.state")
    assert longer.train().losses[0].value < whole.losses[0].value, "from the weights of the first run"
    file.write_text("mine")
    with pytest.raises(gym.ConflictError, match="not the file of a run"):
        make_trainer(text, state_file=file).train()
    assert file.read_text() == "mine"


def test_again_starts_over(text):
    trainer = make_trainer(text)
    first = trainer.train()
    assert trainer.train(again=True).losses == first.losses


def test_other_python_threads_run_during_a_step(text):
    model = Model("gpt-nano")
    running = threading.Event()
    ticks = []

    def count():
        while not running.is_set():
            ticks.append(len(ticks))
            running.wait(0.0005)

    counter = threading.Thread(target=count)
    trainer = make_trainer(text, model=model, steps=60)
    counter.start()
    try:
        trainer.train()
    finally:
        running.set()
        counter.join()
    assert len(ticks) > 10


def test_an_exported_folder_is_where_training_continues(text, tmp_path):
    first = make_trainer(text)
    first.train()
    first.export(tmp_path / "model")
    base = first._training.state.base(first.model.program)

    assert {"config.json", "model.safetensors", "README.md"} <= {p.name for p in (tmp_path / "model").iterdir()}
    second = make_trainer(text, model=str(tmp_path / "model"), steps=3)
    assert second.model.root == first.model.root
    assert second._training.state.base(second.model.program).root == base.root
    result = second.train()
    fresh = make_trainer(text, model=Model.from_preset("gpt-nano"), steps=3).train()
    assert result.losses[0].value < fresh.losses[0].value - 0.3, "trained weights begin lower"

    weights = bytearray((tmp_path / "model/model.safetensors").read_bytes())
    weights[len(weights) // 2] ^= 1
    (tmp_path / "model/model.safetensors").write_bytes(weights)
    with pytest.raises(gym.MismatchError):
        Model(tmp_path / "model")
    weights[len(weights) // 2] ^= 1
    (tmp_path / "model/model.safetensors").write_bytes(weights)

    nan = tmp_path / "nan.safetensors"
    nan.write_bytes(weights[:-4] + b"\xff" * 4)
    with pytest.raises(gym.InvalidArgumentError, match="nan.safetensors.*NaN or infinite, the first at byte"):
        make_trainer(text, init=nan, steps=3)

    third = make_trainer(text, init=tmp_path / "model", steps=3, model=second.model)
    assert third.train().state_root == result.state_root


def test_evaluates_the_validation_part(text):
    trainer = make_trainer(text, steps=30)
    before = trainer.evaluate(windows=8)
    trainer.train()
    after = trainer.evaluate(windows=8)
    assert after.loss < before.loss - 0.5
    assert math.isclose(after.perplexity, math.exp(after.loss), rel_tol=1e-5)
    assert after.windows == 8
    assert after.accuracy is None


def test_generates_the_same_text_again(text):
    trainer = make_trainer(text)
    trainer.train()
    made = trainer.generate("1234 and", tokens=20, seed="7")
    assert made == trainer.generate("1234 and", tokens=20, seed="7")
    assert len(made.encode()) >= 20


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"model": "gpt-nan"}, gym.NotFoundError, "gpt-nan"),
        ({"steps": None}, gym.InvalidArgumentError, "either steps or budget_tokens"),
        ({"budget_tokens": 100}, gym.InvalidArgumentError, "either steps or budget_tokens"),
        ({"steps": 0}, gym.InvalidArgumentError, "at least one step"),
        ({"nodes": 3}, gym.InvalidArgumentError, "nodes: local training"),
        ({"dataset": "no.txt"}, gym.NotFoundError, "no.txt"),
        ({"init": "no.safetensors"}, gym.NotFoundError, "no.safetensors"),
        ({"steps": None, "budget_tokens": float("nan")}, gym.InvalidArgumentError, "budget_tokens"),
    ],
)
def test_refuses_wrong_arguments(text, arguments, error, words):
    with pytest.raises(error, match=words) as raised:
        make_trainer(text, **arguments)
    assert isinstance(raised.value, gym.GymError)
    assert raised.value.code == error.code


def test_refuses_what_does_not_fit_before_the_first_step(tmp_path):
    short = Dataset.from_text("too short")
    with pytest.raises(gym.GymError, match="window"):
        make_trainer(short).train()
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("batch: 4\nmodel:\n  vocabulary: 256\n  contexts: 64\n")
    with pytest.raises(gym.InvalidArgumentError, match="wrong.yaml.*contexts") as raised:
        Model.from_yaml(wrong)
    assert isinstance(raised.value, ValueError)
    with pytest.raises(gym.InvalidArgumentError, match="device"):
        make_trainer(Dataset.from_text("x" * 5000), device="tpu").train()


def test_a_token_file_is_the_text_that_it_was_made_of(text, tmp_path):
    dataset = Dataset.from_file(text)
    dataset.save(tmp_path / "data.gym")
    again = Dataset.from_file(tmp_path / "data.gym")
    assert (again.root, len(again), again.vocabulary) == (dataset.root, len(dataset), 256)
    assert Dataset.from_text(text.read_text()).root == dataset.root
    damaged = bytearray((tmp_path / "data.gym").read_bytes()[:-1])
    (tmp_path / "cut.gym").write_bytes(damaged)
    with pytest.raises(gym.MalformedError, match="cut.gym"):
        Dataset.from_file(tmp_path / "cut.gym")


def test_a_mix_has_the_shares_and_the_root_of_the_command_line(text, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("Other words. " * 4000)
    made = Dataset.mix([(text, 0.7), (Dataset.from_file(other), 0.3)], tmp_path / "mix.tokens")
    first, second = made.shares
    assert first.asked + second.asked == first.achieved + second.achieved == 1
    assert abs(first.achieved - 0.7) < 1e-4
    assert first.tokens + second.tokens == len(made)
    assert (first.name, second.name) == ("text.txt", "other.txt")
    for name in ("text", "other"):
        run_gym("data", "build", "--text", tmp_path / f"{name}.txt", "-o", tmp_path / f"{name}.tokens")
    files = [f"{tmp_path}/text.tokens:7", f"{tmp_path}/other.tokens:3"]
    told = json.loads(run_gym("--json", "data", "mix", *files, "-o", tmp_path / "again.tokens"))
    assert told["dataset_root"] == made.root
    parts = [(tmp_path / "text.tokens", 7), (tmp_path / "other.tokens", 3)]
    assert len(Dataset.mix(parts, tmp_path / "cut.tokens", tokens=1000)) == 1000
    make_trainer(made, steps=1).train()

    with pytest.raises(gym.InvalidArgumentError, match="best-effort"):
        Dataset.mix([(text, 3), (other, 1)], tmp_path / "no.tokens", tokens=100_000)
    with pytest.raises(gym.InvalidArgumentError, match="weight: 0"):
        Dataset.mix([(text, 0), (other, 1)], tmp_path / "no.tokens")
    with pytest.raises(gym.NotFoundError, match="nowhere"):
        Dataset.mix([(tmp_path / "nowhere", 1), (other, 1)], tmp_path / "no.tokens")
    assert not (tmp_path / "no.tokens").exists()


def test_describes_models_by_presets_and_files(tmp_path):
    nano = Model("gpt-nano")
    assert (nano.parameters, nano.tokens_per_step) == (71_136, 256)
    assert (nano.batch, nano.context, nano.vocabulary) == (4, 64, 256)
    assert {"gpt-nano", "llama-nano", "gpt2", "llama-7b"} <= set(Model.presets())
    file = tmp_path / "mine.yaml"
    file.write_text(nano.yaml)
    assert Model(file).root == nano.root
    assert nano.scheduled(100).root != nano.root, "another schedule"
    assert Model("gpt2").parameters == 124_439_808, "the published number"
    assert Model(file).scheduled(100).root == nano.root, "a file is used as it is"


def test_only_tokens_of_the_tokenizer_are_generated(text, tmp_path):
    wide = tmp_path / "wide.yaml"
    wide.write_text(Model("gpt-nano").yaml.replace("vocabulary: 256", "vocabulary: 4000"))
    trainer = make_trainer(text, model=wide, steps=1)
    trainer.train()
    assert trainer.generate("In the", tokens=20, temperature=100.0)


def test_a_dataset_of_a_tokenizer_trains_and_speaks_its_text(text, tmp_path):
    write_tokenizer(tmp_path / "tokenizer.json")
    tokenizer = Tokenizer.load(tmp_path)
    assert (tokenizer.vocabulary, tokenizer.encode("and")) == (258, [257])
    assert tokenizer.decode(tokenizer.encode("1 and é\n")) == "1 and é\n"
    dataset = Dataset.from_file(text, tokenizer=tokenizer)
    assert dataset.vocabulary == 258
    assert len(dataset) == len(tokenizer.encode(text.read_text())) < len(Dataset.from_file(text))

    with pytest.raises(gym.InvalidArgumentError, match="vocabulary"):
        make_trainer(dataset).train()
    wide = tmp_path / "wide.yaml"
    wide.write_text(Model("gpt-nano").yaml.replace("vocabulary: 256", "vocabulary: 258"))
    trainer = make_trainer(dataset, model=wide)
    trainer.train()
    assert trainer.generate("1 and", tokens=5, seed="1")
    dataset.save(tmp_path / "tokens")
    saved = make_trainer(tmp_path / "tokens", model=wide)
    assert saved.generate("1", tokens=1) is not None, "the tokenizer's files are beside the tokens"
    saved.export(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").root == tokenizer.root
    beside = tmp_path / "tokens.tokenizer"
    beside.write_bytes(beside.read_bytes()[:-1])
    with pytest.raises(gym.MalformedError, match="tokens.tokenizer"):
        make_trainer(tmp_path / "tokens", model=wide).export(tmp_path / "damaged")
    beside.unlink()
    unknown = make_trainer(tmp_path / "tokens", model=wide)
    with pytest.raises(gym.InvalidArgumentError, match="which tokenizer"):
        unknown.generate("1", tokens=1)
    unknown.generate("1", tokens=1, tokenizer=tokenizer)
    trainer.export(tmp_path / "model")
    assert Tokenizer.load(tmp_path / "model").root == tokenizer.root, "the folder brings it"


def test_weights_and_data_of_two_tokenizers_are_refused(text, tmp_path):
    folder, wide = other_tokenizer_weights(tmp_path, text)
    own, other = (Dataset.from_file(text, tokenizer=tmp_path / name) for name in ("own", "other"))
    for weights in ({"model": wide, "init": folder}, {"model": folder}):
        with pytest.raises(gym.MismatchError, match="the weights have the tokenizer 0x.*text.txt' was made with 0x"):
            make_trainer(other, **weights)
        make_trainer(own, **weights, steps=1).train()
    make_trainer(text, model=wide, init=folder, steps=1).train()  # bytes name no tokenizer


def test_documents_are_kept_apart_by_the_manifest(tmp_path):
    write_tokenizer(tmp_path / "tokenizer.json", end_of_text=True)
    documents = tmp_path / "docs.jsonl"
    documents.write_text("".join(json.dumps({"text": f"{n} and {n * 7919 % 1000} and then."}) + "\n" for n in range(300)))
    dataset = Dataset.from_file(documents, tokenizer=tmp_path / "tokenizer.json")
    assert dataset.document_separator() == 258
    wide = tmp_path / "wide.yaml"
    wide.write_text(Model("gpt-nano").yaml.replace("vocabulary: 256", "vocabulary: 259"))
    apart = make_trainer(dataset, model=wide, keep_documents_apart=True)
    named = tmp_path / "named.yaml"
    named.write_text(zoo_gym._zoo_gym.keep_documents_apart(wide.read_text(), "wide", 258))
    assert apart.model.root == Model(named).root != Model(wide).root
    apart.train()
    assert apart.evaluate().loss > 0
    apart.export(tmp_path / "model")
    assert json.loads((tmp_path / "model/config.json").read_text())["document_separator"] == 258
    with pytest.raises(gym.InvalidArgumentError, match="names its document_separator already"):
        make_trainer(dataset, model=named, keep_documents_apart=True)
    with pytest.raises(gym.InvalidArgumentError, match="an empty line between them"):
        make_trainer(documents, model=wide, keep_documents_apart=True)
    with pytest.raises(gym.InvalidArgumentError, match="without a model file"):
        make_trainer(dataset, model=tmp_path / "model", keep_documents_apart=True)


def test_a_preset_keeps_documents_apart_whatever_its_schedule():
    assert Model("gpt2").apart(50256).scheduled(100).root == Model("gpt2").scheduled(100).apart(50256).root


RESUMED = """
import sys
from gym import Callback, DistributedTrainer

class Tell(Callback):
    def on_loss(self, trainer, loss):
        print(loss.index, flush=True)

text, state, steps = sys.argv[1:]
trainer = DistributedTrainer("gpt-nano", text, steps=int(steps), network="local", state_file=state, callbacks=[Tell()])
print(trainer.train().state_root)
"""


def test_ctrl_c_from_outside_ends_after_a_step_and_another_process_continues(text, tmp_path):
    steps, stop = 200, 5
    command = [sys.executable, "-c", RESUMED, text, tmp_path / "run.state", str(steps)]

    def told() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    # A shell lets what runs in the background ignore Ctrl-C: here it is as in a terminal. Errors go to a file,
    # since communicate() would drop the lines that the loop's reader has taken ahead.
    with (
        open(tmp_path / "errors.txt", "w+") as told_errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told_errors, text=True, preexec_fn=told) as process,
    ):
        for line in process.stdout:
            if int(line) == stop:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stdout.read()
        process.wait(timeout=60)
        told_errors.seek(0)
        errors = told_errors.read()
    assert process.returncode == -signal.SIGINT, errors
    last = max([stop, *map(int, rest.split())])
    assert last < steps
    assert f"interrupted after {last} of {steps} steps; train() continues from there" in errors
    assert str(tmp_path / "run.state") in errors, "and where it is kept"
    again = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert again.returncode == 0, again.stderr
    *seen, root = again.stdout.split()
    assert list(map(int, seen)) == list(range(last + 1, steps + 1)), "each step once"
    assert root == make_trainer(text, steps=steps).train().state_root


def test_a_tokenizer_of_bytes_is_the_default():
    assert Tokenizer().encode("né") == list("né".encode())
    assert Tokenizer().vocabulary == 256
    assert Tokenizer().decode([110, 233]) == "n\ufffd"
    with pytest.raises(gym.OutOfRangeError):
        Tokenizer().decode([256])


@pytest.fixture(scope="module")
def torchscript(tmp_path_factory):
    """TorchScript models in a folder, where this Python has torch and gym its importer."""
    folder = tmp_path_factory.mktemp("torchscript")
    writer = SOURCE / "tests/integration/app/gym/torchscript_models.py"
    done = subprocess.run([sys.executable, writer, folder], capture_output=True, text=True, timeout=120)
    if done.returncode == 77 or not (BIN / "gym-torch-import").exists():
        pytest.skip("no torch, or no gym-torch-import")
    assert done.returncode == 0, done.stderr
    return folder


def test_a_torchscript_model_trains_from_its_weights(torchscript, text, tmp_path):
    model = Model(torchscript / "next-byte.pt", context=16, batch=4, optimizer={"learning_rate": 3e-3})
    assert (model.batch, model.context, model.vocabulary) == (4, 16, 256)
    assert model.weights is not None and "architecture" in model.yaml
    trainer = make_trainer(text, model=model)
    before = trainer.evaluate().loss
    trainer.train()
    assert trainer.evaluate().loss < before
    # The same program and weights as those of the command line.
    run_gym("program", "import", torchscript / "next-byte.pt", "--sample-input", "i64[4,16]", "-o",
            tmp_path / "p.gym", "--state", tmp_path / "s")  # fmt: skip
    assert zoo_gym._zoo_gym.State.load(str(tmp_path / "s")).root == model.weights.root
    trainer.export(tmp_path / "model")
    assert Model(tmp_path / "model").root == model.root


def test_what_is_wrong_with_a_torchscript_model_is_said(torchscript):
    with pytest.raises(gym.InvalidArgumentError, match="context=128"):
        Model(torchscript / "next-byte.pt")
    with pytest.raises(gym.InvalidArgumentError, match="cumsum"):
        Model(torchscript / "lacking.pt", context=16)
    with pytest.raises(gym.InvalidArgumentError, match="context: only a TorchScript file"):
        Model("gpt-nano", context=16)
    with pytest.raises(gym.NotFoundError, match="no file"):
        Model.from_torchscript("nowhere.pt", context=16)
