"""Mixes two texts or token files in given shares, registers the mix under a name and trains on it.

    export GYM_API_KEY=... GYM_PASSPHRASE=...        # the network is that of `gym network add`
    python3 examples/python/mix_network.py FIRST SECOND --share 0.7 --licence CC-BY-4.0 --name my-mix [--model MODEL]
"""

import argparse

from gym import Dataset, DistributedTrainer


def main() -> None:
    arguments = argparse.ArgumentParser(description="Train a model on a mix of two datasets.")
    arguments.add_argument("first", help="text or token file")
    arguments.add_argument("second", help="text or token file")
    arguments.add_argument("--share", type=float, default=0.7, help="of the first in the mix's tokens")
    arguments.add_argument("--licence", required=True, help="SPDX expression that suits both")
    arguments.add_argument("--name", default="my-mix", help="name of the mix on the network")
    arguments.add_argument("-o", "--output", default="mix.tokens", help="token file to write")
    arguments.add_argument("--model", default="gpt-nano")
    arguments.add_argument("--nodes", type=int, default=2)
    arguments.add_argument("--tokens", type=float, default=1e4)
    arguments.add_argument("--budget", help="the most money that the job may cost")
    given = arguments.parse_args()

    mix = Dataset.mix([(given.first, given.share), (given.second, 1 - given.share)], given.output)
    for share in mix.shares:
        print(f"{share.name}: {share.tokens} tokens, {share.achieved:.2%} of the mix, asked {share.asked:.2%}")
    dataset = mix.push(given.name, licence=given.licence)
    print(f"registered as {dataset.info.name}@{dataset.info.version}")

    trainer = DistributedTrainer(
        model=given.model,
        dataset=dataset,
        nodes=given.nodes,
        budget_tokens=given.tokens,
        budget=given.budget,
    )
    result = trainer.train()
    print(f"job {result.job}: loss {result.losses[-1].value:.4f}, spent {result.spent}")


if __name__ == "__main__":
    main()
