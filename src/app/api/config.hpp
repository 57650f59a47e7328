#pragma once

#include <string>

#include "gym/api/mixes.hpp"
#include "gym/api/uploads.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"
#include "gym/db/config.hpp"
#include "gym/http_server/server.hpp"
#include "gym/registry/dataset_quota.hpp"
#include "gym/registry/model_names.hpp"

namespace gym::app {

/// gym-api's configuration file; deploy/config/api.yaml documents every key.
struct ApiConfig {
    http_server::ServerOptions listen;
    std::string port_file;    ///< empty: none
    bool behind_tls = false;  ///< only a proxy with TLS reaches it
    db::ConnectionConfig database;
    std::string deployment;
    std::string network_profile;  ///< file; empty: none is published
    std::string blobs;
    std::string blob_key_file;  ///< empty: BLOBS.key, made if there is none
    std::int64_t node_live_ms = 30'000;
    std::uint64_t dataset_bytes_max = std::uint64_t{256} << 20;
    registry::DatasetQuota dataset_quota;
    registry::ModelQuota model_quota;
    std::string uploads;  ///< folder
    api::UploadLimits upload_limits;
    std::string mixes;          ///< folder for the files of mixes while they are made
    api::MixLimits mix_limits;  ///< a mix itself is at most of dataset_bytes_max
    std::uint32_t usefulness_default_ppm = 500'000;
    Amount price_per_pflop_min;
    std::string log_level = "info";
};

/// @errors kIo, kNotFound, kInvalidArgument naming file, line and key.
[[nodiscard]] Result<ApiConfig> load_api_config(const std::string& path);

}  // namespace gym::app
