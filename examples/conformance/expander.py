"""docs/MACROS.md, "Building blocks", in Python: one method a block."""
from collections import namedtuple
from math import prod

import bits

NAMES = {
    1: "fill add sub mul div min fma sqrt rsqrt exp log sigmoid gelu silu less_equal select",
    32: "strided_copy concat gather_rows pick one_hot causal_fill random_mask",
    64: "block_max block_exponent constant_exponent quantise_i32 quantise_i16 block_sum select_sum finish_sum "
        "block_dot rescale_dot finish_product",
    128: "row_sum column_sum sum_squares matmul layernorm layernorm_grad gelu_grad attention attention_grad "
         "cross_entropy cross_entropy_grad embedding_grad adamw rmsnorm rmsnorm_grad rope repeat_heads "
         "repeat_heads_grad swiglu swiglu_grad sum_tensors adamw_guarded "
         "attention_documents attention_documents_grad",
}
CODES = {name: first + i for first, names in NAMES.items() for i, name in enumerate(names.split())}
OF_CODE = {code: name for name, code in CODES.items()}
F32, I32, I64, I16 = 1, 2, 3, 4
DTYPE_NAMES = {1: "f32", 2: "i32", 3: "i64", 4: "i16", 5: "u8", 6: "u16", 7: "u32"}
ONE, MINUS_INFINITY = 0x3F800000, 0xFF800000

Temp = namedtuple("Temp", "dtype dims")
Primitive = namedtuple("Primitive", "code inputs outputs attributes")


def blocks(n):
    return (n + 1023) // 1024


class Expander:
    """Writes primitives. `to` is the slot of an output of the macro; without it a new temp is written."""

    def __init__(self, slots):
        self.slots, self.ops = list(slots), []

    def dims(self, i):
        return tuple(self.slots[i].dims)

    def emit(self, name, inputs, dtype, dims, attributes=(), to=None):
        if to is None:
            to = len(self.slots)
            self.slots.append(Temp(dtype, tuple(dims)))
        padded = tuple(attributes) + (0,) * (8 - len(attributes))
        self.ops.append(Primitive(CODES[name], tuple(inputs), (to,), padded))
        return to

    def map(self, name, *inputs, to=None, dims=None):
        largest = max(inputs, key=lambda i: prod(self.dims(i)))  # the first of the largest
        return self.emit(name, inputs, F32, dims or self.dims(largest), to=to)

    def fill(self, value_bits):
        return self.emit("fill", (), F32, (1,), (value_bits,))

    def number(self, n):
        return self.fill(bits.to_bits(bits.from_integer(n)))

    def copy(self, x, dims, offset, strides, to=None):
        return self.emit("strided_copy", (x,), self.slots[x].dtype, dims, (offset, *strides), to)

    def transpose(self, x):
        d = self.dims(x)
        strides = [prod(d[k + 1:]) for k in range(len(d))]
        swap = lambda v: (*v[:-2], v[-1], v[-2])
        return self.copy(x, swap(d), 0, swap(strides))

    def causal_fill(self, x, value):
        return self.emit("causal_fill", (x,), F32, self.dims(x), (value,))

    def reduce(self, name, x, to=None):
        while True:
            count = blocks(self.dims(x)[-1])
            dtype = I64 if name == "block_sum" else self.slots[x].dtype
            x = self.emit(name, (x,), dtype, (*self.dims(x)[:-1], count), to=to if count == 1 else None)
            if count == 1:
                return x

    def exponents(self, x, constant):
        name, attributes = ("block_exponent", ()) if constant is None else ("constant_exponent", (constant,))
        return self.emit(name, (x,), I32, (*self.dims(x)[:-1], blocks(self.dims(x)[-1])), attributes)

    def exact_sum(self, x, to=None, constant=None):
        e = self.reduce("block_max", self.exponents(x, constant))
        q = self.emit("quantise_i32", (x, e), I32, self.dims(x))
        total = self.reduce("block_sum", q)
        return self.emit("finish_sum", (total, e), F32, (*self.dims(x)[:-1], 1), to=to)

    def column_sum(self, x, columns, to=None):
        rows = prod(self.dims(x)) // columns
        return self.exact_sum(self.copy(x, (columns, rows), 0, (1, columns)), to)

    def row_exponents(self, x):
        return self.reduce("block_max", self.exponents(x, None))

    def powers(self, e):
        one = self.emit("fill", (), F32, self.dims(e), (ONE,))
        q = self.emit("quantise_i32", (one, self.exponents(one, 0)), I32, self.dims(e))
        return self.emit("finish_sum", (self.reduce("block_sum", q), e), F32, self.dims(e))

    def product(self, a, b, to=None, constant=None, constant_b=None):
        ea_b = self.exponents(a, constant)
        ea = self.reduce("block_max", ea_b)
        eb_b = self.exponents(b, constant_b)
        eb = self.reduce("block_max", eb_b)
        qa = self.emit("quantise_i16", (a, ea_b), I16, self.dims(a))
        qb = self.emit("quantise_i16", (b, eb_b), I16, self.dims(b))
        cell = (*self.dims(a)[:-1], self.dims(b)[-2])
        all_blocks = (*cell, self.dims(ea_b)[-1])
        dot = self.emit("block_dot", (qa, qb), I64, all_blocks)
        terms = self.emit("rescale_dot", (dot, ea_b, ea, eb_b, eb), I64, all_blocks)
        total = self.reduce("block_sum", terms)
        return self.emit("finish_product", (total, ea, eb), F32, cell, to=to)
