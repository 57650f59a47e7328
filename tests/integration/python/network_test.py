"""The announced lines on a real network: database, chain, services, verifier and workers of this machine."""

import json
import signal
import subprocess
import urllib.request
from decimal import Decimal
from pathlib import Path

import pytest
from conftest import BIN, other_tokenizer_weights, run_gym, write_tokenizer

import gym
from gym import Callback, Dataset, DatasetRegistry, DistributedTrainer, Model, Network, Node, Tokenizer


@pytest.fixture
def registered(owner, text):
    return Dataset.from_file(text).push("zoo-dataset-v2", licence="CC0-1.0")


def test_the_announced_lines_train_a_model(registered, text, tmp_path, capsys):
    from gym import DistributedTrainer

    trainer = DistributedTrainer(model="gpt-nano", dataset="zoo-dataset-v2", nodes=2, budget_tokens=2e4)
    trainer.train()

    assert [loss.index for loss in trainer.losses] == list(range(1, len(trainer.losses) + 1))
    assert trainer.losses[-1].value < trainer.losses[0].value
    status = trainer.status
    assert status.state in ("settling", "complete")
    assert status.done == status.total == len(trainer.losses)
    shown = capsys.readouterr().err
    assert "quote: 71,136 parameters" in shown and f"job {status.job} submitted" in shown

    # The weights, compared with the chain, speak.
    trainer.export(tmp_path / "model")
    assert "checked: program and weights have the roots" in capsys.readouterr().err
    model = Model(tmp_path / "model")
    assert (model.parameters, model.tokens_per_step) == (71_136, 256)
    local = DistributedTrainer(model, text, steps=1, network="local", progress=False)
    assert local.evaluate().loss < 5.0, "a model that knows nothing has 5.5"
    assert trainer.generate("1234 and", tokens=8) == local.generate("1234 and", tokens=8)
    config = json.loads((tmp_path / "model/config.json").read_text())
    assert config["model_type"] == "gpt2"
    files = sorted(path.name for path in (tmp_path / "model").iterdir())
    trainer.export(tmp_path / "model", all_tokenizer_files=True)
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == files, "the owner's own data"

    # The same lines again, as in another process: nothing is paid for twice.
    again = DistributedTrainer(model="gpt-nano", dataset="zoo-dataset-v2", nodes=2, budget_tokens=2e4)
    result = again.train()
    assert result.job == status.job
    assert again.losses == trainer.losses
    assert result.spent <= again.quote().most


def test_more_nodes_than_are_live_are_a_plan_for_those_that_are(registered):
    quote = DistributedTrainer("gpt-nano", registered, nodes=60, budget_tokens=2e4).quote()
    assert 0 < quote.nodes < quote.nodes_wanted == 60
    assert quote.tokens_today == quote.tokens >= 2e4
    assert f"{quote.nodes} of the 60 workers that you want" in str(quote)
    there = DistributedTrainer("gpt-nano", registered, nodes=quote.nodes, budget_tokens=2e4).quote()
    assert (there.rounds, there.steps, there.nodes_wanted) == (quote.rounds, quote.steps, None)


class DetachAfterRound(Callback):
    def __init__(self):
        self.rounds, self.ended = [], []

    def on_round(self, trainer, round):
        self.rounds.append(round)
        if len(self.rounds) == 1:
            signal.raise_signal(signal.SIGINT)

    def on_end(self, trainer, result):
        self.ended.append(result.job)


def test_ctrl_c_leaves_the_job_running_and_the_same_call_follows_it(registered, capsys):
    terms = {"rounds": 3, "steps_per_round": 10}
    callback = DetachAfterRound()
    trainer = DistributedTrainer(
        "llama-nano", registered, nodes=2, job=terms, budget=20, callbacks=[callback], progress=False
    )
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    job = trainer.status.job
    assert f"gym job watch {job}" in capsys.readouterr().err
    assert callback.ended == []

    other = DetachAfterRound()
    other.rounds.append(0)  # it does not press Ctrl-C
    result = DistributedTrainer(
        "llama-nano", registered, nodes=2, job=terms, budget=20, callbacks=[other], progress=False
    ).train()
    assert result.job == job
    assert other.rounds == [0, 1, 2, 3] and other.ended == [job]
    assert trainer.train().job == job
    assert callback.rounds == [1, 2, 3], "each round once"
    assert trainer.evaluate().loss == trainer.losses[-1].value


