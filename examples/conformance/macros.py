"""docs/MACROS.md, "Expansions", in Python: what every macro is made of, primitive by primitive, in order.

A function per macro: the expander, the attributes, then the slots of the inputs and of the outputs.
"""
from math import prod

from expander import DTYPE_NAMES, F32, I32, I64, MINUS_INFINITY, OF_CODE, ONE, Expander, blocks


def row_sum(e, a, x, y):
    e.exact_sum(x, y)


def column_sum(e, a, x, y):
    e.column_sum(x, prod(e.dims(y)), y)


def sum_squares(e, a, x, y):
    e.exact_sum(e.map("mul", x, x, dims=(prod(e.dims(x)),)), y)


def sum_tensors(e, a, *slots):
    *xs, y = slots
    n = prod(e.dims(xs[0]))
    columns = [e.copy(x, (n, 1), 0, (1, 0)) for x in xs]
    e.exact_sum(e.emit("concat", columns, F32, (n, len(xs))), y)


def matmul(e, a, x, y, out):
    x = e.transpose(x) if a[0] else x
    y = e.transpose(y) if a[1] else y
    e.product(x, y, out)


def layernorm(e, a, x, gamma, beta, y, mean, rstd):
    w = e.number(e.dims(x)[1])
    e.map("div", e.exact_sum(x), w, to=mean)
    c = e.map("sub", x, mean)
    var = e.map("div", e.exact_sum(e.map("mul", c, c)), w)
    eps = e.fill(a[0])
    e.map("rsqrt", e.map("add", var, eps), to=rstd)
    e.map("fma", e.map("mul", c, rstd), gamma, beta, to=y)


def layernorm_grad(e, a, x, gamma, mean, rstd, dy, dx, dgamma, dbeta):
    columns = e.dims(x)[1]
    w = e.number(columns)
    n = e.map("mul", e.map("sub", x, mean), rstd)
    g = e.map("mul", dy, gamma)
    row = e.map("div", e.exact_sum(g), w)
    b = e.map("div", e.exact_sum(e.map("mul", g, n)), w)
    ga = e.map("sub", g, row)
    inner = e.map("sub", ga, e.map("mul", n, b))
    e.map("mul", inner, rstd, to=dx)
    e.column_sum(e.map("mul", dy, n), columns, dgamma)
    e.column_sum(dy, columns, dbeta)


def rmsnorm(e, a, x, gamma, y, rstd):
    w = e.number(e.dims(x)[1])
    ms = e.map("div", e.exact_sum(e.map("mul", x, x)), w)
    eps = e.fill(a[0])
    e.map("rsqrt", e.map("add", ms, eps), to=rstd)
    e.map("mul", e.map("mul", x, rstd), gamma, to=y)


def rmsnorm_grad(e, a, x, gamma, rstd, dy, dx, dgamma):
    columns = e.dims(x)[1]
    w = e.number(columns)
    n = e.map("mul", x, rstd)
    g = e.map("mul", dy, gamma)
    b = e.map("div", e.exact_sum(e.map("mul", g, n)), w)
    inner = e.map("sub", g, e.map("mul", n, b))
    e.map("mul", inner, rstd, to=dx)
    e.column_sum(e.map("mul", dy, n), columns, dgamma)


def gelu_grad(e, a, x, dy, dx):
    c0, c1, c2, one = (e.fill(v) for v in (0x3FCC422A, 0x3D922279, 0x3E5B33B6, ONE))
    x2 = e.map("mul", x, x)
    s = e.map("sigmoid", e.map("mul", x, e.map("fma", x2, c1, c0)))
    slope = e.map("mul", x, e.map("fma", x2, c2, c0))
    u = e.map("fma", slope, e.map("sub", one, s), one)
    e.map("mul", dy, e.map("mul", s, u), to=dx)


def swiglu(e, a, gate, up, y):
    e.map("mul", e.map("silu", gate), up, to=y)


def swiglu_grad(e, a, gate, up, dy, dgate, dup):
    one = e.fill(ONE)
    s = e.map("sigmoid", gate)
    u = e.map("fma", gate, e.map("sub", one, s), one)
    arriving = e.map("mul", dy, up)
    e.map("mul", arriving, e.map("mul", s, u), to=dgate)
    e.map("mul", dy, e.map("silu", gate), to=dup)


def heads_of(e, a, qkv):
    rows, columns = e.dims(qkv)
    t, h = a[0], a[1]
    return rows // t, h, t, columns // (3 * h)


def split(e, x, shape, columns, offset):
    b, h, t, k = shape
    return e.copy(x, shape, offset, (t * columns, k, columns, 1))


