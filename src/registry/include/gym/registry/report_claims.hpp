#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/unit.hpp"

/// Verifiers' signatures under their reports, on which they stake (gym/protocol/report_claim.hpp).
namespace gym::registry {

/// Keeps the signature under a report that is revealed in the same transaction.
Status store_report_claim(db::Transaction& tx, const Digest& unit, std::uint32_t draw,
                          const crypto::Signature& signature);

/// A run of the unit gave `roots`: its signed reports that were not checked yet are checked now,
/// and those that say anything else are false.
Status check_report_claims(db::Transaction& tx, const Digest& unit,
                           const protocol::UnitRoots& roots, UnixMs now_ms);
/// No run of the unit is possible any more: its reports stay as they are.
Status give_up_report_claims(db::Transaction& tx, const Digest& unit, UnixMs now_ms);
/// A unit of the job that a game proved wrong, while a signed report that was not checked agrees
/// with it. Absent if there is none. The game alone does not make the report false: its asserter
/// may have lost on purpose (docs/adr/0045-verifiers-stake.md).
Result<std::optional<Digest>> next_report_check(db::Transaction& tx, const Digest& job_id);

/// A signed report that is false.
struct FalseReport {
    Digest unit;
    std::uint32_t draw = 0;
    protocol::UnitKey key;
    Address verifier;
    protocol::SignedCommitment claim;  ///< protocol::claim_of(), signed
    bool late = false;                 ///< the unit's commitment is in the next round's epoch
};
inline constexpr std::uint32_t kFalseReportsMax = 100;

/// False reports that were not left to the player yet, oldest first.
Result<std::vector<FalseReport>> unfiled_false_reports(db::Transaction& tx,
                                                       std::uint32_t limit = kFalseReportsMax);
Status mark_false_report_filed(db::Transaction& tx, const Digest& unit, std::uint32_t draw,
                               UnixMs now_ms);

}  // namespace gym::registry
