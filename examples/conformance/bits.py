"""docs/NUMERICS.md, "Scalars", "Scalar programs" and "Randomness", in Python.

An f32 is a Python float that an f32 can hold: sums, products, quotients and roots of two of them are rounded correctly
when a double is rounded once more. Only a fused multiply-add needs care.
"""
import ctypes
import math
import struct

INF = math.inf
NAN = math.nan


def f32(x):
    """A double, rounded to f32."""
    return ctypes.c_float(x).value


def from_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def to_bits(x):
    return 0x7FC00000 if x != x else struct.unpack("<I", struct.pack("<f", x))[0]


def add(a, b):
    return f32(a + b)


def sub(a, b):
    return f32(a - b)


def mul(a, b):
    return f32(a * b)


def div(a, b):
    if b != 0:
        return f32(a / b)
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    return NAN if a == 0 or a != a else sign * INF


def sqrt(x):
    return NAN if x < 0 or x != x else f32(math.sqrt(x))


def fma(a, b, c):
    """a * b is exact in a double; the sum is rounded to odd, so that rounding it again is right."""
    product = a * b
    total = product + c
    if not math.isfinite(total):
        return f32(total)
    part = total - product
    error = (product - (total - part)) + (c - part)
    if error != 0:
        bits = struct.unpack("<q", struct.pack("<d", total))[0]
        if bits & 1 == 0:
            bits += 1 if (error > 0) == (total > 0) else -1
            total = struct.unpack("<d", struct.pack("<q", bits))[0]
    return f32(total)


def scale2(x, n):
    return f32(math.ldexp(x, max(-400, min(400, n))))


def smaller(a, b):
    if a != a or b != b:
        return NAN
    return (a if math.copysign(1, a) < 0 else b) if a == b else min(a, b)


def larger(a, b):
    if a != a or b != b:
        return NAN
    return (a if math.copysign(1, a) > 0 else b) if a == b else max(a, b)


def to_integer(x, width):
    """The nearest even integer; NaN and what is out of range give the smallest."""
    smallest = -(1 << (width - 1))
    return round(x) if smallest <= x < -smallest else smallest


def from_integer(n):
    extra = abs(n).bit_length() - 50
    if extra > 0:  # a double cannot hold it: keep whether anything was cut off
        kept = abs(n) >> extra | (abs(n) & ((1 << extra) - 1) != 0)
        n = (kept << extra) * (1 if n > 0 else -1)
    return f32(float(n))


def h(text):
    return float.fromhex(text)


def horner(x, *coefficients):
    total = coefficients[0]
    for c in coefficients[1:]:
        total = fma(total, x, c)
    return total


def exp_parts(high, low):
    """e^(high + low) = fraction * 2^exponent."""
    shifted = fma(high, h("0x1.715476p+0"), h("0x1.8p23"))
    n = sub(shifted, h("0x1.8p23"))
    r_high = fma(n, -h("0x1.62e430p-1"), high)
    r_rest = fma(n, h("0x1.05c610p-29"), low)
    r = add(r_high, r_rest)
    r_low = add(sub(r_high, r), r_rest)
    q = horner(r, h("0x1.a1253ep-13"), h("0x1.6d437ap-10"), h("0x1.1110e0p-7"), h("0x1.5554e8p-5"),
               h("0x1.555556p-3"), 0.5)
    tail = fma(mul(r, r), q, r_low)
    total = add(1.0, r)
    rest = sub(r, sub(total, 1.0))
    exponent = 0 if n != n else int(n)
    return add(total, add(rest, tail)), exponent


def clamp(x, low, high):
    return low if x < low else high if x > high else x


def exp(x):
    fraction, exponent = exp_parts(clamp(x, -110.0, 90.0), 0.0)
    return scale2(fraction, exponent)


def log(x):
    if x != x or x == INF:
        return x
    if x <= 0:
        return -INF if x == 0 else NAN
    subnormal = x < h("0x1p-126")
    scaled = mul(x, h("0x1p23")) if subnormal else x
    exponent = (to_bits(scaled) - 0x3F3504F3) >> 23
    n = float(exponent - (23 if subnormal else 0))
    f = sub(from_bits(to_bits(scaled) - (exponent << 23)), 1.0)
    p = horner(f, h("0x1.1d8f60p-4"), h("-0x1.d636d0p-4"), h("0x1.dea2c0p-4"), h("-0x1.fcf4a8p-4"),
               h("0x1.23d214p-3"), h("-0x1.555b4ap-3"), h("0x1.999d5ap-3"), h("-0x1.fffffcp-3"),
               h("0x1.555554p-2"))
    half_square = mul(mul(0.5, f), f)
    cubic = fma(mul(f, f), mul(f, p), mul(n, h("0x1.7f7d1cp-20")))
    return fma(n, h("0x1.62e4p-1"), sub(f, sub(half_square, cubic)))


def times_sigmoid(factor, high, low, negative):
    """factor * sigmoid(w), of which high + low is -|w|."""
    fraction, exponent = exp_parts(*((-200.0, 0.0) if high < -200 else (high, low)))
    e = scale2(fraction, exponent)
    if factor == 0 or not math.isfinite(factor):
        unit, unit_exponent = factor, 0
    else:
        mantissa, power = math.frexp(factor)
        unit, unit_exponent = 2 * mantissa, power - 1
    a = mul(unit, fraction) if negative else unit
    a_low = fma(unit, fraction, -a) if negative else 0.0
    divisor = add(1.0, e)
    divisor_low = sub(e, sub(divisor, 1.0))
    inverse = div(1.0, divisor)
    quotient = mul(a, inverse)
    residual = add(fma(-quotient, divisor, a), fma(-quotient, divisor_low, a_low))
    result = a if a == 0 else fma(residual, inverse, quotient)
    return scale2(result, unit_exponent + (exponent if negative else 0))


def sigmoid(x):
    return times_sigmoid(1.0, -abs(x), 0.0, x < 0)


def silu(x):
    if abs(x) == INF:
        return x if x > 0 else -0.0
    return times_sigmoid(x, -abs(x), 0.0, x < 0)


def gelu(x):
    if abs(x) == INF:
        return x if x > 0 else -0.0
    linear, linear_low = h("0x1.988454p+0"), h("-0x1.857936p-25")
    cubic, cubic_low = h("0x1.2444f2p-4"), h("0x1.49b16ap-29")
    m = 16.0 if abs(x) > 16 else abs(x)
    square = mul(m, m)
    square_low = fma(m, m, -square)
    product = mul(cubic, square)
    product_low = add(fma(cubic, square, -product), fma(cubic, square_low, mul(cubic_low, square)))
    total = add(linear, product)
    back = sub(total, linear)
    total_low = add(add(sub(linear, sub(total, back)), sub(product, back)), add(product_low, linear_low))
    w = mul(m, total)
    w_low = add(fma(m, total, -w), mul(m, total_low))
    return times_sigmoid(x, -w, -w_low, x < 0)


def rsqrt(x):
    return div(1.0, sqrt(x))


MASK = 0xFFFFFFFF


def philox(key, round_, slot, step, op, block):
    """Four random words."""
    c = [block & MASK, (block >> 32 | op << 8) & MASK, (step | slot << 20) & MASK, (slot >> 12 | round_ << 8) & MASK]
    k = list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 & MASK, p0 >> 32 ^ c[3] ^ k[1], p0 & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def unit_variance(words):
    total = sum((w & 0xFFFF) + (w >> 16) for w in words)
    return mul(float(2 * total - 8 * 65535), h("0x1.3988e2p-17"))
