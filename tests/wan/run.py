"""run.py BUILD_DIR OUT: trains one job on loopback and over an emulated wide-area network, and compares them bit for bit.

Five runs from one beginning (keys, chain, database), so that the job has the same id and with it the same seed: on the
loopback, over the WAN, over the WAN with 1 % loss, over the WAN with a region that is cut off for 30 s, and over the WAN
with nodes that share blobs by BitTorrent. WAN_RUNS (default "lan wan lossy cut torrents") chooses some of them; the
comparison needs lan. Writes OUT/wan.json. Exit: 0 passed or skipped, which it says with the reason; 1 failed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hosts
import results
from services import Base, Run, wait_until

ROUNDS = int(os.environ.get("WAN_ROUNDS", "8"))
RUN_S = 2400
SHARE_MIN = 0.8  # of what workers fetch from mirrors: from those of their region
PEER_BYTES_MIN = 1 << 20  # from other nodes, with torrents: a piece; without any, greetings came to 0.14 MB
LOSS_PPM = 10_000
CUT_REGION, CUT_ROUND, CUT_S = "asia", 3, 30

JOB = """
name: wan
dataset: "DATASET"
rounds: ROUNDS
slots: 16
workers_min: 16
steps_per_round: 4
evaluate_windows: 16
price_per_pflop: "10"
budget: "100"
visibility: public
deadlines: {unit_ms: 200000, report_ms: 100000, reveal_ms: 60000, defence_ms: 2000, challenge_ms: 1000}
model:
  batch: 2
  compression: dense-4bit
  update: dense-4bit
  model: {vocabulary: 256, context: 64, layers: 2, heads: 4, width: 128, init_std: 0.05}
  optimizer: {learning_rate: 3.0e-3, learning_rate_min: 6.0e-4, warmup_steps: 4, total_steps: 32}
  outer: {learning_rate: 0.7, momentum: 0.4}
