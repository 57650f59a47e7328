#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gym/common/result.hpp"
#include "gym/db/config.hpp"
#include "gym/rewards/accounting.hpp"

namespace gym::app {

/// The configuration file of gym-rewards; deploy/config/rewards.yaml documents
/// every key.
struct RewardsFile {
    db::ConnectionConfig database;
    std::string rpc_url;
    std::filesystem::path deployment_file;
    std::filesystem::path keystore_file;    ///< of the settler
    std::filesystem::path passphrase_file;  ///< mode 0600
    std::filesystem::path publish_folder;   ///< epoch files: epoch-N.json
    std::filesystem::path blob_folder;      ///< also as blobs, if not empty
    std::int64_t poll_interval_ms = 1'000;
    rewards::RewardsConfig rewards;  ///< without the domain, which the deployment gives
    std::uint32_t bump_after_ms = 30'000;
    std::string log_level = "info";
};

/// @errors kInvalidArgument naming file, line and key; kIo, kNotFound.
[[nodiscard]] Result<RewardsFile> load_rewards_file(const std::string& path);

}  // namespace gym::app
