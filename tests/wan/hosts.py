"""The machines of the emulated network, each a network namespace, and wan_link between them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

CORE_REGION = "eu"
REGIONS = ("eu", "us", "asia")
WORKERS = 16
MIRRORS_OF_A_REGION = 2
INSIDE_DELAY_US = 5_000
BETWEEN_DELAY_US = 150_000  # of one direction
QUEUE_BYTES = 1 << 20
PREFIX = f"gymwan-{os.getpid()}-"


class Skip(Exception):
    """This machine does not permit the emulation."""


@dataclass(frozen=True)
class Host:
    name: str
    region: str
    address: str
    up_kbit: int
    down_kbit: int


def hosts() -> list[Host]:
    """Operator, mirrors, workers and one verifier. Rates are those of a data centre, a small server and a home line."""
    out = [Host("core", CORE_REGION, "10.77.0.1", 500_000, 500_000)]
    for number, region in enumerate(REGIONS):
        for i in range(1, MIRRORS_OF_A_REGION + 1):
            out.append(Host(f"mirror-{region}-{i}", region, f"10.77.{number + 1}.{i}", 110_000, 500_000))
    for i in range(WORKERS):
        number = i % len(REGIONS)
        out.append(Host(f"worker-{i + 1}", REGIONS[number], f"10.77.{number + 1}.{100 + i}", 20_000, 100_000))
    out.append(Host("verifier", "us", "10.77.2.200", 20_000, 100_000))
    return out


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def check_permitted(wan_link: Path) -> None:
    """Makes one namespace with an interface of wan_link, and takes it away. Raises Skip with the reason."""
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise Skip("/dev/net/tun cannot be opened")
    host = Host("probe", "eu", "10.77.0.1", 1_000, 1_000)
    try:
        with Wan([host], wan_link, Path(f"/tmp/{PREFIX}probe.yaml")):
            pass
    except subprocess.CalledProcessError as error:
        raise Skip(f"`{' '.join(error.cmd)}`: {error.stderr.strip()}") from error
    except RuntimeError as error:
        raise Skip(str(error)) from error
    finally:
        Path(f"/tmp/{PREFIX}probe.yaml").unlink(missing_ok=True)


class Wan:
    """Namespaces with one interface each, and the program that carries packets between them."""

    def __init__(self, machines: list[Host], wan_link: Path, plan: Path, loss_ppm: int = 0) -> None:
        self.machines = {host.name: host for host in machines}
        self._made: list[str] = []
        self._link: subprocess.Popen[str] | None = None
        try:
            for host in machines:
                ip("netns", "add", self.netns(host.name))
                self._made.append(host.name)
            plan.write_text(self._plan(loss_ppm))
            self._link = subprocess.Popen([wan_link, plan], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True)
            assert self._link.stdout is not None and self._link.stderr is not None
            if json.loads(self._link.stdout.readline() or "{}") != {"ready": True}:
                raise RuntimeError(self._link.stderr.read().strip())
        except BaseException:
            self.close()
            raise

    def _plan(self, loss_ppm: int) -> str:
        lines = [f"inside_delay_us: {INSIDE_DELAY_US}", f"between_delay_us: {BETWEEN_DELAY_US}",
                 f"inside_loss_ppm: {loss_ppm}", f"between_loss_ppm: {loss_ppm}",
                 f"queue_bytes: {QUEUE_BYTES}", "seed: 1", "hosts:"]
        for host in self.machines.values():
            lines.append(f"  - {{name: {host.name}, region: {host.region}, netns: {self.netns(host.name)}, "
                         f"address: {host.address}, up_kbit_per_s: {host.up_kbit}, "
                         f"down_kbit_per_s: {host.down_kbit}}}")
        return "\n".join(lines) + "\n"

    def netns(self, name: str) -> str:
        return PREFIX + name

    def address(self, name: str) -> str:
        return self.machines[name].address

    def command(self, line: str) -> dict[str, object]:
        assert self._link is not None and self._link.stdin is not None and self._link.stdout is not None
        self._link.stdin.write(line + "\n")
        self._link.stdin.flush()
        answer: dict[str, object] = json.loads(self._link.stdout.readline())
        if "error" in answer:
            raise RuntimeError(f"wan_link: {line}: {answer['error']}")
        return answer

    def close(self) -> None:
        if self._link is not None:
            assert self._link.stdin is not None
            self._link.stdin.close()  # its end is the program's
            self._link.wait(timeout=10)
        for name in self._made:
            subprocess.run(["ip", "netns", "del", self.netns(name)], check=False, capture_output=True)
        self._made = []

    def __enter__(self) -> Wan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lan:
    """All machines on the loopback of one namespace."""

    def __init__(self) -> None:
        ip("netns", "add", self.netns(""))
        ip("-n", self.netns(""), "link", "set", "lo", "up")

    def netns(self, name: str) -> str:
        return PREFIX + "lan"

    def address(self, name: str) -> str:
        return "127.0.0.1"

    def close(self) -> None:
        subprocess.run(["ip", "netns", "del", self.netns("")], check=False, capture_output=True)

    def __enter__(self) -> Lan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Network = Wan | Lan
