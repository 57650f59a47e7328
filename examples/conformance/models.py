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
    "head_width": 0, "qkv_bias": False, "qk_norm": False, "rope_scaling": None, "classes": 0, "dropout": 0, "layers": 4,
    "task": "masked", "pooling": "first", "passages": 1, "mask_rate": 0.15, "mask_token": 0, "temperature": 0.05,
    "padding_token": None,
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
        self.counted = self.padding = None

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

    def random_mask(self, dims, p, value):
        attributes = ((1 << 23) + self.dropouts, int(p * 2.0 ** 32), bits_of(value))
        self.dropouts += 1
        return self.b.op("random_mask", (self.random,), dims, attributes=attributes)

    def dropout(self, x):
        p = self.m["dropout"]
        if p == 0 or self.random is None:
            return x
        return self.b.map("mul", x, self.random_mask(self.b.dims(x), p, 1.0 / (1.0 - p)))

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

    def attention(self, qkv, bidirectional=0, size=None):
        t, h = sequence_tokens(self.m), self.m["heads"]
        rows, columns = self.b.dims(qkv)
        row = (rows // t, h, t, 1)
        scale = bits_of(1.0 / math.sqrt(size or columns // 3 // h))
        return self.b.op("attention", (qkv,), (rows, columns // 3), row, row, attributes=(t, h, scale, bidirectional))

    def normed_heads(self, y, name, size):
        rows, columns = self.b.dims(y)
        gamma = self.param(name + ".gamma", (size,), 1, 1.0, NORM)
        heads = self.b.copy(y, (rows * (columns // size), size), 0, (size, 1))
        y = self.b.op("rmsnorm", (heads, gamma), self.b.dims(heads), (self.b.dims(heads)[0], 1),
                      attributes=(bits_of(self.m["rmsnorm_epsilon"]),))
        return self.b.copy(y, (rows, columns), 0, (columns, 1))

    def queries_keys_values(self, h, name, groups, size):
        width, heads, bias = self.m["width"], self.m["heads"], self.m["qkv_bias"]
        if not self.m["qk_norm"]:
            return self.linear(h, name + ".qkv", ((heads + 2 * groups) * size, width), bias)
        q = self.normed_heads(self.linear(h, name + ".q", (heads * size, width), bias), name + ".q_norm", size)
        k = self.normed_heads(self.linear(h, name + ".k", (groups * size, width), bias), name + ".k_norm", size)
        v = self.linear(h, name + ".v", (groups * size, width), bias)
        return self.b.op("concat", (q, k, v), (self.b.dims(q)[0], (heads + 2 * groups) * size))

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
            h = self.queries_keys_values(h, name + ".attention", groups, size)
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

    def numbers(self, name, count, step):
        return self.b.constant(name, (count,), [i * step for i in range(count)], 2)

    def hidden_rows(self, rows):
        """[rows, 1]: 1 where a token is hidden, else 0."""
        b, share = self.b, int(self.m["mask_rate"] * 2.0 ** 32)
        spread = [1.0 if (i + 1) * share >> 32 > i * share >> 32 else 4.0 for i in range(rows)]
        seen = b.constant("hidden_in_evaluation", (rows, 1), spread)
        if self.random is not None:
            seen = b.map("mul", seen, self.random_mask((rows, 1), self.m["mask_rate"], 2.0))
        bound = b.scalar(2.0)
        kept = b.map("less_equal", bound, seen)
        return b.map("sub", b.scalar(1.0), kept)

    def without(self, x):
        one = self.b.scalar(1.0)
        return self.b.map("sub", one, x)

    def padding_rows(self, tokens):
        """[tokens, 1]: 1 where a token is padding, else 0."""
        n, padding = self.m["vocabulary"], self.m["padding_token"]
        return self.b.gather(self.b.constant("is_padding", (n, 1), [float(i == padding) for i in range(n)]), tokens)

    def pattern(self, name, q, k, v):
        heads = self.m["heads"]
        values = self.b.constant("padding." + name, (3 * heads,), [q] * heads + [k] * heads + [v] * heads)
        return self.b.copy(values, (self.b.dims(self.padding)[0], 3 * heads, 1), 0, (0, 1, 0))

    def unpadded(self):
        """What attention that reads no padding has in common in all layers."""
        b = self.b
        wide = b.copy(self.padding, (b.dims(self.padding)[0], 3 * self.m["heads"], 1), 0, (1, 0, 0))
        read = b.map("mul", wide, self.pattern("read", 0.0, 1.0, 1.0))
        kept = self.without(read)
        bias = b.map("mul", wide, self.pattern("keys", 0.0, 2.0 ** 60, 0.0))
        return kept, bias, self.pattern("queries", 2.0 ** -6, 0.0, 0.0)

    def in_cells(self, x, cells):
        rows, columns = self.b.dims(x)
        return self.b.copy(x, (rows, cells, columns // cells), 0, (columns, columns // cells, 1))

    def widened(self, x, column):
        rows, cells, size = self.b.dims(x)
        wide = self.b.op("concat", (x, column), (rows, cells, size + 1))
        return self.b.copy(wide, (rows, cells * (size + 1)), 0, (cells * (size + 1), 1))

    def unpadded_attention(self, qkv, common, name):
        b, width, heads = self.b, self.m["width"], self.m["heads"]
        kept, bias, queries = common
        cells = b.map("mul", self.in_cells(qkv, 3 * heads), kept)
        square = b.map("mul", cells, cells)
        sums = b.op("row_sum", (square,), b.dims(cells)[:2] + (1,))
        length = b.map("sqrt", b.map("add", sums, b.scalar(1.0)))
        column = b.map("sub", b.map("mul", length, queries), bias)
        h = self.attention(self.widened(cells, column), 1, width // heads)
        weight = self.in_cells(self.weight(name + ".weight", (width, width)), heads)
        zeros = b.copy(b.scalar(0.0), (width, heads, 1), 0, (0, 0, 0))
        y = b.matmul(h, self.widened(weight, zeros))
        return b.map("add", y, self.param(name + ".bias", (width,), 1, 0.0, BIAS))

    def real_tokens(self):
        """[sequences, 1]: how many tokens of each are not padding."""
        b, t = self.b, sequence_tokens(self.m)
        n = b.dims(self.padding)[0] // t
        padded = b.op("row_sum", (b.copy(self.padding, (n, t), 0, (t, 1)),), (n, 1))
        return b.map("sub", b.scalar(float(t)), padded)

    def penalty(self):
        """[sequences, 1]: 2^20 where all is padding."""
        real = self.real_tokens()
        absent = self.without(self.b.map("less_equal", self.b.scalar(1.0), real))
        return self.b.map("mul", absent, self.b.scalar(2.0 ** 20))

    def bert(self, tokens):
        """The rows behind the blocks, the table, and the hidden rows of the task masked."""
        b, m, t, hidden = self.b, self.m, sequence_tokens(self.m), None
        width, inner = m["width"], m["hidden_width"] or 4 * m["width"]
        table = self.weight("token_embedding", (m["vocabulary"], width), group=EMBEDDING)
        positions = self.weight("position_embedding", (t, width), group=EMBEDDING)
        x = b.gather(table, tokens)
        pads = m["padding_token"] is not None
        self.padding = self.padding_rows(tokens) if pads else None
        if m["task"] == "masked":
            hidden = self.hidden_rows(b.dims(x)[0])
            if pads:
                hidden = b.map("mul", hidden, self.without(self.padding))
            row = b.gather(table, b.constant("mask_token", (1,), [m["mask_token"] or m["vocabulary"] - 1], 2))
            shown = b.map("sub", b.scalar(1.0), hidden)
            x = b.map("fma", hidden, row, b.map("mul", x, shown))
        common = self.unpadded() if pads else None
        x = self.dropout(self.layernorm(b.map("add", x, positions), "embedding_norm"))
        for layer in range(m["layers"]):
            name = f"blocks.{layer}"
            qkv = self.linear(x, name + ".attention.qkv", (3 * width, width), True)
            if pads:
                h = self.unpadded_attention(qkv, common, name + ".attention.out")
            else:
                h = self.linear(self.attention(qkv, 1), name + ".attention.out", (width, width), True)
            x = self.layernorm(b.map("add", x, self.dropout(h)), name + ".norm1")
            h = b.map("gelu", self.linear(x, name + ".mlp.up", (inner, width), True))
            h = self.linear(h, name + ".mlp.down", (width, inner), True)
            x = self.layernorm(b.map("add", x, self.dropout(h)), name + ".norm2")
        return x, table, hidden

    def pooled(self, x):
        b, t, width = self.b, sequence_tokens(self.m), self.m["width"]
        n = b.dims(x)[0] // t
        if self.m["pooling"] == "first":
            return b.gather(x, self.numbers("first_tokens", n, t))
        if self.padding is not None:
            x = b.map("mul", x, self.without(self.padding))
        columns = b.copy(x, (n, width, t), 0, (t * width, 1, width))
        sums = b.op("row_sum", (columns,), (n, width, 1))
        if self.padding is not None:
            sums = b.copy(sums, (n, width), 0, (width, 1))
            real = self.real_tokens()
            none = self.without(b.map("less_equal", b.scalar(1.0), real))
            return b.map("div", sums, b.map("add", real, none))
        return b.copy(b.map("div", sums, b.scalar(float(t))), (n, width), 0, (width, 1))

    def pooler(self, x):
        b, width = self.b, self.m["width"]
        p = self.linear(x, "pooler", (width, width), True)
        two = b.scalar(2.0)
        d = b.map("mul", b.map("sigmoid", b.map("mul", p, two)), two)
        return self.dropout(b.map("sub", d, b.scalar(1.0)))

    def similarities(self, x):
        b, m = self.b, self.m
        width, group = m["width"], m["passages"] + 1
        u = self.pooled_units(x, b.constant, width)
        n = b.dims(u)[0] // group
        q = b.gather(u, self.numbers("queries", n, group))
        others = [i for i in range(n * group) if i % group]
        p = b.gather(u, b.constant("passages", (len(others),), others, 2))
        scores = b.map("mul", b.matmul(q, p), b.scalar(1.0 / m["temperature"]))
        if self.padding is None:
            return scores
        absent = b.gather(self.penalty(), b.constant("passages", (len(others),), others, 2))
        return b.map("sub", scores, b.copy(absent, (len(others),), 0, (1,)))

    def pooled_units(self, x, constant, width):
        unit = constant("unit_length", (width,), [1.0 / math.sqrt(width)] * width)
        y = self.pooled(x)
        return self.b.op("rmsnorm", (y, unit), self.b.dims(y), (self.b.dims(y)[0], 1), attributes=(bits_of(1e-12),))

    def bert_logits(self, tokens, rows):
        b, m, width = self.b, self.m, self.m["width"]
        x, table, self.counted = self.bert(tokens)
        if m["task"] == "masked":
            h = b.map("gelu", self.linear(x, "transform", (width, width), True))
            h = self.layernorm(h, "transform_norm")
            head = table if m["tied_embeddings"] else self.weight("head", (m["vocabulary"], width))
            scores = b.matmul(h, head)
            return b.map("add", scores, self.param("head.bias", (m["vocabulary"],), 1, 0.0, BIAS))
        if m["task"] == "embed":
            return self.similarities(x)
        p = self.pooler(self.pooled(x))
        if m["task"] == "classify":
            return self.linear(p, "head", (m["classes"], width), True)
        scores = b.matmul(p, self.weight("head", (1, width)))
        if self.padding is not None:
            scores = b.map("sub", scores, self.penalty())
        return b.copy(scores, (rows, m["passages"]), 0, (m["passages"], 1))

    def loss(self, windows):
        """Loss and logits of windows [windows, context + 1]."""
        b = self.b
        logits, targets = self.logits(windows)
        rows, columns = b.dims(logits)
        entropy = lambda x: b.op("cross_entropy", (x, targets), (1,), (rows, 1), (rows, 1))
        if self.counted is None:
            return entropy(logits), logits
        mean = entropy(b.map("mul", logits, self.counted))
        count = b.scalar(float(rows))
        n = b.op("column_sum", (self.counted,), (1,))
        each = b.map("log", b.scalar(float(columns)))
        others = b.map("mul", b.map("sub", count, n), each)
        total = b.map("sub", b.map("mul", mean, count), others)
        return b.map("div", total, b.map("add", n, b.scalar(1e-5))), logits

    def logits(self, windows):
        """Logits and targets of windows [windows, context + 1]."""
        b, m = self.b, self.m
        rows, length = b.dims(windows)
        tokens = b.copy(windows, (rows, length - 1), 0, (length, 1))
        task = m["task"] if m["architecture"] == "bert" else None
        label = m["classes"] or task in ("embed", "rerank")
        if task == "masked":
            targets = tokens
        elif task != "embed":
            targets = b.copy(windows, (rows,), length - 1, (length,)) if label else \
                b.copy(windows, (rows, length - 1), 1, (length, 1))
        if label or m["padding_token"] is not None:
            b.constant("batch.stride", (1,), [float(length)])
        if not label and m["padding_token"] is not None:
            b.constant("batch.padding", (1,), [float(m["padding_token"])])
        if task == "embed":
            targets = self.numbers("relevant", rows, m["passages"])
        if task:
            return self.bert_logits(tokens, rows), targets
        if m["architecture"] == "mlp":
            return self.mlp(tokens), targets
        x, table = (self.llama if m["architecture"] == "llama" else self.gpt)(tokens)
        if m["classes"]:
            head = self.weight("head", (m["classes"], m["width"]))
            last = b.constant("last_positions", (rows,), [(i + 1) * (length - 1) - 1 for i in range(rows)], 2)
            return b.matmul(b.gather(x, last), head), targets
        head = table if m["tied_embeddings"] else self.weight("head", (m["vocabulary"], m["width"]))
        scores = b.matmul(x, head)
        if m["padding_token"] is not None:
            self.counted = self.without(self.padding_rows(targets))
        return scores, targets


def sequence_tokens(m):
    """Tokens of one of the sequences that share a window's context."""
    if m["architecture"] != "bert" or m["task"] not in ("embed", "rerank"):
        return m["context"]
    return m["context"] // (m["passages"] + (m["task"] == "embed"))


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
