"""A machine that is lent to a network."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One check of :meth:`Node.doctor`.

    Attributes:
        check: its name.
        ok: whether it passed.
        detail: what was found, or the remedy.
    """

    check: str
    ok: bool
    detail: str


@dataclass(frozen=True)
class NodeStatus:
    """The coordinator's view of a node.

    Attributes:
        role: "worker" or "verifier".
        excluded_because, idle_because, stake_because: one sentence each; empty: not the case.
        units_final, units_rejected, units_open: units of work.
        uptime: share of the last hour's challenges that was answered in time, 0 to 1.
        last_seen_ms: milliseconds since 1970; 0: never.
    """

    address: str
    role: str
    excluded_because: str
    idle_because: str
    stake_because: str
    units_final: int
    units_rejected: int
    units_open: int
    uptime: float
    last_seen_ms: int


class Node:
    """This machine as a worker: the same checks and answers as ``gym node doctor`` and ``status``.

    Args:
        config: configuration file (deploy/config/worker.yaml explains every key); None: defaults.
        data_dir: folder of the key; default ``$GYM_HOME``, else ``~/.gym``.
        network: a network that was stored with ``gym network add``; it outranks ``config``. None: that of
            ``config``, else the default one (``gym network use``), unless a coordinator is named.
        coordinator: host:port; None: the network's.
        chain_rpc, dispute_game, api: as the flags of ``gym node start``; None: the network's.
        device: "cpu", "cuda" or "cuda:N".
        passphrase_file: file with the key's passphrase, mode 0600; None: ``$GYM_PASSPHRASE``.

    Raises:
        InvalidArgumentError, IoError: for a configuration file that cannot be read.
        NotFoundError: for a network that is not stored; it says which are.
    """

    def __init__(
        self,
        config: str | os.PathLike[str] | None = None,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        network: str | None = None,
        coordinator: str | None = None,
        chain_rpc: str | None = None,
        dispute_game: str | None = None,
        api: str | None = None,
        device: str | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
    ) -> None:
        from . import _zoo_gym_node

        self._config = _zoo_gym_node.NodeConfig.load("" if config is None else os.fspath(config))
        if network:
            self._config.forget_network()
        given = {
            "network": network,
            "data_dir": None if data_dir is None else os.fspath(data_dir),
            "coordinator": coordinator,
            "chain_rpc": chain_rpc,
            "dispute_game": dispute_game,
            "api": api,
            "device": device,
            "passphrase_file": None if passphrase_file is None else os.fspath(passphrase_file),
        }
        for key, value in given.items():
            if value is not None:
                setattr(self._config, key, value)
        self._config.use_network()

    @property
    def address(self) -> str:
        """The 0x... address of the node's key; needs no passphrase.

        Raises:
            NotFoundError: if there is no key yet.
        """
        return self._config.address()

    def doctor(self) -> list[Finding]:
        """Checks everything that a node needs: memory, disk, engine, key, coordinator, chain. Takes
        some seconds. A failed check names its remedy.
        """
        return [Finding(f.check, f.ok, f.detail) for f in self._config.doctor()]

    def status(self) -> NodeStatus:
        """The coordinator's view of this node.

        Raises:
            NotFoundError: if there is no key; UnavailableError: if the coordinator does not answer.
        """
        found = self._config.status()
        return NodeStatus(
            address=found.address,
            role=found.role,
            excluded_because=found.excluded_because,
            idle_because=found.idle_because,
            stake_because=found.stake_because,
            units_final=found.units_final,
            units_rejected=found.units_rejected,
            units_open=found.units_open,
            uptime=found.uptime_ppm / 1e6,
            last_seen_ms=found.last_seen_ms,
        )
