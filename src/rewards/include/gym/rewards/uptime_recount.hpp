#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/protocol/uptime.hpp"

// Uptime counted again from the answers that nodes signed. Pure functions.
namespace gym::rewards {

/// Challenges that were issued from `from_ms` on and whose deadlines were before `to_ms`.
struct UptimeSpan {
    UnixMs from_ms = 0;
    UnixMs to_ms = 0;
    friend bool operator==(const UptimeSpan&, const UptimeSpan&) = default;
};

struct UptimeCount {
    std::uint64_t answered = 0;  ///< each with the node's own signature over this very challenge
    std::uint64_t issued = 0;    ///< without withdrawn ones
    std::uint64_t withdrawn = 0;
};

/// Counts the challenges of `node`.
/// @errors kMismatch naming the first that is not of the span, is listed twice, whose answer is not
/// within its deadline, or not signed by the node.
[[nodiscard]] Result<UptimeCount> recount_uptime(
    const crypto::Eip712Domain& domain, const Address& node, const UptimeSpan& span,
    const std::vector<protocol::PublishedChallenge>& challenges);

}  // namespace gym::rewards
