"""Parts that need neither a network nor the engine: errors, amounts, progress, plans, state files."""

import dataclasses
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import types
from decimal import Decimal
from pathlib import Path

import pytest

import gym
import zoo_gym
from zoo_gym import DistributedTrainer, Model, planning, progress
from zoo_gym.amounts import decimal_text
from zoo_gym.errors import InvalidArgumentError, error_of
from zoo_gym.state_file import StateFile, Submission


def test_both_names_are_the_same_package():
    assert gym.DistributedTrainer is zoo_gym.DistributedTrainer
    assert gym.__version__ == zoo_gym.__version__
    assert sorted(gym.__all__) == list(gym.__all__)
    assert all(hasattr(gym, name) for name in gym.__all__)


def test_the_package_of_the_build_has_the_sources_beside_its_module():
    source, package = Path(os.environ["GYM_SOURCE_DIR"]) / "python/zoo_gym", Path(zoo_gym.__file__).parent
    for file in [*source.glob("*.py"), *source.glob("*.pyi")]:
        assert (package / file.name).read_bytes() == file.read_bytes(), file.name


def test_what_the_planner_says_is_in_keywords():
    said = planning.in_keywords
    assert said("name the training tokens (--tokens 1e9, or `tokens`)") == (
        "name the training tokens (budget_tokens=1e9, or `tokens`)"
    )
    assert said("leave --nodes out") == "leave nodes out"
    assert said("; --tokens 300M --nodes 4 plans for these") == "; budget_tokens=300M nodes=4 plans for these"
    assert said("allow --max-cost 12.5, pay --price 0.25.") == 'allow budget=12.5, pay job={"price_per_pflop": 0.25}.'
    assert said("--set model.optimizer.total_steps=400 makes them agree") == (
        "`optimizer.total_steps: 400` in the model file makes them agree"
    )
    assert said("--set model.compression=none sends") == "`compression: none` in the model file sends"
    assert said("or --set slots=8 in the place of --nodes, plans") == 'or job={"slots": 8} in the place of nodes, plans'
    assert said("nothing of the command line") == "nothing of the command line"


def test_a_quote_names_its_unit():
    quote = gym.Quote(parameters=1, tokens=2, flops=3, nodes=1, rounds=1, steps=1, most=Decimal(5), budget=Decimal(6),
                      expected=Decimal(4))  # fmt: skip
    assert "costs about 4 GYM, at most 5 GYM, budget 6 GYM" in str(quote)
    long = dataclasses.replace(quote, nodes=3, rounds=4, steps=132, most=Decimal("0.001960993497600016"),
                               budget=Decimal("1234567.25"), seconds=(12.0, 5400.0))  # fmt: skip
    assert "3 nodes, 4 rounds of 33 steps; 12 s to 90 min" in str(long)
    assert "at most 0.00196099 GYM, budget 1234567 GYM" in str(long)
    assert long.most == Decimal("0.001960993497600016"), "what is computed with keeps its digits"


@pytest.mark.parametrize("nodes", ["x", 1.5, True])
def test_nodes_are_a_whole_number(nodes):
    with pytest.raises(InvalidArgumentError, match="nodes: .* is no whole number"):
        DistributedTrainer("gpt-nano", "x", nodes=nodes, network="http://127.0.0.1:1")


def test_importing_the_package_does_not_load_grpc():
    script = "import gym; print(open('/proc/self/maps').read())"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "_zoo_gym.cpython" in loaded
    assert "grpc" not in loaded and "libtorch" not in loaded


def test_every_code_has_a_class_of_its_own():
    codes = (
        "invalid_argument malformed shape_mismatch not_found already_exists conflict unauthenticated "
        "permission_denied insufficient_funds out_of_range mismatch diverged unavailable timeout cancelled io "
        "internal"
    ).split()
    made = [error_of(code, "why") for code in codes]
    assert [error.code for error in made] == codes
    assert len({type(error) for error in made}) == len(codes)
    assert all(isinstance(error, gym.GymError) and str(error) == "why" for error in made)
    assert isinstance(error_of("not_found", ""), LookupError)


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "0"), (12.5, "12.5"), ("0.25", "0.25"), (1e-7, "0.0000001"), (0.1, "0.1")]
)
def test_amounts_keep_their_digits(amount, text):
    assert decimal_text(amount, "budget") == text


