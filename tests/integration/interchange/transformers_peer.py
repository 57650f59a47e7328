"""Hugging Face's GPT-2, Llama, Qwen2, Qwen3 and BERT in plain PyTorch, and the safetensors format by hand:
what import and export are compared with.

    transformers_peer.py FOLDER

Reads FOLDER/config.json and FOLDER/exported with the names of GPT2LMHeadModel, LlamaForCausalLM,
Qwen2ForCausalLM, Qwen3ForCausalLM, BertForMaskedLM, BertForSequenceClassification or BertModel, writes a model of its own with the same shapes to FOLDER/written (GPT-2 as the published
file has it: no prefix, with mask buffers; some weights as BF16), and the logits of both for the tokens 0, 1,
2, ... (modulo the vocabulary; with a padding_token the last third of each sequence is padding) as f32 to FOLDER/exported.logits and FOLDER/written.logits. Exits with 77 where
this Python has no torch.
"""

import json
import math
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


def gpt2_logits(weights, tokens, config):
    heads, epsilon = config["n_head"], config["layer_norm_epsilon"]

    def at(name):
        return weights[name].float()

    def norm(x, name):
        return torch.layer_norm(x, (x.size(-1),), at(name + ".weight"), at(name + ".bias"), epsilon)

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


def rotary_frequencies(config):
    """LlamaRotaryEmbedding's inverse frequencies: by wavelength, as its documentation has it."""
    size, scaling = config["head_dim"], config["rope_scaling"]
    frequencies = config["rope_theta"] ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    if scaling is None:
        return frequencies
    factor = scaling["factor"]
    if scaling["rope_type"] == "linear":
        return frequencies / factor
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    original = scaling["original_max_position_embeddings"]
    result = []
    for f in frequencies.tolist():
        wavelength = 2 * math.pi / f
        smooth = (original / wavelength - low) / (high - low)
        result.append(f if wavelength < original / high else f / factor if wavelength > original / low
                      else (1 - smooth) * f / factor + smooth * f)
    assert 0 < sum(a != b for a, b in zip(result, frequencies.tolist())) < len(result), "all alike"
    return torch.tensor(result, dtype=torch.float64)


