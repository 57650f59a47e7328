"""The programs of a network: made once by `gym devnet up`, then started again for each run from the same beginning."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import hosts

GRPC_PORT, BLOB_PORT, API_PORT, CHAIN_PORT, MIRROR_PORT = 7600, 7601, 7602, 7545, 7690
CHAIN_ID = 31337
READY_S = 120


def wait_until(what: str, seconds: float, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(0.2)


class Base:
    """A network at its beginning: contracts, keys, stakes, 16 registered workers, a deposit and a public text."""

    def __init__(self, build: Path, root: Path, text: Path) -> None:
        self.bin = build / "bin"
        self.root = root
        self.text = text
        self.dataset = ""
        self.postgres: dict[str, str] = {}

    def make(self) -> None:
        up = self.gym("devnet", "up", "--root", str(self.root), "--workers", str(hosts.WORKERS))
        self.postgres = dict(word.split("=", 1) for word in str(up["books"]).split() if word.startswith("PG"))
        socket = Path(self.postgres["PGHOST"])
        self.postgres |= {"PGUSER": "postgres", "PGPASSWORD": (socket.parent / "superuser-password").read_text().strip()}
        env = {"GYM_API": str(up["api"]), "GYM_CHAIN": str(up["chain"])}
        owner = json.loads((self.root / "keys/job-owner.json").read_text())["address"].removeprefix("0x")
        key = subprocess.run([self.bin / "gym-api", "--config", self.root / "config/api.yaml", "keys", "create",
                              "--owner", "0x" + owner, "--label", "wan"], check=True, capture_output=True, text=True)
        self.api_key.touch(mode=0o600)
        self.api_key.write_text(key.stdout)
        self.gym("wallet", "deposit", "1000", *self.wallet, env=env)
        registered = self.gym("data", "register", str(self.text), "--licence", "LicenseRef-public-domain", "--name",
                              "wan", "--visibility", "public", "--api-key-file", str(self.api_key), env=env)
        self.dataset = str(registered["root"])
        self._make_certificate()
        self._stop_all()

    @property
    def api_key(self) -> Path:
        return self.root / "secrets/api-key-wan"

    @property
    def wallet(self) -> list[str]:
        return ["--data-dir", str(self.root / "wallet"), "--keystore", str(self.root / "keys/job-owner.json"),
                "--passphrase-file", str(self.root / "keys/job-owner.pass")]

    def gym(self, *words: str, env: dict[str, str] | None = None, netns: str = "") -> dict[str, object]:
        prefix = ["ip", "netns", "exec", netns] if netns else []
        done = subprocess.run([*prefix, self.bin / "gym", "--json", *words], capture_output=True, text=True,
                              env=os.environ | {"GYM_DEPLOYMENT": str(self.root / "deployment.json")} | (env or {}))
        if done.returncode != 0:
            raise RuntimeError(f"gym {' '.join(words[:2])} ended with {done.returncode}: {done.stderr[-2000:]}")
        answer: dict[str, object] = json.loads(done.stdout)
        return answer

    def sql(self, query: str, database: str = "postgres") -> list[list[str]]:
        done = subprocess.run(["psql", "-XAtqF", "\t", "-v", "ON_ERROR_STOP=1", "-c", query], check=True,
                              capture_output=True, text=True, env=os.environ | self.postgres | {"PGDATABASE": database})
        return [line.split("\t") for line in done.stdout.splitlines()]

    def remove(self) -> None:
        subprocess.run([self.bin / "gym", "devnet", "down", "--root", self.root], check=False, capture_output=True)

    def _make_certificate(self) -> None:
        names = f"subjectAltName=IP:127.0.0.1,IP:{hosts.hosts()[0].address}"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=core", "-addext", names, "-keyout", self.root / "tls.key",
                        "-out", self.root / "tls.pem"], check=True, capture_output=True)

    def _stop_all(self) -> None:
        """Nodes first, the chain last: it saves its state when it ends."""
        names = [p.stem for p in (self.root / "run").glob("*.pid")]
        pids = {name: int((self.root / f"run/{name}.pid").read_text().split()[0]) for name in names}
        nodes = [name for name in names if name.startswith(("worker", "verifier"))]
        services = [name for name in names if name not in nodes and name != "anvil"]
        for group in (nodes, services, ["anvil"]):
            stopping = [pids[name] for name in group]
            for pid in stopping:
                os.kill(pid, signal.SIGTERM)
            wait_until("the end of the first network", 60, lambda: not any(runs(pid) for pid in stopping))


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Run:
    """One run: a database, blobs and a chain that are copies of the beginning, on the machines of `network`."""

    def __init__(self, base: Base, network: hosts.Network, name: str, torrents: bool = False) -> None:
        self.base, self.network, self.name, self.torrents = base, network, name, torrents
        self.folder = base.root.parent / f"run-{name}"
        self.database = f"gym_{name}"
        self.deployment = json.loads((base.root / "deployment.json").read_text())
        self.mirrors = [host.name for host in hosts.hosts() if host.name.startswith("mirror")]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "anvil").mkdir(parents=True)
        shutil.copytree(self.base.root / "blobs", self.folder / "blobs")
        shutil.copy(self.base.root / "blobs.key", self.folder)
        shutil.copy(self.base.root / "anvil/anvil-state.json", self.folder / "anvil")
        self.base.sql(f"DROP DATABASE IF EXISTS {self.database}")
        self.base.sql(f"CREATE DATABASE {self.database} TEMPLATE gym")
        self._start_chain()
        self._start("coordinator", "core", self.base.bin / "gym-coordinator", self._coordinator())
        self._start("api", "core", self.base.bin / "gym-api", self._api())
        self._start("rewards", "core", self.base.bin / "gym-rewards", self._rewards())  # locks the job's budget
        for i, mirror in enumerate(self.mirrors):
            self._start(mirror, mirror, self.base.bin / "gym", self._mirror(i), "mirror")
        wait_until("the start of the services", READY_S, lambda: all(
            (self.folder / f"{name}.port").exists() for name in ["coordinator", "api", *self.mirrors]))
        self._start("verifier", "verifier", self.base.bin / "gym-verifier", self._node("verifier"))
        for i in range(1, hosts.WORKERS + 1):
            name = f"worker-{i}"
            (self.folder / name).mkdir()
            self._start(name, name, self.base.bin / "gym", self._node(name), "node", "start")

    def mirror_url(self, i: int) -> str:
        return f"http://{self.network.address(self.mirrors[i])}:{MIRROR_PORT + i}"

    def sql(self, query: str) -> list[list[str]]:
        return self.base.sql(query, self.database)

    def gym(self, *words: str) -> dict[str, object]:
        env = {"GYM_API": f"http://127.0.0.1:{API_PORT}", "GYM_CHAIN": f"http://127.0.0.1:{CHAIN_PORT}"}
        return self.base.gym(*words, env=env, netns=self.network.netns("core"))

    def metrics(self, host: str, port: int) -> dict[str, int]:
        done = subprocess.run(["ip", "netns", "exec", self.network.netns(host), "curl", "-sf", "--max-time", "10",
                               f"http://127.0.0.1:{port}/metrics"], check=True, capture_output=True, text=True)
        rows = (line.split() for line in done.stdout.splitlines() if line and not line.startswith("#"))
        return {row[0]: int(float(row[1])) for row in rows if "{" not in row[0]}

    def check_running(self) -> None:
        for name, process in self._processes.items():
            if process.poll() is not None:
                tail = (self.folder / f"{name}.log").read_text()[-1500:]
                raise RuntimeError(f"{name} ended with {process.returncode}: {tail}")

    def stop(self) -> None:
        """Nodes before what they dial. All that this run started, by its id."""
        groups: list[list[str]] = [[], [], []]
        for name in self._processes:
            groups[0 if name.startswith(("worker", "verifier")) else 2 if name == "anvil" else 1].append(name)
        for group in groups:
            for name in group:
                self._processes[name].terminate()
            for name in group:
                try:
                    self._processes[name].wait(timeout=60)
                except subprocess.TimeoutExpired:
                    self._processes[name].kill()
                    self._processes[name].wait()
        self._processes.clear()

    def _start(self, name: str, host: str, program: Path, config: str, *words: str) -> None:
        file = self.folder / f"{name}.yaml"
        file.write_text(config)
        self._spawn(name, host, [str(program), *words, "--config", str(file)])

    def _spawn(self, name: str, host: str, command: list[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(["ip", "netns", "exec", self.network.netns(host), *command],
                                                     stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                     env=os.environ | {"NO_COLOR": "1"})

    def _start_chain(self) -> None:
        anvil = os.environ.get("GYM_ANVIL") or str(
            Path(__file__).resolve().parents[2] / "contracts/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil")
        self._spawn("anvil", "core", [anvil, "--host", "0.0.0.0", "--port", str(CHAIN_PORT), "--chain-id",
                                      str(CHAIN_ID), "--slots-in-an-epoch", "1", "--accounts", "1", "--no-cors",
                                      "--block-time", "0.5", "--state", str(self.folder / "anvil/anvil-state.json")])
        wait_until("the start of anvil", READY_S,
                   lambda: "Listening on" in (self.folder / "anvil.log").read_text())

    def _database(self, user: str) -> str:
        return (f"database:\n  host: {self.base.postgres['PGHOST']}\n  port: {self.base.postgres['PGPORT']}\n"
                f"  database: {self.database}\n  user: {user}\n"
                f"  password_file: {self.base.root}/secrets/db-{user}\n")

    def _coordinator(self) -> str:
        root, urls = self.base.root, [self.mirror_url(i) for i in range(len(self.mirrors))]
        return (f"listen:\n  address: {self.network.address('core')}:{GRPC_PORT}\n"
                f"  tls_certificate_file: {root}/tls.pem\n  tls_key_file: {root}/tls.key\n"
                f"  port_file: {self.folder}/coordinator.port\n{self._database('coordinator')}"
                f"chain:\n  rpc_url: http://127.0.0.1:{CHAIN_PORT}\n  deployment_file: {root}/deployment.json\n"
                f"  confirmations: 1\n  beacon_delay_blocks: 1\n  block_time_ms: 500\n"
                f"operator:\n  keystore_file: {root}/keys/coordinator.json\n"
                f"  passphrase_file: {root}/keys/coordinator.pass\n"
                f"blobs: {self.folder}/blobs\ndisputes_folder: {self.folder}/disputes\n"
                f"minimum_stake: \"100\"\nblob_server:\n  address: 0.0.0.0\n  port: {BLOB_PORT}\n"
                f"mirrors: {json.dumps(urls)}\n")

    def _api(self) -> str:
        return (f"listen:\n  address: 127.0.0.1\n  port: {API_PORT}\n  port_file: {self.folder}/api.port\n"
                f"{self._database('api')}deployment: {self.base.root}/deployment.json\nblobs: {self.folder}/blobs\n")

    def _rewards(self) -> str:
        root = self.base.root
        return (f"{self._database('rewards')}chain:\n  rpc_url: http://127.0.0.1:{CHAIN_PORT}\n"
                f"  deployment_file: {root}/deployment.json\n"
                f"settler:\n  keystore_file: {root}/keys/settler.json\n  passphrase_file: {root}/keys/settler.pass\n"
                f"publish_folder: {self.folder}/epochs\n")

    def _mirror(self, i: int) -> str:
        urls = [self.mirror_url(k) for k in range(len(self.mirrors))]
        keystore = json.loads((self.base.root / "keys/coordinator.json").read_text())
        return (f"origins: [\"http://{self.network.address('core')}:{BLOB_PORT}\"]\n"
                f"listen:\n  address: 0.0.0.0\n  port: {MIRROR_PORT + i}\n  port_file: {self.folder}/{self.mirrors[i]}.port\n"
                f"  threads: 16\nfolder: {self.folder}/{self.mirrors[i]}\nbytes_max: 1073741824\n"
                f"self: {self.mirror_url(i)}\npeers: {json.dumps(urls)}\n"
                f"uploads:\n  chain_id: {CHAIN_ID}\n  commitment_log: \"{self.deployment['commitment_log']}\"\n"
                f"  coordinators: [\"0x{keystore['address'].removeprefix('0x')}\"]\n")

    def _node(self, name: str) -> str:
        root = self.base.root
        return (f"coordinator: {self.network.address('core')}:{GRPC_PORT}\ntls_ca_file: {root}/tls.pem\n"
                f"chain_id: {CHAIN_ID}\nchain_rpc: http://{self.network.address('core')}:{CHAIN_PORT}\n"
                f"commitment_log: \"{self.deployment['commitment_log']}\"\n"
                f"dispute_game: \"{self.deployment['dispute_game']}\"\nbeacon_delay_blocks: 1\n"
                f"data_dir: {self.folder}/{name}\nkeystore_file: {root}/keys/{name}.json\n"
                f"passphrase_file: {root}/keys/{name}.pass\nthreads: 1\n"
                # All addresses would leave out tunnels, which the emulation's interfaces are.
                f"torrents: {{enabled: {str(self.torrents).lower()}, address: {self.network.address(name)}}}\n")