@pytest.mark.parametrize("amount", [-1, "ten", float("nan"), float("inf"), ""])
def test_refuses_amounts_that_are_none(amount):
    with pytest.raises(gym.InvalidArgumentError, match="budget"):
        decimal_text(amount, "budget")


def test_a_terminal_shows_one_line_that_is_redrawn():
    out = io.StringIO()
    view = progress.TerminalView(out)
    view.interval_s = 0
    shown = progress.Progress(view, "step", 0, 4)
    shown.show(1, 2.5)
    shown.show(4, 2.25, "note")
    shown.close()
    shown.close()
    text = out.getvalue()
    assert text.count("\r") == 2 and text.count("\n") == 1
    assert "step 1/4  loss 2.5000" in text and text.endswith("note\033[K\n")
    assert "[" + "#" * 24 + "]" in text and "[" + "#" * 6 + "." * 18 + "]" in text


def test_a_line_fits_into_its_terminal():
    try:
        controller, terminal = pty.openpty()
    except OSError as error:
        pytest.skip(f"this system has no pseudo-terminals (/dev/pts): {error}")
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    with os.fdopen(terminal, "w") as stream:
        progress.TerminalView(stream).show("round 1/4  " + "a long note " * 20, 0.25)
    shown = os.read(controller, 4096).decode()
    os.close(controller)
    line = shown.removeprefix("\r").removesuffix("\033[K")
    assert line.startswith("[######..................] round 1/4") and line.endswith("...")
    assert len(line) < 60, "a wrapped line cannot be redrawn in place"


def test_the_time_left_falls_while_a_round_is_under_way(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    view = progress.LinesView(out)
    view.interval_s = 0
    shown = progress.Progress(view, "round", 0, 4)
    left = []
    for after, done in ((10, 1), (14, 1), (19, 1), (40, 1), (90, 3), (200, 3)):
        now[0] = 100.0 + after
        shown.show(done, None)
        left.append(out.getvalue().splitlines()[-1].partition("  ")[2])
    assert left == ["30 s left", "26 s left", "21 s left", "20 s left", "30 s left", ""]


def test_a_transfer_says_how_much_of_how_much():
    out = io.StringIO()
    transfer = progress.Transfer(progress.LinesView(out), "downloading the weights")
    transfer.show(284_000, 284_000)
    transfer.show(5 << 20, 3 << 30)
    transfer.show(3 << 30, 3 << 30)
    assert out.getvalue() == (
        "100% downloading the weights  277.3 KiB of 277.3 KiB\n100% downloading the weights  3.0 GiB of 3.0 GiB\n"
    )


def test_progress_is_redrawn_only_when_it_is_due_and_at_the_end():
    out = io.StringIO()
    shown = progress.Progress(progress.LinesView(out), "round", 0, 1000)
    for done in range(1, 1001):
        shown.show(done, None)
    assert out.getvalue().count("\n") == 2, "the first and the last"


def test_a_notebook_shows_one_element_that_is_redrawn(monkeypatch):
    updates = []
    handle = types.SimpleNamespace(update=updates.append)
    shown = []

    def display(content, display_id):
        shown.append(content)
        return handle

    fake = types.ModuleType("IPython")
    fake.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    fake.display = types.ModuleType("IPython.display")
    fake.display.HTML, fake.display.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", fake.display)
    view = progress.find_view()
    view.interval_s = 0
    line = progress.Progress(view, "step", 0, 2)
    line.show(1, 2.0, "<b>")
    line.show(2, 1.5)
    assert len(shown) == 1 and len(updates) == 1
    assert "step 1/2" in shown[0] and "&lt;b&gt;" in shown[0], "a note is text, never HTML"
    assert 'value="1.0000"' in updates[0]


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch):
    fake = types.ModuleType("IPython")
    fake.get_ipython = lambda: types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", fake)
    assert not isinstance(progress.find_view(), progress.NotebookView)


