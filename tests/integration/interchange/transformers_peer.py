"""Hugging Face's GPT-2 and Llama in plain PyTorch, and the safetensors format by hand: what import and
export are compared with.

    transformers_peer.py gpt2|llama FOLDER HEADS CONTEXT

Reads FOLDER/exported with the names of GPT2LMHeadModel or LlamaForCausalLM, writes a model of its own
with the same shapes to FOLDER/written (GPT-2 as the published file has it: no prefix, with mask
buffers; some weights as BF16), and the logits of both for the tokens 0, 1, 2, ... (modulo the
vocabulary) as f32 to FOLDER/exported.logits and FOLDER/written.logits. Exits with 77 where this
Python has no torch.
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


def gpt2_logits(weights, tokens, heads):
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


def llama_logits(weights, tokens, heads):
    def at(name):
        return weights[name].float()

    def norm(x, name):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * at(name + ".weight")

    def split(x):
        return x.reshape(length, -1, size).transpose(0, 1)

    def rotated(x):
        first, second = x.chunk(2, dim=-1)
        return x * cosine + torch.cat([-second, first], dim=-1) * sine

    length = len(tokens)
    x = at("embed_tokens.weight")[tokens]
    size = x.size(-1) // heads
    angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
    angles = torch.cat([angles, angles], dim=-1)
    cosine, sine = angles.cos(), angles.sin()
    layer = 0
    while f"layers.{layer}.input_layernorm.weight" in weights:
        block = f"layers.{layer}"
        h = norm(x, block + ".input_layernorm")
        q, k, v = (split(h @ at(f"{block}.self_attn.{name}_proj.weight").t()) for name in "qkv")
        k, v = (part.repeat_interleave(heads // part.size(0), dim=0) for part in (rotated(k), v))
        scores = rotated(q) @ k.transpose(-1, -2) / size ** 0.5
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
        o = (scores.softmax(-1) @ v).transpose(0, 1).reshape(length, -1)
        x = x + o @ at(block + ".self_attn.o_proj.weight").t()
        h = norm(x, block + ".post_attention_layernorm")
        gate = torch.nn.functional.silu(h @ at(block + ".mlp.gate_proj.weight").t())
        h = gate * (h @ at(block + ".mlp.up_proj.weight").t())
        x = x + h @ at(block + ".mlp.down_proj.weight").t()
        layer += 1
    return norm(x, "norm") @ at("lm_head.weight").t()


def altered(exported, context):
    """Other weights of the same shapes."""
    torch.manual_seed(7)
    written = {}
    for name, tensor in exported.items():
        written[name] = tensor + 0.1 * torch.randn(tensor.shape)
        if name.endswith((".mlp.c_fc.weight", ".up_proj.weight")):
            written[name] = written[name].bfloat16()
        if name.endswith(".ln_1.weight"):
            written[name.replace("ln_1.weight", "attn.bias")] = (
                torch.ones(context, context).tril().byte().reshape(1, 1, context, context))
    return written


def main():
    architecture, folder, heads, context = sys.argv[1:]
    heads, context = int(heads), int(context)
    logits = {"gpt2": gpt2_logits, "llama": llama_logits}[architecture]
    prefix = {"gpt2": "transformer.", "llama": "model."}[architecture]
    exported = {name.removeprefix(prefix): tensor
                for name, tensor in read_safetensors(folder + "/exported").items()}
    written = altered(exported, context)
    write_safetensors(folder + "/written", written)
    table = {"gpt2": "wte.weight", "llama": "embed_tokens.weight"}[architecture]
    tokens = [i % exported[table].size(0) for i in range(context)]
    for name, weights in ("exported", exported), ("written", written):
        with open(f"{folder}/{name}.logits", "wb") as file:
            file.write(logits(weights, tokens, heads).numpy().tobytes())


main()
