#include "gym/profile/profile.hpp"

#include <algorithm>
#include <array>

#include "certificates.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/common/printable.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/http/connection.hpp"

namespace gym::profile {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kVersionWithReports = 2;  ///< names the contracts of verifiers' stakes, too
constexpr std::size_t kCertificateBytesMax = 64 << 10;
constexpr unsigned kPortMax = 65'535;
constexpr const char* kType =
    "NetworkProfile(string name,string coordinator,string coordinatorCa,string[] chainRpc,"
    "uint64 startBlock,address token,address distributor,address escrow,address commitmentLog,"
    "address stake,address disputeGame,string api,uint256 minimumStake,address feeAddress,"
    "uint64 issuedAtMs)";
constexpr const char* kTypeWithReports =
    "NetworkProfile(string name,string coordinator,string coordinatorCa,string[] chainRpc,"
    "uint64 startBlock,address token,address distributor,address escrow,address commitmentLog,"
    "address stake,address disputeGame,address verifierStake,address reportGame,string api,"
    "uint256 minimumStake,address feeAddress,uint64 issuedAtMs)";

/// In the order of the type, and by the names of deployment.json.
struct Contract {
    const char* name;
    Address contracts::Deployment::*member;
};
constexpr std::array<Contract, 6> kContracts{
    {{"token", &contracts::Deployment::token},
     {"distributor", &contracts::Deployment::distributor},
     {"escrow", &contracts::Deployment::escrow},
     {"commitment_log", &contracts::Deployment::commitment_log},
     {"stake", &contracts::Deployment::stake},
     {"dispute_game", &contracts::Deployment::dispute_game}}};
constexpr std::array<Contract, 2> kReportContracts{
    {{"verifier_stake", &contracts::Deployment::verifier_stake},
     {"report_game", &contracts::Deployment::report_game}}};

/// By what it names, so that every gym reads the profile of a network without such contracts.
std::uint64_t version_of(const NetworkProfile& profile) {
    const contracts::Deployment& contracts = profile.contracts;
    const bool none = contracts.verifier_stake.is_zero() && contracts.report_game.is_zero();
    return none ? kVersion : kVersionWithReports;
}

std::vector<Contract> contracts_of(std::uint64_t version) {
    std::vector<Contract> out(kContracts.begin(), kContracts.end());
    if (version == kVersionWithReports)
        out.insert(out.end(), kReportContracts.begin(), kReportContracts.end());
    return out;
}

Error wrong(const std::string& member, const std::string& what) {
    return fail(ErrorCode::kInvalidArgument, "the network profile's " + member + " " + what);
}

/// `text` is quoted in messages: it has no control character.
Status check_text(const char* member, const std::string& text, std::size_t size_max) {
    if (text.empty()) return wrong(member, "is empty");
    if (text.size() > size_max)
        return wrong(member, "has more than " + std::to_string(size_max) + " bytes");
    if (!is_printable(text)) return wrong(member, "has control characters");
    return {};
}

Status check_url(const char* member, const std::string& url) {
    GYM_CHECK(check_text(member, url, kUrlBytesMax));
    const auto parsed = http::parse_url(url);
    return parsed.ok() ? Status() : wrong(member, "'" + url + "': " + parsed.error().message);
}

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "[::1]" || host.starts_with("127.0.0.");
}

Status check_coordinator(const NetworkProfile& profile, UnixMs now_ms) {
    const std::string& text = profile.coordinator;
    GYM_CHECK(check_text("coordinator", text, kUrlBytesMax));
    const std::size_t colon = text.rfind(':');
    const std::string host = text.substr(0, colon);
    const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
    const bool digits = !port.empty() && port.size() <= 5 &&
                        port.find_first_not_of("0123456789") == std::string::npos;
    if (host.empty() || host.find_first_of("/ ") != std::string::npos || !digits ||
        std::stoul(port) == 0 || std::stoul(port) > kPortMax)
        return wrong("coordinator", "'" + text + "' is not host:port");
    if (profile.coordinator_ca == kSystemCa) return {};
    if (profile.coordinator_ca == kNoTls)
        return is_loopback(host) ? Status()
                                 : wrong("coordinator_ca",
                                         "is \"none\", which is possible only for "
                                         "a coordinator at a loopback address");
    if (profile.coordinator_ca.size() > kCertificateBytesMax)
        return wrong("coordinator_ca",
                     "has more than " + std::to_string(kCertificateBytesMax) + " bytes");
    return check_certificates(profile.coordinator_ca, now_ms);
}

