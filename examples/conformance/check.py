#!/usr/bin/env python3
"""Computes the conformance vectors again, from the documents alone (docs/CONFORMANCE.md).

check.py [FOLDER [KIND ..]]: FOLDER is tests/vectors of the repository, a KIND one of scalars, trees, macros, programs,
units, protocol and money (default: all). Prints a line for each kind. Exits with 1 if a value differs and says which.
"""
import json
import os
import re
import sys
from math import prod

import bits
import ethereum
import macros
import money
import primitives
import program as programs
import protocol
import training
import unit as units
from program import DTYPES, INPUT, PARAM, TEMP, Op, Program, Slot

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "vectors")
differences = []
counted = 0


def expect(where, found, expected):
    global counted
    counted += 1
    if isinstance(found, bytes):
        found = ("0x" if expected.startswith("0x") else "") + found.hex()
    if found != expected:
        differences.append(f"{where}: expected {str(expected)[:200]}, computed {str(found)[:200]}")


def unpack(text):
    """Hexadecimal in which "bb*n," stands for n bytes bb."""
    return bytes.fromhex(re.sub(r"(..)\*(\d+),", lambda found: found[1] * int(found[2]), text))


def read(folder, name):
    with open(os.path.join(folder, "conformance", name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def digest(text):
    return bytes.fromhex(text.removeprefix("0x"))


def check_scalars(folder):
    """onestep.txt: per line the number of a function, then 20 bytes a case: three operands and the result."""
    b, signed = bits, lambda n, width: n - (n >> (width - 1) << width)
    one = {0: b.sqrt, 30: b.exp, 31: b.log, 33: b.sigmoid, 34: b.silu, 35: b.gelu, 36: b.rsqrt}
    two = {10: b.add, 11: b.sub, 12: b.mul, 13: b.div, 15: b.smaller, 16: b.larger}
    compare = {17: lambda x, y: x < y, 18: lambda x, y: x <= y, 19: lambda x, y: x == y}
    for line in open(os.path.join(folder, "onestep.txt"), encoding="utf-8"):
        data = bytes.fromhex(line.strip()[2:])
        number = data[0]
        for at in range(1, len(data), 20):
            words = [int.from_bytes(data[at + 4 * i:at + 4 * i + 4], "big") for i in range(3)]
            expected = int.from_bytes(data[at + 12:at + 20], "big")
            x, y, z = map(b.from_bits, words)
            if number in one:
                found = b.to_bits(one[number](x))
            elif number in two:
                found = b.to_bits(two[number](x, y))
            elif number in compare:
                found = int(compare[number](x, y))
            elif number == 2 or number == 3:
                width = 32 * (number - 1)
                found = b.to_integer(x, width) % (1 << width)
            elif number == 4:
                found = b.to_bits(b.from_integer(signed(words[0] << 32 | words[1], 64)))
            elif number == 14:
                found = b.to_bits(b.fma(x, y, z))
            elif number == 20:
                found = b.to_bits(b.scale2(x, signed(words[1], 32)))
            else:
                continue  # rint, neg, abs, tanh: no op has them
            expect(f"scalar function {number} of {[hex(w) for w in words]}", found, expected)


def check_trees(folder):
    """merkle.txt: lines of a word and values (docs/CONFORMANCE.md)."""
    pattern = lambda size: bytes((i * 131 + (i >> 8) * 17 + 7) & 255 for i in range(size))
    leaves = [programs.sha(b"leaf", i.to_bytes(8, "big")) for i in range(1000)]
    for line in open(os.path.join(folder, "merkle.txt"), encoding="utf-8"):
        kind, *rest = line.split()
        if kind == "absent":
            expect("absent leaf", programs.ABSENT, rest[0])
        elif kind == "root":
            expect(f"root of {rest[0]} leaves", programs.merkle_root(leaves[:int(rest[0])]), rest[1])
        elif kind == "chunks":
            root = programs.merkle_root(programs.chunk_leaves(pattern(int(rest[0]))))
            expect(f"root of {rest[0]} bytes", root, rest[1])
        elif kind == "tensor":
            dtype, dims = DTYPES[rest[0]], [int(d) for d in rest[1].split("x") if d != "scalar"]
            content = pattern(prod(dims) * programs.SIZES[dtype])
            expect(f"root of {rest[0]} {rest[1]}", programs.tensor_root(dtype, dims, content), rest[2])
        elif kind == "proof":
            count, index, path = int(rest[0]), int(rest[1]), [digest(s) for s in rest[3:]]
            expect(line[:20], programs.merkle_path(leaves[:count], index), path)
            expect(line[:20], programs.fold(leaves[index], index, path), rest[2])


def check_macros(folder):
    for case in read(folder, "macros")["cases"]:
        name, slots, values = case["name"], [], {}
        for i, operand in enumerate(case["inputs"]):
            dtype = DTYPES[operand["dtype"]]
            slots.append(Slot(INPUT, dtype, tuple(operand["dims"]), f"in{i}"))
            values[i] = primitives.from_bytes(dtype, bytes.fromhex(operand["data"]))
        first = len(slots)
        slots += [Slot(TEMP, DTYPES["f32"], tuple(out["dims"])) for out in case["outputs"]]
        attributes = case["attributes"] + [0] * (8 - len(case["attributes"]))
        op = Op(macros.CODES[case["op"]], list(range(first)), list(range(first, len(slots))), attributes)
        program = Program(slots, [op], [(f"out{k}", i) for k, i in enumerate(op.outputs)])
        expect(f"{name}: expansion", macros.describe(slots, op), case["expansion"])
        expect(f"{name}: program root", programs.program_root(program), case["program_root"])
        expect(f"{name}: trace root", programs.trace_program(program, (0,) * 5).root, case["trace_root"])
        expect(f"{name}: FLOPs", programs.flops(program), case["flops"])
        all_slots, ops = macros.expand(slots, op)
        for primitive in ops:
            values[primitive.outputs[0]] = primitives.run(primitive, all_slots, values)
        for k, out in enumerate(case["outputs"]):
            expect(f"{name}: output {k}", primitives.to_bytes(DTYPES["f32"], values[first + k]), out["data"])


def check_program(name, vector, program):
    trace = programs.trace_program(program, units.batch_shape(program))
    expect(f"{name}: program root", programs.program_root(program), vector["root"])
    expect(f"{name}: trace header", trace.header, vector["trace_header"])
    expect(f"{name}: trace root", trace.root, vector["trace_root"])
    expect(f"{name}: FLOPs", programs.flops(program), vector["flops"])


def check_programs(folder):
    """Larger programs, from their model files; their trace roots are the golden ones of trace_roots.txt, too."""
    with open(os.path.join(folder, "trace_roots.txt"), encoding="utf-8") as file:
        golden = dict(line.split() for line in file)
    for vector in read(folder, "programs")["programs"]:
        check_program(vector["name"], vector, training.train_program(vector["yaml"]))
        expect(f"{vector['name']}: golden trace root", vector["trace_root"], golden[vector["name"]])


def base_of(program, unit):
    state = units.initial_state(program, digest(unit["job_seed"]))
    names = [s.name for s in units.state_slots(program, (PARAM,))]
    for tensor, element, value in unit["base_overrides"]:
        state[names[tensor]][element] = bits.from_bits(value)
    return state


def check_unit(unit):
    name, program = unit["name"], programs.decode(unpack(unit["program"]["file"]))
    check_program(name, unit["program"], program)
    expect(f"{name}: program of its YAML", programs.encode(training.train_program(unit["yaml"])),
           programs.encode(program).hex())
    dataset = units.Dataset(bytes.fromhex(unit["dataset"]))
    expect(f"{name}: dataset root", dataset.root, unit["dataset_root"])
    state = base_of(program, unit)
    expect(f"{name}: initial state", units.state_root(program, state), unit["initial_state_root"])
    expect(f"{name}: base", units.state_root(program, state, (PARAM,)), unit["base_root"])
    records, final, delta, chunks = units.run_unit(program, dataset, digest(unit["job_seed"]), state, unit)
    expect(f"{name}: records", [r.hex() for r in records], unit["records"])
    expect(f"{name}: records root", units.records_root(records), unit["records_root"])
    expect(f"{name}: final state", units.state_root(program, final), unit["final_state_root"])
    expect(f"{name}: delta", delta, unit["delta"])
    expect(f"{name}: delta root", programs.blob_root(delta), unit["delta_root"])
    expect(f"{name}: trace chunks", len(chunks), unit["trace_chunks"])
    expect(f"{name}: trace chunks", programs.merkle_root(chunks), unit["trace_chunks_root"])
    windows, tokens, *_ = units.batch_shape(program)
    expect(f"{name}: tokens", windows * tokens * unit["steps"], unit["tokens"])
    expect(f"{name}: FLOPs", unit["program"]["flops"] * unit["steps"], unit["flops"])
    evaluation = units.evaluation_program(program)
    expect(f"{name}: evaluation program", programs.encode(evaluation), unpack(unit["evaluation"]["file"]).hex())
    expect(f"{name}: evaluation program", programs.program_root(evaluation), unit["evaluation"]["program_root"])
    expect(f"{name}: evaluation", units.evaluate(program, dataset, state, unit["evaluation"]["windows_max"]),
           unit["evaluation"]["root"])


def check_aggregate(vector, by_name):
    of = [by_name[name] for name in vector["deltas_of"]]
    train = programs.decode(unpack(of[0]["program"]["file"]))
    deltas = [bytes.fromhex(unit["delta"]) for unit in of]
    program = units.aggregate_program(train, len(deltas))
    expect("aggregate: file", programs.encode(program), unpack(vector["program"]["file"]).hex())
    check_program("aggregate", vector["program"], program)
    state = units.outer_state(train, base_of(train, of[0]))
    for number, step in enumerate(vector["steps"]):
        state, record = units.outer_step(program, state, deltas)
        where = f"aggregate {number}"
        expect(f"{where}: record", record, step["record"])
        expect(f"{where}: records root", units.records_root([record]), step["records_root"])
        expect(f"{where}: base", units.state_root(program, state, (PARAM,)), step["final_state_root"])
        expect(f"{where}: momentum", units.state_root(program, state, (programs.STATE,)), step["delta_root"])
        expect(f"{where}: FLOPs", programs.flops(program), step["flops"])


def check_units(folder):
    file = read(folder, "units")
    for unit in file["units"]:
        check_unit(unit)
    check_aggregate(file["aggregate"], {unit["name"]: unit for unit in file["units"]})


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
    head, slots, _ = protocol.decode_round_record(data)
    record_hash = protocol.record_hash(data)
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
        counted = (head["steps"], head["tokens"] * head["steps"], head["flops"] * head["steps"])
        expect(f"{where}: counted fields", fields[8:], counted)
        expect(f"{where}: rate", slots[i][2], protocol.sampling_rate(i + 2, head["floor_ppm"]))
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
    expect("payout root", levels[-1][0], epoch["payout_root"])
    for i, payout in enumerate(file["rewards"]["payouts"]):
        proof = money.payout_proof(levels, i)
        expect(f"payout {i}: leaf", levels[0][i], payout["leaf"])
        expect(f"payout {i}: proof", ["0x" + p.hex() for p in proof], payout["proof"])
        expect(f"payout {i}: root", money.fold_payout(levels[0][i], proof), epoch["payout_root"])


CHECKS = {"scalars": check_scalars, "trees": check_trees, "macros": check_macros, "programs": check_programs,
          "units": check_units, "protocol": check_protocol, "money": check_money}


def main():
    global counted
    folder = sys.argv[1] if len(sys.argv) > 1 else FOLDER
    for name in sys.argv[2:] or CHECKS:
        counted, before = 0, len(differences)
        CHECKS[name](folder)
        print(f"{name:10} {counted} values, {len(differences) - before} differ")
    for difference in differences:
        print(difference, file=sys.stderr)
    sys.exit(1 if differences else 0)


main()
