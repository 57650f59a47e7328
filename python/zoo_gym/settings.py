"""Which network a trainer talks to, and with which key."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from . import _zoo_gym
from .errors import InvalidArgumentError, NotFoundError, UnauthenticatedError

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
        chain, deployment: endpoint of the network's chain and its contracts: a deployment.json from the
            operator's publication, or those of a stored network. Orders are signed for these contracts,
            and exported weights are compared with them.
        keystore: the owner's key, which signs orders; None: ``key.json`` in ``home()``.
        passphrase_file: file with its passphrase, mode 0600; None: ``$GYM_PASSPHRASE``.
    """

    url: str
    api_key_file: str | None = None
    chain: str | None = None
    deployment: str | _zoo_gym.Deployment | None = None
    keystore: str | None = None
    passphrase_file: str | None = None

    @staticmethod
    def find(
        name: str | None = None,
        api_key_file: str | os.PathLike[str] | None = None,
        keystore: str | os.PathLike[str] | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
    ) -> Network:
        """The network that the command line works with: each of gym-api, chain and contracts is that
        of the network ``name``, else of ``$GYM_API``, ``$GYM_CHAIN`` and ``$GYM_DEPLOYMENT``, else of the
        default network (``gym network use``); gym-api else http://127.0.0.1:8080.

        Args:
            name: a network that was stored with ``gym network add``, or the URL of a gym-api.

        Raises:
            NotFoundError: for a name that is neither; it says which networks are stored.
        """
        url = name if name and "://" in name else None
        named = _zoo_gym.find_network(name, os.fspath(home())) if name and url is None else None
        if url is not None and not url.startswith(("http://", "https://")):
            raise InvalidArgumentError(f"network: '{url}' is no URL of a gym-api (http(s)://host:port)")
        names = ("GYM_API", "GYM_CHAIN", "GYM_DEPLOYMENT")
        api, chain, deployment = (None if named else os.environ.get(name) for name in names)
        api = url or api
        stored = named
        if stored is None and not (api and chain and deployment):
            stored = _zoo_gym.find_network("", os.fspath(home()))
        return Network(
            url=api or (stored.api if stored else _DEFAULT_API),
            api_key_file=None if api_key_file is None else os.fspath(api_key_file),
            chain=chain or (stored.chain if stored else None),
            deployment=deployment or (stored.contracts if stored else None),
            keystore=None if keystore is None else os.fspath(keystore),
            passphrase_file=None if passphrase_file is None else os.fspath(passphrase_file),
        )

    def api(self) -> _zoo_gym.Api:
        """A client that reads: what is public, and with a key what its owner may see.

        Raises:
            PermissionDeniedError: if others may read the key's file.
        """
        return _zoo_gym.Api(self.url, key=self.api_key() or "")

    def api_key(self) -> str | None:
        """The owner's key, if there is one.

        Raises:
            PermissionDeniedError: if others may read the key's file.
        """
        if self.api_key_file is not None:
            return _zoo_gym.read_key(self.api_key_file)
        return os.environ.get("GYM_API_KEY")

    def owner_api(self) -> _zoo_gym.Api:
        """A client with the owner's key.

        Raises:
            UnauthenticatedError: if there is no key.
            PermissionDeniedError: if others may read the key's file.
        """
        key = self.api_key()
        if not key:
            raise UnauthenticatedError(
                "submitting a job needs an API key: pass api_key_file=FILE or set GYM_API_KEY "
                "(the operator makes one with `gym-api keys create`)"
            )
        return _zoo_gym.Api(self.url, key=key)

    def contracts(self) -> _zoo_gym.Deployment | None:
        """The network's contracts; None: nobody names them.

        Raises:
            NotFoundError, MalformedError: for a file that is not there or no deployment.json.
        """
        if isinstance(self.deployment, str):
            return _zoo_gym.Deployment.load(self.deployment)
        return self.deployment

    def signer(self) -> _zoo_gym.OrderSigner:
        """Who signs the orders by which money is spent.

        Raises:
            InvalidArgumentError: if nobody names the network's contracts, or the passphrase.
            NotFoundError: if there is no keystore.
            UnauthenticatedError: if the passphrase is not the keystore's.
        """
        contracts = self.contracts()
        if contracts is None:
            raise InvalidArgumentError(
                "submitting a job needs the network's contracts, for which the order is signed: store the "
                "network with `gym network add NAME URL`, or set GYM_DEPLOYMENT to its deployment.json"
            )
        keystore = self.keystore or str(home() / "key.json")
        if not Path(keystore).exists():
            raise NotFoundError(f"no key at {keystore}: `gym wallet new` makes one; keystore=FILE names another")
        return _zoo_gym.OrderSigner(keystore, self.passphrase_file or "", contracts)
