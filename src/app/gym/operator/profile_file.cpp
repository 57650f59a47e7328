#include "operator/profile_file.hpp"

#include "gym/common/file.hpp"
#include "gym/common/yaml.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/key.hpp"

namespace gym::app {
namespace {

constexpr std::uint64_t kCaBytesMax = 64 << 10;

}  // namespace

Result<ProfileFile> load_profile_file(const std::string& path) {
    GYM_TRY(YamlMap map, YamlMap::load_file(path));
    // Files are named relative to the file that names them.
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    ProfileFile out;
    profile::NetworkProfile& profile = out.profile;
    GYM_TRY(profile.name, map.string("name"));
    GYM_TRY(profile.coordinator, map.string("coordinator"));
    GYM_TRY(profile.coordinator_ca,
            map.string_or("coordinator_ca", std::string(profile::kSystemCa)));
    if (profile.coordinator_ca != profile::kSystemCa && profile.coordinator_ca != profile::kNoTls)
        out.ca_file = folder / profile.coordinator_ca;
    GYM_TRY(profile.chain_rpc, map.list_of_strings("chain_rpc"));
    GYM_TRY(profile.api, map.string("api"));
    GYM_TRY(const std::string deployment, map.string("deployment"));
    out.deployment = folder / deployment;
    GYM_TRY(const std::string stake, map.string_or("minimum_stake", "0"));
    const auto minimum = Amount::parse_tokens(stake);
    if (!minimum.ok()) return map.error_at("minimum_stake", minimum.error().message);
    profile.minimum_stake = *minimum;
    GYM_TRY(const std::string fee, map.string_or("fee_address", ""));
    if (!fee.empty()) {
        const auto address = crypto::parse_address(fee);
        if (!address.ok()) return map.error_at("fee_address", address.error().message);
        profile.fee_address = *address;
    }
    GYM_CHECK(map.finish());
    return out;
}

Result<profile::NetworkProfile> complete_profile(const ProfileFile& file, UnixMs now_ms) {
    profile::NetworkProfile out = file.profile;
    GYM_TRY(out.contracts, contracts::load_deployment(file.deployment));
    if (!file.ca_file.empty()) {
        GYM_TRY(const Bytes pem, read_file(file.ca_file, kCaBytesMax));
        out.coordinator_ca.assign(pem.begin(), pem.end());
    }
    out.issued_at_ms = now_ms;
    GYM_CHECK(profile::check(out, now_ms));
    return out;
}

}  // namespace gym::app
