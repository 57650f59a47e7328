"""Program files, their roots, FLOPs and trace programs: docs/PROGRAMS.md and docs/PROTOCOL.md, "Trace program"."""
import hashlib
import struct
from collections import namedtuple
from math import prod

import dense
import macros
from expander import CODES

DTYPES = {"f32": 1, "i32": 2, "i64": 3, "i16": 4, "u8": 5, "u16": 6, "u32": 7}
SIZES = {1: 4, 2: 4, 3: 8, 4: 2, 5: 1, 6: 2, 7: 4}
PARAM, STATE, CONSTANT, INPUT, TEMP = 1, 2, 3, 4, 5
NONE = 0xFFFFFFFF
MAGIC = b"GYMPROG1"

Slot = namedtuple("Slot", "kind dtype dims name init bits next value", defaults=("", 0, 0, NONE, b""))
Op = namedtuple("Op", "code inputs outputs attributes")
Program = namedtuple("Program", "slots ops outputs")  # outputs: (name, slot)


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


# Merkle trees.

ABSENT = sha(b"\x03gym absent leaf")


def levels(leaves):
    """All levels of a tree, the leaves first; padded with absent leaves."""
    out = [list(leaves) or [ABSENT]]
    while len(out[-1]) & (len(out[-1]) - 1):
        out[-1].append(ABSENT)
    while len(out[-1]) > 1:
        last = out[-1]
        out.append([sha(b"\x01", last[i], last[i + 1]) for i in range(0, len(last), 2)])
    return out


def merkle_root(leaves):
    return levels(leaves)[-1][0]


def merkle_path(leaves, index):
    return [level[(index >> k) ^ 1] for k, level in enumerate(levels(leaves)[:-1])]


def fold(leaf, index, path):
    """The root that a path from a leaf leads to."""
    for k, sibling in enumerate(path):
        leaf = sha(b"\x01", sibling, leaf) if index >> k & 1 else sha(b"\x01", leaf, sibling)
    return leaf


def chunk_leaves(data):
    return [sha(b"\x00", data[i:i + 1024].ljust(1024, b"\0")) for i in range(0, len(data), 1024)]


def tensor_root(dtype, dims, data):
    header = struct.pack(">BBB", 2, dtype, len(dims)) + b"".join(struct.pack(">Q", d) for d in dims)
    return sha(header, merkle_root(chunk_leaves(data)))


def blob_root(data):
    return tensor_root(DTYPES["u8"], [len(data)], data)


# Files and roots.

def slot_record(s):
    dims = list(s.dims) + [0] * (5 - len(s.dims))
    root = tensor_root(s.dtype, s.dims, s.value) if s.kind == CONSTANT else bytes(32)
    head = struct.pack(">4B5III", s.kind, s.dtype, len(s.dims), s.init, *dims, s.next, s.bits)
    return head + s.name.encode().ljust(48, b"\0") + root + bytes(16)


def op_record(op):
    ids = list(op.inputs) + [NONE] * (12 - len(op.inputs)) + list(op.outputs) + [NONE] * (3 - len(op.outputs))
    attributes = list(op.attributes) + [0] * (8 - len(op.attributes))
    return struct.pack(">HBB15I8Q", op.code, len(op.inputs), len(op.outputs), *ids, *attributes)


def output_record(output):
    return output[0].encode().ljust(48, b"\0") + struct.pack(">I", output[1]) + bytes(12)


def lists(program):
    return ([slot_record(s) for s in program.slots], [op_record(o) for o in program.ops],
            [output_record(o) for o in program.outputs])


def encode(program):
    slots, ops, outputs = lists(program)
    head = MAGIC + struct.pack(">4I", 1, len(slots), len(ops), len(outputs))
    return head + b"".join(slots + [s.value for s in program.slots] + ops + outputs)


def program_root(program):
    parts = lists(program)
    roots = [tensor_root(DTYPES["u8"], [len(p), size], b"".join(p)) for p, size in zip(parts, (128, 128, 64))]
    return sha(struct.pack(">B4I", 4, 1, *map(len, parts)), *roots)


def decode(data):
    """A program, from its file. Of malformed files it takes only those that encode to the same bytes."""
    assert data[:8] == MAGIC
    version, slots, ops, outputs = struct.unpack_from(">4I", data, 8)
    assert version == 1
    at, read = 24, []
    for _ in range(slots):
        kind, dtype, rank, init, *rest = struct.unpack_from(">4B5III", data, at)
        name = data[at + 32:at + 80].rstrip(b"\0").decode()
        read.append(Slot(kind, dtype, tuple(rest[:rank]), name, init, rest[6], rest[5]))
        at += 128
    for i, s in enumerate(read):
        if s.kind == CONSTANT:
            size = prod(s.dims) * SIZES[s.dtype]
            read[i] = s._replace(value=data[at:at + size])
            at += size
    listed = []
    for _ in range(ops):
        code, inputs, results, *rest = struct.unpack_from(">HBB15I8Q", data, at)
        listed.append(Op(code, rest[:inputs], rest[12:12 + results], rest[15:]))
        at += 128
    named = []
    for _ in range(outputs):
        named.append((data[at:at + 48].rstrip(b"\0").decode(), struct.unpack_from(">I", data, at + 48)[0]))
        at += 64
    program = Program(read, listed, named)
    assert encode(program) == data
    return program


