#!/usr/bin/env python3
"""Recomputes the logits of an exported model in PyTorch (libtorch) and compares them with those of gym.

    gym generate --model FOLDER --prompt TEXT --logits --json >logits.json
    python3 exported_logits_torch.py FOLDER logits.json

Reads FOLDER/config.json and FOLDER/model.safetensors alone, of a GPT-2 or a Llama, and computes them twice:
in PyTorch's own FP32, and with every rounding of docs/NUMERICS.md made in PyTorch. Prints one line of JSON.
Exits with 1 if an error is above its bound, with 2 for a folder that it does not know, with 77 where this
Python has no torch.
"""

import json
import math
import os
import struct
import sys

try:
    import torch
    from torch.nn import functional
except ImportError:
    sys.exit(77)


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), bytearray(file.read())
    assert header.pop("__metadata__")["format"] == "pt"
    tensors, end_of_last = {}, 0
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert begin == end_of_last and entry["dtype"] == "F32"
        tensors[name] = torch.frombuffer(data[begin:end], dtype=torch.float32).reshape(entry["shape"])
        end_of_last = end
    assert end_of_last == len(data)
    return tensors


class Plain:
    """FP32 as PyTorch computes it. gym rounds both factors of a product to 13 bits and a sign, relative to
    the largest of their block of at most 1,024: by at most 2^-14 of the largest, about 1e-4 of a usual factor.
    The products of a model, a few per block, add up as independent errors do."""
    bound = 2e-3
    gelu = staticmethod(lambda x: functional.gelu(x, approximate="tanh"))
    silu = staticmethod(functional.silu)

    @staticmethod
    def window(tokens, _context):
        return tokens

    @staticmethod
    def product(a, b):
        """Every row of a with every row of b."""
        return a @ b.transpose(-1, -2)

    @staticmethod
    def layer_norm(x, gamma, beta, epsilon):
        return torch.layer_norm(x, gamma.shape, gamma, beta, epsilon)

    @staticmethod
    def rms_norm(x, gamma, epsilon):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon) * gamma

    @staticmethod
    def attention(q, k, v):
        """(heads, tokens, size) each."""
        scores = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        return scores.masked_fill(later(q.size(1)), float("-inf")).softmax(-1) @ v


def later(length):
    return torch.ones(length, length).triu(1).bool()


def fma(a, b, c):
    """The product of two FP32 numbers is exact in FP64."""
    return (torch.as_tensor(a).double() * torch.as_tensor(b).double() + torch.as_tensor(c).double()).float()


def constant(hexadecimal):
    return torch.tensor(float.fromhex(hexadecimal))


def scaled(x, exponent):
    """x * 2^exponent, rounded once."""
    return torch.ldexp(x.double(), torch.as_tensor(exponent).double()).float()


def exponents(x):
    """Of blocks of 1,024: the smallest e with every magnitude below 2^e."""
    largest = torch.cat([part.abs().amax(-1, keepdim=True) for part in x.split(1024, -1)], -1)
    return torch.where(largest > 0, torch.frexp(largest)[1], -100).clamp(min=-100)


def integers(x, exponent, bits):
    """Of so many bits and a sign, in FP64, which holds them and sums of 1,024 of their products."""
    return torch.ldexp(x.double(), (bits - exponent).double()).round()


def exact_sum(x, exponent=None):
    e = exponents(x).amax(-1, keepdim=True) if exponent is None else torch.tensor(exponent)
    return scaled(integers(x, e, 30).long().sum(-1, keepdim=True).float(), e - 30)


def parts(high, low):
    """e^(high + low) = f * 2^n."""
    magic = constant("0x1.8p+23")
    n = fma(high, constant("0x1.715476p+0"), magic) - magic
    a = fma(n, constant("-0x1.62e430p-1"), high)
    b = fma(n, constant("0x1.05c610p-29"), low)
    r = a + b
    c = (a - r) + b
    q = constant("0x1.a1253ep-13")
    for factor in ("0x1.6d437ap-10", "0x1.1110e0p-7", "0x1.5554e8p-5", "0x1.555556p-3", "0x1p-1"):
        q = fma(q, r, constant(factor))
    d = fma(r * r, q, c)
    s = 1 + r
    return s + ((r - (s - 1)) + d), n


def exp(x):
    return scaled(*parts(x.clamp(-110, 90), torch.zeros(())))


