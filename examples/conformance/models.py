"""docs/PROGRAMS.md, "From YAML to a train program", in Python: settings to slots and ops, in their order."""
import math
import struct
from math import prod

import bits
from expander import CODES
from program import CONSTANT, NONE, PARAM, STATE, TEMP, Op, Slot

DEFAULTS = {
    "architecture": "gpt2", "mlp_ratio": 4, "tied_embeddings": True, "bias": False, "init_std": 0.02,
    "layernorm_epsilon": 1e-5, "rmsnorm_epsilon": 1e-5, "kv_heads": 0, "hidden_width": 0, "rope_theta": 10000,
    "head_width": 0, "qkv_bias": False, "rope_scaling": None, "classes": 0, "dropout": 0, "layers": 4,
}
OPTIMIZER = {
    "learning_rate": 1e-3, "learning_rate_min": 1e-4, "warmup_steps": 20, "total_steps": 1000, "inner_warmup_steps": 5,
    "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1, "clip_norm": 1.0, "schedule": "cosine",
    "decay_embeddings": False, "decay_norms": False, "decay_biases": False,
}
GUARD = {"loss_factor": 0, "loss_decay": 0.9}
OUTER = {"learning_rate": 0.7, "momentum": 0.9}
LINEAR, EMBEDDING, NORM, BIAS = "linear", "decay_embeddings", "decay_norms", "decay_biases"


def parse_yaml(text):
    """The part of YAML that the vectors use: nested mappings of scalars."""
    scalars = {"true": True, "false": False}
    stack = [(-1, {})]
    for line in text.splitlines():
        indent, (key, _, value) = len(line) - len(line.lstrip()), line.strip().partition(":")
        while stack[-1][0] >= indent:
            stack.pop()
        value = value.strip()
        if not value:
            stack.append((indent, stack[-1][1].setdefault(key, {})))
        elif value in scalars or not (value[0].isdigit() or value[0] in "+-."):
            stack[-1][1][key] = scalars.get(value, value)
        else:
            stack[-1][1][key] = float(value) if set(value) & set(".e") else int(value)
    return stack[0][1]


def bits_of(x):
    return bits.to_bits(bits.f32(x))


class Builder:
    def __init__(self):
        self.slots, self.ops, self.outputs, self.fills = [], [], [], {}

    def slot(self, kind, dtype, dims, name="", init=0, value_bits=0, value=b""):
        i = len(self.slots)
        own = i if kind in (PARAM, STATE) else NONE
        self.slots.append(Slot(kind, dtype, tuple(dims), name, init, value_bits, own, value))
        return i

    def constant(self, name, dims, values, dtype=1):
        known = next((i for i, s in enumerate(self.slots) if s.name == name), None)
        if known is not None:
            return known
        packed = b"".join(struct.pack("<i", v) if dtype == 2 else struct.pack("<I", bits_of(v)) for v in values)
        return self.slot(CONSTANT, dtype, dims, name, value=packed)

    def set_next(self, i, value):
        self.slots[i] = self.slots[i]._replace(next=value)

    def dims(self, i):
        return self.slots[i].dims

    def op(self, name, inputs, *shapes, attributes=(), dtype=1):
        outputs = [self.slot(TEMP, dtype, dims) for dims in shapes]
        return self.append(name, inputs, outputs, attributes)

    def append(self, name, inputs, outputs, attributes=()):
        self.ops.append(Op(CODES[name], list(inputs), outputs, list(attributes) + [0] * (8 - len(attributes))))
        return outputs[0]

    def map(self, name, *inputs):
        return self.op(name, inputs, self.dims(max(inputs, key=lambda i: prod(self.dims(i)))))

    def scalar(self, x):
        value = bits_of(x)
        if value not in self.fills:
            self.fills[value] = self.op("fill", (), (1,), attributes=(value,))
        return self.fills[value]

    def copy(self, x, dims, offset, strides):
        return self.op("strided_copy", (x,), dims, attributes=(offset, *strides), dtype=self.slots[x].dtype)

    def gather(self, table, indices):
        return self.op("gather_rows", (table, indices), (prod(self.dims(indices)), self.dims(table)[1]))

    def matmul(self, a, b, ta=0, tb=0):
        dims = (self.dims(a)[1 if ta else 0], self.dims(b)[1 if tb else 0])
        return self.op("matmul", (a, b), dims, attributes=(ta, tb))


