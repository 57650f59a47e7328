"""Units of training, outer steps and evaluations: docs/PROTOCOL.md and docs/NUMERICS.md, in Python."""
import struct
from math import prod

import bits
import dense
import macros
import primitives
import program as programs
from expander import CODES
from program import CONSTANT, DTYPES, INPUT, PARAM, STATE, chunk_leaves, merkle_root, sha, tensor_root


def batch_shape(program):
    """Windows, tokens of a window, stride, vocabulary, classes: what the trace header says of the batch."""
    slot = programs.slot_named(program, "batch")
    if slot is None:
        return 0, 0, 0, 0, 0
    windows, length = program.slots[slot].dims
    of = lambda name: [op for op in program.ops if op.code == CODES[name]]
    columns = [program.slots[op.inputs[0]].dims[-1] for op in of("cross_entropy")]
    vocabulary, classes, stride = (columns or [0])[0], 0, 1
    if programs.slot_named(program, "batch.stride") is not None:
        stride = length
        if programs.slot_named(program, "batch.padding") is None:
            classes, vocabulary = vocabulary, program.slots[of("gather_rows")[0].inputs[0]].dims[0]
    return windows, length - 1, stride, vocabulary, classes


def run(program, state, inputs):
    """One run: `state` and `inputs` are lists by name. Returns all values by slot, and the next state."""
    slots, values = program.slots, {}
    for i, s in enumerate(slots):
        if s.kind in (PARAM, STATE):
            values[i] = state[s.name]
        elif s.kind == INPUT:
            values[i] = inputs[s.name]
        elif s.kind == CONSTANT:
            values[i] = primitives.from_bytes(s.dtype, s.value)
    for op in program.ops:
        all_slots, ops = macros.expand(slots, op)
        inside = {}
        for primitive in ops:
            lookup = {i: inside[i] if i in inside else values[i] for i in primitive.inputs}
            inside[primitive.outputs[0]] = primitives.run(primitive, all_slots, lookup)
        values.update({i: inside[i] for i in op.outputs})
    return values, {s.name: values[s.next] for s in slots if s.kind in (PARAM, STATE)}


def value_root(slot, values):
    return tensor_root(slot.dtype, slot.dims, primitives.to_bytes(slot.dtype, values))


def state_slots(program, kinds=(PARAM, STATE)):
    return [s for s in program.slots if s.kind in kinds]


def state_root(program, state, kinds=(PARAM, STATE)):
    return merkle_root([value_root(s, state[s.name]) for s in state_slots(program, kinds)])


def state_blob(tensors):
    """An encoded state, of (name, dtype, dims, bytes) each."""
    padded = lambda data: data + bytes(-len(data) % 1024)
    names = struct.pack(">I", len(tensors))
    for name, dtype, dims, _ in tensors:
        names += struct.pack(f">I{len(name)}sBB{len(dims)}Q", len(name), name.encode(), dtype, len(dims), *dims)
    chunks = (len(names) + 12 + 1023) // 1024
    head = padded(b"GYMSTAT2" + struct.pack(">I", chunks) + names)
    return head + b"".join(padded(data) for *_, data in tensors)


def tensors_of(slots, state, prefix=""):
    return [(prefix + s.name, s.dtype, s.dims, primitives.to_bytes(s.dtype, state[prefix + s.name])) for s in slots]


def outer_blob(program, state):
    """The encoded outer state of a state after outer_step() or publish_step()."""
    params = state_slots(program, (PARAM,))
    tensors = tensors_of(params, state, "momentum.")
    if "update" in state:
        update = state["update"]
        tensors += tensors_of(params, state, "residual.")
        tensors.append(("update", programs.DTYPES["u8"], [len(update)], update))
    return state_blob(tensors)


def key_of(seed):
    return struct.unpack("<2I", seed[:8])


def initial_state(program, seed):
    """Parameters and optimizer state of a new job."""
    state = {}
    for i, s in enumerate(program.slots):
        if s.kind in (PARAM, STATE):
            value, count = bits.from_bits(s.bits), prod(s.dims)
            drawn = lambda block: bits.mul(bits.unit_variance(bits.philox(key_of(seed), 0, 0, 0, i + 1, block)), value)
            state[s.name] = [drawn(k) for k in range(count)] if s.init == 2 else [value] * count
    return state