"""


def say(text: str) -> None:
    print(f"wan: {text}", flush=True)
    try:  # also where `make soak` has its terminal
        os.write(3, f"wan: {text}\n".encode())
    except OSError:
        pass


def job_file(base: Base, folder: Path) -> Path:
    file = folder / "job.yaml"
    file.write_text(JOB.replace("DATASET", base.dataset).replace("ROUNDS", str(ROUNDS)))
    return file


def submit(run: Run, job: Path) -> None:
    """Once all workers are there: a round has as many slots as it finds workers."""
    def all_there() -> bool:
        run.check_running()
        [[live]] = run.sql("SELECT count(*) FROM registry.node "
                           "WHERE last_seen_at_ms > extract(epoch FROM now()) * 1000 - 10000")
        return int(live) == hosts.WORKERS + 1

    wait_until("the start of all nodes", 300, all_there)
    run.gym("job", "submit", str(job), "--api-key-file", str(run.base.api_key), *run.base.wallet, "--idempotency-key",
            "wan")


class Watch:
    """Follows a run round by round: what each moved, and the cut of a region."""

    def __init__(self, run: Run, cut: bool) -> None:
        self.run, self.cut = run, cut
        self.rounds: list[results.Json] = []
        self._healed_at = 0.0
        self._before: results.Flow | None = None

    def until_done(self) -> None:
        end = time.monotonic() + RUN_S
        while True:
            self.run.check_running()
            [[opened, done]] = self.run.sql("SELECT count(opened_at_ms), count(next_base_root) FROM registry.round")
            if self.cut and int(opened) >= CUT_ROUND:
                self._begin_cut()
            self._end_cut()
            if int(done) > len(self.rounds):
                self._note(int(done))
            if int(done) == ROUNDS:
                return
            if time.monotonic() > end:
                raise RuntimeError(f"{self.run.name}: {done} of {ROUNDS} rounds within {RUN_S} s")
            time.sleep(0.25)

    def _begin_cut(self) -> None:
        assert isinstance(self.run.network, hosts.Wan)
        self.run.network.command(f"cut {CUT_REGION}")
        self._healed_at = time.monotonic() + CUT_S
        self.cut = False
        say(f"{self.run.name}: {CUT_REGION} is cut off for {CUT_S} s")

    def _end_cut(self) -> None:
        if self._healed_at and time.monotonic() > self._healed_at:
            assert isinstance(self.run.network, hosts.Wan)
            self.run.network.command(f"heal {CUT_REGION}")
            self._healed_at = 0

    def _note(self, done: int) -> None:
        row: results.Json = {"round": done}
        if isinstance(self.run.network, hosts.Wan):
            now = results.flow_of(self.run.network.command("stats"), self.run.network.machines)
            before = self._before or results.Flow()
            moved = results.Flow(**{key: value - getattr(before, key) for key, value in vars(now).items()})
            self._before = now
            row |= moved.row()
        self.rounds.append(row)
        share = row.get("down_share_own")
        say(f"{self.run.name}: round {done} of {ROUNDS}" + (f", {share:.1%} from the own region" if share else ""))


def play(base: Base, network: hosts.Network, name: str, job: Path) -> tuple[results.Json, results.Outcome]:
    run = Run(base, network, name, torrents=name == "torrents")
    try:
        run.start()
        submit(run, job)
        if isinstance(network, hosts.Wan):
            network.command("reset")
        watch = Watch(run, name == "cut")
        begin = time.monotonic()
        watch.until_done()
        outcome = results.outcome_of(run)
        row: results.Json = {"seconds": round(time.monotonic() - begin, 1), "rounds": outcome.rounds,
                             "moved": watch.rounds, "counters": results.counters_of(run)}
        if isinstance(network, hosts.Wan):
            stats = network.command("stats")
            row |= {"flow": results.flow_of(stats, network.machines).row(), "late_us_max": stats["late_us_max"],
                    "workers": {f"worker-{i}": results.flow_of(stats, network.machines, f"worker-{i}").row()
                                for i in range(1, hosts.WORKERS + 1)}}
        row |= {"warnings": results.warnings_of(run),
                "units": len(outcome.units), "included": sum(bool(u["included"]) for u in outcome.units),
                "states": sorted({str(u["state"]) for u in outcome.units})}
        return row, outcome
    finally:
        run.stop()


def problems_of(name: str, row: results.Json, outcome: results.Outcome, lan: results.Outcome | None) -> list[str]:
    out = []
    if row["included"] != ROUNDS * hosts.WORKERS:
        out.append(f"{name}: {row['included']} of {ROUNDS * hosts.WORKERS} deltas came into the model")
    if lan is not None and name != "lan":
        differ = [a for a, b in zip(outcome.bits(), lan.bits(), strict=False) if a != b]
        if differ or len(outcome.bits()) != len(lan.bits()):
            out.append(f"{name} differs from the loopback, first at {differ[:1]}")
    flow = row.get("flow")
    if name == "wan" and isinstance(flow, dict) and float(flow["down_share_own"]) < SHARE_MIN:
        out.append(f"{name}: {flow['down_share_own']:.1%} of what workers fetched came from their region, "
                   f"{SHARE_MIN:.0%} are asked for")
    if name == "torrents" and isinstance(flow, dict) and int(flow["down_nodes"]) < PEER_BYTES_MIN:
        out.append(f"{name}: workers got {flow['down_nodes']} bytes from other nodes, {PEER_BYTES_MIN} are asked for")
    return out


def main(build: Path, out: Path) -> int:
    wan_link = build / "bin/wan_link"
    out.mkdir(parents=True, exist_ok=True)
    try:
        hosts.check_permitted(wan_link)
    except hosts.Skip as skip:
        say(f"SKIPPED, no network namespaces here: {skip}")
        (out / "wan.json").write_text(json.dumps({"skipped": str(skip)}) + "\n")
        return 0
    except FileNotFoundError as error:
        say(f"{error.filename} is missing: run make setup and make tests")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="gym-wan-", dir=os.environ.get("WAN_FOLDER", "/var/tmp")))
    text = folder / "text.txt"
    text.write_bytes(subprocess.run(["bible", "ge1:1-ge50:26"], stdin=subprocess.DEVNULL, check=True,
                                    capture_output=True).stdout)
    base = Base(build, folder / "network", text)
    report: results.Json = {"inside_delay_ms": hosts.INSIDE_DELAY_US / 1000, "runs": {},
                            "between_delay_ms": hosts.BETWEEN_DELAY_US / 1000, "rounds": ROUNDS}
    problems: list[str] = []
    lan: results.Outcome | None = None
    try:
        say("making the network that all runs begin from")
        base.make()
        job = job_file(base, folder)
        for name in os.environ.get("WAN_RUNS", "lan wan lossy cut torrents").split():
            loss = LOSS_PPM if name == "lossy" else 0
            network: hosts.Network = hosts.Lan() if name == "lan" else hosts.Wan(
                hosts.hosts(), wan_link, folder / f"{name}.plan", loss)
            with network:
                row, outcome = play(base, network, name, job)
            lan = outcome if name == "lan" else lan
            found = problems_of(name, row, outcome, lan)
            row["equal_to_lan"] = lan is not None and outcome.bits() == lan.bits()
            problems += found
            report["runs"][name] = row  # type: ignore[index]
            report["problems"] = problems
            (out / "wan.json").write_text(json.dumps(report, indent=1) + "\n")
            say(f"{name}: {row['seconds']} s, " + ("; ".join(found) or "no problem"))
    finally:
        base.remove()
    if problems:
        say(f"FAILED; logs: {folder}")
        return 1
    if not os.environ.get("WAN_KEEP"):
        shutil.rmtree(folder, ignore_errors=True)
    say(f"passed; {out / 'wan.json'}")
    return 0


def stop(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)  # what was started is stopped
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