def test_a_text_is_registered_with_a_licence_and_never_without(owner, tmp_path):
    dataset = Dataset.from_text("Never seen before. " * 300, name="mine")
    with pytest.raises(gym.InvalidArgumentError, match="licence"):
        DistributedTrainer("gpt-nano", dataset, budget_tokens=1e4, network=owner.api)
    trainer = DistributedTrainer(
        "gpt-nano", dataset, budget_tokens=1e4, licence="CC0-1.0",
        network=owner.api, api_key_file=owner.key_file,
    )  # fmt: skip
    with pytest.raises(gym.NotFoundError):
        Dataset.load("mine")  # a label, no name
    info = Dataset.load(dataset.root).info
    assert (info.licence, info.price, info.tokens) == ("CC0-1.0", Decimal(0), len(dataset))
    quote = trainer.quote()
    assert 0 < quote.expected <= quote.most <= quote.budget
    assert quote.tokens >= 1e4 and quote.seconds[0] <= quote.seconds[1]
    assert trainer.status.state == "new", "a quote submits nothing"


def test_a_name_has_versions_which_never_change(owner, tmp_path, monkeypatch):
    first = Dataset.from_text("The first text. " * 300).push("versions", licence="CC0-1.0")
    second = Dataset.from_text("The second text. " * 300).push("versions@2", licence="CC0-1.0")
    assert (first.info.name, first.info.version, second.info.version) == ("versions", 1, 2)
    assert Dataset.load("versions").root == second.root
    assert Dataset.load("versions@1").root == first.root
    trainer = DistributedTrainer("gpt-nano", "versions@1", budget_tokens=1e4)
    assert trainer._training._dataset.root == first.root
    again = Dataset.from_text("The second text. " * 300).push("versions", licence="CC0-1.0")
    assert again.info.version == 2, "the same changes nothing"
    third = Dataset.from_text("The third text. " * 300)
    with pytest.raises(gym.ConflictError):
        third.push("versions@7", licence="CC0-1.0")
    with pytest.raises(gym.InvalidArgumentError, match="lower-case"):
        third.push("My Corpus", licence="CC0-1.0")
    with pytest.raises(gym.NotFoundError, match="versions@9"):
        Dataset.load("versions@9")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-text").write_text("Not registered. " * 300)
    with pytest.raises(gym.NotFoundError, match="a-text is a file of this machine.*licence="):
        DistributedTrainer("gpt-nano", "a-text", budget_tokens=1e4)
    pulled = Dataset.pull("versions@1", tmp_path / "pulled.tokens")
    assert (pulled.root, len(pulled)) == (first.root, len(first))
    assert Dataset.from_file(tmp_path / "pulled.tokens").root == first.root
    registry = DatasetRegistry(owner.api)
    assert registry.network.url == owner.api and registry.load("versions").root == second.root
    assert registry.pull("versions@1", tmp_path / "by-registry.tokens").root == first.root
    fourth = registry.push(tmp_path / "a-text", "versions", licence="CC0-1.0", price=2)
    assert (fourth.info.version, fourth.info.price) == (3, Decimal(2))
    assert Dataset.load("versions").root == fourth.root == Dataset.from_file("a-text").root
    monkeypatch.delenv("GYM_API_KEY")
    with pytest.raises(gym.UnauthenticatedError):
        Dataset.pull("versions", tmp_path / "none.tokens")
    assert sorted(path.name for path in tmp_path.glob("*.tokens*")) == ["by-registry.tokens", "pulled.tokens"]