class Dataset:
    def __init__(self, data):
        assert data[:8] in (b"GYMDATA1", b"GYMDATA2")
        if data[:8] == b"GYMDATA1":
            self.vocabulary, count = struct.unpack_from(">IQ", data, 8)
            width, head = 2, 20
        else:
            width, self.vocabulary, chunk, zero, count = struct.unpack_from(">IIIIQ", data, 8)
            head, self.tokenizer = 64, data[32:64]
            assert (chunk, zero, width) == (1024, 0, 2 if self.vocabulary <= 65536 else 4)
            assert width == 4 or any(self.tokenizer)
        assert len(data) == head + width * count
        dtype = DTYPES["u16" if width == 2 else "u32"]
        self.tokens = primitives.from_bytes(dtype, data[head:])
        self.root = tensor_root(dtype, [count], data[head:])
        if head == 64:
            self.root = merkle_root([*chunk_leaves(data[:64]), self.root])
        self.training = count - count // 10


def windows_at(tokens, starts, length):
    return [t for s in starts for t in tokens[s:s + length]]


def step_inputs(program, dataset, seed, unit, step):
    windows, tokens, stride, _, _ = batch_shape(program)
    starts = (dataset.training - tokens - 1) // stride + 1
    at = []
    for i in range(windows):
        w = bits.philox(key_of(seed), unit["round"], unit["slot"], step, 0, i)
        at.append(stride * ((w[0] + (w[1] << 32)) * starts >> 64))
    k0, k1 = (w - (w >> 31 << 32) for w in key_of(seed))
    clock = min(unit["round"] * unit["steps"] + step, (1 << 31) - 1)
    return {"batch": windows_at(dataset.tokens, at, tokens + 1), "clock": [clock, step],
            "random": [k0, k1, unit["round"], unit["slot"], step]}


def encode_record(step, batch_root, loss, norm, skipped, gradient_root=None, root=None):
    flags = (1 if gradient_root else 0) | (2 if skipped else 0)
    record = struct.pack(">Q32sIIB", step, batch_root, loss, norm, flags) + (gradient_root or b"")
    return record + (b"\x01" + root if root else b"\x00")


def records_root(records):
    link, links = bytes(32), []
    for record in records:
        link = sha(link, record)
        links.append(link)
    return merkle_root(links)


def encode_delta(program, before, after):
    params = state_slots(program, (PARAM,))
    parts = [[bits.sub(a, b) for a, b in zip(after[s.name], before[s.name])] for s in params]
    if programs.delta_codec(program) == 1:
        return dense.encode_delta(parts)
    return b"GYMDLTA1" + struct.pack(">II", 0, len(params)) + b"".join(primitives.to_bytes(1, p) for p in parts)


def decode_delta(params, codec, delta):
    """The elements of each parameter, by its name."""
    values, at = {}, 1 if codec == 1 else 16
    for s in params:
        if codec == 1:
            values[s.name] = dense.decode_parameter(delta, at, prod(s.dims))
            at += dense.rows_of(prod(s.dims))
        else:
            values[s.name] = primitives.from_bytes(1, delta[at:at + programs.size_bytes(s)])
            at += programs.size_bytes(s)
    return values


def run_unit(program, dataset, seed, base, unit):
    """`unit`: round, slot, steps, checkpoint_every. Returns records, final state, delta and the last step's chunks."""
    fresh = initial_state(program, seed)
    state = {s.name: base[s.name] if s.kind == PARAM else fresh[s.name] for s in state_slots(program)}
    outputs, records, values = dict(program.outputs), [], {}
    for step in range(unit["steps"]):
        inputs = step_inputs(program, dataset, seed, unit, step)
        values, state = run(program, state, inputs)
        bits_of = lambda name: bits.to_bits(values[outputs[name]][0])
        batch = next(s for s in program.slots if s.name == "batch")
        roots = [None, None]
        if (step + 1) % unit["checkpoint_every"] == 0 or step + 1 == unit["steps"]:
            gradients = [i for name, i in program.outputs if name.startswith("gradient.")]
            roots = [merkle_root([value_root(program.slots[i], values[i]) for i in gradients]),
                     state_root(program, state)]
        skipped = "skipped" in outputs and bits_of("skipped") != 0
        records.append(encode_record(step, value_root(batch, inputs["batch"]), bits_of("loss"), bits_of("grad_norm"),
                                     skipped, *roots))
    chunks = []
    for op in program.ops:
        for i in op.outputs:
            chunks += programs.chunk_leaves(primitives.to_bytes(program.slots[i].dtype, values[i]))
    return records, state, encode_delta(program, base, state), chunks


