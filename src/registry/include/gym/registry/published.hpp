#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/report.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/protocol/uptime.hpp"

// Records that nodes signed, for everybody to read (docs/REWARDS.md, "Auditing an epoch"). All of
// it may be read as the role gym_api. Every list: @errors those of the database.
namespace gym::registry {

struct Page {
    std::uint32_t offset = 0;
    std::uint32_t limit = 1000;
};

struct PublishedCommitment {
    std::uint32_t leaf_index = 0;
    Digest unit;
    Bytes commitment;  ///< protocol::encode(SignedCommitment)
};
/// The leaves of a round's commitment tree in their order; none before the round is sealed.
Result<std::vector<PublishedCommitment>> published_commitments(db::Transaction& tx,
                                                               const Digest& job_id,
                                                               std::uint64_t round,
                                                               const Page& page);
/// How far the verification of a round's validation loss is.
struct EvaluationState {
    protocol::UnitState state{};  ///< of the unit that stands for it
    bool verified = false;        ///< a verifier revealed a report that agrees with it
};
/// Of a job's evaluated rounds, by round.
Result<std::map<std::uint64_t, EvaluationState>> evaluations_of(db::Transaction& tx,
                                                                const Digest& job_id);
/// The coordinator's commitment to its own unit of the round, the aggregate or the evaluation, if
/// it has one.
Result<std::optional<Bytes>> own_commitment(db::Transaction& tx, const Digest& job_id,
                                            std::uint64_t round, protocol::UnitKind kind);

struct PublishedReport {
    Digest committed;  ///< what the verifier committed to before it revealed
    protocol::Report report;
    bool equal = false;
    bool accepted = false;
};
/// Reports that were revealed on units of the round that have ended, by unit and draw.
Result<std::vector<PublishedReport>> published_reports(db::Transaction& tx, const Digest& job_id,
                                                       std::uint64_t round, const Page& page);

/// Challenges that uptime() counts, and withdrawn ones: issued from `from_ms` on, with a deadline
/// before `to_ms`; oldest first.
Result<std::vector<protocol::PublishedChallenge>> published_challenges(db::Transaction& tx,
                                                                       const Address& node,
                                                                       UnixMs from_ms, UnixMs to_ms,
                                                                       const Page& page);

}  // namespace gym::registry
