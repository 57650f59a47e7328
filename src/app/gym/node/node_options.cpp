#include "node/node_options.hpp"

namespace gym::app {

void NodeOptions::add_to(CLI::App& command) {
    command.add_option("--config", config_file, "Node configuration (YAML)");
    command.add_option("--coordinator", coordinator, "Coordinator to dial, host:port");
    command.add_option("--tls-ca", tls_ca_file,
                       "PEM file with the CA of the coordinator's certificate, or \"system\"");
    command.add_flag("--insecure", insecure,
                     "Dial another machine without TLS: whoever is between can read and alter");
    command.add_option("--chain-rpc", chain_rpc,
                       "JSON-RPC of the chain, http://host:port: check the coordinator against it");
    command.add_option("--commitment-log", commitment_log,
                       "Contract with rounds and epochs (default: the one the coordinator names)");
    command.add_option("--dispute-game", dispute_game,
                       "Contract in which the node plays disputes; who has stake needs it");
    command.add_option("--checkpoint-seconds", checkpoint_s,
                       "How often a unit's progress is saved; 0: after every step");
    command.add_option("--data-dir", data_dir, "Key, blobs and commitments (default ~/.gym)");
    command.add_option("--keystore", keystore_file,
                       "Keystore file, relative to the data directory");
    command.add_option("--passphrase-file", passphrase_file,
                       "File with the key's passphrase, mode 0600 (or set GYM_PASSPHRASE)");
    command.add_option("--threads", threads, "Threads to compute with; 0: all");
    command.add_option("--isa", isa, "auto, scalar, avx2, avx512 or amx");
    command.add_option("--device", device, "Where to train and verify: cpu, cuda or cuda:N");
    command.add_option("--api", api, "gym-api to ask for balances, http://host:port");
    command.add_option("--log-level", log_level, "trace, debug, info, warn, error");
}

std::string NodeOptions::given() const {
    std::string out;
    const auto add = [&out](const char* flag, const std::optional<std::string>& value) {
        if (value && !value->empty()) out += std::string(" ") + flag + " " + *value;
    };
    add("--config", config_file);
    add("--coordinator", coordinator);
    add("--tls-ca", tls_ca_file);
    if (insecure) out += " --insecure";
    add("--chain-rpc", chain_rpc);
    add("--commitment-log", commitment_log);
    add("--dispute-game", dispute_game);
    add("--data-dir", data_dir);
    add("--keystore", keystore_file);
    add("--passphrase-file", passphrase_file);
    if (threads) add("--threads", std::to_string(*threads));
    add("--isa", isa);
    add("--device", device);
    add("--api", api);
    return out;
}

Result<node::NodeConfig> NodeOptions::resolve() const {
    GYM_TRY(node::NodeConfig config, node::load_node_config(config_file));
    if (coordinator) config.coordinator = *coordinator;
    if (tls_ca_file) config.tls_ca_file = *tls_ca_file;
    if (insecure) config.insecure = true;
    if (chain_rpc) config.chain_rpc = *chain_rpc;
    if (commitment_log) config.commitment_log = *commitment_log;
    if (dispute_game) config.dispute_game = *dispute_game;
    if (checkpoint_s) config.checkpoint_s = *checkpoint_s;
    if (data_dir) config.data_dir = *data_dir;
    if (keystore_file) config.keystore_file = *keystore_file;
    if (passphrase_file) config.passphrase_file = *passphrase_file;
    if (threads) config.threads = *threads;
    if (isa) config.isa = *isa;
    if (device) config.device = *device;
    if (api) config.api = *api;
    return config;
}

}  // namespace gym::app
