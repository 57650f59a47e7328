#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/key.hpp"

namespace gym::profile {

inline constexpr std::uint64_t kProfileBytesMax = 256 << 10;
inline constexpr std::size_t kNameBytesMax = 64;
inline constexpr std::size_t kUrlBytesMax = 512;
inline constexpr std::size_t kChainRpcMax = 8;

/// Values of NetworkProfile::coordinator_ca that are no certificate.
inline constexpr std::string_view kSystemCa = "system";  ///< the authorities of the node's system
inline constexpr std::string_view kNoTls = "none";  ///< plain text, for a loopback address only

/// What the operator of a network says about it.
struct NetworkProfile {
    std::string name;                    ///< for people
    std::string coordinator;             ///< host:port
    std::string coordinator_ca;          ///< certificates (PEM), kSystemCa or kNoTls
    std::vector<std::string> chain_rpc;  ///< endpoints of the chain, 1 to kChainRpcMax
    contracts::Deployment contracts;     ///< with the chain's id
    std::string api;                     ///< gym-api, http(s)://host:port
    Amount minimum_stake;                ///< of a worker, in wei; zero: none
    Address fee_address;                 ///< that the network's fee is paid to; zero: not named
    UnixMs issued_at_ms = 0;

    friend bool operator==(const NetworkProfile&, const NetworkProfile&) = default;
};

/// A profile and the operator whose key signed it.
struct SignedProfile {
    NetworkProfile profile;
    Address signer;
    crypto::Signature signature;
};

/// Whether every member is within its bounds: URLs, host and port, certificates that are valid at
/// `now_ms`, printable texts. @errors kInvalidArgument naming the member.
[[nodiscard]] Status check(const NetworkProfile& profile, UnixMs now_ms);

/// What the operator signs: EIP-712 typed data with every member of the profile, under the domain
/// "Gym network profile" of the profile's chain. Deterministic.
[[nodiscard]] Digest signing_digest(const NetworkProfile& profile);
[[nodiscard]] SignedProfile sign(NetworkProfile profile, const crypto::PrivateKey& key);

/// The profile as JSON, one document; parse_profile(to_json(p)) gives p. Deterministic.
[[nodiscard]] std::string to_json(const SignedProfile& profile);
/// Reads the document and checks that its signature is its operator's.
/// @errors kMalformed: no JSON, a web page, a member that is missing or wrong, another version;
/// kOutOfRange beyond kProfileBytesMax; kUnauthenticated: the signature is not the operator's.
[[nodiscard]] Result<SignedProfile> parse_profile(std::string_view text);

/// Whether `next` may replace `current`: signed by the same key, on the same chain, and not older.
/// @errors kMismatch (another signer or chain), kConflict (older, or other content at the same
/// time).
[[nodiscard]] Status check_successor(const SignedProfile& current, const SignedProfile& next);

}  // namespace gym::profile