class Model:
    """One pass through a model: what it computes from windows of tokens."""

    def __init__(self, b, m, params, random, dropouts):
        self.b, self.m, self.params, self.random, self.dropouts, self.used = b, m, params, random, dropouts, 0

    def param(self, name, dims, init, value, group):
        if self.used == len(self.params):
            self.params.append((self.b.slot(PARAM, 1, dims, name, init, bits_of(value)), name, group))
        self.used += 1
        return self.params[self.used - 1][0]

    def weight(self, name, dims, scale=1.0, group=LINEAR):
        return self.param(name, dims, 2, self.m["init_std"] * scale, group)

    def linear(self, x, name, dims, bias=False, scale=1.0):
        y = self.b.matmul(x, self.weight(name + ".weight", dims, scale))
        return self.b.map("add", y, self.param(name + ".bias", dims[:1], 1, 0.0, BIAS)) if bias else y

    def dropout(self, x):
        p = self.m["dropout"]
        if p == 0 or self.random is None:
            return x
        attributes = ((1 << 23) + self.dropouts, int(p * 2.0 ** 32), bits_of(1.0 / (1.0 - p)))
        self.dropouts += 1
        return self.b.map("mul", x, self.b.op("random_mask", (self.random,), self.b.dims(x), attributes=attributes))

    def layernorm(self, x, name):
        width, rows = self.m["width"], self.b.dims(x)[0]
        gamma = self.param(name + ".gamma", (width,), 1, 1.0, NORM)
        beta = self.param(name + ".beta", (width,), 1, 0.0, NORM)
        return self.b.op("layernorm", (x, gamma, beta), self.b.dims(x), (rows, 1), (rows, 1),
                         attributes=(bits_of(self.m["layernorm_epsilon"]),))

    def rmsnorm(self, x, name):
        gamma = self.param(name + ".gamma", (self.m["width"],), 1, 1.0, NORM)
        return self.b.op("rmsnorm", (x, gamma), self.b.dims(x), (self.b.dims(x)[0], 1),
                         attributes=(bits_of(self.m["rmsnorm_epsilon"]),))

    def attention(self, qkv):
        t, h = self.m["context"], self.m["heads"]
        rows, columns = self.b.dims(qkv)
        row = (rows // t, h, t, 1)
        scale = bits_of(1.0 / math.sqrt(columns // 3 // h))
        return self.b.op("attention", (qkv,), (rows, columns // 3), row, row, attributes=(t, h, scale))

    def gpt(self, tokens):
        b, m = self.b, self.m
        width, hidden, deep = m["width"], m["mlp_ratio"] * m["width"], 1.0 / math.sqrt(2.0 * m["layers"])
        table = self.weight("token_embedding", (m["vocabulary"], width), group=EMBEDDING)
        positions = self.weight("position_embedding", (m["context"], width), group=EMBEDDING)
        x = self.dropout(b.map("add", b.gather(table, tokens), positions))
        for layer in range(m["layers"]):
            name = f"blocks.{layer}"
            h = self.layernorm(x, name + ".norm1")
            h = self.linear(h, name + ".attention.qkv", (3 * width, width), m["bias"])
            h = self.attention(h)
            h = self.linear(h, name + ".attention.out", (width, width), m["bias"], deep)
            x = b.map("add", x, self.dropout(h))
            h = self.layernorm(x, name + ".norm2")
            h = self.linear(h, name + ".mlp.up", (hidden, width), m["bias"])
            h = b.map("gelu", h)
            h = self.linear(h, name + ".mlp.down", (width, hidden), m["bias"], deep)
            x = b.map("add", x, self.dropout(h))
        return self.layernorm(x, "final_norm"), table

    def llama(self, tokens):
        b, m = self.b, self.m
        width, heads, groups = m["width"], m["heads"], m["kv_heads"] or m["heads"]
        hidden, size = m["hidden_width"] or 4 * width, m["head_width"] or width // heads
        deep, (theta, scaling) = 1.0 / math.sqrt(2.0 * m["layers"]), rope_scaling(m)
        turns = rotary_tables(m["context"], size // 2, theta, scaling)
        cos, sin = (b.constant(n, (m["context"], size // 2), t) for n, t in zip(("rope.cos", "rope.sin"), turns))
        if scaling:
            b.constant("rope.scaling", (1 + len(scaling),), [theta, *scaling])
        table = self.weight("token_embedding", (m["vocabulary"], width), group=EMBEDDING)
        x = self.dropout(b.gather(table, tokens))
        for layer in range(m["layers"]):
            name = f"blocks.{layer}"
            h = self.rmsnorm(x, name + ".norm1")
            h = self.linear(h, name + ".attention.qkv", ((heads + 2 * groups) * size, width), m["qkv_bias"])
            h = b.op("rope", (h, cos, sin), b.dims(h), attributes=(heads + groups, 0))
            if groups != heads:
                h = b.op("repeat_heads", (h,), (b.dims(h)[0], 3 * heads * size), attributes=(heads, groups))
            h = self.linear(self.attention(h), name + ".attention.out", (width, heads * size), scale=deep)
            x = b.map("add", x, self.dropout(h))
            h = self.rmsnorm(x, name + ".norm2")
            gate = self.linear(h, name + ".mlp.gate", (hidden, width))
            up = self.linear(h, name + ".mlp.up", (hidden, width))
            h = self.linear(b.op("swiglu", (gate, up), b.dims(gate)), name + ".mlp.down", (width, hidden), scale=deep)
            x = b.map("add", x, self.dropout(h))
        return self.rmsnorm(x, "final_norm"), table

    def mlp(self, tokens):
        b, m, rows = self.b, self.m, self.b.dims(tokens)[0]
        n = m["levels"]
        values = b.constant("feature_values", (n, 1), [2.0 * i / (n - 1.0) - 1.0 for i in range(n)])
        x = b.copy(b.gather(values, tokens), (rows, m["features"]), 0, (m["features"], 1))
        for layer in range(m["layers"]):
            x = b.map("gelu", self.linear(x, f"layers.{layer}", (m["width"], b.dims(x)[1]), True))
        return self.linear(x, "head", (m["classes"], b.dims(x)[1]), True)

    def logits(self, windows):
        """Logits and targets of windows [windows, context + 1]."""
        b, m = self.b, self.m
        rows, length = b.dims(windows)
        tokens = b.copy(windows, (rows, length - 1), 0, (length, 1))
        targets = b.copy(windows, (rows,), length - 1, (length,)) if m["classes"] else \
            b.copy(windows, (rows, length - 1), 1, (length, 1))
        if m["classes"]:
            b.constant("batch.stride", (1,), [float(length)])
        if m["architecture"] == "mlp":
            return self.mlp(tokens), targets
        x, table = (self.llama if m["architecture"] == "llama" else self.gpt)(tokens)
        if m["classes"]:
            head = self.weight("head", (m["classes"], m["width"]))
            last = b.constant("last_positions", (rows,), [(i + 1) * (length - 1) - 1 for i in range(rows)], 2)
            return b.matmul(b.gather(x, last), head), targets
        head = table if m["tied_embeddings"] else self.weight("head", (m["vocabulary"], m["width"]))
        return b.matmul(x, head), targets


def rope_scaling(m):
    """theta, and the numbers that lower the frequencies: none, (factor,) or (factor, low, high, original context)."""
    given = m["rope_scaling"] or {"type": "none"}
    if given["type"] == "none":
        return m["rope_theta"], ()
    values = [m["rope_theta"], given.get("factor", 1)]
    if given["type"] == "llama3":
        values += [given.get("low_frequency_factor", 1), given.get("high_frequency_factor", 4),
                   given.get("original_context", 8192)]
    theta, *scaling = (bits.f32(v) for v in values)
    return theta, tuple(scaling)


def scaled(f, scaling):
    if len(scaling) < 4:
        return f / scaling[0] if scaling else f
    factor, low, high, original = scaling
    turns = original * f * float.fromhex("0x1.45f306dc9c883p-3")
    kept = min(max((turns - low) / (high - low), 0.0), 1.0)
    return (1 - kept) * f / factor + kept * f


def rotary_tables(positions, frequencies, theta, scaling=()):
    """cos and sin of position * theta^(-i / frequencies), lowered, in binary64 and in this order."""
    h, f, twos = float.fromhex, float(theta), 0
    while f >= 2:
        f, twos = f / 2, twos + 1
    z, series = (f - 1) / (f + 1), 0.0
    for k in range(30, -1, -1):
        series = 1.0 / (2 * k + 1) + z * z * series
    rate, cos, sin = twos * h("0x1.62e42fefa39efp-1") + 2 * z * series, [], []
    for position in range(positions):
        for i in range(frequencies):
            y, series = -(rate * i) / frequencies / 64, 1.0
            for k in range(24, 0, -1):
                series = 1 + y / k * series
            for _ in range(6):
                series = series * series
            angle = position * scaled(series, scaling)
            quarters = math.floor(angle * h("0x1.45f306dc9c883p-1") + 0.5)
            y = (angle - quarters * h("0x1.921fb544p+0")) - quarters * h("0x1.0b4611a626331p-34")
            c = s = 1.0
            for k in range(10, 0, -1):
                c = 1 - y * y / ((2.0 * k - 1) * (2.0 * k)) * c
                s = 1 - y * y / ((2.0 * k) * (2.0 * k + 1)) * s
            s = y * s
            turned = ((c, s), (-s, c), (-c, -s), (s, -c))[quarters % 4]
            cos.append(turned[0])
            sin.append(turned[1])
    return cos, sin