def times_sigmoid(x, high, low):
    """x times the sigmoid of w, with w of the sign of x and high + low = -|w|."""
    f, n = (torch.where(high < -200, small, usual)
            for small, usual in zip(parts(torch.tensor(-200.0), torch.zeros(())), parts(high, low)))
    e = scaled(f, n)
    mantissa, k = torch.frexp(x)
    u, k = torch.where(x == 0, x, 2 * mantissa), torch.where(x == 0, 0, k - 1)
    negative = x < 0
    a = torch.where(negative, u * f, u)
    b = torch.where(negative, fma(u, f, -a), torch.zeros(()))
    s = 1 + e
    t = e - (s - 1)
    i = 1 / s
    y = a * i
    r = fma(-y, s, a) + fma(-y, t, b)
    z = torch.where(a == 0, a, fma(r, i, y))
    return scaled(z, torch.where(negative, k + n, k.float()))


class Rounded:
    """gym's arithmetic: what it rounds is rounded here, and sums and products are exact."""
    bound = 1e-5

    @staticmethod
    def window(tokens, context):
        """A column of values has one exponent: what pads the window counts, too."""
        return tokens + [0] * (context - len(tokens))

    @staticmethod
    def product(a, b, exponent_a=None):
        of_a, of_b = exponents(a), exponents(b)
        if exponent_a is not None:
            of_a = torch.full_like(of_a, exponent_a)
        largest_a, largest_b = of_a.amax(-1, keepdim=True), of_b.amax(-1, keepdim=True)
        total = 0
        blocks = zip(a.split(1024, -1), b.split(1024, -1), of_a.split(1, -1), of_b.split(1, -1))
        for block_a, block_b, e_a, e_b in blocks:
            dot = integers(block_a, e_a, 13) @ integers(block_b, e_b, 13).transpose(-1, -2)
            shift = (largest_a - e_a) + (largest_b - e_b).transpose(-1, -2)
            total = total + torch.ldexp(dot, (16 - shift).double()).round().long()
        return scaled(total.float(), largest_a + largest_b.transpose(-1, -2) - 42)

    @staticmethod
    def mean(x):
        return exact_sum(x) / torch.tensor(float(x.size(-1)))

    @classmethod
    def layer_norm(cls, x, gamma, beta, epsilon):
        centred = x - cls.mean(x)
        rstd = 1 / (cls.mean(centred * centred) + torch.tensor(epsilon)).sqrt()
        return fma(centred * rstd, gamma, beta)

    @classmethod
    def rms_norm(cls, x, gamma, epsilon):
        return x * (1 / (cls.mean(x * x) + torch.tensor(epsilon)).sqrt()) * gamma

    @classmethod
    def attention(cls, q, k, v):
        scores = cls.product(q * torch.tensor(1 / math.sqrt(q.size(-1))), k)
        hidden = later(q.size(1))
        scores = scores.masked_fill(hidden, float("-inf"))
        weights = exp(scores - scores.amax(-1, keepdim=True)).masked_fill(hidden, 0)
        return cls.product(weights, v.transpose(-1, -2), 0) / exact_sum(weights, 1)

    @staticmethod
    def silu(x):
        return times_sigmoid(x, -x.abs(), torch.zeros(()))

    @staticmethod
    def gelu(x):
        m = x.abs().clamp(max=16)
        q = m * m
        ql = fma(m, m, -q)
        factor, first = constant("0x1.2444f2p-4"), constant("0x1.988454p+0")
        p = factor * q
        pl = fma(factor, q, -p) + fma(factor, ql, constant("0x1.49b16ap-29") * q)
        s = first + p
        g = s - first
        sl = ((first - (s - g)) + (p - g)) + (pl + constant("-0x1.857936p-25"))
        w = m * s
        return times_sigmoid(x, -w, -(fma(m, s, -w) + m * sl))


def gpt2(config, w, tokens, how):
    assert config["architectures"] == ["GPT2LMHeadModel"] and config["activation_function"] == "gelu_new"
    width, heads = config["n_embd"], config["n_head"]
    window = how.window(tokens, config["n_positions"])
    assert w["transformer.wpe.weight"].shape == (config["n_positions"], width)
    assert w["transformer.wte.weight"].shape == (config["vocab_size"], width)

    def norm(x, name):
        return how.layer_norm(x, w[name + ".weight"], w[name + ".bias"], config["layer_norm_epsilon"])

    def conv1d(x, name):
        return how.product(x, w[name + ".weight"].t()) + w[name + ".bias"]

    x = w["transformer.wte.weight"][window] + w["transformer.wpe.weight"][:len(window)]
    for layer in range(config["n_layer"]):
        block = f"transformer.h.{layer}"
        qkv = conv1d(norm(x, block + ".ln_1"), block + ".attn.c_attn").chunk(3, dim=-1)
        o = how.attention(*(part.reshape(len(window), heads, -1).transpose(0, 1) for part in qkv))
        x = x + conv1d(o.transpose(0, 1).reshape(len(window), -1), block + ".attn.c_proj")
        h = conv1d(norm(x, block + ".ln_2"), block + ".mlp.c_fc")
        assert h.size(-1) == config["n_inner"]
        x = x + conv1d(how.gelu(h), block + ".mlp.c_proj")
    assert f"transformer.h.{config['n_layer']}.ln_1.weight" not in w
    assert ("lm_head.weight" in w) != config["tie_word_embeddings"]
    head = w["transformer.wte.weight" if config["tie_word_embeddings"] else "lm_head.weight"]
    return how.product(norm(x, "transformer.ln_f"), head)[:len(tokens)]


