#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/rewards/epoch_file.hpp"

// Facts that signatures and the chain prove, whatever the source of the bytes: rounds by their
// commitments, uptime by the answers of nodes. Pure functions.
namespace gym::rewards {

/// The entry of CommitmentLog for a round, and the block that draws its sample.
struct RoundOnChain {
    Digest record_hash;
    Digest commitments_root;
    std::uint32_t count = 0;
    std::uint64_t posted_block = 0;  ///< of the commitments' root
    /// Where the contracts name a round of a drand chain for the epoch, its randomness, else
    /// prevrandao of PublishedRound::beacon_block.
    Digest beacon;
    std::optional<std::uint64_t> drand_round;
};

/// Published bytes of a round, from anywhere; not trusted.
struct PublishedRound {
    Bytes record;                    ///< protocol::encode(RoundRecord)
    std::vector<Bytes> commitments;  ///< signed, in the order of their leaves
    /// The coordinator's signed commitments to its own units, in no tree.
    std::optional<Bytes> aggregate, evaluation;
    // One of both once it is fixed what draws.
    std::uint64_t beacon_block = 0;
    std::optional<std::uint64_t> drand_round;
};

struct CommittedUnit {
    Address signer;
    protocol::UnitCommitment commitment;
    std::uint32_t sampling_rate_ppm = 0;
    bool is_drawn = false;  ///< by the beacon, at that rate
    Digest beacon;          ///< its round's, or of a late unit the next round's
};

struct CommittedRound {
    protocol::RoundRecord record;
    Digest beacon;
    std::map<Digest, CommittedUnit> units;  ///< by unit id; the coordinator's own among them
    /// Those under the round's root that name the record before: of late units of that round.
    std::vector<protocol::SignedCommitment> late;
};

/// Rebuilds a round: the record has the hash on chain and is of this job and round; the leaves are
/// as many as on chain and give its root; each commitment that does not name the record before is
/// to a train unit of the record, one a slot, with the counts that the record fixes, signed by the
/// slot's worker; aggregate and evaluation, if there are, name the record and have valid
/// signatures; the beacon's block is later than the root's or, where a drand chain draws, the round
/// is the one that the contracts name, and proven.
/// @errors kMismatch, a sentence that names the first thing that does not hold.
[[nodiscard]] Result<CommittedRound> rebuild_round(const crypto::Eip712Domain& domain,
                                                   const Digest& job_id, std::uint64_t round,
                                                   const RoundOnChain& chain,
                                                   const PublishedRound& published);

/// Adds the late units of a round, whose commitments are under the root of `next`, the round after
/// it. @errors kMismatch as above: the round takes no late commitments, a unit has one already, or
/// what is asked of every commitment to a train unit does not hold.
[[nodiscard]] Status add_late_units(const crypto::Eip712Domain& domain, const CommittedRound& next,
                                    CommittedRound& round);

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
