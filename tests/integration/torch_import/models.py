"""Writes the TorchScript models that import_test.cpp imports.

    models.py LIBRARY FOLDER

For each model FOLDER/NAME.pt, and where it has a result NAME.in (f32 or i32) and NAME.out (f32).
Exits with 77 where this Python has no torch.
"""

import math
import os
import sys

try:
    import torch
except ImportError:
    sys.exit(77)

from typing import Optional

from torch import nn
from torch.nn import functional


class Classifier(nn.Module):
    """Layers of nn.Sequential, dropout, a head that is optional, a softmax."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 32), nn.GELU("tanh"), nn.LayerNorm(32),
                                  nn.Dropout(0.5), nn.SiLU(), nn.Linear(32, 24))
        self.Head = nn.Linear(24, 7, bias=False)
        self.register_buffer("shift", torch.linspace(-1, 1, 7))

    def forward(self, x, scale: Optional[float] = None):
        y = self.Head(self.body(x)) + self.shift
        if scale is not None:
            y = y * scale
        return functional.softmax(y, dim=-1)


class Tokens(nn.Module):
    """Loops, views, slices, joins, broadcasts of every kind, tied weights, changes in place."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.norm = nn.LayerNorm(16, elementwise_affine=False, eps=1e-3)
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.gate = nn.Parameter(torch.rand(8, 1))
        self.per_window = nn.Parameter(torch.rand(2, 1, 16))

    def forward(self, tokens):
        windows, length = tokens.shape
        x = self.tokens(tokens) + self.positions(torch.arange(length, device=tokens.device))
        for layer in self.layers:
            h = layer(self.norm(x)).view(windows, length, 4, 4).transpose(1, 2)
            h = h.transpose(1, 2).reshape(windows * length, 16).view_as(x)
            left, right = h.chunk(2, dim=-1)
            h = torch.cat([right, left], dim=-1)
            h += 0.5 * x * self.gate
            x = x + (2 - h) / 3.0 * self.per_window
        x = x - x.mean(-1, keepdim=True)
        x = x * torch.rsqrt((x ** 2).sum(-1, keepdim=True) + 1.0)
        return torch.matmul(x[:, 1:], self.tokens.weight.t())


class GymGpt(nn.Module):
    """A GPT of exact ops."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Parameter(0.1 * torch.randn(50, 24))
        self.positions = nn.Parameter(0.1 * torch.randn(16, 24))
        self.qkv = nn.ParameterList([0.2 * torch.randn(72, 24) for _ in range(2)])
        self.out = nn.ParameterList([0.2 * torch.randn(24, 24) for _ in range(2)])
        self.gamma, self.beta = nn.Parameter(torch.rand(24)), nn.Parameter(torch.rand(24))
        self.few = nn.Parameter(0.2 * torch.randn(40, 24))  # three heads of queries, one of the rest
        angles = torch.rand(16, 4)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens):
        x = torch.ops.gym.embedding(self.tokens, tokens)
        x = torch.ops.gym.add(x, self.positions)
        for qkv, out in zip(self.qkv, self.out):
            h = torch.ops.gym.layernorm(x, self.gamma, self.beta)
            h = torch.ops.gym.attention(torch.ops.gym.linear(h, qkv), 3)
            x = torch.ops.gym.add(x, torch.ops.gym.gelu(torch.ops.gym.linear(h, out)))
        h = torch.ops.gym.linear(torch.ops.gym.rmsnorm(x, self.gamma), self.few)
        h = torch.ops.gym.rope(h, self.cosine, self.sine, 4)
        h = torch.ops.gym.attention(torch.ops.gym.repeat_heads(h, 3, 1), 3)
        x = torch.ops.gym.add(x, torch.ops.gym.swiglu(h, x))
        return torch.ops.gym.softmax(torch.ops.gym.linear(x, self.tokens))


class ByteModel(nn.Module):
    """Scores of the next byte; made of PyTorch's own layers, to be trained."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(256, 24), nn.Embedding(16, 24)
        self.before, self.after = nn.LayerNorm(24), nn.LayerNorm(24)
        self.up, self.down = nn.Linear(24, 48), nn.Linear(48, 24)

    def forward(self, tokens):
        x = 0.1 * self.tokens(tokens) + self.positions(torch.arange(tokens.size(1)))
        x = x + self.down(functional.gelu(self.up(self.before(x)), approximate="tanh"))
        return self.after(x) @ self.tokens.weight.t()


class Attention(nn.Module):
    """Causal attention in the forms that people write: `form` chooses."""

    def __init__(self, form, heads=3, width=24):
        super().__init__()
        self.form, self.heads = form, heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.parts = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        mask = torch.tril(torch.ones(32, 32))
        self.register_buffer("shown", mask.view(1, 1, 32, 32))

    def forward(self, x):
        windows, length, width = x.shape
        size = width // self.heads
        if self.form == "packed":
            q, k, v = self.qkv(x).split(width, dim=2)
        else:
            q, k, v = self.parts[0](x), self.parts[1](x), self.parts[2](x)
        q = q.view(windows, length, self.heads, size).transpose(1, 2)
        k = k.view(windows, length, self.heads, size).transpose(1, 2)
        v = v.view(windows, length, self.heads, size).transpose(1, 2)
        scores = q @ k.transpose(-2, -1)
        if self.form == "packed":
            scores = scores * (1.0 / math.sqrt(size))
            scores = scores.masked_fill(self.shown[:, :, :length, :length] == 0, float("-inf"))
        elif self.form == "separate":
            scores = 0.5 * scores / 1.5
            later = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
            scores.masked_fill_(later, -1e9)
        elif self.form == "added":
            scores = scores / size + torch.full((length, length), float("-inf")).triu(1)
        else:
            scores = torch.where(self.shown[:, :, :length, :length] > 0, scores,
                                 torch.tensor(float("-inf")))
        shares = functional.dropout(functional.softmax(scores, dim=-1), 0.1, self.training)
        y = (shares @ v).transpose(1, 2).contiguous().view(windows, length, width)
        return self.out(y)


