#include "rewards_config.hpp"

#include "gym/common/ppm.hpp"

namespace gym::app {
namespace {

constexpr std::int64_t kPpmMax = 10'000'000;  // ten times
constexpr std::int64_t kDayMs = 86'400'000;

Status read_chain(YamlMap map, RewardsFile& file) {
    GYM_TRY(file.rpc_url, map.string("rpc_url"));
    GYM_TRY(file.deployment_file, map.string("deployment_file"));
    GYM_CHECK(map.read_integer("bump_after_ms", 100, kDayMs, file.bump_after_ms));
    return map.finish();
}

Status read_settler(YamlMap map, RewardsFile& file) {
    GYM_TRY(file.keystore_file, map.string("keystore_file"));
    GYM_TRY(file.passphrase_file, map.string("passphrase_file"));
    return map.finish();
}

Status read_rates(YamlMap& map, rewards::RewardsConfig& config) {
    GYM_CHECK(
        map.read_integer("verification_premium_ppm", 0, kPpmMax, config.verification_premium_ppm));
    GYM_CHECK(map.read_integer("uptime_bonus_max_ppm", 0, 1'000'000, config.uptime_bonus_max_ppm));
    GYM_CHECK(map.read_integer("uptime_window_ms", 10'000, 30 * kDayMs, config.uptime_window_ms));
    return {};
}

Status read_address(YamlMap& map, const char* key, Address& out) {
    GYM_TRY(const std::string text, map.string(key));
    const auto address = Address::parse(text);
    if (!address.ok()) return map.error_at(key, address.error().message);
    out = *address;
    return {};
}

Status read_fees(YamlMap& parent, rewards::FeeTerms& fees) {
    if (!parent.has("fees")) return {};
    GYM_TRY(YamlMap map, parent.map("fees"));
    GYM_CHECK(map.read_integer("ppm", 0, kPpm, fees.fee_ppm));
    GYM_CHECK(read_address(map, "account", fees.account));
    GYM_CHECK(map.read_integer("burned_ppm", 0, kPpm, fees.burned_ppm));
    if (map.has("emission")) {
        GYM_TRY(YamlMap emission, map.map("emission"));
        GYM_CHECK(emission.read_integer("ppm", 0, kPpm, fees.emission_ppm));
        GYM_CHECK(read_address(emission, "account", fees.emission_account));
        GYM_CHECK(emission.finish());
    }
    GYM_CHECK(map.finish());
    if (const Status fits = fees.check(); !fits.ok())
        return parent.error_at("fees", fits.error().message);
    return {};
}

}  // namespace

Result<RewardsFile> load_rewards_file(const std::string& path) {
    GYM_TRY(YamlMap map, YamlMap::load_file(path));
    RewardsFile file;
    GYM_TRY(YamlMap database, map.map("database"));
    GYM_TRY(file.database, db::ConnectionConfig::from_yaml(std::move(database)));
    file.database.application_name = "gym-rewards";
    GYM_TRY(YamlMap chain, map.map("chain"));
    GYM_CHECK(read_chain(std::move(chain), file));
    GYM_TRY(YamlMap settler, map.map("settler"));
    GYM_CHECK(read_settler(std::move(settler), file));
    GYM_TRY(file.publish_folder, map.string("publish_folder"));
    GYM_TRY(file.blob_folder, map.string_or("blob_folder", ""));
    GYM_CHECK(map.read_integer("poll_interval_ms", 10, 60'000, file.poll_interval_ms));
    GYM_CHECK(read_rates(map, file.rewards));
    GYM_CHECK(read_fees(map, file.rewards.fees));
    GYM_TRY(file.log_level, map.string_or("log_level", file.log_level));
    GYM_CHECK(map.finish());
    return file;
}

}  // namespace gym::app
