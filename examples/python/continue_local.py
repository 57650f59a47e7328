"""Continues the training of an exported model, on this machine, with another text if there is one.

    python3 examples/python/continue_local.py FOLDER [TEXT] [--steps N]
"""

import argparse

from gym import Dataset, DistributedTrainer, Model
from pretrain_local import TEXT


def main() -> None:
    arguments = argparse.ArgumentParser(description="Continue from exported weights.")
    arguments.add_argument("folder", help="what DistributedTrainer.export wrote")
    arguments.add_argument("text", nargs="?", help="text or token file")
    arguments.add_argument("--steps", type=int, default=10)
    given = arguments.parse_args()

    dataset = Dataset.from_file(given.text) if given.text else Dataset.from_text(TEXT)
    model = Model.from_folder(given.folder)
    trainer = DistributedTrainer(model, dataset, steps=given.steps, network="local")
    print(f"validation loss before {trainer.evaluate().loss:.4f}")
    trainer.train()
    print(f"validation loss after {trainer.evaluate().loss:.4f}")
    print(trainer.generate("1234 and", tokens=40))


if __name__ == "__main__":
    main()
