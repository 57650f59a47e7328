#pragma once

#include <cstdint>
#include <optional>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"

// Whether a node is there (docs/PROTOCOL.md, "Uptime"). Pure functions.
namespace gym::protocol {

/// How long challenges and their answers are kept, for whoever wants to count again. Longer than
/// any round may last, since uptime is counted over a round.
inline constexpr std::int64_t kChallengesKeptMs = std::int64_t{60} * 24 * 3600 * 1000;

/// A coordinator's question to one node, at a moment that the node cannot foresee.
struct UptimeChallenge {
    Digest nonce;            ///< random, for one node and one answer
    UnixMs issued_ms = 0;    ///< by the coordinator's clock, as the deadline
    UnixMs deadline_ms = 0;  ///< the last moment at which the answer can arrive

    friend bool operator==(const UptimeChallenge&, const UptimeChallenge&) = default;
};

struct UptimeAnswer {
    Digest nonce;
    crypto::Signature signature;  ///< the node's over uptime_digest()

    friend bool operator==(const UptimeAnswer&, const UptimeAnswer&) = default;
};

/// Public outcome of a challenge.
struct PublishedChallenge {
    UptimeChallenge challenge;
    std::optional<UnixMs> answered_at_ms;        ///< by the coordinator's clock
    std::optional<crypto::Signature> signature;  ///< with answered_at_ms
    bool withdrawn = false;                      ///< not counted
};

/// EIP-712 `UptimeAnswer(address node,bytes32 nonce,uint64 issuedMs)` in the network's domain
/// (signing_domain()): it means nothing as anything else, to anybody else, or for another moment.
[[nodiscard]] Digest uptime_digest(const crypto::Eip712Domain& domain, const Address& node,
                                   const UptimeChallenge& challenge);

[[nodiscard]] UptimeAnswer answer_uptime(const crypto::Eip712Domain& domain,
                                         const crypto::PrivateKey& key,
                                         const UptimeChallenge& challenge);

/// @errors kUnauthenticated if `answer` is not `node`'s to this challenge.
[[nodiscard]] Status check_uptime(const crypto::Eip712Domain& domain, const Address& node,
                                  const UptimeChallenge& challenge, const UptimeAnswer& answer);

}  // namespace gym::protocol