class OneHead(nn.Module):
    """Without a dim of heads, and with torch.bmm."""

    def forward(self, x):
        scores = torch.bmm(x, (x * 0.5).transpose(1, 2)) / 2.0
        later = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        return torch.bmm(torch.softmax(scores.masked_fill(later, float("-inf")), -1), x)


class AttentionBytes(nn.Module):
    """Scores of the next byte, with attention as PyTorch has it."""

    def __init__(self, form):
        super().__init__()
        self.tokens, self.attention = nn.Embedding(256, 24), Attention(form)
        self.head = nn.Linear(24, 256)

    def forward(self, tokens):
        x = self.tokens(tokens)
        return self.head(x + self.attention(x))


class NoMask(nn.Module):
    def forward(self, x):
        return torch.softmax(x @ x.transpose(-2, -1), -1) @ x


class Pooled(nn.Module):
    """Cuts out rows, and sums over dims that are not the last one."""

    def forward(self, x):
        first, tail = x[:, 0], x[:, -3:]
        return first + x.mean(dim=1) + tail.sum(1) + x[:, 1:6:2].sum(dim=1, keepdim=True).squeeze(1)


class BothWays(nn.Module):
    """Scores of the next byte that see it."""

    def __init__(self):
        super().__init__()
        self.tokens, self.head = nn.Embedding(256, 8), nn.Linear(8, 256)

    def forward(self, tokens):
        x = self.tokens(tokens)
        return self.head(torch.softmax(x @ x.transpose(-2, -1), -1) @ x)


class WrongMask(nn.Module):
    def forward(self, x):
        first = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(2)
        return torch.softmax((x @ x.transpose(-2, -1)).masked_fill(first, float("-inf")), -1) @ x


class Lacking(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        x = self.layer(x)
        return torch.cumsum(x, -1)  # the line that an error must name


class ErfGelu(nn.Module):
    def __init__(self):
        super().__init__()
        self.activation = nn.GELU()

    def forward(self, x):
        return self.activation(x)


class DependsOnValues(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            x = x + x
        return x


class Pair(nn.Module):
    def forward(self, x):
        return x + 1.0, x


class Batched(nn.Module):
    def forward(self, x):
        return torch.matmul(x, x.transpose(-1, -2))


def write(folder, name, model, x):
    with torch.no_grad():
        y = model(x)
    torch.jit.script(model).save(os.path.join(folder, name + ".pt"))
    torch.jit.trace(model, x, check_trace=False).save(os.path.join(folder, name + "_traced.pt"))
    for end, tensor in (".in", x), (".out", y):
        with open(os.path.join(folder, name + end), "wb") as file:
            file.write(tensor.contiguous().numpy().tobytes())


def main():
    library, folder = sys.argv[1:]
    torch.ops.load_library(library)
    torch.manual_seed(3)
    rows, tokens = torch.randn(3, 5, 20), torch.randint(0, 50, (2, 8))
    windows = torch.randint(0, 50, (2, 16))
    for name, model, x in [("classifier", Classifier(), rows), ("tokens", Tokens(), tokens),
                           ("gpt", GymGpt(), windows)]:
        model.eval()
        with torch.no_grad():
            y = model(x)
        torch.jit.script(model).save(os.path.join(folder, name + ".pt"))
        if name != "gpt":
            torch.jit.trace(model, x).save(os.path.join(folder, name + "_traced.pt"))
        given = x if x.is_floating_point() else x.int()
        for end, tensor in (".in", given), (".out", y):
            with open(os.path.join(folder, name + end), "wb") as file:
                file.write(tensor.contiguous().numpy().tobytes())
    sequence = torch.randn(2, 7, 24)
    for form in "packed", "separate", "added", "chosen":
        model = Attention(form).eval()
        write(folder, "attention_" + form, model, sequence)
    write(folder, "attention_one", OneHead(), sequence)
    write(folder, "no_mask", NoMask(), sequence)
    write(folder, "pooled", Pooled(), sequence)
    for name, model in [("attention_bytes", AttentionBytes("packed")),
                        ("attention_parts", AttentionBytes("separate")),
                        ("both_ways", BothWays()), ("wrong_mask", WrongMask()),
                        ("bytes", ByteModel()), ("lacking", Lacking()), ("erf", ErfGelu()), ("values", DependsOnValues()),
                        ("pair", Pair()), ("batched", Batched()), ("double", Lacking().double())]:
        torch.jit.script(model).save(os.path.join(folder, name + ".pt"))


main()