def slot_named(program, name):
    return next((i for i, s in enumerate(program.slots) if s.kind != TEMP and s.name == name), None)


def constant(program, name, form="<f"):
    """The first element of a constant, or None."""
    slot = slot_named(program, name)
    return None if slot is None else struct.unpack_from(form, program.slots[slot].value)[0]


# What is counted.

def flops(program):
    """Per element of an output: 1 for arithmetic (fma 2), 1 for quantise_i32; 2 for every term of block_dot."""
    total = 0
    for op in program.ops:
        slots, ops = macros.expand(program.slots, op)
        for primitive in ops:
            out = slots[primitive.outputs[0]].dims
            if primitive.code == CODES["block_dot"]:
                total += 2 * prod(out[:-1]) * slots[primitive.inputs[0]].dims[-1]
            elif primitive.code in (*range(2, 16), CODES["quantise_i32"]):
                total += prod(out) * (2 if primitive.code == CODES["fma"] else 1)
    return min(total, (1 << 64) - 1)


# The trace program.

def shape(slot):
    return struct.pack(">BB", slot.dtype, len(slot.dims)) + b"".join(struct.pack(">I", d) for d in slot.dims)


def size_bytes(slot):
    return prod(slot.dims) * SIZES[slot.dtype]


def delta_codec(program):
    return int(constant(program, "delta.codec") or 0)


def update_codec(program):
    return int(constant(program, "update.codec") or 0)


def plain_layout(sizes):
    """Of a delta of codec 0: where each parameter of so many elements begins, and all bytes."""
    begins, at = [], 16
    for elements in sizes:
        begins.append(at)
        at += 4 * elements
    return begins, at


Trace = namedtuple("Trace", "header primitives leaves state gradients root leaf_slots")


def trace_program(program, batch):
    """`batch`: windows, tokens of a window, stride, vocabulary, classes (unit.py, batch_shape)."""
    slots = program.slots
    leaves, leaf_slots, primitives, sources, states = [], [], [], {}, 0
    kinds = {"batch": 1, "clock": 2, "random": 3}
    for i, s in enumerate(slots):
        if s.kind == INPUT:
            sources[i] = struct.pack(">BI", 2, len(leaves))
            leaves.append(bytes([kinds.get(s.name, 4)]) + shape(s))
            leaf_slots.append(i)
        elif s.kind in (PARAM, STATE):
            sources[i] = struct.pack(">BI", 3, states)
            states += 1
        elif s.kind == CONSTANT:
            sources[i] = b"\x04" + tensor_root(s.dtype, s.dims, s.value)
    inputs = len(leaves)
    for op in program.ops:
        all_slots, ops = macros.expand(slots, op)
        first, writers = len(primitives), {}
        for number, p in enumerate(ops):
            record = struct.pack(">H", p.code) + shape(all_slots[p.outputs[0]])
            record += struct.pack(">8Q", *p.attributes) + bytes([len(p.inputs)])
            for i in p.inputs:
                inside = i in writers
                record += struct.pack(">BI", 1, writers[i]) if inside else sources[i]
                record += shape(all_slots[i])
            writers[p.outputs[0]] = number
            primitives.append(record)
        for i in op.outputs:
            sources[i] = struct.pack(">BI", 2, len(leaves))
            leaves.append(b"\x00" + shape(slots[i]) + struct.pack(">3I", first, len(ops), writers[i]))
            leaf_slots.append(i)
    codec = delta_codec(program)
    sizes = [prod(s.dims) for s in slots if s.kind == PARAM]
    begins, offset = dense.layout(sizes) if codec == 1 else plain_layout(sizes)
    parameters, state = 0, []
    for s in slots:
        if s.kind == PARAM:
            state.append(shape(s) + sources[s.next] + struct.pack(">QI", begins[parameters], parameters))
            parameters += 1
        elif s.kind == STATE:
            state.append(shape(s) + sources[s.next] + bytes(12))
    leaf_of = lambda slot: struct.unpack(">I", sources[slot][1:])[0]
    named = dict(program.outputs)
    gradients = [struct.pack(">I", leaf_of(i)) for name, i in program.outputs if name.startswith("gradient.")]
    tag = lambda name, records: merkle_root([sha(name, r) for r in records])
    header = struct.pack(">6I", 1, inputs, len(leaves), len(primitives), len(state), len(gradients))
    for name in ("loss", "grad_norm", "skipped"):
        header += struct.pack(">I", leaf_of(named[name]) if name in named else NONE)
    header += struct.pack(">6IQ", *batch, parameters, offset)
    for name in ("outer.learning_rate", "outer.momentum"):
        header += struct.pack(">I", constant(program, name, "<I") or 0)
    header += tag(b"gym.gradient_leaf.v1", gradients) + tag(b"gym.trace_leaf.v1", leaves)
    header += tag(b"gym.primitive.v1", primitives) + tag(b"gym.state_slot.v1", state)
    header += struct.pack(">I", codec | update_codec(program) << 16) if codec else b""
    root = sha(b"gym.trace_program.v1", header)
    return Trace(header, primitives, leaves, state, gradients, root, leaf_slots)
