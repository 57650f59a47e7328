"""Rounds, the ledger and payouts: docs/CONFORMANCE.md."""
import json

import ethereum
import money
import program as programs
import protocol
import unit as units
from check_engine import base_of
from compare import digest, expect, read, unpack


def check_commitment(where, vector, domain, head, record_hash):
    """A signed commitment: its fields follow from the unit's vector, its signature from the domain."""
    fields, signature = protocol.decode_commitment(bytes.fromhex(vector["bytes"]))
    found = protocol.commitment_digest(domain, fields)
    expect(f"{where}: round record", fields[1], record_hash.hex())
    expect(f"{where}: digest", found, vector["digest"])
    expect(f"{where}: signer", ethereum.signer(found, signature), vector["signer"])
    expect(f"{where}: unit id", protocol.unit_id(head["job"], head["round"], fields[2]), vector["unit_id"])
    return fields


def check_round(file, by_name):
    """The round record, what its fields are computed from, and its commitments."""
    data = bytes.fromhex(file["round_record"])
    head, head_bytes, slots, _ = protocol.decode_round_record(data)
    record_hash = protocol.record_hash(head_bytes)
    expect("round record", record_hash, file["round_record_hash"])
    job = file["job"]
    expect("job id", protocol.job_id(digest(job["owner"]), job["key"].encode()), job["id"])
    expect("round record: job", head["job"], job["id"])
    unit = by_name[file["commitments"][0]["unit"]]
    train = programs.decode(unpack(unit["program"]["file"]))
    for name, member in (("trace", unit["program"]["trace_root"]), ("program", unit["program"]["root"]),
                         ("base", unit["base_root"]), ("initial_state", unit["initial_state_root"]),
                         ("evaluate_program", unit["evaluation"]["program_root"])):
        expect(f"round record: {name}", head[name], member)
    one = programs.program_root(units.aggregate_program(train, 1))
    expect("round record: aggregate program", one, head["aggregate_program"].hex())
    domain = protocol.signing_domain(file["chain_id"], digest(file["commitment_log"]))
    leaves = []
    for i, vector in enumerate(file["commitments"]):
        unit, where = by_name[vector["unit"]], f"commitment {i}"
        fields = check_commitment(where, vector, domain, head, record_hash)
        wanted = (unit["records_root"], unit["final_state_root"], unit["delta_root"])
        expect(f"{where}: roots", (fields[4], fields[5], fields[7]), tuple(map(digest, wanted)))
        steps = slots[fields[2]][2]
        counted = (steps, head["tokens"] * steps, head["flops"] * steps)
        expect(f"{where}: counted fields", fields[8:], counted)
        expect(f"{where}: rate", slots[fields[2]][1], protocol.sampling_rate(i + 2, head["floor_ppm"]))
        leaves.append(programs.sha(b"gym.commitment.v1", bytes.fromhex(vector["bytes"])))
        expect(f"{where}: leaf", leaves[-1], vector["leaf"])
        name = protocol.unit_on_chain(digest(vector["digest"]), digest(vector["signer"]))
        facts, other = protocol.facts_hash(fields, head), file["commitments"][1 - i]["signer"]
        expect(f"{where}: unit on chain", name, vector["unit_on_chain"])
        expect(f"{where}: facts", facts, vector["facts_hash"])
        expect(f"{where}: position", protocol.start_position(name, facts), vector["start_position"])
        expect(f"{where}: announcement", protocol.announcement(
            file["chain_id"], digest(file["dispute_game"]), digest(other), name, digest(vector["salt"])),
            vector["announcement"])
    for i, vector in enumerate(file["commitments"]):
        path = [digest(s) for s in vector["path"]]
        expect(f"commitment {i}: path", programs.fold(leaves[i], i, path), file["epoch_root"])
    return domain, head, record_hash