def join(e, x, shape, to=None):
    b, h, t, k = shape
    four = e.copy(x, (b, t, h, k), 0, (h * t * k, k, t * k, 1))
    return e.copy(four, (b * t, h * k), 0, (h * k, 1), to)


def mask_of(e, a, shape, documents=None):
    """A function of x and the bits of what stands where a score does not count."""
    if documents is None:
        return lambda x, value: x if a[3] else e.causal_fill(x, value)
    b, h, t, _ = shape
    query, key = e.copy(documents, (b, t, 1), 0, (t, 1)), e.copy(documents, (b, t, t), 0, (t, 0, 1))
    own = e.causal_fill(e.map("less_equal", query, key), 0)
    own = e.copy(own, (b, h, t, t), 0, (t * t, 0, t, 1))
    return lambda x, value: e.map("select", own, x, e.fill(value))


def numerators(e, a, qkv, shape, mask, m, m_output):
    d = shape[1] * shape[3]
    q, k, v = (split(e, qkv, shape, 3 * d, part * d) for part in range(3))
    qs = e.map("mul", q, e.fill(a[2]))
    seen = mask(e.product(qs, k), MINUS_INFINITY)
    if m_output is not None:
        m = e.reduce("block_max", seen, m_output)
    grown = e.map("exp", e.map("sub", seen, m))
    return qs, k, v, grown, mask(grown, 0)


def attention(e, a, qkv, o, m, l):
    shape = heads_of(e, a, qkv)
    qs, k, v, grown, p = numerators(e, a, qkv, shape, mask_of(e, a, shape), None, m)
    e.exact_sum(p, l, 1)
    n = e.product(p, e.transpose(v), constant=0)
    join(e, e.map("div", n, l), shape, o)


def attention_documents(e, a, qkv, documents, o, m, l):
    shape = heads_of(e, a, qkv)
    b, h, t, _ = shape
    mask = mask_of(e, a, shape, documents)
    qs, k, v, grown, p = numerators(e, a, qkv, shape, mask, None, m)
    e.exact_sum(p, l, 1)
    s = e.powers(e.row_exponents(v))
    fractions = e.map("div", v, s)
    wide = e.copy(s, (b, h, t, t), 0, (h * t, t, 0, 1))
    weights = mask(e.map("mul", grown, wide), 0)
    n = e.product(weights, e.transpose(fractions), constant_b=0)
    join(e, e.map("div", n, l), shape, o)


def attention_documents_grad(e, a, qkv, o, m, l, do, documents, dqkv):
    attention_grad(e, a, qkv, o, m, l, do, dqkv, documents)


def attention_grad(e, a, qkv, o, m, l, do, dqkv, documents=None):
    shape = heads_of(e, a, qkv)
    d = shape[1] * shape[3]
    mask = mask_of(e, a, shape, documents)
    qs, k, v, _, p = numerators(e, a, qkv, shape, mask, m, None)
    s2 = e.fill(a[2])
    of, dof = split(e, o, shape, d, 0), split(e, do, shape, d, 0)
    g = e.map("div", dof, l)
    delta = e.exact_sum(e.map("mul", g, of))
    ds = mask(e.map("mul", p, e.map("sub", e.product(g, v), delta)), 0)
    dq = e.map("mul", e.product(ds, e.transpose(k)), s2)
    dst = e.transpose(ds)
    dk = e.product(dst, e.transpose(qs))
    pt = e.transpose(p)
    dv = e.product(pt, e.transpose(g), constant=0)
    parts = [join(e, x, shape) for x in (dq, dk, dv)]
    e.emit("concat", parts, F32, (), to=dqkv)


def rope(e, a, x, cos, sin, y):
    rows, c = e.dims(x)
    t, p = e.dims(cos)
    h, b = a[0], rows // t
    strides, half = (t * c, 2 * p, c, 1), (b, h, t, p)
    first, second = e.copy(x, half, 0, strides), e.copy(x, half, p, strides)
    ac, bs = e.map("mul", first, cos), e.map("mul", second, sin)
    bc, as_ = e.map("mul", second, cos), e.map("mul", first, sin)
    y1 = e.map("add" if a[1] else "sub", ac, bs)
    y2 = e.map("sub" if a[1] else "add", bc, as_)
    z = e.emit("concat", (y1, y2), F32, (b, h, t, 2 * p))
    by_token = e.copy(z, (b, t, h, 2 * p), 0, (2 * h * t * p, 2 * p, 2 * t * p, 1))
    turned = 2 * h * p
    front = e.copy(by_token, (rows, turned), 0, (turned, 1), y if turned == c else None)
    if turned != c:
        e.emit("concat", (front, e.copy(x, (rows, c - turned), turned, (c, 1))), F32, (), to=y)


