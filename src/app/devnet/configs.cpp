#include <fmt/format.h>

#include "gym/common/file.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/db/private_cluster.hpp"
#include "gym/devnet/infrastructure.hpp"
#include "gym/devnet/services.hpp"

namespace gym::devnet {
namespace {

constexpr unsigned kBeaconDelayBlocks = 1;

Result<std::string> database_section(const Layout& layout, const std::string& user) {
    GYM_TRY(const db::PrivateCluster cluster,
            db::PrivateCluster::prepare({.folder = layout.postgres}));
    const db::ConnectionConfig access = cluster.superuser(kDatabase);
    return fmt::format(
        "database:\n  host: {}\n  port: {}\n  database: {}\n  user: {}\n  password_file: {}\n",
        access.host, access.port, kDatabase, user, (layout.secrets() / ("db-" + user)).string());
}

Result<std::string> coordinator_config(const Layout& layout) {
    GYM_TRY(const std::string database, database_section(layout, kDbCoordinator));
    return fmt::format(
        "listen:\n  address: {}\n  port_file: {}\n  heartbeat_every_ms: 2000\n  "
        "challenge_every_ms: 3000\n  challenge_answer_ms: 6000\n{}"
        "chain:\n  rpc_url: {}\n  deployment_file: {}\n  confirmations: 1\n  beacon_delay_blocks: "
        "{}\n"
        "operator:\n  keystore_file: {}\n  passphrase_file: {}\n"
        "blobs: {}\ndisputes_folder: {}\nengine:\n  threads: 2\ntick_interval_ms: "
        "100\nnode_live_ms: 15000\n"
        "minimum_stake: \"{}\"\n",
        layout.grpc_address(), layout.port_file("coordinator").string(), database,
        layout.chain_url(), layout.deployment().string(), kBeaconDelayBlocks,
        layout.keystore(kCoordinator).string(), layout.passphrase(kCoordinator).string(),
        layout.blobs().string(), (layout.nodes() / kCoordinator).string(), kStakeTokens);
}

Result<std::string> rewards_config(const Layout& layout) {
    GYM_TRY(const std::string database, database_section(layout, kDbRewards));
    return fmt::format(
        "{}chain:\n  rpc_url: {}\n  deployment_file: {}\n"
        "settler:\n  keystore_file: {}\n  passphrase_file: {}\n"
        "publish_folder: {}\nblob_folder: {}\npoll_interval_ms: 250\n",
        database, layout.chain_url(), layout.deployment().string(),
        layout.keystore(kSettler).string(), layout.passphrase(kSettler).string(),
        layout.epochs().string(), layout.blobs().string());
}

Result<std::string> api_config(const Layout& layout) {
    GYM_TRY(const std::string database, database_section(layout, kDbApi));
    return fmt::format(
        "listen:\n  address: 127.0.0.1\n  port: {}\n  port_file: {}\n{}deployment: {}\nblobs: "
        "{}\nnode_live_ms: "
        "15000\n",
        layout.api_port, layout.port_file("api").string(), database, layout.deployment().string(),
        layout.blobs().string());
}

Status write(const Layout& layout, const std::string& name, const std::string& text) {
    return write_file_atomic(layout.config() / (name + ".yaml"), as_bytes(text));
}

}  // namespace

Status write_configs(const Layout& layout) {
    GYM_TRY(const std::string coordinator, coordinator_config(layout));
    GYM_TRY(const std::string rewards, rewards_config(layout));
    GYM_TRY(const std::string api, api_config(layout));
    GYM_CHECK(write(layout, "coordinator", coordinator));
    GYM_CHECK(write(layout, "rewards", rewards));
    GYM_CHECK(write(layout, "api", api));
    return {};
}

Status write_node_config(const Layout& layout, const std::string& name, const NodeTraits& traits) {
    GYM_TRY(const contracts::Deployment deployment,
            contracts::load_deployment(layout.deployment()));
    return write(
        layout, name,
        fmt::format("coordinator: {}\napi: {}\ndata_dir: {}\nkeystore_file: {}\n"
                    "passphrase_file: {}\nthreads: {}\n"
                    "chain_id: {}\nchain_rpc: {}\ncommitment_log: \"{}\"\ndispute_game: \"{}\"\n"
                    "beacon_delay_blocks: {}\n",
                    layout.grpc_address(), layout.api_url(), (layout.nodes() / name).string(),
                    layout.keystore(name).string(), layout.passphrase(name).string(),
                    traits.threads, deployment.chain_id, layout.chain_url(),
                    deployment.commitment_log.hex(), deployment.dispute_game.hex(),
                    kBeaconDelayBlocks));
}

}  // namespace gym::devnet
