"""Scalars, trees, macros, programs, units and outer steps: docs/CONFORMANCE.md."""
import os
from math import prod

import bits
import macros
import primitives
import program as programs
import training
import unit as units
from expander import CODES
from compare import digest, expect, read, unpack
from program import DTYPES, INPUT, PARAM, TEMP, Op, Program, Slot


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
        op = Op(CODES[case["op"]], list(range(first)), list(range(first, len(slots))), attributes)
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
    """Larger programs, from their model files; the golden trace roots of trace_roots.txt are those of some of them."""
    with open(os.path.join(folder, "trace_roots.txt"), encoding="utf-8") as file:
        golden = dict(line.split() for line in file)
    vectors = read(folder, "programs")["programs"]
    for vector in vectors:
        check_program(vector["name"], vector, training.train_program(vector["yaml"]))
    roots = {vector["name"]: vector["trace_root"] for vector in vectors}
    for name, root in golden.items():
        expect(f"{name}: golden trace root", roots.get(name), root)


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
    base = units.state_blob(units.tensors_of(units.state_slots(program, (PARAM,)), state))
    expect(f"{name}: base blob", programs.blob_root(base), unit["base_blob"])
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


def check_aggregate(name, vector, by_name):
    held = vector["held"]
    of = [by_name[name] for name in vector["deltas_of"]]
    train = training.train_program(vector["yaml"])
    deltas = [bytes.fromhex(unit["delta"]) for unit in of]
    program = units.aggregate_program(train, len(deltas), held)
    expect(f"{name}: file", programs.encode(program), unpack(vector["program"]["file"]).hex())
    check_program(name, vector["program"], program)
    state = units.outer_state(train, base_of(train, of[0]))
    outer_step = units.publish_step if programs.update_codec(train) else units.outer_step
    for number, step in enumerate(vector["steps"]):
        state, record, outer = outer_step(program, state, deltas, held, programs.delta_codec(train))
        where = f"{name} {number}"
        expect(f"{where}: record", record, step["record"])
        expect(f"{where}: records root", units.records_root([record]), step["records_root"])
        expect(f"{where}: base", units.state_root(program, state, (PARAM,)), step["final_state_root"])
        expect(f"{where}: outer state", outer, step["delta_root"])
        base = units.state_blob(units.tensors_of(units.state_slots(program, (PARAM,)), state))
        expect(f"{where}: base blob", programs.blob_root(base), step["base_blob"])
        expect(f"{where}: outer blob", programs.blob_root(units.outer_blob(program, state)), step["outer_blob"])
        expect(f"{where}: FLOPs", programs.flops(program), step["flops"])


def check_units(folder):
    file = read(folder, "units")
    for unit in file["units"]:
        check_unit(unit)
    for name in ("aggregate", "held_aggregate", "withdrawn_aggregate", "dense_aggregate", "update_aggregate"):
        check_aggregate(name, file[name], {unit["name"]: unit for unit in file["units"]})