def llama(config, w, tokens, how):
    assert config["architectures"] == ["LlamaForCausalLM"] and config["hidden_act"] == "silu"
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    window = how.window(tokens, config["max_position_embeddings"])
    size, length = config["head_dim"], len(window)
    assert size == config["hidden_size"] // heads and config["rope_scaling"] is None
    assert w["model.embed_tokens.weight"].shape == (config["vocab_size"], config["hidden_size"])

    def norm(x, name):
        return how.rms_norm(x, w[name + ".weight"], config["rms_norm_eps"])

    def linear(x, name):
        return how.product(x, w[name + ".weight"])

    def split(x):
        return x.reshape(length, -1, size).transpose(0, 1)

    frequencies = config["rope_theta"] ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.arange(length)[:, None] * frequencies
    angles = torch.cat([angles, angles], dim=-1)
    cosine, sine = angles.cos().float(), angles.sin().float()

    def rotated(x):
        first, second = x.chunk(2, dim=-1)
        return x * cosine + torch.cat([-second, first], dim=-1) * sine

    x = w["model.embed_tokens.weight"][window]
    for layer in range(config["num_hidden_layers"]):
        block = f"model.layers.{layer}"
        h = norm(x, block + ".input_layernorm")
        q, k, v = (split(linear(h, f"{block}.self_attn.{name}_proj")) for name in "qkv")
        assert k.size(0) == v.size(0) == kv_heads
        k, v = (part.repeat_interleave(heads // kv_heads, dim=0) for part in (rotated(k), v))
        o = how.attention(rotated(q), k, v).transpose(0, 1).reshape(length, -1)
        x = x + linear(o, block + ".self_attn.o_proj")
        h = norm(x, block + ".post_attention_layernorm")
        gate = linear(h, block + ".mlp.gate_proj")
        assert gate.size(-1) == config["intermediate_size"]
        x = x + linear(how.silu(gate) * linear(h, block + ".mlp.up_proj"), block + ".mlp.down_proj")
    assert f"model.layers.{config['num_hidden_layers']}.input_layernorm.weight" not in w
    assert ("lm_head.weight" in w) != config["tie_word_embeddings"]
    head = w["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"]
    return how.product(norm(x, "model.norm"), head)[:len(tokens)]


class Exported:
    """The folder, and the logits that gym gave for its tokens."""

    def __init__(self, folder, logits_file):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        with open(logits_file, encoding="utf-8") as file:
            theirs = json.load(file)
        models = {"gpt2": gpt2, "llama": llama}
        if self.config["model_type"] not in models:
            print(f"{folder}: model type {self.config['model_type']} is neither gpt2 nor llama", file=sys.stderr)
            sys.exit(2)
        self.model = models[self.config["model_type"]]
        self.weights = read_safetensors(os.path.join(folder, "model.safetensors"))
        self.tokens, self.logits = theirs["tokens"], torch.tensor(theirs["logits"])

    def error(self, how, weights=None):
        """The norm of the difference to that of the logits."""
        ours = self.model(self.config, weights or self.weights, self.tokens, how)
        return float((ours - self.logits).norm() / self.logits.norm())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    exported = Exported(*sys.argv[1:])
    plain, rounded = exported.error(Plain), exported.error(Rounded)
    print(json.dumps({"software": f"PyTorch {torch.__version__}", "tokens": len(exported.tokens),
                      "logits": exported.logits.numel(), "relative_error": plain, "bound": Plain.bound,
                      "rounded_relative_error": rounded, "rounded_bound": Rounded.bound}))
    sys.exit(0 if plain <= Plain.bound and rounded <= Rounded.bound else 1)


if __name__ == "__main__":
    main()