# Programs that follow from a train program.

def delta_weights(deltas, held):
    """What each of so many deltas is multiplied with, or None, and what the sum is divided by. `held` has how many are
    of the round before in its low 16 bits, behind the others; in the next eight how many are subtracted, behind those;
    in the last eight how many of these, the last ones, were held when they went in."""
    held, withdrawn, single = held & 0xFFFF, held >> 16 & 0xFF, held >> 24
    added = deltas - withdrawn
    timely = added - held
    if withdrawn == 0 and (held == 0 or timely == 0):
        return None, added
    return [2.0] * timely + [1.0] * held + [-2.0] * (withdrawn - single) + [-1.0] * single, added + timely


def aggregate_program(train, deltas, held=0):
    """The outer step over so many deltas, which count what delta_weights() says."""
    slots, ops = [], []

    def slot(*fields, **named):
        slots.append(programs.Slot(*fields, **named))
        return len(slots) - 1

    def op(name, inputs, dims, attributes=()):
        ops.append(programs.Op(CODES[name], inputs, [slot(programs.TEMP, 1, dims)],
                               list(attributes) + [0] * (8 - len(attributes))))
        return len(slots) - 1

    constants = [train.slots[programs.slot_named(train, f"outer.{n}")] for n in ("learning_rate", "momentum")]
    rate, mu = (slot(*c) for c in constants)
    factors, divisor = delta_weights(deltas, held)
    weighted = factors is not None
    count = op("fill", [], (1,), [bits.to_bits(float(divisor))])
    if weighted:
        value = primitives.to_bytes(1, factors)
        weights = slot(CONSTANT, 1, (deltas, 1), "outer.weights", value=value)
    for p in state_slots(train, (PARAM,)):
        base = slot(*p)
        momentum = slot(STATE, 1, p.dims, "momentum." + p.name, 1, 0)
        dims = (deltas, prod(p.dims)) if weighted else (deltas, *p.dims)
        delta = slot(INPUT, 1, dims, "delta." + p.name)
        if weighted:
            delta = op("mul", [delta, weights], dims)
        mean = op("div", [op("column_sum", [delta], p.dims), count], p.dims)
        moved = op("fma", [momentum, mu, mean], p.dims)
        direction = op("fma", [moved, mu, mean], p.dims)
        slots[momentum] = slots[momentum]._replace(next=moved)
        slots[base] = slots[base]._replace(next=op("fma", [direction, rate, base], p.dims))
    return programs.Program(slots, ops, [])


def evaluation_program(train, output="loss"):
    """What an output needs, without dropout; parameters stay."""
    instead, masks = {}, set()
    for op in train.ops:
        if op.code == CODES["random_mask"]:
            masks.add(op.outputs[0])
        if op.code == CODES["mul"] and op.inputs[1] in masks:
            instead[op.outputs[0]] = instead.get(op.inputs[0], op.inputs[0])
    source = lambda i: instead.get(i, i)
    root = source(dict(train.outputs)[output])
    cuts = {programs.slot_named(train, name) for name in ("batch.stride", "batch.padding")}
    needed, kept = ({root} | cuts) - {None}, []
    for op in reversed(train.ops):
        if needed & set(op.outputs):
            needed |= {source(i) for i in op.inputs} | set(op.outputs)
            kept.insert(0, op)
    new = {old: i for i, old in enumerate(sorted(needed))}
    slots = [train.slots[old] for old in sorted(needed)]
    slots = [s._replace(next=i) if s.next != programs.NONE else s for i, s in enumerate(slots)]
    ops = [programs.Op(o.code, [new[source(i)] for i in o.inputs], [new[i] for i in o.outputs], o.attributes)
           for o in kept]
    return programs.Program(slots, ops, [(output, new[root])])


