#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/rewards/epoch_file.hpp"

// What people ask about their rewards; read only, for the API and the command line.
namespace gym::rewards {

/// By the credit's id, or the unit's id (0x..., its compute credit). @errors kNotFound, kMalformed.
Result<Receipt> explain(db::Transaction& transaction, std::string_view id);
/// An earner's credits, newest first, at most `limit` (1,000).
Result<std::vector<Receipt>> list_receipts(db::Transaction& transaction, const Address& earner,
                                           std::uint32_t limit = 100);

/// All credits of a unit: its compute, data and reports, in the order of their booking.
Result<std::vector<Receipt>> unit_receipts(db::Transaction& transaction, const Digest& unit);

/// What a job's escrow pays for one kind of credit.
struct KindTotal {
    CreditKind kind = CreditKind::kCompute;
    std::uint64_t credits = 0;  ///< posted
    Amount posted;
    Amount pending;   ///< of units that are not final
    Amount unfunded;  ///< waits for a larger budget
};
/// Of every kind that the job has credits of; what emission adds is not the job's. Posted ones add
/// up to what its escrow has paid.
Result<std::vector<KindTotal>> job_totals(db::Transaction& transaction, const Digest& job_id);

/// What jobs pay on top of their credits as of now.
struct PublishedFee {
    std::uint32_t fee_ppm = 0;
    std::uint32_t burned_ppm = 0;  ///< of the fee
    UnixMs changed_at_ms = 0;
    /// Absent: a gym-rewards of before has not said them.
    std::optional<std::uint32_t> verification_premium_ppm = {};
    std::optional<std::uint32_t> uptime_bonus_max_ppm = {};
};
/// @errors kNotFound before a gym-rewards ran.
Result<PublishedFee> published_fee(db::Transaction& transaction);

struct EarnerSummary {
    Amount pending;  ///< units committed, not final
    Amount earned;   ///< final, before the epoch's close
    Amount payable;  ///< cumulative: all that payout roots ever allowed
    Amount claimed;  ///< paid out on chain (finalized)
};
Result<EarnerSummary> summary(db::Transaction& transaction, const std::string& asset,
                              const Address& earner);

/// The root that pays now, without its tree.
struct ActiveRoot {
    std::uint64_t epoch = 0;
    Digest root;
    UnixMs active_at_ms = 0;
};
/// The newest that is active at `now_ms`. @errors kNotFound.
Result<ActiveRoot> active_root(db::Transaction& transaction, UnixMs now_ms);
/// @errors as parse_epoch_file and PayoutTree::build.
Result<PayoutTree> tree_of_file(std::string_view epoch_file);

struct ClaimProof {
    std::uint64_t epoch = 0;
    Digest root;
    Amount cumulative;
    std::vector<Digest> proof;
    UnixMs active_at_ms = 0;
};
/// From the root's tree. @errors kNotFound if the earner is not in it.
Result<ClaimProof> claim_proof(const ActiveRoot& root, const PayoutTree& tree,
                               const Address& earner);
/// The same, with a tree that is made for this proof alone; who answers many asks PayoutTreeCache.
/// @errors kNotFound if there is no active root with this earner.
Result<ClaimProof> claim_proof(db::Transaction& transaction, const Address& earner, UnixMs now_ms);

struct PayoutEpoch {
    std::uint64_t epoch = 0;
    std::string state;  ///< closed, released, submitted, disabled
    Digest root;
    Digest file_root;
    Amount total_cumulative;
    std::string problem;  ///< what holds it up; empty if nothing
};
/// Newest first.
Result<std::vector<PayoutEpoch>> list_epochs(db::Transaction& transaction,
                                             std::uint32_t limit = 100);
/// The published file of an epoch. @errors kNotFound.
Result<std::string> epoch_file(db::Transaction& transaction, std::uint64_t epoch);

}  // namespace gym::rewards
