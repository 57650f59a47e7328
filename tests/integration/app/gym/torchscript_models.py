"""Writes the TorchScript models that client_model_test.cpp submits: FOLDER/NAME.pt.

Exits with 77 where this Python has no torch.
"""

import math
import os
import sys

try:
    import torch
except ImportError:
    sys.exit(77)

from torch import nn
from torch.nn import functional


class NextByte(nn.Module):
    """Scores of the next byte, causal attention, PyTorch's own layers."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(256, 16), nn.Embedding(16, 16)
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.head = nn.Linear(16, 256)

    def forward(self, tokens):
        windows, length = tokens.shape
        x = self.tokens(tokens) + self.positions(torch.arange(length))
        q, k, v = self.qkv(self.norm(x)).split(16, dim=2)
        q, k, v = [part.view(windows, length, 2, 8).transpose(1, 2) for part in (q, k, v)]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-2, -1) / math.sqrt(8)).masked_fill(later, float("-inf"))
        y = (functional.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(windows, length, 16)
        return self.head(x + self.out(y))


class Classes(nn.Module):
    """Scores of four classes from the first token and the mean of all; attention without a mask."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(256, 16)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, tokens):
        x = self.tokens(tokens)
        shares = functional.softmax(self.q(x) @ self.k(x).transpose(-2, -1) * 0.25, dim=-1)
        x = x + shares @ self.v(x)
        return self.head(x[:, 0] + x.mean(dim=1))


class Lacking(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(256, 256)

    def forward(self, tokens):
        return torch.cumsum(self.tokens(tokens), -1)  # programs have no such op


class Large(nn.Module):
    """Random numbers that no job has room for."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(256, 256)
        self.register_buffer("table", torch.rand(64, 16, 256))

    def forward(self, tokens):
        return self.tokens(tokens) + self.table


def main():
    folder = sys.argv[1]
    torch.manual_seed(5)
    for name, model in [("next-byte", NextByte()), ("classes", Classes()), ("lacking", Lacking()),
                        ("large", Large())]:
        torch.jit.script(model).save(os.path.join(folder, name + ".pt"))


main()
