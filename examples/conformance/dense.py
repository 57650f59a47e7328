"""Deltas of codec 1: docs/PROTOCOL.md, "States, deltas, datasets", in Python."""
import math
import struct

ROW, ROW_BYTES, ROWS_OF_CHUNK, CHUNK = 64, 33, 31, 1024


def row_begin(row):
    """The first byte of a row; of the number of all rows, the delta's bytes."""
    return row // ROWS_OF_CHUNK * CHUNK + row % ROWS_OF_CHUNK * ROW_BYTES


def rows_of(elements):
    return (elements + ROW - 1) // ROW


def encode_row(values):
    """The row of at most 64 elements, f32."""
    finite = [0.0 if x != x else x for x in values] + [0.0] * (ROW - len(values))
    largest = max(struct.unpack("<I", struct.pack("<f", abs(x)))[0] for x in finite)
    exponent, fraction = largest >> 23, largest & 0x7FFFFF
    scale = min(max(exponent - (2 if fraction < 0x700000 else 1), 1), 252)
    # A power of two only moves the exponent: the double is exact, and round() ties to even.
    levels = [round(min(max(math.ldexp(x, 127 - scale), -7.0), 7.0)) for x in finite]
    if not any(levels):
        scale = 0
    pairs = zip(levels[::2], levels[1::2])
    return bytes([scale] + [(low & 15) | (high & 15) << 4 for low, high in pairs])


def decode_row(row):
    """All 64 elements; bytes that no encoder writes are zeros."""
    values = []
    for i in range(ROW):
        level = row[1 + i // 2] >> 4 * (i % 2) & 15
        level -= 16 if level > 7 else 0
        known = 1 <= row[0] <= 252 and level != -8
        values.append(math.ldexp(level, row[0] - 127) if known and level else 0.0)
    return values


def encode_delta(parameters):
    """`parameters`: the differences of each, f32."""
    rows = [b"GYMDLTA1" + struct.pack(">II", 1, len(parameters)) + bytes(17)]
    for values in parameters:
        rows += [encode_row(values[i:i + ROW]) for i in range(0, len(values), ROW)]
    out = bytearray(row_begin(len(rows)))
    for number, row in enumerate(rows):
        out[row_begin(number):row_begin(number) + ROW_BYTES] = row
    return bytes(out)


def decode_parameter(delta, first_row, elements):
    """Elements of the parameter whose rows begin at number `first_row`."""
    values = []
    for row in range(first_row, first_row + rows_of(elements)):
        values += decode_row(delta[row_begin(row):row_begin(row) + ROW_BYTES])
    return values[:elements]


def layout(sizes):
    """Where each parameter of so many elements begins, and all bytes."""
    rows, begins = 1, []
    for elements in sizes:
        begins.append(row_begin(rows))
        rows += rows_of(elements)
    return begins, row_begin(rows)
