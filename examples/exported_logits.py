#!/usr/bin/env python3
"""Recomputes the logits of an exported model in plain Python and compares them with those of gym.

    gym generate --model FOLDER --prompt TEXT --logits --json >logits.json
    python3 exported_logits.py FOLDER logits.json

Reads FOLDER/config.json and FOLDER/model.safetensors alone, of a GPT-2 or a Llama; needs no package. It
is written to be read, not to be fast: a few tokens of a small model take seconds. Prints one line of
JSON. Exits with 1 if the relative error is above BOUND, with 2 for a folder that it does not know.
"""

import array
import json
import math
import operator
import os
import struct
import sys

# gym rounds both factors of a product to 13 bits and a sign, relative to the largest of their block of
# at most 1,024: an error of at most 2^-14 of the largest, about 1e-4 of a usual factor. The products
# of a model, a few per block, add up as independent errors do. FP32's own rounding is far below that.
BOUND = 2e-3


def read_safetensors(path):
    """Tensor by name: (shape, values)."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{name} is {entry['dtype']}, not F32")
        values = array.array("f")
        values.frombytes(data[entry["data_offsets"][0]:entry["data_offsets"][1]])
        if sys.byteorder == "big":
            values.byteswap()
        tensors[name] = (entry["shape"], values)
    return tensors


class Weights:
    def __init__(self, tensors):
        self.tensors = tensors

    def vector(self, name):
        return self.tensors[name][1]

    def rows(self, name):
        (rows, columns), values = self.tensors[name]
        return [values[i * columns:(i + 1) * columns] for i in range(rows)]

    def columns(self, name):
        (_, columns), values = self.tensors[name]
        return [values[i::columns] for i in range(columns)]

    def layers(self, pattern):
        layer = 0
        while pattern.format(layer) in self.tensors:
            layer += 1
        return layer


def dot(a, b):
    return sum(map(operator.mul, a, b))


def times(x, rows, bias=None):
    """The rows of x, each times every row of a matrix."""
    out = [[dot(row, weight) for weight in rows] for row in x]
    return out if bias is None else [[a + b for a, b in zip(row, bias)] for row in out]


def add(x, y):
    return [[a + b for a, b in zip(p, q)] for p, q in zip(x, y)]


def attention(q, k, v, heads, kv_heads):
    """Causal; rows of q have `heads` heads, rows of k and v `kv_heads`."""
    size = len(q[0]) // heads
    out = [[] for _ in q]
    for head in range(heads):
        at, shared = head * size, head * kv_heads // heads * size
        for t, query in enumerate(q):
            scores = [dot(query[at:at + size], k[s][shared:shared + size]) / math.sqrt(size)
                      for s in range(t + 1)]
            largest = max(scores)
            weights = [math.exp(score - largest) for score in scores]
            total = sum(weights)
            out[t] += [sum(w * v[s][shared + i] for s, w in enumerate(weights)) / total
                       for i in range(size)]
    return out


def gpt2_logits(config, weights, tokens):
    def norm(x, name):
        gamma, beta = weights.vector(name + ".weight"), weights.vector(name + ".bias")
        out = []
        for row in x:
            mean = sum(row) / len(row)
            scale = 1 / math.sqrt(sum((a - mean) ** 2 for a in row) / len(row)
                                  + config["layer_norm_epsilon"])
            out.append([(a - mean) * scale * g + b for a, g, b in zip(row, gamma, beta)])
        return out

    def conv1d(x, name):
        return times(x, weights.columns(name + ".weight"), weights.vector(name + ".bias"))

    def gelu(a):
        return 0.5 * a * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a ** 3)))

    assert config["activation_function"] == "gelu_new"
    table, positions = weights.rows("transformer.wte.weight"), weights.rows("transformer.wpe.weight")
    x = add([table[token] for token in tokens], positions)
    width, heads = config["n_embd"], config["n_head"]
    for layer in range(config["n_layer"]):
        block = f"transformer.h.{layer}"
        qkv = conv1d(norm(x, block + ".ln_1"), block + ".attn.c_attn")
        q, k, v = ([row[i * width:(i + 1) * width] for row in qkv] for i in range(3))
        x = add(x, conv1d(attention(q, k, v, heads, heads), block + ".attn.c_proj"))
        h = conv1d(norm(x, block + ".ln_2"), block + ".mlp.c_fc")
        h = [[gelu(a) for a in row] for row in h]
        x = add(x, conv1d(h, block + ".mlp.c_proj"))
    head = table if config["tie_word_embeddings"] else weights.rows("lm_head.weight")
    return times(norm(x, "transformer.ln_f"), head)


def llama_logits(config, weights, tokens):
    def norm(x, name):
        gamma = weights.vector(name + ".weight")
        out = []
        for row in x:
            scale = 1 / math.sqrt(sum(a * a for a in row) / len(row) + config["rms_norm_eps"])
            out.append([a * scale * g for a, g in zip(row, gamma)])
        return out

    def linear(x, name):
        return times(x, weights.rows(name + ".weight"))

    def rotated(x, heads):
        """Pairs are the first and the second half of a head."""
        out = []
        for position, row in enumerate(x):
            turned = list(row)
            for head in range(heads):
                for i in range(half):
                    a, b = head * size + i, head * size + half + i
                    angle = position * config["rope_theta"] ** (-i / half)
                    cosine, sine = math.cos(angle), math.sin(angle)
                    turned[a] = row[a] * cosine - row[b] * sine
                    turned[b] = row[b] * cosine + row[a] * sine
            out.append(turned)
        return out

    def silu(a):
        return a / (1 + math.exp(-a)) if a > -700 else 0.0

    assert config["hidden_act"] == "silu" and config["rope_scaling"] is None
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    size = config["hidden_size"] // heads
    half = size // 2
    table = weights.rows("model.embed_tokens.weight")
    x = [list(table[token]) for token in tokens]
    for layer in range(config["num_hidden_layers"]):
        block = f"model.layers.{layer}"
        h = norm(x, block + ".input_layernorm")
        q, k, v = (linear(h, f"{block}.self_attn.{name}_proj") for name in "qkv")
        o = attention(rotated(q, heads), rotated(k, kv_heads), v, heads, kv_heads)
        x = add(x, linear(o, block + ".self_attn.o_proj"))
        h = norm(x, block + ".post_attention_layernorm")
        gate, up = linear(h, block + ".mlp.gate_proj"), linear(h, block + ".mlp.up_proj")
        h = [[silu(a) * b for a, b in zip(p, q)] for p, q in zip(gate, up)]
        x = add(x, linear(h, block + ".mlp.down_proj"))
    head = table if config["tie_word_embeddings"] else weights.rows("lm_head.weight")
    return times(norm(x, "model.norm"), head)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, logits_file = sys.argv[1:]
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    models = {"gpt2": gpt2_logits, "llama": llama_logits}
    if config["model_type"] not in models:
        print(f"{folder}: model type {config['model_type']} is neither gpt2 nor llama", file=sys.stderr)
        sys.exit(2)
    with open(logits_file, encoding="utf-8") as file:
        theirs = json.load(file)
    weights = Weights(read_safetensors(os.path.join(folder, "model.safetensors")))
    ours = models[config["model_type"]](config, weights, theirs["tokens"])
    pairs = [pair for rows in zip(ours, theirs["logits"], strict=True) for pair in zip(*rows, strict=True)]
    error = math.sqrt(sum((a - b) ** 2 for a, b in pairs) / sum(a * a for a, _ in pairs))
    print(json.dumps({"software": "plain Python", "tokens": len(theirs["tokens"]), "logits": len(pairs),
                      "relative_error": error, "largest_difference": max(abs(a - b) for a, b in pairs),
                      "bound": BOUND}))
    sys.exit(0 if error <= BOUND else 1)


main()
