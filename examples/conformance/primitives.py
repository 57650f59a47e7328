"""docs/NUMERICS.md, "Primitives", in Python: every output element, one after the other.

A tensor is a flat list, row-major: floats for f32, integers else.
"""
import sys
from array import array
from math import isfinite, prod

import bits
from expander import CODES

POISONED = 129
FORMATS = {1: "f", 2: "i", 3: "q", 4: "h", 5: "B", 6: "H", 7: "I"}


def to_bytes(dtype, values):
    if dtype == 1:
        return b"".join(bits.to_bits(v).to_bytes(4, "little") for v in values)
    packed = array(FORMATS[dtype], values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def from_bytes(dtype, data):
    values = array(FORMATS[dtype], data)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tolist()


def signed64(n):
    return (n + (1 << 63)) % (1 << 64) - (1 << 63)


def clamped(index, n):
    return max(0, min(n - 1, index))


def broadcast(operand, out):
    """Element i of the output reads element (i // divisor) % period."""
    count, total = prod(operand), prod(out)
    if count == total:
        return 1, count
    if count == 1:
        return 1, 1
    if tuple(operand) == (*out[:-1], 1):
        return out[-1], count
    assert operand[-1] == out[-1] and total % count == 0
    return 1, count


def row_exponent(row):
    largest = max(bits.to_bits(x) & 0x7FFFFFFF for x in row)
    return POISONED if largest >= 0x7F800000 else max(-100, (largest >> 23) - 126)


def constant_exponent(row, c):
    return c if all(isfinite(x) and abs(x) <= 2.0 ** c for x in row) else POISONED


def largest(row):
    best = row[0]
    for x in row[1:]:
        best = bits.larger(best, x)
    return best


def quantise(x, e, fraction, width):
    return 0 if e == POISONED else bits.to_integer(bits.scale2(x, fraction - e), width)


def rescale(dot, shift):
    """RNE(dot * 2^(16 - shift)) mod 2^64."""
    if shift <= 16:
        return signed64(dot << (16 - shift)) if shift >= -47 else 0
    if shift >= 56:
        return 0
    right = shift - 16
    floor, rest, half = dot >> right, dot & ((1 << right) - 1), 1 << (right - 1)
    return floor + (rest > half or (rest == half and floor & 1))


ELEMENTWISE = {
    "add": bits.add, "sub": bits.sub, "mul": bits.mul, "div": bits.div, "min": bits.smaller, "fma": bits.fma,
    "sqrt": bits.sqrt, "rsqrt": bits.rsqrt, "exp": bits.exp, "log": bits.log, "sigmoid": bits.sigmoid,
    "gelu": bits.gelu, "silu": bits.silu, "less_equal": lambda a, b: 1.0 if a <= b else 0.0,
    "select": lambda c, a, b: a if c > 0 else b,
}


def elementwise(function, inputs, shapes, out):
    rules = [(x, *broadcast(s, out)) for x, s in zip(inputs, shapes)]
    return [function(*(x[i // d % p] for x, d, p in rules)) for i in range(prod(out))]


def strided_copy(inputs, shapes, out, a):
    at = [a[0]]
    for n, stride in zip(out, a[1:]):
        at = [base + i * stride for base in at for i in range(n)]
    return [inputs[0][i] for i in at]


def concat(inputs, shapes, out, a):
    rows = prod(out[:-1])
    return [v for r in range(rows) for x, s in zip(inputs, shapes) for v in x[r * s[-1]:(r + 1) * s[-1]]]


def gather_rows(inputs, shapes, out, a):
    (v, d), table = shapes[0], inputs[0]
    return [x for i in inputs[1] for x in table[clamped(i, v) * d:(clamped(i, v) + 1) * d]]


def pick(inputs, shapes, out, a):
    n = shapes[0][1]
    return [inputs[0][r * n + clamped(i, n)] for r, i in enumerate(inputs[1])]


def one_hot(inputs, shapes, out, a):
    return [1.0 if v == clamped(i, out[1]) else 0.0 for i in inputs[0] for v in range(out[1])]


def causal_fill(inputs, shapes, out, a):
    t, value = out[-1], bits.from_bits(a[0])
    return [x if i % t <= i // t % t else value for i, x in enumerate(inputs[0])]


def random_mask(inputs, shapes, out, a):
    k0, k1, round_, slot, step = (w & 0xFFFFFFFF for w in inputs[0])
    result = []
    for block in range((prod(out) + 3) // 4):
        words = bits.philox((k0, k1), round_ % (1 << 24), slot % (1 << 20), step % (1 << 20), a[0], block)
        result += [0.0 if w < a[1] else bits.from_bits(a[2]) for w in words]
    return result[:prod(out)]


def by_block(function):
    """[.., n] -> [.., blocks(n)]."""
    def run(inputs, shapes, out, a):
        n, x = shapes[0][-1], inputs[0]
        return [function(x[r + b:min(r + b + 1024, r + n)], *a[:1])
                for r in range(0, len(x), n) for b in range(0, n, 1024)]
    return run


def quantised(fraction, width):
    def run(inputs, shapes, out, a):
        (x, e), n, m = inputs, shapes[0][-1], shapes[1][-1]
        exponent = lambda i: e[i // n * m + (i % n // 1024 if m > 1 else 0)]
        half = 1 << (width - 1)
        return [(quantise(v, exponent(i), fraction, 32) + half) % (2 * half) - half for i, v in enumerate(x)]
    return run


def select_sum(inputs, shapes, out, a):
    (v, d, b), (q, indices) = out, inputs
    total, r = [0] * (v * d * b), shapes[0][1]
    for i in range(d):
        for k in range(r):
            total[(clamped(indices[k], v) * d + i) * b + k // 1024] += q[i * r + k]
    return total


def finish_sum(inputs, shapes, out, a):
    s, e = inputs
    return [bits.NAN if e[i % len(e)] == POISONED else bits.scale2(bits.from_integer(v), e[i % len(e)] - 30)
            for i, v in enumerate(s)]


def rows_of_cell(i, m, n):
    """Which rows of a [.., M, .] and b [.., N, .] meet in cell i of [.., M, N]."""
    return i // n, i // n // m * n + i % n


def block_dot(inputs, shapes, out, a):
    m, n, k = shapes[0][-2], shapes[1][-2], shapes[0][-1]
    result = []
    for cell in range(prod(out[:-1])):
        ra, rb = rows_of_cell(cell, m, n)
        x, y = inputs[0][ra * k:(ra + 1) * k], inputs[1][rb * k:(rb + 1) * k]
        result += [sum(p * q for p, q in zip(x[b:b + 1024], y[b:b + 1024])) for b in range(0, k, 1024)]
    return result


def rescale_dot(inputs, shapes, out, a):
    s, ea_b, ea, eb_b, eb = inputs
    m, n, count = out[-3], out[-2], out[-1]
    result = []
    for i, v in enumerate(s):
        ra, rb = rows_of_cell(i // count, m, n)
        b = i % count
        result.append(rescale(v, ea[ra] - ea_b[ra * count + b] + eb[rb] - eb_b[rb * count + b]))
    return result


def finish_product(inputs, shapes, out, a):
    t, ea, eb = inputs
    result = []
    for i, v in enumerate(t):
        ra, rb = rows_of_cell(i, shapes[1][-2], shapes[2][-2])
        poisoned = POISONED in (ea[ra], eb[rb])
        result.append(bits.NAN if poisoned else bits.scale2(bits.from_integer(v), ea[ra] + eb[rb] - 42))
    return result


OTHERS = {
    "fill": lambda inputs, shapes, out, a: [bits.from_bits(a[0])] * prod(out),
    "strided_copy": strided_copy, "concat": concat, "gather_rows": gather_rows, "pick": pick, "one_hot": one_hot,
    "causal_fill": causal_fill, "random_mask": random_mask,
    "block_max": by_block(lambda row, _: largest(row) if isinstance(row[0], float) else max(row)),
    "block_exponent": by_block(lambda row, _: row_exponent(row)),
    "constant_exponent": by_block(constant_exponent),
    "quantise_i32": quantised(30, 32), "quantise_i16": quantised(13, 16),
    "block_sum": by_block(lambda row, _: signed64(sum(row))),
    "select_sum": select_sum, "finish_sum": finish_sum, "block_dot": block_dot, "rescale_dot": rescale_dot,
    "finish_product": finish_product,
}
BY_CODE = {CODES[name]: function for name, function in OTHERS.items()}
BY_CODE.update({CODES[name]: (lambda f: lambda inputs, shapes, out, a: elementwise(f, inputs, shapes, out))(function)
                for name, function in ELEMENTWISE.items()})


def run(primitive, slots, values):
    """The output of a primitive, as a list; `values` has those of its inputs by slot."""
    inputs = [values[i] for i in primitive.inputs]
    shapes = [slots[i].dims for i in primitive.inputs]
    return BY_CODE[primitive.code](inputs, shapes, slots[primitive.outputs[0]].dims, primitive.attributes)