def test_private_data_and_models_exist_for_those_whom_their_owner_names(owner, monkeypatch, capsys):
    dataset = Dataset.from_text("Nobody else reads this. " * 300)
    pushed = dataset.push("diary", licence="LicenseRef-mine", visibility="private")
    assert pushed.info.visibility == "private"
    told = capsys.readouterr().err
    assert "only you" in told and "sees the text in the clear" in told
    assert Dataset.load("diary").root == dataset.root
    with pytest.raises(gym.ConflictError):
        dataset.push(licence="LicenseRef-mine", visibility="public")
    stranger = "0x" + "12" * 20
    with pytest.raises(gym.InvalidArgumentError, match="allow-list"):
        pushed.set_visibility("private", [stranger])
    with pytest.raises(gym.InvalidArgumentError, match="secret"):
        pushed.set_visibility("secret")
    with pytest.raises(gym.InvalidArgumentError, match="names accounts"):
        pushed.set_visibility("allow-list")
    assert pushed.set_visibility("allow-list", [stranger]).info.visibility == "allow-list"
    assert "you and 1 account" in capsys.readouterr().err

    trainer = DistributedTrainer(
        "gpt-nano", "diary", nodes=1, job={"rounds": 1, "steps_per_round": 5}, budget=20, allow=[stranger],
        progress=False,
    )  # fmt: skip
    trainer.train()
    assert "can list the job and download its weights" in capsys.readouterr().err
    job = trainer.status.job
    assert Network.find().api().job(job).visibility == "allow-list"
    assert job in [one.id for one in Network.find().api().jobs()]

    monkeypatch.delenv("GYM_API_KEY")
    for name in ("diary", dataset.root):
        with pytest.raises(gym.NotFoundError):
            Dataset.load(name)
    assert job not in [one.id for one in Network.find().api().jobs()]
    for other in ({"visibility": "public"}, {"allow": [stranger]}):
        with pytest.raises(gym.InvalidArgumentError, match="local training"):
            DistributedTrainer("gpt-nano", dataset, steps=1, network="local", **other)


def test_a_stored_network_takes_the_place_of_all_variables(registered, owner, monkeypatch):
    run_gym("network", "add", "devnet", owner.api, "--operator", owner.operator, "--yes")
    for name in ("GYM_API", "GYM_CHAIN", "GYM_DEPLOYMENT"):
        monkeypatch.delenv(name)
    found = Network.find("devnet")
    assert (found.url, found.chain) == (owner.api, owner.chain)
    published = json.loads(Path(owner.deployment).read_text())
    assert found.contracts().escrow == published["escrow"].lower()
    assert found.signer().owner == owner.address.lower()
    trainer = DistributedTrainer("gpt-nano", "zoo-dataset-v2", budget_tokens=1e4, network="devnet")
    assert trainer.quote().tokens >= 1e4

    with pytest.raises(gym.NotFoundError, match="there (is only|are) devnet"):
        Network.find("mainnet")
    run_gym("network", "use", "devnet")
    assert Network.find().url == owner.api, "the default network"
    monkeypatch.setenv("GYM_API", "http://127.0.0.1:9")
    assert Network.find().url == "http://127.0.0.1:9"
    assert Network.find().contracts().escrow == published["escrow"].lower()
    assert Network.find("devnet").url == owner.api, "a name outranks the variables"


def test_a_job_begins_from_weights_of_this_machine_or_of_another_job(registered, owner, text, tmp_path):
    terms = {"rounds": 1, "steps_per_round": 30}

    def train(**other):
        trainer = DistributedTrainer(
            "gpt-nano", "zoo-dataset-v2", nodes=1, job=terms, budget=20, progress=False, **other
        )
        trainer.train()
        return trainer

    local = DistributedTrainer("gpt-nano", text, steps=40, network="local", progress=False)
    local.train()
    local.export(tmp_path / "weights")
    trained = local.evaluate().loss
    first = train(init=tmp_path / "weights")
    assert first.losses[0].value < trained, "the network continues what was trained here"
    api = Network.find().api()
    uploaded = api.job(first.status.job).init_root
    assert uploaded is not None
    assert train(init=tmp_path / "weights").status.job == first.status.job, "the same call follows it"

    second = train(init=f"job:{first.status.job[:10]}@1", name="continued")  # as much as tells it from others
    assert second.losses[0].value < first.losses[0].value
    assert api.job(second.status.job).init_root not in (None, uploaded)
    third = DistributedTrainer("gpt-nano", registered, nodes=1, job=terms, budget=20, init=uploaded)
    assert third.quote().tokens > 0

    def refused(**other):
        return DistributedTrainer("gpt-nano", registered, budget_tokens=1e4, progress=False, **other)

    with pytest.raises(gym.NotFoundError, match="no file or folder nowhere"):
        refused(init="nowhere")
    with pytest.raises(gym.InvalidArgumentError, match="job:"):
        refused(init="job:12")
    with pytest.raises(gym.NotFoundError, match="job:0x.*round 9 has no weights"):
        refused(init=f"job:{first.status.job}@9").quote()
    wider = DistributedTrainer("llama-nano", registered, budget_tokens=1e4, progress=False,
                               init=f"job:{first.status.job}")  # fmt: skip
    for attempt in (wider.quote, wider.train):
        with pytest.raises(gym.GymError, match="the weights do not fit the program in .* places"):
            attempt()
    other = DistributedTrainer("llama-nano", registered, budget_tokens=1e4, budget=20, progress=False,
                               init=tmp_path / "weights")  # fmt: skip
    with pytest.raises(gym.GymError, match="config.json"):
        other.train()
    with pytest.raises(gym.GymError, match="config.json"):
        other.quote()
    nan = tmp_path / "nan.safetensors"
    nan.write_bytes((tmp_path / "weights/model.safetensors").read_bytes()[:-4] + b"\xff" * 4)
    with pytest.raises(gym.InvalidArgumentError, match="nan.safetensors.*NaN"):
        refused(init=nan).quote()
    with pytest.raises(gym.InvalidArgumentError, match="init=FOLDER"):
        DistributedTrainer(tmp_path / "weights", registered, budget_tokens=1e4).quote()


