"""docs/PROGRAMS.md, "Gradients" and "The training step", in Python: a train program from its settings."""
from math import prod

import bits
import models
from expander import OF_CODE
from models import DEFAULTS, GUARD, LINEAR, OPTIMIZER, OUTER, Builder, Model, bits_of
from primitives import broadcast
from program import INPUT, STATE, TEMP, Program

LARGEST = bits.from_bits(0x7F7FFFFF)


def row_major(dims):
    return [prod(dims[k + 1:]) for k in range(len(dims))]


class Backward:
    """The gradients of a loss: the ops so far, differentiated from the last to the first."""

    def __init__(self, b, loss, wrt):
        self.b, self.flow, ops = b, {}, list(b.ops)
        self.needed = set(wrt)
        for op in ops:
            if self.needed & set(op.inputs):
                self.needed |= set(op.outputs)
        self.flow[loss] = b.scalar(1.0)
        for op in reversed(ops):
            if op.inputs and op.outputs[0] in self.needed and op.outputs[0] in self.flow:
                self.differentiate(op, self.flow[op.outputs[0]])

    def contribute(self, slot, gradient):
        if slot not in self.needed:
            return
        b, wanted, have = self.b, self.b.dims(slot), self.b.dims(gradient)
        if prod(wanted) != prod(have):
            if broadcast(wanted, have)[0] > 1:
                gradient = b.op("row_sum", (gradient,), (*have[:-1], 1))
            else:
                gradient = b.op("column_sum", (gradient,), wanted)
        self.flow[slot] = b.map("add", self.flow[slot], gradient) if slot in self.flow else gradient

    def through(self, name, inputs, of, attributes=()):
        """A gradient op of its own, whose outputs are the gradients of the slots `of`."""
        outputs = [self.b.slot(TEMP, 1, self.b.dims(i)) for i in of]
        self.b.append(name, inputs, outputs, attributes)
        for slot, gradient in zip(of, outputs):
            self.contribute(slot, gradient)

    def differentiate(self, op, dy):
        b, name, x, a = self.b, OF_CODE[op.code], op.inputs, op.attributes
        if name == "add":
            self.contribute(x[0], dy)
            self.contribute(x[1], dy)
        elif name == "sub":
            self.contribute(x[0], dy)
            if x[1] in self.needed:
                self.contribute(x[1], b.map("mul", dy, b.scalar(-1.0)))
        elif name in ("mul", "fma"):
            for this, other in ((x[0], x[1]), (x[1], x[0])):
                if this in self.needed:
                    self.contribute(this, b.map("mul", dy, other))
            if name == "fma":
                self.contribute(x[2], dy)
        elif name == "sqrt":
            self.contribute(x[0], b.map("div", b.map("mul", dy, b.scalar(0.5)), op.outputs[0]))
        elif name == "sigmoid":
            rest = b.map("sub", b.scalar(1.0), op.outputs[0])
            self.contribute(x[0], b.map("mul", dy, b.map("mul", op.outputs[0], rest)))
        elif name == "row_sum":
            ones = b.op("fill", (), b.dims(x[0]), attributes=(bits_of(1.0),))
            self.contribute(x[0], b.map("mul", ones, dy))
        elif name == "concat":
            first, columns = 0, b.dims(dy)[-1]
            for part in x:
                *rows, own = b.dims(part)
                if part in self.needed:
                    strides = [columns * prod(rows[k + 1:]) for k in range(len(rows))]
                    self.contribute(part, b.copy(dy, (*rows, own), first, (*strides, 1)))
                first += own
        elif name == "strided_copy":
            self.contribute(x[0], self.arranged_back(op, dy))
        elif name == "div":  # of a loss by the number of micro-batches
            self.contribute(x[0], b.map("div", dy, x[1]))
        elif name == "matmul":  # in models, of plain operands
            if x[0] in self.needed:
                self.contribute(x[0], b.matmul(dy, x[1], 0, 1))
            if x[1] in self.needed:
                self.contribute(x[1], b.matmul(dy, x[0], 1, 1))
        elif name == "gather_rows":
            self.through("embedding_grad", (dy, x[1]), x[:1])
        elif name == "gelu":
            self.through("gelu_grad", (x[0], dy), x)
        elif name == "rope":
            self.through("rope", (dy, x[1], x[2]), x[:1], (a[0], 1 - a[1]))
        elif name in ("layernorm", "rmsnorm"):
            saved = op.outputs[1:]
            self.through(name + "_grad", (x[0], x[1], *saved, dy), x)
        elif name in ("attention", "attention_documents"):
            self.through(name + "_grad", (x[0], *op.outputs, dy, *x[1:]), x[:1], a)
        elif name == "repeat_heads":
            self.through("repeat_heads_grad", (dy,), x, a)
        elif name == "swiglu":
            self.through("swiglu_grad", (x[0], x[1], dy), x)
        else:
            assert name == "cross_entropy"
            self.through("cross_entropy_grad", (x[0], x[1], *op.outputs[1:], dy), x[:1])

    def arranged_back(self, op, dy):
        """dy as the operand of a copy that has each of its elements once lies."""
        b, own, dims = self.b, self.b.dims(op.inputs[0]), self.b.dims(op.outputs[0])
        order = sorted(range(len(dims)), key=lambda k: -op.attributes[1 + k])
        if order != sorted(order):
            strides = row_major(dims)
            dy = b.copy(dy, [dims[k] for k in order], 0, [strides[k] for k in order])
        return dy if b.dims(dy) == own else b.copy(dy, own, 0, row_major(own))

    def of(self, slot):
        dims, found = self.b.dims(slot), self.flow[slot]
        if self.b.dims(found) == dims:
            return found
        return self.b.copy(found, dims, 0, row_major(dims))


