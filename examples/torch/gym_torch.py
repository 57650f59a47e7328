"""Layers and an optimizer for PyTorch that compute with Gym's exact ops.

    import gym_torch
    gym_torch.load("build/release/lib/libgym_ops.so")
    layer = gym_torch.Linear(64, 10, seed="my run", slot=0)

They are used like torch.nn's, and give the same bits on every machine, with every number of
threads and every instruction set: see docs/NUMERICS.md for why. Tensors are float32 on the CPU.
"""

import math

import torch
from torch import nn


def load(path="build/release/lib/libgym_ops.so"):
    """Registers torch.ops.gym.*; once in a process is enough."""
    torch.ops.load_library(path)


class Linear(nn.Module):
    """nn.Linear with the exact product. `seed` and `slot` name the initial weights: the same names
    give the same weights everywhere, which torch.randn does not promise."""

    def __init__(self, inputs, outputs, bias=True, seed="0", slot=0):
        super().__init__()
        deviation = 1.0 / math.sqrt(inputs)
        weight = torch.ops.gym.normal_(torch.empty(outputs, inputs), seed, slot, deviation)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x):
        return torch.ops.gym.linear(x, self.weight, self.bias)


class LayerNorm(nn.Module):
    """nn.LayerNorm over the last dim."""

    def __init__(self, width, epsilon=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.epsilon = epsilon

    def forward(self, x):
        return torch.ops.gym.layernorm(x, self.weight, self.bias, self.epsilon)


class GELU(nn.Module):
    """nn.GELU("tanh")."""

    def forward(self, x):
        return torch.ops.gym.gelu(x)


class Embedding(nn.Module):
    """nn.Embedding."""

    def __init__(self, rows, width, deviation=0.02, seed="0", slot=0):
        super().__init__()
        weight = torch.ops.gym.normal_(torch.empty(rows, width), seed, slot, deviation)
        self.weight = nn.Parameter(weight)

    def forward(self, indices):
        return torch.ops.gym.embedding(self.weight, indices)


class AdamW(torch.optim.Optimizer):
    """AdamW with clipping by the gradient's norm, as in the programs that Gym trains.

    A group may set `weight_decay`; `lr` may be changed between steps."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1,
                 clip_norm=1.0):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})
        self.betas, self.eps, self.clip_norm = betas, eps, clip_norm
        self.powers = [torch.ones(1), torch.ones(1)]

    @torch.no_grad()
    def step(self):
        """@returns the gradient's norm before clipping."""
        gym = torch.ops.gym
        params = [(p, group) for group in self.param_groups for p in group["params"]
                  if p.grad is not None]
        norm, clip = gym.clip_factor([p.grad.contiguous() for p, _ in params], self.clip_norm)
        r1, r2 = (gym.bias_correction_(power, beta)
                  for power, beta in zip(self.powers, self.betas))
        for p, group in params:
            state = self.state[p]
            if not state:
                state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
            rate = torch.as_tensor(group["lr"], dtype=torch.float32).reshape(1)
            gym.adamw_(p, state["m"], state["v"], p.grad.contiguous(), rate, clip, r1, r2,
                       *self.betas, self.eps, group["weight_decay"])
        return norm