def repeat_heads(e, a, x, y):
    rows, c = e.dims(x)
    h, g = a[0], a[1]
    k = c // (h + 2 * g)
    parts = [e.copy(x, (rows, h * k), 0, (c, 1))]
    for offset in (h * k, (h + g) * k):
        spread = e.copy(x, (rows, g, h // g, k), offset, (c, k, 0, 1))
        parts.append(e.copy(spread, (rows, h * k), 0, (h * k, 1)))
    e.emit("concat", parts, F32, (), to=y)


def repeat_heads_grad(e, a, dy, dx):
    rows, c = e.dims(dy)
    h, g = a[0], a[1]
    k = c // (3 * h)
    parts = [e.copy(dy, (rows, h * k), 0, (c, 1))]
    for offset in (h * k, 2 * h * k):
        spread = e.copy(dy, (rows, g, k, h // g), offset, (c, h // g * k, 1, k))
        parts.append(e.copy(e.exact_sum(spread), (rows, g * k), 0, (g * k, 1)))
    e.emit("concat", parts, F32, (), to=dx)


def cross_entropy(e, a, logits, targets, loss, m, l):
    rows = e.dims(logits)[0]
    e.reduce("block_max", logits, m)
    e.exact_sum(e.map("exp", e.map("sub", logits, m)), l, 1)
    p = e.emit("pick", (logits, targets), F32, (rows, 1))
    g = e.map("log", l)
    each = e.map("sub", g, e.map("sub", p, m), dims=(rows,))
    total = e.exact_sum(each)
    e.map("div", total, e.number(rows), to=loss)


def cross_entropy_grad(e, a, logits, targets, m, l, dloss, dlogits):
    p = e.map("div", e.map("exp", e.map("sub", logits, m)), l)
    w = e.emit("one_hot", (targets,), F32, e.dims(logits))
    difference = e.map("sub", p, w)
    n = e.number(e.dims(logits)[0])
    e.map("mul", difference, e.map("div", dloss, n), to=dlogits)


def embedding_grad(e, a, dy, indices, table):
    x = e.transpose(dy)
    d, r = e.dims(x)
    exponent = e.reduce("block_max", e.exponents(x, None))
    q = e.emit("quantise_i32", (x, exponent), I32, (d, r))
    sums = e.emit("select_sum", (q, indices), I64, (e.dims(table)[0], d, blocks(r)))
    e.emit("finish_sum", (e.reduce("block_sum", sums), exponent), F32, (), to=table)


def adamw(e, a, p, m, v, g, lr, clip, r1, r2, p_out=None, m_out=None, v_out=None):
    b1, c1, b2, c2, eps, wd = (e.fill(v) for v in a[:6])
    h = e.map("mul", g, clip)
    m_new = e.map("fma", m, b1, e.map("mul", h, c1), to=m_out)
    v_new = e.map("fma", v, b2, e.map("mul", e.map("mul", h, h), c2), to=v_out)
    root = e.map("sqrt", e.map("mul", v_new, r2))
    divisor = e.map("add", root, eps)
    u = e.map("div", e.map("mul", m_new, r1), divisor)
    step = e.map("mul", lr, e.map("fma", p, wd, u))
    return e.map("sub", p, step, to=p_out), m_new, v_new


def adamw_guarded(e, a, p, m, v, g, lr, clip, r1, r2, keep, *outputs):
    new = adamw(e, a, p, m, v, g, lr, clip, r1, r2)
    for fresh, old, out in zip(new, (p, m, v), outputs):
        e.map("select", keep, fresh, old, to=out)


def expand(slots, op):
    """The program's slots followed by the macro's intermediates, and its primitives."""
    if op.code < 128:
        return slots, [op]
    expander = Expander(slots)
    globals()[OF_CODE[op.code]](expander, op.attributes, *op.inputs, *op.outputs)
    return expander.slots, expander.ops


def describe(slots, op):
    """The expansion of an op over inputs 0, 1, .. as lines of macros.json: i is an input, p a primitive's output."""
    all_slots, ops = expand(slots, op)
    names = {slot: f"i{k}" for k, slot in enumerate(op.inputs)}
    lines = []
    for number, primitive in enumerate(ops):
        out = all_slots[primitive.outputs[0]]
        attributes = list(primitive.attributes)
        while attributes and attributes[-1] == 0:
            attributes.pop()
        text = f"{OF_CODE[primitive.code]}({','.join(names[i] for i in primitive.inputs)})"
        text += f" {DTYPE_NAMES[out.dtype]}[{','.join(map(str, out.dims))}]"
        lines.append(text + (f" {','.join(map(str, attributes))}" if attributes else ""))
        names[primitive.outputs[0]] = f"p{number}"
    return lines