/// keccak256 of each text, joined: how EIP-712 encodes an array of them.
Bytes hashes_of(const std::vector<std::string>& texts) {
    Bytes out;
    out.reserve(texts.size() * sizeof(Digest));
    for (const std::string& text : texts) {
        const Digest hash = crypto::keccak256_text(text);
        out.insert(out.end(), hash.data.begin(), hash.data.end());
    }
    return out;
}

std::vector<std::string> texts_of(const json::object& object, const char* key) {
    const json::value& value = json_fields::member_of(object, key);
    std::vector<std::string> out;
    const json::array* const list = value.if_array();
    if (list == nullptr || list->empty() || list->size() > kChainRpcMax)
        throw std::runtime_error(std::string(key) + ": expected 1 to " +
                                 std::to_string(kChainRpcMax) + " texts");
    for (const json::value& item : *list) {
        if (!item.is_string()) throw std::runtime_error(std::string(key) + ": expected texts");
        out.emplace_back(item.get_string());
    }
    return out;
}

Address address_of(const json::object& object, const char* key) {
    return json_fields::take(key, crypto::parse_address(json_fields::view_of(object, key)));
}

SignedProfile read(const json::object& object) {
    const auto version = json_fields::number_of<>(object, "version");
    if (version != kVersion && version != kVersionWithReports)
        throw std::runtime_error("version: this gym reads versions up to " +
                                 std::to_string(kVersionWithReports) + ", found " +
                                 std::to_string(version) + "; install a newer one");
    SignedProfile out;
    NetworkProfile& profile = out.profile;
    profile.name = json_fields::text_of(object, "name");
    profile.coordinator = json_fields::text_of(object, "coordinator");
    profile.coordinator_ca = json_fields::text_of(object, "coordinator_ca");
    profile.chain_rpc = texts_of(object, "chain_rpc");
    profile.contracts.chain_id = json_fields::number_of<>(object, "chain_id");
    profile.contracts.start_block = json_fields::number_of<>(object, "start_block");
    json_fields::object_of(object, "contracts", [&](const json::object& addresses) {
        for (const Contract& contract : contracts_of(version))
            profile.contracts.*contract.member = address_of(addresses, contract.name);
        return 0;
    });
    profile.api = json_fields::text_of(object, "api");
    profile.minimum_stake = json_fields::amount_of(object, "minimum_stake_wei");
    profile.fee_address = address_of(object, "fee_address");
    profile.issued_at_ms = json_fields::number_of<UnixMs>(object, "issued_at_ms");
    out.signer = address_of(object, "operator");
    out.signature = json_fields::fixed_of<crypto::Signature>(object, "signature");
    return out;
}

bool is_web_page(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    return first != std::string_view::npos && text[first] == '<';
}

}  // namespace

Status check(const NetworkProfile& profile, UnixMs now_ms) {
    GYM_CHECK(check_text("name", profile.name, kNameBytesMax));
    GYM_CHECK(check_coordinator(profile, now_ms));
    if (profile.chain_rpc.empty() || profile.chain_rpc.size() > kChainRpcMax)
        return wrong("chain_rpc",
                     "has to name 1 to " + std::to_string(kChainRpcMax) + " endpoints");
    for (const std::string& url : profile.chain_rpc)
        GYM_CHECK(check_url("chain_rpc", url));
    GYM_CHECK(check_url("api", profile.api));
    if (profile.contracts.chain_id == 0) return wrong("chain_id", "is 0");
    for (const Contract& contract : contracts_of(version_of(profile)))
        if ((profile.contracts.*contract.member).is_zero())
            return wrong(contract.name, "contract is the zero address");
    if (profile.issued_at_ms <= 0) return wrong("issued_at_ms", "is not a time");
    return {};
}

