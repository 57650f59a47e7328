"""Trains the model of engine_run.cpp with torch.ops.gym, from the files that python_test.cpp wrote.

    train_gpt.py LIBRARY FOLDER [flush] [fork]

FOLDER/task.txt has a line per setting, tensor and step; FOLDER/data.bin the values. Prints a line
"step LOSS_BITS GRAD_NORM_BITS" per step and "tensor NAME ROOT" per tensor of the final state. With
"flush" the process first asks for flushed subnormals, which must not reach the ops; with "fork" a
child process (a DataLoader's worker) computes too. Exits with 77 where this Python has no torch.
"""

import os
import struct
import sys

try:
    import torch
except ImportError:
    sys.exit(77)

sys.path.insert(0, os.path.join(os.environ["GYM_SOURCE_DIR"], "examples", "torch"))
import gym_torch  # noqa: E402


def read_task(folder):
    settings, params, rates = {}, {}, []
    with open(os.path.join(folder, "data.bin"), "rb") as file:
        data = file.read()
    position = 0

    def take(count, dtype):
        nonlocal position
        tensor = torch.frombuffer(bytearray(data[position:position + 4 * count]), dtype=dtype)
        position += 4 * count
        return tensor

    with open(os.path.join(folder, "task.txt")) as file:
        lines = [line.split() for line in file]
    for kind, name, *rest in lines:
        if kind == "set":
            settings[name] = float(rest[0])
        elif kind == "param":
            dims = [int(dim) for dim in rest[1:]]
            values = take(torch.Size(dims).numel(), torch.float32).reshape(dims)
            params[name] = (torch.nn.Parameter(values), float(rest[0]))
        elif kind == "rate":
            rates.append(take(1, torch.float32))
    windows, context = int(settings["batch"]), int(settings["context"])
    batches = [take(windows * (context + 1), torch.int32).reshape(windows, context + 1)
               for _ in rates]
    return settings, params, rates, batches


class Gpt:
    def __init__(self, settings, params):
        self.heads, self.layers = int(settings["heads"]), int(settings["layers"])
        self.epsilon = settings["layernorm_epsilon"]
        self.params = params

    def at(self, name):
        return self.params[name][0]

    def norm(self, x, name):
        return torch.ops.gym.layernorm(x, self.at(name + ".gamma"), self.at(name + ".beta"),
                                       self.epsilon)

    def linear(self, x, name):
        return torch.ops.gym.linear(x, self.at(name + ".weight"), self.at(name + ".bias"))

    def loss(self, batch):
        gym = torch.ops.gym
        tokens, targets = batch[:, :-1].contiguous(), batch[:, 1:].contiguous().long()
        x = gym.add(gym.embedding(self.at("token_embedding"), tokens),
                    self.at("position_embedding"))
        for layer in range(self.layers):
            name = f"blocks.{layer}"
            h = self.linear(self.norm(x, name + ".norm1"), name + ".attention.qkv")
            x = gym.add(x, self.linear(gym.attention(h, self.heads), name + ".attention.out"))
            h = self.linear(self.norm(x, name + ".norm2"), name + ".mlp.up")
            x = gym.add(x, self.linear(gym.gelu(h), name + ".mlp.down"))
        logits = gym.linear(self.norm(x, "final_norm"), self.at("token_embedding"))
        return gym.cross_entropy(logits, targets)


def bits(tensor):
    return struct.pack(">f", tensor.item()).hex()


def compute_in_child():
    x = torch.ones(300, 300)
    expected = torch.ops.gym.tensor_root(torch.ops.gym.matmul(x, x))
    child = os.fork()
    if child == 0:
        os._exit(torch.ops.gym.tensor_root(torch.ops.gym.matmul(x, x)) != expected)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("a forked process computes something else, or nothing")


def main():
    library, folder, *rest = sys.argv[1:]
    if "flush" in rest:
        torch.set_flush_denormal(True)
    gym_torch.load(library)
    settings, params, rates, batches = read_task(folder)
    model = Gpt(settings, params)
    optimizer = gym_torch.AdamW(
        [{"params": [p], "weight_decay": decay} for p, decay in params.values()],
        betas=(settings["beta1"], settings["beta2"]), eps=settings["epsilon"],
        clip_norm=settings["clip_norm"])
    for rate, batch in zip(rates, batches):
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        print("step", bits(loss), bits(optimizer.step()))
    root = torch.ops.gym.tensor_root
    for name, (p, _) in params.items():
        state = optimizer.state[p]
        print("tensor", name, root(p.data))
        print("tensor", "m." + name, root(state["m"]))
        print("tensor", "v." + name, root(state["v"]))
    if "fork" in rest:
        compute_in_child()
    for name, power in zip(["beta1_power", "beta2_power"], optimizer.powers):
        print("tensor", name, root(power))


main()
