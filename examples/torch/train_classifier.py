#!/usr/bin/python3
"""Trains a small classifier with Gym's exact ops and prints what others can check.

    /usr/bin/python3 examples/torch/train_classifier.py [--library build/release/lib/libgym_ops.so]

Points on three spirals are told apart by their place. Run it anywhere, with any --threads: every
loss and the root of the trained weights come out the same, bit for bit.
"""

import argparse
import struct

import torch
from torch import nn

import gym_torch


def spirals(points):
    """Three interleaved spirals, from + - * / alone, so that the data is the same everywhere too."""
    places, labels = [], []
    for label in range(3):
        x, y = [(1.0, 0.0), (-0.5, 0.8660254), (-0.5, -0.8660254)][label]
        for i in range(points):
            radius = (i + 1) / points
            places.append((x * radius, y * radius))
            labels.append(label)
            x, y = 0.995 * x - 0.0998749 * y, 0.0998749 * x + 0.995 * y  # about 5.7 degrees
    return torch.tensor(places), torch.tensor(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", default="build/release/lib/libgym_ops.so")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--threads", type=int, default=0, help="0: torch's default")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    gym_torch.load(options.library)

    model = nn.Sequential(
        gym_torch.Linear(2, 64, seed="spirals", slot=0), gym_torch.GELU(), gym_torch.LayerNorm(64),
        gym_torch.Linear(64, 64, seed="spirals", slot=1), gym_torch.GELU(),
        gym_torch.Linear(64, 3, seed="spirals", slot=2))
    optimizer = gym_torch.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    x, y = spirals(100)
    for step in range(options.steps):
        optimizer.zero_grad()
        loss = torch.ops.gym.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == options.steps - 1:
            bits = struct.pack(">f", loss.item()).hex()
            print(f"step {step:4}  loss {loss.item():.6f}  bits 0x{bits}")
    right = (model(x).argmax(-1) == y).float().mean().item()
    print(f"accuracy {100 * right:.1f} %")
    print("root of the weights", torch.ops.gym.state_root([p.data for p in model.parameters()]))


if __name__ == "__main__":
    main()