def exact_sum(values):
    e = primitives.row_exponent(values)
    total = sum(primitives.quantise(v, e, 30, 32) for v in values)
    return bits.NAN if e == primitives.POISONED else bits.scale2(bits.from_integer(total), e - 30)


def evaluate(train, dataset, base, windows_max):
    """The evaluation root over the validation split."""
    program = evaluation_program(train)
    windows, tokens, stride, _, _ = batch_shape(program)
    first = -dataset.training % stride
    places = (len(dataset.tokens) - dataset.training - first - tokens - 1) // stride + 1
    batches = max(1, min(windows_max, places) // windows)
    losses = []
    for b in range(batches):
        spread = [(b * windows + i) * places // (batches * windows) for i in range(windows)]
        starts = [dataset.training + first + s * stride for s in spread]
        values, _ = run(program, base, {"batch": windows_at(dataset.tokens, starts, tokens + 1)})
        losses.append(values[dict(program.outputs)["loss"]][0])
    mean = bits.div(exact_sum(losses), float(batches))
    numbers = [bits.to_bits(v) for v in (*losses, mean, bits.exp(mean))]
    # The parameters of the evaluation program alone, in its slot order.
    return sha(b"GYMEVAL1", programs.program_root(program), state_root(program, base), dataset.root,
               struct.pack(">2I", batches * windows, batches), *(struct.pack(">I", n) for n in numbers))


def outer_state(train, base):
    """The state of an outer step before the first: no momentum."""
    state = {}
    for s in state_slots(train, (PARAM,)):
        state[s.name] = base[s.name]
        state["momentum." + s.name] = [0.0] * prod(s.dims)
    return state


def moved(program, state, deltas, codec):
    """The program's state after an outer step over deltas, as bytes."""
    params = state_slots(program, (PARAM,))
    values = [decode_delta(params, codec, d) for d in deltas]
    inputs = {"delta." + s.name: [v for one in values for v in one[s.name]] for s in params}
    return run(program, state, inputs)[1]


def outer_record(deltas, held, base, outer):
    """The step's record. `base`, `outer`: the roots of the tensors of the next base and outer state."""
    included = sha(b"gym.included.v2", struct.pack(">II", len(deltas), held),
                   merkle_root([programs.blob_root(d) for d in deltas]))
    return encode_record(0, included, 0, 0, False, None, merkle_root(base + outer))


def roots_of(params, state, prefix=""):
    return [value_root(s, state[prefix + s.name]) for s in params]


def outer_step(program, state, deltas, held=0, codec=0):
    """An outer step over deltas, in the order of delta_weights(): the next state, its step
    record, and the root of the outer state."""
    params = state_slots(program, (PARAM,))
    state = moved(program, state, deltas, codec)
    outer = roots_of(params, state, "momentum.")
    return state, outer_record(deltas, held, roots_of(params, state), outer), merkle_root(outer)


def publish_step(program, state, deltas, held, codec):
    """The same where the update goes down in rows: the residual is moved, and the base goes as far as the rows say."""
    params = state_slots(program, (PARAM,))
    left = {s.name: state.get("residual." + s.name, [0.0] * prod(s.dims)) for s in params}
    after = moved(program, {**state, **left}, deltas, codec)
    update = dense.encode_delta([after[s.name] for s in params])
    step = decode_delta(params, 1, update)
    for s in params:
        made, rows = after[s.name], step[s.name]
        after[s.name] = [bits.add(b, d) for b, d in zip(state[s.name], rows)]
        after["residual." + s.name] = [bits.sub(u, d) for u, d in zip(made, rows)]
    outer = roots_of(params, after, "momentum.") + roots_of(params, after, "residual.")
    outer.append(programs.blob_root(update))
    after["update"] = update
    return after, outer_record(deltas, held, roots_of(params, after), outer), merkle_root(outer)
