"""Trains a small GPT on this machine: the steps, and so the bits, of `gym program run`.

    python3 examples/python/pretrain_local.py [TEXT] [--model MODEL] [--steps N] [--export FOLDER]
"""

import argparse

from gym import Dataset, DistributedTrainer

TEXT = "".join(f"{n * 7919 % 100_000} and then comes {n}.\n" for n in range(2000))


def main() -> None:
    arguments = argparse.ArgumentParser(description="Train a model on this machine.")
    arguments.add_argument("text", nargs="?", help="text or token file; default: a text of numbers")
    arguments.add_argument("--model", default="gpt-nano")
    arguments.add_argument("--steps", type=int, default=20)
    arguments.add_argument("--export", help="folder for the weights")
    given = arguments.parse_args()

    dataset = Dataset.from_file(given.text) if given.text else Dataset.from_text(TEXT)
    trainer = DistributedTrainer(given.model, dataset, steps=given.steps, network="local")
    print(trainer.model, trainer.quote(), sep="\n")
    result = trainer.train()
    print(f"loss {result.losses[0].value:.4f} -> {result.losses[-1].value:.4f}")
    print(f"validation loss {trainer.evaluate().loss:.4f}")
    print(f"final state root {result.state_root}")
    if given.export:
        trainer.export(given.export)
        print(f"weights in {given.export}")


if __name__ == "__main__":
    main()
