"""Trains a model on a network: quote, submit, follow. Ctrl-C leaves the job running; the same command follows it
again.

    export GYM_API=https://HOST GYM_API_KEY=... GYM_DEPLOYMENT=deployment.json GYM_PASSPHRASE=...
    python3 examples/python/pretrain_network.py zoo-dataset-v2 [--model MODEL] [--nodes N] [--tokens N] [--budget N]
"""

import argparse

from gym import Callback, DistributedTrainer, Loss


class PrintLosses(Callback):
    def on_loss(self, trainer: DistributedTrainer, loss: Loss) -> None:
        print(f"round {loss.index}: validation loss {loss.value:.4f}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description="Train a model on a network.")
    arguments.add_argument("dataset", help="registered name or root")
    arguments.add_argument("--model", default="gpt-nano")
    arguments.add_argument("--nodes", type=int, default=2)
    arguments.add_argument("--tokens", type=float, default=1e4)
    arguments.add_argument("--budget", help="the most money that the job may cost")
    given = arguments.parse_args()

    trainer = DistributedTrainer(
        model=given.model,
        dataset=given.dataset,
        nodes=given.nodes,
        budget_tokens=given.tokens,
        budget=given.budget,
        callbacks=[PrintLosses()],
    )
    print(trainer.quote())
    result = trainer.train()
    print(f"job {result.job}: loss {result.losses[-1].value:.4f}, spent {result.spent}")


if __name__ == "__main__":
    main()
