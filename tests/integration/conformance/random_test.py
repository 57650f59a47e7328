#!/usr/bin/env python3
"""Random model files and units: `gym` and the reader, which shares no code with it, give the same bytes.

random_test.py READER_FOLDER GYM. GYM_TEST_SEED makes other cases, GYM_TEST_SCALE more of them.
"""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

READER, GYM = sys.argv[1:]
sys.path.insert(0, READER)

import program as programs  # noqa: E402
import training  # noqa: E402
import unit as units  # noqa: E402

SEED = int(os.environ.get("GYM_TEST_SEED", "20261123"))
SCALE = max(1, int(os.environ.get("GYM_TEST_SCALE", "1")))
rng = random.Random(SEED)


def some(share, **settings):
    """Each of the settings with this probability; a list is a choice."""
    pick = lambda v: rng.choice(v) if isinstance(v, list) else v
    return {name: pick(value) for name, value in settings.items() if rng.random() < share}


def separator(model):
    """Documents that are kept apart, where they can be."""
    return {} if "classes" in model else some(0.5, document_separator=rng.randrange(model["vocabulary"]))


def model():
    architecture, flags = rng.choice(["gpt2", "llama", "mlp"]), ["true", "false"]
    out = {"architecture": architecture, **some(0.5, init_std=[0.05, 0.3, 1])}
    if architecture == "mlp":
        out.update(levels=rng.randint(2, 40), features=rng.randint(1, 9), classes=rng.randint(2, 9))
        return {**out, "width": rng.randint(1, 9), **some(0.7, layers=rng.randint(0, 3))}
    heads, size = rng.choice([1, 2, 3, 4]), rng.choice([2, 4])
    out.update(vocabulary=rng.randint(2, 40), context=rng.randint(1, 7), layers=rng.randint(1, 2), heads=heads)
    out.update(width=heads * size, **some(0.4, tied_embeddings=flags, classes=rng.randint(2, 9), dropout=[0.1, 0.3]))
    if architecture == "gpt2":
        out.update(separator(out))
        return {**out, **some(0.5, mlp_ratio=rng.randint(1, 4), bias=flags, layernorm_epsilon=["1e-6", 0.001])}
    divisors = [g for g in range(heads + 1) if g == 0 or heads % g == 0]
    llama3 = {"type": "llama3", **some(0.7, factor=[1, 8.1], low_frequency_factor=[0.5, 1.5],
                                       high_frequency_factor=[2, 4], original_context=rng.randint(1, 90))}
    out.update(separator(out))
    out.update(some(0.4, head_width=[0, 2, 6], qkv_bias=flags,
                    rope_scaling=[{"type": "none"}, {"type": "linear", "factor": 2.7}, llama3, llama3]))
    return {**out, **some(0.6, kv_heads=divisors, hidden_width=rng.randint(1, 12), rope_theta=[1, 100, 10000.5])}


def settings():
    """A model file, as nested mappings."""
    flags, total, parts = ["true", "false"], rng.choice([1, 2, 7, 50]), rng.choice([1, 1, 2, 3])
    optimizer = {"total_steps": total, "warmup_steps": rng.randint(0, total), "learning_rate_min": 0.001}
    optimizer.update(some(0.4, schedule=["cosine", "linear", "constant"], learning_rate=[0.01, 0.7],
                          inner_warmup_steps=rng.randint(0, 9), beta1=[0, 0.8], beta2=[0.9, 0.999], epsilon=0.1,
                          weight_decay=[0, 0.03], clip_norm=[0.5, 2], decay_embeddings=flags, decay_norms=flags,
                          decay_biases=flags))
    if rng.random() < 0.5:
        optimizer["guard"] = {"loss_factor": rng.choice([0, 1.01, 3]), **some(0.5, loss_decay=[0, 0.5])}
    outer = {"outer": {"learning_rate": 0.35, "momentum": rng.choice([0, 0.45])}} if rng.random() < 0.5 else {}
    return {"model": model(), "optimizer": optimizer, **outer, "batch": parts * rng.randint(1, 2),
            "micro_batches": parts}


def yaml_of(mapping, indent=""):
    lines = []
    for key, value in mapping.items():
        nested = isinstance(value, dict)
        lines.append(f"{indent}{key}:" + ("" if nested else f" {value}"))
        lines += [yaml_of(value, indent + "  ")] if nested else []
    return "\n".join(lines)


def gym(*arguments):
    done = subprocess.run([GYM, "--json", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def check_program(place, yaml):
    (place / "m.yaml").write_text(yaml, encoding="utf-8")
    built = gym("program", "build", place / "m.yaml", "-o", place / "m.gym")
    program = training.train_program(yaml)
    assert programs.encode(program) == (place / "m.gym").read_bytes(), "another program"
    assert programs.flops(program) == built["flops_per_step"], "other FLOPs"
    return program


def check_unit(place, program):
    _, tokens, _, vocabulary, classes = units.batch_shape(program)
    count, below = 30 * (tokens + 1), min(vocabulary, classes or vocabulary)
    words = [rng.randrange(below) for _ in range(count)]
    data = b"GYMDATA1" + struct.pack(">IQ", vocabulary, count) + struct.pack(f"<{count}H", *words)
    if rng.random() < 0.5:  # the other format, with a tokenizer
        head = struct.pack(">IIIIQ", 2, vocabulary, 1024, 0, count) + rng.randbytes(32)
        data = b"GYMDATA2" + head + data[20:]
    (place / "data").write_bytes(data)
    seed = rng.randbytes(32)
    spec = {"round": rng.randint(0, 9), "slot": rng.randint(0, 65535), "steps": 2,
            "checkpoint_every": rng.randint(1, 3)}
    options = [text for name, value in spec.items() for text in ("--" + name.replace("_", "-"), value)]
    unit = place / f"{seed.hex()}.json"
    gym("unit", "run", place / "m.gym", "--data", place / "data", "--seed", seed.hex(), *options, "-o", unit,
        "--delta", place / "delta")
    claimed = json.loads(unit.read_text(encoding="utf-8"))
    base = units.initial_state(program, seed)
    records, final, delta, _ = units.run_unit(program, units.Dataset(data), seed, base, spec)
    assert "0x" + units.records_root(records).hex() == claimed["records_root"], "other records"
    assert "0x" + units.state_root(program, final).hex() == claimed["final_state_root"], "another final state"
    assert delta == (place / "delta").read_bytes(), "another delta"


def main():
    print(f"GYM_TEST_SEED={SEED}")
    with tempfile.TemporaryDirectory() as name:
        for case in range(40 * SCALE):
            yaml = yaml_of(settings())
            try:
                program = check_program(pathlib.Path(name), yaml)
                if case % 5 == 0:
                    check_unit(pathlib.Path(name), program)
            except AssertionError:
                print(yaml)
                raise
    print(f"{40 * SCALE} programs and {8 * SCALE} units are equal")


main()