Digest signing_digest(const NetworkProfile& profile) {
    const std::uint64_t version = version_of(profile);
    crypto::StructHasher hasher(version == kVersion ? kType : kTypeWithReports);
    hasher.text(profile.name)
        .text(profile.coordinator)
        .text(profile.coordinator_ca)
        .bytes(hashes_of(profile.chain_rpc))
        .uint(profile.contracts.start_block);
    for (const Contract& contract : contracts_of(version))
        hasher.address(profile.contracts.*contract.member);
    hasher.text(profile.api)
        .uint256(profile.minimum_stake)
        .address(profile.fee_address)
        .uint(static_cast<std::uint64_t>(profile.issued_at_ms));
    const crypto::Eip712Domain domain{.name = "Gym network profile",
                                      .version = std::to_string(version),
                                      .chain_id = profile.contracts.chain_id,
                                      .verifying_contract = {}};
    return crypto::typed_data_digest(domain, hasher.finish());
}

SignedProfile sign(NetworkProfile profile, const crypto::PrivateKey& key) {
    const crypto::Signature signature = key.sign_digest(signing_digest(profile));
    return {std::move(profile), key.address(), signature};
}

std::string to_json(const SignedProfile& signed_profile) {
    const NetworkProfile& profile = signed_profile.profile;
    json::object addresses;
    const std::uint64_t version = version_of(profile);
    for (const Contract& contract : contracts_of(version))
        addresses[contract.name] = (profile.contracts.*contract.member).hex();
    json::array endpoints(profile.chain_rpc.begin(), profile.chain_rpc.end());
    const json::object out{{"version", version},
                           {"name", profile.name},
                           {"issued_at_ms", profile.issued_at_ms},
                           {"coordinator", profile.coordinator},
                           {"coordinator_ca", profile.coordinator_ca},
                           {"chain_id", profile.contracts.chain_id},
                           {"chain_rpc", std::move(endpoints)},
                           {"start_block", profile.contracts.start_block},
                           {"contracts", std::move(addresses)},
                           {"api", profile.api},
                           {"minimum_stake_wei", profile.minimum_stake.to_string()},
                           {"fee_address", profile.fee_address.hex()},
                           {"operator", signed_profile.signer.hex()},
                           {"signature", signed_profile.signature.hex()}};
    return json::serialize(out);
}

Result<SignedProfile> parse_profile(std::string_view text) {
    if (text.size() > kProfileBytesMax)
        return fail(ErrorCode::kOutOfRange,
                    "a network profile has at most " + std::to_string(kProfileBytesMax) + " bytes");
    if (is_web_page(text))
        return fail(ErrorCode::kMalformed,
                    "this is a web page (HTML), not a network profile: is it the address of a "
                    "gym-api?");
    json::error_code code;
    const json::value value = json::parse({text.data(), text.size()}, code);
    if (code || !value.is_object())
        return fail(ErrorCode::kMalformed, "a network profile is a JSON object, this is not");
    SignedProfile out;
    try {
        out = read(value.get_object());
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, std::string("the network profile's ") + error.what());
    }
    const Status genuine =
        crypto::verify_signature(signing_digest(out.profile), out.signature, out.signer);
    if (!genuine.ok())
        return fail(ErrorCode::kUnauthenticated,
                    "the network profile is not signed by the operator that it names, " +
                        crypto::to_checksum(out.signer) +
                        ": it was changed after it was signed, or damaged");
    return out;
}

Status check_successor(const SignedProfile& current, const SignedProfile& next) {
    if (next.signer != current.signer)
        return fail(ErrorCode::kMismatch,
                    "the network profile is signed by " + crypto::to_checksum(next.signer) +
                        ", the network was added with the operator " +
                        crypto::to_checksum(current.signer) +
                        ": if the operator announced a new key, remove the network and add it "
                        "again with --operator");
    const std::uint64_t chain = current.profile.contracts.chain_id;
    if (next.profile.contracts.chain_id != chain)
        return fail(ErrorCode::kMismatch,
                    "the network profile is now for chain " +
                        std::to_string(next.profile.contracts.chain_id) +
                        ", it was added on chain " + std::to_string(chain) +
                        ": that is another network; add it under another name");
    const UnixMs before = current.profile.issued_at_ms, now = next.profile.issued_at_ms;
    if (now > before || next.profile == current.profile) return {};
    return fail(ErrorCode::kConflict, "the network profile was issued at " + utc_text(now) +
                                          ", not after the stored one of " + utc_text(before) +
                                          ": an old one is served again; the stored one stays");
}

}  // namespace gym::profile