def decay(value):
    """A beta, and what is left to one, each rounded once."""
    beta = bits.f32(value)
    return beta, bits.f32(1.0 - beta)


def schedule(o):
    """The learning rate of every step of a job, and the factors of a unit's first steps."""
    warm, total = o["warmup_steps"], o["total_steps"]
    peak, low = float(o["learning_rate"]), float(o["learning_rate_min"])
    rates = []
    for step in range(total + 1):
        if step < warm:
            rates.append(peak * (step + 1.0) / warm)
            continue
        turn = (step - warm) / (total - warm) if total != warm else 1.0
        y, series = turn * float.fromhex("0x1.921fb54442d18p+0"), 1.0
        for k in range(13, 0, -1):
            series = 1.0 - y * y / (2.0 * k * (2.0 * k + 1.0)) * series
        sine = y * series
        cosine = 1.0 - 2.0 * sine * sine
        factor = {"cosine": 0.5 * (1.0 + cosine), "linear": 1.0 - turn, "constant": 1.0}[o["schedule"]]
        rates.append(low + (peak - low) * factor)
    inner = o["inner_warmup_steps"]
    return rates, [(step + 1.0) / inner for step in range(inner)] + [1.0]


class Training:
    def __init__(self, config):
        self.m = {**DEFAULTS, **config["model"]}
        self.o = {**OPTIMIZER, **config.get("optimizer", {})}
        self.g = {**GUARD, **self.o["guard"]} if "guard" in self.o else None
        self.outer = {**OUTER, **config.get("outer", {})}
        self.compression, self.published = config.get("compression", "none"), config.get("update", "none")
        self.batch, self.parts = config["batch"], config.get("micro_batches", 1)
        self.b, self.params, self.keep = Builder(), [], None

    def passes(self):
        """Losses and gradients of every micro-batch, and the logits of the first."""
        b, dropouts, losses, gradients, logits = self.b, 0, [], [], None
        length = self.m["features" if self.m["architecture"] == "mlp" else "context"] + 1
        batch = b.slot(INPUT, 2, (self.batch, length), "batch")
        masked = self.m["architecture"] == "bert" and self.m["task"] == "masked"
        random = b.slot(INPUT, 2, (5,), "random") if self.m["dropout"] or masked else None
        share = self.batch // self.parts
        for part in range(self.parts):
            windows = batch if self.parts == 1 else b.copy(batch, (share, length), part * share * length, (length, 1))
            model = Model(b, self.m, self.params, random, dropouts)
            loss, found = model.loss(windows)
            logits, dropouts = found if logits is None else logits, model.dropouts
            losses.append(loss)
            if self.parts > 1:
                loss = b.map("div", loss, b.scalar(float(self.parts)))
            back = Backward(b, loss, [p[0] for p in self.params])
            gradients.append([back.of(p[0]) for p in self.params])
        return losses, gradients, logits

    def norm(self, gradients):
        b = self.b
        squares = [b.op("sum_squares", (g,), (1,)) for g in gradients]
        while len(squares) > 1:
            groups = [squares[i:i + 12] for i in range(0, len(squares), 12)]
            squares = [b.op("concat", g, (sum(b.dims(i)[0] for i in g),)) for g in groups]
        return b.map("sqrt", b.op("row_sum", squares, (1,)))

    def rate(self):
        b = self.b
        clock = b.slot(INPUT, 2, (2,), "clock")
        tables = [b.constant(n, (len(t), 1), t) for n, t in zip(("schedule", "inner_warmup"), schedule(self.o))]
        return b.map("mul", *[b.gather(table, b.copy(clock, (1,), k, (1,))) for k, table in enumerate(tables)])

    def guard(self, loss, norm):
        b, largest = self.b, self.b.scalar(LARGEST)
        norm_finite = b.map("less_equal", norm, largest)
        finite = b.map("mul", b.map("less_equal", loss, largest), norm_finite)
        if self.g["loss_factor"] == 0:
            return finite
        mean = b.slot(STATE, 1, (1,), "guard.loss_mean", 1)
        seen = b.slot(STATE, 1, (1,), "guard.loss_seen", 1)
        limit = b.map("mul", mean, b.scalar(self.g["loss_factor"]))
        keep = b.map("mul", finite, b.map("less_equal", loss, b.map("select", seen, limit, largest)))
        beta, rest = decay(self.g["loss_decay"])
        rest = b.scalar(rest)
        fresh = b.map("mul", b.map("min", loss, limit), rest)
        moved = b.map("fma", mean, b.scalar(beta), fresh)
        b.set_next(mean, b.map("select", finite, b.map("select", seen, moved, loss), mean))
        b.set_next(seen, b.map("select", finite, b.scalar(1.0), seen))
        return keep

    def correction(self, name, beta):
        b = self.b
        power = b.slot(STATE, 1, (1,), name, 1, 0x3F800000)
        moved = b.map("mul", power, b.scalar(beta))
        b.set_next(power, moved if self.keep is None else b.map("select", self.keep, moved, power))
        one = b.scalar(1.0)
        return b.map("div", one, b.map("sub", one, moved))

    def update(self, gradients, rate, clip):
        b, o, (beta1, rest1), (beta2, rest2) = self.b, self.o, decay(self.o["beta1"]), decay(self.o["beta2"])
        r1 = self.correction("beta1_power", beta1)
        r2 = self.correction("beta2_power", beta2)
        for (p, name, group), g in zip(self.params, gradients):
            dims = b.dims(p)
            m, v = (b.slot(STATE, 1, dims, prefix + name, 1) for prefix in ("m.", "v."))
            moved = [b.slot(TEMP, 1, dims) for _ in range(3)]
            decays = o["weight_decay"] if group == LINEAR or o[group] else 0.0
            attributes = [bits_of(x) for x in (beta1, rest1, beta2, rest2, o["epsilon"], decays)]
            inputs = [p, m, v, g, rate, clip, r1, r2] + ([] if self.keep is None else [self.keep])
            b.append("adamw" if self.keep is None else "adamw_guarded", inputs, moved, attributes)
            for old, new in zip((p, m, v), moved):
                b.set_next(old, new)

    def write(self):
        b = self.b
        losses, gradients, logits = self.passes()
        loss = losses[0]
        if self.parts > 1:
            count = b.scalar(float(self.parts))
            loss = b.map("div", b.op("sum_tensors", losses, (1,)), count)
            gradients = [[b.op("sum_tensors", gs, b.dims(gs[0])) for gs in zip(*gradients)]]
        gradients = gradients[0]
        norm = self.norm(gradients)
        room = b.map("div", b.scalar(self.o["clip_norm"]), norm)
        clip = b.map("min", room, b.scalar(1.0))
        rate = self.rate()
        if self.g is not None:
            self.keep = self.guard(loss, norm)
        self.update(gradients, rate, clip)
        for name in ("learning_rate", "momentum"):
            b.constant("outer." + name, (1,), [self.outer[name]])
        if self.compression == "dense-4bit":
            b.constant("delta.codec", (1,), [1.0])
        if self.published == "dense-4bit":
            b.constant("update.codec", (1,), [1.0])
        outputs = [("loss", loss), ("grad_norm", norm), ("logits", logits)]
        outputs += [("gradient." + name, g) for (_, name, _), g in zip(self.params, gradients)]
        if self.keep is not None:
            outputs.append(("skipped", b.map("sub", b.scalar(1.0), self.keep)))
        return Program(b.slots, b.ops, outputs)


def train_program(yaml):
    return Training(models.parse_yaml(yaml)).write()