def test_refusals_say_why_and_leave_nothing_behind(registered, owner, tmp_path, monkeypatch):
    def trainer(**other):
        arguments = {"nodes": 1, "budget_tokens": 1e4, "progress": False}
        return DistributedTrainer("gpt-nano", registered, **(arguments | other))

    with pytest.raises(gym.InsufficientFundsError):
        trainer(job={"budget": 10**6}).train()
    with pytest.raises(gym.NotFoundError, match="no dataset is registered under the name 'zoo'"):
        DistributedTrainer("gpt-nano", "zoo", budget_tokens=1e4)
    with pytest.raises(gym.NotFoundError, match="is not registered"):
        Dataset.load("0x" + "ab" * 32)
    with pytest.raises(gym.InvalidArgumentError, match="'round' is not a known key"):
        trainer(job={"round": 3}).quote()
    dear = Dataset.from_text("costs money. " * 400, name="dear").push("dear", licence="MIT", price=2)
    priced = DistributedTrainer("gpt-nano", dear, budget_tokens=1e4, max_data_price="0.5", progress=False)
    says = "'dear' costs 2 GYM per million tokens of text, and the job agrees to 0.5 at the most: max_data_price=2"
    assert says in priced.quote().warnings[-1]
    with pytest.raises(gym.ConflictError, match=says):
        priced.train()
    keys = owner.root / "keys"
    with pytest.raises(gym.PermissionDeniedError, match="your keystore is 0x.*, the API key belongs to 0x"):
        trainer(keystore=keys / "settler.json", passphrase_file=keys / "settler.pass").train()
    monkeypatch.setenv("GYM_API_KEY", "wrong")
    with pytest.raises(gym.UnauthenticatedError):
        trainer().train()
    monkeypatch.delenv("GYM_API_KEY")
    with pytest.raises(gym.UnauthenticatedError, match="api_key_file"):
        trainer().train()
    owner.key_file.chmod(0o644)
    with pytest.raises(gym.PermissionDeniedError):
        trainer(api_key_file=owner.key_file).train()
    owner.key_file.chmod(0o600)
    kept = list((tmp_path / "home" / "trainings").glob("*.json"))
    assert kept == [], "a refused submission is not remembered"


def test_a_network_that_does_not_answer_is_unavailable():
    with pytest.raises(gym.UnavailableError):
        Dataset.load("0x" + "ab" * 32, Network("http://127.0.0.1:9"))


def test_a_node_is_described_as_by_the_command_line(devnet):
    node = Node(devnet.root / "config" / "worker-1.yaml")
    status = node.status()
    assert status.address == node.address
    assert status.role == "worker" and status.excluded_because == ""
    assert 0 <= status.uptime <= 1
    findings = {finding.check: finding for finding in node.doctor()}
    assert findings["memory"].ok and findings["coordinator"].ok, findings


