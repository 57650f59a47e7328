#include "gym/node/stored_network.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace gym::node {

profile::Store network_store(const std::filesystem::path& data_dir) {
    std::vector<std::filesystem::path> folders;
    if (!data_dir.empty()) folders.push_back(data_dir);
    folders.push_back(default_data_dir());
    return profile::Store(std::move(folders));
}

void forget_network(NodeConfig& config) {
    config.coordinator.clear();
    config.tls_ca_file.clear();
    config.chain_id = 0;
    config.chain_rpc.clear();
    config.commitment_log.clear();
    config.dispute_game.clear();
    config.api.clear();
}

Status use_network(NodeConfig& config, bool own_ca) {
    const profile::Store store = network_store(config.data_dir);
    std::optional<profile::StoredNetwork> stored;
    if (!config.network.empty()) {
        GYM_TRY(stored, store.find(config.network));
    } else if (config.coordinator.empty()) {
        GYM_TRY(stored, store.find_default());
    }
    if (!stored) return {};
    config.network = stored->name;
    const profile::NetworkProfile& profile = stored->profile();
    if (config.coordinator.empty()) {
        config.coordinator = profile.coordinator;
        if (!own_ca)
            config.tls_ca_file =
                profile.coordinator_ca == profile::kNoTls ? "" : profile.coordinator_ca;
    }
    const auto fill = [](std::string& member, const std::string& value) {
        if (member.empty()) member = value;
    };
    if (config.chain_id == 0) config.chain_id = profile.contracts.chain_id;
    fill(config.chain_rpc, stored->chain_rpc);
    fill(config.commitment_log, profile.contracts.commitment_log.hex());
    fill(config.dispute_game, profile.contracts.dispute_game.hex());
    fill(config.api, profile.api);
    return {};
}

}  // namespace gym::node
