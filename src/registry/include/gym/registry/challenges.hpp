#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/registry/nodes.hpp"

// Uptime (docs/PROTOCOL.md, "Uptime"): challenges that nodes were asked and which of them they
// answered in time.
namespace gym::registry {

struct ChallengePolicy {
    std::int64_t answer_ms = 20'000;  ///< from the issue to the deadline
    /// A node that was not seen for this long is no longer challenged; signing off alone does not
    /// end it.
    std::int64_t unseen_ms = std::int64_t{24} * 3600 * 1000;
    /// A pass that comes later than so after the one before shows that no coordinator was there.
    std::int64_t silence_ms = 10'000;
    std::uint32_t batch_max = 1000;  ///< nodes of one pass
};

/// Unpredictable values, drawn anew for each challenge.
struct ChallengeDice {
    std::function<Digest()> nonce;
    std::function<std::int64_t()> wait_ms;  ///< from one challenge to the next, at least 1
};

/// One pass: asks each node whose moment has come and draws its next one. The first moment of a
/// node is drawn when a pass first sees it. After a silence open challenges are withdrawn and all
/// moments that went by are drawn anew: the silence of the coordinator counts against no one, and
/// no one can prepare for its end. Several instances may call it; one at a time does the work.
/// @return challenges issued.
Result<std::uint32_t> issue_challenges(db::Transaction& tx, const ChallengePolicy& policy,
                                       const ChallengeDice& dice, UnixMs now_ms);

/// The oldest that each node could still answer when it was seen; nodes without one are left out.
Result<std::map<Address, protocol::UptimeChallenge>> open_challenges(
    db::Transaction& tx, std::span<const Sighting> sightings);

/// A node's answer, and when it arrived.
struct ArrivedAnswer {
    Address node;
    protocol::UptimeAnswer answer;
    UnixMs at_ms = 0;
};
/// The challenges that are answered and were put to the very nodes that answer, in whatever state,
/// by nonce.
Result<std::map<Digest, protocol::UptimeChallenge>> find_challenges(
    db::Transaction& tx, std::span<const ArrivedAnswer> answers);

enum class AnswerOutcome : std::uint8_t {
    kCounted,
    kRepeated,   ///< counted before; once is all
    kLate,       ///< after its deadline
    kWithdrawn,  ///< not counted
    kUnknown,    ///< no challenge to this node has this nonce
};
/// Counts answers whose signatures the caller has checked, each at most once and not after its
/// deadline, by the coordinator's clock. @return one outcome for each.
Result<std::vector<AnswerOutcome>> answer_challenges(db::Transaction& tx,
                                                     std::span<const ArrivedAnswer> answers);

struct Uptime {
    std::uint64_t answered = 0;  ///< in time, so never above `issued`
    std::uint64_t issued = 0;
    std::uint64_t late = 0;                            ///< of those that were not answered in time
    [[nodiscard]] std::uint32_t ppm() const noexcept;  ///< 0 when nothing was asked
};
/// Challenges that were issued from `from_ms` on and whose deadline was before `to_ms`: what is
/// counted once never changes, but for a withdrawal. @errors kNotFound for an unknown node.
Result<Uptime> uptime(db::Transaction& tx, const Address& node, UnixMs from_ms, UnixMs to_ms);

/// Forgets challenges that were issued before `before_ms`.
Status prune_challenges(db::Transaction& tx, UnixMs before_ms);

}  // namespace gym::registry