def test_a_node_takes_its_network_from_those_that_are_stored(devnet, tmp_path):
    run_gym("network", "add", "devnet", devnet.api, "--operator", devnet.operator, "--yes")
    place = tmp_path / "node"
    place.mkdir()
    (place / "key.json").write_bytes((devnet.root / "keys/worker-1.json").read_bytes())
    (place / "key.json").chmod(0o600)
    key = {"data_dir": place, "passphrase_file": devnet.root / "keys/worker-1.pass"}
    own = Node(devnet.root / "config" / "worker-1.yaml")
    for node in (Node(**key), Node(**key, network="devnet")):
        assert node.address == own.address
        assert node.status().role == "worker", "its coordinator is that of the network"
        findings = {finding.check: finding for finding in node.doctor()}
        assert findings["coordinator"].ok and findings["chain"].ok, findings
    with pytest.raises(gym.NotFoundError, match="there is only devnet"):
        Node(**key, network="mainnet")
    with pytest.raises(gym.UnavailableError):
        Node(**key, coordinator="127.0.0.1:9").status()
    run_gym("network", "remove", "devnet")
    findings = {finding.check: finding for finding in Node(**key).doctor()}
    assert "no network is named" in findings["coordinator"].detail
    nobody = Node(data_dir=devnet.root / "nobody")
    with pytest.raises(gym.NotFoundError):
        _ = nobody.address


def test_a_name_stands_for_weights_that_jobs_and_this_machine_begin_from(registered, owner, text, tmp_path):
    local = DistributedTrainer("gpt-nano", text, steps=40, network="local", progress=False)
    local.train()
    local.export(tmp_path / "weights")
    weights = Model(tmp_path / "weights")
    assert weights.push("zoo-nano", licence="Apache-2.0") == "zoo-nano@1"
    assert weights.push("zoo-nano", licence="Apache-2.0") == "zoo-nano@1", "the same again"
    root = Network.find().api().model_version("zoo-nano").state_root

    trainer = DistributedTrainer(
        "gpt-nano", registered, nodes=1, job={"rounds": 1, "steps_per_round": 20}, budget=20, progress=False,
        init="zoo-nano",
    )  # fmt: skip
    trainer.train()
    assert Network.find().api().job(trainer.status.job).init_root == root

    here = DistributedTrainer("gpt-nano", text, steps=1, network="local", progress=False, init="zoo-nano@1")
    assert here.evaluate().loss == local.evaluate().loss
    pulled = Model.pull("zoo-nano", tmp_path / "copy")
    assert pulled.weights.root == weights.weights.root
    with pytest.raises(gym.NotFoundError, match="no file or folder zoo-other"):
        DistributedTrainer("gpt-nano", text, steps=1, network="local", init="zoo-other")
    with pytest.raises(gym.InvalidArgumentError, match="has no weights"):
        Model("gpt-nano").push("zoo-nano")


