"""Logits of an exported folder in PyTorch's FP32, from config.json and model.safetensors alone.

    exported_peer.py FOLDER LOGITS

LOGITS is a line of `gym generate --logits --json`: its tokens are the input, its logits what is compared.
Prints the relative error (the root of the summed squares of all differences over that of all logits),
of these weights and of weights that are 1 % off. Exits with 77 where this Python has no torch.
"""

import json
import struct
import sys

try:
    import torch
    from torch.nn.functional import gelu, silu
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


def attend(q, k, v):
    """(heads, tokens, size) each."""
    length = q.size(1)
    scores = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
    scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
    return (scores.softmax(-1) @ v).transpose(0, 1).reshape(length, -1)


def gpt2(config, w, tokens):
    assert config["architectures"] == ["GPT2LMHeadModel"] and config["activation_function"] == "gelu_new"
    width, heads, length = config["n_embd"], config["n_head"], len(tokens)
    assert w["transformer.wpe.weight"].shape == (config["n_positions"], width)
    assert w["transformer.wte.weight"].shape == (config["vocab_size"], width)

    def norm(x, name):
        return torch.layer_norm(x, (width,), w[name + ".weight"], w[name + ".bias"],
                                config["layer_norm_epsilon"])

    def conv1d(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    x = w["transformer.wte.weight"][tokens] + w["transformer.wpe.weight"][:length]
    for layer in range(config["n_layer"]):
        block = f"transformer.h.{layer}"
        qkv = conv1d(norm(x, block + ".ln_1"), block + ".attn.c_attn").chunk(3, dim=-1)
        o = attend(*(part.reshape(length, heads, -1).transpose(0, 1) for part in qkv))
        x = x + conv1d(o, block + ".attn.c_proj")
        h = conv1d(norm(x, block + ".ln_2"), block + ".mlp.c_fc")
        assert h.size(-1) == config["n_inner"]
        x = x + conv1d(gelu(h, approximate="tanh"), block + ".mlp.c_proj")
    assert f"transformer.h.{config['n_layer']}.ln_1.weight" not in w
    assert ("lm_head.weight" in w) != config["tie_word_embeddings"]
    head = w["transformer.wte.weight" if config["tie_word_embeddings"] else "lm_head.weight"]
    return norm(x, "transformer.ln_f") @ head.t()


def llama(config, w, tokens):
    assert config["architectures"] == ["LlamaForCausalLM"] and config["hidden_act"] == "silu"
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    size, length = config["head_dim"], len(tokens)
    assert size == config["hidden_size"] // heads and config["rope_scaling"] is None
    assert w["model.embed_tokens.weight"].shape == (config["vocab_size"], config["hidden_size"])

    def norm(x, name):
        return (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + config["rms_norm_eps"])
                * w[name + ".weight"])

    def linear(x, name):
        return x @ w[name + ".weight"].t()

    def split(x):
        return x.reshape(length, -1, size).transpose(0, 1)

    angles = torch.arange(length)[:, None] * config["rope_theta"] ** (-torch.arange(0, size, 2) / size)
    angles = torch.cat([angles, angles], dim=-1)
    cosine, sine = angles.cos(), angles.sin()

    def rotated(x):
        first, second = x.chunk(2, dim=-1)
        return x * cosine + torch.cat([-second, first], dim=-1) * sine

    x = w["model.embed_tokens.weight"][tokens]
    for layer in range(config["num_hidden_layers"]):
        block = f"model.layers.{layer}"
        h = norm(x, block + ".input_layernorm")
        q, k, v = (split(linear(h, f"{block}.self_attn.{name}_proj")) for name in "qkv")
        assert k.size(0) == v.size(0) == kv_heads
        k, v = (part.repeat_interleave(heads // kv_heads, dim=0) for part in (rotated(k), v))
        x = x + linear(attend(rotated(q), k, v), block + ".self_attn.o_proj")
        h = norm(x, block + ".post_attention_layernorm")
        gate = linear(h, block + ".mlp.gate_proj")
        assert gate.size(-1) == config["intermediate_size"]
        h = silu(gate) * linear(h, block + ".mlp.up_proj")
        x = x + linear(h, block + ".mlp.down_proj")
    assert f"model.layers.{config['num_hidden_layers']}.input_layernorm.weight" not in w
    assert ("lm_head.weight" in w) != config["tie_word_embeddings"]
    head = w["model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"]
    return norm(x, "model.norm") @ head.t()


def main():
    folder, logits_file = sys.argv[1:]
    with open(folder + "/config.json", encoding="utf-8") as file:
        config = json.load(file)
    with open(logits_file, encoding="utf-8") as file:
        theirs = json.load(file)
    assert config["torch_dtype"] == "float32"
    with open(folder + "/generation_config.json", encoding="utf-8") as file:
        assert json.load(file)["max_length"] > 0
    model = {"gpt2": gpt2, "llama": llama}[config["model_type"]]
    weights = read_safetensors(folder + "/model.safetensors")
    expected = torch.tensor(theirs["logits"])
    torch.manual_seed(3)
    altered = {name: tensor * (1 + 0.01 * torch.randn(tensor.shape)) for name, tensor in weights.items()}
    errors = [float((model(config, w, theirs["tokens"]) - expected).norm() / expected.norm())
              for w in (weights, altered)]
    print(json.dumps({"relative_error": errors[0], "altered_relative_error": errors[1]}))


main()