def draft(**other):
    fields = {
        "name": 'a "name": with # marks',
        "model": gym.Model("gpt-nano"),
        "dataset_root": "0x" + "12" * 32,
        "tokens": 1_000_000,
        "nodes": 2,
        "budget": "12.5",
        "max_data_price": "0",
        "init": None,
        "terms": {},
    }
    return planning.job_draft(**(fields | other)).splitlines()


def test_a_job_file_says_what_was_asked_for_and_leaves_the_rest_to_the_planner():
    lines = draft()
    assert lines[:6] == [
        'name: "a \\"name\\": with # marks"',
        f'dataset: "0x{"12" * 32}"',
        'max_data_price: "0"',
        "tokens: 1000000",
        "nodes: 2",
        'max_cost: "12.5"',
    ]
    assert lines[6] == "model:" and all(line.startswith("  ") for line in lines[7:])
    assert not [line for line in lines if line.startswith("init")]
    assert 'init: "job:0x12@3"' in draft(init="job:0x12@3")
    assert not [line for line in draft(tokens=None, budget=None) if line.startswith(("tokens", "max_cost"))]


def test_a_model_that_no_network_can_train_is_refused_before_anything_is_asked(tmp_path):
    large = tmp_path / "large.yaml"
    large.write_text(
        "batch: 1\nmodel: {vocabulary: 256, context: 16, layers: 96, heads: 1, width: 16384}\n"
        "optimizer: {learning_rate: 1.0e-3}\n"
    )
    with pytest.raises(InvalidArgumentError, match="no network can train model '.*'.*1152.* GiB.*1024.0 GiB"):
        DistributedTrainer(large, "no-such-data", nodes=100, budget_tokens=1e12, network="http://127.0.0.1:1")


def test_a_network_can_train_seven_billion_parameters():
    model = Model("llama-7b")
    assert model.parameters == 6_738_415_616 and model.program.network_limit == ""


def test_terms_of_the_job_take_the_place_of_wishes():
    lines = draft(terms={"rounds": 3, "slots": 4, "deadlines": {"challenge_ms": 1000}})
    assert "rounds: 3" in lines and "slots: 4" in lines and 'deadlines: {"challenge_ms": 1000}' in lines
    assert not [line for line in lines if line.startswith(("tokens", "nodes"))]


@pytest.fixture
def state_file(tmp_path):
    return StateFile(tmp_path / "trainings", {"tokens": 5})


def test_a_submission_is_found_again_by_what_was_asked_for(state_file, tmp_path):
    assert state_file.load() is None
    with state_file.locked():
        state_file.save(Submission("http://a", "key", "yaml", "0x12"))
    same = StateFile(tmp_path / "trainings", {"tokens": 5})
    assert same.load() == Submission("http://a", "key", "yaml", "0x12")
    assert StateFile(tmp_path / "trainings", {"tokens": 6}).load() is None
    assert state_file.path.stat().st_mode & 0o777 == 0o600
    state_file.forget()
    assert same.load() is None


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"version": 2}), json.dumps({"version": 1})])
def test_a_damaged_state_file_is_an_error_and_never_a_second_job(state_file, content):
    with state_file.locked():
        state_file.path.write_text(content)
    with pytest.raises(gym.MalformedError, match="damaged"):
        state_file.load()


def test_a_passphrase_that_nobody_names_is_said_to_be_missing(tmp_path, monkeypatch):
    contracts = ("token", "distributor", "escrow", "commitment_log", "stake", "dispute_game")
    deployment = tmp_path / "deployment.json"
    deployment.write_text(
        json.dumps({"chain_id": 1, "start_block": 0} | {name: "0x" + 40 * "1" for name in contracts})
    )
    monkeypatch.delenv("GYM_PASSPHRASE", raising=False)
    monkeypatch.setenv("GYM_DEPLOYMENT", str(deployment))
    monkeypatch.setenv("GYM_HOME", str(tmp_path))
    network = gym.Network.find("http://127.0.0.1:1", keystore=tmp_path / "key.json")
    with pytest.raises(gym.NotFoundError, match="no key at .*key.json: `gym wallet new` makes one"):
        network.signer()
    (tmp_path / "key.json").write_text("{}")
    with pytest.raises(gym.InvalidArgumentError, match="passphrase_file=FILE.*GYM_PASSPHRASE"):
        network.signer()
