#include "config.hpp"

#include <algorithm>

#include "gym/common/yaml.hpp"
#include "gym/protocol/price_floor.hpp"

namespace gym::app {
namespace {

constexpr std::int64_t kTimeoutMsMax = 3'600'000;
constexpr std::int64_t kKeepMsMax = std::int64_t{366} * 24 * 3'600 * 1'000;

Status read_listen(YamlMap map, ApiConfig& config) {
    http_server::ServerOptions& listen = config.listen;
    GYM_TRY(listen.address, map.string_or("address", listen.address));
    GYM_TRY(const std::int64_t port, map.integer("port", 0, 65'535));
    listen.port = static_cast<std::uint16_t>(port);
    GYM_CHECK(map.read_integer("threads", 1, 256, listen.threads));
    GYM_CHECK(map.read_integer("connections_max", 1, 65'536, listen.connections_max));
    GYM_CHECK(map.read_integer("header_timeout_ms", 100, kTimeoutMsMax, listen.header_timeout_ms));
    GYM_CHECK(map.read_integer("body_timeout_ms", 100, kTimeoutMsMax, listen.body_timeout_ms));
    GYM_CHECK(map.read_integer("body_bytes_per_s_min", 1, std::int64_t{1} << 30,
                               listen.body_bytes_per_s_min));
    GYM_CHECK(
        map.read_integer("bodies_bytes_max", 1, std::int64_t{1} << 40, listen.bodies_bytes_max));
    // Of the bound of all, a quarter where nothing is said: one owner leaves room for others.
    constexpr std::uint64_t kOwnerShare = 4;
    listen.owner_bodies_bytes_max =
        std::max<std::uint64_t>(1, listen.bodies_bytes_max / kOwnerShare);
    GYM_CHECK(map.read_integer("owner_bodies_bytes_max", 1,
                               static_cast<std::int64_t>(listen.bodies_bytes_max),
                               listen.owner_bodies_bytes_max));
    GYM_TRY(config.port_file, map.string_or("port_file", ""));
    GYM_TRY(config.behind_tls, map.boolean_or("behind_tls", config.behind_tls));
    return map.finish();
}

Status read_uploads(YamlMap& map, ApiConfig& config) {
    config.uploads = config.blobs + "/.uploads";
    if (!map.has("uploads")) return {};
    GYM_TRY(YamlMap uploads, map.map("uploads"));
    api::UploadLimits& limits = config.upload_limits;
    GYM_TRY(config.uploads, uploads.string_or("folder", config.uploads));
    GYM_CHECK(uploads.read_integer("bytes_max", 1, std::int64_t{1} << 50, limits.bytes_max));
    GYM_CHECK(
        uploads.read_integer("owner_bytes_max", 1, std::int64_t{1} << 50, limits.owner_bytes_max));
    GYM_CHECK(uploads.read_integer("owner_uploads_max", 1, 1'000'000, limits.owner_uploads_max));
    GYM_CHECK(uploads.read_integer("keep_ms", 1'000, kKeepMsMax, limits.keep_ms));
    return uploads.finish();
}

Status read_datasets(YamlMap& map, registry::DatasetQuota& quota) {
    if (!map.has("datasets")) return {};
    GYM_TRY(YamlMap datasets, map.map("datasets"));
    GYM_CHECK(datasets.read_integer("owner_max", 1, 1'000'000'000, quota.datasets_max));
    GYM_CHECK(datasets.read_integer("owner_bytes_max", 1, std::int64_t{1} << 50, quota.bytes_max));
    GYM_CHECK(datasets.read_integer("owner_names_max", 1, 1'000'000, quota.names_max));
    return datasets.finish();
}

Status read_models(YamlMap& map, registry::ModelQuota& quota) {
    if (!map.has("models")) return {};
    GYM_TRY(YamlMap models, map.map("models"));
    GYM_CHECK(models.read_integer("owner_names_max", 1, 1'000'000, quota.names_max));
    GYM_CHECK(models.read_integer("owner_versions_max", 1, 1'000'000'000, quota.versions_max));
    GYM_CHECK(models.read_integer("owner_bytes_max", 1, std::int64_t{1} << 50, quota.bytes_max));
    return models.finish();
}

Status read_mixes(YamlMap& map, ApiConfig& config) {
    config.mixes = config.blobs + "/.mixes";
    if (!map.has("mixes")) return {};
    GYM_TRY(YamlMap mixes, map.map("mixes"));
    api::MixLimits& limits = config.mix_limits;
    GYM_TRY(config.mixes, mixes.string_or("folder", config.mixes));
    GYM_CHECK(
        mixes.read_integer("parts_bytes_max", 1, std::int64_t{1} << 50, limits.parts_bytes_max));
    GYM_CHECK(mixes.read_integer("waiting_max", 1, 10'000, limits.waiting_max));
    return mixes.finish();
}

}  // namespace

Result<ApiConfig> load_api_config(const std::string& path) {
    GYM_TRY(YamlMap map, YamlMap::load_file(path));
    ApiConfig config;
    GYM_TRY(YamlMap listen, map.map("listen"));
    GYM_CHECK(read_listen(std::move(listen), config));
    GYM_TRY(YamlMap database, map.map("database"));
    // A person waits for the answer: no statement of the API is worth more than this.
    db::ConnectionConfig brief;
    brief.application_name = "gym-api";
    brief.statement_timeout = std::chrono::seconds(10);
    brief.lock_timeout = std::chrono::seconds(5);
    brief.connect_timeout = std::chrono::seconds(2);
    GYM_TRY(config.database, db::ConnectionConfig::from_yaml(std::move(database), brief));
    GYM_TRY(config.deployment, map.string("deployment"));
    GYM_TRY(config.network_profile, map.string_or("network_profile", ""));
    GYM_TRY(config.blobs, map.string("blobs"));
    GYM_TRY(config.blob_key_file, map.string_or("blob_key_file", ""));
    GYM_CHECK(map.read_integer("node_live_ms", 1, kTimeoutMsMax, config.node_live_ms));
    GYM_CHECK(
        map.read_integer("dataset_bytes_max", 1, std::int64_t{1} << 40, config.dataset_bytes_max));
    GYM_CHECK(read_datasets(map, config.dataset_quota));
    GYM_CHECK(read_models(map, config.model_quota));
    GYM_CHECK(read_uploads(map, config));
    GYM_CHECK(read_mixes(map, config));
    GYM_CHECK(
        map.read_integer("usefulness_default_ppm", 0, 1'000'000, config.usefulness_default_ppm));
    GYM_TRY(const std::string price,
            map.string_or("price_per_pflop_min", std::string(protocol::kPricePerPflopMinGym)));
    const auto price_min = Amount::parse_tokens(price);
    if (!price_min.ok()) return map.error_at("price_per_pflop_min", price_min.error().message);
    config.price_per_pflop_min = *price_min;
    GYM_TRY(config.log_level, map.string_or("log_level", config.log_level));
    GYM_CHECK(map.finish());
    return config;
}

}  // namespace gym::app