def llama_logits(weights, tokens, config):
    heads, size, epsilon = config["num_attention_heads"], config["head_dim"], config["rms_norm_eps"]

    def at(name):
        return weights[name].float()

    def norm(x, name):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon) * at(name + ".weight")

    def linear(x, name):
        y = x @ at(name + ".weight").t()
        return y + at(name + ".bias") if name + ".bias" in weights else y

    def split(x):
        return x.reshape(length, -1, size).transpose(0, 1)

    def rotated(x):
        first, second = x.chunk(2, dim=-1)
        return x * cosine + torch.cat([-second, first], dim=-1) * sine

    length = len(tokens)
    x = at("embed_tokens.weight")[tokens]
    angles = torch.arange(length)[:, None] * rotary_frequencies(config)
    angles = torch.cat([angles, angles], dim=-1)
    cosine, sine = angles.cos().float(), angles.sin().float()
    layer = 0
    while f"layers.{layer}.input_layernorm.weight" in weights:
        block = f"layers.{layer}"
        h = norm(x, block + ".input_layernorm")
        q, k, v = (split(linear(h, f"{block}.self_attn.{name}_proj")) for name in "qkv")
        if config["model_type"] == "qwen3":
            q, k = norm(q, block + ".self_attn.q_norm"), norm(k, block + ".self_attn.k_norm")
        assert k.size(0) == config["num_key_value_heads"]
        k, v = (part.repeat_interleave(heads // part.size(0), dim=0) for part in (rotated(k), v))
        scores = rotated(q) @ k.transpose(-1, -2) / size ** 0.5
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
        o = (scores.softmax(-1) @ v).transpose(0, 1).reshape(length, -1)
        x = x + linear(o, block + ".self_attn.o_proj")
        h = norm(x, block + ".post_attention_layernorm")
        h = torch.nn.functional.silu(linear(h, block + ".mlp.gate_proj")) * linear(h, block + ".mlp.up_proj")
        x = x + linear(h, block + ".mlp.down_proj")
        layer += 1
    assert layer == config["num_hidden_layers"]
    head = "embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"
    return norm(x, "norm") @ at(head).t()


MASK_RATE, TEMPERATURE = 0.15, 0.05  # settings of the training that no config has


def bert_logits(weights, tokens, config):
    """What the program gives: scores of tokens, of which some are masked; of classes; of passages; or the
    similarity of a query with a passage."""
    heads, epsilon, length = (config[name] for name in
                              ("num_attention_heads", "layer_norm_eps", "max_position_embeddings"))

    def at(name):
        return weights[name].float()

    def norm(x, name):
        return torch.layer_norm(x, (x.size(-1),), at(name + ".weight"), at(name + ".bias"), epsilon)

    def linear(x, name):
        return x @ at(name + ".weight").t() + at(name + ".bias")

    def gelu(x):
        assert config["hidden_act"] == "gelu_new"
        return torch.nn.functional.gelu(x, approximate="tanh")

    def split(x):
        return x.reshape(x.size(0), length, heads, -1).transpose(1, 2)

    task = config["architectures"][0]
    if task == "BertForMaskedLM":
        share = int(MASK_RATE * 2**32)
        padding = config.get("padding_token")  # never masked
        tokens = [config["mask_token_id"] if token != padding and (i + 1) * share >> 32 > i * share >> 32 else token
                  for i, token in enumerate(tokens)]
    ids = torch.tensor(tokens).reshape(-1, length)
    # As attention_mask says it: added to the scores of keys.
    attention_mask = ids != config["padding_token"] if "padding_token" in config else torch.ones_like(ids).bool()
    hidden_keys = torch.zeros(ids.shape).masked_fill(~attention_mask, torch.finfo(torch.float32).min)
    x = at("embeddings.word_embeddings.weight")[ids]
    x = x + at("embeddings.token_type_embeddings.weight")[torch.zeros_like(ids)]
    x = norm(x + at("embeddings.position_embeddings.weight"), "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        block = f"encoder.layer.{layer}"
        q, k, v = (split(linear(x, f"{block}.attention.self.{name}")) for name in ("query", "key", "value"))
        scores = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5 + hidden_keys[:, None, None, :]
        o = (scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape)
        x = norm(x + linear(o, block + ".attention.output.dense"), block + ".attention.output.LayerNorm")
        h = linear(gelu(linear(x, block + ".intermediate.dense")), block + ".output.dense")
        x = norm(x + h, block + ".output.LayerNorm")
    if task == "BertForMaskedLM":
        h = norm(gelu(linear(x, "cls.predictions.transform.dense")), "cls.predictions.transform.LayerNorm")
        tied = config["tie_word_embeddings"]
        head = at("embeddings.word_embeddings.weight" if tied else "cls.predictions.decoder.weight")
        return h @ head.t() + at("cls.predictions.bias")
    if task == "BertForSequenceClassification":
        return linear(torch.tanh(linear(x[:, 0], "pooler.dense")), "classifier")
    query, *passages = torch.nn.functional.normalize(x[:, 0], dim=-1)
    return torch.stack([query @ passage for passage in passages]) / TEMPERATURE


def altered_bert(written, config):
    """What a program has a place for: one segment where pairs are told apart, a score without a bias."""
    types = written["embeddings.token_type_embeddings.weight"]
    if "classifier.weight" in written:
        types[1] = types[0]
        if len(config["id2label"]) == 1:
            written["classifier.bias"].zero_()
    if config["architectures"][0] == "BertForMaskedLM":
        written["embeddings.position_ids"] = torch.zeros(1, 4).byte()  # a buffer
        written["pooler.dense.bias"] = torch.ones(config["hidden_size"])  # of another task
        old = "encoder.layer.0.output.LayerNorm."  # as the first BERTs were written
        written[old + "gamma"], written[old + "beta"] = written.pop(old + "weight"), written.pop(old + "bias")


def restored(weights):
    """The names of today."""
    return {name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): tensor
            for name, tensor in weights.items()}


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
    (folder,) = sys.argv[1:]
    with open(folder + "/config.json", encoding="utf-8") as file:
        config = json.load(file)
    gpt2, bert = config["model_type"] == "gpt2", config["model_type"] == "bert"
    logits, prefix = ((gpt2_logits, "transformer.") if gpt2 else
                      (bert_logits, "bert.") if bert else (llama_logits, "model."))
    context = config["n_positions" if gpt2 else "max_position_embeddings"]
    exported = {name.removeprefix(prefix): tensor
                for name, tensor in read_safetensors(folder + "/exported").items()}
    written = altered(exported, context)
    if bert:
        altered_bert(written, config)
    write_safetensors(folder + "/written", written)
    sequences = 1
    if bert and config["architectures"][0] == "BertModel" or "classifier.weight" in written and len(config["id2label"]) == 1:
        sequences = 2  # a query and its passage; two passages
    tokens = [i % config["vocab_size"] for i in range(context * sequences)]
    if "padding_token" in config:
        assert config["pad_token_id"] == config["padding_token"]
        tokens = [token if i % context < context * 2 // 3 else config["pad_token_id"] for i, token in enumerate(tokens)]
    for name, weights in ("exported", exported), ("written", written):
        with open(f"{folder}/{name}.logits", "wb") as file:
            file.write(logits(restored(weights), tokens, config).numpy().tobytes())


main()
