"""Continues exported weights on a network: a folder that was trained here or there, or a job of yours.

    export GYM_API_KEY=... GYM_PASSPHRASE=...        # the network is that of `gym network add`
    python3 examples/python/continue_network.py WEIGHTS DATASET [--model MODEL] [--nodes N] [--tokens N] [--budget N]

WEIGHTS is a folder in Hugging Face form, job:ID, or job:ID@ROUND; MODEL is the preset or model file of the weights.
"""

import argparse

from gym import DistributedTrainer


def main() -> None:
    arguments = argparse.ArgumentParser(description="Continue from weights on a network.")
    arguments.add_argument("weights", help="folder, job:ID or job:ID@ROUND")
    arguments.add_argument("dataset", help="registered name or root")
    arguments.add_argument("--model", default="gpt-nano")
    arguments.add_argument("--nodes", type=int, default=2)
    arguments.add_argument("--tokens", type=float, default=1e4)
    arguments.add_argument("--budget", help="the most money that the job may cost")
    arguments.add_argument("--export", help="folder for the new weights")
    given = arguments.parse_args()

    trainer = DistributedTrainer(
        model=given.model,
        dataset=given.dataset,
        init=given.weights,
        nodes=given.nodes,
        budget_tokens=given.tokens,
        budget=given.budget,
    )
    result = trainer.train()
    print(f"job {result.job}: loss {result.losses[-1].value:.4f}, spent {result.spent}")
    if given.export:
        trainer.export(given.export)
        print(f"weights in {given.export}")


if __name__ == "__main__":
    main()