def test_a_pushed_dataset_brings_its_tokenizer(owner, text, tmp_path):
    write_tokenizer(tmp_path / "tokenizer.json")
    tokenizer = Tokenizer.load(tmp_path)
    pushed = Dataset.from_file(text, tokenizer=tokenizer).push("zoo-words", licence="CC0-1.0")
    request = urllib.request.Request(
        f"{owner.api}/v1/datasets/{pushed.root}/tokenizer", headers={"Authorization": f"Bearer {owner.key}"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert (tmp_path / "tokenizer.json").read_bytes() in answer.read(), "as `gym data register` sends it"
    assert Dataset.from_file(text, tokenizer=tokenizer).push("zoo-words", licence="CC0-1.0").root == pushed.root


def test_weights_of_another_tokenizer_are_refused_before_anything_is_sent(owner, text, tmp_path):
    folder, wide = other_tokenizer_weights(tmp_path, text)
    own, other = (Dataset.from_file(text, tokenizer=tmp_path / name) for name in ("own", "other"))

    def trainer(dataset, **arguments):
        return DistributedTrainer(
            **({"model": wide, "dataset": dataset, "nodes": 1, "budget_tokens": 1e4, "licence": "MIT"} | arguments)
        )

    before = len(Network.find().owner_api().datasets())
    for weights in ({"init": folder}, {"model": folder}):
        with pytest.raises(gym.MismatchError, match="the weights have the tokenizer 0x"):
            trainer(other, **weights)
    assert len(Network.find().owner_api().datasets()) == before, "what is refused registers nothing"
    other.push("zoo-other-words", licence="MIT")
    with pytest.raises(gym.MismatchError, match="zoo-other-words.*was made with 0x"):
        trainer("zoo-other-words", init=folder)
    assert trainer(own, init=folder).quote().tokens >= 1e4


def test_a_registered_dataset_keeps_its_documents_apart_by_its_manifest(owner, tmp_path, monkeypatch):
    write_tokenizer(tmp_path / "tokenizer.json", end_of_text=True)
    documents = tmp_path / "docs.jsonl"
    documents.write_text("".join(json.dumps({"text": f"{n} and {n * 7919 % 1000} and then."}) + "\n" for n in range(400)))
    wide = tmp_path / "wide.yaml"
    wide.write_text(Model("gpt-nano").yaml.replace("vocabulary: 256", "vocabulary: 259"))

    def trainer(dataset, **other):
        return DistributedTrainer(
            wide, dataset, nodes=1, budget_tokens=1e4, progress=False, keep_documents_apart=True, **other
        )

    here = Dataset.from_file(documents, tokenizer=tmp_path / "tokenizer.json")
    apart = Model(wide).apart(258)
    assert trainer(here, licence="MIT").model.root == apart.root
    here.push("zoo-apart", licence="MIT", visibility="private")
    registered = trainer("zoo-apart")
    assert registered.model.root == apart.root, "by the manifest that the network has"
    assert registered.quote().tokens >= 1e4

    pulled = Dataset.pull("zoo-apart", tmp_path / "pulled.tokens")
    assert pulled.tokenizer.root == Tokenizer.load(tmp_path / "tokenizer.json").root
    assert pulled.document_separator() == 258
    monkeypatch.delenv("GYM_API_KEY")
    with pytest.raises((gym.NotFoundError, gym.UnauthenticatedError)):
        trainer("zoo-apart")
    monkeypatch.setenv("GYM_API_KEY", owner.key)
    other = Dataset.from_file(documents)
    before = len(Network.find().owner_api().datasets())
    with pytest.raises(gym.InvalidArgumentError, match="an empty line between them"):
        trainer(other, licence="MIT")
    assert len(Network.find().owner_api().datasets()) == before, "what is refused registers nothing"


def test_the_licences_of_the_documents_bind_a_pushed_dataset(owner, tmp_path, capsys):
    def built(name: str, licence: str) -> Dataset:
        rows = ({"text": f"{name} {n} says {n * 7919 % 100_003}.", "licence": licence} for n in range(300))
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return Dataset.build(path, tmp_path / f"{name}.tokens", steps="none")

    dataset = built("reserved", "CC-BY-NC-4.0")
    refused = ".*CC-BY-4.0 permits more than the documents' licences: 300 documents are under CC-BY-NC-4.0"
    for same in (dataset, Dataset.from_file(tmp_path / "reserved.tokens")):
        with pytest.raises(gym.ConflictError, match=refused):
            same.push("reserved", licence="CC-BY-4.0")
    with pytest.raises(gym.NotFoundError):
        Dataset.load("reserved")
    command = subprocess.run(
        [BIN / "gym", "data", "register", tmp_path / "reserved.tokens", "--licence", "CC-BY-4.0"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    with pytest.raises(gym.ConflictError) as raised:
        dataset.push("reserved", licence="CC-BY-4.0")
    assert raised.value.message in command.stderr, "the command line says the same"

    with pytest.raises(gym.ConflictError, match="300 documents are under CC-BY-NC-4.0"):
        DistributedTrainer("gpt-nano", dataset, budget_tokens=1e4)
    trainer = DistributedTrainer("gpt-nano", dataset, budget_tokens=1e4, job={"use": "non-commercial"})
    info = Dataset.load(trainer._training._dataset.root).info
    assert (info.licence, info.visibility) == ("CC-BY-NC-4.0", "private")

    pushed = built("own", "private").push("own")
    assert (pushed.info.licence, pushed.info.visibility) == ("LicenseRef-private", "private")
    assert "only you" in capsys.readouterr().err
    with pytest.raises(gym.InvalidArgumentError, match="licence"):
        Dataset.from_text("Nobody says under which licence. " * 100).push("unsaid")
    with pytest.raises(gym.InvalidArgumentError, match="pass licence="):
        DistributedTrainer("gpt-nano", Dataset.from_text("Nor here. " * 1000), budget_tokens=1e4)
    (tmp_path / "reserved.tokens.manifest.jsonl").write_bytes((tmp_path / "own.tokens.manifest.jsonl").read_bytes())
    with pytest.raises(gym.MismatchError, match="is of dataset"):
        Dataset.from_file(tmp_path / "reserved.tokens").push("reserved")
