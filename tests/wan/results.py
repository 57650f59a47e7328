"""What a run did: rounds and units from the database, bytes from wan_link, mirrors and coordinator, warnings from logs."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import hosts
from services import BLOB_PORT, MIRROR_PORT, Run

Json = dict[str, object]
WARNINGS = {
    "mirrors left by nodes": re.compile(r"mirror \S+ is left for"),
    "uploads that a mirror did not take": re.compile(r"does not take blob"),
    "deltas sent to the coordinator": re.compile(r"goes to the coordinator|it is sent there"),
    "downloads that the coordinator completed": re.compile(r"asking the coordinator for the rest"),
}


@dataclass
class Flow:
    """Bytes of IP packets between nodes and what serves them, by whether both are in one region."""

    down_own: int = 0
    down_other: int = 0
    down_core: int = 0  # from the operator's machine to nodes: messages, and blobs that no mirror gave
    down_nodes: int = 0  # from other nodes, of all regions: not among down_own and down_other
    up_own: int = 0
    up_other: int = 0
    up_core: int = 0
    up_nodes: int = 0
    lost: int = 0
    full: int = 0
    cut: int = 0

    def row(self) -> Json:
        down, up = self.down_own + self.down_other, self.up_own + self.up_other
        return vars(self) | {"down_share_own": self.down_own / down if down else None,
                             "up_share_own": self.up_own / up if up else None}


def flow_of(stats: Json, machines: dict[str, hosts.Host], of: str = "") -> Flow:
    """Of all workers, or of one."""
    flow = Flow()
    for pair in stats["pairs"]:  # type: ignore[attr-defined]
        source, target = machines[pair["from"]], machines[pair["to"]]
        flow.lost += pair["lost"]
        flow.full += pair["full"]
        flow.cut += pair["cut"]
        for node, other, way in ((target, source, "down"), (source, target, "up")):
            if node.name != of and (of or not node.name.startswith("worker")):
                continue
            counter = f"{way}_{place_of(other, node)}"
            setattr(flow, counter, getattr(flow, counter) + pair["bytes"])
    return flow


def place_of(other: hosts.Host, node: hosts.Host) -> str:
    if other.name == "core":
        return "core"
    if not other.name.startswith("mirror"):
        return "nodes"
    return "own" if other.region == node.region else "other"


@dataclass
class Outcome:
    rounds: list[Json] = field(default_factory=list)
    units: list[Json] = field(default_factory=list)

    def bits(self) -> list[tuple[object, ...]]:
        """What has to be equal in two runs: of each round what it began from, its end and its loss; every delta."""
        rounds = [(r["round"], r["base"], r["next_base"], r["loss"]) for r in self.rounds]
        deltas = [(u["round"], u["slot"], u["delta"]) for u in self.units]
        return [*rounds, *deltas]


def outcome_of(run: Run) -> Outcome:
    rounds = run.sql("SELECT round, encode(base_state_root::bytea, 'hex'), encode(next_base_root::bytea, 'hex'), "
                     "encode(float8send(validation_loss), 'hex'), validation_loss, recorded_at_ms, opened_at_ms, "
                     "sealed_at_ms, aggregated_at_ms FROM registry.round ORDER BY round")
    units = run.sql("SELECT round, slot, attempt, encode(worker::bytea, 'hex'), state, included, "
                    "encode(delta_root::bytea, 'hex'), reason_code FROM registry.unit WHERE kind = 'train' "
                    "ORDER BY round, slot, attempt")
    out = Outcome()
    for r in rounds:
        moments = [int(x) if x else None for x in r[5:]]
        row: Json = {"round": int(r[0]), "base": r[1], "next_base": r[2], "loss": r[3], "loss_text": r[4]}
        recorded, opened, sealed, aggregated = moments
        if opened and sealed and aggregated and recorded:
            row |= {"training_s": (sealed - opened) / 1000, "all_s": (aggregated - recorded) / 1000}
        out.rounds.append(row)
    for u in units:
        out.units.append({"round": int(u[0]), "slot": int(u[1]), "attempt": int(u[2]), "worker": u[3], "state": u[4],
                          "included": u[5] == "t", "delta": u[6], "reason": u[7]})
    return out


def counters_of(run: Run) -> Json:
    """Bytes of blobs as the programs count them."""
    coordinator = run.metrics("core", BLOB_PORT)
    mirrors = {name: run.metrics(name, MIRROR_PORT + i) for i, name in enumerate(run.mirrors)}

    def total(counter: str) -> int:
        return sum(metrics.get(counter, 0) for metrics in mirrors.values())

    return {"coordinator_sent_to_nodes": coordinator["gym_blob_grpc_bytes_total"],
            "coordinator_sent_to_mirrors": coordinator["gym_blob_http_bytes_total"],
            "coordinator_received_from_nodes": coordinator["gym_blob_grpc_received_bytes_total"],
            "coordinator_received_from_mirrors": coordinator["gym_blob_mirror_received_bytes_total"],
            "coordinator_messages": coordinator["gym_grpc_message_bytes_total"],
            "mirrors_sent": total("gym_blob_http_bytes_total"),
            "mirrors_received": total("gym_blob_http_received_bytes_total"),
            "mirrors_from_origin": total("gym_mirror_origin_bytes_total"),
            "mirrors_from_peers": total("gym_mirror_peer_bytes_total")}


def warnings_of(run: Run) -> dict[str, int]:
    counts: Counter[str] = Counter({name: 0 for name in WARNINGS})
    for log in [*run.folder.glob("worker-*.log"), run.folder / "verifier.log"]:
        text = log.read_text(errors="replace")
        for name, pattern in WARNINGS.items():
            counts[name] += len(pattern.findall(text))
    return dict(counts)
