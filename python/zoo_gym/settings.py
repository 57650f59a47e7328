"""Which network a trainer talks to, and with which key."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from . import _zoo_gym
from .errors import InvalidArgumentError, UnauthenticatedError

_DEFAULT_API = "http://127.0.0.1:8080"
LOCAL = "local"


def home() -> Path:
    """Where keys, profiles and the state of trainings are: ``$GYM_HOME``, else ``~/.gym``."""
    return Path(os.environ.get("GYM_HOME") or Path.home() / ".gym")


@dataclass(frozen=True)
class Network:
    """A network's gym-api and the key for what costs money.

    Attributes:
        url: http(s)://host:port of gym-api.
        api_key_file: file with the API key, mode 0600; None: ``$GYM_API_KEY``.
        chain, deployment: endpoint of the network's chain and deployment.json with its contracts, which
            exported weights are compared with; take the file from the operator's publication.
        keystore: the owner's key, which signs orders; None: ``key.json`` in ``home()``.
        passphrase_file: file with its passphrase, mode 0600; None: ``$GYM_PASSPHRASE``.
    """

    url: str
    api_key_file: str | None = None
    chain: str | None = None
    deployment: str | None = None
    keystore: str | None = None
    passphrase_file: str | None = None

    @staticmethod
    def find(
        name: str | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
        keystore: str | os.PathLike[str] | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
    ) -> Network:
        """The network ``name``: a URL; without a name ``$GYM_API``, else http://127.0.0.1:8080.

        Raises:
            InvalidArgumentError: for a name that is no URL.
        """
        url = name or os.environ.get("GYM_API") or _DEFAULT_API
        if not url.startswith(("http://", "https://")):
            raise InvalidArgumentError(
                f"network: '{url}' is no URL of a gym-api (http(s)://host:port), and not 'local'"
            )
        return Network(
            url,
            None if api_key_file is None else os.fspath(api_key_file),
            os.environ.get("GYM_CHAIN"),
            os.environ.get("GYM_DEPLOYMENT"),
            None if keystore is None else os.fspath(keystore),
            None if passphrase_file is None else os.fspath(passphrase_file),
        )

    def api(self) -> _zoo_gym.Api:
        """A client that reads what is public."""
        return _zoo_gym.Api(self.url)

    def owner_api(self) -> _zoo_gym.Api:
        """A client with the owner's key.

        Raises:
            UnauthenticatedError: if there is no key.
            PermissionDeniedError: if others may read the key's file.
        """
        if self.api_key_file is not None:
            return _zoo_gym.Api(self.url, key_file=self.api_key_file)
        key = os.environ.get("GYM_API_KEY")
        if not key:
            raise UnauthenticatedError(
                "submitting a job needs an API key: pass api_key_file=FILE or set GYM_API_KEY "
                "(the operator makes one with `gym-api keys create`)"
            )
        return _zoo_gym.Api(self.url, key=key)

    def signer(self) -> _zoo_gym.OrderSigner:
        """Who signs the orders by which money is spent, for the network of ``$GYM_DEPLOYMENT``.

        Raises:
            InvalidArgumentError: if ``$GYM_DEPLOYMENT`` names no file.
            UnauthenticatedError: if the passphrase is not the keystore's.
        """
        deployment = os.environ.get("GYM_DEPLOYMENT")
        if not deployment:
            raise InvalidArgumentError(
                "submitting a job needs the network's contracts, for which the order is signed: set "
                "GYM_DEPLOYMENT to its deployment.json"
            )
        keystore = self.keystore or str(home() / "key.json")
        return _zoo_gym.OrderSigner(keystore, self.passphrase_file or "", deployment)
