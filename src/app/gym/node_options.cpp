#include "node_options.hpp"

namespace gym::app {

void NodeOptions::add_to(CLI::App& command) {
    command.add_option("--config", config_file, "Node configuration (YAML)");
    command.add_option("--coordinator", coordinator, "Coordinator to dial, host:port");
    command.add_option("--data-dir", data_dir, "Key, blobs and commitments (default ~/.gym)");
    command.add_option("--keystore", keystore_file,
                       "Keystore file, relative to the data directory");
    command.add_option("--passphrase-file", passphrase_file,
                       "File with the key's passphrase, mode 0600 (or set GYM_PASSPHRASE)");
    command.add_option("--threads", threads, "Threads to compute with; 0: all");
    command.add_option("--isa", isa, "auto, scalar, avx2, avx512 or amx");
    command.add_option("--api", api, "gym-api to ask for balances, http://host:port");
    command.add_option("--log-level", log_level, "trace, debug, info, warn, error");
}

Result<worker::NodeConfig> NodeOptions::resolve() const {
    GYM_TRY(worker::NodeConfig config, worker::load_node_config(config_file));
    if (coordinator) config.coordinator = *coordinator;
    if (data_dir) config.data_dir = *data_dir;
    if (keystore_file) config.keystore_file = *keystore_file;
    if (passphrase_file) config.passphrase_file = *passphrase_file;
    if (threads) config.threads = *threads;
    if (isa) config.isa = *isa;
    if (api) config.api = *api;
    return config;
}

}  // namespace gym::app
