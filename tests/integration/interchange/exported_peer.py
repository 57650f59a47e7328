"""Logits of an exported folder as examples/exported_logits_torch.py computes them.

    exported_peer.py FOLDER LOGITS

LOGITS is a line of `gym generate --logits --json`: its tokens are the input, its logits what is compared.
Prints the relative error (the root of the summed squares of all differences over that of all logits) in
PyTorch's FP32 and with gym's roundings, and both of altered weights: all of them 1 % off, or one matrix rounded
to 12 bits. Exits with 77 where this Python has no torch.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ["GYM_SOURCE_DIR"], "examples"))

import exported_logits_torch as peer  # noqa: E402
import torch  # noqa: E402


def main():
    folder, logits_file = sys.argv[1:]
    exported = peer.Exported(folder, logits_file)
    assert exported.config["torch_dtype"] == "float32"
    with open(folder + "/generation_config.json", encoding="utf-8") as file:
        assert json.load(file)["max_length"] > 0
    torch.manual_seed(3)
    altered = {name: tensor * (1 + 0.01 * torch.randn(tensor.shape)) for name, tensor in exported.weights.items()}
    coarse = dict(exported.weights)
    last = max(name for name in coarse if name.endswith(("mlp.c_proj.weight", "mlp.down_proj.weight")))
    step = coarse[last].abs().amax() * 2.0 ** -12
    coarse[last] = (coarse[last] / step).round() * step
    print(json.dumps({"relative_error": exported.error(peer.Plain),
                      "altered_relative_error": exported.error(peer.Plain, altered),
                      "rounded_relative_error": exported.error(peer.Rounded),
                      "coarse_relative_error": exported.error(peer.Rounded, coarse)}))


main()