def check_protocol(folder):
    file = read(folder, "protocol")
    all_units = read(folder, "units")
    by_name = {unit["name"]: unit for unit in all_units["units"]}
    domain, head, record_hash = check_round(file, by_name)
    beacon, report = digest(file["beacon"]), file["report"]
    for vector in file["sampling"]:
        expect("sampling", protocol.is_sampled(beacon, digest(vector["unit"]), vector["rate_ppm"]), vector["sampled"])
    unit = digest(file["commitments"][0]["unit_id"])
    candidates = [(digest(address), missed) for address, missed in report["candidates"]]
    for draw, drawn in enumerate(report["drawn"]):
        expect("verifier", protocol.verifier_of(beacon, unit, draw, digest(report["worker"]), candidates), drawn)
    challenge, signature = protocol.challenge_digest(domain, beacon, unit), digest(report["challenge_signature"])
    expect("trace challenge", challenge, report["challenge_digest"])
    expect("trace challenge: signer", ethereum.signer(challenge, signature), report["verifier"])
    run = by_name[file["commitments"][0]["unit"]]
    program, dataset = programs.decode(unpack(run["program"]["file"])), units.Dataset(bytes.fromhex(run["dataset"]))
    chunks = units.run_unit(program, dataset, digest(run["job_seed"]), base_of(program, run), run)[3]
    trace = protocol.trace_at(signature, chunks)
    expect("report: trace", trace, report["trace"])
    roots = [digest(run[name]) for name in ("records_root", "final_state_root", "delta_root")]
    expect("report", protocol.report_digest(beacon, unit, report["draw"], digest(report["verifier"]), *roots, trace,
                                            signature, digest(report["salt"])), report["digest"])
    # What the verifier stakes on: the same words as a commitment's, for the game about reports.
    staked = report["staked"]
    said, sealed = protocol.decode_commitment(bytes.fromhex(staked["bytes"]))
    committed = protocol.decode_commitment(bytes.fromhex(file["commitments"][0]["bytes"]))[0]
    expect("staked report: terms", said[:4] + said[6:7] + said[8:], committed[:4] + committed[6:7] + committed[8:])
    expect("staked report: roots", [said[4], said[5], said[7]], roots)
    found = protocol.commitment_digest(
        protocol.signing_domain(file["chain_id"], digest(staked["report_game"])), said)
    expect("staked report", found, staked["digest"])
    expect("staked report: signer", ethereum.signer(found, sealed), report["verifier"])
    expect("staked report: on chain", protocol.unit_on_chain(found, digest(report["verifier"])),
           staked["unit_on_chain"])
    # An aggregate's only chunk is the link of its one record.
    vector, step = file["aggregate"], all_units["aggregate"]["steps"][0]
    fields = check_commitment("aggregate", vector, domain, head, record_hash)
    expect("aggregate: fields", fields[:1] + fields[2:4] + fields[8:],
           (protocol.AGGREGATE, protocol.AGGREGATE_SLOT, 0, 1, 0, step["flops"]))
    wanted = (step["records_root"], step["final_state_root"], step["delta_root"])
    expect("aggregate: roots", (fields[4], fields[5], fields[7]), tuple(map(digest, wanted)))
    link = programs.sha(bytes(32), bytes.fromhex(step["record"]))
    expect("aggregate: trace", protocol.trace_at(digest(vector["challenge_signature"]), [link]), vector["trace"])
    vector = file["uptime"]
    found = protocol.uptime_digest(domain, digest(vector["node"]), digest(vector["nonce"]), vector["issued_ms"])
    expect("uptime: digest", found, vector["digest"])
    expect("uptime: signer", ethereum.signer(found, digest(vector["signature"])), vector["node"])


def check_money(folder):
    file = read(folder, "money")
    for proof, fingerprint in zip(file["ledger"]["proofs"], file["ledger"]["fingerprints"]):
        where, seal = f"transfer {proof['transfer']['seq']}", proof["seal"]
        expect(f"{where}: root", money.proven_root(proof), seal["root"])
        expect(f"{where}: seal", money.seal_hash(seal), seal["hash"])
        signed = money.seal_digest(seal, digest(seal["hash"]))
        expect(f"{where}: signer", ethereum.signer(signed, digest(seal["signature"])), seal["signer"])
        expect(f"{where}: fingerprint", money.fingerprint(proof["transfer"]), fingerprint)
    text = file["rewards"]["epoch_file"]
    epoch = json.loads(text)
    expect("epoch file: form", money.canonical(epoch), text)
    expect("epoch file: root", programs.blob_root(text.encode()), file["rewards"]["epoch_file_root"])
    for credit in epoch["credits"]:
        expect(f"credit {credit['kind']}", str(money.amount_of(credit)), credit["amount"])
    levels = money.payout_levels(epoch)
    root, total = levels[-1][0]
    expect("payout root", root, epoch["payout_root"])
    expect("payout total", str(total), epoch["total_cumulative"])
    for i, payout in enumerate(file["rewards"]["payouts"]):
        path = money.payout_path(epoch, levels, i)
        steps = [{"hash": "0x" + hash_.hex(), "sum_wei": str(sum_), "pivot": "0x" + pivot.hex()} for (hash_, sum_), pivot in path]
        expect(f"payout {i}: leaf", levels[0][i][0], payout["leaf"])
        expect(f"payout {i}: path", steps, payout["path"])
        expect(f"payout {i}: root", money.fold_payout(levels[0][i], money.first_earner(epoch, i), path)[0],
               epoch["payout_root"])
