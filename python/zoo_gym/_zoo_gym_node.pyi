"""The extension module for lent machines; brings gRPC with it."""

class Finding:
    @property
    def check(self) -> str: ...
    @property
    def ok(self) -> bool: ...
    @property
    def detail(self) -> str: ...

class NodeStatus:
    @property
    def address(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def excluded_because(self) -> str: ...
    @property
    def idle_because(self) -> str: ...
    @property
    def stake_because(self) -> str: ...
    @property
    def units_final(self) -> int: ...
    @property
    def units_rejected(self) -> int: ...
    @property
    def units_open(self) -> int: ...
    @property
    def uptime_ppm(self) -> int: ...
    @property
    def last_seen_ms(self) -> int: ...

class NodeConfig:
    network: str
    coordinator: str
    tls_ca_file: str
    chain_id: int
    commitment_log: str
    chain_rpc: str
    dispute_game: str
    api: str
    device: str
    threads: int
    data_dir: str
    keystore: str
    passphrase_file: str
    @staticmethod
    def load(file: str) -> NodeConfig: ...
    def forget_network(self) -> None:
        """Drops what a file says of its network: another one is named."""

    def use_network(self) -> None:
        """Fills in what is not said from the network that is named, else from the default one."""

    def address(self) -> str: ...
    def status(self) -> NodeStatus: ...
    def doctor(self) -> list[Finding]: ...
