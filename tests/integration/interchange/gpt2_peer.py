"""Hugging Face's GPT-2 in plain PyTorch, and the safetensors format by hand: what import and export
are compared with.

    gpt2_peer.py EXPORTED WRITTEN HEADS CONTEXT LOGITS_OF_EXPORTED LOGITS_OF_WRITTEN

Reads EXPORTED with GPT2LMHeadModel's names, writes a model of its own with the same shapes to
WRITTEN as the published gpt2 has it (no prefix, with mask buffers), and the logits of both for the
tokens 0, 1, 2, ... (modulo the vocabulary) as f32. Exits with 77 where this Python has no torch.
"""

import json
import struct
import sys

try:
    import torch
except ImportError:
    sys.exit(77)

DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "U8": torch.uint8}


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    assert header.pop("__metadata__")["format"] == "pt"
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensor = torch.frombuffer(bytearray(data[begin:end]), dtype=DTYPES[entry["dtype"]])
        tensors[name] = tensor.reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    header, parts, at = {}, [], 0
    for name, tensor in tensors.items():
        storage = tensor.contiguous()
        part = bytes(storage.view(torch.int16).numpy().tobytes()
                     if storage.dtype == torch.bfloat16 else storage.numpy().tobytes())
        dtype = next(key for key, value in DTYPES.items() if value == tensor.dtype)
        header[name] = {"dtype": dtype, "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def logits(weights, tokens, heads):
    def at(name):
        return weights[name].float()

    def norm(x, name):
        return torch.layer_norm(x, (x.size(-1),), at(name + ".weight"), at(name + ".bias"), 1e-5)

    def conv1d(x, name):
        return x @ at(name + ".weight") + at(name + ".bias")

    length = len(tokens)
    x = at("wte.weight")[tokens] + at("wpe.weight")[:length]
    layer = 0
    while f"h.{layer}.ln_1.weight" in weights:
        block = f"h.{layer}"
        q, k, v = (part.reshape(length, heads, -1).transpose(0, 1) for part in
                   conv1d(norm(x, block + ".ln_1"), block + ".attn.c_attn").chunk(3, dim=-1))
        scores = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
        o = (scores.softmax(-1) @ v).transpose(0, 1).reshape(length, -1)
        x = x + conv1d(o, block + ".attn.c_proj")
        h = conv1d(norm(x, block + ".ln_2"), block + ".mlp.c_fc")
        h = torch.nn.functional.gelu(h, approximate="tanh")
        x = x + conv1d(h, block + ".mlp.c_proj")
        layer += 1
    return norm(x, "ln_f") @ at("wte.weight").t()


def main():
    exported_path, written_path, heads, context, exported_logits, written_logits = sys.argv[1:]
    heads, context = int(heads), int(context)
    exported = {name.removeprefix("transformer."): tensor
                for name, tensor in read_safetensors(exported_path).items()}
    tokens = [i % exported["wte.weight"].size(0) for i in range(context)]
    torch.manual_seed(7)
    written = {}
    for name, tensor in exported.items():
        written[name] = tensor + 0.1 * torch.randn(tensor.shape)
        if name.endswith(".mlp.c_fc.weight"):
            written[name] = written[name].bfloat16()
        if name.endswith(".ln_1.weight"):
            written[name.replace("ln_1.weight", "attn.bias")] = (
                torch.ones(context, context).tril().byte().reshape(1, 1, context, context))
    write_safetensors(written_path, written)
    for weights, path in (exported, exported_logits), (written, written_logits):
        with open(path, "wb") as file:
            file.write(logits(weights, tokens, heads).numpy().tobytes())


main()
