"""The datasets that a network has registered."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .amounts import Money
from .dataset import Dataset
from .settings import Network


class DatasetRegistry:
    """The registered datasets of one network: :class:`Dataset`'s own methods, for whom the network is named once.

    Args:
        network, api_key_file: as in :meth:`Network.find`; None: the default network.

    Raises:
        NotFoundError: for a network that is not stored.
    """

    def __init__(
        self, network: str | Network | None = None, *, api_key_file: str | os.PathLike[str] | None = None
    ) -> None:
        self._network = network if isinstance(network, Network) else Network.find(network, api_key_file)

    @property
    def network(self) -> Network:
        """Whose datasets they are."""
        return self._network

    def load(self, name_or_root: str) -> Dataset:
        """The record of a registered dataset, without its tokens: :meth:`Dataset.load`."""
        return Dataset.load(name_or_root, self._network)

    def pull(self, name_or_root: str, path: str | os.PathLike[str]) -> Dataset:
        """Downloads a registered dataset as a token file, manifest and tokenizer beside it, and checks them:
        :meth:`Dataset.pull`."""
        return Dataset.pull(name_or_root, path, network=self._network)

    def push(
        self,
        dataset: Dataset | str | os.PathLike[str],
        name: str | None = None,
        *,
        licence: str | None = None,
        price: Money = 0,
        visibility: str | None = None,
        allow: Sequence[str] = (),
        manifest: bool = True,
    ) -> Dataset:
        """Uploads and registers a dataset, or the file of one, so that jobs can train on it: :meth:`Dataset.push`,
        which explains the arguments.

        Returns:
            the dataset with its terms.
        """
        made = dataset if isinstance(dataset, Dataset) else Dataset.from_file(dataset)
        return made.push(
            name,
            licence=licence,
            price=price,
            visibility=visibility,
            allow=allow,
            manifest=manifest,
            network=self._network,
        )

    def __repr__(self) -> str:
        return f"DatasetRegistry({self._network.url!r})"
